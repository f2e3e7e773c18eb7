// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Which function an offset lies in: by symbol (.symtab of the file or its debug file, else
 * .dynsym), else by the bounds .eh_frame gives.
 *
 * Workload: one a block of a path that is shown; one a branch target of a listing.
 */
#include "pp_code.h"

#include <errno.h>
#include <gelf.h>

/*
 * A symbol that says how long it is must hold the address: libdwfl offers the nearest one before.
 * One that does not (hand-written assembly) counts as far as the unwinder's function goes.
 */
static bool covers(struct pathprof_code *code, const GElf_Sym *sym, uint64_t into, uint64_t vaddr)
{
	const struct pp_frame *frame;

	if (GELF_ST_TYPE(sym->st_info) == STT_OBJECT)
		return false;
	if (sym->st_size)
		return into < sym->st_size;
	frame = pp_frames_find(code, vaddr);
	return !frame || vaddr - into >= frame->start;
}

static const char *find_symbol(struct pathprof_code *code, uint64_t vaddr, uint64_t *ret_start)
{
	GElf_Off into = 0;
	GElf_Sym sym = {0};
	const char *name;

	if (pp_dwfl_open(code))
		return NULL;
	name = dwfl_module_addrinfo(code->module, vaddr + code->bias, &into, &sym, NULL, NULL,
				    NULL);
	if (!name || !name[0] || into > vaddr || !covers(code, &sym, into, vaddr))
		return NULL;
	*ret_start = vaddr - into;
	return name;
}

int pathprof_code_function(struct pathprof_code *code, uint64_t offset, const char **ret_name,
			   uint64_t *ret_start)
{
	const struct pp_frame *frame;
	uint64_t vaddr, start;
	const char *name;

	if (pathprof_code_offset_to_vaddr(code, offset, &vaddr))
		return -ERANGE;
	name = find_symbol(code, vaddr, &start);
	if (!name) {
		frame = pp_frames_find(code, vaddr);
		if (!frame)
			return -ENOENT;
		start = frame->start;
	}
	if (pathprof_code_vaddr_to_offset(code, start, &start))
		return -ENOENT;
	*ret_name = name;
	*ret_start = start;
	return 0;
}
