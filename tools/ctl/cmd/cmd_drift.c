// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl drift: how far each binary has moved from its baseline, last and over time. */
#include <inttypes.h>
#include <stdio.h>

#include "../compare/drifts.h"
#include "../ctl.h"
#include "../text/cleanup.h"
#include "../text/svg.h"
#include "../text/table.h"
#include "../text/text.h"
#include "../view/json.h"

static double threshold_of(const struct ctl_options *options)
{
	return options->threshold > 0 ? options->threshold : pathprof_alert_fast.threshold;
}

static size_t count_over(const struct drift_subject *subject, double threshold)
{
	size_t cnt = 0;

	for (size_t i = 0; i < subject->cnt; i++)
		cnt += drift_is_over(&subject->points[i], threshold);
	return cnt;
}

/* ---------------------------------------------------------------- table */

static const struct table_column columns[] = {
	{"BINARY", TABLE_SHRINK},
	{"CONTAINER", TABLE_SHRINK | TABLE_SPARE},
	{"BASELINE", 0},
	{"WINDOW", TABLE_RIGHT},
	{"END", TABLE_SPARE},
	{"SAMPLES", TABLE_RIGHT | TABLE_SPARE},
	{"KL", TABLE_RIGHT | TABLE_SPARE},
	{"CORRECTED", TABLE_RIGHT},
	{"INTERVAL", TABLE_RIGHT},
	{"OVERLAP", TABLE_RIGHT},
	{"ANGLE", TABLE_RIGHT | TABLE_SPARE},
	{"COVERED", TABLE_RIGHT | TABLE_SPARE},
	{"MATCHED", TABLE_RIGHT | TABLE_SPARE},
	{"OVER", TABLE_RIGHT},
};

static void add_cells(struct table *table, const struct drift_subject *subject, double threshold)
{
	const struct drift_point *last = &subject->points[0];
	const struct pathprof_drift_row *row = &last->row;
	bool over = drift_is_over(last, threshold);
	char text[32];

	table_row(table, 0);
	table_cell(table, CTL_NAME, "%s", text_base_name(row->binary_name));
	table_cell(table, CTL_DIM, "%s", row->container[0] ? row->container : "-");
	table_cell(table, CTL_DIM, "%s", row->baseline);
	table_cell(table, CTL_PLAIN, "%" PRId64, row->window);
	table_cell(table, CTL_PLAIN, "%s", text_time(text, sizeof(text), row->end_ns));
	table_cell(table, CTL_PLAIN, "%.0f", row->window_samples);
	table_cell(table, CTL_PLAIN, "%.4f", row->kl_bits);
	table_cell(table, over ? CTL_HOT : CTL_GOOD, "%.4f", row->kl_corrected_bits);
	table_cell(table, CTL_DIM, "%.4f..%.4f", row->kl_low_bits, row->kl_high_bits);
	table_cell(table, CTL_PLAIN, "%.1f%%", 100 * row->overlap);
	table_cell(table, CTL_PLAIN, "%.1f", row->angle_degrees);
	table_cell(table, CTL_PLAIN, "%.1f%%", 100 * row->coverage_dynamic);
	table_cell(table, CTL_PLAIN, "%.0f%%", 100 * row->matched);
	table_cell(table, over ? CTL_HOT : CTL_PLAIN, "%zu/%zu", count_over(subject, threshold),
		   subject->cnt);
}

static void print(const struct drifts *drifts, double threshold, uint32_t limit, FILE *out)
{
	struct drift_subject subject;
	struct table table;
	size_t at = 0;

	table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
	while (drifts_next(drifts, &at, &subject) && (!limit || table.row_cnt < limit))
		add_cells(&table, &subject, threshold);
	table_print(&table, out, false);
	table_release(&table);
	fprintf(out,
		"\nOVER: windows over %g bits, corrected and at the interval's low end.%s\n"
		"Each path that was seen whole counts once, and by the CPU time that its burst "
		"stands for where the clock weighed bursts.\n",
		threshold, drifts->measured ? " Measured here: no service stored it." : "");
}

/* ---------------------------------------------------------------- JSON */

static json_t *object_of(const struct drift_point *point, bool over)
{
	const struct pathprof_drift_row *row = &point->row;
	json_t *object = json_object();

	json_add_binary(object, "binary", &row->binary_id, row->binary_name);
	json_add_text(object, "container", row->container);
	json_add_text(object, "baseline", row->baseline);
	json_add_ns(object, "window", row->window);
	json_add_ns(object, "begin_ns", row->begin_ns);
	json_add_ns(object, "end_ns", row->end_ns);
	json_add_real(object, "samples", row->window_samples);
	json_add_real(object, "baseline_samples", row->baseline_samples);
	json_add_real(object, "kl_bits", row->kl_bits);
	json_add_real(object, "kl_corrected_bits", row->kl_corrected_bits);
	json_add_real(object, "kl_low_bits", row->kl_low_bits);
	json_add_real(object, "kl_high_bits", row->kl_high_bits);
	json_add_real(object, "overlap", row->overlap);
	json_add_real(object, "angle_degrees", row->angle_degrees);
	json_add_real(object, "coverage_static", row->coverage_static);
	json_add_real(object, "coverage_dynamic", row->coverage_dynamic);
	json_add_real(object, "matched", row->matched);
	json_add(object, "over", json_boolean(over));
	return object;
}

/* Every point, so that history can be drawn elsewhere. */
static void print_json(const struct drifts *drifts, double threshold, FILE *out)
{
	struct json_rows rows;

	json_rows_begin(&rows, out);
	for (size_t i = 0; i < drifts->cnt; i++)
		json_rows_add(&rows, object_of(&drifts->points[i],
					       drift_is_over(&drifts->points[i], threshold)));
	json_rows_end(&rows);
}

/* ---------------------------------------------------------------- together */

/* The last window of any subject decides. */
static int check(const struct drifts *drifts, double threshold)
{
	struct drift_subject subject;
	size_t at = 0;

	while (drifts_next(drifts, &at, &subject))
		if (drift_is_over(&subject.points[0], threshold))
			return CTL_OVER;
	return CTL_OK;
}

int cmd_drift(const struct ctl_options *options)
{
	double threshold = threshold_of(options);
	struct drifts drifts;
	int r = ctl_no_operands(options);

	if (r == CTL_OK)
		r = drifts_load(&drifts, options);
	if (r)
		return r;
	if (options->json)
		print_json(&drifts, threshold, svg_listing(options));
	else
		print(&drifts, threshold, options->limit_given ? options->filter.limit : 0,
		      svg_listing(options));
	if (options->svg)
		r = drifts_draw(&drifts, threshold, options->svg);
	if (r == CTL_OK && options->check)
		r = check(&drifts, threshold);
	drifts_release(&drifts);
	return r;
}
