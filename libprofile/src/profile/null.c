// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The mean is a sum over events of expectations under the hypergeometric distribution, exact but
 * for the number of unseen events, which enters smoothing by its own mean. The variance takes
 * events as independent binomial ones and then takes out what the fixed sample size takes out.
 *
 * Few different counts are summed over all that can happen; where that is many values, around the
 * middle by moments.
 */
#include "pp_null.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/vector.h"
#include "pp_logs.h"
#include "pp_merge.h"
#include "pp_smooth.h"

#define SMALL      4096 /* pooled counts that are added up by count; greater ones are rare */
#define MOMENTS    64   /* expected on either side, from which on moments are used */
#define REST_MIN   0.98 /* of the pool, beside an event that is little of it */
#define FACTORS    512
#define NEGLIGIBLE 1e-14

/*
 * Sums over events of one pooled count: how many; their sizes s, which is how many samples an
 * independent one of theirs stands for, relative to the average; s^2; s ln s, that times s, and
 * squared.
 */
struct sizes {
	double cnt, s, s2, l, sl, l2;
};

/* Events that were seen n times each in all. */
struct row {
	double n;
	double unseen; /* the chance that the baseline has none of them */
	struct sizes of;
};

struct null_model {
	double window, pool; /* independent samples: N, N + M */
	double dispersion;   /* counts scatter by so much more than those would */
	bool clustered;      /* else all are of one size */
	double size;         /* the average size */
	double rho;          /* N / (N + M) */
	double epsilon, scale;
	double one;       /* 1/N */
	double log_ratio; /* ln((1/N) / scale) */
	double epsilon_given;
	double unseen; /* how many events the baseline lacks, on average */
	const struct pp_logs *logs;
	struct row *rows;
	size_t row_cnt, row_room;
	uint32_t row_of[SMALL]; /* by n, and one more; 0: none yet */
	/* sums over events */
	long double mean, var, m2x, mx, cov, spread;
};

/* The part of D, in nats, of an event seen n times in all, and its covariance with the count. */
struct part {
	double mean;      /* hypergeometric */
	double mean_free; /* binomial, as the rest */
	double var, cov, spread;
};

/* p ln(p/q) - p + q where the baseline has none of the w. */
static double value_unseen(const struct null_model *m, double w)
{
	double p = w / m->window;

	return p * log(p / m->epsilon) - p + m->epsilon;
}

/* ... for w samples in the window and b in the baseline. */
static inline double value(const struct null_model *m, double w, double b)
{
	double p = w * m->one;

	if (!(w > 0))
		return b * m->scale;
	if (!(b > 0))
		return value_unseen(m, w);
	return p * (pp_log(m->logs, w) - pp_log(m->logs, b) + m->log_ratio) - p + b * m->scale;
}

struct moments {
	double weight, first, second, cov; /* of the value; cov with the count */
	double middle;
};

static inline void add(const struct null_model *m, struct moments *s, double n, double w,
		       double weight)
{
	double v = value(m, w, n - w), part = weight * v;

	s->weight += weight;
	s->first += part;
	s->second += part * v;
	s->cov += part * (w - s->middle);
}

/* P(w + 1) / P(w) = (n - w) times / ((w + 1) left): how both go on with w. */
struct chances {
	double times, times_step;
	double left, left_step;
};

/* free: binomial, else hypergeometric. */
static struct chances chances_of(const struct null_model *m, double n, double w, bool free)
{
	if (free)
		return (struct chances){.times = m->rho, .left = 1 - m->rho};
	return (struct chances){m->window - w, -1, m->pool - m->window - n + w + 1, 1};
}

static void sum_up(const struct null_model *m, struct moments *s, double n, double w, bool free)
{
	struct chances c = chances_of(m, n, w, free);

	for (double weight = 1; w <= n && weight > NEGLIGIBLE; w++) {
		add(m, s, n, w, weight);
		weight *= (n - w) * c.times / ((w + 1) * c.left);
		c.times += c.times_step;
		c.left += c.left_step;
	}
}

static void sum_down(const struct null_model *m, struct moments *s, double n, double w, bool free)
{
	struct chances c = chances_of(m, n, w - 1, free);
	double weight = 1;

	while (--w >= 0) {
		weight *= (w + 1) * c.left / ((n - w) * c.times);
		if (!(weight > NEGLIGIBLE))
			return;
		add(m, s, n, w, weight);
		c.times -= c.times_step;
		c.left -= c.left_step;
	}
}

/* From the most likely count upwards and downwards, until what is left is negligible. */
static struct moments sum_over(const struct null_model *m, double n, bool free)
{
	double mode =
		free ? floor((n + 1) * m->rho) : floor((n + 1) * (m->window + 1) / (m->pool + 2));
	struct moments s = {.middle = n * m->rho};

	sum_up(m, &s, n, mode, free);
	sum_down(m, &s, n, mode, free);
	s.first /= s.weight;
	s.second /= s.weight;
	s.cov /= s.weight;
	return s;
}

/* Binomial moments; for an event that is a small part of the pool, from the hypergeometric ones. */
static struct moments sum_free(const struct null_model *m, double n, const struct moments *fixed)
{
	double rest = 1 - n / m->pool, var = fixed->second - fixed->first * fixed->first;
	struct moments s = *fixed;

	if (rest < REST_MIN)
		return sum_over(m, n, true);
	s.first /= rest;
	s.second = s.first * s.first + var / (rest * rest);
	s.cov /= rest * rest;
	return s;
}

static struct part part_by_sums(const struct null_model *m, double n)
{
	struct moments fixed = sum_over(m, n, false), free = sum_free(m, n, &fixed);
	double var = free.second - free.first * free.first;

	return (struct part){.mean = fixed.first,
			     .mean_free = free.first,
			     .var = var > 0 ? var : 0,
			     .cov = free.cov,
			     .spread = n * m->rho * (1 - m->rho)};
}

/* The value's derivatives where the count is as expected, times moments up to the fourth. */
static struct part part_by_moments(const struct null_model *m, double n)
{
	double w = n * m->rho, b = n - w, skew = 1 - 2 * m->rho;
	double second = n * n / (w * b * b) / m->window;
	double lean = 2 / b - 1 / w;
	double third = second * lean, fourth = second * (lean * lean + 1 / (w * w) + 2 / (b * b));
	double spread = n * m->rho * (1 - m->rho);
	double tight = spread * (m->pool - n) / (m->pool - 1);
	double mean =
		second * spread / 2 + third * spread * skew / 6 + fourth * spread * spread / 8;

	return (struct part){.mean = second * tight / 2 +
				     third * tight * skew * (m->pool - 2 * n) / (m->pool - 2) / 6 +
				     fourth * tight * tight / 8,
			     .mean_free = mean,
			     .var = second * second * spread * spread / 2,
			     .cov = second * spread * skew / 2 + third * spread * spread / 2,
			     .spread = spread};
}

static struct part part_of(const struct null_model *m, double n)
{
	double w = n * m->rho;

	return w > MOMENTS && n - w > MOMENTS ? part_by_moments(m, n) : part_by_sums(m, n);
}

/*
 * The chance that the baseline has none of an event's n: a product of n factors that hardly change
 * from one to the next. Of many, those behind the first are taken as their middle one.
 */
static double chance_unseen(const struct null_model *m, double n)
{
	double chance = 1, i = 0, middle;

	for (; i < n && i < FACTORS && chance > NEGLIGIBLE; i++)
		chance *= (m->window - i) / (m->pool - i);
	if (!(chance > NEGLIGIBLE) || n > m->window)
		return chance > 0 && n <= m->window ? chance : 0;
	middle = (i + n) / 2;
	return chance * pow((m->window - middle) / (m->pool - middle), n - i);
}

/*
 * The part of an event of size s less s times the part of one of size 1, when the baseline has none
 * of it: s ln s n / N + (1 - s) epsilon. Sums over events: of that, of that times s, of its square.
 */
struct beyond {
	double sum, by_size, squared;
};

static struct beyond beyond_of(const struct null_model *m, double n, const struct sizes *of)
{
	double p = n / m->window, e = m->epsilon;

	return (struct beyond){
		.sum = p * of->l + e * (of->cnt - of->s),
		.by_size = p * of->sl + e * (of->s - of->s2),
		.squared = p * p * of->l2 + 2 * p * e * (of->l - of->sl) +
			   e * e * (of->cnt - 2 * of->s + of->s2),
	};
}

/* One row's part of the sums. */
static void add_part(struct null_model *m, const struct row *row)
{
	const struct sizes *of = &row->of;
	double n = row->n;
	struct part p = part_of(m, n);
	struct beyond beyond = {0};
	double free = 0, mean;

	if (m->clustered) {
		beyond = beyond_of(m, n, of);
		free = pow(m->rho, n);
		m->mean += row->unseen * beyond.sum;
		m->var += 2 * beyond.by_size * free * (value_unseen(m, n) - p.mean_free) +
			  beyond.squared * free * (1 - free);
		m->cov += beyond.by_size * free * n * (1 - m->rho);
	}
	mean = (of->s * p.mean_free + free * beyond.sum) / of->cnt;
	m->mean += of->s * p.mean;
	m->var += of->s2 * p.var;
	m->m2x += mean * mean * of->s2 * p.spread;
	m->mx += mean * of->s2 * p.spread;
	m->cov += of->s2 * p.cov;
	m->spread += of->s2 * p.spread;
}

/* ---------------------------------------------------------------- going over the events */

/* How many independent samples of an event there are in both. */
static double pooled(const struct null_model *m, const struct pp_pair *pair)
{
	double n = pair->a + pair->b;

	return (m->clustered ? n * n / (pair->a_squares + pair->b_squares) : n) / m->dispersion;
}

static struct sizes sizes_of(const struct null_model *m, const struct pp_pair *pair, double n)
{
	double s = m->clustered ? (pair->a + pair->b) / n : 1, l = s != 1 ? s * log(s) : 0;

	return (struct sizes){1, s, s * s, l, s * l, l * l};
}

static void add_sizes(struct sizes *to, const struct sizes *add, double times)
{
	to->cnt += times * add->cnt;
	to->s += times * add->s;
	to->s2 += times * add->s2;
	to->l += times * add->l;
	to->sl += times * add->sl;
	to->l2 += times * add->l2;
}

/* From samples to multiples of the average size. */
static struct sizes relative(const struct null_model *m, const struct sizes *of)
{
	double a = m->size, log_a = log(a);

	return (struct sizes){
		.cnt = of->cnt,
		.s = of->s / a,
		.s2 = of->s2 / (a * a),
		.l = (of->l - log_a * of->s) / a,
		.sl = (of->sl - log_a * of->s2) / (a * a),
		.l2 = (of->l2 - 2 * log_a * of->sl + log_a * log_a * of->s2) / (a * a),
	};
}

/* NULL: no memory. */
static struct row *new_row(struct null_model *m, double n)
{
	if (pp_grow(&m->rows, m->row_cnt, &m->row_room) < 0)
		return NULL;
	m->rows[m->row_cnt] = (struct row){.n = n};
	return &m->rows[m->row_cnt++];
}

static int count_at(struct null_model *m, uint32_t n, const struct sizes *sizes, double times)
{
	struct row *row;

	if (!n || !(times > 0))
		return 0;
	if (n < SMALL && m->row_of[n]) {
		row = &m->rows[m->row_of[n] - 1];
	} else {
		row = new_row(m, n);
		if (!row)
			return -ENOMEM;
		if (n < SMALL)
			m->row_of[n] = (uint32_t)m->row_cnt;
	}
	add_sizes(&row->of, sizes, times);
	return 0;
}

/*
 * An event of three and a quarter samples is a quarter of one of four and three quarters of one of
 * three; what is less than one, so much of one of one. So all of them keep their share.
 */
static int count_event(struct null_model *m, const struct pp_pair *pair)
{
	double n = pooled(m, pair), whole = floor(n);
	struct sizes sizes = sizes_of(m, pair, n);
	struct row *row;
	int r;

	m->pool += n;
	if (n < SMALL - 1) {
		r = count_at(m, (uint32_t)whole, &sizes, whole + 1 - n);
		return r < 0 ? r : count_at(m, (uint32_t)whole + 1, &sizes, n - whole);
	}
	row = new_row(m, rint(n));
	if (row)
		row->of = sizes;
	return row ? 0 : -ENOMEM;
}

static void set_pool(struct null_model *m, long double window, long double baseline)
{
	m->size = m->clustered && m->pool > 0 ? (double)((window + baseline) / m->pool) : 1;
	m->pool = ceil(m->pool);
	m->rho = (double)(window / (window + baseline));
	m->pool = fmax(m->pool, 2);
	m->window = rint(m->pool * m->rho);
	m->window = fmax(fmin(m->window, m->pool - 1), 1);
	m->rho = m->window / m->pool;
}

/* Fills the rows, and divides the pool as the samples are divided. */
static int count_events(struct null_model *m, const struct pathprof_distribution *window,
			const struct pathprof_distribution *baseline)
{
	struct pp_merge merge;
	struct pp_pair pair;
	int r = 0;

	pp_merge_init(&merge, window, baseline);
	while (r == 0 && pp_merge_next(&merge, &pair))
		r = count_event(m, &pair);
	if (r < 0)
		return r;
	set_pool(m, window->total, baseline->total);
	for (size_t i = 0; i < m->row_cnt && m->clustered; i++)
		m->rows[i].of = relative(m, &m->rows[i].of);
	return 0;
}

/* Smoothing with the number of unseen events that is to be expected. */
static int set_smoothing(struct null_model *m, long double baseline)
{
	long double e = m->epsilon_given;

	if (m->epsilon_given == 0)
		e = pp_smooth_epsilon(baseline, m->unseen);
	if (e * m->unseen >= 1)
		return -ERANGE;
	m->epsilon = (double)e;
	m->scale = (double)((1 - m->unseen * e) / (m->pool - m->window));
	m->one = 1 / m->window;
	m->log_ratio = -log(m->window * m->scale);
	return 0;
}

static void conclude(const struct null_model *m, struct pp_null *ret_null)
{
	long double share = m->spread > 0 ? 1 / m->spread : 0;
	long double mean_share = m->mx * share;
	long double var =
		m->var - 4 * m->m2x * share + 2 * mean_share * mean_share - m->cov * m->cov * share;
	long double least = m->var / 1024; /* of what is left when nearly all cancels */

	ret_null->mean = m->mean > 0 ? (double)m->mean : 0;
	ret_null->variance = (double)(var > least ? var : least);
}

static int go_over(struct null_model *m, const struct pathprof_distribution *window,
		   const struct pathprof_distribution *baseline)
{
	int r = count_events(m, window, baseline);

	for (size_t i = 0; i < m->row_cnt && r == 0; i++) {
		m->rows[i].unseen = chance_unseen(m, m->rows[i].n);
		m->unseen += m->rows[i].of.cnt * m->rows[i].unseen;
	}
	if (r == 0)
		r = set_smoothing(m, baseline->total);
	for (size_t i = 0; i < m->row_cnt && r == 0; i++)
		add_part(m, &m->rows[i]);
	return r;
}

int pp_null_init(struct pp_null *ret_null, const struct pathprof_distribution *window,
		 const struct pathprof_distribution *baseline, double epsilon, double dispersion)
{
	struct null_model *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->epsilon_given = epsilon;
	m->dispersion = dispersion;
	m->clustered = window->clustered && baseline->clustered;
	m->logs = pp_logs();
	r = go_over(m, window, baseline);
	if (r == 0)
		conclude(m, ret_null);
	free(m->rows);
	free(m);
	return r;
}

double pp_null_limit(const struct pp_null *null, double z)
{
	double normal = null->mean + z * sqrt(null->variance), ninth, root;

	if (!(null->mean > 0) || !(null->variance > 0))
		return null->mean;
	ninth = null->variance / (9 * null->mean * null->mean);
	root = 1 - ninth + z * sqrt(ninth);
	root = root > 0 ? null->mean * root * root * root : 0;
	return root > normal ? root : normal;
}
