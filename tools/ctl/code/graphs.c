// SPDX-License-Identifier: GPL-2.0-or-later
/* Graphs from the cache: see ctl.h. */
#include "../ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "keeper.h"
#include "pathprof/graph.h"

static void say_progress(void *context, uint64_t done, uint64_t total)
{
	keeper_say("%s: reading its code, kept for the next time: %3.0f %%",
		   text_base_name(context), total ? 100 * (double)done / (double)total : 0);
}

/* Makes the directories above the last part. Failures only leave graphs uncached. */
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
	int r;

	if (directory && *directory)
		make_parents(directory);
	r = pathprof_graph_open(ret_graph, code, &cache, say_progress, (void *)name, error);
	keeper_say("%s", "");
	if (r < 0 && !error->text[0])
		pathprof_fail(error, r, "%s: no graph of its code: %s", name, strerror(-r));
	return r;
}
