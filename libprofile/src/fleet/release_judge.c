// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* A build held against the build before, host by host: see fleet.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/portable.h"
#include "pp_fleet.h"

/* The members of a build that are held against others. */
struct part {
	const struct pathprof_fleet_group *group;
	const struct pathprof_fleet_member *members[PATHPROF_RELEASE_MEMBERS_MAX];
	struct pathprof_portable *portable;
	size_t cnt;
};

struct nearest {
	double bits, low_bits, high_bits;
};

struct judging {
	struct part now, before;
	struct nearest nearest[PATHPROF_RELEASE_MEMBERS_MAX]; /* of now's */
	double matched;                                       /* sum of shares */
	size_t pair_cnt;                                      /* of them */
};

/* ---------------------------------------------------------------- who is held against whom */

static double samples_of(const struct pathprof_fleet_member *member)
{
	return (double)member->distribution.total;
}

/* Keeps the members with the most samples, by insertion: there are a few dozen. */
static void choose(struct part *part)
{
	for (size_t i = 0; i < part->group->member_cnt; i++) {
		const struct pathprof_fleet_member *member = &part->group->members[i];
		size_t at = part->cnt;

		if (at == PATHPROF_RELEASE_MEMBERS_MAX &&
		    samples_of(part->members[--at]) >= samples_of(member))
			continue;
		for (; at && samples_of(part->members[at - 1]) < samples_of(member); at--)
			part->members[at] = part->members[at - 1];
		part->members[at] = member;
		part->cnt += part->cnt < PATHPROF_RELEASE_MEMBERS_MAX;
	}
}

static int open_part(struct part *part, const struct pathprof_fleet_group *group,
		     struct pathprof_store *store, struct pathprof_error *error)
{
	part->group = group;
	choose(part);
	part->portable = pathprof_portable_new(&group->id);
	if (!part->portable)
		return -ENOMEM;
	return pathprof_portable_load(part->portable, store, error);
}

static bool is_enough(const struct judging *j)
{
	return j->now.cnt && j->before.cnt >= PATHPROF_FLEET_HOSTS_MIN &&
	       j->now.portable->functions && j->before.portable->functions;
}

/* ---------------------------------------------------------------- distances */

static void take_nearer(struct nearest *nearest, const struct pathprof_drift *drift)
{
	if (drift->kl_corrected_bits < nearest->bits)
		*nearest = (struct nearest){drift->kl_corrected_bits, drift->kl_low_bits,
					    drift->kl_high_bits};
}

/* -ENODATA: they have nothing in common that could be compared. */
static int measure_builds(struct judging *j, struct pathprof_drift *ret_drift,
			  const struct pathprof_fleet_member *now,
			  const struct pathprof_fleet_member *before)
{
	struct pathprof_portable_pair pair;
	struct pathprof_distribution window, base;
	int r = pathprof_portable_pair(&pair, &now->tally, j->now.portable, &before->tally,
				       j->before.portable);

	if (r < 0)
		return r;
	window = pathprof_tally_distribution(&pair.window);
	base = pathprof_tally_distribution(&pair.base);
	r = window.total < PATHPROF_FLEET_SAMPLES_MIN || base.total < PATHPROF_FLEET_SAMPLES_MIN
		    ? -ENODATA
		    : pp_fleet_measure(ret_drift, &window, &base);
	j->matched += pair.matched;
	j->pair_cnt++;
	pathprof_portable_pair_release(&pair);
	return r;
}

/* The distance of a host of the new build from those of the build before. */
static int measure_new(struct judging *j, size_t at)
{
	j->nearest[at] = (struct nearest){INFINITY, 0, INFINITY};
	for (size_t i = 0; i < j->before.cnt; i++) {
		struct pathprof_drift drift;
		int r = measure_builds(j, &drift, j->now.members[at], j->before.members[i]);

		if (r < 0 && r != -ENODATA)
			return r;
		if (r == 0)
			take_nearer(&j->nearest[at], &drift);
	}
	return 0;
}

/* How far hosts of the build before mostly are from the one most like them. */
static int measure_usual(const struct part *before, double *ret_bits)
{
	double bits[PATHPROF_RELEASE_MEMBERS_MAX];

	for (size_t i = 0; i < before->cnt; i++) {
		struct nearest nearest = {INFINITY, 0, INFINITY};

		for (size_t k = 0; k < before->cnt; k++) {
			struct pathprof_drift drift;
			int r = k == i ? 0
				       : pp_fleet_measure(&drift, &before->members[i]->distribution,
							  &before->members[k]->distribution);

			if (r < 0)
				return r;
			if (k != i)
				take_nearer(&nearest, &drift);
		}
		bits[i] = nearest.bits;
	}
	*ret_bits = pp_fleet_usual(bits, before->cnt);
	return 0;
}

/* ---------------------------------------------------------------- the verdict */

static int order_nearest(const void *a, const void *b)
{
	const struct nearest *x = a, *y = b;

	return (x->bits > y->bits) - (x->bits < y->bits);
}

/* Hosts with nothing to compare say nothing; bits are infinite there. */
static void decide(struct judging *j, struct pathprof_release_verdict *v)
{
	size_t cnt = 0;

	for (size_t i = 0; i < j->now.cnt; i++) {
		if (!isfinite(j->nearest[i].bits))
			continue;
		v->out +=
			pp_fleet_is_out(j->nearest[i].low_bits, j->nearest[i].bits, v->usual_bits);
		v->samples += samples_of(j->now.members[i]);
		j->nearest[cnt++] = j->nearest[i];
	}
	v->hosts = cnt;
	v->before_hosts = j->before.cnt;
	v->matched = j->pair_cnt ? j->matched / (double)j->pair_cnt : 0;
	v->judged = cnt > 0;
	v->found = 2 * v->out > cnt;
	if (!cnt)
		return;
	qsort(j->nearest, cnt, sizeof(j->nearest[0]), order_nearest);
	v->bits = j->nearest[(cnt - 1) / 2].bits;
	v->low_bits = j->nearest[(cnt - 1) / 2].low_bits;
	v->high_bits = j->nearest[(cnt - 1) / 2].high_bits;
}

static int join_members(struct pathprof_tally *sum, const struct part *part)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < part->cnt; i++)
		r = pathprof_tally_join(sum, &part->members[i]->tally);
	return r;
}

static int find_terms(const struct judging *j, struct pp_fleet_terms *ret_terms)
{
	struct pathprof_tally now = {.events = NULL}, before = {.events = NULL};
	struct pathprof_portable_pair pair = {.matched = 0};
	struct pathprof_distribution window, base;
	int r = join_members(&now, &j->now);

	if (r == 0)
		r = join_members(&before, &j->before);
	if (r == 0)
		r = pathprof_portable_pair(&pair, &now, j->now.portable, &before,
					   j->before.portable);
	if (r == 0) {
		window = pathprof_tally_distribution(&pair.window);
		base = pathprof_tally_distribution(&pair.base);
		r = pp_fleet_terms(ret_terms, &window, &base);
	}
	pathprof_portable_pair_release(&pair);
	pathprof_tally_release(&now);
	pathprof_tally_release(&before);
	return r;
}

/* In which functions: of both builds together. */
static int find_moved(const struct judging *j, struct pathprof_store *store,
		      struct pathprof_release_verdict *v, struct pathprof_error *error)
{
	struct pp_fleet_terms terms = {.cnt = 0};
	int r = find_terms(j, &terms);

	if (r == 0)
		r = pp_fleet_name_portable(&terms, store, &j->now.group->id, error);
	if (r == 0)
		r = pp_fleet_name_portable(&terms, store, &j->before.group->id, error);
	if (r == 0)
		v->moved_cnt = pp_fleet_join(v->moved, &terms);
	return r;
}

static int judge(struct judging *j, struct pathprof_store *store,
		 struct pathprof_release_verdict *v, struct pathprof_error *error)
{
	int r = measure_usual(&j->before, &v->usual_bits);

	for (size_t i = 0; r == 0 && i < j->now.cnt; i++)
		r = measure_new(j, i);
	if (r < 0)
		return r;
	decide(j, v);
	return v->found ? find_moved(j, store, v, error) : 0;
}

int pathprof_release_judge(struct pathprof_release_verdict *ret_verdict,
			   struct pathprof_store *store, const struct pathprof_fleet_group *now,
			   const struct pathprof_fleet_group *before, struct pathprof_error *error)
{
	struct judging *j = calloc(1, sizeof(*j));
	int r;

	*ret_verdict = (struct pathprof_release_verdict){.judged = false};
	if (!j)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	r = open_part(&j->now, now, store, error);
	if (r == 0)
		r = open_part(&j->before, before, store, error);
	if (r == 0 && is_enough(j))
		r = judge(j, store, ret_verdict, error);
	pathprof_portable_unref(j->now.portable);
	pathprof_portable_unref(j->before.portable);
	free(j);
	if (r == -ENOMEM)
		pathprof_fail(error, r, "%s: out of memory", now->name);
	return r;
}
