/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of pathprof-trace.
 *
 * Workload: once. Locking: none. Ownership: everything points into argv.
 */
#ifndef TRACE_OPTIONS_H
#define TRACE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/error.h"

struct trace_options {
	const char *output;
	const char *paths;  /* file for a profile instead of a trace; %p: our process id */
	const char *follow; /* directory of programs to trace; the command runs natively */
	const char *cpu;
	uint32_t flags; /* PATHPROF_TRACE_HAS_* */
	uint64_t limit_words, skip_cnt;
	bool quiet, help, version;
	char *const *command; /* NULL-terminated, one word at least */
};

/* -EINVAL, error filled. */
int trace_options_parse(struct trace_options *ret_options, int argc, char **argv,
			struct pathprof_error *error);
void trace_options_help(void);

#endif
