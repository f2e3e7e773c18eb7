/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The path stack (EOPP 5.2): cuts a branch stream into paths. An entry for every active procedure
 * holds the path that procedure is on. The effect of a branch on the stack is looked up by its
 * class in a programmable table (the thesis' PPCR), in the fixed order update, pop, push.
 *
 * Chosen where the thesis is silent: a pushed entry starts at the address that runs next; a path
 * that reaches max_length is popped and a new one begins there; a full stack drops its oldest
 * entry; on an empty stack nothing is counted until the next push. Extended paths: a branch that
 * is allowed to extend its path performs its update (or update-count) only.
 *
 * Any context; the caller owns the stack (one a thread, or one a CPU cleared at each window).
 */
#ifndef PP_PATH_STACK_H
#define PP_PATH_STACK_H

#include "pp_types.h"

#define PP_PATH_STACK_DEPTH 32
#define PP_PATH_LENGTH_MAX  32

enum pp_class {
	PP_CLASS_CALL = 0,
	PP_CLASS_RETURN = 1,
	PP_CLASS_FORWARD = 2,
	PP_CLASS_BACKWARD = 3,
	PP_CLASS_INDIRECT = 4,
	PP_CLASS_CNT = 8, /* a power of two, for masking */
};

/* Operations; update and update-count exclude one another. */
#define PP_OP_UPDATE       1
#define PP_OP_UPDATE_COUNT 2
#define PP_OP_POP          4
#define PP_OP_PUSH         8

enum pp_extend {
	PP_EXTEND_NONE = 0,
	PP_EXTEND_LOOP = 1, /* over backward branches */
	PP_EXTEND_CALL = 2, /* over calls, until their returns */
};

struct pp_path_config {
	__u8 ops[PP_CLASS_CNT]; /* the table: PP_OP_* by class */
	__u32 max_length;       /* 1..PP_PATH_LENGTH_MAX branches */
	__u32 extend;           /* enum pp_extend */
	__u32 extensions;       /* m: most extensions of one path */
	__u32 pad;
};

struct pp_path_entry {
	__u64 start;
	__u64 desc; /* PP_DESC() */
	__u64 events;
	__u32 extended; /* extension counter */
	__u32 born;     /* low bits of pp_path_stack.taken when it was pushed */
};

struct pp_path_stack {
	struct pp_path_entry entry[PP_PATH_STACK_DEPTH];
	__u64 taken; /* taken branches seen */
	__u32 top;   /* slot of the top entry, modulo the depth */
	__u32 depth; /* entries in use */
};

/* EOPP table 5.1: Ball-Larus paths that end at backward branches. */
PP_INLINE void pp_path_config_bl(struct pp_path_config *ret_config)
{
	struct pp_path_config *c = ret_config;

	c->ops[PP_CLASS_CALL] = PP_OP_UPDATE_COUNT | PP_OP_PUSH;
	c->ops[PP_CLASS_RETURN] = PP_OP_UPDATE_COUNT | PP_OP_POP;
	c->ops[PP_CLASS_FORWARD] = PP_OP_UPDATE;
	c->ops[PP_CLASS_BACKWARD] = PP_OP_UPDATE | PP_OP_POP | PP_OP_PUSH;
	c->ops[PP_CLASS_INDIRECT] = PP_OP_UPDATE | PP_OP_POP | PP_OP_PUSH;
	c->ops[5] = c->ops[6] = c->ops[7] = 0;
	c->max_length = PP_PATH_LENGTH_MAX;
	c->extend = PP_EXTEND_NONE;
	c->extensions = c->pad = 0;
}

/* EOPP table 5.2: paths that end at calls and returns too, for a whole program path. */
PP_INLINE void pp_path_config_wpp(struct pp_path_config *ret_config)
{
	pp_path_config_bl(ret_config);
	ret_config->ops[PP_CLASS_CALL] |= PP_OP_POP;
	ret_config->ops[PP_CLASS_RETURN] |= PP_OP_PUSH;
}

/*
 * Kinds follow one another without a pattern, so nothing here may be a jump that the processor has
 * to guess: a nibble a kind, and one more for a direct branch that goes back.
 */
#define PP_CLASS_OF_KIND                                                                           \
	((__u64)PP_CLASS_FORWARD | (__u64)PP_CLASS_FORWARD << 4 * PP_KIND_COND |                   \
	 (__u64)PP_CLASS_FORWARD << 4 * PP_KIND_JMP |                                              \
	 (__u64)PP_CLASS_INDIRECT << 4 * PP_KIND_IJMP | (__u64)PP_CLASS_CALL << 4 * PP_KIND_CALL | \
	 (__u64)PP_CLASS_CALL << 4 * PP_KIND_ICALL | (__u64)PP_CLASS_RETURN << 4 * PP_KIND_RET)

PP_INLINE __u32 pp_branch_class(const struct pp_branch *b)
{
	__u32 kind = PP_BRANCH_KIND(b->info), class_;

	if (PP_UNLIKELY(kind >= PP_KIND_CNT))
		kind = PP_KIND_NONE;
	class_ = (__u32)(PP_CLASS_OF_KIND >> (4 * kind)) & 7;
	return class_ + ((b->target <= b->from) & class_ >> 1);
}

/* 1: the branch extends the path instead of ending it or starting another. */
PP_INLINE __u32 pp_path_extends(struct pp_path_entry *e, const struct pp_path_config *config,
				__u32 class_)
{
	if (PP_LIKELY(config->extend == PP_EXTEND_NONE))
		return 0;
	if (config->extend == PP_EXTEND_CALL && class_ == PP_CLASS_RETURN) {
		if (!e->extended)
			return 0;
		e->extended--;
		return 1;
	}
	if (class_ != (config->extend == PP_EXTEND_LOOP ? PP_CLASS_BACKWARD : PP_CLASS_CALL) ||
	    e->extended >= config->extensions)
		return 0;
	e->extended++;
	return 1;
}

/*
 * Adds the branch to the path as ops say. 1: the path has reached its greatest length. Outcomes are
 * free of jumps, for the same reason as pp_branch_class(); the test for counted events is true for
 * every class of both published tables, hence well predicted.
 */
PP_INLINE __u32 pp_path_update(struct pp_path_entry *e, const struct pp_branch *b, __u32 ops,
			       __u32 max_length)
{
	__u64 updates = ops & PP_OP_UPDATE;
	__u32 length = (__u32)(e->desc >> 32);

	if (PP_LIKELY(ops & (PP_OP_UPDATE | PP_OP_UPDATE_COUNT)))
		e->events += b->events;
	e->desc =
		(e->desc | (PP_BRANCH_TAKEN(b->info) & updates) << (length & 31)) + (updates << 32);
	return (length + updates >= max_length) & updates;
}

PP_INLINE void pp_path_read(const struct pp_path_stack *s, const struct pp_path_entry *e,
			    struct pp_path *ret_path)
{
	ret_path->start = e->start;
	ret_path->desc = e->desc;
	ret_path->events = e->events;
	ret_path->span = (__u32)s->taken - e->born;
}

PP_INLINE void pp_path_begin(const struct pp_path_stack *s, struct pp_path_entry *e, __u64 start)
{
	e->start = start;
	e->desc = 0;
	e->events = 0;
	e->extended = 0;
	e->born = (__u32)s->taken;
}

/* Pops, if pops is 1, what *ret_path then holds; pushes, if pushes is 1, a path from start. */
PP_INLINE void pp_path_turn(struct pp_path_stack *s, __u32 pops, __u32 pushes, __u64 start,
			    struct pp_path *ret_path)
{
	__u32 depth = s->depth - pops + pushes;
	__u32 top = (s->top - pops + pushes) & (PP_PATH_STACK_DEPTH - 1);

	if (pops)
		pp_path_read(s, &s->entry[PP_MASK(s->top, PP_PATH_STACK_DEPTH - 1)], ret_path);
	if (pushes)
		pp_path_begin(s, &s->entry[PP_MASK(top, PP_PATH_STACK_DEPTH - 1)], start);
	s->top = top;
	s->depth = depth <= PP_PATH_STACK_DEPTH ? depth : PP_PATH_STACK_DEPTH;
}

/* The stack is not empty. */
PP_INLINE void pp_path_pop(struct pp_path_stack *s, struct pp_path *ret_path)
{
	pp_path_turn(s, 1, 0, 0, ret_path);
}

/* Forgets everything: a new window, or a repair after an exception, a signal or a longjmp. */
PP_INLINE void pp_path_stack_clear(struct pp_path_stack *s)
{
	s->depth = 0;
}

/* One executed branch. 1: a path ended and *ret_path is filled. */
PP_INLINE __u32 pp_path_stack_step(struct pp_path_stack *s, const struct pp_path_config *config,
				   const struct pp_branch *b, struct pp_path *ret_path)
{
	struct pp_path_entry *e = &s->entry[PP_MASK(s->top, PP_PATH_STACK_DEPTH - 1)];
	__u32 class_ = pp_branch_class(b), pops;
	__u32 ops = config->ops[PP_MASK(class_, PP_CLASS_CNT - 1)];

	s->taken += PP_BRANCH_TAKEN(b->info);
	if (PP_LIKELY(s->depth)) {
		if (pp_path_extends(e, config, class_))
			ops &= PP_OP_UPDATE | PP_OP_UPDATE_COUNT;
		if (pp_path_update(e, b, ops, config->max_length))
			ops |= PP_OP_POP | PP_OP_PUSH;
	} else {
		ops &= PP_OP_PUSH;
	}
	if (!(ops & (PP_OP_POP | PP_OP_PUSH)))
		return 0;
	pops = ops / PP_OP_POP & 1;
	pp_path_turn(s, pops, ops / PP_OP_PUSH & 1, b->next, ret_path);
	return pops;
}

#endif
