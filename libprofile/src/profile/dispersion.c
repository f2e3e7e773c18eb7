// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * How much more windows scatter than independent observations would. Pearson's chi-square of the
 * table windows by events, over its degrees of freedom: 1 for independent samples, m when samples
 * arrive in groups of m equal ones. Where squares tell the size of groups, each event's term is
 * divided by it. Rare events, for which chi-square would be far from its limit, are taken together.
 *
 * Workload: some windows of up to some ten thousand events, now and then. Nothing is allocated: a
 * merge of all windows at once, twice.
 */
#include "pathprof/drift.h"

#include <errno.h>
#include <math.h>

#include "pp_merge.h"

#define WINDOWS_MAX  64
#define EXPECTED_MIN 5 /* samples of an event a window */

#define DEGREES_MIN      100 /* degrees of freedom from which a measured dispersion is believed */
#define DEGREES_EXPECTED 30  /* weight of the expected dispersion, in degrees of freedom */

struct table {
	const struct pathprof_distribution *windows[WINDOWS_MAX]; /* that have samples */
	size_t cnt;
	long double total;
	bool clustered; /* all of them */
};

/* One event's, or all rare ones', samples by window. */
struct row {
	long double samples[WINDOWS_MAX], total, squares;
};

/* false: no event is left. */
static bool next_row(const struct table *table, size_t *at, struct row *ret_row)
{
	const struct pathprof_event *first = NULL;

	for (size_t i = 0; i < table->cnt; i++) {
		const struct pathprof_event *event = table->windows[i]->events + at[i];

		if (at[i] < table->windows[i]->cnt && (!first || pp_event_before(event, first)))
			first = event;
	}
	if (!first)
		return false;
	ret_row->total = ret_row->squares = 0;
	for (size_t i = 0; i < table->cnt; i++) {
		const struct pathprof_event *event = table->windows[i]->events + at[i];
		bool has =
			event && at[i] < table->windows[i]->cnt && !pp_event_before(first, event);

		ret_row->samples[i] = has ? event->weight : 0;
		ret_row->total += ret_row->samples[i];
		ret_row->squares += has ? event->squares : 0;
		at[i] += has;
	}
	return true;
}

/* Samples that arrive in groups have a larger variance. */
static long double chi_square(const struct table *table, const struct row *row)
{
	long double sum = 0, size = table->clustered ? row->squares / row->total : 1;

	for (size_t i = 0; i < table->cnt; i++) {
		long double expected = row->total * table->windows[i]->total / table->total;
		long double off = row->samples[i] - expected;

		sum += off * off / expected;
	}
	return sum / size;
}

static void add_row(struct row *to, const struct row *row, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		to->samples[i] += row->samples[i];
	to->total += row->total;
	to->squares += row->squares;
}

static int table_init(struct table *ret_table, const struct pathprof_distribution *const *windows,
		      size_t cnt)
{
	struct table table = {.clustered = true};

	for (size_t i = 0; i < cnt; i++) {
		if (!(windows[i]->total > 0))
			continue;
		if (table.cnt == WINDOWS_MAX)
			return -EINVAL;
		table.windows[table.cnt++] = windows[i];
		table.total += windows[i]->total;
		table.clustered = table.clustered && windows[i]->clustered;
	}
	*ret_table = table;
	return table.cnt < 2 ? -ENODATA : 0;
}

int pathprof_drift_dispersion_degrees(const struct pathprof_distribution *const *windows,
				      size_t cnt, double *ret_dispersion, double *ret_degrees)
{
	size_t at[WINDOWS_MAX] = {0}, rows = 0;
	struct row row, rare = {0};
	struct table table;
	long double sum = 0;
	int r = table_init(&table, windows, cnt);

	if (r < 0)
		return r;
	while (next_row(&table, at, &row)) {
		if (row.total < EXPECTED_MIN * (long double)table.cnt) {
			add_row(&rare, &row, table.cnt);
			continue;
		}
		sum += chi_square(&table, &row);
		rows++;
	}
	if (rare.total > 0) {
		sum += chi_square(&table, &rare);
		rows++;
	}
	if (rows < 2)
		return -ENODATA;
	*ret_degrees = (double)((rows - 1) * (table.cnt - 1));
	*ret_dispersion = fmax((double)sum / *ret_degrees, 1);
	return 0;
}

int pathprof_drift_dispersion(const struct pathprof_distribution *const *windows, size_t cnt,
			      double *ret_dispersion)
{
	double degrees;

	return pathprof_drift_dispersion_degrees(windows, cnt, ret_dispersion, &degrees);
}

double pathprof_drift_believed_dispersion(double seen, double degrees, bool clustered)
{
	if (!clustered)
		return degrees >= DEGREES_MIN ? seen * (1 + 2 * sqrt(2 / degrees)) : 0;
	return (DEGREES_EXPECTED + degrees * seen) / (DEGREES_EXPECTED + degrees);
}
