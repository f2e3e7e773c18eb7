// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Paths of random functions, reducible and irreducible: numbers against a list of all paths,
 * descriptors against the core's path stack stepping over random walks, functions with more than
 * 2^64 paths against their ways back.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../libprofile/src/path/pp_function_paths.h"
#include "oracle_function_paths.h"
#include "oracle_path_id.h"
#include "oracle_stream.h"

#define PATHS_MAX 4096
#define CUT_CNT   3

static struct oracle_function function;
static struct oracle_flow_path listed[PATHS_MAX];

static void draw(struct pathprof_flow *ret_flow, enum oracle_shape shape, uint32_t block_cnt,
		 uint64_t *random)
{
	oracle_function_draw(&function, shape, block_cnt, random);
	if (pathprof_flow_init(ret_flow, &function.graph, ORACLE_FUNCTION) < 0)
		abort();
}

static struct pathprof_function_paths *number(const struct pathprof_flow *flow,
					      enum pathprof_cut cut)
{
	struct pathprof_function_paths *paths;

	if (pathprof_function_paths_new(&paths, flow, cut) < 0)
		abort();
	return paths;
}

/* The number of a descriptor. -ENOENT also for a path that runs on into another function. */
static int descriptor_id(const struct pathprof_function_paths *p, uint64_t start, uint32_t length,
			 uint32_t outcomes, uint64_t *ret_id)
{
	uint64_t next;
	uint32_t used;
	int r = pathprof_function_paths_split_descriptor(p, &function.graph, start, length,
							 outcomes, ret_id, &used, &next);

	return r > 0 ? -ENOENT : r;
}

static struct pathprof_flow_path as_path(struct oracle_flow_path *p)
{
	return (struct pathprof_flow_path){p->start, p->edge_cnt, p->edge_cnt, p->edges};
}

/* ---------------------------------------------------------------- numbers */

/* Compares the i-th path of the list with the oracle; returns the number of differences. */
static size_t path_differences(const struct pathprof_function_paths *paths, size_t i)
{
	uint32_t edges[ORACLE_PATH_MAX];
	struct pathprof_flow_path path = as_path(&listed[i]),
				  back = {.edges = edges, .edge_room = ORACLE_PATH_MAX};
	uint64_t id = UINT64_MAX, coded = UINT64_MAX;
	size_t different = 0;

	different += oracle_path_id(paths, &path, &id) != 0 || id != i;
	different += oracle_path_id_by_coding(paths, &path, &coded) != 0 || coded != i;
	different += pathprof_function_paths_of_id(paths, i, &back) != 0;
	different += back.start != path.start || back.edge_cnt != path.edge_cnt ||
		     memcmp(back.edges, path.edges, path.edge_cnt * sizeof(edges[0])) != 0;
	return different;
}

/* Against the list of all paths. Adds their number to *ret_paths. */
static size_t differences(const struct pathprof_function_paths *paths, size_t cnt,
			  size_t *ret_paths)
{
	size_t different = pathprof_function_paths_cnt(paths) != cnt;

	for (size_t i = 0; i < cnt; i++)
		different += path_differences(paths, i);
	*ret_paths += cnt;
	return different;
}

static uint32_t small(uint64_t *random)
{
	return 1 + (uint32_t)(stream_random(random) % 14);
}

static void test_all_paths(void)
{
	size_t different = 0, paths = 0, irreducible = 0, cnt;
	struct pathprof_flow flow;
	uint64_t random = 11;

	for (unsigned int i = 0; i < 12000; i++) {
		enum oracle_shape shape = i % 4 ? ORACLE_ANY : ORACLE_FORWARD;
		enum pathprof_cut cut = (enum pathprof_cut)(i / 4 % CUT_CNT);

		draw(&flow, shape, small(&random), &random);
		cnt = oracle_function_paths(&function, &flow, cut, listed, PATHS_MAX);
		if (cnt <= PATHS_MAX) {
			struct pathprof_function_paths *p = number(&flow, cut);

			different += differences(p, cnt, &paths);
			different += p->overflow_cut_cnt != 0;
			irreducible += flow.irreducible_cnt != 0;
			pathprof_function_paths_free(p);
		}
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(different, 0);
	CU_ASSERT(paths > 100000);
	CU_ASSERT(irreducible > 300);
}

static void test_planted_weight(void)
{
	size_t planted = 0, found = 0, paths = 0;
	struct pathprof_flow flow;
	uint64_t random = 12;

	while (planted < 200) {
		draw(&flow, ORACLE_ANY, small(&random), &random);
		size_t cnt = oracle_function_paths(&function, &flow, PATHPROF_CUT_BRANCHES, listed,
						   PATHS_MAX);
		struct pathprof_function_paths *p = number(&flow, PATHPROF_CUT_BRANCHES);

		/* An edge of the last path is one that paths run over. */
		if (cnt && cnt <= PATHS_MAX && listed[cnt - 1].edge_cnt) {
			planted++;
			p->weights[listed[cnt - 1].edges[0]]++;
			found += differences(p, cnt, &paths) != 0;
		}
		pathprof_function_paths_free(p);
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(found, planted);
}

static bool is_listed(const struct pathprof_flow_path *path, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (listed[i].start == path->start && listed[i].edge_cnt == path->edge_cnt &&
		    !memcmp(listed[i].edges, path->edges, path->edge_cnt * sizeof(uint32_t)))
			return true;
	return false;
}

/* A listed path, changed a little or not at all. */
static void spoil(struct oracle_flow_path *path, const struct pathprof_flow *flow, uint64_t *random)
{
	uint32_t at = path->edge_cnt ? (uint32_t)(stream_random(random) % path->edge_cnt) : 0;

	switch (stream_random(random) % 6) {
	case 0:
		path->start = (uint32_t)(stream_random(random) % (flow->node_cnt + 1));
		break;
	case 1:
		path->edges[at] = (uint32_t)(stream_random(random) % (flow->edge_cnt + 1));
		break;
	case 2:
		path->edge_cnt = at;
		break;
	case 3:
		if (path->edge_cnt < ORACLE_PATH_MAX)
			path->edges[path->edge_cnt++] =
				(uint32_t)(stream_random(random) % (flow->edge_cnt + 1));
		break;
	case 4:
		path->edges[at] = UINT32_MAX;
		break;
	default:
		break;
	}
}

static void test_no_path(void)
{
	size_t wrong = 0, refused = 0, taken = 0;
	struct pathprof_flow flow;
	uint64_t random = 13, id;

	for (unsigned int i = 0; i < 2000; i++) {
		enum pathprof_cut cut = (enum pathprof_cut)(i % CUT_CNT);

		draw(&flow, ORACLE_ANY, small(&random), &random);
		size_t cnt = oracle_function_paths(&function, &flow, cut, listed, PATHS_MAX);
		struct pathprof_function_paths *p = number(&flow, cut);

		for (unsigned int k = 0; cnt && cnt <= 200 && k < 20; k++) {
			struct oracle_flow_path spoilt = listed[stream_random(&random) % cnt];

			spoil(&spoilt, &flow, &random);
			struct pathprof_flow_path path = as_path(&spoilt);
			int expected = is_listed(&path, cnt) ? 0 : -EINVAL;

			wrong += oracle_path_id(p, &path, &id) != expected;
			wrong += oracle_path_id_by_coding(p, &path, &id) != expected;
			refused += expected != 0;
			taken += expected == 0;
		}
		pathprof_function_paths_free(p);
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(refused > 1000);
	CU_ASSERT(taken > 1000);
}

static void test_room(void)
{
	uint32_t edges[8] = {9, 9, 9, 9, 9, 9, 9, 9};
	struct pathprof_flow_path path = {.edges = edges, .edge_room = 3};
	struct pathprof_flow flow, moved;
	struct pathprof_function_paths *p;
	uint64_t random = 14;

	draw(&flow, ORACLE_DIAMONDS, 9, &random);
	p = number(&flow, PATHPROF_CUT_BRANCHES);
	moved = flow;
	memset(&flow, 0, sizeof(flow)); /* only its arrays have to stay */
	CU_ASSERT_EQUAL(pathprof_function_paths_cnt(p), 16);
	CU_ASSERT_EQUAL(pathprof_function_paths_of_id(p, 0, &path), -ENOBUFS);
	CU_ASSERT_EQUAL(path.edge_cnt, 8);
	CU_ASSERT_EQUAL(edges[3], 9);
	path.edge_room = 8;
	CU_ASSERT_EQUAL(pathprof_function_paths_of_id(p, 0, &path), 0);
	CU_ASSERT_EQUAL(pathprof_function_paths_of_id(p, 16, &path), -ERANGE);
	pathprof_function_paths_free(p);
	pathprof_flow_release(&moved);
}

/* ---------------------------------------------------------------- more than 2^64 */

/* Random numbers there and back. */
static size_t round_trips(const struct pathprof_function_paths *p, unsigned int cnt,
			  uint64_t *random)
{
	uint32_t edges[ORACLE_BLOCKS_MAX];
	struct pathprof_flow_path path = {.edges = edges, .edge_room = ORACLE_BLOCKS_MAX};
	size_t different = 0;

	while (cnt--) {
		uint64_t id = stream_random(random) % pathprof_function_paths_cnt(p), sum = 0,
			 coded = 0;

		different += pathprof_function_paths_of_id(p, id, &path) != 0;
		different += oracle_path_id(p, &path, &sum) != 0 || sum != id;
		different += oracle_path_id_by_coding(p, &path, &coded) != 0 || coded != id;
	}
	return different;
}

static void test_overflow(void)
{
	/* Diamonds, least and most edges cut: one place in some forty diamonds, two edges each. */
	static const uint32_t cases[][3] = {{63, 0, 0}, {64, 1, 4}, {100, 2, 6}, {200, 6, 14}};
	struct pathprof_flow flow;
	struct pathprof_function_paths *p;
	uint64_t random = 15;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		draw(&flow, ORACLE_DIAMONDS, 2 * cases[i][0] + 1, &random);
		p = number(&flow, PATHPROF_CUT_BRANCHES);
		CU_ASSERT(p->overflow_cut_cnt >= cases[i][1]);
		CU_ASSERT(p->overflow_cut_cnt <= cases[i][2]);
		if (!i)
			CU_ASSERT_EQUAL(pathprof_function_paths_cnt(p), UINT64_C(1) << 63);
		CU_ASSERT_EQUAL(round_trips(p, 500, &random), 0);
		pathprof_function_paths_free(p);
		pathprof_flow_release(&flow);
	}
}

static void test_overflow_anywhere(void)
{
	size_t different = 0, cut = 0;
	struct pathprof_flow flow;
	uint64_t random = 16;

	for (unsigned int i = 0; i < 300; i++) {
		draw(&flow, ORACLE_FORWARD, 100 + (uint32_t)(stream_random(&random) % 300),
		     &random);
		struct pathprof_function_paths *p = number(&flow, (enum pathprof_cut)(i % CUT_CNT));

		different += round_trips(p, 30, &random);
		cut += p->overflow_cut_cnt != 0;
		pathprof_function_paths_free(p);
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(different, 0);
	CU_ASSERT(cut > 50);
}

/* No graph has such a flow: blocks that fall through in a circle. */
/* Cuts keep any limit; a function that keeps it anyway is not cut. */
static void test_below(void)
{
	static const uint64_t limits[] = {1ull << 39, 1ull << 30, UINT64_MAX};
	size_t different = 0, cut = 0, over = 0;
	uint64_t random = 17;

	for (unsigned int i = 0; i < 300; i++) {
		uint64_t limit = limits[i % 3];
		struct pathprof_function_paths *p, *whole;
		struct pathprof_flow flow;

		draw(&flow, ORACLE_FORWARD, 40 + (uint32_t)(stream_random(&random) % 200), &random);
		whole = number(&flow, PATHPROF_CUT_BACK_EDGES);
		CU_ASSERT_EQUAL_FATAL(pathprof_function_paths_new_below(
					      &p, &flow, PATHPROF_CUT_BACK_EDGES, limit, NULL),
				      0);
		over += pathprof_function_paths_cnt(p) > limit;
		if (!whole->overflow_cut_cnt && pathprof_function_paths_cnt(whole) <= limit)
			different += p->overflow_cut_cnt != 0;
		else
			cut += p->overflow_cut_cnt != 0;
		different += round_trips(p, 30, &random);
		pathprof_function_paths_free(p);
		pathprof_function_paths_free(whole);
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(different, 0);
	CU_ASSERT_EQUAL(over, 0);
	CU_ASSERT(cut > 50);
}

/* One way through the flow, until it leaves or a path would end. */
static void go_once(const struct pathprof_flow *flow, uint64_t *heat, uint64_t *random)
{
	uint32_t node = 0, out;

	while ((out = flow->nodes[node + 1].first_edge - flow->nodes[node].first_edge)) {
		uint32_t edge =
			flow->nodes[node].first_edge + (uint32_t)(stream_random(random) % out);

		heat[edge]++;
		if (flow->edges[edge].retreating)
			return;
		node = flow->edges[edge].to;
	}
}

static size_t count_hot_cuts(const struct pathprof_function_paths *p, const uint64_t *heat)
{
	size_t cnt = 0;

	for (uint32_t e = 0; e < p->flow->edge_cnt; e++)
		cnt += heat[e] && p->cuts[e] == PP_CUT_BY_OVERFLOW;
	return cnt;
}

/* The edges that one way ran over are not cut, since others can be. */
static void test_sparing(void)
{
	const uint64_t limit = 1ull << 30;
	size_t spared = 0, cut = 0, over = 0, different = 0;
	uint64_t random = 23;

	for (unsigned int i = 0; i < 200; i++) {
		struct pathprof_function_paths *without, *with;
		struct pathprof_flow flow;
		uint64_t *heat;

		draw(&flow, ORACLE_FORWARD, 40 + (uint32_t)(stream_random(&random) % 200), &random);
		heat = calloc(flow.edge_cnt + 1, sizeof(*heat));
		go_once(&flow, heat, &random);
		CU_ASSERT_EQUAL_FATAL(pathprof_function_paths_new_below(&without, &flow,
									PATHPROF_CUT_BACK_EDGES,
									limit, NULL),
				      0);
		CU_ASSERT_EQUAL_FATAL(pathprof_function_paths_new_below(
					      &with, &flow, PATHPROF_CUT_BACK_EDGES, limit, heat),
				      0);
		cut += count_hot_cuts(without, heat);
		spared += count_hot_cuts(with, heat);
		over += pathprof_function_paths_cnt(with) > limit;
		different += round_trips(with, 30, &random);
		pathprof_function_paths_free(without);
		pathprof_function_paths_free(with);
		pathprof_flow_release(&flow);
		free(heat);
	}
	CU_ASSERT_EQUAL(spared, 0);
	CU_ASSERT_EQUAL(over, 0);
	CU_ASSERT_EQUAL(different, 0);
	CU_ASSERT(cut > 50);
}

/* Each path's edges, by the list of all paths. */
static void test_count_edges(void)
{
	uint64_t random = 18, want[ORACLE_BLOCKS_MAX * ORACLE_OUT_MAX],
		 have[ORACLE_BLOCKS_MAX * ORACLE_OUT_MAX];
	size_t different = 0;

	for (unsigned int i = 0; i < 300; i++) {
		struct pathprof_flow flow;

		draw(&flow, ORACLE_ANY, 1 + (uint32_t)(stream_random(&random) % 14), &random);
		struct pathprof_function_paths *p = number(&flow, (enum pathprof_cut)(i % CUT_CNT));
		size_t cnt = oracle_function_paths(
			&function, &flow, (enum pathprof_cut)(i % CUT_CNT), listed, PATHS_MAX);

		memset(want, 0, sizeof(want));
		memset(have, 0, sizeof(have));
		for (size_t id = 0; id < cnt && id < PATHS_MAX; id++) {
			uint64_t count = stream_random(&random) % 1000;

			different += pathprof_function_paths_count_edges(p, id, count, have) != 0;
			for (uint32_t k = 0; k < listed[id].edge_cnt; k++)
				want[listed[id].edges[k]] += count;
		}
		different += memcmp(want, have, flow.edge_cnt * sizeof(want[0])) != 0;
		different += pathprof_function_paths_count_edges(p, pathprof_function_paths_cnt(p),
								 1, have) != -ERANGE;
		pathprof_function_paths_free(p);
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(different, 0);
}

static void test_cycle(void)
{
	struct pathprof_flow_node nodes[] = {
		{.first_edge = 0}, {.first_edge = 1}, {.first_edge = 2}};
	struct pathprof_flow_edge edges[] = {{.from = 0, .to = 1}, {.from = 1, .to = 0}};
	const struct pathprof_flow flow = {
		.nodes = nodes, .edges = edges, .node_cnt = 2, .edge_cnt = 2};
	struct pathprof_function_paths *p = number(&flow, PATHPROF_CUT_BRANCHES);
	uint64_t random = 24;

	CU_ASSERT_EQUAL(p->overflow_cut_cnt, 1);
	CU_ASSERT_EQUAL(pathprof_function_paths_cnt(p), 1);
	CU_ASSERT_EQUAL(round_trips(p, 5, &random), 0);
	pathprof_function_paths_free(p);
}

/* ---------------------------------------------------------------- descriptors */

struct walked {
	const struct pathprof_function_paths *paths;
	size_t here, elsewhere, by_length, unknown, indirect, wrong;
	uint32_t flip; /* a fault: outcomes changed by this */
};

static size_t is_other_descriptor(const struct walked *w, uint64_t id,
				  const struct oracle_popped *popped)
{
	uint64_t start = 0;
	uint32_t length = 0, outcomes = 0;

	return pathprof_function_paths_descriptor(w->paths, &function.graph, id, &start, &length,
						  &outcomes) != 0 ||
	       start != popped->start || length != popped->length || outcomes != popped->outcomes;
}

static void check_here(struct walked *w, const struct oracle_popped *popped, int r, uint64_t id)
{
	uint32_t edges[ORACLE_WAY_MAX];
	struct pathprof_flow_path way = {
		.start = popped->node, .edge_cnt = popped->edge_cnt, .edges = edges};
	uint64_t walked = 0;

	memcpy(edges, popped->edges, popped->edge_cnt * sizeof(edges[0]));
	w->here++;
	w->indirect += popped->indirect;
	w->wrong += r != 0 || is_other_descriptor(w, id, popped);
	w->wrong += oracle_path_id(w->paths, &way, &walked) != 0;
	w->wrong += popped->indirect ? id > walked : id != walked;
}

static void check_elsewhere(struct walked *w, const struct oracle_popped *popped, int r)
{
	uint64_t id = 0, next = 0, start = 0;
	uint32_t length = 0, here = 0, outcomes = 0;

	w->elsewhere++;
	w->wrong += r != -ENOENT;
	w->wrong += pathprof_function_paths_split_descriptor(
			    w->paths, &function.graph, popped->start, popped->length,
			    popped->outcomes, &id, &length, &next) != 1;
	w->wrong += length != popped->length_here || next != popped->next;
	w->wrong += pathprof_function_paths_descriptor(w->paths, &function.graph, id, &start, &here,
						       &outcomes) != 1;
	w->wrong += start != popped->start || here != length;
	w->wrong += length < 32 && outcomes != (popped->outcomes & ((1u << length) - 1));
}

static void check_popped(void *context, const struct oracle_popped *popped)
{
	struct walked *w = context;
	uint64_t id = 0;
	int r = descriptor_id(w->paths, popped->start, popped->length, popped->outcomes ^ w->flip,
			      &id);

	switch (popped->end) {
	case ORACLE_END_HERE:
		check_here(w, popped, r, id);
		break;
	case ORACLE_END_ELSE:
		check_elsewhere(w, popped, r);
		break;
	case ORACLE_END_LENGTH:
		w->by_length++;
		w->wrong += r != -ENOENT;
		break;
	case ORACLE_END_UNKNOWN:
		w->unknown++;
		w->wrong += r != -ENOENT && (r != 0 || is_other_descriptor(w, id, popped));
		break;
	}
}

static void walk(struct walked *w, enum oracle_shape shape, uint32_t block_cnt, uint64_t *random)
{
	struct pathprof_flow flow;
	struct pathprof_function_paths *p;

	draw(&flow, shape, block_cnt, random);
	p = number(&flow, PATHPROF_CUT_BRANCHES);
	w->paths = p;
	if (!p->overflow_cut_cnt)
		oracle_function_walk(&function, &flow, 400, random, check_popped, w);
	pathprof_function_paths_free(p);
	pathprof_flow_release(&flow);
}

static void test_walks(void)
{
	struct walked w = {0};
	uint64_t random = 17;

	for (unsigned int i = 0; i < 4000; i++) {
		walk(&w, ORACLE_ANY, small(&random), &random);
		walk(&w, ORACLE_FORWARD, 50 + i % 30, &random);
	}
	CU_ASSERT_EQUAL(w.wrong, 0);
	CU_ASSERT(w.here > 100000);
	CU_ASSERT(w.indirect > 10000);
	CU_ASSERT(w.elsewhere > 10000);
	CU_ASSERT(w.by_length > 1000);
	CU_ASSERT(w.unknown > 1000);
}

static void test_planted_outcome(void)
{
	struct walked w = {.flip = 1};
	uint64_t random = 18;

	for (unsigned int i = 0; i < 50; i++)
		walk(&w, ORACLE_ANY, small(&random), &random);
	CU_ASSERT(w.here > 100);
	CU_ASSERT(w.wrong > w.here / 2);
}

/* A number's descriptor has that number, or where an indirect jump ends it a lower one. */
static size_t descriptor_differences(const struct pathprof_function_paths *p, uint64_t id,
				     size_t *ret_cnt)
{
	uint32_t length = 0, outcomes = 0, again = 0;
	uint64_t start = 0, back = UINT64_MAX, next = 0;
	int r = pathprof_function_paths_descriptor(p, &function.graph, id, &start, &length,
						   &outcomes);

	if (r < 0)
		return r != -ENOENT && r != -EOVERFLOW;
	++*ret_cnt;
	if (pathprof_function_paths_split_descriptor(p, &function.graph, start, length, outcomes,
						     &back, &again, &next) != r)
		return 1;
	if (back == id)
		return 0;
	r = pathprof_function_paths_descriptor(p, &function.graph, back, &next, &again, &length);
	return back > id || r < 0 || next != start || length != outcomes;
}

static void test_descriptors(void)
{
	size_t different = 0, cnt = 0;
	struct pathprof_flow flow;
	uint64_t random = 19;

	for (unsigned int i = 0; i < 3000; i++) {
		draw(&flow, i % 3 ? ORACLE_ANY : ORACLE_FORWARD, small(&random), &random);
		struct pathprof_function_paths *p = number(&flow, PATHPROF_CUT_BRANCHES);

		for (uint64_t id = 0; id < pathprof_function_paths_cnt(p) && id < 1000; id++)
			different += descriptor_differences(p, id, &cnt);
		pathprof_function_paths_free(p);
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(different, 0);
	CU_ASSERT(cnt > 20000);
}

/* Any descriptor in a profile is refused, or is the descriptor of its path's number. */
static void test_any_descriptor(void)
{
	struct walked w = {0};
	struct pathprof_flow flow;
	uint64_t random = 23, id;
	size_t wrong = 0, taken = 0, refused = 0;

	for (unsigned int i = 0; i < 2000; i++) {
		draw(&flow, i % 2 ? ORACLE_ANY : ORACLE_FORWARD, small(&random), &random);
		struct pathprof_function_paths *p = number(&flow, PATHPROF_CUT_BRANCHES);

		w.paths = p;
		for (unsigned int k = 0; k < 50; k++) {
			uint32_t block = (uint32_t)(stream_random(&random) % flow.node_cnt) + 1;
			struct oracle_popped any = {
				.start = function.blocks[block].start + (k % 16 == 0),
				.length = (uint32_t)(stream_random(&random) % (k % 4 ? 6 : 34)),
				.outcomes = (uint32_t)stream_random(&random)};
			int r;

			if (k % 8 && any.length < 32)
				any.outcomes &= (1u << any.length) - 1;
			r = descriptor_id(p, any.start, any.length, any.outcomes, &id);
			wrong += r == 0 ? is_other_descriptor(&w, id, &any)
					: r != -EINVAL && r != -ENOENT && r != -EBADMSG;
			taken += r == 0;
			refused += r != 0;
		}
		pathprof_function_paths_free(p);
		pathprof_flow_release(&flow);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(taken > 1000);
	CU_ASSERT(refused > 1000);
}

static void test_no_descriptor(void)
{
	struct pathprof_flow flow;
	struct pathprof_function_paths *p, *other;
	uint64_t random = 20, start, id;
	uint32_t length, outcomes;

	draw(&flow, ORACLE_DIAMONDS, 2 * 40 + 1, &random);
	p = number(&flow, PATHPROF_CUT_BRANCHES);
	other = number(&flow, PATHPROF_CUT_BACK_EDGES);
	start = function.blocks[flow.nodes[0].block].start;
	CU_ASSERT_EQUAL(descriptor_id(p, start, 33, 0, &id), -EINVAL);
	CU_ASSERT_EQUAL(descriptor_id(p, start, 3, 8, &id), -EINVAL);
	CU_ASSERT_EQUAL(descriptor_id(other, start, 3, 0, &id), -EINVAL);
	CU_ASSERT_EQUAL(descriptor_id(p, start, 3, 0, &id), -EBADMSG);
	CU_ASSERT_EQUAL(descriptor_id(p, start, 32, 0, &id), -ENOENT);
	CU_ASSERT_EQUAL(descriptor_id(p, start + 1, 3, 0, &id), -ENOENT);
	CU_ASSERT_EQUAL(descriptor_id(p, function.blocks[2].start, 3, 0, &id), -ENOENT);
	CU_ASSERT_EQUAL(descriptor_id(p, function.blocks[0].start, 0, 0, &id), -ENOENT);
	CU_ASSERT_EQUAL(descriptor_id(p, UINT64_MAX, 0, 0, &id), -ENOENT);
	CU_ASSERT_EQUAL(pathprof_function_paths_descriptor(p, &function.graph, 0, &start, &length,
							   &outcomes),
			-EOVERFLOW);
	CU_ASSERT_EQUAL(pathprof_function_paths_descriptor(p, &function.graph, p->cnt, &start,
							   &length, &outcomes),
			-ERANGE);
	CU_ASSERT_EQUAL(pathprof_function_paths_descriptor(other, &function.graph, 0, &start,
							   &length, &outcomes),
			-EINVAL);
	pathprof_function_paths_free(p);
	pathprof_function_paths_free(other);
	pathprof_flow_release(&flow);
}

static const struct unit_test tests[] = {
	{"numbers every path of random functions as the list has it", test_all_paths},
	{"a planted weight is found", test_planted_weight},
	{"refuses what is no path", test_no_path},
	{"says how many edges a path has when there is no room", test_room},
	{"cuts at 2^64 paths, not at 2^63", test_overflow},
	{"numbers both ways whatever had to be cut", test_overflow_anywhere},
	{"keeps a limit that is below 2^64", test_below},
	{"cuts what ran only where it must", test_sparing},
	{"counts the edges of a path", test_count_edges},
	{"ends on a flow that goes in circles", test_cycle},
	{"paths popped by the path stack have their number and back", test_walks},
	{"a planted outcome is found", test_planted_outcome},
	{"descriptors of numbers have these numbers", test_descriptors},
	{"refuses what is no descriptor", test_no_descriptor},
	{"whatever descriptor has a number is that number's", test_any_descriptor},
};
UNIT_SUITE(function_paths, tests)
