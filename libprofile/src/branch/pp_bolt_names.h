/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The names that BOLT gives to functions of one binary: those of its symbols, but local ones have a
 * number behind them, by address among those of the same name: hot/1, hot/2. A stub of the linker
 * is called CALLEE@PLT. The writer and the reader of fdata both use these names.
 *
 * Workload: made once a profile, out of up to 10^6 symbols; looked up by bisection, 10^5 times.
 * Ownership: symbols are the code's, which must outlive this. Locking: none.
 *
 * Source: discoverFileObjects() in bolt/lib/Rewrite/RewriteInstance.cpp.
 */
#ifndef PP_BOLT_NAMES_H
#define PP_BOLT_NAMES_H

#include "../code/pp_code.h"
#include "pathprof/graph.h"

struct pp_bolt_names {
	const struct pp_symbol *symbols; /* by start */
	size_t cnt;
	uint32_t *by_name; /* symbols' indices, by name, then by start */
	uint32_t *numbers; /* of symbols; 0: not local */
};

/* -ENOMEM */
int pp_bolt_names_init(struct pp_bolt_names *names, struct pathprof_code *code);
/* names may be all zero. */
void pp_bolt_names_release(struct pp_bolt_names *names);

/* The best symbol that starts at vaddr; NULL: none. */
const struct pp_symbol *pp_bolt_names_at(const struct pp_bolt_names *names, uint64_t vaddr);
static inline uint32_t pp_bolt_names_number(const struct pp_bolt_names *names,
					    const struct pp_symbol *symbol)
{
	return names->numbers[symbol - names->symbols];
}
/*
 * The symbol of NAME, NAME/NUMBER or NAME/FILE/NUMBER. The last form is understood where the binary
 * has one function of that name. NULL: none.
 */
const struct pp_symbol *pp_bolt_names_find(const struct pp_bolt_names *names, const char *name);

/* Whether offset lies in a stub of the linker, with a name or without. */
bool pp_is_stub(const struct pathprof_graph *graph, uint64_t offset);
/* The stub's function when offset lies in one that has a name; NULL. */
const struct pathprof_graph_function *pp_stub_at(const struct pathprof_graph *graph,
						 uint64_t offset);
/* The stub called "CALLEE@PLT"; NULL: none. */
const struct pathprof_graph_function *pp_stub_named(const struct pathprof_graph *graph,
						    const char *name);

#endif
