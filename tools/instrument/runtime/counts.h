/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The runtime of a program that counts its own paths: each ELF object that was instrumented holds
 * one, with a file of its own.
 *
 * Counters. A unit's code adds to the counter at its table's address plus the thread's distance,
 * or, in programs, through the unit's thread-local pointer, which holds that sum. The distance is 0
 * before the runtime runs and in threads that the runtime does not know: these count in the section
 * itself. Other threads count in the file, which is mapped and shared, so all their counts are in
 * the file however the process ends.
 *
 * Memory. Nothing is allocated: a program whose heap moves may take other paths. Address space is
 * reserved once for the file, far more than its length; regions are appended to it.
 *
 * Locking. One lock per object protects its list of regions, held with signals blocked. Counting
 * takes no lock: a thread writes to its own region alone.
 */
#ifndef COUNTS_H
#define COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/instrument_abi.h"

/* The distance that instrumented code reads. Hidden: each object has its own. */
extern __thread int64_t __pathprof_distance __attribute__((tls_model("initial-exec")));

/* The objects of this process. All share the list that the dynamic linker finds first. */
struct counts_object {
	struct counts_object *next;
	void (*attach)(void);
};
extern struct counts_object *__pathprof_objects __attribute__((visibility("default")));
extern int __pathprof_objects_held __attribute__((visibility("default"))); /* its lock */

/* ---------------------------------------------------------------- file.c */

/* Makes the file, and gives the calling thread the first region. */
bool counts_file_make(void);
/* Does the same in the child after fork(), with a file of its own. */
void counts_file_make_anew(void);
/* The head of the file; NULL: there is no file. */
struct pathprof_counts_head *counts_head(void);
/* Appends a zeroed region of at least so many bytes. Needs the lock. NULL: the file cannot grow. */
struct pathprof_counts_region *counts_append(uint32_t kind, uint64_t bytes);
struct pathprof_counts_region *counts_region_at(uint64_t place);
uint64_t counts_place_of(const struct pathprof_counts_region *region);
/* Notes that a path is not counted, because there is no room for it or no file yet. */
void counts_lose(void);
/* Notes that a new thread has no region. */
void counts_crowd(void);
/* Returns a value for counts_unlock(). */
uint64_t counts_lock(void);
void counts_unlock(uint64_t signals);

/* ---------------------------------------------------------------- closed.c */

/* Unmaps the closed files whose names begin so, which earlier loads of this object left mapped. */
void counts_unmap_closed(const char *name, size_t bytes);

/* ---------------------------------------------------------------- threads.c */

/* The tid of a region that is reserved for a thread yet to be created. */
#define COUNTS_PROMISED (-1)

/* Gives thread tid a region that no living thread counts in. NULL: there is none. */
struct pathprof_counts_region *counts_claim(int tid);
/* Makes the calling thread count in region; NULL: in the section. */
void counts_move_to(struct pathprof_counts_region *region);
struct pathprof_counts_region *counts_mine(void);
/* Gives the calling thread a region unless it has one. */
void counts_attach(void);

/* ---------------------------------------------------------------- objects.c */

/* Adds this object to those that new threads are attached to. */
void counts_objects_enter(void);
/* Removes this object from the list, if it is there. No thread is being attached to it then. */
void counts_objects_leave(void);
/* Makes the calling thread count in a region of its own in each object. */
void counts_objects_attach(void);
/* Unlocks the list in a child, where the thread that held the lock does not exist. */
void counts_objects_after_fork(void);

/* ---------------------------------------------------------------- object.c */

/* The section of counters, as linked; absent if nothing was instrumented. */
extern uint64_t __start_pathprof_counters[] __attribute__((visibility("hidden"), weak));
extern uint64_t __stop_pathprof_counters[] __attribute__((visibility("hidden"), weak));

/* The functions that move a unit's pointer (PATHPROF_MOVES_SECTION); libraries have none. */
typedef void counts_move_fn(void);
extern counts_move_fn *const __start_pathprof_moves[] __attribute__((visibility("hidden"), weak));
extern counts_move_fn *const __stop_pathprof_moves[] __attribute__((visibility("hidden"), weak));

static inline uint64_t counts_image_bytes(void)
{
	return (uintptr_t)__stop_pathprof_counters - (uintptr_t)__start_pathprof_counters;
}

/* Whether this ELF object is the program itself, not a library. */
bool counts_is_program(void);
/* Fills in the build-id and the path of this ELF object. */
void counts_name_object(struct pathprof_counts_head *head);

#endif
