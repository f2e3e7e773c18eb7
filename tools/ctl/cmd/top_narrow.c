// SPDX-License-Identifier: GPL-2.0-or-later
/* Narrowing of the live screen: see top_narrow.h. */
#include "top_narrow.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTAINER offsetof(struct pathprof_filter, container)

/* Columns are found by their titles, for figures stand before them. */
static const struct kind {
	const struct view *view;
	const char *noun, *option;
	const char *column, *otherwise; /* the second where the first has "-"; NULL: none */
	const char *told;               /* the column that people know the row by */
	size_t field;                   /* of the filter, a text; 0: the PID */
} kinds[] = {
	{&view_processes, "process", "pid", "PID", NULL, "COMM", 0},
	{&view_binaries, "binary", "binary", "BUILD-ID", "BINARY", "BINARY",
	 offsetof(struct pathprof_filter, binary)},
	{&view_containers, "container", "container", "NAME", NULL, "NAME", CONTAINER},
	{&view_units, "unit", "container", "NAME", NULL, "NAME", CONTAINER},
	{&view_comms, "name", "comm", "NAME", NULL, "NAME", offsetof(struct pathprof_filter, comm)},
};

static const struct kind *kind_of(const struct view *view)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].view == view)
			return &kinds[i];
	return NULL;
}

bool top_can_narrow(const struct view *view)
{
	return kind_of(view);
}

/* The row's text under a title. "-" means none, as does "". */
static const char *cell_of(const struct table *table, size_t row, const char *title)
{
	for (size_t i = 0; title && i < table->column_cnt; i++)
		if (strcmp(table->columns[i].title, title) == 0)
			return table->cells[row * table->column_cnt + i].text;
	return "-";
}

static bool is_named(const char *text)
{
	return *text && strcmp(text, "-") != 0;
}

static void tell(char *text, size_t size, const struct kind *kind, const char *value,
		 const char *told)
{
	const char *slash = strrchr(told, '/');

	if (kind->field)
		snprintf(text, size, "%s %s", kind->noun, slash ? slash + 1 : told);
	else
		snprintf(text, size, "%s %s %s", kind->noun, value, told);
}

int top_narrow(struct top_narrowing *ret_narrowing, const struct view *view,
	       const struct table *table, size_t row, struct pathprof_error *error)
{
	const struct kind *kind = kind_of(view);
	const char *value = cell_of(table, row, kind->column);

	if (!is_named(value))
		value = cell_of(table, row, kind->otherwise);
	if (!is_named(value) || *value == '[')
		return pathprof_fail(error, -ENOENT,
				     "this row has no %s that functions could be selected by",
				     kind->option);
	if (strchr(value, '\\') || strlen(value) >= sizeof(ret_narrowing->value))
		return pathprof_fail(error, -ENOENT, "this name cannot be typed: select it by --%s",
				     kind->option);
	ret_narrowing->from = view;
	snprintf(ret_narrowing->value, sizeof(ret_narrowing->value), "%s", value);
	tell(ret_narrowing->text, sizeof(ret_narrowing->text), kind, value,
	     cell_of(table, row, kind->told));
	return 0;
}

void top_narrow_filter(const struct top_narrowing *narrowing, struct pathprof_filter *filter)
{
	const struct kind *kind = narrowing->from ? kind_of(narrowing->from) : NULL;

	if (!kind)
		return;
	if (kind->field)
		*(const char **)((char *)filter + kind->field) = narrowing->value;
	else
		filter->pid = (uint32_t)strtoul(narrowing->value, NULL, 10);
}
