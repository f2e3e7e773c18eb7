/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the counters of the running thread are. Threads have variables of their own for that, and
 * the runtime sets them (tools/instrument/runtime/counts.h):
 *
 *   in programs    each unit has a pointer to the thread's copy of its table. At first it points
 *                  to the unit's own.
 *   in libraries   an object has one word, the distance to the thread's copy: one that is loaded
 *                  late finds little room for variables of threads.
 */
#ifndef PLACE_H
#define PLACE_H

#include "unit.h"

/* The address of the running thread's copy of the counter at an index in the unit's table. */
LLVMValueRef place_put(struct unit *unit, LLVMValueRef index);
/* Tells the runtime of the pointer, when the unit has one. */
void place_finish(struct unit *unit);

#endif
