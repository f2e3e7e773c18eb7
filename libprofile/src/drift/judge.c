// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* A window against a baseline: see judge.h. */
#include "pathprof/judge.h"

#include <errno.h>

struct pathprof_baseline pathprof_rolling_baseline(const struct pathprof_rolling *rolling)
{
	return (struct pathprof_baseline){.tally = rolling->base.cnt >= 2 ? &rolling->base.sum
									  : NULL};
}

/* Window and base by names that both builds can have. */
static int match_builds(struct pathprof_measured *m, const struct pathprof_portable *own,
			const struct pathprof_portable *other)
{
	struct pathprof_portable_pair pair;
	int r = own ? pathprof_portable_pair(&pair, &m->window, own, &m->base, other) : -ENODATA;

	if (r < 0)
		return r;
	pathprof_tally_move(&m->window, &pair.window);
	pathprof_tally_move(&m->base, &pair.base);
	m->matched = pair.matched;
	return 0;
}

/* Both sides in samples of equal weight. */
static int prepare(struct pathprof_measured *m, const struct pathprof_judged *judged,
		   const struct pathprof_baseline *baseline, uint32_t pooled)
{
	int r = pathprof_rolling_pool(judged->rolling, judged->window, pooled, &m->window);

	if (r == 0)
		r = pathprof_tally_join(&m->base, baseline->tally);
	if (r < 0)
		return r;
	pathprof_tally_weigh(&m->window);
	pathprof_tally_weigh(&m->base);
	if (baseline->portable)
		return match_builds(m, judged->portable, baseline->portable);
	return pathprof_tally_condition(&m->window, &m->base, judged->samples_min, &m->matched);
}

int pathprof_measure(struct pathprof_measured *ret_measured, const struct pathprof_judged *judged,
		     const struct pathprof_baseline *baseline, uint32_t pooled)
{
	struct pathprof_drift_settings settings = pathprof_drift_defaults;
	const long double least = judged->samples_min;
	struct pathprof_distribution window, base;
	int r;

	*ret_measured = (struct pathprof_measured){.matched = 1};
	if (!baseline->tally)
		return -ENODATA;
	r = prepare(ret_measured, judged, baseline, pooled);
	if (r < 0)
		return r;
	window = pathprof_tally_distribution(&ret_measured->window);
	base = pathprof_tally_distribution(&ret_measured->base);
	if (base.total < least || (ret_measured->matched < 1 && window.total < least))
		return -ENODATA;
	settings.replicates = 0;
	pathprof_drift_set_bursts(&settings, &window, &base, judged->per_burst, judged->dispersion);
	return pathprof_drift_measure(&ret_measured->drift, &window, &base, &settings);
}

void pathprof_measured_release(struct pathprof_measured *measured)
{
	pathprof_tally_release(&measured->window);
	pathprof_tally_release(&measured->base);
}

void pathprof_measured_row(const struct pathprof_measured *measured, struct pathprof_drift_row *row)
{
	const struct pathprof_drift *d = &measured->drift;

	row->window_samples = d->window_samples;
	row->baseline_samples = d->baseline_samples;
	row->kl_bits = d->kl_bits;
	row->kl_corrected_bits = d->kl_corrected_bits;
	row->kl_low_bits = d->kl_low_bits;
	row->kl_high_bits = d->kl_high_bits;
	row->overlap = d->overlap;
	row->angle_degrees = d->angle_degrees;
	row->coverage_static = d->coverage.static_share;
	row->coverage_dynamic = d->coverage.dynamic_share;
	row->matched = measured->matched;
}
