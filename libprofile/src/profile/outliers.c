// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Outliers of a group: see outliers.h for the model.
 *
 * Shares lie in a table, a row an event and a column a member: what is worked out for an event
 * reads one row. Memory: 8 bytes an event and member, twice that while the table is moved.
 */
#include "pathprof/outliers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define EXPECTED_MIN 5           /* samples of an event a member; rarer ones are taken together */
#define ALONE_MIN    20          /* ... unless one member has so many of it */
#define TABLE_MAX    (64u << 20) /* shares */
#define SCATTER_MIN  50          /* samples of one from which a group's scatter can be seen */
#define PARTS_MAX    4           /* members of about as many samples are compared ... */
#define PART_MIN     100         /* ... where there are so many */
#define MAD_TO_SD    1.4826      /* of a normal distribution */
#define UPPER        0.9         /* quantile that gives the deviation of log T */
#define UPPER_SDS    1.2815515655446004 /* of a normal distribution */
/* The tail of log T is longer than a normal one where shares scatter widely: by so much, in
 * simulation. */
#define TAIL 1.1

struct ranked {
	size_t member;
	double by;
};

struct group {
	const struct pathprof_distribution *const *members;
	size_t cnt;
	size_t events;
	double *share;  /* [events][cnt] */
	double *pooled; /* [events]: share in all members together */
	size_t share_room, pooled_room;
	double *variance;      /* [events]: between members */
	double *samples;       /* [cnt] independent ones */
	double all;            /* sum of samples */
	double least;          /* share of an event that is frequent enough */
	double *scratch;       /* [cnt] */
	size_t *at;            /* [cnt] of the next event, while they are read */
	double *rare;          /* [cnt] */
	double *relative;      /* [events] */
	struct ranked *ranked; /* [cnt] */
};

static int order(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts values. */
static double quantile(double *values, size_t cnt, double at)
{
	double place = at * (double)(cnt - 1);
	size_t low = (size_t)place;

	qsort(values, cnt, sizeof(*values), order);
	if (low + 1 >= cnt)
		return values[cnt - 1];
	return values[low] + (place - (double)low) * (values[low + 1] - values[low]);
}

/* ---------------------------------------------------------------- the table */

static int weigh_members(struct group *g)
{
	for (size_t h = 0; h < g->cnt; h++) {
		if (!g->members[h]->counted || !(g->members[h]->total > 0))
			return -EDOM;
		g->samples[h] = pathprof_independent_samples(g->members[h]);
		g->all += g->samples[h];
	}
	g->least = EXPECTED_MIN * (double)g->cnt / g->all;
	return 0;
}

/* NULL: the member has no more. */
static const struct pathprof_event *event_at(const struct pathprof_distribution *member, size_t at)
{
	return at < member->cnt ? &member->events[at] : NULL;
}

/* The members' next event in order of keys, its shares in row; false: there is no other. */
static bool next_event(const struct group *g, size_t *at, double *row)
{
	const struct pathprof_event *first = NULL;

	for (size_t h = 0; h < g->cnt; h++) {
		const struct pathprof_event *event = event_at(g->members[h], at[h]);

		if (event && (!first || pathprof_event_order(event, first) < 0))
			first = event;
	}
	if (!first)
		return false;
	for (size_t h = 0; h < g->cnt; h++) {
		const struct pathprof_event *event = event_at(g->members[h], at[h]);
		bool has = event && pathprof_event_order(event, first) == 0;

		row[h] = has ? event->weight / (double)g->members[h]->total : 0;
		at[h] += has;
	}
	return true;
}

static double pool(const struct group *g, const double *row)
{
	double sum = 0;

	for (size_t h = 0; h < g->cnt; h++)
		sum += row[h] * g->samples[h];
	return sum / g->all;
}

static bool is_frequent(const struct group *g, const double *row)
{
	if (pool(g, row) >= g->least)
		return true;
	for (size_t h = 0; h < g->cnt; h++)
		if (row[h] * g->samples[h] >= ALONE_MIN)
			return true;
	return false;
}

static int add_event(struct group *g, const double *row)
{
	if (pp_reserve(&g->share, (g->events + 1) * g->cnt, &g->share_room) < 0 ||
	    pp_grow(&g->pooled, g->events, &g->pooled_room) < 0)
		return -ENOMEM;
	memcpy(&g->share[g->events * g->cnt], row, g->cnt * sizeof(*row));
	g->pooled[g->events++] = pool(g, row);
	return 0;
}

/* An event a row; all rare ones share the last. */
static int fill(struct group *g)
{
	double *row = g->scratch, *rare = g->rare;
	int r = 0;

	while (r == 0 && next_event(g, g->at, row)) {
		if (g->events * g->cnt < TABLE_MAX && is_frequent(g, row)) {
			r = add_event(g, row);
			continue;
		}
		for (size_t h = 0; h < g->cnt; h++)
			rare[h] += row[h];
	}
	if (r == 0 && pool(g, rare) >= g->least)
		r = add_event(g, rare);
	return r == 0 && g->events < 2 ? -ENODATA : r;
}

/* ---------------------------------------------------------------- how members scatter */

static double chance_variance(const struct group *g, double share, size_t member)
{
	return share * (1 - share) / g->samples[member];
}

/* The variance of one event's share between members, beyond chance, from the median distance. */
static double scatter(const struct group *g, size_t event)
{
	const double *row = &g->share[event * g->cnt], share = g->pooled[event];
	double middle, spread, chance;

	memcpy(g->scratch, row, g->cnt * sizeof(*row));
	middle = quantile(g->scratch, g->cnt, 0.5);
	for (size_t h = 0; h < g->cnt; h++)
		g->scratch[h] = fabs(row[h] - middle);
	spread = MAD_TO_SD * quantile(g->scratch, g->cnt, 0.5);
	for (size_t h = 0; h < g->cnt; h++)
		g->scratch[h] = chance_variance(g, share, h);
	chance = quantile(g->scratch, g->cnt, 0.5);
	return fmax(spread * spread - chance, 0);
}

/* The variance relative to the share that is typical of events seen often enough. */
static double typical(const struct group *g)
{
	double least = SCATTER_MIN * (double)g->cnt / g->all;
	size_t cnt = 0;

	for (size_t i = 0; i < g->events; i++)
		if (g->pooled[i] >= least)
			g->relative[cnt++] = g->variance[i] / (g->pooled[i] * g->pooled[i]);
	return cnt ? quantile(g->relative, cnt, 0.5) : 0;
}

static int weigh_events(struct group *g)
{
	double relative;

	g->variance = calloc(g->events, sizeof(*g->variance));
	g->relative = calloc(g->events, sizeof(*g->relative));
	if (!g->variance || !g->relative)
		return -ENOMEM;
	for (size_t i = 0; i < g->events; i++)
		g->variance[i] = scatter(g, i);
	relative = typical(g);
	for (size_t i = 0; i < g->events; i++)
		g->variance[i] = fmax(g->variance[i], relative * g->pooled[i] * g->pooled[i]);
	return 0;
}

/*
 * The share m by which chance is told. Of an event that all others run always, or never, it is that
 * of one just frequent enough: m (1 - m) must stay above 0, however m is rounded.
 */
static double share_for_chance(const struct group *g, double m)
{
	double least = fmin(g->least, 0.5);

	return fmin(fmax(m, least), 1 - least);
}

static double distance(const struct group *g, size_t member)
{
	double rest = g->all - g->samples[member], sum = 0;

	for (size_t i = 0; i < g->events; i++) {
		double p = g->share[i * g->cnt + member];
		double m = (g->pooled[i] * g->all - p * g->samples[member]) / rest;
		double variance = chance_variance(g, share_for_chance(g, m), member);

		sum += (p - m) * (p - m) / (variance + g->variance[i]);
	}
	return sum / (double)g->events;
}

/* ---------------------------------------------------------------- who is one */

static int order_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->by > y->by) - (x->by < y->by);
}

/* Fits a normal distribution to log T of some members, and sets how unlikely each one's is. */
static void judge(const struct group *g, const struct ranked *ranked, size_t cnt,
		  struct pathprof_outlier *outliers)
{
	double middle, upper, deviation;

	for (size_t i = 0; i < cnt; i++)
		g->scratch[i] = log(fmax(outliers[ranked[i].member].distance, 1e-300));
	middle = quantile(g->scratch, cnt, 0.5);
	upper = quantile(g->scratch, cnt, UPPER);
	/* At least that of a chi-square's logarithm. */
	deviation = fmax(TAIL * (upper - middle) / UPPER_SDS, sqrt(2 / (double)g->events));
	for (size_t i = 0; i < cnt; i++) {
		struct pathprof_outlier *o = &outliers[ranked[i].member];
		double off = log(fmax(o->distance, 1e-300)) - middle;

		o->chance = erfc(off / deviation / M_SQRT2) / 2;
	}
}

static void judge_all(const struct group *g, struct pathprof_outlier *outliers)
{
	struct ranked *ranked = g->ranked;
	size_t parts = g->cnt / PART_MIN < 1 ? 1 : g->cnt / PART_MIN;

	if (parts > PARTS_MAX)
		parts = PARTS_MAX;

	for (size_t h = 0; h < g->cnt; h++)
		ranked[h] = (struct ranked){h, g->samples[h]};
	qsort(ranked, g->cnt, sizeof(*ranked), order_ranked);
	for (size_t i = 0; i < parts; i++) {
		size_t from = i * g->cnt / parts, to = (i + 1) * g->cnt / parts;

		judge(g, ranked + from, to - from, outliers);
	}
}

/* Benjamini and Hochberg: the most of the least likely ones, so that few of them are chance. */
static void find(const struct group *g, double false_discoveries, struct pathprof_outlier *outliers)
{
	struct ranked *ranked = g->ranked;
	size_t found = 0;

	for (size_t h = 0; h < g->cnt; h++)
		ranked[h] = (struct ranked){h, outliers[h].chance};
	qsort(ranked, g->cnt, sizeof(*ranked), order_ranked);
	for (size_t i = 0; i < g->cnt; i++)
		if (ranked[i].by <= false_discoveries * (double)(i + 1) / (double)g->cnt)
			found = i + 1;
	for (size_t i = 0; i < found; i++)
		outliers[ranked[i].member].found = true;
}

static int weigh(struct group *g)
{
	int r = weigh_members(g);

	if (r == 0)
		r = fill(g);
	return r == 0 ? weigh_events(g) : r;
}

static void work_out(const struct group *g, double false_discoveries,
		     struct pathprof_outlier *ret_outliers)
{
	for (size_t h = 0; h < g->cnt; h++)
		ret_outliers[h] = (struct pathprof_outlier){.samples = g->samples[h],
							    .distance = distance(g, h)};
	judge_all(g, ret_outliers);
	find(g, false_discoveries, ret_outliers);
}

/* ---------------------------------------------------------------- memory */

static int allocate(struct group *g)
{
	g->samples = calloc(g->cnt, sizeof(*g->samples));
	g->scratch = calloc(g->cnt, sizeof(*g->scratch));
	g->at = calloc(g->cnt, sizeof(*g->at));
	g->rare = calloc(g->cnt, sizeof(*g->rare));
	g->ranked = calloc(g->cnt, sizeof(*g->ranked));
	return g->samples && g->scratch && g->at && g->rare && g->ranked ? 0 : -ENOMEM;
}

static void release(struct group *g)
{
	free(g->samples);
	free(g->scratch);
	free(g->at);
	free(g->rare);
	free(g->ranked);
	free(g->share);
	free(g->pooled);
	free(g->variance);
	free(g->relative);
}

int pathprof_outliers_find(struct pathprof_outlier *ret_outliers,
			   const struct pathprof_distribution *const *members, size_t cnt,
			   double false_discoveries)
{
	struct group g = {.members = members, .cnt = cnt};
	int r;

	if (!(false_discoveries >= 0 && false_discoveries <= 0.5))
		return -EINVAL;
	if (cnt < PATHPROF_OUTLIERS_MEMBERS_MIN)
		return -ENODATA;
	r = allocate(&g);
	if (r == 0)
		r = weigh(&g);
	if (r == 0)
		work_out(&g, false_discoveries, ret_outliers);
	release(&g);
	return r;
}
