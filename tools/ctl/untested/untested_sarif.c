// SPDX-License-Identifier: GPL-2.0-or-later
/* Findings as SARIF: see untested_report.h. */
#include "untested_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/json.h"

#define SCHEMA                                                                                     \
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"                      \
	"sarif-schema-2.1.0.json"

static const struct {
	const char *id, *text;
} rules[] = {
	[UNTESTED_NEW_CODE] = {"new-code", "Code that production runs and no test ran"},
	[UNTESTED_NEW_EDGE] = {"new-edge", "A branch that goes a way that no test made it go"},
	[UNTESTED_NEW_ENTRY] = {"new-entry", "A path that begins where no tested path began"},
	[UNTESTED_COMBINATION] = {"combination", "Branches that were tested, but never together"},
	[UNTESTED_UNREAD] = {"unread", "An untested path in code that is not to be had"},
};
#define RULE_CNT (sizeof(rules) / sizeof(rules[0]))

static json_t *text_object(const char *text)
{
	json_t *object = json_object();

	json_add_text(object, "text", text);
	return object;
}

/* Braces stand for arguments in messages: those of a name are doubled. Caller frees. */
static char *without_arguments(const char *name)
{
	char *text = ctl_alloc(2 * strlen(name) + 1), *at = text;

	for (; *name; name++) {
		if (*name == '{' || *name == '}')
			*at++ = *name;
		*at++ = *name;
	}
	return text;
}

static json_t *driver_json(void)
{
	json_t *driver = json_object(), *list = json_array();

	json_add_text(driver, "name", "pathprofctl untested");
	json_add_text(driver, "version", PATHPROF_VERSION);
	for (size_t i = 0; i < RULE_CNT; i++) {
		json_t *rule = json_object();

		json_add_text(rule, "id", rules[i].id);
		json_add(rule, "shortDescription", text_object(rules[i].text));
		json_array_append_new(list, rule);
	}
	json_add(driver, "rules", list);
	return driver;
}

/* ---------------------------------------------------------------- fingerprints */

/* A fingerprint of function, shape, block and direction; for code without names, of its place in
 * the build. */
static char *fingerprint(const struct untested_report *report, const struct untested_departure *d)
{
	const struct untested_names *names = untested_names(report->untested, d->binary);
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	struct pathprof_event event;
	uint32_t block = PATHPROF_GRAPH_NONE;

	if (names)
		block = pathprof_graph_block_at(names->graph, d->place);
	if (block != PATHPROF_GRAPH_NONE &&
	    pathprof_matcher_path(names->matcher, names->graph->blocks[block].start, 1,
				  d->direction == UNTESTED_TAKEN, 1, &event) == 0)
		return ctl_printf("%016" PRIx64 "%016" PRIx64 ":%s:%s", event.key_hi, event.key_lo,
				  rules[d->kind].id, untested_direction_name(d->direction));
	return ctl_printf("%s+0x%" PRIx64 ":%s:%s",
			  pathprof_build_id_text(&report->untested->binaries[d->binary].id, id),
			  d->place, rules[d->kind].id, untested_direction_name(d->direction));
}

/* ---------------------------------------------------------------- results */

/* A path as a URI reference (RFC 3986): other bytes than these are encoded. */
static void add_uri(json_t *artifact, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~/!$&'()*+,;=:@";
	_cleanup_free_ char *uri = ctl_alloc(3 * strlen(path) + 1);
	char *at = uri;

	for (; *path; path++)
		at += strchr(plain, *path) ? sprintf(at, "%c", *path)
					   : sprintf(at, "%%%02X", (unsigned char)*path);
	json_add_text(artifact, "uri", uri);
}

static json_t *physical_json(const struct untested_report *report,
			     const struct untested_departure *d)
{
	json_t *physical = json_object(), *artifact = json_object(), *region = json_object();
	const char *file = NULL;
	int line;

	if (untested_report_line(report, d, &file, &line) == 0) {
		add_uri(artifact, file);
		json_add_ns(region, "startLine", line);
	} else {
		add_uri(artifact, report->untested->binaries[d->binary].name);
		json_add_ns(region, "byteOffset", (int64_t)d->place);
	}
	json_add(physical, "artifactLocation", artifact);
	json_add(physical, "region", region);
	return physical;
}

static json_t *locations_json(const struct untested_report *report,
			      const struct untested_departure *d)
{
	json_t *location = json_object(), *logical = json_object();
	json_t *locations = json_array(), *logicals = json_array();

	json_add_text(logical, "fullyQualifiedName", untested_report_function(report, d)->name);
	json_add_text(logical, "kind", "function");
	json_array_append_new(logicals, logical);
	json_add(location, "physicalLocation", physical_json(report, d));
	json_add(location, "logicalLocations", logicals);
	json_array_append_new(locations, location);
	return locations;
}

static json_t *result_json(const struct untested_report *report, const struct untested_departure *d)
{
	_cleanup_free_ char *print = fingerprint(report, d);
	_cleanup_free_ char *function =
		without_arguments(untested_report_function(report, d)->name);
	_cleanup_free_ char *message =
		ctl_printf("%s: %.2f%% of what runs, %" PRIu64 " untested %ss by %s (%s)",
			   rules[d->kind].text, 100 * untested_report_share(report, d), d->path_cnt,
			   untested_unit_name(report->untested->settings.unit), function,
			   untested_direction_name(d->direction));
	json_t *result = json_object(), *prints = json_object(), *properties = json_object();

	json_add_text(result, "ruleId", rules[d->kind].id);
	json_add_ns(result, "ruleIndex", d->kind);
	json_add_text(result, "level", "warning");
	json_add(result, "message", text_object(message));
	json_add(result, "locations", locations_json(report, d));
	json_add_text(prints, "departure/v1", print);
	json_add(result, "partialFingerprints", prints);
	json_add_real(properties, "share", untested_report_share(report, d));
	json_add_count(properties, "samples", d->samples);
	json_add_count(properties, "paths", d->path_cnt);
	json_add(result, "properties", properties);
	return result;
}

static json_t *run_json(const struct untested_report *report)
{
	json_t *run = json_object(), *tool = json_object(), *results = json_array();

	json_add(tool, "driver", driver_json());
	json_add(run, "tool", tool);
	for (size_t i = 0; i < untested_limit(report, report->untested->departure_cnt); i++)
		json_array_append_new(results,
				      result_json(report, &report->untested->departures[i]));
	json_add(run, "results", results);
	return run;
}

int untested_sarif(const struct untested_report *report)
{
	_cleanup_json_ json_t *log = json_object();
	json_t *runs = json_array();

	json_array_append_new(runs, run_json(report));
	json_add_text(log, "$schema", SCHEMA);
	json_add_text(log, "version", "2.1.0");
	json_add(log, "runs", runs);
	json_dumpf(log, stdout, JSON_INDENT(1));
	putchar('\n');
	return CTL_OK;
}
