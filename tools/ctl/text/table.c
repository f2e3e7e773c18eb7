// SPDX-License-Identifier: GPL-2.0-or-later
/* Aligned columns: see table.h. */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "text.h"

#define GAP 2 /* blanks between columns */

/*
 * Widths of a shrunk name. Below the first it says little, and a column is left out instead. Below
 * the second it says nothing.
 */
#define SHRINK_SOFT 24
#define SHRINK_HARD 12

void table_init(struct table *table, const struct table_column *columns, size_t column_cnt)
{
	*table = (struct table){.columns = columns, .column_cnt = column_cnt};
}

void table_release(struct table *table)
{
	for (size_t i = 0; i < table->cell_cnt; i++)
		free(table->cells[i].text);
	free(table->cells);
	free(table->keys);
	if (table->own_columns) {
		free(table->own_columns);
		table_init(table, NULL, 0);
	} else {
		table_init(table, table->columns, table->column_cnt);
	}
}

void table_set_columns(struct table *table, struct table_column *columns, size_t column_cnt)
{
	free(table->own_columns);
	table->own_columns = columns;
	table->columns = columns;
	table->column_cnt = column_cnt;
}

void table_row(struct table *table, int64_t key)
{
	ctl_grow(&table->keys, table->row_cnt, &table->row_room);
	table->keys[table->row_cnt++] = key;
}

void table_cell(struct table *table, enum ctl_style style, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	ctl_grow(&table->cells, table->cell_cnt, &table->cell_room);
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = ctl_strdup("");
	va_end(args);
	table->cells[table->cell_cnt++] = (struct table_cell){text_escape(text), style};
}

static bool row_has(const struct table *table, size_t row, const char *word)
{
	for (size_t i = 0; i < table->column_cnt; i++)
		if (strcasestr(table->cells[row * table->column_cnt + i].text, word))
			return true;
	return false;
}

void table_keep(struct table *table, const char *word)
{
	size_t cnt = table->column_cnt, kept = 0;

	for (size_t row = 0; row < table->row_cnt; row++) {
		struct table_cell *from = &table->cells[row * cnt], *to = &table->cells[kept * cnt];

		if (!row_has(table, row, word)) {
			for (size_t i = 0; i < cnt; i++)
				free(from[i].text);
			continue;
		}
		memmove(to, from, cnt * sizeof(*to));
		table->keys[kept++] = table->keys[row];
	}
	table->row_cnt = kept;
	table->cell_cnt = kept * cnt;
}

static unsigned int total_width(const struct table *table)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < table->column_cnt; i++)
		if (table->widths[i])
			sum += table->widths[i] + GAP;
	return sum ? sum - GAP : 0;
}

static void natural_widths(struct table *table)
{
	for (size_t i = 0; i < table->column_cnt; i++) {
		unsigned int width = text_width(table->columns[i].title);

		for (size_t row = 0; row < table->row_cnt; row++) {
			const char *text = table->cells[row * table->column_cnt + i].text;
			unsigned int cell = text_width(text);

			width = cell > width ? cell : width;
		}
		if ((table->columns[i].flags & TABLE_BARS) && !ctl_term.bars)
			width = 0;
		table->widths[i] = width;
	}
}

/* The widest column that may shrink and is wider than least, or column_cnt. */
static size_t widest_shrinkable(const struct table *table, unsigned int least)
{
	size_t best = table->column_cnt;

	for (size_t i = 0; i < table->column_cnt; i++) {
		if (!(table->columns[i].flags & TABLE_SHRINK) || table->widths[i] <= least)
			continue;
		best = i;
		least = table->widths[i];
	}
	return best;
}

/* Shrinks no column below least. True when the line fits. */
static bool shrink(struct table *table, unsigned int width, unsigned int least)
{
	while (total_width(table) > width) {
		size_t column = widest_shrinkable(table, least);

		if (column == table->column_cnt)
			return false;
		table->widths[column]--;
	}
	return true;
}

/* Leaves out the last cnt columns that can be spared. False when there are not so many. */
static bool spare(struct table *table, size_t cnt)
{
	for (size_t i = table->column_cnt; cnt && i-- > 0;) {
		if (!(table->columns[i].flags & TABLE_SPARE))
			continue;
		table->widths[i] = 0;
		cnt--;
	}
	return cnt == 0;
}

void table_layout(struct table *table, unsigned int width)
{
	natural_widths(table);
	if (!width)
		return;
	for (size_t spared = 1; !shrink(table, width, SHRINK_SOFT); spared++) {
		natural_widths(table);
		if (!spare(table, spared))
			break;
	}
	shrink(table, width, SHRINK_HARD);
}

bool table_shown(const struct table *table, size_t column)
{
	return table->widths[column] > 0;
}

char *table_text(const struct table *table, const char *text, size_t column)
{
	const bool is_list = table->columns[column].flags & TABLE_LIST;
	_cleanup_free_ char *shorter = is_list ? text_shorten_list(text, table->widths[column])
					       : text_shorten(text, table->widths[column]);
	unsigned int width = text_width(shorter);
	int pad = table->widths[column] > width ? (int)(table->widths[column] - width) : 0;

	if (table->columns[column].flags & TABLE_RIGHT)
		return ctl_printf("%*s%s", pad, "", shorter);
	return ctl_printf("%s%*s", shorter, pad, "");
}

static size_t last_shown(const struct table *table)
{
	size_t last = 0;

	for (size_t i = 0; i < table->column_cnt; i++)
		if (table_shown(table, i))
			last = i;
	return last;
}

/* Nothing after the last visible character of a line. */
static void cut_blanks(char *text)
{
	size_t len = strlen(text);

	while (len && text[len - 1] == ' ')
		text[--len] = 0;
}

static void print_cell(const struct table *table, FILE *out, size_t column,
		       const struct table_cell *cell)
{
	bool last = column == last_shown(table);
	_cleanup_free_ char *text = table_text(table, cell->text, column);

	if (last)
		cut_blanks(text);
	fprintf(out, "%s%s%s%s", ctl_style_on(cell->style), text, ctl_style_off(cell->style),
		last ? "\n" : "  ");
}

void table_print(struct table *table, FILE *out, bool bare)
{
	table_layout(table, bare ? 0 : ctl_term.width);
	for (size_t i = 0; !bare && i < table->column_cnt; i++) {
		struct table_cell title = {(char *)table->columns[i].title, CTL_TITLE};

		if (table_shown(table, i))
			print_cell(table, out, i, &title);
	}
	for (size_t row = 0; row < table->row_cnt && !ferror(out); row++)
		for (size_t i = 0; i < table->column_cnt; i++)
			if (table_shown(table, i))
				print_cell(table, out, i,
					   &table->cells[row * table->column_cnt + i]);
}
