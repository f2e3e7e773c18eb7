// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of generated code. Asked for when the window closes, not when an address first appears: a
 * compiler writes its symbol file some time after the code.
 *
 * Workload: mostly nothing to do, else a few thousand addresses in a few hundred functions, each
 * looked up by a search of some steps. They are sorted, so that a function is stored once, or once
 * more behind each that lies within it. A process without end of generated addresses takes only
 * what others leave.
 */
#include "window_jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Most addresses looked at in one window; the heavier ones are not preferred. */
#define PLACES_MAX 16384
#define BATCH      256
#define NAME_BYTES 512

struct place {
	uint32_t pid, binary;
	uint64_t address;
};

struct places {
	struct place *items; /* PLACES_MAX */
	size_t cnt;
	uint32_t *met;  /* by process: addresses met so far */
	uint32_t share; /* so many of a process are taken */
};

/* Symbols that are stored together: a transaction costs more than what it writes. */
struct batch {
	struct pathprof_jit_symbol symbols[BATCH], last; /* the last added, of any batch */
	char names[BATCH][NAME_BYTES];
	size_t cnt;
};

static void note(const struct pathprof_profile *profile, struct places *places, uint32_t process,
		 uint32_t binary, uint64_t address)
{
	if (process >= profile->process_cnt || binary >= profile->binary_cnt ||
	    profile->binaries[binary].id.kind != PATHPROF_ID_JIT ||
	    places->met[process]++ >= places->share || places->cnt == PLACES_MAX)
		return;
	places->items[places->cnt++] =
		(struct place){profile->processes[process].pid, binary, address};
}

static void walk(const struct pathprof_profile *profile, struct places *places)
{
	for (uint32_t i = 0; i < profile->path_cnt; i++) {
		const struct pathprof_path_count *path = &profile->paths[i];

		note(profile, places, path->process, path->binary, path->start);
	}
	for (uint32_t i = 0; i < profile->edge_cnt; i++) {
		const struct pathprof_edge_count *edge = &profile->edges[i];

		note(profile, places, edge->process, edge->from_binary, edge->from);
		note(profile, places, edge->process, edge->to_binary, edge->to);
	}
	for (uint32_t i = 0; i < profile->clock_cnt; i++) {
		const struct pathprof_clock_count *clock = &profile->clocks[i];

		note(profile, places, clock->process, clock->binary, clock->place);
	}
}

static bool fits(const uint32_t *met, uint32_t process_cnt, uint32_t share)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < process_cnt && cnt <= PLACES_MAX; i++)
		cnt += met[i] < share ? met[i] : share;
	return cnt <= PLACES_MAX;
}

/* The largest share for which the places of all processes fit, and at least 1. */
static uint32_t share_of(const uint32_t *met, uint32_t process_cnt)
{
	uint32_t share = 0;

	for (uint32_t step = PLACES_MAX; step; step /= 2)
		if (fits(met, process_cnt, share + step))
			share += step;
	return share ? share : 1;
}

/* Walks twice: first with a share of 0, which only counts, then to take the places. */
static void gather(const struct pathprof_profile *profile, struct places *places)
{
	walk(profile, places);
	places->share = share_of(places->met, profile->process_cnt);
	memset(places->met, 0, profile->process_cnt * sizeof(*places->met));
	walk(profile, places);
}

static int compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->binary != y->binary)
		return x->binary < y->binary ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static int has_jit(const struct pathprof_profile *profile)
{
	for (uint32_t i = 0; i < profile->binary_cnt; i++)
		if (profile->binaries[i].id.kind == PATHPROF_ID_JIT)
			return 1;
	return 0;
}

static int find_symbol(const struct pp_resolver *resolver, const struct pathprof_binary *code,
		       const struct place *place, char *name, size_t name_size, uint64_t *ret_start,
		       uint64_t *ret_len)
{
	if (pathprof_is_kernel(&code->id, code->name))
		return resolver->kernel_symbol(resolver->context, place->address, name, name_size,
					       ret_start, ret_len);
	return resolver->jit_symbol(resolver->context, (pid_t)place->pid, &code->id, place->address,
				    name, name_size, ret_start, ret_len);
}

static int store_batch(struct batch *batch, const struct pp_window_sink *sink,
		       struct pathprof_error *error)
{
	size_t cnt = batch->cnt;

	batch->cnt = 0;
	return cnt ? sink->add_jit_symbols(sink->context, batch->symbols, cnt, error) : 0;
}

/* False: the place has no symbol, or that of the place before. */
static bool add_symbol(struct batch *batch, const struct pathprof_binary *code,
		       const struct place *place, const struct pp_resolver *resolver)
{
	struct pathprof_jit_symbol *symbol = &batch->symbols[batch->cnt];
	const struct pathprof_jit_symbol *last = &batch->last;
	char *name = batch->names[batch->cnt];

	*symbol = (struct pathprof_jit_symbol){.id = &code->id, .name = name};
	if (find_symbol(resolver, code, place, name, NAME_BYTES, &symbol->start,
			&symbol->len_bytes) < 0 ||
	    (symbol->id == last->id && symbol->start == last->start))
		return false;
	batch->last = *symbol;
	batch->cnt++;
	return true;
}

static int store_symbols(const struct pathprof_profile *profile, const struct places *places,
			 const struct pp_resolver *resolver, const struct pp_window_sink *sink,
			 struct batch *batch, struct pathprof_error *error)
{
	int r = 0;

	for (size_t i = 0; i < places->cnt && r == 0; i++) {
		const struct place *place = &places->items[i];

		if (add_symbol(batch, &profile->binaries[place->binary], place, resolver) &&
		    batch->cnt == BATCH)
			r = store_batch(batch, sink, error);
	}
	return r ? r : store_batch(batch, sink, error);
}

int pp_window_store_jit(const struct pathprof_profile *profile, const struct pp_resolver *resolver,
			const struct pp_window_sink *sink, struct pathprof_error *error)
{
	struct places places = {0};
	struct batch *batch;
	int r;

	if (!has_jit(profile))
		return 0;
	places.items = calloc(PLACES_MAX, sizeof(*places.items));
	places.met = calloc(profile->process_cnt + 1ul, sizeof(*places.met));
	batch = calloc(1, sizeof(*batch));
	if (places.items && places.met && batch) {
		gather(profile, &places);
		qsort(places.items, places.cnt, sizeof(*places.items), compare);
		r = store_symbols(profile, &places, resolver, sink, batch, error);
	} else {
		r = pathprof_fail(error, -ENOMEM, "names of generated code: out of memory");
	}
	free(places.items);
	free(places.met);
	free(batch);
	return r;
}
