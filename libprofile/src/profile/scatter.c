// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Replicates run inside, events outside: so an event's two samplers are set up once, and all
 * replicates' sums (a few kilobytes) stay in the first-level cache.
 */
#include "pp_scatter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "pp_draw.h"
#include "pp_logs.h"
#include "pp_merge.h"
#include "pp_smooth.h"

/* One resampled pair of profiles, added up so far. seen: in its baseline. */
struct replicate {
	double window, baseline;   /* samples */
	double seen, seen_sum;     /* window samples on seen events; sum of w ln(w / b) */
	double unseen, unseen_sum; /* on unseen ones; sum of w ln w */
	double unseen_cnt;
};

struct resampling {
	struct replicate *replicates;
	uint32_t cnt;
	struct pp_random random;
	const struct pp_logs *logs;
};

static double ln(const struct pp_logs *logs, double count)
{
	return count == floor(count) ? pp_log(logs, count) : log(count);
}

static void add(const struct resampling *r, struct replicate *to, double w, double b)
{
	to->window += w;
	to->baseline += b;
	if (!(w > 0))
		return;
	if (b > 0) {
		to->seen += w;
		to->seen_sum += w * (ln(r->logs, w) - ln(r->logs, b));
	} else {
		to->unseen += w;
		to->unseen_sum += w * ln(r->logs, w);
		to->unseen_cnt++;
	}
}

/* How many samples arrive together, averaged over the samples of the event. */
static double size_of(double samples, double squares)
{
	return squares > 0 ? squares / samples : 1;
}

static void add_event(struct resampling *r, const struct pp_pair *pair, bool clustered)
{
	double w_size = clustered ? size_of(pair->a, pair->a_squares) : 1;
	double b_size = clustered ? size_of(pair->b, pair->b_squares) : 1;
	struct pp_poisson of_w, of_b;

	pp_poisson_init(&of_w, pair->a / w_size);
	pp_poisson_init(&of_b, pair->b / b_size);
	for (uint32_t i = 0; i < r->cnt; i++) {
		double drawn = w_size * pp_poisson_draw(&of_w, &r->random);

		add(r, &r->replicates[i], drawn, b_size * pp_poisson_draw(&of_b, &r->random));
	}
}

/* The replicate's relative entropy in nats; NaN when one of its profiles is empty. */
static double divergence(const struct replicate *r, double epsilon_given)
{
	double epsilon = epsilon_given, left;

	if (!(r->window > 0) || !(r->baseline > 0))
		return NAN;
	if (epsilon == 0)
		epsilon = (double)pp_smooth_epsilon(r->baseline, r->unseen_cnt);
	left = 1 - epsilon * r->unseen_cnt;
	if (!(left > 0))
		return NAN;
	return (r->seen_sum + r->seen * log(r->baseline / (r->window * left)) + r->unseen_sum -
		r->unseen * log(r->window * epsilon)) /
	       r->window;
}

static void conclude(const struct resampling *r, double epsilon, struct pp_scatter *ret_scatter)
{
	double mean = 0, second = 0, third = 0, cnt = 0;

	for (uint32_t i = 0; i < r->cnt; i++) {
		double d = divergence(&r->replicates[i], epsilon);

		mean += isnan(d) ? 0 : d;
		cnt += !isnan(d);
	}
	mean /= cnt > 0 ? cnt : 1;
	for (uint32_t i = 0; i < r->cnt; i++) {
		double d = divergence(&r->replicates[i], epsilon) - mean;

		second += isnan(d) ? 0 : d * d;
		third += isnan(d) ? 0 : d * d * d;
	}
	second /= cnt > 1 ? cnt - 1 : 1;
	third /= cnt > 0 ? cnt : 1;
	*ret_scatter = (struct pp_scatter){second, second > 0 ? third / pow(second, 1.5) : 0};
}

int pp_scatter_bootstrap(struct pp_scatter *ret_scatter, const struct pathprof_distribution *window,
			 const struct pathprof_distribution *baseline, double epsilon,
			 uint32_t replicates, uint64_t seed)
{
	struct resampling *r = calloc(1, sizeof(*r));
	struct pp_merge merge;
	struct pp_pair pair;

	if (!r)
		return -ENOMEM;
	r->replicates = calloc(replicates, sizeof(*r->replicates));
	if (!r->replicates) {
		free(r);
		return -ENOMEM;
	}
	r->cnt = replicates;
	/* Seeds that differ little must not begin alike. */
	pp_random_init(&r->random, (seed + 1) * 0x9e3779b97f4a7c15ULL);
	r->logs = pp_logs();
	pp_merge_init(&merge, window, baseline);
	while (pp_merge_next(&merge, &pair))
		add_event(r, &pair, window->clustered && baseline->clustered);
	conclude(r, epsilon, ret_scatter);
	free(r->replicates);
	free(r);
	return 0;
}

/*
 * An event's influence is ln(p/q) - D on the window's side and 1 - p/q on the baseline's. Where the
 * baseline has none, the smoothed share stands in and only the first is there. Independent samples
 * count once each; of what comes together the squares are known.
 */
void pp_scatter_linear(struct pp_scatter *ret_scatter, const struct pathprof_distribution *window,
		       const struct pathprof_distribution *baseline)
{
	bool clustered = window->clustered && baseline->clustered;
	double samples = (double)window->total, base = (double)baseline->total;
	double mean = 0, first = 0, second = 0, all = 0, base_sum = 0;
	double epsilon = (double)pp_smooth_epsilon(baseline->total, 1), ratio = base / samples;
	double log_ratio = log(ratio);
	const struct pp_logs *logs = pp_logs();
	struct pp_merge merge;
	struct pp_pair pair;

	pp_merge_init(&merge, window, baseline);
	while (pp_merge_next(&merge, &pair)) {
		double off = pair.b > 0 ? pair.a / pair.b * ratio - 1 : 0, l = 0;
		double a = clustered ? pair.a_squares : pair.a;

		if (pair.a > 0 && pair.b > 0)
			l = ln(logs, pair.a) - ln(logs, pair.b) + log_ratio;
		else if (pair.a > 0)
			l = log(pair.a / (samples * epsilon));
		mean += pair.a * l;
		all += a;
		first += a * l;
		second += a * l * l;
		base_sum += (clustered ? pair.b_squares : pair.b) * off * off;
	}
	mean /= samples;
	second += mean * (mean * all - 2 * first);
	*ret_scatter =
		(struct pp_scatter){.variance = (second > 0 ? second : 0) / (samples * samples) +
						base_sum / (base * base)};
}
