// SPDX-License-Identifier: GPL-2.0-or-later
/* Drift over time, as stored: see drifts.h. */
#include "drifts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../view/future.h"

void drifts_add(struct drifts *drifts, const struct pathprof_drift_row *row)
{
	struct drift_point *point;

	ctl_grow(&drifts->points, drifts->cnt, &drifts->room);
	point = &drifts->points[drifts->cnt++];
	point->row = *row;
	point->row.binary_name = ctl_strdup(row->binary_name ? row->binary_name : "");
	point->row.container = ctl_strdup(row->container ? row->container : "");
	point->row.baseline = ctl_strdup(row->baseline);
}

void drifts_release(struct drifts *drifts)
{
	for (size_t i = 0; i < drifts->cnt; i++) {
		struct pathprof_drift_row *row = &drifts->points[i].row;

		free((char *)row->binary_name);
		free((char *)row->container);
		free((char *)row->baseline);
	}
	free(drifts->points);
	*drifts = (struct drifts){0};
}

static int take(void *context, const struct pathprof_drift_row *row)
{
	drifts_add(context, row);
	return 0;
}

static int by_subject(const struct pathprof_drift_row *a, const struct pathprof_drift_row *b)
{
	int order = strcmp(a->binary_name, b->binary_name);

	if (!order)
		order = strcmp(a->container, b->container);
	return order ? order : strcmp(a->baseline, b->baseline);
}

static double least_bits(const struct pathprof_drift_row *row)
{
	return fmin(row->kl_corrected_bits, row->kl_low_bits);
}

/*
 * The service's windows are numbered in the order of measurement, whatever the clock did; of others
 * the newest is the last. Of two builds in one window the first is the one that drifts more.
 */
static int by_subject_and_order(const void *x, const void *y, void *context)
{
	const struct drifts *drifts = context;
	const struct pathprof_drift_row *a = &((const struct drift_point *)x)->row;
	const struct pathprof_drift_row *b = &((const struct drift_point *)y)->row;
	int order = by_subject(a, b);

	if (order)
		return order;
	if (drifts->measured && a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? 1 : -1;
	if (a->window != b->window)
		return a->window < b->window ? 1 : -1;
	if (least_bits(a) != least_bits(b))
		return least_bits(a) < least_bits(b) ? 1 : -1;
	return memcmp(&a->binary_id, &b->binary_id, sizeof(a->binary_id));
}

bool drifts_next(const struct drifts *drifts, size_t *at, struct drift_subject *ret_subject)
{
	const struct drift_point *first = &drifts->points[*at];
	size_t cnt = 0;

	if (*at >= drifts->cnt)
		return false;
	while (*at + cnt < drifts->cnt && by_subject(&first->row, &first[cnt].row) == 0)
		cnt++;
	*ret_subject = (struct drift_subject){first, cnt};
	*at += cnt;
	return true;
}

bool drift_is_over(const struct drift_point *point, double threshold)
{
	return point->row.kl_corrected_bits > threshold && point->row.kl_low_bits > threshold;
}

/* The service stores the drift of all processes of a binary together. */
static bool is_of_processes(const struct pathprof_filter *filter)
{
	return filter->pid || filter->comm || filter->workload;
}

int drifts_load(struct drifts *ret_drifts, const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct pathprof_filter filter = options->filter;
	struct drifts drifts = {0};
	struct pathprof_error error = {""};
	int r = ctl_db_open(&store, options, PATHPROF_STORE_READ);

	if (r)
		return r;
	filter.limit = 0;
	if (!is_of_processes(&filter))
		r = pathprof_store_drift(store, &filter, options->baseline, take, &drifts, &error);
	if (r < 0)
		r = ctl_fail_error("drift", r, &error);
	else if (!drifts.cnt)
		r = drifts_measure(&drifts, options, store);
	if (r) {
		drifts_release(&drifts);
		return r;
	}
	future_tell(store, &filter);
	qsort_r(drifts.points, drifts.cnt, sizeof(*drifts.points), by_subject_and_order, &drifts);
	*ret_drifts = drifts;
	return CTL_OK;
}
