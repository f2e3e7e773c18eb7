// SPDX-License-Identifier: GPL-2.0-or-later
#include "oracle_tnv.h"

void oracle_tnv_init(struct oracle_tnv *t, const struct oracle_tnv_config *config)
{
	*t = (struct oracle_tnv){.config = *config};
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

void oracle_tnv_add(struct oracle_tnv *t, uint64_t value, uint64_t count)
{
	t->profiled += count;
	insert(t, value, count);
	t->since_clear += count;
	clear_bottom(t);
}
