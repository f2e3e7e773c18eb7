// SPDX-License-Identifier: GPL-2.0-or-later
#include "exp_eopp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void eopp_exact_init(struct lab_exact *table)
{
	lab_exact_init(table);
}

void eopp_count(struct lab_exact *table, const struct lab_key *key, uint64_t count)
{
	if (lab_exact_add(table, key, count) < 0)
		lab_fail("out of memory");
}

double eopp_mean(const double *values, size_t cnt)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (isnan(values[i]))
			continue;
		sum += values[i];
		n++;
	}
	return n ? sum / (double)n : NAN;
}

static bool feed_events(void *context, const struct pathprof_trace_event *events, size_t cnt)
{
	lab_path_feed_step(context, events, cnt);
	return true;
}

void eopp_feed(const struct pathprof_trace *trace, enum pathprof_extend extend, bool simulate,
	       lab_brought_fn *fn, void *context)
{
	struct pathprof_path_settings settings = {.mapping = PATHPROF_MAPPING_BL,
						  .max_length = 32,
						  .extend = extend,
						  .extensions = extend != PATHPROF_EXTEND_NONE};
	struct lab_path_feed *feed = lab_alloc(1, sizeof(*feed));

	if (lab_path_feed_init(feed, &settings, simulate, fn, context) < 0)
		lab_fail("out of memory");
	lab_trace_each(trace, feed_events, feed);
	lab_path_feed_release(feed);
	free(feed);
}

struct pathprof_hot_paths *eopp_hot_paths(const struct eopp_size *size)
{
	struct pathprof_hot_paths *table;
	struct pathprof_error error;

	if (pathprof_hot_paths_new(&table, size->entries, size->ways, &error) < 0)
		lab_fail("%s", error.text);
	return table;
}

bool eopp_hot_paths_add(struct pathprof_hot_paths *table, const struct lab_path *path,
			uint64_t count, struct pathprof_hot_path *ret_replaced)
{
	struct pathprof_hot_path hot = {.start = path->start,
					.length = path->length,
					.outcomes = path->outcomes,
					.count = count};

	return pathprof_hot_paths_add(table, &hot, ret_replaced);
}

static void copy_spilled(const struct lab_exact *spilled, struct lab_exact *ret_sum)
{
	for (uint32_t i = 0; i < spilled->cnt; i++)
		eopp_count(ret_sum, &spilled->entries[i].key, spilled->entries[i].count);
}

double eopp_overlap(const struct pathprof_hot_paths *table, uint32_t entries,
		    const struct lab_exact *exact, const struct lab_exact *spilled)
{
	struct pathprof_hot_path *paths = lab_alloc(entries, sizeof(*paths));
	size_t cnt = pathprof_hot_paths_read(table, paths);
	struct lab_exact sum;
	double overlap;

	eopp_exact_init(&sum);
	for (size_t i = 0; i < cnt; i++) {
		struct lab_key key = {paths[i].start,
				      (uint64_t)paths[i].length << 32 | paths[i].outcomes};

		eopp_count(&sum, &key, paths[i].count);
	}
	if (spilled)
		copy_spilled(spilled, &sum);
	overlap = 100 * lab_exact_overlap(exact, sum.entries, sum.cnt);
	lab_exact_release(&sum);
	free(paths);
	return overlap;
}

void eopp_headline(struct lab_run *run, const struct lab_headline *line)
{
	struct lab_headline said = *line;

	if (line->at_most ? line->ours <= line->aim : line->ours >= line->aim)
		said.why = NULL;
	lab_headline(run, &said);
}

void eopp_write_lines(struct lab_run *run, struct lab_table *table, const char *x, const char *y)
{
	struct lab_plot plot = {
		.form = LAB_PLOT_LINES, .x = x, .y = y, .x_log = true, .y_max = 100};

	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

void eopp_write_bars(struct lab_run *run, struct lab_table *table, const char *x, const char *y)
{
	struct lab_plot plot = {.form = LAB_PLOT_BARS, .x = x, .y = y};

	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}
