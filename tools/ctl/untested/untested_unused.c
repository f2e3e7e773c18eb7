// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions that tests run and the selection did not: see untested_report.h. */
#include "untested_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../text/cleanup.h"
#include "../text/table.h"
#include "../text/text.h"
#include "../view/json.h"
#include "base/plural.h"
#include "base/table.h"

#define FUNCTIONS_MAX (1u << 26)

/* A function that tests ran. The members before tested_cnt are its key. */
struct function {
	uint64_t start; /* file offset */
	uint64_t binary;
	uint64_t tested_cnt, unused_cnt;
};

struct unused {
	const struct untested_report *report;
	struct pp_keyed functions;
	uint64_t tested_cnt, unused_cnt; /* units */
	uint32_t some_cnt;               /* functions of which a unit did not run */
	uint32_t none_cnt;               /* and of which none did */
};

static const struct symbol *symbol_at(const struct untested_report *report, uint64_t binary,
				      uint64_t place)
{
	const struct untested_binary *b = &report->untested->binaries[binary];

	return symbols_function(report->symbols, &b->id, b->name, place);
}

static int take_tested(void *context, const struct tested_key *key, bool has_run)
{
	struct unused *unused = context;
	struct function of = {.start = symbol_at(unused->report, key->binary, key->start)->start,
			      .binary = key->binary};
	struct function *function;
	uint32_t index;
	int r = pp_keyed_at(&unused->functions, &of, &index);

	if (r < 0)
		return r;
	function = pp_keyed_item(&unused->functions, index);
	function->tested_cnt++;
	function->unused_cnt += !has_run;
	unused->tested_cnt++;
	unused->unused_cnt += !has_run;
	return 0;
}

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->unused_cnt != y->unused_cnt)
		return x->unused_cnt > y->unused_cnt ? -1 : 1;
	if (x->binary != y->binary)
		return x->binary < y->binary ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static const struct function *function_at(const struct unused *unused, uint32_t i)
{
	return pp_keyed_item(&unused->functions, i);
}

static void sort(struct unused *unused)
{
	struct function *functions = (struct function *)(void *)unused->functions.items;

	if (unused->functions.cnt)
		qsort(functions, unused->functions.cnt, sizeof(*functions), compare_functions);
	for (uint32_t i = 0; i < unused->functions.cnt; i++) {
		unused->some_cnt += functions[i].unused_cnt > 0;
		unused->none_cnt += functions[i].unused_cnt == functions[i].tested_cnt;
	}
}

/* ---------------------------------------------------------------- text */

static const struct table_column columns[] = {
	{"UNUSED", TABLE_RIGHT},
	{"TESTED", TABLE_RIGHT},
	{"FUNCTION", TABLE_SHRINK},
	{"BINARY", TABLE_SHRINK | TABLE_SPARE},
};

static void add_row(struct table *table, const struct unused *unused,
		    const struct function *function)
{
	const struct untested_report *report = unused->report;

	table_row(table, 0);
	table_cell(table, CTL_HOT, "%" PRIu64, function->unused_cnt);
	table_cell(table, CTL_PLAIN, "%" PRIu64, function->tested_cnt);
	table_cell(table, CTL_NAME, "%s",
		   symbol_at(report, function->binary, function->start)->name);
	table_cell(table, CTL_DIM, "%s",
		   text_base_name(report->untested->binaries[function->binary].name));
}

static uint32_t silent_binaries(const struct untested *u)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < u->binary_cnt; i++)
		cnt += !u->binaries[i].has_run && !u->binaries[i].is_matched;
	return cnt;
}

static void print_text(const struct unused *unused, size_t row_cnt)
{
	const struct untested *u = unused->report->untested;
	const char *unit = untested_unit_name(u->settings.unit);
	struct table table;

	untested_print_sets(unused->report);
	printf("unused      %" PRIu64 " of %" PRIu64 " tested %ss of these binaries, in %" PRIu32
	       " functions; %" PRIu32 " of them were not seen at all\n",
	       unused->unused_cnt, unused->tested_cnt, unit, unused->some_cnt, unused->none_cnt);
	if (u->settings.bursts)
		printf("            windows are samples: below %.1f%% of what runs was not seen by "
		       "any\n",
		       100 * u->unseen.unseen.high);
	if (row_cnt)
		putchar('\n');
	table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < row_cnt; i++)
		add_row(&table, unused, function_at(unused, i));
	if (row_cnt)
		table_print(&table, stdout, false);
	table_release(&table);
	if (row_cnt < unused->some_cnt)
		printf("%zu more: -n 0 shows all\n", unused->some_cnt - row_cnt);
	if (silent_binaries(u))
		printf("\nnot compared: %" PRIu32 " %s of the tested set, of which nothing ran%s\n",
		       silent_binaries(u), pp_plural(silent_binaries(u), "binary", "binaries"),
		       u->settings.all_binaries ? ""
						: ", or which choose their functions by the "
						  "processor");
}

/* ---------------------------------------------------------------- JSON */

static json_t *function_json(const struct unused *unused, const struct function *function)
{
	const struct untested_binary *binary =
		&unused->report->untested->binaries[function->binary];
	json_t *object = json_object();

	json_add_count(object, "unused", function->unused_cnt);
	json_add_count(object, "tested", function->tested_cnt);
	json_add_function(object, "function",
			  symbol_at(unused->report, function->binary, function->start));
	json_add_hex(object, "function_start", function->start);
	json_add_binary(object, "binary", &binary->id, binary->name);
	return object;
}

static void print_json(const struct unused *unused, size_t row_cnt)
{
	const struct untested *u = unused->report->untested;
	_cleanup_json_ json_t *object = json_object();
	json_t *functions = json_array();

	json_add_text(object, "unit", untested_unit_name(u->settings.unit));
	json_add_count(object, "tested", unused->tested_cnt);
	json_add_count(object, "seen", u->seen_cnt);
	json_add_count(object, "bursts", u->settings.bursts);
	json_add_count(object, "unused", unused->unused_cnt);
	json_add_count(object, "functions_with_unused", unused->some_cnt);
	json_add_count(object, "functions_not_seen", unused->none_cnt);
	json_add_count(object, "binaries_not_compared", silent_binaries(u));
	json_add_real(object, "unseen_share_high", u->unseen.unseen.high);
	for (uint32_t i = 0; i < row_cnt; i++)
		json_array_append_new(functions, function_json(unused, function_at(unused, i)));
	json_add(object, "functions", functions);
	json_dumpf(object, stdout, JSON_INDENT(1));
	putchar('\n');
}

int untested_unused(const struct untested_report *report)
{
	struct unused unused = {.report = report};
	size_t row_cnt;
	int r;

	pp_keyed_init(&unused.functions, sizeof(struct function),
		      offsetof(struct function, tested_cnt), FUNCTIONS_MAX, 0);
	r = untested_each_tested(report->untested, take_tested, &unused);
	if (r == 0) {
		sort(&unused);
		row_cnt = untested_limit(report, unused.some_cnt);
		if (report->options->json)
			print_json(&unused, row_cnt);
		else
			print_text(&unused, row_cnt);
	}
	pp_keyed_release(&unused.functions);
	return r < 0 ? ctl_fail("untested: out of memory") : CTL_OK;
}
