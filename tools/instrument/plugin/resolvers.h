/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that run while the loader still resolves ifuncs: the resolvers, and what they call. The
 * thread-local variables that counting needs have no values yet then.
 *
 * Workload: once a unit; each function is looked through once at most.
 */
#ifndef RESOLVERS_H
#define RESOLVERS_H

#include "unit.h"

/* Marks the unit's resolvers and all of its functions that they call by name. */
void resolvers_mark(const struct unit *unit);
/* Whether the function has the mark. */
bool resolvers_run(LLVMValueRef function);

#endif
