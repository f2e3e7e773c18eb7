/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Line tables that libdw refuses: it keeps 24 bits of a discriminator and takes a table with a
 * greater one for damaged, all its lines and files. clang's -fpseudo-probe-for-profiling writes
 * such. They lose the upper bits here, in a copy of the section that libdw is given.
 *
 * Workload: once a unit, before libdw reads its table, which takes longer.
 */
#ifndef PP_LINE_TABLES_H
#define PP_LINE_TABLES_H

#include <elfutils/libdw.h>
#include <stdint.h>

/* Makes the unit's table readable. *copy: NULL, or what an earlier call for another unit of the
 * same file left there. The caller frees it when libdw is done; without memory the table stays. */
void pp_line_table_prepare(Dwarf_Die *unit, uint8_t **copy);

#endif
