/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A program's options as one table, which getopt and --help are both made of: every option that is
 * accepted is documented, and the other way round.
 *
 * Workload: once a process. One thread, for getopt has globals. Strings are the table's and argv's.
 */
#ifndef PP_BASE_OPTIONS_H
#define PP_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct pp_option {
	const char *name;  /* NULL: behind the last */
	char letter;       /* 0: none */
	const char *value; /* what it takes, for the help; NULL: nothing */
	const char *help;
	/*
	 * -EINVAL, -ERANGE, -EEXIST and -E2BIG are said as of any option; with another error it
	 * has said why itself.
	 * value is NULL where none is taken.
	 */
	int (*set)(void *context, const struct pp_option *option, const char *value);
	size_t number;      /* for set: an offset in context, a choice */
	const char *detail; /* for set */
};

#define PP_OPTIONS_MAX 88 /* in a table, with its end */

/* For set: the text, which must not be empty, or true, at the offset `number` of context. */
int pp_option_text(void *context, const struct pp_option *option, const char *value);
int pp_option_flag(void *context, const struct pp_option *option, const char *value);

/*
 * Calls set for each option. first: up to the first operand, else operands are moved behind all
 * options. *ret_operands is the index of the first one. 0, or what set returned; -EINVAL also for
 * what is no option, or whose value is missing or too much. why is one line then, or "" where set
 * has said it.
 */
int pp_options_parse(const struct pp_option *options, int argc, char **argv, bool first,
		     void *context, int *ret_operands, char *why, size_t why_size);
/* words, and behind them text in a column of its own, wrapped at 80 columns. */
void pp_help_line(const char *words, const char *text, FILE *out);
/* A line an option, or several. */
void pp_options_help(const struct pp_option *options, FILE *out);

#endif
