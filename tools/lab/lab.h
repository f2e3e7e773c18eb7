/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pathprof-lab: the algorithms on recorded streams. What the commands share: reading lines of
 * columns, and saying where one is wrong.
 */
#ifndef LAB_H
#define LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LAB_COLUMNS_MAX 64

/* A file read line by line; columns point into the current line. */
struct lab_input {
	char **files; /* what is left of them */
	int file_cnt;
	FILE *stream;
	const char *name;
	uint64_t line_number;
	char *line;
	size_t line_size;
	char *column[LAB_COLUMNS_MAX];
	size_t column_cnt;
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
int lab_overlap(int argc, char **argv);
int lab_number(int argc, char **argv);
int lab_experiment_command(int argc, char **argv);

#endif
