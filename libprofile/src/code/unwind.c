// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * From a stopped thread to its call chain: see pathprof/unwind.h.
 *
 * All registers of the first frame are known. Only rip, rsp and rbp of its callers are, from which
 * the rules of nearly all frames start; a rule that takes another register ends the chain.
 */
#include "pathprof/unwind.h"

#include <stdbool.h>
#include <string.h>

/* In the frame that the kernel leaves a signal handler, from rsp on (struct ucontext). */
#define SIGNAL_RBP 120
#define SIGNAL_RSP 160
#define SIGNAL_RIP 168

struct frame {
	const struct pathprof_unwind_state *state;
	const uint64_t *others; /* registers of the first frame; NULL: not known */
	uint64_t rip, rsp, rbp;
	bool has_rbp;
	bool interrupted; /* it goes on at rip, and did not call from before it */
};

/* Eight bytes of the copy. */
static bool read_stack(const struct pathprof_unwind_state *state, uint64_t address,
		       uint64_t *ret_value)
{
	uint64_t at = address - state->stack_address;

	if (state->stack_bytes < sizeof(*ret_value) || at > state->stack_bytes - sizeof(*ret_value))
		return false;
	memcpy(ret_value, (const char *)state->stack + at, sizeof(*ret_value));
	return true;
}

static bool read_register(const struct frame *frame, unsigned int number, uint64_t *ret_value)
{
	if (number == PATHPROF_UNWIND_RSP)
		*ret_value = frame->rsp;
	else if (number == PATHPROF_UNWIND_RBP && frame->has_rbp)
		*ret_value = frame->rbp;
	else if (frame->others && number < PATHPROF_UNWIND_REGISTERS_CNT)
		*ret_value = frame->others[number];
	else
		return false;
	return true;
}

/* END_CNT: *ret_cfa is set. */
static enum pathprof_unwind_end find_cfa(const struct frame *frame,
					 const struct pathprof_unwind_row *row, uint64_t *ret_cfa)
{
	uint64_t base = frame->rsp;

	if (row->rule == PATHPROF_UNWIND_PLT) {
		bool pushed = (int32_t)(frame->rip & 15) >= row->cfa_offset;

		*ret_cfa = base + (pushed ? 16 : 8);
		return PATHPROF_UNWIND_END_CNT;
	}
	if (!read_register(frame, row->registers & 15, &base))
		return PATHPROF_UNWIND_END_RULE;
	base += (uint64_t)(int64_t)row->cfa_offset;
	if (row->rule == PATHPROF_UNWIND_MEMORY && !read_stack(frame->state, base, &base))
		return PATHPROF_UNWIND_END_STACK;
	*ret_cfa = base;
	return PATHPROF_UNWIND_END_CNT;
}

static void restore_rbp(struct frame *frame, const struct pathprof_unwind_row *row, uint64_t cfa)
{
	uint64_t offset = (uint64_t)(int64_t)row->rbp_offset;

	switch (row->registers >> 4) {
	case PATHPROF_UNWIND_RBP_SAME:
		break;
	case PATHPROF_UNWIND_RBP_AT_CFA:
		frame->has_rbp = read_stack(frame->state, cfa + offset, &frame->rbp);
		break;
	case PATHPROF_UNWIND_RBP_AT_RBP:
		frame->has_rbp = frame->has_rbp &&
				 read_stack(frame->state, frame->rbp + offset, &frame->rbp);
		break;
	default:
		frame->has_rbp = false;
		break;
	}
}

/* The caller's frame, whose lowest address is cfa. */
static enum pathprof_unwind_end return_to(struct frame *frame, uint64_t cfa)
{
	if (cfa <= frame->rsp)
		return PATHPROF_UNWIND_END_BROKEN;
	if (!read_stack(frame->state, cfa - 8, &frame->rip))
		return PATHPROF_UNWIND_END_STACK;
	frame->rsp = cfa;
	return PATHPROF_UNWIND_END_CNT;
}

/* A handler may have a stack of its own, so the frame may lie anywhere. */
static enum pathprof_unwind_end return_from_signal(struct frame *frame)
{
	uint64_t from = frame->rsp;

	if (!read_stack(frame->state, from + SIGNAL_RIP, &frame->rip) ||
	    !read_stack(frame->state, from + SIGNAL_RSP, &frame->rsp) ||
	    !read_stack(frame->state, from + SIGNAL_RBP, &frame->rbp))
		return PATHPROF_UNWIND_END_STACK;
	frame->has_rbp = true;
	frame->interrupted = true;
	return PATHPROF_UNWIND_END_CNT;
}

static enum pathprof_unwind_end follow_rbp(struct frame *frame)
{
	uint64_t at = frame->rbp;

	if (!frame->has_rbp || at < frame->rsp)
		return PATHPROF_UNWIND_END_BROKEN;
	if (!read_stack(frame->state, at, &frame->rbp))
		return PATHPROF_UNWIND_END_STACK;
	return return_to(frame, at + 16);
}

/* Makes frame that of its caller. END_CNT: it has one. */
static enum pathprof_unwind_end step(struct frame *frame, const struct pathprof_unwind_row *row)
{
	enum pathprof_unwind_end end;
	uint64_t cfa;

	frame->interrupted = false;
	if (!row)
		return follow_rbp(frame);
	switch (row->rule) {
	case PATHPROF_UNWIND_FIRST:
		return PATHPROF_UNWIND_END_FIRST;
	case PATHPROF_UNWIND_SIGNAL:
		return return_from_signal(frame);
	case PATHPROF_UNWIND_PLAIN:
	case PATHPROF_UNWIND_MEMORY:
	case PATHPROF_UNWIND_PLT:
		end = find_cfa(frame, row, &cfa);
		if (end != PATHPROF_UNWIND_END_CNT)
			return end;
		restore_rbp(frame, row, cfa);
		return return_to(frame, cfa);
	default:
		return PATHPROF_UNWIND_END_RULE;
	}
}

void pathprof_unwind(const struct pathprof_unwind_state *state, pathprof_unwind_find_fn *find,
		     void *context, struct pathprof_unwind_chain *ret_chain)
{
	struct frame frame = {
		.state = state,
		.others = state->registers,
		.rip = state->registers[PATHPROF_UNWIND_RIP],
		.rsp = state->registers[PATHPROF_UNWIND_RSP],
		.rbp = state->registers[PATHPROF_UNWIND_RBP],
		.has_rbp = true,
		.interrupted = true,
	};

	ret_chain->frame_cnt = 0;
	for (;;) {
		uint64_t inside = frame.rip - !frame.interrupted;
		struct pathprof_unwind_place place = {0};
		int found = find(context, inside, &place);

		ret_chain->end =
			frame.rip ? PATHPROF_UNWIND_END_UNKNOWN : PATHPROF_UNWIND_END_FIRST;
		if (found < 0 && ret_chain->frame_cnt)
			return;
		ret_chain->frames[ret_chain->frame_cnt++] =
			(struct pathprof_unwind_frame){frame.rip, inside};
		if (found < 0)
			return;
		ret_chain->end = PATHPROF_UNWIND_END_FULL;
		if (ret_chain->frame_cnt == PATHPROF_UNWIND_FRAMES_MAX)
			return;
		ret_chain->end = step(
			&frame,
			place.table ? pathprof_unwind_table_find(place.table, place.offset) : NULL);
		if (ret_chain->end != PATHPROF_UNWIND_END_CNT)
			return;
		frame.others = NULL;
	}
}
