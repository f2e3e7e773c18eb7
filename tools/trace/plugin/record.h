/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that runs with every block: it appends the block's number to its thread's ring.
 *
 * Workload: a hundred million calls a second. Locking: a recorder belongs to its thread; see
 * ../share.h for the ring. Ownership: the slot is the thread's until it ends.
 *
 * While there is one thread, the emulator counts in line each time a block's last instruction is
 * reached: then `record_arrivals` differs from the recorder's last value. This count is not safe
 * with several threads; from the second one on each block sets its recorder's `reached`.
 */
#ifndef TRACE_RECORD_H
#define TRACE_RECORD_H

#include "pathprof/trace_format.h"
#include "plugin.h"

struct recorder {
	uint64_t word_cnt, pause_at;
	uint64_t arrivals; /* single-threaded: seen at the last block */
	uint32_t *words;   /* the ring */
	struct trace_slot *slot;
	const struct block *last; /* NULL: none yet */
	struct counter *counter;  /* NULL: paths are not counted, or not of this thread */
	bool reached;             /* multi-threaded: the end of `last` */
	bool muted;               /* nothing is written any more, or yet */
};

extern uint64_t record_arrivals;
extern bool record_threads; /* there was ever a second one */

/*
 * The emulator numbers a thread one above the highest number in use. So the numbers of a program
 * grow with each thread that begins before the last one has ended, however few there are at a
 * time. Recorders that no thread has used take no memory.
 */
#define RECORD_CNT (1u << 20)
extern struct recorder recorders[RECORD_CNT];

/* One recorder too many shares the last one, which is muted. */
static inline struct recorder *record_of(unsigned vcpu)
{
	return &recorders[__builtin_expect(vcpu < RECORD_CNT, 1) ? vcpu : RECORD_CNT - 1];
}

/* Whether block is a further turn of the repeated instruction at the end of last, which counts
 * once. */
static inline bool record_is_turn(const struct block *last, const struct block *block)
{
	return last && last->as.kind == PATHPROF_TRACE_ENDS_REP && last->last_pc == block->as.start;
}

/* The callbacks that the translation plants. data is the block, or the pc of an access. */
void record_block(unsigned vcpu, void *block);
void record_block_threads(unsigned vcpu, void *block);
void record_reached(unsigned vcpu, void *block);
void record_load(unsigned vcpu, uint32_t info, uint64_t address, void *pc);
void record_access(unsigned vcpu, uint32_t info, uint64_t address, void *pc);

#endif
