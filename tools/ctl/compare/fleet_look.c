// SPDX-License-Identifier: GPL-2.0-or-later
/* The beginning of a fleet's questions: see fleet_look.h. */
#include "fleet_look.h"

#include <stdio.h>
#include <unistd.h>

#include "../text/kinds.h"
#include "base/clock.h"
#include "base/plural.h"

#define BINARIES_DEFAULT 10 /* number of heaviest programs */
#define QUIET_NS         (2 * PP_NSEC_PER_SEC)

static int look(struct fleet_question *q, const char *verb, size_t least, const char *why)
{
	struct pathprof_error error = {""};
	struct kinds kinds;
	int r = kinds_settle(q->store, &q->filter, &kinds);

	if (r)
		return r;
	/* Set even if all windows are of one kind, since it says what the counts of paths mean. */
	q->filter.kind = kinds.used;
	r = pathprof_fleet_look(&q->fleet, q->store, &q->filter, &error);
	if (r < 0)
		return ctl_fail_error(verb, r, &error);
	if (q->fleet.host_cnt >= least)
		return CTL_OK;
	if (q->options->hub)
		return ctl_fail("%s: the hub has %zu %s, and %s", verb, q->fleet.host_cnt,
				pp_plural(q->fleet.host_cnt, "host", "hosts"), why);
	return ctl_fail("%s: the database has %zu %s, and %s: ask a hub (--hub), or add parcels of "
			"%zu hosts or more (`pathprofctl parcel`)",
			verb, q->fleet.host_cnt, pp_plural(q->fleet.host_cnt, "host", "hosts"), why,
			least);
}

struct progress {
	uint64_t begin_ns;
	size_t host_cnt;
	bool shown;
};

static bool show_progress(void *context, size_t host_cnt)
{
	struct progress *progress = context;

	if (isatty(STDERR_FILENO) && pp_monotonic_ns() - progress->begin_ns >= QUIET_NS) {
		progress->shown = true;
		fprintf(stderr, "\rpathprofctl: %zu of %zu hosts", host_cnt, progress->host_cnt);
	}
	return true;
}

static int load(struct fleet_question *q, const char *verb)
{
	struct progress progress = {pp_monotonic_ns(), q->fleet.host_cnt, false};
	struct pathprof_error error = {""};
	int r = pathprof_fleet_load(&q->groups, &q->fleet, q->store, &q->filter, show_progress,
				    &progress, &error);

	if (progress.shown)
		fputs("\r\033[K", stderr);
	return r < 0 ? ctl_fail_error(verb, r, &error) : CTL_OK;
}

int fleet_ask(struct fleet_question *q, const struct ctl_options *options, const char *verb,
	      size_t least, const char *why)
{
	int r = ctl_no_operands(options);

	*q = (struct fleet_question){
		.options = options, .filter = options->filter, .listing = {.json = options->json}};
	if (!options->limit_given)
		q->filter.limit = BINARIES_DEFAULT;
	if (r == CTL_OK)
		r = ctl_db_open(&q->store, options, PATHPROF_STORE_READ);
	if (r == CTL_OK)
		r = look(q, verb, least, why);
	return r == CTL_OK ? load(q, verb) : r;
}

void fleet_question_release(struct fleet_question *q)
{
	pathprof_fleet_groups_release(&q->groups);
	pathprof_fleet_release(&q->fleet);
	pathprof_store_free(q->store);
}
