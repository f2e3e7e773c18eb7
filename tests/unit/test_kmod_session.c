// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Settings of a running session of the kernel module: which of them end it. The device is
 * /dev/null, which answers each call as a module does that lacks the call.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "../../daemon/kmod/kmod_source.h"

static const struct pp_source_config before = {
	.overhead_ppm = 5000,
	.taken_wanted = 32,
	.horizon = 256,
	.frequency_hz = 99,
};

/* Whether a session with the settings from before ends when these come. */
static bool ends(const struct pp_source_config *wanted)
{
	struct pp_kmod_source source = {
		.base.ops = &pp_source_kmod_swlbr,
		.config = before,
		.device.fd = open("/dev/null", O_RDWR | O_CLOEXEC),
	};

	CU_ASSERT_FATAL(source.device.fd >= 0);
	CU_ASSERT_EQUAL(pp_source_kmod_swlbr.configure(&source.base, wanted), 0);
	CU_ASSERT_EQUAL(source.config.overhead_ppm, wanted->overhead_ppm);
	CU_ASSERT_EQUAL(source.config.horizon, wanted->horizon);
	close(source.device.fd);
	return source.restart;
}

static void test_same(void)
{
	struct pp_source_config beyond = before;

	CU_ASSERT_FALSE(ends(&before));
	/* what a source cannot change under way is none of its settings */
	beyond.realtime = true;
	CU_ASSERT_FALSE(ends(&beyond));
}

static void test_others(void)
{
	struct pp_source_config taken = before, horizon = before, frequency = before;

	taken.taken_wanted++;
	horizon.horizon++;
	frequency.frequency_hz++;
	CU_ASSERT_TRUE(ends(&taken));
	CU_ASSERT_TRUE(ends(&horizon));
	CU_ASSERT_TRUE(ends(&frequency));
}

/* The module that refuses the call gets its budget with a new session. */
static void test_refused(void)
{
	struct pp_source_config budget = before;

	budget.overhead_ppm++;
	CU_ASSERT_TRUE(ends(&budget));
}

static const struct unit_test tests[] = {
	{"settings as they were leave the session alone", test_same},
	{"another rate or length takes a new session", test_others},
	{"a budget that the module cannot change under way takes a new session", test_refused},
};
UNIT_SUITE(kmod_session, tests)
