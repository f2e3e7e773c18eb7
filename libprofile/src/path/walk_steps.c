// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The table of steps; see pp_walk.h for workload and bounds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "pp_walk.h"

static int grow(struct pp_steps *steps, uint32_t room)
{
	struct pp_steps grown = {.room = room, .cnt = steps->cnt, .factor = steps->factor};

	grown.shift = 64 - (uint32_t)__builtin_ctz(2 * room);
	grown.slots = calloc(2 * (size_t)room, sizeof(grown.slots[0]));
	if (!grown.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < 2 * steps->room; i++)
		if (steps->slots[i].key)
			*pp_steps_find(&grown, steps->slots[i].key) = steps->slots[i];
	free(steps->slots);
	*steps = grown;
	return 0;
}

int pp_steps_init(struct pp_steps *ret_steps, uint64_t seed)
{
	struct pp_steps steps = {.factor = XXH3_64bits(&seed, sizeof(seed)) | 1};
	int r = grow(&steps, PP_WALK_STEPS_MIN);

	if (r == 0)
		*ret_steps = steps;
	return r;
}

void pp_steps_release(struct pp_steps *steps)
{
	free(steps->slots);
	memset(steps, 0, sizeof(*steps));
}

int pp_steps_add(struct pp_steps *steps, const struct pp_step *step,
		 const struct pp_step **ret_step)
{
	struct pp_step *slot;
	int r = 0;

	if (steps->cnt == PP_WALK_STEPS_MAX)
		return -ENOSPC;
	if (steps->cnt == steps->room)
		r = grow(steps, 2 * steps->room);
	if (r < 0)
		return r;
	slot = pp_steps_find(steps, step->key);
	*slot = *step;
	steps->cnt++;
	*ret_step = slot;
	return 0;
}
