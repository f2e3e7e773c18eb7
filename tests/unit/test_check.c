// SPDX-License-Identifier: GPL-2.0-or-later
/* The assertions of check.h. Those that fail do so in a child, whose failures nobody counts. */
#include "unit.h"

#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *message_of(struct check_value have, struct check_value want)
{
	static char text[400];
	const struct check_place place = {.condition = "a == b"};

	check_message(text, sizeof(text), &place, have, want);
	return text;
}

#define MESSAGE(have, want) message_of(CHECK_VALUE(have), CHECK_VALUE(want))

static void test_numbers(void)
{
	CU_ASSERT_STRING_EQUAL(MESSAGE(-22, (int8_t)0), "a == b: have -22, want 0");
	CU_ASSERT_STRING_EQUAL(MESSAGE((_Bool)1, (uint16_t)7), "a == b: have 1, want 7");
	CU_ASSERT_STRING_EQUAL(MESSAGE(UINT64_MAX, INT64_MIN),
			       "a == b: have 18446744073709551615 (0xffffffffffffffff), "
			       "want -9223372036854775808");
	CU_ASSERT_STRING_EQUAL(MESSAGE(0.1f, 0.1), "a == b: have 0.10000000149011612, want 0.1");
	CU_ASSERT_STRING_EQUAL(MESSAGE(0.1 + 0.2, 0.3),
			       "a == b: have 0.30000000000000004, want 0.3");
}

static void test_pointers(void)
{
	CU_ASSERT_STRING_EQUAL(MESSAGE((void *)0x1000, (const char *)NULL),
			       "a == b: have 0x1000, want NULL");
}

static void test_strings(void)
{
	char same[300];
	char other[300];

	CU_ASSERT_STRING_EQUAL(message_of(check_string("one\n"), check_string(NULL)),
			       "a == b: have \"one\\n\", want NULL");
	memset(same, 's', sizeof(same) - 1);
	same[sizeof(same) - 1] = '\0';
	strcpy(other, same);
	other[200] = 'X';
	other[203] = '\0';
	CU_ASSERT_STRING_EQUAL(
		message_of(check_string(same), check_string(other)),
		"a == b: have \"...ssssssssssssssssssssssssssssssssssssssssssssssssss"
		"ssssssssssssssssssssssssssssss...\", want \"...ssssssssssssssssssssXss\"");
	CU_ASSERT_FALSE(check_same_string(NULL, NULL));
	CU_ASSERT_FALSE(check_same_string("", NULL));
	CU_ASSERT_FALSE(check_same_string("one", "two"));
}

static void test_short_buffer(void)
{
	const struct check_place place = {.condition = "a != b", .unlike = true};
	char text[26];

	check_message(text, sizeof(text), &place, check_signed(7), check_signed(7));
	CU_ASSERT_STRING_EQUAL(text, "a != b: have 7, want anyt");
}

static void test_counted_once(void)
{
	unsigned int before = CU_get_number_of_asserts(), evaluated = 0;

	CU_ASSERT_EQUAL(++evaluated, 1);
	CU_ASSERT_NOT_EQUAL(-1, 1u);
	CU_ASSERT_EQUAL(-1, 0xffffffffu);
	CU_ASSERT_DOUBLE_EQUAL(1, 1.25, 0.25);
	CU_ASSERT_PTR_EQUAL(&before, &before);
	CU_ASSERT_EQUAL(CU_get_number_of_asserts(), before + 5);
}

/* Exits with 0, or with the number of the first message that is not the one expected. */
static void fail_in_child(void)
{
	static const char *const expected[] = {
		"seven == 8: have 7, want 8",
		"\"one\" == NULL: have \"one\", want NULL",
		"5 == 1 within 0.5: have 5, want 1",
		"seven != 7: have 7, want anything but 7",
	};
	unsigned int earlier = CU_get_number_of_failures();
	const CU_FailureRecord *at;
	int seven = 7;
	jmp_buf back;

	CU_get_current_test()->pJumpBuf = &back;
	if (!setjmp(back)) {
		CU_ASSERT_EQUAL(seven, 8);
		CU_ASSERT_STRING_EQUAL("one", NULL);
		CU_ASSERT_DOUBLE_EQUAL(5, 1, 0.5);
		CU_ASSERT_NOT_EQUAL_FATAL(seven, 7);
		_exit(100);
	}
	if (CU_get_number_of_failures() != earlier + 4)
		_exit(101);
	at = CU_get_failure_list();
	while (earlier--)
		at = at->pNext;
	for (int i = 0; i < 4; i++, at = at->pNext)
		if (strcmp(at->strCondition, expected[i]) != 0)
			_exit(i + 1);
	_exit(0);
}

static void test_failures_reach_cunit(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		fail_in_child();
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFEXITED(status));
	CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}

static const struct unit_test tests[] = {
	{"numbers are written with every digit that tells them apart", test_numbers},
	{"pointers", test_pointers},
	{"strings are shown from a little before they differ", test_strings},
	{"a message is cut off at the buffer's end", test_short_buffer},
	{"an assertion counts once and evaluates once", test_counted_once},
	{"failures reach CUnit with both values", test_failures_reach_cunit},
};
UNIT_SUITE(check, tests)
