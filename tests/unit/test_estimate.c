// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles estimated from windows, against programs whose profile is known without running them,
 * and against the path stack over the whole stream where that is what must come out.
 */
#include "unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_estimate.h"
#include "pathprof/estimate.h"
#include "pathprof/paths.h"

#define STREAM_CNT 120000
#define SHARES_MAX 4096

static struct pathprof_branch *stream_of(const struct oracle_graph *graph)
{
	struct pathprof_branch *stream = malloc(STREAM_CNT * sizeof(*stream));

	oracle_graph_run(graph, stream, STREAM_CNT, 99);
	return stream;
}

struct reading {
	struct pathprof_estimated_path *paths;
	size_t cnt;
	struct pathprof_estimate_summary summary;
};

/* Windows of n taken branches that begin behind each `every`-th taken branch. */
static void add_windows(struct pathprof_estimator *e, const struct pathprof_branch *stream,
			size_t cnt, uint32_t n, uint32_t every)
{
	uint32_t taken = 0;
	size_t refused = 0;

	for (size_t i = 0; i < cnt; i++) {
		size_t end = i + 1;
		uint32_t seen = 0;

		taken += stream[i].taken;
		if (!stream[i].taken || taken % every)
			continue;
		while (end < cnt && end - i <= PATHPROF_BURST_MAX && seen < n)
			seen += stream[end++].taken;
		if (seen < n)
			continue;
		refused += pathprof_estimator_add(e, stream + i + 1, (uint32_t)(end - i - 1)) != 0;
	}
	CU_ASSERT_EQUAL(refused, 0);
}

static struct reading estimate(const struct pathprof_branch *stream, uint32_t order, uint32_t n)
{
	struct pathprof_estimator_settings settings = {.weighted = true, .order = order};
	struct pathprof_estimator *e;
	struct reading r;

	CU_ASSERT_EQUAL_FATAL(pathprof_estimator_new(&e, &settings), 0);
	add_windows(e, stream, STREAM_CNT, n, 7);
	CU_ASSERT_EQUAL_FATAL(pathprof_estimator_read(e, &r.paths, &r.cnt, &r.summary), 0);
	pathprof_estimator_free(e);
	return r;
}

static double weight_of(const struct reading *r, const struct oracle_share *path)
{
	for (size_t i = 0; i < r->cnt; i++)
		if (r->paths[i].start == path->start && r->paths[i].length == path->length &&
		    r->paths[i].outcomes == path->outcomes)
			return r->paths[i].weight;
	return 0;
}

static double overlap(const struct reading *r, const struct oracle_share *truth, size_t cnt)
{
	double total = r->summary.seen_weight + r->summary.stitched_weight, sum = 0;

	for (size_t i = 0; i < cnt; i++)
		sum += fmin(weight_of(r, &truth[i]) / total, truth[i].share);
	return sum;
}

static double overlap_of(const struct oracle_graph *graph, const struct pathprof_branch *stream,
			 uint32_t order, uint32_t n)
{
	static struct oracle_share truth[SHARES_MAX];
	size_t cnt = oracle_graph_truth(graph, truth, SHARES_MAX);
	struct reading r = estimate(stream, order, n);
	double got = overlap(&r, truth, cnt);

	free(r.paths);
	return got;
}

/* Random graphs that the tests below go through. */
static unsigned int seeds(void)
{
	return unit_rounds(1, 4);
}

/* ---------------------------------------------------------------- against what is known */

static void test_stitched_profiles_are_the_known_ones(void)
{
	for (uint64_t seed = 1; seed <= seeds(); seed++) {
		struct oracle_graph graph;
		struct pathprof_branch *stream;

		oracle_graph_random(&graph, seed);
		stream = stream_of(&graph);
		for (uint32_t order = 1; order <= 2; order++) {
			CU_ASSERT(overlap_of(&graph, stream, order, 16) > 0.96);
			CU_ASSERT(overlap_of(&graph, stream, order, 32) > 0.97);
			CU_ASSERT(overlap_of(&graph, stream, order, 256) > 0.98);
		}
		free(stream);
	}
}

static void test_stitching_adds_what_short_windows_lack(void)
{
	double gain = 0;

	for (uint64_t seed = 1; seed <= seeds(); seed++) {
		struct oracle_graph graph;
		struct pathprof_branch *stream;

		oracle_graph_random(&graph, seed);
		stream = stream_of(&graph);
		gain += overlap_of(&graph, stream, 1, 16) - overlap_of(&graph, stream, 0, 16);
		free(stream);
	}
	CU_ASSERT(gain / seeds() > 0.02);
}

/* Two shares of the truth exchanged: what the tests above hold against must matter. */
static void test_a_wrong_truth_is_noticed(void)
{
	static struct oracle_share truth[SHARES_MAX];
	struct oracle_graph graph;
	struct pathprof_branch *stream;
	struct reading r;
	size_t cnt, most = 0, least = 0;

	oracle_graph_random(&graph, 1);
	stream = stream_of(&graph);
	r = estimate(stream, 1, 32);
	cnt = oracle_graph_truth(&graph, truth, SHARES_MAX);
	CU_ASSERT(overlap(&r, truth, cnt) > 0.97);
	for (size_t i = 0; i < cnt; i++) {
		most = truth[i].share > truth[most].share ? i : most;
		least = truth[i].share < truth[least].share ? i : least;
	}
	double share = truth[most].share;

	truth[most].share = truth[least].share;
	truth[least].share = share;
	CU_ASSERT(overlap(&r, truth, cnt) < 0.96);
	free(r.paths);
	free(stream);
}

/* A call that takes exactly `cnt` others, each of nothing but a return. */
static uint32_t add_burner(struct oracle_graph *graph, uint32_t cnt)
{
	uint32_t burner = graph->cnt, leaf = burner + 1;

	graph->cnt += 2;
	graph->step_cnt[burner] = cnt;
	for (uint32_t i = 0; i < cnt; i++)
		graph->steps[burner][i] = (struct oracle_step){.callee = leaf};
	return burner;
}

/*
 * A branch, a short call, a branch decided as the first was, a call that outlasts the window. The
 * function has two paths with a share of a half each. A first-order chain forgets the piece before
 * the short call and gives four paths a quarter each, so it gets half of the flow right.
 */
static void test_second_order_knows_what_came_before_a_short_call(void)
{
	struct oracle_graph graph = {.cnt = 1, .step_cnt = {3}};
	uint32_t burner = add_burner(&graph, 20);
	struct pathprof_branch *stream;
	struct reading first, second;
	const struct oracle_share mixed = {0x100000, 2, 1, 0}, whole = {0x100000, 2, 3, 0};

	graph.steps[0][0] =
		(struct oracle_step){.branches = true, .chance = 0.5, .callee = burner + 1};
	graph.steps[0][1] = (struct oracle_step){.branches = true, .tied = true, .callee = burner};
	graph.steps[0][2] = (struct oracle_step){.callee = ORACLE_NO_CALL};
	stream = stream_of(&graph);
	first = estimate(stream, 1, 32);
	second = estimate(stream, 2, 32);
	CU_ASSERT_DOUBLE_EQUAL(weight_of(&first, &mixed) / weight_of(&first, &whole), 1, 0.1);
	CU_ASSERT_DOUBLE_EQUAL(weight_of(&second, &mixed) / weight_of(&second, &whole), 0, 0.01);
	CU_ASSERT(overlap_of(&graph, stream, 2, 32) > overlap_of(&graph, stream, 1, 32));
	CU_ASSERT(overlap_of(&graph, stream, 2, 32) > 0.98);
	free(first.paths);
	free(second.paths);
	free(stream);
}

/* ---------------------------------------------------------------- against the whole stream */

static double exact_unobservable(const struct pathprof_branch *stream, uint32_t n)
{
	struct pathprof_path_settings settings = {.mapping = PATHPROF_MAPPING_BL, .max_length = 32};
	struct pathprof_path_stack *stack;
	struct pathprof_path_popped path;
	uint64_t all = 0, unseen = 0;

	CU_ASSERT_EQUAL_FATAL(pathprof_path_stack_new(&stack, &settings), 0);
	for (size_t i = 0; i < STREAM_CNT; i++) {
		if (!pathprof_path_stack_step(stack, &stream[i], 1, &path))
			continue;
		all++;
		unseen += path.span >= n;
	}
	pathprof_path_stack_free(stack);
	return (double)unseen / (double)all;
}

/* The mean lengths of several calls are added, so a few paths near the limit are misjudged. */
static void test_the_share_out_of_sight_is_the_true_one(void)
{
	double error, sum = 0, worst = 0;

	for (uint64_t seed = 1; seed <= seeds(); seed++) {
		struct oracle_graph graph;
		struct pathprof_branch *stream;

		oracle_graph_random(&graph, seed);
		stream = stream_of(&graph);
		for (uint32_t n = 8; n <= 64; n *= 2)
			for (uint32_t order = 0; order <= 2; order++) {
				struct reading r = estimate(stream, order, n);

				error = fabs(r.summary.unobservable_share -
					     exact_unobservable(stream, n));
				sum += error;
				worst = fmax(worst, error);
				free(r.paths);
			}
		free(stream);
	}
	CU_ASSERT(worst < 0.015);
	CU_ASSERT(sum / (seeds() * 4 * 3) < 0.005);
}

/*
 * 40 branches, the third of them either way, and between the 20th and the next a call that outlasts
 * the window: the path ends with the 32nd, another begins there.
 */
static void test_long_paths_are_cut_where_the_path_stack_cuts_them(void)
{
	struct oracle_graph graph = {.cnt = 1, .step_cnt = {40}};
	uint32_t burner = add_burner(&graph, 30);
	const struct oracle_share one = {0x100000, 32, 0, 0}, other = {0x100000, 32, 4, 0},
				  rest = {0x100000 + 31 * 0x40 + 2, 8, 0, 0};
	struct pathprof_branch *stream;
	struct reading r;

	for (uint32_t i = 0; i < 40; i++)
		graph.steps[0][i] =
			(struct oracle_step){.branches = true,
					     .chance = i == 2 ? 0.5 : 0,
					     .callee = i == 19 ? burner : ORACLE_NO_CALL};
	stream = stream_of(&graph);
	r = estimate(stream, 1, 32);
	CU_ASSERT_FATAL(weight_of(&r, &rest) > 0);
	CU_ASSERT_DOUBLE_EQUAL(weight_of(&r, &one) / weight_of(&r, &rest), 0.5, 0.05);
	CU_ASSERT_DOUBLE_EQUAL(weight_of(&r, &other) / weight_of(&r, &rest), 0.5, 0.05);
	free(r.paths);
	free(stream);
}

/* ---------------------------------------------------------------- what does not fit */

/* Returns that lead elsewhere than behind their calls: nothing is known to follow a call. */
static void test_unmatched_returns_stitch_nothing(void)
{
	struct oracle_graph graph;
	struct pathprof_branch *stream;
	struct reading r;

	oracle_graph_random(&graph, 1);
	stream = stream_of(&graph);
	for (size_t i = 0; i < STREAM_CNT; i++)
		if (stream[i].kind == PERF_BR_RET)
			stream[i].next = stream[i].target = stream[i].next + 0x12;
	r = estimate(stream, 2, 16);
	CU_ASSERT(r.summary.stitched_weight == 0);
	CU_ASSERT(r.summary.lost_weight > 0);
	free(r.paths);
	free(stream);
}

static void test_full_tables_drop_and_say_so(void)
{
	struct pathprof_estimator_settings settings = {
		.weighted = true, .order = 2, .max_paths = 5};
	struct pathprof_estimator *e;
	struct oracle_graph graph;
	struct pathprof_branch *stream;
	struct reading r;

	oracle_graph_random(&graph, 1);
	stream = stream_of(&graph);
	CU_ASSERT_EQUAL_FATAL(pathprof_estimator_new(&e, &settings), 0);
	add_windows(e, stream, 20000, 32, 11);
	CU_ASSERT_EQUAL_FATAL(pathprof_estimator_read(e, &r.paths, &r.cnt, &r.summary), 0);
	CU_ASSERT_EQUAL(r.cnt, 5);
	CU_ASSERT(r.summary.dropped_cnt > 0);
	free(r.paths);
	pathprof_estimator_free(e);
	free(stream);
}

static void test_reading_twice_gives_the_same(void)
{
	struct pathprof_estimator_settings settings = {.weighted = true, .order = 2};
	struct pathprof_estimator *e;
	struct oracle_graph graph;
	struct pathprof_branch *stream;
	struct reading r, again;

	oracle_graph_random(&graph, 2);
	stream = stream_of(&graph);
	CU_ASSERT_EQUAL_FATAL(pathprof_estimator_new(&e, &settings), 0);
	CU_ASSERT_EQUAL(pathprof_estimator_read(e, &r.paths, &r.cnt, &r.summary), 0);
	CU_ASSERT_EQUAL(r.cnt, 0);
	free(r.paths);
	add_windows(e, stream, 20000, 16, 11);
	CU_ASSERT_EQUAL_FATAL(pathprof_estimator_read(e, &r.paths, &r.cnt, &r.summary), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_estimator_read(e, &again.paths, &again.cnt, &again.summary),
			      0);
	CU_ASSERT_EQUAL_FATAL(again.cnt, r.cnt);
	CU_ASSERT(memcmp(r.paths, again.paths, r.cnt * sizeof(r.paths[0])) == 0);
	free(r.paths);
	free(again.paths);
	pathprof_estimator_free(e);
	free(stream);
}

/* With as much room as seen paths take, or with a first reading early on as well. */
static struct pathprof_estimate_summary read_early(const struct pathprof_branch *stream,
						   uint32_t order, uint32_t max_paths, bool early)
{
	struct pathprof_estimator_settings settings = {
		.weighted = true, .order = order, .max_paths = max_paths};
	struct pathprof_estimator *e;
	struct reading r;

	CU_ASSERT_EQUAL_FATAL(pathprof_estimator_new(&e, &settings), 0);
	add_windows(e, stream, 2000, 16, 11);
	if (early) {
		CU_ASSERT_EQUAL_FATAL(pathprof_estimator_read(e, &r.paths, &r.cnt, &r.summary), 0);
		free(r.paths);
	}
	add_windows(e, stream + 2000, 18000, 16, 11);
	CU_ASSERT_EQUAL_FATAL(pathprof_estimator_read(e, &r.paths, &r.cnt, &r.summary), 0);
	free(r.paths);
	pathprof_estimator_free(e);
	return r.summary;
}

/* Paths that only the reading stitched take no room from those that are seen later. */
static void test_reading_takes_no_room(void)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct pathprof_estimate_summary late, early;
		struct pathprof_branch *stream;
		struct oracle_graph graph;
		uint32_t room;

		oracle_graph_random(&graph, seed);
		stream = stream_of(&graph);
		room = (uint32_t)read_early(stream, 0, 0, false).path_cnt;
		late = read_early(stream, 2, room, false);
		early = read_early(stream, 2, room, true);
		CU_ASSERT_EQUAL(early.path_cnt, late.path_cnt);
		CU_ASSERT_EQUAL(early.dropped_cnt, late.dropped_cnt);
		CU_ASSERT(early.seen_weight == late.seen_weight);
		free(stream);
	}
}

static void test_unsound_settings_and_records_are_refused(void)
{
	struct pathprof_estimator_settings settings = {.order = 3};
	struct pathprof_branch branches[PATHPROF_BURST_MAX + 1] = {{.kind = PERF_BR_COND}};
	struct pathprof_estimator *e;

	CU_ASSERT_EQUAL(pathprof_estimator_new(&e, &settings), -EINVAL);
	settings = (struct pathprof_estimator_settings){.order = 1, .max_paths = UINT32_MAX};
	CU_ASSERT_EQUAL(pathprof_estimator_new(&e, &settings), -EINVAL);
	settings.max_paths = 0;
	CU_ASSERT_EQUAL_FATAL(pathprof_estimator_new(&e, &settings), 0);
	branches[1].kind = 77;
	CU_ASSERT_EQUAL(pathprof_estimator_add(e, branches, 2), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_estimator_add(e, branches, PATHPROF_BURST_MAX + 1), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_estimator_add(e, branches, 1), 0);
	pathprof_estimator_free(e);
	pathprof_estimator_free(NULL);
}

/* Records that no program has: calls and returns between a few addresses, anyhow. */
static void test_nonsense_ends(void)
{
	struct pathprof_estimator_settings settings = {.weighted = true, .order = 2};
	struct pathprof_branch window[256];
	struct pathprof_estimator *e;
	uint64_t state = 5;
	struct reading r;
	double seen = 0;

	CU_ASSERT_EQUAL_FATAL(pathprof_estimator_new(&e, &settings), 0);
	for (int n = 0; n < 3000; n++) {
		for (size_t i = 0; i < 256; i++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			window[i] = (struct pathprof_branch){.from = state >> 34 & 31,
							     .target = state >> 40 & 31,
							     .next = state >> 46 & 31,
							     .kind = 1 + (state >> 52) % 6,
							     .taken = state >> 62 & 1};
		}
		CU_ASSERT_EQUAL_FATAL(pathprof_estimator_add(e, window, 256), 0);
	}
	CU_ASSERT_EQUAL_FATAL(pathprof_estimator_read(e, &r.paths, &r.cnt, &r.summary), 0);
	for (size_t i = 0; i < r.cnt; i++)
		seen += r.paths[i].weight - r.paths[i].stitched;
	CU_ASSERT_DOUBLE_EQUAL(seen, r.summary.seen_weight, 1e-6 * seen);
	CU_ASSERT(r.summary.unobservable_share >= 0 && r.summary.unobservable_share <= 1);
	free(r.paths);
	pathprof_estimator_free(e);
}

static const struct unit_test tests[] = {
	{"stitched profiles are the known ones", test_stitched_profiles_are_the_known_ones},
	{"stitching adds what short windows lack", test_stitching_adds_what_short_windows_lack},
	{"a wrong truth is noticed", test_a_wrong_truth_is_noticed},
	{"the second order knows what came before a short call",
	 test_second_order_knows_what_came_before_a_short_call},
	{"the share out of sight is the true one", test_the_share_out_of_sight_is_the_true_one},
	{"long paths are cut where the path stack cuts them",
	 test_long_paths_are_cut_where_the_path_stack_cuts_them},
	{"unmatched returns stitch nothing", test_unmatched_returns_stitch_nothing},
	{"full tables drop and say so", test_full_tables_drop_and_say_so},
	{"reading twice gives the same", test_reading_twice_gives_the_same},
	{"a reading takes no room from later paths", test_reading_takes_no_room},
	{"unsound settings and records are refused", test_unsound_settings_and_records_are_refused},
	{"nonsense ends", test_nonsense_ends},
};
UNIT_SUITE(estimate, tests)
