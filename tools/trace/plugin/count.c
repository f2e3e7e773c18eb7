// SPDX-License-Identifier: GPL-2.0-or-later
/* See count.h. */
#include "count.h"

#include <stdlib.h>
#include <string.h>

#include "../../../libprofile/core/pp_path_stack.h"
#include "pathprof/trace_format.h"
#include "record.h"

#define DEPTH        1024 /* entries kept; a power of two */
#define HANDLERS_MAX 64   /* as many as readers of a trace keep */
#define PLACES_FIRST 4096 /* places of the table of pairs */
#define NOWHERE      UINT64_MAX

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct entry {
	uint32_t node, length;
};

/* The path stack of the program, or of one active handler. Entries are a ring; the newest is at
 * top. */
struct stack {
	uint32_t top, depth;
	uint32_t known;  /* how many of the entries a path stack of 32 has as well */
	uint32_t before; /* the piece that the last call or return ended; 0: none before this one */
	struct entry piece; /* the current one; node 0: none */
	struct entry entries[DEPTH];
};

struct counter {
	struct pp_follow follow;
	struct stack *stack; /* the one in use: stacks[stack_cnt - 1] */
	struct stack *stacks[HANDLERS_MAX];
	uint32_t stack_cnt;
};

static struct trace_arena *arena;

/* ---------------------------------------------------------------- nodes */

static inline void add_one(uint64_t *count)
{
	if (record_threads)
		__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	else
		++*count;
}

/* One thread at a time adds nodes and pairs. A program of one thread needs no lock. */
static void lock(void)
{
	if (record_threads)
		plugin_lock();
}

static void unlock(void)
{
	if (record_threads)
		plugin_unlock();
}

/* 0: no room. Under plugin_lock(). */
static uint32_t new_node(void)
{
	return arena->node_cnt < TRACE_NODE_CNT ? arena->node_cnt++ : 0;
}

static __attribute__((noinline)) uint32_t make_child(struct trace_node *node, uint32_t taken)
{
	uint32_t child;

	if (node == arena->nodes)
		return 0;
	lock();
	child = node->child[taken];
	if (!child) {
		child = new_node();
		/* Pairs with child_of(): the node is empty when another thread finds it. */
		__atomic_store_n(&node->child[taken], child, __ATOMIC_RELEASE);
	}
	unlock();
	return child;
}

static inline uint32_t child_of(uint32_t index, uint32_t taken)
{
	struct trace_node *node = &arena->nodes[index];
	uint32_t child = __atomic_load_n(&node->child[taken], __ATOMIC_ACQUIRE);

	return likely(child) ? child : make_child(node, taken);
}

static __attribute__((noinline)) uint32_t make_root(struct block *block)
{
	uint32_t node;

	lock();
	node = block->root;
	if (!node && arena->root_cnt < TRACE_ROOT_CNT) {
		node = new_node();
		arena->roots[arena->root_cnt] = (struct trace_root){
			.start = block->as.start, .module = block->as.module, .node = node};
		arena->root_cnt += node != 0;
		__atomic_store_n(&block->root, node, __ATOMIC_RELEASE);
	}
	unlock();
	return node;
}

static inline uint32_t root_of(struct block *block)
{
	uint32_t root = __atomic_load_n(&block->root, __ATOMIC_ACQUIRE);

	return likely(root) ? root : make_root(block);
}

/* ---------------------------------------------------------------- segments */

/* Table of pairs by their nodes, at most half full. Under plugin_lock(). */
static uint32_t *places, place_cnt;

static uint32_t *place_of(uint32_t first, uint32_t second)
{
	uint64_t hash = ((uint64_t)first << 32 | second) * 0x9e3779b97f4a7c15ull;
	uint32_t i = (uint32_t)(hash >> 32) & (place_cnt - 1);

	while (places[i] &&
	       (arena->pairs[places[i]].first != first || arena->pairs[places[i]].second != second))
		i = (i + 1) & (place_cnt - 1);
	return &places[i];
}

static bool make_places(uint32_t cnt)
{
	uint32_t *made = calloc(cnt, sizeof(*made));

	if (!made)
		return false;
	free(places);
	places = made;
	place_cnt = cnt;
	for (uint32_t i = 1; i < arena->pair_cnt; i++)
		*place_of(arena->pairs[i].first, arena->pairs[i].second) = i;
	return true;
}

static uint32_t find_pair(uint32_t first, uint32_t second)
{
	uint32_t *place;

	if (arena->pair_cnt * 2 >= place_cnt && !make_places(place_cnt * 2))
		return 0;
	place = place_of(first, second);
	if (!*place && arena->pair_cnt < TRACE_PAIR_CNT) {
		arena->pairs[arena->pair_cnt] =
			(struct trace_pair){.first = first, .second = second};
		*place = arena->pair_cnt++;
	}
	return *place;
}

static __attribute__((noinline)) void look_up_pair(uint32_t first, uint32_t second)
{
	uint32_t pair;

	lock();
	pair = find_pair(first, second);
	if (pair) {
		add_one(&arena->pairs[pair].cnt);
		/* Pairs with count_pair(): the members of the pair are complete. */
		__atomic_store_n(&arena->nodes[first].pair, pair, __ATOMIC_RELEASE);
	} else {
		arena->lost_pairs = 1;
	}
	unlock();
}

/* A piece is mostly followed by the one that followed it last. */
static inline void count_pair(uint32_t first, uint32_t second)
{
	uint32_t pair = __atomic_load_n(&arena->nodes[first].pair, __ATOMIC_ACQUIRE);

	if (likely(arena->pairs[pair].second == second))
		add_one(&arena->pairs[pair].cnt);
	else
		look_up_pair(first, second);
}

/* ---------------------------------------------------------------- paths and pieces */

static inline struct entry *top_of(struct stack *s)
{
	return &s->entries[s->top & (DEPTH - 1)];
}

static inline void end_path(const struct stack *s, uint32_t node)
{
	if (likely(s->known))
		add_one(&arena->nodes[node].paths);
	else
		__atomic_store_n(&arena->nodes[node].deep, 1, __ATOMIC_RELAXED);
}

static inline void push(struct stack *s, uint32_t root)
{
	s->top++;
	s->depth += s->depth < DEPTH;
	s->known += s->known < PP_PATH_STACK_DEPTH;
	*top_of(s) = (struct entry){.node = root};
}

static inline void end_piece(struct stack *s, uint32_t root, bool crosses)
{
	uint32_t ended = s->piece.node;

	s->piece = (struct entry){.node = root};
	if (likely(ended)) {
		add_one(&arena->nodes[ended].pieces);
		if (s->before)
			count_pair(s->before, ended);
	}
	s->before = crosses ? ended : 0;
}

/*
 * Adds the branch to the path and to the piece, which are one node until the path's first call.
 * Returns true if one of them has reached its greatest length.
 */
static inline bool extend(struct stack *s, uint32_t taken)
{
	struct entry *path = top_of(s), *piece = &s->piece;
	uint32_t before = path->node;

	if (likely(s->depth)) {
		path->node = child_of(before, taken);
		path->length++;
	}
	if (likely(piece->node)) {
		piece->node = likely(s->depth && piece->node == before)
				      ? path->node
				      : child_of(piece->node, taken);
		piece->length++;
	}
	return (s->depth && path->length == PP_PATH_LENGTH_MAX) ||
	       piece->length == PP_PATH_LENGTH_MAX;
}

static __attribute__((noinline)) void cut(struct stack *s, struct block *next)
{
	struct entry *path = top_of(s);

	if (s->depth && path->length == PP_PATH_LENGTH_MAX) {
		end_path(s, path->node);
		*path = (struct entry){.node = root_of(next)};
	}
	if (s->piece.length == PP_PATH_LENGTH_MAX)
		end_piece(s, root_of(next), false);
}

static inline void forward(struct stack *s, uint32_t taken, struct block *next)
{
	if (unlikely(extend(s, taken)))
		cut(s, next);
}

static inline void turn(struct stack *s, uint32_t taken, struct block *next)
{
	uint32_t root = root_of(next);

	extend(s, taken);
	if (likely(s->depth)) {
		end_path(s, top_of(s)->node);
		*top_of(s) = (struct entry){.node = root};
		s->known += !s->known;
	} else {
		push(s, root);
	}
	end_piece(s, root, false);
}

static inline void call(struct stack *s, struct block *next)
{
	uint32_t root = root_of(next);

	push(s, root);
	end_piece(s, root, true);
}

static inline void give_back(struct stack *s, struct block *next)
{
	if (likely(s->depth)) {
		end_path(s, top_of(s)->node);
		s->top--;
		s->depth--;
		s->known -= s->known != 0;
	}
	end_piece(s, root_of(next), true);
}

static __attribute__((noinline)) void step(struct stack *s, enum count_step step, uint32_t taken,
					   struct block *next)
{
	switch (step) {
	case COUNT_STEP_NONE:
		break;
	case COUNT_STEP_FORWARD:
		forward(s, taken, next);
		break;
	case COUNT_STEP_TURN:
		turn(s, taken, next);
		break;
	case COUNT_STEP_CALL:
		call(s, next);
		break;
	case COUNT_STEP_RETURN:
		give_back(s, next);
		break;
	}
}

static enum count_step step_of(uint32_t kind, uint64_t from, uint64_t target)
{
	const struct pp_branch branch = {
		.from = from, .target = target, .info = PP_BRANCH_INFO(kind, 1)};

	switch (pp_branch_class(&branch)) {
	case PP_CLASS_CALL:
		return COUNT_STEP_CALL;
	case PP_CLASS_RETURN:
		return COUNT_STEP_RETURN;
	case PP_CLASS_FORWARD:
		return COUNT_STEP_FORWARD;
	default:
		return COUNT_STEP_TURN;
	}
}

void count_describe(struct block *block)
{
	const struct pp_trace_block *as = &block->as;
	bool is_branch = pp_follow_is_branch(as), is_cond = as->kind == PP_KIND_COND;

	block->step = is_branch ? (uint8_t)step_of(as->kind, block->last_pc, as->target)
				: COUNT_STEP_NONE;
	block->anywhere = is_branch && !as->target;
	block->fall = is_branch && !is_cond ? NOWHERE : pp_trace_block_end(as);
}

/* ---------------------------------------------------------------- signals and jumps */

/* If there are too many stacks, or no memory for one more, the oldest is lost. Returns false if
 * there is none at all. */
static bool enter_handler(struct counter *c)
{
	struct stack *made = c->stack_cnt < HANDLERS_MAX ? calloc(1, sizeof(*made)) : NULL;

	if (!made && !c->stack_cnt)
		return false;
	if (!made) {
		made = c->stacks[0];
		memmove(c->stacks, c->stacks + 1, --c->stack_cnt * sizeof(c->stacks[0]));
		memset(made, 0, offsetof(struct stack, entries));
	}
	c->stacks[c->stack_cnt++] = made;
	c->stack = made;
	return true;
}

static void leave_handler(struct counter *c)
{
	if (c->stack_cnt <= 1)
		return;
	free(c->stacks[--c->stack_cnt]);
	c->stack = c->stacks[c->stack_cnt - 1];
}

static void take_event(struct counter *c, const struct pathprof_trace_event *event,
		       struct block *next)
{
	const struct pathprof_branch *b = &event->branch;

	switch (event->type) {
	case PATHPROF_TRACE_EVENT_BRANCH:
		step(c->stack, step_of(b->kind, b->from, b->target), b->taken, next);
		break;
	case PATHPROF_TRACE_EVENT_SIGNAL:
		enter_handler(c);
		break;
	case PATHPROF_TRACE_EVENT_SIGRETURN:
		leave_handler(c);
		break;
	default:
		memset(c->stack, 0, offsetof(struct stack, entries));
	}
}

static __attribute__((noinline)) void follow_rare(struct counter *c, struct block *block)
{
	struct pp_follow *f = &c->follow;
	struct pathprof_trace_event event;

	if (pp_follow_step(f, &block->as, &event))
		take_event(c, &event, block);
	for (uint32_t i = 0; i < f->held_cnt; i++)
		take_event(c, &f->held[i], block);
	f->held_cnt = 0;
}

/* ---------------------------------------------------------------- blocks */

/* Does b follow a as the last instruction of a says? Not all of it: a block may be restarted. */
static inline bool goes_on(const struct block *a, const struct block *b)
{
	return b->as.start == a->as.target || b->as.start == a->fall || a->anywhere;
}

/* A branch that goes neither to its target nor to the next instruction counts as taken. */
static inline uint32_t is_taken(const struct block *a, const struct block *b)
{
	return b->as.start == a->as.target || b->as.start != a->fall;
}

/* Handles any block. */
static __attribute__((noinline)) void enter(struct counter *c, struct block *block, bool reached)
{
	const struct block *last;

	if (unlikely(!c))
		return;
	/* A block begins with the members that pp_follow.h uses. */
	last = (const struct block *)c->follow.last;
	if (!reached && last)
		c->follow.is_left = true;
	else if (block->turns && record_is_turn(last, block))
		return;
	if (unlikely(!last || !reached || c->follow.is_sigreturn || block->as.is_handler ||
		     !goes_on(last, block))) {
		follow_rare(c, block);
		return;
	}
	c->follow.last = &block->as;
	step(c->stack, last->step, is_taken(last, block), block);
}

/* ---------------------------------------------------------------- the usual case
 *
 * Nearly every block goes on where the forest, its root and the pair are there already. All of that
 * is looked up first, and then counted without a call of anything, so that nothing has to be saved:
 * what is not there yet goes the way above. It is for programs of one thread.
 */

/* The nodes to which a branch leads from the path and the piece. */
struct next_nodes {
	uint32_t path, piece;
};

/* Returns false if a node does not exist yet, there is no path or piece, or one of them is too
 * long. */
static inline __attribute__((always_inline)) bool
look_ahead(const struct stack *s, const struct entry *path, uint32_t taken, struct next_nodes *ret)
{
	const struct trace_node *nodes = arena->nodes;

	if (unlikely(!s->depth || !s->piece.node))
		return false;
	ret->path = nodes[path->node].child[taken];
	ret->piece = nodes[s->piece.node].child[taken];
	return likely(ret->path && ret->piece && path->length < PP_PATH_LENGTH_MAX - 1 &&
		      s->piece.length < PP_PATH_LENGTH_MAX - 1);
}

static inline __attribute__((always_inline)) bool usual_forward(struct stack *s, uint32_t taken)
{
	struct entry *path = top_of(s);
	struct next_nodes to;

	if (!look_ahead(s, path, taken, &to))
		return false;
	path->node = to.path;
	path->length++;
	s->piece.node = to.piece;
	s->piece.length++;
	return true;
}

/* Finds the pair that ends with this piece, 0 if none is to be counted. Returns false if it must be
 * searched for. */
static inline __attribute__((always_inline)) bool usual_pair(const struct stack *s, uint32_t ended,
							     uint32_t *ret_pair)
{
	*ret_pair = 0;
	if (!s->before)
		return true;
	*ret_pair = arena->nodes[s->before].pair;
	return arena->pairs[*ret_pair].second == ended;
}

static inline __attribute__((always_inline)) void
usual_piece(struct stack *s, uint32_t ended, uint32_t pair, uint32_t root, bool crosses)
{
	arena->nodes[ended].pieces++;
	if (pair)
		arena->pairs[pair].cnt++;
	s->piece.node = root;
	s->piece.length = 0;
	s->before = crosses ? ended : 0;
}

static inline __attribute__((always_inline)) bool usual_turn(struct stack *s, uint32_t taken,
							     uint32_t root)
{
	struct entry *path = top_of(s);
	struct next_nodes to;
	uint32_t pair;

	if (unlikely(!root || !s->known) || !look_ahead(s, path, taken, &to) ||
	    !usual_pair(s, to.piece, &pair))
		return false;
	arena->nodes[to.path].paths++;
	path->node = root;
	path->length = 0;
	usual_piece(s, to.piece, pair, root, false);
	return true;
}

static inline __attribute__((always_inline)) bool usual_call(struct stack *s, uint32_t root)
{
	uint32_t ended = s->piece.node, pair;
	struct entry *path;

	if (unlikely(!root || !ended) || !usual_pair(s, ended, &pair))
		return false;
	s->top++;
	s->depth += s->depth < DEPTH;
	s->known += s->known < PP_PATH_STACK_DEPTH;
	path = top_of(s);
	path->node = root;
	path->length = 0;
	usual_piece(s, ended, pair, root, true);
	return true;
}

static inline __attribute__((always_inline)) bool usual_return(struct stack *s, uint32_t root)
{
	uint32_t ended = s->piece.node, pair;

	if (unlikely(!root || !ended || !s->depth || !s->known) || !usual_pair(s, ended, &pair))
		return false;
	arena->nodes[top_of(s)->node].paths++;
	s->top--;
	s->depth--;
	s->known--;
	usual_piece(s, ended, pair, root, true);
	return true;
}

static inline __attribute__((always_inline)) bool
usual_step(struct stack *s, enum count_step step, uint32_t taken, const struct block *next)
{
	if (step == COUNT_STEP_FORWARD)
		return usual_forward(s, taken);
	if (step == COUNT_STEP_TURN)
		return usual_turn(s, taken, next->root);
	if (step == COUNT_STEP_CALL)
		return usual_call(s, next->root);
	return step == COUNT_STEP_NONE || usual_return(s, next->root);
}

/* Returns false if nothing was done. */
static inline __attribute__((always_inline)) bool usual_enter(struct counter *c,
							      struct block *block, bool reached)
{
	const struct block *last;

	if (unlikely(!c))
		return true;
	last = (const struct block *)c->follow.last;
	if (unlikely(!last || !reached || block->turns || c->follow.is_sigreturn ||
		     block->as.is_handler) ||
	    unlikely(!goes_on(last, block)) ||
	    !usual_step(c->stack, last->step, is_taken(last, block), block))
		return false;
	c->follow.last = &block->as;
	return true;
}

void count_block(unsigned vcpu, void *data)
{
	struct recorder *r = record_of(vcpu);
	bool reached = record_arrivals != r->arrivals;

	r->arrivals = record_arrivals;
	if (!usual_enter(r->counter, data, reached))
		enter(r->counter, data, reached);
}

void count_block_threads(unsigned vcpu, void *data)
{
	struct recorder *r = record_of(vcpu);
	bool reached = r->reached;

	r->reached = false;
	enter(r->counter, data, reached);
}

void count_sigreturn(struct counter *counter)
{
	if (counter)
		counter->follow.is_sigreturn = true;
}

/* ---------------------------------------------------------------- beginning and ending */

void count_open(uint32_t slot)
{
	block_forget_roots();
	arena = trace_share_arena(plugin_share, slot);
	arena->node_cnt = arena->pair_cnt = 1;
	if (!make_places(PLACES_FIRST))
		arena = NULL;
}

struct counter *count_begin(void)
{
	struct counter *c = arena ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	if (enter_handler(c))
		return c;
	free(c);
	return NULL;
}

void count_end(struct counter *counter)
{
	if (!counter)
		return;
	while (counter->stack_cnt)
		free(counter->stacks[--counter->stack_cnt]);
	free(counter);
}
