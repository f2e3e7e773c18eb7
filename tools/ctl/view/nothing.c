// SPDX-License-Identifier: GPL-2.0-or-later
/* Why a selection is empty: see ctl.h. */
#include "../ctl.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../text/text.h"
#include "base/plural.h"

/* The contents of all windows, or of those with the selected times and kind. */
struct held {
	uint64_t windows, bursts, branches, paths;
	bool imported; /* all of them */
	uint64_t drops[PATHPROF_DROP_CNT];
	int64_t begin_ns, end_ns;
};

static int add_window(void *context, const struct pathprof_window_row *row)
{
	struct held *held = context;

	if (!held->windows || row->begin_ns < held->begin_ns)
		held->begin_ns = row->begin_ns;
	if (!held->windows || row->end_ns > held->end_ns)
		held->end_ns = row->end_ns;
	held->imported =
		(held->imported || !held->windows) && row->source == PATHPROF_SOURCE_IMPORT;
	held->windows++;
	held->bursts += row->totals.bursts;
	held->branches += row->totals.branches;
	held->paths += row->totals.paths;
	for (unsigned int i = 0; i < PATHPROF_DROP_CNT; i++)
		held->drops[i] += row->totals.drops[i];
	return 0;
}

static struct held held_of(struct pathprof_store *store, const struct pathprof_filter *filter)
{
	struct held held = {0};

	if (pathprof_store_windows(store, filter, add_window, &held, NULL) < 0)
		return (struct held){0};
	return held;
}

static bool is_any(unsigned int drop)
{
	return drop < PATHPROF_DROP_CNT;
}

/* Reasons that lie in a thread, so that more time or budget changes nothing. */
static bool is_lasting(unsigned int drop)
{
	switch (drop) {
	case PATHPROF_DROP_TRACED:
	case PATHPROF_DROP_32BIT:
	case PATHPROF_DROP_SECCOMP:
	case PATHPROF_DROP_DENIED:
	case PATHPROF_DROP_REALTIME:
	case PATHPROF_DROP_ISOLATED:
	case PATHPROF_DROP_INIT:
	case PATHPROF_DROP_SILENT:
	case PATHPROF_DROP_STARTING:
		return true;
	default:
		return false;
	}
}

/* The most frequent of these reasons for which samples were dropped; PATHPROF_DROP_CNT: none. */
static unsigned int worst_drop(const struct held *held, bool (*counts)(unsigned int drop))
{
	unsigned int worst = PATHPROF_DROP_CNT;

	for (unsigned int i = 0; i < PATHPROF_DROP_CNT; i++)
		if (counts(i) && held->drops[i] &&
		    (worst == PATHPROF_DROP_CNT || held->drops[i] > held->drops[worst]))
			worst = i;
	return worst;
}

static const char *advice(unsigned int drop)
{
	switch (drop) {
	case PATHPROF_DROP_BUDGET:
		return ": the overhead budget was spent, a larger Overhead= sees more";
	case PATHPROF_DROP_DENIED:
		return ": the right to trace them is missing, see pathprofctl doctor";
	case PATHPROF_DROP_REALTIME:
		return ": they have a real-time policy, RealTime=yes takes them in";
	case PATHPROF_DROP_ISOLATED:
		return ": their CPUs are set apart, RealTime=yes takes them in";
	case PATHPROF_DROP_32BIT:
		return ": 32-bit code is not profiled";
	case PATHPROF_DROP_SECCOMP:
		return ": they run under strict seccomp";
	case PATHPROF_DROP_INIT:
		return ": process 1 is never stopped, for its end would be the machine's";
	case PATHPROF_DROP_SILENT:
		return ": who stopped them would have slept, the daemon's log names them";
	case PATHPROF_DROP_STARTING:
		return ": without CAP_SYS_PTRACE the first 20 ms of a process are left out";
	case PATHPROF_DROP_TRACED:
		return ": a debugger has them";
	default:
		return ", see pathprofctl status";
	}
}

static void tell_drop(char *text, size_t text_size, const struct held *held, unsigned int drop)
{
	snprintf(text, text_size, "%" PRIu64 " %s left out as %s%s", held->drops[drop],
		 pp_plural(held->drops[drop], "sample was", "samples were"),
		 pathprof_drop_name((enum pathprof_drop)drop), advice(drop));
}

static void tell_no_bursts(char *text, size_t text_size, const struct held *held)
{
	const unsigned int drop = worst_drop(held, is_any);
	char left_out[160];

	if (drop == PATHPROF_DROP_CNT) {
		snprintf(text, text_size,
			 "in %" PRIu64
			 " %s nothing that is watched computed long enough to be seen: it slept "
			 "or waited, or ended at once",
			 held->windows, pp_plural(held->windows, "window", "windows"));
	} else {
		tell_drop(left_out, sizeof(left_out), held, drop);
		snprintf(text, text_size, "%" PRIu64 " %s without a burst; %s", held->windows,
			 pp_plural(held->windows, "window", "windows"), left_out);
	}
}

static void tell_times(char *text, size_t text_size, const struct held *all)
{
	char begin[32], end[32];

	snprintf(text, text_size, "the windows there are lie between %s and %s",
		 text_time(begin, sizeof(begin), all->begin_ns),
		 text_time(end, sizeof(end), all->end_ns));
}

/* A filter for the windows alone, without its other conditions. */
static struct pathprof_filter times_of(const struct pathprof_filter *filter)
{
	return (struct pathprof_filter){.since_ns = filter->since_ns,
					.until_ns = filter->until_ns,
					.window = filter->window,
					.kind = filter->kind};
}

const char *nothing_text(char *text, size_t text_size, struct pathprof_store *store,
			 const struct pathprof_filter *filter)
{
	const struct pathprof_filter none = {0}, times = times_of(filter);
	struct pathprof_filter any_kind = times;
	const struct held all = held_of(store, &none), chosen = held_of(store, &times);

	any_kind.kind = PATHPROF_KIND_ANY;
	if (!all.windows)
		snprintf(text, text_size,
			 "no window was written yet: the service writes one each WindowSec=, "
			 "record and import at their end");
	else if (!chosen.windows && held_of(store, &any_kind).windows)
		snprintf(text, text_size,
			 "the windows of that time are of another kind, see pathprofctl windows");
	else if (!chosen.windows)
		tell_times(text, text_size, &all);
	else if (chosen.imported && !chosen.paths)
		snprintf(text, text_size,
			 "what was imported has branches and no whole paths: pathprofctl edges "
			 "lists them; export --recording writes a profile of such a file");
	else if (!chosen.bursts && chosen.paths)
		snprintf(text, text_size,
			 "%" PRIu64 " %s counted in %" PRIu64
			 " %s of that time, none of what is asked for",
			 chosen.paths, pp_plural(chosen.paths, "path was", "paths were"),
			 chosen.windows, pp_plural(chosen.windows, "window", "windows"));
	else if (!chosen.bursts)
		tell_no_bursts(text, text_size, &chosen);
	else
		snprintf(text, text_size,
			 "%" PRIu64 " %s taken in %" PRIu64
			 " %s of that time, none of what is asked for",
			 chosen.bursts, pp_plural(chosen.bursts, "burst was", "bursts were"),
			 chosen.windows, pp_plural(chosen.windows, "window", "windows"));
	return text;
}

const char *nothing_branches_text(char *text, size_t text_size, struct pathprof_store *store,
				  const struct pathprof_filter *filter)
{
	const struct pathprof_filter times = times_of(filter);
	const struct held chosen = held_of(store, &times);

	if (!chosen.paths || chosen.bursts || chosen.branches)
		return nothing_text(text, text_size, store, filter);
	snprintf(text, text_size,
		 "the windows of that time hold exact counts of %" PRIu64
		 " %s, and no branches by themselves: pathprofctl paths lists the paths, "
		 "pathprofctl cfg FUNCTION counts the edges of a function",
		 chosen.paths, pp_plural(chosen.paths, "path", "paths"));
	return text;
}

const char *left_out_text(char *text, size_t text_size, struct pathprof_store *store,
			  const struct pathprof_filter *filter)
{
	const struct pathprof_filter times = times_of(filter);
	const struct held chosen = held_of(store, &times);
	const unsigned int drop = worst_drop(&chosen, is_lasting);

	text[0] = 0;
	if (drop != PATHPROF_DROP_CNT && chosen.drops[drop] > chosen.bursts)
		tell_drop(text, text_size, &chosen, drop);
	return text;
}
