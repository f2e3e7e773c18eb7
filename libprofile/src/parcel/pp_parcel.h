/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Helpers that the files of parcels share: memory for one message, and zstd within the limits.
 *
 * Locking: none, one thread. Ownership: whoever makes an arena releases it, and all that was taken
 * of it with it.
 */
#ifndef PP_PARCEL_H
#define PP_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "pathprof/parcel.h"

/*
 * The memory limit of a message and its columns: 64 MiB of one-byte numbers would become 512 MiB. A
 * million rows take 60 MiB.
 */
#define PP_PARCEL_MESSAGE_BYTES ((size_t)192 << 20)

struct pp_arena_chunk;

/* Memory that is zero when taken, and freed all at once. */
struct pp_arena {
	struct pp_arena_chunk *chunks; /* the newest first */
	size_t taken_bytes, max_bytes;
	bool failed; /* something was not given */
};

/* NULL when the bound is reached or memory is out. */
void *pp_arena_take(struct pp_arena *arena, size_t cnt, size_t size);
void pp_arena_release(struct pp_arena *arena);
/* For protobuf-c; its free does nothing. */
ProtobufCAllocator pp_arena_allocator(struct pp_arena *arena);

/* Versions from which on tables are rows: pp_parcel_rows.h. */
#define PP_PARCEL_ROWS 2u

/* The sizes that are limited, summed over all parts. */
struct pp_parcel_sizes {
	size_t parts, windows, names, rows;
	size_t functions, portables, keys;
};
/* -E2BIG, and which of them is too many. */
int pp_parcel_check_sizes(const struct pp_parcel_sizes *sizes, struct pathprof_error *error);
/* Whether it is one that can be; code: what to return if it is not. */
int pp_parcel_check(const struct pathprof_parcel *parcel, int code, struct pathprof_error *error);

struct Pathprof__Parcel;
/* Names of a message whose sizes were checked. -EBADMSG, -E2BIG, -ENOMEM. */
int pp_parcel_read_names(struct pathprof_parcel *parcel, const struct Pathprof__Parcel *m,
			 struct pathprof_error *error);

/* Sets os and model by the files below root: "", or a directory of a test. */
void pp_parcel_read_host(struct pathprof_parcel_host *host, const char *root);

/*
 * A weight that was looked at `looks` times, with digits down to a twentieth of its error; one that
 * has no more digits stays as it is. Sums over many rows stay the same: `row` counts them.
 */
float pp_parcel_round(double weight, double looks, size_t row);
/* Binary digits that it leaves of such a weight; looks in 1/256. */
int pp_parcel_weight_bits(uint64_t looks_256);
/* In any unit, within 1/32 of itself; 0 stays 0, and what was rounded before stays as it is. */
uint32_t pp_parcel_round_looks(uint32_t units);

/* The caller frees *ret_bytes. */
int pp_parcel_pack(const uint8_t *message, size_t message_bytes, uint32_t version,
		   uint8_t **ret_bytes, size_t *ret_len_bytes, struct pathprof_error *error);
int pp_parcel_unpack(const void *bytes, size_t len_bytes, uint8_t **ret_message,
		     size_t *ret_message_bytes, struct pathprof_error *error);

#endif
