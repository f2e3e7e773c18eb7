/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* The interface among the files that implement pp_functions.h. */
#ifndef PP_RANGES_H
#define PP_RANGES_H

#include "pp_functions.h"

/* plt.c: a stub of the linker, vaddrs. */
struct pp_plt_entry {
	uint64_t start, end;
	const char *name; /* callee@plt; NULL: not one by itself */
};
bool pp_plt_is_section(const struct pp_section *section);
/* By section, then by start. The handle's. -ENOMEM. */
int pp_plt_all(struct pathprof_code *code, const struct pp_plt_entry **ret_entries,
	       size_t *ret_cnt);

/*
 * cold_parts.c: sets owner where a symbol says whose cold part a range is, maybe_cold where it
 * does not say it clearly. -ENOMEM.
 */
int pp_cold_parts_join(struct pp_ranges *ranges, struct pathprof_code *code);

#endif
