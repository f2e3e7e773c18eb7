// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The core's hot path table behind the library's interface, and the policy TAIL over the same
 * entries: what is replaced is sampled by weight, in strata (RPS 3.2), and a hand goes round, so
 * that what was hot once leaves. At the same state as good as lossless for a few messages. Steps
 * are as the core's: a loop over the ways at most, no allocation, no floating point.
 */
#include "pathprof/hot_paths.h"

#include <errno.h>
#include <stdlib.h>

#include "../../core/pp_hpt.h"
#include "../../core/pp_random.h"

#define RATE   16  /* counts a sampled message stands for */
#define STRATA 128 /* a power of two; 4 bits each would do */
#define HAND   16  /* misses from one turn of the hand to the next */

struct tail {
	__u32 misses;          /* in full sets */
	__u32 stratum[STRATA]; /* below RATE */
};

struct pathprof_hot_paths {
	struct pp_hpt_config config;
	enum pathprof_hot_policy policy;
	struct tail tail;
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

/* Random phases make the expected count of every path exact. */
static void tail_init(struct tail *tail, uint64_t seed)
{
	struct pp_random random;

	pp_random_init(&random, seed);
	for (__u32 i = 0; i < STRATA; i++)
		tail->stratum[i] = (__u32)(pp_random_next(&random) >> 32) % RATE;
}

int pathprof_hot_paths_new_policy(struct pathprof_hot_paths **ret_table, uint32_t entries,
				  uint32_t ways, enum pathprof_hot_policy policy, uint64_t seed,
				  struct pathprof_error *error)
{
	struct pp_hpt_config config;
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
	t->policy = policy;
	tail_init(&t->tail, seed);
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

/* An entry leaves. 1: it is a message, its count what that stands for. */
static __u32 tail_leave(struct tail *tail, struct pp_hpt_entry *e)
{
	__u64 mixed = (e->start ^ e->desc) * 0x9E3779B97F4A7C15ULL;
	__u32 *stratum = &tail->stratum[(mixed >> 57) & (STRATA - 1)];
	__u32 sum;

	if (e->count >= RATE)
		return 1;
	sum = *stratum + (__u32)e->count;
	*stratum = sum % RATE;
	e->count = RATE;
	return sum >= RATE;
}

/* The way to replace: a free one, the hand's when it is its turn, or the least. */
static __u32 tail_victim(struct pathprof_hot_paths *t, const struct pp_hpt_entry *set)
{
	__u32 way = pp_hpt_victim(&t->table, set, t->config.ways);

	if (!(set[way].desc & PP_HPT_VALID) || ++t->tail.misses % HAND)
		return way;
	return t->tail.misses / HAND % t->config.ways;
}

/* As pp_hpt_step(), but *ret_message is a message only when 1 is returned. */
static __u32 tail_step(struct pathprof_hot_paths *t, __u64 start, __u64 desc, __u64 count,
		       struct pp_hpt_entry *ret_message)
{
	__u32 ways = t->config.ways;
	struct pp_hpt_entry *set = &t->table.entry[pp_hpt_set(start, desc, t->config.bits) * ways];
	__u32 way = pp_hpt_find(set, ways, start, desc | PP_HPT_VALID);

	if (PP_LIKELY(way < ways)) {
		set[way].count += count;
		return 0;
	}
	way = tail_victim(t, set);
	*ret_message = set[way];
	set[way] = (struct pp_hpt_entry){start, desc | PP_HPT_VALID, count};
	return (ret_message->desc & PP_HPT_VALID) && tail_leave(&t->tail, ret_message);
}

bool pathprof_hot_paths_add(struct pathprof_hot_paths *table, const struct pathprof_hot_path *path,
			    struct pathprof_hot_path *ret_replaced)
{
	__u64 desc = PP_DESC(path->length & 63, path->outcomes);
	struct pp_hpt_entry out;
	__u32 left;

	if (table->policy == PATHPROF_HOT_TAIL)
		left = tail_step(table, path->start, desc, path->count, &out);
	else
		left = pp_hpt_step(&table->table, &table->config, path->start, desc, path->count,
				   &out);
	if (left)
		*ret_replaced = from_core(&out);
	return left;
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
