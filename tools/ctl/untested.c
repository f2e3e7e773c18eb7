// SPDX-License-Identifier: GPL-2.0-or-later
/* See untested.h. */
#include "untested_work.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

#define KEYS_MAX (1u << 29)

/* ---------------------------------------------------------------- names */

const char *untested_unit_name(enum untested_unit unit)
{
	static const char *const names[] = {"path", "piece", "segment"};

	return (size_t)unit < sizeof(names) / sizeof(names[0]) ? names[unit] : NULL;
}

const char *untested_kind_name(enum untested_kind kind)
{
	static const char *const names[] = {"new code", "new edge", "new entry", "combination",
					    "unread"};

	return names[kind];
}

const char *untested_direction_name(enum untested_direction direction)
{
	static const char *const names[] = {"not taken", "taken", "entry"};

	return names[direction];
}

/* ---------------------------------------------------------------- departures */

/* blocks[cnt]: those that the unit runs through, one a branch of it and perhaps a last one. */
static enum untested_kind kind_of(const struct untested_work *w, uint32_t binary,
				  const struct pathprof_block *blocks, uint32_t cnt, bool begins)
{
	const struct untested_coverage *c = &w->coverage[binary];
	bool is_edge = false;

	for (uint32_t i = 0; i < cnt; i++) {
		if (untested_code_is_new_block(c, &blocks[i]))
			return UNTESTED_NEW_CODE;
		is_edge |= untested_code_is_new_edge(c, &blocks[i]);
	}
	return is_edge ? UNTESTED_NEW_EDGE : begins ? UNTESTED_COMBINATION : UNTESTED_NEW_ENTRY;
}

static int depart(struct untested_work *w, const struct untested_item *unit,
		  const struct untested_departure *key)
{
	struct untested_departure *d;
	uint32_t index;
	int r = pp_keyed_at(&w->departures, key, &index);

	if (r < 0)
		return r;
	d = pp_keyed_item(&w->departures, index);
	d->weight += unit->weight;
	d->samples += unit->samples;
	d->path_cnt++;
	if (unit->weight > d->heaviest) {
		d->heaviest = unit->weight;
		d->path_id = unit->path_id;
	}
	return 0;
}

/* By outcomes alone: pieces that a call ends, and segments. */
static enum untested_kind kind_without_blocks(const struct untested_work *w,
					      const struct tested_key *key, int32_t same)
{
	if (!untested_code_of(w, key->binary))
		return UNTESTED_UNREAD;
	if (same < 0)
		return UNTESTED_NEW_ENTRY;
	return (uint32_t)same == key->length ? UNTESTED_COMBINATION : UNTESTED_NEW_EDGE;
}

/* A path that begins in a block which no test ran belongs to one finding for the whole function. */
static uint64_t entry_of(const struct untested_work *w, const struct tested_key *key,
			 const struct pathprof_block *first)
{
	const struct untested_binary *b = &w->u->binaries[key->binary];
	const struct symbol *symbol;

	if (!untested_code_is_new_block(&w->coverage[key->binary], first))
		return key->start;
	symbol = symbols_function(w->symbols, &b->id, b->name, key->start);
	return symbol->bounded ? symbol->start : key->start;
}

/* blocks NULL: not to be had. */
static int judge(struct untested_work *w, const struct untested_item *unit,
		 const struct pathprof_block *blocks, uint32_t cnt)
{
	int32_t same = untested_set_common(w, &unit->key);
	struct untested_departure key = {
		.binary = unit->key.binary, .direction = UNTESTED_ENTRY, .place = unit->key.start};
	int r;

	if (!blocks || !cnt) {
		key.kind = kind_without_blocks(w, &unit->key, same);
		return depart(w, unit, &key);
	}
	r = untested_code_cover(w, unit->key.binary);
	if (r < 0)
		return r;
	key.kind = kind_of(w, unit->key.binary, blocks, cnt, same >= 0);
	if (same < 0) {
		key.place = entry_of(w, &unit->key, &blocks[0]);
	} else {
		const struct pathprof_block *at =
			&blocks[(uint32_t)same < cnt ? (uint32_t)same : cnt - 1];

		key.place = at->end - 1;
		key.direction = at->taken ? UNTESTED_TAKEN : UNTESTED_NOT_TAKEN;
	}
	return depart(w, unit, &key);
}

/* ---------------------------------------------------------------- what is compared */

static double looks_of(const struct pathprof_path_row *row)
{
	double samples = (double)row->samples;

	if (!(row->squares > 0) || !row->samples)
		return 1;
	return fmax(1, samples * samples / row->squares);
}

/* Behind its key. */
static struct untested_item *unit_at(const struct untested_work *w, uint32_t index)
{
	return (struct untested_item *)(void *)((uint8_t *)pp_keyed_item(&w->units, index) +
						w->units.key_bytes);
}

/* A unit of the selection comes up; the same may come up again. */
int untested_add(struct untested_work *w, const void *key, const struct untested_item *part,
		 struct untested_item **ret_unit)
{
	struct untested_item *unit;
	uint32_t index;
	int r = pp_keyed_at(&w->units, key, &index);

	if (r < 0)
		return r;
	unit = unit_at(w, index);
	unit->key = part->key;
	unit->weight += part->weight;
	unit->weight_squares += part->weight_squares;
	unit->samples += part->samples;
	unit->looks = fmax(unit->looks, part->looks);
	if (!unit->path_id)
		unit->path_id = part->path_id;
	*ret_unit = unit;
	return 0;
}

static struct untested_item unit_of(const struct pathprof_path_row *row, uint32_t binary)
{
	return (struct untested_item){
		.key = {.start = row->start,
			.binary = binary,
			.length = row->length,
			.outcomes = row->outcomes},
		.weight = row->weight,
		.weight_squares = row->weight_squares,
		.samples = row->samples,
		.looks = looks_of(row),
		.path_id = row->id,
	};
}

/* Marks it, and where it is untested and believed, says where it departs. */
int untested_settle(struct untested_work *w, struct untested_item *unit,
		    const struct untested_item *part, const struct pathprof_block *blocks,
		    uint32_t cnt)
{
	uint32_t wanted = w->u->settings.min_bursts;

	if (unit->looks + 1e-9 < wanted && ceil(unit->looks - 1e-9) < wanted) {
		w->u->doubtful += part->weight;
		return 0;
	}
	unit->is_untested = true;
	return judge(w, part, blocks, cnt);
}

static int compare_path(struct untested_work *w, const struct untested_item *part)
{
	struct untested_item *unit;
	struct untested_way way;
	int r = untested_add(w, &part->key, part, &unit);

	if (r < 0 || untested_set_has(w, &part->key))
		return r;
	return untested_code_walk(w, &part->key, &way)
		       ? untested_settle(w, unit, part, way.blocks, way.cnt)
		       : untested_settle(w, unit, part, NULL, 0);
}

static int compare_pieces(struct untested_work *w, const struct untested_item *path)
{
	struct untested_way way;

	if (untested_code_walk(w, &path->key, &way) && way.cnt)
		return untested_pieces_cut(w, path, &way);
	w->u->unread += path->weight;
	return 0;
}

/* ---------------------------------------------------------------- the selection */

static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct untested_work *w = context;
	struct untested_item unit;
	uint32_t binary;

	if (!(row->weight > 0))
		return 0;
	if (untested_set_find_binary(w, &row->binary_id, row->binary_name, &binary) < 0) {
		w->u->left_out += row->weight;
		return 0;
	}
	unit = unit_of(row, binary);
	if (!untested_builds_weigh(w, &unit.key, row->weight))
		return 0;
	return w->u->settings.unit == UNTESTED_PATH ? compare_path(w, &unit)
						    : compare_pieces(w, &unit);
}

static int take_piece(void *context, const struct pathprof_piece_row *row)
{
	struct untested_work *w = context;
	struct untested_item *unit, part = {.weight = (double)row->count,
					    .samples = row->count,
					    .looks = 1,
					    .key = {.start = row->piece.start,
						    .length = row->piece.length,
						    .outcomes = row->piece.outcomes}};
	struct untested_way way;
	int r;

	if (untested_set_find_binary(w, &row->piece.binary_id, row->piece.binary_name,
				     &part.key.binary) < 0) {
		w->u->left_out += part.weight;
		return 0;
	}
	if (!untested_builds_weigh(w, &part.key, part.weight))
		return 0;
	r = untested_add(w, &part.key, &part, &unit);
	if (r < 0 || untested_set_has(w, &part.key))
		return r;
	/* The code of one that a call ended goes on, so it has no such path. */
	return untested_code_walk(w, &part.key, &way)
		       ? untested_settle(w, unit, &part, way.blocks, way.cnt)
		       : untested_settle(w, unit, &part, NULL, 0);
}

static int take_segment(void *context, const struct pathprof_segment_row *row)
{
	struct untested_work *w = context;
	struct untested_item *unit,
		part = {.weight = (double)row->count, .samples = row->count, .looks = 1};
	struct untested_segment_key key = {.first = {.start = row->first.start,
						     .length = row->first.length,
						     .outcomes = row->first.outcomes},
					   .second = {.start = row->second.start,
						      .length = row->second.length,
						      .outcomes = row->second.outcomes}};
	int r;

	if (untested_set_find_binary(w, &row->first.binary_id, row->first.binary_name,
				     &key.first.binary) < 0 ||
	    untested_set_find_binary(w, &row->second.binary_id, row->second.binary_name,
				     &key.second.binary) < 0) {
		w->u->left_out += part.weight;
		return 0;
	}
	/* One of both pieces may run in a function that changed. */
	part.key = key.second;
	if (!untested_builds_same(w, &key.first)) {
		w->u->unmatched += part.weight;
		return 0;
	}
	if (!untested_builds_weigh(w, &part.key, part.weight))
		return 0;
	r = untested_add(w, &key, &part, &unit);
	return r < 0 || untested_set_has(w, &key) ? r : untested_settle(w, unit, &part, NULL, 0);
}

static int count_piece(void *context, const struct pathprof_piece_row *row)
{
	return 1;
}

/* Runs that were counted have their pieces; of samples they are cut out of the paths. */
static int load_selection(struct untested_work *w, struct pathprof_store *store,
			  const struct pathprof_filter *filter, struct pathprof_error *error)
{
	int counted = pathprof_store_pieces(store, filter, count_piece, NULL, error);

	if (counted < 0)
		return counted;
	if (w->u->settings.unit == UNTESTED_PIECE && counted)
		return pathprof_store_pieces(store, filter, take_piece, w, error);
	if (w->u->settings.unit != UNTESTED_SEGMENT)
		return pathprof_store_paths(store, filter, take_path, w, error);
	if (!counted)
		return pathprof_fail(error, -ENODATA,
				     "samples do not say which piece followed which: compare "
				     "paths or pieces, or a run that `pathprof-trace --paths` "
				     "counted");
	return pathprof_store_segments(store, filter, take_segment, w, error);
}

/* ---------------------------------------------------------------- figures */

static int compare_departures(const void *a, const void *b)
{
	const struct untested_departure *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

static int estimate(struct untested_work *w, struct pathprof_error *error)
{
	struct untested *u = w->u;
	_cleanup_free_ struct pathprof_unseen_path *paths =
		ctl_alloc(((size_t)w->units.cnt + 1) * sizeof(*paths));

	for (uint32_t i = 0; i < w->units.cnt; i++) {
		const struct untested_item *unit = unit_at(w, i);

		paths[i] = (struct pathprof_unseen_path){.weight = unit->weight,
							 .weight_squares = unit->weight_squares,
							 .looks = fmax(1, unit->looks),
							 .is_marked = unit->is_untested};
		u->untested_cnt += unit->is_untested;
	}
	u->seen_cnt = w->units.cnt;
	u->departures = (struct untested_departure *)(void *)w->departures.items;
	u->departure_cnt = w->departures.cnt;
	if (u->departure_cnt)
		qsort(u->departures, u->departure_cnt, sizeof(*u->departures), compare_departures);
	if (pathprof_unseen_work_out(paths, w->units.cnt, u->settings.bursts, &u->unseen) < 0)
		return pathprof_fail(error, -EBADMSG, "a count that cannot be");
	return 0;
}

static int compare(struct untested_work *w, struct pathprof_store *store,
		   const struct pathprof_filter *filter, struct pathprof_error *error)
{
	struct pathprof_filter all = *filter;
	int r = untested_set_load(w, error);

	all.limit = 0;
	if (r == 0)
		r = untested_builds_match(w, store, &all, error);
	if (r == 0) {
		untested_set_finish(w);
		r = load_selection(w, store, &all, error);
	}
	if ((r == -ENOMEM || r == -ENOSPC) && !error->text[0])
		return pathprof_fail(error, r, "out of memory");
	if (r < 0)
		return r;
	if (!w->units.cnt)
		return pathprof_fail(error, -ENODATA,
				     "nothing of what is selected can be compared: the tested set "
				     "has no build of it, or nothing of them ran%s%s",
				     w->u->why.text[0] ? "; " : "", w->u->why.text);
	return estimate(w, error);
}

int untested_work_out(struct untested **ret_untested, const struct tested *tested,
		      struct pathprof_store *store, const struct pathprof_filter *filter,
		      struct symbols *symbols, const struct untested_settings *settings,
		      struct pathprof_error *error)
{
	struct untested *u = ctl_alloc(sizeof(*u));
	struct untested_work *w = ctl_alloc(sizeof(*w));
	size_t key = settings->unit == UNTESTED_SEGMENT ? sizeof(struct untested_segment_key)
							: sizeof(struct tested_key);
	int r;

	*u = (struct untested){.settings = *settings, .work = w};
	*w = (struct untested_work){.u = u, .tested = tested, .symbols = symbols};
	pp_keyed_init(&w->ids, sizeof(struct pathprof_build_id), sizeof(struct pathprof_build_id),
		      1u << 20, 0);
	pp_keyed_init(&w->paths, sizeof(struct tested_key), sizeof(struct tested_key), KEYS_MAX, 0);
	pp_keyed_init(&w->set, key, key, KEYS_MAX, 0);
	pp_keyed_init(&w->units, key + sizeof(struct untested_item), key, KEYS_MAX, 0);
	pp_keyed_init(&w->departures, sizeof(struct untested_departure),
		      offsetof(struct untested_departure, weight), KEYS_MAX, 0);
	r = compare(w, store, filter, error);
	if (r < 0)
		untested_free(u);
	else
		*ret_untested = u;
	return r;
}

/* ---------------------------------------------------------------- what others ask */

static int tell_block(struct untested_work *w, uint32_t binary, const struct pathprof_block *block,
		      untested_ran_fn *fn, void *context)
{
	const struct untested_coverage *c = &w->coverage[binary];
	struct untested_ran ran = {
		.binary = binary,
		.block = *block,
		.is_conditional = block->kind == PERF_BR_COND,
		.is_tested = !untested_code_is_new_block(c, block),
		.is_tested_way = !untested_code_is_new_edge(c, block),
	};

	return fn(context, &ran);
}

int untested_each_block(const struct untested *untested, untested_ran_fn *fn, void *context)
{
	struct untested_work *w = untested->work;
	struct untested_way way;
	int r = 0;

	for (uint32_t i = 0; i < w->units.cnt && r == 0; i++) {
		const struct tested_key *key = pp_keyed_item(&w->units, i);

		if (!untested_code_walk(w, key, &way))
			continue;
		r = untested_code_cover(w, key->binary);
		for (uint32_t j = 0; j < way.cnt && r == 0; j++)
			r = tell_block(w, key->binary, &way.blocks[j], fn, context);
	}
	return r;
}

int untested_each_tested(const struct untested *untested, untested_tested_fn *fn, void *context)
{
	const struct untested_work *w = untested->work;
	uint32_t index;
	int r = 0;

	for (uint32_t i = 0; i < w->set.cnt && r == 0; i++) {
		const struct tested_key *key = untested_set_key(w, i);

		if (untested->binaries[key->binary].has_run)
			r = fn(context, key,
			       pp_keyed_find(&w->units, pp_keyed_item(&w->set, i), &index) == 0);
	}
	return r;
}

void untested_free(struct untested *untested)
{
	struct untested_work *w;

	if (!untested)
		return;
	w = untested->work;
	for (uint32_t i = 0; i < untested->binary_cnt; i++) {
		free(untested->binaries[i].name);
		if (w->coverage) {
			pp_map_release(&w->coverage[i].ends);
			pp_map_release(&w->coverage[i].edges);
		}
	}
	untested_builds_release(w);
	free(untested->binaries);
	free(w->coverage);
	free(w->sorted);
	pp_keyed_release(&w->ids);
	pp_keyed_release(&w->paths);
	pp_keyed_release(&w->set);
	pp_keyed_release(&w->units);
	pp_keyed_release(&w->departures);
	free(w);
	free(untested);
}
