/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was counted since the last time it was handed on: edges as they were recorded, with what
 * their addresses mean (import_image.h), and paths. It stands between some ten million branches a
 * second and a profile that wants them one by one with names.
 *
 * Two tables with linear probing, at most half full, of a fixed size: who adds asks for room first,
 * and hands everything on when there is none. An edge is found by process, generation of its
 * mappings, and addresses, so that a hit tells in one look-up where both ends lie.
 *
 * Addresses are chosen by those who were profiled: the seed keeps them from choosing collisions.
 * One thread; the owner's memory.
 */
#ifndef PP_IMPORT_COUNTS_H
#define PP_IMPORT_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#define PP_IMPORT_EDGE_SLOTS (1u << 16)
#define PP_IMPORT_PATH_SLOTS (1u << 16)

struct pp_import_edge {
	uint64_t from, to; /* as recorded */
	uint64_t who;      /* process << 32 | generation */
	uint64_t image_from, image_to;
	uint64_t cnt, mispredicted; /* cnt 0: a free slot */
	uint32_t next;              /* slot of what followed last time: a guess, to be checked */
};

struct pp_import_path {
	uint64_t start; /* image address */
	uint32_t length, outcomes, process;
	uint64_t cnt; /* 0: a free slot */
	double weight;
};

struct pp_import_counts {
	uint64_t seed;
	uint32_t edge_cnt, path_cnt;
	struct pp_import_edge edges[PP_IMPORT_EDGE_SLOTS];
	struct pp_import_path paths[PP_IMPORT_PATH_SLOTS];
};

int pp_import_counts_new(struct pp_import_counts **ret_counts);
/* NULL-safe. */
void pp_import_counts_free(struct pp_import_counts *counts);
void pp_import_counts_clear(struct pp_import_counts *counts);

/* Whether so many more of each will fit. */
static inline bool pp_import_counts_room(const struct pp_import_counts *counts, uint32_t edge_cnt,
					 uint32_t path_cnt)
{
	return counts->edge_cnt + edge_cnt <= PP_IMPORT_EDGE_SLOTS / 2 &&
	       counts->path_cnt + path_cnt <= PP_IMPORT_PATH_SLOTS / 2;
}

static inline uint64_t pp_import_counts_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* Its slot; free when it was not counted yet: the caller fills it, and counts edge_cnt. */
static inline struct pp_import_edge *pp_import_counts_edge(struct pp_import_counts *counts,
							   uint64_t who, uint64_t from, uint64_t to)
{
	uint64_t hash =
		pp_import_counts_mix(pp_import_counts_mix(counts->seed ^ who << 20, from), to);
	uint32_t slot = (uint32_t)hash & (PP_IMPORT_EDGE_SLOTS - 1);

	for (;; slot = (slot + 1) & (PP_IMPORT_EDGE_SLOTS - 1)) {
		struct pp_import_edge *e = &counts->edges[slot];

		if (!e->cnt || (e->from == from && e->to == to && e->who == who))
			return e;
	}
}

/* The same, where the edge before it is known: mostly the same one follows. */
static inline struct pp_import_edge *pp_import_counts_follow(struct pp_import_counts *counts,
							     struct pp_import_edge *before,
							     uint64_t who, uint64_t from,
							     uint64_t to)
{
	struct pp_import_edge *e = &counts->edges[before->next & (PP_IMPORT_EDGE_SLOTS - 1)];

	if (e->cnt && e->from == from && e->to == to && e->who == who)
		return e;
	e = pp_import_counts_edge(counts, who, from, to);
	before->next = (uint32_t)(e - counts->edges);
	return e;
}

/* There is room. */
static inline void pp_import_counts_add_path(struct pp_import_counts *counts,
					     const struct pp_import_path *add)
{
	uint64_t hash =
		pp_import_counts_mix(pp_import_counts_mix(counts->seed ^ add->process, add->start),
				     (uint64_t)add->length << 32 | add->outcomes);
	uint32_t slot = (uint32_t)hash & (PP_IMPORT_PATH_SLOTS - 1);
	struct pp_import_path *p = &counts->paths[slot];

	while (p->cnt && (p->start != add->start || p->outcomes != add->outcomes ||
			  p->length != add->length || p->process != add->process)) {
		slot = (slot + 1) & (PP_IMPORT_PATH_SLOTS - 1);
		p = &counts->paths[slot];
	}
	if (!p->cnt) {
		*p = *add;
		counts->path_cnt++;
		return;
	}
	p->cnt += add->cnt;
	p->weight += add->weight;
}

#endif
