/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file a --value means: a path; a bare name, which is a program of $PATH or a library, or
 * something that the process to record has mapped; or, without a name, the program itself.
 *
 * Workload: once a parameter. Reads /proc and looks for files, nothing else.
 */
#ifndef PP_VALUE_FILE_H
#define PP_VALUE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "pathprof/error.h"

/* Whom it is asked for: a command that is not started yet, or a process that runs. */
struct pp_value_target {
	const char *command; /* NULL: pid runs */
	pid_t pid;
};

/* file "": the program itself. -ENOENT with where was looked. */
int pp_value_file(const struct pp_value_target *target, const char *file, char *ret_path,
		  size_t path_size, struct pathprof_error *error);

#endif
