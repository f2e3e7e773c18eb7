// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * From a path descriptor to the blocks it ran through.
 *
 * A Ball-Larus-like path has one outcome bit for each conditional, direct or indirect jump (1: it
 * was taken). Calls and returns have none: a path goes on after a call and ends with a return. It
 * also ends with a backward branch, taken or not, with an indirect jump, and with its 32nd branch.
 * A piece is the same, and ends with a call as well.
 * The descriptor and the code together give the blocks, and most descriptors that do not belong to
 * the code are detected.
 *
 * Workload: tens of paths that an operator asks for, and the daemon's hottest. One instruction
 * costs one decode. Blocks are handed out only when the whole path is known to exist.
 *
 * Source: EOPP 5.2, table 5.1.
 */
#include "../code/pp_code.h"

#include <errno.h>
#include <inttypes.h>

#include "../../core/pp_decode.h"
#include "../code/pp_code_apart.h"
#include "../code/pp_insn.h"

#define BRANCHES_MAX 32
/* Every branch but the last leads forward, so a walk ends by itself, but late in a file that is one
 * huge segment of no-ops. */
#define INSTRUCTIONS_MAX (1u << 18)

struct walk {
	struct pathprof_code *code;
	struct pathprof_error *error;
	uint32_t length, outcomes;
	bool is_piece;  /* a call ends it, as a return does */
	uint32_t used;  /* outcome bits consumed */
	uint32_t steps; /* instructions read */
	uint64_t pc;    /* vaddr of the next instruction */
	uint64_t block; /* vaddr of the current block's first instruction */
	struct pathprof_block blocks[BRANCHES_MAX + 1];
	uint32_t block_cnt;
};

/* One instruction as the walk needs it. */
struct step {
	uint32_t len;
	struct pp_insn insn;
};

static int mismatch(const struct walk *w, const char *what)
{
	uint64_t offset = 0;

	if (pathprof_code_vaddr_to_offset(w->code, w->pc, &offset))
		pathprof_fail(w->error, -EBADMSG, "%s: no such path: %s after %" PRIu32 " branches",
			      w->code->path, what, w->used);
	else
		pathprof_fail(w->error, -EBADMSG, "%s: no such path: %s at offset 0x%" PRIx64,
			      w->code->path, what, offset);
	return -EBADMSG;
}

/* Whether the instruction has no successor, or an unknown one. */
static bool is_dead_end(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return true;
	default:
		return insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR &&
		       insn->mnemonic != ZYDIS_MNEMONIC_CALL;
	}
}

static int read_step(struct walk *w, struct step *ret_step)
{
	uint8_t bytes[PP_INSN_BYTES];
	ZydisDecodedInstruction insn;
	int len;

	if (w->steps++ == INSTRUCTIONS_MAX)
		return mismatch(w, "no end of it");
	len = pp_insn_read(w->code, w->pc, bytes, &insn, NULL);
	if (len == -ERANGE)
		return mismatch(w, "it leaves this file's code");
	if (len < 0 || is_dead_end(&insn))
		return mismatch(w, "it meets an instruction that no path runs through");
	ret_step->len = insn.length;
	pp_decode(bytes, (uint32_t)len, w->pc, &ret_step->insn);
	if (insn.mnemonic == ZYDIS_MNEMONIC_INVALID && ret_step->insn.hazard == PP_HAZARD_FAR)
		return mismatch(w, "it meets an instruction that no path runs through");
	return 0;
}

/* Ends the block behind the instruction at pc. */
static int close_block(struct walk *w, const struct step *step, int taken)
{
	uint64_t start, last;

	/* Segments that are adjacent in memory need not be adjacent in the file. */
	if (pathprof_code_vaddr_to_offset(w->code, w->block, &start) ||
	    pathprof_code_vaddr_to_offset(w->code, w->pc, &last) ||
	    last - start != w->pc - w->block)
		return mismatch(w, "it leaves its segment");
	w->blocks[w->block_cnt++] = (struct pathprof_block){
		.start = start,
		.end = last + step->len,
		.kind = step->insn.kind,
		.taken = taken,
	};
	return 0;
}

/* Whether the branch at pc, whose bit was just consumed, ends the path. */
static bool ends_path(const struct walk *w, const struct step *step)
{
	return step->insn.kind == PP_KIND_IJMP || step->insn.target <= w->pc ||
	       w->used == BRANCHES_MAX;
}

/* Takes the outcome bit of a branch. Returns 1 if the path ended with it. */
static int pass_branch(struct walk *w, const struct step *step)
{
	int taken, r;

	if (w->used == w->length)
		return mismatch(w, "it has a branch more");
	taken = (int)(w->outcomes >> w->used & 1);
	if (!taken && step->insn.kind != PP_KIND_COND)
		return mismatch(w, "an unconditional branch is not taken");
	w->used++;
	r = close_block(w, step, taken);
	if (r)
		return r;
	if (ends_path(w, step))
		return w->used == w->length ? 1 : mismatch(w, "it ends earlier");
	w->pc = taken ? step->insn.target : w->pc + step->len;
	w->block = w->pc;
	return 0;
}

static int pass_return(struct walk *w, const struct step *step)
{
	int r;

	if (w->used < w->length)
		return mismatch(w,
				w->is_piece ? "it calls or returns earlier" : "it returns earlier");
	r = close_block(w, step, 1);
	return r ? r : 1;
}

/* Takes one instruction. Returns 1 if the path ended with it. */
static int pass(struct walk *w)
{
	struct step step = {0};
	int r = read_step(w, &step);

	if (r)
		return r;
	switch (step.insn.kind) {
	case PP_KIND_COND:
	case PP_KIND_JMP:
	case PP_KIND_IJMP:
		return pass_branch(w, &step);
	case PP_KIND_RET:
		return pass_return(w, &step);
	case PP_KIND_CALL:
	case PP_KIND_ICALL:
		if (w->is_piece)
			return pass_return(w, &step);
		break;
	default:
		break;
	}
	w->pc += step.len;
	return 0;
}

static int hand_out(const struct walk *w, pathprof_block_fn *fn, void *context)
{
	for (uint32_t i = 0; i < w->block_cnt; i++) {
		int r = fn(context, &w->blocks[i]);

		if (r)
			return r;
	}
	return 0;
}

static int walk(struct walk *w, uint64_t start, pathprof_block_fn *fn, void *context)
{
	int r;

	if (w->code->apart)
		return pp_apart_walk(w->code, start, w->length, w->outcomes, w->is_piece, fn,
				     context, w->error);
	if (w->length > BRANCHES_MAX || (w->length < BRANCHES_MAX && w->outcomes >> w->length))
		return pathprof_fail(w->error, -EINVAL,
				     "no path has length %" PRIu32 " and outcomes 0x%" PRIx32,
				     w->length, w->outcomes);
	if (pathprof_code_offset_to_vaddr(w->code, start, &w->pc))
		return pathprof_fail(w->error, -EBADMSG,
				     "%s: there is no code at offset 0x%" PRIx64, w->code->path,
				     start);
	w->block = w->pc;
	do
		r = pass(w);
	while (!r);
	return r < 0 ? r : hand_out(w, fn, context);
}

int pathprof_code_walk(struct pathprof_code *code, uint64_t start, uint32_t length,
		       uint32_t outcomes, pathprof_block_fn *fn, void *context,
		       struct pathprof_error *error)
{
	struct walk w = {.code = code, .error = error, .length = length, .outcomes = outcomes};

	return walk(&w, start, fn, context);
}

int pathprof_code_walk_piece(struct pathprof_code *code, uint64_t start, uint32_t length,
			     uint32_t outcomes, pathprof_block_fn *fn, void *context,
			     struct pathprof_error *error)
{
	struct walk w = {.code = code,
			 .error = error,
			 .length = length,
			 .outcomes = outcomes,
			 .is_piece = true};

	return walk(&w, start, fn, context);
}
