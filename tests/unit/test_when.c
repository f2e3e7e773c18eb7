// SPDX-License-Identifier: GPL-2.0-or-later
/* Times on pathprofctl's command line: every form, where the day is not the one of UTC. */
#include "../../tools/ctl/text/when.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define SECOND   INT64_C(1000000000)
#define MIDNIGHT INT64_C(1795910400) /* 2026-11-29 00:00 UTC */
#define DAY      86400
#define HOUR     3600

static void be_in(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

static void test_forms(void)
{
	static const struct {
		const char *text;
		int64_t s;
	} times[] = {
		{"now", MIDNIGHT + 3 * HOUR},
		{"today", MIDNIGHT - DAY + 5 * HOUR},
		{"yesterday", MIDNIGHT - 2 * DAY + 5 * HOUR},
		{"tomorrow", MIDNIGHT + 5 * HOUR},
		{"2026-11-21", MIDNIGHT - 8 * DAY + 5 * HOUR},
		{"2026-11-21 10:00", MIDNIGHT - 8 * DAY + 15 * HOUR},
		{"2026-11-21 10:00:30 UTC", MIDNIGHT - 8 * DAY + 10 * HOUR + 30},
		{"2026-11-21T10:00Z", MIDNIGHT - 8 * DAY + 10 * HOUR},
		{"10:00", MIDNIGHT - DAY + 15 * HOUR},
		{"-5min", MIDNIGHT + 3 * HOUR - 300},
		{"+1h", MIDNIGHT + 4 * HOUR},
		{"1h 30min ago", MIDNIGHT + HOUR + HOUR / 2},
		{"@1763719200", 1763719200},
	};

	be_in("EST5");
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		int64_t ns = 0;

		CU_ASSERT_EQUAL(when_parse(times[i].text, (MIDNIGHT + 3 * HOUR) * SECOND, &ns), 0);
		CU_ASSERT_EQUAL(ns, times[i].s * SECOND);
	}
}

/* The day before in the west of UTC, and the day after in its east. */
static void test_today_of_utc(void)
{
	static const struct {
		const char *zone, *text;
		int64_t now_s;
	} todays[] = {
		{"EST5", "10:00 UTC", MIDNIGHT + 3 * HOUR},
		{"EST5", "10:00Z", MIDNIGHT + 3 * HOUR},
		{"EAST-14", "10:00 UTC", MIDNIGHT + 12 * HOUR},
		{"UTC0", "10:00 UTC", MIDNIGHT + 12 * HOUR},
	};

	for (size_t i = 0; i < sizeof(todays) / sizeof(todays[0]); i++) {
		int64_t ns = 0;

		be_in(todays[i].zone);
		CU_ASSERT_EQUAL(when_parse(todays[i].text, todays[i].now_s * SECOND, &ns), 0);
		CU_ASSERT_EQUAL(ns, (MIDNIGHT + 10 * HOUR) * SECOND);
	}
}

static void test_refused(void)
{
	static const char *const texts[] = {
		"",         "2026-02-29", "2026-11-21 24:00",    "10", "10:00 UTC now", "10:60",
		"1h after", "@",          "2026-11-21 10:00 CET"};
	int64_t ns = 7;

	be_in("EST5");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CU_ASSERT_EQUAL(when_parse(texts[i], MIDNIGHT * SECOND, &ns), -EINVAL);
	CU_ASSERT_EQUAL(ns, 7);
}

static const struct unit_test tests[] = {
	{"every form, in local time", test_forms},
	{"today of a time in UTC is today there", test_today_of_utc},
	{"what is no time is refused", test_refused},
};
UNIT_SUITE(when, tests)
