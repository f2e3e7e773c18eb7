/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The comparison behind untested.h, private to its files: the tested set (untested_set.c), the code
 * that it ran through (untested_code.c), the pieces of paths (untested_pieces.c), segments
 * (untested_segments.c), and the comparison itself (untested.c). All return -errno where memory
 * ends.
 */
#ifndef CTL_UNTESTED_WORK_H
#define CTL_UNTESTED_WORK_H

#include "base/table.h"
#include "untested.h"

#define UNTESTED_BLOCKS_MAX 64

struct untested_segment_key {
	struct tested_key first, second;
};

/* One unit of the selection. */
struct untested_item {
	struct tested_key key;
	double weight, weight_squares, looks;
	uint64_t samples;
	int64_t path_id;
	bool is_untested;
};

struct untested_way {
	struct pathprof_block blocks[UNTESTED_BLOCKS_MAX];
	uint32_t cnt;
};

/* The code of one binary that tested paths and pieces ran. */
struct untested_coverage {
	bool is_read;
	struct pp_map ends;   /* end of a block -> the most bytes of it that ran */
	struct pp_map edges;  /* end of a block << 1 | taken */
	struct pp_map starts; /* of blocks */
};

/* The graph of one binary, read when it is asked for. */
struct untested_reading {
	bool is_read;
	struct untested_names names;
	uint8_t *same; /* of another build, by function: 1 the tested one has it, 2 has not, 0
			  unknown */
};

struct untested_work {
	struct untested *u;
	const struct tested *tested;
	struct symbols *symbols;
	struct pp_keyed ids;       /* struct pathprof_build_id */
	struct pp_keyed paths;     /* struct tested_key: the tested paths */
	struct pp_keyed pieces;    /* the same: the tested pieces; none where paths are compared */
	struct pp_keyed set;       /* the tested units: struct tested_key or segment_key */
	struct tested_key *sorted; /* the set's keys, by binary and start */
	struct untested_segment_key *segments; /* the set where it is of segments, by first piece */
	struct pp_keyed crossings;          /* calls and returns of these, once they are needed */
	struct untested_coverage *coverage; /* by binary */
	struct untested_reading *readings;  /* by binary */
	uint32_t reading_cnt;
	struct pp_keyed units;      /* a key as the set's, and behind it struct untested_item */
	struct pp_keyed departures; /* struct untested_departure */
	int error;                  /* error of a callback that cannot return it */
};

/* ---------------------------------------------------------------- the tested set */

int untested_set_load(struct untested_work *w, struct pathprof_error *error);
/* Called when the set is whole: sorts it, and counts it by binary. */
void untested_set_finish(struct untested_work *w);
int untested_set_add_binary(struct untested_work *w, const struct pathprof_build_id *id,
			    const char *name, uint32_t *ret_index);
/* -ENOENT: the tested set has nothing of that binary, or the binary is not compared. */
int untested_set_find_binary(const struct untested_work *w, const struct pathprof_build_id *id,
			     const char *name, uint32_t *ret_index);
/* key: struct tested_key, of a segment struct untested_segment_key. */
bool untested_set_has(const struct untested_work *w, const void *key);
/* A whole path, whatever the unit is. */
bool untested_set_has_path(const struct untested_work *w, const struct tested_key *key);
/* Unit i of the set; of a segment its first piece. */
const struct tested_key *untested_set_key(const struct untested_work *w, uint32_t i);
/* The most branches that the path has in common with a tested one; -1: none begins there. */
int32_t untested_set_common(const struct untested_work *w, const struct tested_key *key);

/* The number of branches that two units which begin at one place have in common. */
uint32_t untested_common(const struct tested_key *a, const struct tested_key *b);

/* ---------------------------------------------------------------- code */

/* NULL: not available. */
struct pathprof_code *untested_code_of(const struct untested_work *w, uint32_t binary);
/* Returns false if the code is not available, or does not have that path. */
bool untested_code_walk(const struct untested_work *w, const struct tested_key *key,
			struct untested_way *ret_way);
/* The same for a piece, which a call may end. */
bool untested_code_walk_piece(const struct untested_work *w, const struct tested_key *key,
			      struct untested_way *ret_way);
/* Reads the code that tested paths and pieces of the binary ran through, once. The four below need
 * it. */
int untested_code_cover(struct untested_work *w, uint32_t binary);
/* The place from which on they ran to the block's end; its end: they ran nothing of it. */
uint64_t untested_code_ran_from(const struct untested_coverage *c,
				const struct pathprof_block *block);
bool untested_code_is_new_block(const struct untested_coverage *c,
				const struct pathprof_block *block);
bool untested_code_is_new_edge(const struct untested_coverage *c,
			       const struct pathprof_block *block);
/* Whether a block that they ran begins there. */
bool untested_code_begins_at(const struct untested_coverage *c, uint64_t start);

/* ---------------------------------------------------------------- other builds */

/* Adds to the set the units that other builds of the selection have as well. */
int untested_builds_match(struct untested_work *w, struct pathprof_store *store,
			  const struct pathprof_filter *filter, struct pathprof_error *error);
/* Whether it runs in functions that a tested build has in the same shape. True for tested
 * builds. */
bool untested_builds_same(struct untested_work *w, const struct tested_key *key);
/* The same, and adds its weight to that compared, or to that not compared. */
bool untested_builds_weigh(struct untested_work *w, const struct tested_key *key, double weight);
void untested_builds_release(struct untested_work *w);

/* ---------------------------------------------------------------- units of the selection */

/* The least number of bursts in which samples were seen. squares 0: not known. */
double untested_looks(uint64_t samples, double squares);
/* Adds a unit of the selection, which may have been added before. */
int untested_add(struct untested_work *w, const void *key, const struct untested_item *part,
		 struct untested_item **ret_unit);
/* Marks the unit as being in no tested run. Returns false if too few bursts saw it to be
 * believed. */
bool untested_believe(struct untested_work *w, struct untested_item *unit,
		      const struct untested_item *part);
/* Marks the unit and, if it is believed, finds where part departs. way NULL: its code is not
 * available. */
int untested_settle(struct untested_work *w, struct untested_item *unit,
		    const struct untested_item *part, const struct untested_way *way);
/* Adds part to the departure with that key. */
int untested_depart(struct untested_work *w, const struct untested_item *part,
		    const struct untested_departure *key);
/*
 * The departure of a unit that begins with that key and block when nothing tested begins there.
 * Blocks that no test ran belong to one finding for the whole function where no test ran its
 * beginning either.
 */
uint64_t untested_entry_of(const struct untested_work *w, const struct tested_key *key,
			   const struct pathprof_block *first);
/* Adds the pieces of a path that runs way, and settles those that are untested. */
int untested_pieces_cut(struct untested_work *w, const struct untested_item *path,
			const struct untested_way *way);
/* Settles a piece that no test ran. */
int untested_pieces_settle(struct untested_work *w, struct untested_item *unit,
			   const struct untested_item *part);
/* Compares the segments of the selection. -ENODATA: none of its windows knows any. */
int untested_segments_load(struct untested_work *w, struct pathprof_store *store,
			   const struct pathprof_filter *filter, struct pathprof_error *error);

#endif
