// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of a trace. */
#include "functions.h"

#include <stdlib.h>
#include <string.h>

#include "../lab.h"

void lab_functions_init(struct lab_functions *f, const struct pathprof_trace *trace)
{
	uint32_t cnt = pathprof_trace_info(trace)->module_cnt;

	*f = (struct lab_functions){.trace = trace};
	f->codes = calloc(cnt + 1, sizeof(f->codes[0]));
	f->opened = calloc(cnt + 1, sizeof(f->opened[0]));
	if (!f->codes || !f->opened)
		lab_fail("functions: out of memory");
	lab_profile_init(&f->numbers, 1);
}

void lab_functions_release(struct lab_functions *f)
{
	for (uint32_t i = 0; i < pathprof_trace_info(f->trace)->module_cnt; i++)
		pathprof_code_free(f->codes[i]);
	free(f->codes);
	free(f->opened);
	lab_profile_release(&f->numbers);
	*f = (struct lab_functions){.trace = NULL};
}

static uint32_t index_of(const struct lab_functions *f, const struct pathprof_trace_module_info *m)
{
	uint32_t i = 0;

	while (pathprof_trace_module(f->trace, i) != m)
		i++;
	return i;
}

/* NULL: the file is gone, or another one by now. */
static struct pathprof_code *code_of(struct lab_functions *f, uint32_t index)
{
	const struct pathprof_trace_module_info *m = pathprof_trace_module(f->trace, index);
	struct pathprof_error error;

	if (!f->opened[index]) {
		f->opened[index] = true;
		if (m->name[0] != '/' || !m->build_id.len_bytes ||
		    pathprof_code_open(&f->codes[index], m->name, &m->build_id, &error) < 0)
			f->codes[index] = NULL;
	}
	return f->codes[index];
}

/* A module is mapped in pieces, each of which the trace calls a module: names tell them together.
 */
static uint32_t first_piece(const struct lab_functions *f, uint32_t index)
{
	const char *name = pathprof_trace_module(f->trace, index)->name;
	uint32_t i = 0;

	while (strcmp(pathprof_trace_module(f->trace, i)->name, name) != 0)
		i++;
	return i;
}

uint32_t lab_functions_number(void *context, uint64_t address)
{
	struct lab_functions *f = context;
	const struct pathprof_trace_module_info *m = pathprof_trace_locate(f->trace, 0, address);
	struct lab_path_key key = {.start = UINT64_MAX, .length = UINT32_MAX};
	double *number;

	if (m) {
		uint32_t index = index_of(f, m);
		struct pathprof_code *code = code_of(f, index);
		const char *name;
		uint64_t start;

		key.length = first_piece(f, index);
		if (code && pathprof_code_function(code, address - m->start + m->offset, &name,
						   &start) == 0)
			key.start = start;
	}
	number = lab_profile_at(&f->numbers, &key);
	if (*number == 0)
		*number = (double)f->numbers.cnt;
	return (uint32_t)*number - 1;
}
