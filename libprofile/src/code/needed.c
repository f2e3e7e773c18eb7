// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Facts about a program as a whole, out of its file: the libraries it needs, and whose calling
 * convention its functions have. Workload: once a file. Names stay where libelf has them.
 *
 * Source: ELF gABI, chapter 5 (dynamic section); Go's internal ABI specification (abi-internal.md).
 */
#include "pp_code.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

static int tell_needed(const struct pathprof_code *code, const struct pp_section *dynamic,
		       pathprof_code_needed_fn *fn, void *context)
{
	Elf_Data *data = elf_getdata(dynamic->scn, NULL);
	GElf_Dyn entry;

	for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		const char *name = entry.d_tag == DT_NEEDED
					   ? elf_strptr(code->elf, dynamic->link, entry.d_un.d_val)
					   : NULL;
		int r = name && name[0] ? fn(context, name) : 0;

		if (r)
			return r;
	}
	return 0;
}

int pathprof_code_needed(const struct pathprof_code *code, pathprof_code_needed_fn *fn,
			 void *context)
{
	struct pp_section section = {0};

	if (code->apart)
		return -EOPNOTSUPP;
	while (pp_section_next(code, &section))
		if (section.type == SHT_DYNAMIC)
			return tell_needed(code, &section, fn, context);
	return 0;
}

bool pathprof_code_is_go(const struct pathprof_code *code)
{
	struct pp_section section;

	return !code->apart && pp_section_named(code, ".gopclntab", &section);
}
