// SPDX-License-Identifier: GPL-2.0-or-later
/* Whole compressors by their notation, against the oracle; and the notation itself. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_compress.h"
#include "oracle_stream.h"
#include "pathprof/compress.h"

#define EVENTS 100000

struct setting {
	const char *notation;
	struct pathprof_compress_options options;
	struct oracle_compress_config oracle;
};

/* The paper's notations, with the options' defaults written out on the oracle's side. */
static const struct setting settings[] = {
	{"R256", {.seed = 0}, {.sampler = 'R', .rate = 256}},
	{"P256", {.seed = 0}, {.sampler = 'P', .rate = 256}},
	{"CR256", {.seed = 9}, {.sampler = 'C', .rate = 256, .seed = 9}},
	{"P1", {.seed = 0}, {.sampler = 'P', .rate = 1}},
	{"P1A16", {.seed = 0}, {.sampler = 'P', .rate = 1, .second = 16}},
	{"H[R16]64", {.seed = 3}, {.sampler = 'R', .rate = 16, .bits = 6, .seed = 3}},
	{"H[P256]2048", {.seed = 0}, {.sampler = 'P', .rate = 256, .bits = 11}},
	{"H[CR64]2048", {.seed = ~0ULL}, {.sampler = 'C', .rate = 64, .bits = 11, .seed = ~0ULL}},
	{"H[P16]2048A16", {.seed = 0}, {.sampler = 'P', .rate = 16, .bits = 11, .second = 16}},
	{"H[CR16]1", {.seed = 0}, {.sampler = 'C', .rate = 16}},
	{"H[P4]65536A256", {.seed = 0}, {.sampler = 'P', .rate = 4, .bits = 16, .second = 256}},
	{"T[16]64",
	 {.seed = 0},
	 {.sampler = 'T',
	  .rate = 16,
	  .bits = 5,
	  .ways = 2,
	  .tag_bits = 2,
	  .evict = 8,
	  .replace = 7}},
	{"T[256]2048A8",
	 {.seed = 0},
	 {.sampler = 'T',
	  .rate = 256,
	  .bits = 10,
	  .ways = 2,
	  .tag_bits = 2,
	  .evict = 128,
	  .replace = 7,
	  .second = 8}},
	{"T[10]24",
	 {.ways = 3, .tag_bits = 8, .evict = 2, .replace = 3},
	 {.sampler = 'T',
	  .rate = 10,
	  .bits = 3,
	  .ways = 3,
	  .tag_bits = 8,
	  .evict = 2,
	  .replace = 3}},
	{"T[32]4096A16",
	 {.ways = 8, .tag_bits = 5, .evict = 32, .replace = 1},
	 {.sampler = 'T',
	  .rate = 32,
	  .bits = 9,
	  .ways = 8,
	  .tag_bits = 5,
	  .evict = 32,
	  .replace = 1,
	  .second = 16}},
};
#define SETTING_CNT (sizeof(settings) / sizeof(settings[0]))

static bool same(const struct pathprof_message *m, const struct oracle_message *o)
{
	return m->pc == o->pc && m->word == o->word && m->count == o->count;
}

/* Messages, flushed ones included, that differ. */
static size_t differences(const struct setting *setting,
			  const struct oracle_compress_config *oracle, struct stream *s)
{
	struct pathprof_compressor *c;
	struct pathprof_message message;
	struct oracle_message expected;
	struct oracle_compress o;
	size_t different = 0;
	uint64_t pc, word;

	if (pathprof_compressor_new(&c, setting->notation, &setting->options, NULL) < 0)
		return 1;
	oracle_compress_init(&o, oracle);
	for (size_t i = 0; i < EVENTS; i++) {
		stream_tuple(s, &pc, &word);
		bool out = pathprof_compressor_step(c, pc, word, &message);

		if (out != oracle_compress_step(&o, pc, word, &expected))
			different++;
		else if (out)
			different += !same(&message, &expected);
	}
	for (unsigned int i = 0; i < o.second_used; i++)
		different +=
			!pathprof_compressor_flush(c, &message) || !same(&message, &o.second[i]);
	different += pathprof_compressor_flush(c, &message);
	oracle_compress_release(&o);
	pathprof_compressor_free(c);
	return different;
}

static void test_oracle(void)
{
	struct stream s;

	for (size_t i = 0; i < SETTING_CNT; i++) {
		stream_init(&s, STREAM_SKEWED, i % 2, 5000, i);
		CU_ASSERT_EQUAL(differences(&settings[i], &settings[i].oracle, &s), 0);
		stream_init(&s, i % STREAM_KIND_CNT, true, 5000, i);
		CU_ASSERT_EQUAL(differences(&settings[i], &settings[i].oracle, &s), 0);
	}
}

static size_t differences_with(size_t setting, enum oracle_fault fault, uint64_t rate_added,
			       uint64_t seed_added)
{
	struct oracle_compress_config wrong = settings[setting].oracle;
	struct stream s;

	wrong.fault = fault;
	wrong.rate += rate_added;
	wrong.seed += seed_added;
	stream_init(&s, STREAM_SKEWED, true, 5000, 1);
	return differences(&settings[setting], &wrong, &s);
}

static void test_planted_fault(void)
{
	for (size_t i = 0; i < SETTING_CNT; i++)
		CU_ASSERT_NOT_EQUAL(differences_with(i, ORACLE_RIGHT, 1, 0), 0);
	CU_ASSERT_NOT_EQUAL(differences_with(5, ORACLE_RIGHT, 0, 1), 0);
	CU_ASSERT_NOT_EQUAL(differences_with(8, ORACLE_TIE_HIGHEST, 0, 0), 0);
	CU_ASSERT_NOT_EQUAL(differences_with(8, ORACLE_EVICTS_GREATEST, 0, 0), 0);
	CU_ASSERT_NOT_EQUAL(differences_with(11, ORACLE_RETAINS_NONE, 0, 0), 0);
}

static void test_refuses(void)
{
	static const char *const bad[] = {
		"",
		"R",
		"r256",
		"R0",
		"R-1",
		"R+1",
		" R1",
		"R1 ",
		"R4294967296",
		"R99999999999999999999999",
		"C256",
		"CP256",
		"X256",
		"H[P256]",
		"H[P256]0",
		"H[P256]3",
		"H[P256]131072",
		"H[P256]2048A",
		"H[P256]2048A0",
		"H[P256]2048A257",
		"H[T256]2048",
		"H[P256",
		"H[]2048",
		"HP256]2048",
		"T[256]",
		"T[256]1",
		"T[0]64",
		"T[256]6",
		"T[P256]64",
		"A16",
		"P256A16A16",
		"P256A16 ",
		"P256\n",
		"H[H[P256]2]2",
		"T[256]131072",
		"\xff\xfe",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pathprof_compressor *c = (void *)&c;
		struct pathprof_error error = {""};

		CU_ASSERT_EQUAL(pathprof_compressor_new(&c, bad[i], NULL, &error), -EINVAL);
		CU_ASSERT_PTR_EQUAL(c, (void *)&c);
		CU_ASSERT_NOT_EQUAL(strlen(error.text), 0);
		CU_ASSERT_PTR_NULL(strchr(error.text + strlen(error.text) - 1, '\n'));
	}
}

static void test_refuses_options(void)
{
	static const struct pathprof_compress_options bad[] = {
		{.ways = 9}, {.tag_bits = 9}, {.replace = 65536}, {.ways = ~0u}, {.tag_bits = ~0u}};
	struct pathprof_compressor *c = NULL;
	struct pathprof_error error;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		error.text[0] = '\0';
		CU_ASSERT_EQUAL(pathprof_compressor_new(&c, "T[256]2048", &bad[i], &error),
				-EINVAL);
		CU_ASSERT_PTR_NULL(c);
		CU_ASSERT_NOT_EQUAL(error.text[0], '\0');
	}
}

static void test_flush(void)
{
	struct pathprof_compressor *c;
	struct pathprof_message message = {.count = 77};

	CU_ASSERT_EQUAL_FATAL(pathprof_compressor_new(&c, "P1A2", NULL, NULL), 0);
	CU_ASSERT_FALSE(pathprof_compressor_flush(c, &message));
	CU_ASSERT_EQUAL(message.count, 77);
	CU_ASSERT_FALSE(pathprof_compressor_step(c, 1, 2, &message));
	CU_ASSERT_TRUE(pathprof_compressor_flush(c, &message));
	CU_ASSERT_EQUAL(message.count, 1);
	CU_ASSERT_FALSE(pathprof_compressor_flush(c, &message));
	/* Flushed, it begins anew. */
	CU_ASSERT_FALSE(pathprof_compressor_step(c, 1, 2, &message));
	CU_ASSERT_TRUE(pathprof_compressor_flush(c, &message));
	CU_ASSERT_EQUAL(message.count, 1);
	pathprof_compressor_free(c);
	pathprof_compressor_free(NULL);
}

static const struct unit_test tests[] = {
	{"every notation equals its oracle", test_oracle},
	{"a changed rate, seed, tie or transition is found", test_planted_fault},
	{"refuses what is no notation, with a line of why", test_refuses},
	{"refuses options out of range", test_refuses_options},
	{"flushes the second level once, slot by slot", test_flush},
};
UNIT_SUITE(compress, tests)
