// SPDX-License-Identifier: GPL-2.0-or-later
/* The second-level table A_k against a plain list, and that it loses nothing. */
#include "unit.h"

#include <stdlib.h>

#include "../../libprofile/core/pp_assoc.h"
#include "oracle_compress.h"
#include "oracle_stream.h"

#define EVENTS 100000

static bool same(const struct pp_message *m, const struct oracle_message *o)
{
	return m->tuple.pc == o->pc && m->tuple.word == o->word && m->count == o->count;
}

/* Evictions and final slots that differ. flip: of the count in slot 0, half way. */
static size_t differences(uint32_t size, enum stream_kind kind, enum oracle_fault fault,
			  uint64_t flip)
{
	struct oracle_compress_config config = {
		.sampler = 'P', .rate = 1, .second = size, .fault = fault};
	struct pp_assoc *a = calloc(1, sizeof(*a));
	struct oracle_message message, expected;
	struct oracle_compress o;
	struct pp_message evicted;
	size_t different = 0;
	struct stream s;

	oracle_compress_init(&o, &config);
	stream_init(&s, kind, true, 3 * (uint64_t)size, size);
	for (size_t i = 0; i < EVENTS; i++) {
		stream_tuple(&s, &message.pc, &message.word);
		message.count = 1 + i % 5;
		struct pp_tuple tuple = {message.pc, message.word};

		if (i == EVENTS / 2)
			a->entry[0].count ^= flip;
		bool out = pp_assoc_step(a, size, &tuple, message.count, &evicted);
		if (out != oracle_second(&o, &message, &expected))
			different++;
		else if (out)
			different += !same(&evicted, &expected);
	}
	different += a->used != o.second_used;
	for (uint32_t i = 0; i < o.second_used; i++)
		different += !same(&a->entry[i], &o.second[i]);
	oracle_compress_release(&o);
	free(a);
	return different;
}

static void test_oracle(void)
{
	static const uint32_t sizes[] = {1, 2, 3, 16, 255, 256};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (unsigned int kind = 0; kind < STREAM_KIND_CNT; kind++)
			CU_ASSERT_EQUAL(differences(sizes[i], kind, ORACLE_RIGHT, 0), 0);
}

static void test_planted_fault(void)
{
	CU_ASSERT_NOT_EQUAL(differences(16, STREAM_UNIFORM, ORACLE_TIE_HIGHEST, 0), 0);
	CU_ASSERT_NOT_EQUAL(differences(16, STREAM_UNIFORM, ORACLE_EVICTS_GREATEST, 0), 0);
	CU_ASSERT_NOT_EQUAL(differences(16, STREAM_SAME, ORACLE_RIGHT, 1), 0);
	CU_ASSERT_NOT_EQUAL(differences(16, STREAM_UNIFORM, ORACLE_RIGHT, 1u << 20), 0);
}

static void test_ties(void)
{
	struct pp_assoc a = {.used = 0};
	struct pp_message evicted = {.count = 99};
	struct pp_tuple x = {1, 0}, y = {2, 0}, z = {3, 0};

	CU_ASSERT_EQUAL(pp_assoc_step(&a, 2, &x, 5, &evicted), 0);
	CU_ASSERT_EQUAL(pp_assoc_step(&a, 2, &y, 5, &evicted), 0);
	CU_ASSERT_EQUAL(evicted.count, 99);
	CU_ASSERT_EQUAL(pp_assoc_step(&a, 2, &z, 1, &evicted), 1);
	CU_ASSERT_EQUAL(evicted.tuple.pc, 1);
	CU_ASSERT_EQUAL(a.entry[0].tuple.pc, 3);
	CU_ASSERT_EQUAL(pp_assoc_step(&a, 2, &x, 1, &evicted), 1);
	CU_ASSERT_EQUAL(evicted.tuple.pc, 3);
}

static void test_lossless(void)
{
	struct pp_assoc a = {.used = 0};
	struct pp_message evicted;
	uint64_t in = 0, out = 0;
	struct stream s;

	stream_init(&s, STREAM_SKEWED, false, 1000, 4);
	for (size_t i = 0; i < EVENTS; i++) {
		struct pp_tuple tuple = {stream_next(&s), 0};

		in += 256;
		if (pp_assoc_step(&a, 16, &tuple, 256, &evicted))
			out += evicted.count;
	}
	for (uint32_t i = 0; i < a.used; i++)
		out += a.entry[i].count;
	CU_ASSERT_EQUAL(in, out);
}

static const struct unit_test tests[] = {
	{"equals a list at every size on every kind of stream", test_oracle},
	{"a tie, choice or count gone wrong is found", test_planted_fault},
	{"the smallest count leaves, the lowest slot on a tie", test_ties},
	{"loses no count", test_lossless},
};
UNIT_SUITE(assoc, tests)
