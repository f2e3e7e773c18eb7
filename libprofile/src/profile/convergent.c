// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The core's convergent profilers, one a site, behind the library's interface. */
#include "pathprof/convergent.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../../core/pp_convergent.h"
#include "base/table.h"

#define PERCENT     (PP_CONVERGENT_ONE / 100)
#define BACKOFF_MAX (PP_CONVERGENT_BACKOFF_MAX / PERCENT)
#define INVARIANT   0.3 /* sites below are not looked into for their top values */

struct site {
	uint64_t key;
	uint64_t same, last;
	struct pp_convergent convergent;
	struct pp_tnv full;
};

struct pathprof_convergent {
	struct pp_convergent_config config;
	uint64_t seed;
	struct pp_keyed sites;
};

static int check(const struct pathprof_convergent_rules *r, struct pathprof_error *error)
{
	if (r->entries < 2 || r->entries > PP_TNV_MAX || r->entries % 2)
		return pathprof_fail(error, -EINVAL, "entries: %u is not an even number in 2..%u",
				     r->entries, PP_TNV_MAX);
	if (!r->clear || !r->interval)
		return pathprof_fail(error, -EINVAL, "an interval of no executions");
	if (r->increase > 100 || r->decrease > 100)
		return pathprof_fail(error, -EINVAL, "a bound above 100 %%");
	if (r->backoff > BACKOFF_MAX)
		return pathprof_fail(error, -EINVAL, "back-off: %u is above %u %%", r->backoff,
				     BACKOFF_MAX);
	return 0;
}

int pathprof_convergent_new(struct pathprof_convergent **ret_profile,
			    const struct pathprof_convergent_rules *rules,
			    struct pathprof_error *error)
{
	int r = check(rules, error);
	struct pathprof_convergent *p;

	if (r < 0)
		return r;
	p = calloc(1, sizeof(*p));
	if (!p)
		return pathprof_fail(error, -ENOMEM, "value profile: out of memory");
	p->config = (struct pp_convergent_config){
		.tnv = {.size = rules->entries, .clear = rules->clear},
		.interval = rules->interval,
		.increase = rules->increase * PERCENT,
		.decrease = rules->decrease * PERCENT,
		.backoff = rules->backoff * PERCENT,
		.random = rules->random,
	};
	p->seed = rules->seed;
	pp_keyed_init(&p->sites, sizeof(struct site), sizeof(uint64_t), PP_TABLE_MAX, 0);
	*ret_profile = p;
	return 0;
}

void pathprof_convergent_free(struct pathprof_convergent *profile)
{
	if (!profile)
		return;
	pp_keyed_release(&profile->sites);
	free(profile);
}

int pathprof_convergent_add(struct pathprof_convergent *profile, uint64_t key, uint64_t value)
{
	struct site *site;
	uint32_t number;
	int r = pp_keyed_at(&profile->sites, &key, &number);

	if (r < 0)
		return -ENOMEM;
	site = pp_keyed_item(&profile->sites, number);
	if (!site->convergent.executed)
		pp_convergent_init(&site->convergent, pp_hash_mix(profile->seed, number));
	else if (site->last == value)
		site->same++;
	site->last = value;
	pp_convergent_step(&site->convergent, &profile->config, value);
	pp_tnv_add(&site->full, &profile->config.tnv, value, 1);
	return 0;
}

uint32_t pathprof_convergent_cnt(const struct pathprof_convergent *profile)
{
	return profile->sites.cnt;
}

static struct pathprof_convergent_table read_table(const struct pp_tnv *tnv)
{
	struct pathprof_convergent_table table = {.profiled = tnv->profiled, .cnt = tnv->used};

	for (uint32_t i = 0; i < tnv->used; i++)
		table.values[i] = (struct pathprof_convergent_value){tnv->entry[i].value,
								     tnv->entry[i].count};
	return table;
}

void pathprof_convergent_read(const struct pathprof_convergent *profile, uint32_t number,
			      struct pathprof_convergent_site *ret_site)
{
	const struct site *site = pp_keyed_item(&profile->sites, number);

	*ret_site = (struct pathprof_convergent_site){
		.site = site->key,
		.executed = site->convergent.executed,
		.same = site->same,
		.convergent = read_table(&site->convergent.tnv),
		.full = read_table(&site->full),
	};
}

double pathprof_convergent_invariance(const struct pathprof_convergent_table *table, uint32_t cnt)
{
	uint64_t top = 0;

	for (uint32_t i = 0; i < cnt && i < table->cnt; i++)
		top += table->values[i].count;
	return table->profiled ? (double)top / (double)table->profiled : 0;
}

/* ---------------------------------------------------------------- what is lost */

static double difference(const struct pathprof_convergent_site *site, uint32_t cnt)
{
	return fabs(pathprof_convergent_invariance(&site->convergent, cnt) -
		    pathprof_convergent_invariance(&site->full, cnt)) *
	       (double)site->executed;
}

static bool holds(const struct pathprof_convergent_table *table, uint64_t value)
{
	for (uint32_t i = 0; i < table->cnt; i++)
		if (table->values[i].value == value)
			return true;
	return false;
}

/* The counts of top values in full tables, and of those that the convergent ones hold. */
struct found {
	uint64_t sought, found;
};

static void seek(struct found *f, const struct pathprof_convergent_site *site, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt && i < site->full.cnt; i++) {
		const struct pathprof_convergent_value *top = &site->full.values[i];

		f->sought += top->count;
		if (holds(&site->convergent, top->value))
			f->found += top->count;
	}
}

static double share(const struct found *f)
{
	return f->sought ? (double)f->found / (double)f->sought : NAN;
}

struct pathprof_convergent_cost pathprof_convergent_cost(const struct pathprof_convergent *profile)
{
	struct pathprof_convergent_cost cost = {0};
	const uint32_t n = profile->config.tnv.size;
	struct pathprof_convergent_site site;
	struct found find_1 = {0}, find_n = {0};

	for (uint32_t i = 0; i < profile->sites.cnt; i++) {
		pathprof_convergent_read(profile, i, &site);
		cost.executed += site.executed;
		cost.profiled += site.convergent.profiled;
		cost.diff_1 += difference(&site, 1);
		cost.diff_n += difference(&site, n);
		if (pathprof_convergent_invariance(&site.full, 1) <= INVARIANT)
			continue;
		seek(&find_1, &site, 1);
		seek(&find_n, &site, n);
	}
	if (cost.executed) {
		cost.diff_1 /= (double)cost.executed;
		cost.diff_n /= (double)cost.executed;
	}
	cost.find_1 = share(&find_1);
	cost.find_n = share(&find_n);
	return cost;
}
