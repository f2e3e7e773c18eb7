// SPDX-License-Identifier: GPL-2.0-or-later
/* One recording into one database: see ctl.h. */
#include "../ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../text/cleanup.h"
#include "../text/when.h"
#include "base/clock.h"
#include "import_progress.h"
#include "import_report.h"
#include "recording.h"

#define WINDOW_NS (60 * CTL_NS_PER_S)
/* Tables that double would leave their former halves in the heap as holes: pages of their own. */
#define OWN_PAGES_BYTES (128 << 10)

struct run {
	const struct ctl_options *options;
	const char *name, *db;
	struct pathprof_import_config config;
	struct pathprof_import_files files;
	struct pathprof_store *store;
	struct pathprof_import *import;
	int fd;
	struct import_progress *progress; /* NULL: none is told */
};

static void end_progress(struct run *run)
{
	import_progress_free(run->progress);
	run->progress = NULL;
}

static void release(struct run *run)
{
	pathprof_import_free(run->import);
	pathprof_import_files_release(&run->files);
	pathprof_store_free_unused(run->store);
	if (run->fd > STDIN_FILENO)
		close(run->fd);
}

/* ---------------------------------------------------------------- opening */

/* perf's directories of several files have the first file in `data`. */
static int look_at(struct run *run, struct pathprof_error *error)
{
	struct stat status;
	int r = fstat(run->fd, &status);

	if (r == 0 && S_ISDIR(status.st_mode)) {
		if (run->config.format != PATHPROF_FORMAT_PERF_DATA)
			return pathprof_fail(error, -EISDIR,
					     "%s: is a directory: name the recording in it",
					     run->name);
		r = fstatat(run->fd, "data", &status, 0);
		if (r < 0)
			return pathprof_fail(
				error, -errno,
				"%s: is a directory, and no recording of perf's: data: %s",
				run->name, strerror(errno));
	}
	if (r < 0)
		return pathprof_fail(error, -errno, "%s: %s", run->name, strerror(errno));
	run->config.file_time_ns =
		S_ISREG(status.st_mode) ? pp_file_time_ns(&status.st_mtim) : pp_realtime_ns();
	return 0;
}

static int find_files(struct run *run, struct pathprof_error *error)
{
	const struct ctl_options *options = run->options;
	int r = 0;

	run->files.sysroot = options->sysroot;
	for (unsigned int i = 0; i < options->recorded_cnt && r == 0; i++)
		r = pathprof_import_files_add(&run->files, options->recorded[i], error);
	return r;
}

static int add_window(void *context, const struct pathprof_profile *profile,
		      const struct pathprof_ranges *ranges, struct pathprof_error *error)
{
	const struct run *run = context;
	int64_t id;
	int r = pathprof_store_add_window(run->store, profile, &id, error);

	return r == 0 && ranges ? pathprof_store_add_ranges(run->store, id, ranges, error) : r;
}

static int start(struct run *run, struct pathprof_error *error)
{
	const struct pathprof_import_sink sink = {run, add_window};
	int r = recording_open(run->name, &run->fd, error);

	if (r == 0 && !run->options->no_report)
		run->progress = import_progress_new(run->name, run->fd);
	if (r == 0)
		r = look_at(run, error);
	if (r == 0)
		r = find_files(run, error);
	if (r == 0)
		r = pathprof_import_new(&run->import, &run->config, &run->files, &sink, error);
	if (r == 0)
		r = pathprof_import_open(run->import, run->fd, run->name, error);
	/* The database is made only if the recording can be read. */
	return r == 0 ? pathprof_store_open(&run->store, run->db, PATHPROF_STORE_WRITE, error) : r;
}

/* ---------------------------------------------------------------- reading */

/* Records that were read before an error are in whole windows, and kept. */
static int read_all(struct run *run, struct pathprof_error *error)
{
	int r;

	do {
		r = pathprof_import_read(run->import, error);
		import_progress_at(run->progress, pathprof_import_recording(run->import));
	} while (r > 0);
	return r;
}

/* ---------------------------------------------------------------- what is said */

static void report(const struct run *run)
{
	const struct pathprof_recording *recording = pathprof_import_recording(run->import);
	struct pathprof_recording_stats stats;
	bool quiet = run->options->no_report;
	char text[PATHPROF_LEDGER_TEXT_LEN];

	if (!quiet) {
		import_report_files(run->import);
		recording_tell(run->name, recording);
	}
	if (!quiet && !run->options->json)
		ctl_note("%s",
			 pathprof_ledger_text(&pathprof_import_stats(run->import)->ledger, text));
	pathprof_recording_stats(recording, &stats);
	if (!quiet || run->options->json)
		import_report(run->import, &stats, run->db, run->options->json, stdout);
}

/* Whether there is nothing to import: samples without branches are of no use, however many there
 * are. */
static bool is_bare(const struct run *run)
{
	const struct pathprof_import_stats *stats = pathprof_import_stats(run->import);
	bool bare = stats->bare == stats->samples && !stats->counts;

	if (bare && !run->options->no_report)
		ctl_note("%s: %s", run->name,
			 stats->samples ? "its samples have no branch stacks: record them (perf "
					  "record -b)"
					: "has neither samples nor counts: look whether what "
					  "wrote it failed, or record longer");
	return bare;
}

int import_recording(const struct ctl_options *options, const char *db)
{
	_cleanup_(release) struct run run = {
		.options = options,
		.name = options->argv[0],
		.db = db,
		.config = {.format = PATHPROF_FORMAT_PERF_DATA,
			   .mapping = PATHPROF_MAPPING_BL,
			   .window_ns = WINDOW_NS},
		.fd = -EBADF,
	};
	struct pathprof_error error = {""};
	int64_t span_ns;
	bool is_open;
	int r;

	if (options->format)
		run.config.format = pathprof_format_named(options->format);
	if (options->window_span && when_parse_span(options->window_span, &span_ns) == 0)
		run.config.window_ns = (uint64_t)span_ns;
	mallopt(M_MMAP_THRESHOLD, OWN_PAGES_BYTES);
	r = start(&run, &error);
	is_open = r == 0;
	if (is_open)
		r = read_all(&run, &error);
	end_progress(&run);
	if (is_open)
		report(&run);
	if (r < 0)
		return ctl_fail_error("import", r, &error);
	if (is_bare(&run))
		return CTL_LOSS;
	return recording_tell_loss(options, &pathprof_import_stats(run.import)->ledger,
				   "the rest is in the database");
}
