/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of vmsegments: the records that come (take.c), the same made again by a twin of the
 * module's tables (make.c), the profiles that both add up to (profile.c), sessions (session.c), and
 * the comparisons (vmsegments.c).
 *
 * Workload: some thousand windows. One thread, one struct check.
 */
#ifndef VM_VMSEGMENTS_H
#define VM_VMSEGMENTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "../../../../libprofile/core/pp_segment.h"
#include "../twin.h"

#define SLOT_MAX     2048
#define CYCLES_SHIFT 5

/* ------------------------------------------------------------------ profile */

/* A segment by its name; how often it ran, and how often the PATH records say it did. */
struct key {
	uint64_t start, desc;
	double truth, told;
};

struct keys {
	struct key *key; /* by hash, memory for the whole run */
	uint32_t cnt;
};

/* The one of that name, made when there is none; ends the program when there are too many. */
struct key *key_of(struct keys *keys, uint64_t start, uint64_t desc);
/* true: it is new. */
bool keys_add(struct keys *keys, uint64_t start, uint64_t desc);
void keys_clear(struct keys *keys);

/* The sums of a profile: by the windows, by the records, and the overlap of the two. */
struct totals {
	double truth, told, overlap;
};
struct totals keys_totals(const struct keys *profile);

/* --------------------------------------------------------------------- make */

struct twin {
	struct pp_chain chain;
	struct pp_random random;
	struct pathprof_lbr_entry slot[SLOT_MAX][PP_SEGMENT_LENGTH_MAX];
	struct keys defined, seen_defined;
	struct side made, seen;
};

struct check {
	struct reader *reader;
	struct pathprof_kmod_start start;
	struct pp_chain_config config;
	struct twin *twins;  /* TWIN_CPU_MAX, by CPU */
	struct kept kept;    /* every LBR, and a CONTEXT for each DRAIN */
	struct keys profile; /* in the replay */
	uint64_t segments;   /* in the replay */
	uint64_t windows, cuts, contexts, path_sum;
	struct pathprof_collector_stats before;
	uint64_t bytes[PATHPROF_RECORD_CNT], records[PATHPROF_RECORD_CNT];
};

/* Paths are counted in units of two to the power of this. */
uint32_t count_shift(const struct check *check);
/* Any word for the addresses and kinds of some branches. */
uint64_t digest(const struct pathprof_lbr_entry *entries, uint32_t cnt);
/* The twins from the beginning, over all that was kept; how many lines differ. */
uint64_t replay(struct check *check, int verbose);
/* Changes every branch of the first windows kept; a sampler may leave any one out. */
void falsify(struct check *check);

/* --------------------------------------------------------------------- take */

/* A reader_record_fn; context is the struct check. */
void take(void *context, const struct pathprof_record *record);
/* Notes a DRAIN: windows kept from here on come behind it. */
void keep_drain(struct check *check);

/* ------------------------------------------------------------------ session */

/* Sets the session's parameters by a name (listed in vmsegments.c). -EINVAL: no such name. */
int specify(struct pathprof_kmod_start *start, const char *spec);
/* Gives the test PMU at most so many windows of the file, which it delivers again and again. */
int give(const char *path, uint64_t windows);

/*
 * A program of nothing but user code, for the samples to interrupt; -1. One that rests stops itself
 * again and again, before the windows that strike it could fill a ring: continue it by SIGCONT.
 */
pid_t start_child(bool rests);
void end_child(pid_t pid);

/*
 * Collects until the child was sampled so many times, by the module's count. In a session that
 * hands over raw windows the child must be one that rests: its stops are awaited, and all records
 * taken. 0, -errno.
 */
int collect_upto(struct check *check, pid_t pid, uint64_t windows);
/* A session of so many windows and some, with one DRAIN in the middle. 0, -errno. */
int collect(struct check *check, uint64_t windows);

#endif
