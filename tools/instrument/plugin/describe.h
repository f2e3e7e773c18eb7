/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The section that says what counters count (pathprof/instrument_abi.h), as directives of the
 * assembler: the address of a table is known to the linker alone.
 */
#ifndef DESCRIBE_H
#define DESCRIBE_H

#include "insert.h"

/* The symbol of the unit's table, a local one. */
#define TABLE_SYMBOL "__pathprof_table"

void describe_function(const struct insertion *in, LLVMValueRef function);
/* All of the unit goes into the module. */
void describe_unit(struct unit *unit);

#endif
