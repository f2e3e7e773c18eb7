/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams of events for the tests of the core: random ones with and without locality, and those
 * that hit the edges of a table. A stream is a function of its seed, the same on every machine.
 */
#ifndef ORACLE_STREAM_H
#define ORACLE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stream_kind {
	STREAM_SKEWED,      /* few elements come often, many seldom; bursts of the same few */
	STREAM_UNIFORM,     /* each of the population alike */
	STREAM_SAME,        /* one element for ever */
	STREAM_DISTINCT,    /* none comes twice */
	STREAM_ALTERNATING, /* two elements in turn */
	STREAM_KIND_CNT,
};

#define STREAM_RECENT 16

struct stream {
	uint64_t random;
	enum stream_kind kind;
	bool high;           /* addresses above 2^48 too */
	uint64_t population; /* distinct elements of SKEWED and UNIFORM */
	uint64_t drawn;
	uint64_t recent[STREAM_RECENT];
};

/* The tests' own generator: no state of it is shared with what is tested. */
uint64_t stream_random(uint64_t *state);

void stream_init(struct stream *s, enum stream_kind kind, bool high, uint64_t population,
		 uint64_t seed);
/* The number of the next element. */
uint64_t stream_next(struct stream *s);
/* The next element as an address and a word that belong to its number. */
void stream_tuple(struct stream *s, uint64_t *ret_pc, uint64_t *ret_word);

#endif
