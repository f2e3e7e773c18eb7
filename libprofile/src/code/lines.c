// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Source lines, from DWARF by libdwfl. Workload: one a block of a path that is shown. */
#include "pp_code.h"

#include <errno.h>

int pathprof_code_line(struct pathprof_code *code, uint64_t offset, const char **ret_file,
		       int *ret_line)
{
	const char *file;
	Dwfl_Line *line;
	uint64_t vaddr;
	int number = 0;

	if (pathprof_code_offset_to_vaddr(code, offset, &vaddr))
		return -ERANGE;
	if (pp_dwfl_open(code))
		return -ENOENT;
	line = dwfl_module_getsrc(code->module, vaddr + code->bias);
	file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	/* Line 0 is how a compiler says that an instruction belongs to none. */
	if (!file || !file[0] || number <= 0)
		return -ENOENT;
	*ret_file = file;
	*ret_line = number;
	return 0;
}
