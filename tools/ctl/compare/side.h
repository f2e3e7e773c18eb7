/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One side of a comparison: a distribution, and a description of each of its events, so that a
 * figure leads back to a function and a line.
 *
 *     side_init, side_add_..., side_finish, then side_find and side->distribution
 *
 * Workload: two sides, or a window each of an hour, of some thousand to some hundred thousand
 * events; sorted once. A side owns all it refers to, its store and symbols too. One thread.
 */
#ifndef CTL_SIDE_H
#define CTL_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../code/layout.h"
#include "../code/symbols.h"
#include "../ctl.h"
#include "../view/measure.h"
#include "pathprof/distribution.h"

enum side_kind {
	SIDE_PATHS,
	SIDE_EDGES,
	SIDE_CALLS,    /* the edges that are calls */
	SIDE_BRANCHES, /* conditional branches of the paths, by direction */
	SIDE_TIMES,    /* clock samples, by the function's name */
};
/* "paths", ...: what one of them is called, in the plural. */
const char *side_kind_name(enum side_kind kind);

#define SIDE_NO_BINARY UINT32_MAX

struct side_binary {
	struct pathprof_build_id id;
	char *name; /* "": a text profile does not say */
	uint64_t group;
	const struct layout *layout; /* of the file that ran, if `name` is another: layout.h */
};

struct side_item {
	uint64_t key_hi, key_lo;
	double weight;                  /* finished: in samples of equal weight */
	double squares;                 /* as of struct pathprof_event */
	double samples, sample_squares; /* the same, if each sample counts once */
	uint32_t binary, to_binary;     /* of the side's; SIDE_NO_BINARY: text alone, or no edge */
	uint64_t from, to;              /* file offsets; of a path its start, of a branch its end */
	uint32_t length, outcomes;      /* of a branch the direction */
	int64_t path_id;                /* 0: none */
	bool portable;                  /* key_hi is the function's: see match.h */
	char *text;                     /* of a key that is only text, or a function's name */
	char *function_name;            /* kept by the store, of a build that is gone; or NULL */
};

struct side {
	const char *word; /* as the user called it */
	enum side_kind kind;
	struct pathprof_store *store; /* NULL: text */
	char *db;                     /* its file, if ids of paths mean something there */
	struct symbols *symbols;
	struct side_binary *binaries;
	uint32_t binary_cnt;
	struct side_item *items; /* finished: by key, without duplicates */
	size_t item_cnt, item_room;
	struct pathprof_event *events;
	struct pathprof_distribution distribution;
	double unreadable; /* samples of paths whose code is not to be had, of branches and calls */
	double per_burst;  /* samples that came out of one burst; 1 for text */
	bool weighed;      /* samples count by the CPU time that their burst stands for */
	double worth;      /* of a sample: pathprof_worth_of_sample() */
	double samples;    /* sum of the items' */
	bool finished;
	struct measure measure;        /* measure of its windows; kind PATHPROF_KIND_ANY: text */
	struct pathprof_filter filter; /* that selected it from the store */
	char *words;                   /* the filter's strings */
	double dispersion;             /* as seen between its windows, see drift.h; 0: not known */
};

void side_init(struct side *side, const char *word, enum side_kind kind);
void side_release(struct side *side);

/*
 * Index of the binary, added when new. name may be NULL. Of several files of one build-id with
 * their code in different places all have the name of the first, and places are those in it.
 */
uint32_t side_binary(struct side *side, const struct pathprof_build_id *id, const char *name);
/* Each adds an event. Keys are as in pathprof/events.h. */
void side_add_path(struct side *side, uint32_t binary, const struct pathprof_path_row *row,
		   double weight);
void side_add_edge(struct side *side, uint32_t from_binary, uint32_t to_binary,
		   const struct pathprof_edge_row *row, double weight);
/* Adds a branch of a path: it has the path's weight and samples. */
void side_add_branch(struct side *side, uint32_t binary, uint64_t end, bool taken,
		     const struct side_item *path);
/* Clock samples at a place. binary SIDE_NO_BINARY: outside of files. They become those of a
 * function when the side is refined (side_load.h). */
void side_add_clock(struct side *side, uint32_t binary, uint64_t place, double weight);
void side_add_text(struct side *side, const char *text, size_t len, double weight);

/*
 * Sorts and sums up; weights are in samples from then on. Again, when items went or got other
 * keys. 0; -ERANGE: a sum above what a weight may be; -EDOM.
 */
int side_finish(struct side *side);
/*
 * Events of two kinds of windows mean different things: CTL_OK when both are of one kind or a text
 * does not say, else CTL_FAILURE, said.
 */
int side_check_kinds(const struct side *a, const struct side *b);
/* NULL: no such event. */
const struct side_item *side_find(const struct side *side, uint64_t key_hi, uint64_t key_lo);

/* The function an item lies in; NULL: text alone, or no code to be had. Belongs to the side. */
const struct symbol *side_function(const struct side *side, const struct side_item *item);
/* Prepares for side_function() of all items: together they are faster. */
void side_functions_ahead(const struct side *side);
/* A key that names the function: the same on both sides; 0 of text alone, and one
 * for all of a binary without code. */
uint64_t side_function_key(const struct side *side, const struct side_item *item);
/* A description of the item in a line, for people. The caller frees. */
char *side_label(const struct side *side, const struct side_item *item);
/* "file.c:123" where the item begins; NULL: not known. The caller frees. */
char *side_line(const struct side *side, const struct side_item *item);

#endif
