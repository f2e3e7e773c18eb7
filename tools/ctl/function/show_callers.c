// SPDX-License-Identifier: GPL-2.0-or-later
/* The call chains of one path: see show_callers.h. */
#include "show_callers.h"

#include <math.h>
#include <stdlib.h>

#include "../text/cleanup.h"
#include "../text/text.h"

/* The most frames shown in a line: deeper chains are cut off. */
#define FRAMES_SHOWN 12
/* A store may be damaged: a chain is never followed for ever. */
#define FRAMES_MAX 256

struct heaviest {
	struct callers *callers; /* NULL: they could not be read */
	struct caller_count counts[SHOW_CALLERS_MAX];
	size_t cnt;
};

static void insert(struct heaviest *heaviest, const struct caller_count *count)
{
	size_t at = heaviest->cnt;

	while (at && heaviest->counts[at - 1].weight < count->weight)
		at--;
	if (at == SHOW_CALLERS_MAX)
		return;
	if (heaviest->cnt < SHOW_CALLERS_MAX)
		heaviest->cnt++;
	for (size_t i = heaviest->cnt - 1; i > at; i--)
		heaviest->counts[i] = heaviest->counts[i - 1];
	heaviest->counts[at] = *count;
}

static void find_heaviest(struct heaviest *heaviest, struct view_query *query,
			  const struct pathprof_path_row *path)
{
	struct pathprof_error error = {""};
	const struct caller_count *counts;
	size_t cnt;

	*heaviest = (struct heaviest){NULL};
	if (!path->id)
		return;
	if (callers_load(&heaviest->callers, query->store, query->symbols, &query->filter, &error) <
	    0) {
		ctl_note("who called is not known: %s", error.text);
		return;
	}
	counts = callers_of_path(heaviest->callers, path->id, &cnt);
	for (size_t i = 0; i < cnt; i++)
		insert(heaviest, &counts[i]);
}

/* The share of the path's runs. */
static double share_of(const struct caller_count *count, const struct pathprof_path_row *path)
{
	return path->weight > 0 ? fmin(count->weight / path->weight, 1) : 0;
}

/* The next caller out; NULL: it is the outermost. */
static const struct caller *next_of(const struct heaviest *heaviest, const struct caller *caller)
{
	return caller->parent ? callers_find(heaviest->callers, caller->parent) : NULL;
}

static void print_chain(FILE *out, const struct heaviest *heaviest, const struct caller *caller)
{
	for (int i = 0; caller; i++, caller = next_of(heaviest, caller)) {
		_cleanup_free_ char *name = text_escape(caller_name(caller));

		if (i == FRAMES_SHOWN) {
			fputs(" < ...", out);
			return;
		}
		fprintf(out, "%s%s", i ? " < " : "", name);
	}
}

void show_callers_print(FILE *out, struct view_query *query, const struct pathprof_path_row *path)
{
	struct heaviest heaviest;

	find_heaviest(&heaviest, query, path);
	for (size_t i = 0; i < heaviest.cnt; i++) {
		fprintf(out, "  %-8s  %6.2f%%  ", i ? "" : "callers",
			100 * share_of(&heaviest.counts[i], path));
		print_chain(out, &heaviest, heaviest.counts[i].caller);
		fputc('\n', out);
	}
	callers_free(heaviest.callers);
}

static json_t *frames_json(const struct heaviest *heaviest, const struct caller *caller)
{
	json_t *frames = json_array();

	for (int i = 0; caller && i < FRAMES_MAX; i++, caller = next_of(heaviest, caller)) {
		json_t *frame = json_object();

		json_add_function(frame, "function", caller->symbol);
		json_add_binary(frame, "binary", &caller->binary_id, caller->binary_name);
		json_array_append_new(frames, frame);
	}
	return frames;
}

json_t *show_callers_json(struct view_query *query, const struct pathprof_path_row *path)
{
	json_t *chains = json_array();
	struct heaviest heaviest;

	find_heaviest(&heaviest, query, path);
	for (size_t i = 0; i < heaviest.cnt; i++) {
		json_t *chain = json_object();

		json_add(chain, "share", json_real(share_of(&heaviest.counts[i], path)));
		json_add_count(chain, "samples", heaviest.counts[i].samples);
		json_add(chain, "frames", frames_json(&heaviest, heaviest.counts[i].caller));
		json_array_append_new(chains, chain);
	}
	callers_free(heaviest.callers);
	return chains;
}
