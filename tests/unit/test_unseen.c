// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The share of marked paths and the bound on what is unseen, held against simulated programs of
 * which the truth is known: intervals hold in 95 % of them, are no wider than they need be, and
 * halved ones are found out.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "pathprof/unseen.h"
#include "unit.h"

#define PROGRAMS   1000
#define PATHS_MAX  250
#define GROUPS_MAX 30
#define RUNS_MAX   25

static uint64_t state;

/* A program: places where bursts begin, each with its mix of paths and its weight. */
struct program {
	uint32_t path_cnt, group_cnt, burst_cnt;
	double group_cdf[GROUPS_MAX], group_weight[GROUPS_MAX];
	uint32_t group_runs[GROUPS_MAX];   /* of paths in a burst */
	double cdf[GROUPS_MAX][PATHS_MAX]; /* of paths in a group */
	double truth[PATHS_MAX];           /* share of each path in all weight */
	bool marked[PATHS_MAX];
};

/* Sizes that fall off as those of real programs do: few paths make up most of what runs. */
static double fill_cdf(double *cdf, uint32_t cnt, double steepness)
{
	double sum = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		sum += pow(1 + (double)(uint32_t)(chance_uniform(&state) * cnt), -steepness);
		cdf[i] = sum;
	}
	return sum;
}

static void make_program(struct program *p)
{
	double all = 0, before, burst, sum, group_sum, marks = 0.02 + 0.4 * chance_uniform(&state);

	memset(p, 0, sizeof(*p));
	p->path_cnt = 10 + (uint32_t)(chance_uniform(&state) * (PATHS_MAX - 10));
	p->group_cnt = 1 + (uint32_t)(chance_uniform(&state) * (GROUPS_MAX - 1));
	p->burst_cnt = 20 + (uint32_t)(chance_uniform(&state) * chance_uniform(&state) * 900);
	group_sum = fill_cdf(p->group_cdf, p->group_cnt, 1.2 * chance_uniform(&state));
	for (uint32_t g = 0; g < p->group_cnt; g++) {
		double share = (p->group_cdf[g] - (g ? p->group_cdf[g - 1] : 0)) / group_sum;

		sum = fill_cdf(p->cdf[g], p->path_cnt, 0.8 + 1.4 * chance_uniform(&state));
		p->group_weight[g] = 0.5 + chance_uniform(&state);
		p->group_runs[g] = 3 + (uint32_t)(chance_uniform(&state) * RUNS_MAX);
		before = 0;
		burst = share * p->group_weight[g] * p->group_runs[g];
		for (uint32_t i = 0; i < p->path_cnt; i++) {
			p->truth[i] += burst * (p->cdf[g][i] - before) / sum;
			before = p->cdf[g][i];
			p->cdf[g][i] /= sum;
		}
		all += burst;
	}
	for (uint32_t g = 0; g < p->group_cnt; g++)
		p->group_cdf[g] /= group_sum;
	for (uint32_t i = 0; i < p->path_cnt; i++) {
		p->truth[i] /= all;
		p->marked[i] = chance_uniform(&state) < marks;
	}
}

static uint32_t draw(const double *cdf, uint32_t cnt)
{
	double u = chance_uniform(&state);
	uint32_t i = 0;

	while (i + 1 < cnt && cdf[i] < u)
		i++;
	return i;
}

/* Windows' counts of it, as in profile.h. */
struct counts {
	double samples[PATHS_MAX], squares[PATHS_MAX];
	double weight[PATHS_MAX], weight_squares[PATHS_MAX];
};

static void take_burst(const struct program *p, struct counts *c)
{
	double seen[PATHS_MAX] = {0}, weights[PATHS_MAX] = {0};
	uint32_t group = draw(p->group_cdf, p->group_cnt);

	for (uint32_t run = 0; run < p->group_runs[group]; run++) {
		uint32_t path = draw(p->cdf[group], p->path_cnt);

		seen[path] += 1;
		weights[path] += p->group_weight[group];
	}
	for (uint32_t i = 0; i < p->path_cnt; i++) {
		c->samples[i] += seen[i];
		c->squares[i] += seen[i] * seen[i];
		c->weight[i] += weights[i];
		c->weight_squares[i] += weights[i] * weights[i];
	}
}

struct outcome {
	struct pathprof_unseen unseen;
	double marked, missing; /* the truth */
};

static struct outcome simulate(const struct program *p)
{
	struct pathprof_unseen_path paths[PATHS_MAX];
	struct counts c = {{0}};
	struct outcome out = {.marked = 0};
	size_t cnt = 0;

	for (uint32_t i = 0; i < p->burst_cnt; i++)
		take_burst(p, &c);
	for (uint32_t i = 0; i < p->path_cnt; i++) {
		out.marked += p->marked[i] ? p->truth[i] : 0;
		out.missing += c.samples[i] > 0 ? 0 : p->truth[i];
		if (c.samples[i] > 0)
			paths[cnt++] = (struct pathprof_unseen_path){
				.weight = c.weight[i],
				.weight_squares = c.weight_squares[i],
				.looks = c.samples[i] * c.samples[i] / c.squares[i],
				.is_marked = p->marked[i]};
	}
	CU_ASSERT_EQUAL(pathprof_unseen_work_out(paths, cnt, p->burst_cnt, &out.unseen), 0);
	return out;
}

/* narrow: 1, or how much of each interval's halves is believed. */
static void count_holds(double narrow, uint32_t *ret_marked, uint32_t *ret_missing,
			double *ret_width)
{
	struct program *program = malloc(sizeof(*program));

	state = 0x9e3779b97f4a7c15u;
	*ret_marked = *ret_missing = 0;
	*ret_width = 0;
	for (uint32_t i = 0; i < PROGRAMS; i++) {
		struct outcome o;
		const struct pathprof_share *m = &o.unseen.marked, *u = &o.unseen.unseen;

		make_program(program);
		o = simulate(program);
		*ret_marked += o.marked >= m->value - narrow * (m->value - m->low) &&
			       o.marked <= m->value + narrow * (m->high - m->value);
		*ret_missing += o.missing <= u->value + narrow * (u->high - u->value);
		*ret_width +=
			(m->high - m->low + u->high) / 2 * sqrt(program->burst_cnt) / PROGRAMS;
	}
	free(program);
}

static void test_simulated(void)
{
	uint32_t marked, missing, narrow_marked, narrow_missing;
	double width;

	count_holds(1, &marked, &missing, &width);
	CU_ASSERT(marked >= PROGRAMS * 95 / 100);
	CU_ASSERT(missing >= PROGRAMS * 95 / 100);
	/* An interval of 95 % of a share of a half is 2 / sqrt(n) wide. */
	CU_ASSERT(width < 2);
	count_holds(0.1, &narrow_marked, &narrow_missing, &width);
	CU_ASSERT(narrow_marked < PROGRAMS * 95 / 100);
	CU_ASSERT(narrow_missing < PROGRAMS * 95 / 100);
}

static void test_exact(void)
{
	const struct pathprof_unseen_path paths[] = {{3, 9, 1, true}, {1, 1, 1, false}};
	struct pathprof_unseen unseen;

	CU_ASSERT_EQUAL(pathprof_unseen_work_out(paths, 2, 0, &unseen), 0);
	CU_ASSERT(unseen.marked.value == 0.75 && unseen.marked.low == 0.75 &&
		  unseen.marked.high == 0.75);
	CU_ASSERT(unseen.unseen.high == 0);
}

/* By hand: four bursts with a path each, of which one saw another path than the rest. */
static void test_by_hand(void)
{
	const struct pathprof_unseen_path paths[] = {{3, 3, 3, false}, {1, 1, 1, true}};
	const struct pathprof_unseen_path uneven[] = {{3, 6, 3, false}, {1, 2, 1, true}};
	struct pathprof_unseen unseen;

	CU_ASSERT_EQUAL(pathprof_unseen_work_out(paths, 2, 4, &unseen), 0);
	CU_ASSERT_DOUBLE_EQUAL(unseen.marked.value, 0.25, 1e-9);
	/* Wilson's of 1 in 4 */
	CU_ASSERT_DOUBLE_EQUAL(unseen.marked.low, 0.0456, 1e-4);
	CU_ASSERT_DOUBLE_EQUAL(unseen.marked.high, 0.6994, 1e-4);
	CU_ASSERT_DOUBLE_EQUAL(unseen.unseen.value, 0.25, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(unseen.unseen.high, 1.0, 1e-9);
	CU_ASSERT_EQUAL(pathprof_unseen_work_out(paths, 2, 4000, &unseen), 0);
	CU_ASSERT_DOUBLE_EQUAL(unseen.unseen.high, 0.25 + 1.644854 / 4 + 0.00075, 1e-9);
	/* where weights differ, four bursts are worth fewer: here two */
	CU_ASSERT_EQUAL(pathprof_unseen_work_out(uneven, 2, 4, &unseen), 0);
	CU_ASSERT_DOUBLE_EQUAL(unseen.marked.low, 0.0267, 1e-4);
}

/* Rounding must not make a bound differ from 0 or 1, so that callers may compare with these. */
static void test_nothing_marked(void)
{
	struct pathprof_unseen_path path = {1, 1, 1, false};
	struct pathprof_unseen unseen;
	uint32_t wrong_cnt = 0;

	for (uint64_t bursts = 1; bursts < 1000; bursts++) {
		path.is_marked = false;
		CU_ASSERT_EQUAL(pathprof_unseen_work_out(&path, 1, bursts, &unseen), 0);
		wrong_cnt += unseen.marked.low != 0 || !(unseen.marked.high > 0);
		path.is_marked = true;
		CU_ASSERT_EQUAL(pathprof_unseen_work_out(&path, 1, bursts, &unseen), 0);
		wrong_cnt += unseen.marked.high != 1 || !(unseen.marked.low < 1);
	}
	CU_ASSERT_EQUAL(wrong_cnt, 0);
}

static void test_refused(void)
{
	const struct pathprof_unseen_path wrong[] = {
		{0, 0, 1, false}, {1, -1, 1, false}, {1, 1, 0.5, false}, {NAN, 1, 1, false}};
	struct pathprof_unseen unseen;

	for (size_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(pathprof_unseen_work_out(&wrong[i], 1, 5, &unseen), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_unseen_work_out(NULL, 0, 5, &unseen), 0);
	CU_ASSERT(isnan(unseen.marked.value) && isnan(unseen.unseen.high));
}

static const struct unit_test tests[] = {
	{"both intervals hold in 95 of 100 simulated programs, and narrower ones do not",
	 test_simulated},
	{"what was counted has no interval", test_exact},
	{"figures worked out by hand", test_by_hand},
	{"a share of nothing begins at 0, and one of all ends at 1", test_nothing_marked},
	{"what cannot be is refused, and nothing is not known", test_refused},
};
UNIT_SUITE(unseen, tests)
