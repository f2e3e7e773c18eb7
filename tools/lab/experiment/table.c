// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables of results: text to read, CSV to calculate and draw with, Markdown for the report.
 * Some dozen rows; the caller owns the table and everything in it is a copy.
 */
#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "run.h"

#define CELL_BYTES 64

struct row {
	char *label;
	double *values;
};

struct lab_table {
	char *name, *title, *label;
	char **columns;
	int *decimals;
	size_t column_cnt;
	struct row *rows;
	size_t row_cnt;
};

static char *copy(const char *text)
{
	char *ret = strdup(text);

	if (!ret)
		lab_fail("out of memory");
	return ret;
}

struct lab_table *lab_table_new(const char *name, const char *title, const char *label,
				const char *const *columns, size_t column_cnt)
{
	struct lab_table *table = lab_alloc(1, sizeof(*table));

	table->name = copy(name);
	table->title = copy(title);
	table->label = copy(label);
	table->columns = lab_alloc(column_cnt, sizeof(char *));
	table->decimals = lab_alloc(column_cnt, sizeof(int));
	table->column_cnt = column_cnt;
	for (size_t i = 0; i < column_cnt; i++) {
		table->columns[i] = copy(columns[i]);
		table->decimals[i] = 2;
	}
	return table;
}

void lab_table_free(struct lab_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->column_cnt; i++)
		free(table->columns[i]);
	for (size_t i = 0; i < table->row_cnt; i++) {
		free(table->rows[i].label);
		free(table->rows[i].values);
	}
	free(table->rows);
	free(table->columns);
	free(table->decimals);
	free(table->name);
	free(table->title);
	free(table->label);
	free(table);
}

void lab_table_set_decimals(struct lab_table *table, size_t column, int decimals)
{
	if (column < table->column_cnt)
		table->decimals[column] = decimals;
}

void lab_table_add(struct lab_table *table, const char *label, const double *values)
{
	struct row *row;

	if (pp_resize(&table->rows, table->row_cnt + 1) < 0)
		lab_fail("out of memory");
	row = &table->rows[table->row_cnt++];
	row->label = copy(label);
	row->values = lab_alloc(table->column_cnt, sizeof(double));
	memcpy(row->values, values, table->column_cnt * sizeof(double));
}

static double mean(const struct lab_table *table, size_t column)
{
	double sum = 0;
	size_t cnt = 0;

	for (size_t i = 0; i < table->row_cnt; i++)
		if (!isnan(table->rows[i].values[column])) {
			sum += table->rows[i].values[column];
			cnt++;
		}
	return cnt ? sum / (double)cnt : NAN;
}

void lab_table_add_average(struct lab_table *table)
{
	double *values = lab_alloc(table->column_cnt, sizeof(double));

	for (size_t i = 0; i < table->column_cnt; i++)
		values[i] = mean(table, i);
	lab_table_add(table, "average", values);
	free(values);
}

static const char *cell(const struct lab_table *table, const struct row *row, size_t column,
			char *ret_text)
{
	ret_text[0] = '\0';
	if (!isnan(row->values[column]))
		snprintf(ret_text, CELL_BYTES, "%.*f", table->decimals[column],
			 row->values[column]);
	return ret_text;
}

static int width(const struct lab_table *table, size_t column)
{
	size_t widest = strlen(table->columns[column]);
	char text[CELL_BYTES];

	for (size_t i = 0; i < table->row_cnt; i++) {
		size_t len = strlen(cell(table, &table->rows[i], column, text));

		widest = len > widest ? len : widest;
	}
	return (int)widest;
}

static int label_width(const struct lab_table *table)
{
	size_t widest = strlen(table->label);

	for (size_t i = 0; i < table->row_cnt; i++) {
		size_t len = strlen(table->rows[i].label);

		widest = len > widest ? len : widest;
	}
	return (int)widest;
}

static void write_text(FILE *out, const struct lab_table *table)
{
	int label = label_width(table);
	char text[CELL_BYTES];

	fprintf(out, "%s\n\n%-*s", table->title, label, table->label);
	for (size_t i = 0; i < table->column_cnt; i++)
		fprintf(out, "  %*s", width(table, i), table->columns[i]);
	fputc('\n', out);
	for (size_t r = 0; r < table->row_cnt; r++) {
		fprintf(out, "%-*s", label, table->rows[r].label);
		for (size_t i = 0; i < table->column_cnt; i++)
			fprintf(out, "  %*s", width(table, i),
				cell(table, &table->rows[r], i, text));
		fputc('\n', out);
	}
}

/* Quoted when it must be (RFC 4180). */
static void write_csv_text(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void write_csv(FILE *out, const struct lab_table *table)
{
	write_csv_text(out, table->label);
	for (size_t i = 0; i < table->column_cnt; i++) {
		fputc(',', out);
		write_csv_text(out, table->columns[i]);
	}
	fputc('\n', out);
	for (size_t r = 0; r < table->row_cnt; r++) {
		write_csv_text(out, table->rows[r].label);
		for (size_t i = 0; i < table->column_cnt; i++) {
			fputc(',', out);
			if (!isnan(table->rows[r].values[i]))
				fprintf(out, "%.9g", table->rows[r].values[i]);
		}
		fputc('\n', out);
	}
}

static void write_markdown(FILE *out, const struct lab_table *table)
{
	char text[CELL_BYTES];

	fprintf(out, "**%s**\n\n| %s |", table->title, table->label);
	for (size_t i = 0; i < table->column_cnt; i++)
		fprintf(out, " %s |", table->columns[i]);
	fputs("\n|---|", out);
	for (size_t i = 0; i < table->column_cnt; i++)
		fputs("---:|", out);
	fputc('\n', out);
	for (size_t r = 0; r < table->row_cnt; r++) {
		fprintf(out, "| %s |", table->rows[r].label);
		for (size_t i = 0; i < table->column_cnt; i++)
			fprintf(out, " %s |", cell(table, &table->rows[r], i, text));
		fputc('\n', out);
	}
}

void lab_table_write(struct lab_run *run, const struct lab_table *table)
{
	static const struct {
		const char *suffix;
		void (*write)(FILE *out, const struct lab_table *table);
	} forms[] = {{".txt", write_text}, {".csv", write_csv}, {".md", write_markdown}};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		FILE *file = lab_run_create(run, table->name, forms[i].suffix);

		forms[i].write(file, table);
		lab_run_close(file, table->name);
	}
	write_text(stdout, table);
	putchar('\n');
}

const char *lab_table_name(const struct lab_table *table)
{
	return table->name;
}
