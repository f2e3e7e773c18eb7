/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Naive models of the hash, the samplers, the tagged compressor and the table behind them (RPS 2
 * to 4), written from the paper: byte arrays, one bit at a time, a record for each substream.
 * Slow, and sharing no trick with the core.
 */
#ifndef ORACLE_COMPRESS_H
#define ORACLE_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The random table T. */
void oracle_hash_table(uint8_t *ret_table);
/* The xor of x's chunks of n bits: bit i of x goes to bit i mod n. */
uint64_t oracle_fold(uint64_t x, unsigned int n);
uint64_t oracle_hash_index(const uint8_t *table, uint64_t pc, uint64_t word, unsigned int n);

/* xorshift64*. */
uint64_t oracle_random_next(uint64_t *state);

/* Ways to be wrong, one at a time, for the test that the comparison can tell. */
enum oracle_fault {
	ORACLE_RIGHT,
	ORACLE_TIE_HIGHEST,    /* ties are broken towards the last, not the first */
	ORACLE_DROPS_MISSES,   /* tagged: E5 hands over the hits without the misses */
	ORACLE_RETAINS_NONE,   /* tagged: E6 retains nothing */
	ORACLE_EVICTS_GREATEST /* second level: the greatest count leaves */
};

struct oracle_compress_config {
	char sampler; /* 'R', 'P', 'C' for CR, 'T' for tagged */
	uint64_t rate;
	unsigned int bits; /* log2 of substreams, or of sets */
	unsigned int ways, tag_bits;
	uint64_t evict, replace;
	unsigned int second; /* entries of the second level, 0: none */
	uint64_t seed;
	enum oracle_fault fault;
};

struct oracle_message {
	uint64_t pc, word, count;
};

struct oracle_substream {
	uint64_t seen;     /* tuples so far */
	uint64_t reported; /* of them, when the last message went out */
};

enum oracle_tag_state { ORACLE_EMPTY, ORACLE_VALID, ORACLE_EVICT };

struct oracle_tag_entry {
	enum oracle_tag_state state;
	uint64_t tag, hits, misses, retained;
};

struct oracle_compress {
	struct oracle_compress_config config;
	uint8_t table[256];
	uint64_t random;
	struct oracle_substream *substreams; /* 2^bits of them */
	struct oracle_tag_entry *entries;    /* 2^bits * ways */
	struct oracle_message *second;       /* config.second of them */
	unsigned int second_used;
};

void oracle_compress_init(struct oracle_compress *o, const struct oracle_compress_config *config);
void oracle_compress_release(struct oracle_compress *o);
/* The first level alone. 0: no message. */
uint64_t oracle_sample(struct oracle_compress *o, uint64_t substream);
uint64_t oracle_tagged(struct oracle_compress *o, uint64_t set, uint64_t tag);
/* The second level alone. true: *ret_evicted goes out. */
bool oracle_second(struct oracle_compress *o, const struct oracle_message *message,
		   struct oracle_message *ret_evicted);
/* The whole. true: *ret_message goes out. */
bool oracle_compress_step(struct oracle_compress *o, uint64_t pc, uint64_t word,
			  struct oracle_message *ret_message);

#endif
