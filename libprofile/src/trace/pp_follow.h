/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * From blocks to events: what two blocks that ran one after the other say about the branch between
 * them. The reader of a trace asks this of the words in a file, the plugin in the emulator of the
 * blocks as they run.
 *
 * Workload: hundreds of millions of blocks. The common case, a branch followed by where it led, is
 * one switch; everything rare goes through a queue of two events.
 *
 * Signals: an emulator sees them between blocks. The handler's first block follows a block whose
 * branch has been executed, but where it went shows only when the handler has returned. That branch
 * is kept until then (struct pp_interrupted), one for each handler that is active. A handler that
 * leaves by longjmp never returns: its entry stays at the bottom and falls off in time.
 *
 * Locking: one thread. Ownership: blocks are borrowed and outlive the object.
 */
#ifndef PP_FOLLOW_H
#define PP_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/trace.h"
#include "pathprof/trace_format.h"
#include "../../core/pp_types.h"

#define PP_INTERRUPTED_MAX 64

/* A block as the cursor wants it: two to a cache line. */
struct pp_trace_block {
	uint64_t start, target;
	uint32_t len_bytes;
	uint32_t module; /* id */
	uint16_t last_offset, insn_cnt;
	uint8_t kind;
	bool is_handler; /* a signal handler of some process begins here */
	bool is_defined;
	uint8_t reserved;
};

static inline uint64_t pp_trace_block_end(const struct pp_trace_block *b)
{
	return b->start + b->len_bytes;
}

static inline uint64_t pp_trace_block_last(const struct pp_trace_block *b)
{
	return b->start + b->last_offset;
}

/* How far a block had come when a signal interrupted it. */
enum pp_progress {
	PP_PROGRESS_LEFT,   /* the block had not come to its end */
	PP_PROGRESS_BRANCH, /* its branch was executed; where to is not known */
	PP_PROGRESS_DONE,   /* all of it was executed and it has no branch */
};

struct pp_interrupted {
	const struct pp_trace_block *block;
	enum pp_progress progress;
};

/* One stream. Zero: before its first block. */
struct pp_follow {
	const struct pp_trace_block *last;  /* NULL: before the first */
	bool is_left, is_sigreturn, is_cut; /* marks since the last block */
	uint32_t insn_cnt;                  /* since the last branch */
	uint32_t kernel_insn_cnt;           /* of these, up to the last system call */

	struct pathprof_trace_event held[2]; /* that the caller is to take next */
	unsigned int held_cnt, held_at;

	struct pp_interrupted interrupted[PP_INTERRUPTED_MAX]; /* a ring; the oldest at base */
	unsigned int base, depth;
};

static inline void pp_follow_hold(struct pp_follow *f, const struct pathprof_trace_event *event)
{
	f->held[f->held_cnt++] = *event;
}

static inline void pp_follow_hold_other(struct pp_follow *f, uint32_t type,
					const struct pp_trace_block *from,
					const struct pp_trace_block *next)
{
	const struct pathprof_trace_event event = {
		.type = type,
		.branch = {.from = from ? pp_trace_block_last(from) : 0, .next = next->start},
	};

	pp_follow_hold(f, &event);
}

static inline void pp_follow_push(struct pp_follow *f, const struct pp_trace_block *block,
				  enum pp_progress progress)
{
	f->interrupted[(f->base + f->depth) % PP_INTERRUPTED_MAX] =
		(struct pp_interrupted){.block = block, .progress = progress};
	if (f->depth < PP_INTERRUPTED_MAX)
		f->depth++;
	else
		f->base = (f->base + 1) % PP_INTERRUPTED_MAX;
}

static inline bool pp_follow_pop(struct pp_follow *f, struct pp_interrupted *ret_interrupted)
{
	if (!f->depth)
		return false;
	*ret_interrupted = f->interrupted[(f->base + --f->depth) % PP_INTERRUPTED_MAX];
	return true;
}

static inline bool pp_follow_is_branch(const struct pp_trace_block *b)
{
	return b->kind >= PP_KIND_COND && b->kind <= PP_KIND_RET;
}

/* Can control go from the end of a to the address without anything in between? */
static inline bool pp_follow_leads_to(const struct pp_trace_block *a, uint64_t next)
{
	switch (a->kind) {
	case PP_KIND_COND:
		return next == a->target || next == pp_trace_block_end(a);
	case PP_KIND_JMP:
	case PP_KIND_CALL:
		return next == a->target;
	case PP_KIND_IJMP:
	case PP_KIND_ICALL:
	case PP_KIND_RET:
		return true;
	case PATHPROF_TRACE_ENDS_SYSCALL: /* a system call that is restarted */
	case PATHPROF_TRACE_ENDS_REP:
		return next == pp_trace_block_end(a) || next == pp_trace_block_last(a);
	default:
		return next == pp_trace_block_end(a);
	}
}

/* All of a ran, and it was not a branch that ended it. */
static inline void pp_follow_run_through(struct pp_follow *f, const struct pp_trace_block *a)
{
	f->insn_cnt += a->insn_cnt;
	if (a->kind == PATHPROF_TRACE_ENDS_SYSCALL)
		f->kernel_insn_cnt = f->insn_cnt;
}

static inline void pp_follow_set_branch(struct pathprof_trace_event *event,
					const struct pp_trace_block *a, uint64_t next,
					uint32_t insn_cnt, uint32_t kernel_insn_cnt)
{
	bool is_direct =
		a->kind == PP_KIND_COND || a->kind == PP_KIND_JMP || a->kind == PP_KIND_CALL;

	*event = (struct pathprof_trace_event){
		.type = PATHPROF_TRACE_EVENT_BRANCH,
		.insn_cnt = insn_cnt,
		.kernel_insn_cnt = kernel_insn_cnt,
		.branch = {.from = pp_trace_block_last(a),
			   .target = is_direct ? a->target : next,
			   .next = next,
			   .kind = a->kind,
			   .taken = a->kind != PP_KIND_COND || next == a->target},
	};
}

/* Block b runs after an interruption: checks that it can follow the block that was interrupted. */
static inline void pp_follow_resume(struct pp_follow *f, const struct pp_interrupted *interrupted,
				    const struct pp_trace_block *b)
{
	const struct pp_trace_block *a = interrupted->block;
	struct pathprof_trace_event event;

	if (interrupted->progress == PP_PROGRESS_LEFT) {
		if (b->start < a->start || b->start > pp_trace_block_end(a))
			pp_follow_hold_other(f, PATHPROF_TRACE_EVENT_JUMP, NULL, b);
	} else if (!pp_follow_leads_to(a, b->start)) {
		pp_follow_hold_other(f, PATHPROF_TRACE_EVENT_JUMP, a, b);
	} else if (interrupted->progress == PP_PROGRESS_BRANCH) {
		pp_follow_set_branch(&event, a, b->start, f->insn_cnt + 1, f->kernel_insn_cnt);
		pp_follow_hold(f, &event);
		f->insn_cnt = f->kernel_insn_cnt = 0;
	}
}

/*
 * A handler, whose last block is a, returned to b. When b begins another handler, the kernel had
 * that signal waiting: what the first one interrupted is interrupted still.
 */
static inline void pp_follow_sigreturn(struct pp_follow *f, const struct pp_trace_block *a,
				       const struct pp_trace_block *b)
{
	struct pp_interrupted interrupted;

	pp_follow_hold_other(f, PATHPROF_TRACE_EVENT_SIGRETURN, a, b);
	if (b->is_handler)
		pp_follow_hold_other(f, PATHPROF_TRACE_EVENT_SIGNAL, NULL, b);
	else if (pp_follow_pop(f, &interrupted))
		pp_follow_resume(f, &interrupted, b);
}

static inline void pp_follow_signal(struct pp_follow *f, const struct pp_trace_block *a,
				    const struct pp_trace_block *b)
{
	if (f->is_left) {
		pp_follow_push(f, a, PP_PROGRESS_LEFT);
		a = NULL;
	} else if (pp_follow_is_branch(a)) {
		f->insn_cnt += a->insn_cnt - 1u;
		pp_follow_push(f, a, PP_PROGRESS_BRANCH);
	} else {
		pp_follow_run_through(f, a);
		pp_follow_push(f, a, PP_PROGRESS_DONE);
	}
	pp_follow_hold_other(f, PATHPROF_TRACE_EVENT_SIGNAL, a, b);
}

/* The transition from a to b that no branch explains. */
static inline void pp_follow_rare(struct pp_follow *f, const struct pp_trace_block *a,
				  const struct pp_trace_block *b)
{
	if (f->is_cut) {
		f->depth = 0;
		f->insn_cnt = f->kernel_insn_cnt = 0;
		pp_follow_hold_other(f, PATHPROF_TRACE_EVENT_JUMP, NULL, b);
	} else if (f->is_sigreturn) {
		if (!f->is_left)
			pp_follow_run_through(f, a);
		pp_follow_sigreturn(f, a, b);
	} else if (b->is_handler) {
		pp_follow_signal(f, a, b);
	} else if (!f->is_left) {
		pp_follow_run_through(f, a);
		pp_follow_hold_other(f, PATHPROF_TRACE_EVENT_JUMP, a, b);
	} else if (b->start < a->start || b->start >= pp_trace_block_end(a)) {
		pp_follow_hold_other(f, PATHPROF_TRACE_EVENT_JUMP, NULL, b);
	} else if (b->start == pp_trace_block_last(a)) {
		/* The emulator cuts a block before an instruction that crosses a page. */
		f->insn_cnt += a->insn_cnt - 1u;
	}
}

static inline bool pp_follow_is_indirect(const struct pp_trace_block *b)
{
	return b->kind == PP_KIND_IJMP || b->kind == PP_KIND_ICALL || b->kind == PP_KIND_RET;
}

/* b runs. true: it follows the last block by that one's branch, in *event. All else is held. */
static inline bool pp_follow_step(struct pp_follow *f, const struct pp_trace_block *b,
				  struct pathprof_trace_event *event)
{
	const struct pp_trace_block *a = f->last;
	bool is_marked = f->is_left | f->is_sigreturn | f->is_cut;

	f->last = b;
	/* An indirect branch explains anything, but a handler is the better explanation. */
	if (a && (is_marked || !pp_follow_leads_to(a, b->start) ||
		  (b->is_handler && pp_follow_is_indirect(a)))) {
		pp_follow_rare(f, a, b);
	} else if (a && pp_follow_is_branch(a)) {
		pp_follow_set_branch(event, a, b->start, f->insn_cnt + a->insn_cnt,
				     f->kernel_insn_cnt);
		f->insn_cnt = f->kernel_insn_cnt = 0;
		return true;
	} else if (a) {
		pp_follow_run_through(f, a);
	}
	f->is_left = f->is_sigreturn = f->is_cut = false;
	return false;
}

#endif
