// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The events of one stream: what the words say, and what two blocks in a row say about the branch
 * between them.
 *
 * Workload: hundreds of millions of words. The common case, a branch followed by where it led, is
 * one switch; everything rare goes through a queue of two events.
 *
 * Signals: an emulator sees them between blocks. The handler's first block follows a block whose
 * branch has been executed, but where it went shows only when the handler has returned. That branch
 * is kept until then (struct interrupted), one for each handler that is active. A handler that
 * leaves by longjmp never returns: its entry stays at the bottom and falls off in time.
 *
 * One cursor, one thread; it owns the chunk in hand.
 */
#include "pp_trace.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/pp_types.h"

#define INTERRUPTED_MAX 64
#define LEGAL_WORDS_MAX 5 /* of one access */

/* What a signal interrupted. */
enum progress {
	PROGRESS_LEFT,   /* the block had not come to its end */
	PROGRESS_BRANCH, /* its branch was executed; where to is not known */
	PROGRESS_DONE,   /* all of it was executed and it has no branch */
};

struct interrupted {
	const struct pp_trace_block *block;
	enum progress progress;
};

struct pathprof_trace_cursor {
	const struct pathprof_trace *trace;
	const struct pp_trace_stream *stream;
	struct pp_trace_unpacker unpacker;
	size_t next_place;        /* of the stream, from its first */
	const uint32_t *at, *end; /* words in hand */

	const struct pp_trace_block *last; /* NULL: before the first, or after a cut */
	bool is_left, is_sigreturn, is_cut;
	uint32_t insn_cnt;        /* since the last branch */
	uint32_t kernel_insn_cnt; /* of these, up to the last system call */

	struct pathprof_trace_event held[2]; /* that found no room */
	unsigned int held_cnt, held_at;

	struct interrupted interrupted[INTERRUPTED_MAX]; /* a ring; the newest at depth - 1 */
	unsigned int base, depth;
};

int pathprof_trace_cursor_new(struct pathprof_trace_cursor **ret_cursor,
			      const struct pathprof_trace *trace, uint32_t stream,
			      struct pathprof_error *error)
{
	struct pathprof_trace_cursor *c;
	int r;

	if (stream >= trace->stream_cnt)
		return pathprof_fail(error, -EINVAL, "%s: has %zu streams, none is %u", trace->path,
				     trace->stream_cnt, stream);
	c = calloc(1, sizeof(*c));
	if (!c)
		return pp_trace_no_memory(error);
	r = pp_trace_unpacker_init(&c->unpacker, error);
	if (r < 0) {
		free(c);
		return r;
	}
	c->trace = trace;
	c->stream = &trace->streams[stream];
	*ret_cursor = c;
	return 0;
}

void pathprof_trace_cursor_free(struct pathprof_trace_cursor *cursor)
{
	if (!cursor)
		return;
	pp_trace_unpacker_release(&cursor->unpacker);
	free(cursor);
}

/* ---------------------------------------------------------------- words */

/* The next chunk; what is left of the one in hand goes before it. 0: there is none. */
static int next_chunk(struct pathprof_trace_cursor *c, struct pathprof_error *error)
{
	const struct pathprof_trace_place *place;
	uint32_t left[LEGAL_WORDS_MAX];
	size_t left_bytes = (size_t)(c->end - c->at) * sizeof(*c->at);
	uint8_t *bytes;
	int r;

	if (c->next_place == c->stream->place_cnt)
		return 0;
	place = &c->trace->words[c->stream->first_place + c->next_place];
	if (left_bytes)
		memcpy(left, c->at, left_bytes);
	/* After a failure there is nothing to go on with. */
	c->at = c->end = NULL;
	r = pp_trace_unpack(c->trace, &c->unpacker, place, &bytes, error);
	if (r < 0)
		return r;
	c->next_place++;
	if (left_bytes)
		memcpy(bytes - left_bytes, left, left_bytes);
	c->at = (const uint32_t *)(const void *)(bytes - left_bytes);
	c->end = (const uint32_t *)(const void *)(bytes + place->chunk.raw_bytes);
	return 1;
}

static size_t words_of(uint32_t word)
{
	if ((word & PATHPROF_TRACE_MARK) != PATHPROF_TRACE_ACCESS)
		return 1;
	return word & PATHPROF_TRACE_ACCESS_VALUE ? 5 : 3;
}

/* The next word and those that belong to it are in hand. 0: the end. */
static int fill(struct pathprof_trace_cursor *c, struct pathprof_error *error)
{
	for (;;) {
		size_t left = (size_t)(c->end - c->at);
		int r;

		if (left && left >= words_of(*c->at))
			return 1;
		r = next_chunk(c, error);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		if (left && c->trace->info.whole)
			return pp_trace_bad(c->trace, error, "stream %u ends inside an access",
					    c->stream->id);
		return 0;
	}
}

/* ---------------------------------------------------------------- the rare events */

static void hold(struct pathprof_trace_cursor *c, const struct pathprof_trace_event *event)
{
	c->held[c->held_cnt++] = *event;
}

static void hold_discontinuity(struct pathprof_trace_cursor *c, uint32_t type,
			       const struct pp_trace_block *from, const struct pp_trace_block *next)
{
	const struct pathprof_trace_event event = {
		.type = type,
		.branch = {.from = from ? pp_trace_block_last(from) : 0, .next = next->start},
	};

	hold(c, &event);
}

static void push(struct pathprof_trace_cursor *c, const struct pp_trace_block *block,
		 enum progress progress)
{
	c->interrupted[(c->base + c->depth) % INTERRUPTED_MAX] =
		(struct interrupted){.block = block, .progress = progress};
	if (c->depth < INTERRUPTED_MAX)
		c->depth++;
	else
		c->base = (c->base + 1) % INTERRUPTED_MAX;
}

static bool pop(struct pathprof_trace_cursor *c, struct interrupted *ret_interrupted)
{
	if (!c->depth)
		return false;
	*ret_interrupted = c->interrupted[(c->base + --c->depth) % INTERRUPTED_MAX];
	return true;
}

static inline bool is_branch(const struct pp_trace_block *b)
{
	return b->kind >= PP_KIND_COND && b->kind <= PP_KIND_RET;
}

/* Can control go from the end of a to the address without anything in between? */
static inline bool leads_to(const struct pp_trace_block *a, uint64_t next)
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
static inline void run_through(struct pathprof_trace_cursor *c, const struct pp_trace_block *a)
{
	c->insn_cnt += a->insn_cnt;
	if (a->kind == PATHPROF_TRACE_ENDS_SYSCALL)
		c->kernel_insn_cnt = c->insn_cnt;
}

static inline void set_branch(struct pathprof_trace_event *event, const struct pp_trace_block *a,
			      uint64_t next, uint32_t insn_cnt, uint32_t kernel_insn_cnt)
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

/* Where the program was interrupted, b runs: does that go together? */
static void resume(struct pathprof_trace_cursor *c, const struct interrupted *interrupted,
		   const struct pp_trace_block *b)
{
	const struct pp_trace_block *a = interrupted->block;
	struct pathprof_trace_event event;

	if (interrupted->progress == PROGRESS_LEFT) {
		if (b->start < a->start || b->start > pp_trace_block_end(a))
			hold_discontinuity(c, PATHPROF_TRACE_EVENT_JUMP, NULL, b);
	} else if (!leads_to(a, b->start)) {
		hold_discontinuity(c, PATHPROF_TRACE_EVENT_JUMP, a, b);
	} else if (interrupted->progress == PROGRESS_BRANCH) {
		set_branch(&event, a, b->start, c->insn_cnt + 1, c->kernel_insn_cnt);
		hold(c, &event);
		c->insn_cnt = c->kernel_insn_cnt = 0;
	}
}

/*
 * A handler, whose last block is a, returned to b. When b begins another handler, the kernel had
 * that signal waiting: what the first one interrupted is interrupted still.
 */
static void sigreturn_to(struct pathprof_trace_cursor *c, const struct pp_trace_block *a,
			 const struct pp_trace_block *b)
{
	struct interrupted interrupted;

	hold_discontinuity(c, PATHPROF_TRACE_EVENT_SIGRETURN, a, b);
	if (b->is_handler)
		hold_discontinuity(c, PATHPROF_TRACE_EVENT_SIGNAL, NULL, b);
	else if (pop(c, &interrupted))
		resume(c, &interrupted, b);
}

static void signal_in(struct pathprof_trace_cursor *c, const struct pp_trace_block *a,
		      const struct pp_trace_block *b)
{
	if (c->is_left) {
		push(c, a, PROGRESS_LEFT);
		a = NULL;
	} else if (is_branch(a)) {
		c->insn_cnt += a->insn_cnt - 1u;
		push(c, a, PROGRESS_BRANCH);
	} else {
		run_through(c, a);
		push(c, a, PROGRESS_DONE);
	}
	hold_discontinuity(c, PATHPROF_TRACE_EVENT_SIGNAL, a, b);
}

/* The transition from a to b that no branch explains. */
static void unexplained(struct pathprof_trace_cursor *c, const struct pp_trace_block *a,
			const struct pp_trace_block *b)
{
	if (c->is_cut) {
		c->depth = 0;
		c->insn_cnt = c->kernel_insn_cnt = 0;
		hold_discontinuity(c, PATHPROF_TRACE_EVENT_JUMP, NULL, b);
	} else if (c->is_sigreturn) {
		if (!c->is_left)
			run_through(c, a);
		sigreturn_to(c, a, b);
	} else if (b->is_handler) {
		signal_in(c, a, b);
	} else if (!c->is_left) {
		run_through(c, a);
		hold_discontinuity(c, PATHPROF_TRACE_EVENT_JUMP, a, b);
	} else if (b->start < a->start || b->start >= pp_trace_block_end(a)) {
		hold_discontinuity(c, PATHPROF_TRACE_EVENT_JUMP, NULL, b);
	} else if (b->start == pp_trace_block_last(a)) {
		/* The emulator cuts a block before an instruction that crosses a page. */
		c->insn_cnt += a->insn_cnt - 1u;
	}
}

static int mark(struct pathprof_trace_cursor *c, uint32_t word, struct pathprof_error *error)
{
	switch (word) {
	case PATHPROF_TRACE_MARK_LEFT:
		c->is_left = true;
		return 0;
	case PATHPROF_TRACE_MARK_SIGRETURN:
		c->is_sigreturn = true;
		return 0;
	case PATHPROF_TRACE_MARK_CUT:
		c->is_cut = true;
		return 0;
	default:
		return pp_trace_bad(c->trace, error, "stream %u holds the word %#x, which is none",
				    c->stream->id, word);
	}
}

static void set_access(struct pathprof_trace_event *event, const struct pp_trace_block *block,
		       const uint32_t *words)
{
	uint32_t word = words[0];

	*event = (struct pathprof_trace_event){.type = PATHPROF_TRACE_EVENT_ACCESS};
	event->access.pc = block->start + (word & PATHPROF_TRACE_ACCESS_OFFSET);
	event->access.address = words[1] | (uint64_t)words[2] << 32;
	if (word & PATHPROF_TRACE_ACCESS_VALUE)
		event->access.value = words[3] | (uint64_t)words[4] << 32;
	event->access.size_bytes = 1u << PATHPROF_TRACE_ACCESS_SIZE(word);
	event->access.store = (word & PATHPROF_TRACE_ACCESS_STORE) != 0;
}

/* ---------------------------------------------------------------- reading */

static inline bool is_indirect(const struct pp_trace_block *b)
{
	return b->kind == PP_KIND_IJMP || b->kind == PP_KIND_ICALL || b->kind == PP_KIND_RET;
}

/* true: b follows a by a's branch, which is in *event. Everything rare is held. */
static inline bool follow(struct pathprof_trace_cursor *c, const struct pp_trace_block *a,
			  const struct pp_trace_block *b, struct pathprof_trace_event *event)
{
	bool is_marked = c->is_left | c->is_sigreturn | c->is_cut;

	/* An indirect branch explains anything, but a handler is the better explanation. */
	if (a && (is_marked || !leads_to(a, b->start) || (b->is_handler && is_indirect(a)))) {
		unexplained(c, a, b);
	} else if (a && is_branch(a)) {
		set_branch(event, a, b->start, c->insn_cnt + a->insn_cnt, c->kernel_insn_cnt);
		c->insn_cnt = c->kernel_insn_cnt = 0;
		return true;
	} else if (a) {
		run_through(c, a);
	}
	c->is_left = c->is_sigreturn = c->is_cut = false;
	return false;
}

static int unknown_block(const struct pathprof_trace_cursor *c, uint32_t id,
			 struct pathprof_error *error)
{
	return pp_trace_bad(c->trace, error, "stream %u runs block %u, which is unknown",
			    c->stream->id, id);
}

/* The word in hand. 1: *event is filled; 0: nothing to tell, or it is held. */
static int step(struct pathprof_trace_cursor *c, struct pathprof_trace_event *event,
		struct pathprof_error *error)
{
	uint32_t word = *c->at;

	if (word < PATHPROF_TRACE_ACCESS) {
		const struct pp_trace_block *a = c->last, *b;

		if (word >= c->trace->block_room || !c->trace->blocks[word].is_defined)
			return unknown_block(c, word, error);
		b = &c->trace->blocks[word];
		c->at++;
		c->last = b;
		return follow(c, a, b, event);
	}
	if ((word & PATHPROF_TRACE_MARK) == PATHPROF_TRACE_MARK) {
		int r = mark(c, word, error);

		c->at += r == 0;
		return r;
	}
	c->at += words_of(word);
	if (!c->last || c->is_cut) /* whose access that was is not known */
		return 0;
	set_access(event, c->last, c->at - words_of(word));
	return 1;
}

static size_t take_held(struct pathprof_trace_cursor *c, struct pathprof_trace_event *events,
			size_t max)
{
	size_t cnt = 0;

	while (c->held_at < c->held_cnt && cnt < max)
		events[cnt++] = c->held[c->held_at++];
	if (c->held_at == c->held_cnt)
		c->held_at = c->held_cnt = 0;
	return cnt;
}

/*
 * The common case, many words at a time: blocks that follow one another as their branches say.
 * Stops before the first word that needs more thought.
 */
static size_t read_ordinary(struct pathprof_trace_cursor *c, struct pathprof_trace_event *events,
			    size_t max)
{
	const struct pp_trace_block *blocks = c->trace->blocks, *a = c->last;
	size_t cnt = 0, id_cnt = c->trace->block_room;
	uint32_t insn_cnt = c->insn_cnt, kernel_insn_cnt = c->kernel_insn_cnt;
	const uint32_t *at = c->at;

	if (!a || c->is_left || c->is_sigreturn || c->is_cut)
		return 0;
	for (; at != c->end && cnt < max && *at < id_cnt; at++) {
		const struct pp_trace_block *b = &blocks[*at];

		if (!b->is_defined || b->is_handler || !leads_to(a, b->start))
			break;
		insn_cnt += a->insn_cnt;
		if (is_branch(a)) {
			set_branch(&events[cnt++], a, b->start, insn_cnt, kernel_insn_cnt);
			insn_cnt = kernel_insn_cnt = 0;
		} else if (a->kind == PATHPROF_TRACE_ENDS_SYSCALL) {
			kernel_insn_cnt = insn_cnt;
		}
		a = b;
	}
	c->at = at;
	c->last = a;
	c->insn_cnt = insn_cnt;
	c->kernel_insn_cnt = kernel_insn_cnt;
	return cnt;
}

ssize_t pathprof_trace_read(struct pathprof_trace_cursor *cursor,
			    struct pathprof_trace_event *events, size_t max,
			    struct pathprof_error *error)
{
	size_t cnt = 0;

	if (max > SSIZE_MAX)
		max = SSIZE_MAX;
	while (cnt < max) {
		int r;

		if (cursor->held_cnt) {
			cnt += take_held(cursor, events + cnt, max - cnt);
			continue;
		}
		cnt += read_ordinary(cursor, events + cnt, max - cnt);
		if (cnt == max)
			break;
		r = fill(cursor, error);
		if (r > 0)
			r = step(cursor, &events[cnt], error);
		else if (r == 0)
			break;
		/* What came before a damaged place is told first; it is met again then. */
		if (r < 0)
			return cnt ? (ssize_t)cnt : r;
		cnt += (size_t)r;
	}
	return (ssize_t)cnt;
}
