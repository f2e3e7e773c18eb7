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

/* All programs; lab_program_all(lab_program_cnt()) and beyond is NULL. */
size_t lab_program_cnt(void);
const struct lab_program *lab_program_all(size_t index);
const struct lab_program *lab_program_find(const char *name);
/* Programs with three inputs and more: named PROGRAM.INPUT, those of a program together; NULL
 * beyond. */
const struct lab_program *lab_program_input(size_t index);
/* Writes what the program reads into directory dir, which is there. The same bytes each time. */
void lab_program_prepare(const struct lab_program *program, const char *dir);
/* In the child that becomes the program: environment, standard input and output. cwd is the
 * directory of lab_program_prepare(). */
void lab_program_environment(const struct lab_program *program);
/* Its words, NULL at the end; the first is an absolute path. */
const char *const *lab_program_command(const struct lab_program *program);
/* How much of its beginning is no part of what it is for: blocks. */
uint64_t lab_program_skip(const struct lab_program *program);

/* OUT/part/part..., allocated; and with every folder above it made. */
__attribute__((format(printf, 2, 3))) char *lab_run_path(const struct lab_run *run,
							 const char *format, ...);
FILE *lab_run_create(const struct lab_run *run, const char *name, const char *suffix);
void lab_run_close(FILE *file, const char *name);
void *lab_alloc(size_t cnt, size_t bytes);

/* Headlines: begin empties what the experiment said before, collect makes one list of all. */
void lab_headlines_begin(const struct lab_run *run);
void lab_headlines_collect(const struct lab_run *run, const struct lab_experiment *const *all);

/* The stem of its files. The table owns it. */
const char *lab_table_name(const struct lab_table *table);

#endif
