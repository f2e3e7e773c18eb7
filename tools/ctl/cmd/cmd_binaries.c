// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl binaries: the code files seen, the kernel included where the clock counts it. */
#include "../ctl.h"

#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/view.h"
#include "base/plural.h"

#define ELSEWHERE_CNT 3 /* rows besides the binaries */
#define OWNERS_MAX    4 /* that a table shows */

/* A row: a binary, or code outside of files. */
struct row {
	int64_t id; /* 0: only the clock saw it */
	const struct shares_binary *binary;
	const char *name;
	int64_t first_seen_ns, last_seen_ns; /* of paths; 0: no path was seen */
	uint32_t *owners;                    /* owners of its files, most seen first */
	size_t owner_cnt, owner_room;
	struct figures figures;
};

struct rows {
	struct view_query *query;
	struct row *list;
	size_t cnt;
	size_t generated_cnt;    /* of processes with generated code */
	char generated_name[64]; /* of all of it, in a table */
};

static void time_cell(struct view_query *query, int64_t ns)
{
	char when[32];

	table_cell(query->table, CTL_DIM, "%s", ns ? text_time(when, sizeof(when), ns) : "-");
}

/* "root", "1000+nobody", "?": not known, "-": no owner was recorded, "+...": there are more. */
static char *owners_text(const struct row *row, char *text, size_t size)
{
	size_t at = 0, cnt = row->owner_cnt < OWNERS_MAX ? row->owner_cnt : OWNERS_MAX;

	snprintf(text, size, "-");
	for (size_t i = 0; i < cnt && at < size; i++) {
		const uint32_t owner = row->owners[i];
		const struct passwd *user =
			owner == PATHPROF_OWNER_UNKNOWN ? NULL : getpwuid(owner);
		const char *plus = i ? "+" : "";
		int n = user ? snprintf(text + at, size - at, "%s%s", plus, user->pw_name)
			: owner == PATHPROF_OWNER_UNKNOWN
				? snprintf(text + at, size - at, "%s?", plus)
				: snprintf(text + at, size - at, "%s%" PRIu32, plus, owner);

		at += n > 0 ? (size_t)n : 0;
	}
	if (cnt < row->owner_cnt && at < size)
		snprintf(text + at, size - at, "+...");
	return text;
}

static void add_cells(struct view_query *query, const struct row *row)
{
	char hex[PATHPROF_BUILD_ID_TEXT_LEN], owners[48 * OWNERS_MAX];

	table_row(query->table, row->id);
	view_figure_cells(query, &row->figures);
	table_cell(query->table, CTL_NAME, "%s", row->name);
	table_cell(query->table, CTL_PLAIN, "%s",
		   row->binary ? pathprof_build_id_text(&row->binary->id, hex) : "-");
	table_cell(query->table, row->owner_cnt > 1 ? CTL_PLAIN : CTL_DIM, "%s",
		   owners_text(row, owners, sizeof(owners)));
	time_cell(query, row->first_seen_ns);
	time_cell(query, row->last_seen_ns);
}

static void add_time(json_t *object, const char *name, int64_t ns)
{
	json_add(object, name, ns ? json_integer(ns) : json_null());
}

/* User ids, null for one that is not known. */
static void add_owners(json_t *object, const struct row *row)
{
	json_t *owners = json_array();

	for (size_t i = 0; i < row->owner_cnt; i++)
		json_array_append_new(owners, row->owners[i] == PATHPROF_OWNER_UNKNOWN
						      ? json_null()
						      : json_integer(row->owners[i]));
	json_add(object, "owners", owners);
}

static void add_json(struct view_query *query, const struct row *row)
{
	static const struct pathprof_build_id none = {.kind = PATHPROF_ID_NONE};
	json_t *object = json_object();

	json_add(object, "id", row->id ? json_integer(row->id) : json_null());
	view_figure_members(query, object, &row->figures);
	json_add_binary(object, "binary", row->binary ? &row->binary->id : &none, row->name);
	add_owners(object, row);
	add_time(object, "first_seen_ns", row->first_seen_ns);
	add_time(object, "last_seen_ns", row->last_seen_ns);
	json_rows_add(query->json, object);
}

static struct row *row_of(struct rows *rows, const struct shares_binary *binary)
{
	for (size_t i = 0; i < rows->cnt; i++)
		if (rows->list[i].binary == binary)
			return &rows->list[i];
	return NULL;
}

static int take(void *context, const struct pathprof_binary_row *row)
{
	struct rows *rows = context;
	const struct shares_binary *binary =
		shares_find_binary(rows->query->shares, &row->binary_id);
	struct row *known = binary ? row_of(rows, binary) : NULL;

	if (!known)
		return 0;
	known->id = row->id;
	known->first_seen_ns = row->first_seen_ns;
	known->last_seen_ns = row->last_seen_ns;
	return 0;
}

static int take_file(void *context, const struct pathprof_file_row *row)
{
	struct rows *rows = context;
	const struct shares_binary *binary =
		shares_find_binary(rows->query->shares, &row->binary_id);
	struct row *known = binary ? row_of(rows, binary) : NULL;

	if (!known)
		return 0;
	for (size_t i = 0; i < known->owner_cnt; i++)
		if (known->owners[i] == row->file.owner)
			return 0;
	ctl_grow(&known->owners, known->owner_cnt, &known->owner_room);
	known->owners[known->owner_cnt++] = row->file.owner;
	return 0;
}

static void add_elsewhere(struct rows *rows, const char *name, const struct figures *figures,
			  uint64_t samples)
{
	if (samples)
		rows->list[rows->cnt++] = (struct row){.name = name, .figures = *figures};
}

static int before(const void *a, const void *b, void *context)
{
	const struct row *x = a, *y = b;
	int order = view_compare(context, &x->figures, &y->figures);

	order = order ? order : strcmp(x->name, y->name);
	if (order || !x->binary || !y->binary)
		return order;
	return shares_compare_binaries(x->binary, y->binary);
}

static bool is_generated(const struct shares_binary *binary)
{
	return binary->id.kind == PATHPROF_ID_JIT && strncmp(binary->name, "jit:", 4) == 0;
}

static void add_runs(struct figures *sum, const struct figures *part)
{
	if (isnan(part->runs.value))
		return;
	if (isnan(sum->runs.value))
		sum->runs = (struct pathprof_share){0};
	sum->runs.value += part->runs.value;
	sum->runs.low += part->runs.low;
	sum->runs.high += part->runs.high;
}

/* Each process has generated code of its own: a host may have ten thousand. */
static void add_generated(struct rows *rows)
{
	const struct shares *shares = rows->query->shares;
	struct row all = {.name = rows->generated_name, .figures.runs = {NAN, NAN, NAN}};
	uint64_t clock_samples = 0;

	if (rows->generated_cnt < 2 || rows->query->json)
		return;
	for (size_t i = 0; i < shares->binary_cnt; i++) {
		const struct shares_binary *binary = &shares->binaries[i];

		if (!is_generated(binary))
			continue;
		clock_samples += binary->clock_samples;
		all.figures.share += binary->figures.share;
		all.figures.weight += binary->figures.weight;
		all.figures.samples += binary->figures.samples;
		add_runs(&all.figures, &binary->figures);
	}
	all.figures.time = shares_of_samples(shares, clock_samples).time;
	snprintf(rows->generated_name, sizeof(rows->generated_name),
		 "jit: (generated code of %zu %s)", rows->generated_cnt,
		 pp_plural(rows->generated_cnt, "process", "processes"));
	rows->list[rows->cnt++] = all;
}

static void collect(struct rows *rows)
{
	const struct shares *shares = rows->query->shares;

	rows->list = ctl_alloc((shares->binary_cnt + ELSEWHERE_CNT) * sizeof(*rows->list));
	for (size_t i = 0; i < shares->binary_cnt; i++)
		rows->generated_cnt += is_generated(&shares->binaries[i]);
	for (size_t i = 0; i < shares->binary_cnt; i++) {
		const struct shares_binary *binary = &shares->binaries[i];

		if (is_generated(binary) && rows->generated_cnt > 1 && !rows->query->json)
			continue;
		rows->list[rows->cnt++] = (struct row){
			.binary = binary, .name = binary->name, .figures = binary->figures};
	}
	add_generated(rows);
	add_elsewhere(rows, PATHPROF_KERNEL_NAME, &shares->elsewhere[SHARES_KERNEL],
		      shares->kernel_nameless);
	add_elsewhere(rows, "[unknown]", &shares->elsewhere[SHARES_UNKNOWN],
		      shares->unknown_samples);
}

static void emit(struct rows *rows)
{
	struct view_query *query = rows->query;
	size_t cnt = rows->cnt;

	qsort_r(rows->list, cnt, sizeof(*rows->list), before, query);
	if (query->filter.limit && query->filter.limit < cnt)
		cnt = query->filter.limit;
	view_tell_limit(query, cnt, rows->cnt);
	for (size_t i = 0; i < cnt; i++) {
		if (query->json)
			add_json(query, &rows->list[i]);
		else
			add_cells(query, &rows->list[i]);
	}
}

static void release(struct rows *rows)
{
	for (size_t i = 0; i < rows->cnt; i++)
		free(rows->list[i].owners);
	free(rows->list);
}

static int rows(struct view_query *query, struct pathprof_error *error)
{
	struct rows rows = {.query = query};
	struct pathprof_filter every = query->filter;
	int r;

	every.limit = 0;
	collect(&rows);
	view_begin_rows(query, &view_binaries, query->shares->clock_samples > 0);
	r = pathprof_store_binaries(query->store, &every, take, &rows, error);
	if (r == 0)
		r = pathprof_store_files(query->store, &every, take_file, &rows, error);
	if (r == 0)
		emit(&rows);
	release(&rows);
	return r;
}

static const struct table_column columns[] = {
	{"BINARY", TABLE_SHRINK},    {"BUILD-ID", TABLE_SHRINK}, {"OWNER", TABLE_SPARE},
	{"FIRST SEEN", TABLE_SPARE}, {"LAST SEEN", TABLE_SPARE},
};

const struct view view_binaries = {
	.name = "binaries",
	.key = 'b',
	.columns = columns,
	.column_cnt = sizeof(columns) / sizeof(columns[0]),
	.figures = true,
	.rows = rows,
};

int cmd_binaries(const struct ctl_options *options)
{
	return view_verb(&view_binaries, options, VIEW_LIST_LIMIT);
}
