/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The section that describes the counters (pathprof/instrument_abi.h), as assembler directives:
 * only the linker knows the address of a table.
 */
#ifndef DESCRIBE_H
#define DESCRIBE_H

#include "insert.h"

/* The local symbol of the unit's table. */
#define TABLE_SYMBOL "__pathprof_table"

void describe_function(const struct insertion *in, LLVMValueRef function);
/* Adds the unit's whole description to the module. */
void describe_unit(struct unit *unit);

#endif
