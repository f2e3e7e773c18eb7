/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The input of the hashes that are keys of events: four words, the first of which gives the kind of
 * key, so that an edge never has the key of a path. Words are in the machine's byte order; keys of
 * machines of the other order differ. Pure; any thread.
 */
#ifndef PP_KEYS_H
#define PP_KEYS_H

#include <stdint.h>
#include <xxhash.h>

enum pp_key_kind {
	PP_KEY_PATH = 1,
	PP_KEY_EDGE,
	PP_KEY_PORTABLE_PATH,
	PP_KEY_FUNCTION,
};

static inline uint64_t pp_key(enum pp_key_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t words[] = {kind, a, b, c};

	return XXH3_64bits(words, sizeof(words));
}

#endif
