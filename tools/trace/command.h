/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program to run: a command resolved as a shell would, down to the x86-64 program that the
 * emulator is given.
 *
 * Workload: once. Locking: none. Ownership: the command owns its words.
 */
#ifndef TRACE_COMMAND_H
#define TRACE_COMMAND_H

#include <limits.h>

#include "pathprof/error.h"

struct trace_command {
	char program[PATH_MAX]; /* an x86-64 ELF file */
	char **argv; /* its words, argv[0] as the kernel would pass it; NULL at the end */
};

/*
 * argv: the words given, one at least. A script is run by its interpreter, as the kernel does it.
 * -ENOENT, -EACCES, -ENOEXEC (nothing that can be traced), -ELOOP, -errno: error filled.
 */
int trace_command_init(struct trace_command *command, char *const *argv,
		       struct pathprof_error *error);
void trace_command_release(struct trace_command *command);
/* The executable file of that name in PATH; -ENOENT, -EACCES. */
int trace_command_find(const char *name, char ret_path[PATH_MAX]);

#endif
