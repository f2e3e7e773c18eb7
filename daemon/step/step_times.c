// SPDX-License-Identifier: GPL-2.0-or-later
/* CPU times last seen: see step_times.h. */
#include "step_times.h"

#include <stdlib.h>

#include "base/vector.h"

#define SWEEP_MIN 1024

static uint64_t hash(int64_t key)
{
	return pp_hash_mix(0, (uint64_t)key);
}

void pp_step_times_begin(struct pp_step_times *times)
{
	times->scan++;
}

/* Entries of this scan and the one before stay. Their numbers change, so all are entered again. */
static void sweep(struct pp_step_times *times)
{
	uint32_t cnt = times->table.cnt;

	pp_table_clear(&times->table);
	for (uint32_t from = 0; from < cnt; from++) {
		const struct pp_step_time entry = times->list[from];

		if (times->scan - entry.scan > 1)
			continue;
		times->list[times->table.cnt] = entry;
		/* the table has room: it held more */
		(void)pp_table_add(&times->table, hash(entry.key), i, hash(times->list[i].key));
	}
	times->sweep_at = times->table.cnt > SWEEP_MIN / 2 ? 2 * times->table.cnt : SWEEP_MIN;
}

static int64_t add(struct pp_step_times *times, const struct pp_step_time *entry)
{
	if (times->table.cnt >= times->sweep_at)
		sweep(times);
	if (pp_grow(&times->list, times->table.cnt, &times->room) < 0 ||
	    pp_table_add(&times->table, hash(entry->key), i, hash(times->list[i].key)) < 0)
		return PP_STEP_TIMES_FULL;
	times->list[times->table.cnt - 1] = *entry;
	return PP_STEP_TIMES_NEW;
}

int64_t pp_step_times_growth(struct pp_step_times *times, int64_t key, uint64_t start_time,
			     uint64_t utime_ticks)
{
	const struct pp_step_time entry = {key, start_time, utime_ticks, times->scan};
	uint32_t number = pp_table_find(&times->table, hash(key), i, times->list[i].key == key);
	struct pp_step_time before;

	if (number == PP_TABLE_NONE)
		return add(times, &entry);
	before = times->list[number];
	times->list[number] = entry;
	if (before.start_time != start_time || before.utime_ticks > utime_ticks)
		return PP_STEP_TIMES_NEW;
	return (int64_t)(utime_ticks - before.utime_ticks);
}

void pp_step_times_release(struct pp_step_times *times)
{
	pp_table_release(&times->table);
	free(times->list);
	*times = (struct pp_step_times){0};
}
