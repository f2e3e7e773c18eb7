/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Coding of numbers in few bits: a binary range coder whose probabilities learn from the numbers
 * before. One function both writes and reads a number, so the two sides cannot come to differ.
 *
 * Workload: some 100,000 numbers a parcel, 5 ns a bit. Locking: none, one thread. Ownership: who
 * begins to write owns the bytes; models are zero at first, and lie with the caller.
 *
 * Source: G. N. N. Martin, Range encoding, 1979; carries as in LZMA; counters whose rate falls with
 * what they saw as in lpaq.
 */
#ifndef PP_PARCEL_CODE_H
#define PP_PARCEL_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_CODE_CONTEXTS 24

/* The chance of a 0, in 1/65536 and apart from a half; how often it was asked. Zero: a half. */
struct pp_code_bit {
	uint16_t chance, seen;
};

/* Numbers of one column: how many digits they have, in each context, and their leading digits. */
struct pp_code_number {
	struct pp_code_bit size[PP_CODE_CONTEXTS][16], large[64];
	struct pp_code_bit lead[65][8];
};

struct pp_coder {
	bool is_reading;
	bool failed; /* out of memory, or bytes ended before numbers did */
	uint32_t range, code;
	/* Writing: the caller frees out. */
	uint8_t *out;
	size_t out_len, out_room;
	uint64_t low, pending;
	uint8_t cache;
	/* Reading. */
	const uint8_t *in;
	size_t in_len, in_at;
};

void pp_coder_write(struct pp_coder *coder);
/* Writes what is left; nothing follows. */
void pp_coder_finish(struct pp_coder *coder);
void pp_coder_read(struct pp_coder *coder, const uint8_t *bytes, size_t len_bytes);
/* Whether numbers took all of the bytes and no more. */
bool pp_coder_is_whole(const struct pp_coder *coder);

/* Each returns the value: the one given when writing, the one that is there when reading. */
bool pp_code_bit(struct pp_coder *coder, struct pp_code_bit *model, bool bit);
/* The lowest `cnt` bits, all equally probable but for the first three, which model[8] knows. */
uint64_t pp_code_digits(struct pp_coder *coder, struct pp_code_bit model[8], int cnt,
			uint64_t value);
/* The lowest `cnt` bits, each by all those above it: model[1 << cnt] knows them. */
uint32_t pp_code_symbol(struct pp_coder *coder, struct pp_code_bit *model, int cnt, uint32_t value);
/* A context beyond the last counts as the last. */
uint64_t pp_code_number(struct pp_coder *coder, struct pp_code_number *model, uint64_t context,
			uint64_t value);

/* Binary digits of a number; 0 has none. */
static inline int pp_code_size(uint64_t value)
{
	return value ? 64 - __builtin_clzll(value) : 0;
}

#endif
