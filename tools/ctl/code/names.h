/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the functions of one file, of which no two read alike: `find` where one function of the
 * file is called so, `find(int)` where several are and that tells them apart, and else (static
 * functions of C, constructors) `find [0x1a40]` with the file offset of its start.
 *
 * Workload: all symbols of a file once, then some hundred functions that are shown.
 */
#ifndef CTL_NAMES_H
#define CTL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/code.h"

struct names;

/* Names in full from now on, which --full-names asks for. */
void names_use_full(void);

/* code NULL: code outside of files, for which every name counts as unique. */
struct names *names_new(struct pathprof_code *code);
/* NULL-safe. */
void names_free(struct names *names);

/* The name of the function that begins at file offset start; NAME@plt is a stub. Caller frees. */
char *names_of(const struct names *names, const char *linkage, uint64_t start);

/* Prepares for names_match() of all functions of a file: together they are faster. */
void names_ahead(struct pathprof_code *code);
/* Whether a word that a user typed means the function of this linkage name. */
bool names_match(const char *word, const char *linkage);
/* The same of a name that is shown: parameters and the offset may be missing. */
bool names_match_shown(const char *word, const char *shown);

#endif
