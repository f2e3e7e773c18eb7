/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stream summaries under one interface, so that the seeds' structures and those that came after
 * them see the same stream with the same bytes: which keys came most often, and how often each?
 *
 * A key is two words, as a path (start, PP_DESC-like) or a tuple (pc, word) is. State is counted as
 * hardware would have it, packed, key_bits for a stored key; what a structure emits on its way is
 * counted as messages.
 */
#ifndef LAB_RIVAL_H
#define LAB_RIVAL_H

#include <stddef.h>
#include <stdint.h>

struct lab_key {
	uint64_t a, b;
};

/* A key leaves the structure with a count: a message to software. */
typedef void lab_emit_fn(void *context, const struct lab_key *key, double count);

struct lab_rival_config {
	uint32_t state_bytes; /* at most this much, packed */
	uint32_t key_bits;    /* of a stored key: 80 for a path, 112 for a tuple */
	lab_emit_fn *emit;
	void *context;
	uint64_t seed;
	/* For rivals that sample what they replace: rate and strata of the sampler; 0: 16, 128 */
	uint32_t tail_rate, tail_strata;
};

struct lab_rival; /* each structure has its own; the first member is its ops pointer */

struct lab_rival_ops {
	const char *name;   /* "hpt-lfu", "space-saving" */
	const char *source; /* where it was published */
	struct lab_rival *(*create)(const struct lab_rival_config *config);
	/* count occurrences of key. */
	void (*add)(struct lab_rival *rival, const struct lab_key *key, uint32_t count);
	/* Emits what it holds, with its best estimate of each count, and starts anew. */
	void (*drain)(struct lab_rival *rival);
	uint64_t (*state_bits)(const struct lab_rival *rival); /* in use by this configuration */
	void (*destroy)(struct lab_rival *rival);
};
struct lab_rival {
	const struct lab_rival_ops *ops;
};

/* All of them, NULL at the end. */
extern const struct lab_rival_ops *const lab_rivals[];

/*
 * A stratified sampler of the library by its notation (pathprof/compress.h), as a rival. Messages
 * are emitted as they come; to drain it empties the tables behind and in front, and leaves the
 * strata as they are. State: log2(rate) bits a counter, key, count and eight bits of use an entry
 * in front, key and count one behind, 64 bits of a random generator where each tuple needs one.
 * Exits when the notation is none.
 */
struct lab_rival *lab_rival_sampler(const char *notation, const struct lab_rival_config *config);

/*
 * A rival that is drained on the way, at most one message for `rate` events: a summary on the
 * budget of a sampler of that rate.
 */
struct lab_rival *lab_rival_read_out(const struct lab_rival_ops *ops,
				     const struct lab_rival_config *config, uint32_t rate);

#endif
