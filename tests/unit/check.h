/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CUnit's comparisons, with both values in the message when a comparison fails:
 *
 *     1. tests/unit/test_hash.c:31  - hash(7) == 12: have 9, want 12
 *
 * Every test gets them through unit.h. The names and the counts stay CUnit's; each argument is
 * evaluated once. A bit-field and a long double need a cast.
 */
#ifndef CHECK_H
#define CHECK_H

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

struct check_value {
	enum { CHECK_SIGNED, CHECK_UNSIGNED, CHECK_DOUBLE, CHECK_POINTER, CHECK_STRING } kind;
	union {
		long long s;
		unsigned long long u;
		double d;
		const void *p;
	};
};

struct check_place {
	const char *file;
	unsigned int line;
	const char *condition;
	bool unlike; /* The two values have to differ. */
	bool fatal;
};

/* Counts one assertion in CUnit. Does not return when a fatal one fails. */
void check_result(bool holds, struct check_place place, struct check_value have,
		  struct check_value want);
/* The message of an assertion that failed, cut off at `size` bytes. */
void check_message(char *ret_text, size_t size, const struct check_place *place,
		   struct check_value have, struct check_value want);
/* False if either is NULL: a test that compares strings wants two. */
bool check_same_string(const char *have, const char *want);

struct check_value check_signed(long long value);
struct check_value check_unsigned(unsigned long long value);
struct check_value check_double(double value);
struct check_value check_pointer(const void *value);
struct check_value check_string(const char *value);

/* clang-format off */
#define CHECK_VALUE(v)                                                                             \
	_Generic((v),                                                                              \
		char: check_signed, signed char: check_signed, short: check_signed,                \
		int: check_signed, long: check_signed, long long: check_signed,                    \
		_Bool: check_unsigned, unsigned char: check_unsigned,                              \
		unsigned short: check_unsigned, unsigned int: check_unsigned,                      \
		unsigned long: check_unsigned, unsigned long long: check_unsigned,                 \
		float: check_double, double: check_double, default: check_pointer)(v)
/* clang-format on */

/* The casts are the ones that == makes by itself: written out, they cause no -Wsign-compare. */
#define CHECK_COMPARE(have, op, want, ...)                                                         \
	do {                                                                                       \
		__auto_type have_ = (have);                                                        \
		__auto_type want_ = (want);                                                        \
		typedef __typeof__(0 ? have_ : want_) common_;                                     \
		check_result((common_)have_ op(common_) want_, CHECK_PLACE(__VA_ARGS__),           \
			     CHECK_VALUE(have_), CHECK_VALUE(want_));                              \
	} while (0)

#define CHECK_POINTERS(have, op, want, ...)                                                        \
	do {                                                                                       \
		const void *have_ = (have), *want_ = (want);                                       \
		check_result(have_ op want_, CHECK_PLACE(__VA_ARGS__), check_pointer(have_),       \
			     check_pointer(want_));                                                \
	} while (0)

#define CHECK_STRINGS(have, want, ...)                                                             \
	do {                                                                                       \
		const char *have_ = (const char *)(have), *want_ = (const char *)(want);           \
		check_result(check_same_string(have_, want_), CHECK_PLACE(__VA_ARGS__),            \
			     check_string(have_), check_string(want_));                            \
	} while (0)

#define CHECK_DOUBLES(have, want, within, ...)                                                     \
	do {                                                                                       \
		double have_ = (have), want_ = (want);                                             \
		check_result(fabs(have_ - want_) <= fabs((double)(within)),                        \
			     CHECK_PLACE(__VA_ARGS__), check_double(have_), check_double(want_));  \
	} while (0)

#define CHECK_PLACE(condition, unlike, fatal)                                                      \
	((struct check_place){__FILE__, __LINE__, condition, unlike, fatal})

#undef CU_ASSERT_EQUAL
#undef CU_ASSERT_EQUAL_FATAL
#undef CU_ASSERT_NOT_EQUAL
#undef CU_ASSERT_NOT_EQUAL_FATAL
#undef CU_ASSERT_PTR_EQUAL
#undef CU_ASSERT_PTR_NOT_EQUAL_FATAL
#undef CU_ASSERT_STRING_EQUAL
#undef CU_ASSERT_DOUBLE_EQUAL

/* clang-format off */
#define CU_ASSERT_EQUAL(a, b)               CHECK_COMPARE(a, ==, b, #a " == " #b, false, false)
#define CU_ASSERT_EQUAL_FATAL(a, b)         CHECK_COMPARE(a, ==, b, #a " == " #b, false, true)
#define CU_ASSERT_NOT_EQUAL(a, b)           CHECK_COMPARE(a, !=, b, #a " != " #b, true, false)
#define CU_ASSERT_NOT_EQUAL_FATAL(a, b)     CHECK_COMPARE(a, !=, b, #a " != " #b, true, true)
#define CU_ASSERT_PTR_EQUAL(a, b)           CHECK_POINTERS(a, ==, b, #a " == " #b, false, false)
#define CU_ASSERT_PTR_NOT_EQUAL_FATAL(a, b) CHECK_POINTERS(a, !=, b, #a " != " #b, true, true)
#define CU_ASSERT_STRING_EQUAL(a, b)        CHECK_STRINGS(a, b, #a " == " #b, false, false)
#define CU_ASSERT_DOUBLE_EQUAL(a, b, within)                                                       \
	CHECK_DOUBLES(a, b, within, #a " == " #b " within " #within, false, false)
/* clang-format on */

#endif
