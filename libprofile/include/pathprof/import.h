/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * An import: what another tool recorded becomes windows, paths and edges like those of live
 * sources.
 *
 *     pathprof_import_new(&import, &config, &files, &sink, &error);
 *     pathprof_import_open(import, fd, name, &error);
 *     while ((r = pathprof_import_read(import, &error)) > 0)
 *             ;
 *
 * Workload: recordings of any size, some ten million branches a second, in a bounded amount of
 * memory. A window is closed when the recording's time says so, or when it is full: then the next
 * one begins at the sample in hand. The caller uses it from one thread; a perf.data is read ahead
 * by the caller's while a thread of the import's own counts.
 *
 * Files are searched in this order: the --binary files, the --sysroot, the recorded path on this
 * host, and where perf and distributions keep files by build-id (~/.debug,
 * /usr/lib/debug/.build-id). What is opened is always held to the identity that was recorded; by
 * its name alone a file is taken only when the operator named it or its tree.
 */
#ifndef PATHPROF_IMPORT_H
#define PATHPROF_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/build_id.h"
#include "pathprof/error.h"
#include "pathprof/format.h"
#include "pathprof/ledger.h"
#include "pathprof/paths.h"
#include "pathprof/profile.h"
#include "pathprof/reconstruct.h"
#include "pathprof/recording.h"
#include "pathprof/store.h"

/* ---------------------------------------------------------------- the files it speaks of */

#define PATHPROF_IMPORT_BINARY_MAX 64

struct pathprof_import_binary {
	char *path;      /* absolute */
	char *real_path; /* without links; NULL: not known */
	struct pathprof_build_id id;
};

/* All zero: none is named. */
struct pathprof_import_files {
	struct pathprof_import_binary binaries[PATHPROF_IMPORT_BINARY_MAX];
	unsigned int binary_cnt;
	const char *sysroot; /* NULL: none */
};

/* A --binary: it must be there, and be code. Negative errno, error filled. */
int pathprof_import_files_add(struct pathprof_import_files *files, const char *path,
			      struct pathprof_error *error);
void pathprof_import_files_release(struct pathprof_import_files *files);

/* ---------------------------------------------------------------- an import */

struct pathprof_import;

struct pathprof_import_config {
	enum pathprof_format format;
	enum pathprof_mapping mapping;
	uint64_t window_ns;
	int64_t file_time_ns; /* CLOCK_REALTIME: when a recording ended that does not say */
};

/*
 * The receiver of closed windows: the store (pathprof_store_add_window, pathprof_store_add_ranges),
 * or a test. ranges NULL: not all of what ran between two branches is known.
 */
struct pathprof_import_sink {
	void *context;
	int (*add_window)(void *context, const struct pathprof_profile *profile,
			  const struct pathprof_ranges *ranges, struct pathprof_error *error);
};

/* Counts of records and branches that were taken, and of those left out, by reason. */
struct pathprof_import_stats {
	uint64_t samples; /* with the repeats of aggregated texts */
	uint64_t bare;    /* samples without branches */
	uint64_t other;   /* samples of events of another basis */
	uint64_t nobody;  /* samples of a process there was no room for */
	uint64_t stacks;
	struct pathprof_ledger ledger; /* used: in edges; of processes beyond the bound, too */
	uint64_t no_code;              /* in edges, not in paths: one end has no code */
	uint64_t filtered;             /* the same: others were taken between these */
	uint64_t windows, taken;       /* runs of entries whose code is at hand */
	uint64_t refused[PATHPROF_REFUSED_CNT]; /* of these windows */
	uint64_t repeated; /* of these refused ones: where the entry before came once more */
	uint64_t paths;    /* seen whole */
	uint64_t counts, counts_left; /* of an aggregated format: entries, however much each says */
	uint64_t written;             /* windows of the store */
};

/* A file that branches lay in. */
struct pathprof_import_file {
	const char *name;
	const struct pathprof_build_id *id;
	bool has_code;
	bool assumed; /* the recording does not say that it is this file */
};

/* files outlives it; sink is copied. -ENOMEM; -EINVAL with one line: what the format needs is
 * missing. */
int pathprof_import_new(struct pathprof_import **ret_import,
			const struct pathprof_import_config *config,
			const struct pathprof_import_files *files,
			const struct pathprof_import_sink *sink, struct pathprof_error *error);
/* NULL-safe. */
void pathprof_import_free(struct pathprof_import *import);

/* The descriptor stays the caller's. -EPROTO: of a machine whose code is not read. */
int pathprof_import_open(struct pathprof_import *import, int fd, const char *name,
			 struct pathprof_error *error);
/*
 * About a MB more. 1: there is more; 0: the end, and the last window is written. Negative errno,
 * error filled: what was read before is in whole windows, and kept.
 */
int pathprof_import_read(struct pathprof_import *import, struct pathprof_error *error);
/* NULL: none is open. */
const struct pathprof_recording *pathprof_import_recording(const struct pathprof_import *import);

/* A caller without a recording hands over the windows that one would hold, and finishes. */
struct pathprof_recording_sink pathprof_import_records(struct pathprof_import *import);
int pathprof_import_finish(struct pathprof_import *import, struct pathprof_error *error);

const struct pathprof_import_stats *pathprof_import_stats(const struct pathprof_import *import);
/* false: there are no more. */
bool pathprof_import_file(const struct pathprof_import *import, uint32_t index,
			  struct pathprof_import_file *ret_file);

#endif
