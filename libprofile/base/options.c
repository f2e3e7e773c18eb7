// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Options by a table: see options.h. */
#include "base/options.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#define HELP_COLUMN 25
#define HELP_WIDTH  79
#define ROW_VAL     256 /* of the first row; a letter is itself */

int pp_option_text(void *context, const struct pp_option *option, const char *value)
{
	*(const char **)((char *)context + option->number) = value;
	return *value ? 0 : -EINVAL;
}

int pp_option_flag(void *context, const struct pp_option *option, const char *value)
{
	*(bool *)((char *)context + option->number) = true;
	return 0;
}

/* getopt's own description of the rows. */
static void describe(const struct pp_option *options, bool first, struct option *ret_long,
		     char *ret_letters)
{
	size_t cnt = 0;

	if (first)
		*ret_letters++ = '+';
	*ret_letters++ = ':'; /* a missing value is told from an unknown option */
	for (; cnt < PP_OPTIONS_MAX - 1 && options[cnt].name; cnt++) {
		const struct pp_option *o = &options[cnt];

		ret_long[cnt] = (struct option){o->name, o->value ? required_argument : no_argument,
						NULL, ROW_VAL + (int)cnt};
		if (!o->letter)
			continue;
		*ret_letters++ = o->letter;
		if (o->value)
			*ret_letters++ = ':';
	}
	ret_long[cnt] = (struct option){0};
	*ret_letters = 0;
}

static const struct pp_option *row_of(const struct pp_option *options, int c)
{
	if (c >= ROW_VAL)
		return &options[c - ROW_VAL];
	for (; options->name; options++)
		if (c && options->letter == c)
			return options;
	return NULL;
}

static void refuse(const struct pp_option *option, int c, const char *word, char *why, size_t size)
{
	if (c == ':' && option)
		snprintf(why, size, "--%s: needs a %s", option->name, option->value);
	else if (option && optopt >= ROW_VAL)
		snprintf(why, size, "--%s: takes no value", option->name);
	else if (optopt > 0 && optopt < ROW_VAL)
		snprintf(why, size, "-%c: no such option here", optopt);
	else
		snprintf(why, size, "%s: no such option here", word);
}

int pp_options_parse(const struct pp_option *options, int argc, char **argv, bool first,
		     void *context, int *ret_operands, char *why, size_t why_size)
{
	struct option long_options[PP_OPTIONS_MAX];
	char letters[3 + 2 * PP_OPTIONS_MAX];
	const struct pp_option *o;
	int c, r = 0;

	why[0] = 0;
	describe(options, first, long_options, letters);
	opterr = 0;
	optind = 0; /* glibc: begin anew, so that tests may parse twice */
	while (r == 0 && (c = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
		if (c == '?' || c == ':') {
			refuse(row_of(options, optopt), c, argv[optind - 1], why, why_size);
			return -EINVAL;
		}
		o = row_of(options, c);
		r = o->set(context, o, o->value ? optarg : NULL);
		if (r == -ERANGE)
			snprintf(why, why_size, "--%s %s: out of range", o->name, optarg);
		else if (r == -EINVAL)
			snprintf(why, why_size, "--%s %s: not a valid %s: %s", o->name, optarg,
				 o->value, o->help);
		else if (r == -EEXIST)
			snprintf(why, why_size, "--%s %s: contradicts what was given before",
				 o->name, optarg);
		else if (r == -E2BIG)
			snprintf(why, why_size, "--%s %s: more than there is room for", o->name,
				 optarg);
	}
	*ret_operands = optind;
	return r;
}

void pp_help_line(const char *words, const char *text, FILE *out)
{
	int column = fprintf(out, "%-*s", HELP_COLUMN - 1, words);

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column >= HELP_COLUMN && column + 1 + len > HELP_WIDTH)
			column = fprintf(out, "\n%*s", HELP_COLUMN - 1, "") - 1;
		column += fprintf(out, " %.*s", len, text);
		text += len + (text[len] == ' ');
	}
	fputc('\n', out);
}

void pp_options_help(const struct pp_option *options, FILE *out)
{
	for (const struct pp_option *o = options; o->name; o++) {
		const char sign = o->letter ? '-' : ' ', comma = o->letter ? ',' : ' ';
		char words[128];

		snprintf(words, sizeof(words), "  %c%c%c --%s%s%s", sign, o->letter ?: ' ', comma,
			 o->name, o->value ? " " : "", o->value ?: "");
		pp_help_line(words, o->help, out);
	}
}
