/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places where inlined code begins and where its caller goes on: calls of a function that is not
 * there. They are put around a call before it is inlined, are nodes of their own in the graph, and
 * are gone before anything is optimised.
 */
#ifndef CROSSING_H
#define CROSSING_H

#include "unit.h"

struct crossing {
	uint32_t kind;     /* PATHPROF_CROSSING_CALL or _RETURN */
	uint32_t function; /* that begins or goes on here: of the unit's names */
};

void crossing_put_around(struct unit *unit, LLVMValueRef call, uint32_t caller, uint32_t callee);
/* The instruction stands for one. */
bool crossing_is(const struct unit *unit, LLVMValueRef instruction);
struct crossing crossing_read(LLVMValueRef instruction);
/* The call was not inlined: takes away what was put around it. */
void crossing_remove_around(const struct unit *unit, LLVMValueRef call);
void crossing_remove_all(struct unit *unit);

#endif
