// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One path block by block. Everything about the code comes from the binary file of the very same
 * identity; without it what the store knows is shown and one line says why not more.
 */
#include "show.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../code/source_text.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/shares.h"
#include "base/plural.h"
#include "counted.h"
#include "number.h"
#include "show_callers.h"

#define INSTRUCTION_SIZE 256

enum numbered {
	NUMBER_UNKNOWN, /* not asked for, or its code has no graph */
	NUMBER_NONE,
	NUMBER_WHOLE,
	NUMBER_RUNS_ON, /* the number of its part in the function where it begins */
};

struct path {
	struct pathprof_path_row row;
	struct figures figures;
	char *binary_name;
	struct pathprof_code *code; /* NULL: not available */
	struct pathprof_error why;
	struct pathprof_block *blocks;
	size_t block_cnt, block_room;
	enum numbered numbered;
	uint64_t number, of; /* its number, of so many paths */
	char *function;      /* the function of these paths */
	bool is_counted;     /* counted by the program itself: it has lines instead of blocks */
	bool has_lines;
	struct counted_way counted;
};

/* The last source line shown, so that each is shown once. */
struct place {
	const char *file;
	int line;
};

static int find(struct path *path, const struct view_query *query, int64_t id,
		struct pathprof_error *error)
{
	const struct shares_path *found = shares_find_path(query->shares, id);

	if (!found)
		return pathprof_fail(error, -ENOENT, "no path %" PRId64 " in what is selected", id);
	path->row = found->row;
	path->figures = found->figures;
	path->binary_name = ctl_strdup(found->row.binary_name);
	path->row.binary_name = path->binary_name;
	return 0;
}

static int keep_block(void *context, const struct pathprof_block *block)
{
	struct path *path = context;

	ctl_grow(&path->blocks, path->block_cnt, &path->block_room);
	path->blocks[path->block_cnt++] = *block;
	return 0;
}

static void load_blocks(struct path *path, struct view_query *query)
{
	const struct pathprof_path_row *row = &path->row;
	int r;

	path->is_counted = pathprof_is_counted(&row->binary_id, path->binary_name);
	if (path->is_counted) {
		path->has_lines = counted_way_load(&path->counted, row, &path->why) == 0;
		return;
	}
	path->code = symbols_code(query->symbols, &row->binary_id, row->binary_name, &path->why);
	if (!path->code)
		return;
	r = pathprof_code_walk(path->code, row->start, row->length, row->outcomes, keep_block, path,
			       &path->why);
	if (r == 0)
		return;
	path->code = NULL;
	if (!path->why.text[0])
		pathprof_fail(&path->why, r, "%s: %s", path->binary_name, strerror(-r));
}

static void take_number(struct path *path, const struct target *target, int r)
{
	path->numbered = r < 0 ? NUMBER_NONE : r ? NUMBER_RUNS_ON : NUMBER_WHOLE;
	path->of = target->path_cnt;
	path->function = ctl_strdup(target->name);
}

/* Without a graph there is no number, which is no error. */
static void load_number(struct path *path, struct view_query *query,
			const struct ctl_options *options)
{
	const struct pathprof_path_row *row = &path->row;
	struct pathprof_error error = {""};
	struct target target;

	if (!path->code || !options ||
	    target_open_at(&target, query, options, &row->binary_id, row->binary_name, row->start,
			   &error) < 0)
		return;
	take_number(path, &target,
		    target_number(&target, row->start, row->length, row->outcomes, &path->number));
	target_release(&target);
}

static void release(struct path *path)
{
	counted_way_release(&path->counted);
	free(path->binary_name);
	free(path->blocks);
	free(path->function);
}

static char *label_of(struct view_query *query, const struct path *path, uint64_t offset)
{
	_cleanup_free_ char *label =
		symbols_label(query->symbols, &path->row.binary_id, path->row.binary_name, offset);

	return text_escape(label);
}

static void print_number(FILE *out, const struct path *path)
{
	_cleanup_free_ char *function = text_escape(path->function ? path->function : "");

	if (path->numbered == NUMBER_NONE)
		fprintf(out,
			"  number    -  (no path of %s alone: it ended at 32 branches, or began "
			"behind one that did)\n",
			function);
	else if (path->numbered != NUMBER_UNKNOWN)
		fprintf(out, "  number    %s:%" PRIu64 "  (of %" PRIu64 " %s%s)\n", function,
			path->number, path->of, pp_plural(path->of, "path", "paths"),
			path->numbered == NUMBER_RUNS_ON
				? "; from there it runs on into another function"
				: "");
}

/* An exact share has no interval. */
static void print_share(FILE *out, const char *name, const struct pathprof_share *share)
{
	const enum ctl_style style = ctl_share_style(share->value);

	if (isnan(share->value)) {
		fprintf(out, "  %-8s  not known\n", name);
		return;
	}
	fprintf(out, "  %-8s  %s%.2f%%%s", name, ctl_style_on(style), 100 * share->value,
		ctl_style_off(style));
	if (share->low < share->high)
		fprintf(out, "  (95%% interval %.2f%% to %.2f%%)", 100 * share->low,
			100 * share->high);
	fputc('\n', out);
}

static void print_rates(FILE *out, const struct measure *measure, double runs)
{
	struct pathprof_share rates = measure_at_rates(measure, runs);

	if (!isnan(rates.value))
		fprintf(out,
			"  at rates  %.2f%% to %.2f%% of runs, if its code executes half to twice "
			"the "
			"others' instructions a second\n",
			100 * rates.low, 100 * rates.high);
}

static void print_seen(FILE *out, const struct view_query *query, const struct path *path)
{
	const struct figures *figures = &path->figures;
	_cleanup_free_ char *bursts = measure_bursts(&query->measure);

	if (!path->row.id) {
		fputs("  share     never seen in what is selected\n", out);
		return;
	}
	if (query->kinds.used == PATHPROF_KIND_TAKEN) {
		struct interval interval = interval_of_share(figures->share, query->observations);

		print_share(out, "share",
			    &(struct pathprof_share){figures->share, interval.low, interval.high});
	} else {
		if (!measure_is_exact(&query->measure))
			print_share(out, "time", &figures->time);
		print_share(out, "runs", &figures->runs);
		print_rates(out, &query->measure, figures->runs.value);
	}
	fprintf(out, "  from      %s\n", bursts);
	fprintf(out, "  samples   %" PRIu64 "  (weight %.1f)\n", figures->samples, figures->weight);
}

static const char *letter_of(const struct pathprof_block *block)
{
	switch (block->kind) {
	case PERF_BR_COND:
		return block->taken ? "T" : "N";
	case PERF_BR_UNCOND:
	case PERF_BR_IND:
		return "T";
	default:
		return "";
	}
}

/* The outcomes of a path that is in no profile. Returns how many there are. Caller frees. */
static size_t spell_ways(const struct path *path, char **ret_ways)
{
	char *ways = ctl_alloc(path->block_cnt + 2);
	size_t len = 0;

	for (size_t i = 0; i < path->block_cnt; i++)
		for (const char *c = letter_of(&path->blocks[i]); *c; c++)
			ways[len++] = *c;
	if (!len)
		ways[0] = '-';
	*ret_ways = ways;
	return len;
}

/* The outcomes of its branches: from its row if it is stored, else from its blocks. Caller
 * frees. */
static size_t ways_of(const struct path *path, char **ret_ways)
{
	char ways[TEXT_OUTCOMES_SIZE];

	if (!path->row.id)
		return spell_ways(path, ret_ways);
	*ret_ways = ctl_strdup(text_outcomes(ways, path->row.length, path->row.outcomes));
	return path->row.length;
}

static void print_ways(FILE *out, const struct path *path)
{
	_cleanup_free_ char *ways = NULL;
	size_t cnt;

	if (path->is_counted)
		return;
	cnt = ways_of(path, &ways);
	fprintf(out, "  ways      %s  (%zu %s; T taken, N not taken)\n", ways, cnt,
		pp_plural(cnt, "branch", "branches"));
}

static void print_header(FILE *out, struct view_query *query, const struct path *path)
{
	const struct pathprof_path_row *row = &path->row;
	_cleanup_free_ char *label = label_of(query, path, row->start);
	_cleanup_free_ char *binary = text_escape(path->binary_name);
	_cleanup_free_ char *id =
		row->id ? ctl_printf("path %" PRId64, row->id) : ctl_strdup("path not seen");
	char hex[PATHPROF_BUILD_ID_TEXT_LEN];

	fprintf(out, "%s%s%s  %s%s%s\n", ctl_style_on(CTL_DIM), id, ctl_style_off(CTL_DIM),
		ctl_style_on(CTL_NAME), label, ctl_style_off(CTL_NAME));
	fprintf(out, "  binary    %s\n", binary);
	if (!path->is_counted) {
		fprintf(out, "  build-id  %s\n", pathprof_build_id_text(&row->binary_id, hex));
		fprintf(out, "  start     0x%" PRIx64 "\n", row->start);
	}
	print_number(out, path);
	print_seen(out, query, path);
	print_ways(out, path);
}

/* The source line that offset belongs to, unless it is the one shown last. */
static void print_source(FILE *out, struct path *path, struct source_text *source, uint64_t offset,
			 struct place *last)
{
	_cleanup_free_ char *line_text = NULL, *shown = NULL, *file = NULL;
	struct place here = {NULL, 0};

	if (pathprof_code_line(path->code, offset, &here.file, &here.line) < 0)
		return;
	if (last->file && !strcmp(last->file, here.file) && last->line == here.line)
		return;
	*last = here;
	line_text = source_text_line(source, path->code, here.file, here.line);
	file = text_escape(text_base_name(here.file));
	for (char *c = line_text; c && *c; c++)
		if (*c == '\t')
			*c = ' ';
	if (line_text)
		line_text[strcspn(line_text, "\r")] = 0;
	shown = text_escape(line_text ? line_text + strspn(line_text, " ") : "");
	fprintf(out, "    %s%s:%d%s  %s\n", ctl_style_on(CTL_GOOD), file, here.line,
		ctl_style_off(CTL_GOOD), shown);
}

/* Returns the offset of the next instruction, or end when this one cannot be read. */
static uint64_t print_instruction(FILE *out, struct path *path, uint64_t offset, uint64_t end)
{
	char text[INSTRUCTION_SIZE];
	_cleanup_free_ char *safe = NULL;
	unsigned int len_bytes = 0;

	if (pathprof_code_instruction(path->code, offset, text, sizeof(text), &len_bytes) < 0 ||
	    len_bytes == 0) {
		fprintf(out, "      0x%08" PRIx64 "  (cannot be decoded)\n", offset);
		return end;
	}
	safe = text_escape(text);
	fprintf(out, "      %s0x%08" PRIx64 "%s  %s\n", ctl_style_on(CTL_DIM), offset,
		ctl_style_off(CTL_DIM), safe);
	return offset + len_bytes;
}

static const char *way_of(const struct pathprof_block *block)
{
	switch (block->kind) {
	case PERF_BR_COND:
		return block->taken ? "taken" : "not taken";
	case PERF_BR_UNCOND:
		return "jump";
	case PERF_BR_IND:
		return "indirect jump";
	case PERF_BR_RET:
		return "return";
	case PERF_BR_CALL:
	case PERF_BR_IND_CALL:
		return "call that does not come back";
	default:
		return "falls through";
	}
}

static void print_end(FILE *out, struct view_query *query, const struct path *path, size_t at)
{
	const struct pathprof_block *block = &path->blocks[at];
	bool last = at + 1 == path->block_cnt;
	bool not_taken = block->kind == PERF_BR_COND && !block->taken;
	_cleanup_free_ char *to = NULL;

	if (!last)
		to = label_of(query, path, path->blocks[at + 1].start);
	else if (not_taken)
		to = label_of(query, path, block->end);
	fprintf(out, "    %s%s%s%s%s%s%s\n", ctl_style_on(CTL_WARM),
		ctl_term.utf8 && ctl_term.bars ? "\xe2\x86\xaa " : "-> ", way_of(block),
		to ? " to " : "", to ? to : "", last ? ", the path ends" : "",
		ctl_style_off(CTL_WARM));
}

static void print_block(FILE *out, struct view_query *query, struct path *path, size_t at,
			struct source_text *source)
{
	const struct pathprof_block *block = &path->blocks[at];
	_cleanup_free_ char *label = label_of(query, path, block->start);
	struct place last = {NULL, 0};
	uint64_t offset = block->start;

	fprintf(out, "\n  %sblock %zu%s  %s%s%s\n", ctl_style_on(CTL_DIM), at + 1,
		ctl_style_off(CTL_DIM), ctl_style_on(CTL_NAME), label, ctl_style_off(CTL_NAME));
	while (offset < block->end) {
		print_source(out, path, source, offset, &last);
		offset = print_instruction(out, path, offset, block->end);
	}
	print_end(out, query, path, at);
}

static void print_text(FILE *out, struct view_query *query, struct path *path)
{
	struct source_text *source = source_text_new();

	print_header(out, query, path);
	show_callers_print(out, query, &path->row);
	for (size_t i = 0; path->code && i < path->block_cnt; i++)
		print_block(out, query, path, i, source);
	if (path->has_lines) {
		counted_way_print(out, &path->counted);
	} else if (!path->code) {
		_cleanup_free_ char *why = text_escape(path->why.text);

		fprintf(out, "  code      not available: %s\n", why);
	}
	source_text_free(source);
}

static json_t *instructions_json(struct path *path, const struct pathprof_block *block)
{
	json_t *list = json_array();
	uint64_t offset = block->start;

	while (offset < block->end) {
		json_t *object = json_object();
		char text[INSTRUCTION_SIZE];
		unsigned int len_bytes = 0;
		struct place here;

		json_add_hex(object, "offset", offset);
		if (pathprof_code_line(path->code, offset, &here.file, &here.line) == 0) {
			json_add_text(object, "file", here.file);
			json_add_count(object, "line", (uint64_t)here.line);
		}
		if (pathprof_code_instruction(path->code, offset, text, sizeof(text), &len_bytes) ==
		    0)
			json_add_text(object, "text", text);
		json_array_append_new(list, object);
		offset = len_bytes ? offset + len_bytes : block->end;
	}
	return list;
}

static json_t *block_json(struct view_query *query, struct path *path,
			  const struct pathprof_block *block)
{
	_cleanup_free_ char *label = symbols_label(query->symbols, &path->row.binary_id,
						   path->row.binary_name, block->start);
	json_t *object = json_object();

	json_add_text(object, "label", label);
	json_add_hex(object, "start", block->start);
	json_add_hex(object, "end", block->end);
	json_add_text(object, "way", way_of(block));
	json_add(object, "instructions", instructions_json(path, block));
	return object;
}

static json_t *number_json(const struct path *path)
{
	json_t *object;

	if (path->numbered == NUMBER_UNKNOWN || path->numbered == NUMBER_NONE)
		return json_null();
	object = json_object();
	json_add_text(object, "function", path->function);
	json_add_number(object, "number", path->number);
	json_add_number(object, "paths", path->of);
	json_add(object, "runs_on", json_boolean(path->numbered == NUMBER_RUNS_ON));
	return object;
}

static void add_ways(json_t *object, const struct path *path)
{
	_cleanup_free_ char *ways = NULL;
	size_t cnt = ways_of(path, &ways);

	json_add_count(object, "length", cnt);
	json_add_text(object, "outcomes", cnt ? ways : "");
}

static void print_json(FILE *out, struct view_query *query, struct path *path)
{
	const struct pathprof_path_row *row = &path->row;
	_cleanup_free_ char *label =
		symbols_label(query->symbols, &row->binary_id, row->binary_name, row->start);
	_cleanup_json_ json_t *object = json_object();
	json_t *blocks = json_array();

	if (row->id)
		json_add_ns(object, "id", row->id);
	else
		json_add(object, "id", json_null());
	json_add_text(object, "label", label);
	view_figure_members(query, object, &path->figures);
	json_add_binary(object, "binary", &row->binary_id, row->binary_name);
	json_add_hex(object, "start", row->start);
	add_ways(object, path);
	json_add(object, "function_path", number_json(path));
	json_add(object, "callers", show_callers_json(query, &path->row));
	for (size_t i = 0; path->code && i < path->block_cnt; i++)
		json_array_append_new(blocks, block_json(query, path, &path->blocks[i]));
	json_add(object, "blocks", blocks);
	if (path->has_lines)
		json_add(object, "lines", counted_way_json(&path->counted));
	else if (!path->code)
		json_add_text(object, "code_missing", path->why.text);
	json_dumpf(object, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	fputc('\n', out);
}

static void print(FILE *out, struct view_query *query, struct path *path, bool json)
{
	if (json)
		print_json(out, query, path);
	else
		print_text(out, query, path);
}

int show_path(FILE *out, struct view_query *query, const struct ctl_options *options, int64_t id,
	      bool json, struct pathprof_error *error)
{
	struct path path = {.binary_name = NULL};
	int r = query->shares ? 0 : view_query_load(query, true, error);

	if (r == 0)
		r = find(&path, query, id, error);
	if (r == 0) {
		load_blocks(&path, query);
		load_number(&path, query, options);
		print(out, query, &path, json);
	}
	release(&path);
	return r;
}

int show_unseen(FILE *out, struct view_query *query, const struct target *target, uint64_t number,
		bool json)
{
	struct path path = {
		.code = target->code,
		.number = number,
		.figures = {.time = {NAN, NAN, NAN}, .runs = {NAN, NAN, NAN}},
	};
	int r = number_blocks(target, number, &path.blocks, &path.block_cnt);

	if (r < 0)
		return r;
	path.row.binary_id = target->id;
	path.binary_name = ctl_strdup(target->binary_name);
	path.row.binary_name = path.binary_name;
	path.row.start = path.blocks[0].start;
	take_number(&path, target, 0);
	print(out, query, &path, json);
	release(&path);
	return 0;
}
