// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sampler's hash against its definition a bit at a time, over addresses of both halves of the
 * address space; and that a single wrong bit in the tables shows.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_hash.h"
#include "oracle_compress.h"
#include "oracle_stream.h"
#include "pathprof/compress.h"

#define EVENTS 60000 /* times 17 widths */

static uint8_t oracle_table[256];

/* Tuples of the stream whose index differs from the oracle's. */
static size_t differences(struct pp_hash *h, unsigned int bits, struct stream *s, size_t events)
{
	size_t different = 0;
	uint64_t pc, word;

	for (size_t i = 0; i < events; i++) {
		stream_tuple(s, &pc, &word);
		uint64_t right = oracle_hash_index(oracle_table, pc, word, bits);

		different += pp_hash_index(h, pc, word) != right;
		different += pp_hash_index_near(h, pc, word) != right;
	}
	return different;
}

static void test_published(void)
{
	static const uint8_t first[] = {196, 8, 174, 52, 116, 136, 198, 245};
	struct pathprof_hash hash;

	pathprof_hash_init(&hash);
	CU_ASSERT_EQUAL(memcmp(hash.permutation, first, sizeof(first)), 0);
	CU_ASSERT_EQUAL(pathprof_hash_index(&hash, 0x401136, 42, 11), 1365);
}

static void test_permutation(void)
{
	struct pathprof_hash hash;
	unsigned int seen[256] = {0};

	pathprof_hash_init(&hash);
	oracle_hash_table(oracle_table);
	CU_ASSERT_EQUAL(memcmp(hash.permutation, oracle_table, 256), 0);
	for (unsigned int i = 0; i < 256; i++)
		seen[hash.permutation[i]]++;
	for (unsigned int i = 0; i < 256; i++)
		CU_ASSERT_EQUAL(seen[i], 1);
}

static void test_tables(void)
{
	struct pp_hash h;
	struct stream s;

	oracle_hash_table(oracle_table);
	for (unsigned int bits = 0; bits <= PP_HASH_BITS_MAX; bits++) {
		pp_hash_init(&h, bits);
		for (unsigned int kind = 0; kind < STREAM_KIND_CNT; kind++) {
			stream_init(&s, kind, kind % 2 == 0, 100000, bits);
			CU_ASSERT_EQUAL(differences(&h, bits, &s, EVENTS / STREAM_KIND_CNT), 0);
		}
	}
}

static void test_random_words(void)
{
	struct pp_hash h;
	uint64_t random = 1, pc, word, shift;

	oracle_hash_table(oracle_table);
	pp_hash_init(&h, 11);
	for (size_t i = 0; i < EVENTS; i++) {
		shift = stream_random(&random) % 64;
		pc = stream_random(&random) >> shift;
		word = stream_random(&random) >> stream_random(&random) % 64;
		uint64_t right = oracle_hash_index(oracle_table, pc, word, 11);

		if (pp_hash_index(&h, pc, word) != right ||
		    pp_hash_index_near(&h, pc, word) != right) {
			CU_FAIL("index differs");
			return;
		}
	}
}

static void test_definition(void)
{
	struct pathprof_hash hash;
	size_t different = 0;
	struct stream s;
	uint64_t pc, word;

	pathprof_hash_init(&hash);
	oracle_hash_table(oracle_table);
	stream_init(&s, STREAM_UNIFORM, true, 1 << 20, 7);
	for (unsigned int n = 0; n <= 64; n++)
		for (size_t i = 0; i < EVENTS / 65; i++) {
			stream_tuple(&s, &pc, &word);
			different += pathprof_hash_index(&hash, pc, word, n) !=
				     oracle_hash_index(oracle_table, pc, word, n);
			different += pp_hash_tag(pc, word, n % 9) != oracle_fold(pc ^ word, n % 9);
		}
	CU_ASSERT_EQUAL(different, 0);
}

/* Table entries of the low bytes lose a bit one after the other: the tuples that use them tell. */
static void test_planted_bit(void)
{
	uint64_t random = 3;
	struct stream s;
	struct pp_hash h;

	oracle_hash_table(oracle_table);
	for (unsigned int i = 0; i < 64; i++) {
		unsigned int part = i % 2 ? 0 : 8, value = 4 * (i / 2);

		pp_hash_init(&h, 11);
		h.part[part][value] ^= (uint16_t)(1u << stream_random(&random) % 11);
		stream_init(&s, STREAM_UNIFORM, true, 4096, i);
		CU_ASSERT_NOT_EQUAL(differences(&h, 11, &s, 20000), 0);
	}
	pp_hash_init(&h, 11);
	stream_init(&s, STREAM_UNIFORM, true, 4096, 64);
	CU_ASSERT_EQUAL(differences(&h, 11, &s, 20000), 0);
}

static void test_planted_oracle(void)
{
	struct pp_hash h;
	struct stream s;

	oracle_hash_table(oracle_table);
	uint8_t kept = oracle_table[0x10];
	oracle_table[0x10] = oracle_table[0x40];
	oracle_table[0x40] = kept;
	pp_hash_init(&h, 16);
	stream_init(&s, STREAM_SKEWED, false, 10000, 5);
	CU_ASSERT_NOT_EQUAL(differences(&h, 16, &s, 5000), 0);
}

static void test_spread(void)
{
	static unsigned int load[2048];
	struct stream s;
	struct pp_hash h;
	unsigned int greatest = 0;
	uint64_t pc, word;

	memset(load, 0, sizeof(load));
	pp_hash_init(&h, 11);
	stream_init(&s, STREAM_DISTINCT, true, 0, 1);
	for (unsigned int i = 0; i < 64 * 2048; i++) {
		stream_tuple(&s, &pc, &word);
		load[pp_hash_index(&h, pc, word)]++;
	}
	for (unsigned int i = 0; i < 2048; i++)
		if (load[i] > greatest)
			greatest = load[i];
	/* Mean 64, deviation 8: twice the mean would be sixteen deviations off. */
	CU_ASSERT(greatest < 128);
}

static const struct unit_test tests[] = {
	{"has the published table and index", test_published},
	{"replaces bytes through a permutation", test_permutation},
	{"its tables equal the definition at every width", test_tables},
	{"equals the definition on words of every magnitude", test_random_words},
	{"the public function and the tag equal the definition", test_definition},
	{"a flipped bit in the tables is found", test_planted_bit},
	{"two swapped bytes in the definition are found", test_planted_oracle},
	{"spreads distinct tuples evenly", test_spread},
};
UNIT_SUITE(hash, tests)
