// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Functions in which two distributions of paths differ most: see fleet.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"
#include "pathprof/events.h"
#include "pp_fleet.h"

#define SHARE_MIN 0.01 /* a function whose share moved less is not worth a word */

static void set_name(char *name, size_t size, const char *text)
{
	if (!*name && text && *text)
		snprintf(name, size, "%s", text);
}

/* ---------------------------------------------------------------- a term for each function */

/* By function; of one function the path that moved most comes first. */
static int by_function(const void *a, const void *b)
{
	const struct pathprof_drift_term *x = a, *y = b;

	if (x->key_hi != y->key_hi)
		return x->key_hi < y->key_hi ? -1 : 1;
	return (x->moved_bits < y->moved_bits) - (x->moved_bits > y->moved_bits);
}

static int by_moved(const void *a, const void *b)
{
	const struct pathprof_drift_term *x = a, *y = b;

	if (x->moved_bits != y->moved_bits)
		return x->moved_bits < y->moved_bits ? 1 : -1;
	return (x->key_hi > y->key_hi) - (x->key_hi < y->key_hi);
}

/* Terms of paths become terms of functions, those that moved most first. Returns how many. */
static size_t sum_functions(struct pathprof_drift_term *terms, size_t cnt)
{
	size_t kept = 0;

	if (cnt)
		qsort(terms, cnt, sizeof(*terms), by_function);
	for (size_t i = 0; i < cnt; i++) {
		if (!kept || terms[kept - 1].key_hi != terms[i].key_hi) {
			terms[kept++] = terms[i];
			continue;
		}
		terms[kept - 1].bits += terms[i].bits;
		terms[kept - 1].moved_bits += terms[i].moved_bits;
	}
	if (kept)
		qsort(terms, kept, sizeof(*terms), by_moved);
	return kept;
}

static double share_of(const struct pathprof_distribution *distribution, uint64_t function)
{
	long double weight = 0;

	for (size_t i = 0; i < distribution->cnt; i++)
		if (distribution->events[i].key_hi == function)
			weight += distribution->events[i].weight;
	return (double)(weight / distribution->total);
}

int pp_fleet_terms(struct pp_fleet_terms *ret_terms, const struct pathprof_distribution *now,
		   const struct pathprof_distribution *before)
{
	size_t room = now->cnt + before->cnt, cnt = 0;
	struct pathprof_drift_term *all = calloc(room + 1, sizeof(*all));
	int r = all ? pathprof_drift_terms(all, room, &cnt, now, before, 0) : -ENOMEM;

	*ret_terms = (struct pp_fleet_terms){.cnt = 0};
	cnt = r == 0 ? sum_functions(all, cnt) : 0;
	for (size_t i = 0; i < cnt && i < sizeof(ret_terms->list) / sizeof(all[0]); i++) {
		all[i].p = share_of(now, all[i].key_hi);
		all[i].q = share_of(before, all[i].key_hi);
		ret_terms->list[ret_terms->cnt++] = all[i];
	}
	free(all);
	return r;
}

/* ---------------------------------------------------------------- terms of one name */

static int more_moved(const void *a, const void *b)
{
	const struct pathprof_fleet_moved *x = a, *y = b;

	return (x->bits < y->bits) - (x->bits > y->bits);
}

size_t pp_fleet_join(struct pathprof_fleet_moved *ret_moved, struct pp_fleet_terms *terms)
{
	struct pathprof_fleet_moved joined[sizeof(terms->list) / sizeof(terms->list[0])];
	size_t cnt = 0, kept = 0;

	for (size_t i = 0; i < terms->cnt; i++) {
		const struct pathprof_drift_term *term = &terms->list[i];
		size_t at = 0;

		while (at < cnt && strcmp(joined[at].name, terms->names[i]) != 0)
			at++;
		if (at == cnt) {
			joined[cnt] = (struct pathprof_fleet_moved){.bits = 0};
			memcpy(joined[cnt++].name, terms->names[i], sizeof(joined[0].name));
		}
		joined[at].before += term->q;
		joined[at].now += term->p;
		joined[at].bits += term->moved_bits;
	}
	if (cnt)
		qsort(joined, cnt, sizeof(joined[0]), more_moved);
	for (size_t i = 0; i < cnt && kept < PATHPROF_FLEET_MOVED_MAX; i++)
		if (joined[i].name[0] && fabs(joined[i].now - joined[i].before) >= SHARE_MIN)
			ret_moved[kept++] = joined[i];
	return kept;
}

/* ---------------------------------------------------------------- which function a path is of */

/* function: where the path begins, of a path whose function the store does not know. */
struct label {
	uint64_t key_lo, function;
	bool is_place;
};

struct labels {
	uint64_t key; /* pathprof_event_group() of the build */
	struct label *list;
	size_t cnt, room;
};

static int add_label(struct labels *labels, const struct pathprof_event *event, uint64_t function,
		     bool is_place)
{
	if (pp_grow(&labels->list, labels->cnt, &labels->room) < 0)
		return -ENOMEM;
	labels->list[labels->cnt++] = (struct label){event->key_lo, function, is_place};
	return 0;
}

static int label_place(void *context, const struct pathprof_path_row *row)
{
	struct labels *labels = context;
	struct pathprof_event event;

	pathprof_event_of_path(&event, labels->key, row->start, row->length, row->outcomes, 0);
	return add_label(labels, &event, row->start, true);
}

static int label_function(void *context, const struct pathprof_portable_row *row)
{
	struct labels *labels = context;
	struct pathprof_event event;

	pathprof_event_of_path(&event, labels->key, row->start, row->length, row->outcomes, 0);
	return row->function ? add_label(labels, &event, row->function, false) : 0;
}

/* The function comes first of all labels of a path. */
static int by_key(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	if (x->key_lo != y->key_lo)
		return x->key_lo < y->key_lo ? -1 : 1;
	return x->is_place - y->is_place;
}

static int load_labels(struct labels *ret_labels, struct pathprof_store *store,
		       const struct pathprof_fleet_group *group, struct pathprof_error *error)
{
	int r;

	*ret_labels = (struct labels){.key = pathprof_event_group(&group->id)};
	r = pathprof_store_portable(store, &group->id, label_function, ret_labels, error);
	if (r == 0)
		r = pathprof_store_known_paths(store, &group->id, label_place, ret_labels, error);
	if (r == 0 && ret_labels->cnt)
		qsort(ret_labels->list, ret_labels->cnt, sizeof(*ret_labels->list), by_key);
	return r == -ENOMEM ? pathprof_fail(error, r, "out of memory") : r;
}

/* The key_hi of each path becomes its function. Its own key, if the store does not know the path.
 */
static int set_functions(struct pathprof_tally *tally, const struct labels *labels)
{
	for (size_t i = 0; i < tally->cnt; i++) {
		struct pathprof_event *event = &tally->events[i];
		size_t at = pp_first(k, 0, labels->cnt, labels->list[k].key_lo >= event->key_lo);
		bool known = at < labels->cnt && labels->list[at].key_lo == event->key_lo;

		event->key_hi = known ? labels->list[at].function : event->key_lo;
	}
	return pathprof_events_sort(tally->events, &tally->cnt);
}

/* ---------------------------------------------------------------- names of a build's functions */

static int take_named(void *context, const struct pathprof_portable_row *row)
{
	struct pp_fleet_terms *terms = context;

	for (size_t i = 0; i < terms->cnt; i++)
		if (terms->list[i].key_hi == row->function)
			set_name(terms->names[i], sizeof(terms->names[i]), row->function_name);
	return 0;
}

int pp_fleet_name_portable(struct pp_fleet_terms *terms, struct pathprof_store *store,
			   const struct pathprof_build_id *build, struct pathprof_error *error)
{
	return pathprof_store_portable(store, build, take_named, terms, error);
}

struct naming {
	struct pp_fleet_terms *terms;
	struct pathprof_store *store;
	const struct pathprof_fleet_group *group;
	uint64_t key;
};

static void name_term(const struct naming *naming, size_t at, uint64_t start)
{
	const char *slash = strrchr(naming->group->name, '/');
	char name[sizeof(naming->terms->names[0])] = "", place[sizeof(name)];
	uint64_t begin;

	if (pathprof_store_jit_symbol(naming->store, &naming->group->id, start, name, sizeof(name),
				      &begin) < 0)
		name[0] = 0;
	set_name(naming->terms->names[at], sizeof(name), name);
	snprintf(place, sizeof(place), "%.60s+0x%llx", slash ? slash + 1 : naming->group->name,
		 (unsigned long long)start);
	set_name(naming->terms->names[at], sizeof(name), place);
}

/* A term without a name has that of its path's place. */
static int take_path(void *context, const struct pathprof_path_row *row)
{
	const struct naming *naming = context;
	struct pathprof_event event;

	pathprof_event_of_path(&event, naming->key, row->start, row->length, row->outcomes, 0);
	for (size_t i = 0; i < naming->terms->cnt; i++)
		if (naming->terms->list[i].key_lo == event.key_lo)
			name_term(naming, i, row->start);
	return 0;
}

static int name_own(struct pp_fleet_terms *terms, struct pathprof_store *store,
		    const struct pathprof_fleet_group *group, struct pathprof_error *error)
{
	struct naming naming = {terms, store, group, pathprof_event_group(&group->id)};
	int r = pp_fleet_name_portable(terms, store, &group->id, error);

	return r < 0 ? r : pathprof_store_known_paths(store, &group->id, take_path, &naming, error);
}

/* ---------------------------------------------------------------- of one build */

static int join_sides(struct pathprof_tally sides[2], const struct pathprof_fleet_group *group,
		      const bool *is_in, const struct labels *labels)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < group->member_cnt; i++)
		r = pathprof_tally_join(&sides[is_in[i]], &group->members[i].tally);
	for (int i = 0; r == 0 && i < 2; i++)
		r = set_functions(&sides[i], labels);
	return r;
}

static int find_terms(struct pp_fleet_terms *ret_terms, const struct pathprof_fleet_group *group,
		      const bool *is_in, const struct labels *labels)
{
	struct pathprof_tally sides[2] = {{.events = NULL}, {.events = NULL}};
	int r = join_sides(sides, group, is_in, labels);

	if (r == 0) {
		struct pathprof_distribution in = pathprof_tally_distribution(&sides[1]);
		struct pathprof_distribution others = pathprof_tally_distribution(&sides[0]);

		r = pp_fleet_terms(ret_terms, &in, &others);
	}
	pathprof_tally_release(&sides[0]);
	pathprof_tally_release(&sides[1]);
	return r;
}

/* Members of a group by what is_in says of each: those that are in, and all others together. */
static int moved(struct pathprof_fleet_moved *ret_moved, size_t *ret_cnt,
		 struct pathprof_store *store, const struct pathprof_fleet_group *group,
		 const bool *is_in, struct pathprof_error *error)
{
	struct pp_fleet_terms terms = {.cnt = 0};
	struct labels labels;
	int r = load_labels(&labels, store, group, error);

	*ret_cnt = 0;
	if (r == 0) {
		r = find_terms(&terms, group, is_in, &labels);
		if (r < 0)
			pathprof_fail(error, r, "%s: %s", group->name, strerror(-r));
	}
	free(labels.list);
	if (r == 0)
		r = name_own(&terms, store, group, error);
	if (r == 0)
		*ret_cnt = pp_fleet_join(ret_moved, &terms);
	return r;
}

int pathprof_fleet_moved(struct pathprof_fleet_moved ret_moved[PATHPROF_FLEET_MOVED_MAX],
			 size_t *ret_cnt, struct pathprof_store *store,
			 const struct pathprof_fleet_group *group, size_t member,
			 struct pathprof_error *error)
{
	bool *is_in = calloc(group->member_cnt, sizeof(*is_in));
	int r;

	if (!is_in)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	is_in[member] = true;
	r = moved(ret_moved, ret_cnt, store, group, is_in, error);
	free(is_in);
	return r;
}

int pathprof_modes_moved(struct pathprof_fleet_moved ret_moved[PATHPROF_FLEET_MOVED_MAX],
			 size_t *ret_cnt, struct pathprof_store *store,
			 const struct pathprof_fleet_group *group,
			 const struct pathprof_modes *modes, size_t mode,
			 struct pathprof_error *error)
{
	bool *is_in = calloc(group->member_cnt, sizeof(*is_in));
	int r;

	if (!is_in)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < group->member_cnt; i++)
		is_in[i] = modes->mode_of[i] == (int)mode;
	r = moved(ret_moved, ret_cnt, store, group, is_in, error);
	free(is_in);
	return r;
}
