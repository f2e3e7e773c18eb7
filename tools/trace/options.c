// SPDX-License-Identifier: GPL-2.0-or-later
/* See options.h. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "pathprof/trace_format.h"

enum { OPT_LOADS = 256, OPT_MEMORY, OPT_LIMIT, OPT_SKIP, OPT_CPU };

static const struct option long_options[] = {
	{"output", required_argument, NULL, 'o'},    {"loads", no_argument, NULL, OPT_LOADS},
	{"memory", no_argument, NULL, OPT_MEMORY},   {"limit", required_argument, NULL, OPT_LIMIT},
	{"skip", required_argument, NULL, OPT_SKIP}, {"cpu", required_argument, NULL, OPT_CPU},
	{"quiet", no_argument, NULL, 'q'},           {"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},         {NULL, 0, NULL, 0},
};

void trace_options_help(void)
{
	puts("pathprof-trace -o TRACE [OPTION...] [--] COMMAND [ARG...]\n\n"
	     "Runs a program in an emulator and records every branch it executes.\n\n"
	     "  -o, --output FILE  the trace\n"
	     "      --loads        also every load: address and value\n"
	     "      --memory       also every load and store: address\n"
	     "      --limit N      record about N blocks, then kill the program\n"
	     "      --skip N       do not record the first N blocks\n"
	     "      --cpu MODEL    the processor to be (qemu-x86_64 -cpu help)\n"
	     "  -q, --quiet        no progress, no closing line\n"
	     "  -h, --help\n"
	     "  -V, --version\n\n"
	     "Exit status: the program's, 128 and the signal when one killed it; 0 when the limit\n"
	     "did; 125 when there is no whole trace, 126 or 127 when nothing could be run.");
}

static int parse_count(const char *name, const char *text, uint64_t *ret_count,
		       struct pathprof_error *error)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || errno || value == 0)
		return pathprof_fail(error, -EINVAL, "--%s %s: a number of blocks is needed", name,
				     text);
	*ret_count = value;
	return 0;
}

static int apply(struct trace_options *options, int option, struct pathprof_error *error)
{
	switch (option) {
	case 'o':
		options->output = optarg;
		return 0;
	case OPT_LOADS:
		options->flags |= PATHPROF_TRACE_HAS_LOADS;
		return 0;
	case OPT_MEMORY:
		options->flags |= PATHPROF_TRACE_HAS_MEMORY;
		return 0;
	case OPT_LIMIT:
		return parse_count("limit", optarg, &options->limit_words, error);
	case OPT_SKIP:
		return parse_count("skip", optarg, &options->skip_cnt, error);
	case OPT_CPU:
		options->cpu = optarg;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case 'h':
		options->help = true;
		return 0;
	case 'V':
		options->version = true;
		return 0;
	default:
		return pathprof_fail(error, -EINVAL, "see pathprof-trace --help");
	}
}

static int check(const struct trace_options *options, struct pathprof_error *error)
{
	if (options->help || options->version)
		return 0;
	if (!options->output)
		return pathprof_fail(error, -EINVAL, "-o FILE is needed, see --help");
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
	int option, r = 0;

	while (r == 0 && (option = getopt_long(argc, argv, "+o:qhV", long_options, NULL)) != -1)
		r = apply(&options, option, error);
	options.command = argv + optind;
	if (r == 0)
		r = check(&options, error);
	if (r == 0)
		*ret_options = options;
	return r;
}
