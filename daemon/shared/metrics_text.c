// SPDX-License-Identifier: GPL-2.0-or-later
/* Prometheus' text format 0.0.4, a line at a time: see metrics_text.h. */
#include "metrics_text.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static size_t length_of(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Bytes of the character that begins here; 0: it is not UTF-8. */
static size_t utf8_len(const unsigned char *text)
{
	size_t len_bytes = length_of(text[0]);

	for (size_t i = 1; i < len_bytes; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* longer than need be, half of a pair, beyond the last */
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return len_bytes;
}

/*
 * A file's name may be any bytes, and one label that is not UTF-8 makes Prometheus refuse all of
 * the answer: such bytes become the replacement character.
 */
static void escape(FILE *to, const char *text, bool quotes)
{
	while (*text) {
		size_t len_bytes = utf8_len((const unsigned char *)text);

		if (!len_bytes)
			fputs("\xef\xbf\xbd", to);
		else if (*text == '\n')
			fputs("\\n", to);
		else if (*text == '\\' || (quotes && *text == '"'))
			fprintf(to, "\\%c", *text);
		else
			fwrite(text, 1, len_bytes, to);
		text += len_bytes ? len_bytes : 1;
	}
}

void pp_metrics_head(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP %s ", name);
	escape(to, help, false);
	fprintf(to, "\n# TYPE %s %s\n", name, type);
}

/* Counts whole, as far as a double has them; the spelling of what is no number is the format's. */
static void write_value(FILE *to, double value)
{
	if (isnan(value))
		fputs(" NaN\n", to);
	else if (isinf(value))
		fputs(value > 0 ? " +Inf\n" : " -Inf\n", to);
	else
		fprintf(to, " %.17g\n", value);
}

void pp_metrics_sample(FILE *to, const char *name, const char *const *labels, double value)
{
	fputs(name, to);
	for (size_t i = 0; labels && labels[i]; i += 2) {
		fprintf(to, "%c%s=\"", i ? ',' : '{', labels[i]);
		escape(to, labels[i + 1] ? labels[i + 1] : "", true);
		fputc('"', to);
	}
	if (labels && labels[0])
		fputc('}', to);
	write_value(to, value);
}

void pp_metrics_one(FILE *to, const char *name, const char *type, const char *help, double value)
{
	pp_metrics_head(to, name, type, help);
	pp_metrics_sample(to, name, NULL, value);
}
