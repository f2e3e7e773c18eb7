// SPDX-License-Identifier: GPL-2.0-or-later
/* Call chains for exports: see export_callers.h. */
#include "export_callers.h"

#include <math.h>
#include <stdlib.h>

#include "../code/symbols.h"
#include "../ctl.h"
#include "../text/cleanup.h"
#include "../view/callers.h"

/* A chain is known by its innermost caller: chains[i] is that of callers->list[i]. */
struct export_callers {
	struct pathprof_export_callers out;
	const struct pathprof_build_id *id; /* while they are loaded */
	struct callers *callers;
	struct symbols *symbols;
	struct pathprof_export_chain *chains;
	struct pathprof_export_called *called;
	size_t called_cnt, called_room;
};

const char *export_symbol_name(const struct symbol *symbol)
{
	return symbol->known && symbol->linkage[0] ? symbol->linkage : symbol->name;
}

const char *export_caller_name(const struct caller *caller)
{
	return caller->symbol ? export_symbol_name(caller->symbol) : caller_name(caller);
}

static void make_chain(struct export_callers *e, const struct caller *caller)
{
	struct pathprof_export_chain *chain = &e->chains[caller - e->callers->list];
	const struct caller *frames[CALLERS_CHAIN_MAX];
	const char **names;
	uint32_t cnt;

	if (chain->name_cnt)
		return;
	cnt = (uint32_t)callers_chain(e->callers, caller, frames);
	names = ctl_alloc(cnt * sizeof(*names));
	for (uint32_t i = 0; i < cnt; i++)
		names[i] = export_caller_name(frames[cnt - 1 - i]);
	*chain = (struct pathprof_export_chain){names, cnt};
}

static void add_called(struct export_callers *e, uint64_t start, uint32_t chain, double weight)
{
	ctl_grow(&e->called, e->called_cnt, &e->called_room);
	e->called[e->called_cnt++] = (struct pathprof_export_called){start, chain, weight};
}

/* Splits a path's instructions by the call chain, with the rest under no known chain. */
static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct export_callers *e = context;
	double whole = row->insns > 0 ? row->insns : row->weight, left = 1;
	const struct caller_count *counts;
	size_t cnt;

	if (!pathprof_build_id_equal(&row->binary_id, e->id) || !(row->weight > 0))
		return 0;
	counts = callers_of_path(e->callers, row->id, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		double share = fmin(counts[i].weight / row->weight, left);

		if (!counts[i].caller)
			continue;
		make_chain(e, counts[i].caller);
		add_called(e, row->start, (uint32_t)(counts[i].caller - e->callers->list),
			   whole * share);
		left -= share;
	}
	add_called(e, row->start, PATHPROF_NO_CHAIN, left > 1e-9 ? whole * left : 0);
	return 0;
}

static int load(struct export_callers *e, struct pathprof_store *store,
		const struct pathprof_filter *filter, struct pathprof_error *error)
{
	struct pathprof_filter all = *filter;
	int r;

	all.limit = 0;
	e->symbols = symbols_new(store);
	r = callers_load(&e->callers, store, e->symbols, &all, error);
	if (r < 0)
		return r;
	e->chains = ctl_alloc((e->callers->cnt + 1) * sizeof(*e->chains));
	for (size_t i = 0; i < e->callers->cnt; i++)
		e->chains[i] = (struct pathprof_export_chain){NULL, 0};
	r = pathprof_store_paths(store, &all, take_path, e, error);
	e->out = (struct pathprof_export_callers){e->chains, e->callers->cnt, e->called,
						  e->called_cnt};
	return r;
}

int export_callers_load(struct export_callers **ret_callers, struct pathprof_store *store,
			const struct pathprof_filter *filter, const struct pathprof_build_id *id,
			struct pathprof_error *error)
{
	struct export_callers *e = ctl_alloc(sizeof(*e));
	int r;

	*e = (struct export_callers){.id = id};
	r = load(e, store, filter, error);
	if (r < 0) {
		export_callers_free(e);
		return r;
	}
	*ret_callers = e;
	return 0;
}

void export_callers_free(struct export_callers *callers)
{
	if (!callers)
		return;
	for (size_t i = 0; callers->chains && i < callers->callers->cnt; i++)
		free((void *)callers->chains[i].names);
	free(callers->chains);
	free(callers->called);
	callers_free(callers->callers);
	symbols_free(callers->symbols);
	free(callers);
}

const struct pathprof_export_callers *export_callers_of(const struct export_callers *callers)
{
	return callers ? &callers->out : NULL;
}
