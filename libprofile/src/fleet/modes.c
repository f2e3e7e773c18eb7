// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * In which different ways the hosts of a group run a build: see fleet.h.
 *
 * Bregman k-means (Banerjee and others, 2005) with relative entropy: a host belongs to the mode
 * from whose mean it is least far, and a mode's mean is that of its hosts. Means are smoothed by a
 * twentieth of the mean of all hosts, so that no distance is infinite. It begins with one mean, of
 * all hosts; each further one begins at the host that is farthest from those there are, up to
 * MEANS_MAX. The greatest number of modes that hold is taken.
 *
 * Workload: once a question; 1,000 hosts with 1,700 paths each take 0.8 s. Memory: 16 bytes a path
 * and host, and 16 a path and mean.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pp_fleet.h"

#define MEANS_MAX   PATHPROF_MODES_MAX /* modes, and hosts that are like no other */
#define ROUNDS_MAX  50
#define SMOOTHED_BY 0.05
/* How many times nearer a host is to its own mode. Few hosts that scatter in one direction alone
 * may fall into two parts by chance. */
#define NEARER        4
#define NEARER_OF_FEW 6
/* Nine of ten hosts of a mode are nearest to it. At most one host, or one of ten, is alone. */
#define OF_TEN 9
#define TEN    10

/* A host's share of one event. */
struct share {
	uint32_t event;
	double share;
};

struct host {
	struct share *shares;
	size_t cnt;
	double bits;    /* sum of share * log2 share */
	double count;   /* what it counts for in a mean */
	double samples; /* independent ones */
	double chance;  /* bits, from what it runs: its samples are finite */
};

/* The sum of some hosts, and the logarithm of each event's smoothed share of it. */
struct mean {
	double *sums, *logs;
	double count, samples;
	size_t host_cnt;
};

struct work {
	const struct pathprof_fleet_group *group;
	struct host *hosts;
	size_t cnt;
	size_t event_cnt;
	double *all; /* shares of all hosts together */
	struct mean means[MEANS_MAX];
	size_t mean_cnt;
	int *mean_of; /* of each host */
};

/* ---------------------------------------------------------------- events as numbers */

static int order_events(const void *a, const void *b)
{
	return pathprof_event_order(a, b);
}

/* The events that any host has, each once. The caller frees. */
static struct pathprof_event *list_events(const struct pathprof_fleet_group *group, size_t *ret_cnt)
{
	struct pathprof_event *events;
	size_t room = 0, cnt = 0, kept = 0;

	for (size_t i = 0; i < group->member_cnt; i++)
		room += group->members[i].distribution.cnt;
	events = calloc(room + 1, sizeof(*events));
	if (!events)
		return NULL;
	for (size_t i = 0; i < group->member_cnt; i++) {
		const struct pathprof_distribution *d = &group->members[i].distribution;

		for (size_t e = 0; e < d->cnt; e++)
			if (d->events[e].weight > 0)
				events[cnt++] = d->events[e];
	}
	qsort(events, cnt, sizeof(*events), order_events);
	for (size_t i = 0; i < cnt; i++)
		if (!kept || pathprof_event_order(&events[kept - 1], &events[i]) != 0)
			events[kept++] = events[i];
	*ret_cnt = kept;
	return events;
}

/* Both are in the order of keys. */
static int take_host(struct host *host, const struct pathprof_distribution *from,
		     const struct pathprof_event *events)
{
	size_t event = 0;

	host->shares = calloc(from->cnt + 1, sizeof(*host->shares));
	if (!host->shares)
		return -ENOMEM;
	for (size_t e = 0; e < from->cnt; e++) {
		double share = from->events[e].weight / (double)from->total;

		if (!(share > 0))
			continue;
		while (pathprof_event_order(&events[event], &from->events[e]) != 0)
			event++;
		host->shares[host->cnt++] = (struct share){(uint32_t)event, share};
		host->bits += share * log2(share);
	}
	host->count = (double)from->total;
	host->samples = pathprof_independent_samples(from);
	return 0;
}

static int order_doubles(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* A host counts by its samples, at most by those of the host in the middle. */
static int limit_counts(struct work *work)
{
	double *counts = calloc(work->cnt, sizeof(*counts));
	double middle;

	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < work->cnt; i++)
		counts[i] = work->hosts[i].count;
	qsort(counts, work->cnt, sizeof(*counts), order_doubles);
	middle = counts[work->cnt / 2];
	free(counts);
	for (size_t i = 0; i < work->cnt; i++)
		work->hosts[i].count = fmin(work->hosts[i].count, middle);
	return 0;
}

static int take_hosts(struct work *work)
{
	struct pathprof_event *events = list_events(work->group, &work->event_cnt);
	int r = events ? 0 : -ENOMEM;

	work->hosts = calloc(work->group->member_cnt, sizeof(*work->hosts));
	if (!work->hosts)
		r = -ENOMEM;
	for (; r == 0 && work->cnt < work->group->member_cnt; work->cnt++)
		r = take_host(&work->hosts[work->cnt],
			      &work->group->members[work->cnt].distribution, events);
	free(events);
	return r == 0 ? limit_counts(work) : r;
}

/* ---------------------------------------------------------------- means */

static void add_to(double *sums, const struct host *host, double by)
{
	for (size_t i = 0; i < host->cnt; i++)
		sums[host->shares[i].event] += host->shares[i].share * by;
}

static double smoothed(const struct work *work, double share, size_t event)
{
	return (1 - SMOOTHED_BY) * share + SMOOTHED_BY * work->all[event];
}

static void clear_mean(const struct work *work, struct mean *mean)
{
	memset(mean->sums, 0, work->event_cnt * sizeof(*mean->sums));
	mean->count = mean->samples = 0;
	mean->host_cnt = 0;
}

static void add_host(struct mean *mean, const struct host *host)
{
	add_to(mean->sums, host, host->count);
	mean->count += host->count;
	mean->samples += host->samples;
	mean->host_cnt++;
}

static void end_mean(const struct work *work, struct mean *mean)
{
	for (size_t e = 0; mean->host_cnt && e < work->event_cnt; e++)
		mean->logs[e] = log2(smoothed(work, mean->sums[e] / mean->count, e));
}

static double distance(const struct host *host, const struct mean *mean)
{
	double bits = host->bits;

	for (size_t i = 0; i < host->cnt; i++)
		bits -= host->shares[i].share * mean->logs[host->shares[i].event];
	return bits;
}

/* From the other hosts of its own mean; INFINITY: there is none. */
static double distance_of_own(const struct work *work, const struct host *host,
			      const struct mean *own)
{
	double count = own->count - host->count, bits = host->bits;

	if (own->host_cnt < 2)
		return INFINITY;
	for (size_t i = 0; i < host->cnt; i++) {
		const struct share *share = &host->shares[i];
		double sum = fmax(own->sums[share->event] - share->share * host->count, 0);

		bits -= share->share * log2(smoothed(work, sum / count, share->event));
	}
	return bits;
}

/*
 * Finite samples add to a relative entropy (Miller and Madow, 1955): 1 / (2 n ln 2) bits an
 * event, and less for one that is expected less than once.
 */
static double bits_of_chance(const struct work *work, const struct host *host)
{
	double events = 0;

	for (size_t e = 0; e < work->event_cnt; e++) {
		double expected = host->samples * work->all[e];

		events += fmin(2 * expected * log1p(1 / expected), 1);
	}
	return fmax(events - 1, 1) / (2 * M_LN2 * host->samples);
}

static int make_means(struct work *work)
{
	double count = 0;

	work->all = calloc(work->event_cnt + 1, sizeof(*work->all));
	work->mean_of = calloc(work->cnt + 1, sizeof(*work->mean_of));
	if (!work->all || !work->mean_of)
		return -ENOMEM;
	for (size_t i = 0; i < MEANS_MAX; i++) {
		work->means[i].sums = calloc(work->event_cnt + 1, sizeof(double));
		work->means[i].logs = calloc(work->event_cnt + 1, sizeof(double));
		if (!work->means[i].sums || !work->means[i].logs)
			return -ENOMEM;
	}
	for (size_t i = 0; i < work->cnt; i++) {
		add_to(work->all, &work->hosts[i], work->hosts[i].count);
		count += work->hosts[i].count;
	}
	for (size_t e = 0; e < work->event_cnt; e++)
		work->all[e] /= count;
	for (size_t i = 0; i < work->cnt; i++)
		work->hosts[i].chance = bits_of_chance(work, &work->hosts[i]);
	return 0;
}

static void release(struct work *work)
{
	for (size_t i = 0; work->hosts && i < work->group->member_cnt; i++)
		free(work->hosts[i].shares);
	for (size_t i = 0; i < MEANS_MAX; i++) {
		free(work->means[i].sums);
		free(work->means[i].logs);
	}
	free(work->hosts);
	free(work->all);
	free(work->mean_of);
}

/* ---------------------------------------------------------------- k-means */

/* ret_bits NULL: not wanted. */
static int nearest(const struct work *work, const struct host *host, double *ret_bits)
{
	double least = INFINITY;
	int at = -1;

	for (size_t m = 0; m < work->mean_cnt; m++) {
		double bits = work->means[m].host_cnt ? distance(host, &work->means[m]) : INFINITY;

		if (bits < least) {
			least = bits;
			at = (int)m;
		}
	}
	if (ret_bits)
		*ret_bits = least;
	return at;
}

static void sum_up(struct work *work)
{
	for (size_t m = 0; m < work->mean_cnt; m++)
		clear_mean(work, &work->means[m]);
	for (size_t i = 0; i < work->cnt; i++)
		add_host(&work->means[work->mean_of[i]], &work->hosts[i]);
	for (size_t m = 0; m < work->mean_cnt; m++)
		end_mean(work, &work->means[m]);
}

static void settle(struct work *work)
{
	bool moved = true;

	for (int round = 0; moved && round < ROUNDS_MAX; round++) {
		moved = false;
		for (size_t i = 0; i < work->cnt; i++) {
			int at = nearest(work, &work->hosts[i], NULL);

			moved |= at != work->mean_of[i];
			work->mean_of[i] = at;
		}
		sum_up(work);
	}
}

/* The host that is farthest from the means there are, beyond chance. */
static const struct host *farthest(const struct work *work)
{
	const struct host *at = &work->hosts[0];
	double most = -INFINITY;

	for (size_t i = 0; i < work->cnt; i++) {
		double bits;

		nearest(work, &work->hosts[i], &bits);
		bits -= work->hosts[i].chance;
		if (bits > most) {
			most = bits;
			at = &work->hosts[i];
		}
	}
	return at;
}

/* One more mean. It begins half way to that of all hosts: what one host ran alone is too little for
 * others to be near to it. */
static void add_mean(struct work *work)
{
	const struct host *from = farthest(work);
	struct mean *mean = &work->means[work->mean_cnt];

	clear_mean(work, mean);
	add_to(mean->sums, from, 0.5);
	mean->host_cnt = 1;
	for (size_t e = 0; e < work->event_cnt; e++)
		mean->logs[e] = log2(mean->sums[e] + work->all[e] / 2);
	work->mean_cnt++;
	settle(work);
}

/* ---------------------------------------------------------------- whether modes hold */

static bool is_mode(const struct work *work, int mean)
{
	return work->means[mean].host_cnt > 1;
}

/* From the nearest mode but its own; INFINITY, and *ret_other NULL: there is none. */
static double distance_of_others(const struct work *work, const struct host *host,
				 const struct mean *own, const struct mean **ret_other)
{
	double least = INFINITY;

	*ret_other = NULL;
	for (size_t m = 0; m < work->mean_cnt; m++) {
		double bits = &work->means[m] != own && is_mode(work, (int)m)
				      ? distance(host, &work->means[m])
				      : INFINITY;

		if (bits < least) {
			least = bits;
			*ret_other = &work->means[m];
		}
	}
	return least;
}

/* A host is not known to be nearer to its own mode than by two standard deviations of chance. */
static bool is_well_placed(const struct work *work, size_t at)
{
	const struct host *host = &work->hosts[at];
	const struct mean *own = &work->means[work->mean_of[at]], *other;
	double factor = work->cnt < PATHPROF_OUTLIERS_MEMBERS_MIN ? NEARER_OF_FEW : NEARER;
	double chance = host->chance * own->samples / (own->samples - host->samples);
	double own_bits = distance_of_own(work, host, own) - chance;
	double other_bits = distance_of_others(work, host, own, &other);

	if (other)
		other_bits -= host->chance * (1 + host->samples / other->samples);
	own_bits = fmax(own_bits, 2 * chance * sqrt(2.0 / (double)host->cnt));
	return other_bits >= PATHPROF_MODE_BITS_MIN && other_bits > factor * own_bits;
}

/* How many modes there are; 0: they do not hold. */
static size_t count_modes(const struct work *work)
{
	size_t placed[MEANS_MAX] = {0}, modes = 0, alone = 0;

	for (size_t i = 0; i < work->cnt; i++)
		if (is_mode(work, work->mean_of[i]))
			placed[work->mean_of[i]] += is_well_placed(work, i);
		else
			alone++;
	for (size_t m = 0; m < work->mean_cnt; m++) {
		if (!is_mode(work, (int)m))
			continue;
		if (placed[m] * TEN < work->means[m].host_cnt * OF_TEN)
			return 0;
		modes++;
	}
	return alone > 1 && alone * TEN > work->cnt ? 0 : modes;
}

/* ---------------------------------------------------------------- the answer */

static int heavier(const void *a, const void *b)
{
	const struct pathprof_mode *x = a, *y = b;

	return (x->share < y->share) - (x->share > y->share);
}

static double distance_of_means(const struct work *work, int a, int b)
{
	const struct mean *mean = &work->means[a];
	double bits = 0;

	for (size_t e = 0; e < work->event_cnt; e++) {
		double share = mean->sums[e] / mean->count;

		if (share > 0)
			bits += share * (log2(share) - work->means[b].logs[e]);
	}
	return bits;
}

static double nearest_mode(const struct work *work, int own)
{
	double least = INFINITY;

	for (int m = 0; m < (int)work->mean_cnt; m++)
		if (m != own && is_mode(work, m))
			least = fmin(least, distance_of_means(work, own, m));
	return least;
}

static double weigh_mode(const struct work *work, int mean)
{
	double own = 0, all = 0;

	for (size_t i = 0; i < work->cnt; i++) {
		all += work->group->members[i].weight;
		own += work->mean_of[i] == mean ? work->group->members[i].weight : 0;
	}
	return all > 0 ? own / all : 0;
}

static void place_hosts(struct pathprof_modes *modes, const struct work *work)
{
	modes->alone_cnt = 0;
	for (size_t i = 0; i < work->cnt; i++) {
		modes->mode_of[i] = -1;
		for (size_t m = 0; m < modes->cnt; m++)
			if (modes->list[m].mean == work->mean_of[i])
				modes->mode_of[i] = (int)m;
		modes->alone_cnt += modes->mode_of[i] < 0;
	}
}

static void take_modes(struct pathprof_modes *modes, const struct work *work)
{
	modes->cnt = 0;
	for (int m = 0; m < (int)work->mean_cnt; m++)
		if (is_mode(work, m))
			modes->list[modes->cnt++] =
				(struct pathprof_mode){.host_cnt = work->means[m].host_cnt,
						       .share = weigh_mode(work, m),
						       .bits = nearest_mode(work, m),
						       .mean = m};
	qsort(modes->list, modes->cnt, sizeof(modes->list[0]), heavier);
	place_hosts(modes, work);
}

static void all_alike(struct pathprof_modes *modes, const struct pathprof_fleet_group *group)
{
	modes->cnt = 1;
	modes->list[0] =
		(struct pathprof_mode){.host_cnt = group->member_cnt, .share = 1, .bits = INFINITY};
}

static int find(struct work *work, struct pathprof_modes *modes)
{
	int r = take_hosts(work);

	if (r == 0)
		r = make_means(work);
	if (r < 0)
		return r;
	work->mean_cnt = 1;
	sum_up(work);
	while (work->mean_cnt < MEANS_MAX && work->mean_cnt < work->cnt) {
		add_mean(work);
		if (count_modes(work) > modes->cnt)
			take_modes(modes, work);
	}
	return 0;
}

int pathprof_modes_find(struct pathprof_modes *ret_modes, const struct pathprof_fleet_group *group)
{
	struct work work = {.group = group};
	int r = 0;

	*ret_modes = (struct pathprof_modes){.cnt = 0};
	if (group->member_cnt < PATHPROF_MODES_HOSTS_MIN)
		return 0;
	ret_modes->mode_of = calloc(group->member_cnt, sizeof(*ret_modes->mode_of));
	if (!ret_modes->mode_of)
		return -ENOMEM;
	all_alike(ret_modes, group);
	r = find(&work, ret_modes);
	release(&work);
	return r;
}

void pathprof_modes_release(struct pathprof_modes *modes)
{
	free(modes->mode_of);
	*modes = (struct pathprof_modes){.cnt = 0};
}
