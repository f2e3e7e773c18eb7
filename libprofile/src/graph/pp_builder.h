/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The builder of graphs: what its parts share.
 *
 *   graph_text.c     the code in memory, a mark for each of its bytes
 *   graph_explore.c  recursive descent: what is reached, which functions return
 *   graph_owner.c    which range an address belongs to, which ranges are one function
 *   graph_local.c    blocks and predecessors of one function, as far as they are known
 *   graph_value.c    what a register holds, read backwards
 *   graph_bound.c    how large an index can be, read backwards
 *   graph_switch.c   indirect jumps: tables, tail calls, guesses
 *   graph_emit.c     from marks to arrays
 *
 * Positions are vaddrs. A range is one of pp_ranges (index below ranges.cnt), or a guess (an index
 * from there on): code that no table knows, reached by a call or a jump.
 *
 * Workload: cc1, 30 MB of text, 7 million instructions, in seconds on one core: the marks are the
 * only thing kept for each instruction. Everything runs in one thread and in an order that the
 * file alone decides. Ownership: struct pp_builder owns all of it; nothing outlives the build.
 *
 * Hostile files: each instruction is read once as code, each block once for each look at its
 * function; looks, table lengths and depths are bounded below.
 */
#ifndef PP_BUILDER_H
#define PP_BUILDER_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../core/pp_decode.h"
#include "../code/pp_functions.h"
#include "base/table.h"
#include "base/vector.h"

#define PP_NONE UINT32_MAX

/* A byte's mark. A length makes it the first of an instruction that was reached. */
#define PP_MARK_LEN    0x0f
#define PP_MARK_LEADER 0x10 /* a block begins here */
#define PP_MARK_BRANCH 0x20 /* a transfer ends the block */
#define PP_MARK_STOP   0x40 /* an instruction that nothing runs behind ends it */
#define PP_MARK_GUESS  0x80 /* a guessed range begins here */

/* An executable segment and its marks. */
struct pp_text_part {
	uint64_t vaddr, offset, len_bytes;
	uint8_t *bytes, *marks;
};

struct pp_text {
	struct pp_text_part *parts; /* by vaddr, no two share an offset or a vaddr */
	uint32_t cnt;
	uint32_t hit; /* the part looked at last */
	ZydisDecoder lengths, operands;
};

/* A range or a guess, as far as it is known. */
struct pp_state {
	uint64_t start, end; /* a guess ends with its gap */
	uint32_t flags;      /* PATHPROF_FUNCTION_* found on the way */
	uint32_t waiters;    /* head of the list of those that wait for this function to return */
	uint32_t family;     /* the range this one was joined to, or its own index */
	uint32_t next;       /* the next range of the family */
	uint32_t tail;       /* the last range, valid in a family's first */
	bool returns;        /* valid in a function's first range */
	bool called;
	bool never; /* a PLT stub of a function that never returns */
};

/* An address in a range, to be read as code. */
struct pp_place {
	uint64_t vaddr;
	uint32_t range;
};

/* An event that a function's return brings: code behind a call runs, or another function returns.
 */
struct pp_waiter {
	uint64_t vaddr; /* 0: the function of range returns */
	uint32_t range, next;
};

/* A jump, or call, from one range to the middle of another. */
struct pp_crossing {
	uint64_t target;
	uint32_t from, to;
};

/* A jump from a range to another that may be its cold part. */
struct pp_joint {
	uint64_t origin; /* where from begins */
	uint32_t from, to;
};

/* An indirect jump and where it leads: targets[first..first + cnt), ascending. */
struct pp_switch {
	uint64_t jump;
	uint32_t first, cnt;
	uint32_t kind; /* PATHPROF_EDGE_SWITCH or _GUESSED */
};

/* An address that code takes; a table may lie there. */
struct pp_constant {
	uint64_t insn, value;
};

struct pp_builder {
	struct pathprof_code *code;
	struct pp_text text;
	struct pp_ranges ranges;
	struct pp_landing_pad *pads;
	size_t pad_cnt;
	struct pp_vector beginnings; /* uint64_t: starts of guesses in the file's tables */
	struct pp_vector states;     /* struct pp_state, by range */
	struct pp_map guesses;       /* start of a guess: its range */
	struct pp_vector places;     /* struct pp_place, a stack */
	struct pp_vector waiters;    /* struct pp_waiter */
	struct pp_vector crossings;  /* struct pp_crossing, to be looked at */
	struct pp_vector joints;     /* struct pp_joint */
	struct pp_vector pending;    /* struct pp_place: indirect jumps to resolve */
	struct pp_vector switches;   /* struct pp_switch */
	struct pp_map switch_at;     /* jump: its number among switches */
	struct pp_vector known;      /* struct pp_place: jumps through tables */
	struct pp_vector targets;    /* uint64_t */
	struct pp_vector constants;  /* struct pp_constant */
	struct pp_map tables;        /* start of a jump table */
	uint64_t *objects;           /* values of the constants, ascending: data begins there */
	size_t object_cnt;
	struct pathprof_graph_stats stats;
	uint64_t done_bytes, total_bytes, told_bytes;
	uint64_t budget; /* steps that reading backwards and through tables may still take */
	pathprof_progress_fn *progress;
	void *context;
	bool non_pic;      /* addresses are loaded as 32-bit constants */
	bool bounded_only; /* tables without a bound have to wait */
	bool failed;       /* out of memory: reported once, at the end */
};

/* ---- graph_text.c */
/* Returns -ENOMEM, -EFBIG or the error of reading the file; nothing of the code is known then. */
int pp_text_read(struct pp_text *text, struct pathprof_code *code);
void pp_text_release(struct pp_text *text);
/* The mark of a byte, or NULL outside code. */
uint8_t *pp_text_mark(struct pp_text *text, uint64_t vaddr);
/* Bytes from vaddr on, at most 15, or NULL outside code. */
const uint8_t *pp_text_bytes(struct pp_text *text, uint64_t vaddr, uint32_t *ret_len);
/* Length and transfer of an instruction; 0: none there. */
uint32_t pp_text_decode(struct pp_text *text, uint64_t vaddr, struct pp_insn *ret_insn);
/* Whether vaddr lies within an instruction that was reached, behind its first byte. */
bool pp_text_is_inside(struct pp_text *text, uint64_t vaddr);
/* Whether all of [start, end) is filling: no-ops and traps. */
bool pp_text_is_padding(struct pp_text *text, uint64_t start, uint64_t end);

/* ---- graph_owner.c */
int pp_owner_init(struct pp_builder *b);
/* The range of vaddr; PP_NONE: a gap, or no code. */
uint32_t pp_owner_of(const struct pp_builder *b, uint64_t vaddr);
/* The range of the guess at vaddr, in a gap; it is added if missing. PP_NONE: no code there. */
uint32_t pp_owner_guess(struct pp_builder *b, uint64_t vaddr);
/* The first range of the function a range belongs to, by the file's tables. */
uint32_t pp_owner_root(const struct pp_builder *b, uint32_t range);
/* As pp_owner_root(), but follows joined ranges too. */
uint32_t pp_owner_family(const struct pp_builder *b, uint32_t range);
/* Notes a jump from a range into another, which may be its cold part. */
void pp_owner_join(struct pp_builder *b, uint32_t from, uint32_t to);
static inline struct pp_state *pp_owner_state(const struct pp_builder *b, uint32_t range)
{
	return PP_AT(b->states, struct pp_state, range);
}

/* One step of the budget; false: none is left, and nothing more is understood. */
static inline bool pp_builder_spend(struct pp_builder *b)
{
	if (!b->budget)
		return false;
	b->budget--;
	return true;
}

/* ---- graph_explore.c */
void pp_explore_push(struct pp_builder *b, uint64_t vaddr, uint32_t range);
/* Reads all code that can be reached without resolving another indirect jump. */
void pp_explore(struct pp_builder *b);
/* Follows a jump of a range to target, within it or out of it. */
void pp_explore_reach(struct pp_builder *b, uint32_t range, uint64_t target);
void pp_explore_returns(struct pp_builder *b, uint32_t range);
/* The landing pad of a call, 0: none. */
uint64_t pp_explore_pad(const struct pp_builder *b, uint64_t call);
/* Whether the code behind a call runs once it returns; end is its range's. */
bool pp_explore_goes_on(struct pp_builder *b, uint64_t next, uint64_t end);
/* Whether the call is known to return by now. */
bool pp_explore_call_returns(struct pp_builder *b, uint64_t vaddr, const struct pp_insn *insn);
/* The symbol whose pointer, set by the dynamic linker, an indirect call or jump uses; NULL: none.
 */
const char *pp_explore_import(struct pp_builder *b, uint64_t vaddr, const struct pp_insn *insn);

/* ---- graph_names.c: names of imported functions that never return, or that return twice. */
bool pp_name_is_noreturn(const char *name);
bool pp_name_is_setjmp(const char *name);

/* ---- graph_local.c */
struct pp_local_block {
	uint64_t start, last, end;
	uint32_t kind;
	uint32_t first_pred, pred_cnt; /* into preds */
	uint32_t defs;                 /* registers it writes; bit 31: known */
	uint32_t seen;                 /* the last search that visited it */
	uint32_t parent;               /* predecessor on a shortest path; PP_NONE: not reached */
};
struct pp_local {
	struct pp_builder *b;
	uint32_t family;
	struct pp_vector blocks; /* struct pp_local_block, by start */
	struct pp_vector links;  /* struct pp_link */
	uint32_t *preds;
	uint32_t search;         /* number of the last search */
	struct pp_vector leaves; /* struct pp_leaf, of graph_value.c */
};
struct pp_link {
	uint32_t from, to;
};
int pp_local_init(struct pp_local *l, struct pp_builder *b, uint32_t family);
void pp_local_release(struct pp_local *l);
/* The block with an instruction at vaddr; PP_NONE. */
uint32_t pp_local_find(const struct pp_local *l, uint64_t vaddr);
static inline struct pp_local_block *pp_local_block(const struct pp_local *l, uint32_t block)
{
	return PP_AT(l->blocks, struct pp_local_block, block);
}

/* One instruction with its operands, and the general registers it writes. */
struct pp_op {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t vaddr;
	uint32_t defs;
};
bool pp_op_read(struct pp_local *l, uint64_t vaddr, struct pp_op *ret_op);
/* 0..15, or PP_NONE. */
uint32_t pp_op_register(ZydisRegister reg);
bool pp_op_writes_flags(const struct pp_op *op);
/* Whether the first operand is memory that the instruction writes. */
bool pp_op_writes_memory(const struct pp_op *op);

/* ---- graph_value.c */
#define PP_REG_SP 4
#define PP_REG_BP 5

/* The point just before the instruction at vaddr. */
struct pp_point {
	uint32_t block;
	uint64_t vaddr;
};
enum pp_value_kind {
	PP_VALUE_UNKNOWN = 0,
	PP_VALUE_LINEAR, /* constant + coefficient x leaf */
};
struct pp_value {
	uint32_t kind;
	uint32_t leaf; /* PP_NONE: a constant */
	uint32_t coefficient;
	uint64_t constant;
};
struct pp_leaf {
	bool load;             /* loaded from address; else the value of reg at point */
	bool sign;             /* sign-extended */
	uint32_t size_bytes;   /* of the load */
	uint32_t reg;          /* general register */
	struct pp_point point; /* where reg is used, or the load is */
	struct pp_value address;
};
/* Up to max values that the jump's operand, a register or memory, may have. */
size_t pp_value_targets(struct pp_local *l, const struct pp_op *jump, struct pp_point point,
			struct pp_value *values, size_t max);

/* ---- graph_bound.c */
struct pp_bound {
	uint64_t max; /* the index is at most that */
	bool sure;    /* a comparison bounds it; else a mask, a width or nothing */
};
struct pp_bound pp_bound_of(struct pp_local *l, uint32_t reg, struct pp_point point);

/* ---- graph_switch.c: looks at each pending jump once; true when one was resolved. */
bool pp_switch_resolve(struct pp_builder *b);
/* Looks again at jumps through tables; true when one has new targets. */
bool pp_switch_check(struct pp_builder *b);
/* Gives the jumps that are still pending guessed targets. */
bool pp_switch_give_up(struct pp_builder *b);

/* ---- graph_emit.c */
int pp_emit(struct pathprof_graph **ret_graph, struct pp_builder *b);

#endif
