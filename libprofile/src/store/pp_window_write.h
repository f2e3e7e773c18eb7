/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A window on its way into the database: what write.c, write_check.c, write_contexts.c and
 * segments.c share. In a transaction of the caller's; the writer's locking.
 */
#ifndef PP_WINDOW_WRITE_H
#define PP_WINDOW_WRITE_H

#include "pp_store.h"

#define PP_COUNT_MAX ((uint64_t)INT64_MAX) /* that the database can hold */

struct pp_window_write {
	struct pathprof_store *store;
	const struct pathprof_profile *profile;
	struct pathprof_error *error;
	const char *boot; /* that its processes ran in */
	int64_t window;
	int64_t *binaries, *processes; /* entry of the profile -> row id */
};

/* Fills the error and returns code, which is negative. */
int pp_window_refuse(const struct pp_window_write *w, int code, const char *what);
/* Whether the profile may be written. -EINVAL, -EOVERFLOW and others: it may not. */
int pp_window_check(const struct pp_window_write *w);
/* After the binaries, processes and paths. */
int pp_window_write_contexts(struct pp_window_write *w);
/* After the binaries and processes. */
int pp_window_write_segments(struct pp_window_write *w);

#endif
