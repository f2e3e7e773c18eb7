// SPDX-License-Identifier: GPL-2.0-or-later
/* The table in front of a sampler and periods begun at random, against naive models. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_compress.h"
#include "oracle_stream.h"
#include "pathprof/compress.h"

#define EVENTS     60000
#define SLOTS_MAX  64
#define WAYS       4
#define STRATA_MAX 1024

enum fault { RIGHT, LOSES_COUNT, NEVER_FADES, PHASE_ZERO };

struct slot {
	bool used;
	uint64_t pc, word, count, uses;
};

/* F<slot_cnt>H[PR<rate>]<1 << bits>; slot_cnt 0: no table. */
struct model {
	unsigned int slot_cnt, bits;
	uint64_t rate;
	enum fault fault;
	uint8_t table[256];
	uint64_t seen[STRATA_MAX];
	struct slot slots[SLOTS_MAX];
};

struct setting {
	const char *notation;
	unsigned int slot_cnt, bits;
	uint64_t rate;
};

static const struct setting settings[] = {
	{"PR100", 0, 0, 100},       {"H[PR64]1024", 0, 10, 64},       {"F4PR16", 4, 0, 16},
	{"F16H[PR8]256", 16, 8, 8}, {"F64H[PR192]1024", 64, 10, 192}, {"F64H[PR1]2", 64, 1, 1},
};
#define SETTING_CNT (sizeof(settings) / sizeof(settings[0]))

static void model_init(struct model *m, const struct setting *setting, enum fault fault)
{
	uint64_t random = 1;

	memset(m, 0, sizeof(*m));
	m->slot_cnt = setting->slot_cnt;
	m->bits = setting->bits;
	m->rate = setting->rate;
	m->fault = fault;
	oracle_hash_table(m->table);
	for (unsigned int i = 0; i < 1u << m->bits && fault != PHASE_ZERO; i++)
		m->seen[i] = (oracle_random_next(&random) >> 32) * m->rate / 4294967296u;
}

static bool model_sample(struct model *m, uint64_t pc, uint64_t word)
{
	uint64_t *seen = &m->seen[m->bits ? oracle_hash_index(m->table, pc, word, m->bits) : 0];

	return ++*seen % m->rate == 0;
}

static unsigned int model_set(const struct model *m, uint64_t pc, uint64_t word)
{
	uint64_t hash = (pc ^ word * 0xC2B2AE3D27D4EB4FULL) * 0x9E3779B97F4A7C15ULL;

	return (unsigned int)(hash / 4294967296u % m->slot_cnt / WAYS * WAYS);
}

static struct slot *model_victim(struct slot *set)
{
	struct slot *victim = set;

	for (unsigned int i = 0; i < WAYS; i++)
		if (!set[i].used)
			return &set[i];
	for (unsigned int i = 1; i < WAYS; i++)
		if (set[i].uses < victim->uses)
			victim = &set[i];
	return victim;
}

static bool model_enter(struct model *m, struct slot *set, struct slot entry,
			struct oracle_message *ret_message)
{
	struct slot *victim = model_victim(set);
	bool out = victim->used;

	if (out) {
		*ret_message = (struct oracle_message){victim->pc, victim->word, victim->count};
		for (unsigned int i = 0; i < WAYS && m->fault != NEVER_FADES; i++)
			set[i].uses /= 2;
	}
	*victim = entry;
	return out;
}

static bool model_step(struct model *m, uint64_t pc, uint64_t word,
		       struct oracle_message *ret_message)
{
	struct slot *set = m->slot_cnt ? &m->slots[model_set(m, pc, word)] : NULL;

	for (unsigned int i = 0; set && i < WAYS; i++)
		if (set[i].used && set[i].pc == pc && set[i].word == word) {
			set[i].count += m->fault != LOSES_COUNT;
			set[i].uses += set[i].uses < 255;
			return false;
		}
	if (!model_sample(m, pc, word))
		return false;
	*ret_message = (struct oracle_message){pc, word, m->rate};
	return !set || model_enter(m, set, (struct slot){true, pc, word, m->rate, 1}, ret_message);
}

static bool same(const struct pathprof_message *a, const struct oracle_message *b)
{
	return a->pc == b->pc && a->word == b->word && a->count == b->count;
}

static size_t flush_differences(struct pathprof_compressor *c, const struct model *m)
{
	struct pathprof_message message;
	size_t different = 0;

	for (unsigned int i = 0; i < m->slot_cnt; i++) {
		const struct slot *s = &m->slots[i];
		struct oracle_message expected = {s->pc, s->word, s->count};

		if (s->used)
			different += !pathprof_compressor_flush(c, &message) ||
				     !same(&message, &expected);
	}
	return different + pathprof_compressor_flush(c, &message);
}

/* Messages, flushed ones included, that differ. */
static size_t differences(const struct setting *setting, enum fault fault, struct stream *s)
{
	struct pathprof_compressor *c;
	struct pathprof_message message;
	struct oracle_message expected;
	static struct model m;
	size_t different = 0;
	uint64_t pc, word;

	if (pathprof_compressor_new(&c, setting->notation, NULL, NULL) < 0)
		return 1;
	model_init(&m, setting, fault);
	for (size_t i = 0; i < EVENTS; i++) {
		stream_tuple(s, &pc, &word);
		bool out = pathprof_compressor_step(c, pc, word, &message);

		if (out != model_step(&m, pc, word, &expected))
			different++;
		else if (out)
			different += !same(&message, &expected);
	}
	different += flush_differences(c, &m);
	pathprof_compressor_free(c);
	return different;
}

static void test_oracle(void)
{
	struct stream s;

	for (size_t i = 0; i < SETTING_CNT; i++)
		for (enum stream_kind kind = 0; kind < STREAM_KIND_CNT; kind++) {
			stream_init(&s, kind, i % 2, 3000, i + 1);
			CU_ASSERT_EQUAL(differences(&settings[i], RIGHT, &s), 0);
		}
}

static size_t differences_with(const struct setting *setting, enum fault fault)
{
	struct stream s;

	stream_init(&s, STREAM_SKEWED, true, 3000, 7);
	return differences(setting, fault, &s);
}

static void test_planted_fault(void)
{
	CU_ASSERT_NOT_EQUAL(differences_with(&settings[1], PHASE_ZERO), 0);
	CU_ASSERT_NOT_EQUAL(differences_with(&settings[3], LOSES_COUNT), 0);
	CU_ASSERT_NOT_EQUAL(differences_with(&settings[3], NEVER_FADES), 0);
}

/* Reported counts and those left in the table are the whole stream, less a period a stratum. */
static void test_keeps_counts(void)
{
	struct pathprof_message message;
	struct pathprof_compressor *c;
	uint64_t pc, word, sum = 0;
	struct stream s;

	stream_init(&s, STREAM_SKEWED, true, 3000, 3);
	CU_ASSERT_EQUAL_FATAL(pathprof_compressor_new(&c, "F16H[P8]64", NULL, NULL), 0);
	for (size_t i = 0; i < EVENTS; i++) {
		stream_tuple(&s, &pc, &word);
		if (pathprof_compressor_step(c, pc, word, &message))
			sum += message.count;
	}
	while (pathprof_compressor_flush(c, &message))
		sum += message.count;
	CU_ASSERT(sum <= EVENTS && sum + 64 * 7 >= EVENTS);
	pathprof_compressor_free(c);
}

static void test_refuses(void)
{
	static const char *const bad[] = {
		"F",        "F64",           "F0P256",     "F3P256",         "F5P256",
		"F512P256", "F64T[256]2048", "F64P256A16", "F64F64P256",     "P256F64",
		"CRR256",   "RP256",         "PR0",        "F64H[PR256]3",   "PRR256",
		"F-4P256",  "F2P256",        "f64P256",    "F64H[T256]2048", "F64H[PR256]1024 ",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pathprof_compressor *c = NULL;
		struct pathprof_error error = {""};

		CU_ASSERT_EQUAL(pathprof_compressor_new(&c, bad[i], NULL, &error), -EINVAL);
		CU_ASSERT_PTR_NULL(c);
		CU_ASSERT_NOT_EQUAL(strlen(error.text), 0);
	}
}

static const struct unit_test tests[] = {
	{"F and PR equal their models", test_oracle},
	{"a lost count, a use that never fades, a phase of zero are found", test_planted_fault},
	{"what it holds and sends is all but a period a stratum", test_keeps_counts},
	{"refuses what is no table in front, with a line of why", test_refuses},
};
UNIT_SUITE(front, tests)
