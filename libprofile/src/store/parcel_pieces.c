// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Pieces of a slot: see pp_parcel_pieces.h. */
#include "pp_parcel_pieces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define KEY_BYTES 8

/* ---------------------------------------------------------------- keys as bytes */

static void put_key(uint8_t bytes[KEY_BYTES], uint64_t key)
{
	for (int i = 0; i < KEY_BYTES; i++)
		bytes[i] = (uint8_t)(key >> (8 * i));
}

static uint64_t get_key(const uint8_t bytes[KEY_BYTES])
{
	uint64_t key = 0;

	for (int i = 0; i < KEY_BYTES; i++)
		key |= (uint64_t)bytes[i] << (8 * i);
	return key;
}

uint8_t *pp_parcel_pieces_recorded(const struct pathprof_parcel_part *part, size_t *ret_bytes)
{
	uint8_t *bytes = calloc(part->window_cnt + 1ul, KEY_BYTES);

	*ret_bytes = part->window_cnt * (size_t)KEY_BYTES;
	for (uint32_t i = 0; bytes && i < part->window_cnt; i++)
		put_key(bytes + i * (size_t)KEY_BYTES,
			pathprof_parcel_window_key(&part->windows[i]));
	return bytes;
}

char *pp_parcel_boot(const uint8_t store[PATHPROF_PARCEL_STORE_BYTES],
		     char text[PP_PARCEL_BOOT_LEN])
{
	char *at = stpcpy(text, "store:");

	for (int i = 0; i < PATHPROF_PARCEL_STORE_BYTES; i++)
		at += snprintf(at, 3, "%02x", store[i]);
	return text;
}

bool pathprof_store_of_boot(const char *boot, uint8_t ret_store[PATHPROF_PARCEL_STORE_BYTES])
{
	static const char prefix[] = "store:";
	const char *digits = boot + strlen(prefix);

	if (strncmp(boot, prefix, strlen(prefix)) != 0 ||
	    strlen(digits) != (size_t)2 * PATHPROF_PARCEL_STORE_BYTES ||
	    digits[strspn(digits, "0123456789abcdef")])
		return false;
	for (int i = 0; i < PATHPROF_PARCEL_STORE_BYTES; i++)
		sscanf(digits + (size_t)2 * i, "%2hhx", &ret_store[i]);
	return true;
}

/* ---------------------------------------------------------------- what is there */

static int read_keys(struct pp_parcel_piece *piece, sqlite3_stmt *stmt, int column)
{
	const uint8_t *bytes = sqlite3_column_blob(stmt, column);
	size_t cnt = (size_t)sqlite3_column_bytes(stmt, column) / KEY_BYTES;

	piece->unknown = sqlite3_column_type(stmt, column) != SQLITE_BLOB;
	if (piece->unknown)
		return 0;
	piece->keys = calloc(cnt + 1, sizeof(*piece->keys));
	if (!piece->keys)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		piece->keys[i] = get_key(bytes + i * KEY_BYTES);
	piece->key_cnt = cnt;
	return 0;
}

bool pp_parcel_pieces_digest(sqlite3_stmt *stmt, int column, uint64_t *ret_digest)
{
	const uint8_t *bytes = sqlite3_column_blob(stmt, column);
	size_t cnt = (size_t)sqlite3_column_bytes(stmt, column) / KEY_BYTES;

	*ret_digest = 0;
	if (sqlite3_column_type(stmt, column) != SQLITE_BLOB)
		return false;
	for (size_t i = 0; i < cnt; i++)
		*ret_digest += get_key(bytes + i * KEY_BYTES);
	return true;
}

static int take_piece(struct pp_parcel_pieces *pieces, struct pathprof_store *store,
		      sqlite3_stmt *stmt, const char *host, struct pathprof_error *error)
{
	struct pp_row row = PP_ROW(stmt);
	struct pp_parcel_piece *piece;

	if (pp_resize(&pieces->list, pieces->cnt + 1) < 0)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	piece = &pieces->list[pieces->cnt++];
	*piece = (struct pp_parcel_piece){
		.parcel = pp_row_int(&row, 0, 1, INT64_MAX),
		.parcel_windows = pp_row_u32(&row, 1),
		.other_host = strcmp(pp_row_text(&row, 2), host) != 0,
		.window = pp_row_int(&row, 3, 1, INT64_MAX),
		.shared = pp_row_int(&row, 5, 1, INT64_MAX) > 1,
	};
	if (read_keys(piece, stmt, 4) < 0)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	return pp_row_end(&row, store, error);
}

int pp_parcel_pieces_read(struct pp_parcel_pieces *ret_pieces, struct pathprof_store *store,
			  const uint8_t of[PATHPROF_PARCEL_STORE_BYTES], int64_t slot_s,
			  const char *host, struct pathprof_error *error)
{
	sqlite3_stmt *stmt = NULL;
	int r = pp_sql_get(store, PP_STMT_PARCEL_PIECES, &stmt, error);

	*ret_pieces = (struct pp_parcel_pieces){.cnt = 0};
	if (r < 0)
		return r;
	sqlite3_bind_blob(stmt, 1, of, PATHPROF_PARCEL_STORE_BYTES, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, slot_s);
	while ((r = pp_sql_step(store, stmt, error)) > 0) {
		r = take_piece(ret_pieces, store, stmt, host, error);
		if (r < 0)
			break;
	}
	sqlite3_reset(stmt);
	if (r < 0)
		pp_parcel_pieces_release(ret_pieces);
	return r;
}

void pp_parcel_pieces_release(struct pp_parcel_pieces *pieces)
{
	for (size_t i = 0; i < pieces->cnt; i++)
		free(pieces->list[i].keys);
	free(pieces->list);
	*pieces = (struct pp_parcel_pieces){.cnt = 0};
}

/* ---------------------------------------------------------------- how a parcel stands to it */

/* The windows of a parcel, and which of them are there already. */
struct fresh {
	uint64_t *keys; /* ascending */
	bool *is_known;
	size_t cnt, known_cnt;
};

static int compare_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int fresh_init(struct fresh *fresh, const struct pathprof_parcel *parcel)
{
	uint32_t cnt = pathprof_parcel_window_cnt(parcel);

	fresh->keys = calloc(cnt + 1ul, sizeof(*fresh->keys));
	fresh->is_known = calloc(cnt + 1ul, sizeof(*fresh->is_known));
	if (!fresh->keys || !fresh->is_known)
		return -ENOMEM;
	for (uint32_t i = 0; i < parcel->part_cnt; i++)
		for (uint32_t j = 0; j < parcel->parts[i].window_cnt; j++)
			fresh->keys[fresh->cnt++] =
				pathprof_parcel_window_key(&parcel->parts[i].windows[j]);
	qsort(fresh->keys, fresh->cnt, sizeof(*fresh->keys), compare_key);
	return 0;
}

static void fresh_release(struct fresh *fresh)
{
	free(fresh->keys);
	free(fresh->is_known);
}

/* How many of the piece's windows the parcel has as well. */
static size_t mark_known(struct fresh *fresh, const struct pp_parcel_piece *piece)
{
	size_t cnt = 0;

	for (size_t i = 0; i < piece->key_cnt; i++) {
		const uint64_t *at = bsearch(&piece->keys[i], fresh->keys, fresh->cnt,
					     sizeof(*fresh->keys), compare_key);

		if (!at)
			continue;
		cnt++;
		fresh->known_cnt += !fresh->is_known[at - fresh->keys];
		fresh->is_known[at - fresh->keys] = true;
	}
	return cnt;
}

/* Whether a piece whose windows are unknown, written before their keys were kept, gives way to the
 * parcel. Its host's whole parcel is compared: the one with more windows stays. */
static bool is_emptier(const struct pp_parcel_piece *piece, const struct fresh *fresh)
{
	return !piece->other_host && piece->parcel_windows < fresh->cnt;
}

/* The decision on all pieces together. */
struct verdict {
	size_t stays; /* pieces that have nothing to do with the parcel */
	size_t torn;  /* windows of pieces of which it has a part */
	bool fixed;   /* some of it is where it stays: another host's, or rolled */
	bool full;    /* a piece of unknown windows is as full */
};

static void judge_piece(struct verdict *verdict, struct pp_parcel_piece *piece, struct fresh *fresh)
{
	size_t common = mark_known(fresh, piece);

	if (piece->unknown) {
		piece->gone = is_emptier(piece, fresh);
		verdict->full = verdict->full || !piece->gone;
	} else if (!common) {
		verdict->stays++;
	} else if (piece->other_host || piece->shared) {
		verdict->fixed = true;
	} else {
		piece->gone = true;
		verdict->torn += common < piece->key_cnt ? piece->key_cnt : 0;
	}
}

static enum pathprof_parcel_added added_of(const struct pp_parcel_pieces *pieces,
					   const struct verdict *verdict)
{
	if (verdict->stays)
		return PATHPROF_PARCEL_BESIDE;
	return pieces->cnt ? PATHPROF_PARCEL_REPLACED : PATHPROF_PARCEL_ADDED;
}

static int judge(struct pp_parcel_pieces *pieces, struct fresh *fresh, uint32_t part_cnt,
		 enum pathprof_parcel_added *ret_added, struct pathprof_error *error)
{
	struct verdict verdict = {.stays = 0};

	for (size_t i = 0; i < pieces->cnt; i++)
		judge_piece(&verdict, &pieces->list[i], fresh);
	*ret_added = PATHPROF_PARCEL_KNOWN;
	/* Two futures in one parcel each: a sender that does not ask first loses the emptier one.
	 */
	if (verdict.full || fresh->known_cnt == fresh->cnt || verdict.torn >= fresh->cnt)
		return 0;
	if (verdict.fixed)
		return pathprof_fail(
			error, -EEXIST,
			"some of its windows are there under another host's name, or summed up "
			"with those of their hour: the others alone may be added");
	if (verdict.stays + part_cnt > PATHPROF_PARCEL_PARTS_MAX)
		return pathprof_fail(error, -E2BIG,
				     "parcels of one slot have more than %u parts together",
				     PATHPROF_PARCEL_PARTS_MAX);
	*ret_added = added_of(pieces, &verdict);
	return 0;
}

int pp_parcel_pieces_judge(struct pp_parcel_pieces *pieces, const struct pathprof_parcel *parcel,
			   enum pathprof_parcel_added *ret_added, struct pathprof_error *error)
{
	struct fresh fresh = {.cnt = 0};
	int r = fresh_init(&fresh, parcel);

	if (r < 0)
		pathprof_fail(error, r, "out of memory");
	else
		r = judge(pieces, &fresh, parcel->part_cnt, ret_added, error);
	fresh_release(&fresh);
	return r;
}

/* ---------------------------------------------------------------- for those who send */

static int add_keys(struct pathprof_parcel_key **keys, size_t *cnt,
		    const struct pp_parcel_piece *piece)
{
	if (pp_resize(keys, *cnt + piece->key_cnt + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < piece->key_cnt; i++)
		(*keys)[(*cnt)++] = (struct pathprof_parcel_key){
			.key = piece->keys[i], .fixed = piece->other_host || piece->shared};
	return 0;
}

int pathprof_store_parcel_keys(struct pathprof_store *store,
			       const uint8_t of[PATHPROF_PARCEL_STORE_BYTES], int64_t slot_s,
			       const char *host, struct pathprof_parcel_key **ret_keys,
			       size_t *ret_cnt, struct pathprof_error *error)
{
	struct pathprof_parcel_key *keys = NULL;
	struct pp_parcel_pieces pieces;
	size_t cnt = 0;
	int r = pp_parcel_pieces_read(&pieces, store, of, slot_s, host, error);
	bool fits = true;

	for (size_t i = 0; r == 0 && fits && i < pieces.cnt; i++)
		fits = add_keys(&keys, &cnt, &pieces.list[i]) == 0;
	pp_parcel_pieces_release(&pieces);
	if (!fits)
		r = pathprof_fail(error, -ENOMEM, "out of memory");
	if (r < 0) {
		free(keys);
		return r;
	}
	*ret_keys = keys;
	*ret_cnt = cnt;
	return 0;
}
