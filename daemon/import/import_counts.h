/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was counted since the last time it was handed on: edges as they were recorded, with what
 * their addresses mean (import_image.h), and paths. It stands between some ten million branches a
 * second and a profile that wants them one by one with names.
 *
 * Tables with linear probing, at most half full, of a fixed size: who adds asks for room first, and
 * hands everything on when there is none. An edge is found by process, generation of its mappings,
 * and addresses, so that a hit tells in one look-up where both ends lie. Paths are counted by the
 * number that a walker gave them (pathprof/walk.h); those few that have none, by what they are.
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
	uint32_t branch;            /* its number; 0: it has none */
};

struct pp_import_walked {
	uint64_t who; /* process << 32 | number of the path; 0: a free slot */
	uint64_t cnt;
	double weight;
};

struct pp_import_path {
	uint64_t start; /* image address */
	uint32_t length, outcomes, process;
	uint64_t cnt; /* 0: a free slot */
	double weight;
};

struct pp_import_counts {
	uint64_t seed;
	uint32_t edge_cnt, path_cnt, walked_cnt;
	struct pp_import_edge edges[PP_IMPORT_EDGE_SLOTS];
	struct pp_import_walked walked[PP_IMPORT_PATH_SLOTS];
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
	       counts->walked_cnt + path_cnt <= PP_IMPORT_PATH_SLOTS / 2 &&
	       counts->path_cnt + path_cnt <= PP_IMPORT_PATH_SLOTS / 2;
}

static inline uint64_t pp_import_counts_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* What all edges of one process are found with. */
static inline uint64_t pp_import_counts_salt(const struct pp_import_counts *counts, uint64_t who)
{
	return pp_import_counts_mix(counts->seed, who);
}

/* Its slot; free when it was not counted yet: the caller fills it, and counts edge_cnt. */
static inline struct pp_import_edge *pp_import_counts_edge(struct pp_import_counts *counts,
							   uint64_t salt, uint64_t who,
							   uint64_t from, uint64_t to)
{
	uint64_t hash =
		((from ^ salt) * UINT64_C(0xbf58476d1ce4e5b9) ^ to) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t slot = (uint32_t)(hash >> 48) & (PP_IMPORT_EDGE_SLOTS - 1);

	for (;; slot = (slot + 1) & (PP_IMPORT_EDGE_SLOTS - 1)) {
		struct pp_import_edge *e = &counts->edges[slot];

		if ((e->from == from && e->to == to && e->who == who && e->cnt) || !e->cnt)
			return e;
	}
}

/* There is room. */
static inline void pp_import_counts_add_walked(struct pp_import_counts *counts, uint64_t who,
					       uint64_t cnt, double weight)
{
	uint64_t hash = (who ^ counts->seed) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t slot = (uint32_t)(hash >> 48) & (PP_IMPORT_PATH_SLOTS - 1);
	struct pp_import_walked *w = &counts->walked[slot];

	while (w->who != who && w->who) {
		slot = (slot + 1) & (PP_IMPORT_PATH_SLOTS - 1);
		w = &counts->walked[slot];
	}
	counts->walked_cnt += !w->who;
	w->who = who;
	w->cnt += cnt;
	w->weight += weight;
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
