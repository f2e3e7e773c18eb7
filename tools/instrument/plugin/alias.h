/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells the optimiser, by type-based alias analysis (TBAA), that nothing in the program touches the
 * counters' memory: counting has types of its own, beside all others of the language. So values
 * that the program reads may stay in registers across a count, and a thread's place is read once
 * unless a call intervenes.
 *
 * Without optimisation, and with -fno-strict-aliasing, accesses have no types, and nothing is told.
 */
#ifndef ALIAS_H
#define ALIAS_H

#include "unit.h"

/* Finds the root of the language's types. */
void alias_init(struct unit *unit);
/* Marks an access to counting's own memory. */
void alias_set_apart(const struct unit *unit, LLVMValueRef access, enum alias_type type);

#endif
