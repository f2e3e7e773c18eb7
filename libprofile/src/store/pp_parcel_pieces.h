/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The windows that a store has of one slot of another store, and how a parcel of that slot stands
 * to it. A piece is a parcel's part of one of our windows: it sums up recorded windows of the slot,
 * which their keys name (pathprof_parcel_window_key()). Nothing can be taken out of a window that
 * was rolled (parcel_roll.c), so no parcel takes its place. A store that was cloned or put back
 * from a snapshot has two futures; both come under its id, and the keys tell them apart.
 *
 * Workload: a piece or two a slot, some keys each, at most PATHPROF_PARCEL_WINDOWS_MAX. Locking:
 * the writer's, or none for reading. Ownership: pp_parcel_pieces_release() frees everything.
 */
#ifndef PP_PARCEL_PIECES_H
#define PP_PARCEL_PIECES_H

#include "pathprof/parcel_store.h"
#include "pp_store.h"

struct pp_parcel_piece {
	int64_t parcel, window; /* rows of parcels and windows */
	uint32_t parcel_windows;
	bool other_host;
	bool shared;  /* other parcels have a part in the window: it was rolled */
	bool unknown; /* which windows it stands for was not kept */
	uint64_t *keys;
	size_t key_cnt;
	bool gone; /* a parcel takes its place */
};

struct pp_parcel_pieces {
	struct pp_parcel_piece *list;
	size_t cnt;
};

/* Reads the pieces of one store and slot, those of `host` and those of other hosts. */
int pp_parcel_pieces_read(struct pp_parcel_pieces *ret_pieces, struct pathprof_store *store,
			  const uint8_t of[PATHPROF_PARCEL_STORE_BYTES], int64_t slot_s,
			  const char *host, struct pathprof_error *error);
/* Safe on zeros. */
void pp_parcel_pieces_release(struct pp_parcel_pieces *pieces);

/*
 * Decides on a parcel of these pieces' slot; pieces whose place it takes are marked as gone.
 * -EEXIST: some of its windows, but not all, are there from another host or in a window that was
 * rolled. -E2BIG: too many pieces. -ENOMEM.
 */
int pp_parcel_pieces_judge(struct pp_parcel_pieces *pieces, const struct pathprof_parcel *parcel,
			   enum pathprof_parcel_added *ret_added, struct pathprof_error *error);

/* Sum of the keys in a column of parcel_windows.recorded. False: they are not known. */
bool pp_parcel_pieces_digest(sqlite3_stmt *stmt, int column, uint64_t *ret_digest);

/* The boot that workloads of a store have: "store:" and its id. Returns text. */
#define PP_PARCEL_BOOT_LEN (sizeof("store:") + 2 * PATHPROF_PARCEL_STORE_BYTES)
char *pp_parcel_boot(const uint8_t store[PATHPROF_PARCEL_STORE_BYTES],
		     char text[PP_PARCEL_BOOT_LEN]);

/* Bytes of parcel_windows.recorded: 8 for each window of the part. The caller frees. */
uint8_t *pp_parcel_pieces_recorded(const struct pathprof_parcel_part *part, size_t *ret_bytes);

#endif
