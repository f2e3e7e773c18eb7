// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of having programs count their own paths, beside the papers' figures and clang's own
 * counters of edges:
 *
 *     eopp-3.16        instructions beyond the plain program's, by technique, early
 *     eopp-3.16-late   the same for instrumentation after the optimiser
 *     eopp-3.17        how far apart the numbers of interesting paths lie
 *     eopp-3.19        instructions where paths go on over calls
 *     eopp-3.4         sizes of files over the plain program's (and EOPP table 3.5)
 *     ppp-accuracy     how near practical and targeted profiles come to all counts
 *
 * Compilers and sources of programs are needed for that, so tests/bench/bench_counting.sh measures
 * and writes OUT/counting.tsv, and this makes tables of it. Without the file there are none.
 *
 * Workload: some hundred lines, once.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "experiment.h"
#include "run.h"

/* A line of the file. */
struct figure {
	char *what, *program, *build;
	double value;
};

struct figures {
	struct figure *figures;
	size_t cnt, room;
};

struct column {
	const char *name, *build;
};

#define COLUMNS_MAX 8

/* A row of somebody else's figures. */
struct seed {
	const char *label;
	double values[COLUMNS_MAX];
};

/* ---------------------------------------------------------------- the file */

static void take_line(struct figures *f, char *line)
{
	struct figure figure;
	char *rest = line, *value;

	figure.what = strsep(&rest, "\t");
	figure.program = strsep(&rest, "\t");
	figure.build = strsep(&rest, "\t");
	value = strsep(&rest, "\t\n");
	if (!value || !*value)
		return;
	figure.value = strtod(value, NULL);
	if (pp_grow(&f->figures, f->cnt, &f->room) < 0)
		lab_fail("out of memory");
	figure.what = strdup(figure.what);
	figure.program = strdup(figure.program);
	figure.build = strdup(figure.build);
	if (!figure.what || !figure.program || !figure.build)
		lab_fail("out of memory");
	f->figures[f->cnt++] = figure;
}

/* False: nobody has measured. */
static bool read_figures(struct lab_run *run, struct figures *f)
{
	char *path = lab_run_path(run, "counting.tsv"), *line = NULL;
	FILE *file = fopen(path, "re");
	size_t room = 0;

	if (!file && errno != ENOENT)
		lab_fail("%s: %s", path, strerror(errno));
	while (file && getline(&line, &room, file) > 0)
		take_line(f, line);
	free(line);
	free(path);
	if (file)
		fclose(file);
	return file != NULL;
}

static void figures_release(struct figures *f)
{
	for (size_t i = 0; i < f->cnt; i++) {
		free(f->figures[i].what);
		free(f->figures[i].program);
		free(f->figures[i].build);
	}
	free(f->figures);
}

static bool is(const struct figure *figure, const char *what, const char *build)
{
	return strcmp(figure->what, what) == 0 && strcmp(figure->build, build) == 0;
}

/* NaN: not measured. */
static double find(const struct figures *f, const char *what, const char *program,
		   const char *build)
{
	for (size_t i = 0; i < f->cnt; i++)
		if (is(&f->figures[i], what, build) && strcmp(f->figures[i].program, program) == 0)
			return f->figures[i].value;
	return NAN;
}

/* ---------------------------------------------------------------- tables */

/* The figure in a cell of a table, for one program and one build. */
typedef double cell_fn(const struct figures *f, const char *program, const char *build);

static double overhead(const struct figures *f, const char *program, const char *build)
{
	return 100 * (find(f, "instructions", program, build) /
			      find(f, "instructions", program, "plain") -
		      1);
}

static double growth(const struct figures *f, const char *program, const char *build)
{
	return find(f, "file", program, build) / find(f, "file", program, "plain");
}

/* The build's name has a word in front. */
static double share(const struct figures *f, const char *program, const char *build)
{
	const char *of = strchr(build, ' ');
	char what[16];

	snprintf(what, sizeof(what), "%.*s", (int)(of - build), build);
	return find(f, what, program, of + 1);
}

static struct lab_table *new_table(const char *name, const char *title,
				   const struct column *columns, size_t cnt)
{
	const char *names[COLUMNS_MAX] = {NULL};
	struct lab_table *table;

	for (size_t i = 0; i < cnt; i++)
		names[i] = columns[i].name;
	table = lab_table_new(name, title, "program", names, cnt);
	for (size_t i = 0; i < cnt; i++)
		lab_table_set_decimals(table, i, 1);
	return table;
}

/* Rows of all programs that the plain build was measured of, their mean, and the others' figures.
 */
static void fill(struct lab_table *table, const struct figures *f, const char *what, cell_fn *cell,
		 const struct column *columns, size_t cnt, const struct seed *seeds)
{
	double values[COLUMNS_MAX];

	for (size_t i = 0; i < f->cnt; i++) {
		if (!is(&f->figures[i], what, "plain"))
			continue;
		for (size_t c = 0; c < cnt; c++)
			values[c] = cell(f, f->figures[i].program, columns[c].build);
		lab_table_add(table, f->figures[i].program, values);
	}
	lab_table_add_average(table);
	for (; seeds->label; seeds++)
		lab_table_add(table, seeds->label, seeds->values);
}

static void finish(struct lab_run *run, struct lab_table *table, const char *y)
{
	struct lab_plot plot = {.form = LAB_PLOT_BARS, .x = "program", .y = y};

	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

/* NaN, and so is *ret_most: not measured of all programs. */
static double mean(const struct figures *f, const char *what, cell_fn *cell, const char *build,
		   double *ret_most)
{
	double sum = 0, most = -INFINITY;
	size_t cnt = 0;

	for (size_t i = 0; i < f->cnt; i++) {
		double value;

		if (!is(&f->figures[i], what, "plain"))
			continue;
		value = cell(f, f->figures[i].program, build);
		sum += value;
		most = value > most ? value : most;
		cnt++;
	}
	if (ret_most)
		*ret_most = isnan(sum) ? NAN : most;
	return cnt ? sum / (double)cnt : NAN;
}

/* ---------------------------------------------------------------- the papers' figures */

static const char *const instructions = "instructions beyond the plain program's, %";

static void write_overheads(struct lab_run *run, const struct figures *f)
{
	static const struct column early[] = {
		{"clang's edges", "instr"},       {"clang's edges, IR", "gen"},
		{"Ball-Larus", "early"},          {"tables", "early-tables"},
		{"practical", "early-practical"}, {"obvious", "early-obvious"},
		{"targeted", "early-targeted"},
	};
	static const struct column late[] = {
		{"clang's edges", "instr"},      {"clang's edges, IR", "gen"},
		{"Ball-Larus", "late"},          {"tables", "late-tables"},
		{"practical", "late-practical"}, {"obvious", "late-obvious"},
		{"targeted", "late-targeted"},
	};
	static const struct seed seeds[] = {
		{"thesis: mean", {NAN, NAN, 50, 15, NAN, NAN, NAN}},
		{"thesis: most", {NAN, NAN, 132, 26, NAN, NAN, NAN}},
		{"Ball and Larus: mean", {16, NAN, 31, NAN, NAN, NAN, NAN}},
		{"Bond and McKinley: mean", {NAN, NAN, NAN, NAN, NAN, 5, NAN}},
		{0},
	};
	struct lab_table *table = new_table(
		"eopp-3.16", "What counting paths costs, in the source's structure", early, 7);

	fill(table, f, "instructions", overhead, early, 7, seeds);
	finish(run, table, instructions);
	table = new_table("eopp-3.16-late", "The same of paths of what the optimiser left", late,
			  7);
	fill(table, f, "instructions", overhead, late, 7, seeds);
	finish(run, table, instructions);
}

static void write_calls(struct lab_run *run, const struct figures *f)
{
	static const struct column columns[] = {
		{"clang's edges, IR", "gen"},
		{"Ball-Larus", "early"},
		{"across calls", "calls"},
		{"across calls, tables", "calls-tables"},
		{"late, across calls", "late-calls"},
		{"late, tables", "late-calls-tables"},
	};
	static const struct seed seeds[] = {
		{"thesis: mean of six", {NAN, 50, 125, 26, NAN, NAN}},
		{"thesis: most", {NAN, 132, 180, 52, NAN, NAN}},
		{0},
	};
	struct lab_table *table =
		new_table("eopp-3.19", "Paths that go on over calls, one deep", columns, 6);

	fill(table, f, "instructions", overhead, columns, 6, seeds);
	finish(run, table, instructions);
}

static void write_sizes(struct lab_run *run, const struct figures *f)
{
	static const struct column columns[] = {
		{"clang's edges", "instr"}, {"clang's edges, IR", "gen"},
		{"Ball-Larus", "early"},    {"tables", "early-tables"},
		{"across calls", "calls"},  {"across calls, tables", "calls-tables"},
	};
	static const struct seed seeds[] = {
		{"thesis: mean", {NAN, NAN, 3.21, 3.03, 5.33, 4.35}},
		{0},
	};
	struct lab_table *table =
		new_table("eopp-3.4", "Sizes of files over the plain program's", columns, 6);

	for (size_t i = 0; i < 6; i++)
		lab_table_set_decimals(table, i, 2);
	fill(table, f, "file", growth, columns, 6, seeds);
	finish(run, table, "times the plain file");
}

static void write_accuracy(struct lab_run *run, const struct figures *f)
{
	static const struct column columns[] = {
		{"practical: accuracy", "accuracy early-practical"},
		{"coverage", "coverage early-practical"},
		{"obvious: accuracy", "accuracy early-obvious"},
		{"coverage ", "coverage early-obvious"},
		{"targeted: accuracy", "accuracy early-targeted"},
		{"coverage  ", "coverage early-targeted"},
		{"edges alone: accuracy", "potential early"},
		{"coverage   ", "definite early"},
	};
	static const struct seed none[] = {{0}};
	struct lab_table *table =
		new_table("ppp-accuracy", "What profiles have that leave paths out, by branch flow",
			  columns, 8);

	fill(table, f, "instructions", share, columns, 8, none);
	finish(run, table, "%");
}

/* ---------------------------------------------------------------- numbers of paths */

static const char *const span_builds[] = {"early-tables", "late-tables", "calls-tables",
					  "late-calls-tables"};
#define SPAN_BUILDS (sizeof(span_builds) / sizeof(span_builds[0]))
static const double span_bounds[] = {1.005, 1.5, 2, 4, INFINITY};
static const char *const span_labels[] = {"1", "to 1.5", "to 2", "to 4", "more"};
#define SPAN_BOUNDS (sizeof(span_bounds) / sizeof(span_bounds[0]))

/* Tables of a build whose paths span so many times their number. */
static double count_spans(const struct figures *f, const char *build, double above, double most)
{
	double cnt = 0;

	for (size_t i = 0; i < f->cnt; i++)
		cnt += is(&f->figures[i], "span", build) && f->figures[i].value > above &&
		       f->figures[i].value <= most;
	return cnt;
}

static void write_spans(struct lab_run *run, const struct figures *f)
{
	static const char *const columns[SPAN_BUILDS] = {"early", "late", "across calls",
							 "late, across calls"};
	struct lab_table *table =
		lab_table_new("eopp-3.17", "Tables by how many numbers they span for each path",
			      "numbers a path", columns, SPAN_BUILDS);
	double values[SPAN_BUILDS];

	for (size_t b = 0; b < SPAN_BOUNDS; b++) {
		for (size_t k = 0; k < SPAN_BUILDS; k++)
			values[k] = count_spans(f, span_builds[k], b ? span_bounds[b - 1] : 0,
						span_bounds[b]);
		lab_table_add(table, span_labels[b], values);
	}
	for (size_t k = 0; k < SPAN_BUILDS; k++)
		lab_table_set_decimals(table, k, 0);
	finish(run, table, "tables");
}

/* ---------------------------------------------------------------- headlines */

static void say(struct lab_run *run, const char *what, const char *paper, double ours,
		const char *unit, double aim, const char *why)
{
	if (!isfinite(ours))
		return;
	lab_headline(run, &(struct lab_headline){.what = what,
						 .paper = paper,
						 .ours = ours,
						 .unit = unit,
						 .aim = aim,
						 .at_most = true,
						 .why = why});
}

static void write_headlines(struct lab_run *run, const struct figures *f)
{
	double most;
	char clang[96];

	snprintf(clang, sizeof(clang), "clang's counters of edges, IR: %.2f %%",
		 mean(f, "instructions", overhead, "gen", NULL));
	say(run, "EOPP 3.16: instructions for Ball-Larus, mean", "50 %",
	    mean(f, "instructions", overhead, "early", NULL), "%", 50, NULL);
	say(run, "EOPP 3.16: instructions with tables, mean", "15 %",
	    mean(f, "instructions", overhead, "early-tables", &most), "%", 12, clang);
	say(run, "EOPP 3.16: instructions with tables, most", "26 %", most, "%", 26,
	    "gzip, of which clang's counters take more");
	say(run, "EOPP 3.19: instructions across calls, mean", "125 %",
	    mean(f, "instructions", overhead, "calls", NULL), "%", NAN, NULL);
	say(run, "EOPP 3.20: instructions across calls with tables, mean", "26 %",
	    mean(f, "instructions", overhead, "calls-tables", NULL), "%", 26, NULL);
	say(run, "EOPP 3.17: tables that span more than 4 numbers a path", "a few above 10",
	    count_spans(f, "early-tables", 4, INFINITY) +
		    count_spans(f, "late-tables", 4, INFINITY),
	    "", 0, NULL);
	say(run, "EOPP 3.4: size with tables, mean", "3.03 x",
	    mean(f, "file", growth, "early-tables", NULL), "x", 3.03, NULL);
	say(run, "Bond and McKinley: instructions, mean", "5 %",
	    mean(f, "instructions", overhead, "early-obvious", NULL), "%", 8, NULL);
}

static void run(struct lab_run *run)
{
	struct figures f = {0};

	if (!read_figures(run, &f)) {
		fputs("eopp-3.16: nothing was measured (tests/bench/bench_counting.sh)\n", stderr);
		return;
	}
	write_overheads(run, &f);
	write_spans(run, &f);
	write_calls(run, &f);
	write_sizes(run, &f);
	write_accuracy(run, &f);
	write_headlines(run, &f);
	figures_release(&f);
}

const struct lab_experiment exp_eopp_3_16 = {"eopp-3.16", "what counting one's own paths costs",
					     "EOPP figures 3.16 to 3.20, tables 3.4 and 3.5", run};
