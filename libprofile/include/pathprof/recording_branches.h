/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A recording straight into the branch profile of one binary, without windows, paths or a database:
 * every entry of a branch stack is a branch, every two neighbours a range of code run from the
 * older one's target to the newer one's branch. These are the counts of the tools for it
 * (perf2bolt, llvm-profgen, create_llvm_prof); docs/formats.md says where they differ and what is
 * done here.
 *
 *     pathprof_recording_branches_new(&branches, format, code, graph, &profile, &error);
 *     pathprof_recording_branches_sink(branches, &sink);
 *     pathprof_recording_open(&recording, format, fd, name, &sink, &error);
 *     pathprof_recording_branches_set_recording(branches, recording);
 *     while ((r = pathprof_recording_read(recording, &error)) > 0)
 *             ;
 *     pathprof_recording_branches_finish(branches, recording, &error);
 *     pathprof_branch_profile_settle(&profile);
 *
 * Workload: recordings of any size, some 10^9 entries, of which 10^4 to 10^6 differ. Entries are
 * counted in tables of a fixed size, which are emptied into the profile when they are full, and at
 * the end: the ledger and counts of branches and ranges below are of what was emptied. Processes
 * are kept with their mappings. Both together take no more than
 * PATHPROF_RECORDING_BRANCHES_MEMORY_MAX bytes; the profile grows with what differs, some 150
 * bytes each. One object, one thread.
 *
 * Ownership: profile, code and graph are the caller's and outlive the object.
 */
#ifndef PATHPROF_RECORDING_BRANCHES_H
#define PATHPROF_RECORDING_BRANCHES_H

#include <stdint.h>

#include "pathprof/branch_profile.h"
#include "pathprof/code.h"
#include "pathprof/error.h"
#include "pathprof/format.h"
#include "pathprof/graph.h"
#include "pathprof/ledger.h"
#include "pathprof/recording.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PATHPROF_RECORDING_BRANCHES_MEMORY_MAX (24u << 20)

/* Things left out besides entries, which the ledger counts. */
enum pathprof_recording_left {
	PATHPROF_LEFT_RANGE,     /* ranges: the code does not run on there */
	PATHPROF_LEFT_PROCESSES, /* processes there was no room for */
	PATHPROF_LEFT_MAPPINGS,  /* mappings of the binary there was no room for, or malformed */
	PATHPROF_LEFT_CNT
};

struct pathprof_recording_branches_stats {
	uint64_t samples;        /* all of the recording */
	uint64_t with_stack;     /* that have branches */
	uint64_t of_binary;      /* that have branches of it */
	uint64_t branches;       /* counted: entries with an end in the binary */
	uint64_t mappings;       /* of the binary */
	uint64_t by_name;        /* of these, taken by their name alone */
	uint64_t other_build_id; /* mappings of its name that are another build */
	uint64_t left[PATHPROF_LEFT_CNT];
	struct pathprof_ledger ledger; /* of its entries, as `import` prints it */
};

struct pathprof_recording_branches;

/*
 * format: one that pathprof_recording_open() reads. profile is initialised, of this binary or of
 * any. -ESTALE: code, graph and profile are not of one binary; -EFBIG; -ENOMEM; -EOPNOTSUPP.
 */
int pathprof_recording_branches_new(struct pathprof_recording_branches **ret_branches,
				    enum pathprof_format format, struct pathprof_code *code,
				    const struct pathprof_graph *graph,
				    struct pathprof_branch_profile *profile,
				    struct pathprof_error *error);
/* NULL-safe. */
void pathprof_recording_branches_free(struct pathprof_recording_branches *branches);
void pathprof_recording_branches_sink(struct pathprof_recording_branches *branches,
				      struct pathprof_recording_sink *ret_sink);
/*
 * The recording knows what the events are, before the first sample: the first with branch stacks
 * decides whether clocks or branches were sampled, and samples of the other kind are left out, as
 * by `import`. Without it all events count.
 */
void pathprof_recording_branches_set_recording(struct pathprof_recording_branches *branches,
					       const struct pathprof_recording *recording);
/*
 * At the end of the recording (NULL: it is not known): what is counted goes into the profile, and
 * where it comes from. The error's line says what to do. -ESTALE: it was recorded with another
 * build; -ENODATA: it has nothing of this binary, or no branch stacks.
 */
int pathprof_recording_branches_finish(struct pathprof_recording_branches *branches,
				       const struct pathprof_recording *recording,
				       struct pathprof_error *error);
/* The error with which this object stopped a reading; the text is empty if it did not. */
const struct pathprof_error *
pathprof_recording_branches_error(const struct pathprof_recording_branches *branches);
const struct pathprof_recording_branches_stats *
pathprof_recording_branches_stats(const struct pathprof_recording_branches *branches);

#ifdef __cplusplus
}
#endif

#endif
