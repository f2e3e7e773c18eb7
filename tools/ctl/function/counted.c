// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths that programs counted themselves: see counted.h. */
#include "counted.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../code/apart.h"
#include "../code/source_text.h"
#include "../text/cleanup.h"
#include "../text/text.h"

/* ---------------------------------------------------------------- the way of one */

static int open_same_build(struct pathprof_counted **ret_counted,
			   const struct pathprof_build_id *wanted, const char *file,
			   struct pathprof_error *error)
{
	struct pathprof_build_id id;
	int r = apart_open_counted(ret_counted, file, error);

	if (r < 0)
		return r;
	if (pathprof_counted_identity(*ret_counted, &id) == 0 &&
	    pathprof_build_id_equal(&id, wanted))
		return 0;
	pathprof_counted_free(*ret_counted);
	*ret_counted = NULL;
	return pathprof_fail(error, -ESTALE, "%s: another build than the one that counted", file);
}

/*
 * The program that counted and its code: --file if it is that build, else the file that ran. Code
 * may stay NULL. error is of --file if neither will do.
 */
static int open_program(struct pathprof_counted **ret_counted, struct pathprof_code **ret_code,
			const struct pathprof_build_id *wanted, const char *ran,
			struct pathprof_error *error)
{
	const char *given = symbols_used_file(), *file = given ? given : ran;
	struct pathprof_error none;
	int r = open_same_build(ret_counted, wanted, file, error);

	if (r < 0 && given) {
		file = ran;
		r = open_same_build(ret_counted, wanted, ran, &none) < 0 ? r : 0;
	}
	if (r < 0)
		return r;
	if (apart_open_code(ret_code, file, NULL, &none) < 0)
		*ret_code = NULL;
	return 0;
}

int counted_way_load(struct counted_way *ret_way, const struct pathprof_path_row *row,
		     struct pathprof_error *error)
{
	int r;

	*ret_way = (struct counted_way){.counted = NULL};
	r = open_program(&ret_way->counted, &ret_way->code, &row->binary_id, row->binary_name,
			 error);
	if (r < 0)
		return r;
	r = pathprof_counted_way(ret_way->counted, pathprof_counted_function_of(row->start),
				 pathprof_counted_number_of(row->start), &ret_way->lines,
				 &ret_way->cnt);
	if (r < 0)
		return pathprof_fail(error, r, "%s: the path is none of its functions'",
				     row->binary_name);
	return 0;
}

void counted_way_release(struct counted_way *way)
{
	pathprof_code_free(way->code);
	pathprof_counted_free(way->counted);
	free(way->lines);
}

/* Without indentation; NULL: the file cannot be read. Caller frees. */
static char *text_of(const struct counted_way *way, struct source_text *source,
		     const struct pathprof_counted_line *line)
{
	_cleanup_free_ char *text =
		way->code ? source_text_line(source, way->code, line->file, (int)line->line) : NULL;

	for (char *c = text; c && *c; c++)
		if (*c == '\t' || *c == '\r')
			*c = ' ';
	return text ? text_escape(text + strspn(text, " ")) : NULL;
}

/* Prints where an inlined function begins, or the function around it goes on. */
static void print_crossing(FILE *out, const struct pathprof_counted_line *line)
{
	_cleanup_free_ char *function = text_escape(line->function);

	if (line->crossing == PATHPROF_CROSSING_CALL)
		fprintf(out, "  call of %s\n", function);
	else if (line->crossing == PATHPROF_CROSSING_RETURN)
		fprintf(out, "  back in %s\n", function);
}

void counted_way_print(FILE *out, const struct counted_way *way)
{
	struct source_text *source = source_text_new();

	fputs(way->cnt ? "\n" : "  lines     not known: it was built without -g\n", out);
	for (size_t i = 0; i < way->cnt; i++) {
		_cleanup_free_ char *file = text_escape(text_base_name(way->lines[i]->file));
		_cleanup_free_ char *text = text_of(way, source, way->lines[i]);

		print_crossing(out, way->lines[i]);
		if (!way->lines[i]->line)
			continue;
		fprintf(out, "    %s%s:%" PRIu32 "%s  %s\n", ctl_style_on(CTL_GOOD), file,
			way->lines[i]->line, ctl_style_off(CTL_GOOD), text ? text : "");
	}
	source_text_free(source);
}

json_t *counted_way_json(const struct counted_way *way)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < way->cnt; i++) {
		json_t *object = json_object();

		json_add_text(object, "file", way->lines[i]->file);
		json_add_count(object, "line", way->lines[i]->line);
		if (way->lines[i]->crossing)
			json_add_text(object,
				      way->lines[i]->crossing == PATHPROF_CROSSING_CALL ? "call_of"
											: "back_in",
				      way->lines[i]->function);
		json_array_append_new(lines, object);
	}
	return lines;
}

/* ---------------------------------------------------------------- finding one */

struct search {
	struct view_query *query;
	const char *word;
	bool is_function;
	int64_t id;
	struct target *target; /* what is known of the function from its row; NULL: not wanted */
};

static void keep_target(struct target *target, const struct pathprof_path_row *row)
{
	target->id = row->binary_id;
	target->binary_name = ctl_strdup(row->binary_name);
	target->function = pathprof_counted_function_of(row->start);
	target->start = pathprof_counted_start(target->function, 0);
}

bool counted_is_named(const struct symbol *symbol, const char *name)
{
	return symbol->known &&
	       (strcmp(symbol->name, name) == 0 || strcmp(symbol->linkage, name) == 0);
}

/* FUNCTION:NUMBER with the name that the linker knows. */
static bool is_linkage_label(const struct symbol *symbol, uint64_t start, const char *word)
{
	_cleanup_free_ char *label = ctl_printf("%s:%" PRIu64, symbol->known ? symbol->linkage : "",
						start - symbol->start);

	return strcmp(label, word) == 0;
}

/* Parcels have no names of counted functions, so such a function is not found by name. */
static bool is_wanted(const struct search *search, const struct pathprof_path_row *row)
{
	struct symbols *symbols = search->query->symbols;
	_cleanup_free_ char *label = NULL;
	const struct symbol *symbol;

	if (!pathprof_is_counted(&row->binary_id, row->binary_name))
		return false;
	symbol = symbols_function(symbols, &row->binary_id, row->binary_name, row->start);
	if (search->is_function)
		return counted_is_named(symbol, search->word);
	label = symbols_label(symbols, &row->binary_id, row->binary_name, row->start);
	return strcmp(label, search->word) == 0 ||
	       is_linkage_label(symbol, row->start, search->word);
}

static int match(void *context, const struct pathprof_path_row *row)
{
	struct search *search = context;

	if (!is_wanted(search, row))
		return 0;
	search->id = row->id;
	if (search->target)
		keep_target(search->target, row);
	return 1;
}

static int find(struct search *search, struct pathprof_error *error)
{
	struct pathprof_filter filter = search->query->filter;
	int r;

	filter.limit = 0;
	r = pathprof_store_paths(search->query->store, &filter, match, search, error);
	return r < 0 ? r : 0;
}

int counted_has_function(struct view_query *query, const char *name, struct pathprof_error *error)
{
	struct search search = {.query = query, .word = name, .is_function = true};
	int r = find(&search, error);

	return r < 0 ? r : search.id != 0;
}

int counted_find_path(struct view_query *query, const char *word, int64_t *ret_id,
		      struct pathprof_error *error)
{
	struct search search = {.query = query, .word = word};
	int r = find(&search, error);

	*ret_id = search.id;
	return r;
}

/* ---------------------------------------------------------------- a function */

static int open_flow(struct target *target, struct pathprof_error *error)
{
	uint32_t cnt;
	int r = open_program(&target->counted, &target->code, &target->id, target->binary_name,
			     error);

	if (r < 0)
		return r;
	r = pathprof_counted_flow(target->counted, target->function, &target->flow, &target->paths);
	if (r < 0)
		return pathprof_fail(error, r, "%s: its description of %s is damaged",
				     target->binary_name, target->name);
	target->path_cnt = pathprof_function_paths_cnt(target->paths);
	target->linkage = ctl_strdup(
		pathprof_counted_functions(target->counted, &cnt)[target->function].name);
	return 0;
}

int counted_open_function(struct target *ret_target, struct view_query *query, const char *name,
			  struct pathprof_error *error)
{
	struct target target = {.symbols = query->symbols};
	struct search search = {
		.query = query, .word = name, .is_function = true, .target = &target};
	int r = find(&search, error);

	if (r < 0 || !search.id)
		return r;
	target.name = ctl_strdup(name);
	r = open_flow(&target, error);
	if (r < 0) {
		target_release(&target);
		return r;
	}
	*ret_target = target;
	return 1;
}
