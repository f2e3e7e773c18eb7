// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The open window against a naive one: lists searched from the start, over a fake tracker with
 * two processes of three mappings each, the last of them generated code, and a hole between.
 */
#include "window_scene.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "../../daemon/clock/cpu_clock.h"

static bool list_agrees(const struct entry *a, size_t a_cnt, const struct entry *b, size_t b_cnt)
{
	if (a_cnt != b_cnt)
		return false;
	for (size_t i = 0; i < a_cnt; i++) {
		size_t j = 0;

		while (j < b_cnt && !same(&a[i], &b[j]))
			j++;
		if (j == b_cnt || a[i].cnt != b[j].cnt || fabs(a[i].weight - b[j].weight) > 1e-6 ||
		    fabs(a[i].insns - b[j].insns) > 1e-6 * a[i].insns)
			return false;
	}
	return true;
}

static bool agrees(const struct scene *scene)
{
	const struct naive *a = &scene->naive, *b = &scene->sunk.seen;

	return list_agrees(a->paths, a->path_cnt, b->paths, b->path_cnt) &&
	       list_agrees(a->edges, a->edge_cnt, b->edges, b->edge_cnt) &&
	       scene->sunk.totals.drops[PATHPROF_DROP_UNRESOLVED] == a->unresolved;
}

static void test_oracle(void)
{
	unsigned int seed = 11;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	feed(&scene, &seed, 3000);
	CU_ASSERT_EQUAL(pp_window_close(scene.window, &scene.sink, NULL), 0);
	CU_ASSERT(scene.naive.path_cnt > 100 && scene.naive.edge_cnt > 100);
	CU_ASSERT(scene.naive.unresolved > 100);
	CU_ASSERT(agrees(&scene));
	CU_ASSERT_EQUAL(scene.sunk.totals.bursts, 3000);
	CU_ASSERT_EQUAL(scene.fake.dispatches, 3000);
	scene.sunk.seen.edges[scene.sunk.seen.edge_cnt / 2].cnt++;
	CU_ASSERT_FALSE(agrees(&scene)); /* the planted fault */
	scene_release(&scene);
}

struct count_feed {
	struct scene *scene;
	struct pp_counted who;
};

static void feed_path(void *context, const struct pathprof_path_seen *path)
{
	const struct count_feed *feed = context;

	pp_window_add_path(feed->scene->window, &feed->who, path, 1);
}

/* The same, told as paths and edges by whoever cut the burst up. */
static void feed_counts(struct scene *scene, unsigned int *seed, int bursts)
{
	const struct pp_source_sink sink = pp_window_source_sink(scene->window);
	struct pathprof_branch branches[64];
	struct pathprof_burst burst;

	for (int i = 0; i < bursts; i++) {
		struct count_feed feed = {.scene = scene};

		random_burst(seed, &burst, branches);
		feed.who = (struct pp_counted){burst.pid, burst.start_time, burst.time_ns};
		naive_burst(&scene->naive, &burst, branches);
		pathprof_paths_of_burst(branches, burst.branch_cnt, PATHPROF_MAPPING_BL, feed_path,
					&feed);
		for (uint32_t b = 0; b < burst.branch_cnt; b++)
			if (branches[b].taken)
				sink.edge(sink.context, &feed.who, branches[b].from,
					  branches[b].next, 1);
	}
}

static void test_counts_are_as_bursts(void)
{
	const struct pp_source_stats before = {.windows = 5, .taken = 70};
	const struct pp_source_stats now = {.windows = 12, .taken = 100};
	unsigned int seed = 19;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	feed_counts(&scene, &seed, 2000);
	pp_window_account(scene.window, &before, &now);
	CU_ASSERT_EQUAL(pp_window_close(scene.window, &scene.sink, NULL), 0);
	CU_ASSERT(scene.naive.path_cnt > 100 && scene.naive.unresolved > 100);
	CU_ASSERT(agrees(&scene));
	/* what was counted elsewhere is told by the source */
	CU_ASSERT_EQUAL(scene.sunk.totals.bursts, 7);
	CU_ASSERT_EQUAL(scene.sunk.totals.taken, 30);
	scene.sunk.seen.paths[scene.sunk.seen.path_cnt / 2].weight += 1;
	CU_ASSERT_FALSE(agrees(&scene)); /* the planted fault */
	scene_release(&scene);
}

/* A count stands for so many, all of them of the same weight. */
static void test_counts_multiply(void)
{
	const struct pathprof_path_seen path = {
		.start = BASE + 0x10, .length = 2, .outcomes = 1, .span = 3, .weight = 1.25};
	const struct pp_counted who = {1, START_OF(1), 0}, nobody = {1, START_OF(1) + 1, 0};
	const struct pathprof_profile *profile;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	profile = pp_window_profile(scene.window);
	pp_window_add_path(scene.window, &who, &path, 8);
	pp_window_add_path(scene.window, &who, &path, 2);
	pp_window_add_edge(scene.window, &who, BASE, BASE + 0x20, 256);
	pp_window_add_path(scene.window, &nobody, &path, 5);
	pp_window_add_edge(scene.window, &nobody, BASE, BASE + 0x20, 6);
	CU_ASSERT_EQUAL_FATAL(profile->path_cnt, 1);
	CU_ASSERT_EQUAL(profile->paths[0].samples, 10);
	CU_ASSERT_DOUBLE_EQUAL(profile->paths[0].weight, 12.5, 1e-9);
	CU_ASSERT_EQUAL(profile->totals.paths, 10);
	CU_ASSERT_EQUAL_FATAL(profile->edge_cnt, 1);
	CU_ASSERT_EQUAL(profile->edges[0].count, 256);
	CU_ASSERT_EQUAL(profile->totals.drops[PATHPROF_DROP_UNRESOLVED], 11);
	scene_release(&scene);
}

/* Before the first burst, another source may have been taken. */
static void test_source_can_be_another(void)
{
	struct scene scene;

	scene_init(&scene, 8 << 20);
	pp_window_set_source(scene.window, PATHPROF_SOURCE_LBR, PATHPROF_BASIS_BRANCHES);
	CU_ASSERT_EQUAL(pp_window_profile(scene.window)->source, PATHPROF_SOURCE_LBR);
	CU_ASSERT_EQUAL(pp_window_profile(scene.window)->basis, PATHPROF_BASIS_BRANCHES);
	pp_window_set_source(scene.window, PATHPROF_SOURCE_SWLBR, PATHPROF_BASIS_TIME);
	CU_ASSERT_EQUAL(pp_window_close(scene.window, &scene.sink, NULL), 0);
	/* and the next window is of the same */
	CU_ASSERT_EQUAL(pp_window_profile(scene.window)->source, PATHPROF_SOURCE_SWLBR);
	scene_release(&scene);
}

/* The burst with a horizon, and with instructions that its branches know. */
static void reach(struct pathprof_burst *burst, struct pathprof_branch *branches, uint32_t horizon,
		  unsigned int *seed)
{
	burst->horizon = horizon;
	for (uint32_t i = 0; i < burst->branch_cnt; i++) {
		branches[i].insns = 1 + (uint32_t)rand_r(seed) % 20;
		burst->insn_cnt += branches[i].insns;
	}
}

static void test_oracle_of_instructions(void)
{
	struct pathprof_branch branches[64];
	struct pathprof_burst burst;
	unsigned int seed = 21;
	uint64_t insns = 0;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	pp_window_set_horizon(scene.window, 1024);
	for (int i = 0; i < 2000; i++) {
		random_burst(&seed, &burst, branches);
		reach(&burst, branches, 1024, &seed);
		insns += burst.insn_cnt;
		pp_window_add_burst(scene.window, &burst, branches);
		naive_burst(&scene.naive, &burst, branches);
	}
	CU_ASSERT_EQUAL(pp_window_profile(scene.window)->horizon, 1024);
	CU_ASSERT_EQUAL(pp_window_close(scene.window, &scene.sink, NULL), 0);
	CU_ASSERT(scene.naive.path_cnt > 100 && scene.naive.paths[0].insns > 0);
	CU_ASSERT(agrees(&scene));
	CU_ASSERT_EQUAL(scene.sunk.totals.insns, insns);
	CU_ASSERT(scene.naive.pathless > 10);
	CU_ASSERT_EQUAL(scene.sunk.totals.pathless, scene.naive.pathless);
	CU_ASSERT_EQUAL(pp_window_profile(scene.window)->horizon, 1024);
	scene.sunk.seen.paths[scene.sunk.seen.path_cnt / 2].insns *= 2;
	CU_ASSERT_FALSE(agrees(&scene)); /* the planted fault */
	scene_release(&scene);
}

static void test_other_horizon(void)
{
	const struct pathprof_totals *totals;
	struct pathprof_branch branches[64];
	struct pathprof_burst burst;
	unsigned int seed = 22;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	totals = &pp_window_profile(scene.window)->totals;
	random_burst(&seed, &burst, branches);
	reach(&burst, branches, 1024, &seed);
	pp_window_add_burst(scene.window, &burst, branches);
	pp_window_set_horizon(scene.window, 1024);
	pp_window_add_burst(scene.window, &burst, branches);
	burst.horizon = 512;
	pp_window_add_burst(scene.window, &burst, branches);
	CU_ASSERT_EQUAL(totals->drops[PATHPROF_DROP_MALFORMED], 2);
	CU_ASSERT_EQUAL(totals->bursts, 1);
	scene_release(&scene);
}

/* One that was under way when another length was set held its thread, and is not malformed. */
static void test_earlier_horizon(void)
{
	const struct pathprof_totals *totals;
	struct pp_cpu_sample sample = {.address = BASE};
	struct pathprof_branch branches[64];
	struct pathprof_burst burst;
	unsigned int seed = 23;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	totals = &pp_window_profile(scene.window)->totals;
	random_burst(&seed, &burst, branches);
	reach(&burst, branches, 1024, &seed);
	burst.pid = burst.tid = 1;
	burst.stopped_ns = 500;
	pp_window_set_horizon(scene.window, 1024);
	pp_window_set_horizon(scene.window, 512);
	pp_window_set_horizon(scene.window, 512);
	pp_window_add_burst(scene.window, &burst, branches);
	CU_ASSERT_EQUAL(totals->drops[PATHPROF_DROP_MALFORMED], 0);
	CU_ASSERT_EQUAL(totals->drops[PATHPROF_DROP_BUSY], 1);
	CU_ASSERT_EQUAL(totals->bursts, 0);
	CU_ASSERT_EQUAL(totals->stopped_ns, 500);
	sample.pid = sample.tid = 1;
	sample.time_ns = burst.time_ns + 499;
	pp_window_add_clock(scene.window, &sample);
	CU_ASSERT_EQUAL(totals->clock_samples, 0);
	sample.time_ns++;
	pp_window_add_clock(scene.window, &sample);
	CU_ASSERT_EQUAL(totals->clock_samples, 1);
	scene_release(&scene);
}

static void test_windows_add_up(void)
{
	unsigned int seed = 12;
	uint64_t unresolved = 0;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	for (int i = 0; i < 10; i++) {
		feed(&scene, &seed, 100);
		CU_ASSERT_EQUAL(pp_window_close(scene.window, &scene.sink, NULL), 0);
		CU_ASSERT_EQUAL(scene.sunk.totals.bursts, 100);
		unresolved += scene.sunk.totals.drops[PATHPROF_DROP_UNRESOLVED];
	}
	scene.sunk.totals.drops[PATHPROF_DROP_UNRESOLVED] = unresolved;
	CU_ASSERT_EQUAL(scene.sunk.windows, 10);
	CU_ASSERT(agrees(&scene));
	scene_release(&scene);
}

static void test_failed_close_starts_afresh(void)
{
	struct pathprof_error error = {""};
	unsigned int seed = 13;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	feed(&scene, &seed, 50);
	scene.sunk.answer = -ENOSPC;
	CU_ASSERT_EQUAL(pp_window_close(scene.window, &scene.sink, &error), -ENOSPC);
	CU_ASSERT_STRING_EQUAL(error.text, "no");
	CU_ASSERT_EQUAL(pp_window_profile(scene.window)->totals.bursts, 0);
	CU_ASSERT_EQUAL(pp_window_profile(scene.window)->path_cnt, 0);
	scene.sunk.answer = 0;
	CU_ASSERT_EQUAL(pp_window_close(scene.window, &scene.sink, &error), 0);
	CU_ASSERT_EQUAL(scene.sunk.totals.bursts, 0);
	scene_release(&scene);
}

static void test_malformed(void)
{
	struct pathprof_branch branches[64];
	struct pathprof_burst good, bad;
	unsigned int seed = 14;
	struct scene scene;
	const struct pathprof_totals *totals;

	scene_init(&scene, 8 << 20);
	totals = &pp_window_profile(scene.window)->totals;
	do
		random_burst(&seed, &good, branches);
	while (good.branch_cnt < 10);
	bad = good;
	bad.version++;
	pp_window_add_burst(scene.window, &bad, branches);
	bad = good;
	bad.end = PATHPROF_END_CNT;
	pp_window_add_burst(scene.window, &bad, branches);
	bad = good;
	bad.size_bytes--;
	pp_window_add_burst(scene.window, &bad, branches);
	bad = good;
	bad.branch_cnt = PATHPROF_BURST_MAX + 1;
	pp_window_add_burst(scene.window, &bad, branches);
	bad = good;
	bad.taken_cnt = good.branch_cnt + 1;
	pp_window_add_burst(scene.window, &bad, branches);
	CU_ASSERT_EQUAL(totals->drops[PATHPROF_DROP_MALFORMED], 5);
	CU_ASSERT_EQUAL(totals->bursts, 0);
	branches[3].kind = 99;
	pp_window_add_burst(scene.window, &good, branches);
	CU_ASSERT_EQUAL(totals->drops[PATHPROF_DROP_MALFORMED], 6);
	CU_ASSERT_EQUAL(pp_window_profile(scene.window)->edge_cnt, 0);
	scene_release(&scene);
}

static void test_unknown_process(void)
{
	struct pathprof_branch branches[64];
	const struct pathprof_profile *profile;
	struct pathprof_burst burst;
	unsigned int seed = 15;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	profile = pp_window_profile(scene.window);
	do
		random_burst(&seed, &burst, branches);
	while (burst.taken_cnt < 5);
	scene.fake.gone = true;
	pp_window_add_burst(scene.window, &burst, branches);
	CU_ASSERT_EQUAL(profile->totals.drops[PATHPROF_DROP_UNRESOLVED], burst.taken_cnt);
	scene.fake.gone = false;
	burst.start_time++; /* its number was reused */
	pp_window_add_burst(scene.window, &burst, branches);
	CU_ASSERT_EQUAL(profile->totals.drops[PATHPROF_DROP_UNRESOLVED],
			UINT64_C(2) * burst.taken_cnt);
	CU_ASSERT_EQUAL(profile->process_cnt, 0);
	CU_ASSERT_EQUAL(profile->edge_cnt, 0);
	scene_release(&scene);
}

static void test_own_work(void)
{
	struct pathprof_branch branches[64];
	const struct pathprof_profile *profile;
	struct pathprof_burst burst;
	unsigned int seed = 15;
	struct scene scene;

	scene_init_beside(&scene, 8 << 20, 2);
	scene.fake.programs[2] = 1;
	profile = pp_window_profile(scene.window);
	do
		random_burst(&seed, &burst, branches);
	while (burst.taken_cnt < 5 || burst.pid == 2);
	pp_window_add_burst(scene.window, &burst, branches);
	CU_ASSERT_EQUAL(profile->totals.drops[PATHPROF_DROP_OWN], 0);
	CU_ASSERT_EQUAL(profile->process_cnt, 1);
	scene.fake.programs[1] = 1; /* a child: the daemon's program */
	for (uint32_t pid = 2; pid >= 1; pid--) {
		burst.pid = pid;
		burst.start_time = START_OF(pid);
		pp_window_add_burst(scene.window, &burst, branches);
		CU_ASSERT_EQUAL(profile->totals.drops[PATHPROF_DROP_OWN],
				(uint64_t)(3 - pid) * burst.taken_cnt);
	}
	CU_ASSERT_EQUAL(profile->process_cnt, 1);
	scene_release(&scene);
}

/* A process that ran before the tracker looked may be gone since. */
static void test_before_the_beginning(void)
{
	struct pathprof_branch branches[64];
	const struct pathprof_profile *profile;
	struct pathprof_burst burst;
	unsigned int seed = 15;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	profile = pp_window_profile(scene.window);
	pp_window_begin(scene.window);
	do
		random_burst(&seed, &burst, branches);
	while (burst.taken_cnt < 5);
	scene.fake.gone = true;
	burst.time_ns = 1;
	pp_window_add_burst(scene.window, &burst, branches);
	CU_ASSERT_EQUAL(profile->totals.drops[PATHPROF_DROP_UNRESOLVED], 0);
	burst.time_ns = UINT64_MAX;
	pp_window_add_burst(scene.window, &burst, branches);
	CU_ASSERT_EQUAL(profile->totals.drops[PATHPROF_DROP_UNRESOLVED], burst.taken_cnt);
	CU_ASSERT_EQUAL(profile->process_cnt, 0);
	scene_release(&scene);
}

/* With next to no memory nothing breaks, and what is missing is counted. */
static void test_tiny_memory(void)
{
	unsigned int seed = 17;
	struct scene scene;

	scene_init(&scene, 8 << 10);
	feed(&scene, &seed, 2000);
	CU_ASSERT_EQUAL(pp_window_close(scene.window, &scene.sink, NULL), 0);
	CU_ASSERT(scene.sunk.totals.drops[PATHPROF_DROP_TABLE_FULL] > 0);
	CU_ASSERT_FALSE(agrees(&scene));
	scene_release(&scene);
}

static const struct unit_test tests[] = {
	{"a window agrees with the naive one", test_oracle},
	{"paths and edges that come as counts are as those of bursts", test_counts_are_as_bursts},
	{"a count stands for so many of the same weight", test_counts_multiply},
	{"another source may be taken before the first burst", test_source_can_be_another},
	{"bursts of instructions agree with the naive window", test_oracle_of_instructions},
	{"bursts of another horizon are counted and leave nothing", test_other_horizon},
	{"a burst of the length before held its thread", test_earlier_horizon},
	{"windows one after the other add up", test_windows_add_up},
	{"a window that cannot be written is dropped, the next is whole",
	 test_failed_close_starts_afresh},
	{"malformed bursts are counted and leave nothing", test_malformed},
	{"bursts of unknown and of reused process numbers are counted", test_unknown_process},
	{"the daemon's own work is counted apart", test_own_work},
	{"what came before the tracker is no loss", test_before_the_beginning},
	{"a full table is counted, not fatal", test_tiny_memory},
};
UNIT_SUITE(window, tests)
