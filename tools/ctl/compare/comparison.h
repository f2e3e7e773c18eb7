/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two sides compared: the figures, and the events behind them. `a` is the assumed profile (a
 * baseline, a deployed profile), `b` that of what ran: D is D(b || a).
 *
 * `moved` has the terms of D, one for each event; none is below 0 and their sum is D
 * (pathprof/drift.h). A function's is the sum of its events'. Ownership: borrows the sides. One
 * thread.
 */
#ifndef CTL_COMPARISON_H
#define CTL_COMPARISON_H

#include <jansson.h>
#include <stdio.h>

#include "../view/shares.h"
#include "pathprof/compare.h"
#include "pathprof/drift.h"
#include "side.h"
#include "side_load.h"

/* The change of a path, edge or branch, or of a whole function. */
struct moved {
	const struct side *side;      /* the side that has the item; b if both do */
	const struct side_item *item; /* of a function: the item with the most bits */
	double a_share, b_share;
	double moved_bits;
	uint64_t function; /* key */
	size_t event_cnt;
};

struct comparison {
	const struct side *a, *b;
	struct side_match match;
	struct pathprof_relative_entropy kl;
	bool nearly;  /* exact but for counts that are missing, as threads shared counters */
	bool exact;   /* both are exact counts: drift is D itself, and no chance in it */
	bool counted; /* else both are counts of samples, so drift says how sure D is */
	struct pathprof_drift drift;
	double a_entropy_bits, b_entropy_bits;
	double overlap, similarity, angle_degrees;
	struct pathprof_coverage coverage; /* of b's events by a */
	bool has_branches;
	struct pathprof_branch_comparison branches;
	struct shares_pathless a_pathless, b_pathless; /* NAN: not known */
	struct moved *events, *functions;              /* greatest first */
	size_t event_cnt, function_cnt;
};

/* Matches builds as well, which changes the sides. CTL_OK or an exit status, said. */
int comparison_init(struct comparison *ret_comparison, struct side *a, struct side *b,
		    const struct ctl_options *options);
void comparison_release(struct comparison *comparison);

/* "NAME"; "BINARY (no code)" or "(no code)" where it is not known. The caller frees. */
char *moved_function_name(const struct moved *moved);
/* The file name of the binary; "": none. */
const char *moved_binary_name(const struct moved *moved);

/* One line: of the functions whose share moved by a hundredth or more, the three that moved most;
 * "" if there is none. The caller frees. */
char *comparison_brief(const struct comparison *comparison);
/* The three functions that moved most, by however little, with their shares under these keys. */
json_t *comparison_brief_json(const struct comparison *comparison, const char *a_key,
			      const char *b_key);

void comparison_print(const struct comparison *comparison, uint32_t limit, FILE *out);
void comparison_print_json(const struct comparison *comparison, uint32_t limit, FILE *out);
/* CTL_OK, or what is wrong with file, said. */
int comparison_draw(const struct comparison *comparison, const char *file);

#endif
