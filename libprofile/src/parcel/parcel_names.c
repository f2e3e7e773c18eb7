// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Names that a parcel carries: see pathprof/parcel_names.h. */
#include "pathprof/parcel_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

struct pathprof_parcel_names *pathprof_parcel_names_of(struct pathprof_parcel *parcel,
						       const struct pathprof_build_id *id)
{
	for (uint32_t i = 0; i < parcel->name_cnt; i++)
		if (pathprof_build_id_equal(&parcel->names[i].id, id))
			return &parcel->names[i];
	if (pp_grow(&parcel->names, parcel->name_cnt, &parcel->name_room) < 0)
		return NULL;
	parcel->names[parcel->name_cnt] = (struct pathprof_parcel_names){.id = *id};
	return &parcel->names[parcel->name_cnt++];
}

int pathprof_parcel_add_function(struct pathprof_parcel *parcel,
				 struct pathprof_parcel_names *names, uint64_t start,
				 uint64_t len_bytes, const char *name)
{
	struct pathprof_parcel_function *function;

	if (parcel->function_cnt >= PATHPROF_PARCEL_FUNCTIONS_MAX ||
	    strnlen(name, PATHPROF_PARCEL_FUNCTION_BYTES + 1) > PATHPROF_PARCEL_FUNCTION_BYTES)
		return -E2BIG;
	if (pp_grow(&names->functions, names->function_cnt, &names->function_room) < 0)
		return -ENOMEM;
	function = &names->functions[names->function_cnt];
	*function = (struct pathprof_parcel_function){start, len_bytes, strdup(name)};
	if (!function->name)
		return -ENOMEM;
	names->function_cnt++;
	parcel->function_cnt++;
	return 0;
}

int pathprof_parcel_add_portable(struct pathprof_parcel *parcel,
				 struct pathprof_parcel_names *names,
				 const struct pathprof_parcel_portable *portable)
{
	if (parcel->portable_cnt >= PATHPROF_PARCEL_FUNCTIONS_MAX)
		return -E2BIG;
	if (pp_grow(&names->portables, names->portable_cnt, &names->portable_room) < 0)
		return -ENOMEM;
	names->portables[names->portable_cnt++] = *portable;
	parcel->portable_cnt++;
	return 0;
}

static void release_names(struct pathprof_parcel_names *names)
{
	for (uint32_t i = 0; i < names->function_cnt; i++)
		free(names->functions[i].name);
	free(names->functions);
	free(names->portables);
	free(names->keys);
}

void pathprof_parcel_names_release(struct pathprof_parcel *parcel)
{
	for (uint32_t i = 0; i < parcel->name_cnt; i++)
		release_names(&parcel->names[i]);
	free(parcel->names);
	parcel->names = NULL;
	parcel->name_cnt = parcel->name_room = 0;
	parcel->function_cnt = parcel->portable_cnt = 0;
}
