/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths, pieces of them or segments that a selection ran and a tested set (tested.h) lacks, grouped
 * by where they leave the tested ones.
 *
 * A path is compared by build-id, start, length and outcomes; of a build that no test ran, by what
 * tests ran of another build of the same name (untested_builds.c). The tested paths of the same
 * start form a trie of outcomes: a path that is not in the set departs at the branch at which it
 * leaves the trie. The code shows what kind of thing is new:
 *
 *     new code      a block that no tested path ran through
 *     new edge      a branch that no tested path took that way
 *     new entry     no tested path began where it begins
 *     combination   every branch was tested, never together
 *
 * A segment is two pieces: it goes through the branches of the first, the call or return that ended
 * that, which counts as a branch of many ways, and the branches of the second.
 *
 * Workload: up to some million tested paths, some ten thousand of the selection; the code of tested
 * paths is walked through once a binary, when something in it is untested. One thread.
 */
#ifndef CTL_UNTESTED_H
#define CTL_UNTESTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../code/symbols.h"
#include "pathprof/graph.h"
#include "pathprof/match.h"
#include "pathprof/unseen.h"
#include "tested.h"

enum untested_unit {
	UNTESTED_PATH,
	UNTESTED_PIECE,
	UNTESTED_SEGMENT,
};
/* "path", ...; an index out of range: NULL. */
const char *untested_unit_name(enum untested_unit unit);

enum untested_kind {
	UNTESTED_NEW_CODE,
	UNTESTED_NEW_EDGE,
	UNTESTED_NEW_ENTRY,
	UNTESTED_COMBINATION,
	UNTESTED_UNREAD, /* its code is not available */
};
/* For people and JSON: "new code", ... */
const char *untested_kind_name(enum untested_kind kind);

enum untested_direction {
	UNTESTED_NOT_TAKEN,
	UNTESTED_TAKEN,
	UNTESTED_ENTRY,  /* where it begins */
	UNTESTED_CALL,   /* a call that led elsewhere in tests */
	UNTESTED_RETURN, /* a return to a place to which tests did not return from there */
};
const char *untested_direction_name(enum untested_direction direction);

/* A place and direction in which untested paths leave the tested ones. */
struct untested_departure {
	uint32_t binary;    /* index */
	uint32_t direction; /* enum untested_direction */
	uint64_t place;     /* file offset in the branch, of the beginning, or in the call that was
			       made or is returned from */
	uint32_t kind;      /* enum untested_kind */
	uint32_t reserved;
	/* the following members are not part of the key */
	double weight, heaviest;
	uint64_t samples, path_cnt;
	int64_t path_id; /* of the heaviest; 0: it has none */
};

struct untested_settings {
	enum untested_unit unit;
	uint32_t min_bursts; /* the fewest that must have seen a path; 0, 1: any */
	bool all_binaries;   /* also libc and others that choose variants by the processor */
	uint64_t bursts;     /* of the selection; 0: it was counted, not sampled */
	const struct ctl_options *options; /* where graphs are kept */
};

struct untested_binary {
	struct pathprof_build_id id;
	char *name;
	uint64_t tested_cnt; /* its units in the tested set */
	bool has_run; /* the selection has something of it that is compared; of a segment the first
			 piece */
	/*
	 * A build that no test ran, of a program of which tests ran another: its units of the set
	 * are those of that build, in functions that both have in the same shape
	 * (pathprof/match.h).
	 */
	bool is_other;
	bool is_matched;            /* tests ran this build, and another is compared with it */
	double compared, unmatched; /* of another build: weight of paths, and of those in other
				       functions */
};

struct untested {
	struct untested_settings settings;
	struct untested_binary *binaries; /* of the tested set, and other builds of these */
	uint32_t binary_cnt;
	uint64_t tested_cnt, seen_cnt, untested_cnt;
	double compared, left_out; /* weight of paths of these binaries, and of all others */
	double unmatched; /* weight of other builds' paths in functions that the tested ones do not
			     have in the same shape */
	struct pathprof_error
		why;     /* of a build whose code is not to be had, and was needed; or "" */
	double unread;   /* of these, weight of paths that could not be cut into pieces */
	double doubtful; /* weight of untested paths seen by too few bursts */
	/* Windows without segments are not compared. */
	struct {
		uint64_t known, unknown; /* windows */
		int64_t first, last;     /* ids of windows without segments */
		uint64_t lost;           /* segments of the other windows that found no room */
	} windows;
	struct pathprof_unseen unseen;
	struct untested_departure *departures; /* heaviest first */
	uint32_t departure_cnt;
	struct untested_work *work; /* private */
};

/*
 * Compares what filter selects in store. -ENODATA: nothing of it can be compared, -errno; error
 * filled. symbols outlive the call.
 */
int untested_work_out(struct untested **ret_untested, const struct tested *tested,
		      struct pathprof_store *store, const struct pathprof_filter *filter,
		      struct symbols *symbols, const struct untested_settings *settings,
		      struct pathprof_error *error);
/* A block of a path of the selection. */
struct untested_ran {
	uint32_t binary; /* index */
	struct pathprof_block block;
	bool is_conditional;  /* a conditional branch ends it */
	uint64_t tested_from; /* tested paths ran it from here on; its end: none of it */
	bool is_tested_way;   /* and tested paths left it this way */
};
typedef int untested_ran_fn(void *context, const struct untested_ran *ran);
/*
 * Calls fn for each block of each path of the selection with available code. The unit is
 * UNTESTED_PATH. Returns -errno, or the result of fn that is not 0.
 */
int untested_each_block(const struct untested *untested, untested_ran_fn *fn, void *context);

/*
 * A unit of the tested set, of the binaries that are compared, and whether the selection ran it; of
 * a segment its first piece.
 */
typedef int untested_tested_fn(void *context, const struct tested_key *key, bool has_run);
int untested_each_tested(const struct untested *untested, untested_tested_fn *fn, void *context);

/* The names of a binary's functions that hold in every build. NULL: its code is not available, or
 * has no graph. */
struct untested_names {
	struct pathprof_graph *graph;
	struct pathprof_matcher *matcher;
};
const struct untested_names *untested_names(const struct untested *untested, uint32_t binary);

/* NULL-safe. */
void untested_free(struct untested *untested);

#endif
