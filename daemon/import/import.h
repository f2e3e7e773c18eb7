/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An import: a recording of another tool goes in by the functions of pathprof_recording_sink,
 * closed windows come out as those of live sources do.
 *
 * Workload: recordings of any size, some ten million branches a second, in a bounded amount of
 * memory. A window is closed when the recording's time says so, or when it is full: then the next
 * one begins at the sample in hand. One thread at a time; another may read ahead
 * (import_relay.h).
 */
#ifndef PP_IMPORT_H
#define PP_IMPORT_H

#include <stdio.h>

#include "../window/window.h"
#include "import_ask.h"
#include "import_files.h"
#include "import_stats.h"
#include "pathprof/paths.h"
#include "pathprof/recording.h"

struct pp_import;

struct pp_import_config {
	enum pathprof_format format;
	enum pathprof_mapping mapping;
	uint64_t window_ns;
	int64_t file_time_ns; /* CLOCK_REALTIME: of a recording that does not say when it was */
};

/* What is to be said of the files that branches lay in. */
struct pp_import_file {
	const char *name;
	const struct pathprof_build_id *id;
	bool has_code;
	bool assumed; /* the recording does not say that it is this file */
};

/* files and sink outlive it. -ENOMEM; -EINVAL with one line: what the format needs is missing. */
int pp_import_new(struct pp_import **ret_import, const struct pp_import_config *config,
		  const struct pp_import_files *files, const struct pp_window_sink *sink,
		  struct pathprof_error *error);
/* NULL-safe. */
void pp_import_free(struct pp_import *import);

/* Where the recording hands on; context is the import. */
struct pathprof_recording_sink pp_import_sink(struct pp_import *import);
/* Once it is open, and before it is read: who knows events, clocks and build-ids. */
void pp_import_set_recording(struct pp_import *import, const struct pp_import_asked *asked);

/* The recording has ended: the last window is written. Negative errno, error filled. */
int pp_import_finish(struct pp_import *import, struct pathprof_error *error);
/* Why a sink's function failed. */
const struct pathprof_error *pp_import_error(const struct pp_import *import);

const struct pp_import_stats *pp_import_stats(const struct pp_import *import);
/* false: there are no more. */
bool pp_import_file(const struct pp_import *import, uint32_t index,
		    struct pp_import_file *ret_file);

/* import_report.c: what an import says at its end: a table for people, or one JSON object. */
void pp_import_report(const struct pp_import *import,
		      const struct pathprof_recording_stats *recording, const char *db, bool json,
		      FILE *out);
/* Files whose code was not at hand, and those taken by their name: on standard error. */
void pp_import_report_files(const struct pp_import *import);

#endif
