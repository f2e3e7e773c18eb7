// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hot path tables for extended paths (EOPP figure 5.10): paths that go on over one backward branch,
 * or over one call, in a table of 512 entries and 4 ways.
 *
 * Workload: three passes over each program's trace. Each pass owns its tables.
 */
#include <stdlib.h>

#include "exp_eopp.h"

enum { EXTENDED_CNT = PATHPROF_EXTEND_CALL + 1 };

struct extended {
	double overlap[EXTENDED_CNT]; /* by enum pathprof_extend, % */
	double path_cnt[EXTENDED_CNT];
};

struct pass {
	struct lab_exact exact;
	struct pathprof_hot_paths *table;
};

static const struct eopp_size size = {512, 4};

static void add_path(void *context, const struct lab_brought *brought)
{
	struct pass *pass = context;
	const struct lab_path *path = brought->path;
	struct pathprof_hot_path replaced;
	struct lab_key key;

	if (!path)
		return;
	key = (struct lab_key){path->start, lab_path_word(path)};
	eopp_count(&pass->exact, &key, 1);
	eopp_hot_paths_add(pass->table, path, 1, &replaced);
}

static void measure(struct lab_run *run, const struct lab_program *program,
		    const struct pathprof_trace *trace, void *result)
{
	struct extended *extended = result;

	for (int e = 0; e < EXTENDED_CNT; e++) {
		struct pass pass = {.table = eopp_hot_paths(&size)};

		eopp_exact_init(&pass.exact);
		eopp_feed(trace, (enum pathprof_extend)e, false, add_path, &pass);
		extended->overlap[e] = eopp_overlap(pass.table, size.entries, &pass.exact, NULL);
		extended->path_cnt[e] = pass.exact.cnt;
		lab_exact_release(&pass.exact);
		pathprof_hot_paths_free(pass.table);
	}
}

static const char *const columns[] = {"Ball-Larus", "over a loop", "over a call"};

static void write_path_counts(struct lab_run *run, const struct extended *extended)
{
	struct lab_table *table = lab_table_new("eopp-5.10-paths", "Distinct paths executed",
						"program", columns, EXTENDED_CNT);

	for (size_t i = 0; i < EXTENDED_CNT; i++)
		lab_table_set_decimals(table, i, 0);
	for (size_t i = 0; i < lab_run_program_cnt(run); i++)
		lab_table_add(table, lab_run_program(run, i)->name, extended[i].path_cnt);
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

static void report(struct lab_run *run, const struct extended *extended, size_t extend,
		   struct lab_headline line)
{
	size_t cnt = lab_run_program_cnt(run);
	double *values = lab_alloc(cnt, sizeof(*values));
	char why[96];

	for (size_t i = 0; i < cnt; i++)
		values[i] = extended[i].overlap[PATHPROF_EXTEND_NONE];
	snprintf(why, sizeof(why), "plain paths of the same runs: %.2f %%", eopp_mean(values, cnt));
	for (size_t i = 0; i < cnt; i++)
		values[i] = extended[i].overlap[extend];
	line.ours = eopp_mean(values, cnt);
	line.unit = "%";
	line.why = why;
	eopp_headline(run, &line);
	free(values);
}

static void run_extended(struct lab_run *run)
{
	struct extended *extended = lab_alloc(lab_run_program_cnt(run), sizeof(*extended));
	struct lab_table *table = lab_table_new(
		"eopp-5.10", "Complete overlap of extended paths, frequency, 512x4, %", "program",
		columns, EXTENDED_CNT);

	lab_run_each_program(run, LAB_TRACE_BRANCHES, measure, extended, sizeof(*extended));
	for (size_t i = 0; i < lab_run_program_cnt(run); i++)
		lab_table_add(table, lab_run_program(run, i)->name, extended[i].overlap);
	eopp_write_bars(run, table, "program", "overlap, %");
	write_path_counts(run, extended);
	report(run, extended, PATHPROF_EXTEND_LOOP,
	       (struct lab_headline){.what = "EOPP 5.10: overlap of paths over one loop, 512x4",
				     .paper = "78.35 %",
				     .aim = 78.35});
	report(run, extended, PATHPROF_EXTEND_CALL,
	       (struct lab_headline){.what = "EOPP 5.10: overlap of paths over one call, 512x4",
				     .paper = "84.10 %",
				     .aim = 84.10});
	free(extended);
}

const struct lab_experiment exp_eopp_5_10 = {
	.name = "eopp-5.10",
	.title = "hot path tables for extended paths",
	.source = "EOPP figure 5.10",
	.run = run_extended,
};
