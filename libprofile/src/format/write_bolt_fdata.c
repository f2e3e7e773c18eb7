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

#include "base/search.h"
#include "../code/pp_code.h"
#include "pp_falls.h"

struct names {
	const struct pp_export *x;
	const struct pp_symbol *symbols;
	size_t symbol_cnt;
	uint32_t *numbers;
};

static void put_name(FILE *file, const char *name)
{
	for (; *name; name++) {
		if (*name == ' ' || *name == '\\')
			fputc('\\', file);
		fputc(*name, file);
	}
}

static int by_name(const void *a, const void *b, void *context)
{
	const struct pp_symbol *symbols = context;
	const struct pp_symbol *left = &symbols[*(const uint32_t *)a];
	const struct pp_symbol *right = &symbols[*(const uint32_t *)b];
	int c = strcmp(left->name, right->name);

	return c ? c : left->start < right->start ? -1 : left->start > right->start;
}

/* By symbol: its number, by address, among local symbols of the same name; 0: it is not local. */
static int number_locals(struct names *names)
{
	size_t cnt = 0;
	uint32_t *locals;

	names->symbol_cnt = pp_symbols_all(names->x->code, &names->symbols);
	names->numbers = calloc(names->symbol_cnt + 1, sizeof(*names->numbers));
	locals = calloc(names->symbol_cnt + 1, sizeof(*locals));
	if (!names->numbers || !locals) {
		free(locals);
		return -ENOMEM;
	}
	for (size_t i = 0; i < names->symbol_cnt; i++)
		if (!names->symbols[i].rank)
			locals[cnt++] = (uint32_t)i;
	if (cnt)
		qsort_r(locals, cnt, sizeof(*locals), by_name, (void *)names->symbols);
	for (size_t i = 0; i < cnt; i++) {
		const struct pp_symbol *s = &names->symbols[locals[i]];
		const struct pp_symbol *before = i ? &names->symbols[locals[i - 1]] : NULL;

		names->numbers[locals[i]] = 1;
		if (before && !strcmp(before->name, s->name))
			names->numbers[locals[i]] =
				names->numbers[locals[i - 1]] + (before->start != s->start);
	}
	free(locals);
	return 0;
}

/* The last symbol that begins at vaddr is the best one. */
static const struct pp_symbol *symbol_at(const struct names *names, uint64_t vaddr)
{
	size_t low = pp_first(i, 0, names->symbol_cnt, names->symbols[i].start > vaddr);

	return low && names->symbols[low - 1].start == vaddr ? &names->symbols[low - 1] : NULL;
}

/* The linker's stub for a function that lies there; NULL: none. */
static const struct pathprof_graph_function *stub_at(const struct names *names, uint64_t offset)
{
	const struct pathprof_graph *g = names->x->graph;
	uint32_t b = pathprof_graph_block_at(g, offset);
	const struct pathprof_graph_function *f;

	if (b == PATHPROF_GRAPH_NONE)
		return NULL;
	f = &g->functions[g->blocks[b].function];
	return (f->flags & PATHPROF_FUNCTION_PLT) && strchr(g->names + f->name, '@') ? f : NULL;
}

/* BOLT's callee@PLT. */
static bool put_stub(const struct names *names, uint64_t offset)
{
	const struct pathprof_graph *g = names->x->graph;
	const struct pathprof_graph_function *f = stub_at(names, offset);
	const char *name = f ? g->names + f->name : NULL;

	if (!f)
		return false;
	fprintf(names->x->file, "1 %.*s@PLT %" PRIx64 " ", (int)strcspn(name, "@"), name,
		offset - g->parts[f->first_part].start);
	return true;
}

/* Is it in anything with a name? */
static bool is_named(const struct names *names, uint64_t offset)
{
	const char *name = NULL;
	uint64_t start;

	if (offset == PATHPROF_OUTSIDE)
		return false;
	return stub_at(names, offset) ||
	       (!pathprof_code_function(names->x->code, offset, &name, &start) && name);
}

static void put_place(const struct names *names, uint64_t offset)
{
	FILE *file = names->x->file;
	const struct pp_symbol *symbol = NULL;
	const char *name = NULL;
	uint64_t start, vaddr;

	if (offset != PATHPROF_OUTSIDE && put_stub(names, offset))
		return;

	if (offset == PATHPROF_OUTSIDE ||
	    pathprof_code_function(names->x->code, offset, &name, &start) || !name) {
		fputs("0 [unknown] 0 ", file);
		return;
	}
	if (!pathprof_code_offset_to_vaddr(names->x->code, start, &vaddr))
		symbol = symbol_at(names, vaddr);
	fputs("1 ", file);
	put_name(file, name);
	if (symbol && names->numbers[symbol - names->symbols])
		fprintf(file, "/%" PRIu32, names->numbers[symbol - names->symbols]);
	fprintf(file, " %" PRIx64 " ", offset - start);
}

static void put(const struct names *names, uint64_t from, uint64_t to, uint64_t mispredicted,
		uint64_t count)
{
	put_place(names, from);
	put_place(names, to);
	fprintf(names->x->file, "%" PRIu64 " %" PRIu64 "\n", mispredicted, count);
}

static void put_all(const struct names *names, const struct pp_fall *falls, uint32_t fall_cnt)
{
	const struct pathprof_branch_profile *p = names->x->profile;

	for (uint32_t i = 0; i < p->branch_cnt; i++)
		if (p->branches[i].count && !pp_is_return(names->x->graph, p->branches[i].from) &&
		    (is_named(names, p->branches[i].from) || is_named(names, p->branches[i].to)))
			put(names, p->branches[i].from, p->branches[i].to,
			    p->branches[i].mispredicted, p->branches[i].count);
	for (uint32_t i = 0; i < fall_cnt; i++)
		put(names, falls[i].from, falls[i].to, 0, falls[i].count);
}

int pp_write_bolt_fdata(const struct pp_export *x)
{
	struct names names = {.x = x};
	struct pp_fall *falls = NULL;
	uint32_t fall_cnt = 0;
	int rc = pp_falls_find(x->profile, x->graph, &falls, &fall_cnt);

	if (!rc)
		rc = number_locals(&names);
	if (!rc)
		put_all(&names, falls, fall_cnt);
	free(names.numbers);
	free(falls);
	return rc ? pathprof_fail(x->error, rc, "bolt-fdata: %s", strerror(-rc)) : 0;
}
