/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Profiles as text, a line an event: KEY<TAB>WEIGHT. The key is any text without a newline; the
 * weight, behind the last tab, a decimal number that is not negative: 12, 0.25, 1e-3, up to 2^64. A
 * key that comes again adds up. Lines may end in CR LF.
 *
 * Several files are read over one set of keys, so that they can be compared and combined: keys
 * become numbers in the order they first come. Two keys X/0 and X/1 are the two directions of a
 * branch X and differ in the lowest bit alone, as pathprof/distribution.h wants it of branch
 * profiles.
 *
 * Workload: two files of a million lines; a hash table of keys, no comparison of text but to
 * confirm. Ownership: the set owns all it returns. Not shared between threads while it reads.
 */
#ifndef PATHPROF_PROFILE_TEXT_H
#define PATHPROF_PROFILE_TEXT_H

#include <stddef.h>

#include "pathprof/distribution.h"
#include "pathprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_text_profiles;

enum pathprof_text_keys {
	PATHPROF_TEXT_ANY,      /* any text */
	PATHPROF_TEXT_BRANCHES, /* ADDRESS/0 or ADDRESS/1: an address is the same with 0x or without
				 */
};

/* "-": standard input, once. -EINVAL names file and line; -ERANGE: a sum above 2^64; -ENOMEM,
 * -errno. */
int pathprof_text_profiles_read(struct pathprof_text_profiles **ret_profiles,
				const char *const *files, size_t file_cnt,
				enum pathprof_text_keys keys, struct pathprof_error *error);
void pathprof_text_profiles_free(struct pathprof_text_profiles *profiles);

/* The profile of file i < file_cnt. */
const struct pathprof_distribution *
pathprof_text_profile(const struct pathprof_text_profiles *profiles, size_t i);
/* The event's key as it was first written, not terminated: *ret_len bytes. NULL: no such event, or
 * one read as PATHPROF_TEXT_BRANCHES, which key_hi and key_lo tell in full. */
const char *pathprof_text_key(const struct pathprof_text_profiles *profiles,
			      const struct pathprof_event *event, size_t *ret_len);
/* true: every key of every file is a direction of a branch. */
bool pathprof_text_are_branches(const struct pathprof_text_profiles *profiles);

#ifdef __cplusplus
}
#endif

#endif
