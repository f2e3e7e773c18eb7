/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The tagged compressor (RPS 4, figure 6): a set-associative table of counters with partial tags.
 * An entry holds no tuple, only a tag, so it can report only when its tuple comes by again: an
 * entry that must go waits in the state EVICT for that. Hits and misses together are the length of
 * the entry's stream, of which a report at `rate` from EVICT drops the misses (E2); an empty entry
 * keeps in `hits` what the next tuple inherits (E6).
 *
 * An access is one transition. Names E1 to E6a are those of the figure. Any context; the caller
 * owns the table.
 */
#ifndef PP_TAGGED_H
#define PP_TAGGED_H

#include "pp_types.h"

#define PP_TAGGED_WAYS_MAX 8

enum pp_tagged_state {
	PP_TAGGED_EMPTY = 0,
	PP_TAGGED_VALID = 1,
	PP_TAGGED_EVICT = 2,
};

struct pp_tagged_entry {
	__u32 hits; /* EMPTY: the retained count */
	__u16 misses;
	__u8 tag;
	__u8 state;
};

struct pp_tagged_config {
	__u32 rate;    /* r: report at so many hits */
	__u32 ways;    /* 1..PP_TAGGED_WAYS_MAX */
	__u32 evict;   /* ShouldEvict: hits that suffice to report from EVICT */
	__u32 replace; /* ShouldReplace: misses that hand the entry over, 1..65535 */
};

struct pp_tagged {
	__u32 scratch, pad;                                              /* for PP_LAUNDER */
	struct pp_tagged_entry entry[PP_SPLIT_MAX + PP_TAGGED_WAYS_MAX]; /* masked set + way */
};

PP_STATIC_ASSERT(sizeof(struct pp_tagged_entry) == 8, tagged_entry);

/* The way that holds tag, else the lowest empty way + 16, else the way with fewest hits + 32. */
PP_INLINE __u32 pp_tagged_find(const struct pp_tagged_entry *set, __u32 ways, __u32 tag)
{
	__u32 i, empty = PP_TAGGED_WAYS_MAX, least = 0, best = ~(__u32)0;

	PP_NO_UNROLL
	for (i = 0; i < PP_TAGGED_WAYS_MAX; i++) {
		if (i >= ways)
			break;
		if (set[i].state == PP_TAGGED_EMPTY) {
			if (empty == PP_TAGGED_WAYS_MAX)
				empty = i;
			continue;
		}
		if (set[i].tag == tag)
			return i;
		if (set[i].hits < best) {
			best = set[i].hits;
			least = i;
		}
	}
	return empty < PP_TAGGED_WAYS_MAX ? empty + 16 : least + 32;
}

/* E3, E2, E6a, E6: the entry's tuple is here. Returns the count to report. */
PP_INLINE __u32 pp_tagged_hit(struct pp_tagged_entry *e, const struct pp_tagged_config *config)
{
	__u32 hits = ++e->hits;

	if (hits >= config->rate)
		e->hits = 0;
	else if (e->state == PP_TAGGED_EVICT && hits >= config->evict)
		e->hits = e->misses;
	else
		return 0;
	e->misses = 0;
	e->state = PP_TAGGED_EMPTY;
	return hits;
}

/* E4, E5a, E5: another tuple wants the entry. */
PP_INLINE void pp_tagged_miss(struct pp_tagged_entry *e, const struct pp_tagged_config *config,
			      __u32 tag)
{
	if (e->state == PP_TAGGED_VALID) {
		e->state = PP_TAGGED_EVICT;
		e->misses = 1;
		return;
	}
	if (++e->misses < config->replace)
		return;
	e->hits += e->misses;
	e->misses = 0;
	e->tag = (__u8)tag;
	e->state = PP_TAGGED_VALID;
}

/* One tuple with this set and tag. Returns the count to report, 0 for no message. */
PP_INLINE __u32 pp_tagged_step(struct pp_tagged *t, const struct pp_tagged_config *config,
			       __u32 set, __u32 tag)
{
	__u32 ways = config->ways, base = set * ways, way;
	struct pp_tagged_entry *e;

	if (ways > PP_TAGGED_WAYS_MAX)
		return 0;
	e = &t->entry[PP_MASK(base, PP_SPLIT_MAX - 1)];
	way = pp_tagged_find(e, ways, tag);
	way = PP_LAUNDER(way, &t->scratch);
	e += PP_MASK(way, PP_TAGGED_WAYS_MAX - 1);
	if (way < 16)
		return pp_tagged_hit(e, config);
	if (way < 32) {
		e->hits++;
		e->tag = (__u8)tag;
		e->state = PP_TAGGED_VALID;
		return 0;
	}
	pp_tagged_miss(e, config, tag);
	return 0;
}

#endif
