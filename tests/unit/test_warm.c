// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Warm paths of random functions with random profiles: every path is walked with the increments,
 * and where it would be counted is held against the edges that are cold by the definition.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_function_paths.h"
#include "oracle_stream.h"
#include "pathprof/warm.h"

#define PATHS_MAX 2048
#define EDGES_MAX (ORACLE_BLOCKS_MAX * ORACLE_OUT_MAX)

static struct oracle_function function;
static struct oracle_flow_path listed[PATHS_MAX];
static uint64_t edges[EDGES_MAX], node_flow[ORACLE_BLOCKS_MAX], start_flow[ORACLE_BLOCKS_MAX];
static bool is_fixed[EDGES_MAX];

struct drawn {
	struct pathprof_flow flow;
	struct pathprof_function_paths *paths;
	size_t cnt;
	struct pathprof_edge_profile profile;
};

static bool is_cut(const struct drawn *d, uint32_t edge)
{
	return pathprof_function_paths_cut_at(d->paths, edge);
}

/* Some paths run, a few of them often. */
static void run_paths(struct drawn *d, uint64_t *random)
{
	memset(edges, 0, sizeof(edges));
	memset(node_flow, 0, sizeof(node_flow));
	memset(start_flow, 0, sizeof(start_flow));
	d->profile = (struct pathprof_edge_profile){.edges = edges};
	for (size_t id = 0; id < d->cnt; id++) {
		uint64_t count = stream_random(random) % 4 ? stream_random(random) % 20 : 0;

		count *= stream_random(random) % 8 ? 1 : 1000;
		pathprof_function_paths_count_edges(d->paths, id, count, edges);
		d->profile.total += count;
		d->profile.entries += listed[id].start ? 0 : count;
	}
	for (uint32_t e = 0; e < d->flow.edge_cnt; e++)
		node_flow[d->flow.edges[e].from] += edges[e];
}

/* Starts have what cut edges bring: paths that began elsewhere brought it. */
static void balance(struct drawn *d)
{
	memset(start_flow, 0, sizeof(start_flow));
	for (uint32_t e = 0; e < d->flow.edge_cnt; e++)
		if (is_cut(d, e) && d->flow.nodes[d->flow.edges[e].from].reached)
			start_flow[d->flow.edges[e].to] += edges[e];
	/* Runs that came back to the entry did not come in there. */
	d->profile.entries -=
		start_flow[0] < d->profile.entries ? start_flow[0] : d->profile.entries;
	start_flow[0] += d->profile.entries;
}

static struct drawn draw(enum oracle_shape shape, uint32_t blocks, uint64_t *random)
{
	struct drawn d = {.cnt = 0};

	for (;;) {
		oracle_function_draw(&function, shape,
				     1 + (uint32_t)(stream_random(random) % blocks), random);
		if (pathprof_flow_init(&d.flow, &function.graph, ORACLE_FUNCTION) < 0)
			abort();
		d.cnt = oracle_function_paths(&function, &d.flow, PATHPROF_CUT_BACK_EDGES, listed,
					      PATHS_MAX);
		if (d.cnt && d.cnt <= PATHS_MAX &&
		    pathprof_function_paths_new(&d.paths, &d.flow, PATHPROF_CUT_BACK_EDGES) == 0)
			break;
		pathprof_flow_release(&d.flow);
	}
	run_paths(&d, random);
	balance(&d);
	return d;
}

static void drop(struct drawn *d)
{
	pathprof_function_paths_free(d->paths);
	pathprof_flow_release(&d->flow);
}

/* ---------------------------------------------------------------- the definition */

static enum pathprof_warm_rules rules; /* by which paths are held for warm */

static uint64_t least_of(const struct drawn *d, uint32_t edge)
{
	const struct pathprof_flow_node *node = &d->flow.nodes[d->flow.edges[edge].from];
	uint64_t parts = PATHPROF_WARM_LOCAL * (node[1].first_edge - node[0].first_edge);

	if (rules == PATHPROF_WARM_TARGETED)
		parts = PATHPROF_WARM_LOCAL_TARGETED;
	return node_flow[d->flow.edges[edge].from] / parts;
}

static bool is_warm(const struct drawn *d, const struct oracle_flow_path *path, uint64_t bound)
{
	if (start_flow[path->start] < bound)
		return false;
	for (uint32_t k = 0; k < path->edge_cnt; k++) {
		uint64_t flow = edges[path->edges[k]];

		if (flow < bound || flow < least_of(d, path->edges[k]))
			return false;
	}
	return true;
}

static size_t count_warm(const struct drawn *d, uint64_t bound)
{
	size_t cnt = 0;

	for (size_t id = 0; id < d->cnt; id++)
		cnt += is_warm(d, &listed[id], bound);
	return cnt;
}

/* The bound that leaves no more than most. */
static uint64_t bound_for(const struct drawn *d, uint64_t most)
{
	uint64_t bound = d->profile.total / PATHPROF_WARM_GLOBAL;

	for (bound += !bound; count_warm(d, bound) > most;)
		bound += bound / 2 + 1;
	return bound;
}

/* ---------------------------------------------------------------- what is counted where */

static uint64_t step(uint64_t value, uint64_t increment, bool sets)
{
	return sets ? increment : value + increment;
}

static uint64_t register_of(const struct drawn *d, const struct pathprof_increments *i, uint64_t id)
{
	const struct oracle_flow_path *path = &listed[id];
	uint64_t value = i->start[path->start];
	uint32_t at = path->start;

	for (uint32_t k = 0; k < path->edge_cnt; k++) {
		uint32_t e = path->edges[k];

		value = step(value, i->edge[e], i->edge_sets[e]);
		if (is_cut(d, e))
			return value;
		at = d->flow.edges[e].to;
	}
	return step(value, i->leave[at], i->leave_sets[at]);
}

/* Paths that are counted where they should not be; bound: of cold edges, NULL: not known. */
static size_t mistaken(const struct drawn *d, const struct pathprof_warm *w, const uint64_t *bound)
{
	size_t wrong = 0, warm_cnt = 0;

	for (uint64_t id = 0; id < d->cnt; id++) {
		uint64_t value = register_of(d, &w->increments, id);
		bool warm = value < w->cnt;

		warm_cnt += warm;
		wrong += value >= w->counter_cnt || (warm && w->ids[value] != id);
		wrong += bound && warm != is_warm(d, &listed[id], *bound);
	}
	return wrong + (warm_cnt != w->cnt);
}

static void test_every_path(void)
{
	size_t wrong = 0, warm = 0, all = 0, limited = 0;
	uint64_t random = 51;

	for (unsigned int k = 0; k < unit_rounds(3000, 20000); k++) {
		struct drawn d = draw(k % 4 ? ORACLE_FORWARD : ORACLE_ANY, 18, &random);
		uint64_t most = k % 3 ? PATHS_MAX : 1 + stream_random(&random) % 8;
		uint64_t bound = bound_for(&d, most);
		struct pathprof_warm w = {0};
		int r = pathprof_warm_init(&w, d.paths, &d.profile, most, NULL,
					   PATHPROF_WARM_PRACTICAL);

		wrong += r != 0 || w.cnt != count_warm(&d, bound);
		if (r == 0 && w.cnt)
			wrong += mistaken(&d, &w, &bound) + (w.cnt > most) +
				 (w.counter_cnt > 2 * w.cnt && w.cnt > 1);
		warm += w.cnt;
		all += d.cnt;
		limited += most < d.cnt;
		pathprof_warm_release(&w);
		drop(&d);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(warm > 1000 && warm + 1000 < all);
	CU_ASSERT(limited > 100);
}

/* Edges that no code can be put on: none of it is asked for, and no path is counted as another. */
static void test_fixed(void)
{
	size_t wrong = 0, made = 0, refused = 0;
	uint64_t random = 52;

	for (unsigned int k = 0; k < unit_rounds(3000, 20000); k++) {
		struct drawn d = draw(ORACLE_ANY, 16, &random);
		struct pathprof_warm w = {0};
		int r;

		for (uint32_t e = 0; e < d.flow.edge_cnt; e++)
			is_fixed[e] = stream_random(&random) % 5 == 0;
		r = pathprof_warm_init(&w, d.paths, &d.profile, PATHS_MAX, is_fixed,
				       PATHPROF_WARM_PRACTICAL);
		made += r == 0 && w.cnt;
		refused += r == -ELOOP;
		if (r == 0 && w.cnt) {
			wrong += mistaken(&d, &w, NULL);
			for (uint32_t e = 0; e < d.flow.edge_cnt; e++)
				wrong += is_fixed[e] &&
					 d.flow.nodes[d.flow.edges[e].from].reached &&
					 (w.increments.edge[e] || w.increments.edge_sets[e]);
		}
		pathprof_warm_release(&w);
		drop(&d);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(made > 500);
	CU_ASSERT(refused > 100);
}

/* Counts that are as large as they can be. */
static void test_largest(void)
{
	static const struct pathprof_flow_arc arcs[] = {
		{0, 1, false}, {0, 2, false}, {1, 2, false}};
	static const uint64_t most[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
	const struct pathprof_edge_profile profile = {most, UINT64_MAX, UINT64_MAX};
	struct pathprof_function_paths *paths;
	struct pathprof_warm w = {0};
	struct pathprof_flow flow;

	CU_ASSERT_EQUAL_FATAL(pathprof_flow_init_arcs(&flow, 3, arcs, 3), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_function_paths_new(&paths, &flow, PATHPROF_CUT_BACK_EDGES),
			      0);
	CU_ASSERT_EQUAL(pathprof_warm_init(&w, paths, &profile, 1, NULL, PATHPROF_WARM_PRACTICAL),
			-EOVERFLOW);
	CU_ASSERT_EQUAL_FATAL(
		pathprof_warm_init(&w, paths, &profile, 2, NULL, PATHPROF_WARM_PRACTICAL), 0);
	CU_ASSERT_EQUAL(w.cnt, 2);
	pathprof_warm_release(&w);
	pathprof_function_paths_free(paths);
	pathprof_flow_release(&flow);
}

/* Planted faults: a cold edge that adds instead of setting, a value that is one too large. */
static void test_planted(void)
{
	size_t planted = 0, found = 0;
	uint64_t random = 53;

	while (planted < 300) {
		struct drawn d = draw(ORACLE_ANY, 14, &random);
		struct pathprof_warm w = {0};
		const struct oracle_flow_path *path;
		uint64_t id;

		if (pathprof_warm_init(&w, d.paths, &d.profile, PATHS_MAX, NULL,
				       PATHPROF_WARM_PRACTICAL) == 0 &&
		    w.cnt) {
			id = w.ids[0];
			path = &listed[id];
			if (path->edge_cnt && w.cnt > 1) {
				planted++;
				w.increments.edge[path->edges[0]] += w.cnt;
				found += mistaken(&d, &w, NULL) != 0;
			}
		}
		pathprof_warm_release(&w);
		drop(&d);
	}
	CU_ASSERT_EQUAL(found, planted);
}

/* The number that a path is counted as: its own, or that of its rest behind the last edge where it
 * begins anew. */
static uint64_t counted_as(const struct drawn *d, const struct pathprof_warm *w, uint64_t id)
{
	const struct oracle_flow_path *path = &listed[id];
	uint32_t edges_behind[EDGES_MAX];
	struct pathprof_flow_path rest = {.edges = edges_behind};
	uint32_t first = 0;

	for (uint32_t k = 0; k < path->edge_cnt; k++)
		if (w->increments.edge_silent[path->edges[k]] && !is_cut(d, path->edges[k]))
			first = k + 1;
	if (!first)
		return id;
	rest.start = d->flow.edges[path->edges[first - 1]].to;
	for (uint32_t k = first; k < path->edge_cnt; k++)
		edges_behind[rest.edge_cnt++] = path->edges[k];
	CU_ASSERT_EQUAL_FATAL(pathprof_function_paths_id(d->paths, &rest, &id), 0);
	return id;
}

/*
 * Obvious paths left out: those that end at silent edges, or all. Each path reported by the table
 * is warm and reported once; the others are counted as ever. (Paths drawn at random may begin more
 * often than others came there, hence twice the total.)
 */
static size_t mistaken_obvious(const struct drawn *d, const struct pathprof_warm *w, uint64_t bound,
			       size_t *anew)
{
	static bool is_told[PATHS_MAX];
	size_t wrong = 0, counted = 0;

	memset(is_told, 0, sizeof(is_told));
	for (size_t i = 0; i < w->told_cnt; i++) {
		uint64_t id = w->told[i].id;

		wrong += id >= d->cnt || is_told[id] || !is_warm(d, &listed[id], bound) ||
			 w->told[i].count > 2 * d->profile.total;
		is_told[id] = true;
	}
	for (uint64_t id = 0; w->counter_cnt && id < d->cnt; id++) {
		const struct oracle_flow_path *path = &listed[id];
		bool silent = path->edge_cnt &&
			      w->increments.edge_silent[path->edges[path->edge_cnt - 1]];
		uint64_t value = register_of(d, &w->increments, id);
		uint64_t as = counted_as(d, w, id);

		wrong += is_told[id] && !silent && as == id;
		if (silent)
			continue;
		counted += value < w->cnt && as == id;
		*anew += as != id;
		wrong += value >= w->counter_cnt || (value < w->cnt && w->ids[value] != as) ||
			 (value < w->cnt) != is_warm(d, &listed[as], bound);
	}
	/* All are left out only when each is told, or ends where those do that are. */
	return wrong + (w->cnt != counted);
}

static void test_obvious(void)
{
	size_t wrong = 0, whole = 0, part = 0, told = 0, anew = 0;
	uint64_t random = 54;

	for (unsigned int k = 0; k < unit_rounds(5000, 20000); k++) {
		struct drawn d = draw(k % 4 ? ORACLE_ANY : ORACLE_FORWARD, 12, &random);
		struct pathprof_warm w = {0};

		CU_ASSERT_EQUAL_FATAL(pathprof_warm_init(&w, d.paths, &d.profile, PATHS_MAX, NULL,
							 PATHPROF_WARM_OBVIOUS),
				      0);
		wrong += mistaken_obvious(&d, &w, bound_for(&d, PATHS_MAX), &anew);
		whole += !w.cnt && w.told_cnt;
		part += w.cnt && w.told_cnt;
		told += w.told_cnt;
		pathprof_warm_release(&w);
		drop(&d);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(whole > 100);
	CU_ASSERT(part > 10);
	CU_ASSERT(anew > 10);
	CU_ASSERT(told > whole);
}

/* ---------------------------------------------------------------- what a profile tells */

/* How often it ran if branches knew nothing of each other, and how often at least. */
static void flow_of(const struct drawn *d, const uint64_t *came,
		    const struct oracle_flow_path *path, double *ret_expected, double *ret_definite)
{
	double all = (double)start_flow[path->start];

	*ret_expected = *ret_definite = all;
	for (uint32_t k = 0; k < path->edge_cnt; k++) {
		uint32_t e = path->edges[k];
		double node = (double)came[d->flow.edges[e].from], edge = (double)edges[e];

		*ret_expected *= edge < node ? edge / node : 1;
		*ret_definite -= edge < node ? node - edge : 0;
	}
	*ret_definite = *ret_definite < 0 ? 0 : *ret_definite;
}

static uint32_t branches_on(const struct drawn *d, const struct oracle_flow_path *path)
{
	uint32_t cnt = 0;

	for (uint32_t k = 0; k < path->edge_cnt; k++) {
		uint32_t v = d->flow.edges[path->edges[k]].from;

		cnt += d->flow.nodes[v + 1].first_edge - d->flow.nodes[v].first_edge > 1;
	}
	return cnt;
}

/*
 * By edge: the share of the branch flow that ends there which is definite, of all paths listed.
 * False: more goes on from a node than came there, so that nothing is true of it.
 */
static bool find_shares(const struct drawn *d, double *ret_share)
{
	bool consistent = true;
	static double definite[EDGES_MAX], expected[EDGES_MAX];
	uint64_t came[ORACLE_BLOCKS_MAX];

	memset(definite, 0, sizeof(definite));
	memset(expected, 0, sizeof(expected));
	memcpy(came, start_flow, sizeof(came));
	for (uint32_t e = 0; e < d->flow.edge_cnt; e++)
		came[d->flow.edges[e].to] += is_cut(d, e) ? 0 : edges[e];
	for (size_t id = 0; id < d->cnt; id++) {
		const struct oracle_flow_path *path = &listed[id];
		uint32_t branch_cnt = branches_on(d, path);
		double by_chance, at_least;

		if (!path->edge_cnt)
			continue;
		flow_of(d, came, path, &by_chance, &at_least);
		definite[path->edges[path->edge_cnt - 1]] += at_least * branch_cnt;
		expected[path->edges[path->edge_cnt - 1]] += by_chance * branch_cnt;
	}
	for (uint32_t e = 0; e < d->flow.edge_cnt; e++)
		ret_share[e] = expected[e] > 0 ? definite[e] / expected[e] : 1;
	for (uint32_t v = 0; v < d->flow.node_cnt; v++)
		consistent &= node_flow[v] <= came[v];
	return consistent;
}

/* Silent edges that tell too little, and others that tell enough. Above or below by a hundredth. */
static size_t mistaken_ends(const struct drawn *d, const struct pathprof_warm *w, size_t *silent)
{
	static double share[EDGES_MAX];
	uint64_t bound = bound_for(d, PATHS_MAX);
	size_t wrong = 0, more = 0, spared = 0;

	if (!find_shares(d, share))
		return 0;
	for (uint32_t e = 0; e < d->flow.edge_cnt; e++) {
		*silent += w->increments.edge_silent[e];
		more += w->increments.edge_silent[e] && is_cut(d, e) && share[e] < 0.74;
		spared += is_cut(d, e) && !w->increments.edge_silent[e] &&
			  !w->increments.edge_sets[e];
		wrong += !w->increments.edge_silent[e] && is_cut(d, e) && share[e] > 0.76 &&
			 w->increments.edge_sets[e] == false && edges[e] >= bound &&
			 edges[e] >= least_of(d, e) && d->flow.nodes[d->flow.edges[e].from].reached;
	}
	/* All of them are where every path is obvious. */
	return wrong + (spared ? more : 0);
}

static void test_ends(void)
{
	size_t wrong = 0, silent = 0, tried = 0;
	uint64_t random = 55;

	for (unsigned int k = 0; k < unit_rounds(5000, 20000); k++) {
		struct drawn d = draw(ORACLE_ANY, 12, &random);
		struct pathprof_warm w = {0};

		CU_ASSERT_EQUAL_FATAL(pathprof_warm_init(&w, d.paths, &d.profile, PATHS_MAX, NULL,
							 PATHPROF_WARM_OBVIOUS),
				      0);
		if (w.cnt) {
			wrong += mistaken_ends(&d, &w, &silent);
			tried++;
		}
		pathprof_warm_release(&w);
		drop(&d);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(silent > 200);
	CU_ASSERT(tried > 1000);
	if (wrong)
		printf("%zu of %zu silent edges in %zu functions\n", wrong, silent, tried);
}

/* ---------------------------------------------------------------- targeted profiles */

/* By edge, by start, and by node that is left: warm paths that run there. */
struct runners {
	size_t edges[EDGES_MAX], starts[ORACLE_BLOCKS_MAX], leaves[ORACLE_BLOCKS_MAX];
};

static uint32_t end_of(const struct drawn *d, const struct oracle_flow_path *path)
{
	return path->edge_cnt ? d->flow.edges[path->edges[path->edge_cnt - 1]].to : path->start;
}

static bool ends_by_cut(const struct drawn *d, const struct oracle_flow_path *path)
{
	return path->edge_cnt && is_cut(d, path->edges[path->edge_cnt - 1]);
}

static void count_runners(const struct drawn *d, struct runners *r)
{
	*r = (struct runners){0};
	for (size_t id = 0; id < d->cnt; id++) {
		if (!is_warm(d, &listed[id], 1))
			continue;
		r->starts[listed[id].start]++;
		for (uint32_t k = 0; k < listed[id].edge_cnt; k++)
			r->edges[listed[id].edges[k]]++;
		if (!ends_by_cut(d, &listed[id]))
			r->leaves[end_of(d, &listed[id])]++;
	}
}

static bool is_obvious(const struct drawn *d, const struct oracle_flow_path *path,
		       const struct runners *r)
{
	if (r->starts[path->start] == 1 ||
	    (!ends_by_cut(d, path) && r->leaves[end_of(d, path)] == 1))
		return true;
	for (uint32_t k = 0; k < path->edge_cnt; k++)
		if (r->edges[path->edges[k]] == 1)
			return true;
	return false;
}

/* Edges where warm paths end that are silent though one of these is not obvious, or are not though
 * all are. */
static size_t mistaken_loops(const struct drawn *d, const struct pathprof_warm *w, size_t *silent)
{
	static size_t plain[EDGES_MAX];
	struct runners r;
	size_t wrong = 0;

	memset(plain, 0, sizeof(plain));
	count_runners(d, &r);
	for (size_t id = 0; id < d->cnt; id++)
		if (is_warm(d, &listed[id], 1) && ends_by_cut(d, &listed[id]))
			plain[listed[id].edges[listed[id].edge_cnt - 1]] +=
				!is_obvious(d, &listed[id], &r);
	for (uint32_t e = 0; e < d->flow.edge_cnt; e++) {
		if (!is_cut(d, e) || !r.edges[e])
			continue;
		wrong += w->increments.edge_silent[e] != !plain[e];
		*silent += w->increments.edge_silent[e];
	}
	return wrong;
}

static bool all_are_obvious(const struct drawn *d)
{
	struct runners r;

	count_runners(d, &r);
	for (size_t id = 0; id < d->cnt; id++)
		if (is_warm(d, &listed[id], 1) && !is_obvious(d, &listed[id], &r))
			return false;
	return true;
}

static void test_targeted(void)
{
	size_t wrong = 0, whole = 0, part = 0, silent = 0, anew = 0;
	uint64_t random = 56;

	rules = PATHPROF_WARM_TARGETED;
	for (unsigned int k = 0; k < unit_rounds(5000, 20000); k++) {
		struct drawn d = draw(k % 4 ? ORACLE_ANY : ORACLE_FORWARD, 12, &random);
		struct pathprof_warm w = {0};

		CU_ASSERT_EQUAL_FATAL(pathprof_warm_init(&w, d.paths, &d.profile, PATHS_MAX, NULL,
							 PATHPROF_WARM_TARGETED),
				      0);
		wrong += mistaken_obvious(&d, &w, 1, &anew);
		wrong += !w.counter_cnt && !all_are_obvious(&d);
		if (w.counter_cnt)
			wrong += mistaken_loops(&d, &w, &silent);
		whole += !w.counter_cnt && w.told_cnt;
		part += w.cnt && w.told_cnt;
		pathprof_warm_release(&w);
		drop(&d);
	}
	rules = PATHPROF_WARM_PRACTICAL;
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(whole > 100);
	CU_ASSERT(part > 100);
	CU_ASSERT(silent > 200);
	CU_ASSERT(anew > 10);
	if (wrong)
		printf("%zu wrong, %zu whole, %zu in part, %zu silent\n", wrong, whole, part,
		       silent);
}

/* A function with more warm paths than asked for is not brought below that. */
static void test_too_many(void)
{
	size_t refused = 0, wrong = 0;
	uint64_t random = 57;

	rules = PATHPROF_WARM_TARGETED;
	for (unsigned int k = 0; k < 500; k++) {
		struct drawn d = draw(ORACLE_FORWARD, 16, &random);
		struct pathprof_warm w = {0};
		int r = pathprof_warm_init(&w, d.paths, &d.profile, 2, NULL,
					   PATHPROF_WARM_TARGETED);

		wrong += r == -EOVERFLOW ? count_warm(&d, 1) <= 2 || all_are_obvious(&d)
					 : r != 0 || w.cnt > 2;
		refused += r == -EOVERFLOW;
		pathprof_warm_release(&w);
		drop(&d);
	}
	rules = PATHPROF_WARM_PRACTICAL;
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(refused > 50);
}

static const struct unit_test tests[] = {
	{"every path counts where its edges say", test_every_path},
	{"no code is asked for where none can be", test_fixed},
	{"counts as large as they can be", test_largest},
	{"obvious paths are left out, and told once", test_obvious},
	{"ends are silent where a profile knows three quarters", test_ends},
	{"planted faults are found", test_planted},
	{"targeted: loops of obvious paths are left out, others are not", test_targeted},
	{"targeted: too many warm paths stay too many", test_too_many},
};
UNIT_SUITE(warm, tests)
