/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a question for a profile found nothing: which of its conditions kept everything out, and what
 * there is in its place.
 *
 * Workload: once a question that found nothing, a search of the builds for each of its conditions.
 */
#ifndef HUB_PGO_WHY_H
#define HUB_PGO_WHY_H

#include <stdio.h>

#include "hub.h"
#include "pathprof/store.h"

/* filter and program: as pathprof_releases_load() got them, and found nothing. Prints one clause,
 * with a blank before it. -errno, error filled: the store's. */
int hub_pgo_why(FILE *out, struct pathprof_store *store, const struct hub_options *options,
		const struct pathprof_filter *filter, const char *program,
		struct pathprof_error *error);

#endif
