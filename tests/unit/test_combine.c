// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Combining profiles: sums and votes against a search for every key; the KL method against the
 * formula, a scan over lambda, and the property that defines it.
 */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_distribution.h"
#include "oracle_stream.h"
#include "pathprof/combine.h"
#include "pathprof/compare.h"

#define INPUTS_MAX 6

struct inputs {
	struct oracle_profile profiles[INPUTS_MAX];
	struct pathprof_distribution distributions[INPUTS_MAX];
	const struct pathprof_distribution *each[INPUTS_MAX];
	size_t cnt;
};

static void draw(struct inputs *ret_inputs, size_t cnt, uint64_t population, uint64_t seed)
{
	ret_inputs->cnt = cnt;
	for (size_t i = 0; i < cnt; i++) {
		struct oracle_profile *p = &ret_inputs->profiles[i];

		do
			oracle_profile_draw(p, 1 + population * 2 / 3, population, seed += 1000);
		while (oracle_total(p) == 0);
		CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&ret_inputs->distributions[i],
								 p->events, p->cnt),
				      0);
		ret_inputs->each[i] = &ret_inputs->distributions[i];
	}
}

static struct pathprof_combined combine(enum pathprof_combine_method method,
					const struct inputs *in, bool branches)
{
	struct pathprof_combined c = {0};

	CU_ASSERT_EQUAL_FATAL(pathprof_combine(&c, method, in->each, in->cnt, branches), 0);
	for (size_t i = 1; i < c.cnt; i++)
		CU_ASSERT(pathprof_event_order(&c.events[i - 1], &c.events[i]) < 0);
	return c;
}

static double found(const struct pathprof_combined *c, uint64_t hi, uint64_t lo)
{
	for (size_t i = 0; i < c->cnt; i++)
		if (c->events[i].key_hi == hi && c->events[i].key_lo == lo)
			return c->events[i].weight;
	return 0;
}

static bool near(double ours, long double theirs)
{
	return fabsl(ours - theirs) <= 1e-12L * fabsl(theirs);
}

/* An input's vote for one direction of a branch: 1, a half or 0. */
static long double vote(const struct oracle_profile *p, uint64_t hi, uint64_t lo)
{
	long double mine = oracle_weight(p, hi, lo), other = oracle_weight(p, hi, lo ^ 1);

	if (mine == other)
		return mine > 0 ? 0.5L : 0;
	return mine > other;
}

static long double expected(enum pathprof_combine_method method, const struct inputs *in,
			    bool branches, uint64_t hi, uint64_t lo)
{
	long double sum = 0;

	for (size_t i = 0; i < in->cnt; i++) {
		const struct oracle_profile *p = &in->profiles[i];
		long double weight = oracle_weight(p, hi, lo);

		if (method == PATHPROF_COMBINE_UNSCALED)
			sum += weight;
		else if (method == PATHPROF_COMBINE_SCALED)
			sum += weight / oracle_total(p);
		else
			sum += branches ? vote(p, hi, lo) : weight > 0;
	}
	return sum;
}

static unsigned int sums_differ(enum pathprof_combine_method method, const struct inputs *in,
				const struct inputs *oracle_in, bool branches)
{
	struct pathprof_combined c = combine(method, in, branches);
	unsigned int wrong = 0;

	for (uint64_t hi = 0; hi < 40; hi++)
		for (uint64_t lo = 0; lo < 7; lo++)
			wrong += !near(found(&c, hi, lo),
				       expected(method, oracle_in, branches, hi, lo));
	free(c.events);
	return wrong;
}

static void test_sums(void)
{
	static struct inputs in;

	for (uint64_t trial = 0; trial < 12; trial++) {
		draw(&in, 1 + trial % INPUTS_MAX, 4 + 20 * trial, trial);
		for (size_t m = 0; m < PATHPROF_COMBINE_KL; m++)
			CU_ASSERT_EQUAL(
				sums_differ((enum pathprof_combine_method)m, &in, &in, trial % 2),
				0);
	}
}

/* Inputs of equal bursts: the squares of one say nothing of what was made of both. */
static void test_squares(void)
{
	static const struct pathprof_event event = {1, 2, 8, 16};
	static struct inputs in = {.cnt = 2};

	for (size_t i = 0; i < in.cnt; i++) {
		CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&in.distributions[i], &event, 1),
				      0);
		in.each[i] = &in.distributions[i];
	}
	for (int m = 0; m <= PATHPROF_COMBINE_KL; m++) {
		struct pathprof_combined c = combine((enum pathprof_combine_method)m, &in, false);

		CU_ASSERT_EQUAL_FATAL(c.cnt, 1);
		CU_ASSERT_EQUAL(c.events[0].squares, 0);
		free(c.events);
	}
}

static void test_planted_weight(void)
{
	static struct inputs in, wrong;

	draw(&in, 3, 60, 1);
	wrong = in;
	for (size_t i = 0; i < wrong.profiles[1].cnt; i++)
		wrong.profiles[1].events[i].weight =
			i == 4 ? 9e9 : wrong.profiles[1].events[i].weight;
	for (size_t m = 0; m < PATHPROF_COMBINE_KL; m++)
		CU_ASSERT(m == PATHPROF_COMBINE_POLLING ||
			  sums_differ((enum pathprof_combine_method)m, &in, &wrong, false) != 0);
	wrong = in;
	memset(wrong.profiles[1].events, 0, sizeof(wrong.profiles[1].events));
	CU_ASSERT(sums_differ(PATHPROF_COMBINE_POLLING, &in, &wrong, false) != 0);
}

/* ---------------------------------------------------------------- KL of two */

static void test_formula(void)
{
	static struct inputs in;

	for (uint64_t trial = 0; trial < 12; trial++) {
		struct pathprof_combined c;
		long double lambda, sum = 0;

		draw(&in, 2, 4 + 8 * trial, 50 + trial);
		c = combine(PATHPROF_COMBINE_KL, &in, false);
		lambda = c.lambda[0];
		CU_ASSERT(lambda >= 0 && lambda <= 1 && near(c.lambda[1], 1 - lambda));
		for (size_t i = 0; i < c.cnt; i++) {
			CU_ASSERT(fabsl(c.events[i].weight /
						oracle_geometric(&in.profiles[0], &in.profiles[1],
								 lambda, c.events[i].key_hi,
								 c.events[i].key_lo) -
					1) < 1e-9L);
			sum += c.events[i].weight;
		}
		CU_ASSERT(near((double)sum, 1));
		free(c.events);
	}
}

/* The middle of a bracket that a search by thirds leaves: far slower, and nothing in common. */
static long double scan_lambda(const struct inputs *in)
{
	const struct oracle_profile *p = &in->profiles[0], *q = &in->profiles[1];
	long double low = 0, high = 1;

	for (int i = 0; i < 90; i++) {
		long double a = (2 * low + high) / 3, b = (low + 2 * high) / 3;

		if (oracle_log_z(p, q, a) < oracle_log_z(p, q, b))
			high = b;
		else
			low = a;
	}
	return (low + high) / 2;
}

static void test_chernoff(void)
{
	static struct inputs in;

	for (uint64_t trial = 0; trial < 6; trial++) {
		struct pathprof_combined c;
		long double lambda;

		draw(&in, 2, 5 + 9 * trial, 80 + trial);
		c = combine(PATHPROF_COMBINE_KL, &in, false);
		lambda = scan_lambda(&in);
		/* log Z is flat at its least: half the digits. */
		CU_ASSERT_DOUBLE_EQUAL(c.lambda[0], (double)lambda, 1e-7);
		CU_ASSERT(fabsl(c.distance_bits +
				oracle_log_z(&in.profiles[0], &in.profiles[1], lambda)) < 1e-10L);
		CU_ASSERT(c.gap_bits < 1e-10);
		free(c.events);
	}
}

static void test_same(void)
{
	static struct inputs in;
	struct pathprof_combined c;

	draw(&in, 1, 30, 3);
	in.each[1] = in.each[2] = in.each[0];
	in.cnt = 3;
	c = combine(PATHPROF_COMBINE_KL, &in, false);
	CU_ASSERT(c.distance_bits < 1e-12);
	for (size_t i = 0; i < c.cnt; i++)
		CU_ASSERT(fabsl(c.events[i].weight -
				oracle_weight(&in.profiles[0], c.events[i].key_hi,
					      c.events[i].key_lo) /
					oracle_total(&in.profiles[0])) < 1e-13L);
	free(c.events);
}

/* ---------------------------------------------------------------- KL of many */

/* D(r || p_i), p_i smoothed over the union: r touches every event there is. */
static double distance(const struct pathprof_combined *c, const struct pathprof_distribution *p)
{
	struct pathprof_relative_entropy kl = {.bits = NAN};
	struct pathprof_distribution r = {0};

	CU_ASSERT_EQUAL(pathprof_distribution_init(&r, c->events, c->cnt), 0);
	CU_ASSERT_EQUAL(pathprof_relative_entropy(&r, p, 0, &kl), 0);
	return kl.bits;
}

/*
 * Checks the conditions that define the point: no input is farther than the reported distance, and
 * inputs with a positive weight are exactly at it.
 */
static unsigned int violations(const struct pathprof_combined *c, const struct inputs *in)
{
	unsigned int wrong = 0;

	for (size_t i = 0; i < in->cnt; i++) {
		double d = distance(c, in->each[i]);

		wrong += d > c->distance_bits + 1e-8;
		wrong += c->lambda[i] > 1e-6 && fabs(d - c->distance_bits) > 1e-8;
	}
	return wrong;
}

static void test_many(void)
{
	static struct inputs in;

	for (uint64_t trial = 0; trial < 16; trial++) {
		struct pathprof_combined c;

		draw(&in, 2 + trial % (INPUTS_MAX - 1), 6 + 12 * trial, 200 + trial);
		c = combine(PATHPROF_COMBINE_KL, &in, false);
		CU_ASSERT_EQUAL(violations(&c, &in), 0);
		CU_ASSERT(c.gap_bits < 1e-9);
		free(c.events);
	}
}

/* An input between two others has no say: the point lies between those. */
static void test_between(void)
{
	struct pathprof_event a[] = {{0, 1, 90}, {0, 2, 10}}, b[] = {{0, 1, 10}, {0, 2, 90}};
	struct pathprof_event m[] = {{0, 1, 55}, {0, 2, 45}};
	static struct inputs inputs;
	struct inputs *in = &inputs;
	struct pathprof_combined c;

	in->cnt = 3;
	CU_ASSERT_EQUAL(pathprof_distribution_init(&in->distributions[0], a, 2), 0);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&in->distributions[1], b, 2), 0);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&in->distributions[2], m, 2), 0);
	for (size_t i = 0; i < 3; i++)
		in->each[i] = &in->distributions[i];
	c = combine(PATHPROF_COMBINE_KL, in, false);
	CU_ASSERT_DOUBLE_EQUAL(c.events[0].weight, 0.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(c.lambda[2], 0, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(c.distance_bits, 0.5 * log2(0.5 / 0.9) + 0.5 * log2(0.5 / 0.1),
			       1e-9);
	free(c.events);
}

/* Two pairs in turn, where each line moves little and the gap goes up and down by it. */
static void test_zigzag(void)
{
	const double weights[][2] = {
		{256, 0x1p26}, {0x1p51, 0x1p34}, {32, 0x1p22}, {0x1p52, 0x1p34}};
	static struct inputs in = {.cnt = 4};
	struct pathprof_event events[4][2];
	struct pathprof_combined c;

	for (size_t i = 0; i < in.cnt; i++) {
		for (size_t e = 0; e < 2; e++)
			events[i][e] =
				(struct pathprof_event){.key_lo = e, .weight = weights[i][e]};
		CU_ASSERT_EQUAL(pathprof_distribution_init(&in.distributions[i], events[i], 2), 0);
		in.each[i] = &in.distributions[i];
	}
	c = combine(PATHPROF_COMBINE_KL, &in, false);
	CU_ASSERT_EQUAL(violations(&c, &in), 0);
	CU_ASSERT(c.gap_bits < 1e-9);
	free(c.events);
}

static void test_planted_point(void)
{
	static struct inputs in;
	struct pathprof_combined c;

	draw(&in, 3, 60, 300);
	c = combine(PATHPROF_COMBINE_KL, &in, false);
	CU_ASSERT_EQUAL(violations(&c, &in), 0);
	c.events[c.cnt / 2].weight *= 1.5;
	CU_ASSERT(violations(&c, &in) > 0);
	free(c.events);
}

/* ---------------------------------------------------------------- what is refused */

static void test_refuses(void)
{
	struct pathprof_event most[] = {{0, 1, PATHPROF_WEIGHT_MAX}}, zero[] = {{0, 1, 0}};
	struct pathprof_distribution big, empty;
	const struct pathprof_distribution *two[] = {&big, &big}, *one[] = {&big, &empty};
	const struct pathprof_distribution *many[PATHPROF_COMBINE_MAX + 1] = {0};
	struct pathprof_combined c = {.cnt = 77};

	CU_ASSERT_EQUAL(pathprof_distribution_init(&big, most, 1), 0);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&empty, zero, 1), 0);
	CU_ASSERT_EQUAL(pathprof_combine(&c, PATHPROF_COMBINE_UNSCALED, two, 2, false), -ERANGE);
	CU_ASSERT_EQUAL(pathprof_combine(&c, PATHPROF_COMBINE_UNSCALED, two, 0, false), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_combine(&c, PATHPROF_COMBINE_CNT, two, 2, false), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_combine(&c, PATHPROF_COMBINE_SCALED, one, 2, false), -ENODATA);
	CU_ASSERT_EQUAL(pathprof_combine(&c, PATHPROF_COMBINE_KL, one, 2, false), -ENODATA);
	CU_ASSERT_EQUAL(
		pathprof_combine(&c, PATHPROF_COMBINE_KL, many, PATHPROF_COMBINE_MAX + 1, false),
		-EINVAL);
	CU_ASSERT_EQUAL(c.cnt, 77);
	CU_ASSERT_EQUAL(pathprof_combine(&c, PATHPROF_COMBINE_UNSCALED, one, 2, false), 0);
	CU_ASSERT(c.cnt == 1 && c.events[0].weight == PATHPROF_WEIGHT_MAX);
	free(c.events);
}

static void test_names(void)
{
	enum pathprof_combine_method method;

	for (unsigned int i = 0; i < PATHPROF_COMBINE_CNT; i++) {
		const char *name = pathprof_combine_name((enum pathprof_combine_method)i);

		CU_ASSERT_PTR_NOT_NULL_FATAL(name);
		CU_ASSERT_EQUAL(pathprof_combine_method(name, &method), 0);
		CU_ASSERT_EQUAL((unsigned int)method, i);
	}
	CU_ASSERT_PTR_NULL(pathprof_combine_name(PATHPROF_COMBINE_CNT));
	CU_ASSERT_EQUAL(pathprof_combine_method("mean", &method), -EINVAL);
}

static const struct unit_test tests[] = {
	{"sums and votes equal a search for every key", test_sums},
	{"squares of one input are not the result's", test_squares},
	{"a changed weight is found", test_planted_weight},
	{"KL of two is the geometric mean at its lambda", test_formula},
	{"... and that lambda is where log Z is least", test_chernoff},
	{"KL of the same is the same", test_same},
	{"KL of many: those with a say are equally far, nobody is farther", test_many},
	{"one between two others has no say", test_between},
	{"two pairs that move in turn are followed to the end", test_zigzag},
	{"a point that is another is found", test_planted_point},
	{"refuses what cannot be combined", test_refuses},
	{"methods have names", test_names},
};
UNIT_SUITE(combine, tests)
