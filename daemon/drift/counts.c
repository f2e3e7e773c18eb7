// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts of one binary's paths: see counts.h. */
#include "counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void pp_counts_release(struct pp_counts *counts)
{
	free(counts->events);
	*counts = (struct pp_counts){0};
}

static size_t merge(struct pathprof_event *to, const struct pp_counts *a,
		    const struct pathprof_event *b, size_t b_cnt)
{
	size_t i = 0, j = 0, cnt = 0;

	while (i < a->cnt && j < b_cnt) {
		int order = pathprof_event_order(&a->events[i], &b[j]);

		to[cnt] = order <= 0 ? a->events[i] : b[j];
		if (order == 0)
			to[cnt].weight += b[j].weight;
		cnt++;
		i += order <= 0;
		j += order >= 0;
	}
	if (i < a->cnt)
		memcpy(to + cnt, a->events + i, (a->cnt - i) * sizeof(*to));
	cnt += a->cnt - i;
	if (j < b_cnt)
		memcpy(to + cnt, b + j, (b_cnt - j) * sizeof(*to));
	return cnt + b_cnt - j;
}

/* Counts that are known already need no other place: only weights change. */
static bool add_in_place(struct pp_counts *to, const struct pathprof_event *events, size_t cnt)
{
	size_t at = 0;

	for (size_t pass = 0; pass < 2; pass++) {
		at = 0;
		for (size_t i = 0; i < cnt; i++) {
			while (at < to->cnt &&
			       pathprof_event_order(&to->events[at], &events[i]) < 0)
				at++;
			if (at == to->cnt || pathprof_event_order(&to->events[at], &events[i]) != 0)
				return false;
			if (pass)
				to->events[at].weight += events[i].weight;
		}
	}
	return true;
}

int pp_counts_add(struct pp_counts *to, const struct pathprof_event *events, size_t cnt)
{
	struct pathprof_event *merged;
	size_t room = to->cnt + cnt;

	if (!cnt || add_in_place(to, events, cnt))
		return 0;
	merged = malloc(room * sizeof(*merged));
	if (!merged)
		return -ENOMEM;
	cnt = merge(merged, to, events, cnt);
	free(to->events);
	*to = (struct pp_counts){.events = merged, .cnt = cnt, .room = room};
	/* what overlapped leaves room that is not given back for less than a quarter */
	if (cnt < room - room / 4) {
		struct pathprof_event *less = realloc(merged, cnt * sizeof(*less));

		if (less)
			*to = (struct pp_counts){.events = less, .cnt = cnt, .room = cnt};
	}
	return 0;
}

void pp_counts_move(struct pp_counts *to, struct pp_counts *from)
{
	pp_counts_release(to);
	*to = *from;
	*from = (struct pp_counts){0};
}

size_t pp_counts_bytes(const struct pp_counts *counts)
{
	return counts->room * sizeof(*counts->events);
}

struct pathprof_distribution pp_counts_distribution(const struct pp_counts *counts)
{
	struct pathprof_distribution distribution = {0};

	if (pathprof_distribution_init(&distribution, counts->events, counts->cnt) < 0)
		distribution = (struct pathprof_distribution){0};
	return distribution;
}
