/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of text: columns aligned, numbers to the right, cut to the width of the terminal, or of
 * 120 columns in a pipe, by shortening names in the middle and then leaving out columns that can be
 * spared. A bare one, without titles, is for programs: nothing of it is cut. Every cell is escaped
 * when it is put in, so nothing unsafe can come out.
 *
 * Workload: up to some hundred thousand rows, built once and shown once; the live screen builds a
 * new one a second. The table owns its cells.
 */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "term.h"

#define TABLE_RIGHT  (1U << 0)
#define TABLE_SHRINK (1U << 1) /* may be shortened */
#define TABLE_SPARE  (1U << 2) /* may be left out, the last such column first */
#define TABLE_BARS   (1U << 3) /* only where bars can be drawn */
#define TABLE_LIST   (1U << 4) /* entries with ", " between: shortened by leaving out the last */

#define TABLE_COLUMNS_MAX 16

struct table_column {
	const char *title;
	unsigned int flags;
};

struct table_cell {
	char *text; /* escaped */
	enum ctl_style style;
};

struct table {
	const struct table_column *columns; /* the caller's, or */
	struct table_column *own_columns;   /* these; NULL: none */
	size_t column_cnt;
	struct table_cell *cells; /* row by row */
	size_t cell_cnt, cell_room;
	int64_t *keys; /* one for each row: its subject */
	size_t row_cnt, row_room;
	unsigned int widths[TABLE_COLUMNS_MAX]; /* 0: left out; set by table_layout */
};

void table_init(struct table *table, const struct table_column *columns, size_t column_cnt);
void table_release(struct table *table);
/* Other columns, from malloc, which the table takes over. It must have no rows yet. */
void table_set_columns(struct table *table, struct table_column *columns, size_t column_cnt);
/* Starts a row; exactly column_cnt table_cell calls follow. */
void table_row(struct table *table, int64_t key);
void table_cell(struct table *table, enum ctl_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Keeps only the rows with the word in some cell, whatever its case. */
void table_keep(struct table *table, const char *word);
/* Sets the widths for a line of at most width columns (0: no bound). */
void table_layout(struct table *table, unsigned int width);
/* A cell or title as laid out, padded but at the end of a line. Caller frees. */
char *table_text(const struct table *table, const char *text, size_t column);
bool table_shown(const struct table *table, size_t column);
/* Lays out for ctl_term and prints; a title line first unless bare. */
void table_print(struct table *table, FILE *out, bool bare);

#endif
