// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which paths moved most, for the message of an alert. Events' keys are hashes, so the store's
 * paths of the binary are read once to find which of them the keys stand for, and their names.
 *
 * Workload: a few alerts an hour.
 */
#include "drift_telling.h"

#include <string.h>

#include "pathprof/events.h"

static void set_path(struct pp_drift_moved *moved, int64_t path_id, uint64_t start, uint32_t length,
		     uint32_t outcomes)
{
	moved->path_id = path_id;
	moved->path = (struct pp_names_path){start, length, outcomes};
}

static void set_name(struct pp_drift_moved *moved, const char *name)
{
	if (!moved->function && name[0])
		moved->function = strdup(name);
}

/* ---------------------------------------------------------------- keys of this build's paths */

struct finding {
	struct pp_drift_draft *draft;
	uint64_t group;
};

static int find_path(void *context, const struct pathprof_path_row *row)
{
	const struct finding *finding = context;
	struct pp_drift_draft *draft = finding->draft;
	struct pathprof_event event;

	pathprof_event_of_path(&event, finding->group, row->start, row->length, row->outcomes, 0);
	for (size_t i = 0; i < draft->moved_cnt; i++)
		if (!draft->moved[i].path_id && draft->moved[i].key_lo &&
		    draft->moved[i].key_lo == event.key_lo)
			set_path(&draft->moved[i], row->id, row->start, row->length, row->outcomes);
	return 0;
}

static int find_name(void *context, const struct pathprof_portable_row *row)
{
	struct pp_drift_draft *draft = context;

	for (size_t i = 0; i < draft->moved_cnt; i++)
		if (draft->moved[i].path_id == row->path_id)
			set_name(&draft->moved[i], row->function_name);
	return 0;
}

/* ---------------------------------------------------------------- portable keys */

static bool is_of(const struct pp_drift_moved *moved, const struct pathprof_portable_row *row)
{
	return row->function && moved->term.key_hi == row->function &&
	       moved->term.key_lo == row->place;
}

static int find_portable(void *context, const struct pathprof_portable_row *row)
{
	struct pp_drift_draft *draft = context;

	for (size_t i = 0; i < draft->moved_cnt; i++) {
		if (draft->moved[i].path_id || !is_of(&draft->moved[i], row))
			continue;
		set_path(&draft->moved[i], row->path_id, row->start, row->length, row->outcomes);
		set_name(&draft->moved[i], row->function_name);
	}
	return 0;
}

/* A path that only the other build ran has its name in that build. */
static int find_other_name(void *context, const struct pathprof_portable_row *row)
{
	struct pp_drift_draft *draft = context;

	for (size_t i = 0; i < draft->moved_cnt; i++)
		if (is_of(&draft->moved[i], row))
			set_name(&draft->moved[i], row->function_name);
	return 0;
}

/* ---------------------------------------------------------------- paths too new for a name */

static const struct pathprof_event *heaviest_unnamed(const struct pp_drift_news *news,
						     double *ret_unnamed)
{
	const struct pathprof_event *heaviest = NULL;
	double unnamed = 0;

	for (size_t i = 0; i < news->part->tally.cnt; i++) {
		const struct pathprof_event *event = &news->part->tally.events[i];

		if (pathprof_portable_find(news->portable, event->key_lo))
			continue;
		unnamed += event->weight;
		if (!heaviest || event->weight > heaviest->weight)
			heaviest = event;
	}
	*ret_unnamed = unnamed;
	return heaviest;
}

/* The heaviest unnamed path stands for all of them. False: this window has none. */
static bool show_unnamed(const struct pp_drift_news *news, struct pp_drift_moved *moved)
{
	double unnamed = 0;
	const struct pathprof_event *event = news->part ? heaviest_unnamed(news, &unnamed) : NULL;

	if (!event)
		return false;
	moved->key_lo = event->key_lo;
	moved->term.p = event->weight / news->part->tally.total;
	moved->term.q = 0;
	moved->term.moved_bits *= event->weight / unnamed;
	return true;
}

/* False: there is nothing that could be told. */
static bool set_key(const struct pp_drift_news *news, struct pp_drift_moved *moved)
{
	if (news->base_portable)
		return moved->term.key_hi != PATHPROF_PORTABLE_UNNAMED_HI ||
		       show_unnamed(news, moved);
	moved->key_lo = moved->term.key_lo;
	return true;
}

/* A library's path counts once for each program that ran it: all of them are one path. */
static void join_programs(struct pp_drift_draft *draft)
{
	size_t kept = 0;

	for (size_t i = 0; i < draft->moved_cnt; i++) {
		const struct pp_drift_moved *moved = &draft->moved[i];
		size_t same = 0;

		while (same < kept && draft->moved[same].key_lo != moved->key_lo)
			same++;
		if (same == kept) {
			draft->moved[kept++] = *moved;
			continue;
		}
		draft->moved[same].term.p += moved->term.p;
		draft->moved[same].term.q += moved->term.q;
		draft->moved[same].term.moved_bits += moved->term.moved_bits;
	}
	draft->moved_cnt = kept;
}

static void set_keys(const struct pp_drift_news *news, struct pp_drift_draft *draft)
{
	size_t kept = 0;

	for (size_t i = 0; i < draft->moved_cnt; i++)
		if (set_key(news, &draft->moved[i]))
			draft->moved[kept++] = draft->moved[i];
	draft->moved_cnt = kept;
	if (!news->base_portable)
		join_programs(draft);
}

/* ---------------------------------------------------------------- together */

/* The share that was seen: a term's own is smoothed, above 0 even if the path never ran. */
static double share_of(const struct pathprof_distribution *base,
		       const struct pathprof_drift_term *term)
{
	for (size_t i = 0; i < base->cnt; i++)
		if (base->events[i].key_hi == term->key_hi &&
		    base->events[i].key_lo == term->key_lo)
			return (double)(base->events[i].weight / base->total);
	return 0;
}

void pp_drift_find_moved(struct pathprof_store *store, const struct pp_drift_news *news,
			 struct pp_drift_draft *draft)
{
	struct pathprof_drift_term terms[PP_DRIFT_MOVED_MAX];
	const struct pathprof_build_id *id = &news->subject->id;
	struct finding finding = {draft, news->subject->group};
	size_t cnt = 0;

	if (!news->window || !news->base ||
	    pathprof_drift_terms(terms, PP_DRIFT_MOVED_MAX, &cnt, news->window, news->base, 0) < 0)
		return;
	for (size_t i = 0; i < cnt; i++) {
		draft->moved[i].term = terms[i];
		draft->moved[i].term.q = share_of(news->base, &terms[i]);
	}
	draft->moved_cnt = cnt;
	if (!cnt)
		return;
	set_keys(news, draft);
	/* a path that cannot be found is told without a name */
	(void)pathprof_store_known_paths(store, id, find_path, &finding, NULL);
	(void)pathprof_store_portable(store, id, find_name, draft, NULL);
	if (!news->base_portable)
		return;
	(void)pathprof_store_portable(store, id, find_portable, draft, NULL);
	(void)pathprof_store_portable(store, &news->base_portable->id, find_other_name, draft,
				      NULL);
}
