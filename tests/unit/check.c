// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the values of an assertion that failed are written. CUnit copies the message, so it is built
 * on the stack.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of a long string that is shown: it begins a little before the first difference. */
enum { SHOWN_BEFORE = 20, SHOWN = 80 };

struct check_value check_signed(long long value)
{
	return (struct check_value){.kind = CHECK_SIGNED, .s = value};
}

struct check_value check_unsigned(unsigned long long value)
{
	return (struct check_value){.kind = CHECK_UNSIGNED, .u = value};
}

struct check_value check_double(double value)
{
	return (struct check_value){.kind = CHECK_DOUBLE, .d = value};
}

struct check_value check_pointer(const void *value)
{
	return (struct check_value){.kind = CHECK_POINTER, .p = value};
}

struct check_value check_string(const char *value)
{
	return (struct check_value){.kind = CHECK_STRING, .p = value};
}

bool check_same_string(const char *have, const char *want)
{
	return have && want && !strcmp(have, want);
}

/* The offset at which the shown part of two strings begins. */
static size_t shown_from(struct check_value have, struct check_value want)
{
	const char *a = have.p, *b = want.p;
	size_t same = 0;

	if (have.kind != CHECK_STRING || !a || !b)
		return 0;
	while (a[same] && a[same] == b[same])
		same++;
	return same > SHOWN_BEFORE ? same - SHOWN_BEFORE : 0;
}

/* Prints a string in quotes and on one line; dots stand for omitted parts. */
static void put_string(FILE *out, const char *s, size_t from)
{
	size_t len = strlen(s);
	size_t to = len - from > SHOWN ? from + SHOWN : len;

	fputs(from ? "\"..." : "\"", out);
	for (size_t i = from; i < to; i++) {
		if (s[i] == '\n')
			fputs("\\n", out);
		else if ((unsigned char)s[i] < ' ')
			fprintf(out, "\\x%02x", (unsigned char)s[i]);
		else
			fputc(s[i], out);
	}
	fputs(to < len ? "...\"" : "\"", out);
}

/* The fewest digits that tell this double from every other. */
static void put_double(FILE *out, double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	fputs(text, out);
}

static void put_value(FILE *out, struct check_value value, size_t from)
{
	switch (value.kind) {
	case CHECK_SIGNED:
		fprintf(out, "%lld", value.s);
		break;
	case CHECK_UNSIGNED:
		fprintf(out, value.u < 0x10000 ? "%llu" : "%llu (%#llx)", value.u, value.u);
		break;
	case CHECK_DOUBLE:
		put_double(out, value.d);
		break;
	case CHECK_STRING:
		if (value.p) {
			put_string(out, value.p, from);
			break;
		}
		/* fall through */
	case CHECK_POINTER:
		if (value.p)
			fprintf(out, "%p", value.p);
		else
			fputs("NULL", out);
		break;
	}
}

void check_message(char *ret_text, size_t size, const struct check_place *place,
		   struct check_value have, struct check_value want)
{
	size_t from = shown_from(have, want);
	size_t len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort();
	fprintf(out, "%s: have ", place->condition);
	put_value(out, have, from);
	fprintf(out, ", want %s", place->unlike ? "anything but " : "");
	put_value(out, want, from);
	fclose(out);
	snprintf(ret_text, size, "%s", text);
	free(text);
}

void check_result(bool holds, struct check_place place, struct check_value have,
		  struct check_value want)
{
	char message[1024] = "";

	if (!holds)
		check_message(message, sizeof(message), &place, have, want);
	CU_assertImplementation(holds, place.line, message, place.file, "", place.fatal);
}
