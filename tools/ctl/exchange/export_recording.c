// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading a recording for export: see ctl.h. */
#include "../ctl.h"
#include "pathprof/branch_profile.h"
#include "pathprof/code.h"
#include "pathprof/graph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../code/keeper.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "pathprof/recording_branches.h"
#include "recording.h"

/* More misfits than this for each branch mean "probably not the same binary", as in BOLT. */
#define MISFIT_SHARE 0.1

struct reading {
	const char *name;
	enum pathprof_format format;
	int fd;
	struct pathprof_recording *recording;
	struct pathprof_recording_branches *branches;
	struct pathprof_error error;
};

static void release(struct reading *r)
{
	pathprof_recording_branches_free(r->branches);
	pathprof_recording_free(r->recording);
	if (r->fd > STDIN_FILENO)
		close(r->fd);
}

/* A descriptor's number alone, as of /dev/fd/63, does not tell what is read. */
static const char *short_name(const char *name)
{
	return strncmp(name, "/dev/", strlen("/dev/")) == 0 ? name : text_base_name(name);
}

static void say_progress(const struct reading *r)
{
	const char *name = short_name(r->name);
	struct pathprof_recording_stats stats;

	pathprof_recording_stats(r->recording, &stats);
	if (stats.bytes_total)
		keeper_say("%s: %" PRIu64 " MB read of %" PRIu64, name, stats.bytes / 1000000,
			   stats.bytes_total / 1000000);
	else
		keeper_say("%s: %" PRIu64 " MB read", name, stats.bytes / 1000000);
}

/* ---------------------------------------------------------------- reading */

static int open_recording(struct reading *r)
{
	struct pathprof_recording_sink sink;
	int rc;

	pathprof_recording_branches_sink(r->branches, &sink);
	rc = pathprof_recording_open(&r->recording, r->format, r->fd, r->name, &sink, &r->error);
	if (!rc)
		pathprof_recording_branches_set_recording(r->branches, r->recording);
	return rc;
}

static int read_all(struct reading *r)
{
	int rc;

	say_progress(r);
	while ((rc = pathprof_recording_read(r->recording, &r->error)) > 0)
		say_progress(r);
	keeper_say("%s", "");
	if (rc < 0 && !r->error.text[0])
		r->error = *pathprof_recording_branches_error(r->branches);
	return rc;
}

/* ---------------------------------------------------------------- what is worth knowing */

static void tell_left_out(const struct reading *r, const struct pathprof_branch_profile *profile)
{
	const struct pathprof_recording_branches_stats *stats =
		pathprof_recording_branches_stats(r->branches);
	uint64_t misfits = stats->left[PATHPROF_LEFT_RANGE];

	if (stats->by_name && stats->by_name == stats->mappings)
		ctl_note("%s: found by its name: the recording has no build-id of it",
			 profile->origin.binary);
	if ((double)misfits > MISFIT_SHARE * (double)stats->branches)
		ctl_note("%" PRIu64 " ranges between its %" PRIu64 " branches do not fit the code: "
			 "it is probably not the binary that ran",
			 misfits, stats->branches);
	if (stats->left[PATHPROF_LEFT_PROCESSES] || stats->left[PATHPROF_LEFT_MAPPINGS])
		ctl_note("%" PRIu64 " processes and %" PRIu64
			 " mappings are left out: there were too many",
			 stats->left[PATHPROF_LEFT_PROCESSES], stats->left[PATHPROF_LEFT_MAPPINGS]);
}

/* Whether samples are all without branches: those are of no use, however many there are. */
static bool is_bare(const struct reading *r)
{
	const struct pathprof_recording_branches_stats *stats =
		pathprof_recording_branches_stats(r->branches);

	return stats->samples && !stats->with_stack;
}

/* ---------------------------------------------------------------- all of it */

int export_recording_check(const struct ctl_options *options)
{
	const struct pathprof_filter *f = &options->filter;

	if (!options->recording)
		return options->recording_format
			       ? ctl_usage(options, "--recording-format goes with --recording")
		       : options->max_loss ? ctl_usage(options, "--max-loss goes with --recording")
					   : CTL_OK;
	if (!options->file)
		return ctl_usage(options, "--recording needs --file, the binary to export");
	if (f->since_ns || f->until_ns || f->window || f->pid || f->comm || f->binary ||
	    f->container || f->workload || f->kind || options->host || options->labels[0] ||
	    options->has_owner || options->any_owner || options->db)
		return ctl_usage(
			options,
			"--recording is read whole: leave out options that select from a database");
	return CTL_OK;
}

int export_recording(const struct ctl_options *options, struct pathprof_code *code,
		     const struct pathprof_graph *graph, struct pathprof_branch_profile *profile)
{
	struct reading r = {.name = options->recording, .fd = -1};
	bool bare;
	int rc;

	r.format = options->recording_format ? pathprof_format_named(options->recording_format)
					     : PATHPROF_FORMAT_PERF_DATA;
	rc = recording_open(r.name, &r.fd, &r.error);
	if (!rc)
		rc = pathprof_recording_branches_new(&r.branches, r.format, code, graph, profile,
						     &r.error);
	if (!rc)
		rc = open_recording(&r);
	if (!rc)
		rc = read_all(&r);
	if (!rc) {
		rc = pathprof_recording_branches_finish(r.branches, r.recording, &r.error);
		/* Damage, or a cut, may be the reason why there is nothing. */
		recording_tell(r.name, r.recording);
	}
	if (!rc)
		tell_left_out(&r, profile);
	bare = rc == -ENODATA && is_bare(&r);
	release(&r);
	if (rc)
		ctl_fail_error("export", rc, &r.error);
	return bare ? CTL_LOSS : rc ? CTL_FAILURE : CTL_OK;
}
