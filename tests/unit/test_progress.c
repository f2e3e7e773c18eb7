// SPDX-License-Identifier: GPL-2.0-or-later
/* The time for which a command that takes long is silent. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/progress.h"

#define NAME "PATHPROF_PROGRESS_SECONDS"

static uint64_t seconds_by(const char *text)
{
	if (text)
		setenv(NAME, text, 1);
	else
		unsetenv(NAME);
	return pp_progress_after_ns() / PP_NSEC_PER_SEC;
}

static void test_seconds(void)
{
	const char *was = getenv(NAME);
	char *kept = was ? strdup(was) : NULL;

	CU_ASSERT_EQUAL(seconds_by(NULL), 2);
	CU_ASSERT_EQUAL(seconds_by("0"), 0);
	CU_ASSERT_EQUAL(seconds_by("30"), 30);
	CU_ASSERT_EQUAL(seconds_by("soon"), 2);
	/* A wish for silence gets as much as there is. */
	CU_ASSERT_EQUAL(seconds_by("1000000"), 1000000);
	CU_ASSERT_EQUAL(seconds_by("1000001"), 1000000);
	CU_ASSERT_EQUAL(seconds_by("99999999999999999999"), 1000000);
	seconds_by(kept);
	free(kept);
}

static const struct unit_test tests[] = {
	{"seconds of silence are bounded, not forgotten", test_seconds},
};
UNIT_SUITE(progress, tests)
