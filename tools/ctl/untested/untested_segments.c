// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments, two pieces and the call or return between them: see untested_work.h.
 *
 * The tested segments that begin at one place are a trie: outcomes of the first piece, where its
 * call or return led, outcomes of the second.
 */
#include "untested_work.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "base/search.h"

#define CROSSINGS_MAX (1u << 29)

/* A call or return that tests made, and where it led. */
struct crossing {
	uint64_t end, start; /* file offsets: behind the call or return, and where it led */
	uint32_t from, to;   /* binaries */
};

/* A segment that is being judged. */
struct judging {
	const struct untested_segment_key *key;
	struct untested_way first, second;
	/* The most steps in common with a tested segment; -1: none begins there. */
	int32_t same;
};

/* ---------------------------------------------------------------- the tested ones */

static int compare_pieces(const struct tested_key *x, const struct tested_key *y)
{
	if (x->binary != y->binary)
		return x->binary < y->binary ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return (x->outcomes > y->outcomes) - (x->outcomes < y->outcomes);
}

static int compare_firsts(const void *a, const void *b)
{
	const struct untested_segment_key *x = a, *y = b;

	return compare_pieces(&x->first, &y->first);
}

static void sort(struct untested_work *w)
{
	const uint32_t cnt = w->set.cnt;

	w->segments = ctl_alloc(((size_t)cnt + 1) * sizeof(*w->segments));
	for (uint32_t i = 0; i < cnt; i++)
		w->segments[i] = *(const struct untested_segment_key *)pp_keyed_item(&w->set, i);
	qsort(w->segments, cnt, sizeof(*w->segments), compare_firsts);
}

static bool begins_before(const struct tested_key *a, const struct tested_key *b)
{
	return a->binary != b->binary ? a->binary < b->binary : a->start < b->start;
}

static bool is_same_place(const struct tested_key *a, const struct tested_key *b)
{
	return a->binary == b->binary && a->start == b->start;
}

static uint32_t common(const struct untested_segment_key *a, const struct untested_segment_key *b)
{
	if (compare_pieces(&a->first, &b->first) != 0)
		return untested_common(&a->first, &b->first);
	if (!is_same_place(&a->second, &b->second))
		return a->first.length;
	return a->first.length + 1 + untested_common(&a->second, &b->second);
}

static int32_t find_common(const struct untested_work *w, const struct untested_segment_key *key)
{
	size_t at = pp_first(i, 0, w->set.cnt, !begins_before(&w->segments[i].first, &key->first));
	int32_t most = -1;

	for (; at < w->set.cnt && is_same_place(&w->segments[at].first, &key->first); at++) {
		int32_t same = (int32_t)common(&w->segments[at], key);

		most = same > most ? same : most;
	}
	return most;
}

/* Finds the ways of all tested segments, reading each first piece once. */
static int find_crossings(struct untested_work *w)
{
	struct untested_way way = {.cnt = 0};
	uint32_t index;
	int r = 0;

	if (w->crossings.item_bytes)
		return 0;
	pp_keyed_init(&w->crossings, sizeof(struct crossing), sizeof(struct crossing),
		      CROSSINGS_MAX, 0);
	for (uint32_t i = 0; i < w->set.cnt && r == 0; i++) {
		const struct untested_segment_key *key = &w->segments[i];
		struct crossing crossing = {.start = key->second.start,
					    .from = key->first.binary,
					    .to = key->second.binary};

		if (!i || compare_firsts(key - 1, key) != 0)
			untested_code_walk_piece(w, &key->first, &way);
		if (!way.cnt)
			continue;
		crossing.end = way.blocks[way.cnt - 1].end;
		r = pp_keyed_at(&w->crossings, &crossing, &index);
	}
	return r;
}

/* ---------------------------------------------------------------- judging */

static const struct pathprof_block *last_of(const struct untested_way *way)
{
	return &way->blocks[way->cnt - 1];
}

/* Whether it leaves the tested segments with its call or return. */
static bool is_at_crossing(const struct judging *j)
{
	return j->same == (int32_t)j->key->first.length;
}

/* Returns 1 if the call or return itself never led there in tests. */
static int is_new_crossing(struct untested_work *w, const struct judging *j)
{
	const struct crossing crossing = {.end = last_of(&j->first)->end,
					  .start = j->key->second.start,
					  .from = j->key->first.binary,
					  .to = j->key->second.binary};
	uint32_t index;
	int r = find_crossings(w);

	return r < 0 ? r : pp_keyed_find(&w->crossings, &crossing, &index) != 0;
}

static bool
has_new(const struct untested_work *w, const struct tested_key *key, const struct untested_way *way,
	bool (*is_new)(const struct untested_coverage *c, const struct pathprof_block *block))
{
	for (uint32_t i = 0; i < way->cnt; i++)
		if (is_new(&w->coverage[key->binary], &way->blocks[i]))
			return true;
	return false;
}

/* Returns an enum untested_kind, or -errno. */
static int kind_of(struct untested_work *w, const struct judging *j)
{
	const struct untested_segment_key *key = j->key;
	int r;

	if (has_new(w, &key->first, &j->first, untested_code_is_new_block) ||
	    has_new(w, &key->second, &j->second, untested_code_is_new_block))
		return UNTESTED_NEW_CODE;
	if (has_new(w, &key->first, &j->first, untested_code_is_new_edge) ||
	    has_new(w, &key->second, &j->second, untested_code_is_new_edge))
		return UNTESTED_NEW_EDGE;
	if (j->same < 0)
		return UNTESTED_NEW_ENTRY;
	if (!is_at_crossing(j))
		return UNTESTED_COMBINATION;
	r = is_new_crossing(w, j);
	return r < 0 ? r : r ? UNTESTED_NEW_EDGE : UNTESTED_COMBINATION;
}

/* A call is placed at itself, a return at the call before its return address. */
static void place_crossing(const struct judging *j, struct untested_departure *ret_key)
{
	if (last_of(&j->first)->kind == PERF_BR_RET) {
		ret_key->binary = j->key->second.binary;
		ret_key->place = j->key->second.start - 1;
		ret_key->direction = UNTESTED_RETURN;
	} else {
		ret_key->binary = j->key->first.binary;
		ret_key->place = last_of(&j->first)->end - 1;
		ret_key->direction = UNTESTED_CALL;
	}
}

static void place_branch(const struct tested_key *key, const struct untested_way *way, uint32_t at,
			 struct untested_departure *ret_key)
{
	const struct pathprof_block *block = at < way->cnt ? &way->blocks[at] : last_of(way);

	ret_key->binary = key->binary;
	ret_key->place = block->end - 1;
	ret_key->direction = block->taken ? UNTESTED_TAKEN : UNTESTED_NOT_TAKEN;
}

static void place_of(const struct untested_work *w, const struct judging *j,
		     struct untested_departure *ret_key)
{
	const struct untested_segment_key *key = j->key;
	uint32_t same = (uint32_t)j->same;

	if (j->same < 0) {
		ret_key->binary = key->first.binary;
		ret_key->place = untested_entry_of(w, &key->first, &j->first.blocks[0]);
		ret_key->direction = UNTESTED_ENTRY;
	} else if (is_at_crossing(j)) {
		place_crossing(j, ret_key);
	} else if (same < key->first.length) {
		place_branch(&key->first, &j->first, same, ret_key);
	} else {
		place_branch(&key->second, &j->second, same - key->first.length - 1, ret_key);
	}
}

static int judge(struct untested_work *w, const struct untested_segment_key *key,
		 const struct untested_item *part)
{
	struct judging j = {.key = key, .same = find_common(w, key)};
	struct untested_departure departure = {.binary = key->second.binary,
					       .direction = UNTESTED_ENTRY,
					       .place = key->second.start,
					       .kind = UNTESTED_UNREAD};
	int r;

	if (!untested_code_walk_piece(w, &key->first, &j.first) ||
	    !untested_code_walk_piece(w, &key->second, &j.second) || !j.first.cnt || !j.second.cnt)
		return untested_depart(w, part, &departure);
	r = untested_code_cover(w, key->first.binary);
	if (r == 0)
		r = untested_code_cover(w, key->second.binary);
	if (r == 0)
		r = kind_of(w, &j);
	if (r < 0)
		return r;
	departure.kind = (uint32_t)r;
	place_of(w, &j, &departure);
	return untested_depart(w, part, &departure);
}

/* ---------------------------------------------------------------- the selection */

static int find_piece(struct untested_work *w, const struct pathprof_piece *piece,
		      struct tested_key *ret_key)
{
	*ret_key = (struct tested_key){
		.start = piece->start, .length = piece->length, .outcomes = piece->outcomes};
	return untested_set_find_binary(w, &piece->binary_id, piece->binary_name, &ret_key->binary);
}

static int take_segment(void *context, const struct pathprof_segment_row *row)
{
	struct untested_work *w = context;
	struct untested_segment_key key;
	struct untested_item *unit, part = {.weight = row->weight,
					    .weight_squares = row->weight_squares,
					    .samples = row->count,
					    .looks = untested_looks(row->count, row->squares)};
	int r;

	if (!(row->weight > 0))
		return 0;
	if (find_piece(w, &row->first, &key.first) < 0 ||
	    find_piece(w, &row->second, &key.second) < 0) {
		w->u->left_out += part.weight;
		return 0;
	}
	w->u->binaries[key.first.binary].has_run = true;
	/* One of the two pieces may run in a function that changed. */
	part.key = key.second;
	if (!untested_builds_same(w, &key.first)) {
		w->u->unmatched += part.weight;
		return 0;
	}
	if (!untested_builds_weigh(w, &part.key, part.weight))
		return 0;
	r = untested_add(w, &key, &part, &unit);
	if (r < 0 || untested_set_has(w, &key) || !untested_believe(w, unit, &part))
		return r;
	return judge(w, &key, &part);
}

/* Bursts of windows without segments say nothing about them. */
static int take_window(void *context, const struct pathprof_window_row *row)
{
	struct untested *u = context;

	if (row->has_segments) {
		u->windows.known++;
		u->windows.lost += row->segments_lost;
		u->settings.bursts += row->totals.bursts;
	} else if (row->totals.paths) {
		u->windows.unknown++;
		/* newest first */
		u->windows.first = row->id;
		if (!u->windows.last)
			u->windows.last = row->id;
	}
	return 0;
}

int untested_segments_load(struct untested_work *w, struct pathprof_store *store,
			   const struct pathprof_filter *filter, struct pathprof_error *error)
{
	int r;

	w->u->settings.bursts = 0;
	r = pathprof_store_windows(store, filter, take_window, w->u, error);
	if (r < 0)
		return r;
	if (!w->u->windows.known && w->u->windows.unknown)
		return pathprof_fail(error, -ENODATA,
				     "no window that is selected says which piece followed which "
				     "(old ones do not, nor sources that count in the kernel, "
				     "parcels and profile files): compare paths or pieces");
	sort(w);
	r = pathprof_store_segments(store, filter, take_segment, w, error);
	return r < 0 ? r : pathprof_store_segment_samples(store, filter, take_segment, w, error);
}
