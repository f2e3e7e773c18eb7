// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shares over hosts as clusters: the formula by hand, and made-up fleets of which the truth is
 * known. Intervals hold in 93 to 97 % of them.
 */
#include <math.h>

#include "chance.h"
#include "pathprof/clusters.h"
#include "unit.h"

#define FLEETS 1000

static uint64_t state = CHANCE_SEED;

static double poisson(double mean)
{
	double product = chance_uniform(&state), least = exp(-mean), cnt = 0;

	if (mean > 100)
		return fmax(floor(mean + sqrt(mean) * chance_normal(&state) + 0.5), 0);
	for (; product > least; cnt++)
		product *= chance_uniform(&state);
	return cnt;
}

static void add(struct pathprof_clusters *clusters, double part, double whole)
{
	clusters->cnt++;
	clusters->whole += whole;
	clusters->whole_squares += whole * whole;
	clusters->part += part;
	clusters->part_squares += part * part;
	clusters->product += part * whole;
}

static void test_formula(void)
{
	struct pathprof_clusters c = {.cnt = 0};
	struct pathprof_share share = {0.225, 0.2, 0.25};

	pathprof_clusters_widen(&c, &share);
	add(&c, 10, 100);
	pathprof_clusters_widen(&c, &share);
	CU_ASSERT_EQUAL(share.low, 0.2);
	CU_ASSERT_EQUAL(share.high, 0.25);
	add(&c, 30, 100);
	add(&c, 50, 200);
	pathprof_clusters_widen(&c, &share);
	/* R = 90 / 400; distances -12.5, 7.5, 5 */
	double half = 4.303 * sqrt(1.5 * 237.5) / 400;
	CU_ASSERT_DOUBLE_EQUAL(share.value, 0.225, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(share.low, 0.225 - half, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(share.high, 0.225 + half, 1e-9);
}

/* Eleven hosts take Student's quantile of ten degrees, where its table has ended. */
static void test_quantile(void)
{
	struct pathprof_clusters c = {.cnt = 0};
	struct pathprof_share share = {0.5, 0.5, 0.5};
	double deviation = sqrt(11.0 / 10 * 10 * 100) / 1100;

	for (int i = 0; i < 11; i++)
		add(&c, i < 5 ? 40 : i < 10 ? 60 : 50, 100);
	pathprof_clusters_widen(&c, &share);
	CU_ASSERT_DOUBLE_EQUAL((share.high - share.value) / deviation, 2.2281389, 1e-3);
	CU_ASSERT_DOUBLE_EQUAL((share.value - share.low) / deviation, 2.2281389, 1e-3);
}

static void test_ends(void)
{
	struct pathprof_clusters alike = {.cnt = 0}, apart = {.cnt = 0};
	struct pathprof_share share = {0.1, 0.08, 0.12}, unknown = {NAN, NAN, NAN};

	for (int i = 0; i < 3; i++)
		add(&alike, 10, 100);
	pathprof_clusters_widen(&alike, &share);
	CU_ASSERT_EQUAL(share.low, 0.08);
	CU_ASSERT_EQUAL(share.high, 0.12);
	/* on one of two hosts alone: anything can be */
	add(&apart, 100, 100);
	add(&apart, 0, 100);
	share = (struct pathprof_share){0.5, 0.45, 0.55};
	pathprof_clusters_widen(&apart, &share);
	CU_ASSERT_EQUAL(share.low, 0);
	CU_ASSERT_EQUAL(share.high, 1);
	pathprof_clusters_widen(&apart, &unknown);
	CU_ASSERT(isnan(unknown.low));
}

/* Counts intervals that hold the true share; the hosts' own shares scatter around `share`. */
static unsigned int held(unsigned int hosts, double share, double scatter, double samples)
{
	double truth = share * exp(scatter * scatter / 2);
	unsigned int cnt = 0;

	for (int fleet = 0; fleet < FLEETS; fleet++) {
		struct pathprof_clusters c = {.cnt = 0};
		struct pathprof_share seen;

		for (unsigned int h = 0; h < hosts; h++) {
			double whole = floor(samples * exp(0.4 * chance_normal(&state)));
			double part = poisson(
				whole * fmin(share * exp(scatter * chance_normal(&state)), 1));

			add(&c, fmin(part, whole), whole);
		}
		seen = pathprof_share_of_samples((uint64_t)c.part, (uint64_t)c.whole);
		pathprof_clusters_widen(&c, &seen);
		cnt += seen.low <= truth && truth <= seen.high;
	}
	return cnt;
}

/* Coverage for each kind of fleet, with the tolerance of 1,000 fleets, and for all together. */
static void test_coverage(void)
{
	static const unsigned int hosts[] = {3, 5, 10, 30, 100};
	static const double shares[] = {0.01, 0.1, 0.4}, scatters[] = {0, 0.1, 0.3};
	unsigned int sum = 0;

	for (int h = 0; h < 5; h++)
		for (int s = 0; s < 3; s++)
			for (int c = 0; c < 3; c++) {
				unsigned int cnt = held(hosts[h], shares[s], scatters[c], 2000);

				sum += cnt;
				CU_ASSERT(cnt >= 905 && cnt <= 990);
			}
	CU_ASSERT(sum >= 45 * 930 && sum <= 45 * 970);
}

static const struct unit_test tests[] = {
	{"the interval is the formula's", test_formula},
	{"the interval is as wide as few hosts make it", test_quantile},
	{"shares of nothing and of all", test_ends},
	{"intervals hold in 93 to 97 % of made-up fleets", test_coverage},
};
UNIT_SUITE(clusters, tests)
