// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Poisson and normal variables by inversion. */
#include "pp_draw.h"

#include <math.h>

#define INVERTED_MAX 16

void pp_poisson_init(struct pp_poisson *ret_poisson, double mean)
{
	*ret_poisson = (struct pp_poisson){.mean = mean, .root = sqrt(mean), .none = exp(-mean)};
}

/* The count whose interval of (0, 1) the draw falls into. */
static double invert(const struct pp_poisson *poisson, double uniform)
{
	double chance = poisson->none, count = 0;

	while (uniform > chance && count < 200) {
		uniform -= chance;
		count++;
		chance *= poisson->mean / count;
	}
	return count;
}

static double draw_normal(struct pp_random *random)
{
	double radius = sqrt(-2 * log(pp_draw_uniform(random)));

	return radius * cos(2 * M_PI * pp_draw_uniform(random));
}

double pp_poisson_draw(const struct pp_poisson *poisson, struct pp_random *random)
{
	double normal, count;

	if (poisson->mean < INVERTED_MAX)
		return poisson->mean > 0 ? invert(poisson, pp_draw_uniform(random)) : 0;
	normal = draw_normal(random);
	count = floor(poisson->mean + poisson->root * normal + (normal * normal - 1) / 6 + 0.5);
	return count > 0 ? count : 0;
}

/* Newton on the complementary error function, whose tail keeps its digits. */
double pp_normal_quantile(double probability)
{
	double tail = probability < 0.5 ? probability : 1 - probability;
	double z = 0;

	for (int i = 0; i < 60; i++) {
		double density = exp(-z * z / 2) / sqrt(2 * M_PI);
		double step = (erfc(z / M_SQRT2) / 2 - tail) / density;

		/* Convex to the right of 0: from there steps never overshoot. */
		z += step;
		if (fabs(step) < 1e-13)
			break;
	}
	return probability < 0.5 ? -z : z;
}
