// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hot path table against a list for each set; that spilling loses nothing; that losing loses
 * just what it says.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_hpt.h"
#include "oracle_path.h"
#include "pathprof/hot_paths.h"

#define EVENTS 150000

static void draw(struct stream *s, struct oracle_hot *ret_path)
{
	uint64_t element = stream_next(s), mixer = element, mixed = stream_random(&mixer);

	*ret_path = (struct oracle_hot){.start = 0x400000 + 16 * (mixed % 4096),
					.count = 1 + mixed % 3 * (stream_random(&s->random) % 4),
					.length = mixed >> 32 & 31};
	ret_path->length += ret_path->length == 31;
	ret_path->outcomes = (uint32_t)(mixed >> 24 & ((1ULL << ret_path->length) - 1));
	if (s->high && (mixed & 1))
		ret_path->start += 0xffffffff80000000ULL;
	ret_path->used = true;
}

static bool same(const struct pp_hpt_entry *e, const struct oracle_hot *o)
{
	uint64_t desc = PP_DESC(o->length, o->outcomes) | PP_HPT_VALID;

	return o->used ? e->start == o->start && e->desc == desc && e->count == o->count
		       : !(e->desc & PP_HPT_VALID);
}

/* Replacements and final entries that differ. flip: of the count of entry 0, half way. */
static size_t differences(const struct pp_hpt_config *config, struct oracle_hot_paths *o,
			  struct stream *s, uint64_t flip)
{
	size_t different = 0, entries = (size_t)config->ways << config->bits;
	struct pp_hpt *h = calloc(1, sizeof(*h));
	struct oracle_hot path, expected;
	struct pp_hpt_entry replaced;

	for (size_t i = 0; i < EVENTS; i++) {
		draw(s, &path);
		if (i == EVENTS / 2)
			h->entry[0].count ^= flip;
		bool out = pp_hpt_step(h, config, path.start, PP_DESC(path.length, path.outcomes),
				       path.count, &replaced);
		if (out != oracle_hot_paths_add(o, &path, &expected))
			different++;
		else if (out)
			different += !same(&replaced, &expected);
	}
	for (size_t i = 0; i < entries; i++)
		different += !same(&h->entry[i], &o->ways[i]);
	free(h);
	return different;
}

static size_t differences_on(struct pp_hpt_config config, enum stream_kind kind, bool tie_highest,
			     uint64_t flip)
{
	struct oracle_hot_paths o;
	struct stream s;
	size_t different;

	oracle_hot_paths_init(&o, config.bits, config.ways);
	o.tie_highest = tie_highest;
	stream_init(&s, kind, true, (uint64_t)3 * config.ways << config.bits, config.bits);
	different = differences(&config, &o, &s, flip);
	oracle_hot_paths_release(&o);
	return different;
}

static void test_oracle(void)
{
	static const struct {
		__u32 bits, ways;
	} sizes[] = {{7, 4}, {0, 1}, {0, 16}, {4, 3}, {9, 1}, {12, 16}, {5, 7}, {16, 1}};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct pp_hpt_config config = {.bits = sizes[i].bits, .ways = sizes[i].ways};

		CU_ASSERT_EQUAL(differences_on(config, STREAM_SKEWED, false, 0), 0);
		CU_ASSERT_EQUAL(differences_on(config, i % STREAM_KIND_CNT, false, 0), 0);
	}
}

static void test_planted_fault(void)
{
	static const struct pp_hpt_config config = {.bits = 4, .ways = 4};

	CU_ASSERT_NOT_EQUAL(differences_on(config, STREAM_UNIFORM, true, 0), 0);
	CU_ASSERT_NOT_EQUAL(differences_on(config, STREAM_SKEWED, false, 1), 0);
}

static void test_planted_index(void)
{
	static const struct pp_hpt_config config = {.bits = 4, .ways = 4};
	struct oracle_hot_paths o;
	struct stream s;

	oracle_hot_paths_init(&o, 5, 4);
	stream_init(&s, STREAM_UNIFORM, true, 200, 4);
	CU_ASSERT_NOT_EQUAL(differences(&config, &o, &s, 0), 0);
	oracle_hot_paths_release(&o);
}

/* ---------------------------------------------------------------- the library's interface */

/* Counts of paths numbered 0..PATHS-1 by their start: all that came, and what was seen to leave. */
#define PATHS 600

static void run_library(struct pathprof_hot_paths *t, uint64_t *came, uint64_t *left)
{
	struct pathprof_hot_path path = {.length = 4}, replaced;
	struct stream s;

	stream_init(&s, STREAM_SKEWED, false, PATHS, 8);
	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t element = stream_next(&s);

		path.start = 0x1000 + element;
		path.outcomes = (uint32_t)(element % 16);
		path.count = 1 + i % 2;
		came[element] += path.count;
		if (pathprof_hot_paths_add(t, &path, &replaced))
			left[replaced.start - 0x1000] += replaced.count;
	}
}

static void test_spill_is_lossless(void)
{
	static struct pathprof_hot_path table[128];
	static uint64_t came[PATHS], left[PATHS];
	struct pathprof_hot_paths *t;
	size_t cnt, different = 0;

	memset(came, 0, sizeof(came));
	memset(left, 0, sizeof(left));
	CU_ASSERT_EQUAL_FATAL(pathprof_hot_paths_new(&t, 128, 4, NULL), 0);
	run_library(t, came, left);
	cnt = pathprof_hot_paths_read(t, table);
	CU_ASSERT_EQUAL(cnt, 128);
	for (size_t i = 0; i < cnt; i++)
		left[table[i].start - 0x1000] += table[i].count;
	for (size_t i = 0; i < PATHS; i++)
		different += came[i] != left[i];
	CU_ASSERT_EQUAL(different, 0);
	/* The hottest path of a skewed stream never leaves: the lossy table has it in full. */
	CU_ASSERT_EQUAL(table[0].count, came[table[0].start - 0x1000]);
	pathprof_hot_paths_free(t);
}

static bool in_order(const struct pathprof_hot_path *a, const struct pathprof_hot_path *b)
{
	if (a->count != b->count)
		return a->count > b->count;
	if (a->start != b->start)
		return a->start < b->start;
	return a->length != b->length ? a->length < b->length : a->outcomes < b->outcomes;
}

static void test_order(void)
{
	static struct pathprof_hot_path table[512];
	struct pathprof_hot_path path, replaced;
	struct pathprof_hot_paths *t;
	uint64_t random = 5;
	size_t cnt;

	CU_ASSERT_EQUAL_FATAL(pathprof_hot_paths_new(&t, 512, 4, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_hot_paths_read(t, table), 0);
	for (unsigned int i = 0; i < 5000; i++) {
		uint64_t r = stream_random(&random);

		path = (struct pathprof_hot_path){
			.start = r % 8, .count = r >> 8 & 1, .length = r >> 16 & 3};
		path.outcomes = (uint32_t)(r >> 24 & ((1u << path.length) - 1));
		pathprof_hot_paths_add(t, &path, &replaced);
	}
	cnt = pathprof_hot_paths_read(t, table);
	CU_ASSERT(cnt > 16);
	for (size_t i = 1; i < cnt; i++)
		CU_ASSERT_TRUE(in_order(&table[i - 1], &table[i]));
	pathprof_hot_paths_free(t);
}

static void test_sizes(void)
{
	static const uint32_t bad[][2] = {{0, 4},      {512, 0}, {512, 17},  {513, 4},
					  {500, 4},    {24, 4},  {65536, 3}, {3, 4},
					  {131072, 4}, {~0u, 1}, {~0u, ~0u}};
	static const uint32_t good[][2] = {{1, 1}, {16, 16}, {48, 3}, {65536, 16}, {65536, 1}};
	struct pathprof_hot_paths *t = NULL;
	struct pathprof_error error;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		error.text[0] = '\0';
		CU_ASSERT_EQUAL(pathprof_hot_paths_new(&t, bad[i][0], bad[i][1], &error), -EINVAL);
		CU_ASSERT_NOT_EQUAL(error.text[0], '\0');
		CU_ASSERT_PTR_NULL(t);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CU_ASSERT_EQUAL_FATAL(pathprof_hot_paths_new(&t, good[i][0], good[i][1], NULL), 0);
		pathprof_hot_paths_free(t);
	}
}

static const struct unit_test tests[] = {
	{"equals a list a set at every size on every kind of stream", test_oracle},
	{"a changed tie or count is found", test_planted_fault},
	{"a changed set index is found", test_planted_index},
	{"spilled and kept add up to what came, path by path", test_spill_is_lossless},
	{"reads hottest first, then by descriptor", test_order},
	{"refuses sizes that are none", test_sizes},
};
UNIT_SUITE(hpt, tests)
