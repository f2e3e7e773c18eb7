// SPDX-License-Identifier: GPL-2.0-or-later
/* Call chains from the store: see callers.h. */
#include "callers.h"

#include <stdlib.h>

#include "../ctl.h"
#include "../text/cleanup.h"
#include "base/search.h"

struct loading {
	struct callers *callers;
	struct symbols *symbols;
	size_t room, count_room;
};

static int add_caller(void *context, const struct pathprof_caller_row *row)
{
	struct loading *loading = context;
	struct callers *callers = loading->callers;
	struct caller caller = {.id = row->id,
				.parent = row->parent,
				.binary_id = row->binary_id,
				.binary_name = ctl_strdup(row->binary_name)};

	if (row->binary_name[0])
		caller.symbol = symbols_function(loading->symbols, &caller.binary_id,
						 caller.binary_name, row->function);
	ctl_grow(&callers->list, callers->cnt, &loading->room);
	callers->list[callers->cnt++] = caller;
	return 0;
}

static int add_count(void *context, const struct pathprof_caller_count_row *row)
{
	struct loading *loading = context;
	struct callers *callers = loading->callers;

	ctl_grow(&callers->counts, callers->count_cnt, &loading->count_room);
	callers->counts[callers->count_cnt++] = (struct caller_count){
		.path = row->path,
		.caller = callers_find(callers, row->caller),
		.samples = row->samples,
		.weight = row->weight,
	};
	return 0;
}

int callers_load(struct callers **ret_callers, struct pathprof_store *store,
		 struct symbols *symbols, const struct pathprof_filter *filter,
		 struct pathprof_error *error)
{
	struct callers *callers = ctl_alloc(sizeof(*callers));
	struct loading loading = {.callers = callers, .symbols = symbols};
	int r;

	*callers = (struct callers){0};
	r = pathprof_store_callers(store, add_caller, &loading, error);
	if (r == 0)
		r = pathprof_store_caller_counts(store, filter, add_count, &loading, error);
	if (r < 0) {
		callers_free(callers);
		return r;
	}
	*ret_callers = callers;
	return 0;
}

void callers_free(struct callers *callers)
{
	if (!callers)
		return;
	for (size_t i = 0; i < callers->cnt; i++)
		free(callers->list[i].binary_name);
	free(callers->list);
	free(callers->counts);
	free(callers);
}

const struct caller *callers_find(const struct callers *callers, int64_t id)
{
	size_t i = pp_first(k, 0, callers->cnt, callers->list[k].id >= id);

	return i < callers->cnt && callers->list[i].id == id ? &callers->list[i] : NULL;
}

size_t callers_chain(const struct callers *callers, const struct caller *caller,
		     const struct caller *ret_chain[CALLERS_CHAIN_MAX])
{
	size_t cnt = 0;

	for (; caller && cnt < CALLERS_CHAIN_MAX; caller = callers_find(callers, caller->parent))
		ret_chain[cnt++] = caller;
	return cnt;
}

const char *caller_name(const struct caller *caller)
{
	return caller && caller->symbol ? caller->symbol->name : "[not known]";
}

const struct caller_count *callers_of_path(const struct callers *callers, int64_t path,
					   size_t *ret_cnt)
{
	size_t first = pp_first(k, 0, callers->count_cnt, callers->counts[k].path >= path);
	size_t end = pp_first(k, first, callers->count_cnt, callers->counts[k].path > path);

	*ret_cnt = end - first;
	return callers->counts + first;
}
