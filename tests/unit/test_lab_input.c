// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The inputs of the experiments' programs against digests (FNV-1a), as published figures are of
 * these bytes. A compiler that evaluates arguments from the left shows what gcc hides.
 */
#include "../../tools/lab/experiment/input.h"

#include <stdint.h>
#include <stdlib.h>

#include "unit.h"

static void check(lab_input_writer *write, size_t wanted_bytes, uint64_t wanted_digest)
{
	uint64_t digest = 0xcbf29ce484222325;
	size_t len_bytes = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len_bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	write(out);
	CU_ASSERT_EQUAL(fclose(out), 0);
	for (size_t i = 0; i < len_bytes; i++)
		digest = (digest ^ (unsigned char)text[i]) * 0x100000001b3;
	CU_ASSERT_EQUAL(len_bytes, wanted_bytes);
	CU_ASSERT_EQUAL(digest, wanted_digest);
	free(text);
}

static void test_same_bytes(void)
{
	check(lab_input_text, 4241289, 0x5b8aadb2fd34302);
	check(lab_input_sentences, 26562, 0xa71a3c55ba9725b3);
	check(lab_input_log, 3154014, 0x1b6e3f6273e4254f);
}

static const struct unit_test tests[] = {
	{"are the same bytes by any compiler", test_same_bytes},
};
UNIT_SUITE(lab_input, tests)
