// SPDX-License-Identifier: GPL-2.0-or-later
/* See untested.h. */
#include "untested.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/table.h"
#include "cleanup.h"
#include "text.h"

#define KEYS_MAX         (1u << 29)
#define BLOCKS_MAX       64
#define INSTRUCTION_SIZE 256

struct segment_key {
	struct tested_key first, second;
};

/* One unit of the selection. */
struct unit {
	struct tested_key key;
	double weight, weight_squares, looks;
	uint64_t samples;
	int64_t path_id;
	bool is_untested;
};

struct way {
	struct pathprof_block blocks[BLOCKS_MAX];
	uint32_t cnt;
};

/* The code of one binary that tested paths ran. */
struct coverage {
	bool is_read;
	struct pp_map ends;  /* end of a block -> the most bytes of it that ran */
	struct pp_map edges; /* end of a block << 1 | taken */
};

struct untested_work {
	struct untested *u;
	const struct tested *tested;
	struct symbols *symbols;
	struct pp_keyed ids;        /* struct pathprof_build_id */
	struct pp_keyed paths;      /* struct tested_key: the tested paths */
	struct pp_keyed set;        /* and what the unit is: struct tested_key or segment_key */
	struct tested_key *sorted;  /* the set's keys, by binary and start */
	struct coverage *coverage;  /* by binary */
	struct pp_keyed units;      /* a key as the set's, and behind it struct unit */
	struct pp_keyed departures; /* struct untested_departure */
	int error;                  /* of a callback that cannot say */
};

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

/* ---------------------------------------------------------------- the tested set */

/* These choose variants of their functions by the processor: an emulator shows another one. */
static bool chooses_variants(const char *name)
{
	static const char *const names[] = {"libc.so", "libm.so", "ld-linux", "libc-2", "libm-2"};
	const char *base = text_base_name(name);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static int add_binary(struct untested_work *w, const struct pathprof_build_id *id, const char *name,
		      uint32_t *ret_index)
{
	struct untested *u = w->u;
	int r = pp_keyed_at(&w->ids, id, ret_index);

	if (r < 0 || *ret_index < u->binary_cnt)
		return r;
	u->binaries =
		ctl_realloc(u->binaries, u->binary_cnt, u->binary_cnt + 1, sizeof(*u->binaries));
	u->binaries[u->binary_cnt++] =
		(struct untested_binary){.id = *id, .name = ctl_strdup(name)};
	return 0;
}

/* -ENOENT: the tested set has nothing of that binary, or it is not compared. */
static int find_binary(const struct untested_work *w, const struct pathprof_build_id *id,
		       const char *name, uint32_t *ret_index)
{
	if (!w->u->settings.all_binaries && chooses_variants(name))
		return -ENOENT;
	return pp_keyed_find(&w->ids, id, ret_index);
}

static int add_tested_path(void *context, const struct pathprof_path_row *row)
{
	struct untested_work *w = context;
	struct tested_key key = {
		.start = row->start, .length = row->length, .outcomes = row->outcomes};
	uint32_t index;
	int r = add_binary(w, &row->binary_id, row->binary_name, &key.binary);

	return r < 0 ? r : pp_keyed_at(&w->paths, &key, &index);
}

static int key_of_piece(struct untested_work *w, const struct pathprof_piece *piece,
			struct tested_key *ret_key)
{
	*ret_key = (struct tested_key){
		.start = piece->start, .length = piece->length, .outcomes = piece->outcomes};
	return add_binary(w, &piece->binary_id, piece->binary_name, &ret_key->binary);
}

static int add_tested_piece(void *context, const struct pathprof_piece_row *row)
{
	struct untested_work *w = context;
	struct tested_key key;
	uint32_t index;
	int r = key_of_piece(w, &row->piece, &key);

	return r < 0 ? r : pp_keyed_at(&w->set, &key, &index);
}

static int add_tested_segment(void *context, const struct pathprof_segment_row *row)
{
	struct untested_work *w = context;
	struct segment_key key;
	uint32_t index;
	int r = key_of_piece(w, &row->first, &key.first);

	if (r == 0)
		r = key_of_piece(w, &row->second, &key.second);
	return r < 0 ? r : pp_keyed_at(&w->set, &key, &index);
}

static int compare_keys(const void *a, const void *b)
{
	const struct tested_key *x = a, *y = b;

	if (x->binary != y->binary)
		return x->binary < y->binary ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* The beginning of what is compared by its outcomes; of a segment its second piece. */
static const struct tested_key *trie_key(const struct untested_work *w, uint32_t i)
{
	if (w->u->settings.unit == UNTESTED_SEGMENT)
		return &((const struct segment_key *)pp_keyed_item(&w->set, i))->second;
	return pp_keyed_item(&w->set, i);
}

static void sort_set(struct untested_work *w)
{
	w->sorted = ctl_alloc(((size_t)w->set.cnt + 1) * sizeof(*w->sorted));
	for (uint32_t i = 0; i < w->set.cnt; i++) {
		w->sorted[i] = *trie_key(w, i);
		w->u->binaries[w->sorted[i].binary].tested_cnt++;
	}
	qsort(w->sorted, w->set.cnt, sizeof(*w->sorted), compare_keys);
	w->u->tested_cnt = w->set.cnt;
}

static int copy_paths(struct untested_work *w)
{
	uint32_t index;
	int r = 0;

	for (uint32_t i = 0; i < w->paths.cnt && r == 0; i++)
		r = pp_keyed_at(&w->set, pp_keyed_item(&w->paths, i), &index);
	return r;
}

static int load_set(struct untested_work *w, struct pathprof_error *error)
{
	struct pathprof_store *store = w->tested->store;
	int r = pathprof_store_paths(store, NULL, add_tested_path, w, error);

	if (r < 0)
		return r;
	switch (w->u->settings.unit) {
	case UNTESTED_PATH:
		r = copy_paths(w);
		break;
	case UNTESTED_PIECE:
		r = pathprof_store_pieces(store, NULL, add_tested_piece, w, error);
		break;
	case UNTESTED_SEGMENT:
		r = pathprof_store_segments(store, NULL, add_tested_segment, w, error);
		break;
	}
	if (r < 0)
		return r;
	sort_set(w);
	w->coverage = ctl_alloc((w->u->binary_cnt + 1) * sizeof(*w->coverage));
	return 0;
}

/* ---------------------------------------------------------------- code */

static struct pathprof_code *code_of(const struct untested_work *w, uint32_t binary)
{
	const struct untested_binary *b = &w->u->binaries[binary];

	return symbols_code(w->symbols, &b->id, b->name, NULL);
}

static int take_block(void *context, const struct pathprof_block *block)
{
	struct way *way = context;

	if (way->cnt < BLOCKS_MAX)
		way->blocks[way->cnt++] = *block;
	return 0;
}

/* false: the code is not to be had, or does not have that path. */
static bool walk(const struct untested_work *w, const struct tested_key *key, struct way *ret_way)
{
	struct pathprof_code *code = code_of(w, key->binary);

	ret_way->cnt = 0;
	return code && pathprof_code_walk(code, key->start, key->length, key->outcomes, take_block,
					  ret_way, NULL) == 0;
}

static int cover_block(struct coverage *c, const struct pathprof_block *block)
{
	uint32_t len = (uint32_t)(block->end - block->start);
	uint32_t known = pp_map_get(&c->ends, block->end);
	int r = 0;

	if (known == PP_TABLE_NONE || known < len)
		r = pp_map_put(&c->ends, block->end, len);
	if (r == 0)
		r = pp_map_put(&c->edges, block->end << 1 | (block->taken != 0), 1);
	return r;
}

static int read_coverage(struct untested_work *w, uint32_t binary)
{
	struct coverage *c = &w->coverage[binary];
	struct way way;
	int r = 0;

	if (c->is_read)
		return 0;
	c->is_read = true;
	for (uint32_t i = 0; i < w->paths.cnt && r == 0; i++) {
		const struct tested_key *key = pp_keyed_item(&w->paths, i);

		if (key->binary != binary || !walk(w, key, &way))
			continue;
		for (uint32_t j = 0; j < way.cnt && r == 0; j++)
			r = cover_block(c, &way.blocks[j]);
	}
	return r;
}

static bool is_new_block(const struct coverage *c, const struct pathprof_block *block)
{
	uint32_t known = pp_map_get(&c->ends, block->end);

	return known == PP_TABLE_NONE || known < block->end - block->start;
}

static bool is_new_edge(const struct coverage *c, const struct pathprof_block *block)
{
	return pp_map_get(&c->edges, block->end << 1 | (block->taken != 0)) == PP_TABLE_NONE;
}

/* ---------------------------------------------------------------- departures */

static uint32_t common(const struct tested_key *a, const struct tested_key *b)
{
	uint32_t most = a->length < b->length ? a->length : b->length;
	uint32_t differ = a->outcomes ^ b->outcomes;
	uint32_t same = differ ? (uint32_t)__builtin_ctz(differ) : 32;

	return same < most ? same : most;
}

/* The most branches that the path has in common with a tested one; -1: no tested one begins there.
 */
static int32_t common_with_tested(const struct untested_work *w, const struct tested_key *key)
{
	size_t low = pp_first(i, 0, w->set.cnt, compare_keys(&w->sorted[i], key) >= 0);
	int32_t most = -1;

	for (; low < w->set.cnt && compare_keys(&w->sorted[low], key) == 0; low++) {
		int32_t same = (int32_t)common(&w->sorted[low], key);

		most = same > most ? same : most;
	}
	return most;
}

/* blocks[cnt]: those that the unit runs through, one a branch of it and perhaps a last one. */
static enum untested_kind kind_of(const struct untested_work *w, uint32_t binary,
				  const struct pathprof_block *blocks, uint32_t cnt, bool begins)
{
	const struct coverage *c = &w->coverage[binary];
	bool is_edge = false;

	for (uint32_t i = 0; i < cnt; i++) {
		if (is_new_block(c, &blocks[i]))
			return UNTESTED_NEW_CODE;
		is_edge |= is_new_edge(c, &blocks[i]);
	}
	return is_edge ? UNTESTED_NEW_EDGE : begins ? UNTESTED_COMBINATION : UNTESTED_NEW_ENTRY;
}

static int depart(struct untested_work *w, const struct unit *unit,
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
	if (!code_of(w, key->binary))
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

	if (!is_new_block(&w->coverage[key->binary], first))
		return key->start;
	symbol = symbols_function(w->symbols, &b->id, b->name, key->start);
	return symbol->bounded ? symbol->start : key->start;
}

/* blocks NULL: not to be had. */
static int judge(struct untested_work *w, const struct unit *unit,
		 const struct pathprof_block *blocks, uint32_t cnt)
{
	int32_t same = common_with_tested(w, &unit->key);
	struct untested_departure key = {
		.binary = unit->key.binary, .direction = UNTESTED_ENTRY, .place = unit->key.start};
	int r;

	if (!blocks || !cnt) {
		key.kind = kind_without_blocks(w, &unit->key, same);
		return depart(w, unit, &key);
	}
	r = read_coverage(w, unit->key.binary);
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
static struct unit *unit_at(const struct untested_work *w, uint32_t index)
{
	return (struct unit *)(void *)((uint8_t *)pp_keyed_item(&w->units, index) +
				       w->units.key_bytes);
}

/* A unit of the selection comes up; the same may come up again. */
static int add_unit(struct untested_work *w, const void *key, const struct unit *part,
		    struct unit **ret_unit)
{
	struct unit *unit;
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

static bool is_tested(const struct untested_work *w, const void *key)
{
	uint32_t index;

	return pp_keyed_find(&w->set, key, &index) == 0;
}

static struct unit unit_of(const struct pathprof_path_row *row, uint32_t binary)
{
	return (struct unit){
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
static int settle(struct untested_work *w, struct unit *unit, const struct unit *part,
		  const struct pathprof_block *blocks, uint32_t cnt)
{
	uint32_t wanted = w->u->settings.min_bursts;

	if (unit->looks + 1e-9 < wanted && ceil(unit->looks - 1e-9) < wanted) {
		w->u->doubtful += part->weight;
		return 0;
	}
	unit->is_untested = true;
	return judge(w, part, blocks, cnt);
}

static int compare_path(struct untested_work *w, const struct unit *part)
{
	struct unit *unit;
	struct way way;
	int r = add_unit(w, &part->key, part, &unit);

	if (r < 0 || is_tested(w, &part->key))
		return r;
	return walk(w, &part->key, &way) ? settle(w, unit, part, way.blocks, way.cnt)
					 : settle(w, unit, part, NULL, 0);
}

/* ---------------------------------------------------------------- pieces */

/* true: *at is behind the next call of a block. What was walked through can be read again. */
static bool behind_call(struct pathprof_code *code, uint64_t *at, uint64_t end)
{
	char text[INSTRUCTION_SIZE];
	unsigned int len;

	while (*at < end) {
		if (pathprof_code_instruction(code, *at, text, sizeof(text), &len) < 0)
			return false;
		*at += len;
		if (strncmp(text, "call", 4) == 0)
			return true;
	}
	return false;
}

/* The pieces of a path, as they are cut. */
struct cutting {
	struct untested_work *w;
	const struct unit *path;
	const struct way *way;
	uint64_t start;
	uint32_t first; /* branch of the path, and block */
	bool is_fresh;
	bool is_tested; /* all of the path, and so all of its pieces */
};

/* Up to branch `end` of the path; it ran through that many blocks from its first one on. */
static int end_piece(const struct cutting *c, uint32_t end, uint32_t cnt)
{
	uint32_t length = end - c->first;
	struct unit part = *c->path, *unit;
	struct pathprof_block blocks[BLOCKS_MAX];
	int r;

	part.key.start = c->start;
	part.key.length = length;
	part.key.outcomes = length < 32 ? (c->path->key.outcomes >> c->first) & ((1u << length) - 1)
					: c->path->key.outcomes;
	r = add_unit(c->w, &part.key, &part, &unit);
	if (r < 0 || c->is_tested || is_tested(c->w, &part.key))
		return r;
	memcpy(blocks, c->way->blocks + c->first, cnt * sizeof(blocks[0]));
	/* The piece begins behind the call, in the middle of its first block. */
	if (cnt)
		blocks[0].start = c->start;
	return settle(c->w, unit, &part, blocks, cnt);
}

/*
 * A piece that began behind a call and ended with the path's 32nd branch is none: it goes on in the
 * tested set. Nor is the first of a path that begins behind another's 32nd branch; of those that
 * were tested whole nothing is asked.
 */
static int cut_path(struct untested_work *w, const struct unit *path, const struct way *way)
{
	struct pathprof_code *code = code_of(w, path->key.binary);
	struct cutting c = {
		.w = w, .path = path, .way = way, .start = path->key.start, .is_fresh = true};
	uint32_t length = path->key.length, index;
	int r = 0;

	c.is_tested = pp_keyed_find(&w->paths, &path->key, &index) == 0;
	for (uint32_t block = 0; block < way->cnt && r == 0; block++) {
		uint64_t at = way->blocks[block].start;

		while (r == 0 && behind_call(code, &at, way->blocks[block].end)) {
			/* The block of the call is not run through yet. */
			r = end_piece(&c, block, block - c.first);
			c.start = at;
			c.first = block;
			c.is_fresh = false;
		}
	}
	if (r == 0 && (c.is_fresh || length < 32))
		r = end_piece(&c, length, way->cnt - c.first);
	return r;
}

static int compare_pieces(struct untested_work *w, const struct unit *path)
{
	struct way way;

	if (walk(w, &path->key, &way) && way.cnt)
		return cut_path(w, path, &way);
	w->u->unread += path->weight;
	return 0;
}

/* ---------------------------------------------------------------- the selection */

static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct untested_work *w = context;
	struct unit unit;
	uint32_t binary;

	if (!(row->weight > 0))
		return 0;
	if (find_binary(w, &row->binary_id, row->binary_name, &binary) < 0) {
		w->u->left_out += row->weight;
		return 0;
	}
	w->u->compared += row->weight;
	unit = unit_of(row, binary);
	return w->u->settings.unit == UNTESTED_PATH ? compare_path(w, &unit)
						    : compare_pieces(w, &unit);
}

static int take_piece(void *context, const struct pathprof_piece_row *row)
{
	struct untested_work *w = context;
	struct unit *unit, part = {.weight = (double)row->count,
				   .samples = row->count,
				   .looks = 1,
				   .key = {.start = row->piece.start,
					   .length = row->piece.length,
					   .outcomes = row->piece.outcomes}};
	struct way way;
	int r;

	if (find_binary(w, &row->piece.binary_id, row->piece.binary_name, &part.key.binary) < 0) {
		w->u->left_out += part.weight;
		return 0;
	}
	w->u->compared += part.weight;
	r = add_unit(w, &part.key, &part, &unit);
	if (r < 0 || is_tested(w, &part.key))
		return r;
	/* The code of one that a call ended goes on, so it has no such path. */
	return walk(w, &part.key, &way) ? settle(w, unit, &part, way.blocks, way.cnt)
					: settle(w, unit, &part, NULL, 0);
}

static int take_segment(void *context, const struct pathprof_segment_row *row)
{
	struct untested_work *w = context;
	struct unit *unit, part = {.weight = (double)row->count, .samples = row->count, .looks = 1};
	struct segment_key key = {.first = {.start = row->first.start,
					    .length = row->first.length,
					    .outcomes = row->first.outcomes},
				  .second = {.start = row->second.start,
					     .length = row->second.length,
					     .outcomes = row->second.outcomes}};
	int r;

	if (find_binary(w, &row->first.binary_id, row->first.binary_name, &key.first.binary) < 0 ||
	    find_binary(w, &row->second.binary_id, row->second.binary_name, &key.second.binary) <
		    0) {
		w->u->left_out += part.weight;
		return 0;
	}
	w->u->compared += part.weight;
	part.key = key.second;
	r = add_unit(w, &key, &part, &unit);
	return r < 0 || is_tested(w, &key) ? r : settle(w, unit, &part, NULL, 0);
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
		const struct unit *unit = unit_at(w, i);

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
	int r = load_set(w, error);

	all.limit = 0;
	if (r == 0)
		r = load_selection(w, store, &all, error);
	if ((r == -ENOMEM || r == -ENOSPC) && !error->text[0])
		return pathprof_fail(error, r, "out of memory");
	if (r < 0)
		return r;
	if (!w->units.cnt)
		return pathprof_fail(error, -ENODATA,
				     "nothing of what is selected can be compared: the tested set "
				     "has other builds, or nothing of them ran");
	return estimate(w, error);
}

int untested_work_out(struct untested **ret_untested, const struct tested *tested,
		      struct pathprof_store *store, const struct pathprof_filter *filter,
		      struct symbols *symbols, const struct untested_settings *settings,
		      struct pathprof_error *error)
{
	struct untested *u = ctl_alloc(sizeof(*u));
	struct untested_work *w = ctl_alloc(sizeof(*w));
	size_t key = settings->unit == UNTESTED_SEGMENT ? sizeof(struct segment_key)
							: sizeof(struct tested_key);
	int r;

	*u = (struct untested){.settings = *settings, .work = w};
	*w = (struct untested_work){.u = u, .tested = tested, .symbols = symbols};
	pp_keyed_init(&w->ids, sizeof(struct pathprof_build_id), sizeof(struct pathprof_build_id),
		      1u << 20, 0);
	pp_keyed_init(&w->paths, sizeof(struct tested_key), sizeof(struct tested_key), KEYS_MAX, 0);
	pp_keyed_init(&w->set, key, key, KEYS_MAX, 0);
	pp_keyed_init(&w->units, key + sizeof(struct unit), key, KEYS_MAX, 0);
	pp_keyed_init(&w->departures, sizeof(struct untested_departure),
		      offsetof(struct untested_departure, weight), KEYS_MAX, 0);
	r = compare(w, store, filter, error);
	if (r < 0)
		untested_free(u);
	else
		*ret_untested = u;
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
