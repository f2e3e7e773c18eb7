// SPDX-License-Identifier: GPL-2.0-or-later
#include "oracle_tnv.h"

#include "oracle_compress.h"

void oracle_tnv_init(struct oracle_tnv *t, const struct oracle_tnv_config *config, uint64_t *random)
{
	*t = (struct oracle_tnv){.config = *config, .random = random};
}

/* Greatest count first; what is level keeps its order. */
static void sort_list(struct oracle_tnv *t)
{
	for (size_t round = 0; round < t->cnt; round++) {
		for (size_t i = 1; i < t->cnt; i++) {
			struct oracle_value *a = &t->list[i - 1], *b = &t->list[i], kept = *a;

			if (a->count > b->count ||
			    (a->count == b->count && !t->config.unstable_ties))
				continue;
			*a = *b;
			*b = kept;
		}
	}
}

static void insert(struct oracle_tnv *t, uint64_t value, uint64_t count)
{
	size_t i = 0;

	while (i < t->cnt && t->list[i].value != value)
		i++;
	if (i < t->cnt) {
		t->list[i].count += count;
	} else {
		if (t->cnt == t->config.size)
			t->cnt--; /* the least frequent one goes */
		t->list[t->cnt++] = (struct oracle_value){value, count};
	}
	sort_list(t);
}

static void clear_bottom(struct oracle_tnv *t)
{
	size_t half = t->config.size / 2;
	uint64_t middle = t->cnt >= half ? t->list[half - 1].count : 0;
	uint64_t interval = t->config.clear;

	if (interval < 2 * middle)
		interval = 2 * middle;
	if (t->since_clear < interval || t->config.never_clears)
		return;
	t->since_clear = 0;
	while (t->cnt > half)
		t->cnt--;
}

uint64_t oracle_tnv_invariance(const struct oracle_tnv *t, size_t top)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < top && i < t->cnt; i++)
		sum += t->list[i].count;
	return t->profiled == 0 ? 0 : sum * 1000000 / t->profiled;
}

static uint64_t next_backoff(struct oracle_tnv *t)
{
	const struct oracle_tnv_config *c = &t->config;
	uint64_t span = c->backoff_max > c->backoff ? c->backoff_max - c->backoff : 1;

	if (c->backoff_random) {
		uint64_t upper = oracle_random_next(t->random) / 4294967296ULL;

		return c->backoff + upper * span / 4294967296ULL;
	}
	if (t->last_backoff == 0)
		return c->backoff;
	return 2 * t->last_backoff < c->backoff_max ? 2 * t->last_backoff : c->backoff_max;
}

static bool settled(const struct oracle_tnv *t, uint64_t before)
{
	int64_t change = (int64_t)t->invariance_ppm - (int64_t)before;

	if (t->config.rule == ORACLE_INCREASING)
		return change <= 0;
	return change <= (int64_t)t->config.increase_ppm &&
	       change >= -(int64_t)t->config.decrease_ppm;
}

static void converge(struct oracle_tnv *t)
{
	uint64_t before = t->invariance_ppm;

	if (t->config.rule == ORACLE_ALWAYS)
		return;
	t->since_test++;
	if (t->since_test < t->config.converge)
		return;
	t->since_test = 0;
	t->invariance_ppm = oracle_tnv_invariance(t, t->config.size / 2);
	if (settled(t, before))
		t->pause_left = t->last_backoff = next_backoff(t);
}

void oracle_tnv_add(struct oracle_tnv *t, uint64_t value, uint64_t count)
{
	t->executed += count;
	t->profiled += count;
	insert(t, value, count);
	t->since_clear += count;
	clear_bottom(t);
}

bool oracle_tnv_step(struct oracle_tnv *t, uint64_t value)
{
	t->executed++;
	if (t->pause_left > 0) {
		t->pause_left--;
		return false;
	}
	if (t->profiled > 0 && t->last == value)
		t->same++;
	t->last = value;
	t->profiled++;
	insert(t, value, 1);
	t->since_clear++;
	clear_bottom(t);
	converge(t);
	return true;
}
