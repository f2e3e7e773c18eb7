/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rule on tested sets, for the files that it is made of: tested_alerts.h. */
#ifndef PP_TESTED_STATE_H
#define PP_TESTED_STATE_H

#include "../drift/drift_alerts.h"
#include "tested_alerts.h"
#include "tested_sets.h"
#include "tested_span.h"

/* A build of the sets that ran, by its number there. */
struct pp_tested_watched {
	char *name; /* by which processes run it; NULL: it did not run in the span */
	struct pp_tested_span span;
	struct pp_tested_counts window; /* of the window at hand */
};

struct pp_tested_alerts {
	struct pp_drift_common common;
	struct pp_drift_alerts alerts;
	const struct pp_tested_sets *sets; /* NULL: nothing is judged */
	struct pp_tell *journal;           /* NULL: not told there */
	sd_event *event;
	char host[65];
	struct pp_tested_watched **watched; /* of each build; NULL: it did not run */
	uint32_t build_cnt, readings;
	enum pathprof_window_kind kind;    /* of the windows counted; ANY: there are none */
	struct pp_tested_restore *restore; /* NULL: the store's windows were read */
};

/* A binary over the span: builds of one name. */
struct pp_tested_subject {
	const char *name;
	struct pp_tested_counts sum;
	struct pathprof_share share;
	int64_t begin_ns;
	uint32_t build; /* with most untested weight */
};

/* A path of a build that the window at hand saw. -ENOMEM. */
int pp_tested_take_path(struct pp_tested_alerts *alerts, const char *name, uint32_t build,
			const struct pathprof_path_row *path);
/* The window at hand is over: its counts go to the span. */
void pp_tested_end_window(struct pp_tested_alerts *alerts, const struct pathprof_totals *totals,
			  int64_t end_ns);
void pp_tested_forget(struct pp_tested_alerts *alerts);

/* tested_restore.c: begins to read the store's windows of the span before end_ns. */
void pp_tested_restore(struct pp_tested_alerts *alerts, int64_t end_ns);
/* Windows still to be read move with a clock that was set by so much. */
void pp_tested_move_restore(struct pp_tested_alerts *alerts, int64_t by_ns);
void pp_tested_end_restore(struct pp_tested_alerts *alerts);

/* tested_message.c: subject NULL: it was not measured for as long as the span. */
void pp_tested_tell(struct pp_tested_alerts *alerts, struct pp_drift_alert *alert,
		    enum pathprof_alert_change change, const struct pp_tested_subject *subject);

#endif
