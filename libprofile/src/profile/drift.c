// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* One window against one baseline: all figures, and whether chance alone could have made them. */
#include "pathprof/drift.h"

#include <errno.h>
#include <math.h>

#include "pp_draw.h"
#include "pp_null.h"
#include "pp_scatter.h"

#define RATIO_MAX   1000                /* of dispersion and companions */
#define SAMPLES_MAX 9007199254740992.0L /* 2^53 */

const struct pathprof_drift_settings pathprof_drift_defaults = {
	.confidence = 0.99, .dispersion = 1, .companions = 1, .replicates = 200, .seed = 1};

static int check(const struct pathprof_distribution *window,
		 const struct pathprof_distribution *baseline,
		 const struct pathprof_drift_settings *s)
{
	if (!(s->confidence >= 0.5 && s->confidence <= 0.9999) ||
	    !(s->dispersion >= 1 && s->dispersion <= RATIO_MAX) ||
	    !(s->companions >= 1 && s->companions <= RATIO_MAX) || s->replicates == 1)
		return -EINVAL;
	if (!(window->total > 0) || !(baseline->total > 0))
		return -ENODATA;
	if (!window->counted || !baseline->counted || window->total + baseline->total > SAMPLES_MAX)
		return -EDOM;
	return 0;
}

/*
 * D of samples drawn from what was seen scatters by a linear and a quadratic part. If nothing
 * changed, the linear part comes out as twice the quadratic one and is chance, too; only what
 * exceeds that is real. linear: its variance as if samples were independent.
 */
static double variance(const struct pp_null *null, double linear, double dispersion)
{
	return null->variance + fmax(dispersion * linear - 2 * null->variance, 0);
}

/* The ends are z standard deviations off, by Cornish and Fisher corrected for skewness. */
static void set_interval(struct pathprof_drift *drift, const struct pp_scatter *scatter,
			 double sd_bits, double z)
{
	double lean = (z * z - 1) * scatter->skewness / 6;
	double low = drift->kl_corrected_bits - sd_bits * fmax(z + lean, 0);
	double high = drift->kl_corrected_bits + sd_bits * fmax(z - lean, 0);

	drift->kl_low_bits = drift->kl_bits > drift->null_limit_bits ? fmax(low, 0) : 0;
	drift->kl_high_bits = fmax(high, drift->kl_low_bits);
}

static bool wants_bootstrap(const struct pathprof_drift *drift,
			    const struct pathprof_distribution *window,
			    const struct pathprof_distribution *baseline,
			    const struct pathprof_drift_settings *s)
{
	return s->replicates && drift->kl_bits > drift->null_limit_bits &&
	       window->cnt <= PATHPROF_DRIFT_BOOTSTRAP_EVENTS_MAX &&
	       baseline->cnt <= PATHPROF_DRIFT_BOOTSTRAP_EVENTS_MAX;
}

static int measure_kl(struct pathprof_drift *drift, const struct pathprof_distribution *window,
		      const struct pathprof_distribution *baseline,
		      const struct pathprof_drift_settings *s)
{
	struct pathprof_relative_entropy kl;
	struct pp_scatter scatter = {0};
	struct pp_null null = {0};
	double z = pp_normal_quantile((1 + s->confidence) / 2), linear, plain;
	int r = pathprof_relative_entropy(window, baseline, s->epsilon, &kl);

	if (r == 0)
		r = pp_null_init(&null, window, baseline, s->epsilon, s->dispersion);
	if (r < 0)
		return r;
	plain = null.variance / (s->dispersion * s->dispersion);
	null.variance *= s->companions;
	drift->kl_bits = kl.bits;
	drift->null_bits = null.mean / M_LN2;
	drift->null_sd_bits = sqrt(null.variance) / M_LN2;
	drift->null_limit_bits = pp_null_limit(&null, z) / M_LN2;
	drift->kl_corrected_bits = kl.bits - drift->null_bits;
	pp_scatter_linear(&scatter, window, baseline);
	linear = scatter.variance;
	if (wants_bootstrap(drift, window, baseline, s)) {
		r = pp_scatter_bootstrap(&scatter, window, baseline, s->epsilon, s->replicates,
					 s->seed);
		if (r < 0)
			return r;
		linear = scatter.variance - plain;
	}
	linear *= s->companions;
	set_interval(drift, &scatter, sqrt(variance(&null, linear, s->dispersion)) / M_LN2, z);
	return 0;
}

int pathprof_drift_measure(struct pathprof_drift *ret_drift,
			   const struct pathprof_distribution *window,
			   const struct pathprof_distribution *baseline,
			   const struct pathprof_drift_settings *settings)
{
	struct pathprof_drift drift = {0};
	int r = check(window, baseline, settings);

	if (r == 0)
		r = measure_kl(&drift, window, baseline, settings);
	if (r == 0)
		r = pathprof_angle_degrees(window, baseline, &drift.angle_degrees);
	if (r == 0)
		r = pathprof_coverage(window, baseline, &drift.coverage);
	if (r == 0 && settings->branches)
		r = pathprof_compare_branches(window, baseline, &drift.branches);
	if (r < 0)
		return r;
	drift.window_samples = (double)window->total;
	drift.baseline_samples = (double)baseline->total;
	drift.entropy_bits = pathprof_entropy_bits(window);
	drift.overlap = pathprof_distribution_overlap(window, baseline);
	*ret_drift = drift;
	return 0;
}

static double within(double value)
{
	return value > 1 ? fmin(value, RATIO_MAX) : 1;
}

/*
 * In a burst so many samples are of one event, and the others of other events, which come and go
 * together in part: in windows of real programs D scattered as if half of them did so wholly and
 * the others not at all (docs/drift.md).
 */
static double companions(double samples_per_burst, double alike)
{
	return within((1 + samples_per_burst / alike) / 2);
}

void pathprof_drift_set_bursts(struct pathprof_drift_settings *settings,
			       const struct pathprof_distribution *window,
			       const struct pathprof_distribution *baseline,
			       double samples_per_burst, double seen)
{
	double squares = (double)(window->squares + baseline->squares);
	double samples = (double)(window->total + baseline->total);

	if (window->clustered && baseline->clustered && squares > 0) {
		settings->dispersion = within(seen);
		settings->companions = companions(samples_per_burst, squares / samples);
	} else {
		settings->dispersion = within(seen > 0 ? seen : samples_per_burst);
		settings->companions = companions(samples_per_burst, settings->dispersion);
	}
}
