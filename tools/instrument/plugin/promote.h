/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls through a pointer are preceded by comparisons with functions of the unit, and a match calls
 * that function by name: paths then tell the target, and such a call can be followed like any
 * other.
 *
 * Candidates are the functions of the call's type whose address the unit takes, if there are at
 * most 16; otherwise the call is left unchanged.
 */
#ifndef PROMOTE_H
#define PROMOTE_H

#include "unit.h"

void promote_calls(struct unit *unit);
/*
 * The block's comparison of a pointer succeeded `same` times and failed `other` times: it is
 * removed if fewer than nine of ten calls are of its function. *calls: the calls of the place,
 * which several blocks in a row may compare for.
 */
void promote_drop_if_rare(const struct unit *unit, LLVMBasicBlockRef block, uint64_t same,
			  uint64_t other, uint64_t *calls);

#endif
