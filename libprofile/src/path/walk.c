// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Windows step by step: see pathprof/walk.h. A step that is not known is gone by the core's own
 * path stack, with nothing on it but the path that was on top: no branch looks further down.
 *
 * Workload: a look-up a branch, each waiting for the one before it; so nothing else in the loop may
 * be a jump that the processor has to guess.
 * Locking: none, one owner. Ownership: the object's memory is bounded (pp_walk.h).
 */
#include "pathprof/walk.h"

#include <errno.h>
#include <stdlib.h>

#include "../../core/pp_path_stack.h"
#include "pp_keyed.h"
#include "pp_reconstruct.h"
#include "pp_walk.h"

/* Of the stack that a step is tried on: when what was on it was pushed, and branches taken then. */
#define TRIAL_BEFORE 0
#define TRIAL_TAKEN  1000

/* Free slots lie above whatever is on top, so that what may be pushed can be written first. */
#define RING_SLOTS (2 * PP_PATH_STACK_DEPTH)

/* A path by its key; no padding. */
struct path {
	uint64_t start, desc;
};

struct pathprof_walker {
	struct pathprof_reconstructor *reconstructor;
	struct pp_path_config config;
	struct pp_keyed branches; /* struct pathprof_taken */
	struct pp_keyed paths;    /* struct path */
	struct pp_steps steps;
	uint32_t *ends; /* numbers of paths, of steps that end several */
	uint32_t end_cnt, end_room;
	bool is_full;
};

/* ---------------------------------------------------------------- life */

static void release_tables(struct pathprof_walker *walker)
{
	pp_keyed_release(&walker->branches);
	pp_keyed_release(&walker->paths);
	pp_steps_release(&walker->steps);
	free(walker->ends);
	walker->ends = NULL;
	walker->end_cnt = walker->end_room = 0;
}

static int init_tables(struct pathprof_walker *walker)
{
	/* Where the object lies is as good as a random number, and needs no system call. */
	uint64_t seed = (uint64_t)(uintptr_t)walker;
	int r = pp_keyed_init(&walker->branches, sizeof(struct pathprof_taken),
			      sizeof(struct pathprof_taken), PP_WALK_BRANCHES_MAX, seed);

	if (r == 0)
		r = pp_keyed_init(&walker->paths, sizeof(struct path), sizeof(struct path),
				  PP_WALK_PATHS_MAX, seed);
	if (r == 0)
		r = pp_steps_init(&walker->steps, seed);
	return r;
}

int pathprof_walker_new(struct pathprof_walker **ret_walker,
			struct pathprof_reconstructor *reconstructor, enum pathprof_mapping mapping)
{
	struct pathprof_walker *walker = calloc(1, sizeof(*walker));

	if (!walker)
		return -ENOMEM;
	walker->reconstructor = reconstructor;
	if (mapping == PATHPROF_MAPPING_WPP)
		pp_path_config_wpp(&walker->config);
	else
		pp_path_config_bl(&walker->config);
	if (init_tables(walker) < 0) {
		pathprof_walker_free(walker);
		return -ENOMEM;
	}
	*ret_walker = walker;
	return 0;
}

void pathprof_walker_free(struct pathprof_walker *walker)
{
	if (!walker)
		return;
	release_tables(walker);
	free(walker);
}

void pathprof_walker_clear(struct pathprof_walker *walker)
{
	release_tables(walker);
	walker->is_full = init_tables(walker) < 0;
}

bool pathprof_walker_is_full(const struct pathprof_walker *walker)
{
	return walker->is_full;
}

/* ---------------------------------------------------------------- numbers */

/* Of a table that was not to be had there is none. */
static int number_of(struct pathprof_walker *walker, struct pp_keyed *keyed, const void *key,
		     uint32_t *ret_number)
{
	uint32_t index;
	int r = keyed->slots ? pp_keyed_at(keyed, key, &index) : -ENOMEM;

	if (r < 0)
		walker->is_full = true;
	else
		*ret_number = index + 1;
	return r;
}

int pathprof_walker_branch(struct pathprof_walker *walker, const struct pathprof_taken *taken,
			   uint32_t *ret_number)
{
	return number_of(walker, &walker->branches, taken, ret_number);
}

static const struct path *path_at(const struct pathprof_walker *walker, uint32_t number)
{
	return pp_keyed_item(&walker->paths, number - 1);
}

void pathprof_walker_path(const struct pathprof_walker *walker, uint32_t number,
			  struct pathprof_path_seen *ret_path)
{
	const struct path *path = path_at(walker, number);

	ret_path->start = path->start;
	ret_path->length = PP_DESC_LENGTH(path->desc);
	ret_path->outcomes = PP_DESC_OUTCOMES(path->desc);
}

/* ---------------------------------------------------------------- learning */

/* A step on trial. */
struct trial {
	struct pathprof_walker *walker;
	struct pp_path_stack stack;
	struct pp_step step;
	uint32_t ends[PATHPROF_BURST_MAX];
};

static void set_up(struct trial *trial, uint32_t path)
{
	struct pp_path_stack *stack = &trial->stack;

	stack->taken = TRIAL_TAKEN;
	stack->top = 0;
	stack->depth = 0;
	if (!path)
		return;
	stack->entry[0] = (struct pp_path_entry){.start = path_at(trial->walker, path)->start,
						 .desc = path_at(trial->walker, path)->desc,
						 .born = TRIAL_BEFORE};
	stack->depth = 1;
}

static int go(struct trial *trial, const struct pathprof_branch *b)
{
	const struct pp_branch branch = {.from = b->from,
					 .target = b->target,
					 .next = b->next,
					 .info = PP_BRANCH_INFO(b->kind, b->taken),
					 .events = 1};
	struct pp_path ended;
	struct path path;

	trial->step.branch_cnt++;
	if (!pp_path_stack_step(&trial->stack, &trial->walker->config, &branch, &ended))
		return 0;
	path = (struct path){ended.start, ended.desc};
	trial->step.late = b->taken;
	return number_of(trial->walker, &trial->walker->paths, &path,
			 &trial->ends[trial->step.end_cnt++]);
}

/* The way, then the branch at its end. */
static int go_all(struct trial *trial, const struct pp_reconstructed *run,
		  const struct pathprof_taken *taken)
{
	int r = 0;

	for (uint32_t i = 0; i < run->cnt && r == 0; i++)
		r = go(trial, &run->branches[i]);
	if (r == 0)
		r = go(trial, &(struct pathprof_branch){.from = taken->from,
							.target = taken->to,
							.next = taken->to,
							.kind = run->kind,
							.taken = 1});
	return r;
}

static uint8_t born_of(const struct pp_path_entry *entry)
{
	if (entry->born == TRIAL_BEFORE)
		return PP_BORN_BEFORE;
	return entry->born == TRIAL_TAKEN ? PP_BORN_ON_WAY : PP_BORN_LATE;
}

/* What is on the stack now stands where there was one path, or none. */
static int keep_put(struct trial *trial)
{
	const struct pp_path_stack *stack = &trial->stack;
	int r = 0;

	trial->step.put_cnt = (uint8_t)stack->depth;
	for (uint32_t i = 0; i < stack->depth && r == 0; i++) {
		const struct pp_path_entry *e = &stack->entry[PP_MASK(
			stack->top - (stack->depth - 1) + i, PP_PATH_STACK_DEPTH - 1)];
		const struct path path = {e->start, e->desc};

		trial->step.born[i] = born_of(e);
		r = number_of(trial->walker, &trial->walker->paths, &path, &trial->step.path[i]);
		trial->step.next = trial->step.path[i];
	}
	return r;
}

static int make_end_room(struct pathprof_walker *walker, uint32_t cnt)
{
	uint32_t room = walker->end_room ? 2 * walker->end_room : PATHPROF_BURST_MAX;
	uint32_t *moved;

	if (cnt <= walker->end_room - walker->end_cnt)
		return 0;
	if (room > PP_WALK_ENDS_MAX)
		return -ENOSPC;
	moved = reallocarray(walker->ends, room, sizeof(*moved));
	if (!moved)
		return -ENOMEM;
	walker->ends = moved;
	walker->end_room = room;
	return 0;
}

static int keep_ends(struct trial *trial)
{
	struct pathprof_walker *walker = trial->walker;
	struct pp_step *step = &trial->step;
	int r;

	if (step->end_cnt <= 1) {
		step->end = step->end_cnt ? trial->ends[0] : 0;
		return 0;
	}
	r = make_end_room(walker, step->end_cnt);
	if (r < 0)
		return r;
	step->end = walker->end_cnt;
	for (uint32_t i = 0; i < step->end_cnt; i++)
		walker->ends[walker->end_cnt++] = trial->ends[i];
	return 0;
}

/* 0 and the new step; a refusal; or negative. */
static int learn(struct pathprof_walker *walker, uint32_t path, uint32_t before, uint32_t branch,
		 const struct pp_step **ret_step)
{
	const struct pathprof_taken *taken, *last;
	struct pp_reconstructed run;
	struct trial trial;
	int r;

	if (!branch)
		return -ENOSPC;
	taken = pp_keyed_item(&walker->branches, branch - 1);
	last = before ? pp_keyed_item(&walker->branches, before - 1) : NULL;
	r = pp_reconstruct_run(walker->reconstructor, last ? last->to : taken->from, taken, &run);
	if (r)
		return r;
	/* No window with it fits. */
	if (run.cnt >= PATHPROF_BURST_MAX)
		return PATHPROF_REFUSED_TOO_LONG;
	trial.walker = walker;
	trial.step = (struct pp_step){.key = pp_step_key(path, before, branch)};
	set_up(&trial, path);
	r = go_all(&trial, &run, taken);
	if (r == 0)
		r = keep_put(&trial);
	if (r == 0)
		r = keep_ends(&trial);
	if (r == 0)
		r = pp_steps_add(&walker->steps, &trial.step, ret_step);
	walker->is_full |= r < 0;
	return r;
}

/* ---------------------------------------------------------------- walking */

struct ring_entry {
	uint32_t path, born;
};

struct walk {
	struct ring_entry ring[RING_SLOTS];
	uint32_t top, depth; /* of the ring: the entry on top, and how many there are */
	uint32_t taken_cnt;
	uint32_t ended_cnt;
};

static void end_several(const struct pathprof_walker *walker, const struct pp_step *step,
			uint32_t age, struct pathprof_walked *ended)
{
	const uint32_t *ends = walker->ends + step->end;

	for (uint32_t i = 0; i < step->end_cnt; i++)
		ended[i] = (struct pathprof_walked){ends[i], i ? 0 : age};
	ended[step->end_cnt - 1].span += step->late;
}

static inline uint32_t born_at(uint32_t taken_cnt, uint8_t born, uint32_t before)
{
	return born == PP_BORN_BEFORE ? before : taken_cnt + (born - PP_BORN_ON_WAY);
}

/* What the step has put there, which needs no waiting for the ring. */
static inline uint32_t path_on_top(const struct walk *walk, const struct pp_step *step)
{
	if (PP_LIKELY(step->next))
		return step->next;
	return walk->depth ? walk->ring[walk->top % RING_SLOTS].path : 0;
}

static inline void take_step(struct walk *walk, const struct pathprof_walker *walker,
			     const struct pp_step *step, struct pathprof_walked *ended)
{
	uint32_t now = walk->taken_cnt++, had = walk->depth != 0;
	uint32_t born = had ? walk->ring[walk->top % RING_SLOTS].born : now;
	struct pathprof_walked *end = ended + walk->ended_cnt;
	struct ring_entry *ring = walk->ring;

	*end = (struct pathprof_walked){step->end, now - born + step->late};
	if (PP_UNLIKELY(step->end_cnt > 1))
		end_several(walker, step, now - born, end);
	walk->ended_cnt += step->end_cnt;
	walk->top -= had;
	ring[(walk->top + 1) % RING_SLOTS] =
		(struct ring_entry){step->path[0], born_at(now, step->born[0], born)};
	ring[(walk->top + 2) % RING_SLOTS] =
		(struct ring_entry){step->path[1], born_at(now, step->born[1], born)};
	walk->top += step->put_cnt;
	walk->depth += step->put_cnt - had;
	/* a full stack has dropped its oldest entry */
	walk->depth = walk->depth < PP_PATH_STACK_DEPTH ? walk->depth : PP_PATH_STACK_DEPTH;
}

int pathprof_walk(struct pathprof_walker *walker, const uint32_t *branches, uint32_t cnt,
		  struct pathprof_walked *ended, uint32_t *ret_cnt)
{
	struct walk walk;
	uint32_t path = 0, before = 0, total = 0;

	walk.top = walk.depth = walk.taken_cnt = walk.ended_cnt = 0;
	walk.ring[0] = (struct ring_entry){0, 0};
	if (!cnt)
		return PATHPROF_REFUSED_EMPTY;
	if (walker->is_full)
		return -ENOSPC;
	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t key = pp_step_key(path, before, branches[i]);
		const struct pp_step *step = pp_steps_find(&walker->steps, key);
		int r;

		if (PP_UNLIKELY(!step->key)) {
			r = learn(walker, path, before, branches[i], &step);
			if (r)
				return r;
		}
		total += step->branch_cnt;
		if (PP_UNLIKELY(total > PATHPROF_BURST_MAX))
			return PATHPROF_REFUSED_TOO_LONG;
		take_step(&walk, walker, step, ended);
		path = path_on_top(&walk, step);
		before = branches[i];
	}
	*ret_cnt = walk.ended_cnt;
	return 0;
}
