// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* CPU time by instruction; see pp_piece_times.h. */
#include "pp_piece_times.h"

#include <errno.h>
#include <stdlib.h>

#include "pathprof/profile.h"
#include "pp_branch_profile.h"

static int by_place(const void *key, const void *entry)
{
	const uint64_t *place = key;
	const struct pathprof_time_count *time = entry;

	return *place < time->place ? -1 : *place > time->place;
}

/* The index of the place that offset lies in; time_cnt: the clock found nothing there. */
static uint32_t place_of(const struct pathprof_branch_profile *p, uint64_t offset)
{
	uint64_t place = offset - offset % PATHPROF_PLACE_BYTES;
	const struct pathprof_time_count *found =
		p->time_cnt ? bsearch(&place, p->times, p->time_cnt, sizeof(p->times[0]), by_place)
			    : NULL;

	return found ? (uint32_t)(found - p->times) : p->time_cnt;
}

static int add_runs(void *context, const struct pp_insn_count *insn)
{
	struct pp_piece_times *times = context;
	uint32_t i = place_of(times->profile, insn->offset);

	if (i < times->profile->time_cnt)
		times->runs[i] = pp_count_sum(times->runs[i], insn->count);
	return 0;
}

int pp_piece_times_open(struct pp_piece_times *times, const struct pp_export *x)
{
	const struct pathprof_branch_profile *p = x->profile;

	*times = (struct pp_piece_times){
		.profile = p,
		.runs = calloc((size_t)p->time_cnt + 1, sizeof(*times->runs)),
		.ns = calloc((size_t)p->time_cnt + 1, sizeof(*times->ns)),
	};
	if (!times->runs || !times->ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->time_cnt; i++)
		times->ns[i] = p->times[i].ns;
	return p->time_cnt ? pp_insn_counts_each(x, add_runs, times) : 0;
}

void pp_piece_times_release(struct pp_piece_times *times)
{
	free(times->runs);
	free(times->ns);
}

uint64_t pp_piece_times_of(struct pp_piece_times *times, const struct pp_insn_count *insn)
{
	uint32_t i = place_of(times->profile, insn->offset);
	uint64_t ns;

	if (i == times->profile->time_cnt || !insn->count || !times->runs[i])
		return 0;
	ns = insn->count >= times->runs[i]
		     ? times->ns[i]
		     : (uint64_t)((unsigned __int128)times->ns[i] * insn->count / times->runs[i]);
	times->ns[i] -= ns;
	times->runs[i] -= insn->count < times->runs[i] ? insn->count : times->runs[i];
	return ns;
}

bool pp_piece_times_other(struct pp_piece_times *times, uint64_t up_to, uint64_t *ret_place,
			  uint64_t *ret_ns)
{
	const struct pathprof_branch_profile *p = times->profile;

	while (times->next < p->time_cnt && p->times[times->next].place < up_to) {
		uint32_t i = times->next++;

		if (times->runs[i] || !times->ns[i])
			continue;
		*ret_place = p->times[i].place;
		*ret_ns = times->ns[i];
		return true;
	}
	return false;
}
