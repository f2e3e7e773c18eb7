// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The open window against a naive one: lists searched from the start, over a fake tracker with
 * two processes of three mappings each, the last of them generated code, and a hole between.
 */
#include "unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/clock/cpu_clock.h"
#include "../../daemon/window/window.h"
#include "../../daemon/window/window_jit.h"
#include "window_fake.h"

#define LIST_MAX 20000
#define TAKEN    32

struct entry {
	pid_t pid;
	struct pathprof_build_id from_id, to_id;
	uint64_t from, to; /* a path: its start, and length << 32 | outcomes */
	uint64_t cnt;
	double weight, insns;
};

struct naive {
	struct entry *paths, *edges;
	size_t path_cnt, edge_cnt;
	uint64_t unresolved;
	pid_t pid; /* of the burst being added */
	uint64_t pathless;
};

static bool same(const struct entry *a, const struct entry *b)
{
	return a->pid == b->pid && a->from == b->from && a->to == b->to &&
	       pathprof_build_id_equal(&a->from_id, &b->from_id) &&
	       pathprof_build_id_equal(&a->to_id, &b->to_id);
}

static void add(struct entry *list, size_t *cnt, const struct entry *e)
{
	size_t i = 0;

	while (i < *cnt && !same(&list[i], e))
		i++;
	if (i == *cnt) {
		if (*cnt == LIST_MAX)
			abort();
		list[(*cnt)++] = *e;
		return;
	}
	list[i].cnt += e->cnt;
	list[i].weight += e->weight;
	list[i].insns += e->insns;
}

static void naive_path(void *context, const struct pathprof_path_seen *path)
{
	struct naive *naive = context;
	struct pp_location where;
	struct entry e = {.pid = naive->pid,
			  .cnt = 1,
			  .weight = path->weight,
			  .insns = path->weight * path->insns};

	if (locate(naive->pid, path->start, &where) < 0) {
		naive->unresolved++;
		return;
	}
	e.from_id = where.id;
	e.from = where.offset;
	e.to = (uint64_t)path->length << 32 | path->outcomes;
	add(naive->paths, &naive->path_cnt, &e);
}

static void naive_edge(struct naive *naive, const struct pathprof_branch *branch)
{
	struct pp_location from, to;
	struct entry e = {.pid = naive->pid, .cnt = 1};

	if (locate(naive->pid, branch->from, &from) < 0 ||
	    locate(naive->pid, branch->next, &to) < 0) {
		naive->unresolved++;
		return;
	}
	e.from_id = from.id;
	e.from = from.offset;
	e.to_id = to.id;
	e.to = to.offset;
	add(naive->edges, &naive->edge_cnt, &e);
}

static void naive_burst(struct naive *naive, const struct pathprof_burst *burst,
			const struct pathprof_branch *branches)
{
	naive->pid = (pid_t)burst->pid;
	naive->pathless += !pathprof_paths_of_window(branches, burst->branch_cnt, burst->horizon,
						     PATHPROF_MAPPING_BL, naive_path, naive);
	for (uint32_t i = 0; i < burst->branch_cnt; i++)
		if (branches[i].taken)
			naive_edge(naive, &branches[i]);
}

/* What the sink was given, as lists. */
struct sunk {
	struct naive seen;
	struct pathprof_totals totals;
	unsigned int windows, symbols;
	int answer;
};

static void copy_out(struct naive *to, const struct pathprof_profile *p)
{
	for (uint32_t i = 0; i < p->path_cnt; i++) {
		const struct pathprof_path_count *path = &p->paths[i];
		struct entry e = {
			.pid = (pid_t)p->processes[path->process].pid,
			.from_id = p->binaries[path->binary].id,
			.from = path->start,
			.to = (uint64_t)path->length << 32 | path->outcomes,
			.cnt = path->samples,
			.weight = path->weight,
			.insns = path->insns,
		};

		add(to->paths, &to->path_cnt, &e);
	}
	for (uint32_t i = 0; i < p->edge_cnt; i++) {
		const struct pathprof_edge_count *edge = &p->edges[i];
		struct entry e = {
			.pid = (pid_t)p->processes[edge->process].pid,
			.from_id = p->binaries[edge->from_binary].id,
			.to_id = p->binaries[edge->to_binary].id,
			.from = edge->from,
			.to = edge->to,
			.cnt = edge->count,
		};

		add(to->edges, &to->edge_cnt, &e);
	}
}

static int sink_window(void *context, const struct pathprof_profile *profile,
		       struct pathprof_error *error)
{
	struct sunk *sunk = context;

	CU_ASSERT(profile->end_ns >= profile->begin_ns);
	CU_ASSERT_EQUAL(profile->basis, PATHPROF_BASIS_TIME);
	sunk->windows++;
	sunk->totals = profile->totals;
	copy_out(&sunk->seen, profile);
	return sunk->answer ? pathprof_fail(error, sunk->answer, "no") : 0;
}

static int sink_symbol(void *context, const struct pathprof_build_id *id, uint64_t start,
		       uint64_t len_bytes, const char *name, struct pathprof_error *error)
{
	struct sunk *sunk = context;
	char want[32];

	snprintf(want, sizeof(want), "f_%llx", (unsigned long long)start);
	CU_ASSERT_STRING_EQUAL(name, want);
	CU_ASSERT_EQUAL(id->kind, PATHPROF_ID_JIT);
	sunk->symbols++;
	return 0;
}

struct scene {
	struct fake fake;
	struct naive naive;
	struct sunk sunk;
	struct pp_window *window;
	struct pp_window_sink sink;
};

static void lists_init(struct naive *naive)
{
	naive->paths = calloc(LIST_MAX, sizeof(*naive->paths));
	naive->edges = calloc(LIST_MAX, sizeof(*naive->edges));
	if (!naive->paths || !naive->edges)
		abort();
}

static void lists_release(struct naive *naive)
{
	free(naive->paths);
	free(naive->edges);
}

static void scene_init_beside(struct scene *scene, size_t memory, pid_t own_pid)
{
	const struct pp_resolver resolver = {&scene->fake, fake_dispatch, fake_process,
					     fake_resolve, fake_jit,      NULL};
	const struct pp_window_config config = {
		.mapping = PATHPROF_MAPPING_BL,
		.source = PATHPROF_SOURCE_STEP,
		.basis = PATHPROF_BASIS_TIME,
		.taken_wanted = TAKEN,
		.memory_max_bytes = memory,
		.own_pid = own_pid,
	};

	memset(scene, 0, sizeof(*scene));
	lists_init(&scene->naive);
	lists_init(&scene->sunk.seen);
	scene->sink = (struct pp_window_sink){&scene->sunk, sink_window, sink_symbol};
	CU_ASSERT_EQUAL_FATAL(pp_window_new(&scene->window, &config, &resolver), 0);
}

static void scene_init(struct scene *scene, size_t memory)
{
	scene_init_beside(scene, memory, 0);
}

static void scene_release(struct scene *scene)
{
	pp_window_free(scene->window);
	lists_release(&scene->naive);
	lists_release(&scene->sunk.seen);
}

/* Few addresses, so that entries repeat; some in the hole. */
static uint64_t random_address(unsigned int *seed)
{
	uint64_t slot = (uint64_t)rand_r(seed) % (2 * MAPS);

	if (slot % 2 && rand_r(seed) % 8)
		slot--;
	return BASE + slot * SPAN + (uint64_t)(rand_r(seed) % 4) * 0x130;
}

static void random_burst(unsigned int *seed, struct pathprof_burst *ret_burst,
			 struct pathprof_branch *ret_branches)
{
	static const uint32_t kinds[] = {PERF_BR_COND, PERF_BR_COND, PERF_BR_UNCOND,
					 PERF_BR_CALL, PERF_BR_RET,  PERF_BR_IND};
	uint32_t cnt = (uint32_t)rand_r(seed) % 60, taken = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		struct pathprof_branch *b = &ret_branches[i];

		b->kind = kinds[rand_r(seed) % 6];
		b->taken = b->kind != PERF_BR_COND || rand_r(seed) % 2;
		b->from = random_address(seed);
		b->target = random_address(seed);
		b->next = b->taken ? b->target : b->from + 2;
		b->insns = 0;
		taken += b->taken;
	}
	*ret_burst = (struct pathprof_burst){
		.size_bytes = (uint32_t)(sizeof(*ret_burst) + cnt * sizeof(*ret_branches)),
		.version = PATHPROF_ABI_VERSION,
		.source = PATHPROF_SOURCE_STEP,
		.pid = 1 + (uint32_t)rand_r(seed) % PIDS,
		.branch_cnt = cnt,
		.taken_cnt = taken,
		.step_cnt = 3 * cnt,
		.end = (uint32_t)rand_r(seed) % PATHPROF_END_CNT,
	};
	ret_burst->start_time = START_OF(ret_burst->pid);
}

static void feed(struct scene *scene, unsigned int *seed, int bursts)
{
	struct pathprof_branch branches[64];
	struct pathprof_burst burst;

	for (int i = 0; i < bursts; i++) {
		random_burst(seed, &burst, branches);
		pp_window_add_burst(scene->window, &burst, branches);
		naive_burst(&scene->naive, &burst, branches);
	}
}

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

/* Where no clock runs a burst's start is a sample of its source's; of hardware's it is none. */
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

/* Three symbols of generated code a process in reach of random_address, one without a name. */
static void test_jit_symbols(void)
{
	unsigned int seed = 16;
	struct scene scene;

	scene_init(&scene, 8 << 20);
	feed(&scene, &seed, 500);
	CU_ASSERT_EQUAL(pp_window_close(scene.window, &scene.sink, NULL), 0);
	CU_ASSERT_EQUAL(scene.sunk.symbols, 3 * PIDS);
	CU_ASSERT(scene.fake.jit_lookups >= scene.sunk.symbols);
	scene_release(&scene);
}

static void add_generated(struct pathprof_profile *profile, uint32_t pid, uint64_t first,
			  uint32_t cnt, uint64_t step)
{
	const struct pathprof_build_id id = id_of((pid_t)pid, MAPS - 1);
	char comm[] = "vm", container[] = "";
	const struct pathprof_process process = {.pid = pid,
						 .start_time = pid,
						 .comm = comm,
						 .container = container,
						 .binary = PATHPROF_NO_INDEX};
	struct pathprof_path_count path = {.length = 1, .samples = 1, .weight = 1};

	path.binary = pathprof_profile_binary(profile, &id, "jit");
	path.process = pathprof_profile_process(profile, &process);
	for (uint32_t i = 0; i < cnt; i++) {
		path.start = first + i * step;
		pathprof_profile_add_path(profile, &path);
	}
}

/* What was stored: symbols by process, and their names in a row. */
struct stored {
	unsigned int cnts[3];
	char names[64];
};

static int store_symbol(void *context, const struct pathprof_build_id *id, uint64_t start,
			uint64_t len_bytes, const char *name, struct pathprof_error *error)
{
	struct stored *stored = context;
	size_t len = strlen(stored->names);

	stored->cnts[id->bytes[1]]++;
	snprintf(stored->names + len, sizeof(stored->names) - len, "%s ", name);
	return 0;
}

/* One process alone has more generated addresses than a window looks at. */
static void test_jit_shares(void)
{
	struct fake fake = {0};
	const struct pp_resolver resolver = {&fake,        fake_dispatch, fake_process,
					     fake_resolve, fake_jit,      NULL};
	struct stored stored = {.names = ""};
	const struct pp_window_sink sink = {.context = &stored, .add_jit_symbol = store_symbol};
	struct pathprof_profile profile;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 16 << 20), 0);
	add_generated(&profile, 1, 0x100, 20000, 0x1000);
	add_generated(&profile, 2, 0x100, 10, 0x1000);
	CU_ASSERT_EQUAL(pp_window_store_jit(&profile, &resolver, &sink, NULL), 0);
	CU_ASSERT_EQUAL(profile.path_cnt, 20010);
	CU_ASSERT_EQUAL(stored.cnts[1], 16384 - 10);
	CU_ASSERT_EQUAL(stored.cnts[2], 10);
	pathprof_profile_release(&profile);
}

/* "in" was compiled into memory of "out" that was free again, and lies within its line. */
static int nested_jit(void *context, pid_t pid, const struct pathprof_build_id *code,
		      uint64_t address, char *name, size_t name_size, uint64_t *ret_start,
		      uint64_t *ret_len_bytes)
{
	const bool is_in = address >= 0x120 && address < 0x140;

	snprintf(name, name_size, "%s", is_in ? "in" : "out");
	*ret_start = is_in ? 0x120 : 0x100;
	*ret_len_bytes = is_in ? 0x20 : 0x100;
	return 0;
}

static void test_jit_within(void)
{
	const struct pp_resolver resolver = {NULL,         fake_dispatch, fake_process,
					     fake_resolve, nested_jit,    NULL};
	struct stored stored = {.names = ""};
	const struct pp_window_sink sink = {.context = &stored, .add_jit_symbol = store_symbol};
	struct pathprof_profile profile;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 1 << 20), 0);
	add_generated(&profile, 1, 0x100, 8, 0x10);
	CU_ASSERT_EQUAL(pp_window_store_jit(&profile, &resolver, &sink, NULL), 0);
	CU_ASSERT_STRING_EQUAL(stored.names, "out in out ");
	pathprof_profile_release(&profile);
}

/* The names of two programs that one process ran. */
static int jit_of_program(void *context, pid_t pid, const struct pathprof_build_id *code,
			  uint64_t address, char *name, size_t name_size, uint64_t *ret_start,
			  uint64_t *ret_len_bytes)
{
	snprintf(name, name_size, "%d:%d", pid, code->bytes[1]);
	*ret_start = 0x100;
	*ret_len_bytes = 0x100;
	return 0;
}

/* One process generated code at one address before and after it executed another program. */
static void test_jit_after_exec(void)
{
	const struct pp_resolver resolver = {NULL,         fake_dispatch,  fake_process,
					     fake_resolve, jit_of_program, NULL};
	struct stored stored = {.names = ""};
	const struct pp_window_sink sink = {.context = &stored, .add_jit_symbol = store_symbol};
	struct pathprof_path_count path = {.start = 0x110, .length = 1, .samples = 1, .weight = 1};
	char comm[] = "vm", container[] = "";
	struct pathprof_profile profile;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&profile, 1 << 20), 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct pathprof_build_id id = id_of((pid_t)i + 1, MAPS - 1);
		const struct pathprof_process process = {.pid = 7,
							 .exec_cnt = i,
							 .comm = comm,
							 .container = container,
							 .binary = PATHPROF_NO_INDEX};

		path.binary = pathprof_profile_binary(&profile, &id, "jit:7");
		path.process = pathprof_profile_process(&profile, &process);
		pathprof_profile_add_path(&profile, &path);
	}
	CU_ASSERT_EQUAL(pp_window_store_jit(&profile, &resolver, &sink, NULL), 0);
	CU_ASSERT_STRING_EQUAL(stored.names, "7:1 7:2 ");
	pathprof_profile_release(&profile);
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
	{"clock samples are counted by process and place", test_clock},
	{"clock samples of a thread that is held are left out", test_clock_of_held},
	{"without a clock the starts of bursts are its samples", test_starts_for_a_clock},
	{"windows one after the other add up", test_windows_add_up},
	{"a window that cannot be written is dropped, the next is whole",
	 test_failed_close_starts_afresh},
	{"malformed bursts are counted and leave nothing", test_malformed},
	{"bursts of unknown and of reused process numbers are counted", test_unknown_process},
	{"the daemon's own work is counted apart", test_own_work},
	{"what came before the tracker is no loss", test_before_the_beginning},
	{"each generated function is named once", test_jit_symbols},
	{"a process with generated code without end leaves others their names", test_jit_shares},
	{"a generated function within another's line has its name", test_jit_within},
	{"generated code has the names of the program that ran it", test_jit_after_exec},
	{"a source's totals are taken as differences", test_account},
	{"time held is counted once, whoever tells first", test_held_time_counts_once},
	{"a full table is counted, not fatal", test_tiny_memory},
};
UNIT_SUITE(window, tests)
