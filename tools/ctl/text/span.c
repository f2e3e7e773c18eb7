// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of "the last five minutes": see span.h. */
#include "span.h"

#include "../ctl.h"
#include "base/clock.h"

static int take_end(void *context, const struct pathprof_window_row *row)
{
	*(int64_t *)context = row->end_ns;
	return 1;
}

/* The end of the newest window that ends after since_ns; 0 if there is none. Windows that end later
 * than now are listed last. */
static int64_t newest_since(struct pathprof_store *store, int64_t since_ns)
{
	const struct pathprof_filter filter = {.since_ns = since_ns, .limit = 1};
	int64_t end_ns = 0;

	return pathprof_store_windows(store, &filter, take_end, &end_ns, NULL) < 0 ? 0 : end_ns;
}

static bool is_past(int64_t end_ns, int64_t now_ns)
{
	return end_ns && end_ns <= now_ns;
}

int64_t span_end_ns(struct pathprof_store *store, int64_t length_ns, bool *ret_past)
{
	const int64_t now_ns = pp_realtime_ns();
	int64_t looked_ns = length_ns, end_ns = newest_since(store, now_ns - looked_ns);

	*ret_past = false;
	if (is_past(end_ns, now_ns))
		return end_ns;
	/* Searches further back each time, so that not all windows of a long database are read. */
	while (!is_past(end_ns, now_ns) && looked_ns < now_ns / 4) {
		looked_ns *= 4;
		end_ns = newest_since(store, now_ns - looked_ns);
	}
	if (!is_past(end_ns, now_ns))
		end_ns = newest_since(store, 0);
	*ret_past = end_ns != 0;
	return end_ns ? end_ns : now_ns;
}
