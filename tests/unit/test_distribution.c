// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Distributions and how two of them compare: every figure against the formula over a search, at
 * counts up to 2^63, and what must be refused.
 */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_distribution.h"
#include "oracle_stream.h"
#include "pathprof/compare.h"

#define TRIALS 40

static struct pathprof_distribution dist(const struct oracle_profile *p)
{
	struct pathprof_distribution d = {0};

	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&d, p->events, p->cnt), 0);
	return d;
}

/* Relative, to 1e-11; of nothing, absolute. */
static bool near(double ours, long double theirs)
{
	return fabsl(ours - theirs) <= 1e-11L * fmaxl(fabsl(theirs), 1e-3L);
}

static void draw_pair(struct oracle_profile *ret_p, struct oracle_profile *ret_q, uint64_t trial)
{
	uint64_t population = 3 + trial * 9;

	do {
		oracle_profile_draw(ret_p, 1 + population / 2, population, 10 * trial);
		trial += 1000;
	} while (oracle_total(ret_p) == 0);
	do {
		oracle_profile_draw(ret_q, 1 + population * 2 / 3, population, 10 * trial + 1);
		trial += 1000;
	} while (oracle_total(ret_q) == 0);
}

/* Figures of p and q that are not what the formula says of p and oracle_q. */
static unsigned int differ(const struct oracle_profile *p, const struct oracle_profile *q,
			   const struct oracle_profile *oracle_q)
{
	struct pathprof_distribution actual = dist(p), assumed = dist(q);
	struct pathprof_relative_entropy kl = {0};
	struct pathprof_coverage coverage = {0};
	long double static_share, dynamic_share;
	double angle = NAN, similarity = NAN;

	CU_ASSERT_EQUAL(pathprof_relative_entropy(&actual, &assumed, 0, &kl), 0);
	CU_ASSERT_EQUAL(pathprof_coverage(&actual, &assumed, &coverage), 0);
	CU_ASSERT_EQUAL(pathprof_angle_degrees(&actual, &assumed, &angle), 0);
	CU_ASSERT_EQUAL(pathprof_similarity(&actual, &assumed, &similarity), 0);
	oracle_coverage(p, oracle_q, &static_share, &dynamic_share);
	return !near(pathprof_entropy_bits(&assumed), oracle_entropy(oracle_q)) +
	       !near(kl.bits, oracle_kl(p, oracle_q, 0)) +
	       !near(pathprof_distribution_overlap(&actual, &assumed),
		     oracle_overlap(p, oracle_q)) +
	       !(fabsl(angle - oracle_angle(p, oracle_q)) < 1e-7) +
	       !near(similarity, oracle_similarity(p, oracle_q)) +
	       !near(coverage.static_share, static_share) +
	       !near(coverage.dynamic_share, dynamic_share);
}

static void test_formulas(void)
{
	static struct oracle_profile p, q;

	for (uint64_t i = 0; i < TRIALS; i++) {
		draw_pair(&p, &q, i);
		CU_ASSERT_EQUAL(differ(&p, &q, &q), 0);
		CU_ASSERT_EQUAL(differ(&q, &p, &p), 0);
	}
}

static void test_planted_weight(void)
{
	static struct oracle_profile p, q, wrong;
	unsigned int found = 0;

	for (uint64_t i = 20; i < 30; i++) {
		draw_pair(&p, &q, i);
		wrong = q;
		wrong.events[wrong.cnt / 2].weight += 1 + wrong.events[wrong.cnt / 2].weight / 8;
		found += differ(&p, &q, &wrong) != 0;
	}
	CU_ASSERT_EQUAL(found, 10);
}

static void test_epsilon(void)
{
	static struct oracle_profile p, q;
	struct pathprof_relative_entropy kl = {.bits = 7};
	struct pathprof_distribution actual, assumed;
	double most;

	draw_pair(&p, &q, 25);
	actual = dist(&p);
	assumed = dist(&q);
	most = (double)(1 / oracle_total(&q));
	for (int power = 0; power < 60; power++) {
		double e = most / 3 * pow(1e-5, power);

		CU_ASSERT_EQUAL(pathprof_relative_entropy(&actual, &assumed, e, &kl), 0);
		CU_ASSERT(near(kl.bits, oracle_kl(&p, &q, e)));
		CU_ASSERT_EQUAL(kl.epsilon, e);
	}
	kl.bits = 7;
	CU_ASSERT_EQUAL(pathprof_relative_entropy(&actual, &assumed, 1.01 * most, &kl), -ERANGE);
	CU_ASSERT_EQUAL(pathprof_relative_entropy(&actual, &assumed, -1e-9, &kl), -ERANGE);
	CU_ASSERT_EQUAL(pathprof_relative_entropy(&actual, &assumed, NAN, &kl), -ERANGE);
	CU_ASSERT_EQUAL(kl.bits, 7);
}

/* Two events, off by 2^-26: by the direct formula in double all digits would cancel. */
static void test_close(void)
{
	double half = 0x1p62, off = 0x1p36, d = off / half;
	struct pathprof_event a[] = {{0, 1, half + off}, {0, 2, half - off}};
	struct pathprof_event b[] = {{0, 1, half}, {0, 2, half}};
	struct pathprof_distribution p, q;
	struct pathprof_relative_entropy kl = {0};
	double angle = NAN;

	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&p, a, 2), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&q, b, 2), 0);
	CU_ASSERT_FALSE(p.counted);
	CU_ASSERT_EQUAL(pathprof_relative_entropy(&p, &q, 0, &kl), 0);
	/* D = d^2 / 2 + d^4 / 12 ... nats. */
	CU_ASSERT_DOUBLE_EQUAL(kl.bits / (d * d / 2 / M_LN2), 1, 1e-9);
	CU_ASSERT_EQUAL(pathprof_angle_degrees(&p, &q, &angle), 0);
	CU_ASSERT_DOUBLE_EQUAL(angle / (atan(d) * 180 / M_PI), 1, 1e-9);
	CU_ASSERT_EQUAL(pathprof_relative_entropy(&p, &p, 0, &kl), 0);
	CU_ASSERT_EQUAL(kl.bits, 0);
}

/* A million events whose figures are known. */
static void test_many(void)
{
	const size_t cnt = 1000000;
	struct pathprof_event *events = calloc(cnt, sizeof(*events));
	struct pathprof_event *others = calloc(cnt, sizeof(*others));
	struct pathprof_distribution p, q;
	struct pathprof_relative_entropy kl = {0};

	if (!events || !others)
		abort();
	for (size_t i = 0; i < cnt; i++) {
		events[i] = (struct pathprof_event){i / 1000, i % 1000, 0x1p63};
		others[i] = (struct pathprof_event){i / 1000, i % 1000, i % 2 ? 1 : 3};
	}
	CU_ASSERT_EQUAL(pathprof_distribution_init(&p, events, cnt), 0);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&q, others, cnt), 0);
	CU_ASSERT_DOUBLE_EQUAL(pathprof_entropy_bits(&p), log2(1e6), 1e-11);
	CU_ASSERT_EQUAL(pathprof_relative_entropy(&p, &q, 0, &kl), 0);
	CU_ASSERT_DOUBLE_EQUAL(kl.bits, 0.5 * log2(2) + 0.5 * log2(2.0 / 3), 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(pathprof_distribution_overlap(&p, &q), 0.75, 1e-12);
	free(events);
	free(others);
}

static void test_disjoint(void)
{
	struct pathprof_event a[] = {{0, 1, 3}, {0, 3, 1}}, b[] = {{0, 2, 5}, {1, 1, 2}};
	struct pathprof_distribution p, q;
	struct pathprof_relative_entropy kl = {0};
	struct pathprof_coverage coverage = {7, 7};
	double angle = 0, similarity = 7;

	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&p, a, 2), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&q, b, 2), 0);
	CU_ASSERT_EQUAL(pathprof_relative_entropy(&p, &q, 0, &kl), 0);
	CU_ASSERT_EQUAL(kl.unseen_cnt, 2);
	CU_ASSERT_DOUBLE_EQUAL(kl.epsilon, 1.0 / 16, 1e-15);
	CU_ASSERT_DOUBLE_EQUAL(kl.bits, 4 - pathprof_entropy_bits(&p), 1e-12);
	CU_ASSERT_EQUAL(pathprof_coverage(&p, &q, &coverage), 0);
	CU_ASSERT(coverage.static_share == 0 && coverage.dynamic_share == 0);
	CU_ASSERT_EQUAL(pathprof_angle_degrees(&p, &q, &angle), 0);
	CU_ASSERT_DOUBLE_EQUAL(angle, 90, 1e-12);
	CU_ASSERT_EQUAL(pathprof_distribution_overlap(&p, &q), 0);
	CU_ASSERT_EQUAL(pathprof_similarity(&p, &q, &similarity), 0);
	CU_ASSERT_EQUAL(similarity, 0);
}

/* The example of llvm-profdata's manual. */
static void test_published_overlap(void)
{
	struct pathprof_event a[] = {{1, 1, 400}, {1, 2, 600}},
			      b[] = {{1, 1, 60000}, {1, 2, 40000}};
	struct pathprof_distribution p, q;
	double similarity = NAN;

	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&p, a, 2), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&q, b, 2), 0);
	CU_ASSERT_DOUBLE_EQUAL(pathprof_distribution_overlap(&p, &q), 0.8, 1e-15);
	CU_ASSERT_EQUAL(pathprof_similarity(&p, &q, &similarity), 0);
	CU_ASSERT_DOUBLE_EQUAL(similarity, 0.8, 1e-15);
}

static void test_empty(void)
{
	struct pathprof_event zero[] = {{0, 1, 0}}, one[] = {{0, 1, 1}};
	struct pathprof_distribution none, untouched, some;
	const struct pathprof_distribution *empty[] = {&none, &untouched};
	struct pathprof_relative_entropy kl = {.bits = 7};
	struct pathprof_coverage coverage = {7, 7};
	double value = 7;

	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&none, NULL, 0), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&untouched, zero, 1), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&some, one, 1), 0);
	for (size_t i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(pathprof_entropy_bits(empty[i]), 0);
		CU_ASSERT_EQUAL(pathprof_relative_entropy(empty[i], &some, 0, &kl), -ENODATA);
		CU_ASSERT_EQUAL(pathprof_relative_entropy(&some, empty[i], 0, &kl), -ENODATA);
		CU_ASSERT_EQUAL(pathprof_angle_degrees(&some, empty[i], &value), -ENODATA);
		CU_ASSERT_EQUAL(pathprof_similarity(empty[i], &some, &value), -ENODATA);
		CU_ASSERT_EQUAL(pathprof_coverage(empty[i], &some, &coverage), -ENODATA);
		CU_ASSERT_EQUAL(coverage.static_share, 7);
		CU_ASSERT_EQUAL(pathprof_coverage(&some, empty[i], &coverage), 0);
		CU_ASSERT_EQUAL(coverage.static_share, 0);
		coverage.static_share = 7;
		CU_ASSERT_EQUAL(pathprof_distribution_overlap(empty[i], &some), 0);
		CU_ASSERT_EQUAL(pathprof_distribution_overlap(empty[i], &none), 1);
	}
	CU_ASSERT(kl.bits == 7 && value == 7);
}

/* Kish: (1 + 1 + 4)^2 / (1 + 1 + 16) = 2 of three samples. */
static void test_worth(void)
{
	struct pathprof_worth worth = {3, 3, 6, 18};

	CU_ASSERT_DOUBLE_EQUAL(pathprof_worth_of_sample(&worth), 2.0 / 3, 1e-12);
	worth = (struct pathprof_worth){12, 48, 12e6, 48e12}; /* four at a time, of equal weight */
	CU_ASSERT_DOUBLE_EQUAL(pathprof_worth_of_sample(&worth), 1, 1e-12);
	worth.weight_squares = 0;
	CU_ASSERT_EQUAL(pathprof_worth_of_sample(&worth), 1);
	worth = (struct pathprof_worth){3, 3, 1e200, 1e300};
	CU_ASSERT_EQUAL(pathprof_worth_of_sample(&worth), 1);
}

static void test_refuses(void)
{
	const struct {
		struct pathprof_event events[2];
		int expected;
	} bad[] = {
		{{{0, 1, 1}, {0, 2, -1}}, -EDOM},
		{{{0, 1, 1}, {0, 2, NAN}}, -EDOM},
		{{{0, 1, 1}, {0, 2, -INFINITY}}, -EDOM},
		{{{0, 1, 1}, {0, 2, INFINITY}}, -ERANGE},
		{{{0, 1, 0x1.0000000000001p64}, {0, 2, 1}}, -ERANGE},
		{{{0, 2, 1}, {0, 1, 1}}, -EINVAL},
		{{{1, 0, 1}, {0, 1, 1}}, -EINVAL},
		{{{3, 2, 1}, {3, 2, 1}}, -EEXIST},
	};
	struct pathprof_distribution d = {.cnt = 77};
	struct pathprof_event fine[] = {{0, UINT64_MAX, PATHPROF_WEIGHT_MAX}, {1, 0, 0}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_EQUAL(pathprof_distribution_init(&d, bad[i].events, 2), bad[i].expected);
	CU_ASSERT_EQUAL(d.cnt, 77);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&d, fine, 2), 0);
	CU_ASSERT(d.touched_cnt == 1 && !d.counted && d.total == 0x1p64L);
}

static void test_sort(void)
{
	struct pathprof_event events[600], *at = events;
	struct oracle_profile sums = {.cnt = 0};
	uint64_t random = 5;
	size_t cnt = 600;

	for (size_t i = 0; i < cnt; i++) {
		uint64_t key = stream_random(&random) % 70;

		events[i] = (struct pathprof_event){key / 7, key % 7,
						    (double)(stream_random(&random) % 1000)};
		sums.events[key].key_hi = key / 7;
		sums.events[key].key_lo = key % 7;
		sums.events[key].weight += events[i].weight;
	}
	sums.cnt = 70;
	CU_ASSERT_EQUAL_FATAL(pathprof_events_sort(events, &cnt), 0);
	CU_ASSERT_EQUAL(cnt, 70);
	for (size_t i = 0; i < cnt; i++, at++) {
		CU_ASSERT(i == 0 || pathprof_event_order(at - 1, at) < 0);
		CU_ASSERT_EQUAL(at->weight, (double)oracle_weight(&sums, at->key_hi, at->key_lo));
	}
	events[1] = (struct pathprof_event){events[0].key_hi, events[0].key_lo, 0x1p63};
	events[0].weight = 0x1.8p63;
	CU_ASSERT_EQUAL(pathprof_events_sort(events, &cnt), -ERANGE);
	events[0].weight = NAN;
	CU_ASSERT_EQUAL(pathprof_events_sort(events, &cnt), -EDOM);
	cnt = 0;
	CU_ASSERT_EQUAL(pathprof_events_sort(NULL, &cnt), 0);
}

/* ---------------------------------------------------------------- branches */

static unsigned int branches_differ(const struct oracle_profile *p, const struct oracle_profile *q,
				    const struct oracle_profile *oracle_q)
{
	struct pathprof_distribution actual = dist(p), assumed = dist(q);
	struct oracle_branches o = oracle_branches(p, oracle_q);
	struct pathprof_branch_comparison b = {0};

	CU_ASSERT_EQUAL(pathprof_compare_branches(&actual, &assumed, &b), 0);
	return !near(b.coverage.static_share, o.static_coverage) +
	       !near(b.coverage.dynamic_share, o.dynamic_coverage) +
	       !near(b.conflict.static_share, o.static_conflict) +
	       !near(b.conflict.dynamic_share, o.dynamic_conflict) + !near(b.accuracy, o.accuracy) +
	       !near(b.accuracy_own, o.accuracy_own);
}

static void test_branches(void)
{
	static struct oracle_profile p, q;

	for (uint64_t i = 0; i < TRIALS; i++) {
		draw_pair(&p, &q, i);
		CU_ASSERT_EQUAL(branches_differ(&p, &q, &q), 0);
		CU_ASSERT_EQUAL(branches_differ(&p, &p, &p), 0);
	}
}

/* One branch of the assumed profile turned round. */
static void test_planted_direction(void)
{
	struct oracle_profile p = {{{1, 2, 5}, {1, 3, 9}, {2, 0, 4}}, 3};
	struct oracle_profile q = {{{1, 2, 1}, {1, 3, 2}, {2, 0, 7}}, 3}, wrong = q;

	CU_ASSERT_EQUAL(branches_differ(&p, &q, &q), 0);
	wrong.events[0].weight = 3;
	CU_ASSERT(branches_differ(&p, &q, &wrong) >= 3);
}

/* A tie, and a branch never seen, are predicted not taken. */
static void test_ties(void)
{
	struct oracle_profile p = {{{1, 2, 5}, {1, 3, 9}, {2, 1, 4}}, 3};
	struct oracle_profile tie = {{{1, 2, 2}, {1, 3, 2}}, 2};
	struct pathprof_distribution actual = dist(&p), assumed = dist(&tie);
	struct pathprof_branch_comparison b = {0};

	CU_ASSERT_EQUAL(pathprof_compare_branches(&actual, &assumed, &b), 0);
	CU_ASSERT_EQUAL(b.branch_cnt, 2);
	CU_ASSERT_DOUBLE_EQUAL(b.conflict.static_share, 0.5, 1e-15);
	CU_ASSERT_DOUBLE_EQUAL(b.conflict.dynamic_share, 14.0 / 18, 1e-15);
	CU_ASSERT_DOUBLE_EQUAL(b.accuracy, 5.0 / 18, 1e-15);
	CU_ASSERT_DOUBLE_EQUAL(b.accuracy_own, 13.0 / 18, 1e-15);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&actual, NULL, 0), 0);
	CU_ASSERT_EQUAL(pathprof_compare_branches(&actual, &assumed, &b), -ENODATA);
}

static void test_regret(void)
{
	const double scores[] = {5, 7, 6, NAN, 1, 2, 3, 3, 0};
	double regret[3] = {0};

	CU_ASSERT_EQUAL(pathprof_regret(scores, 3, 3, regret), 0);
	CU_ASSERT_DOUBLE_EQUAL(regret[0], 1, 1e-15);
	CU_ASSERT_DOUBLE_EQUAL(regret[1], 0, 1e-15);
	CU_ASSERT_DOUBLE_EQUAL(regret[2], 2, 1e-15);
	CU_ASSERT_EQUAL(pathprof_regret(scores + 3, 1, 3, regret), -ENODATA);
	CU_ASSERT_EQUAL(pathprof_regret(scores, 0, 3, regret), -ENODATA);
	CU_ASSERT_EQUAL(pathprof_regret(scores, 3, 0, regret), -ENODATA);
}

static const struct unit_test tests[] = {
	{"every figure equals its formula over a search", test_formulas},
	{"a changed weight is found", test_planted_weight},
	{"takes an epsilon, refuses one too large", test_epsilon},
	{"keeps its digits where two profiles are close", test_close},
	{"a million events of 2^63", test_many},
	{"profiles with nothing in common", test_disjoint},
	{"overlap as LLVM publishes it", test_published_overlap},
	{"empty profiles", test_empty},
	{"what samples of unequal weight are worth", test_worth},
	{"refuses weights and orders that cannot be", test_refuses},
	{"sorts, and adds up keys that come again", test_sort},
	{"conflict and accuracy equal a search by branch", test_branches},
	{"a branch turned round is found", test_planted_direction},
	{"ties and unseen branches are predicted not taken", test_ties},
	{"regret, by hand", test_regret},
};
UNIT_SUITE(distribution, tests)
