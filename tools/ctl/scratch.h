/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directory of one's own for a database that lives as long as the command: SQLite has to seek and
 * to lock, which a pipe cannot. It is made in $TMPDIR, or in /tmp where that is unset or empty, for
 * its owner alone.
 *
 * A guard, a child of this process, removes it where the process ends without doing so, of a signal
 * for instance. It waits until all have ended that this process started meanwhile and that may
 * still write there: they inherit the descriptor whose end it waits for.
 *
 *     struct scratch scratch = SCRATCH_INIT;
 *     r = scratch_make(&scratch, &error);
 *     scratch_remove(&scratch);
 */
#ifndef CTL_SCRATCH_H
#define CTL_SCRATCH_H

#include <sys/types.h>

#include "pathprof/error.h"

/* The names of the files that may lie in it, besides what SQLite writes beside a database. */
#define SCRATCH_DB      "db"
#define SCRATCH_PROFILE "profile"
#define SCRATCH_HOSTS   "hosts"

struct scratch {
	char *directory; /* NULL: there is none */
	pid_t guard;
	int held; /* the guard waits for its end */
};
#define SCRATCH_INIT                                                                               \
	{                                                                                          \
		.held = -1                                                                         \
	}

/* -errno, error filled: there is none. */
int scratch_make(struct scratch *scratch, struct pathprof_error *error);
/* Removes it with its files. */
void scratch_remove(struct scratch *scratch);

#endif
