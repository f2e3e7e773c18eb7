/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directory of one's own for a database that lives as long as the command: SQLite has to seek and
 * to lock, which a pipe cannot. It is made in $TMPDIR, or in /tmp where that is unset or empty, for
 * its owner alone.
 */
#ifndef CTL_SCRATCH_H
#define CTL_SCRATCH_H

#include "pathprof/error.h"

/* The names of the files that may lie in it, besides what SQLite writes beside a database. */
#define SCRATCH_DB      "db"
#define SCRATCH_PROFILE "profile"

/* -errno, error filled. The caller frees the name. */
int scratch_make(char **ret_directory, struct pathprof_error *error);
/* With its files. NULL: nothing. */
void scratch_remove(const char *directory);

#endif
