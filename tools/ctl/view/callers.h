/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call chains of the selection, read from the store and named.
 *
 * Workload: some thousand callers and ten thousands of counts, once a command. Everything belongs
 * to the callers but the symbols, which outlive them. One thread.
 */
#ifndef CTL_CALLERS_H
#define CTL_CALLERS_H

#include <stddef.h>
#include <stdint.h>

#include "../code/symbols.h"
#include "pathprof/store.h"

/* A function that called, which was called by its parent. */
struct caller {
	int64_t id, parent; /* parent 0: nobody */
	struct pathprof_build_id binary_id;
	char *binary_name;           /* "": callers that could not be found out */
	const struct symbol *symbol; /* NULL: the same */
};

/* How often a path ran under a caller. */
struct caller_count {
	int64_t path;
	const struct caller *caller;
	uint64_t samples;
	double weight;
};

struct callers {
	struct caller *list; /* by id */
	size_t cnt;
	struct caller_count *counts; /* by path */
	size_t count_cnt;
};

/* -errno, error filled. The caller frees *ret_callers. */
int callers_load(struct callers **ret_callers, struct pathprof_store *store,
		 struct symbols *symbols, const struct pathprof_filter *filter,
		 struct pathprof_error *error);
/* NULL-safe. */
void callers_free(struct callers *callers);

/* NULL: there is none, or the store is damaged. */
const struct caller *callers_find(const struct callers *callers, int64_t id);
/* A store may be damaged: a chain is never followed for ever. */
#define CALLERS_CHAIN_MAX 256
/* The caller and those that called it, the outermost last; none for NULL. Returns how many. */
size_t callers_chain(const struct callers *callers, const struct caller *caller,
		     const struct caller *ret_chain[CALLERS_CHAIN_MAX]);
/* For people; "[not known]". */
const char *caller_name(const struct caller *caller);
/* Counts of the path: the first of *ret_cnt. */
const struct caller_count *callers_of_path(const struct callers *callers, int64_t path,
					   size_t *ret_cnt);

#endif
