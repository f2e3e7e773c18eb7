// SPDX-License-Identifier: GPL-2.0-or-later
/* Graphs from the cache: see ctl.h. */
#include "ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cleanup.h"
#include "pathprof/graph.h"
#include "text.h"

#define QUIET_S 2 /* what is over sooner needs no words */

struct progress {
	const char *name;
	time_t begin_s;
	bool shown, live;
};

static time_t now_s(void)
{
	return (time_t)(pp_monotonic_ns() / PP_NSEC_PER_SEC);
}

/* A line that is rewritten on a terminal, said once elsewhere. */
static void say_progress(void *context, uint64_t done, uint64_t total)
{
	struct progress *progress = context;
	_cleanup_free_ char *name = NULL;

	if (now_s() - progress->begin_s < QUIET_S || (progress->shown && !progress->live))
		return;
	name = text_escape(text_base_name(progress->name));
	progress->shown = true;
	if (progress->live)
		fprintf(stderr, "\rpathprofctl: %s: reading its code: %3.0f %%", name,
			total ? 100 * (double)done / (double)total : 0);
	else
		fprintf(stderr,
			"pathprofctl: %s: reading its code: seconds, kept for the next time\n",
			name);
	fflush(stderr);
}

static void clear_progress(const struct progress *progress)
{
	if (progress->shown && progress->live)
		fputs("\r\033[K", stderr);
}

/* The directories above the last part; what cannot be made leaves things uncached. */
static void make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		(void)mkdir(path, 0777);
		*slash = '/';
	}
}

int graphs_open(struct pathprof_graph **ret_graph, const struct ctl_options *options,
		struct pathprof_code *code, const char *name, struct pathprof_error *error)
{
	_cleanup_free_ char *directory =
		options->graph_cache ? ctl_strdup(options->graph_cache) : ctl_state_path("graphs");
	struct pathprof_graph_cache cache = {.directory = directory};
	struct progress progress = {
		.name = name,
		.begin_s = now_s(),
		.live = isatty(STDERR_FILENO) == 1,
	};
	int r;

	if (directory && *directory)
		make_parents(directory);
	r = pathprof_graph_open(ret_graph, code, &cache, say_progress, &progress, error);
	clear_progress(&progress);
	if (r < 0 && !error->text[0])
		pathprof_fail(error, r, "%s: no graph of its code: %s", name, strerror(-r));
	return r;
}
