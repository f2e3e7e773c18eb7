// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The events of one stream, read out of the words of a file; pp_follow.h says what they mean.
 *
 * Workload: hundreds of millions of words. One cursor, one thread; it owns the chunk in hand.
 */
#include "pp_trace.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LEGAL_WORDS_MAX 5 /* of one access */

struct pathprof_trace_cursor {
	const struct pathprof_trace *trace;
	const struct pp_trace_stream *stream;
	struct pp_trace_unpacker unpacker;
	size_t next_place;        /* of the stream, from its first */
	const uint32_t *at, *end; /* words in hand */
	struct pp_follow follow;
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

static int mark(struct pathprof_trace_cursor *c, uint32_t word, struct pathprof_error *error)
{
	switch (word) {
	case PATHPROF_TRACE_MARK_LEFT:
		c->follow.is_left = true;
		return 0;
	case PATHPROF_TRACE_MARK_SIGRETURN:
		c->follow.is_sigreturn = true;
		return 0;
	case PATHPROF_TRACE_MARK_CUT:
		c->follow.is_cut = true;
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
		const struct pp_trace_block *b;

		if (word >= c->trace->block_room || !c->trace->blocks[word].is_defined)
			return unknown_block(c, word, error);
		b = &c->trace->blocks[word];
		c->at++;
		return pp_follow_step(&c->follow, b, event);
	}
	if ((word & PATHPROF_TRACE_MARK) == PATHPROF_TRACE_MARK) {
		int r = mark(c, word, error);

		c->at += r == 0;
		return r;
	}
	c->at += words_of(word);
	if (!c->follow.last || c->follow.is_cut) /* whose access that was is not known */
		return 0;
	set_access(event, c->follow.last, c->at - words_of(word));
	return 1;
}

static size_t take_held(struct pathprof_trace_cursor *c, struct pathprof_trace_event *events,
			size_t max)
{
	size_t cnt = 0;

	while (c->follow.held_at < c->follow.held_cnt && cnt < max)
		events[cnt++] = c->follow.held[c->follow.held_at++];
	if (c->follow.held_at == c->follow.held_cnt)
		c->follow.held_at = c->follow.held_cnt = 0;
	return cnt;
}

/*
 * The common case, many words at a time: blocks that follow one another as their branches say.
 * Stops before the first word that needs more thought.
 */
static size_t read_ordinary(struct pathprof_trace_cursor *c, struct pathprof_trace_event *events,
			    size_t max)
{
	const struct pp_trace_block *blocks = c->trace->blocks, *a = c->follow.last;
	size_t cnt = 0, id_cnt = c->trace->block_room;
	uint32_t insn_cnt = c->follow.insn_cnt, kernel_insn_cnt = c->follow.kernel_insn_cnt;
	const uint32_t *at = c->at;

	if (!a || c->follow.is_left || c->follow.is_sigreturn || c->follow.is_cut)
		return 0;
	for (; at != c->end && cnt < max && *at < id_cnt; at++) {
		const struct pp_trace_block *b = &blocks[*at];

		if (!b->is_defined || b->is_handler || !pp_follow_leads_to(a, b->start))
			break;
		insn_cnt += a->insn_cnt;
		if (pp_follow_is_branch(a)) {
			pp_follow_set_branch(&events[cnt++], a, b->start, insn_cnt,
					     kernel_insn_cnt);
			insn_cnt = kernel_insn_cnt = 0;
		} else if (a->kind == PATHPROF_TRACE_ENDS_SYSCALL) {
			kernel_insn_cnt = insn_cnt;
		}
		a = b;
	}
	c->at = at;
	c->follow.last = a;
	c->follow.insn_cnt = insn_cnt;
	c->follow.kernel_insn_cnt = kernel_insn_cnt;
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

		if (cursor->follow.held_cnt) {
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
		/* Events before a damaged place are returned first; the next call fails at it. */
		if (r < 0)
			return cnt ? (ssize_t)cnt : r;
		cnt += (size_t)r;
	}
	return (ssize_t)cnt;
}
