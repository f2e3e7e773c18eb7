/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nothing in the program touches the memory that counts are in. Optimisations learn that by the
 * rules that accesses of different types are told apart by (TBAA): counting has types of its own,
 * beside all others of the language. So what the program reads may stay in registers over a count,
 * and a thread's place is read once where no call comes between.
 *
 * Without optimisation, and with -fno-strict-aliasing, accesses have no types, and nothing is told.
 */
#ifndef ALIAS_H
#define ALIAS_H

#include "unit.h"

/* Finds the language's types. */
void alias_init(struct unit *unit);
/* For an access of counting's own. */
void alias_set_apart(const struct unit *unit, LLVMValueRef access, enum alias_type type);

#endif
