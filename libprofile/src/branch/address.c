// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The origin of a file's addresses; see pp_address.h. */
#include "pp_address.h"

#include <errno.h>

#include "../code/pp_code.h"

void pp_address_base_of(struct pp_address_base *ret_base, struct pathprof_code *code)
{
	*ret_base = (struct pp_address_base){
		.code = code,
		.first_load = code->layout.first_load,
		.first_text = code->layout.first_text,
		.pie = code->layout.is_pie != 0,
	};
}

static int base_of(const struct pp_address_base *base, enum pathprof_address_kind kind,
		   uint64_t *ret_from)
{
	switch (kind) {
	case PATHPROF_ADDRESS_ELF:
		*ret_from = 0;
		return 0;
	case PATHPROF_ADDRESS_OFFSET:
		*ret_from = base->pie ? base->first_load : 0;
		return 0;
	case PATHPROF_ADDRESS_IMAGE:
		*ret_from = base->first_load;
		return 0;
	case PATHPROF_ADDRESS_TEXT:
		*ret_from = base->first_text;
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int pp_address_of(const struct pp_address_base *base, enum pathprof_address_kind kind,
		  uint64_t offset, uint64_t *ret_address)
{
	uint64_t vaddr, from = 0;
	int r = pathprof_code_offset_to_vaddr(base->code, offset, &vaddr);

	if (r)
		return r;
	if (kind == PATHPROF_ADDRESS_FILE) {
		*ret_address = offset;
		return 0;
	}
	r = base_of(base, kind, &from);
	if (r)
		return r;
	*ret_address = vaddr - from;
	return 0;
}

int pp_address_to_offset(const struct pp_address_base *base, enum pathprof_address_kind kind,
			 uint64_t address, uint64_t *ret_offset)
{
	uint64_t vaddr, from = 0;
	int r;

	if (kind == PATHPROF_ADDRESS_FILE) {
		r = pathprof_code_offset_to_vaddr(base->code, address, &vaddr);
		if (!r)
			*ret_offset = address;
		return r;
	}
	r = base_of(base, kind, &from);
	return r ? r : pathprof_code_vaddr_to_offset(base->code, address + from, ret_offset);
}
