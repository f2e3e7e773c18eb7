// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* A store's paths by binary and container: see tally.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/events.h"
#include "pathprof/tally.h"

struct reading {
	struct pathprof_part part; /* being read; strings and tally are owned */
	struct pathprof_build_id id;
	char *name, *container; /* NULL: no part was begun */
	bool weighed;
	size_t cnt, max;
	pathprof_part_fn *fn;
	void *context;
};

static int end_part(struct reading *r)
{
	int code = 0;

	if (!r->part.tally.cnt)
		return 0;
	if (pathprof_tally_sort(&r->part.tally) < 0)
		return -EBADMSG;
	code = r->fn(r->context, &r->part);
	pathprof_tally_clear(&r->part.tally);
	return code;
}

static int begin_part(struct reading *r, const struct pathprof_container_path_row *row,
		      uint64_t group)
{
	int code = end_part(r);

	if (code)
		return code;
	free(r->name);
	free(r->container);
	r->name = strdup(row->binary_name);
	r->container = strdup(row->container);
	r->id = row->binary_id;
	r->part.id = &r->id;
	r->part.group = group;
	r->part.name = r->name;
	r->part.container = r->container;
	return r->name && r->container ? 0 : -ENOMEM;
}

static int take_row(void *context, const struct pathprof_container_path_row *row)
{
	struct reading *r = context;
	uint64_t group = pathprof_event_group(&row->binary_id);

	if (row->binary_id.kind == PATHPROF_ID_NONE || row->binary_id.kind == PATHPROF_ID_JIT)
		return 0;
	if (!r->name || group != r->part.group || strcmp(r->container, row->container) != 0) {
		int code = begin_part(r, row, group);

		if (code)
			return code;
	}
	if (r->max && r->cnt++ == r->max)
		return -E2BIG;
	return pathprof_tally_append_row(&r->part.tally, group, row, r->weighed);
}

int pathprof_parts_read(struct pathprof_store *store, const struct pathprof_filter *filter,
			bool weighed, size_t paths_max, pathprof_part_fn *fn, void *context,
			struct pathprof_error *error)
{
	struct reading reading = {
		.weighed = weighed, .max = paths_max, .fn = fn, .context = context};
	int r = pathprof_store_container_paths(store, filter, take_row, &reading, error);

	if (r == 0)
		r = end_part(&reading);
	free(reading.name);
	free(reading.container);
	pathprof_tally_release(&reading.part.tally);
	return r;
}
