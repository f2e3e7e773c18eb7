// SPDX-License-Identifier: GPL-2.0-or-later
/* TIME and RUNS in rows: see view.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/lost.h"
#include "../text/text.h"
#include "base/plural.h"
#include "shares.h"
#include "view.h"

#define TITLE_COLUMNS_MAX 6

static enum ctl_sort natural_order(const struct view_query *query, bool time_known)
{
	switch (query->kinds.used) {
	case PATHPROF_KIND_BRANCHES:
		return CTL_SORT_RUNS;
	case PATHPROF_KIND_HORIZON:
	case PATHPROF_KIND_WEIGHED:
		return time_known ? CTL_SORT_TIME : CTL_SORT_RUNS;
	default:
		return time_known ? CTL_SORT_TIME : CTL_SORT_DEFAULT;
	}
}

/* Whether bursts end after a number of instructions. */
static bool counts_insns(const struct view_query *query)
{
	return query->kinds.used == PATHPROF_KIND_HORIZON ||
	       query->kinds.used == PATHPROF_KIND_WEIGHED;
}

static bool runs_known(const struct view_query *query)
{
	return query->kinds.used == PATHPROF_KIND_BRANCHES || counts_insns(query);
}

static void settle_order(struct view_query *query, bool time_known)
{
	bool known = query->sort == CTL_SORT_TIME ? time_known : runs_known(query);

	query->order = query->sort && known ? query->sort : natural_order(query, time_known);
}

/* Whether rows say on how many hosts they were seen. */
static bool of_fleet(const struct view_query *query)
{
	return query->shares && query->shares->host_cnt > 1;
}

static size_t add_column(struct table_column *columns, size_t cnt, const char *title,
			 unsigned int flags)
{
	columns[cnt] = (struct table_column){title, flags};
	return cnt + 1;
}

/* The figure in the second column; CTL_SORT_DEFAULT: none. */
static enum ctl_sort second_figure(const struct view_query *query)
{
	if (query->order == CTL_SORT_TIME)
		return runs_known(query) ? CTL_SORT_RUNS : CTL_SORT_DEFAULT;
	if (query->order == CTL_SORT_RUNS && query->shares->clock_samples)
		return CTL_SORT_TIME;
	return CTL_SORT_DEFAULT;
}

void view_begin_rows(struct view_query *query, const struct view *view, bool time_known)
{
	static const char *const titles[] = {
		[CTL_SORT_DEFAULT] = "SHARE", [CTL_SORT_TIME] = "TIME", [CTL_SORT_RUNS] = "RUNS"};
	struct table_column *columns;
	size_t cnt = 0;

	settle_order(query, time_known);
	if (!query->table)
		return;
	columns = ctl_alloc((view->column_cnt + TITLE_COLUMNS_MAX) * sizeof(*columns));
	cnt = add_column(columns, cnt, titles[query->order], TABLE_RIGHT);
	cnt = add_column(columns, cnt, "", TABLE_BARS | TABLE_SPARE);
	cnt = add_column(columns, cnt, "+/-", TABLE_RIGHT | TABLE_SPARE);
	if (second_figure(query))
		cnt = add_column(columns, cnt, titles[second_figure(query)],
				 TABLE_RIGHT | TABLE_SPARE);
	cnt = add_column(columns, cnt, "SAMPLES", TABLE_RIGHT | TABLE_SPARE);
	if (of_fleet(query))
		cnt = add_column(columns, cnt, "HOSTS", TABLE_RIGHT | TABLE_SPARE);
	for (size_t i = 0; i < view->column_cnt; i++)
		columns[cnt++] = view->columns[i];
	table_set_columns(query->table, columns, cnt);
}

static struct pathprof_share share_by(const struct view_query *query, enum ctl_sort order,
				      const struct figures *figures)
{
	struct interval interval;

	if (order == CTL_SORT_TIME)
		return figures->time;
	if (order == CTL_SORT_RUNS)
		return figures->runs;
	interval = interval_of_share(figures->share, query->observations);
	return (struct pathprof_share){figures->share, interval.low, interval.high};
}

int view_compare(const struct view_query *query, const struct figures *a, const struct figures *b)
{
	double x = share_by(query, query->order, a).value;
	double y = share_by(query, query->order, b).value;

	x = isnan(x) ? -1 : x;
	y = isnan(y) ? -1 : y;
	if (x != y)
		return x < y ? 1 : -1;
	return (a->weight < b->weight) - (a->weight > b->weight);
}

void view_bar_cell(struct view_query *query, double share)
{
	char bar[3 * VIEW_BAR_WIDTH + 1];

	if (query->table->row_cnt == 1)
		query->top_share = share;
	text_bar(bar, sizeof(bar), share, query->top_share, VIEW_BAR_WIDTH);
	table_cell(query->table, ctl_share_style(share), "%s", bar);
}

/* "12.34%", or "-" if it is not known. */
static void share_cell(struct view_query *query, double share, enum ctl_style style)
{
	if (isnan(share))
		table_cell(query->table, CTL_DIM, "-");
	else
		table_cell(query->table, style, "%.2f%%", 100 * share);
}

void view_figure_cells(struct view_query *query, const struct figures *figures)
{
	struct pathprof_share first = share_by(query, query->order, figures);
	enum ctl_sort second = second_figure(query);

	share_cell(query, first.value, ctl_share_style(first.value));
	view_bar_cell(query, isnan(first.value) ? 0 : first.value);
	share_cell(query, (first.high - first.low) / 2, CTL_DIM);
	if (second)
		share_cell(query, share_by(query, second, figures).value, CTL_PLAIN);
	table_cell(query->table, CTL_PLAIN, "%" PRIu64, figures->samples);
	if (of_fleet(query) && figures->hosts)
		table_cell(query->table, CTL_PLAIN, "%" PRIu32, figures->hosts);
	else if (of_fleet(query))
		table_cell(query->table, CTL_DIM, "-");
}

static void add_share(json_t *row, const char *name, const struct pathprof_share *share)
{
	_cleanup_free_ char *low = ctl_printf("%s_low", name), *high = ctl_printf("%s_high", name);

	json_add_real(row, name, share->value);
	json_add_real(row, low, share->low);
	json_add_real(row, high, share->high);
}

/* The member "share" is TIME if bursts count instructions and a clock ran, else that of weight. */
void view_figure_members(const struct view_query *query, json_t *row, const struct figures *figures)
{
	bool is_time = counts_insns(query) && !isnan(figures->time.value);
	struct pathprof_share share =
		share_by(query, is_time ? CTL_SORT_TIME : CTL_SORT_DEFAULT, figures);
	struct pathprof_share rates = measure_at_rates(&query->measure, figures->runs.value);

	add_share(row, "share", &share);
	add_share(row, "time", &figures->time);
	add_share(row, "runs", &figures->runs);
	json_add_real(row, "runs_half_rate", rates.low);
	json_add_real(row, "runs_twice_rate", rates.high);
	measure_members(&query->measure, row);
	json_add_count(row, "samples", figures->samples);
	if (of_fleet(query) && figures->hosts)
		json_add_count(row, "hosts", figures->hosts);
	json_add_real(row, "weight", figures->weight);
}

/* Text about the TIME that no row of paths has; "" if there is none. */
static char *pathless_text(const struct shares *shares)
{
	const struct shares_pathless pathless = shares_pathless(shares);

	if (!(pathless.kernel > 0) && !(pathless.code > 0))
		return ctl_strdup("");
	return ctl_printf("Without a path: %.2f%% in the kernel, %.2f%% in code of which none was "
			  "seen whole.\n",
			  100 * pathless.kernel, 100 * pathless.code);
}

static char *clock_text(const struct view_query *query)
{
	const struct measure *measure = &query->measure;
	_cleanup_free_ char *pathless = NULL;

	if (!query->shares->clock_samples)
		return ctl_strdup("");
	if (!measure->clock_hz)
		return ctl_printf("TIME: where %" PRIu64 " %s began, for no clock ran.\n",
				  query->shares->clock_samples,
				  pp_plural(query->shares->clock_samples, "burst", "bursts"));
	pathless = pathless_text(query->shares);
	return ctl_printf(
		"TIME: %" PRIu64 " %s of a clock set to %s%" PRIu32 " a second of each CPU%s.\n%s",
		query->shares->clock_samples,
		pp_plural(query->shares->clock_samples, "sample", "samples"),
		measure->mixed ? "up to " : "", measure->clock_hz,
		measure->clock_kernel ? ", the kernel's included" : ", user code's only", pathless);
}

#define UNSEEN_MIN 0.05 /* so little is said by the intervals alone */

/* RUNS have no interval in a table. */
static char *unseen_text(const struct view_query *query)
{
	if (!(query->shares->unseen >= UNSEEN_MIN))
		return ctl_strdup("");
	return ctl_printf("\nUp to %.0f%% of all runs may be missing, in code that the clock found "
			  "and of which bursts held hardly a path.",
			  100 * query->shares->unseen);
}

char *view_sources_text(const struct view_query *query)
{
	const struct measure *measure = &query->measure;
	_cleanup_free_ char *clock = clock_text(query), *bursts = measure_bursts(measure);
	_cleanup_free_ char *fleet = NULL, *unseen = unseen_text(query);
	const char *caution = measure_caution(measure);
	char lost[256];

	if (!measure_figure(measure))
		return ctl_strdup("");
	if (of_fleet(query))
		fleet = ctl_printf("Hosts: %" PRIu32 "; +/- takes in how they differ.\n",
				   query->shares->host_cnt);
	lost_text(lost, sizeof(lost), &measure->lost);
	return ctl_printf("%s%s%s: %s.%s%s%s%s%s", clock, fleet ?: "", measure_figure(measure),
			  bursts, unseen, *caution ? "\n" : "", caution, *lost ? "\n" : "", lost);
}

char *view_branches_text(const struct view_query *query)
{
	_cleanup_free_ char *bursts = measure_bursts(&query->measure);
	const char *caution = measure_caution(&query->measure);
	char lost[256];

	if (!measure_figure(&query->measure))
		return ctl_strdup("");
	lost_text(lost, sizeof(lost), &query->measure.lost);
	return ctl_printf("SHARE: of the branches taken in %s.%s%s%s%s", bursts,
			  *caution ? "\n" : "", caution, *lost ? "\n" : "", lost);
}
