// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Windows step by step: see pathprof/walk.h. An unknown step is taken on the core's own path stack,
 * with nothing on it but the path that was on top: no branch looks further down.
 *
 * Workload: a step a branch, each waiting for the one before it; so few things in the loop may be
 * jumps that the processor has to guess.
 * Locking: none, one owner. Ownership: the object's memory is bounded (pp_walk.h).
 */
#include "pathprof/walk.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vector.h"
#include "../../core/pp_path_stack.h"
#include "pp_reconstruct.h"
#include "pp_walk.h"

/* The trial stack of a step: the birth of the entries that were on it before, and the number of
 * branches taken then. */
#define TRIAL_BEFORE 0
#define TRIAL_TAKEN  1000

#define RING_SLOTS PP_PATH_STACK_DEPTH

/* A path by its key; no padding. */
struct path {
	uint64_t start, desc;
};

/* Paths, or pieces. */
struct cut {
	struct pp_path_config config;
	struct pp_keyed paths; /* struct path */
};

struct pathprof_walker {
	struct pathprof_reconstructor *reconstructor;
	struct pp_keyed branches; /* struct pathprof_taken */
	struct cut paths, pieces;
	struct pp_steps steps;
	uint32_t *ends; /* numbers of paths, of steps that end several */
	uint32_t end_cnt, end_room;
	bool is_full;
};

/* ---------------------------------------------------------------- life */

static void release_tables(struct pathprof_walker *walker)
{
	pp_keyed_release(&walker->branches);
	pp_keyed_release(&walker->paths.paths);
	pp_keyed_release(&walker->pieces.paths);
	pp_steps_release(&walker->steps);
	free(walker->ends);
	walker->ends = NULL;
	walker->end_cnt = walker->end_room = 0;
}

static int init_tables(struct pathprof_walker *walker)
{
	/* The object's address serves as a random seed and needs no system call. */
	uint64_t seed = (uint64_t)(uintptr_t)walker;

	pp_keyed_init(&walker->branches, sizeof(struct pathprof_taken),
		      sizeof(struct pathprof_taken), PP_WALK_BRANCHES_MAX, seed);
	pp_keyed_init(&walker->paths.paths, sizeof(struct path), sizeof(struct path),
		      PP_WALK_PATHS_MAX, seed);
	pp_keyed_init(&walker->pieces.paths, sizeof(struct path), sizeof(struct path),
		      PP_WALK_PATHS_MAX, seed);
	return pp_steps_init(&walker->steps, seed);
}

int pathprof_walker_new(struct pathprof_walker **ret_walker,
			struct pathprof_reconstructor *reconstructor, enum pathprof_mapping mapping)
{
	struct pathprof_walker *walker = calloc(1, sizeof(*walker));

	if (!walker)
		return -ENOMEM;
	walker->reconstructor = reconstructor;
	if (mapping == PATHPROF_MAPPING_WPP)
		pp_path_config_wpp(&walker->paths.config);
	else
		pp_path_config_bl(&walker->paths.config);
	pp_path_config_wpp(&walker->pieces.config);
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

/* Gives numbers only if there was memory for steps. */
static int number_of(struct pathprof_walker *walker, struct pp_keyed *keyed, const void *key,
		     uint32_t *ret_number)
{
	uint32_t index;
	int r = walker->steps.steps ? pp_keyed_at(keyed, key, &index) : -ENOMEM;

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

static const struct path *path_at(const struct cut *cut, uint32_t number)
{
	return pp_keyed_item(&cut->paths, number - 1);
}

static void tell(const struct cut *cut, uint32_t number, struct pathprof_path_seen *ret_path)
{
	const struct path *path = path_at(cut, number);

	ret_path->start = path->start;
	ret_path->length = PP_DESC_LENGTH(path->desc);
	ret_path->outcomes = PP_DESC_OUTCOMES(path->desc);
}

void pathprof_walker_path(const struct pathprof_walker *walker, uint32_t number,
			  struct pathprof_path_seen *ret_path)
{
	tell(&walker->paths, number, ret_path);
}

void pathprof_walker_piece(const struct pathprof_walker *walker, uint32_t number,
			   struct pathprof_path_seen *ret_piece)
{
	tell(&walker->pieces, number, ret_piece);
}

/* ---------------------------------------------------------------- learning */

/* The effect of a step on paths, or on pieces, on trial. */
struct trial {
	struct pathprof_walker *walker;
	struct cut *cut;
	struct pp_path_stack stack;
	struct pp_change change;
	uint32_t ends[PATHPROF_BURST_MAX];
};

static void set_up(struct trial *trial, struct pathprof_walker *walker, struct cut *cut,
		   uint32_t path)
{
	struct pp_path_stack *stack = &trial->stack;

	trial->walker = walker;
	trial->cut = cut;
	trial->change = (struct pp_change){0};
	stack->taken = TRIAL_TAKEN;
	stack->top = 0;
	stack->depth = 0;
	if (!path)
		return;
	stack->entry[0] = (struct pp_path_entry){.start = path_at(cut, path)->start,
						 .desc = path_at(cut, path)->desc,
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

	if (!pp_path_stack_step(&trial->stack, &trial->cut->config, &branch, &ended))
		return 0;
	path = (struct path){ended.start, ended.desc};
	trial->change.late = b->taken & 1;
	trial->change.crosses = pp_branch_class(&branch) <= PP_CLASS_RETURN;
	return number_of(trial->walker, &trial->cut->paths, &path,
			 &trial->ends[trial->change.end_cnt++]);
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

/* The entry at that depth below the top of the stack. */
static const struct pp_path_entry *entry_at(const struct trial *trial, uint32_t below_top)
{
	return &trial->stack.entry[PP_MASK(trial->stack.top - below_top, PP_PATH_STACK_DEPTH - 1)];
}

static int keep_put(struct trial *trial, const struct pp_path_entry *entry, uint32_t *ret_path)
{
	const struct path path = {entry->start, entry->desc};

	return number_of(trial->walker, &trial->cut->paths, &path, ret_path);
}

/* Records the entries now on the stack, where one path, or none, was before. */
static int keep_all_put(struct trial *trial)
{
	const struct pp_path_entry *low = entry_at(trial, trial->stack.depth - 1);
	const struct pp_path_entry *high = entry_at(trial, 0);
	struct pp_change *change = &trial->change;
	int r;

	change->put_cnt = trial->stack.depth & 3;
	if (!change->put_cnt)
		return 0;
	change->is_old = low->born == TRIAL_BEFORE;
	change->low_late = low->born > TRIAL_TAKEN;
	change->high_late = high->born > TRIAL_TAKEN;
	r = keep_put(trial, low, &change->low);
	return r < 0 ? r : keep_put(trial, high, &change->high);
}

static int make_end_room(struct pathprof_walker *walker, uint32_t cnt)
{
	if (cnt > PP_WALK_ENDS_MAX - walker->end_cnt)
		return -ENOSPC;
	return pp_reserve(&walker->ends, walker->end_cnt + cnt, &walker->end_room);
}

static int keep_ends(struct trial *trial)
{
	struct pathprof_walker *walker = trial->walker;
	struct pp_change *change = &trial->change;
	int r;

	if (change->end_cnt <= 1) {
		change->end = change->end_cnt ? trial->ends[0] : 0;
		return 0;
	}
	r = make_end_room(walker, change->end_cnt);
	if (r < 0)
		return r;
	change->end = walker->end_cnt;
	for (uint32_t i = 0; i < change->end_cnt; i++)
		walker->ends[walker->end_cnt++] = trial->ends[i];
	return 0;
}

static int try_change(struct pathprof_walker *walker, struct cut *cut, uint32_t path,
		      const struct pp_reconstructed *run, const struct pathprof_taken *taken,
		      struct pp_change *ret_change)
{
	struct trial trial;
	int r;

	set_up(&trial, walker, cut, path);
	r = go_all(&trial, run, taken);
	if (r == 0)
		r = keep_all_put(&trial);
	if (r == 0)
		r = keep_ends(&trial);
	*ret_change = trial.change;
	return r;
}

/* 0 and the new step's index; a refusal; or negative. */
static __attribute__((noinline)) int learn(struct pathprof_walker *walker, uint64_t key,
					   uint32_t *ret_index)
{
	uint32_t before = pp_step_before(key), branch = pp_step_branch(key);
	const struct pathprof_taken *taken, *last;
	struct pp_step step = {.key = key};
	struct pp_reconstructed run;
	int r;

	if (!branch)
		return -ENOSPC;
	taken = pp_keyed_item(&walker->branches, branch - 1);
	last = before ? pp_keyed_item(&walker->branches, before - 1) : NULL;
	r = pp_reconstruct_run(walker->reconstructor, last ? last->to : taken->from, taken, &run);
	if (r)
		return r;
	/* No window is long enough for this run. */
	if (run.cnt >= PATHPROF_BURST_MAX)
		return PATHPROF_REFUSED_TOO_LONG;
	step.branch_cnt = (uint16_t)(run.cnt + 1);
	r = try_change(walker, &walker->paths, pp_step_path(key), &run, taken, &step.paths);
	if (r == 0)
		r = try_change(walker, &walker->pieces, pp_step_piece(key), &run, taken,
			       &step.pieces);
	if (r == 0)
		r = pp_steps_add(&walker->steps, &step, ret_index);
	walker->is_full |= r < 0;
	return r;
}

/* ---------------------------------------------------------------- walking */

/* A path or a piece, and how many branches had been taken when it was pushed. */
struct open {
	uint32_t path, born; /* path 0: there is none */
};

/*
 * The state of the walk through a window. Paths below the one on top wait in a ring, by the low
 * bits of their place. A piece has none below it: the end of one begins the next.
 */
struct walk {
	struct open top, piece;
	uint32_t end, begin; /* places of those below: [begin, end) */
	uint32_t taken_cnt, ended_cnt, piece_cnt, total_cnt;
	uint32_t before; /* the branch before; 0: none */
	uint32_t last;   /* the step before */
};

struct ring {
	struct open open[RING_SLOTS];
};

static __attribute__((noinline)) void end_several(const struct pathprof_walker *walker,
						  const struct pp_change *change, uint32_t age,
						  struct pathprof_walked *ended)
{
	const uint32_t *ends = walker->ends + change->end;

	for (uint32_t i = 0; i < change->end_cnt; i++)
		ended[i] = (struct pathprof_walked){ends[i], i ? 0 : age, 0};
	ended[change->end_cnt - 1].span += change->late;
	ended[change->end_cnt - 1].crosses = change->crosses;
}

/* There is room in ended[] also where no path ends: each branch ends one at most. */
static inline uint32_t end_paths(const struct pathprof_walker *walker,
				 const struct pp_change *change, struct open open,
				 uint32_t taken_cnt, struct pathprof_walked *ended)
{
	uint32_t age = open.path ? taken_cnt - open.born : 0;

	ended->path = change->end;
	ended->span = age + change->late;
	ended->crosses = change->crosses;
	if (PP_UNLIKELY(change->end_cnt > 1))
		end_several(walker, change, age, ended);
	return change->end_cnt;
}

/* A return: the path below goes on. */
static inline void uncover(struct walk *walk, const struct ring *ring)
{
	walk->top.path = 0;
	if (walk->end == walk->begin)
		return;
	walk->end--;
	walk->top = ring->open[walk->end % RING_SLOTS];
}

/* A full stack drops its oldest entry. */
static inline void cover(struct walk *walk, struct ring *ring, struct open open)
{
	ring->open[walk->end % RING_SLOTS] = open;
	walk->end++;
	if (PP_UNLIKELY(walk->end - walk->begin >= PP_PATH_STACK_DEPTH))
		walk->begin++;
}

static inline void put_paths(struct walk *walk, struct ring *ring, const struct pp_change *change)
{
	uint32_t born = change->is_old ? walk->top.born : walk->taken_cnt + change->low_late;

	if (!change->put_cnt) {
		uncover(walk, ring);
		return;
	}
	if (change->put_cnt > 1) {
		cover(walk, ring, (struct open){change->low, born});
		born = walk->taken_cnt + change->high_late;
	}
	walk->top = (struct open){change->high, born};
}

static inline void put_piece(struct walk *walk, const struct pp_change *change)
{
	walk->piece.path = change->high;
	if (!change->is_old)
		walk->piece.born = walk->taken_cnt + change->high_late;
}

/* Finds or learns a step other than the one that was guessed. 0 and its index; a refusal; or
 * negative. */
static __attribute__((noinline)) int find_step(struct pathprof_walker *walker, uint64_t key,
					       uint32_t last, uint32_t *ret_index)
{
	int r = 0;

	*ret_index = pp_steps_find(&walker->steps, key);
	if (PP_UNLIKELY(*ret_index == PP_TABLE_NONE))
		r = learn(walker, key, ret_index);
	if (r == 0)
		walker->steps.steps[last].next = *ret_index;
	return r;
}

int pathprof_walk(struct pathprof_walker *walker, const uint32_t *branches, uint32_t cnt,
		  struct pathprof_walk_ends *ret_ends)
{
	const struct pp_step *steps = walker->steps.steps;
	struct walk walk = {.before = 0};
	struct ring ring;

	if (!cnt)
		return PATHPROF_REFUSED_EMPTY;
	if (walker->is_full)
		return -ENOSPC;
	for (; walk.taken_cnt < cnt; walk.taken_cnt++) {
		uint32_t branch = branches[walk.taken_cnt], index = steps[walk.last].next;
		uint64_t key = pp_step_key(walk.top.path, walk.piece.path, walk.before, branch);

		if (steps[index].key != key) {
			int r = find_step(walker, key, walk.last, &index);

			if (r)
				return r;
			steps = walker->steps.steps;
		}
		walk.total_cnt += steps[index].branch_cnt;
		if (PP_UNLIKELY(walk.total_cnt > PATHPROF_BURST_MAX))
			return PATHPROF_REFUSED_TOO_LONG;
		walk.ended_cnt += end_paths(walker, &steps[index].paths, walk.top, walk.taken_cnt,
					    ret_ends->paths + walk.ended_cnt);
		put_paths(&walk, &ring, &steps[index].paths);
		walk.piece_cnt += end_paths(walker, &steps[index].pieces, walk.piece,
					    walk.taken_cnt, ret_ends->pieces + walk.piece_cnt);
		put_piece(&walk, &steps[index].pieces);
		walk.before = branch;
		walk.last = index;
	}
	ret_ends->path_cnt = walk.ended_cnt;
	ret_ends->piece_cnt = walk.piece_cnt;
	return 0;
}
