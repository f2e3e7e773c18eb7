/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Inlined functions, by the debug information (DWARF, by libdw): the source functions that an
 * instruction belongs to, innermost first, as compilers key their profiles.
 *
 * Workload: every instruction of the functions that ran, 10^4 to 10^6 look-ups in order of
 * offset. A unit's DIEs are read once, at the first look-up in its code; then each is a few binary
 * searches. Split debug information is read from its .dwo files, where they are. One handle, one
 * thread; it borrows code, which must outlive it.
 */
#ifndef PATHPROF_INLINES_H
#define PATHPROF_INLINES_H

#include <stdint.h>

#include "pathprof/code.h"
#include "pathprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_inlines;

struct pathprof_source_frame {
	const char *linkage_name; /* as symbols have it; the plain name where there is no other */
	const char *name;         /* as the source has it */
	const char *file;         /* "" when not known */
	const char *dir;          /* file counts from there unless it begins with '/'; "" */
	uint32_t line;            /* of the instruction, or of the call that was inlined; 0: none */
	uint32_t start_line;      /* where the function is declared; 0: not known */
	uint32_t discriminator; /* which of the line's blocks; the compiler's base discriminator */
	uint32_t copies;        /* that the compiler made of one instruction (unrolling), else 1 */
};

/* -ENOENT: code has no debug information, or it lies in files that are not there; -ENOMEM. */
int pathprof_inlines_open(struct pathprof_inlines **ret_inlines, struct pathprof_code *code,
			  struct pathprof_error *error);
/* NULL-safe. */
void pathprof_inlines_free(struct pathprof_inlines *inlines);
/*
 * The frames of the instruction at offset, the innermost first, the function that has the code
 * last; how many there are, of which max are filled in. 0: the debug information knows no function
 * there. Strings belong to inlines. -ENOMEM.
 */
int pathprof_inlines_at(struct pathprof_inlines *inlines, uint64_t offset,
			struct pathprof_source_frame *frames, uint32_t max);

#ifdef __cplusplus
}
#endif

#endif
