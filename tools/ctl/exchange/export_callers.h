/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The callers of exported code, as pathprof/export.h takes them: read from the store, and named by
 * what linkers call functions.
 */
#ifndef CTL_EXPORT_CALLERS_H
#define CTL_EXPORT_CALLERS_H

#include "../view/callers.h"
#include "pathprof/export.h"
#include "pathprof/store.h"

/* The linkage name, or else the readable one. */
const char *export_symbol_name(const struct symbol *symbol);
const char *export_caller_name(const struct caller *caller);

struct export_callers;

/* Loads the callers of this binary's paths that the filter selects. -errno, error filled; the
 * caller frees. */
int export_callers_load(struct export_callers **ret_callers, struct pathprof_store *store,
			const struct pathprof_filter *filter, const struct pathprof_build_id *id,
			struct pathprof_error *error);
/* NULL-safe. */
void export_callers_free(struct export_callers *callers);
/* Valid until they are freed; of NULL: NULL. */
const struct pathprof_export_callers *export_callers_of(const struct export_callers *callers);

#endif
