// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * BOLT's fdata, read by `llvm-bolt --data`: a branch or a fall-through a line,
 *
 *     1 FROM-FUNCTION OFFSET 1 TO-FUNCTION OFFSET MISPREDICTS COUNT
 *
 * with `0 [unknown] 0` in place of an end that is in no function; a line has one such end at most.
 * Local functions have a number behind their name, as BOLT names them: the first of that name /1.
 * Returns are left out, as perf2bolt does.
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

/* Is it in anything with a name? */
static bool is_named(const struct pp_export *x, uint64_t offset)
{
	const char *name = NULL;
	uint64_t start;

	if (offset == PATHPROF_OUTSIDE)
		return false;
	return pp_stub_at(x->graph, offset) ||
	       (!pathprof_code_function(x->code, offset, &name, &start) && name);
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

static int by_offset(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* Asks for the names of all places at once: the file may be read by another process. */
static int ask_ahead(const struct pp_export *x, const struct pp_fall *falls, uint32_t fall_cnt)
{
	const struct pathprof_branch_profile *p = x->profile;
	uint64_t *offsets = calloc(2 * ((size_t)p->branch_cnt + fall_cnt) + 1, sizeof(*offsets));
	size_t cnt = 0, kept = 0;
	int rc;

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
	rc = pathprof_code_functions_ahead(x->code, offsets, kept);
	free(offsets);
	return rc;
}

static void put_all(const struct writing *w, const struct pp_fall *falls, uint32_t fall_cnt)
{
	const struct pp_export *x = w->x;

	for (uint32_t i = 0; i < x->profile->branch_cnt; i++) {
		const struct pathprof_branch_count *b = &x->profile->branches[i];

		if (b->count && !pp_is_return(x->graph, b->from))
			put(w, b->from, b->to, b->mispredicted, b->count);
	}
	for (uint32_t i = 0; i < fall_cnt; i++)
		put(w, falls[i].from, falls[i].to, 0, falls[i].count);
}

int pp_write_bolt_fdata(const struct pp_export *x)
{
	struct writing w = {.x = x};
	struct pp_fall *falls = NULL;
	uint32_t fall_cnt = 0;
	int rc = pp_falls_find(x->profile, x->graph, &falls, &fall_cnt);

	if (!rc)
		rc = ask_ahead(x, falls, fall_cnt);
	if (!rc)
		rc = pp_bolt_names_init(&w.names, x->code);
	if (!rc)
		put_all(&w, falls, fall_cnt);
	pp_bolt_names_release(&w.names);
	free(falls);
	return rc ? pathprof_fail(x->error, rc, "bolt-fdata: %s", strerror(-rc)) : 0;
}
