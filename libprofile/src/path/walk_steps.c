// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The table of steps; see pp_walk.h for workload and bounds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "pp_walk.h"

static int grow(struct pp_steps *steps, uint32_t room)
{
	uint32_t *slots = calloc(2 * (size_t)room, sizeof(slots[0]));
	struct pp_step *moved = reallocarray(steps->steps, room, sizeof(moved[0]));

	if (moved)
		steps->steps = moved;
	if (!slots || !moved) {
		free(slots);
		return -ENOMEM;
	}
	free(steps->slots);
	steps->slots = slots;
	steps->room = room;
	steps->shift = 64 - (uint32_t)__builtin_ctz(2 * room);
	for (uint32_t i = 0; i < steps->cnt; i++)
		*pp_steps_slot(steps, steps->steps[i].key) = i + 1;
	return 0;
}

int pp_steps_init(struct pp_steps *ret_steps, uint64_t seed)
{
	struct pp_steps steps = {.factor = XXH3_64bits(&seed, sizeof(seed)) | 1};
	int r = grow(&steps, PP_WALK_STEPS_MIN);

	if (r < 0) {
		pp_steps_release(&steps);
		return r;
	}
	steps.steps[0] = (struct pp_step){.key = 0};
	*ret_steps = steps;
	return 0;
}

void pp_steps_release(struct pp_steps *steps)
{
	free(steps->steps);
	free(steps->slots);
	memset(steps, 0, sizeof(*steps));
}

int pp_steps_add(struct pp_steps *steps, const struct pp_step *step, uint32_t *ret_index)
{
	int r = 0;

	if (steps->cnt == PP_WALK_STEPS_MAX)
		return -ENOSPC;
	if (steps->cnt == steps->room)
		r = grow(steps, 2 * steps->room);
	if (r < 0)
		return r;
	steps->steps[steps->cnt] = *step;
	*pp_steps_slot(steps, step->key) = steps->cnt + 1;
	*ret_index = steps->cnt++;
	return 0;
}
