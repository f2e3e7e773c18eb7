/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The function of a trace's binaries in which an address lies, as a number: by the symbols of the
 * files that ran, or by the bounds that .eh_frame gives. Code that no file describes (PLT stubs,
 * say) counts as one function for each module, and all code outside of files as one function.
 *
 * Workload: some hundred thousand addresses of some thousand functions. One owner; the trace
 * outlives it.
 */
#ifndef LAB_COLLECT_FUNCTIONS_H
#define LAB_COLLECT_FUNCTIONS_H

#include <stdbool.h>

#include "pathprof/code.h"
#include "pathprof/trace.h"
#include "profile.h"

struct lab_functions {
	const struct pathprof_trace *trace;
	struct pathprof_code **codes; /* by module of the trace; NULL: not opened or none */
	bool *opened;
	struct lab_profile numbers; /* of (start, module), +1 */
};

void lab_functions_init(struct lab_functions *f, const struct pathprof_trace *trace);
void lab_functions_release(struct lab_functions *f);
/* A lab_function_fn (stream.h); context: struct lab_functions. */
uint32_t lab_functions_number(void *context, uint64_t address);

#endif
