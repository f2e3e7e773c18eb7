// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The core's hot path table behind the library's interface. */
#include "pathprof/hot_paths.h"

#include <errno.h>
#include <stdlib.h>

#include "../../core/pp_hpt.h"

struct pathprof_hot_paths {
	struct pp_hpt_config config;
	struct pp_hpt table;
};

static int set_size(struct pp_hpt_config *config, uint32_t entries, uint32_t ways,
		    struct pathprof_error *error)
{
	uint32_t sets;

	if (ways < 1 || ways > PP_HPT_WAYS_MAX)
		return pathprof_fail(error, -EINVAL, "ways: %u is not in 1..%u", ways,
				     PP_HPT_WAYS_MAX);
	sets = entries / ways;
	if (entries > PP_HPT_MAX || !sets || sets * ways != entries || (sets & (sets - 1)))
		return pathprof_fail(error, -EINVAL,
				     "entries: %u is not %u ways times a power of two, or above %u",
				     entries, ways, PP_HPT_MAX);
	config->bits = (uint32_t)__builtin_ctz(sets);
	config->ways = ways;
	return 0;
}

int pathprof_hot_paths_new_policy(struct pathprof_hot_paths **ret_table, uint32_t entries,
				  uint32_t ways, enum pathprof_hot_policy policy, uint64_t seed,
				  struct pathprof_error *error)
{
	struct pp_hpt_config config = {0};
	struct pathprof_hot_paths *t;
	int r = set_size(&config, entries, ways, error);

	if (r < 0)
		return r;
	if (policy != PATHPROF_HOT_LFU && policy != PATHPROF_HOT_TAIL)
		return pathprof_fail(error, -EINVAL, "policy: no such policy");
	t = calloc(1, sizeof(*t));
	if (!t)
		return pathprof_fail(error, -ENOMEM, "hot path table: out of memory");
	t->config = config;
	t->config.policy = policy == PATHPROF_HOT_TAIL ? PP_HPT_TAIL : PP_HPT_LFU;
	pp_hpt_init(&t->table, seed);
	*ret_table = t;
	return 0;
}

int pathprof_hot_paths_new(struct pathprof_hot_paths **ret_table, uint32_t entries, uint32_t ways,
			   struct pathprof_error *error)
{
	return pathprof_hot_paths_new_policy(ret_table, entries, ways, PATHPROF_HOT_LFU, 0, error);
}

void pathprof_hot_paths_free(struct pathprof_hot_paths *table)
{
	free(table);
}

static struct pathprof_hot_path from_core(const struct pp_hpt_entry *e)
{
	return (struct pathprof_hot_path){.start = e->start,
					  .count = e->count,
					  .length = PP_DESC_LENGTH(e->desc),
					  .outcomes = PP_DESC_OUTCOMES(e->desc)};
}

bool pathprof_hot_paths_add(struct pathprof_hot_paths *table, const struct pathprof_hot_path *path,
			    struct pathprof_hot_path *ret_replaced)
{
	struct pp_hpt_entry message;

	if (!pp_hpt_step(&table->table, &table->config, path->start,
			 PP_DESC(path->length & 63, path->outcomes), path->count, &message))
		return false;
	*ret_replaced = from_core(&message);
	return true;
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int hottest_first(const void *x, const void *y)
{
	const struct pathprof_hot_path *a = x, *b = y;

	if (a->count != b->count)
		return ORDER(b->count, a->count);
	if (a->start != b->start)
		return ORDER(a->start, b->start);
	if (a->length != b->length)
		return ORDER(a->length, b->length);
	return ORDER(a->outcomes, b->outcomes);
}

size_t pathprof_hot_paths_read(const struct pathprof_hot_paths *table,
			       struct pathprof_hot_path *paths)
{
	size_t entries = (size_t)table->config.ways << table->config.bits, cnt = 0;

	for (size_t i = 0; i < entries; i++)
		if (table->table.entry[i].desc & PP_HPT_VALID)
			paths[cnt++] = from_core(&table->table.entry[i]);
	qsort(paths, cnt, sizeof(paths[0]), hottest_first);
	return cnt;
}
