/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The directory that profiles are made in. It lies beside the hub's database, which one hub at a
 * time has open: DB.pgo, and in it one for each start. A hub that is killed leaves its directory
 * behind. The next hub removes it, and a process that the killed hub started finds it gone.
 *
 * Workload: once a start, and files of some megabytes a profile. Locking: the database's.
 */
#ifndef HUB_SCRATCH_H
#define HUB_SCRATCH_H

#include "pathprof/error.h"

/* A directory that nobody else may enter. -EEXIST: a link, a file or another user's directory has
 * its name. Other errors: -errno; error filled. */
int hub_scratch_new(char **ret_scratch, const char *db, struct pathprof_error *error);
/* Removes the files in it. */
void hub_scratch_empty(const char *scratch);
/* Removes it. NULL-safe. */
void hub_scratch_free(char *scratch);

#endif
