// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl top: the hottest code now. On a terminal it stays and refreshes, into a pipe it
 * prints. */
#include "../ctl.h"

#include <unistd.h>

#include "../text/cleanup.h"
#include "../text/span.h"
#include "../text/text.h"
#include "../view/future.h"
#include "../view/view.h"
#include "top_screen.h"

#define DEFAULT_SPAN_NS (300 * CTL_NS_PER_S)
#define DEFAULT_LIMIT   25

/* The last minutes, whose end is also given: windows of a clock that was ahead are not now's. */
static void select_last(struct pathprof_store *store, struct pathprof_filter *filter)
{
	char end[32], length[32];
	bool past;
	int64_t end_ns = span_end_ns(store, DEFAULT_SPAN_NS, &past);

	if (past)
		ctl_note("the newest window ended at %s: this shows the %s up to then",
			 text_time(end, sizeof(end), end_ns),
			 text_duration(length, sizeof(length), DEFAULT_SPAN_NS));
	future_tell(store, filter);
	filter->since_ns = end_ns - DEFAULT_SPAN_NS;
	filter->until_ns = end_ns;
}

static int print_once(const struct ctl_options *options, const struct view *view,
		      struct pathprof_store *store)
{
	struct view_settings settings = {
		.filter = options->filter,
		.sort = options->sort,
		.json = options->json,
		.limit_given = true, /* the user expects only the first rows */
	};
	struct pathprof_filter *filter = &settings.filter;

	if (!filter->since_ns && !filter->until_ns && !filter->window)
		select_last(store, filter);
	if (!options->limit_given)
		filter->limit = DEFAULT_LIMIT;
	return view_print(view, store, &settings, stdout);
}

int cmd_top(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	_cleanup_free_ char *db = NULL;
	const struct view *view = view_find(options->by ? options->by : "paths");
	struct top_config config;
	int r = ctl_no_operands(options);

	if (r)
		return r;
	if (!view)
		return ctl_usage(
			options,
			"--by %s: one of paths, functions, callers, edges, binaries, processes, "
			"containers, units, comms",
			options->by);
	r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	if (!ctl_term.terminal || options->json || !isatty(STDIN_FILENO))
		return print_once(options, view, store);
	db = ctl_db_path(options);
	config = (struct top_config){
		.options = options,
		.db = db,
		.store = store,
		.filter = options->filter,
		.sort = options->sort,
		.sliding_ns = options->filter.since_ns || options->filter.until_ns ||
					      options->filter.window
				      ? 0
				      : DEFAULT_SPAN_NS,
		.view = view,
	};
	if (!options->limit_given)
		config.filter.limit = TOP_ROWS_MAX;
	return top_screen(&config);
}
