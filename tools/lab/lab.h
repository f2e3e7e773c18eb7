/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pathprof-lab: the algorithms on recorded streams. The common part of the commands: reading lines
 * of columns, and saying which line is wrong.
 */
#ifndef LAB_H
#define LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pathprof/paths.h"
#include "pathprof/trace.h"

/* A file read line by line; columns point into the current line. */
struct lab_input {
	char **files; /* what is left of them */
	int file_cnt;
	FILE *stream;
	const char *name;
	uint64_t line_number;
	char *line;
	size_t line_size;
	char **column; /* as many as the longest line had so far */
	size_t column_cnt, column_room;
};

/* No file: standard input. "-" is standard input too. */
void lab_input_init(struct lab_input *in, char **files, int file_cnt);
void lab_input_release(struct lab_input *in);
/* The next line, split at blanks. false at the end. Exits with 1 on what cannot be read. */
bool lab_input_next(struct lab_input *in);

/* Each exits with 1, naming file and line, when the column is missing or not of the form. */
uint64_t lab_hex(const struct lab_input *in, size_t column, const char *what);
uint64_t lab_decimal(const struct lab_input *in, size_t column, uint64_t max, const char *what);
void lab_expect_columns(const struct lab_input *in, size_t min, size_t max, const char *form);
__attribute__((format(printf, 2, 3), noreturn)) void lab_malformed(const struct lab_input *in,
								   const char *format, ...);
/* Exits with 1. */
__attribute__((format(printf, 1, 2), noreturn)) void lab_fail(const char *format, ...);
/* Exits with 2 after the reason and how to get help. */
__attribute__((format(printf, 1, 2), noreturn)) void lab_usage(const char *format, ...);
/* The decimal value of an option within [min, max], or a usage error. */
uint64_t lab_option(const char *option, const char *text, uint64_t min, uint64_t max);
/* Flushes standard output; exits with 1 when what was written did not all arrive. */
void lab_finish_output(void);

/* ---------------------------------------------------------------- exact traces as input */

typedef void lab_event_fn(void *context, const struct pathprof_trace_event *event);

/* Each exits with 1 when the trace cannot be read. */
struct pathprof_trace *lab_trace_open(const char *path);
void lab_trace_stream_each(const struct pathprof_trace *trace, uint32_t stream, lab_event_fn *fn,
			   void *context);

/* The consumer of files' contents: lines of text, or events stream by stream. */
struct lab_feed {
	void (*line)(void *context, const struct lab_input *in);
	/* Before the events of each stream; may be NULL. */
	void (*stream)(void *context, const struct pathprof_trace *trace, uint32_t stream);
	lab_event_fn *event;
	void *context;
};
/* All of the files, in order. No file: standard input, which is text. */
void lab_feed(char **files, int file_cnt, const struct lab_feed *feed);

/* The kinds of tuples in a trace (RPS 4.1). */
enum lab_tuples {
	LAB_TUPLES_EDGES, /* conditional branches and indirect jumps: from, next */
	LAB_TUPLES_CALLS, /* call site, callee */
	LAB_TUPLES_LOADS, /* load, value */
};
/* The value of --tuples, or a usage error. */
enum lab_tuples lab_tuples_option(const char *text);
/* Exits with 1 when the trace was taken without. */
void lab_tuples_expect(enum lab_tuples tuples, const struct pathprof_trace *trace);
bool lab_tuple_of(enum lab_tuples tuples, const struct pathprof_trace_event *event,
		  uint64_t *ret_pc, uint64_t *ret_word);

/*
 * The paths of one stream. A signal handler has a path stack of its own, the interrupted one goes
 * on after it; handlers that leave by longjmp leave theirs behind, so there is a bound.
 */
#define LAB_STREAM_HANDLERS_MAX 64
struct lab_paths_feed {
	struct pathprof_path_settings settings; /* set by the caller; the rest is zero */
	struct pathprof_path_stack *stack[LAB_STREAM_HANDLERS_MAX];
	size_t stack_cnt;
};
/* Begins a new stream. Forgets all paths of the stream before. */
void lab_paths_begin(struct lab_paths_feed *feed);
void lab_paths_end(struct lab_paths_feed *feed);
/* true: *ret_path was popped. */
bool lab_paths_event(struct lab_paths_feed *feed, const struct pathprof_trace_event *event,
		     struct pathprof_path_popped *ret_path);
/* The paths left at the end of a stream, newest first. false: none. */
bool lab_paths_drain(struct lab_paths_feed *feed, struct pathprof_path_popped *ret_path);

struct lab_command {
	const char *name;
	const char *arguments;
	const char *does;
	int (*run)(int argc, char **argv);
};

int lab_hash(int argc, char **argv);
int lab_compress(int argc, char **argv);
int lab_paths(int argc, char **argv);
int lab_hpt(int argc, char **argv);
int lab_converge(int argc, char **argv);
int lab_overlap(int argc, char **argv);
int lab_compare(int argc, char **argv);
int lab_combine(int argc, char **argv);
int lab_number(int argc, char **argv);
int lab_trace_summary(int argc, char **argv);
int lab_windows_command(int argc, char **argv);
int lab_graph_command(int argc, char **argv);
int lab_counts(int argc, char **argv);
int lab_experiment_command(int argc, char **argv);

#endif
