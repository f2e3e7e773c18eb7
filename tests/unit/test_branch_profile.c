// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branch profiles: adding up against plain sums, paths of a store against runs worked out by hand,
 * straight runs, density.
 */

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../libprofile/src/branch/pp_branch_profile.h"
#include "../../libprofile/src/branch/pp_fill.h"
#include "../../libprofile/src/branch/pp_straight.h"
#include "elf_writer.h"
#include "export_world.h"
#include "pathprof/export.h"
#include "test_store.h"
#include "unit.h"

/* ---------------------------------------------------------------- adding up */

#define PLACES 12
struct sums {
	uint64_t branches[PLACES][PLACES], wrong[PLACES][PLACES];
	double ranges[PLACES][PLACES][2];
};

static void add_random(struct export_world *w, struct sums *sums, uint64_t *state)
{
	uint32_t a = world_random(state, PLACES), b = world_random(state, PLACES);
	uint32_t count = world_random(state, 1000), wrong = world_random(state, 5);

	if (world_random(state, 2)) {
		export_world_branch(w, a, b, count, wrong);
		sums->branches[a][b] += count;
		sums->wrong[a][b] += wrong;
	} else {
		export_world_range(w, a, b, wrong & 1, count / 8.0);
		sums->ranges[a][b][wrong & 1] += count / 8.0;
	}
}

static bool is_sum(const struct pathprof_branch_profile *p, const struct sums *sums)
{
	uint64_t all = 0, want = 0;

	for (uint32_t i = 0; i < p->branch_cnt; i++) {
		const struct pathprof_branch_count *b = &p->branches[i];

		if (i && (b[-1].from > b->from || (b[-1].from == b->from && b[-1].to >= b->to)))
			return false;
		if (b->count !=
			    sums->branches[b->from - EXPORT_WORLD_AT][b->to - EXPORT_WORLD_AT] ||
		    b->mispredicted !=
			    sums->wrong[b->from - EXPORT_WORLD_AT][b->to - EXPORT_WORLD_AT])
			return false;
		all += b->count;
	}
	for (uint32_t i = 0; i < p->range_cnt; i++) {
		const struct pathprof_range_count *r = &p->ranges[i];
		double weight = sums->ranges[r->start - EXPORT_WORLD_AT][r->last - EXPORT_WORLD_AT]
					    [r->after_call];

		if (r->count != (weight > 0 && weight < 1 ? 1 : (uint64_t)round(weight)))
			return false;
	}
	for (int i = 0; i < PLACES * PLACES; i++)
		want += sums->branches[i / PLACES][i % PLACES];
	return all == want;
}

static void test_sums(void)
{
	struct sums sums = {.wrong = {{0}}};
	struct export_world w;
	uint64_t state = 7;

	export_world_begin(&w);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 3000; i++)
			add_random(&w, &sums, &state);
		CU_ASSERT_FALSE(w.profile.settled);
		export_world_settle(&w);
		CU_ASSERT_TRUE(is_sum(&w.profile, &sums));
	}
	/* the check can fail */
	w.profile.branches[5].count++;
	CU_ASSERT_FALSE(is_sum(&w.profile, &sums));
	export_world_end(&w);
}

static void test_rounding(void)
{
	struct export_world w;

	export_world_begin(&w);
	export_world_range(&w, 0, 1, false, 0.2);
	export_world_range(&w, 0, 2, false, 0.7);
	export_world_range(&w, 0, 2, false, 0.7);
	export_world_range(&w, 0, 3, false, 0.4);
	export_world_range(&w, 0, 3, false, 1.2);
	export_world_branch(&w, 0, 1, UINT64_MAX - 1, 0);
	export_world_branch(&w, 0, 1, 5, 0);
	export_world_settle(&w);
	CU_ASSERT_EQUAL_FATAL(w.profile.range_cnt, 3);
	CU_ASSERT_EQUAL(w.profile.ranges[0].count, 1);
	CU_ASSERT_EQUAL(w.profile.ranges[1].count, 1);
	CU_ASSERT_EQUAL(w.profile.ranges[2].count, 2);
	CU_ASSERT_EQUAL(w.profile.branches[0].count, UINT64_MAX);
	export_world_end(&w);
}

/* ---------------------------------------------------------------- paths of a store */

struct known_path {
	uint64_t start;
	uint32_t length, outcomes;
	double weight;
};

static const struct known_path known_paths[] = {
	{0x00, 2, 2, 10},  /* je not taken, jne taken */
	{0x02, 2, 2, 90},  /* the same, once round */
	{0x02, 2, 0, 10},  /* out of the loop: open at 0c */
	{0x0c, 0, 0, 16},  /* ret: 10 of these from the loop */
	{0x00, 2, 3, 5},   /* je taken, call, jmp */
	{0x02, 2, 1, 1e9}, /* je taken and the jmp not: no such path */
};

/* One process of the world's binary, which is number 0; another binary is number 1. */
static void begin_profile(struct pathprof_profile *p, const struct export_world *w)
{
	struct pathprof_build_id libc = {.bytes = {9}, .len_bytes = 20, .kind = 1};
	char comm[] = "made", container[] = "";
	struct pathprof_process process = {.pid = 4, .comm = comm, .container = container};

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(p, 1 << 20), 0);
	p->begin_ns = 1767312000000000000;
	p->end_ns = p->begin_ns + 1000000000;
	p->source = PATHPROF_SOURCE_STEP;
	p->basis = PATHPROF_BASIS_TIME;
	CU_ASSERT_EQUAL(pathprof_profile_binary(p, &w->graph->build_id, "/bin/made"), 0);
	CU_ASSERT_EQUAL(pathprof_profile_binary(p, &libc, "/lib/libc.so.6"), 1);
	CU_ASSERT_EQUAL(pathprof_profile_process(p, &process), 0);
}

static void write_store(const struct export_world *w, const char *file)
{
	struct pathprof_profile p = {0};
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	const uint32_t own = 0, other = 1;
	int64_t id;

	begin_profile(&p, w);
	for (size_t i = 0; i < sizeof(known_paths) / sizeof(known_paths[0]); i++)
		pathprof_profile_add_path(&p,
					  &(struct pathprof_path_count){
						  .binary = own,
						  .start = EXPORT_WORLD_AT + known_paths[i].start,
						  .length = known_paths[i].length,
						  .outcomes = known_paths[i].outcomes,
						  .samples = 2,
						  .weight = known_paths[i].weight});
	pathprof_profile_add_path(
		&p, &(struct pathprof_path_count){
			    .binary = other, .start = EXPORT_WORLD_AT, .samples = 1, .weight = 1});
	pathprof_profile_add_edge(&p,
				  &(struct pathprof_edge_count){0, own, own, EXPORT_WORLD_AT + 0xa,
								EXPORT_WORLD_AT + 2, 97, 7});
	pathprof_profile_add_edge(
		&p, &(struct pathprof_edge_count){0, other, own, 0x77, EXPORT_WORLD_AT, 15, 0});
	pathprof_profile_add_edge(&p, &(struct pathprof_edge_count){
					      0, own, other, EXPORT_WORLD_AT + 0xc, 0x78, 16, 0});
	pathprof_profile_add_edge(
		&p, &(struct pathprof_edge_count){0, other, other, 0x77, 0x99, 1000, 0});
	CU_ASSERT_EQUAL_FATAL(pathprof_store_add_window(store, &p, &id, NULL), 0);
	pathprof_store_free(store);
	pathprof_profile_release(&p);
}

static void put_range(FILE *file, const struct pathprof_range_count *r)
{
	fprintf(file, "%c %" PRIx64 "-%" PRIx64 " %" PRIu64 "\n", r->after_call ? 'r' : 'F',
		r->start - EXPORT_WORLD_AT, r->last - EXPORT_WORLD_AT, r->count);
}

/* All of the database becomes the world's profile, settled. */
static void read_store(struct export_world *w, const char *db)
{
	const struct pathprof_filter all = {0};
	struct pathprof_store *store = world_open(db, PATHPROF_STORE_READ);

	CU_ASSERT_EQUAL(pathprof_branch_profile_add_store(&w->profile, store, &all, w->code,
							  w->graph, &w->error),
			0);
	pathprof_store_free(store);
	export_world_settle(w);
}

static void test_store_paths(void)
{
	struct export_world w;
	const char *db;
	char *got = NULL;
	size_t size;
	FILE *file;

	export_world_begin(&w);
	db = world_file(unit_tmpdir(), "export.db");
	write_store(&w, db);
	read_store(&w, db);
	file = open_memstream(&got, &size);
	for (uint32_t i = 0; i < w.profile.range_cnt; i++)
		put_range(file, &w.profile.ranges[i]);
	for (uint32_t i = 0; i < w.profile.trace_cnt; i++)
		fprintf(file, "T %" PRIx64 " %" PRIx64 "-%" PRIx64 " %" PRIu64 "\n",
			w.profile.traces[i].from - EXPORT_WORLD_AT,
			w.profile.traces[i].start - EXPORT_WORLD_AT,
			w.profile.traces[i].last - EXPORT_WORLD_AT, w.profile.traces[i].count);
	for (uint32_t i = 0; i < w.profile.branch_cnt; i++)
		fprintf(file, "B %" PRIu64 " %" PRIu64 "\n", w.profile.branches[i].count,
			w.profile.branches[i].mispredicted);
	fclose(file);
	CU_ASSERT_STRING_EQUAL(got, "F 0-4 5\n"
				    "F 0-a 10\n"
				    "F 2-a 90\n"
				    "F 2-c 10\n"
				    "F c-c 6\n"
				    "F d-d 5\n"
				    "r 12-12 5\n"
				    "T 4 d-d 5\n"
				    "B 97 7\nB 16 0\nB 15 0\n");
	free(got);
	CU_ASSERT_EQUAL(w.profile.origin.refused, 2);
	CU_ASSERT_EQUAL(w.profile.origin.samples, 10);
	CU_ASSERT_DOUBLE_EQUAL(w.profile.origin.weight, 131, 1e-9);
	CU_ASSERT_EQUAL(w.profile.origin.taken, 128);
	CU_ASSERT_EQUAL(w.profile.origin.windows, 1);
	CU_ASSERT_EQUAL(w.profile.origin.basis, PATHPROF_BASIS_TIME);
	CU_ASSERT_STRING_EQUAL(w.profile.origin.sources, "step");
	CU_ASSERT_STRING_EQUAL(w.profile.origin.binary, "/bin/made");
	export_world_end(&w);
}

/* A branch that is seldom taken, two that come from other binaries' places, and a frequent one. */
static const struct pathprof_edge_count weighed_edges[] = {
	{0, 0, 0, EXPORT_WORLD_AT + 0x4, EXPORT_WORLD_AT + 0xd, 1, 0, 0.3},
	{0, 0, 0, EXPORT_WORLD_AT + 0xa, EXPORT_WORLD_AT + 0x2, 4, 2, 9.6},
	{0, 1, 0, 0x77, EXPORT_WORLD_AT, 1, 1, 1.4},
	{0, 1, 0, 0x79, EXPORT_WORLD_AT, 1, 1, 1.4},
};

static void write_weighed(const struct export_world *w, const char *file)
{
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_profile p = {0};

	begin_profile(&p, w);
	p.horizon = 1024;
	p.weighed = true;
	for (size_t i = 0; i < sizeof(weighed_edges) / sizeof(weighed_edges[0]); i++)
		pathprof_profile_add_edge(&p, &weighed_edges[i]);
	CU_ASSERT_EQUAL_FATAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	pathprof_store_free(store);
	pathprof_profile_release(&p);
}

static void test_store_weighed_edges(void)
{
	struct export_world w;
	const char *db;

	export_world_begin(&w);
	db = world_file(unit_tmpdir(), "weighed.db");
	write_weighed(&w, db);
	read_store(&w, db);
	CU_ASSERT_EQUAL_FATAL(w.profile.branch_cnt, 3);
	CU_ASSERT_EQUAL(w.profile.branches[0].from, EXPORT_WORLD_AT + 0x4);
	CU_ASSERT_EQUAL(w.profile.branches[0].count, 1);
	CU_ASSERT_EQUAL(w.profile.branches[1].count, 10);
	CU_ASSERT_EQUAL(w.profile.branches[1].mispredicted, 5);
	/* 2.8, not twice 1 */
	CU_ASSERT_EQUAL(w.profile.branches[2].from, PATHPROF_OUTSIDE);
	CU_ASSERT_EQUAL(w.profile.branches[2].count, 3);
	CU_ASSERT_EQUAL(w.profile.branches[2].mispredicted, 3);
	export_world_end(&w);
}

/* A window of an import, with a range, one that ends before it begins, and one out of the code. */
static void write_ranges(const struct export_world *w, const char *file)
{
	const struct pathprof_build_id libc = {.bytes = {9}, .len_bytes = 20, .kind = 1};
	const struct pathprof_build_id *own = &w->graph->build_id;
	const struct pathprof_range_row rows[] = {
		{&libc, own, 0x77, EXPORT_WORLD_AT, EXPORT_WORLD_AT + 0x4, 5, true},
		{&libc, own, 0x77, EXPORT_WORLD_AT + 0x2, EXPORT_WORLD_AT, 3, true},
		{&libc, own, 0x77, EXPORT_WORLD_AT + 0x2, UINT64_C(1) << 40, 2, true},
	};
	const struct pathprof_ranges ranges = {rows, sizeof(rows) / sizeof(rows[0])};
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_profile p = {0};
	int64_t id = 0;

	begin_profile(&p, w);
	for (uint64_t i = 0; i < ranges.cnt; i++)
		pathprof_profile_add_edge(
			&p, &(struct pathprof_edge_count){0, 1, 0, 0x77, rows[i].start, 1, 0});
	CU_ASSERT_EQUAL_FATAL(pathprof_store_add_window(store, &p, &id, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_add_ranges(store, id, &ranges, NULL), 0);
	pathprof_store_free(store);
	pathprof_profile_release(&p);
}

static void test_store_ranges(void)
{
	struct export_world w;
	const char *db;

	export_world_begin(&w);
	db = world_file(unit_tmpdir(), "ranges.db");
	write_ranges(&w, db);
	read_store(&w, db);
	CU_ASSERT_EQUAL_FATAL(w.profile.range_cnt, 1);
	CU_ASSERT_EQUAL(w.profile.ranges[0].last, EXPORT_WORLD_AT + 0x4);
	CU_ASSERT_EQUAL(w.profile.ranges[0].count, 5);
	CU_ASSERT_EQUAL(w.profile.origin.refused, 3 + 2);
	export_world_end(&w);
}

/* ---------------------------------------------------------------- runs that no path gave */

static bool ranges_are(struct export_world *w, const char *want)
{
	char *got = NULL;
	size_t size;
	FILE *file = open_memstream(&got, &size);
	bool same;

	export_world_settle(w);
	for (uint32_t i = 0; i < w->profile.range_cnt; i++)
		put_range(file, &w->profile.ranges[i]);
	fclose(file);
	same = !strcmp(got, want);
	free(got);
	return same;
}

/* The counts of fill(): 40 at 02, of which 4 leave at 04; 36 at 06, of which 30 leave at 0a. */
static void add_branches(struct export_world *w)
{
	export_world_begin(w);
	export_world_branch(w, PATHPROF_OUTSIDE, 0x00, 10, 0);
	export_world_branch(w, 0x0a, 0x02, 30, 0);
	export_world_branch(w, 0x04, 0x0d, 4, 0);
	export_world_branch(w, 0x0d, 0x20, 4, 0);
	export_world_branch(w, 0x21, 0x12, 4, 0);
	export_world_branch(w, 0x12, 0x0c, 4, 0);
	export_world_branch(w, 0x0c, PATHPROF_OUTSIDE, 10, 0);
}

static void test_fill(void)
{
	static const char *const want = "F 0-4 1\n"
					"F 0-a 8\n" /* 7.5 */
					"F 0-c 2\n" /* 1.5 */
					"F 2-4 3\n"
					"F 2-a 23\n" /* 22.5 */
					"F 2-c 5\n"  /* 4.5 */
					"F c-c 4\n"
					"F d-d 4\n"
					"r 12-12 4\n"
					"F 20-21 4\n";
	struct export_world w;

	add_branches(&w);
	CU_ASSERT_EQUAL(pp_fill(&w.profile, w.graph), 0);
	CU_ASSERT_TRUE(ranges_are(&w, want));
	/* nothing is missing any more */
	CU_ASSERT_EQUAL(pp_fill(&w.profile, w.graph), 0);
	CU_ASSERT_TRUE(ranges_are(&w, want));
	/* the check can fail */
	export_world_range(&w, 0x0c, 0x0c, false, 1);
	CU_ASSERT_FALSE(ranges_are(&w, want));
	export_world_end(&w);
}

static void test_fill_the_rest(void)
{
	struct export_world w;

	add_branches(&w);
	export_world_range(&w, 0x00, 0x0a, false, 10);
	export_world_range(&w, 0x02, 0x0a, false, 20);
	export_world_range(&w, 0x12, 0x12, true, 5);
	CU_ASSERT_EQUAL(pp_fill(&w.profile, w.graph), 0);
	CU_ASSERT_TRUE(ranges_are(&w, "F 0-a 10\n"
				      "F 2-4 1\n"
				      "F 2-a 28\n" /* 27.5 */
				      "F 2-c 2\n"  /* 1.5 */
				      "F c-c 4\n"
				      "F d-d 4\n"
				      "r 12-12 5\n"
				      "F 20-21 4\n"));
	export_world_end(&w);
}

/* ---------------------------------------------------------------- straight runs */

/* Runs between 16 places: each begins at a place and ends for good or is open at a later one. */
#define RUN_PLACES 16

static struct pp_run random_run(uint64_t *state)
{
	uint64_t start = world_random(state, RUN_PLACES);
	struct pp_run run = {.from = world_random(state, 3) ? PP_FROM_START
							    : 100 + world_random(state, 2),
			     .start = EXPORT_WORLD_AT + 16 * start,
			     .weight = 1 + world_random(state, 50)};
	uint64_t on = start + 1 + world_random(state, RUN_PLACES - (uint32_t)start);

	run.last = EXPORT_WORLD_AT + 16 * on - 2;
	if (on < RUN_PLACES && world_random(state, 2))
		run.open = EXPORT_WORLD_AT + 16 * on;
	return run;
}

/*
 * Joining moves no weight away from where runs really begin or end, and the code run through stays
 * as much: by place where branches led, and where runs ended.
 */
struct flow {
	double begins[RUN_PLACES], ends[RUN_PLACES + 1], bytes;
};

/* An open run that nothing continues counts as an end at its place, so ends may grow. */
static bool is_kept(const struct flow *in, const struct flow *out)
{
	for (int i = 0; i < RUN_PLACES; i++)
		if (fabs(in->begins[i] - out->begins[i]) > 1e-6 ||
		    out->ends[i + 1] < in->ends[i + 1] - 1e-6)
			return false;
	return fabs(in->bytes - out->bytes) < 1e-6 * in->bytes;
}

static void add_flow(struct flow *flow, uint64_t start, uint64_t last, bool ends, double weight)
{
	if (ends)
		flow->ends[(last + 2 - EXPORT_WORLD_AT) / 16] += weight;
	flow->bytes += weight * (double)(last + 2 - start);
}

static struct flow flow_of(const struct pathprof_branch_profile *p)
{
	const struct pp_branch_entries *entries = p->draft->entries;
	struct flow flow = {.bytes = 0};

	for (size_t i = 0; i < entries[PP_ENTRY_TRACE].cnt; i++)
		flow.begins[(entries[PP_ENTRY_TRACE].items[i].at[1] - EXPORT_WORLD_AT) / 16] +=
			entries[PP_ENTRY_TRACE].items[i].weight;
	for (size_t i = 0; i < entries[PP_ENTRY_RANGE].cnt; i++) {
		const struct pp_branch_entry *r = &entries[PP_ENTRY_RANGE].items[i];

		add_flow(&flow, r->at[0], r->at[1], true, r->weight);
	}
	return flow;
}

static void join_random(uint64_t *state)
{
	struct pp_runs_of_paths runs = {0};
	struct flow in = {.bytes = 0}, out;
	struct export_world w;

	export_world_begin(&w);
	for (int i = 0; i < 40; i++) {
		struct pp_run run = random_run(state);

		CU_ASSERT_EQUAL(pp_straight_add(&runs, &run), 0);
		if (run.from != PP_FROM_START)
			in.begins[(run.start - EXPORT_WORLD_AT) / 16] += run.weight;
		add_flow(&in, run.start, run.last, !run.open, run.weight);
	}
	CU_ASSERT_EQUAL(pp_straight_emit(&runs, &w.profile), 0);
	pp_straight_release(&runs);
	out = flow_of(&w.profile);
	CU_ASSERT_TRUE(is_kept(&in, &out));
	/* the check can fail */
	out.bytes *= 1.01;
	CU_ASSERT_FALSE(is_kept(&in, &out));
	export_world_end(&w);
}

static void test_straight(void)
{
	uint64_t state = 11;

	for (int round = 0; round < 200; round++)
		join_random(&state);
}

/* Behind the call at 0d; behind the one at 20 nothing begins. */
static void test_whole_program_paths(void)
{
	struct pp_runs_of_paths runs = {0};
	const struct pp_run all[] = {
		{PP_FROM_CALL, EXPORT_WORLD_AT + 0x12, EXPORT_WORLD_AT + 0x12, 0, 4},
		{PP_FROM_START, EXPORT_WORLD_AT + 0x12, EXPORT_WORLD_AT + 0x12, 0, 3},
		{PP_FROM_CALL, EXPORT_WORLD_AT + 0x20, EXPORT_WORLD_AT + 0x21, 0, 5},
	};
	struct export_world w;

	export_world_begin(&w);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		CU_ASSERT_EQUAL(pp_straight_add(&runs, &all[i]), 0);
	CU_ASSERT_EQUAL(pp_straight_emit(&runs, &w.profile), 0);
	pp_straight_release(&runs);
	CU_ASSERT_TRUE(ranges_are(&w, "F 12-12 3\nr 20-21 5\n"));
	export_world_end(&w);
}

static void join_equal(double a, double b, double on, const char *want)
{
	const struct pp_run all[] = {
		{PP_FROM_CALL, EXPORT_WORLD_AT, EXPORT_WORLD_AT + 0xa, EXPORT_WORLD_AT + 0xc, a},
		{PP_FROM_CALL, EXPORT_WORLD_AT + 2, EXPORT_WORLD_AT + 0xa, EXPORT_WORLD_AT + 0xc,
		 b},
		{PP_FROM_START, EXPORT_WORLD_AT + 0xc, EXPORT_WORLD_AT + 0xc, 0, on},
	};
	struct pp_runs_of_paths runs = {0};
	struct export_world w;

	export_world_begin(&w);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		CU_ASSERT_EQUAL(pp_straight_add(&runs, &all[i]), 0);
	CU_ASSERT_EQUAL(pp_straight_emit(&runs, &w.profile), 0);
	pp_straight_release(&runs);
	CU_ASSERT_TRUE(ranges_are(&w, want));
	export_world_end(&w);
}

/* 1.1 + 2.2 is a bit above 3.3, and 10.1 + 20.2 below 30.3: nothing is left over of either. */
static void test_equal_sums(void)
{
	join_equal(1.1, 2.2, 3.3, "r 0-c 1\nr 2-c 2\n");
	join_equal(10.1, 20.2, 30.3, "r 0-c 10\nr 2-c 20\n");
}

/* ---------------------------------------------------------------- density */

static void test_density(void)
{
	struct pathprof_density d;
	struct export_world w;

	export_world_fill(&w);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_density(&w.profile, w.graph, &d, &w.error), 0);
	/* f: 4*4 + 6*10 + 24*8 + 6*10 bytes over 0x14; 42 branches and 52 falls. g: returns alone.
	 */
	CU_ASSERT_EQUAL(d.bytes, 16 + 60 + 192 + 60 + 4);
	CU_ASSERT_DOUBLE_EQUAL(d.density, 328 / 20.0, 1e-9);
	CU_ASSERT_FALSE(d.enough);
	CU_ASSERT_DOUBLE_EQUAL(d.more, 60 / 16.4, 1e-9);
	CU_ASSERT_EQUAL(d.functions, 2);
	CU_ASSERT_EQUAL(d.hot, 1);
	export_world_range(&w, 0x02, 0x0c, false, 1000);
	export_world_settle(&w);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_density(&w.profile, w.graph, &d, &w.error), 0);
	CU_ASSERT_TRUE(d.enough);
	CU_ASSERT_DOUBLE_EQUAL(d.more, 1, 0);
	export_world_end(&w);
}

/* g ends in a jump here, for returns are not counted. */
static void test_density_without_ranges(void)
{
	struct pathprof_graph_block blocks[16];
	struct pathprof_density d;
	struct pathprof_graph graph;
	struct export_world w;

	export_world_begin(&w);
	graph = *w.graph;
	CU_ASSERT_FATAL(graph.block_cnt < 16);
	memcpy(blocks, graph.blocks, (graph.block_cnt + 1) * sizeof(blocks[0]));
	graph.blocks = blocks;
	blocks[pathprof_graph_block_at(&graph, EXPORT_WORLD_AT + 0x20)].kind = PERF_BR_IND;
	export_world_branch(&w, 0x0a, 0x02, 100, 0);
	export_world_range(&w, 0x02, 0x0a, false, 100);
	export_world_branch(&w, 0x20, 0x00, 1, 0);
	export_world_settle(&w);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_density(&w.profile, &graph, &d, &w.error), 0);
	/* g has one of 201 branches: it lies beyond the cutoff */
	CU_ASSERT_DOUBLE_EQUAL(d.density, 40, 1e-9);
	CU_ASSERT_EQUAL(d.rangeless, 1);
	CU_ASSERT_FALSE(d.partial);
	export_world_branch(&w, 0x20, 0x00, 50, 0);
	export_world_settle(&w);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_density(&w.profile, &graph, &d, &w.error), 0);
	CU_ASSERT_DOUBLE_EQUAL(d.density, 40, 1e-9);
	CU_ASSERT_EQUAL(d.rangeless, 1);
	CU_ASSERT_EQUAL(d.functions, 2);
	CU_ASSERT_EQUAL(d.hot, 1);
	CU_ASSERT_TRUE(d.partial);
	export_world_end(&w);
}

/* A graph from outside may have a part without a byte. */
static void test_density_of_an_empty_part(void)
{
	struct pathprof_graph_part parts[16];
	struct pathprof_density d;
	struct pathprof_graph graph;
	struct export_world w;

	export_world_fill(&w);
	graph = *w.graph;
	CU_ASSERT_FATAL(graph.part_cnt < 16);
	memcpy(parts, graph.parts, graph.part_cnt * sizeof(parts[0]));
	parts[graph.part_cnt++] = (struct pathprof_graph_part){.start = 1, .end = 1};
	graph.parts = parts;
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_density(&w.profile, &graph, &d, &w.error), 0);
	CU_ASSERT_DOUBLE_EQUAL(d.density, 328 / 20.0, 1e-9);
	CU_ASSERT_EQUAL(d.hot, 1);
	export_world_end(&w);
}

static void test_density_of_nothing(void)
{
	struct pathprof_density d;
	struct export_world w;

	export_world_begin(&w);
	CU_ASSERT_EQUAL(pathprof_profile_density(&w.profile, w.graph, &d, &w.error), -EINVAL);
	export_world_settle(&w);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_density(&w.profile, w.graph, &d, &w.error), 0);
	CU_ASSERT_FALSE(d.enough);
	CU_ASSERT_TRUE(isinf(d.more));
	export_world_end(&w);
}

/* A name that is a part of another one is told, too; none twice. */
static void test_origin(void)
{
	char events[] = "branch-instructions instructions", sources[] = "swlbr+lbr";
	struct pathprof_branch_origin from = {.sources = sources, .events = events};
	struct export_world w;

	export_world_begin(&w);
	CU_ASSERT_EQUAL(pp_branch_add_event(&w.profile, "branch-instructions"), 0);
	CU_ASSERT_EQUAL(pp_branch_add_event(&w.profile, "instructions"), 0);
	CU_ASSERT_EQUAL(pp_branch_add_event(&w.profile, "instructions"), 0);
	CU_ASSERT_STRING_EQUAL(w.profile.origin.events, "branch-instructions instructions");
	CU_ASSERT_EQUAL(pp_branch_merge_origin(&w.profile, &from, true), 0);
	CU_ASSERT_EQUAL(pp_branch_merge_origin(&w.profile, &from, false), 0);
	CU_ASSERT_STRING_EQUAL(w.profile.origin.events, "branch-instructions instructions");
	CU_ASSERT_STRING_EQUAL(w.profile.origin.sources, "swlbr+lbr");
	export_world_end(&w);
}

static const struct unit_test tests[] = {
	{"entries add up to plain sums, sorted", test_sums},
	{"weights are rounded once, what was seen stays 1, counts stop at their end",
	 test_rounding},
	{"paths of a store become the runs between branches and calls", test_store_paths},
	{"weights of a store's edges are rounded once, and none to nothing",
	 test_store_weighed_edges},
	{"ranges of a store that no code can have are refused", test_store_ranges},
	{"branches of paths never seen whole get their ranges", test_fill},
	{"only what paths did not tell is filled in", test_fill_the_rest},
	{"joining runs keeps where they begin and end", test_straight},
	{"what runs behind a call is not told twice", test_whole_program_paths},
	{"rounding leaves no run that nobody saw", test_equal_sums},
	{"names of events and sources are told once each", test_origin},
	{"density as worked out by hand", test_density},
	{"density beside functions without ranges", test_density_without_ranges},
	{"density beside a part without code", test_density_of_an_empty_part},
	{"density of an empty profile", test_density_of_nothing},
};
UNIT_SUITE(branch_profile, tests)
