// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The sections of a file, one after the other, and their bytes.
 *
 * Workload: gone through a few times a file; hostile ones have 10^5. libelf checks extents against
 * the file's size.
 */
#include "pp_code.h"

#include <gelf.h>

bool pp_section_next(const struct pathprof_code *code, struct pp_section *section)
{
	Elf_Scn *scn = section->scn;
	const char *name;
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(code->elf, &names))
		return false;
	while ((scn = elf_nextscn(code->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_size > UINT64_MAX - sh.sh_addr)
			continue;
		name = elf_strptr(code->elf, names, sh.sh_name);
		*section = (struct pp_section){
			.scn = scn,
			.name = name ? name : "",
			.vaddr = sh.sh_addr,
			.size_bytes = sh.sh_size,
			.entry_bytes = sh.sh_entsize,
			.flags = sh.sh_flags,
			.type = sh.sh_type,
			.link = sh.sh_link,
		};
		return true;
	}
	return false;
}

bool pp_section_named(const struct pathprof_code *code, const char *name,
		      struct pp_section *ret_section)
{
	struct pp_section s = {0};

	while (pp_section_next(code, &s))
		if (s.type != SHT_NOBITS && strcmp(s.name, name) == 0) {
			*ret_section = s;
			return true;
		}
	return false;
}

bool pp_section_open(const struct pp_section *section, struct pp_cursor *ret_cursor)
{
	Elf_Data *data = section->type == SHT_NOBITS ? NULL : elf_rawdata(section->scn, NULL);

	if (!data || !data->d_buf)
		return false;
	*ret_cursor = (struct pp_cursor){
		.base = data->d_buf,
		.end = data->d_size,
		.vaddr = section->vaddr,
	};
	return true;
}
