/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * How often each instruction ran: the ranges over it, added up. Has all instructions of each
 * function that some range touches, those that did not run as well: to a compiler 0 means "cold",
 * and no count "not known".
 *
 * Workload: once an export, all instructions of what ran, in order of offset.
 */
#ifndef PP_INSN_COUNTS_H
#define PP_INSN_COUNTS_H

#include "pp_export.h"

struct pp_insn_count {
	uint64_t offset;
	uint32_t len_bytes;
	uint32_t function; /* of the graph */
	uint64_t count;
};

/* A return that is not 0 stops it and is returned. */
typedef int pp_insn_count_fn(void *context, const struct pp_insn_count *insn);
/* -ENOMEM. */
int pp_insn_counts_each(const struct pp_export *x, pp_insn_count_fn *fn, void *context);

#endif
