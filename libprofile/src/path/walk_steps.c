// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The table of steps; see pp_walk.h for workload and bounds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/vector.h"
#include "pp_walk.h"

int pp_steps_init(struct pp_steps *ret_steps, uint64_t seed)
{
	struct pp_steps steps = {.factor = XXH3_64bits(&seed, sizeof(seed)) | 1};

	if (pp_reserve(&steps.steps, PP_WALK_STEPS_MIN, &steps.room) < 0)
		return -ENOMEM;
	steps.steps[0] = (struct pp_step){.key = PP_STEP_NO_KEY};
	*ret_steps = steps;
	return 0;
}

void pp_steps_release(struct pp_steps *steps)
{
	free(steps->steps);
	pp_table_release(&steps->table);
	memset(steps, 0, sizeof(*steps));
}

int pp_steps_add(struct pp_steps *steps, const struct pp_step *step, uint32_t *ret_index)
{
	if (steps->cnt == PP_WALK_STEPS_MAX)
		return -ENOSPC;
	if (pp_grow(&steps->steps, steps->cnt, &steps->room) < 0)
		return -ENOMEM;
	steps->steps[steps->cnt] = *step;
	if (pp_table_add(&steps->table, pp_steps_hash(steps, step->key), i,
			 pp_steps_hash(steps, steps->steps[i].key)) < 0)
		return -ENOMEM;
	*ret_index = steps->cnt++;
	return 0;
}
