// SPDX-License-Identifier: GPL-2.0-or-later
#include "oracle_path.h"

#include <stdlib.h>
#include <string.h>

#include "oracle_compress.h"

enum branch_class { CALL, RETURN, FORWARD, BACKWARD, INDIRECT };

struct operations {
	bool update, update_count, pop, push;
};

void oracle_path_stack_init(struct oracle_path_stack *s, const struct oracle_path_config *config)
{
	*s = (struct oracle_path_stack){.config = *config};
}

void oracle_path_stack_release(struct oracle_path_stack *s)
{
	free(s->path);
}

static enum branch_class class_of(const struct oracle_path_config *config,
				  const struct oracle_branch *b)
{
	if (b->kind == 'c' || b->kind == 'C')
		return CALL;
	if (b->kind == 'r')
		return RETURN;
	if (b->kind == 'i')
		return INDIRECT;
	if (b->target == b->from)
		return config->self_is_forward ? FORWARD : BACKWARD;
	return b->target < b->from ? BACKWARD : FORWARD;
}

/* The two tables, row by row. */
static struct operations operations_of(bool whole_program, enum branch_class class)
{
	struct operations none = {0};

	switch (class) {
	case CALL:
		return (struct operations){
			.update_count = true, .pop = whole_program, .push = true};
	case RETURN:
		return (struct operations){
			.update_count = true, .pop = true, .push = whole_program};
	case FORWARD:
		return (struct operations){.update = true};
	case BACKWARD:
	case INDIRECT:
		return (struct operations){.update = true, .pop = true, .push = true};
	}
	return none;
}

/* Whether the path on top goes on over this branch. */
static bool goes_on(const struct oracle_path_config *config, struct oracle_path *top,
		    enum branch_class class)
{
	bool loop = config->extend == ORACLE_EXTEND_LOOP && class == BACKWARD;
	bool call = config->extend == ORACLE_EXTEND_CALL && class == CALL;

	if ((loop || call) && top->extended < config->extensions) {
		top->extended++;
		return true;
	}
	if (config->extend == ORACLE_EXTEND_CALL && class == RETURN && top->extended > 0) {
		if (!config->return_keeps_extended)
			top->extended--;
		return true;
	}
	return false;
}

static void push(struct oracle_path_stack *s, uint64_t start)
{
	if (s->cnt == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->path = reallocarray(s->path, s->room, sizeof(*s->path));
		if (!s->path)
			abort();
	}
	s->path[s->cnt++] = (struct oracle_path){.start = start};
	if (s->cnt - s->lost > s->config.depth)
		s->lost++;
}

bool oracle_path_stack_pop(struct oracle_path_stack *s, struct oracle_path *ret_path)
{
	if (s->cnt == s->lost)
		return false;
	*ret_path = s->path[--s->cnt];
	return true;
}

bool oracle_path_stack_step(struct oracle_path_stack *s, const struct oracle_branch *b,
			    struct oracle_path *ret_path)
{
	enum branch_class class = class_of(&s->config, b);
	struct operations ops = operations_of(s->config.whole_program, class);
	struct oracle_path *top = s->cnt > s->lost ? &s->path[s->cnt - 1] : NULL;
	bool popped = false;

	for (size_t i = s->lost; i < s->cnt; i++)
		s->path[i].span += b->taken;
	if (top && goes_on(&s->config, top, class))
		ops.pop = ops.push = false;
	if (top && ops.update) {
		top->outcome[top->length++] = b->taken;
		if (top->length == s->config.max_length)
			ops.pop = ops.push = true;
	}
	if (top && (ops.update || ops.update_count))
		top->events += b->events;
	if (ops.pop)
		popped = oracle_path_stack_pop(s, ret_path);
	if (ops.push)
		push(s, b->next);
	return popped;
}

uint32_t oracle_path_outcomes(const struct oracle_path *path)
{
	uint64_t outcomes = 0, bit = 1;

	for (uint32_t i = 0; i < path->length; i++, bit *= 2)
		outcomes += path->outcome[i] ? bit : 0;
	return (uint32_t)outcomes;
}

static char draw_kind(struct stream *s, enum branch_mix mix)
{
	static const char *const kinds[BRANCH_MIX_CNT] = {
		[BRANCH_MIXED] = "cCrijb",
		[BRANCH_LOOPS] = "bbbbbbbbbbbbbbj",
		[BRANCH_DEEP] = "ccccccccCcbb",
		[BRANCH_RETURNS] = "rrrrcbbb",
		[BRANCH_FORWARD] = "bbbbbbbbbbbbbbbbbbbbbbbj",
	};
	const char *set = kinds[mix];

	/* Runs of 128: down, then up. */
	if (mix == BRANCH_DEEP && s->drawn / 128 % 2)
		set = "rrrrrrrrrbb";
	return set[stream_random(&s->random) % strlen(set)];
}

/* Addresses are 1 KiB of code, low or high; targets lie close, before, behind, or on the branch. */
struct oracle_branch oracle_branch_draw(struct stream *s, enum branch_mix mix)
{
	struct oracle_branch b = {.kind = draw_kind(s, mix), .taken = true};
	uint64_t draw = stream_random(&s->random);

	s->drawn++;
	b.from = (s->high ? 0xffffffff81000000ULL : 0x401000) + draw % 256 * 4;
	b.target = b.from - 32 + (draw >> 8) % 17 * 4;
	if (mix == BRANCH_FORWARD && (draw >> 16) % 64)
		b.target = b.from + 4 + (draw >> 8) % 17 * 4;
	if (b.kind == 'b')
		b.taken = draw >> 24 & 1;
	b.next = b.taken ? b.target : b.from + 2;
	b.events = (draw >> 32) % 4;
	return b;
}

void oracle_hot_paths_init(struct oracle_hot_paths *t, unsigned int bits, uint32_t way_cnt)
{
	*t = (struct oracle_hot_paths){.ways = calloc((size_t)way_cnt << bits, sizeof(*t->ways)),
				       .way_cnt = way_cnt,
				       .bits = bits};
	if (!t->ways)
		abort();
}

void oracle_hot_paths_release(struct oracle_hot_paths *t)
{
	free(t->ways);
}

static struct oracle_hot *victim_of(const struct oracle_hot_paths *t, struct oracle_hot *set)
{
	struct oracle_hot *least = &set[0];

	for (uint32_t i = 0; i < t->way_cnt; i++)
		if (!set[i].used)
			return &set[i];
	for (uint32_t i = 1; i < t->way_cnt; i++)
		if (set[i].count < least->count || (t->tie_highest && set[i].count == least->count))
			least = &set[i];
	return least;
}

bool oracle_hot_paths_add(struct oracle_hot_paths *t, const struct oracle_hot *path,
			  struct oracle_hot *ret_replaced)
{
	uint64_t index = oracle_fold(path->start, t->bits) ^ oracle_fold(path->length, t->bits) ^
			 oracle_fold(path->outcomes, t->bits);
	struct oracle_hot *set = &t->ways[index * t->way_cnt], *victim;

	for (uint32_t i = 0; i < t->way_cnt; i++) {
		if (set[i].used && set[i].start == path->start && set[i].length == path->length &&
		    set[i].outcomes == path->outcomes) {
			set[i].count += path->count;
			return false;
		}
	}
	victim = victim_of(t, set);
	bool replaces = victim->used;
	if (replaces)
		*ret_replaced = *victim;
	*victim = *path;
	victim->used = true;
	return replaces;
}
