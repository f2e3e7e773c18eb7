// SPDX-License-Identifier: GPL-2.0-or-later
/* See untested.h. */
#include "untested_work.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"

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
	static const char *const names[] = {"not taken", "taken", "entry", "call", "return"};

	return names[direction];
}

/* ---------------------------------------------------------------- departures */

/* blocks[cnt]: the blocks that the unit runs through, one for each of its branches and perhaps a
 * last one. */
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

int untested_depart(struct untested_work *w, const struct untested_item *unit,
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

/* The kind by outcomes alone, if the code is not available, or has no such path. */
static enum untested_kind kind_without_blocks(const struct untested_work *w,
					      const struct tested_key *key, int32_t same)
{
	if (!untested_code_of(w, key->binary))
		return UNTESTED_UNREAD;
	if (same < 0)
		return UNTESTED_NEW_ENTRY;
	return (uint32_t)same == key->length ? UNTESTED_COMBINATION : UNTESTED_NEW_EDGE;
}

uint64_t untested_entry_of(const struct untested_work *w, const struct tested_key *key,
			   const struct pathprof_block *first)
{
	const struct untested_binary *b = &w->u->binaries[key->binary];
	const struct untested_coverage *c = &w->coverage[key->binary];
	const struct symbol *symbol;

	if (!untested_code_is_new_block(c, first))
		return key->start;
	symbol = symbols_function(w->symbols, &b->id, b->name, key->start);
	return symbol->bounded && !untested_code_begins_at(c, symbol->start) ? symbol->start
									     : key->start;
}

/* way NULL: not available. */
static int judge(struct untested_work *w, const struct untested_item *unit,
		 const struct untested_way *way)
{
	int32_t same = untested_set_common(w, &unit->key);
	struct untested_departure key = {
		.binary = unit->key.binary, .direction = UNTESTED_ENTRY, .place = unit->key.start};
	int r;

	if (!way || !way->cnt) {
		key.kind = kind_without_blocks(w, &unit->key, same);
		return untested_depart(w, unit, &key);
	}
	r = untested_code_cover(w, unit->key.binary);
	if (r < 0)
		return r;
	key.kind = kind_of(w, unit->key.binary, way->blocks, way->cnt, same >= 0);
	if (same < 0) {
		key.place = untested_entry_of(w, &unit->key, &way->blocks[0]);
	} else {
		const struct pathprof_block *at =
			&way->blocks[(uint32_t)same < way->cnt ? (uint32_t)same : way->cnt - 1];

		key.place = at->end - 1;
		key.direction = at->taken ? UNTESTED_TAKEN : UNTESTED_NOT_TAKEN;
	}
	return untested_depart(w, unit, &key);
}

/* ---------------------------------------------------------------- what is compared */

double untested_looks(uint64_t samples, double squares)
{
	if (!(squares > 0) || !samples)
		return 1;
	return fmax(1, (double)samples * (double)samples / squares);
}

/* Stored behind the key. */
static struct untested_item *unit_at(const struct untested_work *w, uint32_t index)
{
	return (struct untested_item *)(void *)((uint8_t *)pp_keyed_item(&w->units, index) +
						w->units.key_bytes);
}

/* Adds a unit of the selection, which may have been added before. */
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
		.looks = untested_looks(row->samples, row->squares),
		.path_id = row->id,
	};
}

bool untested_believe(struct untested_work *w, struct untested_item *unit,
		      const struct untested_item *part)
{
	uint32_t wanted = w->u->settings.min_bursts;

	if (unit->looks + 1e-9 < wanted && ceil(unit->looks - 1e-9) < wanted) {
		w->u->doubtful += part->weight;
		return false;
	}
	unit->is_untested = true;
	return true;
}

int untested_settle(struct untested_work *w, struct untested_item *unit,
		    const struct untested_item *part, const struct untested_way *way)
{
	return untested_believe(w, unit, part) ? judge(w, part, way) : 0;
}

static int compare_path(struct untested_work *w, const struct untested_item *part)
{
	struct untested_item *unit;
	struct untested_way way;
	int r = untested_add(w, &part->key, part, &unit);

	if (r < 0 || untested_set_has(w, &part->key))
		return r;
	return untested_settle(w, unit, part,
			       untested_code_walk(w, &part->key, &way) ? &way : NULL);
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
	w->u->binaries[binary].has_run = true;
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
	int r;

	if (untested_set_find_binary(w, &row->piece.binary_id, row->piece.binary_name,
				     &part.key.binary) < 0) {
		w->u->left_out += part.weight;
		return 0;
	}
	w->u->binaries[part.key.binary].has_run = true;
	if (!untested_builds_weigh(w, &part.key, part.weight))
		return 0;
	r = untested_add(w, &part.key, &part, &unit);
	if (r < 0 || untested_set_has(w, &part.key))
		return r;
	return untested_pieces_settle(w, unit, &part);
}

static int count_piece(void *context, const struct pathprof_piece_row *row)
{
	return 1;
}

/* Runs that were counted have their pieces; for samples, pieces are cut out of the paths. */
static int load_selection(struct untested_work *w, struct pathprof_store *store,
			  const struct pathprof_filter *filter, struct pathprof_error *error)
{
	int counted;

	if (w->u->settings.unit == UNTESTED_SEGMENT)
		return untested_segments_load(w, store, filter, error);
	counted = pathprof_store_pieces(store, filter, count_piece, NULL, error);
	if (counted < 0)
		return counted;
	if (w->u->settings.unit == UNTESTED_PIECE && counted)
		return pathprof_store_pieces(store, filter, take_piece, w, error);
	return pathprof_store_paths(store, filter, take_path, w, error);
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
	pp_keyed_init(&w->pieces, sizeof(struct tested_key), sizeof(struct tested_key), KEYS_MAX,
		      0);
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
		.tested_from = untested_code_ran_from(c, block),
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
			pp_map_release(&w->coverage[i].starts);
		}
	}
	untested_builds_release(w);
	free(untested->binaries);
	free(w->coverage);
	free(w->sorted);
	free(w->segments);
	pp_keyed_release(&w->crossings);
	pp_keyed_release(&w->ids);
	pp_keyed_release(&w->paths);
	pp_keyed_release(&w->pieces);
	pp_keyed_release(&w->set);
	pp_keyed_release(&w->units);
	pp_keyed_release(&w->departures);
	free(w);
	free(untested);
}
