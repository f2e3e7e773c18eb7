/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream of branches in memory, so that windows of any length can be cut at any place of it.
 *
 * A branch that does the same as one before it (addresses, direction, instructions since the branch
 * before) is that *transfer* again: a stream is a list of indices, four bytes a branch. Beside the
 * branches stand the places where a system call ended a run of instructions, and those where the
 * stream is torn.
 *
 * Three clocks run over a stream. Windows begin where one of them strikes:
 *
 *     INSNS  instructions
 *     TIME   a model of time: an instruction costs 1, but one branch in 20, chosen by a hash of its
 *            address, costs LAB_DEAR (it waits for memory, say)
 *     TAKEN  taken branches
 *
 * Workload: some ten million branches of some hundred thousand transfers, and some million windows
 * out of them. Read-only once finished; exits without memory. One owner.
 */
#ifndef LAB_COLLECT_STREAM_H
#define LAB_COLLECT_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "pathprof/abi.h"
#include "profile.h"

#define LAB_DEAR 100

enum lab_stream_clock {
	LAB_STREAM_INSNS,
	LAB_STREAM_TIME,
	LAB_STREAM_TAKEN,
	LAB_STREAM_CLOCK_CNT,
};

enum lab_transfer_type { LAB_TRANSFER_BRANCH, LAB_TRANSFER_KERNEL, LAB_TRANSFER_TEAR };

struct lab_transfer {
	struct pathprof_branch branch; /* insns: since the transfer before */
	uint32_t type;
	uint32_t function; /* in which the instructions lie */
	uint32_t cost[LAB_STREAM_CLOCK_CNT];
};

/* The function an address lies in: 0 to any number, the same for the same address. */
typedef uint32_t lab_function_fn(void *context, uint64_t address);

struct lab_stream {
	struct lab_transfer *transfers;
	uint32_t transfer_cnt, transfer_room;
	struct pp_table numbers; /* of transfers */
	uint32_t *list;          /* the stream: indices of transfers */
	size_t cnt, room;
	uint64_t *ticks[LAB_STREAM_CLOCK_CNT]; /* before each 64th of the list */
	uint64_t total[LAB_STREAM_CLOCK_CNT];
	struct lab_profile functions; /* of an address, +1 */
	uint32_t function_cnt;
	lab_function_fn *function_of;
	void *context;
};

void lab_stream_init(struct lab_stream *s, lab_function_fn *function_of, void *context);
void lab_stream_release(struct lab_stream *s);
/*
 * branch->insns is ignored: insn_cnt is the number since the branch before, of which the first
 * kernel_insn_cnt end with a system call.
 */
void lab_stream_add(struct lab_stream *s, const struct pathprof_branch *branch, uint32_t insn_cnt,
		    uint32_t kernel_insn_cnt);
void lab_stream_tear(struct lab_stream *s);
/* Before any of what follows. function_of is not called any more. */
void lab_stream_finish(struct lab_stream *s);

/* The function of an address that a transfer of the stream led to or came from. */
uint32_t lab_stream_function(const struct lab_stream *s, uint64_t address);

/* The rule that a window is cut by. */
struct lab_window_form {
	enum lab_stream_clock clock; /* that its place is drawn over */
	uint32_t horizon;            /* instructions; 0: taken branches */
	uint32_t taken;
};

/*
 * The window at `place` of the clock, place < total. It begins with the instruction that the clock
 * struck at, after the branch that it struck at (TAKEN), and ends before a branch beyond its
 * horizon, after its last taken branch, where the stream is torn, after PATHPROF_BURST_MAX
 * branches, and, but for TAKEN, which hardware records, before a system call. Returns the number
 * of branches, all with their instructions; *ret_insns those that were run in it.
 */
uint32_t lab_stream_window(const struct lab_stream *s, const struct lab_window_form *form,
			   uint64_t place, struct pathprof_branch *branches, uint32_t *ret_insns);

/* Deterministic random numbers: uniform below `bound`, at least 1. */
uint64_t lab_draw(uint64_t *state, uint64_t bound);

#endif
