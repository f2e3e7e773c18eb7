// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tagged compressor: each transition of the paper's figure by itself, and long streams
 * against the list of transitions written out.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_tagged.h"
#include "oracle_compress.h"
#include "oracle_stream.h"

#define EVENTS 200000

static struct pp_tagged *new_table(void)
{
	struct pp_tagged *t = calloc(1, sizeof(*t));

	if (!t)
		abort();
	return t;
}

static const struct pp_tagged_config one_way = {.rate = 8, .ways = 1, .evict = 4, .replace = 3};
static const struct pp_tagged_config two_ways = {.rate = 8, .ways = 2, .evict = 4, .replace = 3};

/* Feeds the tags in set 0; returns the last one's count. */
static uint32_t feed(struct pp_tagged *t, const struct pp_tagged_config *config, const char *tags)
{
	uint32_t count = 0;

	for (; *tags; tags++)
		count = pp_tagged_step(t, config, 0, (uint32_t)(*tags - 'a'));
	return count;
}

static void expect(const struct pp_tagged_entry *e, enum pp_tagged_state state, uint32_t hits,
		   uint32_t misses)
{
	CU_ASSERT_EQUAL(e->state, state);
	CU_ASSERT_EQUAL(e->hits, hits);
	CU_ASSERT_EQUAL(e->misses, misses);
}

static void test_allocates(void)
{
	struct pp_tagged *t = new_table();

	CU_ASSERT_EQUAL(feed(t, &two_ways, "ab"), 0); /* E1 twice, lowest way first */
	expect(&t->entry[0], PP_TAGGED_VALID, 1, 0);
	expect(&t->entry[1], PP_TAGGED_VALID, 1, 0);
	CU_ASSERT_EQUAL(t->entry[0].tag, 0);
	CU_ASSERT_EQUAL(t->entry[1].tag, 1);
	free(t);
}

static void test_saturates(void)
{
	struct pp_tagged *t = new_table();

	CU_ASSERT_EQUAL(feed(t, &one_way, "aaaaaaa"), 0); /* E1, E3 */
	expect(&t->entry[0], PP_TAGGED_VALID, 7, 0);
	CU_ASSERT_EQUAL(feed(t, &one_way, "a"), 8); /* E2 */
	expect(&t->entry[0], PP_TAGGED_EMPTY, 0, 0);
	free(t);
}

static void test_evicts_and_retains(void)
{
	struct pp_tagged *t = new_table();

	CU_ASSERT_EQUAL(feed(t, &one_way, "aabb"), 0); /* E4, E5a */
	expect(&t->entry[0], PP_TAGGED_EVICT, 2, 2);
	CU_ASSERT_EQUAL(feed(t, &one_way, "a"), 0); /* E6a */
	expect(&t->entry[0], PP_TAGGED_EVICT, 3, 2);
	CU_ASSERT_EQUAL(feed(t, &one_way, "a"), 4); /* E6: the misses stay behind */
	expect(&t->entry[0], PP_TAGGED_EMPTY, 2, 0);
	CU_ASSERT_EQUAL(feed(t, &one_way, "b"), 0); /* E1 inherits them */
	expect(&t->entry[0], PP_TAGGED_VALID, 3, 0);
	free(t);
}

static void test_hands_over(void)
{
	struct pp_tagged *t = new_table();

	CU_ASSERT_EQUAL(feed(t, &one_way, "aabbc"), 0); /* E5: c is the third miss */
	expect(&t->entry[0], PP_TAGGED_VALID, 5, 0);
	CU_ASSERT_EQUAL(t->entry[0].tag, 2);
	CU_ASSERT_EQUAL(feed(t, &one_way, "ccc"), 8);
	free(t);
}

static void test_saturation_goes_first(void)
{
	static const struct pp_tagged_config config = {
		.rate = 2, .ways = 1, .evict = 2, .replace = 7};
	struct pp_tagged *t = new_table();

	CU_ASSERT_EQUAL(feed(t, &config, "aba"), 2); /* in EVICT E2 applies before E6 */
	expect(&t->entry[0], PP_TAGGED_EMPTY, 0, 0);
	free(t);
}

static void test_fewest_hits(void)
{
	struct pp_tagged *t = new_table();

	feed(t, &two_ways, "aabc"); /* b has fewer hits */
	expect(&t->entry[0], PP_TAGGED_VALID, 2, 0);
	expect(&t->entry[1], PP_TAGGED_EVICT, 1, 1);
	free(t);
	t = new_table();
	feed(t, &two_ways, "abc"); /* a tie: the lowest */
	expect(&t->entry[0], PP_TAGGED_EVICT, 1, 1);
	expect(&t->entry[1], PP_TAGGED_VALID, 1, 0);
	free(t);
}

struct setting {
	uint32_t rate, evict, replace, ways;
	unsigned int bits, tag_bits;
};

static struct pp_tagged_config core_config(const struct setting *s)
{
	return (struct pp_tagged_config){
		.rate = s->rate, .ways = s->ways, .evict = s->evict, .replace = s->replace};
}

static bool same_entry(const struct pp_tagged_entry *e, const struct oracle_tag_entry *o)
{
	uint64_t hits = o->state == ORACLE_EMPTY ? o->retained : o->hits;

	return (unsigned int)e->state == (unsigned int)o->state && e->hits == hits &&
	       e->misses == o->misses && (o->state == ORACLE_EMPTY || e->tag == o->tag);
}

/* Reports and final entries that differ. flip: this bit of the first entry's hits, half way. */
static size_t differences(const struct setting *core, const struct setting *oracle,
			  enum stream_kind kind, enum oracle_fault fault, uint32_t flip)
{
	struct oracle_compress_config config = {.sampler = 'T', .rate = oracle->rate};
	struct pp_tagged_config tagged = core_config(core);
	struct pp_tagged *t = new_table();
	uint64_t pc, word, sets = (uint64_t)1 << core->bits;
	struct oracle_compress o;
	size_t different = 0;
	struct stream s;

	config.bits = oracle->bits;
	config.ways = oracle->ways;
	config.evict = oracle->evict;
	config.replace = oracle->replace;
	config.fault = fault;
	oracle_compress_init(&o, &config);
	stream_init(&s, kind, false, 8 * sets * core->ways, core->rate);
	for (size_t i = 0; i < EVENTS; i++) {
		stream_tuple(&s, &pc, &word);
		uint64_t set = word % sets, tag = pc / 4 % ((uint64_t)1 << core->tag_bits);

		if (i == EVENTS / 2)
			t->entry[0].hits ^= flip;
		different += pp_tagged_step(t, &tagged, (uint32_t)set, (uint32_t)tag) !=
			     oracle_tagged(&o, set, tag);
	}
	for (size_t i = 0; i < sets * core->ways; i++)
		different += !same_entry(&t->entry[i], &o.entries[i]);
	oracle_compress_release(&o);
	free(t);
	return different;
}

static const struct setting settings[] = {
	{256, 128, 7, 2, 10, 2}, {16, 8, 7, 2, 5, 2},  {16, 4, 3, 4, 4, 4},
	{1, 0, 1, 1, 0, 8},      {2, 1, 1, 8, 3, 8},   {9, 9, 2, 3, 2, 3},
	{64, 1, 65535, 2, 5, 3}, {64, 32, 7, 5, 3, 8}, {100, 50, 7, 1, 13, 2},
};

static void test_oracle(void)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		for (unsigned int kind = 0; kind < STREAM_KIND_CNT; kind++)
			CU_ASSERT_EQUAL(
				differences(&settings[i], &settings[i], kind, ORACLE_RIGHT, 0), 0);
}

static void test_planted_fault(void)
{
	const struct setting *s = &settings[2];
	struct setting wrong = *s;

	CU_ASSERT_NOT_EQUAL(differences(s, s, STREAM_UNIFORM, ORACLE_TIE_HIGHEST, 0), 0);
	CU_ASSERT_NOT_EQUAL(differences(s, s, STREAM_UNIFORM, ORACLE_DROPS_MISSES, 0), 0);
	CU_ASSERT_NOT_EQUAL(differences(s, s, STREAM_UNIFORM, ORACLE_RETAINS_NONE, 0), 0);
	CU_ASSERT_NOT_EQUAL(differences(s, s, STREAM_UNIFORM, ORACLE_RIGHT, 1), 0);
	wrong.replace++;
	CU_ASSERT_NOT_EQUAL(differences(s, &wrong, STREAM_UNIFORM, ORACLE_RIGHT, 0), 0);
	wrong = *s;
	wrong.evict++;
	CU_ASSERT_NOT_EQUAL(differences(s, &wrong, STREAM_UNIFORM, ORACLE_RIGHT, 0), 0);
}

/* With one way, the reported counts and those left in the entry are the whole stream. */
static void test_accounts_for_its_stream(void)
{
	static const struct pp_tagged_config config = {
		.rate = 1u << 30, .ways = 1, .evict = 8, .replace = 7};
	struct pp_tagged *t = new_table();
	uint64_t random = 11, reported = 0;

	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t draw = stream_random(&random);

		reported += pp_tagged_step(t, &config, 0, (uint32_t)(draw % 8 ? draw % 2 : 2));
	}
	CU_ASSERT(reported > 0);
	CU_ASSERT_EQUAL(reported + t->entry[0].hits + t->entry[0].misses, EVENTS);
	free(t);
}

static const struct unit_test tests[] = {
	{"E1 takes the lowest empty way", test_allocates},
	{"E2 reports at r hits", test_saturates},
	{"E4, E5a, E6a, E6: evicts, and the next tuple inherits the misses",
	 test_evicts_and_retains},
	{"E5 hands an entry over with all it counted", test_hands_over},
	{"E2 applies before E6", test_saturation_goes_first},
	{"a miss in a full set goes to the fewest hits, lowest on a tie", test_fewest_hits},
	{"equals the transitions written out on every kind of stream", test_oracle},
	{"a changed threshold, tie, counter or transition is found", test_planted_fault},
	{"drops no count", test_accounts_for_its_stream},
};
UNIT_SUITE(tagged, tests)
