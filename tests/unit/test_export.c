// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branch profiles and what is written of them: adding up against plain sums, paths of a store
 * against runs worked out by hand, each text format against lines written by hand, and back
 * through the readers. Real tools read them in tests/scenario/export_tools.sh.
 */
#include "test_code.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "../../libprofile/src/format/pp_fill.h"
#include "../../libprofile/src/format/pp_straight.h"
#include "elf_writer.h"
#include "pathprof/export.h"
#include "pathprof/inlines.h"
#include "pprof.pb-c.h"
#include "test_store.h"
#include "two_functions.h"
#include "unit.h"

/* ---------------------------------------------------------------- code made by hand */

/* In the file; the text segment begins at this offset, its vaddr is WRITER_TEXT. */
#define AT 0x1000

struct world {
	struct pathprof_code *code;
	struct pathprof_graph *graph;
	struct pathprof_branch_profile profile;
	struct pathprof_error error;
};

static void begin_with(struct world *w, bool named)
{
	static struct elf_writer writer;

	elf_writer_init(&writer);
	memcpy(writer.text, two_functions, sizeof(two_functions));
	if (named) {
		elf_writer_symbol(&writer, "f", 0, 0x14, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
		elf_writer_symbol(&writer, "g", 0x20, 2, ELF64_ST_INFO(STB_LOCAL, STT_FUNC));
	} else {
		elf_writer_frame(&writer, 0, 0x14, -1, "", 0);
		elf_writer_frame(&writer, 0x20, 2, -1, "", 0);
	}
	*w = (struct world){.code = elf_writer_open(&writer)};
	CU_ASSERT_EQUAL_FATAL(pathprof_graph_build(&w->graph, w->code, NULL, NULL, &w->error), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_init(&w->profile, &w->graph->build_id), 0);
}

static void begin(struct world *w)
{
	begin_with(w, true);
}

static void end(struct world *w)
{
	pathprof_branch_profile_release(&w->profile);
	pathprof_graph_free(w->graph);
	pathprof_code_free(w->code);
}

static void branch(struct world *w, uint64_t from, uint64_t to, uint64_t count, uint64_t wrong)
{
	CU_ASSERT_EQUAL(pathprof_branch_profile_add_branch(
				&w->profile, from == PATHPROF_OUTSIDE ? from : AT + from,
				to == PATHPROF_OUTSIDE ? to : AT + to, count, wrong),
			0);
}

static void range(struct world *w, uint64_t start, uint64_t last, bool after_call, double weight)
{
	CU_ASSERT_EQUAL(pathprof_branch_profile_add_range(&w->profile, AT + start, AT + last,
							  after_call, weight),
			0);
}

static void settle(struct world *w)
{
	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_settle(&w->profile), 0);
}

/* f called from outside, three times round, g called once. */
static void fill(struct world *w)
{
	begin(w);
	branch(w, PATHPROF_OUTSIDE, 0x00, 10, 1);
	branch(w, 0x0a, 0x02, 30, 3);
	branch(w, 0x04, 0x0d, 4, 4);
	branch(w, 0x0d, 0x20, 4, 0);
	branch(w, 0x21, 0x12, 4, 0);
	branch(w, 0x12, 0x0c, 4, 0);
	branch(w, 0x0c, PATHPROF_OUTSIDE, 10, 0);
	range(w, 0x00, 0x0a, false, 6);
	range(w, 0x00, 0x04, false, 4);
	range(w, 0x02, 0x0a, false, 24);
	range(w, 0x02, 0x0c, false, 6);
	range(w, 0x20, 0x21, false, 4);
	range(w, 0x12, 0x12, true, 4);
	range(w, 0x0c, 0x0c, false, 1);
	CU_ASSERT_EQUAL(
		pathprof_branch_profile_add_trace(&w->profile, AT + 0x04, AT + 0x0d, AT + 0x0d, 4),
		0);
	CU_ASSERT_EQUAL(
		pathprof_branch_profile_add_trace(&w->profile, AT + 0x12, AT + 0x0c, AT + 0x0c, 3),
		0);
	settle(w);
}

/* ---------------------------------------------------------------- adding up */

#define PLACES 12
struct sums {
	uint64_t branches[PLACES][PLACES], wrong[PLACES][PLACES];
	double ranges[PLACES][PLACES][2];
};

static void add_random(struct world *w, struct sums *sums, uint64_t *state)
{
	uint32_t a = world_random(state, PLACES), b = world_random(state, PLACES);
	uint32_t count = world_random(state, 1000), wrong = world_random(state, 5);

	if (world_random(state, 2)) {
		branch(w, a, b, count, wrong);
		sums->branches[a][b] += count;
		sums->wrong[a][b] += wrong;
	} else {
		range(w, a, b, wrong & 1, count / 8.0);
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
		if (b->count != sums->branches[b->from - AT][b->to - AT] ||
		    b->mispredicted != sums->wrong[b->from - AT][b->to - AT])
			return false;
		all += b->count;
	}
	for (uint32_t i = 0; i < p->range_cnt; i++) {
		const struct pathprof_range_count *r = &p->ranges[i];
		double weight = sums->ranges[r->start - AT][r->last - AT][r->after_call];

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
	struct world w;
	uint64_t state = 7;

	begin(&w);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 3000; i++)
			add_random(&w, &sums, &state);
		CU_ASSERT_FALSE(w.profile.settled);
		settle(&w);
		CU_ASSERT_TRUE(is_sum(&w.profile, &sums));
	}
	/* the check can fail */
	w.profile.branches[5].count++;
	CU_ASSERT_FALSE(is_sum(&w.profile, &sums));
	end(&w);
}

static void test_rounding(void)
{
	struct world w;

	begin(&w);
	range(&w, 0, 1, false, 0.2);
	range(&w, 0, 2, false, 0.7);
	range(&w, 0, 2, false, 0.7);
	range(&w, 0, 3, false, 0.4);
	range(&w, 0, 3, false, 1.2);
	branch(&w, 0, 1, UINT64_MAX - 1, 0);
	branch(&w, 0, 1, 5, 0);
	settle(&w);
	CU_ASSERT_EQUAL_FATAL(w.profile.range_cnt, 3);
	CU_ASSERT_EQUAL(w.profile.ranges[0].count, 1);
	CU_ASSERT_EQUAL(w.profile.ranges[1].count, 1);
	CU_ASSERT_EQUAL(w.profile.ranges[2].count, 2);
	CU_ASSERT_EQUAL(w.profile.branches[0].count, UINT64_MAX);
	end(&w);
}

static void test_merge(void)
{
	struct pathprof_build_id other = {.bytes = {1}, .len_bytes = 20, .kind = 1};
	struct pathprof_branch_profile merged = {0}, alien = {0};
	char have[PATHPROF_BUILD_ID_TEXT_LEN];
	struct world w;

	fill(&w);
	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_init(&merged, &w.graph->build_id), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_init(&alien, &other), 0);
	CU_ASSERT_EQUAL(pathprof_branch_profile_name(&w.profile, "/bin/x", "one", "step"), 0);
	CU_ASSERT_EQUAL(pathprof_branch_profile_merge(&merged, &w.profile, 1, &w.error), 0);
	CU_ASSERT_EQUAL(pathprof_branch_profile_name(&w.profile, NULL, "two", NULL), 0);
	CU_ASSERT_EQUAL(pathprof_branch_profile_merge(&merged, &w.profile, 2.5, &w.error), 0);
	CU_ASSERT_EQUAL(pathprof_branch_profile_settle(&merged), 0);
	CU_ASSERT_EQUAL_FATAL(merged.branch_cnt, w.profile.branch_cnt);
	for (uint32_t i = 0; i < merged.branch_cnt; i++)
		CU_ASSERT_EQUAL(merged.branches[i].count,
				(uint64_t)(3.5 * (double)w.profile.branches[i].count));
	CU_ASSERT_STRING_EQUAL(merged.origin.host, "one+two");
	CU_ASSERT_STRING_EQUAL(merged.origin.sources, "step");
	CU_ASSERT_EQUAL(pathprof_branch_profile_merge(&alien, &w.profile, 1, &w.error), -ESTALE);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.error.text, pathprof_build_id_text(&other, have)));
	pathprof_build_id_text(&w.graph->build_id, have);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.error.text, have));
	CU_ASSERT_EQUAL(pathprof_branch_profile_merge(&merged, &w.profile, 0, &w.error), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_branch_profile_merge(&merged, &w.profile, NAN, &w.error), -EINVAL);
	pathprof_branch_profile_release(&alien);
	pathprof_branch_profile_release(&merged);
	end(&w);
}

static void test_merge_at_the_end(void)
{
	struct pathprof_branch_profile merged = {0};
	struct world w;

	begin(&w);
	branch(&w, 0, 1, UINT64_MAX / 2, UINT64_MAX / 2);
	settle(&w);
	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_init(&merged, &w.graph->build_id), 0);
	CU_ASSERT_EQUAL(pathprof_branch_profile_merge(&merged, &w.profile, 4, &w.error), 0);
	CU_ASSERT_EQUAL(pathprof_branch_profile_settle(&merged), 0);
	CU_ASSERT_EQUAL(merged.branches[0].count, UINT64_MAX);
	CU_ASSERT_EQUAL(merged.branches[0].mispredicted, UINT64_MAX);
	pathprof_branch_profile_release(&merged);
	end(&w);
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

static void write_store(const struct world *w, const char *file)
{
	struct pathprof_profile p = {0};
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_build_id libc = {.bytes = {9}, .len_bytes = 20, .kind = 1};
	uint32_t own, other;
	int64_t id;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	p.begin_ns = 1767312000000000000;
	p.end_ns = p.begin_ns + 1000000000;
	p.source = PATHPROF_SOURCE_STEP;
	p.basis = PATHPROF_BASIS_TIME;
	own = pathprof_profile_binary(&p, &w->graph->build_id, "/bin/made");
	other = pathprof_profile_binary(&p, &libc, "/lib/libc.so.6");
	char comm[] = "made", container[] = "";
	struct pathprof_process process = {
		.pid = 4, .comm = comm, .container = container, .binary = own};
	pathprof_profile_process(&p, &process);
	for (size_t i = 0; i < sizeof(known_paths) / sizeof(known_paths[0]); i++)
		pathprof_profile_add_path(
			&p, &(struct pathprof_path_count){.binary = own,
							  .start = AT + known_paths[i].start,
							  .length = known_paths[i].length,
							  .outcomes = known_paths[i].outcomes,
							  .samples = 2,
							  .weight = known_paths[i].weight});
	pathprof_profile_add_path(&p,
				  &(struct pathprof_path_count){
					  .binary = other, .start = AT, .samples = 1, .weight = 1});
	pathprof_profile_add_edge(
		&p, &(struct pathprof_edge_count){0, own, own, AT + 0xa, AT + 2, 97, 7});
	pathprof_profile_add_edge(&p,
				  &(struct pathprof_edge_count){0, other, own, 0x77, AT, 15, 0});
	pathprof_profile_add_edge(
		&p, &(struct pathprof_edge_count){0, own, other, AT + 0xc, 0x78, 16, 0});
	pathprof_profile_add_edge(
		&p, &(struct pathprof_edge_count){0, other, other, 0x77, 0x99, 1000, 0});
	CU_ASSERT_EQUAL_FATAL(pathprof_store_add_window(store, &p, &id, NULL), 0);
	pathprof_store_free(store);
	pathprof_profile_release(&p);
}

static void put_range(FILE *file, const struct pathprof_range_count *r)
{
	fprintf(file, "%c %" PRIx64 "-%" PRIx64 " %" PRIu64 "\n", r->after_call ? 'r' : 'F',
		r->start - AT, r->last - AT, r->count);
}

static void test_store_paths(void)
{
	const struct pathprof_filter all = {0};
	struct pathprof_store *store;
	struct world w;
	const char *db;
	char *got = NULL;
	size_t size;
	FILE *file;

	begin(&w);
	db = world_file(unit_tmpdir(), "export.db");
	write_store(&w, db);
	store = world_open(db, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_branch_profile_add_store(&w.profile, store, &all, w.code, w.graph,
							  &w.error),
			0);
	pathprof_store_free(store);
	settle(&w);
	file = open_memstream(&got, &size);
	for (uint32_t i = 0; i < w.profile.range_cnt; i++)
		put_range(file, &w.profile.ranges[i]);
	for (uint32_t i = 0; i < w.profile.trace_cnt; i++)
		fprintf(file, "T %" PRIx64 " %" PRIx64 "-%" PRIx64 " %" PRIu64 "\n",
			w.profile.traces[i].from - AT, w.profile.traces[i].start - AT,
			w.profile.traces[i].last - AT, w.profile.traces[i].count);
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
	end(&w);
}

/* ---------------------------------------------------------------- runs that no path gave */

static bool ranges_are(struct world *w, const char *want)
{
	char *got = NULL;
	size_t size;
	FILE *file = open_memstream(&got, &size);
	bool same;

	settle(w);
	for (uint32_t i = 0; i < w->profile.range_cnt; i++)
		put_range(file, &w->profile.ranges[i]);
	fclose(file);
	same = !strcmp(got, want);
	free(got);
	return same;
}

/* As in fill(): 40 at 02, of which 4 leave at 04; 36 at 06, of which 30 leave at 0a. */
static void add_branches(struct world *w)
{
	begin(w);
	branch(w, PATHPROF_OUTSIDE, 0x00, 10, 0);
	branch(w, 0x0a, 0x02, 30, 0);
	branch(w, 0x04, 0x0d, 4, 0);
	branch(w, 0x0d, 0x20, 4, 0);
	branch(w, 0x21, 0x12, 4, 0);
	branch(w, 0x12, 0x0c, 4, 0);
	branch(w, 0x0c, PATHPROF_OUTSIDE, 10, 0);
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
	struct world w;

	add_branches(&w);
	CU_ASSERT_EQUAL(pp_fill(&w.profile, w.graph), 0);
	CU_ASSERT_TRUE(ranges_are(&w, want));
	/* nothing is missing any more */
	CU_ASSERT_EQUAL(pp_fill(&w.profile, w.graph), 0);
	CU_ASSERT_TRUE(ranges_are(&w, want));
	/* the check can fail */
	range(&w, 0x0c, 0x0c, false, 1);
	CU_ASSERT_FALSE(ranges_are(&w, want));
	end(&w);
}

static void test_fill_the_rest(void)
{
	struct world w;

	add_branches(&w);
	range(&w, 0x00, 0x0a, false, 10);
	range(&w, 0x02, 0x0a, false, 20);
	range(&w, 0x12, 0x12, true, 5);
	CU_ASSERT_EQUAL(pp_fill(&w.profile, w.graph), 0);
	CU_ASSERT_TRUE(ranges_are(&w, "F 0-a 10\n"
				      "F 2-4 1\n"
				      "F 2-a 28\n" /* 27.5 */
				      "F 2-c 2\n"  /* 1.5 */
				      "F c-c 4\n"
				      "F d-d 4\n"
				      "r 12-12 5\n"
				      "F 20-21 4\n"));
	end(&w);
}

/* ---------------------------------------------------------------- straight runs */

/* Runs between 16 places: where they begin, end for good, or are open at a later place. */
#define RUN_PLACES 16

static struct pp_run random_run(uint64_t *state)
{
	uint64_t start = world_random(state, RUN_PLACES);
	struct pp_run run = {.from = world_random(state, 3) ? PP_FROM_START
							    : 100 + world_random(state, 2),
			     .start = AT + 16 * start,
			     .weight = 1 + world_random(state, 50)};
	uint64_t on = start + 1 + world_random(state, RUN_PLACES - (uint32_t)start);

	run.last = AT + 16 * on - 2;
	if (on < RUN_PLACES && world_random(state, 2))
		run.open = AT + 16 * on;
	return run;
}

/*
 * Joining moves no weight away from where runs really begin or end, and the code run through stays
 * as much: by place where branches led, and where runs ended.
 */
struct flow {
	double begins[RUN_PLACES], ends[RUN_PLACES + 1], bytes;
};

/* What is open and nothing goes on from ends there as well. */
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
		flow->ends[(last + 2 - AT) / 16] += weight;
	flow->bytes += weight * (double)(last + 2 - start);
}

static struct flow flow_of(const struct pathprof_branch_profile *p)
{
	const struct pp_branch_entries *entries = p->draft->entries;
	struct flow flow = {.bytes = 0};

	for (size_t i = 0; i < entries[PP_ENTRY_TRACE].cnt; i++)
		flow.begins[(entries[PP_ENTRY_TRACE].items[i].at[1] - AT) / 16] +=
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
	struct world w;

	begin(&w);
	for (int i = 0; i < 40; i++) {
		struct pp_run run = random_run(state);

		CU_ASSERT_EQUAL(pp_straight_add(&runs, &run), 0);
		if (run.from != PP_FROM_START)
			in.begins[(run.start - AT) / 16] += run.weight;
		add_flow(&in, run.start, run.last, !run.open, run.weight);
	}
	CU_ASSERT_EQUAL(pp_straight_emit(&runs, &w.profile), 0);
	pp_straight_release(&runs);
	out = flow_of(&w.profile);
	CU_ASSERT_TRUE(is_kept(&in, &out));
	/* the check can fail */
	out.bytes *= 1.01;
	CU_ASSERT_FALSE(is_kept(&in, &out));
	end(&w);
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
		{PP_FROM_CALL, AT + 0x12, AT + 0x12, 0, 4},
		{PP_FROM_START, AT + 0x12, AT + 0x12, 0, 3},
		{PP_FROM_CALL, AT + 0x20, AT + 0x21, 0, 5},
	};
	struct world w;

	begin(&w);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		CU_ASSERT_EQUAL(pp_straight_add(&runs, &all[i]), 0);
	CU_ASSERT_EQUAL(pp_straight_emit(&runs, &w.profile), 0);
	pp_straight_release(&runs);
	CU_ASSERT_TRUE(ranges_are(&w, "F 12-12 3\nr 20-21 5\n"));
	end(&w);
}

/* ---------------------------------------------------------------- text written by hand */

/* What is written, to be freed; NULL and *ret_rc when it failed. */
static char *written(struct world *w, enum pathprof_format format,
		     const struct pathprof_export_options *options, int *ret_rc, size_t *ret_size)
{
	char *got = NULL;
	FILE *file = open_memstream(&got, ret_size);

	*ret_rc = pathprof_export(format, &w->profile, w->code, w->graph, options, file, &w->error);
	fclose(file);
	return got;
}

static bool writes(struct world *w, enum pathprof_format format,
		   const struct pathprof_export_options *options, const char *want)
{
	int rc;
	size_t size;
	char *got = written(w, format, options, &rc, &size), *from = got;
	bool same;

	/* The origin, with times and version, is not part of it. */
	while (from[0] == '#' || from[0] == 'E')
		from = strchr(from, '\n') + 1;
	same = !rc && !strcmp(from, want);
	free(got);
	return same;
}

static const struct pathprof_export_options older = {.bolt_branches = true, .old_autofdo = true};

static const char *const traces = "T 401004 40100d 40100d 4\n"
				  "T 401012 40100c 40100c 3\n"
				  "B 401004 40100d 0 4\n"
				  "B 40100a 401002 30 3\n"
				  "B 40100c X:0 10 0\n"
				  "B 40100d 401020 4 0\n"
				  "B 401012 40100c 1 0\n"
				  "B 401021 401012 4 0\n"
				  "B X:0 401000 10 1\n"
				  "F 401000 401004 4\n"
				  "F 401000 40100a 6\n"
				  "F 401002 40100a 24\n"
				  "F 401002 40100c 6\n"
				  "F 40100c 40100c 1\n"
				  "r 401012 401012 4\n"
				  "F 401020 401021 4\n";

static void test_bolt(void)
{
	struct world w;

	fill(&w);
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_BOLT_PREAGG, NULL, traces));
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_BOLT_PREAGG, &older,
			      "B 401004 40100d 4 4\n"
			      "B 40100a 401002 30 3\n"
			      "B 40100c X:0 10 0\n"
			      "B 40100d 401020 4 0\n"
			      "B 401012 40100c 4 0\n"
			      "B 401021 401012 4 0\n"
			      "B X:0 401000 10 1\n"
			      "F 401000 401004 4\n"
			      "F 401000 40100a 6\n"
			      "F 401002 40100a 24\n"
			      "F 401002 40100c 6\n"
			      "F 40100c 40100c 4\n"
			      "F 40100d 40100d 4\n"
			      "f 401012 401012 4\n"
			      "F 401020 401021 4\n"));
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_BOLT_FDATA, NULL,
			      "1 f 4 1 f d 4 4\n"
			      "1 f a 1 f 2 3 30\n"
			      "1 f d 1 g/1 0 0 4\n"
			      "1 f 12 1 f c 0 4\n"
			      "0 [unknown] 0 1 f 0 1 10\n"
			      "1 f 0 1 f 2 0 10\n"
			      "1 f 4 1 f 6 0 36\n"
			      "1 f a 1 f c 0 6\n"));
	/* the check can fail, and traces say no more than their branch */
	w.profile.branches[4].count = 2;
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_BOLT_PREAGG, NULL,
			      "T 401004 40100d 40100d 4\n"
			      "T 401012 40100c 40100c 2\n"
			      "B 401004 40100d 0 4\n"
			      "B 40100a 401002 30 3\n"
			      "B 40100c X:0 10 0\n"
			      "B 40100d 401020 4 0\n"
			      "B 401021 401012 4 0\n"
			      "B X:0 401000 10 1\n"
			      "F 401000 401004 4\n"
			      "F 401000 40100a 6\n"
			      "F 401002 40100a 24\n"
			      "F 401002 40100c 6\n"
			      "F 40100c 40100c 2\n"
			      "r 401012 401012 4\n"
			      "F 401020 401021 4\n"));
	CU_ASSERT_FALSE(writes(&w, PATHPROF_FORMAT_BOLT_PREAGG, NULL, traces));
	end(&w);
}

static void test_raw(void)
{
	struct world w;

	fill(&w);
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_PROFGEN_RAW, NULL,
			      "8\n0-4:4\n0-a:6\n2-a:24\n2-c:6\nc-c:4\nd-d:4\n12-12:4\n20-21:4\n"
			      "6\n4->d:4\na->2:30\nd->20:4\n12->c:4\n21->12:4\n"
			      "ffffffffffbff000->0:10\n"));
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_AUTOFDO_TEXT, NULL,
			      "8\n1000-1004:4\n1000-100a:6\n1002-100a:24\n1002-100c:6\n"
			      "100c-100c:4\n100d-100d:4\n1012-1012:4\n1020-1021:4\n"
			      "6\n1004:4\n100a:30\n100c:10\n100d:4\n1012:4\n1021:4\n"
			      "5\n1004->100d:4\n100a->1002:30\n100d->1020:4\n1012->100c:4\n"
			      "1021->1012:4\n"));
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_AUTOFDO_TEXT, &older,
			      "8\n0-4:4\n0-a:6\n2-a:24\n2-c:6\nc-c:4\nd-d:4\n12-12:4\n20-21:4\n"
			      "6\n4:4\na:30\nc:10\nd:4\n12:4\n21:4\n"
			      "5\n4->d:4\na->2:30\nd->20:4\n12->c:4\n21->12:4\n"));
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_CSV, NULL,
			      "kind,from,to,last,count,mispredicted,function\n"
			      "branch,0x1004,0x100d,,4,4,f\n"
			      "branch,0x100a,0x1002,,30,3,f\n"
			      "branch,0x100c,,,10,0,f\n"
			      "branch,0x100d,0x1020,,4,0,f\n"
			      "branch,0x1012,0x100c,,4,0,f\n"
			      "branch,0x1021,0x1012,,4,0,g\n"
			      "branch,,0x1000,,10,1,f\n"
			      "range,,0x1000,0x1004,4,,f\n"
			      "range,,0x1000,0x100a,6,,f\n"
			      "range,,0x1002,0x100a,24,,f\n"
			      "range,,0x1002,0x100c,6,,f\n"
			      "range,,0x100c,0x100c,4,,f\n"
			      "range,,0x100d,0x100d,4,,f\n"
			      "call-range,,0x1012,0x1012,4,,f\n"
			      "range,,0x1020,0x1021,4,,g\n"
			      "trace,0x1004,0x100d,0x100d,4,,f\n"
			      "trace,0x1012,0x100c,0x100c,3,,f\n"));
	end(&w);
}

/* f: 10 times 3 instructions, 36 times 3 more, ..., by hand from the ranges. */
static void test_folded(void)
{
	struct world w;
	char want[256], id[PATHPROF_BUILD_ID_TEXT_LEN];

	fill(&w);
	CU_ASSERT_EQUAL(pathprof_branch_profile_name(&w.profile, "/x/made", NULL, NULL), 0);
	pathprof_build_id_text(&w.graph->build_id, id);
	/* 00: 10; 02, 04: 40; 06, 08, 0a: 36; 0c: 10; 0d, 12: 4; 20, 21: 4 */
	snprintf(want, sizeof(want), "made@%.12s;f 216\nmade@%.12s;g 8\n", id, id);
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_FOLDED, NULL, want));
	end(&w);
}

/* Without symbols, as views name such functions. */
static void test_folded_nameless(void)
{
	struct world w;
	char want[256], id[PATHPROF_BUILD_ID_TEXT_LEN];

	begin_with(&w, false);
	range(&w, 0x02, 0x0c, false, 5);
	range(&w, 0x20, 0x21, false, 4);
	settle(&w);
	CU_ASSERT_EQUAL(pathprof_branch_profile_name(&w.profile, "/x/made", NULL, NULL), 0);
	pathprof_build_id_text(&w.graph->build_id, id);
	snprintf(want, sizeof(want), "made@%.12s;made+0x%x 30\nmade@%.12s;made+0x%x 8\n", id, AT,
		 id, AT + 0x20);
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_FOLDED, NULL, want));
	end(&w);
}

/* ---------------------------------------------------------------- pprof */

static uint8_t *unzip(const char *bytes, size_t size, size_t *ret_size)
{
	size_t room = 1 << 20;
	uint8_t *out = malloc(room);
	z_stream z = {.next_in = (uint8_t *)bytes,
		      .avail_in = (uInt)size,
		      .next_out = out,
		      .avail_out = (uInt)room};

	CU_ASSERT_EQUAL(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
	CU_ASSERT_EQUAL(inflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_size = z.total_out;
	inflateEnd(&z);
	return out;
}

static void test_pprof(void)
{
	struct world w;
	PpPprof__Profile *p;
	int64_t sums[3] = {0};
	size_t size, packed_size;
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	bool told = false;
	int rc;

	fill(&w);
	w.profile.origin.begin_ns = 1000;
	w.profile.origin.end_ns = 3000;
	char *got = written(&w, PATHPROF_FORMAT_PPROF, NULL, &rc, &size);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	uint8_t *packed = unzip(got, size, &packed_size);
	p = pp_pprof__profile__unpack(NULL, packed_size, packed);
	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	if (!p)
		return; /* for those who read without knowing CUnit */
	CU_ASSERT_EQUAL(p->time_nanos, 1000);
	CU_ASSERT_EQUAL(p->duration_nanos, 2000);
	CU_ASSERT_EQUAL_FATAL(p->n_sample_type, 3);
	CU_ASSERT_STRING_EQUAL(p->string_table[0], "");
	CU_ASSERT_STRING_EQUAL(p->string_table[p->sample_type[1]->type], "branches");
	for (size_t i = 0; i < p->n_sample; i++)
		for (size_t j = 0; j < 3; j++)
			sums[j] += p->sample[i]->value[j];
	CU_ASSERT_EQUAL(sums[0], 224);
	/* those from outside have no place here */
	CU_ASSERT_EQUAL(sums[1], 56);
	CU_ASSERT_EQUAL(sums[2], 7);
	CU_ASSERT_EQUAL_FATAL(p->n_mapping, 1);
	CU_ASSERT_EQUAL(p->mapping[0]->memory_start, WRITER_TEXT);
	CU_ASSERT_EQUAL(p->mapping[0]->file_offset, AT);
	CU_ASSERT_STRING_EQUAL(p->string_table[p->mapping[0]->build_id],
			       pathprof_build_id_text(&w.graph->build_id, id));
	for (size_t i = 0; i < p->n_comment; i++)
		told |= !strncmp(p->string_table[p->comment[i]], "build-id=", 9);
	CU_ASSERT_TRUE(told);
	pp_pprof__profile__free_unpacked(p, NULL);
	free(packed);
	free(got);
	end(&w);
}

/* From the first to the last time that there is. */
static void test_pprof_of_all_times(void)
{
	struct world w;
	PpPprof__Profile *p;
	size_t size, packed_size;
	int rc;

	fill(&w);
	w.profile.origin.begin_ns = INT64_MIN;
	w.profile.origin.end_ns = INT64_MAX;
	char *got = written(&w, PATHPROF_FORMAT_PPROF, NULL, &rc, &size);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	uint8_t *packed = unzip(got, size, &packed_size);
	p = pp_pprof__profile__unpack(NULL, packed_size, packed);
	CU_ASSERT_PTR_NOT_NULL(p);
	if (p) {
		CU_ASSERT_EQUAL(p->duration_nanos, INT64_MAX);
		pp_pprof__profile__free_unpacked(p, NULL);
	}
	free(packed);
	free(got);
	end(&w);
}

/* ---------------------------------------------------------------- back through the readers */

struct reading {
	struct world *w;
	struct pathprof_branch_profile profile;
	enum pathprof_format format;
};

static int take_count(void *context, const struct pathprof_recorded_count *count)
{
	struct reading *r = context;

	return pathprof_branch_profile_add_count(
		&r->profile, r->w->code, pathprof_format_addresses(r->format), count, &r->w->error);
}

static void read_back(struct reading *r, const char *bytes, size_t size)
{
	const struct pathprof_recording_sink sink = {.context = r, .count = take_count};
	struct pathprof_recording *recording;
	int fd = memfd_create("export", MFD_CLOEXEC), rc;

	CU_ASSERT_EQUAL(write(fd, bytes, size), (ssize_t)size);
	lseek(fd, 0, SEEK_SET);
	rc = pathprof_recording_open(&recording, r->format, fd, "written", &sink, &r->w->error);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	do
		rc = pathprof_recording_read(recording, &r->w->error);
	while (rc > 0);
	if (rc)
		printf("  %s\n", r->w->error.text);
	CU_ASSERT_EQUAL(rc, 0);
	pathprof_recording_free(recording);
	close(fd);
	CU_ASSERT_EQUAL(pathprof_branch_profile_settle(&r->profile), 0);
}

/* Formats differ in which branches from and to the outside they have. */
static bool same_inside(const struct pathprof_branch_profile *a,
			const struct pathprof_branch_profile *b)
{
	uint32_t j = 0;

	for (uint32_t i = 0; i < a->branch_cnt; i++) {
		const struct pathprof_branch_count *x = &a->branches[i];

		if (x->from == PATHPROF_OUTSIDE || x->to == PATHPROF_OUTSIDE)
			continue;
		while (j < b->branch_cnt && (b->branches[j].from == PATHPROF_OUTSIDE ||
					     b->branches[j].to == PATHPROF_OUTSIDE))
			j++;
		if (j == b->branch_cnt || x->from != b->branches[j].from ||
		    x->to != b->branches[j].to || x->count != b->branches[j].count)
			return false;
		j++;
	}
	return true;
}

static bool same_ranges(const struct pathprof_branch_profile *a,
			const struct pathprof_branch_profile *b)
{
	if (a->range_cnt != b->range_cnt)
		return false;
	for (uint32_t i = 0; i < a->range_cnt; i++)
		if (a->ranges[i].start != b->ranges[i].start ||
		    a->ranges[i].last != b->ranges[i].last ||
		    a->ranges[i].count != b->ranges[i].count)
			return false;
	return true;
}

static void round_trip(enum pathprof_format format, const struct pathprof_export_options *options)
{
	struct world w;
	struct reading reading = {.w = &w, .format = format};
	size_t size;
	int rc;

	fill(&w);
	char *got = written(&w, format, options, &rc, &size);
	CU_ASSERT_EQUAL(rc, 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_init(&reading.profile, &w.graph->build_id),
			      0);
	read_back(&reading, got, size);
	CU_ASSERT_EQUAL(reading.profile.origin.refused, 0);
	CU_ASSERT_TRUE(same_inside(&w.profile, &reading.profile));
	CU_ASSERT_TRUE(same_ranges(&w.profile, &reading.profile));
	/* the check can fail */
	reading.profile.branches[0].count++;
	CU_ASSERT_FALSE(same_inside(&w.profile, &reading.profile));
	pathprof_branch_profile_release(&reading.profile);
	free(got);
	end(&w);
}

static void test_round_trips(void)
{
	const struct pathprof_export_options branches = {.bolt_branches = true};

	round_trip(PATHPROF_FORMAT_BOLT_PREAGG, NULL);
	round_trip(PATHPROF_FORMAT_BOLT_PREAGG, &branches);
	round_trip(PATHPROF_FORMAT_PROFGEN_RAW, NULL);
	round_trip(PATHPROF_FORMAT_AUTOFDO_TEXT, NULL);
}

/* fdata has no ranges, and no returns: its branches are those that it was written of. */
static void test_fdata_round_trip(void)
{
	struct world w;
	struct reading reading = {.w = &w, .format = PATHPROF_FORMAT_BOLT_FDATA};
	size_t size;
	int rc;

	fill(&w);
	char *got = written(&w, PATHPROF_FORMAT_BOLT_FDATA, NULL, &rc, &size);
	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_init(&reading.profile, &w.graph->build_id),
			      0);
	read_back(&reading, got, size);
	CU_ASSERT_EQUAL_FATAL(reading.profile.branch_cnt, 8);
	/* f+0 -> f+2, then f+4 -> f+6 and f+d */
	CU_ASSERT_EQUAL(reading.profile.branches[0].count, 10);
	CU_ASSERT_EQUAL(reading.profile.branches[1].count, 36);
	CU_ASSERT_EQUAL(reading.profile.branches[2].count, 4);
	CU_ASSERT_EQUAL(reading.profile.branches[2].mispredicted, 4);
	/* f+d -> g: a local function's number */
	CU_ASSERT_EQUAL(reading.profile.branches[5].to, AT + 0x20);
	pathprof_branch_profile_release(&reading.profile);
	free(got);
	end(&w);
}

/* ---------------------------------------------------------------- what is refused */

static void test_refusals(void)
{
	struct pathprof_build_id other = {.bytes = {0xab}, .len_bytes = 20, .kind = 1};
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	struct world w;
	size_t size;
	int rc;

	begin(&w);
	settle(&w);
	free(written(&w, PATHPROF_FORMAT_CSV, NULL, &rc, &size));
	CU_ASSERT_EQUAL(rc, -ENODATA);
	branch(&w, 0, 0x20, 1, 0);
	free(written(&w, PATHPROF_FORMAT_CSV, NULL, &rc, &size));
	CU_ASSERT_EQUAL(rc, -EINVAL);
	settle(&w);
	free(written(&w, PATHPROF_FORMAT_PERF_DATA, NULL, &rc, &size));
	CU_ASSERT_EQUAL(rc, -EOPNOTSUPP);
	free(written(&w, PATHPROF_FORMAT_BOLT_YAML, NULL, &rc, &size));
	CU_ASSERT_EQUAL(rc, -EOPNOTSUPP);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.error.text, "perf2bolt"));
	free(written(&w, PATHPROF_FORMAT_LLVM_SAMPLE, NULL, &rc, &size));
	CU_ASSERT_EQUAL(rc, -ENOENT);
	w.profile.origin.build_id = other;
	for (int f = 1; f < PATHPROF_FORMAT_CNT; f++) {
		if (!pathprof_format_writes((enum pathprof_format)f))
			continue;
		free(written(&w, (enum pathprof_format)f, NULL, &rc, &size));
		CU_ASSERT_EQUAL(rc, -ESTALE);
		CU_ASSERT_EQUAL(size, 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(w.error.text, pathprof_build_id_text(&other, id)));
		pathprof_build_id_text(&w.graph->build_id, id);
		CU_ASSERT_PTR_NOT_NULL(strstr(w.error.text, id));
	}
	end(&w);
}

static void test_full_device(void)
{
	struct world w;
	FILE *file = fopen("/dev/full", "w");

	fill(&w);
	CU_ASSERT_EQUAL(pathprof_export(PATHPROF_FORMAT_CSV, &w.profile, w.code, w.graph, NULL,
					file, &w.error),
			-ENOSPC);
	fclose(file);
	end(&w);
}

/* ---------------------------------------------------------------- density */

static void test_density(void)
{
	struct pathprof_density d;
	struct world w;

	fill(&w);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_density(&w.profile, w.graph, &d, &w.error), 0);
	/* f: 4*4 + 6*10 + 24*8 + 6*10 bytes over 0x14; 42 branches and 52 falls. g: returns alone.
	 */
	CU_ASSERT_EQUAL(d.bytes, 16 + 60 + 192 + 60 + 4);
	CU_ASSERT_DOUBLE_EQUAL(d.density, 328 / 20.0, 1e-9);
	CU_ASSERT_FALSE(d.enough);
	CU_ASSERT_DOUBLE_EQUAL(d.more, 60 / 16.4, 1e-9);
	CU_ASSERT_EQUAL(d.functions, 2);
	CU_ASSERT_EQUAL(d.hot, 1);
	range(&w, 0x02, 0x0c, false, 1000);
	settle(&w);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_density(&w.profile, w.graph, &d, &w.error), 0);
	CU_ASSERT_TRUE(d.enough);
	CU_ASSERT_DOUBLE_EQUAL(d.more, 1, 0);
	end(&w);
}

static void test_density_of_nothing(void)
{
	struct pathprof_density d;
	struct world w;

	begin(&w);
	CU_ASSERT_EQUAL(pathprof_profile_density(&w.profile, w.graph, &d, &w.error), -EINVAL);
	settle(&w);
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_density(&w.profile, w.graph, &d, &w.error), 0);
	CU_ASSERT_FALSE(d.enough);
	CU_ASSERT_TRUE(isinf(d.more));
	end(&w);
}

/* ---------------------------------------------------------------- inline trees */

enum { INNER_LINE = __LINE__ + 1 };
static inline __attribute__((always_inline)) unsigned int pathprof_test_inner(unsigned int x)
{
	__asm__ volatile("nop; nop; nop; nop; nop" : "+r"(x));
	return x * 3;
}

__attribute__((noinline, used)) static unsigned int pathprof_test_outer(unsigned int x)
{
	return 1 + pathprof_test_inner(x);
}
enum { CALL_LINE = __LINE__ - 2, OUTER_LINE = __LINE__ - 4 };

/* Five no-ops in a row: the inner one's. */
static uint64_t find_nops(struct pathprof_code *code, uint64_t from)
{
	char name[64];
	unsigned int len, row = 0;

	for (uint64_t at = from; at < from + 512; at += len) {
		if (pathprof_code_instruction(code, at, name, sizeof(name), &len))
			return 0;
		row = strcmp(name, "nop") == 0 ? row + 1 : 0;
		if (row == 5)
			return at;
	}
	return 0;
}

static void test_inlines(void)
{
	struct pathprof_code *code = open_code(SELF);
	struct pathprof_source_frame frames[8];
	struct pathprof_inlines *inlines;
	struct pathprof_error error;
	uint64_t at;

	CU_ASSERT_EQUAL(pathprof_test_outer(2), 7);
	at = find_nops(code, offset_of(code, (const void *)pathprof_test_outer));
	CU_ASSERT_NOT_EQUAL_FATAL(at, 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_inlines_open(&inlines, code, &error), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_inlines_at(inlines, at, frames, 8), 2);
	CU_ASSERT_TRUE(is(frames[0].linkage_name, "pathprof_test_inner"));
	CU_ASSERT_EQUAL(frames[0].start_line, INNER_LINE);
	CU_ASSERT_EQUAL(frames[0].line, INNER_LINE + 2);
	CU_ASSERT_TRUE(is(frames[1].name, "pathprof_test_outer"));
	CU_ASSERT_EQUAL(frames[1].start_line, OUTER_LINE);
	CU_ASSERT_EQUAL(frames[1].line, CALL_LINE);
	CU_ASSERT_PTR_NOT_NULL(strstr(frames[1].file, "test_export.c"));
	/* Only as many as there is room for are filled in, and all are counted. */
	frames[1].name = NULL;
	CU_ASSERT_EQUAL(pathprof_inlines_at(inlines, at, frames, 1), 2);
	CU_ASSERT_PTR_NULL(frames[1].name);
	CU_ASSERT_EQUAL(pathprof_inlines_at(inlines, 0, frames, 8), 0);
	pathprof_inlines_free(inlines);
	pathprof_code_free(code);
}

static const struct unit_test tests[] = {
	{"entries add up to plain sums, sorted", test_sums},
	{"weights are rounded once, what was seen stays 1, counts stop at their end",
	 test_rounding},
	{"merging scales, and refuses another binary with both ids", test_merge},
	{"merged counts stop at their end", test_merge_at_the_end},
	{"paths of a store become the runs between branches and calls", test_store_paths},
	{"branches of paths never seen whole get their ranges", test_fill},
	{"only what paths did not tell is filled in", test_fill_the_rest},
	{"joining runs keeps where they begin and end", test_straight},
	{"what runs behind a call is not told twice", test_whole_program_paths},
	{"BOLT's formats are the lines written by hand", test_bolt},
	{"raw counts and tables are the lines written by hand", test_raw},
	{"folded stacks count instructions", test_folded},
	{"functions without a symbol are the binary and their start", test_folded_nameless},
	{"pprof's values, mapping and comments", test_pprof},
	{"pprof's duration stops at its end", test_pprof_of_all_times},
	{"what is written is read back the same", test_round_trips},
	{"fdata is read back by its symbols", test_fdata_round_trip},
	{"another binary, an empty profile and formats that are not written are refused",
	 test_refusals},
	{"a file that cannot be written is an error", test_full_device},
	{"density as worked out by hand", test_density},
	{"density of an empty profile", test_density_of_nothing},
	{"frames of what was inlined, with lines", test_inlines},
};
UNIT_SUITE(export, tests)
