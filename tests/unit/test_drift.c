// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drift: what chance makes of D against all splits of a small pool; the terms; the interval;
 * dispersion; and false alarms and misses on made-up programs (fixed seeds), beside what plain D
 * would do.
 */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/lab/drift/calibrate.h"
#include "oracle_distribution.h"
#include "oracle_stream.h"
#include "pathprof/drift.h"

/* ---------------------------------------------------------------- all splits of a pool */

#define POOL_MAX 8

struct pool {
	unsigned int n[POOL_MAX];
	size_t cnt;
	unsigned int window; /* samples of it */
};

struct splits {
	const struct pool *pool;
	unsigned int w[POOL_MAX];
	long double chance, first, second;
};

static long double choose(unsigned int n, unsigned int k)
{
	return expl(lgammal(n + 1.0L) - lgammal(k + 1.0L) - lgammal(n - k + 1.0L));
}

static void sides(const struct pool *pool, const unsigned int *w, struct oracle_profile *ret_p,
		  struct oracle_profile *ret_q)
{
	ret_p->cnt = ret_q->cnt = pool->cnt;
	for (size_t i = 0; i < pool->cnt; i++) {
		ret_p->events[i] = (struct pathprof_event){0, i, w[i]};
		ret_q->events[i] = (struct pathprof_event){0, i, pool->n[i] - w[i]};
	}
}

static void go_on(struct splits *s, size_t at, unsigned int left, long double chance)
{
	static struct oracle_profile p, q;
	long double d;

	if (at < s->pool->cnt) {
		for (unsigned int w = 0; w <= left && w <= s->pool->n[at]; w++) {
			s->w[at] = w;
			go_on(s, at + 1, left - w, chance * choose(s->pool->n[at], w));
		}
		return;
	}
	if (left)
		return;
	sides(s->pool, s->w, &p, &q);
	d = oracle_kl(&p, &q, 0);
	s->chance += chance;
	s->first += chance * d;
	s->second += chance * d * d;
}

static struct splits all_splits(const struct pool *pool)
{
	struct splits s = {.pool = pool};

	go_on(&s, 0, pool->window, 1);
	s.first /= s.chance;
	s.second = sqrtl(s.second / s.chance - s.first * s.first);
	return s;
}

/* A split that can be: the first events give what they have. */
static struct pathprof_drift measure(const struct pool *pool, bool from_the_end)
{
	unsigned int w[POOL_MAX] = {0}, left = pool->window;
	struct pathprof_distribution window, baseline;
	struct pathprof_drift drift = {0};
	struct oracle_profile p, q;

	for (size_t k = 0; k < pool->cnt; k++) {
		size_t i = from_the_end ? pool->cnt - 1 - k : k;

		w[i] = left < pool->n[i] ? left : pool->n[i];
		left -= w[i];
	}
	sides(pool, w, &p, &q);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&window, p.events, p.cnt), 0);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&baseline, q.events, q.cnt), 0);
	CU_ASSERT_EQUAL(
		pathprof_drift_measure(&drift, &window, &baseline, &pathprof_drift_defaults), 0);
	CU_ASSERT(fabsl(drift.kl_bits - oracle_kl(&p, &q, 0)) < 1e-12L);
	return drift;
}

static void test_mean_is_exact(void)
{
	/* No event can be used up by the window: none is ever unseen. */
	static const struct pool pools[] = {
		{{7, 9, 8}, 3, 6},
		{{20, 11}, 2, 10},
		{{40, 6, 7, 9}, 4, 5},
		{{300, 11, 12}, 3, 10},
	};

	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
		struct splits s = all_splits(&pools[i]);

		CU_ASSERT_DOUBLE_EQUAL(measure(&pools[i], false).null_bits / (double)s.first, 1,
				       1e-10);
		CU_ASSERT_DOUBLE_EQUAL(measure(&pools[i], true).null_bits / (double)s.first, 1,
				       1e-10);
		CU_ASSERT_DOUBLE_EQUAL(measure(&pools[i], true).null_sd_bits / (double)s.second, 1,
				       0.15);
	}
}

static void test_mean_with_unseen(void)
{
	static const struct pool pools[] = {
		{{1, 2, 3, 6}, 4, 4}, {{1, 1, 1, 1, 2, 10}, 6, 6}, {{2, 2, 2, 2, 2}, 5, 5},
		{{1, 30}, 2, 9},      {{3, 4, 1, 1, 20}, 5, 8},
	};

	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
		struct splits s = all_splits(&pools[i]);

		CU_ASSERT_DOUBLE_EQUAL(measure(&pools[i], false).null_bits / (double)s.first, 1,
				       0.02);
	}
}

static void test_planted_pool(void)
{
	static const struct pool pool = {{7, 9, 8}, 3, 6}, other = {{7, 9, 9}, 3, 6};
	double ratio = measure(&pool, false).null_bits / (double)all_splits(&other).first;

	CU_ASSERT(fabs(ratio - 1) > 1e-4);
}

/* Sums over counts below, moments above: they must meet. Near (k - 1) / 2 (1/N + 1/M), k = 2. */
static void test_moments_meet_sums(void)
{
	double last = 0;

	for (unsigned int n = 50; n < 80; n++) {
		struct pathprof_event w[] = {{0, 1, n}, {0, 2, n}};
		struct pathprof_distribution d;
		struct pathprof_drift drift = {0};
		double ratio;

		CU_ASSERT_EQUAL(pathprof_distribution_init(&d, w, 2), 0);
		CU_ASSERT_EQUAL(pathprof_drift_measure(&drift, &d, &d, &pathprof_drift_defaults),
				0);
		ratio = drift.null_bits * M_LN2 * 2 * n;
		CU_ASSERT_DOUBLE_EQUAL(ratio, 1, 0.03);
		CU_ASSERT(last == 0 || fabs(ratio / last - 1) < 0.001);
		last = ratio;
	}
}

/* ---------------------------------------------------------------- the measurement */

static void draw_window(const struct lab_world *world, uint64_t samples, uint64_t *random,
			struct pathprof_event *events, struct pathprof_distribution *ret_window)
{
	lab_world_draw(world, samples, 1, random, events);
	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(ret_window, events, world->cnt), 0);
}

static struct pathprof_drift drift_of(const struct pathprof_distribution *window,
				      const struct pathprof_distribution *baseline,
				      uint32_t replicates, uint64_t seed, double dispersion)
{
	struct pathprof_drift_settings settings = pathprof_drift_defaults;
	struct pathprof_drift drift = {0};

	settings.replicates = replicates;
	settings.seed = seed;
	settings.dispersion = dispersion;
	CU_ASSERT_EQUAL(pathprof_drift_measure(&drift, window, baseline, &settings), 0);
	return drift;
}

static void test_interval(void)
{
	struct pathprof_event a[300], b[300];
	struct pathprof_distribution window, baseline;
	struct pathprof_drift normal, boot, again, other, wide;
	struct lab_world calm, moved;
	uint64_t random = 7;

	CU_ASSERT_EQUAL_FATAL(lab_world_init(&calm, LAB_WORLD_ZIPF, 200), 0);
	CU_ASSERT_EQUAL_FATAL(lab_world_init_moved(&moved, &calm, LAB_MOVE_OTHER, 0.1), 0);
	draw_window(&calm, 50000, &random, b, &baseline);
	draw_window(&moved, 5000, &random, a, &window);
	normal = drift_of(&window, &baseline, 0, 1, 1);
	boot = drift_of(&window, &baseline, 400, 1, 1);
	again = drift_of(&window, &baseline, 400, 1, 1);
	other = drift_of(&window, &baseline, 400, 2, 1);
	wide = drift_of(&window, &baseline, 0, 1, 4);
	CU_ASSERT(boot.kl_low_bits == again.kl_low_bits &&
		  boot.kl_high_bits == again.kl_high_bits && boot.kl_bits == again.kl_bits);
	CU_ASSERT(boot.kl_low_bits != other.kl_low_bits);
	CU_ASSERT_EQUAL(boot.kl_corrected_bits, other.kl_corrected_bits);
	CU_ASSERT(normal.kl_low_bits > 0 && normal.kl_low_bits < normal.kl_corrected_bits &&
		  normal.kl_corrected_bits < normal.kl_high_bits);
	CU_ASSERT_DOUBLE_EQUAL((boot.kl_high_bits - boot.kl_low_bits) /
				       (normal.kl_high_bits - normal.kl_low_bits),
			       1, 0.25);
	CU_ASSERT(wide.kl_high_bits - wide.kl_low_bits >
		  1.9 * (normal.kl_high_bits - normal.kl_low_bits));
	CU_ASSERT_DOUBLE_EQUAL(wide.null_bits / normal.null_bits, 4, 1);
	draw_window(&calm, 5000, &random, a, &window);
	normal = drift_of(&window, &baseline, 400, 1, 1);
	CU_ASSERT(normal.kl_bits < normal.null_limit_bits && normal.kl_low_bits == 0);
	lab_world_release(&calm);
	lab_world_release(&moved);
}

/* The normal interval of two events, from the formulas of docs/drift.md. */
static void test_interval_by_hand(void)
{
	const double n = 10000, p[] = {0.3, 0.7}, m = 20000, q[] = {0.5, 0.5}, z = 2.5758293035489;
	struct pathprof_event a[] = {{0, 1, n * p[0]}, {0, 2, n * p[1]}};
	struct pathprof_event b[] = {{0, 1, m * q[0]}, {0, 2, m * q[1]}};
	struct pathprof_distribution window, baseline;
	double d = 0, linear = 0, null, sd;
	struct pathprof_drift drift;

	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&window, a, 2), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&baseline, b, 2), 0);
	drift = drift_of(&window, &baseline, 0, 1, 1);
	for (size_t i = 0; i < 2; i++)
		d += p[i] * log(p[i] / q[i]);
	for (size_t i = 0; i < 2; i++)
		linear += p[i] * pow(log(p[i] / q[i]) - d, 2) / n +
			  q[i] * pow(p[i] / q[i] - 1, 2) / m;
	null = pow(drift.null_sd_bits * M_LN2, 2);
	sd = sqrt(null + fmax(linear - 2 * null, 0)) / M_LN2;
	CU_ASSERT_DOUBLE_EQUAL(drift.kl_bits, d / M_LN2, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(drift.kl_high_bits, drift.kl_corrected_bits + z * sd, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(drift.kl_low_bits, drift.kl_corrected_bits - z * sd, 1e-9);
	/* Half a chi-square variable of one degree, over 1/N + 1/M. */
	CU_ASSERT_DOUBLE_EQUAL(drift.null_sd_bits * M_LN2 / (M_SQRT1_2 * (1 / n + 1 / m)), 1, 0.01);
}

static void test_other_figures(void)
{
	struct pathprof_event a[] = {{0, 2, 30}, {0, 3, 70}, {1, 0, 5}};
	struct pathprof_event b[] = {{0, 2, 60}, {0, 3, 40}};
	struct pathprof_drift_settings settings = pathprof_drift_defaults;
	struct pathprof_distribution window, baseline;
	struct pathprof_drift drift = {0};
	double angle = NAN;

	settings.branches = true;
	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&window, a, 3), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&baseline, b, 2), 0);
	CU_ASSERT_EQUAL(pathprof_drift_measure(&drift, &window, &baseline, &settings), 0);
	CU_ASSERT_EQUAL(pathprof_angle_degrees(&window, &baseline, &angle), 0);
	CU_ASSERT_EQUAL(drift.angle_degrees, angle);
	CU_ASSERT_EQUAL(drift.overlap, pathprof_distribution_overlap(&window, &baseline));
	CU_ASSERT_EQUAL(drift.entropy_bits, pathprof_entropy_bits(&window));
	CU_ASSERT_DOUBLE_EQUAL(drift.coverage.dynamic_share, 100.0 / 105, 1e-15);
	CU_ASSERT_DOUBLE_EQUAL(drift.branches.conflict.dynamic_share, 100.0 / 105, 1e-15);
	CU_ASSERT(drift.window_samples == 105 && drift.baseline_samples == 100);
}

static int try_settings(const struct pathprof_drift_settings *settings)
{
	struct pathprof_event a[] = {{0, 1, 30}, {0, 2, 70}};
	struct pathprof_drift drift = {.kl_bits = 7};
	struct pathprof_distribution d;
	int r;

	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&d, a, 2), 0);
	r = pathprof_drift_measure(&drift, &d, &d, settings);
	CU_ASSERT(r == 0 || drift.kl_bits == 7);
	return r;
}

static void test_refuses(void)
{
	struct pathprof_event half[] = {{0, 1, 0.5}}, zero[] = {{0, 1, 0}}, one[] = {{0, 1, 1}};
	struct pathprof_event huge[] = {{0, 1, 0x1p53}};
	const struct pathprof_drift_settings *d = &pathprof_drift_defaults;
	struct pathprof_drift_settings s = *d;
	struct pathprof_distribution estimate, empty, count, many;
	struct pathprof_drift drift;

	CU_ASSERT_EQUAL(pathprof_distribution_init(&estimate, half, 1), 0);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&empty, zero, 1), 0);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&count, one, 1), 0);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&many, huge, 1), 0);
	CU_ASSERT_EQUAL(pathprof_drift_measure(&drift, &estimate, &count, d), -EDOM);
	CU_ASSERT_EQUAL(pathprof_drift_measure(&drift, &count, &estimate, d), -EDOM);
	CU_ASSERT_EQUAL(pathprof_drift_measure(&drift, &many, &count, d), -EDOM);
	CU_ASSERT_EQUAL(pathprof_drift_measure(&drift, &empty, &count, d), -ENODATA);
	CU_ASSERT_EQUAL(pathprof_drift_measure(&drift, &count, &empty, d), -ENODATA);
	CU_ASSERT_EQUAL(pathprof_drift_measure(&drift, &count, &count, d), 0);
	CU_ASSERT(drift.kl_bits == 0 && drift.kl_low_bits == 0 && drift.kl_high_bits >= 0);
	CU_ASSERT_EQUAL(try_settings(&s), 0);
	s.confidence = 1;
	CU_ASSERT_EQUAL(try_settings(&s), -EINVAL);
	s.confidence = NAN;
	CU_ASSERT_EQUAL(try_settings(&s), -EINVAL);
	s = *d;
	s.dispersion = 0.9;
	CU_ASSERT_EQUAL(try_settings(&s), -EINVAL);
	s = *d;
	s.replicates = 1;
	CU_ASSERT_EQUAL(try_settings(&s), -EINVAL);
	s = *d;
	s.epsilon = 0.5;
	CU_ASSERT_EQUAL(try_settings(&s), -ERANGE);
}

/* Counts near the most there may be, a million times more on one side, and all but one there. */
static void test_large(void)
{
	struct pathprof_event most[] = {{0, 1, 4e15}, {0, 2, 1e15}}, least[] = {{0, 1, 1}};
	struct pathprof_event a[] = {{0, 1, 3e15}, {0, 2, 1e15}}, b[] = {{0, 1, 3e9}, {0, 2, 1e9}};
	struct pathprof_distribution p, q;
	struct pathprof_drift drift = {0};

	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&p, a, 2), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&q, b, 2), 0);
	CU_ASSERT_EQUAL(pathprof_drift_measure(&drift, &p, &q, &pathprof_drift_defaults), 0);
	CU_ASSERT(drift.kl_bits < 1e-18);
	CU_ASSERT_DOUBLE_EQUAL(drift.null_bits * M_LN2 * 2 * 4e9, 1, 1e-3);
	CU_ASSERT_EQUAL(pathprof_drift_measure(&drift, &q, &p, &pathprof_drift_defaults), 0);
	CU_ASSERT_DOUBLE_EQUAL(drift.null_bits * M_LN2 * 2 * 4e9, 1, 1e-3);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&p, most, 2), 0);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&q, least, 1), 0);
	CU_ASSERT_EQUAL(pathprof_drift_measure(&drift, &p, &q, &pathprof_drift_defaults), 0);
	CU_ASSERT_EQUAL(drift.kl_low_bits, 0);
}

/* For random counts all figures are numbers, and bounds are in their order. */
static void test_any_counts(void)
{
	uint64_t random = 77;

	for (unsigned int trial = 0; trial < 3000; trial++) {
		static const double dispersions[] = {1, 1.5, 40, 1000};
		struct pathprof_event a[6], b[6];
		struct pathprof_distribution p, q;
		struct pathprof_drift d;

		for (uint64_t i = 0; i < 6; i++) {
			uint64_t bits = stream_random(&random) % 45;

			a[i] = (struct pathprof_event){
				0, i, (double)(stream_random(&random) % 3 * (1ULL << bits / 2))};
			b[i] = (struct pathprof_event){
				0, i, (double)(stream_random(&random) % 3 * (1ULL << bits / 3))};
		}
		a[trial % 6].weight += 1;
		b[trial % 5].weight += 1;
		CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&p, a, 6), 0);
		CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&q, b, 6), 0);
		d = drift_of(&p, &q, trial % 2 * 20, trial, dispersions[trial % 4]);
		CU_ASSERT(isfinite(d.kl_bits) && d.kl_bits >= 0);
		CU_ASSERT(isfinite(d.null_bits) && d.null_bits >= 0);
		CU_ASSERT(isfinite(d.null_sd_bits) && d.null_sd_bits >= 0);
		CU_ASSERT(d.null_limit_bits >= d.null_bits);
		CU_ASSERT(d.kl_low_bits >= 0 && d.kl_high_bits >= d.kl_low_bits);
		CU_ASSERT(d.kl_low_bits == 0 || d.kl_bits > d.null_limit_bits);
		CU_ASSERT(isfinite(d.kl_high_bits));
	}
}

/* ---------------------------------------------------------------- terms */

static void test_terms(void)
{
	static struct oracle_profile p, q;
	static struct pathprof_drift_term terms[ORACLE_EVENTS_MAX];
	struct pathprof_distribution window, baseline;
	long double bits = 0, moved = 0;
	size_t cnt = 0, few = 0;

	oracle_profile_draw(&p, 150, 250, 11);
	oracle_profile_draw(&q, 200, 250, 12);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&window, p.events, p.cnt), 0);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&baseline, q.events, q.cnt), 0);
	CU_ASSERT_EQUAL(pathprof_drift_terms(terms, ORACLE_EVENTS_MAX, &cnt, &window, &baseline, 0),
			0);
	for (size_t i = 0; i < cnt; i++) {
		const struct pathprof_drift_term *t = &terms[i];
		long double share = oracle_weight(&p, t->key_hi, t->key_lo) / oracle_total(&p);

		CU_ASSERT(i == 0 || terms[i - 1].moved_bits >= t->moved_bits);
		CU_ASSERT(t->moved_bits >= 0);
		CU_ASSERT(fabsl(t->p - share) < 1e-15L);
		bits += t->bits;
		moved += t->moved_bits;
	}
	CU_ASSERT(fabsl(bits - oracle_kl(&p, &q, 0)) < 1e-10L);
	CU_ASSERT(fabsl(moved - oracle_kl(&p, &q, 0)) < 1e-10L);
	for (size_t n = 0; n < 20; n++) {
		struct pathprof_drift_term top[20];

		CU_ASSERT_EQUAL(pathprof_drift_terms(top, n, &few, &window, &baseline, 0), 0);
		CU_ASSERT_EQUAL(few, n);
		CU_ASSERT_EQUAL(memcmp(top, terms, n * sizeof(*top)), 0);
	}
}

/* ---------------------------------------------------------------- dispersion */

static double dispersion(uint32_t cluster, size_t window_cnt)
{
	static struct pathprof_event events[20][200];
	struct pathprof_distribution windows[20];
	const struct pathprof_distribution *each[20];
	struct lab_world world;
	uint64_t random = 3;
	double ratio = NAN;

	CU_ASSERT_EQUAL_FATAL(lab_world_init(&world, LAB_WORLD_ZIPF, 200), 0);
	for (size_t i = 0; i < window_cnt; i++) {
		lab_world_draw(&world, 3000 + 100 * i, cluster, &random, events[i]);
		CU_ASSERT_EQUAL(pathprof_distribution_init(&windows[i], events[i], world.cnt), 0);
		each[i] = &windows[i];
	}
	CU_ASSERT_EQUAL(pathprof_drift_dispersion(each, window_cnt, &ratio), 0);
	lab_world_release(&world);
	return ratio;
}

static void test_dispersion(void)
{
	struct pathprof_event one[] = {{0, 1, 9}};
	struct pathprof_event x[] = {{0, 1, 10}, {0, 2, 30}}, y[] = {{0, 1, 30}, {0, 2, 10}};
	const struct pathprof_distribution *each[65];
	struct pathprof_distribution d, none, other;
	double ratio = 7;

	/* Four cells of 20 expected and 10 off, one degree of freedom. */
	CU_ASSERT_EQUAL(pathprof_distribution_init(&d, x, 2), 0);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&other, y, 2), 0);
	each[0] = &d;
	each[1] = &other;
	CU_ASSERT_EQUAL(pathprof_drift_dispersion(each, 2, &ratio), 0);
	CU_ASSERT_DOUBLE_EQUAL(ratio, 20, 1e-12);
	ratio = 7;

	CU_ASSERT_DOUBLE_EQUAL(dispersion(1, 20), 1, 0.1);
	CU_ASSERT_DOUBLE_EQUAL(dispersion(4, 20), 4, 0.4);
	CU_ASSERT_DOUBLE_EQUAL(dispersion(9, 20), 9, 1);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&d, one, 1), 0);
	CU_ASSERT_EQUAL(pathprof_distribution_init(&none, NULL, 0), 0);
	for (size_t i = 0; i < 65; i++)
		each[i] = &d;
	CU_ASSERT_EQUAL(pathprof_drift_dispersion(each, 1, &ratio), -ENODATA);
	CU_ASSERT_EQUAL(pathprof_drift_dispersion(each, 2, &ratio), -ENODATA);
	CU_ASSERT_EQUAL(pathprof_drift_dispersion(each, 65, &ratio), -EINVAL);
	each[1] = &none;
	CU_ASSERT_EQUAL(pathprof_drift_dispersion(each, 2, &ratio), -ENODATA);
	CU_ASSERT_EQUAL(ratio, 7);
}

/* ---------------------------------------------------------------- false alarms and misses */

static struct lab_calibration_plan plan_of(enum lab_world_kind kind, size_t events,
					   uint64_t samples)
{
	struct lab_calibration_plan plan = {
		.kind = kind,
		.event_cnt = events,
		.window_samples = samples,
		.baseline_samples = 10 * samples,
		.flow = 0.1,
		.bursts = {.samples = 1, .stay = 1, .loop = 1},
		.seed = 1000 + samples,
		.settings = pathprof_drift_defaults,
		.fast = pathprof_alert_fast,
		.slow = pathprof_alert_slow,
	};

	plan.settings.replicates = 0;
	return plan;
}

static const struct {
	enum lab_world_kind kind;
	size_t events;
} worlds[] = {
	{LAB_WORLD_ZIPF, 20},     {LAB_WORLD_ZIPF, 200},   {LAB_WORLD_ZIPF, 2000},
	{LAB_WORLD_UNIFORM, 200}, {LAB_WORLD_STEEP, 2000}, {LAB_WORLD_LOOP, 200},
	{LAB_WORLD_UNIFORM, 2},
};
#define WORLD_CNT (sizeof(worlds) / sizeof(worlds[0]))

static void test_false_alarms(void)
{
	static const uint64_t sizes[] = {200, 500, 1000, 5000};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		uint64_t over = 0, fired = 0, plain = 0, windows = 0;

		for (size_t w = 0; w < WORLD_CNT; w++) {
			struct lab_calibration_plan plan =
				plan_of(worlds[w].kind, worlds[w].events, sizes[s]);
			struct lab_calibration c = {0};

			plan.trials = 6;
			plan.calm_windows = 15;
			CU_ASSERT_EQUAL(lab_calibrate(&c, &plan), 0);
			over += c.over;
			fired += c.fired;
			plain += c.plain_over;
			windows += c.calm_windows;
		}
		CU_ASSERT(over * 100 <= windows);
		CU_ASSERT(fired * 100 <= windows);
		/* The same count must catch what rings too often: plain D does. */
		CU_ASSERT(plain * 100 > 40 * windows);
	}
}

static void test_misses(void)
{
	for (size_t w = 0; w < WORLD_CNT; w++)
		for (unsigned int m = LAB_MOVE_OTHER; m < LAB_MOVE_CNT; m++) {
			struct lab_calibration_plan plan =
				plan_of(worlds[w].kind, worlds[w].events, 5000);
			struct lab_calibration c = {0};

			plan.move = (enum lab_move)m;
			plan.trials = 20;
			plan.calm_windows = 2;
			plan.moved_windows = 3;
			CU_ASSERT_EQUAL(lab_calibrate(&c, &plan), 0);
			CU_ASSERT(c.caught * 100 >= 95 * c.trials);
		}
}

/* Samples that come in bursts: told so, chance is taken for chance; untold, it rings. */
static void test_bursts(void)
{
	for (unsigned int way = 0; way < 3; way++) {
		struct lab_calibration_plan plan = plan_of(LAB_WORLD_ZIPF, 200, 5000);
		struct lab_calibration c = {0};

		plan.bursts = (struct lab_bursts){14, 0.7, 8, way == 2};
		plan.told = way > 0;
		plan.trials = 10;
		plan.calm_windows = 15;
		CU_ASSERT_EQUAL(lab_calibrate(&c, &plan), 0);
		if (!way) {
			CU_ASSERT(c.over * 2 > c.calm_windows);
			continue;
		}
		CU_ASSERT(c.fired * 100 <= c.calm_windows);
		CU_ASSERT_DOUBLE_EQUAL(c.corrected_bits / c.plain_bits, 0, 0.15);
	}
}

/* A change of nothing must not count as caught. */
static void test_planted_stillness(void)
{
	struct lab_calibration_plan plan = plan_of(LAB_WORLD_ZIPF, 200, 5000);
	struct lab_calibration c = {0};

	plan.move = LAB_MOVE_OTHER;
	plan.flow = 0;
	plan.trials = 20;
	plan.moved_windows = 3;
	CU_ASSERT_EQUAL(lab_calibrate(&c, &plan), 0);
	CU_ASSERT_EQUAL(c.caught, 0);
	CU_ASSERT_DOUBLE_EQUAL(c.corrected_bits, 0, 0.001);
	CU_ASSERT(c.plain_bits > 0.02);
}

static void test_bias(void)
{
	static const uint64_t sizes[] = {200, 1000, 5000};

	for (size_t s = 0; s < 3; s++) {
		struct lab_calibration_plan plan = plan_of(LAB_WORLD_ZIPF, 200, sizes[s]);
		struct lab_calibration c = {0};

		plan.move = LAB_MOVE_OTHER;
		plan.trials = 40;
		plan.moved_windows = 1;
		CU_ASSERT_EQUAL(lab_calibrate(&c, &plan), 0);
		CU_ASSERT_DOUBLE_EQUAL(c.corrected_bits / c.truth_bits, 1, 0.1);
		CU_ASSERT(c.plain_bits / c.truth_bits > (s == 2 ? 1.05 : 1.3));
		CU_ASSERT(c.covered >= 0.9);
	}
}

/* ---------------------------------------------------------------- bursts */

#define KINDS 40

/* Each count so many at a time, or each by itself. */
static void come_together(struct pathprof_event *events, struct pathprof_distribution *ret,
			  double size, bool told, uint32_t off)
{
	for (uint32_t i = 0; i < KINDS; i++) {
		double times = 30 + (i * 7 + off) % 23;

		events[i] = (struct pathprof_event){
			.key_lo = i,
			.weight = size * times,
			.squares = told ? size * size * times : size * times,
		};
	}
	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(ret, events, KINDS), 0);
	CU_ASSERT(ret->clustered);
}

/* Five samples at a time say as much as one each: chance makes the same of D. */
static void test_sizes(void)
{
	struct pathprof_event events[6][KINDS];
	struct pathprof_distribution single[2], five[2], untold[2];
	struct pathprof_drift one, together, apart;

	for (uint32_t i = 0; i < 2; i++) {
		come_together(events[i], &single[i], 1, true, 5 * i);
		come_together(events[2 + i], &five[i], 5, true, 5 * i);
		come_together(events[4 + i], &untold[i], 5, false, 5 * i);
	}
	one = drift_of(&single[0], &single[1], 0, 1, 1);
	together = drift_of(&five[0], &five[1], 0, 1, 1);
	apart = drift_of(&untold[0], &untold[1], 0, 1, 1);
	CU_ASSERT_DOUBLE_EQUAL(together.kl_bits / one.kl_bits, 1, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(together.null_bits / one.null_bits, 1, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(together.null_sd_bits / one.null_sd_bits, 1, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(together.kl_high_bits / one.kl_high_bits, 1, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(apart.null_bits / one.null_bits, 0.2, 0.01);
}

static void test_set_bursts(void)
{
	struct pathprof_event a[KINDS], b[KINDS];
	struct pathprof_distribution window, base;
	struct pathprof_drift_settings s = pathprof_drift_defaults;
	struct pathprof_drift narrow, wide;

	come_together(a, &window, 5, true, 0);
	come_together(b, &base, 5, true, 5);
	pathprof_drift_set_bursts(&s, &window, &base, 35, 0);
	CU_ASSERT_EQUAL(s.dispersion, 1);
	CU_ASSERT_DOUBLE_EQUAL(s.companions, 4, 1e-12); /* (1 + 35 / 5) / 2 */
	pathprof_drift_set_bursts(&s, &window, &base, 2, 3);
	CU_ASSERT_EQUAL(s.dispersion, 3);
	CU_ASSERT_EQUAL(s.companions, 1);
	narrow = drift_of(&window, &base, 0, 1, 1);
	s = pathprof_drift_defaults;
	s.replicates = 0;
	s.companions = 4;
	CU_ASSERT_EQUAL(pathprof_drift_measure(&wide, &window, &base, &s), 0);
	CU_ASSERT_DOUBLE_EQUAL(wide.null_sd_bits / narrow.null_sd_bits, 2, 1e-9);
	CU_ASSERT_EQUAL(wide.null_bits, narrow.null_bits);
	a[3].squares = 0; /* one that is not known: the worst of all */
	CU_ASSERT_EQUAL(pathprof_distribution_init(&window, a, KINDS), 0);
	pathprof_drift_set_bursts(&s, &window, &base, 35, 0);
	CU_ASSERT_EQUAL(s.dispersion, 35);
	CU_ASSERT_EQUAL(s.companions, 1);
	/* by the scatter of windows five of 35 are alike, so the others are companions */
	pathprof_drift_set_bursts(&s, &window, &base, 35, 5);
	CU_ASSERT_EQUAL(s.dispersion, 5);
	CU_ASSERT_DOUBLE_EQUAL(s.companions, 4, 1e-12);
	CU_ASSERT_EQUAL(pathprof_drift_measure(&wide, &window, &base, &s), 0);
	s.companions = 1;
	CU_ASSERT_EQUAL(pathprof_drift_measure(&narrow, &window, &base, &s), 0);
	CU_ASSERT_DOUBLE_EQUAL(wide.null_sd_bits / narrow.null_sd_bits, 2, 1e-9);
}

/* ---------------------------------------------------------------- weights */

#define UNEQUAL_BURST 14

/* Bursts of a world whose weights differ by factors of e, as in numbers of samples. */
struct unequal {
	struct pathprof_event events[200];
	struct pathprof_distribution distribution;
};

static double normal(uint64_t *random)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += (double)(stream_random(random) >> 11) * 0x1p-53;
	return sum;
}

static void add_burst(struct unequal *to, const struct lab_world *world, double weight,
		      uint64_t *random, struct pathprof_worth *worth)
{
	static const struct lab_bursts bursts = {UNEQUAL_BURST, 0.7, 8, true};
	struct pathprof_event burst[200];

	lab_world_draw_bursts(world, UNEQUAL_BURST, &bursts, random, burst);
	for (size_t i = 0; i < world->cnt; i++) {
		to->events[i].weight += weight * burst[i].weight;
		to->events[i].squares += weight * weight * burst[i].squares;
		worth->samples += burst[i].weight;
		worth->squares += burst[i].squares;
		worth->weight += weight * burst[i].weight;
		worth->weight_squares += weight * weight * burst[i].squares;
	}
}

/* told: that weights are unequal; else each sample is taken for one. */
static void draw_unequal(struct unequal *to, const struct lab_world *world, uint32_t burst_cnt,
			 double sd, bool told, uint64_t *random)
{
	struct pathprof_worth worth = {0};
	double factor;

	for (size_t i = 0; i < world->cnt; i++)
		to->events[i] = (struct pathprof_event){.key_lo = i};
	for (uint32_t i = 0; i < burst_cnt; i++)
		add_burst(to, world, 1000 * exp(sd * normal(random)), random, &worth);
	factor = worth.samples / worth.weight * (told ? pathprof_worth_of_sample(&worth) : 1);
	for (size_t i = 0; i < world->cnt; i++) {
		to->events[i].weight *= factor;
		to->events[i].squares *=
			told ? factor * factor : worth.squares / worth.weight_squares;
	}
	CU_ASSERT_EQUAL_FATAL(pathprof_distribution_init(&to->distribution, to->events, world->cnt),
			      0);
	to->distribution.counted = true;
}

struct unequal_tally {
	unsigned int over;
	double corrected, plain;
};

static struct unequal_tally compare_unequal(const struct lab_world *a, const struct lab_world *b,
					    unsigned int trials, bool told)
{
	static struct unequal window, base;
	struct unequal_tally t = {0};
	uint64_t random = 11;

	for (unsigned int i = 0; i < trials; i++) {
		struct pathprof_drift_settings settings = pathprof_drift_defaults;
		struct pathprof_drift d = {0};

		draw_unequal(&window, a, 300, 1.2, told, &random);
		draw_unequal(&base, b, 600, 0.1, told, &random);
		settings.replicates = 0;
		pathprof_drift_set_bursts(&settings, &window.distribution, &base.distribution,
					  UNEQUAL_BURST, 0);
		CU_ASSERT_EQUAL(pathprof_drift_measure(&d, &window.distribution, &base.distribution,
						       &settings),
				0);
		t.over += d.kl_low_bits > 0;
		t.corrected += d.kl_corrected_bits / trials;
		t.plain += d.kl_bits / trials;
	}
	return t;
}

static void test_unequal(void)
{
	struct lab_world calm, moved;
	struct unequal_tally told, untold, changed;

	CU_ASSERT_EQUAL_FATAL(lab_world_init(&calm, LAB_WORLD_ZIPF, 200), 0);
	CU_ASSERT_EQUAL_FATAL(lab_world_init_moved(&moved, &calm, LAB_MOVE_OTHER, 0.3), 0);
	told = compare_unequal(&calm, &calm, 100, true);
	untold = compare_unequal(&calm, &calm, 100, false);
	changed = compare_unequal(&moved, &calm, 100, true);
	CU_ASSERT(told.over <= 1);
	/* no alarm, and rather too much taken for chance than too little */
	CU_ASSERT(told.corrected / told.plain > -0.4 && told.corrected / told.plain < 0.1);
	CU_ASSERT(untold.over > 50);
	CU_ASSERT(untold.corrected / untold.plain > 0.3);
	CU_ASSERT(changed.over > 85);
	lab_world_release(&calm);
	lab_world_release(&moved);
}

static const struct unit_test tests[] = {
	{"what chance makes of D is the mean over all splits", test_mean_is_exact},
	{"... to 2 % where events can be unseen", test_mean_with_unseen},
	{"another pool has another mean", test_planted_pool},
	{"large counts by moments meet small ones by sums", test_moments_meet_sums},
	{"the interval: the same twice, wider when dispersed, none when calm", test_interval},
	{"the normal interval by hand", test_interval_by_hand},
	{"the other figures are those of compare.h", test_other_figures},
	{"refuses estimates, empty profiles and settings that cannot be", test_refuses},
	{"counts up to 2^53", test_large},
	{"any counts give figures in their order", test_any_counts},
	{"terms add up to D, the greatest first", test_terms},
	{"dispersion is how many samples come alike", test_dispersion},
	{"no change: at most 1 % of windows, where plain D rings", test_false_alarms},
	{"10 % of the flow moved: caught within three windows", test_misses},
	{"five at a time say as much as one each", test_sizes},
	{"bursts of unequal weight: chance is taken for chance, changes are found", test_unequal},
	{"what is known of bursts becomes settings", test_set_bursts},
	{"samples that come in bursts, told and untold", test_bursts},
	{"no flow moved: not caught", test_planted_stillness},
	{"corrected D is right at any sample size", test_bias},
};
UNIT_SUITE(drift, tests)
