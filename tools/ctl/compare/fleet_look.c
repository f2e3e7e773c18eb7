// SPDX-License-Identifier: GPL-2.0-or-later
/* The beginning of a fleet's questions: see fleet_look.h. */
#include "fleet_look.h"

#include "../ctl.h"
#include "../text/kinds.h"

int fleet_look(struct pathprof_fleet *ret_fleet, struct pathprof_store *store,
	       struct pathprof_filter *filter, const char *verb, size_t least, const char *why)
{
	struct pathprof_error error = {""};
	struct kinds kinds;
	int r = kinds_settle(store, filter, &kinds);

	if (r)
		return r;
	/* Even where all windows are of one kind: it says what paths count by. */
	filter->kind = kinds.used;
	r = pathprof_fleet_look(ret_fleet, store, filter, &error);
	if (r < 0)
		return ctl_fail_error(verb, r, &error);
	if (ret_fleet->host_cnt >= least)
		return CTL_OK;
	return ctl_fail(
		"%s: the database has %zu hosts, and %s: ask a hub (--hub), or add parcels of "
		"%zu hosts or more (`pathprofctl parcel`)",
		verb, ret_fleet->host_cnt, why, least);
}
