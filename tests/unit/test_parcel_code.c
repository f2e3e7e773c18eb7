// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The range coder of parcels: what is written is read, whatever the numbers; carries run through
 * bytes that wait; numbers that repeat take hardly any room; bytes that end too soon are said.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../../libprofile/src/parcel/pp_parcel_code.h"
#include "test_store.h"

#define NUMBERS 20000

struct models {
	struct pp_code_number number;
	struct pp_code_bit bit, digits[8], symbol[512];
};

/* Any size is as frequent as any other. */
static uint64_t any_number(uint64_t *random)
{
	uint64_t high = world_random(random, UINT32_MAX), low = world_random(random, UINT32_MAX);
	uint32_t shift = (uint32_t)world_random(random, 65);

	return shift == 64 ? 0 : (high << 32 | low) >> shift;
}

/* The same calls write and read; when reading, values given are wrong on purpose. */
static void code_all(struct pp_coder *c, uint64_t seed)
{
	struct models *m = calloc(1, sizeof(*m));
	uint64_t random = seed;

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	for (int i = 0; i < NUMBERS; i++) {
		uint64_t value = any_number(&random), wrong = c->is_reading ? ~value : value;
		bool bit = value % 7 == 0;

		CU_ASSERT_EQUAL(pp_code_number(c, &m->number, value % 30, wrong), value);
		CU_ASSERT_EQUAL(pp_code_bit(c, &m->bit, c->is_reading ? !bit : bit), bit);
		CU_ASSERT_EQUAL(pp_code_digits(c, m->digits, 11, wrong), value & 0x7ff);
		CU_ASSERT_EQUAL(pp_code_symbol(c, m->symbol, 9, (uint32_t)wrong), value & 0x1ff);
	}
	free(m);
}

static void test_any(void)
{
	for (uint64_t seed = 1; seed < 4; seed++) {
		struct pp_coder writer, reader;

		pp_coder_write(&writer);
		code_all(&writer, seed);
		pp_coder_finish(&writer);
		CU_ASSERT(!writer.failed);
		pp_coder_read(&reader, writer.out, writer.out_len);
		code_all(&reader, seed);
		CU_ASSERT(pp_coder_is_whole(&reader));
		free(writer.out);
	}
}

/* Ones alone at the top of the range make bytes of 0xff that wait for a carry. */
static void test_carries(void)
{
	for (unsigned int zeros_at = 0; zeros_at < 64; zeros_at++) {
		struct pp_code_bit model[8] = {{0, 0}}, again[8] = {{0, 0}};
		uint64_t value = UINT64_MAX ^ 1ull << zeros_at;
		struct pp_coder writer, reader;

		pp_coder_write(&writer);
		for (int i = 0; i < 50; i++)
			pp_code_digits(&writer, model, 64, value);
		pp_coder_finish(&writer);
		pp_coder_read(&reader, writer.out, writer.out_len);
		for (int i = 0; i < 50; i++)
			CU_ASSERT_EQUAL(pp_code_digits(&reader, again, 64, 0), value);
		CU_ASSERT(pp_coder_is_whole(&reader));
		free(writer.out);
	}
}

static void test_alike(void)
{
	struct models *m = calloc(1, sizeof(*m));
	struct pp_coder writer;

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	pp_coder_write(&writer);
	for (int i = 0; i < NUMBERS; i++)
		pp_code_number(&writer, &m->number, 0, 5);
	pp_coder_finish(&writer);
	CU_ASSERT(writer.out_len < NUMBERS / 40);
	free(writer.out);
	free(m);
}

static void test_cut(void)
{
	struct models *m = calloc(1, sizeof(*m));
	struct pp_coder reader;

	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	pp_coder_read(&reader, (const uint8_t *)"\0\1\2\3\4\5", 6);
	for (int i = 0; i < 100; i++)
		pp_code_digits(&reader, m->digits, 60, 0);
	CU_ASSERT(reader.failed);
	CU_ASSERT(!pp_coder_is_whole(&reader));
	free(m);
}

static const struct unit_test tests[] = {
	{"any numbers are read as they were written", test_any},
	{"carries", test_carries},
	{"numbers that are alike take little room", test_alike},
	{"bytes that end too soon", test_cut},
};

UNIT_SUITE(parcel_code, tests)
