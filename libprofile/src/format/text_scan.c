// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Numbers in a line, and what is said when there is none.
 *
 * Workload: some ten numbers for each branch of a text; hex digits are most of its bytes.
 */
#include "pp_scan.h"

#include <inttypes.h>
#include <string.h>

/* The most characters of the text found that an error quotes. */
#define FOUND_MAX 40

/* One more than a hex digit's value; 0: none. */
static const uint8_t hex_digit[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

bool pp_scan_hex(const char **at, uint64_t *ret_value)
{
	const char *p = *at;
	uint64_t value = 0, lost = 0;
	uint8_t digit;

	while ((digit = hex_digit[(uint8_t)*p])) {
		lost |= value >> 60;
		value = value << 4 | (digit - 1u);
		p++;
	}
	if (p == *at || lost)
		return false;
	*at = p;
	*ret_value = value;
	return true;
}

bool pp_scan_0x(const char **at, uint64_t *ret_value)
{
	const char *p = *at;

	if (p[0] != '0' || p[1] != 'x')
		return false;
	p += 2;
	if (!pp_scan_hex(&p, ret_value))
		return false;
	*at = p;
	return true;
}

bool pp_scan_decimal(const char **at, uint64_t *ret_value)
{
	const char *p = *at;
	uint64_t value = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return false;
	if (p == *at)
		return false;
	*at = p;
	*ret_value = value;
	return true;
}

bool pp_scan_number(const char **at, uint64_t max, uint64_t *ret_value)
{
	const char *p = *at;
	uint64_t value;

	if (!pp_scan_decimal(&p, &value) || value > max)
		return false;
	*at = p;
	*ret_value = value;
	return true;
}

bool pp_scan_build_id(const char **at, struct pathprof_build_id *ret_id)
{
	struct pathprof_build_id id = {.kind = PATHPROF_ID_BUILD_ID};
	const char *p = *at;

	while (id.len_bytes < PATHPROF_BUILD_ID_MAX && hex_digit[(uint8_t)p[0]] &&
	       hex_digit[(uint8_t)p[1]]) {
		id.bytes[id.len_bytes++] = (uint8_t)((hex_digit[(uint8_t)p[0]] - 1) << 4 |
						     (hex_digit[(uint8_t)p[1]] - 1));
		p += 2;
	}
	if (id.len_bytes == 0)
		return false;
	*ret_id = id;
	*at = p;
	return true;
}

/* Copies the text at that place, with '?' for characters that a terminal would interpret. */
static void describe_found(const char *at, char *found, size_t found_bytes)
{
	size_t len = strnlen(at, found_bytes - 1);

	for (size_t i = 0; i < len; i++)
		found[i] = (char)(at[i] >= ' ' && at[i] <= '~' ? at[i] : '?');
	found[len] = '\0';
}

int pp_scan_expected(struct pp_scan *text, const char *at, const char *what)
{
	char found[FOUND_MAX + 1];

	describe_found(at, found, sizeof(found));
	return pathprof_fail(
		text->error, -EBADMSG, "%s:%" PRIu64 ": expected %s at column %zu, found %s%s%s",
		text->recording->name, text->lines.number, what, (size_t)(at - text->line) + 1,
		*found ? "\"" : "the end", found, *found ? "\"" : "");
}

int pp_scan_refuse(struct pp_scan *text, int code, const char *what)
{
	return pathprof_fail(text->error, code, "%s:%" PRIu64 ": %s", text->recording->name,
			     text->lines.number, what);
}
