// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Names of containers and services without the ids in them: see pathprof/parcel.h.
 */
#include "pathprof/parcel.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ID_MIN_DIGITS 12

#define RUN_PREFIX "run-"
#define SERVICE    ".service"
#define DECIMAL    "0123456789"
#define HEX        DECIMAL "abcdef"

#define RANDOM_DIGITS 32

static size_t hex_digits(const char *text, bool *ret_decimal)
{
	size_t len = 0;

	*ret_decimal = false;
	for (; isxdigit((unsigned char)text[len]); len++)
		*ret_decimal = *ret_decimal || isdigit((unsigned char)text[len]);
	return len;
}

/* Whether the name is all that the format describes, which ends with %n. */
static bool is_like(const char *name, const char *format)
{
	int end = 0;

	(void)sscanf(name, format, &end);
	return end && !name[end];
}

/* Names that systemd-run gives commands: run-u12, run-p12-i34, or run-r and 32 hex digits. */
static bool is_transient(const char *name)
{
	if (strncmp(name, RUN_PREFIX, strlen(RUN_PREFIX)) != 0)
		return false;
	return is_like(name, RUN_PREFIX "u%*[" DECIMAL "]" SERVICE "%n") ||
	       is_like(name, RUN_PREFIX "p%*[" DECIMAL "]-i%*[" DECIMAL "]" SERVICE "%n") ||
	       (is_like(name, RUN_PREFIX "r%*[" HEX "]" SERVICE "%n") &&
		strlen(name) == strlen(RUN_PREFIX "r" SERVICE) + RANDOM_DIGITS);
}

char *pathprof_parcel_container(const char *container, char *text, size_t size)
{
	size_t at = 0;

	if (is_transient(container)) {
		snprintf(text, size, "%s", RUN_PREFIX "*" SERVICE);
		return text;
	}
	while (*container && at + 1 < size) {
		bool decimal;
		size_t len = hex_digits(container, &decimal);
		bool id = len >= ID_MIN_DIGITS && decimal;

		if (!len)
			len = 1;
		for (size_t i = 0; !id && i < len && at + 1 < size; i++)
			text[at++] = container[i];
		if (id)
			text[at++] = '*';
		container += len;
	}
	text[at] = 0;
	return text;
}
