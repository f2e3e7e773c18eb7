/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function's control flow as it is shown: its blocks and edges with what the profile counted on
 * them, the hottest path, blocks joined and left out for the picture.
 *
 * Weights: a path of the profile that runs through a block adds its weight there and to each edge
 * it takes, so the weights are in one measure and a block's is that of the edges out of it. A path
 * does not say which target an indirect jump led to: the jump's weight is divided among its targets
 * in proportion to the profile's taken edges. Counts of taken edges are kept beside the weights
 * (taken): they include paths that were not seen whole, and are what `edges` lists. A function of
 * which no path was seen whole has them as its only measure (by_taken).
 *
 * A function that counted its own paths (target->counted) has the compiler's blocks instead of
 * those of machine code: they have lines, and no places; no branch and no clock adds to the counts
 * of its paths.
 *
 * Workload: one function, rarely above 10^4 blocks; every path of its binary that the selection
 * has, 10^5, each a walk of some 30 blocks over the graph. One thread; everything is cfg's own.
 */
#ifndef CTL_CFG_H
#define CTL_CFG_H

#include <stdio.h>

#include "../code/source_text.h"
#include "../view/measure.h"
#include "target.h"

/* An edge out of a compiler's block, which does not distinguish taken from not taken. */
#define CFG_WAY PATHPROF_EDGE_KIND_CNT

struct cfg_edge {
	uint32_t from, to; /* blocks here; to: PATHPROF_GRAPH_NONE leaves the function */
	uint32_t leads_to; /* block of the graph; PATHPROF_GRAPH_NONE: no code of this file */
	uint32_t kind;     /* enum pathprof_edge_kind, never CALL; CFG_WAY */
	double weight;
	uint64_t taken, mispredicted; /* as the profile's edges count */
	bool hot;                     /* on the hottest path */
	bool is_untested;             /* it ran, but in no tested run */
};

/* One node of the flow, by the same number. */
struct cfg_block {
	uint32_t first_edge; /* up to that of the next block */
	double weight;
	uint64_t samples;          /* times that whole paths ran through it */
	uint64_t clock;            /* clock samples in it */
	uint64_t called, returned; /* taken edges from its end */
	uint64_t entered;          /* and taken edges to it, from outside its function */
	bool hot;
	bool is_untested; /* it ran, but in no tested run */
	uint32_t next;    /* the block joined behind it; PATHPROF_GRAPH_NONE */
	bool joined;      /* it is joined behind another */
	bool shown;
};

struct cfg {
	const struct target *target;
	struct cfg_block *blocks; /* and one more for first_edge */
	struct cfg_edge *edges;
	uint32_t block_cnt, edge_cnt;

	double weight;            /* of all paths that run through the function */
	uint64_t samples;         /* the same, times seen */
	uint64_t path_cnt;        /* how many different ones */
	double top_weight;        /* the heaviest block's */
	uint64_t clock;           /* clock samples in the function */
	bool by_time;             /* shares of blocks are of clock samples */
	double top_share;         /* the greatest of cfg_group_share */
	uint64_t taken;           /* branches seen within or out of it, calls and returns not */
	uint64_t unlisted;        /* the same that are no edges of the graph */
	bool by_taken;            /* weights are counts of taken branches */
	bool has_tested;          /* is_untested of blocks and edges is known */
	uint64_t tested_path_cnt; /* how many different ones tests ran */
	struct pathprof_path_row hottest; /* id 0: none; its strings are void */

	struct measure measure; /* what the counts were taken from */

	uint32_t group_cnt;  /* blocks, joined ones as one */
	uint32_t hidden_cnt; /* of these not shown */
};

/* Makes the target's blocks and edges, with nothing counted. target outlives it. */
struct cfg *cfg_new(const struct target *target);
/* NULL-safe. */
void cfg_free(struct cfg *cfg);
/* Adds what the filter selects, which must be of one kind. -errno, error filled. */
int cfg_count(struct cfg *cfg, struct pathprof_store *store, const struct pathprof_filter *filter,
	      enum pathprof_window_kind kind, struct pathprof_error *error);
/*
 * Marks the parts of cfg that ran and that tests did not run: tested has the counts of a tested
 * set, of the same target. Only where paths of cfg were seen whole (not by_taken). An edge of an
 * indirect jump counts as tested when its target block is.
 */
void cfg_mark_untested(struct cfg *cfg, const struct cfg *tested);
/* Whether a block of the group that begins with block is untested. */
bool cfg_group_untested(const struct cfg *cfg, uint32_t block);
/* Takes shares of blocks from clock samples, where there are any. Before cfg_arrange. */
void cfg_show_time(struct cfg *cfg);
/*
 * The figure of the weights: "RUNS" or "SHARE"; "BRANCHES" where they are counts of taken branches.
 * A block's share is of "TIME" when by_time.
 */
const char *cfg_figure(const struct cfg *cfg);

#define CFG_SHOWN_MAX 200 /* groups: a function of no more is shown whole */
/*
 * Joins blocks that always run one after the other, unless each_block. Hides, in a function of more
 * than CFG_SHOWN_MAX groups, those that neither ran nor are beside one that did, unless all.
 */
void cfg_arrange(struct cfg *cfg, bool each_block, bool all);

/* The group that begins with block: its last block, greatest weight, sum of clock samples. */
uint32_t cfg_last_of(const struct cfg *cfg, uint32_t block);
double cfg_group_weight(const struct cfg *cfg, uint32_t block);
uint64_t cfg_group_clock(const struct cfg *cfg, uint32_t block);
/* The group's share of the function's weight, or of its clock samples when by_time; 0..1. */
double cfg_group_share(const struct cfg *cfg, uint32_t block);
bool cfg_group_hot(const struct cfg *cfg, uint32_t block);
/* The edge's share of all edges out of its block; 0 if nothing ran. */
double cfg_edge_share(const struct cfg *cfg, uint32_t edge);
const struct pathprof_graph_block *cfg_code_of(const struct cfg *cfg, uint32_t block);
/* "+0x1c", within the function's first part; else "0xOFFSET"; "block 7" if counted. Caller frees.
 */
char *cfg_place(const struct cfg *cfg, uint32_t block);
/* "taken", "not taken", "switch", ... of an edge's kind. */
const char *cfg_kind_name(uint32_t kind);
/* The target of an edge out of the function. Caller frees. */
char *cfg_outside(const struct cfg *cfg, const struct cfg_edge *edge);

/* The text of a block. Strings belong to cfg_words; cfg_words_release. */
#define CFG_LINES_MAX 4
#define CFG_CALLS_MAX 4
struct cfg_words {
	char *place;
	const char *file; /* borrowed; NULL: no line known */
	int low, high;    /* lines of that file */
	int line_cnt, call_cnt;
	int lines[CFG_LINES_MAX];
	char *texts[CFG_LINES_MAX]; /* of these lines; lines without source are not kept */
	char *calls[CFG_CALLS_MAX];
	uint32_t more_calls; /* beyond those */
};
void cfg_words_of(struct cfg_words *ret_words, const struct cfg *cfg, uint32_t block,
		  struct source_text *source);
void cfg_words_release(struct cfg_words *words);

/* cfg_counted.c: the differences for a target that counted its own paths. */
void cfg_counted_add_edges(struct cfg *cfg, uint32_t block);
/* Whether the path is one of the function's: its weight is then added, or it is marked as hot. */
bool cfg_counted_walk(struct cfg *cfg, const struct pathprof_path_row *row, bool mark);

void cfg_print_text(FILE *out, const struct cfg *cfg);
void cfg_print_json(FILE *out, const struct cfg *cfg);
void cfg_print_dot(FILE *out, const struct cfg *cfg);

#endif
