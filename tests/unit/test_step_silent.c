// SPDX-License-Identifier: GPL-2.0-or-later
/* Whom a stepper leaves alone, for how long, and what it costs the user. */
#include "unit.h"

#include <string.h>

#include "../../daemon/step/step_silent.h"

#define SECOND 1000000000ull
#define HOUR   (3600 * SECOND)

static struct pp_step_silent silent;

static void begin(void)
{
	memset(&silent, 0, sizeof(silent));
}

static void test_seizure(void)
{
	begin();
	CU_ASSERT_FALSE(pp_step_silent_holds(&silent, 7, 70, 1000, SECOND));
	pp_step_silent_add(&silent, 7, 70, 1000, PP_STEP_SILENT_SEIZE, SECOND);
	CU_ASSERT(pp_step_silent_holds(&silent, 7, 70, 1000, 10 * SECOND));
	/* another process with that number, and another process of that user */
	CU_ASSERT_FALSE(pp_step_silent_holds(&silent, 7, 71, 1000, 10 * SECOND));
	CU_ASSERT_FALSE(pp_step_silent_holds(&silent, 8, 70, 1000, 10 * SECOND));
	CU_ASSERT_FALSE(pp_step_silent_holds(&silent, 7, 70, 1000, 11 * SECOND));
	pp_step_silent_add(&silent, 7, 70, 1000, PP_STEP_SILENT_SEIZE, 20 * SECOND);
	CU_ASSERT(pp_step_silent_holds(&silent, 7, 70, 1000, 39 * SECOND));
	CU_ASSERT_FALSE(pp_step_silent_holds(&silent, 7, 70, 1000, 40 * SECOND));
	CU_ASSERT_EQUAL(silent.pid_cnt, 1);
	CU_ASSERT_EQUAL(silent.total, 2);
}

static void test_told_once(void)
{
	begin();
	CU_ASSERT_FALSE(pp_step_silent_tell(&silent, 7, 70, 1));
	pp_step_silent_add(&silent, 7, 70, 1000, PP_STEP_SILENT_SEIZE, SECOND);
	CU_ASSERT_FALSE(pp_step_silent_tell(&silent, 7, 70, 2));
	CU_ASSERT_FALSE(pp_step_silent_tell(&silent, 7, 71, 1));
	pp_step_silent_add(&silent, 7, 70, 1000, PP_STEP_SILENT_SEIZE, 20 * SECOND);
	CU_ASSERT(pp_step_silent_tell(&silent, 7, 70, 2));
	CU_ASSERT_FALSE(pp_step_silent_tell(&silent, 7, 70, 1));
	/* at the second time, too, by whom it is told at the first */
	pp_step_silent_add(&silent, 8, 80, 1000, PP_STEP_SILENT_SEIZE, SECOND);
	CU_ASSERT_FALSE(pp_step_silent_tell(&silent, 8, 80, 2));
	pp_step_silent_add(&silent, 8, 80, 1000, PP_STEP_SILENT_STEPPER, 2 * SECOND);
	CU_ASSERT(pp_step_silent_tell(&silent, 8, 80, 1));
}

static void test_stepper(void)
{
	begin();
	pp_step_silent_add(&silent, 7, 70, 1000, PP_STEP_SILENT_STEPPER, SECOND);
	CU_ASSERT(pp_step_silent_holds(&silent, 7, 70, 1000, 1000 * HOUR));
	CU_ASSERT_FALSE(pp_step_silent_holds_user(&silent, 1000, SECOND));
	/* a seizure that is broken off later shortens nothing */
	pp_step_silent_add(&silent, 7, 70, 1000, PP_STEP_SILENT_SEIZE, 2 * SECOND);
	CU_ASSERT(pp_step_silent_holds(&silent, 7, 70, 1000, 1000 * HOUR));
	CU_ASSERT_EQUAL(silent.pid_cnt, 1);
	CU_ASSERT_EQUAL(silent.total, 2);
}

/* Seizures that a busy machine breaks off, some a minute, cost a user nothing more. */
static void test_busy_machine(void)
{
	begin();
	for (int i = 0; i < 60; i++)
		pp_step_silent_add(&silent, i + 1, 1, 1000, PP_STEP_SILENT_SEIZE,
				   (uint64_t)(i + 1) * SECOND);
	CU_ASSERT_FALSE(pp_step_silent_holds_user(&silent, 1000, 61 * SECOND));
	for (int i = 60; i < 64; i++)
		pp_step_silent_add(&silent, i + 1, 1, 1000, PP_STEP_SILENT_SEIZE, 62 * SECOND);
	CU_ASSERT(pp_step_silent_holds_user(&silent, 1000, 63 * SECOND));
}

/* Without points the process rests, and its user is known, but never left alone. */
static void test_no_points(void)
{
	begin();
	CU_ASSERT_FALSE(pp_step_silent_knows_user(&silent, 1000, SECOND));
	for (int i = 0; i < 100; i++)
		pp_step_silent_add(&silent, i + 1, 1, 1000, 0, SECOND);
	CU_ASSERT(pp_step_silent_holds(&silent, 100, 1, 1000, 2 * SECOND));
	CU_ASSERT_FALSE(pp_step_silent_holds(&silent, 101, 1, 1000, 2 * SECOND));
	CU_ASSERT(pp_step_silent_knows_user(&silent, 1000, 2 * SECOND));
	CU_ASSERT_FALSE(pp_step_silent_knows_user(&silent, 1000, 2 * HOUR));
	CU_ASSERT_EQUAL(pp_step_silent_points_of(&silent, 1000), 0);
	pp_step_silent_add(&silent, 1, 1, 1000, PP_STEP_SILENT_SEIZE, SECOND);
	CU_ASSERT_EQUAL(pp_step_silent_points_of(&silent, 1000), PP_STEP_SILENT_SEIZE);
}

static void test_user(void)
{
	begin();
	for (int i = 1; i <= 4; i++) {
		CU_ASSERT_FALSE(pp_step_silent_holds(&silent, 99, 1, 1000, 5 * SECOND));
		pp_step_silent_add(&silent, i, 1, 1000, PP_STEP_SILENT_STEPPER,
				   (uint64_t)i * SECOND);
	}
	CU_ASSERT(pp_step_silent_holds(&silent, 99, 1, 1000, HOUR));
	CU_ASSERT_FALSE(pp_step_silent_holds(&silent, 99, 1, 1001, HOUR));
	CU_ASSERT_FALSE(pp_step_silent_holds(&silent, 99, 1, 1000, 2 * HOUR));
}

/* Three in an hour and three in another are not six. */
static void test_user_is_forgiven(void)
{
	begin();
	for (int i = 0; i < 6; i++)
		pp_step_silent_add(&silent, i + 1, 1, 1000, PP_STEP_SILENT_STEPPER,
				   (i < 3 ? 1 : 3) * HOUR + (uint64_t)i);
	CU_ASSERT_FALSE(pp_step_silent_holds_user(&silent, 1000, 3 * HOUR + 10));
	pp_step_silent_add(&silent, 9, 1, 1000, PP_STEP_SILENT_STEPPER, 3 * HOUR + 10);
	CU_ASSERT(pp_step_silent_holds_user(&silent, 1000, 3 * HOUR + 11));
}

/* A table that is full forgets whom it would touch again soonest, and stays within itself. */
static void test_full(void)
{
	begin();
	pp_step_silent_add(&silent, 1, 1, 5, PP_STEP_SILENT_STEPPER, SECOND);
	for (uint32_t i = 0; i < 1000; i++)
		pp_step_silent_add(&silent, (int32_t)(10 + i), 1, 100 + i, PP_STEP_SILENT_SEIZE,
				   SECOND + i);
	CU_ASSERT_EQUAL(silent.pid_cnt, PP_STEP_SILENT_PID_MAX);
	CU_ASSERT_EQUAL(silent.uid_cnt, PP_STEP_SILENT_UID_MAX);
	CU_ASSERT(pp_step_silent_holds(&silent, 1, 1, 5, 2 * SECOND));
	CU_ASSERT(pp_step_silent_holds(&silent, 1009, 1, 1099, 2 * SECOND));
	CU_ASSERT_FALSE(pp_step_silent_holds(&silent, 10, 1, 100, 2 * SECOND));
}

static void test_no_table(void)
{
	pp_step_silent_add(NULL, 1, 1, 1, PP_STEP_SILENT_SEIZE, 0);
	CU_ASSERT_FALSE(pp_step_silent_holds(NULL, 1, 1, 1, 0));
	CU_ASSERT_FALSE(pp_step_silent_holds_user(NULL, 1, 0));
}

static const struct unit_test tests[] = {
	{"who cannot be seized is left alone for ten seconds, then for longer", test_seizure},
	{"who is silent is told of once", test_told_once},
	{"who put a stepper to sleep is left alone for good", test_stepper},
	{"a process without points rests, its user is known", test_no_points},
	{"four steppers cost the user an hour, and nobody else", test_user},
	{"a busy machine costs a user nothing", test_busy_machine},
	{"points are forgotten after an hour", test_user_is_forgiven},
	{"a full table keeps the longest", test_full},
	{"no table holds nobody", test_no_table},
};
UNIT_SUITE(step_silent, tests)
