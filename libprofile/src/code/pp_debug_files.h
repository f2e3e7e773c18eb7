/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Search for a file's separate debug information. libdwfl and libdw would look for it themselves,
 * and open whatever stands under the names that the file gives; so each name is looked up here, by
 * pathprof/foreign.h, and they are told the answer.
 *
 * Workload: once a handle. Locking, ownership: as pp_code.h.
 * Source: GDB's manual, "Debugging Information in Separate Files"; dwz(1).
 */
#ifndef PP_DEBUG_FILES_H
#define PP_DEBUG_FILES_H

#include "pp_code.h"

/*
 * The debug file of code, of the same build-id, or, where it has none, of the checksum crc: a
 * descriptor, or -ENOENT. link: the name that .gnu_debuglink gives, or NULL.
 */
int pp_debug_file_find(const struct pathprof_code *code, const char *link, uint32_t crc);

/*
 * The file that dwz moved common parts to, of the build-id id: a descriptor, or -ENOENT. name as
 * .gnu_debugaltlink has it.
 */
int pp_debug_file_find_common(const struct pathprof_code *code, const char *name, const void *id,
			      size_t id_bytes);

/*
 * Debug information with nothing in it: libdw, which is given it, then looks for nothing else.
 * NULL without memory. NULL-safe to free; free it after whoever was given it.
 */
struct pp_nothing;
struct pp_nothing *pp_nothing_new(void);
Dwarf *pp_nothing_dwarf(struct pp_nothing *nothing);
void pp_nothing_free(struct pp_nothing *nothing);

#endif
