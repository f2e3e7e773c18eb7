// SPDX-License-Identifier: GPL-2.0-or-later
/* Pauses between tries of what fails. */
#include "../../tools/hub/pause.h"
#include "unit.h"

#include "base/clock.h"

static void test_doubles(void)
{
	static const uint64_t waits_s[] = {10, 20, 40, 80, 160, 320, 640, 900, 900, 900};
	struct hub_pause pause = {.wait_ns = 0};
	uint64_t now_ns = 7;

	CU_ASSERT(!hub_pause_is_on(&pause, now_ns));
	for (size_t i = 0; i < sizeof(waits_s) / sizeof(waits_s[0]); i++) {
		CU_ASSERT_EQUAL(hub_pause_begin(&pause, now_ns), i == 0);
		now_ns += waits_s[i] * PP_NSEC_PER_SEC;
		CU_ASSERT(hub_pause_is_on(&pause, now_ns - 1));
		CU_ASSERT(!hub_pause_is_on(&pause, now_ns));
	}
}

static void test_ends(void)
{
	struct hub_pause pause = {.wait_ns = 0};

	hub_pause_begin(&pause, 0);
	hub_pause_begin(&pause, 0);
	hub_pause_end(&pause);
	CU_ASSERT(!hub_pause_is_on(&pause, 0));
	CU_ASSERT(hub_pause_begin(&pause, 0));
	CU_ASSERT(!hub_pause_is_on(&pause, 10 * PP_NSEC_PER_SEC));
}

static const struct unit_test tests[] = {
	{"each lasts twice as long, to a bound, and the first is told", test_doubles},
	{"after a try that did not fail it begins anew", test_ends},
};
UNIT_SUITE(pause, tests)
