// SPDX-License-Identifier: GPL-2.0-or-later
/* Windows that end later than now: see future.h. */
#include "future.h"

#include <inttypes.h>

#include "../text/text.h"
#include "base/clock.h"
#include "base/plural.h"

struct future {
	uint64_t cnt;
	int64_t end_ns;
};

static int take_window(void *context, const struct pathprof_window_row *row)
{
	struct future *future = context;

	future->cnt++;
	if (row->end_ns > future->end_ns)
		future->end_ns = row->end_ns;
	return 0;
}

void future_tell(struct pathprof_store *store, const struct pathprof_filter *filter)
{
	const int64_t now_ns = pp_realtime_ns();
	struct pathprof_filter later = *filter;
	struct future future = {.end_ns = now_ns};
	char text[32];

	later.limit = 0;
	if (later.since_ns < now_ns)
		later.since_ns = now_ns;
	if (pathprof_store_windows(store, &later, take_window, &future, NULL) < 0 || !future.cnt)
		return;
	ctl_note("%" PRIu64 " %s later than now, the last at %s: the clock was set back "
		 "since, so the last window is one of the others",
		 future.cnt, pp_plural(future.cnt, "window ends", "windows end"),
		 text_time(text, sizeof(text), future.end_ns));
}
