// SPDX-License-Identifier: GPL-2.0-or-later
/* Control characters of ASCII and UTF-8 are replaced, each byte of them, and nothing else is. */
#include "unit.h"

#include <stdint.h>
#include <string.h>

#include "base/controls.h"

static void check_text(const char *text, size_t len_bytes, const char *want)
{
	char copy[64] = "";

	memcpy(copy, text, len_bytes);
	pp_controls_replace(copy, len_bytes, '?');
	CU_ASSERT_EQUAL(memcmp(copy, want, len_bytes), 0);
}

static void test_ascii(void)
{
	check_text("a\033[1m\n\t\177~ z", 10, "a?[1m???~ z");
	check_text("", 0, "");
	check_text("a\0b", 3, "a?b");
}

static void test_utf8(void)
{
	check_text("\xc2\x9b"
		   "31m",
		   5, "??31m");
	check_text("\xc2\x80\xc2\x9f", 4, "????");
	/* letters, the first one behind the controls included */
	check_text("\xc2\xa0\xc3\xa9\xe2\x82\xac", 7, "\xc2\xa0\xc3\xa9\xe2\x82\xac");
	/* cut in the middle: the byte behind the end is nobody's to look at */
	check_text("a\xc2", 2, "a\xc2");
}

/* Every pair of bytes against the rule in words. */
static void test_all_pairs(void)
{
	for (uint32_t pair = 0; pair < 0x10000; pair++) {
		unsigned char a = (unsigned char)(pair >> 8), b = (unsigned char)pair;
		char text[2] = {(char)a, (char)b}, want[2] = {(char)a, (char)b};

		if (a < 0x20 || a == 0x7f)
			want[0] = '?';
		if (b < 0x20 || b == 0x7f)
			want[1] = '?';
		if (a == 0xc2 && b >= 0x80 && b < 0xa0)
			want[0] = want[1] = '?';
		pp_controls_replace(text, sizeof(text), '?');
		CU_ASSERT_EQUAL(memcmp(text, want, sizeof(text)), 0);
	}
}

static const struct unit_test tests[] = {
	{"controls of ASCII are replaced", test_ascii},
	{"controls of UTF-8 are replaced, letters are not", test_utf8},
	{"each pair of bytes is as the rule says", test_all_pairs},
};
UNIT_SUITE(controls, tests)
