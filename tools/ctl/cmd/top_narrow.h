/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Narrowing of the live screen by the marked row: to the functions of a process, of a binary,
 * of a container, a unit or all processes of one name, as --pid, --binary, --container and --comm
 * do it.
 *
 * Workload: once a key. The filter points into the narrowing, which must outlive it.
 */
#ifndef CTL_TOP_NARROW_H
#define CTL_TOP_NARROW_H

#include <stdbool.h>

#include "../view/view.h"

struct top_narrowing {
	const struct view *from; /* where the row was; NULL: all is shown */
	char value[512];         /* of the filter */
	char text[96];           /* "process 4242 nginx", "binary libc.so.6" */
};

/* Whether the screen can be narrowed to rows of this view. */
bool top_can_narrow(const struct view *view);
/*
 * Narrows to a row of that view's table. -ENOENT, error filled, if the row has no usable name:
 * processes from parcels have no PID, and a name with control characters is escaped in the table.
 */
int top_narrow(struct top_narrowing *ret_narrowing, const struct view *view,
	       const struct table *table, size_t row, struct pathprof_error *error);
void top_narrow_filter(const struct top_narrowing *narrowing, struct pathprof_filter *filter);

#endif
