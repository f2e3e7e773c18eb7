/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Rows of a part as version 2 has them: the columns of version 1, bit for bit, but coded with what
 * one number tells of the next (schema/wire/parcel.proto).
 *
 * Locking: none, one thread. Ownership: all that is made is taken of the arena.
 */
#ifndef PP_PARCEL_ROWS_H
#define PP_PARCEL_ROWS_H

#include "pp_parcel.h"

struct Pathprof__Part;

/* Columns of all three tables, which are there, become rows. Out of memory: the arena failed. */
void pp_parcel_pack_rows(struct pp_arena *arena, struct Pathprof__Part *part);
/* Rows become columns. The numbers of rows were checked. -EBADMSG, -E2BIG. */
int pp_parcel_unpack_rows(struct pp_arena *arena, struct Pathprof__Part *part,
			  struct pathprof_error *error);

#endif
