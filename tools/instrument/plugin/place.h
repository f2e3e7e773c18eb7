/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The location of the running thread's counters. It is kept in thread-local variables, which the
 * runtime sets (tools/instrument/runtime/counts.h):
 *
 *   in programs    each unit has a pointer to the thread's copy of its table. At first it points
 *                  to the unit's own.
 *   in libraries   an object has one word, the distance to the thread's copy: a library loaded
 *                  late finds little room for thread-local variables.
 */
#ifndef PLACE_H
#define PLACE_H

#include "unit.h"

/* The address of the running thread's copy of the counter at an index in the unit's table. */
LLVMValueRef place_put(struct unit *unit, LLVMValueRef index);
/* Registers the pointer with the runtime, if the unit has one. */
void place_finish(struct unit *unit);

#endif
