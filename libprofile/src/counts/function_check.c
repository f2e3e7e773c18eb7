// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Rules for every described function, whoever read the description: see pp_counted.h. */
#include "pp_counted.h"

bool pp_counted_has_counters(const struct pathprof_counted *counted, uint64_t distance,
			     uint64_t cnt)
{
	uint64_t room = counted->image_bytes / sizeof(uint64_t);

	return distance % sizeof(uint64_t) == 0 && distance / sizeof(uint64_t) <= room &&
	       cnt <= room - distance / sizeof(uint64_t);
}

uint64_t pp_counted_counter_cnt(const struct pathprof_counted_function *f)
{
	switch (f->counting) {
	case PATHPROF_COUNTING_ARRAY:
		return f->path_cnt;
	case PATHPROF_COUNTING_TABLE:
	case PATHPROF_COUNTING_WARM:
		return f->slot_cnt;
	default:
		return 2 * PATHPROF_CACHE_ENTRIES;
	}
}

static bool has_slots(const struct pathprof_counted_function *f)
{
	return f->counting == PATHPROF_COUNTING_TABLE || f->counting == PATHPROF_COUNTING_WARM;
}

static bool are_paths_sound(const struct pathprof_counted_function *f)
{
	bool sound = f->path_cnt && (f->slot_cnt != 0) == has_slots(f);

	for (uint32_t i = 0; i < f->slot_cnt; i++)
		sound &= f->slots[i] <= f->path_cnt;
	for (uint32_t i = 0; i < f->told_cnt; i++)
		sound &= f->told[i].id < f->path_cnt;
	return sound;
}

static bool is_profile_sound(const struct pathprof_counted_function *f)
{
	bool sound = true;

	for (uint32_t i = 0; i < PATHPROF_VALUE_KINDS; i++)
		sound &= f->site_cnt[i] <= UINT16_MAX;
	for (uint32_t i = 0; i < f->place_cnt; i++)
		sound &= f->places[i].counter < f->profile_counter_cnt &&
			 f->places[i].node < f->node_cnt;
	return sound;
}

bool pp_counted_is_sound(const struct pathprof_counted *counted,
			 const struct pathprof_counted_function *f)
{
	return f->counting <= PATHPROF_COUNTING_WARM &&
	       pp_counted_has_counters(counted, f->counter, pp_counted_counter_cnt(f)) &&
	       are_paths_sound(f) && is_profile_sound(f);
}
