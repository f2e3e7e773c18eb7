/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two passes of a comparison over one trace: the truth first, then any number of estimates,
 * whose places need the stream's length. Only the stream that lab_trace_each() reads is used. A
 * signal, a return from one or a gap tears the stream: paths that were begun are void, windows end,
 * as they do where a stepper meets one.
 *
 * Workload: some hundred million events, a few nanoseconds each and estimate.
 */
#ifndef LAB_COLLECT_TRACE_PASS_H
#define LAB_COLLECT_TRACE_PASS_H

#include "../experiment/experiment.h"
#include "estimate.h"

void lab_pass_truth(const struct pathprof_trace *trace, struct lab_truth *truth);
/* Finishes them as well. */
void lab_pass_estimates(const struct pathprof_trace *trace, struct lab_estimate *estimates,
			size_t cnt);

/* The main program's place in the process whose stream was read, so that addresses become file
 * offsets. */
struct lab_module {
	struct pathprof_build_id build_id;
	uint64_t start, end, offset;
};
/* false: the trace does not name it, or it has no build-id. */
bool lab_pass_main_module(const struct pathprof_trace *trace, struct lab_module *ret_module);
/* *p keeps what begins in the module, by file offset; all columns. */
void lab_profile_keep_module(struct lab_profile *p, const struct lab_module *module);

#endif
