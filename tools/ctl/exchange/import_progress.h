/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The progress of an import that takes long: how much it has read, and that it waits when its input
 * brings nothing. A thread says the latter of a pipe or a terminal, since reading one waits inside.
 *
 * Workload: a line every half second on a terminal, else one whenever twice as long has passed.
 * Locking: its own; one thread imports.
 */
#ifndef CTL_IMPORT_PROGRESS_H
#define CTL_IMPORT_PROGRESS_H

#include <stdbool.h>

#include "pathprof/recording.h"

struct import_progress;

/* fd is the input and stays open for as long as this. NULL: no memory. */
struct import_progress *import_progress_new(const char *name, int fd);
/* How far it is by now. NULL-safe. */
void import_progress_at(struct import_progress *progress,
			const struct pathprof_recording *recording);
/* Nothing of it stays on a terminal. NULL-safe. */
void import_progress_free(struct import_progress *progress);

#endif
