/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The callers of the code that a stopped thread runs: its call chain, from its registers and a copy
 * of the top of its stack.
 *
 *     pathprof_unwind_table_new(&table, code, ROWS_MAX);          once a file
 *     pathprof_unwind(&state, find, context, &chain);             find: the table for an address
 *
 * A table has the rules of a file's .eh_frame, and of its .debug_frame for code that the first
 * leaves out (Go's): for each range of code where the caller's frame is. It is made where the file
 * is read, in a process without rights, and is an array that can be sent elsewhere as it is;
 * pathprof_unwind_table_check() says whether what came is a table. Code that no table covers, like
 * generated code, is taken to keep frame pointers.
 *
 * The stack, the registers and the file are the profiled program's and may hold anything: nothing
 * outside the copy is read, a chain has at most PATHPROF_UNWIND_FRAMES_MAX frames, and where the
 * rules of a frame are too hard to follow the chain ends and says so.
 *
 * x86-64 only. Workload: some thousand chains a second at most, 10 to 30 frames each, about 100 ns
 * a frame; 10^4 rows a library, 10^6 a browser. Any thread; a table does not change.
 * Source: DWARF 5, 6.4 (call frame information); System V ABI for x86-64, 3.2.2 and 3.6.2.
 */
#ifndef PATHPROF_UNWIND_H
#define PATHPROF_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/code.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PATHPROF_UNWIND_FRAMES_MAX 64

/* Numbers of registers are DWARF's. */
#define PATHPROF_UNWIND_RBP           6
#define PATHPROF_UNWIND_RSP           7
#define PATHPROF_UNWIND_RIP           16
#define PATHPROF_UNWIND_REGISTERS_CNT 17

/* How the canonical frame address (CFA), rsp as it was before the call, is found. */
enum pathprof_unwind_rule {
	PATHPROF_UNWIND_NONE, /* nothing is known of the code from here on */
	PATHPROF_UNWIND_TOO_HARD,
	PATHPROF_UNWIND_FIRST,  /* code that nobody called */
	PATHPROF_UNWIND_PLAIN,  /* cfa_register + cfa_offset */
	PATHPROF_UNWIND_MEMORY, /* what lies there */
	PATHPROF_UNWIND_PLT,    /* rsp + 8, and 8 more from byte cfa_offset of 16 on */
	PATHPROF_UNWIND_SIGNAL, /* the return from a signal handler: the kernel's frame */
	PATHPROF_UNWIND_RULE_CNT
};
/* The rule that finds the caller's rbp. */
enum pathprof_unwind_rbp_rule {
	PATHPROF_UNWIND_RBP_SAME,
	PATHPROF_UNWIND_RBP_AT_CFA, /* saved at CFA + rbp_offset */
	PATHPROF_UNWIND_RBP_AT_RBP, /* saved at rbp + rbp_offset */
	PATHPROF_UNWIND_RBP_LOST,
	PATHPROF_UNWIND_RBP_RULE_CNT
};

/* Holds from its start to that of the next row. Positions are file offsets. */
struct pathprof_unwind_row {
	uint32_t start;
	uint32_t function; /* where the function that it belongs to begins; NONE: 0 */
	int32_t cfa_offset;
	int16_t rbp_offset;
	uint8_t rule;      /* enum pathprof_unwind_rule */
	uint8_t registers; /* enum pathprof_unwind_rbp_rule in the upper half, cfa_register below */
};

struct pathprof_unwind_table {
	struct pathprof_unwind_row *rows; /* by start, strictly ascending */
	size_t row_cnt;
};

/*
 * The table of a file. -ENOENT: it has neither; -E2BIG: more than row_max rows; -EOPNOTSUPP: a file
 * that is read apart; -ENOMEM. Damaged parts of a file have no rows.
 */
int pathprof_unwind_table_new(struct pathprof_unwind_table *ret_table, struct pathprof_code *code,
			      size_t row_max);
/* Rows that come from elsewhere. -EBADMSG: they are no table. */
int pathprof_unwind_table_check(const struct pathprof_unwind_row *rows, size_t row_cnt);
/* Frees the rows. */
void pathprof_unwind_table_release(struct pathprof_unwind_table *table);
/* The row that holds at offset; NULL: none, or it says nothing (PATHPROF_UNWIND_NONE). */
const struct pathprof_unwind_row *
pathprof_unwind_table_find(const struct pathprof_unwind_table *table, uint64_t offset);

/*
 * A thread where it stopped. The copy of its stack begins PATHPROF_UNWIND_RED_ZONE bytes below rsp,
 * or at rsp where the page below is not there: where a function has taken its saved registers off
 * the stack, rules still name their places.
 */
#define PATHPROF_UNWIND_RED_ZONE 128
struct pathprof_unwind_state {
	uint64_t registers[PATHPROF_UNWIND_REGISTERS_CNT];
	uint64_t stack_address; /* of the copy's first byte */
	const void *stack;
	size_t stack_bytes;
};

/*
 * Which file lies at an address of the program, and its table (NULL: it has none, or it is not
 * there yet). -ENOENT: no code lies there, and the chain ends before it.
 */
struct pathprof_unwind_place {
	const struct pathprof_unwind_table *table;
	uint64_t offset;
};
typedef int pathprof_unwind_find_fn(void *context, uint64_t address,
				    struct pathprof_unwind_place *ret_place);

/* Why a chain ends. */
enum pathprof_unwind_end {
	PATHPROF_UNWIND_END_FIRST,   /* it is whole */
	PATHPROF_UNWIND_END_FULL,    /* PATHPROF_UNWIND_FRAMES_MAX */
	PATHPROF_UNWIND_END_STACK,   /* the copy of the stack ends before */
	PATHPROF_UNWIND_END_RULE,    /* PATHPROF_UNWIND_TOO_HARD */
	PATHPROF_UNWIND_END_UNKNOWN, /* no code lies at the return address */
	PATHPROF_UNWIND_END_BROKEN,  /* the frame of the caller is not above that of the callee */
	PATHPROF_UNWIND_END_CNT
};

/* Frame 0 is where the thread stands; of each other one `address` is where it goes on. */
struct pathprof_unwind_frame {
	uint64_t address;
	/* Lies within the call that is under way, so it names the caller; frame 0: address. */
	uint64_t inside;
};
struct pathprof_unwind_chain {
	struct pathprof_unwind_frame frames[PATHPROF_UNWIND_FRAMES_MAX];
	uint32_t frame_cnt; /* at least 1 */
	enum pathprof_unwind_end end;
};
void pathprof_unwind(const struct pathprof_unwind_state *state, pathprof_unwind_find_fn *find,
		     void *context, struct pathprof_unwind_chain *ret_chain);

#ifdef __cplusplus
}
#endif

#endif
