/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common part of the experiments of EOPP chapter 5: counting that exits when memory is out,
 * paths of a whole trace, and output of tables.
 */
#ifndef EXP_EOPP_H
#define EXP_EOPP_H

#include "../model/exact.h"
#include "../model/path_feed.h"
#include "experiment.h"
#include "pathprof/hot_paths.h"
#include "run.h"

void eopp_exact_init(struct lab_exact *table);
void eopp_count(struct lab_exact *table, const struct lab_key *key, uint64_t count);

/* Mean of the values that are one; NaN when none is. */
double eopp_mean(const double *values, size_t cnt);

/* Feeds what lab_trace_each() reads: Ball-Larus paths of at most 32 branches, one extension where
 * extended. */
void eopp_feed(const struct pathprof_trace *trace, enum pathprof_extend extend, bool simulate,
	       lab_brought_fn *fn, void *context);

/* A hot path table of the losing kind, and its overlap with the exact counts. */
struct eopp_size {
	uint32_t entries, ways;
};
struct pathprof_hot_paths *eopp_hot_paths(const struct eopp_size *size);
/* true: *ret_replaced left the table. */
bool eopp_hot_paths_add(struct pathprof_hot_paths *table, const struct lab_path *path,
			uint64_t count, struct pathprof_hot_path *ret_replaced);
/* In percent. spilled: what left the table, added to what is in it; NULL: lost. */
double eopp_overlap(const struct pathprof_hot_paths *table, uint32_t entries,
		    const struct lab_exact *exact, const struct lab_exact *spilled);

/* Like lab_headline(), without the reason for a difference when the aim is met. */
void eopp_headline(struct lab_run *run, const struct lab_headline *line);

/* Writes the table and its figure, and frees it. */
void eopp_write_lines(struct lab_run *run, struct lab_table *table, const char *x, const char *y);
void eopp_write_bars(struct lab_run *run, struct lab_table *table, const char *x, const char *y);

#endif
