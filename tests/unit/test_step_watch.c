// SPDX-License-Identifier: GPL-2.0-or-later
/* The daemon's judgement by the page that it shares with a stepper. */
#include "unit.h"

#include "../../daemon/step/step_watch.h"

#define SECOND 1000000000ull

static struct pp_step_hold hold;
static struct pp_step_watch watch;

static void begin(uint64_t due_ns, uint64_t busy_ns)
{
	hold = (struct pp_step_hold){.due_ns = due_ns, .busy_ns = busy_ns};
	watch = (struct pp_step_watch){.started_ns = SECOND};
}

static enum pp_step_verdict look(char state, uint64_t now_ns)
{
	return pp_step_watch_look(&watch, &hold, state, now_ns);
}

static void test_asleep(void)
{
	begin(100 * SECOND, 100 * SECOND);
	CU_ASSERT_EQUAL(look('S', 101 * SECOND), PP_STEP_WELL);
	CU_ASSERT_EQUAL(look('D', 103 * SECOND), PP_STEP_WELL);
	CU_ASSERT_EQUAL(look('D', 104 * SECOND), PP_STEP_ASLEEP);
}

/* It was late twice, but with two threads. */
static void test_slow(void)
{
	begin(100 * SECOND, 100 * SECOND);
	CU_ASSERT_EQUAL(look('S', 103 * SECOND), PP_STEP_WELL);
	hold.busy_ns = 104 * SECOND;
	CU_ASSERT_EQUAL(look('S', 107 * SECOND), PP_STEP_WELL);
	hold.busy_ns = 0;
	CU_ASSERT_EQUAL(look('S', 108 * SECOND), PP_STEP_WELL);
	hold.busy_ns = 104 * SECOND;
	CU_ASSERT_EQUAL(look('S', 108 * SECOND), PP_STEP_WELL);
	CU_ASSERT_EQUAL(look('S', 108 * SECOND), PP_STEP_ASLEEP);
}

/* On a busy machine it waits for a CPU. */
static void test_runnable(void)
{
	begin(100 * SECOND, 100 * SECOND);
	for (uint64_t s = 103; s <= 160; s++)
		CU_ASSERT_EQUAL(look('R', s * SECOND), PP_STEP_WELL);
	CU_ASSERT_EQUAL(look('R', 161 * SECOND), PP_STEP_WELL);
	CU_ASSERT_EQUAL(look('R', 162 * SECOND), PP_STEP_MUTE);
}

/* One that runs or waits past its time stands behind others on the CPU that it tied itself to. */
static void test_starved(void)
{
	begin(100 * SECOND, 0);
	CU_ASSERT(!pp_step_watch_is_starved(&hold, 'R', 99 * SECOND));
	CU_ASSERT(!pp_step_watch_is_starved(&hold, 'R', 100 * SECOND + SECOND / 5));
	CU_ASSERT(pp_step_watch_is_starved(&hold, 'R', 100 * SECOND + SECOND / 3));
	CU_ASSERT(!pp_step_watch_is_starved(&hold, 'S', 100 * SECOND + SECOND / 3));
	begin(0, 0);
	CU_ASSERT(!pp_step_watch_is_starved(&hold, 'R', 100 * SECOND));
}

/* The stepper was stopped in mid-burst by somebody: the thread that it held is not to blame. */
static void test_stopped(void)
{
	begin(100 * SECOND, 100 * SECOND);
	CU_ASSERT_EQUAL(look('T', 109 * SECOND), PP_STEP_WELL);
	CU_ASSERT_EQUAL(look('T', 111 * SECOND), PP_STEP_WELL);
	CU_ASSERT_EQUAL(look('T', 112 * SECOND), PP_STEP_MUTE);
}

/* A poor budget has it sleep for a minute. */
static void test_not_due(void)
{
	begin(160 * SECOND, 0);
	for (uint64_t s = 100; s <= 170; s++)
		CU_ASSERT_EQUAL(look('S', s * SECOND), PP_STEP_WELL);
	look('S', 171 * SECOND);
	CU_ASSERT_EQUAL(look('S', 172 * SECOND), PP_STEP_MUTE);
}

/* One that never came to its loop; and one that has ended, which the socket tells. */
static void test_start_and_end(void)
{
	begin(0, 0);
	CU_ASSERT_EQUAL(look('S', 10 * SECOND), PP_STEP_WELL);
	CU_ASSERT_EQUAL(look('Z', 100 * SECOND), PP_STEP_WELL);
	look('S', 101 * SECOND);
	CU_ASSERT_EQUAL(look('S', 102 * SECOND), PP_STEP_MUTE);
}

static void test_may_kill(void)
{
	begin(0, 0);
	CU_ASSERT(pp_step_watch_may_kill(&hold, 'D'));
	CU_ASSERT_FALSE(pp_step_watch_may_kill(&hold, 'R'));
	hold.harms = 1;
	CU_ASSERT_FALSE(pp_step_watch_may_kill(&hold, 'D'));
	hold.harms = 0;
	hold.armed = 1;
	CU_ASSERT_FALSE(pp_step_watch_may_kill(&hold, 'D'));
}

static const struct unit_test tests[] = {
	{"two seconds asleep over one thread, seen twice", test_asleep},
	{"slow with several threads is not asleep", test_slow},
	{"ready to run is not asleep", test_runnable},
	{"one that gets no CPU is told from one that waits", test_starved},
	{"stopped is mute, and no thread's fault", test_stopped},
	{"nothing is due from one that waits for its budget", test_not_due},
	{"one that does not begin is mute, one that has ended is not", test_start_and_end},
	{"no kill beside a trap, a mask or debug registers of ours", test_may_kill},
};
UNIT_SUITE(step_watch, tests)
