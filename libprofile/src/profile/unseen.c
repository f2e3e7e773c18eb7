// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* See pathprof/unseen.h. */
#include "pathprof/unseen.h"

#include <errno.h>
#include <math.h>

#define Z_BOTH_SIDES 1.959964 /* 95 % */
#define Z_ONE_SIDE   1.644854
#define RULE_OF_3    3.0

/* Sums over all paths. */
struct sums {
	double weight, marked, looks;
	double spread; /* of each path: how much worse its looks are for their unequal weights */
	double once;   /* weight of paths that one burst alone saw */
	double once_squares, twice_squares; /* of the weights of those that one, and two, saw */
};

static bool is_sound(const struct pathprof_unseen_path *p)
{
	return p->weight > 0 && p->weight <= 1e300 && p->weight_squares >= 0 &&
	       p->weight_squares <= 1e300 && p->looks >= 1 && p->looks <= 1e300;
}

static void add(struct sums *s, const struct pathprof_unseen_path *p)
{
	double square = p->weight * p->weight;

	s->weight += p->weight;
	s->marked += p->is_marked ? p->weight : 0;
	s->spread += p->weight * fmax(1, p->looks * p->weight_squares / square);
	s->looks += p->looks;
	/* Looks are whole where every burst saw the path equally often, and less otherwise. */
	if (p->looks < 1 + 1e-9) {
		s->once += p->weight;
		s->once_squares += square;
	} else if (p->looks < 2 + 1e-9) {
		s->twice_squares += square / 2;
	}
}

/* Wilson's, as interval_of_share() of pathprofctl has it. */
static struct pathprof_share interval(double share, double n)
{
	double z2 = Z_BOTH_SIDES * Z_BOTH_SIDES;
	double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
	double half =
		Z_BOTH_SIDES / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n));

	/* At the ends of the scale the bound is exact, and rounding is not. */
	return (struct pathprof_share){
		.value = share,
		.low = share > 0 ? fmax(0, middle - half) : 0,
		.high = share < 1 ? fmin(1, middle + half) : 1,
	};
}

static double paths_in_burst(const struct sums *s, uint64_t bursts)
{
	return fmax(1, s->looks / (double)bursts);
}

static struct pathprof_share share_of_marked(const struct sums *s, uint64_t bursts)
{
	double share = s->marked / s->weight;
	double n = (double)bursts * s->weight / s->spread;

	return interval(share, fmax(1, n));
}

static struct pathprof_share share_unseen(const struct sums *s, uint64_t bursts)
{
	double share = s->once / s->weight;
	double variance = paths_in_burst(s, bursts) * (s->once_squares + s->twice_squares);
	double high = share + Z_ONE_SIDE * sqrt(variance) / s->weight + RULE_OF_3 / (double)bursts;

	return (struct pathprof_share){.value = share, .low = 0, .high = fmin(1, high)};
}

int pathprof_unseen_work_out(const struct pathprof_unseen_path *paths, size_t path_cnt,
			     uint64_t bursts, struct pathprof_unseen *ret_unseen)
{
	struct pathprof_share unknown = {NAN, NAN, NAN};
	struct sums s = {0};
	double share;

	for (size_t i = 0; i < path_cnt; i++) {
		if (!is_sound(&paths[i]))
			return -EINVAL;
		add(&s, &paths[i]);
	}
	*ret_unseen = (struct pathprof_unseen){.marked = unknown, .unseen = unknown};
	if (!path_cnt)
		return 0;
	if (bursts) {
		ret_unseen->marked = share_of_marked(&s, bursts);
		ret_unseen->unseen = share_unseen(&s, bursts);
		return 0;
	}
	share = s.marked / s.weight;
	ret_unseen->marked = (struct pathprof_share){share, share, share};
	ret_unseen->unseen = (struct pathprof_share){0, 0, 0};
	return 0;
}
