// SPDX-License-Identifier: GPL-2.0-or-later
/* The tested set, and the part that a path has in common with it: see untested_work.h. */
#include "untested_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "base/search.h"
#include "base/variants.h"

int untested_set_add_binary(struct untested_work *w, const struct pathprof_build_id *id,
			    const char *name, uint32_t *ret_index)
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

/* -ENOENT: the tested set has nothing of that binary, or the binary is not compared. */
int untested_set_find_binary(const struct untested_work *w, const struct pathprof_build_id *id,
			     const char *name, uint32_t *ret_index)
{
	if (!w->u->settings.all_binaries && pp_chooses_variants(name))
		return -ENOENT;
	return pp_keyed_find(&w->ids, id, ret_index);
}

static int add_tested_path(void *context, const struct pathprof_path_row *row)
{
	struct untested_work *w = context;
	struct tested_key key = {
		.start = row->start, .length = row->length, .outcomes = row->outcomes};
	uint32_t index;
	int r = untested_set_add_binary(w, &row->binary_id, row->binary_name, &key.binary);

	return r < 0 ? r : pp_keyed_at(&w->paths, &key, &index);
}

static int key_of_piece(struct untested_work *w, const struct pathprof_piece *piece,
			struct tested_key *ret_key)
{
	*ret_key = (struct tested_key){
		.start = piece->start, .length = piece->length, .outcomes = piece->outcomes};
	return untested_set_add_binary(w, &piece->binary_id, piece->binary_name, &ret_key->binary);
}

static int add_tested_piece(void *context, const struct pathprof_piece_row *row)
{
	struct untested_work *w = context;
	struct tested_key key;
	uint32_t index;
	int r = key_of_piece(w, &row->piece, &key);

	return r < 0 ? r : pp_keyed_at(&w->pieces, &key, &index);
}

static int add_tested_segment(void *context, const struct pathprof_segment_row *row)
{
	struct untested_work *w = context;
	struct untested_segment_key key;
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

const struct tested_key *untested_set_key(const struct untested_work *w, uint32_t i)
{
	if (w->u->settings.unit == UNTESTED_SEGMENT)
		return &((const struct untested_segment_key *)pp_keyed_item(&w->set, i))->first;
	return pp_keyed_item(&w->set, i);
}

void untested_set_finish(struct untested_work *w)
{
	w->sorted = ctl_alloc(((size_t)w->set.cnt + 1) * sizeof(*w->sorted));
	for (uint32_t i = 0; i < w->set.cnt; i++) {
		w->sorted[i] = *untested_set_key(w, i);
		w->u->binaries[w->sorted[i].binary].tested_cnt++;
	}
	qsort(w->sorted, w->set.cnt, sizeof(*w->sorted), compare_keys);
	w->coverage = ctl_alloc((w->u->binary_cnt + 1) * sizeof(*w->coverage));
}

static int copy_keys(struct untested_work *w, const struct pp_keyed *keys)
{
	uint32_t index;
	int r = 0;

	for (uint32_t i = 0; i < keys->cnt && r == 0; i++)
		r = pp_keyed_at(&w->set, pp_keyed_item(keys, i), &index);
	return r;
}

int untested_set_load(struct untested_work *w, struct pathprof_error *error)
{
	struct pathprof_store *store = w->tested->store;
	int r = pathprof_store_paths(store, NULL, add_tested_path, w, error);

	if (r == 0 && w->u->settings.unit != UNTESTED_PATH)
		r = pathprof_store_pieces(store, NULL, add_tested_piece, w, error);
	if (r < 0)
		return r;
	switch (w->u->settings.unit) {
	case UNTESTED_PATH:
		r = copy_keys(w, &w->paths);
		break;
	case UNTESTED_PIECE:
		r = copy_keys(w, &w->pieces);
		break;
	case UNTESTED_SEGMENT:
		r = pathprof_store_segments(store, NULL, add_tested_segment, w, error);
		break;
	}
	if (r < 0)
		return r;
	w->u->tested_cnt = w->set.cnt;
	return 0;
}

bool untested_set_has(const struct untested_work *w, const void *key)
{
	uint32_t index;

	return pp_keyed_find(&w->set, key, &index) == 0;
}

bool untested_set_has_path(const struct untested_work *w, const struct tested_key *key)
{
	uint32_t index;

	return pp_keyed_find(&w->paths, key, &index) == 0;
}

uint32_t untested_common(const struct tested_key *a, const struct tested_key *b)
{
	uint32_t most = a->length < b->length ? a->length : b->length;
	uint32_t differ = a->outcomes ^ b->outcomes;
	uint32_t same = differ ? (uint32_t)__builtin_ctz(differ) : 32;

	return same < most ? same : most;
}

/* The most branches that the path has in common with a tested one; -1: no tested one begins there.
 */
int32_t untested_set_common(const struct untested_work *w, const struct tested_key *key)
{
	size_t low = pp_first(i, 0, w->set.cnt, compare_keys(&w->sorted[i], key) >= 0);
	int32_t most = -1;

	for (; low < w->set.cnt && compare_keys(&w->sorted[low], key) == 0; low++) {
		int32_t same = (int32_t)untested_common(&w->sorted[low], key);

		most = same > most ? same : most;
	}
	return most;
}
