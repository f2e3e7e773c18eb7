// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * BOLT's fdata, read by `llvm-bolt --data`: a branch or a fall-through a line,
 *
 *     1 FROM-FUNCTION OFFSET 1 TO-FUNCTION OFFSET MISPREDICTS COUNT
 *
 * with `0 [unknown] 0` in place of an end that is in no function; a line has one such end at most:
 * branches with two are left out and counted, as those of a library with its dynamic symbols alone.
 * Local functions have a number behind their name, as BOLT names them: the first of that name /1.
 * Returns are left out, as perf2bolt does.
 *
 * BOLT reads the symbol table alone. Of a binary without one it takes no name out of dynamic
 * symbols or a debug file, so these lines are for the build before it was stripped.
 *
 * Functions without a symbol have no lines. A profile of such functions alone, as of a stripped
 * program, is refused: perf2bolt --allow-stripped makes names for them out of .eh_frame.
 *
 * The reader takes no other lines, so the profile's origin is not written.
 *
 * Source: LLVM, bolt/include/bolt/Profile/DataReader.h.
 */
#include "pp_export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../branch/pp_bolt_names.h"
#include "../branch/pp_falls.h"
#include "../code/pp_code_apart.h"

struct writing {
	const struct pp_export *x;
	struct pp_bolt_names names;
};

static void put_name(FILE *file, const char *name)
{
	for (; *name; name++) {
		if (*name == ' ' || *name == '\\')
			fputc('\\', file);
		fputc(*name, file);
	}
}

/* BOLT's callee@PLT. */
static bool put_stub(const struct pp_export *x, uint64_t offset)
{
	const struct pathprof_graph *g = x->graph;
	const struct pathprof_graph_function *f = pp_stub_at(g, offset);
	const char *name = f ? g->names + f->name : NULL;

	if (!f)
		return false;
	fprintf(x->file, "1 %.*s@PLT %" PRIx64 " ", (int)strcspn(name, "@"), name,
		offset - g->parts[f->first_part].start);
	return true;
}

static bool has_symbol(const struct pp_export *x, uint64_t offset)
{
	const char *name = NULL;
	uint64_t start;

	return !pathprof_code_function(x->code, offset, &name, &start) && name;
}

/* Is it in anything with a name? */
static bool is_named(const struct pp_export *x, uint64_t offset)
{
	return offset != PATHPROF_OUTSIDE &&
	       (pp_stub_at(x->graph, offset) || has_symbol(x, offset));
}

static void put_place(const struct writing *w, uint64_t offset)
{
	FILE *file = w->x->file;
	const struct pp_symbol *symbol = NULL;
	const char *name = NULL;
	uint64_t start, vaddr;
	uint32_t number;

	if (offset != PATHPROF_OUTSIDE && put_stub(w->x, offset))
		return;
	if (offset == PATHPROF_OUTSIDE ||
	    pathprof_code_function(w->x->code, offset, &name, &start) || !name) {
		fputs("0 [unknown] 0 ", file);
		return;
	}
	if (!pathprof_code_offset_to_vaddr(w->x->code, start, &vaddr))
		symbol = pp_bolt_names_at(&w->names, vaddr);
	number = symbol ? pp_bolt_names_number(&w->names, symbol) : 0;
	fputs("1 ", file);
	put_name(file, name);
	if (number)
		fprintf(file, "/%" PRIu32, number);
	fprintf(file, " %" PRIx64 " ", offset - start);
}

static void put(const struct writing *w, uint64_t from, uint64_t to, uint64_t mispredicted,
		uint64_t count)
{
	if (!is_named(w->x, from) && !is_named(w->x, to))
		return;
	put_place(w, from);
	put_place(w, to);
	fprintf(w->x->file, "%" PRIu64 " %" PRIu64 "\n", mispredicted, count);
}

/* An end that lies in the binary and has no name there. BOLT has none for the linker's first stub.
 */
static bool is_lost(const struct pp_export *x, uint64_t offset, bool named)
{
	return offset != PATHPROF_OUTSIDE && !named && !pp_is_stub(x->graph, offset);
}

static void count_names(const struct pp_export *x, const struct pathprof_branch_count *b)
{
	struct pathprof_export_names *names = x->options.names;
	bool from = is_named(x, b->from), to = is_named(x, b->to);

	names->branches = pp_count_sum(names->branches, b->count);
	if (!is_lost(x, b->from, from) && !is_lost(x, b->to, to))
		return;
	if (from || to)
		names->half = pp_count_sum(names->half, b->count);
	else
		names->nameless = pp_count_sum(names->nameless, b->count);
}

static void put_branch(const struct writing *w, const struct pathprof_branch_count *b)
{
	if (!b->count || pp_is_return(w->x->graph, b->from))
		return;
	if (w->x->options.names)
		count_names(w->x, b);
	put(w, b->from, b->to, b->mispredicted, b->count);
}

static int by_offset(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* The places of the profile in the binary: each once, by offset. -ENOMEM. */
static int find_places(const struct pp_export *x, const struct pp_fall *falls, uint32_t fall_cnt,
		       uint64_t **ret_offsets, size_t *ret_cnt)
{
	const struct pathprof_branch_profile *p = x->profile;
	uint64_t *offsets = calloc(2 * ((size_t)p->branch_cnt + fall_cnt) + 1, sizeof(*offsets));
	size_t cnt = 0, kept = 0;

	if (!offsets)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->branch_cnt; i++) {
		offsets[cnt++] = p->branches[i].from;
		offsets[cnt++] = p->branches[i].to;
	}
	for (uint32_t i = 0; i < fall_cnt; i++) {
		offsets[cnt++] = falls[i].from;
		offsets[cnt++] = falls[i].to;
	}
	qsort(offsets, cnt, sizeof(*offsets), by_offset);
	for (size_t i = 0; i < cnt && offsets[i] != PATHPROF_OUTSIDE; i++)
		if (!i || offsets[i] != offsets[i - 1])
			offsets[kept++] = offsets[i];
	*ret_offsets = offsets;
	*ret_cnt = kept;
	return 0;
}

/* llvm-bolt finds nothing in a file without a function's name; stubs have theirs from what they
 * call. */
static int check_symbols(const struct pp_export *x, const uint64_t *offsets, size_t cnt)
{
	bool nameless = false;
	int r;

	for (size_t i = 0; i < cnt; i++) {
		if (pp_stub_at(x->graph, offsets[i]))
			continue;
		if (has_symbol(x, offsets[i]))
			return 0;
		nameless = true;
	}
	if (!nameless)
		return 0;
	r = pp_apart_check(x->code, x->error);
	return r ? r
		 : pathprof_fail(x->error, -ENOENT,
				 "%s: no function that ran has a symbol, and bolt-fdata names "
				 "places by symbols: take the build before it was stripped, or "
				 "bolt-preagg and perf2bolt --allow-stripped",
				 x->code->path);
}

/* Asks for the names of all places at once: the file may be read by another process. */
static int prepare(struct writing *w, const uint64_t *offsets, size_t cnt)
{
	int r = pathprof_code_functions_ahead(w->x->code, offsets, cnt);

	return r ? r : pp_bolt_names_init(&w->names, w->x->code);
}

static void put_all(const struct writing *w, const struct pp_fall *falls, uint32_t fall_cnt)
{
	const struct pp_export *x = w->x;

	if (x->options.names)
		x->options.names->stripped = !x->code->layout.has_symbols;
	for (uint32_t i = 0; i < x->profile->branch_cnt; i++)
		put_branch(w, &x->profile->branches[i]);
	for (uint32_t i = 0; i < fall_cnt; i++)
		put(w, falls[i].from, falls[i].to, 0, falls[i].count);
}

int pp_write_bolt_fdata(const struct pp_export *x)
{
	struct writing w = {.x = x};
	struct pp_fall *falls = NULL;
	uint64_t *places = NULL;
	uint32_t fall_cnt = 0;
	size_t place_cnt = 0;
	int r = pp_falls_find(x->profile, x->graph, &falls, &fall_cnt);

	if (!r)
		r = find_places(x, falls, fall_cnt, &places, &place_cnt);
	if (!r)
		r = prepare(&w, places, place_cnt);
	if (r)
		pathprof_fail(x->error, r, "bolt-fdata: %s", strerror(-r));
	else
		r = check_symbols(x, places, place_cnt);
	if (!r)
		put_all(&w, falls, fall_cnt);
	pp_bolt_names_release(&w.names);
	free(places);
	free(falls);
	return r;
}
