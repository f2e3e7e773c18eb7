// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hot path table with a sampled tail against lists: which path is replaced, which message comes
 * out, and what is left; that table and messages add up; that the policy is only used by name.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_stream.h"
#include "pathprof/hot_paths.h"

#define EVENTS 200000
#define PATHS  2000
#define SETS   32
#define WAYS   4

/* One list a set, in the order of its ways. */
struct oracle {
	struct pathprof_hot_path way[SETS][WAYS];
	size_t cnt[SETS], misses;
	uint64_t carried[128];
	size_t hand_every; /* 16; another is a fault */
};

static struct pathprof_hot_path path_of(uint64_t number)
{
	return (struct pathprof_hot_path){.start = 0x401000 + 4 * number,
					  .count = 1 + number % 5,
					  .length = 5,
					  .outcomes = (uint32_t)(number % 32)};
}

static bool same(const struct pathprof_hot_path *x, const struct pathprof_hot_path *y)
{
	return x->start == y->start && x->length == y->length && x->outcomes == y->outcomes;
}

static void oracle_init(struct oracle *o, size_t hand_every)
{
	uint64_t x = 1;

	memset(o, 0, sizeof(*o));
	o->hand_every = hand_every;
	for (size_t i = 0; i < 128; i++) {
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		o->carried[i] = (x * 0x2545F4914F6CDD1DULL >> 32) % 16;
	}
}

static size_t set_of(const struct pathprof_hot_path *p)
{
	uint64_t mixed = p->start ^ p->length ^ p->outcomes, index = 0;

	for (; mixed; mixed /= SETS)
		index ^= mixed % SETS;
	return index;
}

static bool oracle_leave(struct oracle *o, struct pathprof_hot_path *p)
{
	uint64_t desc = 1ULL << 63 | (uint64_t)p->length << 32 | p->outcomes;
	uint64_t *carried = &o->carried[(p->start ^ desc) * 0x9E3779B97F4A7C15ULL >> 57];

	if (p->count >= 16)
		return true;
	*carried += p->count;
	p->count = 16;
	if (*carried < 16)
		return false;
	*carried -= 16;
	return true;
}

static size_t oracle_victim(struct oracle *o, const struct pathprof_hot_path *set)
{
	size_t least = 0;

	if (++o->misses % o->hand_every == 0)
		return o->misses / o->hand_every % WAYS;
	for (size_t i = 1; i < WAYS; i++)
		if (set[i].count < set[least].count)
			least = i;
	return least;
}

static bool oracle_add(struct oracle *o, const struct pathprof_hot_path *p,
		       struct pathprof_hot_path *ret_message)
{
	size_t s = set_of(p), victim;
	struct pathprof_hot_path *set = o->way[s];

	for (size_t i = 0; i < o->cnt[s]; i++)
		if (same(&set[i], p)) {
			set[i].count += p->count;
			return false;
		}
	if (o->cnt[s] < WAYS) {
		set[o->cnt[s]++] = *p;
		return false;
	}
	victim = oracle_victim(o, set);
	*ret_message = set[victim];
	set[victim] = *p;
	return oracle_leave(o, ret_message);
}

/* Messages that differ, and paths of the table that the oracle does not have so. */
static size_t differences(enum stream_kind kind, size_t hand_every)
{
	static struct pathprof_hot_path table[SETS * WAYS];
	static struct oracle o;
	struct pathprof_hot_path message, expected;
	struct pathprof_hot_paths *t;
	size_t different = 0, cnt, found = 0;
	struct stream stream;

	oracle_init(&o, hand_every);
	stream_init(&stream, kind, false, PATHS, 11);
	CU_ASSERT_EQUAL_FATAL(
		pathprof_hot_paths_new_policy(&t, SETS * WAYS, WAYS, PATHPROF_HOT_TAIL, 0, NULL),
		0);
	for (size_t i = 0; i < EVENTS; i++) {
		struct pathprof_hot_path path = path_of(stream_next(&stream));
		bool out = pathprof_hot_paths_add(t, &path, &message);

		if (out != oracle_add(&o, &path, &expected))
			different++;
		else if (out)
			different += !same(&message, &expected) || message.count != expected.count;
	}
	cnt = pathprof_hot_paths_read(t, table);
	for (size_t s = 0; s < SETS; s++)
		for (size_t w = 0; w < o.cnt[s]; w++)
			for (size_t i = 0; i < cnt; i++)
				found += same(&table[i], &o.way[s][w]) &&
					 table[i].count == o.way[s][w].count;
	pathprof_hot_paths_free(t);
	return different + (cnt - found);
}

static void test_oracle(void)
{
	for (enum stream_kind kind = 0; kind < STREAM_KIND_CNT; kind++)
		CU_ASSERT_EQUAL(differences(kind, 16), 0);
}

static void test_planted(void)
{
	CU_ASSERT_NOT_EQUAL(differences(STREAM_SKEWED, 17), 0);
}

/* All that came less table and messages; ret_messages: how many. */
static int64_t missing(enum pathprof_hot_policy policy, uint64_t seed, size_t *ret_messages)
{
	static struct pathprof_hot_path table[SETS * WAYS];
	struct pathprof_hot_path message;
	struct pathprof_hot_paths *t;
	struct stream stream;
	int64_t sum = 0;
	size_t cnt;

	*ret_messages = 0;
	stream_init(&stream, STREAM_SKEWED, false, PATHS, 4);
	CU_ASSERT_EQUAL_FATAL(
		pathprof_hot_paths_new_policy(&t, SETS * WAYS, WAYS, policy, seed, NULL), 0);
	for (size_t i = 0; i < EVENTS; i++) {
		struct pathprof_hot_path path = path_of(stream_next(&stream));

		sum += (int64_t)path.count;
		if (!pathprof_hot_paths_add(t, &path, &message))
			continue;
		sum -= (int64_t)message.count;
		(*ret_messages)++;
	}
	cnt = pathprof_hot_paths_read(t, table);
	for (size_t i = 0; i < cnt; i++)
		sum -= (int64_t)table[i].count;
	pathprof_hot_paths_free(t);
	return sum;
}

static void test_total(void)
{
	size_t spilled, sampled;

	CU_ASSERT_EQUAL(missing(PATHPROF_HOT_LFU, 1, &spilled), 0);
	for (uint64_t seed = 1; seed < 9; seed++) {
		int64_t sum = missing(PATHPROF_HOT_TAIL, seed, &sampled);

		CU_ASSERT(sum > -128 * 16 && sum < 128 * 16);
		CU_ASSERT(sampled * 3 < spilled);
	}
}

static void test_policies(void)
{
	struct pathprof_hot_paths *t = NULL;
	struct pathprof_error error = {.text = ""};

	CU_ASSERT_EQUAL(pathprof_hot_paths_new_policy(&t, 512, 4, 7, 1, &error), -EINVAL);
	CU_ASSERT_NOT_EQUAL(error.text[0], '\0');
	CU_ASSERT_EQUAL(pathprof_hot_paths_new_policy(&t, 511, 4, PATHPROF_HOT_TAIL, 1, &error),
			-EINVAL);
	CU_ASSERT_PTR_NULL(t);
}

static const struct unit_test tests[] = {
	{"equals lists on every kind of stream", test_oracle},
	{"a hand that turns at another time is found", test_planted},
	{"table and messages add up, in a third of the messages", test_total},
	{"refuses what is no policy or size", test_policies},
};
UNIT_SUITE(rival_hot_paths, tests)
