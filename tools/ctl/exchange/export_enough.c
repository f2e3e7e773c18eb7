// SPDX-License-Identifier: GPL-2.0-or-later
/* Enough samples for a compiler: see export_enough.h. */
#include "export_enough.h"

#include <inttypes.h>
#include <string.h>

#include "../ctl.h"

/*
 * Beyond so many taken branches of a program, more samples changed little in the results of BOLT,
 * clang and GCC. Measured by `tests/bench/pgo.sh samples`, docs/pgo.md has the figures.
 */
#define ENOUGH_BRANCHES 40000

/* The program that reads the format; NULL: people do. */
static const char *reader_of(enum pathprof_format format)
{
	switch (format) {
	case PATHPROF_FORMAT_BOLT_PREAGG:
	case PATHPROF_FORMAT_BOLT_FDATA:
		return "BOLT";
	case PATHPROF_FORMAT_LLVM_SAMPLE:
	case PATHPROF_FORMAT_PROFGEN_RAW:
		return "clang";
	case PATHPROF_FORMAT_AUTOFDO_TEXT:
		return "GCC";
	default:
		return NULL;
	}
}

/* The number of samples for each count that is written: counts by CPU time are always large. */
static double looks_a_count(const struct pathprof_branch_origin *o)
{
	return o->weighed && o->weight > 0 ? (double)o->samples / o->weight : 1;
}

/* perf2bolt asks for a density whatever the source is: whoever reads its complaint knows it from
 * here. */
static void tell_density(const struct pathprof_branch_profile *profile,
			 const struct pathprof_graph *graph)
{
	struct pathprof_density d;

	if (pathprof_profile_density(profile, graph, &d, NULL) < 0)
		return;
	d.density *= looks_a_count(&profile->origin);
	if (d.partial)
		ctl_note("%" PRIu32 " of %" PRIu32 " functions have branches and no range of code "
			 "between two of them: the density is that of the others",
			 d.rangeless, d.functions);
	if (d.density < d.threshold)
		ctl_note("density %.1f: perf2bolt will say that it wants %.0f", d.density,
			 d.threshold);
	else
		ctl_note("density %.1f", d.density);
}

void tell_enough(enum pathprof_format format, const struct pathprof_branch_profile *profile,
		 const struct pathprof_graph *graph)
{
	const char *reader = reader_of(format);
	uint64_t seen = profile->origin.taken;

	if (!reader)
		return;
	if (seen >= ENOUGH_BRANCHES)
		ctl_note("enough samples: %" PRIu64
			 " of its taken branches were seen; %s has got most of "
			 "its gain from %d",
			 seen, reader, ENOUGH_BRANCHES);
	else if (!profile->range_cnt)
		ctl_note("no range of its code was seen: record more");
	else
		ctl_note("few samples: %" PRIu64
			 " of its taken branches were seen; %s has got most of its "
			 "gain from %d: record %.1f times as much",
			 seen, reader, ENOUGH_BRANCHES,
			 ENOUGH_BRANCHES / (double)(seen ? seen : 1));
	if (!strcmp(reader, "BOLT"))
		tell_density(profile, graph);
}
