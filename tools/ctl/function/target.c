// SPDX-License-Identifier: GPL-2.0-or-later
/* Finding the function that a user means: see target.h. */
#include "target.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../code/apart.h"
#include "../code/names.h"
#include "../code/similar.h"
#include "../ctl.h"
#include "../options.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "base/units.h"
#include "counted.h"
#include "pathprof/path_counts.h"

/* A binary that may hold the function. */
struct candidate {
	struct pathprof_build_id id;
	char *name;
};

/* The function that was asked for, parsed. */
struct wanted {
	char *word;   /* all of it but the binary */
	char *base;   /* word without its +0xOFFSET; NULL: it has none */
	char *binary; /* NULL: any */
	uint64_t offset;
	bool is_offset; /* word is nothing but an offset */
};

struct search {
	struct view_query *query;
	struct wanted wanted;
	const char *name; /* that is looked for: word or base of what is wanted */
	struct candidate *candidates;
	size_t cnt;
	/* The results: */
	const struct candidate *found;
	uint64_t offset;
	size_t found_cnt;          /* binaries that have it */
	size_t counted_cnt;        /* binaries whose paths are counted ones, and have no graph */
	struct pathprof_error why; /* of the last binary that could not be read */
};

/* ---------------------------------------------------------------- words */

static bool parse_offset(const char *text, uint64_t *ret_offset)
{
	return strncmp(text, "0x", 2) == 0 && !pp_hex_parse(text, ret_offset);
}

/* The @ of callee@plt is part of a name, and so are the two of callee@@VERSION. */
static char *find_at(char *word)
{
	char *at = strrchr(word, '@');

	return at && strcmp(at, "@plt") != 0 && at != word && at[-1] != '@' && at[1] ? at : NULL;
}

static void take_apart(struct wanted *wanted, const char *text, const char *binary)
{
	char path[PATH_MAX];
	char *at, *plus;

	wanted->word = ctl_strdup(text);
	at = find_at(wanted->word);
	if (at) {
		*at = 0;
		binary = at + 1;
	}
	wanted->binary = binary ? ctl_strdup(ctl_binary_given(binary, path)) : NULL;
	wanted->is_offset = parse_offset(wanted->word, &wanted->offset);
	plus = strrchr(wanted->word, '+');
	if (plus && plus != wanted->word && parse_offset(plus + 1, &wanted->offset))
		wanted->base = ctl_printf("%.*s", (int)(plus - wanted->word), wanted->word);
}

static void release_search(struct search *search)
{
	for (size_t i = 0; i < search->cnt; i++)
		free(search->candidates[i].name);
	free(search->candidates);
	free(search->wanted.word);
	free(search->wanted.base);
	free(search->wanted.binary);
}

/* ---------------------------------------------------------------- binaries */

static void add_candidate(struct search *search, const struct pathprof_build_id *id,
			  const char *name)
{
	search->candidates = ctl_realloc(search->candidates, search->cnt, search->cnt + 1,
					 sizeof(struct candidate));
	search->candidates[search->cnt++] = (struct candidate){*id, ctl_strdup(name)};
}

static int keep_binary(void *context, const struct pathprof_binary_row *row)
{
	struct search *search = context;

	if (row->name && pathprof_is_counted(&row->binary_id, row->name)) {
		search->counted_cnt++;
		return 0;
	}
	add_candidate(search, &row->binary_id,
		      row->binary_id.kind == PATHPROF_ID_JIT ? ""
		      : row->name                            ? row->name
							     : "");
	return 0;
}

/* Lists the binaries of the selection, heaviest first; or else a file that was never profiled. */
static int list_candidates(struct search *search)
{
	struct pathprof_filter filter = search->query->filter;
	const char *file = search->wanted.binary;
	struct pathprof_error error = {""};
	struct pathprof_build_id id;
	int r;

	filter.limit = 0;
	if (file)
		filter.binary = file;
	r = pathprof_store_binaries(search->query->store, &filter, keep_binary, search, &error);
	if (r < 0)
		return ctl_fail_error("binaries", r, &error);
	if (search->cnt || search->counted_cnt || !file)
		return CTL_OK;
	if (file[0] == '/' && apart_read_build_id(&id, file, &error) == 0)
		add_candidate(search, &id, file);
	else
		return ctl_fail("%s: no binary of this name among what is selected: see "
				"pathprofctl binaries, or give a file's whole path",
				file);
	return CTL_OK;
}

static struct pathprof_code *code_of(struct search *search, const struct candidate *candidate)
{
	struct pathprof_error why = {""};
	struct pathprof_code *code =
		symbols_code(search->query->symbols, &candidate->id, candidate->name, &why);

	if (!code)
		search->why = why;
	return code;
}

/* ---------------------------------------------------------------- looking */

static void take(struct search *search, const struct candidate *candidate, uint64_t offset)
{
	if (!search->found) {
		search->found = candidate;
		search->offset = offset;
	}
	search->found_cnt++;
}

static const struct candidate *candidate_of(const struct search *search,
					    const struct pathprof_build_id *id)
{
	for (size_t i = 0; i < search->cnt; i++)
		if (pathprof_build_id_equal(&search->candidates[i].id, id))
			return &search->candidates[i];
	return NULL;
}

/* Compares the name under which the function is shown. Of those seen to run, the heaviest is
 * taken. */
static int match_path(void *context, const struct pathprof_path_row *row)
{
	struct search *search = context;
	const struct candidate *candidate = candidate_of(search, &row->binary_id);
	const struct symbol *symbol;

	if (!candidate || row->binary_id.kind == PATHPROF_ID_JIT)
		return 0;
	symbol = symbols_function(search->query->symbols, &row->binary_id, row->binary_name,
				  row->start);
	if (!names_match_shown(search->name, symbol->name) &&
	    !(symbol->known && names_match(search->name, symbol->linkage)))
		return 0;
	take(search, candidate, row->start);
	return 1;
}

static int find_shown(struct search *search, const char *name)
{
	struct pathprof_filter filter = search->query->filter;
	struct pathprof_error error = {""};
	int r;

	search->name = name;
	filter.limit = 0;
	if (search->wanted.binary)
		filter.binary = search->wanted.binary;
	r = pathprof_store_paths(search->query->store, &filter, match_path, search, &error);
	return r < 0 ? ctl_fail_error("paths", r, &error) : CTL_OK;
}

static void find_linkage(struct search *search, const char *name)
{
	for (size_t i = 0; i < search->cnt; i++) {
		struct pathprof_code *code = code_of(search, &search->candidates[i]);
		uint64_t start, end;

		if (code && pathprof_code_find_function(code, name, &start, &end) == 0)
			take(search, &search->candidates[i], start);
	}
}

struct readable_search {
	const char *word;
	uint64_t start;
};

static int match_readable(void *context, const struct pathprof_code_symbol *symbol)
{
	struct readable_search *search = context;

	if (!names_match(search->word, symbol->name))
		return 0;
	search->start = symbol->start;
	return 1;
}

/* Finds a name as people write it, among functions not seen to run. */
static void find_readable(struct search *search, const char *name)
{
	for (size_t i = 0; i < search->cnt; i++) {
		struct readable_search readable = {.word = name};
		struct pathprof_code *code = code_of(search, &search->candidates[i]);

		if (code)
			names_ahead(code);
		if (code && pathprof_code_symbols(code, match_readable, &readable) > 0)
			take(search, &search->candidates[i], readable.start);
	}
}

/* binary_name NULL: any binary. */
static void find_offset(struct search *search, const char *binary_name)
{
	uint64_t vaddr;

	for (size_t i = 0; i < search->cnt; i++) {
		const struct candidate *candidate = &search->candidates[i];
		struct pathprof_code *code;

		if (binary_name && strcmp(text_base_name(candidate->name), binary_name) != 0)
			continue;
		code = code_of(search, candidate);
		if (code && pathprof_code_offset_to_vaddr(code, search->wanted.offset, &vaddr) == 0)
			take(search, candidate, search->wanted.offset);
	}
}

static int look(struct search *search)
{
	const struct wanted *wanted = &search->wanted;
	int r = CTL_OK;

	if (wanted->is_offset)
		find_offset(search, NULL);
	else
		r = find_shown(search, wanted->word);
	if (r == CTL_OK && !search->found && !wanted->is_offset)
		find_linkage(search, wanted->word);
	if (r == CTL_OK && !search->found && wanted->base)
		find_linkage(search, wanted->base);
	if (r == CTL_OK && !search->found && wanted->base)
		find_offset(search, wanted->base);
	if (r == CTL_OK && !search->found && wanted->base)
		r = find_shown(search, wanted->base);
	if (r == CTL_OK && !search->found)
		find_readable(search, wanted->word);
	if (r == CTL_OK && !search->found && wanted->base)
		find_readable(search, wanted->base);
	return r;
}

static int offer(void *context, const struct pathprof_code_symbol *symbol)
{
	similar_offer(context, symbol->name);
	return 0;
}

/* Lists similar names. Caller frees. */
static char *text_of_similar(struct search *search)
{
	struct similar similar = {.word = search->wanted.word};
	char *text;

	for (size_t i = 0; i < search->cnt; i++) {
		struct pathprof_code *code = code_of(search, &search->candidates[i]);

		if (code)
			pathprof_code_symbols(code, offer, &similar);
	}
	text = similar_text(&similar);
	similar_release(&similar);
	return text;
}

/* For a function that counted its paths, only numbers that ran are known. */
static int fail_to_find_counted(struct search *search, const char *word)
{
	struct pathprof_error error = {""};
	int r = counted_has_function(search->query, word, &error);

	if (r < 0)
		return ctl_fail_error(word, r, &error);
	if (r)
		return ctl_fail("%s: no path of that number ran: programs counted their paths "
				"themselves, and pathprofctl paths --function %s lists those that "
				"ran",
				word, word);
	return ctl_fail("%s: no function of that name: programs counted their paths themselves, "
			"and pathprofctl top --by functions lists those that ran",
			word);
}

static int fail_to_find(struct search *search, const char *word)
{
	const char *in = search->cnt == 1 ? " in " : "";
	const char *binary = search->cnt == 1 ? search->candidates[0].name : "";
	_cleanup_free_ char *similar = NULL;
	char why[256];

	if (search->cnt == 0 && search->counted_cnt)
		return fail_to_find_counted(search, word);
	if (search->cnt == 0)
		return ctl_fail("%s: nothing matches: %s", word,
				nothing_text(why, sizeof(why), search->query->store,
					     &search->query->filter));
	if (search->cnt == 1 && search->why.text[0])
		return ctl_fail("%s: its code cannot be read: %s", word, search->why.text);
	if (search->wanted.is_offset && search->cnt == 1)
		return ctl_fail("%s: %s has no code at that file offset: see pathprofctl top --by "
				"functions",
				word, search->candidates[0].name);
	if (search->wanted.is_offset)
		return ctl_fail("%s: no code at that file offset: name the binary with %s@BINARY",
				word, search->wanted.word);
	similar = text_of_similar(search);
	if (*similar)
		return ctl_fail("%s: no function of that name%s%s: did you mean %s?", word, in,
				binary, similar);
	return ctl_fail("%s: no function of that name%s%s: without a symbol it is "
			"BINARY+0xOFFSET, see pathprofctl top --by functions",
			word, in, binary);
}

/* ---------------------------------------------------------------- opening */

static int open_numbers(struct target *target, struct pathprof_error *error)
{
	int r = pathprof_flow_init(&target->flow, target->graph, target->function);

	if (r < 0)
		return pathprof_fail(error, r, "%s: its blocks cannot be read", target->name);
	r = pathprof_function_paths_new(&target->paths, &target->flow, PATHPROF_CUT_BRANCHES);
	if (r < 0) {
		pathprof_flow_release(&target->flow);
		return pathprof_fail(error, r, "%s: its paths cannot be numbered: %s", target->name,
				     strerror(-r));
	}
	target->path_cnt = pathprof_function_paths_cnt(target->paths);
	return 0;
}

static void take_names(struct target *target, struct view_query *query, uint64_t offset)
{
	const struct symbol *symbol =
		symbols_function(query->symbols, &target->id, target->binary_name, offset);
	const char *own = pathprof_graph_name(target->graph, target->function);

	if (symbol->known && symbol->start == target->start)
		own = symbol->linkage;
	target->linkage = ctl_strdup(own);
	target->name = *own ? symbols_readable(query->symbols, &target->id, target->binary_name,
					       own, target->start)
			    : ctl_printf("%s+0x%" PRIx64, text_base_name(target->binary_name),
					 target->start);
}

static int open_function(struct target *target, struct view_query *query, uint64_t offset,
			 struct pathprof_error *error)
{
	const struct pathprof_graph *graph = target->graph;

	target->function = target_function_at(target, offset);
	if (target->function == PATHPROF_GRAPH_NONE)
		return pathprof_fail(error, -ENOENT,
				     "%s: 0x%" PRIx64 ": in no function that could be read: see "
				     "pathprofctl top --by functions",
				     target->binary_name, offset);
	target->start = graph->parts[graph->functions[target->function].first_part].start;
	take_names(target, query, target->start);
	return open_numbers(target, error);
}

int target_open_at(struct target *ret_target, struct view_query *query,
		   const struct ctl_options *options, const struct pathprof_build_id *id,
		   const char *binary_name, uint64_t offset, struct pathprof_error *error)
{
	struct target *target = ret_target;
	int r;

	*target = (struct target){.id = *id, .symbols = query->symbols};
	target->code = symbols_code(query->symbols, id, binary_name, error);
	if (!target->code)
		return -ENOENT;
	target->binary_name = ctl_strdup(binary_name ? binary_name : "");
	r = graphs_open(&target->graph, options, target->code, target->binary_name, error);
	if (r == 0)
		r = open_function(target, query, offset, error);
	if (r < 0)
		target_release(target);
	return r;
}

static int open_found(struct target *ret_target, struct search *search,
		      const struct ctl_options *options, const char *word)
{
	const struct candidate *found = search->found;
	struct pathprof_error error = {""};
	int r;

	if (search->found_cnt > 1)
		ctl_note("%s: found in %zu binaries, using the one in %s: %s@BINARY names another",
			 word, search->found_cnt, found->name, search->wanted.word);
	r = target_open_at(ret_target, search->query, options, &found->id, found->name,
			   search->offset, &error);
	return r < 0 ? ctl_fail_error(word, r, &error) : CTL_OK;
}

int target_open(struct target *ret_target, struct view_query *query,
		const struct ctl_options *options, const char *word)
{
	struct search search = {.query = query};
	int r;

	take_apart(&search.wanted, word, options->filter.binary);
	r = list_candidates(&search);
	if (r == CTL_OK)
		r = look(&search);
	if (r == CTL_OK)
		r = search.found ? open_found(ret_target, &search, options, word)
				 : fail_to_find(&search, word);
	release_search(&search);
	return r;
}

void target_release(struct target *target)
{
	pathprof_function_paths_free(target->paths);
	if (target->paths)
		pathprof_flow_release(&target->flow);
	pathprof_graph_free(target->graph);
	if (target->counted)
		pathprof_code_free(target->code);
	pathprof_counted_free(target->counted);
	free(target->binary_name);
	free(target->name);
	free(target->linkage);
	*target = (struct target){0};
}

/* ---------------------------------------------------------------- asking it */

uint32_t target_function_at(const struct target *target, uint64_t offset)
{
	uint32_t block = pathprof_graph_block_at(target->graph, offset);

	return block == PATHPROF_GRAPH_NONE ? block : target->graph->blocks[block].function;
}

void target_filter(const struct target *target, struct pathprof_filter *filter,
		   char hex[static PATHPROF_BUILD_ID_TEXT_LEN])
{
	filter->binary = pathprof_build_id_text(&target->id, hex);
	filter->limit = 0;
}

int target_number(const struct target *target, uint64_t start, uint32_t length, uint32_t outcomes,
		  uint64_t *ret_number)
{
	uint32_t part_length;
	uint64_t next;
	int r = -ENOENT;

	if (target->counted) {
		*ret_number = pathprof_counted_number_of(start);
		return 0;
	}
	if (target_function_at(target, start) == target->function)
		r = pathprof_function_paths_split_descriptor(target->paths, target->graph, start,
							     length, outcomes, ret_number,
							     &part_length, &next);
	return r < 0 ? -ENOENT : r;
}
