// SPDX-License-Identifier: GPL-2.0-or-later
/* Values of settings: see config_value.h. */
#include "config_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BILLION UINT64_C(1000000000)

struct decimal {
	uint64_t whole, billionths;
};

struct unit {
	const char *name;
	uint64_t scale;
};

/* Longest first within a value: what formatting tries in this order. */
static const struct unit span_units[] = {
	{"w", 604800 * BILLION},
	{"d", 86400 * BILLION},
	{"h", 3600 * BILLION},
	{"min", 60 * BILLION},
	{"s", BILLION},
	{"ms", 1000000},
	{"us", 1000},
	{"ns", 1},
	{"sec", BILLION},
	{"m", 60 * BILLION},
	{"hr", 3600 * BILLION},
	{"day", 86400 * BILLION},
	{"days", 86400 * BILLION},
	{"month", 2629800 * BILLION},
	{"y", 31557600 * BILLION},
	{"year", 31557600 * BILLION},
	{NULL, 0},
};

static const struct unit size_units[] = {
	{"T", UINT64_C(1) << 40}, {"G", 1 << 30}, {"M", 1 << 20},
	{"K", 1 << 10},           {"B", 1},       {NULL, 0},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
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

static int read_decimal(const char **text, struct decimal *ret_value)
{
	struct decimal value = {0};
	uint64_t place = BILLION;
	int r = read_whole(text, &value.whole);

	if (r < 0)
		return r;
	if (**text == '.') {
		const char *s = *text + 1;

		if (!is_digit(*s))
			return -EINVAL;
		for (; is_digit(*s); s++) {
			place /= 10;
			value.billionths += place * (uint64_t)(*s - '0');
		}
		*text = s;
	}
	*ret_value = value;
	return 0;
}

static int scaled(const struct decimal *d, uint64_t scale, uint64_t *ret_value)
{
	uint64_t value;
	/* 128 bits: the largest scale times a billion does not fit 64 */
	__extension__ unsigned __int128 part = (unsigned __int128)d->billionths * scale / BILLION;

	if (__builtin_mul_overflow(d->whole, scale, &value) ||
	    __builtin_add_overflow(value, (uint64_t)part, &value))
		return -ERANGE;
	*ret_value = value;
	return 0;
}

/* Reads the letters at *text. No letters: bare is the scale. */
static int read_unit(const char **text, const struct unit *units, uint64_t bare,
		     uint64_t *ret_scale)
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
		if (strlen(units->name) == len && !strncmp(units->name, s, len)) {
			*text = s + len;
			*ret_scale = units->scale;
			return 0;
		}
	return -EINVAL;
}

static int read_quantity(const char **text, const struct unit *units, uint64_t bare,
			 uint64_t *ret_value)
{
	struct decimal number = {0};
	uint64_t scale = 0;
	int r = read_decimal(text, &number);

	if (r < 0)
		return r;
	*text = skip_blanks(*text);
	r = read_unit(text, units, bare, &scale);
	if (r < 0)
		return r;
	*text = skip_blanks(*text);
	return scaled(&number, scale, ret_value);
}

int pp_value_percent(const char *text, uint64_t *ret_value)
{
	struct decimal number = {0};
	uint64_t value = 0;
	int r = read_decimal(&text, &number);

	if (r < 0)
		return r;
	text = skip_blanks(text);
	if (*text == '%')
		text++;
	if (*skip_blanks(text))
		return -EINVAL;
	r = scaled(&number, 10000, &value);
	if (r < 0)
		return r;
	*ret_value = value;
	return 0;
}

int pp_value_span(const char *text, uint64_t *ret_value)
{
	uint64_t sum = 0, part = 0;

	do {
		int r = read_quantity(&text, span_units, BILLION, &part);

		if (r < 0)
			return r;
		if (__builtin_add_overflow(sum, part, &sum))
			return -ERANGE;
	} while (*text);
	*ret_value = sum;
	return 0;
}

int pp_value_size(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;
	int r = read_quantity(&text, size_units, 1, &value);

	if (r < 0)
		return r;
	if (*text)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int pp_value_count(const char *text, uint64_t *ret_value)
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

int pp_value_decimal(const char *text, uint64_t *ret_value)
{
	struct decimal number = {0};
	uint64_t value = 0;
	int r = read_decimal(&text, &number);

	if (r < 0)
		return r;
	if (*skip_blanks(text))
		return -EINVAL;
	r = scaled(&number, 1000000, &value);
	if (r < 0)
		return r;
	*ret_value = value;
	return 0;
}

/* Digits of a number in hex; *text goes behind it. */
static int read_hex(const char **text, uint64_t *ret_value)
{
	const char *s = *text;
	uint64_t value = 0;
	size_t len;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	len = strspn(s, "0123456789abcdefABCDEF");
	if (!len)
		return -EINVAL;
	if (len > 16)
		return -ERANGE;
	for (size_t i = 0; i < len; i++, s++)
		value = value << 4 | (uint64_t)(is_digit(*s) ? *s - '0' : (*s | 0x20) - 'a' + 10);
	*text = s;
	*ret_value = value;
	return 0;
}

int pp_value_addresses(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t first = 0, last = 0;
	int r = read_hex(&text, &first);

	if (!r && *text++ != '-')
		r = -EINVAL;
	if (!r)
		r = read_hex(&text, &last);
	if (!r && *text)
		r = -EINVAL;
	/* both 0 means all, to whom it is handed */
	if (!r && (first > last || !last))
		r = -ERANGE;
	if (r)
		return r;
	*ret_first = first;
	*ret_last = last;
	return 0;
}

int pp_value_choice(const char *text, const char *const *choices, uint64_t *ret_value)
{
	for (uint64_t i = 0; choices[i]; i++)
		if (!strcmp(choices[i], text)) {
			*ret_value = i;
			return 0;
		}
	return -EINVAL;
}

int pp_value_bool(const char *text, uint64_t *ret_value)
{
	/* even: no, odd: yes */
	static const char *const words[] = {"no", "yes", "false", "true", "off",
					    "on", "0",   "1",     NULL};
	uint64_t index = 0;
	int r = pp_value_choice(text, words, &index);

	if (r < 0)
		return r;
	*ret_value = index % 2;
	return 0;
}

static void trim_zeros(char *digits)
{
	size_t len = strlen(digits);

	while (len && (digits[len - 1] == '0' || digits[len - 1] == '.'))
		digits[--len] = '\0';
}

void pp_format_percent(uint64_t ppm, char *text, size_t size)
{
	char digits[8];

	snprintf(digits, sizeof(digits), ".%04u", (unsigned int)(ppm % 10000));
	trim_zeros(digits);
	snprintf(text, size, "%" PRIu64 "%s%%", ppm / 10000, digits);
}

void pp_format_decimal(uint64_t millionths, char *text, size_t size)
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

void pp_format_span(uint64_t ns, char *text, size_t size)
{
	format_units(ns, span_units, text, size);
}

void pp_format_size(uint64_t bytes, char *text, size_t size)
{
	format_units(bytes, size_units, text, size);
}
