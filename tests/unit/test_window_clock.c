// SPDX-License-Identifier: GPL-2.0-or-later
/* The open window and the time of threads: clock samples, time held, totals of a source. */
#include "window_scene.h"

#include <stdbool.h>

#include "../../daemon/clock/cpu_clock.h"

/* Samples of the clock at the places where they fell. */
static uint64_t clocked(const struct pathprof_profile *p, uint32_t pid, uint8_t kind,
			uint64_t place)
{
	uint64_t samples = 0;

	for (uint32_t i = 0; i < p->clock_cnt; i++) {
		const struct pathprof_clock_count *c = &p->clocks[i];
		uint8_t had = c->binary == PATHPROF_NO_INDEX ? PATHPROF_ID_NONE
							     : p->binaries[c->binary].id.kind;

		if (p->processes[c->process].pid == pid && had == kind && c->place == place)
			samples += c->samples;
	}
	return samples;
}

static void strike(struct pp_window *window, pid_t pid, uint64_t address, bool kernel)
{
	pp_window_add_clock(window, &(struct pp_cpu_sample){.pid = pid,
							    .tid = pid,
							    .time_ns = 7,
							    .address = address,
							    .kernel = kernel});
}

static void test_clock(void)
{
	const struct pathprof_profile *p;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	p = pp_window_profile(scene.window);
	pp_window_set_clock(scene.window, 97, true);
	strike(scene.window, 1, BASE + 0x13, false);
	strike(scene.window, 1, BASE + 0x13, false);
	strike(scene.window, 1, BASE + 0x1f, false);
	strike(scene.window, 1, BASE + 0x20, false);
	strike(scene.window, 1, BASE + SPAN, false);
	strike(scene.window, 2, BASE + 0x20, true);
	strike(scene.window, 2, BASE + 4 * SPAN + 0x18, false);
	strike(scene.window, PIDS + 1, BASE, false);
	pp_window_clock_lost(scene.window, 4);
	CU_ASSERT_EQUAL(clocked(p, 1, PATHPROF_ID_BUILD_ID, 0x53), 2);
	CU_ASSERT_EQUAL(clocked(p, 1, PATHPROF_ID_BUILD_ID, 0x5f), 1);
	CU_ASSERT_EQUAL(clocked(p, 1, PATHPROF_ID_BUILD_ID, 0x60), 1);
	CU_ASSERT_EQUAL(clocked(p, 1, PATHPROF_ID_NONE, PATHPROF_PLACE_UNKNOWN), 1);
	CU_ASSERT_EQUAL(clocked(p, 2, PATHPROF_ID_NONE, PATHPROF_PLACE_KERNEL), 1);
	CU_ASSERT_EQUAL(clocked(p, 2, PATHPROF_ID_JIT, BASE + 4 * SPAN + 0x18), 1);
	CU_ASSERT_EQUAL(p->totals.clock_samples, 7);
	CU_ASSERT_EQUAL(p->totals.drops[PATHPROF_DROP_UNRESOLVED], 1);
	CU_ASSERT_EQUAL(p->totals.drops[PATHPROF_DROP_QUEUE_FULL], 4);
	CU_ASSERT_EQUAL(p->clock_hz, 97);
	CU_ASSERT(p->clock_kernel);
	CU_ASSERT_EQUAL(pp_window_close(scene.window, &scene.sink, NULL), 0);
	CU_ASSERT_EQUAL(p->clock_cnt, 0);
	CU_ASSERT_EQUAL(p->clock_hz, 97);
	scene_release(&scene);
}

/* The time of a thread while a burst holds it is the source's doing. */
static void test_clock_of_held(void)
{
	struct pathprof_branch branches[64];
	const struct pathprof_profile *p;
	struct pathprof_burst burst;
	unsigned int seed = 24;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	p = pp_window_profile(scene.window);
	pp_window_set_clock(scene.window, 97, true);
	random_burst(&seed, &burst, branches);
	burst.tid = 5;
	burst.time_ns = 1000;
	burst.stopped_ns = 100;
	pp_window_add_burst(scene.window, &burst, branches);
	for (uint64_t time_ns = 990; time_ns < 1120; time_ns += 10)
		for (pid_t tid = 4; tid <= 5; tid++)
			pp_window_add_clock(
				scene.window,
				&(struct pp_cpu_sample){
					.pid = 1, .tid = tid, .time_ns = time_ns, .kernel = true});
	CU_ASSERT_EQUAL(p->totals.clock_samples, 13 + 3);
	scene_release(&scene);
}

/* Without a clock, the start of a stepper's burst counts as a clock sample; hardware's does not. */
static void test_starts_for_a_clock(void)
{
	struct pathprof_branch branches[64];
	const struct pathprof_profile *p;
	struct pathprof_burst burst;
	unsigned int seed = 23;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	p = pp_window_profile(scene.window);
	random_burst(&seed, &burst, branches);
	burst.start = BASE + 0x35;
	burst.pid = 1;
	burst.start_time = START_OF(1);
	pp_window_add_burst(scene.window, &burst, branches);
	CU_ASSERT_EQUAL(clocked(p, 1, PATHPROF_ID_BUILD_ID, 0x75), 1);
	pp_window_set_clock(scene.window, 97, false);
	pp_window_add_burst(scene.window, &burst, branches);
	CU_ASSERT_EQUAL(p->totals.clock_samples, 1);
	pp_window_set_clock(scene.window, 0, false);
	pp_window_set_source(scene.window, PATHPROF_SOURCE_LBR, PATHPROF_BASIS_BRANCHES);
	pp_window_add_burst(scene.window, &burst, branches);
	CU_ASSERT_EQUAL(p->totals.clock_samples, 1);
	CU_ASSERT_EQUAL(p->totals.bursts, 3);
	scene_release(&scene);
}

static void test_account(void)
{
	struct pp_source_stats before = {0}, now = {.stopped_ns = 100, .cpu_ns = 10};
	const struct pathprof_totals *totals;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	totals = &pp_window_profile(scene.window)->totals;
	pp_window_account(scene.window, &before, &now);
	before = now;
	now.stopped_ns = 150;
	now.cpu_ns = 13;
	before.drops[PATHPROF_DROP_BUDGET] = 1000;
	now.drops[PATHPROF_DROP_BUDGET] = 1007;
	pp_window_account(scene.window, &before, &now);
	pp_window_account(scene.window, &now, &now);
	pp_window_lost(scene.window, 3);
	CU_ASSERT_EQUAL(totals->stopped_ns, 150);
	CU_ASSERT_EQUAL(totals->source_cpu_ns, 13);
	CU_ASSERT_EQUAL(totals->drops[PATHPROF_DROP_BUDGET], 7);
	CU_ASSERT_EQUAL(totals->drops[PATHPROF_DROP_TRACKER_LOST], 3);
	scene_release(&scene);
}

/* A burst tells at once, the source's totals include it later. */
static void test_held_time_counts_once(void)
{
	struct pp_source_stats before = {0}, now = {0};
	struct pathprof_branch branches[64];
	const struct pathprof_totals *totals;
	struct pathprof_burst burst;
	unsigned int seed = 18;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	totals = &pp_window_profile(scene.window)->totals;
	random_burst(&seed, &burst, branches);
	burst.stopped_ns = 1000;
	pp_window_add_burst(scene.window, &burst, branches);
	pp_window_account(scene.window, &before, &now);
	CU_ASSERT_EQUAL(totals->stopped_ns, 1000);
	now.stopped_ns = 1300; /* the burst's, and an attempt that failed */
	pp_window_account(scene.window, &before, &now);
	CU_ASSERT_EQUAL(totals->stopped_ns, 1300);
	pp_window_source_opened(scene.window);
	now.stopped_ns = 50;
	pp_window_account(scene.window, &before, &now);
	CU_ASSERT_EQUAL(totals->stopped_ns, 1350);
	scene_release(&scene);
}

static const struct unit_test tests[] = {
	{"clock samples are counted by process and place", test_clock},
	{"clock samples of a thread that is held are left out", test_clock_of_held},
	{"without a clock the starts of bursts are its samples", test_starts_for_a_clock},
	{"a source's totals are taken as differences", test_account},
	{"time held is counted once, whoever tells first", test_held_time_counts_once},
};
UNIT_SUITE(window_clock, tests)
