// SPDX-License-Identifier: GPL-2.0-or-later
/* See tested.h. */
#include "tested.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../ctl.h"
#include "../text/cleanup.h"

struct reading {
	struct tested *tested;
	const char *file;
	struct pathprof_error *error;
};

static int refuse(const struct reading *reading, const struct pathprof_window_row *row)
{
	const char *source = pathprof_source_name(row->source);

	return pathprof_fail(reading->error, -EINVAL,
			     "%s is no tested set: its window %" PRId64
			     " is of source %s, and what samples did not show may have been "
			     "tested all the same; `pathprof-trace --paths` counts every path of "
			     "a run, and a program that pathprof-cc built its own",
			     reading->file, row->id, source ? source : "unknown");
}

/* A program's own counts have every path, in a window without bursts; windows of samples have
 * bursts. */
static bool is_counted(const struct pathprof_window_row *row)
{
	return row->source == PATHPROF_SOURCE_IMPORT && row->basis == PATHPROF_BASIS_BRANCHES &&
	       !row->totals.bursts && row->totals.paths;
}

/* Called with the newest first. */
static int take_run(void *context, const struct pathprof_window_row *row)
{
	const struct reading *reading = context;
	struct tested *tested = reading->tested;
	struct tested_run run = {
		.window = row->id,
		.begin_ns = row->begin_ns,
		.end_ns = row->end_ns,
		.count = row->totals.paths,
		.lost = row->totals.drops[PATHPROF_DROP_TABLE_FULL],
		.nowhere = row->totals.drops[PATHPROF_DROP_UNRESOLVED],
	};

	tested->counted |= is_counted(row);
	if (row->source != PATHPROF_SOURCE_TRACE && !is_counted(row))
		return refuse(reading, row);
	ctl_grow(&tested->runs, tested->run_cnt, &tested->run_room);
	tested->runs[tested->run_cnt++] = run;
	return 0;
}

static void reverse(struct tested *tested)
{
	for (size_t i = 0, j = tested->run_cnt; i + 1 < j; i++) {
		struct tested_run run = tested->runs[i];

		tested->runs[i] = tested->runs[--j];
		tested->runs[j] = run;
	}
}

static int read_commands(struct tested *tested, struct pathprof_error *error)
{
	for (size_t i = 0; i < tested->run_cnt; i++) {
		struct tested_run *run = &tested->runs[i];
		int r = pathprof_store_window_note(tested->store, run->window, &run->command,
						   error);

		if (r == -ENOENT)
			run->command = ctl_strdup("");
		else if (r < 0)
			return r;
	}
	return 0;
}

int tested_open(struct tested *ret_tested, const char *file, struct pathprof_error *error)
{
	struct tested tested = {NULL};
	struct reading reading = {.tested = &tested, .file = file, .error = error};
	int r = pathprof_store_open(&tested.store, file, PATHPROF_STORE_READ, error);

	if (r == -ENOENT)
		r = pathprof_fail(
			error, r,
			"%s: no such file: `pathprof-trace --paths FILE -- TEST` writes what "
			"a test ran, `pathprofctl tested merge` puts tests together",
			file);
	if (r == 0)
		r = pathprof_store_windows(tested.store, NULL, take_run, &reading, error);
	if (r == 0 && !tested.run_cnt)
		r = pathprof_fail(error, -EINVAL, "%s is no tested set: it holds no run", file);
	reverse(&tested);
	if (r == 0)
		r = read_commands(&tested, error);
	if (r < 0)
		tested_release(&tested);
	else
		*ret_tested = tested;
	return r;
}

void tested_release(struct tested *tested)
{
	for (size_t i = 0; i < tested->run_cnt; i++)
		free(tested->runs[i].command);
	free(tested->runs);
	pathprof_store_free(tested->store);
	*tested = (struct tested){NULL};
}
