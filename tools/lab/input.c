// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of columns in, complaints that name file and line out. */
#include "lab.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/controls.h"
#include "base/units.h"
#include "base/vector.h"

void lab_input_init(struct lab_input *in, char **files, int file_cnt)
{
	static char *standard_input[] = {(char *)"-"};

	*in = (struct lab_input){.files = files, .file_cnt = file_cnt};
	if (file_cnt == 0) {
		in->files = standard_input;
		in->file_cnt = 1;
	}
}

static void close_stream(struct lab_input *in)
{
	if (in->stream && in->stream != stdin)
		fclose(in->stream);
	in->stream = NULL;
}

void lab_input_release(struct lab_input *in)
{
	close_stream(in);
	free(in->line);
	in->line = NULL;
	free(in->column);
	in->column = NULL;
	in->column_room = in->column_cnt = 0;
}

static bool open_next(struct lab_input *in)
{
	if (in->file_cnt == 0)
		return false;
	in->name = *in->files++;
	in->file_cnt--;
	in->line_number = 0;
	if (strcmp(in->name, "-") == 0) {
		in->name = "standard input";
		in->stream = stdin;
		return true;
	}
	in->stream = fopen(in->name, "re");
	if (!in->stream)
		lab_fail("%s: %s", in->name, strerror(errno));
	return true;
}

static void split(struct lab_input *in)
{
	char *rest = in->line, *token;

	in->column_cnt = 0;
	while ((token = strsep(&rest, " \t\r\n")) != NULL) {
		if (!*token)
			continue;
		if (pp_grow(&in->column, in->column_cnt, &in->column_room) < 0)
			lab_fail("out of memory");
		in->column[in->column_cnt++] = token;
	}
}

bool lab_input_next(struct lab_input *in)
{
	while (in->stream || open_next(in)) {
		ssize_t len = getline(&in->line, &in->line_size, in->stream);

		if (len >= 0) {
			in->line_number++;
			if (strlen(in->line) != (size_t)len)
				lab_malformed(in, "a zero byte");
			split(in);
			return true;
		}
		if (ferror(in->stream))
			lab_fail("%s: %s", in->name, strerror(errno));
		close_stream(in);
	}
	return false;
}

void lab_expect_columns(const struct lab_input *in, size_t min, size_t max, const char *form)
{
	if (in->column_cnt < min || in->column_cnt > max)
		lab_malformed(in, "%zu columns, expected %s", in->column_cnt, form);
}

uint64_t lab_hex(const struct lab_input *in, size_t column, const char *what)
{
	uint64_t value;

	if (pp_hex_parse(in->column[column], &value))
		lab_malformed(in, "%s '%s' is not a 64-bit hexadecimal number", what,
			      in->column[column]);
	return value;
}

uint64_t lab_decimal(const struct lab_input *in, size_t column, uint64_t max, const char *what)
{
	uint64_t value;

	if (pp_count_parse(in->column[column], &value) || value > max)
		lab_malformed(in, "%s '%s' is not a decimal number up to %" PRIu64, what,
			      in->column[column], max);
	return value;
}

/* Names come out of files of others: nothing of them may reach into a terminal. */
static void complain(const char *format, va_list args)
{
	char text[2048];

	vsnprintf(text, sizeof(text), format, args);
	pp_controls_replace(text, strlen(text), '?');
	fflush(stdout);
	fprintf(stderr, "pathprof-lab: %s", text);
}

void lab_malformed(const struct lab_input *in, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	lab_fail("%s:%" PRIu64 ": %s", in->name, in->line_number, text);
}

void lab_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void lab_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	fputs("; see pathprof-lab --help\n", stderr);
	exit(2);
}

uint64_t lab_option(const char *option, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value;

	if (pp_count_parse(text, &value) || value < min || value > max)
		lab_usage("%s: '%s' is not a number in %" PRIu64 "..%" PRIu64, option, text, min,
			  max);
	return value;
}

void lab_finish_output(void)
{
	if (fflush(stdout) || ferror(stdout))
		lab_fail("standard output: %s", strerror(errno));
}
