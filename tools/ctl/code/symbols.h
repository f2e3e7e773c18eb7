/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From (binary, file offset) to names. One code handle a binary is kept for the run, and each
 * function met with the range of offsets known to lie in it: a look-up in a large symbol table
 * costs a millisecond, the live screen asks for the same places each second, and most paths share
 * a function with others. That functions do not nest is taken for granted.
 *
 * A binary's name comes from the profiled process: only absolute names of regular files are opened,
 * and only a file with the same identity is accepted. Where the name leads to no such file a
 * process that runs it may have it (live_code.h). Owner: the caller's thread.
 */
#ifndef CTL_SYMBOLS_H
#define CTL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/code.h"
#include "pathprof/store.h"

struct symbols;

struct symbol {
	char *name;     /* a function for people, or "binary+0xOFFSET" where none is known; of
			 * generated code without names "[jit:PID]" for all of it */
	char *linkage;  /* the function as the linker calls it, "" unknown */
	uint64_t start; /* file offset of the function; of the place itself if unknown */
	int known;      /* 1: name is a function's */
	int bounded;    /* 1: start is a function's, with a name or without */
};

/*
 * The file, wherever it lies, is the code of the binary that has its build-id (--file); NULL: none.
 * Kept, and read when the first binary is asked for; it is said once that it cannot be read.
 */
void symbols_use_file(const char *path);
/* That file; NULL: none. */
const char *symbols_used_file(void);
/* store gives the names of generated code; it outlives the symbols. */
struct symbols *symbols_new(struct pathprof_store *store);
/* NULL-safe. */
void symbols_free(struct symbols *symbols);

/* The code of a binary, NULL with the reason in why (may be NULL) when it cannot be had. */
struct pathprof_code *symbols_code(struct symbols *symbols, const struct pathprof_build_id *id,
				   const char *binary_name, struct pathprof_error *why);
/* The function that offset lies in. Belongs to symbols. */
const struct symbol *symbols_function(struct symbols *symbols, const struct pathprof_build_id *id,
				      const char *binary_name, uint64_t offset);
/* The readable name (names.h) of the function that begins at start. Caller frees. */
char *symbols_readable(struct symbols *symbols, const struct pathprof_build_id *id,
		       const char *binary_name, const char *linkage, uint64_t start);
/* Prepares for symbols_function() of these: together they are faster if files are read apart. */
void symbols_ahead(struct symbols *symbols, const struct pathprof_build_id *id,
		   const char *binary_name, const uint64_t *offsets, size_t cnt);
/*
 * "function+0x1c", plain "function" at its start; "function:NUMBER" of a counted path
 * (pathprof/path_counts.h). Caller frees.
 */
char *symbols_label(struct symbols *symbols, const struct pathprof_build_id *id,
		    const char *binary_name, uint64_t offset);

#endif
