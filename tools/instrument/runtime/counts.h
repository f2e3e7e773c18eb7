/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The runtime of a program that counts its own paths: each ELF object that was instrumented holds
 * one, with a file of its own.
 *
 * Counters. A unit's code adds to the counter at its table's address plus the thread's distance, or
 * in programs at the thread's pointer of the unit, which is set to that.
 * The distance is 0 before the runtime runs and in threads that it does not know: these count in
 * the section itself. The others' lies in the file, which is mapped and shared, so whatever ends
 * the process, all that was counted is in the file.
 *
 * Memory. Nothing is allocated: a program whose heap is moved may take other paths. The file's
 * place in the address space is taken once, far longer than the file; regions are appended to it.
 *
 * Locking. One lock an object over its list of regions, held with signals blocked. Counting takes
 * no lock: a thread writes to its own region alone.
 */
#ifndef COUNTS_H
#define COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/instrument_abi.h"

/* What code reads. Of this object: hidden, as all but the list of objects is. */
extern __thread int64_t __pathprof_distance __attribute__((tls_model("initial-exec")));

/* Objects of this process; the first that the dynamic linker finds is everybody's. */
struct counts_object {
	struct counts_object *next;
	void (*attach)(void);
};
extern struct counts_object *__pathprof_objects __attribute__((visibility("default")));
extern int __pathprof_objects_held __attribute__((visibility("default"))); /* its lock */

/* ---------------------------------------------------------------- file.c */

/* Makes the file, and gives the calling thread the first region. */
bool counts_file_make(void);
/* After fork(): the same in the child, in a file of its own. */
void counts_file_make_anew(void);
/* NULL: it was not made. */
struct pathprof_counts_head *counts_head(void);
/* A region of at least so many bytes, zeroed. Under the lock. NULL: the file cannot grow. */
struct pathprof_counts_region *counts_append(uint32_t kind, uint64_t bytes);
struct pathprof_counts_region *counts_region_at(uint64_t place);
uint64_t counts_place_of(const struct pathprof_counts_region *region);
/* A path is not counted: there is no room for it, or no file yet. */
void counts_lose(void);
/* A thread is made that has no region. */
void counts_crowd(void);
/* What is returned is handed to counts_unlock(). */
uint64_t counts_lock(void);
void counts_unlock(uint64_t signals);

/* ---------------------------------------------------------------- closed.c */

/* Takes away the mappings that earlier loads of this object left: of files whose name begins so and
 * that are closed. */
void counts_unmap_closed(const char *name, size_t bytes);

/* ---------------------------------------------------------------- threads.c */

/* For a thread that is yet to be made: its region is nobody else's. */
#define COUNTS_PROMISED (-1)

/* A region that no living thread counts in, from now on thread tid's. NULL: there is none. */
struct pathprof_counts_region *counts_claim(int tid);
/* NULL: the calling thread counts in the section. */
void counts_move_to(struct pathprof_counts_region *region);
struct pathprof_counts_region *counts_mine(void);
/* Gives the calling thread a region unless it has one. */
void counts_attach(void);

/* ---------------------------------------------------------------- objects.c */

/* This object joins those that new threads are attached to. */
void counts_objects_enter(void);
/* No thread is being attached to it from then on. Of one that is not there nothing is said. */
void counts_objects_leave(void);
/* The calling thread counts in a region of its own in each of them. */
void counts_objects_attach(void);
/* In the child: the thread that had the list then is not there. */
void counts_objects_after_fork(void);

/* ---------------------------------------------------------------- object.c */

/* The section of counters, as it was linked; none when nothing was instrumented. */
extern uint64_t __start_pathprof_counters[] __attribute__((visibility("hidden"), weak));
extern uint64_t __stop_pathprof_counters[] __attribute__((visibility("hidden"), weak));

/* Of units of a program (PATHPROF_MOVES_SECTION); libraries have none. */
typedef void counts_move_fn(void);
extern counts_move_fn *const __start_pathprof_moves[] __attribute__((visibility("hidden"), weak));
extern counts_move_fn *const __stop_pathprof_moves[] __attribute__((visibility("hidden"), weak));

static inline uint64_t counts_image_bytes(void)
{
	return (uintptr_t)__stop_pathprof_counters - (uintptr_t)__start_pathprof_counters;
}

/* This ELF object is the program itself, not a library. */
bool counts_is_program(void);
/* Fills in the build-id and the path of this ELF object. */
void counts_name_object(struct pathprof_counts_head *head);

#endif
