/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Files of interesting paths: those of a program that ran, with their counts. `pathprofctl
 * interesting` writes one, and pathprof-cc gives these paths small tables of counters.
 *
 * A file is text: a line that names the format, and then a line for each path, with tabs between
 * its words, in any order; the lines of two files may stand in one.
 *
 *     pathprof-interesting 1
 *     FUNCTION  UNIT  SHAPE  NUMBER  COUNT
 *
 * UNIT is the source file of a function that is local to it, and else empty. SHAPE stands for the
 * function's graph: what was written for another one is not taken.
 *
 * Workload: 10^4 functions, 10^6 paths; read once for each unit that is compiled. Plain data.
 */
#ifndef PATHPROF_INTERESTING_H
#define PATHPROF_INTERESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pathprof/error.h"
#include "pathprof/flow.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_interesting_path {
	const char *function, *unit;
	uint64_t shape; /* pathprof_interesting_shape() */
	uint64_t id, count;
};

struct pathprof_interesting;

/* -EBADMSG: the file is no such one, and error says which line; -ENOMEM; -errno. */
int pathprof_interesting_read(struct pathprof_interesting **ret_set, const char *path,
			      struct pathprof_error *error);
/* NULL-safe. */
void pathprof_interesting_free(struct pathprof_interesting *set);
/*
 * The paths of a function, hottest first and each once; *ret_cnt 0: there are none. They are the
 * set's.
 */
const struct pathprof_interesting_path *
pathprof_interesting_find(const struct pathprof_interesting *set, const char *function,
			  const char *unit, uint64_t shape, size_t *ret_cnt);
/* Whether there are paths of that function in any shape. */
bool pathprof_interesting_names(const struct pathprof_interesting *set, const char *function,
				const char *unit);

/* The counts of all paths together. */
uint64_t pathprof_interesting_total(const struct pathprof_interesting *set);

uint64_t pathprof_interesting_shape(uint32_t node_cnt, const struct pathprof_flow_arc *arcs,
				    uint32_t arc_cnt);

/* For a file: its first line, and one path. Names have neither tabs nor ends of lines in them. */
void pathprof_interesting_print_head(FILE *out);
void pathprof_interesting_print(FILE *out, const struct pathprof_interesting_path *path);

#ifdef __cplusplus
}
#endif

#endif
