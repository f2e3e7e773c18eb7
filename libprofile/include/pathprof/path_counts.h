/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Counts of programs that count their own paths (pathprof/instrument_abi.h): the description of the
 * functions in an ELF file, and the counts out of any number of files of its runs.
 *
 *     pathprof_counted_open(&counted, "a.out", &error);
 *     pathprof_counted_add(counted, "4ce1.77.ppraw", &error);    ...and more
 *     pathprof_counted_paths(counted, f, &paths, &cnt);
 *     pathprof_counted_way(counted, f, paths[0].id, &lines, &cnt);
 *
 * Files come from outside: nothing in them is trusted, and what contradicts itself is refused. A
 * file may be one that its program is counting into.
 *
 * Workload: 10^4 functions, 10^6 paths, some hundred files. Plain data; one thread an object.
 */
#ifndef PATHPROF_PATH_COUNTS_H
#define PATHPROF_PATH_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/build_id.h"
#include "pathprof/error.h"
#include "pathprof/flow.h"
#include "pathprof/function_paths.h"
#include "pathprof/instrument_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The source position at which a node begins. */
struct pathprof_counted_line {
	const char *file;      /* "": unknown */
	uint32_t line, column; /* 0: unknown */
	/* A call that was inlined: which function begins here, or goes on behind it. */
	enum pathprof_crossing crossing;
	const char *function; /* "": none does */
};

struct pathprof_counted_path {
	uint64_t id, count;
};

/* One of the nodes that a counter of clang's own profile counts. */
struct pathprof_counted_place {
	uint32_t counter, node;
};

struct pathprof_counted_function {
	const char *name, *unit; /* the linker's name; the source file of its unit */
	bool is_local;           /* other units may have one of that name */
	enum pathprof_counting counting;
	uint64_t counter;  /* distance of its first one from the section's start, in bytes */
	uint64_t path_cnt; /* paths it has, of which few may run */
	uint64_t *slots;   /* of a TABLE or WARM: by slot the number of its path and 1, or 0 */
	uint32_t slot_cnt;
	struct pathprof_counted_path *told; /* not counted: how often they ran by the profile */
	uint32_t told_cnt;
	struct pathprof_counted_line *lines; /* by node */
	struct pathprof_flow_arc *arcs;
	uint32_t node_cnt, arc_cnt;
	/* Clang's own profile (-fprofile-generate) of it, if the build described that. */
	const char *profile_name; /* "": none */
	uint64_t profile_hash;
	uint32_t profile_counter_cnt, place_cnt;
	uint32_t site_cnt[PATHPROF_VALUE_KINDS]; /* places whose values it counts; 16 bits */
	struct pathprof_counted_place *places;   /* a counter is the sum of its nodes' counts */
	/* An inline function has a copy in each unit that uses it. The first has the counts of all,
	 * the others none. */
	uint32_t first; /* the first's number; its own: it is the first, as most are */
	uint32_t next;  /* of the copies of one; 0: the last */
};

struct pathprof_counted;

/* The description of its run in a file of counts. */
struct pathprof_counts_run {
	uint64_t pid;
	int64_t begin_ns, end_ns; /* CLOCK_REALTIME: its start, and the last change of the file */
	uint64_t lost_cnt;        /* paths that the program had no room to count */
	uint64_t crowded_cnt;     /* threads that its file had no room for: they count together */
	uint64_t shared_cnt;      /* counts of threads that count together: others may be missing */
	uint64_t unmade_cnt;      /* children that made no file: nothing of theirs is counted */
	char object[1024];        /* path of its ELF file; "": unknown */
};

/* -ENOENT: it does not count its paths; -EBADMSG: its description is damaged; -EINVAL: no ELF file.
 */
int pathprof_counted_open(struct pathprof_counted **ret_counted, const char *path,
			  struct pathprof_error *error);
/*
 * The same of a program that a process apart reads (pathprof/apart.h), and so are the files of
 * counts that are added, so that what they hold cannot reach the caller. The results are checked.
 * -EOWNERDEAD: that process died.
 */
int pathprof_counted_open_apart(struct pathprof_counted **ret_counted, const char *path,
				struct pathprof_error *error);
/* NULL-safe. */
void pathprof_counted_free(struct pathprof_counted *counted);
/* The functions, in the file's order. */
const struct pathprof_counted_function *
pathprof_counted_functions(const struct pathprof_counted *counted, uint32_t *ret_cnt);
/* Functions that were left out of counting. */
uint64_t pathprof_counted_left_out(const struct pathprof_counted *counted);
/* Names of those that clang's own profile would have counters of. */
const char *const *pathprof_counted_missing(const struct pathprof_counted *counted,
					    size_t *ret_cnt);

/*
 * Adds what a file of counts holds. -ESTALE: it is of another build; -EBADMSG: it is damaged;
 * nothing was added then. ret_run, unless NULL: what it says of its run.
 */
int pathprof_counted_add(struct pathprof_counted *counted, const char *path,
			 struct pathprof_counts_run *ret_run, struct pathprof_error *error);
/*
 * The paths of a function that ran, by number, those of its copies too; free() them. Sums over
 * copies, of cold paths and of nodes stop at 2^64 - 1. -ENOMEM.
 */
int pathprof_counted_paths(const struct pathprof_counted *counted, uint32_t function,
			   struct pathprof_counted_path **ret_paths, size_t *ret_cnt);

/* How often paths of a function ran that are cold, which are not told apart (WARM); else 0. */
uint64_t pathprof_counted_cold(const struct pathprof_counted *counted, uint32_t function);

/* Forgets the counts, for the files of another run; the description stays. */
void pathprof_counted_clear(struct pathprof_counted *counted);
/*
 * The flow of a function as it was compiled, and its paths by their numbers. Both are the caller's;
 * -errno leaves nothing. -EINVAL: there is no such function, or its graph is none. -ENOMEM.
 */
int pathprof_counted_flow(const struct pathprof_counted *counted, uint32_t function,
			  struct pathprof_flow *ret_flow,
			  struct pathprof_function_paths **ret_paths);
/*
 * How often each node of the function ran by so many runs of its paths: ret_counts[node_cnt], which
 * adds up. -EINVAL: one is no path of it, or its graph is none. -ENOMEM.
 */
int pathprof_counted_nodes(const struct pathprof_counted *counted, uint32_t function,
			   const struct pathprof_counted_path *runs, size_t run_cnt,
			   uint64_t *ret_counts);
/*
 * The lines that the nodes of a path begin at, in the order in which they ran; free() the list.
 * -EINVAL: the function has no path of that number, or its graph is none. -ENOMEM.
 */
int pathprof_counted_way(const struct pathprof_counted *counted, uint32_t function, uint64_t id,
			 const struct pathprof_counted_line ***ret_lines, size_t *ret_cnt);

/*
 * Counted paths in a store lie in a binary of their own, of kind PATHPROF_ID_JIT, since their
 * numbers are no places in the file. It has the name of the ELF file and an identity made of the
 * file's build-id. -ENOENT: the file has no build-id, or may have none.
 */
int pathprof_counted_identity(const struct pathprof_counted *counted,
			      struct pathprof_build_id *ret_id);
/* Whether it is a binary that counts its paths, not code that a process generated ("jit:PID"). */
bool pathprof_is_counted(const struct pathprof_build_id *id, const char *name);

/* The start of a counted path: its function in the upper bits, its number in the lower. */
#define PATHPROF_COUNTED_BITS 40
static inline uint64_t pathprof_counted_start(uint32_t function, uint64_t id)
{
	return (uint64_t)function << PATHPROF_COUNTED_BITS | id;
}
static inline uint32_t pathprof_counted_function_of(uint64_t start)
{
	return (uint32_t)(start >> PATHPROF_COUNTED_BITS);
}
static inline uint64_t pathprof_counted_number_of(uint64_t start)
{
	return start & ((1ull << PATHPROF_COUNTED_BITS) - 1);
}

/* Reads only what stands at the beginning. -EBADMSG: no file of counts. */
int pathprof_counts_run(const char *path, struct pathprof_counts_run *ret_run,
			struct pathprof_error *error);
/* The same by a process apart. -EOWNERDEAD: it died. */
int pathprof_counts_run_apart(const char *path, struct pathprof_counts_run *ret_run,
			      struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
