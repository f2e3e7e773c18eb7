/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The TNV table of one instruction (VP 3): the values it produced most often, with convergent
 * profiling (VP 6).
 *
 * Entries are kept in the order of their counts. The top half is steady; the bottom half is
 * emptied every clear interval, or a hot newcomer could never climb past old entries. Replacement
 * is LFU: a new value takes the last slot. The interval is never less than twice the count of the
 * last entry of the top half, so that a newcomer can reach the top within one interval.
 *
 * Convergent: every `converge` profiled executions the invariance (share of the top half) is
 * compared with that of the test before. When it has settled profiling of this instruction pauses
 * for a back-off, then resumes. Two rules: stop unless invariance increases; or stop while the
 * change stays inside (-decrease, +increase).
 *
 * Integers only: shares are parts per million. Any context; the caller owns the table.
 */
#ifndef PP_TNV_H
#define PP_TNV_H

#include "pp_random.h"

#define PP_TNV_MAX 16

enum pp_tnv_rule {
	PP_TNV_ALWAYS = 0,     /* not convergent */
	PP_TNV_INCREASING = 1, /* go on only while invariance increases */
	PP_TNV_BOUNDED = 2,    /* go on while the change leaves the bounds */
};

struct pp_tnv_config {
	__u32 size;         /* N: entries, even, 2..PP_TNV_MAX; default 10 */
	__u32 clear;        /* clear interval, executions; default 2000 */
	__u32 rule;         /* enum pp_tnv_rule */
	__u32 converge;     /* convergence interval, executions; default 2000 */
	__u32 increase_ppm; /* bounds of PP_TNV_BOUNDED */
	__u32 decrease_ppm;
	__u32 backoff;        /* first back-off, executions; default 10000 */
	__u32 backoff_max;    /* exponential: doubles up to this */
	__u32 backoff_random; /* 1: a random back-off in [backoff, backoff_max) instead */
	__u32 pad;
};

struct pp_tnv_entry {
	__u64 value;
	__u64 count;
};

struct pp_tnv {
	__u64 executed; /* executions, profiled or not */
	__u64 profiled;
	__u64 same;         /* profiled executions equal to the one before: MRV (LVP) */
	__u64 last;         /* value of the last profiled execution */
	__u64 paused_until; /* executed, while paused; else 0 */
	__u32 since_clear;
	__u32 since_test;
	__u32 invariance_ppm; /* at the last convergence test */
	__u32 backoff;        /* the last one; 0: none yet */
	__u32 used;
	__u32 scratch; /* for PP_LAUNDER */
	struct pp_tnv_entry entry[PP_TNV_MAX];
};

/* The paper's setting, chosen figures where it gives none. */
PP_INLINE void pp_tnv_config_default(struct pp_tnv_config *ret_config)
{
	struct pp_tnv_config *c = ret_config;

	c->size = 10;
	c->clear = 2000;
	c->rule = PP_TNV_ALWAYS;
	c->converge = 2000;
	c->increase_ppm = 20000;
	c->decrease_ppm = 40000;
	c->backoff = 10000;
	c->backoff_max = 1000000;
	c->backoff_random = 0;
	c->pad = 0;
}

PP_INLINE __u32 pp_tnv_find(const struct pp_tnv *t, __u64 value)
{
	__u32 i;

	PP_NO_UNROLL
	for (i = 0; i < PP_TNV_MAX; i++) {
		if (i >= t->used)
			break;
		if (t->entry[i].value == value)
			return i;
	}
	return PP_TNV_MAX;
}

/* Entry i grew: moves it before all entries with smaller counts. */
PP_INLINE void pp_tnv_rise(struct pp_tnv *t, __u32 i)
{
	struct pp_tnv_entry swap;
	__u32 step;

	PP_NO_UNROLL
	for (step = 0; step < PP_TNV_MAX; step++) {
		struct pp_tnv_entry *e = &t->entry[PP_MASK(i, PP_TNV_MAX - 1)];
		struct pp_tnv_entry *above = &t->entry[PP_MASK(i - 1, PP_TNV_MAX - 1)];

		if (i == 0 || above->count >= e->count)
			break;
		swap = *above;
		*above = *e;
		*e = swap;
		i--;
	}
}

/* value came count times, 1 or more. */
PP_INLINE void pp_tnv_insert(struct pp_tnv *t, const struct pp_tnv_config *config, __u64 value,
			     __u64 count)
{
	__u32 i = pp_tnv_find(t, value);
	struct pp_tnv_entry *e;

	i = PP_LAUNDER(i, &t->scratch);
	if (i < PP_TNV_MAX) {
		t->entry[PP_MASK(i, PP_TNV_MAX - 1)].count += count;
	} else {
		if (t->used < config->size)
			t->used++;
		i = t->used - 1;
		e = &t->entry[PP_MASK(i, PP_TNV_MAX - 1)];
		e->value = value;
		e->count = count;
	}
	pp_tnv_rise(t, PP_LAUNDER(i, &t->scratch));
}

PP_INLINE void pp_tnv_clear_bottom(struct pp_tnv *t, const struct pp_tnv_config *config)
{
	__u32 half = config->size / 2;
	__u64 middle = t->entry[PP_MASK(half - 1, PP_TNV_MAX - 1)].count;

	if (t->since_clear < config->clear || t->since_clear < 2 * middle)
		return;
	t->since_clear = 0;
	if (t->used > half)
		t->used = half;
}

/* Inv-top: the share of profiled executions that the first `top` entries hold. */
PP_INLINE __u32 pp_tnv_invariance_ppm(const struct pp_tnv *t, __u32 top)
{
	__u64 sum = 0;
	__u32 i;

	PP_NO_UNROLL
	for (i = 0; i < PP_TNV_MAX; i++) {
		if (i >= top || i >= t->used)
			break;
		sum += t->entry[i].count;
	}
	return t->profiled ? (__u32)(sum * 1000000 / t->profiled) : 0;
}

PP_INLINE void pp_tnv_pause(struct pp_tnv *t, const struct pp_tnv_config *config,
			    struct pp_random *random)
{
	__u64 span =
		config->backoff_max > config->backoff ? config->backoff_max - config->backoff : 1;

	if (config->backoff_random)
		t->backoff =
			config->backoff + (__u32)(((pp_random_next(random) >> 32) * span) >> 32);
	else if (!t->backoff)
		t->backoff = config->backoff;
	else
		t->backoff =
			t->backoff < config->backoff_max / 2 ? t->backoff * 2 : config->backoff_max;
	t->paused_until = t->executed + t->backoff;
}

PP_INLINE void pp_tnv_converge(struct pp_tnv *t, const struct pp_tnv_config *config,
			       struct pp_random *random)
{
	__u32 now, before = t->invariance_ppm, go_on;

	if (config->rule == PP_TNV_ALWAYS || ++t->since_test < config->converge)
		return;
	t->since_test = 0;
	now = pp_tnv_invariance_ppm(t, config->size / 2);
	t->invariance_ppm = now;
	if (config->rule == PP_TNV_INCREASING)
		go_on = now > before;
	else
		go_on = now > before ? now - before > config->increase_ppm
				     : before - now > config->decrease_ppm;
	if (!go_on)
		pp_tnv_pause(t, config, random);
}

/* One execution that produced value. 1: it was profiled; 0: profiling of it is paused. */
PP_INLINE __u32 pp_tnv_step(struct pp_tnv *t, const struct pp_tnv_config *config, __u64 value,
			    struct pp_random *random)
{
	t->executed++;
	if (t->executed <= t->paused_until)
		return 0;
	t->paused_until = 0;
	t->same += t->profiled && t->last == value;
	t->last = value;
	t->profiled++;
	t->since_clear++;
	pp_tnv_insert(t, config, value, 1);
	pp_tnv_clear_bottom(t, config);
	pp_tnv_converge(t, config, random);
	return 1;
}

/*
 * A sampler's message (RPS 2): value, and count executions (1 or more) that it stands for. Which
 * executions followed which is not known, so neither `same` nor convergence applies: for tables
 * that are fed by messages alone.
 */
PP_INLINE void pp_tnv_add(struct pp_tnv *t, const struct pp_tnv_config *config, __u64 value,
			  __u64 count)
{
	__u64 since = t->since_clear + count;

	t->executed += count;
	t->profiled += count;
	t->since_clear = since < 0xffffffffu ? (__u32)since : 0xffffffffu;
	pp_tnv_insert(t, config, value, count);
	pp_tnv_clear_bottom(t, config);
}

#endif
