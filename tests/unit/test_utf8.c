// SPDX-License-Identifier: GPL-2.0-or-later
/* Text of unknown origin becomes JSON, and stays as it is if jansson would take it so. */
#include "unit.h"

#include <jansson.h>
#include <string.h>

#include "base/utf8.h"

static void expect(const char *text, const char *want)
{
	json_t *json = pp_utf8_json(text);

	CU_ASSERT_STRING_EQUAL(json_string_value(json), want);
	json_decref(json);
}

static void test_replaced(void)
{
	expect("", "");
	expect("na\xc3\xafve", "na\xc3\xafve");
	expect("\xff"
	       "a\xc3",
	       PP_UTF8_REPLACEMENT "a" PP_UTF8_REPLACEMENT);
	expect("\xed\xa0\x80", PP_UTF8_REPLACEMENT PP_UTF8_REPLACEMENT PP_UTF8_REPLACEMENT);
}

static void test_nothing(void)
{
	json_t *json = pp_utf8_json(NULL);

	CU_ASSERT_TRUE(json_is_null(json));
	json_decref(json);
}

static void check_as_jansson(const char *text)
{
	json_t *theirs = json_string(text), *ours = pp_utf8_json(text);

	CU_ASSERT_EQUAL(strcmp(json_string_value(ours), text) == 0, theirs != NULL);
	CU_ASSERT_TRUE(json_is_string(ours));
	json_decref(theirs);
	json_decref(ours);
}

/* Every first and second byte, before bytes about the ends of what may follow. */
static void test_as_jansson_has_it(void)
{
	static const char follow[] = {'\x7f', '\x80', '\xbf', '\xc0'};

	for (unsigned int pair = 0x100; pair < 0x10000; pair++)
		for (unsigned int i = 0; i < 16; i++) {
			const char text[] = {(char)(pair >> 8), (char)pair, follow[i / 4],
					     follow[i % 4], 0};

			check_as_jansson(text);
		}
}

static const struct unit_test tests[] = {
	{"bytes that are not UTF-8 are replaced, each by itself", test_replaced},
	{"no text is null", test_nothing},
	{"jansson takes the same text as it is", test_as_jansson_has_it},
};
UNIT_SUITE(utf8, tests)
