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

static size_t hex_digits(const char *text, bool *ret_decimal)
{
	size_t len = 0;

	*ret_decimal = false;
	for (; isxdigit((unsigned char)text[len]); len++)
		*ret_decimal = *ret_decimal || isdigit((unsigned char)text[len]);
	return len;
}

/* run-u12.service, run-r7f...service, run-p12-i34.service: what systemd-run calls a command. */
static bool is_transient(const char *name)
{
	size_t len = strlen(name), rest = strlen(RUN_PREFIX) + 1;

	return strncmp(name, RUN_PREFIX, rest - 1) == 0 && name[rest - 1] &&
	       strchr("urp", name[rest - 1]) && isxdigit((unsigned char)name[rest]) &&
	       len > rest + strlen(SERVICE) && strcmp(name + len - strlen(SERVICE), SERVICE) == 0;
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
