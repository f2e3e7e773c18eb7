// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths of two builds side by side, against sums over plain arrays. */
#include "names_desk.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t state;

static uint32_t draw(uint32_t bound)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % bound);
}

static void make_side(struct side *side, uint8_t number, bool all_named)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};
	struct pathprof_portable_path paths[EVENTS];
	struct pathprof_event events[EVENTS];
	uint64_t *functions = malloc(FUNCTIONS * sizeof(*functions));
	size_t path_cnt = 0, function_cnt = 0;

	memset(side, 0, sizeof(*side));
	memset(id.bytes, number, sizeof(id.bytes));
	side->portable = pathprof_portable_new(&id);
	for (uint64_t f = 0; f < FUNCTIONS; f++) {
		side->has[f] = draw(4) > 0;
		if (side->has[f])
			functions[function_cnt++] = 100 + f;
	}
	pathprof_portable_set_functions(side->portable, functions, function_cnt);
	for (uint64_t i = 0; i < EVENTS; i++) {
		uint64_t key = 1000u * number + i;

		side->weights[i] = 1 + draw(50);
		events[i] = (struct pathprof_event){
			.key_hi = 1, .key_lo = key, .weight = side->weights[i]};
		/* a path that runs is in a function that is there */
		side->nameless[i] = !side->has[i % FUNCTIONS];
		side->named[i] = all_named || draw(8) > 0;
		if (side->named[i])
			paths[path_cnt++] = (struct pathprof_portable_path){
				key, side->nameless[i] ? 0 : 100 + i % FUNCTIONS, i};
	}
	CU_ASSERT_EQUAL(pathprof_portable_add(side->portable, paths, path_cnt), 0);
	/* again: nothing doubles */
	CU_ASSERT_EQUAL(pathprof_portable_add(side->portable, paths, path_cnt / 2), 0);
	CU_ASSERT_EQUAL(side->portable->path_cnt, path_cnt);
	CU_ASSERT_EQUAL(pathprof_tally_add(&side->counts, events, EVENTS), 0);
}

static void free_side(struct side *side)
{
	pathprof_portable_unref(side->portable);
	pathprof_tally_release(&side->counts);
}

static bool is_sum(const struct pathprof_tally *counts, const struct side *side,
		   const struct side *other)
{
	double want = 0, have = 0;
	bool same = true;

	for (uint64_t i = 0; i < EVENTS; i++)
		want += expected(side, other, i);
	for (size_t i = 0; i < counts->cnt; i++) {
		const struct pathprof_event *event = &counts->events[i];

		have += event->weight;
		same &= event->key_lo < EVENTS &&
			event->key_hi == 100 + event->key_lo % FUNCTIONS &&
			event->weight == expected(side, other, event->key_lo);
	}
	return same && want == have;
}

static void test_pairs(void)
{
	state = 5;
	for (int round = 0; round < 50; round++) {
		struct pathprof_portable_pair pair;
		struct side a, b;
		double matched = 0, total = 0;

		make_side(&a, 1, true);
		make_side(&b, 2, true);
		CU_ASSERT_EQUAL_FATAL(
			pathprof_portable_pair(&pair, &a.counts, a.portable, &b.counts, b.portable),
			0);
		CU_ASSERT(is_sum(&pair.window, &a, &b));
		CU_ASSERT(is_sum(&pair.base, &b, &a));
		for (uint64_t i = 0; i < EVENTS; i++) {
			matched += expected(&a, &b, i);
			total += a.weights[i];
		}
		CU_ASSERT_DOUBLE_EQUAL(pair.matched, matched / total, 1e-12);
		/* a planted fault: one sample of another path */
		if (pair.window.cnt) {
			pair.window.events[0].weight++;
			CU_ASSERT_FALSE(is_sum(&pair.window, &a, &b));
		}
		pathprof_portable_pair_release(&pair);
		free_side(&a);
		free_side(&b);
	}
}

static double weight_of(const struct pathprof_tally *counts, uint64_t hi)
{
	double weight = 0;

	for (size_t i = 0; i < counts->cnt; i++)
		if (counts->events[i].key_hi == hi)
			weight += counts->events[i].weight;
	return weight;
}

/*
 * Paths without a name on one side are no drift: a program that did not change, whose old build had
 * some of its paths unnamed, has as large a share of unnamed on both sides.
 */
static void test_unnamed(void)
{
	state = 6;
	for (int round = 0; round < 50; round++) {
		struct pathprof_portable_pair pair;
		struct side a, b;
		double of_a, of_b, most = 0;

		make_side(&a, 1, round & 1);
		make_side(&b, 2, !(round & 1));
		for (int f = 0; f < FUNCTIONS; f++)
			a.has[f] |= b.has[f];
		CU_ASSERT_EQUAL_FATAL(
			pathprof_portable_pair(&pair, &a.counts, a.portable, &b.counts, b.portable),
			0);
		of_a = weight_of(&pair.window, PATHPROF_PORTABLE_UNNAMED_HI) / pair.window.total;
		of_b = weight_of(&pair.base, PATHPROF_PORTABLE_UNNAMED_HI) / pair.base.total;
		/* up to the last path that was given up, of weight 50 at most, and a share that
		   nothing was left for */
		most = 50 / pair.window.total + 50 / pair.base.total;
		CU_ASSERT(round & 1 ? of_a <= of_b + most : of_b <= of_a + most);
		pathprof_portable_pair_release(&pair);
		free_side(&a);
		free_side(&b);
	}
}

/* A build with so many functions, of a program whose builds all do the same. */
static void make_same(struct side *side, uint8_t number, const double *weights, uint64_t functions,
		      const bool *named)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};
	struct pathprof_portable_path path;
	struct pathprof_event event;
	uint64_t *keys = malloc(functions * sizeof(*keys));

	memset(side, 0, sizeof(*side));
	memset(id.bytes, number, sizeof(id.bytes));
	side->portable = pathprof_portable_new(&id);
	for (uint64_t f = 0; f < functions; f++)
		keys[f] = 100 + f;
	pathprof_portable_set_functions(side->portable, keys, functions);
	for (uint64_t i = 0; i < EVENTS; i++) {
		if (i % FUNCTIONS >= functions)
			continue;
		event = (struct pathprof_event){
			.key_hi = 1, .key_lo = 1000u * number + i, .weight = weights[i]};
		path = (struct pathprof_portable_path){event.key_lo, 100 + i % FUNCTIONS, i};
		CU_ASSERT_EQUAL(pathprof_tally_add(&side->counts, &event, 1), 0);
		if (named[i])
			CU_ASSERT_EQUAL(pathprof_portable_add(side->portable, &path, 1), 0);
	}
}

/* Half of the sum of what each event's shares differ by. */
static double distance(const struct pathprof_tally *a, const struct pathprof_tally *b)
{
	double sum = 0, shared = 0;

	for (size_t i = 0; i < a->cnt; i++)
		for (size_t k = 0; k < b->cnt; k++)
			if (pathprof_event_order(&a->events[i], &b->events[k]) == 0) {
				double p = a->events[i].weight / a->total;
				double q = b->events[k].weight / b->total;

				sum += fabs(p - q);
				shared += p + q;
			}
	return (sum + 2 - shared) / 2;
}

/*
 * On a busy machine names come late, and those of some functions first. A new build that does what
 * the one before did, half of it in functions of its own, does not drift for that.
 */
static void test_named_in_part(void)
{
	state = 8;
	for (int round = 0; round < 50; round++) {
		struct pathprof_portable_pair pair;
		struct side a, b;
		double weights[EVENTS];
		bool all[EVENTS], some[EVENTS];

		for (uint64_t i = 0; i < EVENTS; i++) {
			weights[i] = 100 + draw(500);
			all[i] = true;
			some[i] = i % FUNCTIONS >= FUNCTIONS / 2 || i < FUNCTIONS;
		}
		make_same(&a, 1, weights, FUNCTIONS, some);
		make_same(&b, 2, weights, FUNCTIONS / 2, all);
		CU_ASSERT_EQUAL_FATAL(
			pathprof_portable_pair(&pair, &a.counts, a.portable, &b.counts, b.portable),
			0);
		CU_ASSERT(pair.window.total > 0 && pair.matched < 0.3);
		CU_ASSERT(distance(&pair.window, &pair.base) < 0.001);
		pathprof_portable_pair_release(&pair);
		/* and the other way round, where the baseline lacks names */
		CU_ASSERT_EQUAL_FATAL(
			pathprof_portable_pair(&pair, &b.counts, b.portable, &a.counts, a.portable),
			0);
		CU_ASSERT(distance(&pair.window, &pair.base) < 0.001);
		pathprof_portable_pair_release(&pair);
		free_side(&a);
		free_side(&b);
	}
}

static void test_unknown_functions(void)
{
	struct pathprof_portable_pair pair;
	struct side a, b;

	state = 7;
	make_side(&a, 1, true);
	make_side(&b, 2, true);
	pathprof_portable_set_functions(a.portable, NULL, 0);
	CU_ASSERT_EQUAL(pathprof_portable_pair(&pair, &a.counts, a.portable, &b.counts, b.portable),
			-ENODATA);
	free_side(&a);
	free_side(&b);
}

static const struct unit_test tests[] = {
	{"two builds are compared over what both can have", test_pairs},
	{"what has no name yet is no drift", test_unnamed},
	{"names of some functions first are no drift", test_named_in_part},
	{"a build whose functions are not known is not compared", test_unknown_functions},
};
UNIT_SUITE(drift_pairs, tests)
