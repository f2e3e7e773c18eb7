// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Spans, sizes and shares as text: see units.h. */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BILLION UINT64_C(1000000000)
#define MINUTE  (60 * BILLION)
#define HOUR    (60 * MINUTE)
#define DAY     (24 * HOUR)

struct decimal {
	uint64_t whole, billionths;
	bool is_more; /* by digits behind the billionths */
};

struct unit {
	const char *name;
	uint64_t scale;
};

/* Those that formatting tries come first, the longest before the others. */
static const struct unit span_units[] = {
	{"w", 7 * DAY},
	{"d", DAY},
	{"h", HOUR},
	{"min", MINUTE},
	{"s", BILLION},
	{"ms", 1000000},
	{"us", 1000},
	{"ns", 1},
	{"nsec", 1},
	{"usec", 1000},
	{"msec", 1000000},
	{"sec", BILLION},
	{"second", BILLION},
	{"seconds", BILLION},
	{"m", MINUTE},
	{"minute", MINUTE},
	{"minutes", MINUTE},
	{"hr", HOUR},
	{"hour", HOUR},
	{"hours", HOUR},
	{"day", DAY},
	{"days", DAY},
	{"week", 7 * DAY},
	{"weeks", 7 * DAY},
	{"M", 2629800 * BILLION},
	{"month", 2629800 * BILLION},
	{"months", 2629800 * BILLION},
	{"y", 31557600 * BILLION},
	{"year", 31557600 * BILLION},
	{"years", 31557600 * BILLION},
	{NULL, 0},
};

/* In capitals: it does not matter how they are written. */
static const struct unit size_units[] = {
	{"T", UINT64_C(1) << 40},
	{"G", 1 << 30},
	{"M", 1 << 20},
	{"K", 1 << 10},
	{"B", 1},
	{"TB", UINT64_C(1) << 40},
	{"TIB", UINT64_C(1) << 40},
	{"GB", 1 << 30},
	{"GIB", 1 << 30},
	{"MB", 1 << 20},
	{"MIB", 1 << 20},
	{"KB", 1 << 10},
	{"KIB", 1 << 10},
	{NULL, 0},
};

typedef int compare_fn(const char *a, const char *b, size_t len);

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

static int read_whole(const char **text, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *s = *text;

	if (!is_digit(*s))
		return -EINVAL;
	for (; is_digit(*s); s++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
			return -ERANGE;
	*text = s;
	*ret_value = value;
	return 0;
}

/* Reads a decimal number; the digits before the point may be missing. */
static int read_decimal(const char **text, struct decimal *ret_value)
{
	struct decimal value = {0};
	uint64_t place = BILLION;
	int r = **text == '.' ? 0 : read_whole(text, &value.whole);

	if (r < 0)
		return r;
	if (**text == '.') {
		const char *s = *text + 1;

		if (!is_digit(*s))
			return -EINVAL;
		for (; is_digit(*s); s++) {
			place /= 10;
			value.billionths += place * (uint64_t)(*s - '0');
			value.is_more |= !place && *s != '0';
		}
		if (*s == '.')
			return -EINVAL;
		*text = s;
	}
	*ret_value = value;
	return 0;
}

/* A value above 0 that would come to 0 is too small: 0 means another thing. */
static int scaled(const struct decimal *d, uint64_t scale, uint64_t *ret_value)
{
	uint64_t value;
	/* 128 bits: the largest scale times a billion does not fit 64 */
	__extension__ unsigned __int128 part = (unsigned __int128)d->billionths * scale / BILLION;

	if (__builtin_mul_overflow(d->whole, scale, &value) ||
	    __builtin_add_overflow(value, (uint64_t)part, &value) ||
	    (!value && (d->billionths || d->is_more)))
		return -ERANGE;
	*ret_value = value;
	return 0;
}

/* Reads the letters at *text. No letters: bare is the scale. */
static int read_unit(const char **text, const struct unit *units, compare_fn *compare,
		     uint64_t bare, uint64_t *ret_scale)
{
	const char *s = *text;
	size_t len = 0;

	while ((s[len] >= 'a' && s[len] <= 'z') || (s[len] >= 'A' && s[len] <= 'Z'))
		len++;
	if (len == 0) {
		*ret_scale = bare;
		return 0;
	}
	for (; units->name; units++)
		if (strlen(units->name) == len && !compare(units->name, s, len)) {
			*text = s + len;
			*ret_scale = units->scale;
			return 0;
		}
	return -EINVAL;
}

static int read_quantity(const char **text, const struct unit *units, compare_fn *compare,
			 uint64_t bare, uint64_t *ret_value)
{
	struct decimal number = {0};
	uint64_t scale = 0;
	int r = read_decimal(text, &number);

	if (r < 0)
		return r;
	*text = skip_blanks(*text);
	r = read_unit(text, units, compare, bare, &scale);
	if (r < 0)
		return r;
	*text = skip_blanks(*text);
	return scaled(&number, scale, ret_value);
}

int pp_span_parse(const char *text, uint64_t *ret_value)
{
	uint64_t sum = 0, part = 0;

	text = skip_blanks(text);
	do {
		int r = read_quantity(&text, span_units, strncmp, BILLION, &part);

		if (r < 0)
			return r;
		if (__builtin_add_overflow(sum, part, &sum))
			return -ERANGE;
	} while (*text);
	*ret_value = sum;
	return 0;
}

int pp_size_parse(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;
	int r;

	text = skip_blanks(text);
	r = read_quantity(&text, size_units, strncasecmp, 1, &value);
	if (r < 0)
		return r;
	if (*text)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

/* One number and nothing behind it but what `sign` allows; scale is of 1. */
static int parse_number(const char *text, char sign, uint64_t scale, uint64_t *ret_value)
{
	struct decimal number = {0};
	int r = read_decimal(&text, &number);

	if (r < 0)
		return r;
	text = skip_blanks(text);
	if (sign && *text == sign)
		text = skip_blanks(text + 1);
	return *text ? -EINVAL : scaled(&number, scale, ret_value);
}

int pp_percent_parse(const char *text, uint64_t *ret_value)
{
	return parse_number(text, '%', 10000, ret_value);
}

int pp_decimal_parse(const char *text, uint64_t *ret_value)
{
	return parse_number(text, '\0', 1000000, ret_value);
}

int pp_count_parse(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;
	int r = read_whole(&text, &value);

	if (r < 0)
		return r;
	if (*skip_blanks(text))
		return -EINVAL;
	*ret_value = value;
	return 0;
}

static int digit_of(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int pp_hex_take(const char **text, uint64_t *ret_value)
{
	const char *s = *text;
	uint64_t value = 0;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	if (digit_of(*s) < 0)
		return -EINVAL;
	for (; digit_of(*s) >= 0; s++) {
		if (value >> 60)
			return -ERANGE;
		value = value << 4 | (uint64_t)digit_of(*s);
	}
	*text = s;
	*ret_value = value;
	return 0;
}

int pp_hex_parse(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;
	int r = pp_hex_take(&text, &value);

	if (r < 0)
		return r;
	if (*text)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

static void trim_zeros(char *digits)
{
	size_t len = strlen(digits);

	while (len && (digits[len - 1] == '0' || digits[len - 1] == '.'))
		digits[--len] = '\0';
}

void pp_percent_format(uint64_t ppm, char *text, size_t size)
{
	char digits[8];

	snprintf(digits, sizeof(digits), ".%04u", (unsigned int)(ppm % 10000));
	trim_zeros(digits);
	snprintf(text, size, "%" PRIu64 "%s%%", ppm / 10000, digits);
}

void pp_decimal_format(uint64_t millionths, char *text, size_t size)
{
	char digits[8];

	snprintf(digits, sizeof(digits), ".%06u", (unsigned int)(millionths % 1000000));
	trim_zeros(digits);
	snprintf(text, size, "%" PRIu64 "%s", millionths / 1000000, digits);
}

/* The largest unit that divides the value; 0 has none. */
static void format_units(uint64_t value, const struct unit *units, char *text, size_t size)
{
	while (value && value % units->scale)
		units++;
	if (value)
		snprintf(text, size, "%" PRIu64 "%s", value / units->scale, units->name);
	else
		snprintf(text, size, "0");
}

void pp_span_format(uint64_t ns, char *text, size_t size)
{
	format_units(ns, span_units, text, size);
}

void pp_size_format(uint64_t bytes, char *text, size_t size)
{
	format_units(bytes, size_units, text, size);
}
