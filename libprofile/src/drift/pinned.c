// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* A pinned baseline: see judge.h. */
#include "pathprof/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "pathprof/events.h"

void pathprof_pinned_release(struct pathprof_pinned *pinned)
{
	for (uint32_t i = 0; i < pinned->part_cnt; i++) {
		free(pinned->parts[i].name);
		free(pinned->parts[i].container);
		pathprof_tally_release(&pinned->parts[i].tally);
		pathprof_portable_unref(pinned->parts[i].portable);
	}
	free(pinned->parts);
	free(pinned->file);
	*pinned = (struct pathprof_pinned){.part_cnt = 0};
}

/* ---------------------------------------------------------------- reading */

/* id and name may be of one of the parts. */
static struct pathprof_pinned_part *add_part(struct pathprof_pinned *pinned,
					     const struct pathprof_build_id *id, const char *name)
{
	struct pathprof_pinned_part part = {
		.id = *id, .group = pathprof_event_group(id), .name = strdup(name)};

	if (!part.name || pp_resize(&pinned->parts, pinned->part_cnt + 1) < 0) {
		free(part.name);
		return NULL;
	}
	pinned->parts[pinned->part_cnt] = part;
	return &pinned->parts[pinned->part_cnt++];
}

static int take_part(void *context, struct pathprof_part *read)
{
	struct pathprof_pinned_part *part = add_part(context, read->id, read->name);

	if (!part)
		return -ENOMEM;
	part->container = strdup(read->container);
	return part->container ? pathprof_tally_join(&part->tally, &read->tally) : -ENOMEM;
}

/* Appends, for each binary that ran in several containers, a part that sums up all of them. */
static int add_together(struct pathprof_pinned *pinned)
{
	uint32_t single_cnt = pinned->part_cnt;

	for (uint32_t i = 0; i < single_cnt; i++) {
		uint64_t group = pinned->parts[i].group;
		struct pathprof_pinned_part *all;
		int r = 0;

		if ((i && pinned->parts[i - 1].group == group) || i + 1 == single_cnt ||
		    pinned->parts[i + 1].group != group)
			continue;
		all = add_part(pinned, &pinned->parts[i].id, pinned->parts[i].name);
		if (!all)
			return -ENOMEM;
		for (uint32_t j = i; r == 0 && j < single_cnt && pinned->parts[j].group == group;
		     j++)
			r = pathprof_tally_join(&all->tally, &pinned->parts[j].tally);
		if (r < 0)
			return r;
	}
	return 0;
}

int pathprof_pinned_read(struct pathprof_pinned *ret_pinned, const char *file, bool weighed,
			 struct pathprof_error *error)
{
	struct pathprof_store *store = NULL;
	int r;

	*ret_pinned = (struct pathprof_pinned){.file = strdup(file)};
	if (!ret_pinned->file)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	r = pathprof_store_open(&store, file, PATHPROF_STORE_READ, error);
	if (r < 0)
		return r;
	r = pathprof_parts_read(store, NULL, weighed, PATHPROF_PINNED_PATHS_MAX, take_part,
				ret_pinned, error);
	if (r == 0)
		r = add_together(ret_pinned);
	if (r < 0 && error && !error->text[0])
		pathprof_fail(error, r, "%s: %s", file, strerror(-r));
	pathprof_store_free(store);
	return r;
}

/* ---------------------------------------------------------------- asking */

/* All together comes last, and is the only one when there is one container. */
static struct pathprof_pinned_part *choose(struct pathprof_pinned *pinned, uint64_t group,
					   const char *container)
{
	struct pathprof_pinned_part *found = NULL;

	for (uint32_t i = 0; i < pinned->part_cnt; i++) {
		struct pathprof_pinned_part *part = &pinned->parts[i];

		if (part->group != group)
			continue;
		if (part->container && !strcmp(part->container, container))
			return part;
		found = part;
	}
	return found;
}

static void read_names(struct pathprof_pinned_part *part, const char *file,
		       struct pathprof_error *error)
{
	struct pathprof_store *store = NULL;

	part->portable = pathprof_portable_new(&part->id);
	if (part->portable && pathprof_store_open(&store, file, PATHPROF_STORE_READ, error) == 0)
		(void)pathprof_portable_load(part->portable, store, error);
	pathprof_store_free(store);
}

/* The group of the build of that path name that was seen most; 0: there is none. */
static uint64_t other_build(const struct pathprof_pinned *pinned, const char *binary)
{
	const struct pathprof_pinned_part *most = NULL;

	for (uint32_t i = 0; i < pinned->part_cnt; i++)
		if (!strcmp(pinned->parts[i].name, binary) &&
		    (!most || pinned->parts[i].tally.total > most->tally.total))
			most = &pinned->parts[i];
	return most ? most->group : 0;
}

struct pathprof_baseline pathprof_pinned_baseline(struct pathprof_pinned *pinned, uint64_t group,
						  const char *binary, const char *container,
						  struct pathprof_error *error)
{
	struct pathprof_pinned_part *part = choose(pinned, group, container);

	if (part)
		return (struct pathprof_baseline){.tally = &part->tally};
	part = choose(pinned, other_build(pinned, binary), container);
	if (part && !part->portable)
		read_names(part, pinned->file, error);
	if (!part || !part->portable || !part->portable->functions)
		return (struct pathprof_baseline){.tally = NULL};
	return (struct pathprof_baseline){&part->tally, part->portable};
}
