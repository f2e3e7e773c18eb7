/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A binary's branch profile in the formats of others; docs/formats.md says of each who defines it,
 * what reads it and by which command.
 *
 * The profile's origin (build-id, time span, host, source, samples, weight) is written as well, as
 * far as the format has a place for it:
 *
 *     bolt-preagg    the event's name, in its first line (not with bolt_branches)
 *     llvm-sample, csv   comment lines, or fields
 *     folded         binary and build-id, as the outermost frame
 *     pprof          comments, mapping, time and duration
 *     bolt-fdata, profgen-raw, autofdo-text   nowhere: their readers take nothing else
 *
 * Workload: once a profile, seconds for 10^6 entries. One call at a time on one code.
 */
#ifndef PATHPROF_EXPORT_H
#define PATHPROF_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "pathprof/branch_profile.h"
#include "pathprof/code.h"
#include "pathprof/error.h"
#include "pathprof/format.h"
#include "pathprof/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Callers, for formats that write whole stacks: chains by name, the outermost first,
 * and under which of them paths of the binary ran.
 */
struct pathprof_export_chain {
	const char *const *names;
	uint32_t name_cnt;
};
#define PATHPROF_NO_CHAIN UINT32_MAX
struct pathprof_export_called {
	uint64_t start; /* file offset where the path begins */
	uint32_t chain; /* PATHPROF_NO_CHAIN: it is not known who called */
	double weight;  /* of what ran */
};
struct pathprof_export_callers {
	const struct pathprof_export_chain *chains;
	size_t chain_cnt;
	const struct pathprof_export_called *called;
	size_t called_cnt;
};

/* The branches that a format would hold, and those without a name in it: of bolt-fdata alone. */
struct pathprof_export_names {
	uint64_t branches;
	uint64_t nameless; /* left out: neither end is in a symbol */
	uint64_t half;     /* one end is [unknown], although it is in the binary */
	bool stripped;     /* no symbol table: BOLT has other names for the binary's functions */
};

struct pathprof_export_options {
	bool old_autofdo;   /* autofdo-text: addresses as AutoFDO before 0.20 counts them */
	bool bolt_branches; /* bolt-preagg: lines B, F and f, all that LLVM up to 19 reads */
	bool json;          /* csv: JSON instead */
	bool runs;          /* folded, pprof: instructions that ran, not CPU time, come first */
	const struct pathprof_export_callers *callers; /* folded, pprof; NULL: not known */
	struct pathprof_export_names *names;           /* by bolt-fdata; NULL: nobody asks */
};

/*
 * The unit of the counts that a format writes (pprof has several counts a sample: of the first):
 * "runs", "time" (CPU time in nanoseconds) or "instructions" (runs, times the instructions of the
 * code that ran). A format that has comment lines or fields says it there, too.
 */
const char *pathprof_export_figure(enum pathprof_format format,
				   const struct pathprof_branch_profile *profile,
				   const struct pathprof_export_options *options);

/*
 * options NULL: all off. The profile must be settled. file is not closed; what was written on
 * failure is void.
 * -EINVAL: a chain is out of range; -ESTALE: profile, code and graph are not of one binary;
 * -ENODATA: the profile is empty; -ENOENT: the binary has no debug information (llvm-sample), or
 * no function of the profile has a symbol (bolt-fdata); -EOPNOTSUPP: the format is not written;
 * -ENOMEM; -errno of writing.
 */
int pathprof_export(enum pathprof_format format, const struct pathprof_branch_profile *profile,
		    struct pathprof_code *code, const struct pathprof_graph *graph,
		    const struct pathprof_export_options *options, FILE *file,
		    struct pathprof_error *error);

/*
 * Stacks of any binaries, by names alone: frames parted by ';', the outermost first, without
 * control characters. Formats PATHPROF_FORMAT_FOLDED and PATHPROF_FORMAT_PPROF; in pprof's every
 * frame is a location without an address. Of pprof's, `NAME\tFILE\tBUILD-ID` is a frame in a known
 * binary, and keeps functions of one name in several binaries apart.
 */
struct pathprof_export_stack {
	const char *frames;
	uint64_t count;
};
struct pathprof_export_stacks {
	const struct pathprof_export_stack *stacks;
	size_t stack_cnt;
	const char *figure;       /* what counts are of, as pathprof_export_figure() says it */
	int64_t begin_ns, end_ns; /* CLOCK_REALTIME; 0: not known */
};
/* A name as it may stand in a stack: its ';' and control characters become ':' and '_', and what is
 * not UTF-8 U+FFFD. */
void pathprof_export_frame(FILE *file, const char *name);
/* -EOPNOTSUPP: another format; -ENOMEM; -errno of writing. */
int pathprof_export_stacks(enum pathprof_format format, const struct pathprof_export_stacks *stacks,
			   FILE *file, struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
