/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds out why a question for a profile found nothing: which condition excluded everything, and
 * what would have matched.
 *
 * Workload: once a question that found nothing, a search of the builds for each of its conditions.
 */
#ifndef HUB_PGO_WHY_H
#define HUB_PGO_WHY_H

#include <stdio.h>

#include "hub.h"
#include "pathprof/store.h"

/* filter and program: the arguments with which pathprof_releases_load() found nothing. Prints one
 * clause, with a blank before it. -errno, error filled: the store's. */
int hub_pgo_why(FILE *out, struct pathprof_store *store, const struct hub_options *options,
		const struct pathprof_filter *filter, const char *program,
		struct pathprof_error *error);

#endif
