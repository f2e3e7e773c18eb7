// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Functions in which two distributions of paths differ most: see fleet.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/events.h"
#include "pp_fleet.h"

#define SHARE_MIN 0.01 /* a function that moved less is not worth a word */

static void set_name(char *name, size_t size, const char *text)
{
	if (!*name && text && *text)
		snprintf(name, size, "%s", text);
}

int pp_fleet_terms(struct pp_fleet_terms *ret_terms, const struct pathprof_distribution *now,
		   const struct pathprof_distribution *before)
{
	*ret_terms = (struct pp_fleet_terms){.cnt = 0};
	return pathprof_drift_terms(ret_terms->list,
				    sizeof(ret_terms->list) / sizeof(ret_terms->list[0]),
				    &ret_terms->cnt, now, before, 0);
}

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

/* ---------------------------------------------------------------- names of a build's own paths */

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

static int take_portable(void *context, const struct pathprof_portable_row *row)
{
	const struct naming *naming = context;
	struct pathprof_event event;

	pathprof_event_of_path(&event, naming->key, row->start, row->length, row->outcomes, 0);
	for (size_t i = 0; i < naming->terms->cnt; i++)
		if (naming->terms->list[i].key_lo == event.key_lo)
			set_name(naming->terms->names[i], sizeof(naming->terms->names[i]),
				 row->function_name);
	return 0;
}

static int name_own(struct pp_fleet_terms *terms, struct pathprof_store *store,
		    const struct pathprof_fleet_group *group, struct pathprof_error *error)
{
	struct naming naming = {terms, store, group, pathprof_event_group(&group->id)};
	int r = pathprof_store_portable(store, &group->id, take_portable, &naming, error);

	return r < 0 ? r : pathprof_store_known_paths(store, &group->id, take_path, &naming, error);
}

/* Members of a group by what is_in says of each: those that are in, and all others together. */
static int moved(struct pathprof_fleet_moved *ret_moved, size_t *ret_cnt,
		 struct pathprof_store *store, const struct pathprof_fleet_group *group,
		 const bool *is_in, struct pathprof_error *error)
{
	struct pathprof_tally sides[2] = {{.events = NULL}, {.events = NULL}};
	struct pp_fleet_terms terms = {.cnt = 0};
	int r = 0;

	*ret_cnt = 0;
	for (size_t i = 0; r == 0 && i < group->member_cnt; i++)
		r = pathprof_tally_join(&sides[is_in[i]], &group->members[i].tally);
	if (r == 0) {
		struct pathprof_distribution in = pathprof_tally_distribution(&sides[1]);
		struct pathprof_distribution others = pathprof_tally_distribution(&sides[0]);

		r = pp_fleet_terms(&terms, &in, &others);
	}
	pathprof_tally_release(&sides[0]);
	pathprof_tally_release(&sides[1]);
	if (r < 0)
		return pathprof_fail(error, r, "%s: %s", group->name, strerror(-r));
	r = name_own(&terms, store, group, error);
	if (r == 0)
		*ret_cnt = pp_fleet_join(ret_moved, &terms);
	return r;
}

int pathprof_fleet_moved(struct pathprof_fleet_moved ret_moved[static PATHPROF_FLEET_MOVED_MAX],
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

int pathprof_modes_moved(struct pathprof_fleet_moved ret_moved[static PATHPROF_FLEET_MOVED_MAX],
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

/* ---------------------------------------------------------------- names that outlive a build */

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
