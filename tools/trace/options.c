// SPDX-License-Identifier: GPL-2.0-or-later
/* See options.h. */
#include "options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/units.h"
#include "pathprof/trace_format.h"

/* Sets the bit of PATHPROF_TRACE_HAS_* for which the option stands. */
static int set_traced(void *context, const struct pp_option *option, const char *value)
{
	struct trace_options *options = context;

	options->flags |= (uint32_t)option->number;
	return 0;
}

static int set_count(void *context, const struct pp_option *option, const char *value)
{
	uint64_t *count = (uint64_t *)((char *)context + option->number);
	int r = pp_count_parse(value, count);

	return r == 0 && *count == 0 ? -ERANGE : r;
}

#define TEXT(field)  pp_option_text, offsetof(struct trace_options, field)
#define FLAG(field)  pp_option_flag, offsetof(struct trace_options, field)
#define COUNT(field) set_count, offsetof(struct trace_options, field)

static const struct pp_option rows[] = {
	{"output", 'o', "FILE", "the trace", TEXT(output)},
	{"paths", 0, "FILE", "count paths and write a profile there, no trace (%p: process id)",
	 TEXT(paths)},
	{"follow", 0, "DIR", "run the command natively, and trace the programs of DIR that it runs",
	 TEXT(follow)},
	{"loads", 0, NULL, "also every load: address and value", set_traced,
	 PATHPROF_TRACE_HAS_LOADS},
	{"memory", 0, NULL, "also every load and store: address", set_traced,
	 PATHPROF_TRACE_HAS_MEMORY},
	{"limit", 0, "BLOCKS", "record about so many, then kill the program", COUNT(limit_words)},
	{"skip", 0, "BLOCKS", "do not record the first so many", COUNT(skip_cnt)},
	{"cpu", 0, "MODEL", "the processor to be (qemu-x86_64 -cpu help)", TEXT(cpu)},
	{"quiet", 'q', NULL, "no progress, no closing line", FLAG(quiet)},
	{"help", 'h', NULL, "this text", FLAG(help)},
	{"version", 'V', NULL, "version", FLAG(version)},
	{NULL},
};

void trace_options_help(void)
{
	puts("pathprof-trace -o TRACE | --paths FILE [OPTION...] [--] COMMAND [ARG...]\n\n"
	     "Runs a program in an emulator and records every branch it executes, or counts every "
	     "path.\n");
	pp_options_help(rows, stdout);
	puts("\nExit status: the program's, 128 and the signal when one killed it; 0 when the "
	     "limit\n"
	     "did; 125 when there is no whole trace, 126 or 127 when nothing could be run.");
}

static int check_paths(const struct trace_options *options, struct pathprof_error *error)
{
	if (options->output)
		return pathprof_fail(error, -EINVAL, "-o or --paths, not both");
	if (!options->command[0])
		return pathprof_fail(error, -EINVAL, "a command is needed, see --help");
	if (options->flags || options->limit_words != UINT64_MAX || options->skip_cnt)
		return pathprof_fail(error, -EINVAL,
				     "--paths counts a whole run: no --loads, --memory, --limit, "
				     "--skip");
	if (options->follow && !strstr(options->paths, "%p"))
		return pathprof_fail(
			error, -EINVAL,
			"--follow writes several files: --paths needs %%p in its name");
	return 0;
}

static int check(const struct trace_options *options, struct pathprof_error *error)
{
	if (options->help || options->version)
		return 0;
	if (!options->output && !options->paths)
		return pathprof_fail(error, -EINVAL,
				     "-o FILE or --paths FILE is needed, see --help");
	if (options->paths)
		return check_paths(options, error);
	if (options->follow)
		return pathprof_fail(error, -EINVAL, "--follow needs --paths FILE");
	if (!options->command[0])
		return pathprof_fail(error, -EINVAL, "a command is needed, see --help");
	if ((options->flags & PATHPROF_TRACE_HAS_LOADS) &&
	    (options->flags & PATHPROF_TRACE_HAS_MEMORY))
		return pathprof_fail(error, -EINVAL, "--loads or --memory, not both");
	return 0;
}

int trace_options_parse(struct trace_options *ret_options, int argc, char **argv,
			struct pathprof_error *error)
{
	struct trace_options options = {.limit_words = UINT64_MAX};
	char why[sizeof(error->text)];
	int operands, r;

	r = pp_options_parse(rows, argc, argv, true, &options, &operands, why, sizeof(why));
	if (r < 0)
		return pathprof_fail(error, -EINVAL, "%s; see pathprof-trace --help", why);
	options.command = argv + operands;
	r = check(&options, error);
	if (r == 0)
		*ret_options = options;
	return r;
}
