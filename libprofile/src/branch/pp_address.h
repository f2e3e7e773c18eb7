/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * File offsets as the formats count addresses (enum pathprof_address_kind), and back.
 *
 * Workload: each entry that is written or read. Pure once read; the caller's.
 */
#ifndef PP_ADDRESS_H
#define PP_ADDRESS_H

#include <stdbool.h>

#include "pathprof/code.h"
#include "pathprof/format.h"

struct pp_address_base {
	const struct pathprof_code *code;
	uint64_t first_load; /* vaddr of the first segment */
	bool pie;
	uint64_t first_text; /* page of the first executable one */
};

void pp_address_base_of(struct pp_address_base *ret_base, struct pathprof_code *code);
/* -ERANGE: offset is in no executable segment. -EOPNOTSUPP: not a kind that counts from the file.
 */
int pp_address_of(const struct pp_address_base *base, enum pathprof_address_kind kind,
		  uint64_t offset, uint64_t *ret_address);
int pp_address_to_offset(const struct pp_address_base *base, enum pathprof_address_kind kind,
			 uint64_t address, uint64_t *ret_offset);

#endif
