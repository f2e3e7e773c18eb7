// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The place of a probe: function beginnings as compilers make them, written out as bytes. Cut off
 * or damaged at any byte, they cause no read out of bounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/values/probe_place.h"
#include "unit.h"

struct start {
	const char *what;
	const char *hex;
	uint32_t argument, offset;
	bool emulated;
};

static const struct start starts[] = {
	{"push rbx first", "53 4889fb c3", 1, 0, true},
	{"push r12 first", "4154 4989fc c3", 1, 0, true},
	{"endbr64, push rbp", "f30f1efa 55 4889e5 c3", 1, 4, true},
	{"endbr64, nop", "f30f1efa 90 c3", 1, 4, true},
	{"66 nop", "f30f1efa 6690 c3", 3, 4, true},
	{"five-byte nop is no cheap one on older kernels, the push behind it is",
	 "0f1f440000 53 c3", 1, 5, true},
	{"sub rsp, push later", "4883ec08 53 c3", 2, 4, true},
	{"a jump alone is emulated", "e900010000", 1, 0, true},
	{"a test, then a conditional jump", "4885ff 7405 53 5b c3", 1, 3, true},
	{"the parameter is overwritten before the push", "f30f1efa 31ff 53 c3", 1, 0, false},
	{"half of it too", "f30f1efa 40b700 53 c3", 1, 0, false},
	{"another one's overwriting does no harm", "f30f1efa 31ff 53 c3", 2, 6, true},
	{"exchanged", "4887f7 53 c3", 2, 0, false},
	{"popped", "5f 53 c3", 1, 0, false},
	{"r8 by a move of 32 bits", "4189c0 53 c3", 5, 0, false},
	{"r9", "4c8b4c2408 53 c3", 6, 0, false},
	{"rcx as a string's count", "f3aa 53 c3", 4, 0, false},
	{"a return ends the search", "c3 53", 1, 0, false},
	{"a call through a register too", "ffd0 53", 1, 0, false},
	{"a system call too", "0f05 53", 1, 0, false},
	{"a jump back to the push", "4883ec08 53 4883e801 75f9 c3", 1, 0, false},
	{"a jump back before it", "4883ec08 53 4883e801 75f5 c3", 1, 4, true},
	{"only lea and moves", "488d0437 c3", 1, 0, false},
	{"nothing", "", 1, 0, false},
	{"no instruction", "06", 1, 0, false},
	{"jrcxz is stepped", "e300 53", 1, 0, false},
	{"push of a constant is stepped, the register behind it is not", "6a01 53 c3", 1, 2, true},
	{"a jump with an operand-size prefix", "66e90000", 1, 0, false},
};
#define START_CNT (sizeof(starts) / sizeof(starts[0]))

static size_t bytes_of(const char *hex, uint8_t *bytes)
{
	size_t cnt = 0;

	for (; *hex; hex += *hex == ' ' ? 1 : 2) {
		char pair[3] = {hex[0], hex[0] == ' ' ? 0 : hex[1], 0};

		if (*hex != ' ')
			bytes[cnt++] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return cnt;
}

static bool is_as_expected(const struct start *s)
{
	uint8_t bytes[64];
	size_t len = bytes_of(s->hex, bytes);
	bool emulated = !s->emulated;
	uint32_t offset = pp_probe_place(bytes, len, s->argument, &emulated);

	return offset == s->offset && emulated == s->emulated;
}

static void test_starts(void)
{
	for (size_t i = 0; i < START_CNT; i++) {
		if (!is_as_expected(&starts[i]))
			printf("%s\n", starts[i].what);
		CU_ASSERT(is_as_expected(&starts[i]));
	}
}

/* Said to be elsewhere, or of another price: the comparison must see it. */
static void test_planted(void)
{
	struct start wrong = starts[2];

	wrong.offset = 5;
	CU_ASSERT_FALSE(is_as_expected(&wrong));
	wrong = starts[2];
	wrong.emulated = false;
	CU_ASSERT_FALSE(is_as_expected(&wrong));
}

static void test_bounds(void)
{
	uint64_t random = 7;

	for (size_t i = 0; i < START_CNT; i++) {
		uint8_t whole[64];
		size_t len = bytes_of(starts[i].hex, whole);

		for (size_t cut = 0; cut <= len; cut++)
			for (unsigned int damage = 0; damage < 64; damage++) {
				/* of just this size, so that a sanitizer sees a step beyond it */
				uint8_t *bytes = malloc(cut ? cut : 1);
				bool emulated;

				memcpy(bytes, whole, cut);
				random = random * UINT64_C(6364136223846793005) + 1;
				if (cut && damage)
					bytes[(random >> 40) % cut] ^= (uint8_t)(random >> 33);
				CU_ASSERT(pp_probe_place(bytes, cut, 1 + damage % 6, &emulated) <=
					  cut);
				free(bytes);
			}
	}
}

static const struct unit_test tests[] = {
	{"the first cheap instruction that leaves the parameter alone", test_starts},
	{"another place or price is found", test_planted},
	{"stays within what it was given", test_bounds},
};
UNIT_SUITE(values_place, tests)
