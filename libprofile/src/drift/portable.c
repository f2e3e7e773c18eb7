// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Paths by names that outlive their build: see portable.h. */
#include "pathprof/portable.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"
#include "pathprof/events.h"

struct pathprof_portable *pathprof_portable_new(const struct pathprof_build_id *id)
{
	struct pathprof_portable *portable = calloc(1, sizeof(*portable));

	if (!portable)
		return NULL;
	portable->id = *id;
	portable->group = pathprof_event_group(id);
	portable->ref_cnt = 1;
	return portable;
}

struct pathprof_portable *pathprof_portable_ref(struct pathprof_portable *portable)
{
	portable->ref_cnt++;
	return portable;
}

void pathprof_portable_unref(struct pathprof_portable *portable)
{
	if (!portable || --portable->ref_cnt)
		return;
	free(portable->paths);
	free(portable->functions);
	free(portable);
}

size_t pathprof_portable_bytes(const struct pathprof_portable *portable)
{
	return portable->path_room * sizeof(*portable->paths) +
	       portable->function_cnt * sizeof(*portable->functions);
}

/* ---------------------------------------------------------------- what is known */

static int by_key(const void *a, const void *b)
{
	const struct pathprof_portable_path *x = a, *y = b;

	return (x->key_lo > y->key_lo) - (x->key_lo < y->key_lo);
}

/* Sorts paths by key, and keeps the first of equal keys. */
static void sort_paths(struct pathprof_portable *portable)
{
	size_t kept = 0;

	if (portable->path_cnt)
		qsort(portable->paths, portable->path_cnt, sizeof(*portable->paths), by_key);
	for (size_t i = 0; i < portable->path_cnt; i++)
		if (!kept || portable->paths[kept - 1].key_lo != portable->paths[i].key_lo)
			portable->paths[kept++] = portable->paths[i];
	portable->path_cnt = kept;
}

int pathprof_portable_add(struct pathprof_portable *portable,
			  const struct pathprof_portable_path *paths, size_t cnt)
{
	size_t known_cnt = portable->path_cnt;
	int r = pp_reserve(&portable->paths, known_cnt + cnt, &portable->path_room);

	if (r < 0)
		return r;
	for (size_t i = 0; i < cnt; i++) {
		const struct pathprof_portable_path *known =
			known_cnt ? bsearch(&paths[i], portable->paths, known_cnt, sizeof(*paths),
					    by_key)
				  : NULL;

		if (!known)
			portable->paths[portable->path_cnt++] = paths[i];
	}
	sort_paths(portable);
	return 0;
}

void pathprof_portable_set_functions(struct pathprof_portable *portable, uint64_t *keys, size_t cnt)
{
	free(portable->functions);
	portable->functions = keys;
	portable->function_cnt = cnt;
}

/* ---------------------------------------------------------------- out of the store */

static int take_row(void *context, const struct pathprof_portable_row *row)
{
	struct pathprof_portable *portable = context;
	struct pathprof_event event;
	int r = pp_grow(&portable->paths, portable->path_cnt, &portable->path_room);

	if (r < 0)
		return r;
	pathprof_event_of_path(&event, portable->group, row->start, row->length, row->outcomes, 0);
	portable->paths[portable->path_cnt++] = (struct pathprof_portable_path){
		.key_lo = event.key_lo, .function = row->function, .place = row->place};
	return 0;
}

int pathprof_portable_load(struct pathprof_portable *portable, struct pathprof_store *store,
			   struct pathprof_error *error)
{
	uint64_t *keys = NULL;
	size_t cnt = 0;
	int r = pathprof_store_portable(store, &portable->id, take_row, portable, error);

	sort_paths(portable);
	if (r < 0)
		return r;
	r = pathprof_store_function_keys(store, &portable->id, &keys, &cnt, error);
	if (r == 0)
		pathprof_portable_set_functions(portable, keys, cnt);
	return r == -ENOENT ? 0 : r;
}

/* ---------------------------------------------------------------- asking */

const struct pathprof_portable_path *
pathprof_portable_find(const struct pathprof_portable *portable, uint64_t key_lo)
{
	const struct pathprof_portable_path wanted = {.key_lo = key_lo};

	return portable->path_cnt ? bsearch(&wanted, portable->paths, portable->path_cnt,
					    sizeof(wanted), by_key)
				  : NULL;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool has_function(const struct pathprof_portable *portable, uint64_t function)
{
	return portable->function_cnt &&
	       bsearch(&function, portable->functions, portable->function_cnt, sizeof(function),
		       by_value);
}

double pathprof_portable_unnamed(const struct pathprof_portable *portable,
				 const struct pathprof_tally *counts)
{
	double weight = 0;

	for (size_t i = 0; i < counts->cnt; i++)
		if (!pathprof_portable_find(portable, counts->events[i].key_lo))
			weight += counts->events[i].weight;
	return weight;
}

/* ---------------------------------------------------------------- two builds */

/* One side: its named paths in functions of the other, and what the rest weighs. */
struct side {
	struct pathprof_event *events; /* by portable names, and room for one more */
	size_t cnt;
	double total, matched; /* weights */
	struct pathprof_event unnamed;
};

static int rename_paths(struct side *side, const struct pathprof_tally *counts,
			const struct pathprof_portable *own, const struct pathprof_portable *other)
{
	side->events = malloc((counts->cnt + 1) * sizeof(*side->events));
	if (!side->events)
		return -ENOMEM;
	for (size_t i = 0; i < counts->cnt; i++) {
		const struct pathprof_event *event = &counts->events[i];
		const struct pathprof_portable_path *path =
			pathprof_portable_find(own, event->key_lo);

		side->total += event->weight;
		if (!path)
			pathprof_event_add(&side->unnamed, event);
		if (!path || !path->function || !has_function(other, path->function))
			continue;
		side->events[side->cnt] = *event;
		side->events[side->cnt].key_hi = path->function;
		side->events[side->cnt++].key_lo = path->place;
		side->matched += event->weight;
	}
	/* sums of samples: neither order nor weights can be wrong */
	return pathprof_events_sort(side->events, &side->cnt);
}

static bool has_event(const struct side *side, const struct pathprof_event *event)
{
	size_t at = pp_first(i, 0, side->cnt, pathprof_event_order(&side->events[i], event) >= 0);

	return at < side->cnt && pathprof_event_order(&side->events[at], event) == 0;
}

/* The share of a side's matched weight in events that the other side does not have. */
static double missing_share(const struct side *side, const struct side *other)
{
	double missing = 0;

	for (size_t i = 0; i < side->cnt; i++)
		if (!has_event(other, &side->events[i]))
			missing += side->events[i].weight;
	return side->matched > 0 ? missing / side->matched : 0;
}

/*
 * The paths without a name yet that may be those which the other side has and this one lacks, a
 * share `missing` of it. Names come for some functions first, so how many of the named paths match
 * says nothing of those without a name.
 */
static struct pathprof_event unnamed_matched(const struct side *side, double missing)
{
	struct pathprof_event unnamed = side->unnamed;
	double weight = missing < 1 ? floor(side->matched * missing / (1 - missing)) : INFINITY;

	if (side->matched <= 0)
		weight = 0;
	if (weight > unnamed.weight)
		weight = unnamed.weight;
	if (unnamed.weight > 0)
		unnamed.squares *= weight / unnamed.weight;
	unnamed.weight = weight;
	return unnamed;
}

/*
 * Moves events that the other side does not have from side to *to, up to a share: the other side's
 * unnamed events, of that share, may be the same ones. This assumes the least possible drift; an
 * event that is new after all shows as soon as it is named.
 */
static void give_up(struct side *side, const struct side *other, double share,
		    struct pathprof_event *to)
{
	double wanted = share * side->matched, given = 0;
	size_t kept = 0;

	for (size_t i = 0; i < side->cnt; i++) {
		const struct pathprof_event *event = &side->events[i];

		if (given < wanted && !has_event(other, event)) {
			given += event->weight;
			pathprof_event_add(to, event);
		} else {
			side->events[kept++] = *event;
		}
	}
	side->cnt = kept;
}

static void add_unnamed(struct side *side, struct pathprof_event unnamed)
{
	unnamed.key_hi = PATHPROF_PORTABLE_UNNAMED_HI;
	unnamed.key_lo = PATHPROF_PORTABLE_UNNAMED_LO;
	if (unnamed.weight > 0)
		side->events[side->cnt++] = unnamed;
}

static double share_of(const struct pathprof_event *part, double rest)
{
	return part->weight > 0 ? part->weight / (part->weight + rest) : 0;
}

/* Each side gives up only what the other one lacks, so which is first does not matter. */
static void pair(struct side *window, struct side *base)
{
	struct pathprof_event of_window = unnamed_matched(window, missing_share(base, window));
	struct pathprof_event of_base = unnamed_matched(base, missing_share(window, base));
	double window_share = share_of(&of_window, window->matched);
	double base_share = share_of(&of_base, base->matched);

	give_up(window, base, base_share, &of_window);
	give_up(base, window, window_share, &of_base);
	add_unnamed(window, of_window);
	add_unnamed(base, of_base);
}

int pathprof_portable_pair(struct pathprof_portable_pair *ret_pair,
			   const struct pathprof_tally *window,
			   const struct pathprof_portable *of_window,
			   const struct pathprof_tally *base,
			   const struct pathprof_portable *of_base)
{
	struct side now = {.cnt = 0}, then = {.cnt = 0};
	struct pathprof_portable_pair made = {.matched = 0};
	int r = of_window->functions && of_base->functions ? 0 : -ENODATA;

	if (r == 0)
		r = rename_paths(&now, window, of_window, of_base);
	if (r == 0)
		r = rename_paths(&then, base, of_base, of_window);
	if (r == 0) {
		made.matched = now.total > 0 ? now.matched / now.total : 0;
		pair(&now, &then);
		r = pathprof_tally_add(&made.window, now.events, now.cnt);
	}
	if (r == 0)
		r = pathprof_tally_add(&made.base, then.events, then.cnt);
	free(now.events);
	free(then.events);
	if (r < 0)
		pathprof_portable_pair_release(&made);
	else
		*ret_pair = made;
	return r;
}

void pathprof_portable_pair_release(struct pathprof_portable_pair *pair)
{
	pathprof_tally_release(&pair->window);
	pathprof_tally_release(&pair->base);
	*pair = (struct pathprof_portable_pair){.matched = 0};
}
