/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of functions that may have been meant by a word that is none. A name is near that has the
 * word, or its last part (submit of Book::submit), in it, or whose last part differs from that in
 * one or two letters. Workload: all symbols of a few binaries, once, before a command fails.
 */
#ifndef CTL_SIMILAR_H
#define CTL_SIMILAR_H

#include <stddef.h>

#define SIMILAR_MAX 5

struct similar {
	const char *word;         /* the caller's, for as long as names are offered */
	char *brief;              /* the word without arguments, once a name was offered */
	char *names[SIMILAR_MAX]; /* the nearest, nearest first */
	unsigned int ranks[SIMILAR_MAX];
	size_t cnt;
};

/* A name as the linker has it. */
void similar_offer(struct similar *similar, const char *linkage);
/* "deflate, deflate_fast or deflate_slow"; "" when nothing is near. Caller frees. */
char *similar_text(const struct similar *similar);
void similar_release(struct similar *similar);

#endif
