// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Builds that no test ran, of programs of which tests ran another build: see untested_work.h. Units
 * that tests ran in functions that both builds have in the same shape are put into the set as if
 * this build had run, so all results, down to the line of a departure, have this build's places.
 *
 * Functions of one name and shape (static ones of two files) are not told apart: tests of one of
 * them count for all.
 */
#include "untested_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../ctl.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "base/variants.h"
#include "base/vector.h"

/* ---------------------------------------------------------------- names */

static void read_names(struct untested_work *w, uint32_t binary, struct untested_names *names)
{
	const struct untested_binary *b = &w->u->binaries[binary];
	struct pathprof_code *code = symbols_code(w->symbols, &b->id, b->name, &w->u->why);

	if (code &&
	    graphs_open(&names->graph, w->u->settings.options, code, b->name, &w->u->why) == 0)
		pathprof_matcher_new(&names->matcher, names->graph);
}

static struct untested_reading *reading_of(struct untested_work *w, uint32_t binary)
{
	if (binary >= w->reading_cnt) {
		w->readings = ctl_realloc(w->readings, w->reading_cnt, w->u->binary_cnt,
					  sizeof(*w->readings));
		w->reading_cnt = w->u->binary_cnt;
	}
	return &w->readings[binary];
}

const struct untested_names *untested_names(const struct untested *untested, uint32_t binary)
{
	struct untested_reading *reading = reading_of(untested->work, binary);

	if (!reading->is_read) {
		reading->is_read = true;
		read_names(untested->work, binary, &reading->names);
	}
	return reading->names.matcher ? &reading->names : NULL;
}

void untested_builds_release(struct untested_work *w)
{
	for (uint32_t i = 0; i < w->reading_cnt; i++) {
		pathprof_matcher_free(w->readings[i].names.matcher);
		pathprof_graph_free(w->readings[i].names.graph);
		free(w->readings[i].same);
	}
	free(w->readings);
}

/* ---------------------------------------------------------------- what tests ran of the other */

/* One place of the tested build in another. */
struct moving {
	struct untested_work *w;
	uint32_t tested, other; /* binaries */
	struct pathprof_matcher *from, *to;
	struct tested_key key;    /* as it is being moved */
	struct tested_key *moved; /* where it lies in the other build */
	uint32_t moved_cnt, moved_room;
};

static int take_place(void *context, uint64_t start)
{
	struct moving *m = context;

	ctl_grow(&m->moved, m->moved_cnt, &m->moved_room);
	m->moved[m->moved_cnt] = m->key;
	m->moved[m->moved_cnt].binary = m->other;
	m->moved[m->moved_cnt++].start = start;
	return 0;
}

static int move_key(struct moving *m, const struct tested_key *key)
{
	int r;

	m->key = *key;
	m->moved_cnt = 0;
	r = pathprof_matcher_places(m->from, key->start, m->to, take_place, m);
	return r == -ENOENT ? 0 : r;
}

static int move_keys(struct moving *m, struct pp_keyed *keys)
{
	const uint32_t cnt = keys->cnt;
	uint32_t index;
	int r = 0;

	for (uint32_t i = 0; i < cnt && r == 0; i++) {
		const struct tested_key key = *(const struct tested_key *)pp_keyed_item(keys, i);

		if (key.binary != m->tested)
			continue;
		r = move_key(m, &key);
		for (uint32_t j = 0; j < m->moved_cnt && r == 0; j++)
			r = pp_keyed_at(keys, &m->moved[j], &index);
	}
	return r;
}

/* Moves the two pieces of a segment, of which one may lie in another binary, and stays. */
static int move_segment(struct moving *m, const struct untested_segment_key *segment)
{
	const bool is_first = segment->first.binary == m->tested;
	const bool is_second = segment->second.binary == m->tested;
	struct tested_key *firsts = NULL;
	uint32_t first_cnt = 1, index;
	int r = move_key(m, is_first ? &segment->first : &segment->second);

	if (is_first && is_second) {
		first_cnt = m->moved_cnt;
		firsts = m->moved;
		m->moved = NULL;
		m->moved_room = 0;
		r = r ? r : move_key(m, &segment->second);
	}
	for (uint32_t i = 0; i < first_cnt; i++)
		for (uint32_t j = 0; j < m->moved_cnt && r == 0; j++) {
			struct untested_segment_key key = *segment;

			if (is_first)
				key.first = firsts ? firsts[i] : m->moved[j];
			if (is_second)
				key.second = m->moved[j];
			r = pp_keyed_at(&m->w->set, &key, &index);
		}
	free(firsts);
	return r;
}

static int move_segments(struct moving *m)
{
	const uint32_t cnt = m->w->set.cnt;
	int r = 0;

	for (uint32_t i = 0; i < cnt && r == 0; i++) {
		const struct untested_segment_key segment =
			*(const struct untested_segment_key *)pp_keyed_item(&m->w->set, i);

		if (segment.first.binary == m->tested || segment.second.binary == m->tested)
			r = move_segment(m, &segment);
	}
	return r;
}

/* Paths and pieces are moved even if they are not the unit, since they say which code was
 * tested. */
static int move_all(struct untested_work *w, uint32_t tested, uint32_t other)
{
	const struct untested_names *from = untested_names(w->u, tested);
	const struct untested_names *to = untested_names(w->u, other);
	struct moving m = {.w = w, .tested = tested, .other = other};
	int r;

	if (!from || !to)
		return 0;
	/* Reading the second may have moved the first. */
	m.from = untested_names(w->u, tested)->matcher;
	m.to = to->matcher;
	w->u->binaries[tested].is_matched = true;
	r = move_keys(&m, &w->paths);
	if (r == 0)
		r = move_keys(&m, &w->pieces);
	if (r == 0)
		r = w->u->settings.unit == UNTESTED_SEGMENT ? move_segments(&m)
							    : move_keys(&m, &w->set);
	free(m.moved);
	return r;
}

/* ---------------------------------------------------------------- which builds */

/* Binaries of the selection. */
struct selected {
	struct untested_work *w;
	struct untested_binary *binaries; /* id and name */
	uint32_t cnt, room;
};

static int take_binary(void *context, const struct pathprof_binary_row *row)
{
	struct selected *selected = context;
	uint32_t index;

	if (!row->name[0] || row->binary_id.kind == PATHPROF_ID_JIT ||
	    (!selected->w->u->settings.all_binaries && pp_chooses_variants(row->name)) ||
	    pp_keyed_find(&selected->w->ids, &row->binary_id, &index) == 0)
		return 0;
	ctl_grow(&selected->binaries, selected->cnt, &selected->room);
	selected->binaries[selected->cnt++] =
		(struct untested_binary){.id = row->binary_id, .name = ctl_strdup(row->name)};
	return 0;
}

static bool has_name(const struct untested_binary *tested, const char *name, bool whole)
{
	return whole ? !strcmp(tested->name, name)
		     : !strcmp(text_base_name(tested->name), text_base_name(name));
}

/* Takes all builds of that path; if tests ran none of it, those of the same file name. */
static int match_build(struct untested_work *w, const struct untested_binary *build,
		       uint32_t tested_cnt)
{
	bool is_whole = false, is_named = false;
	uint32_t other;
	int r;

	for (uint32_t i = 0; i < tested_cnt; i++) {
		is_whole |= has_name(&w->u->binaries[i], build->name, true);
		is_named |= has_name(&w->u->binaries[i], build->name, false);
	}
	if (!is_named)
		return 0;
	r = untested_set_add_binary(w, &build->id, build->name, &other);
	w->u->binaries[other].is_other = true;
	for (uint32_t i = 0; i < tested_cnt && r == 0; i++)
		if (has_name(&w->u->binaries[i], build->name, is_whole))
			r = move_all(w, i, other);
	return r;
}

int untested_builds_match(struct untested_work *w, struct pathprof_store *store,
			  const struct pathprof_filter *filter, struct pathprof_error *error)
{
	struct selected selected = {.w = w};
	const uint32_t tested_cnt = w->u->binary_cnt;
	int r = pathprof_store_binaries(store, filter, take_binary, &selected, error);

	for (uint32_t i = 0; i < selected.cnt; i++) {
		if (r == 0)
			r = match_build(w, &selected.binaries[i], tested_cnt);
		free(selected.binaries[i].name);
	}
	free(selected.binaries);
	return r;
}

/* ---------------------------------------------------------------- what can be compared */

static bool does_one_have(const struct untested_work *w, uint32_t other, uint64_t function)
{
	const struct untested *u = w->u;

	for (uint32_t i = 0; i < u->binary_cnt; i++) {
		const struct untested_names *names;

		if (!u->binaries[i].is_matched ||
		    !has_name(&u->binaries[i], u->binaries[other].name, false))
			continue;
		names = untested_names(u, i);
		if (names && pathprof_matcher_has(names->matcher, function) > 0)
			return true;
	}
	return false;
}

/* Whether the function that holds this block is the same one in a tested build. */
static bool is_same(struct untested_work *w, uint32_t binary, uint64_t offset)
{
	const struct untested_names *names = untested_names(w->u, binary);
	struct untested_reading *reading = reading_of(w, binary);
	struct pathprof_event event;
	uint32_t block, function;

	block = names ? pathprof_graph_block_at(names->graph, offset) : PATHPROF_GRAPH_NONE;
	if (block == PATHPROF_GRAPH_NONE)
		return false;
	function = names->graph->blocks[block].function;
	if (!reading->same)
		reading->same = ctl_alloc(names->graph->function_cnt + 1ul);
	if (!reading->same[function]) {
		bool same = pathprof_matcher_path(names->matcher, names->graph->blocks[block].start,
						  0, 0, 1, &event) == 0 &&
			    does_one_have(w, binary, event.key_hi);

		reading->same[function] = same ? 1 : 2;
	}
	return reading->same[function] == 1;
}

bool untested_builds_same(struct untested_work *w, const struct tested_key *key)
{
	struct untested_way way;

	if (!w->u->binaries[key->binary].is_other || untested_set_has_path(w, key))
		return true;
	if (!is_same(w, key->binary, key->start))
		return false;
	/* A path may jump from its function into one that changed. */
	if (untested_code_walk(w, key, &way))
		for (uint32_t i = 0; i < way.cnt; i++)
			if (!is_same(w, key->binary, way.blocks[i].start))
				return false;
	return true;
}

bool untested_builds_weigh(struct untested_work *w, const struct tested_key *key, double weight)
{
	struct untested_binary *binary = &w->u->binaries[key->binary];

	if (untested_builds_same(w, key)) {
		w->u->compared += weight;
		binary->compared += weight;
		return true;
	}
	w->u->unmatched += weight;
	binary->unmatched += weight;
	return false;
}
