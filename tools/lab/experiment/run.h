/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One invocation of `pathprof-lab experiment`, as the framework's own files see it. Experiments
 * use experiment.h alone.
 *
 * Workload: a dozen programs, some minutes. The struct is written before the first experiment
 * starts and read-only afterwards, so the children that lab_run_each_program() forks may use it.
 */
#ifndef LAB_EXPERIMENT_RUN_H
#define LAB_EXPERIMENT_RUN_H

#include "experiment.h"

#define LAB_PROGRAMS_MAX 64

struct lab_run {
	bool small;
	const char *out; /* folder of the results; absolute */
	const struct lab_program *programs[LAB_PROGRAMS_MAX];
	size_t program_cnt;
	const struct lab_experiment *experiment; /* the one that runs */
};

/* All programs; NULL from index lab_program_cnt() on. */
size_t lab_program_cnt(void);
const struct lab_program *lab_program_all(size_t index);
const struct lab_program *lab_program_find(const char *name);
/* The length of "gzip" in "gzip.text"; and whether two entries are of one program. */
size_t lab_program_name_len(const char *name);
bool lab_same_program(const struct lab_program *a, const struct lab_program *b);
/*
 * The same run over the inputs of the programs that were asked for: those with three or more have
 * one entry for each, named PROGRAM.INPUT; entries of one program are neighbours.
 */
void lab_run_inputs(struct lab_run *ret_sub, const struct lab_run *run);
/* Writes the files that the program reads into the existing directory dir; always the same. */
void lab_program_prepare(const struct lab_program *program, const char *dir);
/* Sets environment, standard input and output in the child that becomes the program. The working
 * directory must be that of lab_program_prepare(). */
void lab_program_environment(const struct lab_program *program);
/* The arguments, with NULL at the end; the first is an absolute path. */
const char *const *lab_program_command(const struct lab_program *program);
/* How many blocks at the beginning only set the program up; experiments leave them out. */
uint64_t lab_program_skip(const struct lab_program *program);

/* Returns OUT/FORMAT, allocated, and makes the folders above it. */
__attribute__((format(printf, 2, 3))) char *lab_run_path(const struct lab_run *run,
							 const char *format, ...);
FILE *lab_run_create(const struct lab_run *run, const char *name, const char *suffix);
void lab_run_close(FILE *file, const char *name);
void *lab_alloc(size_t cnt, size_t bytes);
/* false: its tracer was killed or found no room. A trace that ends at its limit is whole. */
bool lab_trace_is_whole(const char *path);

/* begin removes headlines of an earlier run of the experiment; collect makes one list of all. */
void lab_headlines_begin(const struct lab_run *run);
void lab_headlines_collect(const struct lab_run *run, const struct lab_experiment *const *all);

/* The name of the table's files without suffix. The table owns it. */
const char *lab_table_name(const struct lab_table *table);

#endif
