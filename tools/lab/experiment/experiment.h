/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The papers' experiments on today's programs: `pathprof-lab experiment NAME`. Their common part:
 * the programs and their traces, work spread over the processors, and output of results.
 *
 * An experiment is one file exp_NAME.c in this folder with one struct lab_experiment. It writes
 * tables and figures through this header only, so each result is there as text, CSV, Markdown and
 * SVG without the experiment knowing how.
 *
 * These functions exit with a message when something fails (see lab.h): nobody recovers here.
 */
#ifndef LAB_EXPERIMENT_H
#define LAB_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lab.h"
#include "pathprof/trace.h"

struct lab_run; /* one invocation: setting, programs, where results go */

struct lab_experiment {
	const char *name;   /* "rps-7" */
	const char *title;  /* one line */
	const char *source; /* "RPS figure 7" */
	void (*run)(struct lab_run *run);
};

/* One real program with one input. programs.c lists them. */
struct lab_program {
	const char *name;    /* "cc1" */
	const char *package; /* Debian's, that brings it */
	const char *what;    /* one line: what it is given to do */
};

/* The contents of a trace, which also set how long a part of the program it covers. */
enum lab_trace_kind {
	LAB_TRACE_BRANCHES, /* control transfers */
	LAB_TRACE_LOADS,    /* ... and every load with its value (16 M loads and more) */
	LAB_TRACE_MEMORY,   /* ... and the address of every load and store */
	LAB_TRACE_NONE,     /* no trace is made */
};

size_t lab_run_program_cnt(const struct lab_run *run);
const struct lab_program *lab_run_program(const struct lab_run *run, size_t index);
/* true in the small setting (minutes). Experiments do fewer repetitions in it. */
bool lab_run_small(const struct lab_run *run);
/* Instructions of a dynamic window (EOPP 5.5.2): 100 M, in the small setting less. */
uint64_t lab_run_window_insns(const struct lab_run *run);

/*
 * The program's trace, taken at first use and kept among the results. Caller frees. Only
 * lab_trace_each() is meant to read it.
 */
struct pathprof_trace *lab_run_trace(struct lab_run *run, const struct lab_program *program,
				     enum lab_trace_kind kind);

/* The program's paths, counted over the whole run (pathprof-trace --paths): a store, made at first
 * use and kept among the results. Caller frees the name of its file. */
char *lab_run_paths(struct lab_run *run, const struct lab_program *program);

/* Reads the stream with the most words, in batches: the thread that does the work. fn returns false
 * to stop early. */
typedef bool lab_events_fn(void *context, const struct pathprof_trace_event *events, size_t cnt);
void lab_trace_each(const struct pathprof_trace *trace, lab_events_fn *fn, void *context);
/* The process of that stream: addresses in its events mean nothing in another. */
uint32_t lab_trace_process(const struct pathprof_trace *trace);

/*
 * Calls fn for every program, as many at once as there are processors, each in a process of its
 * own; the bytes that fn writes to result (result_bytes, zeroed) are afterwards in results[index *
 * result_bytes]. Progress goes to standard error. Traces of `kind` are made first; of
 * LAB_TRACE_NONE trace is NULL.
 */
typedef void lab_program_fn(struct lab_run *run, const struct lab_program *program,
			    const struct pathprof_trace *trace, void *result);
void lab_run_each_program(struct lab_run *run, enum lab_trace_kind kind, lab_program_fn *fn,
			  void *results, size_t result_bytes);

/*
 * A table: a column of labels and columns of numbers. name is the file's stem in the results
 * (NAME.txt, NAME.csv, NAME.md). NaN is an empty cell.
 */
struct lab_table;
struct lab_table *lab_table_new(const char *name, const char *title, const char *label,
				const char *const *columns, size_t column_cnt);
/* decimals: digits after the point in text; CSV has 9 significant. */
void lab_table_set_decimals(struct lab_table *table, size_t column, int decimals);
void lab_table_add(struct lab_table *table, const char *label, const double *values);
/* Adds a row "average": the mean of every column over the rows so far that have a figure. */
void lab_table_add_average(struct lab_table *table);
/* Writes the files, prints the text. Keeps the table, to draw it. */
void lab_table_write(struct lab_run *run, const struct lab_table *table);
void lab_table_free(struct lab_table *table);

enum lab_plot_form {
	LAB_PLOT_LINES, /* the label column is a number: x */
	LAB_PLOT_BARS,  /* a group a row, a bar a column */
};
struct lab_plot {
	enum lab_plot_form form;
	const char *x, *y; /* what the axes measure */
	bool x_log, y_log;
	double y_max;             /* 0: as the figures are */
	const char *const *panel; /* NULL: one panel; else the tables' names, NULL at the end: a
				     panel each */
};
/* NAME.svg of a table; with panels: NAME.svg of all those tables, which were written before. */
void lab_plot_write(struct lab_run *run, const struct lab_table *table,
		    const struct lab_plot *plot);

/*
 * A line of the comparison with the papers: subject, their figure, ours, the aim and whether it is
 * met. The report collects them.
 */
struct lab_headline {
	const char *what;
	const char *paper; /* as the paper says it: "88 %" */
	double ours;
	const char *unit; /* "%", "x" */
	double aim;       /* NaN: none */
	bool at_most;     /* the aim is an upper bound */
	const char *why;  /* where and why our figure differs; NULL: nothing to say */
};
void lab_headline(struct lab_run *run, const struct lab_headline *headline);

#endif
