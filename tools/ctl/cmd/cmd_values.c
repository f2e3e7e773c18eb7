// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl values: for each parameter that was recorded how often its function ran, how much of
 * that the top values made (VP 3: Inv-1, Inv-N), how often a value came again at once (LVP), and
 * the top values themselves.
 */
#include "../ctl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/table.h"
#include "../text/text.h"
#include "../view/json.h"
#include "pathprof/compress.h"

#define TOP_DEFAULT  3
#define BAR_WIDTH    10
#define BIG_DECIMAL  UINT64_C(1000000) /* a number so far below 0 is an address or bits */
#define TOP_TEXT_MAX 64                /* of one value */

struct listing {
	const struct ctl_options *options;
	struct table *table;    /* or */
	struct json_rows *json; /* this */
	uint32_t top;
	size_t row_cnt;
	uint32_t entry_max;  /* N */
	bool sampled, whole; /* there were such rows */
};

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* Inv-n: the share of the first n values. */
static double invariance(const struct pathprof_value_row *row, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n && i < row->value_cnt; i++)
		sum += row->values[i].count;
	return ratio(sum, row->profiled);
}

/* Whether executions were sampled: at rate 1 every one is a message, whatever tables it passes. */
static bool is_sampled(const struct pathprof_value_row *row)
{
	struct pathprof_compress_form form;

	return pathprof_compress_read(&form, row->sampler, NULL) < 0 || form.rate > 1;
}

static bool is_wanted(const struct listing *l, const struct pathprof_value_row *row)
{
	return !l->options->function || strcmp(l->options->function, row->function) == 0;
}

/* ---------------------------------------------------------------- the table */

/* A value as digits alone; a greater one as hex, for addresses and bits, and as decimal. */
static void value_text(char *text, size_t size, uint64_t value)
{
	const int64_t number = (int64_t)value;

	if (value < 10)
		snprintf(text, size, "%" PRIu64, value);
	else if (number < 0 && number > -(int64_t)BIG_DECIMAL)
		snprintf(text, size, "0x%" PRIx64 " (%" PRId64 ")", value, number);
	else
		snprintf(text, size, "0x%" PRIx64 " (%" PRIu64 ")", value, value);
}

/* "0x10 (16) 45.2 %, 8 12.0 %". Caller frees. */
static char *tops_text(const struct listing *l, const struct pathprof_value_row *row)
{
	const uint32_t cnt = l->top < row->value_cnt ? l->top : row->value_cnt;
	const size_t size = (size_t)cnt * TOP_TEXT_MAX + 2;
	char *text = ctl_alloc(size);
	size_t at = 0;

	text[0] = '-';
	for (uint32_t i = 0; i < cnt; i++) {
		char value[48];

		value_text(value, sizeof(value), row->values[i].value);
		at += (size_t)snprintf(text + at, size - at, "%s%s %.1f%%", i ? ", " : "", value,
				       100 * ratio(row->values[i].count, row->profiled));
	}
	return text;
}

/* The share of profiled executions; without any, a dash. */
static void share_cell(struct listing *l, const struct pathprof_value_row *row, double share)
{
	if (row->profiled)
		table_cell(l->table, ctl_share_style(share), "%.1f%%", 100 * share);
	else
		table_cell(l->table, CTL_DIM, "-");
}

static void add_cells(struct listing *l, const struct pathprof_value_row *row)
{
	_cleanup_free_ char *tops = tops_text(l, row);
	const double first = invariance(row, 1);
	char bar[3 * BAR_WIDTH + 1];

	text_bar(bar, sizeof(bar), first, 1, BAR_WIDTH);
	table_row(l->table, 0);
	table_cell(l->table, CTL_NAME, "%s", row->function);
	table_cell(l->table, CTL_PLAIN, "%" PRIu32, row->argument);
	table_cell(l->table, CTL_PLAIN, "%" PRIu64, row->executed);
	share_cell(l, row, first);
	table_cell(l->table, ctl_share_style(first), "%s", bar);
	share_cell(l, row, invariance(row, row->entry_max));
	table_cell(l->table, CTL_PLAIN, "%.1f%%", 100 * ratio(row->same, row->executed));
	table_cell(l->table, CTL_PLAIN, "%s", tops);
	table_cell(l->table, CTL_DIM, "%s", text_base_name(row->binary_name));
}

static const struct table_column columns[] = {
	{"FUNCTION", TABLE_SHRINK},
	{"ARG", TABLE_RIGHT},
	{"EXECUTIONS", TABLE_RIGHT},
	{"INV-1", TABLE_RIGHT},
	{"", TABLE_BARS},
	{"INV-N", TABLE_RIGHT},
	{"LVP", TABLE_RIGHT},
	{"TOP VALUES", TABLE_SHRINK | TABLE_LIST},
	{"BINARY", TABLE_SHRINK | TABLE_SPARE},
};

/* ---------------------------------------------------------------- JSON */

static void add_json(struct listing *l, const struct pathprof_value_row *row)
{
	json_t *object = json_object(), *values = json_array();

	json_add_binary(object, "binary", &row->binary_id, row->binary_name);
	json_add_text(object, "function", row->function);
	json_add_hex(object, "start", row->start);
	json_add_count(object, "argument", row->argument);
	json_add_count(object, "executed", row->executed);
	json_add_count(object, "same", row->same);
	json_add_count(object, "profiled", row->profiled);
	json_add_text(object, "sampler", row->sampler);
	json_add_count(object, "n", row->entry_max);
	json_add_real(object, "inv_1", invariance(row, 1));
	json_add_real(object, "inv_n", invariance(row, row->entry_max));
	json_add_real(object, "lvp", ratio(row->same, row->executed));
	for (uint32_t i = 0; i < row->value_cnt && (!l->options->top || i < l->top); i++) {
		json_t *value = json_object();

		json_add_hex(value, "value", row->values[i].value);
		json_add_count(value, "count", row->values[i].count);
		json_add_real(value, "share", ratio(row->values[i].count, row->profiled));
		json_array_append_new(values, value);
	}
	json_add(object, "values", values);
	json_rows_add(l->json, object);
}

/* ---------------------------------------------------------------- the verb */

static int add(void *context, const struct pathprof_value_row *row)
{
	struct listing *l = context;

	if (!is_wanted(l, row))
		return 0;
	l->row_cnt++;
	if (row->entry_max > l->entry_max)
		l->entry_max = row->entry_max;
	l->sampled |= is_sampled(row);
	l->whole |= !is_sampled(row);
	if (l->json)
		add_json(l, row);
	else
		add_cells(l, row);
	return 0;
}

static int add_drop(void *context, const struct pathprof_value_drop *drop)
{
	_cleanup_free_ char *reason = text_escape(drop->reason);

	printf("Not in the shares: %" PRIu64 " (%s)\n", drop->cnt, reason);
	return 0;
}

static int print_notes(const struct listing *l, struct pathprof_store *store,
		       struct pathprof_error *error)
{
	printf("\nINV-1: share of the top value; INV-N: of the top %" PRIu32
	       "; LVP: value as the time before.\n",
	       l->entry_max);
	if (l->sampled)
		puts("Executions and LVP are exact, shares of values are estimated from samples.");
	else if (l->whole)
		puts("Every execution was looked at.");
	return pathprof_store_value_drops(store, &l->options->filter, add_drop, NULL, error);
}

static void tell_none(const struct ctl_options *options)
{
	const struct pathprof_filter *f = &options->filter;

	if (options->function || f->binary || f->since_ns || f->until_ns || f->window)
		ctl_note("values: none in what is selected: leave a filter out, or record them: "
			 "pathprofctl "
			 "record --value FUNCTION:ARG -- COMMAND");
	else
		ctl_note("values: none recorded: pathprofctl record --value FUNCTION:ARG -- "
			 "COMMAND records them (values can be secrets)");
}

static int list(const struct ctl_options *options, struct pathprof_store *store)
{
	struct table table = {.columns = columns,
			      .column_cnt = sizeof(columns) / sizeof(columns[0])};
	struct json_rows rows = {.out = stdout};
	struct listing l = {
		.options = options,
		.table = options->json ? NULL : &table,
		.json = options->json ? &rows : NULL,
		.top = options->top ? options->top : TOP_DEFAULT,
	};
	struct pathprof_error error = {""};
	int r;

	if (options->json)
		json_rows_begin(&rows, stdout);
	r = pathprof_store_values(store, &options->filter, add, &l, &error);
	if (options->json)
		json_rows_end(&rows);
	else if (r == 0 && l.row_cnt)
		table_print(&table, stdout, false);
	if (r == 0 && !options->json && l.row_cnt)
		r = print_notes(&l, store, &error);
	table_release(&table);
	if (r < 0)
		return ctl_fail_error("values", r, &error);
	if (!l.row_cnt)
		tell_none(options);
	return CTL_OK;
}

static int forget(struct pathprof_store *store)
{
	struct pathprof_error error = {""};
	int r = pathprof_store_forget_values(store, &error);

	return r < 0 ? ctl_fail_error("values", r, &error) : CTL_OK;
}

int cmd_values(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	int r = ctl_no_operands(options);

	if (r == CTL_OK)
		r = ctl_db_open(&store, options,
				options->forget ? PATHPROF_STORE_WRITE : PATHPROF_STORE_READ);
	if (r)
		return r;
	return options->forget ? forget(store) : list(options, store);
}
