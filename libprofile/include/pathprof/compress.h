/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The compressors of the stratified sampler (Sastry, Bodik, Smith 2001) in their paper's notation:
 *
 *   R256  P256  CR256            random, periodic, counting random sampler
 *   H[P256]2048                  split by hash into 2048 substreams, each sampled by P256
 *   T[256]2048                   tagged table of 2048 entries that report at 256 hits
 *   ...A16                       a 16-entry table behind any of these
 *
 * and two of our own:
 *
 *   PR256, H[PR256]2048          P whose periods begin at random: right on average from the start
 *   F64H[PR192]1024              a 64-entry table before a sampler: what it holds is counted
 *                                exactly and kept out of the sampler; who enters, it decides
 *
 * Tuples in, messages out. One object, one thread.
 */
#ifndef PATHPROF_COMPRESS_H
#define PATHPROF_COMPRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_compressor;

struct pathprof_message {
	uint64_t pc, word, count;
};

struct pathprof_compress_options {
	uint64_t seed;     /* of what is random; 0: 1 */
	uint32_t evict;    /* tagged: hits that suffice to report before a replacement; 0: r/2 */
	uint32_t replace;  /* tagged: misses that hand an entry over; 0: 7 */
	uint32_t ways;     /* tagged: 0: 2 */
	uint32_t tag_bits; /* tagged: 0: 2 */
};

/* options may be NULL. -EINVAL with one line for a notation that is invalid or out of range. */
int pathprof_compressor_new(struct pathprof_compressor **ret_compressor, const char *notation,
			    const struct pathprof_compress_options *options,
			    struct pathprof_error *error);
void pathprof_compressor_free(struct pathprof_compressor *compressor);

/* The parameters that a notation stands for, for a compressor that runs in the kernel. */
struct pathprof_compress_form {
	uint32_t sampler; /* enum pp_sampler of the core */
	uint32_t rate;    /* r */
	uint32_t bits;    /* log2 of substreams or sets */
	uint32_t assoc_size, front_size;
	uint32_t phased; /* 1: PR */
	uint32_t ways, tag_bits, evict, replace;
};
/* -EINVAL as above. */
int pathprof_compress_read(struct pathprof_compress_form *ret_form, const char *notation,
			   struct pathprof_error *error);

/* One tuple. true: *ret_message goes out. */
bool pathprof_compressor_step(struct pathprof_compressor *compressor, uint64_t pc, uint64_t word,
			      struct pathprof_message *ret_message);
/* Takes the next message that the table, behind or in front, still holds, slot by slot. false: the
 * table is empty, and *ret_message is untouched. */
bool pathprof_compressor_flush(struct pathprof_compressor *compressor,
			       struct pathprof_message *ret_message);

/* The paper's hash by itself (section 3.5): bytes through a random table, flip, xor, fold. */
struct pathprof_hash {
	uint8_t permutation[256];
};
void pathprof_hash_init(struct pathprof_hash *ret_hash);
/* 0 <= bits <= 64. */
uint64_t pathprof_hash_index(const struct pathprof_hash *hash, uint64_t pc, uint64_t word,
			     unsigned int bits);

#ifdef __cplusplus
}
#endif

#endif
