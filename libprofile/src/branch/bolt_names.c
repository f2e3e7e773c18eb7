// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Names of functions as BOLT has them; see pp_bolt_names.h. */
#include "pp_bolt_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

#define PLT "@PLT"

/* ---------------------------------------------------------------- symbols */

static int by_name(const void *a, const void *b, void *context)
{
	const struct pp_symbol *symbols = context;
	const struct pp_symbol *left = &symbols[*(const uint32_t *)a];
	const struct pp_symbol *right = &symbols[*(const uint32_t *)b];
	int c = strcmp(left->name, right->name);

	return c ? c : left->start < right->start ? -1 : left->start > right->start;
}

/* Local symbols of one name are numbered by address; what starts together is one. */
static void number_locals(struct pp_bolt_names *names)
{
	const struct pp_symbol *before = NULL;
	uint32_t number = 0;

	for (size_t i = 0; i < names->cnt; i++) {
		const struct pp_symbol *s = &names->symbols[names->by_name[i]];

		if (s->rank)
			continue;
		if (!before || strcmp(before->name, s->name) != 0)
			number = 1;
		else
			number += before->start != s->start;
		names->numbers[names->by_name[i]] = number;
		before = s;
	}
}

int pp_bolt_names_init(struct pp_bolt_names *names, struct pathprof_code *code)
{
	names->cnt = pp_symbols_all(code, &names->symbols);
	names->by_name = calloc(names->cnt + 1, sizeof(*names->by_name));
	names->numbers = calloc(names->cnt + 1, sizeof(*names->numbers));
	if (!names->by_name || !names->numbers) {
		pp_bolt_names_release(names);
		return -ENOMEM;
	}
	for (size_t i = 0; i < names->cnt; i++)
		names->by_name[i] = (uint32_t)i;
	if (names->cnt)
		qsort_r(names->by_name, names->cnt, sizeof(*names->by_name), by_name,
			(void *)names->symbols);
	number_locals(names);
	return 0;
}

void pp_bolt_names_release(struct pp_bolt_names *names)
{
	free(names->by_name);
	free(names->numbers);
	*names = (struct pp_bolt_names){0};
}

/* The last symbol that begins at vaddr is the best one. */
const struct pp_symbol *pp_bolt_names_at(const struct pp_bolt_names *names, uint64_t vaddr)
{
	size_t low = pp_first(i, 0, names->cnt, names->symbols[i].start > vaddr);

	return low && names->symbols[low - 1].start == vaddr ? &names->symbols[low - 1] : NULL;
}

static const struct pp_symbol *named(const struct pp_bolt_names *names, size_t i)
{
	return &names->symbols[names->by_name[i]];
}

/* Compares a symbol's name to the first len characters of name. */
static int compare(const char *symbol, const char *name, size_t len)
{
	int c = strncmp(symbol, name, len);

	return c ? c : symbol[len] != '\0';
}

static size_t first_of(const struct pp_bolt_names *names, const char *name, size_t len)
{
	return pp_first(i, 0, names->cnt, compare(named(names, i)->name, name, len) >= 0);
}

static bool is_called(const struct pp_bolt_names *names, size_t i, const char *name, size_t len)
{
	return i < names->cnt && !compare(named(names, i)->name, name, len);
}

static const struct pp_symbol *find_exact(const struct pp_bolt_names *names, const char *name)
{
	const struct pp_symbol *best = NULL;
	size_t len = strlen(name);

	for (size_t i = first_of(names, name, len); is_called(names, i, name, len); i++)
		if (!best || named(names, i)->rank > best->rank)
			best = named(names, i);
	return best;
}

/* Number 0 stands for the only one. */
static const struct pp_symbol *find_local(const struct pp_bolt_names *names, const char *name,
					  size_t len, uint32_t number)
{
	const struct pp_symbol *found = NULL;

	for (size_t i = first_of(names, name, len); is_called(names, i, name, len); i++) {
		uint32_t own = names->numbers[names->by_name[i]];

		if (!number && own > 1)
			return NULL;
		if (own && (own == number || !number))
			found = named(names, i);
	}
	return found;
}

const struct pp_symbol *pp_bolt_names_find(const struct pp_bolt_names *names, const char *name)
{
	const struct pp_symbol *found = find_exact(names, name);
	const char *first = strchr(name, '/'), *last = strrchr(name, '/');
	char *end;
	unsigned long number;

	if (found || !last)
		return found;
	number = strtoul(last + 1, &end, 10);
	if (end == last + 1 || *end || !number || number > UINT32_MAX)
		return NULL;
	found = find_local(names, name, (size_t)(last - name), (uint32_t)number);
	return found || first == last ? found : find_local(names, name, (size_t)(first - name), 0);
}

/* ---------------------------------------------------------------- stubs */

static bool is_named_stub(const struct pathprof_graph *g, const struct pathprof_graph_function *f)
{
	return (f->flags & PATHPROF_FUNCTION_PLT) && strchr(g->names + f->name, '@');
}

bool pp_is_stub(const struct pathprof_graph *graph, uint64_t offset)
{
	uint32_t b = pathprof_graph_block_at(graph, offset);

	return b != PATHPROF_GRAPH_NONE &&
	       (graph->functions[graph->blocks[b].function].flags & PATHPROF_FUNCTION_PLT);
}

const struct pathprof_graph_function *pp_stub_at(const struct pathprof_graph *graph,
						 uint64_t offset)
{
	uint32_t b = pathprof_graph_block_at(graph, offset);
	const struct pathprof_graph_function *f;

	if (b == PATHPROF_GRAPH_NONE)
		return NULL;
	f = &graph->functions[graph->blocks[b].function];
	return is_named_stub(graph, f) ? f : NULL;
}

const struct pathprof_graph_function *pp_stub_named(const struct pathprof_graph *graph,
						    const char *name)
{
	size_t len = strlen(name), callee_len = len - strlen(PLT);

	if (len <= strlen(PLT) || strcmp(name + callee_len, PLT) != 0)
		return NULL;
	for (uint32_t i = 0; i < graph->function_cnt; i++) {
		const struct pathprof_graph_function *f = &graph->functions[i];
		const char *own = graph->names + f->name;

		if (is_named_stub(graph, f) && strcspn(own, "@") == callee_len &&
		    !memcmp(own, name, callee_len))
			return f;
	}
	return NULL;
}
