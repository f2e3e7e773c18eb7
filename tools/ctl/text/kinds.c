// SPDX-License-Identifier: GPL-2.0-or-later
/* Kinds of windows: see kinds.h. */
#include "kinds.h"

#include <stdio.h>
#include <string.h>

const char *kinds_text(enum pathprof_window_kind kind)
{
	switch (kind) {
	case PATHPROF_KIND_BRANCHES:
		return "windows sampled on branches";
	case PATHPROF_KIND_HORIZON:
		return "windows by a number of instructions that the clock did not weigh";
	case PATHPROF_KIND_WEIGHED:
		return "windows weighed by the clock";
	case PATHPROF_KIND_TAKEN:
		return "windows by a number of taken branches";
	case PATHPROF_KIND_ANY:
		break;
	}
	return "windows";
}

enum pathprof_window_kind kinds_named(const char *name)
{
	for (int kind = PATHPROF_KIND_BRANCHES; kind < PATHPROF_KIND_CNT; kind++)
		if (!strcmp(name, pathprof_window_kind_name((enum pathprof_window_kind)kind)))
			return (enum pathprof_window_kind)kind;
	return PATHPROF_KIND_ANY;
}

int kinds_choose(struct kinds *ret_kinds, struct pathprof_store *store,
		 struct pathprof_filter *filter, struct pathprof_error *error)
{
	enum pathprof_window_kind newest;
	unsigned int kinds;
	int r = pathprof_store_kinds(store, filter, &kinds, &newest, error);

	if (r < 0)
		return r;
	*ret_kinds = (struct kinds){.used = newest, .left_out = kinds & ~(1u << newest)};
	if (ret_kinds->left_out)
		filter->kind = newest;
	return 0;
}

void kinds_tell(const struct kinds *kinds)
{
	unsigned int cnt = 1;

	for (int kind = PATHPROF_KIND_BRANCHES; kind < PATHPROF_KIND_CNT; kind++)
		cnt += kinds->left_out >> kind & 1;
	for (int kind = PATHPROF_KIND_BRANCHES; kind < PATHPROF_KIND_CNT; kind++)
		if (kinds->left_out >> kind & 1)
			ctl_note("%u kinds of windows are selected, the newest is used: %s weigh "
				 "code differently and are left out: --kind %s shows them",
				 cnt, kinds_text((enum pathprof_window_kind)kind),
				 pathprof_window_kind_name((enum pathprof_window_kind)kind));
}

int kinds_settle(struct pathprof_store *store, struct pathprof_filter *filter,
		 struct kinds *ret_kinds)
{
	struct pathprof_error error = {""};
	struct kinds kinds;
	int r = kinds_choose(&kinds, store, filter, &error);

	if (r < 0)
		return ctl_fail_error("windows", r, &error);
	kinds_tell(&kinds);
	if (ret_kinds)
		*ret_kinds = kinds;
	return CTL_OK;
}
