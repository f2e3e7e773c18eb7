/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Markers where inlined code begins and where its caller continues: calls of an undefined function.
 * They are put around a call before it is inlined, are nodes of their own in the graph, and are
 * removed before any optimisation.
 */
#ifndef CROSSING_H
#define CROSSING_H

#include "unit.h"

struct crossing {
	uint32_t kind;     /* PATHPROF_CROSSING_CALL or _RETURN */
	uint32_t function; /* the function that begins or continues here: an index of unit->names */
};

void crossing_put_around(struct unit *unit, LLVMValueRef call, uint32_t caller, uint32_t callee);
/* Whether the instruction is such a marker. */
bool crossing_is(const struct unit *unit, LLVMValueRef instruction);
struct crossing crossing_read(LLVMValueRef instruction);
/* The call was not inlined: removes the markers around it. */
void crossing_remove_around(const struct unit *unit, LLVMValueRef call);
void crossing_remove_all(struct unit *unit);

#endif
