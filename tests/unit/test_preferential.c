// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preferential tables of random functions: every path is walked with the increments, and what a
 * program would do with its register at the end is held against the list of interesting paths.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_function_paths.h"
#include "oracle_stream.h"
#include "pathprof/preferential.h"

#define PATHS_MAX 4096

static struct oracle_function function;
static struct oracle_flow_path listed[PATHS_MAX];
static uint64_t ids[PATHS_MAX];
static size_t place_of[PATHS_MAX]; /* in ids, by number */

struct drawn {
	struct pathprof_flow flow;
	struct pathprof_function_paths *paths;
	size_t cnt;
};

/* A function with no more paths than the list holds. */
static struct drawn draw(enum oracle_shape shape, uint32_t blocks, uint64_t *random)
{
	struct drawn d;

	for (;;) {
		oracle_function_draw(&function, shape,
				     1 + (uint32_t)(stream_random(random) % blocks), random);
		if (pathprof_flow_init(&d.flow, &function.graph, ORACLE_FUNCTION) < 0)
			abort();
		d.cnt = oracle_function_paths(&function, &d.flow, PATHPROF_CUT_BACK_EDGES, listed,
					      PATHS_MAX);
		if (d.cnt && d.cnt <= PATHS_MAX &&
		    pathprof_function_paths_new(&d.paths, &d.flow, PATHPROF_CUT_BACK_EDGES) == 0)
			return d;
		pathprof_flow_release(&d.flow);
	}
}

static void drop(struct drawn *d)
{
	pathprof_function_paths_free(d->paths);
	pathprof_flow_release(&d->flow);
}

/* All numbers in random order: the first ones are the interesting. */
static void shuffle(size_t cnt, uint64_t *random)
{
	for (size_t i = 0; i < cnt; i++)
		ids[i] = i;
	for (size_t i = 0; i < cnt; i++) {
		size_t other = i + stream_random(random) % (cnt - i);
		uint64_t id = ids[i];

		ids[i] = ids[other];
		ids[other] = id;
		place_of[ids[i]] = i;
	}
}

static uint64_t register_of(const struct drawn *d, const struct pathprof_increments *i, uint64_t id)
{
	const struct oracle_flow_path *path = &listed[id];
	uint64_t sum = i->start[path->start];
	uint32_t at = path->start;

	for (uint32_t k = 0; k < path->edge_cnt; k++) {
		sum += i->edge[path->edges[k]];
		if (pathprof_function_paths_cut_at(d->paths, path->edges[k]))
			return sum;
		at = d->flow.edges[path->edges[k]].to;
	}
	return sum + i->leave[at];
}

/* Paths that are counted as another one, or elsewhere than they should be; slots that are shared.
 */
static size_t mistaken(const struct drawn *d, const struct pathprof_preferential *t)
{
	uint64_t mask = (1ull << t->slot_bits) - 1, half = 1ull << (t->number_bits - 1);
	size_t wrong = 0, hits = 0, taken = 0;

	for (uint64_t id = 0; id < d->cnt; id++) {
		uint64_t reg = register_of(d, &t->increments, id);
		bool hit = t->keys[reg & mask] == reg;

		hits += hit;
		wrong += hit != (place_of[id] < t->path_cnt);
		wrong += (reg + half) >> t->number_bits != id;
	}
	for (size_t slot = 0; slot <= mask; slot++)
		taken += t->keys[slot] != PATHPROF_PREFERENTIAL_FREE;
	return wrong + (hits != t->path_cnt) + (taken != hits);
}

/* Against the promise that the header makes. */
static size_t broken_promises(const struct pathprof_preferential *t, size_t asked)
{
	size_t most = asked < PATHPROF_PREFERENTIAL_MAX ? asked : PATHPROF_PREFERENTIAL_MAX;

	return (t->path_cnt > most) + (t->path_cnt == 0) + (t->span < t->path_cnt) +
	       (t->span > PATHPROF_PREFERENTIAL_DELTA * t->path_cnt) +
	       (t->span > 1ull << t->slot_bits) +
	       (t->slot_bits && t->span <= 1ull << (t->slot_bits - 1));
}

static void test_every_path(void)
{
	size_t wrong = 0, slots = 0, asked_cnt = 0, had = 0, all = 0;
	uint64_t random = 31;

	for (unsigned int k = 0; k < unit_rounds(3000, 20000); k++) {
		struct drawn d = draw(k % 4 ? ORACLE_FORWARD : ORACLE_ANY, 18, &random);
		size_t asked = 1 + stream_random(&random) % (k % 2 ? 8 : d.cnt);
		struct pathprof_preferential t = {0};

		shuffle(d.cnt, &random);
		if (asked > d.cnt)
			asked = d.cnt;
		CU_ASSERT_EQUAL_FATAL(
			pathprof_preferential_init(&t, d.paths, ids, asked, NULL, NULL), 0);
		wrong += mistaken(&d, &t) + broken_promises(&t, asked);
		if (d.cnt > 64 && asked <= 8) {
			slots += (size_t)1 << t.slot_bits;
			had += t.path_cnt;
			asked_cnt += asked;
			all += d.cnt;
		}
		pathprof_preferential_release(&t);
		drop(&d);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	/* Eight paths of more than 64 take a fraction of what an array of all would. */
	CU_ASSERT(all > 10000 && slots * 8 < all);
	CU_ASSERT(had * 10 > asked_cnt * 9);
}

/* All paths interesting: the preferential numbers are the paths' own, and no slot is free. */
static void test_all_interesting(void)
{
	size_t wrong = 0, done = 0;
	uint64_t random = 32;

	for (unsigned int k = 0; k < 400; k++) {
		struct drawn d = draw(ORACLE_ANY, 12, &random);
		struct pathprof_preferential t = {0};

		shuffle(d.cnt, &random);
		if (d.cnt <= PATHPROF_PREFERENTIAL_MAX) {
			CU_ASSERT_EQUAL_FATAL(
				pathprof_preferential_init(&t, d.paths, ids, d.cnt, NULL, NULL), 0);
			wrong += mistaken(&d, &t) + (t.path_cnt != d.cnt) + (t.span != d.cnt);
			for (uint64_t id = 0; id < d.cnt; id++)
				wrong += t.keys[id] != (id << t.number_bits | id);
			done++;
			pathprof_preferential_release(&t);
		}
		drop(&d);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(done > 200);
}

/*
 * The published example (EOPP figure 3.10): s=0 a=1 b=2 c=3 d=4 t=5 with the paths sacdt, sact and
 * sbct. The paths' numbers there are 0, 1 and 2; by Ball and Larus they are 0, 1 and 5 of 6.
 */
static void test_published(void)
{
	static const struct pathprof_flow_arc arcs[] = {{0, 1, false}, {0, 2, false}, {1, 3, false},
							{1, 2, false}, {2, 3, false}, {3, 4, false},
							{3, 5, false}, {4, 5, false}};
	static const uint64_t interesting[] = {0, 1, 5};
	struct pathprof_function_paths *paths;
	struct pathprof_preferential t = {0};
	struct pathprof_flow flow;

	CU_ASSERT_EQUAL_FATAL(pathprof_flow_init_arcs(&flow, 6, arcs, 8), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_function_paths_new(&paths, &flow, PATHPROF_CUT_BACK_EDGES),
			      0);
	CU_ASSERT_EQUAL(pathprof_function_paths_cnt(paths), 6);
	CU_ASSERT_EQUAL_FATAL(pathprof_preferential_init(&t, paths, interesting, 3, NULL, NULL), 0);
	CU_ASSERT_EQUAL(t.path_cnt, 3);
	CU_ASSERT_EQUAL(t.span, 3);
	CU_ASSERT_EQUAL(t.slot_bits, 2);
	for (uint64_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(t.keys[i], (interesting[i] << t.number_bits) + i);
	CU_ASSERT_EQUAL(t.keys[3], PATHPROF_PREFERENTIAL_FREE);
	pathprof_preferential_release(&t);
	pathprof_function_paths_free(paths);
	pathprof_flow_release(&flow);
}

/* Planted faults: an increment that is one too large, a key of another path, a mask too small. */
static void test_planted(void)
{
	size_t planted = 0, found = 0;
	uint64_t random = 33;

	while (planted < 300) {
		struct drawn d = draw(ORACLE_ANY, 14, &random);
		struct pathprof_preferential t = {0};

		shuffle(d.cnt, &random);
		CU_ASSERT_EQUAL_FATAL(
			pathprof_preferential_init(&t, d.paths, ids, (d.cnt + 1) / 2, NULL, NULL),
			0);
		if (d.cnt > 1 && t.slot_bits && listed[ids[0]].edge_cnt) {
			switch (planted++ % 3) {
			case 0:
				t.increments.edge[listed[ids[0]].edges[0]]++;
				break;
			case 1:
				t.keys[0] += 1ull << t.number_bits;
				break;
			default:
				t.slot_bits--;
				break;
			}
			found += mistaken(&d, &t) != 0;
		}
		pathprof_preferential_release(&t);
		drop(&d);
	}
	CU_ASSERT_EQUAL(found, planted);
}

/* n conditionals one behind the other. */
static void make_diamonds(struct pathprof_flow *ret_flow, uint32_t n)
{
	static struct pathprof_flow_arc arcs[3 * 64];

	for (uint32_t i = 0; i < n; i++) {
		arcs[3 * i] = (struct pathprof_flow_arc){2 * i, 2 * i + 1, false};
		arcs[3 * i + 1] = (struct pathprof_flow_arc){2 * i, 2 * i + 2, false};
		arcs[3 * i + 2] = (struct pathprof_flow_arc){2 * i + 1, 2 * i + 2, false};
	}
	if (pathprof_flow_init_arcs(ret_flow, 2 * n + 1, arcs, 3 * n) < 0)
		abort();
}

/* A number and what shares its register need at most 63 bits. */
static void test_too_many(void)
{
	uint64_t random = 34;

	for (uint32_t n = 40; n <= 63; n++) {
		uint64_t cnt = 1ull << n, some[PATHPROF_PREFERENTIAL_MAX + 10];
		struct pathprof_function_paths *paths;
		struct pathprof_preferential t = {0};
		struct pathprof_flow flow;
		int r;

		make_diamonds(&flow, n);
		CU_ASSERT_EQUAL_FATAL(
			pathprof_function_paths_new(&paths, &flow, PATHPROF_CUT_BACK_EDGES), 0);
		CU_ASSERT_EQUAL(pathprof_function_paths_cnt(paths), cnt);
		for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
			some[i] = stream_random(&random) % cnt;
		r = pathprof_preferential_init(&t, paths, some, sizeof(some) / sizeof(some[0]),
					       NULL, NULL);
		if (n < 50)
			CU_ASSERT(r == 0 && t.path_cnt > 1);
		if (n == 63)
			CU_ASSERT_EQUAL(r, -ENOENT);
		if (r == 0) {
			CU_ASSERT(n + t.number_bits <= 63);
			CU_ASSERT_EQUAL(broken_promises(&t, PATHPROF_PREFERENTIAL_MAX), 0);
		}
		pathprof_preferential_release(&t);
		some[0] = cnt;
		CU_ASSERT_EQUAL(pathprof_preferential_init(&t, paths, some, 1, NULL, NULL),
				-ERANGE);
		CU_ASSERT_EQUAL(pathprof_preferential_init(&t, paths, some, 0, NULL, NULL),
				-ENOENT);
		pathprof_function_paths_free(paths);
		pathprof_flow_release(&flow);
	}
}

static const struct unit_test tests[] = {
	{"every path is counted as itself, interesting ones in slots of their own",
	 test_every_path},
	{"is compact where every path is interesting", test_all_interesting},
	{"numbers the published example", test_published},
	{"planted faults are found", test_planted},
	{"leaves room for the numbers of all paths", test_too_many},
};
UNIT_SUITE(preferential, tests)
