// SPDX-License-Identifier: GPL-2.0-or-later
/* The line and the JSON of a fleet's alert, with names that hosts chose. */
#include "../../tools/hub/alert_text.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define ESC  "\x1b"
#define CSI  "\xc2\x9b" /* U+009B, which some terminals obey as they do ESC [ */
#define HOST "we" CSI "b1"

static json_t *found_on_host(void)
{
	return json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:[{s:s, s:f, s:f}]}", "host", HOST,
			 "build_id", "0123456789abcdef", "hosts", 5, "low", 0.1, "high", 0.3,
			 "samples", 900.0, "functions", "function", "f" ESC "[2J", "share", 0.5,
			 "baseline_share", 0.25);
}

static struct hub_alert_event event_of(const struct pp_config_alert *rule,
				       const struct pathprof_alert_state *state,
				       const json_t *found)
{
	return (struct hub_alert_event){.rule = rule,
					.binary = "/usr/bin/g" CSI "2J\nzip",
					.where = "host:" HOST,
					.baseline = "fleet",
					.state = state,
					.found = found,
					.since_s = 1767312000,
					.until_s = 1767315600};
}

static bool is_one_harmless_line(const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		if (*at < ' ' || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0))
			return false;
	return true;
}

static void test_summary(void)
{
	const struct pp_config_alert rule = {
		.name = "host", .scope = PP_CONFIG_SCOPE_HOST, .threshold_ppm = 50000};
	struct pathprof_alert_state state = {.phase = PATHPROF_ALERT_FIRING,
					     .fired_ns = INT64_C(1767315600000000000),
					     .value = 0.2};
	json_t *found = found_on_host();
	struct hub_alert_event event = event_of(&rule, &state, found);
	char *text = hub_alert_summary(&event);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT(is_one_harmless_line(text));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		text, "/usr/bin/g??2J?zip on host we??b1 runs differently than on the 4 others "
		      "with this build, since 2026-01-02 01:00:00 UTC: most in f?[2J "));
	free(text);
	state.phase = PATHPROF_ALERT_QUIET;
	event.found = NULL;
	text = hub_alert_summary(&event);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT(is_one_harmless_line(text));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ", host:we??b1, no longer stands out: "));
	free(text);
	json_decref(found);
}

/* After a rollback nobody compares the build any more, and it is known why. */
static void test_build_gone(void)
{
	const struct pp_config_alert rule = {.name = "release", .scope = PP_CONFIG_SCOPE_RELEASE};
	const struct pathprof_alert_state state = {.fired_ns = INT64_C(1767315600000000000),
						   .resolved_ns = INT64_C(1767319200000000000)};
	struct hub_alert_event event = event_of(&rule, &state, NULL);
	char *text;
	json_t *object;

	event.binary = "/srv/shop";
	event.where = "build:030303030303";
	event.is_gone = true;
	text = hub_alert_summary(&event);
	CU_ASSERT_STRING_EQUAL(
		text, "/srv/shop, build:030303030303, runs no more, while another build does: the "
		      "alert of rule \"release\" that fired at 2026-01-02 01:00:00 UTC is over");
	free(text);
	text = hub_alert_json(&event);
	object = json_loads(text, 0, NULL);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(object, "reason")), "build gone");
	json_decref(object);
	free(text);
}

/* Readers of JSON get names as they are. */
static void test_json(void)
{
	const struct pp_config_alert rule = {.name = "host", .scope = PP_CONFIG_SCOPE_HOST};
	const struct pathprof_alert_state state = {.phase = PATHPROF_ALERT_FIRING, .fired_ns = 1};
	json_t *found = found_on_host(), *object;
	const struct hub_alert_event event = event_of(&rule, &state, found);
	char *text = hub_alert_json(&event);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	object = json_loads(text, 0, NULL);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(object, "binary")), event.binary);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(object, "host")), HOST);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(object, "status")), "firing");
	json_decref(object);
	free(text);
	json_decref(found);
}

static const struct unit_test tests[] = {
	{"nothing in the line reaches into a terminal", test_summary},
	{"a build that runs no more is the reason", test_build_gone},
	{"names in JSON are those of the hosts", test_json},
};
UNIT_SUITE(alert_text, tests)
