// SPDX-License-Identifier: GPL-2.0-or-later
/* One recording into one database: see config_args.h. */
#include "../config_args.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/progress.h"
#include "../shared/log.h"
#include "import.h"
#include "import_relay.h"
#include "pathprof/store.h"

/* Of the process, when too much was left out. */
#define EXIT_LOSS 3
/* Progress is told so often. */
#define PROGRESS_EVERY_NS UINT64_C(500000000)
/* Tables that double would leave their former halves in the heap as holes: pages of their own. */
#define OWN_PAGES_BYTES (128 << 10)

struct run {
	const struct pp_args *args;
	struct pp_import_files files;
	struct pathprof_store *store;
	struct pp_window_sink sink;
	struct pp_import *import;
	struct pathprof_recording *recording;
	struct pp_import_relay *relay; /* NULL: this thread does it all */
	int fd;
	uint64_t begin_ns, tell_ns; /* when progress is told next */
	bool progress, live, shown; /* live: standard error is a terminal */
};

static void release(struct run *run)
{
	pp_import_relay_free(run->relay);
	pathprof_recording_free(run->recording);
	pp_import_free(run->import);
	pp_import_files_release(&run->files);
	pathprof_store_free(run->store);
	if (run->fd > STDIN_FILENO)
		close(run->fd);
}

/* perf's directories of several files have their first in `data`. */
static int look_at(const struct run *run, struct stat *ret_status, struct pathprof_error *error)
{
	const char *file = run->args->import_file;
	int r = fstat(run->fd, ret_status);

	if (r == 0 && S_ISDIR(ret_status->st_mode)) {
		if (run->args->format != PATHPROF_FORMAT_PERF_DATA)
			return pathprof_fail(error, -EISDIR,
					     "%s: is a directory: name the recording in it", file);
		r = fstatat(run->fd, "data", ret_status, 0);
		if (r < 0)
			return pathprof_fail(
				error, -errno,
				"%s: is a directory, and no recording of perf's: data: %s", file,
				strerror(errno));
	}
	return r < 0 ? pathprof_fail(error, -errno, "%s: %s", file, strerror(errno)) : 0;
}

static int open_file(struct run *run, int64_t *ret_time_ns, struct pathprof_error *error)
{
	const char *file = run->args->import_file;
	struct stat status;
	int r;

	run->fd = strcmp(file, "-") != 0 ? open(file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (run->fd < 0)
		return pathprof_fail(error, -errno, "%s: %s", file, strerror(errno));
	r = look_at(run, &status, error);
	if (r < 0)
		return r;
	*ret_time_ns = S_ISREG(status.st_mode) ? (int64_t)status.st_mtim.tv_sec * 1000000000 +
							 status.st_mtim.tv_nsec
					       : pp_realtime_ns();
	return 0;
}

static int find_files(struct run *run, struct pathprof_error *error)
{
	int r = 0;

	run->files.sysroot = run->args->sysroot;
	for (unsigned int i = 0; i < run->args->binary_cnt && r == 0; i++)
		r = pp_import_files_add(&run->files, run->args->binaries[i], error);
	return r;
}

/*
 * Only of a perf.data, not packed, whose header says where everything is: in one that was written
 * to a pipe names and build-ids come on the way, and what is known at a sample must not depend on
 * how far another thread has read.
 */
static bool may_read_ahead(const struct run *run)
{
	uint64_t header[2] = {0, 0};

	return run->args->format == PATHPROF_FORMAT_PERF_DATA && run->fd > STDIN_FILENO &&
	       pread(run->fd, header, sizeof(header), 0) == sizeof(header) &&
	       !memcmp(header, "PERF", 4) && header[1] > sizeof(header);
}

/* Without a second thread it is read by one. */
static struct pathprof_recording_sink make_sink(struct run *run)
{
	struct pathprof_recording_sink sink = pp_import_sink(run->import);

	if (may_read_ahead(run) && pp_import_relay_new(&run->relay, &sink) == 0)
		return pp_import_relay_sink(run->relay);
	return sink;
}

/* In a pipe it comes later, or not at all: code is refused by its own header then. */
static int check_machine(const struct run *run, struct pathprof_error *error)
{
	struct pathprof_recording_info info = {.arch = NULL};

	pathprof_recording_info(run->recording, &info);
	if (!info.arch || !strcmp(info.arch, "x86_64"))
		return 0;
	return pathprof_fail(error, -EPROTO,
			     "%s: recorded on %s: only paths of x86-64 code are read",
			     run->args->import_file, info.arch);
}

static int start(struct run *run, const struct pp_config *config, struct pathprof_error *error)
{
	struct pp_import_config import = {
		.format = run->args->format,
		.mapping = (enum pathprof_mapping)config->mapping,
		.window_ns = config->window_ns,
	};
	struct pp_import_asked asked = {NULL, NULL};
	struct pathprof_recording_sink sink;
	int r = open_file(run, &import.file_time_ns, error);

	if (r == 0)
		r = find_files(run, error);
	if (r == 0)
		r = pp_import_new(&run->import, &import, &run->files, &run->sink, error);
	if (r < 0)
		return r;
	sink = make_sink(run);
	r = pathprof_recording_open(&run->recording, import.format, run->fd, run->args->import_file,
				    &sink, error);
	if (r == 0)
		r = check_machine(run, error);
	if (r < 0)
		return r;
	asked.recording = run->recording;
	asked.lock = run->relay ? pp_import_relay_lock(run->relay) : NULL;
	pp_import_set_recording(run->import, &asked);
	/* Only what can be read at all makes a database. */
	r = pathprof_store_open(&run->store, config->db_path, PATHPROF_STORE_WRITE, error);
	if (r == 0)
		run->sink = pp_window_store_sink(run->store);
	return r;
}

static void show_progress(struct run *run)
{
	struct pathprof_recording_stats stats;
	uint64_t now = run->progress ? pp_monotonic_ns() : 0;

	if (!run->progress || now < run->tell_ns)
		return;
	run->tell_ns = run->live ? now + PROGRESS_EVERY_NS : now + (now - run->begin_ns);
	run->shown = run->live;
	pathprof_recording_stats(run->recording, &stats);
	fprintf(stderr, "%spathprofd: %" PRIu64 " MB", run->live ? "\r" : "", stats.bytes >> 20);
	if (stats.bytes_total)
		fprintf(stderr, " of %" PRIu64, stats.bytes_total >> 20);
	fprintf(stderr, ", %" PRIu64 " samples%s", stats.samples, run->live ? "\033[K" : "\n");
}

static int read_on(struct run *run, struct pathprof_error *error)
{
	pthread_mutex_t *lock = run->relay ? pp_import_relay_lock(run->relay) : NULL;
	int r, counted;

	if (lock)
		pthread_mutex_lock(lock);
	do {
		r = pathprof_recording_read(run->recording, error);
		show_progress(run);
	} while (r > 0);
	if (lock)
		pthread_mutex_unlock(lock);
	counted = run->relay ? pp_import_relay_finish(run->relay) : 0;
	return r < 0 ? r : counted;
}

/* What was read before an error is in whole windows, and kept. */
static int read_all(struct run *run, struct pathprof_error *error)
{
	struct pathprof_error end = {""};
	int r = read_on(run, error), closed;

	if (run->shown)
		fputs("\r\033[K", stderr);
	if (r < 0 && pp_import_error(run->import)->text[0])
		*error = *pp_import_error(run->import);
	closed = pp_import_finish(run->import, &end);
	if (r < 0)
		return r;
	if (closed < 0)
		*error = end;
	return closed;
}

static void report(const struct run *run, const struct pp_config *config)
{
	struct pathprof_recording_stats stats;
	struct pathprof_recording_info info;
	char text[PATHPROF_LEDGER_TEXT_LEN];

	pathprof_recording_stats(run->recording, &stats);
	pathprof_recording_info(run->recording, &info);
	if (!run->args->quiet)
		pp_import_report_files(run->import);
	if (info.damaged && !run->args->quiet)
		fprintf(stderr, "pathprofd: %s: damaged in it, and done without: %s\n",
			run->args->import_file, info.damaged);
	if (stats.truncated && !run->args->quiet)
		fprintf(stderr,
			"pathprofd: %s: ends in the middle of a record: its writer was "
			"killed; read as far as it goes\n",
			run->args->import_file);
	if (!run->args->quiet && !run->args->json)
		fprintf(stderr, "pathprofd: %s\n",
			pathprof_ledger_text(&pp_import_stats(run->import)->ledger, text));
	if (!run->args->quiet || run->args->json)
		pp_import_report(run->import, &stats, config->db_path, run->args->json, stdout);
}

/* Too much of what was asked for is missing. */
static bool is_lossy(const struct run *run)
{
	uint64_t max_ppm = run->args->max_loss ? run->args->max_loss_ppm : PATHPROF_LEDGER_LOSS_PPM;
	uint64_t loss_ppm = pathprof_ledger_loss_ppm(&pp_import_stats(run->import)->ledger);

	if (loss_ppm > max_ppm && !run->args->quiet)
		fprintf(stderr,
			"pathprofd: %.1f %% of what was asked for is left out, more than "
			"--max-loss: the rest is in the database, and recording longer adds "
			"nothing that is missing\n",
			(double)loss_ppm / 1e4);
	return loss_ppm > max_ppm;
}

/* Nothing can be made of samples alone, however many there are. */
static bool is_bare(const struct run *run)
{
	const struct pp_import_stats *stats = pp_import_stats(run->import);
	bool bare = stats->samples && stats->bare == stats->samples;

	if (bare && !run->args->quiet)
		fprintf(stderr,
			"pathprofd: %s: its samples have no branch stacks: record them (perf "
			"record -b)\n",
			run->args->import_file);
	return bare;
}

int pp_import_main(const struct pp_args *args, const struct pp_config *config)
{
	_cleanup_(release) struct run run = {
		.args = args,
		.fd = -EBADF,
		.progress = !args->quiet,
		.live = isatty(STDERR_FILENO) == 1,
		.begin_ns = pp_monotonic_ns(),
	};
	struct pathprof_error error = {""};
	int r;

	run.tell_ns = run.begin_ns + pp_progress_after_ns();
	mallopt(M_MMAP_THRESHOLD, OWN_PAGES_BYTES);
	r = start(&run, config, &error);
	if (r == 0) {
		r = read_all(&run, &error);
		report(&run, config);
	}
	if (r < 0)
		pp_log(LOG_ERR, "%s", error.text[0] ? error.text : strerror(-r));
	if (fflush(stdout) != 0 && r >= 0) {
		pp_log(LOG_ERR, "standard output: %s", strerror(errno));
		r = -EIO;
	}
	if (r < 0)
		return 1;
	return is_bare(&run) || is_lossy(&run) ? EXIT_LOSS : 0;
}
