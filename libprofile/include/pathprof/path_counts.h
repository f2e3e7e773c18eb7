/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Counts of programs that count their own paths (pathprof/instrument_abi.h): the description of the
 * functions in an ELF file, and the counts out of any number of files of its runs.
 *
 *     pathprof_counted_open(&counted, "a.out", &error);
 *     pathprof_counted_add(counted, "4ce1.77.ppraw", &error);    ...and more
 *     pathprof_counted_paths(counted, f, &paths, &cnt);
 *
 * Files come from outside: nothing in them is trusted, and what contradicts itself is refused. A
 * file may be one that its program is counting into.
 *
 * Workload: 10^4 functions, 10^6 paths, some hundred files. Plain data; one thread an object.
 */
#ifndef PATHPROF_PATH_COUNTS_H
#define PATHPROF_PATH_COUNTS_H

#include "pathprof/build_id.h"
#include "pathprof/error.h"
#include "pathprof/flow.h"
#include "pathprof/instrument_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a node begins in the source. */
struct pathprof_counted_line {
	const char *file;      /* "": unknown */
	uint32_t line, column; /* 0: unknown */
};

struct pathprof_counted_function {
	const char *name, *unit; /* the linker's name; the source file of its unit */
	bool is_local;           /* other units may have one of that name */
	enum pathprof_counting counting;
	uint64_t counter;  /* distance of its first one from the section's start, in bytes */
	uint64_t path_cnt; /* paths it has, of which few may run */
	struct pathprof_counted_line *lines; /* by node */
	struct pathprof_flow_arc *arcs;
	uint32_t node_cnt, arc_cnt;
};

struct pathprof_counted_path {
	uint64_t id, count;
};

struct pathprof_counted;

/* -ENOENT: it does not count its paths; -EBADMSG: its description is damaged; -EINVAL: no ELF file.
 */
int pathprof_counted_open(struct pathprof_counted **ret_counted, const char *path,
			  struct pathprof_error *error);
/* NULL-safe. */
void pathprof_counted_free(struct pathprof_counted *counted);
/* As they lie in the file. */
const struct pathprof_counted_function *
pathprof_counted_functions(const struct pathprof_counted *counted, uint32_t *ret_cnt);
/* Functions that were left out of counting. */
uint64_t pathprof_counted_left_out(const struct pathprof_counted *counted);

/*
 * Adds what a file of counts holds. -ESTALE: it is of another build; -EBADMSG: it is damaged;
 * nothing was added then. *ret_lost, unless NULL: paths that the program had no room to count.
 */
int pathprof_counted_add(struct pathprof_counted *counted, const char *path, uint64_t *ret_lost,
			 struct pathprof_error *error);
/* The paths of a function that ran, by number; free() them. -ENOMEM. */
int pathprof_counted_paths(const struct pathprof_counted *counted, uint32_t function,
			   struct pathprof_counted_path **ret_paths, size_t *ret_cnt);

/* The ELF file that a file of counts names; "" when it does not. The text is of 1024 bytes. */
int pathprof_counts_object(const char *path, char *ret_object, struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
