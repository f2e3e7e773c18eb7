/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls by a pointer that first compare it with functions of the unit, and call the one that it is
 * by its name: paths then tell which it was, and such a call can be followed like any other.
 *
 * Compared are the functions of that type whose address the unit takes, if they are no more than
 * 16; else the call stays as it is.
 */
#ifndef PROMOTE_H
#define PROMOTE_H

#include "unit.h"

void promote_calls(struct unit *unit);
/*
 * The block compares a pointer, and so often it was the same and not: when fewer than nine of ten
 * calls are of that function, it compares no more. *calls: of the place, which several blocks
 * compare for, one behind the other.
 */
void promote_drop_if_rare(const struct unit *unit, LLVMBasicBlockRef block, uint64_t same,
			  uint64_t other, uint64_t *calls);

#endif
