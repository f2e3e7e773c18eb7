// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Building a graph: the order of its steps; see pp_builder.h for what they are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../code/pp_code_apart.h"
#include "pathprof/build_id.h"
#include "pp_builder.h"

#include <gelf.h>

static void init_vectors(struct pp_builder *b)
{
	b->states.size_bytes = sizeof(struct pp_state);
	b->places.size_bytes = sizeof(struct pp_place);
	b->waiters.size_bytes = sizeof(struct pp_waiter);
	b->crossings.size_bytes = sizeof(struct pp_crossing);
	b->joints.size_bytes = sizeof(struct pp_joint);
	b->pending.size_bytes = sizeof(struct pp_place);
	b->known.size_bytes = sizeof(struct pp_place);
	b->switches.size_bytes = sizeof(struct pp_switch);
	b->targets.size_bytes = sizeof(uint64_t);
	b->beginnings.size_bytes = sizeof(uint64_t);
	b->constants.size_bytes = sizeof(struct pp_constant);
}

/*
 * Ranges whose end is a guess leave the table: what is found within them later is a function of
 * its own. Their starts are kept as places to begin at.
 */
static int set_guesses_aside(struct pp_builder *b)
{
	uint32_t *kept = calloc(b->ranges.cnt + 1, sizeof(kept[0]));
	size_t cnt = 0;

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < b->ranges.cnt; i++) {
		struct pp_range *r = &b->ranges.ranges[i];

		kept[i] = (uint32_t)cnt;
		if (!(r->flags & PATHPROF_FUNCTION_GUESSED))
			b->ranges.ranges[cnt++] = *r;
		else if (!pp_vector_add(&b->beginnings, &r->start))
			b->failed = true;
	}
	for (size_t i = 0; i < cnt; i++) {
		struct pp_range *r = &b->ranges.ranges[i];

		r->owner = r->owner < b->ranges.cnt ? kept[r->owner] : (uint32_t)i;
	}
	b->ranges.cnt = cnt;
	free(kept);
	return 0;
}

static int read_tables(struct pp_builder *b)
{
	GElf_Ehdr header;
	int r = pp_text_read(&b->text, b->code);

	if (!r)
		r = pp_ranges_read(&b->ranges, b->code);
	if (!r)
		r = pp_landing_pads_read(&b->pads, &b->pad_cnt, b->code);
	if (!r && b->ranges.cnt >= UINT32_MAX / 2)
		r = -EFBIG;
	if (!r)
		r = set_guesses_aside(b);
	if (!r)
		r = pp_owner_init(b);
	if (r)
		return r;
	b->non_pic = gelf_getehdr(b->code->elf, &header) && header.e_type == ET_EXEC;
	for (size_t i = 0; i < b->ranges.cnt; i++)
		b->total_bytes += b->ranges.ranges[i].end - b->ranges.ranges[i].start;
	/* Far beyond what compilers' code needs; a bound on what a hostile file may cost. */
	b->budget = 16 * b->total_bytes + (1u << 20);
	return 0;
}

/* Whether most of the code has frames: the startup files give any program a few. */
static bool has_frames(const struct pp_builder *b)
{
	uint64_t framed = 0, all = 0;

	for (size_t i = 0; i < b->ranges.cnt; i++) {
		const struct pp_range *r = &b->ranges.ranges[i];

		if (r->flags & PATHPROF_FUNCTION_FRAME)
			framed += r->end - r->start;
	}
	for (uint32_t i = 0; i < b->text.cnt; i++)
		all += b->text.parts[i].len_bytes;
	return framed > all / 4;
}

/*
 * A file without .eh_frame: code whose address code takes is taken for a function (main is known
 * so). With .eh_frame that would only find strings among code.
 */
static bool guess_functions(struct pp_builder *b)
{
	size_t before = b->states.cnt;

	for (size_t i = 0; i < b->constants.cnt; i++) {
		uint64_t value = PP_AT(b->constants, struct pp_constant, i)->value;

		if (pp_owner_of(b, value) == PP_NONE && pp_text_mark(&b->text, value) &&
		    !pp_text_is_inside(&b->text, value) &&
		    !(*pp_text_mark(&b->text, value) & PP_MARK_LEN))
			pp_owner_guess(b, value);
	}
	return b->states.cnt > before;
}

/* Compilers' nested switches need some ten rounds; only files made to be slow need more. */
#define ROUNDS_MAX 64

/* Reads on until nothing new is found. */
static void read_rest(struct pp_builder *b)
{
	bool guesses = !has_frames(b), more = true;

	for (int round = 0; more && !b->failed; round++) {
		pp_explore(b);
		if (b->failed)
			return;
		more = (round < ROUNDS_MAX && (pp_switch_resolve(b) || pp_switch_check(b))) ||
		       (round < 2 * ROUNDS_MAX &&
			(pp_switch_give_up(b) || (guesses && guess_functions(b))));
	}
}

static void read_code(struct pp_builder *b)
{
	/* Places are a stack: the range pushed last is read first. */
	for (size_t r = b->ranges.cnt; r-- > 0;)
		pp_explore_push(b, b->ranges.ranges[r].start, (uint32_t)r);
	if (b->ranges.entry && pp_owner_of(b, b->ranges.entry) == PP_NONE)
		pp_owner_guess(b, b->ranges.entry);
	for (size_t i = 0; i < b->beginnings.cnt; i++)
		pp_owner_guess(b, *PP_AT(b->beginnings, uint64_t, i));
	read_rest(b);
}

static void release(struct pp_builder *b)
{
	pp_text_release(&b->text);
	pp_ranges_release(&b->ranges);
	free(b->pads);
	free(b->states.data);
	pp_map_release(&b->guesses);
	free(b->places.data);
	free(b->waiters.data);
	free(b->crossings.data);
	free(b->joints.data);
	free(b->pending.data);
	free(b->switches.data);
	pp_map_release(&b->switch_at);
	free(b->known.data);
	free(b->targets.data);
	free(b->constants.data);
	pp_map_release(&b->tables);
	free(b->objects);
	free(b->beginnings.data);
}

int pathprof_graph_build(struct pathprof_graph **ret_graph, struct pathprof_code *code,
			 pathprof_progress_fn *progress, void *context,
			 struct pathprof_error *error)
{
	struct pp_builder b = {.code = code, .progress = progress, .context = context};
	struct pathprof_build_id id = {0};
	struct pathprof_graph *graph = NULL;
	int r;

	if (code->apart)
		return pp_apart_graph_build(ret_graph, code, progress, context, error);
	init_vectors(&b);
	r = read_tables(&b);
	if (!r) {
		read_code(&b);
		r = b.failed ? -ENOMEM : pp_emit(&graph, &b);
	}
	release(&b);
	if (r == -EFBIG)
		return pathprof_fail(error, r, "%s: has code beyond 4 GB", code->path);
	if (r == -ENOMEM)
		return pathprof_fail(error, r, "%s: no memory for its graph", code->path);
	if (r)
		return pathprof_fail(error, r, "%s: its code cannot be read: %s", code->path,
				     strerror(-r));
	r = pathprof_build_id_read_fd(&id, code->fd, code->path, error);
	if (r) {
		pathprof_graph_free(graph);
		return r;
	}
	graph->build_id = id;
	*ret_graph = graph;
	return 0;
}
