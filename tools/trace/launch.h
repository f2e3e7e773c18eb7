/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts the emulator with the plugin on a command.
 *
 * Workload: once. Locking: none. Ownership: the caller reaps the child; it dies with its parent.
 */
#ifndef TRACE_LAUNCH_H
#define TRACE_LAUNCH_H

#include <sys/types.h>

#include "command.h"
#include "pathprof/error.h"

struct trace_launch {
	const struct trace_command *command;
	const char *cpu; /* the emulator's -cpu; NULL: its own choice */
	int share_fd;
};

/* The child's id. -ENOENT when the emulator or the plugin is missing, -errno: error filled. */
pid_t trace_launch(const struct trace_launch *launch, struct pathprof_error *error);

#endif
