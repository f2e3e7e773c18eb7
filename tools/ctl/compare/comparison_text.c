// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison for people, and as JSON: see comparison.h. */
#include "comparison.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "../text/cleanup.h"
#include "../text/table.h"
#include "../text/text.h"
#include "../view/json.h"
#include "pathprof/alert.h"

#define BAR_WIDTH 10
#define SHOWN_MIN 0.00005 /* bits; less is shown as none */

static bool is_text(const struct moved *moved)
{
	return moved->item->binary == SIDE_NO_BINARY;
}

/* ---------------------------------------------------------------- figures */

static void print_side(const char *letter, const struct side *side, double entropy_bits, FILE *out)
{
	_cleanup_free_ char *word = text_escape(side->word);

	fprintf(out, "%s  %s: %s %.10g", letter, word,
		side->distribution.counted ? "samples" : "weight", side->samples);
	if (side->per_burst > 1)
		fprintf(out, " of %.0f bursts", side->samples / side->per_burst);
	if (side->weighed)
		fprintf(out, ", worth %.0f of equal weight", (double)side->distribution.total);
	fprintf(out, ", %zu %s, entropy %.3f bits\n", side->distribution.touched_cnt,
		side_kind_name(side->kind), entropy_bits);
	if (side->unreadable > 0)
		fprintf(out,
			"   %.10g more samples are in code that cannot be read, and left out\n",
			side->unreadable);
}

/* The measure of a side that has one: a text side is assumed to be like the other. */
static const struct measure *measure_of(const struct comparison *c)
{
	return &(c->a->measure.kind ? c->a : c->b)->measure;
}

static const char *figure_of(const struct comparison *c)
{
	const char *figure = measure_figure(measure_of(c));

	if (c->a->kind == SIDE_TIMES)
		return "TIME";
	return figure ? figure : "COUNTS";
}

/* Tells the unit of the shares. */
static void print_figure(const struct comparison *c, FILE *out)
{
	bool edges = c->a->kind == SIDE_EDGES || c->a->kind == SIDE_CALLS;

	fprintf(out, "%s: ", figure_of(c));
	if (c->a->kind == SIDE_TIMES)
		fprintf(out, "clock samples by function, %s\n\n",
			measure_of(c)->clock_kernel ? "the kernel's included" : "user code's only");
	else if (measure_of(c)->kind == PATHPROF_KIND_ANY)
		fputs("as the files have them\n\n", out);
	else if (c->exact)
		fprintf(out, "%s, each path that ran counts once\n\n",
			c->nearly ? "nearly exact" : "exact");
	else
		fprintf(out, "each %s counts %s\n\n",
			edges ? "taken branch that was seen" : "path that was seen whole",
			measure_of(c)->kind == PATHPROF_KIND_WEIGHED
				? "by the CPU time that its burst stands for"
				: "once");
}

static void print_divergence(const struct comparison *c, FILE *out)
{
	const struct pathprof_drift *d = &c->drift;

	fprintf(out, "relative entropy D(B||A)  %.4f bits\n", c->kl.bits);
	if (c->nearly) {
		fputs("  nearly exact            threads shared counters: counts may be missing\n",
		      out);
		return;
	}
	if (c->exact) {
		fputs("  exact                   nothing was sampled, so nothing of it is chance\n",
		      out);
		return;
	}
	if (!c->counted) {
		fputs("  corrected               -  (weights are no counts: how much is chance "
		      "cannot be told)\n",
		      out);
		return;
	}
	fprintf(out, "  of it by chance         %.4f bits\n", d->null_bits);
	fprintf(out, "  corrected               %.4f bits  (99%% interval %.4f to %.4f)\n",
		d->kl_corrected_bits, d->kl_low_bits, d->kl_high_bits);
}

static void print_branches(const struct comparison *c, FILE *out)
{
	const struct pathprof_branch_comparison *b = &c->branches;

	if (c->a->kind == SIDE_TIMES)
		return;
	if (!c->has_branches) {
		fprintf(out, "conflict                  -  (%s)\n",
			c->match.binary_cnt ? "two builds" : "no code can be read");
		return;
	}
	fprintf(out,
		"conflict                  %.2f%% of branches ran mostly the other way, "
		"%.2f%% of their executions\n",
		100 * b->conflict.static_share, 100 * b->conflict.dynamic_share);
	fprintf(out, "branches foretold by A    %.2f%%  (by B itself %.2f%%)\n", 100 * b->accuracy,
		100 * b->accuracy_own);
}

static bool is_pathless(const struct shares_pathless *pathless)
{
	return pathless->kernel > 0 || pathless->code > 0;
}

/* Code without RUNS is not part of the comparison, so a change there is not seen. */
static void print_pathless(const struct comparison *c, FILE *out)
{
	const struct shares_pathless *const sides[] = {&c->a_pathless, &c->b_pathless};

	if (!is_pathless(sides[0]) && !is_pathless(sides[1]))
		return;
	for (size_t i = 0; i < 2; i++) {
		fprintf(out, i ? ", of B's " : "time without a path       of A's ");
		if (isnan(sides[i]->kernel))
			fputs("not known", out);
		else
			fprintf(out, "%.2f%% in the kernel, %.2f%% in code", 100 * sides[i]->kernel,
				100 * sides[i]->code);
	}
	fputs(" of which none was seen whole\n", out);
}

static void print_figures(const struct comparison *c, FILE *out)
{
	const char *events = side_kind_name(c->a->kind);

	print_divergence(c, out);
	fprintf(out, "overlap                   %.2f%%\n", 100 * c->overlap);
	fprintf(out, "overlap, LLVM's           %.2f%%  (of functions' profiles)\n",
		100 * c->similarity);
	fprintf(out, "angle                     %.1f degrees\n", c->angle_degrees);
	fprintf(out,
		"coverage                  %.2f%% of B's %s were seen in A, %.2f%% of its "
		"weight\n",
		100 * c->coverage.static_share, events, 100 * c->coverage.dynamic_share);
	print_branches(c, out);
	print_pathless(c, out);
	if (c->match.binary_cnt)
		fprintf(out,
			"matched across builds     %.2f%% of A's weight, %.2f%% of B's: "
			"functions whose name and shape both have\n",
			100 * c->match.a_share, 100 * c->match.b_share);
}

/* ---------------------------------------------------------------- in a sentence */

#define HOTTEST_MIN 0.01 /* share of the difference; functions of less are not named */

static void print_hottest(const struct comparison *c, FILE *out)
{
	const double least = HOTTEST_MIN * c->kl.bits;
	size_t cnt = c->function_cnt < 3 ? c->function_cnt : 3;

	if (!cnt || !side_function(c->functions[0].side, c->functions[0].item) ||
	    !(c->functions[0].moved_bits > least))
		return;
	fputs("; most in ", out);
	for (size_t i = 0; i < cnt && c->functions[i].moved_bits > least; i++) {
		_cleanup_free_ char *name = moved_function_name(&c->functions[i]);
		_cleanup_free_ char *safe = text_escape(name);

		fprintf(out, "%s%s (%.0f%% of the difference)", i ? ", " : "", safe,
			100 * c->functions[i].moved_bits / c->kl.bits);
	}
}

/* Chance could have made the difference. Prints whether that means that nothing changed. */
static void print_chance(const struct comparison *c, const char *a, const char *b, FILE *out)
{
	if (c->drift.kl_corrected_bits < pathprof_alert_fast.threshold)
		fprintf(out,
			"No difference that chance could not have made: %s still stands for "
			"%s.\n",
			a, b);
	else if (c->drift.kl_bits > c->drift.null_limit_bits)
		fprintf(out,
			"%s and %s are further apart than the %.3f bits that chance alone can make "
			"of samples so few, but too little was seen to tell how far. Record for "
			"longer.\n",
			a, b, c->drift.null_limit_bits);
	else
		fprintf(out,
			"Too little was seen to tell whether %s still stands for %s: by chance "
			"alone samples so few can be %.3f bits apart. Record for longer.\n",
			a, b, c->drift.null_limit_bits);
}

/* Prints how stale A is as a profile of B. */
static void print_verdict(const struct comparison *c, FILE *out)
{
	double new_share = 100 * (1 - c->coverage.dynamic_share);
	_cleanup_free_ char *a = text_escape(c->a->word), *b = text_escape(c->b->word);

	fputc('\n', out);
	if (c->counted && !(c->drift.kl_low_bits > 0)) {
		print_chance(c, a, b, out);
	} else if (!c->counted && !(c->kl.bits > SHOWN_MIN)) {
		fprintf(out, "No difference: %s stands for %s.\n", a, b);
	} else {
		fprintf(out,
			"%s is stale for %s: read by it, an event costs %.3f bits too many, and "
			"%.1f%% of what ran is not in it",
			a, b, c->counted ? c->drift.kl_corrected_bits : c->kl.bits, new_share);
		print_hottest(c, out);
		fputs(".\n", out);
	}
	if (c->match.failed_cnt) {
		_cleanup_free_ char *why = text_escape(c->match.why.text);

		fprintf(out, "A build could not be read, and what ran of it is left out: %s\n",
			why);
	}
}

/* ---------------------------------------------------------------- what moved */

static void add_shares(struct table *table, const struct comparison *c, const struct moved *moved)
{
	char bar[3 * BAR_WIDTH + 1];

	table_row(table, 0);
	table_cell(table, CTL_PLAIN, "%.4f", moved->moved_bits);
	table_cell(table, CTL_PLAIN, "%.1f%%",
		   c->kl.bits > 0 ? 100 * moved->moved_bits / c->kl.bits : 0);
	text_bar(bar, sizeof(bar), moved->moved_bits, c->functions[0].moved_bits, BAR_WIDTH);
	table_cell(table, moved->b_share > moved->a_share ? CTL_HOT : CTL_GOOD, "%s", bar);
	table_cell(table, CTL_PLAIN, "%.2f%%", 100 * moved->a_share);
	table_cell(table, CTL_PLAIN, "%.2f%%", 100 * moved->b_share);
}

static const struct table_column function_columns[] = {
	{"BITS", TABLE_RIGHT},      {"OF D", TABLE_RIGHT},
	{"", TABLE_BARS},           {"A", TABLE_RIGHT},
	{"B", TABLE_RIGHT},         {"EVENTS", TABLE_RIGHT | TABLE_SPARE},
	{"FUNCTION", TABLE_SHRINK}, {"BINARY", TABLE_SHRINK | TABLE_SPARE},
};

static void print_functions(const struct comparison *c, uint32_t limit, FILE *out)
{
	struct table table;

	table_init(&table, function_columns,
		   sizeof(function_columns) / sizeof(function_columns[0]));
	for (size_t i = 0; i < c->function_cnt && table.row_cnt < limit; i++) {
		const struct moved *moved = &c->functions[i];
		_cleanup_free_ char *name = moved_function_name(moved);

		if (is_text(moved) || !(moved->moved_bits > SHOWN_MIN))
			continue;
		add_shares(&table, c, moved);
		table_cell(&table, CTL_PLAIN, "%zu", moved->event_cnt);
		table_cell(&table, CTL_NAME, "%s", name);
		table_cell(&table, CTL_DIM, "%s", moved_binary_name(moved));
	}
	if (table.row_cnt) {
		fputs("\nFunctions that moved\n", out);
		table_print(&table, out, false);
	}
	table_release(&table);
}

static const struct table_column event_columns[] = {
	{"BITS", TABLE_RIGHT},
	{"OF D", TABLE_RIGHT},
	{"", TABLE_BARS},
	{"A", TABLE_RIGHT},
	{"B", TABLE_RIGHT},
	{"WHAT", TABLE_SHRINK},
	{"LINE", TABLE_SHRINK | TABLE_SPARE},
	{"ID", TABLE_RIGHT | TABLE_SPARE},
};

/* Path ids are only meaningful in the database of their side. */
static bool ids_differ(const struct comparison *c)
{
	return c->a->db && c->b->db && strcmp(c->a->db, c->b->db) != 0;
}

static void add_id(struct table *table, const struct comparison *c, const struct moved *moved)
{
	const char *of = !ids_differ(c) ? "" : moved->side == c->a ? "A:" : "B:";

	if (moved->item->path_id)
		table_cell(table, CTL_DIM, "%s%" PRId64, of, moved->item->path_id);
	else
		table_cell(table, CTL_DIM, "-");
}

static void print_show(const struct side *side, const char *of, FILE *out)
{
	_cleanup_free_ char *db = text_escape(side->db);

	fprintf(out, "%s%s: pathprofctl --db %s show ID\n",
		*of ? "Path ID of " : "One path in full", of, db);
}

static void print_shows(const struct comparison *c, FILE *out)
{
	if (c->a->kind != SIDE_PATHS || (!c->a->db && !c->b->db))
		return;
	fputc('\n', out);
	if (ids_differ(c))
		print_show(c->a, "A", out);
	if (c->b->db)
		print_show(c->b, ids_differ(c) ? "B" : "", out);
	else if (c->a->db)
		print_show(c->a, "", out);
}

static void print_events(const struct comparison *c, uint32_t limit, FILE *out)
{
	struct table table;

	table_init(&table, event_columns, sizeof(event_columns) / sizeof(event_columns[0]));
	for (size_t i = 0; i < c->event_cnt && table.row_cnt < limit; i++) {
		const struct moved *moved = &c->events[i];
		_cleanup_free_ char *label = side_label(moved->side, moved->item);
		_cleanup_free_ char *line = side_line(moved->side, moved->item);

		if (!(moved->moved_bits > SHOWN_MIN))
			break;
		add_shares(&table, c, moved);
		table_cell(&table, CTL_NAME, "%s", label);
		table_cell(&table, CTL_DIM, "%s", line ? line : "-");
		add_id(&table, c, moved);
	}
	if (table.row_cnt) {
		fprintf(out, "\n%s that moved\n",
			c->a->kind == SIDE_PATHS   ? "Paths"
			: c->a->kind == SIDE_TIMES ? "Functions"
			: c->a->kind == SIDE_EDGES ? "Edges"
			: c->a->kind == SIDE_CALLS ? "Calls"
						   : "Branches");
		table_print(&table, out, false);
		print_shows(c, out);
	}
	table_release(&table);
}

void comparison_print(const struct comparison *comparison, uint32_t limit, FILE *out)
{
	uint32_t rows = limit ? limit : UINT32_MAX;

	print_side("A", comparison->a, comparison->a_entropy_bits, out);
	print_side("B", comparison->b, comparison->b_entropy_bits, out);
	print_figure(comparison, out);
	print_figures(comparison, out);
	print_verdict(comparison, out);
	if (comparison->a->kind != SIDE_TIMES)
		print_functions(comparison, rows, out);
	print_events(comparison, rows, out);
}

/* ---------------------------------------------------------------- JSON */

static json_t *side_object(const struct side *side, double entropy_bits,
			   const struct shares_pathless *pathless)
{
	json_t *object = json_object();

	json_add_text(object, "selector", side->word);
	json_add_real(object, "samples", side->samples);
	json_add_real(object, "equal_samples", (double)side->distribution.total);
	json_add_count(object, "events", side->distribution.touched_cnt);
	json_add_real(object, "entropy_bits", entropy_bits);
	json_add_real(object, "unreadable", side->unreadable);
	json_add_real(object, "per_burst", side->per_burst);
	measure_members(&side->measure, object);
	if (side->dispersion > 0)
		json_add_real(object, "dispersion", side->dispersion);
	if (!isnan(pathless->kernel)) {
		json_add_real(object, "kernel_time", pathless->kernel);
		json_add_real(object, "pathless_time", pathless->code);
	}
	return object;
}

static void add_drift(json_t *object, const struct comparison *c)
{
	static const char *const names[] = {"kl_chance_bits", "kl_corrected_bits", "kl_low_bits",
					    "kl_high_bits"};
	const double values[] = {c->drift.null_bits, c->drift.kl_corrected_bits,
				 c->drift.kl_low_bits, c->drift.kl_high_bits};

	/* Exact figures have no interval. */
	json_add(object, "exact", json_boolean(c->exact && !c->nearly));
	for (size_t i = 0; i < 4; i++) {
		if (c->counted || (c->exact && i < 2))
			json_add_real(object, names[i], values[i]);
		else
			json_add(object, names[i], json_null());
	}
}

static void add_branches(json_t *object, const struct comparison *c)
{
	const struct pathprof_branch_comparison *b = &c->branches;

	if (!c->has_branches)
		return;
	json_add_real(object, "conflict_static", b->conflict.static_share);
	json_add_real(object, "conflict_dynamic", b->conflict.dynamic_share);
	json_add_real(object, "accuracy", b->accuracy);
	json_add_real(object, "accuracy_own", b->accuracy_own);
}

static json_t *figures_object(const struct comparison *c)
{
	json_t *object = json_object();

	json_add_real(object, "kl_bits", c->kl.bits);
	json_add_count(object, "unseen", c->kl.unseen_cnt);
	add_drift(object, c);
	json_add_real(object, "overlap", c->overlap);
	json_add_real(object, "overlap_llvm", c->similarity);
	json_add_real(object, "angle_degrees", c->angle_degrees);
	json_add_real(object, "coverage_static", c->coverage.static_share);
	json_add_real(object, "coverage_dynamic", c->coverage.dynamic_share);
	json_add_real(object, "matched_a", c->match.a_share);
	json_add_real(object, "matched_b", c->match.b_share);
	json_add_count(object, "builds_matched", c->match.binary_cnt - c->match.failed_cnt);
	add_branches(object, c);
	return object;
}

static json_t *moved_object(const struct moved *moved)
{
	json_t *object = json_object();

	json_add_real(object, "bits", moved->moved_bits);
	json_add_real(object, "a_share", moved->a_share);
	json_add_real(object, "b_share", moved->b_share);
	return object;
}

static json_t *functions_array(const struct comparison *c, uint32_t limit)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->function_cnt && i < limit; i++) {
		const struct moved *moved = &c->functions[i];
		_cleanup_free_ char *name = moved_function_name(moved);
		json_t *object = moved_object(moved);

		json_add_text(object, "function", name);
		json_add_text(object, "binary", moved_binary_name(moved));
		json_add_count(object, "events", moved->event_cnt);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *events_array(const struct comparison *c, uint32_t limit)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->event_cnt && i < limit; i++) {
		const struct moved *moved = &c->events[i];
		_cleanup_free_ char *label = side_label(moved->side, moved->item);
		_cleanup_free_ char *line = side_line(moved->side, moved->item);
		json_t *object = moved_object(moved);

		json_add_text(object, "what", label);
		json_add_text(object, "binary", moved_binary_name(moved));
		json_add_text(object, "line", line);
		if (moved->item->path_id)
			json_add_ns(object, "id", moved->item->path_id);
		if (moved->item->path_id && moved->side->db)
			json_add_text(object, "db", moved->side->db);
		json_array_append_new(array, object);
	}
	return array;
}

void comparison_print_json(const struct comparison *comparison, uint32_t limit, FILE *out)
{
	_cleanup_json_ json_t *object = json_object();
	uint32_t rows = limit ? limit : UINT32_MAX;

	json_add_text(object, "kind", side_kind_name(comparison->a->kind));
	measure_figure_member(object, figure_of(comparison));
	json_add(object, "a",
		 side_object(comparison->a, comparison->a_entropy_bits, &comparison->a_pathless));
	json_add(object, "b",
		 side_object(comparison->b, comparison->b_entropy_bits, &comparison->b_pathless));
	json_add(object, "figures", figures_object(comparison));
	json_add(object, "functions", functions_array(comparison, rows));
	json_add(object, "events", events_array(comparison, rows));
	json_dumpf(object, out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
	fputc('\n', out);
}
