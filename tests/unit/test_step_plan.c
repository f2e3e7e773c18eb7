// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Planning a stop, over machine code in memory: by hand for each shape of code, and for some
 * thousands of made-up programs against an oracle that walks every way with Zydis. No thread is
 * stopped here.
 */
#include "step_memory.h"
#include "unit.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/step/step_plan.h"
#include "../../libprofile/core/pp_decode.h"

#define EFLAGS_RF 0x10000
#define EFLAGS_ZF 0x40
#define CASE_CNT  6000

static struct pp_step_plan plan;
static struct user_regs_struct regs;

static bool plan_at(uint32_t at, uint64_t flags, uint32_t leaf_max, uint32_t insns_wanted)
{
	regs.rip = BASE + at;
	regs.eflags = flags;
	return pp_step_plan(&plan, pp_step_code_begin(read_bytes, NULL), &regs, leaf_max,
			    insns_wanted);
}

static bool plan_all(uint32_t at)
{
	return plan_at(at, 0, PP_STEP_LEAF_MAX, UINT32_MAX);
}

static const struct pp_step_way *way_to(uint32_t at)
{
	return pp_step_plan_way(&plan, BASE + at);
}

/* ---- the oracle: walks the bytes, with Zydis alone */

struct oracle_insn {
	uint32_t len;
	uint64_t target;
	uint32_t kind;
	bool stops;    /* nothing may run on over it */
	bool computes; /* an indirect transfer: passed at the start only */
};

static uint32_t oracle_kind(const ZydisDecodedInstruction *insn, bool direct)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return PP_KIND_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? PP_KIND_JMP : PP_KIND_IJMP;
	case ZYDIS_CATEGORY_CALL:
		return direct ? PP_KIND_CALL : PP_KIND_ICALL;
	case ZYDIS_CATEGORY_RET:
		return PP_KIND_RET;
	default:
		return PP_KIND_NONE;
	}
}

static bool oracle_stops(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		return true;
	default:
		return false;
	}
}

static struct oracle_insn oracle_decode(uint64_t pc)
{
	struct oracle_insn found = {.stops = true};
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	uint8_t code[15];
	size_t cnt = read_bytes(NULL, pc, code, sizeof(code));
	bool direct;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!cnt || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, cnt, &insn, operands)))
		return found;
	direct = insn.operand_count && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		 operands[0].imm.is_relative;
	found.len = insn.length;
	found.kind = oracle_kind(&insn, direct);
	found.stops = oracle_stops(&insn);
	found.computes = found.kind && !direct;
	if (direct && found.kind)
		found.target = pc + insn.length + (uint64_t)operands[0].imm.value.s;
	return found;
}

struct walk {
	uint64_t pc;
	uint32_t insn_cnt, tail_cnt, branch_cnt;
	struct pathprof_branch branches[2 * PP_STEP_WAY_BRANCHES];
};

static bool is_walked(const struct pp_step_way *way, const struct walk *walk)
{
	return way->insn_cnt == walk->insn_cnt && way->tail_cnt == walk->tail_cnt &&
	       way->branch_cnt == walk->branch_cnt &&
	       !memcmp(way->branches, walk->branches, walk->branch_cnt * sizeof(walk->branches[0]));
}

/* Only jz and loop are put at the start: the rest goes both ways without being asked. */
static uint64_t oracle_first(const struct oracle_insn *insn)
{
	uint8_t opcode = step_memory[regs.rip - BASE];
	uint64_t word = 0;
	bool taken;

	if (insn->kind == PP_KIND_RET) {
		read_bytes(NULL, regs.rsp, &word, sizeof(word));
		return word;
	}
	if (opcode == 0x0f)
		opcode = (uint8_t)(step_memory[regs.rip - BASE + 1] - 0x10);
	taken = opcode == 0xe2 ? regs.rcx != 1 : !(regs.eflags & EFLAGS_ZF) == (opcode == 0x75);
	return taken ? insn->target : regs.rip + insn->len;
}

static void oracle_branch(struct walk *walk, const struct oracle_insn *insn, uint64_t next)
{
	walk->branches[walk->branch_cnt++] = (struct pathprof_branch){
		.from = walk->pc,
		.target = insn->target ? insn->target : next,
		.next = next,
		.kind = insn->kind,
		.taken = insn->kind != PP_KIND_COND || next == insn->target,
		.insns = walk->tail_cnt,
	};
	walk->tail_cnt = 0;
}

/* Goes by the bits of `choices`; whether the first leaf met is that of the way gone. */
static bool walk_agrees(const struct pp_step_plan *to_check, unsigned int choices)
{
	struct walk walk = {.pc = to_check->start};

	for (uint32_t i = 0; i < 2 * PP_STEP_WAY_INSNS; i++) {
		const struct pp_step_way *way = pp_step_plan_way(to_check, walk.pc);
		struct oracle_insn insn = oracle_decode(walk.pc);
		uint64_t next = walk.pc + insn.len;

		if (way && (i || !to_check->resumes))
			return is_walked(way, &walk);
		if (insn.stops || (i && insn.computes) ||
		    walk.branch_cnt == 2 * PP_STEP_WAY_BRANCHES)
			return false;
		walk.insn_cnt++;
		walk.tail_cnt++;
		if (insn.kind == PP_KIND_COND || insn.computes) {
			if (!i)
				next = oracle_first(&insn);
			else if (choices & 1)
				next = insn.target;
			choices = i ? choices >> 1 : choices;
		} else if (insn.kind) {
			next = insn.target;
		}
		if (insn.kind)
			oracle_branch(&walk, &insn, next);
		walk.pc = next;
	}
	return false;
}

/* Four leaves make three choices at most. */
static bool all_agree(const struct pp_step_plan *to_check)
{
	for (unsigned int choices = 0; choices < 8; choices++)
		if (!walk_agrees(to_check, choices))
			return false;
	return true;
}

/* ---- shapes of code */

static void test_straight(void)
{
	clear();
	PUT(0, 0x90, 0x31, 0xc0, 0xb8, 1, 2, 3, 4, 0x0f, 0x05);
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_EQUAL(plan.way_cnt, 1);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 8);
	CU_ASSERT_EQUAL(plan.ways[0].end, PATHPROF_END_SYSCALL);
	CU_ASSERT_EQUAL(plan.ways[0].insn_cnt, 3);
	CU_ASSERT_EQUAL(plan.ways[0].tail_cnt, 3);
	CU_ASSERT_EQUAL(plan.ways[0].branch_cnt, 0);
	CU_ASSERT_TRUE(all_agree(&plan));
}

/* A tree of jz: taken goes to 0x40 and 0x80 on, each leaf another ret. */
static void put_tree(void)
{
	clear();
	PUT(0x00, 0x90, 0x74, 0x3d, 0x90, 0x74, 0x1a, 0x90, 0xc3);
	PUT(0x20, 0xc3);
	PUT(0x40, 0x90, 0x90, 0x74, 0x1c, 0xc3);
	PUT(0x60, 0xeb, 0x0e);
	PUT(0x70, 0xc3);
}

static void test_levels(void)
{
	put_tree();
	CU_ASSERT_TRUE(plan_at(0, 0, 1, UINT32_MAX));
	CU_ASSERT_EQUAL(plan.way_cnt, 1);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 1);
	CU_ASSERT_TRUE(plan_at(0, 0, 2, UINT32_MAX));
	CU_ASSERT_EQUAL(plan.way_cnt, 2);
	CU_ASSERT_PTR_NOT_NULL(way_to(0x04));
	CU_ASSERT_PTR_NOT_NULL(way_to(0x42));
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_EQUAL(plan.way_cnt, 4);
	CU_ASSERT_PTR_NOT_NULL(way_to(0x07));
	CU_ASSERT_PTR_NOT_NULL(way_to(0x20));
	CU_ASSERT_PTR_NOT_NULL(way_to(0x44));
	CU_ASSERT_PTR_NOT_NULL_FATAL(way_to(0x70));
	CU_ASSERT_EQUAL(way_to(0x70)->branch_cnt, 3);
	CU_ASSERT_EQUAL(way_to(0x70)->insn_cnt, 6);
	CU_ASSERT_EQUAL(way_to(0x70)->branches[2].insns, 1);
	CU_ASSERT_TRUE(all_agree(&plan));
}

static void test_insns_wanted(void)
{
	put_tree();
	/* The trunk alone is as long as wanted: its branch need not be told. */
	CU_ASSERT_TRUE(plan_at(0, 0, 4, 1));
	CU_ASSERT_EQUAL(plan.way_cnt, 1);
	CU_ASSERT_TRUE(plan_at(0, 0, 4, 2));
	CU_ASSERT_EQUAL(plan.way_cnt, 2);
	/* The way not taken has 3, the one taken 4: only the shorter is opened. */
	CU_ASSERT_TRUE(plan_at(0, 0, 4, 4));
	CU_ASSERT_EQUAL(plan.way_cnt, 3);
}

/* The branch opened first is the one that has gone the likely way. */
static void test_learns(void)
{
	struct pathprof_branch branch = {.from = BASE + 1, .kind = PP_KIND_COND, .taken = 1};

	put_tree();
	for (int i = 0; i < 300; i++)
		pp_step_plan_learn(&branch);
	CU_ASSERT_TRUE(plan_at(0, 0, 3, UINT32_MAX));
	CU_ASSERT_PTR_NOT_NULL(way_to(0x70));
	CU_ASSERT_PTR_NOT_NULL(way_to(0x04));
	branch.taken = 0;
	for (int i = 0; i < 3000; i++)
		pp_step_plan_learn(&branch);
	CU_ASSERT_TRUE(plan_at(0, 0, 3, UINT32_MAX));
	CU_ASSERT_PTR_NOT_NULL(way_to(0x20));
	CU_ASSERT_PTR_NOT_NULL(way_to(0x42));
}

/* `loop` to itself: its leaf is where the thread stands. */
static void test_self_loop(void)
{
	clear();
	PUT(0x10, 0xe2, 0xfe, 0x90, 0xc3);
	regs.rcx = 5;
	/* The breakpoint there strikes at once, which lets the next one pass. */
	CU_ASSERT_TRUE(plan_at(0x10, 0, 4, UINT32_MAX));
	CU_ASSERT_EQUAL(plan.way_cnt, 1);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 0x10);
	CU_ASSERT_EQUAL(plan.ways[0].insn_cnt, 0);
	CU_ASSERT_EQUAL(plan.ways[0].end, PATHPROF_END_CNT);
	CU_ASSERT_TRUE(all_agree(&plan));
	CU_ASSERT_TRUE(plan_at(0x10, EFLAGS_RF, 4, UINT32_MAX));
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 0x10);
	CU_ASSERT_EQUAL(plan.ways[0].branch_cnt, 1);
	CU_ASSERT_EQUAL(plan.way_cnt, 1);
	CU_ASSERT_TRUE(all_agree(&plan));
	regs.rcx = 1;
	CU_ASSERT_TRUE(plan_at(0x10, 0, 4, UINT32_MAX));
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 0x13);
	CU_ASSERT_EQUAL(plan.ways[0].branches[0].taken, 0);
}

/* jz back to the start and past it: the leaf of the way back lies on the way to it. */
static void test_leaf_on_another_way(void)
{
	clear();
	PUT(0, 0x90, 0x74, 0x02, 0x90, 0x90, 0x74, 0xf9, 0xc3);
	/* Both ways of the first jz meet at the second one. */
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_EQUAL(plan.way_cnt, 1);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 1);
	CU_ASSERT_TRUE(all_agree(&plan));
	/* The way not taken runs over the leaf of the way taken: nop, then `ret` behind a jump. */
	clear();
	PUT(0, 0x74, 0x02, 0x90, 0x90, 0x75, 0x01, 0x90, 0xc3);
	CU_ASSERT_TRUE(plan_at(0, EFLAGS_ZF, 4, UINT32_MAX));
	CU_ASSERT_TRUE(all_agree(&plan));
}

static void test_middle_of_instruction(void)
{
	clear();
	/* jz to the ret that is the immediate's second byte; the other way runs over it. */
	PUT(0, 0x90, 0x74, 0x03, 0x90, 0xb8, 0x90, 0xc3, 0x90, 0x90, 0x0f, 0x05);
	PUT(2, 0x03);
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_TRUE(all_agree(&plan));
	clear();
	/* jmp into itself: eb ff c0 is jmp +1, then inc %eax. */
	PUT(0, 0xeb, 0xff, 0xc0, 0x0f, 0x05);
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 3);
	CU_ASSERT_EQUAL(plan.ways[0].insn_cnt, 2);
	CU_ASSERT_TRUE(all_agree(&plan));
	clear();
	/* A system call within an instruction that the way to it runs over: not told by its place.
	 */
	PUT(0, 0xb8, 0x90, 0x0f, 0x05, 0x90, 0xeb, 0xfb);
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_EQUAL(plan.way_cnt, 1);
	CU_ASSERT_EQUAL(plan.ways[0].end, PATHPROF_END_CNT);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 5);
	CU_ASSERT_TRUE(all_agree(&plan));
}

static void test_next_instruction(void)
{
	clear();
	PUT(0, 0x90, 0x74, 0x00, 0x90, 0xc3);
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_EQUAL(plan.way_cnt, 1);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 1);
	CU_ASSERT_TRUE(plan_all(1));
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 4);
	CU_ASSERT_EQUAL(plan.ways[0].branches[0].taken, 1);
	CU_ASSERT_TRUE(all_agree(&plan));
}

static void test_endless(void)
{
	clear();
	PUT(0x00, 0xeb, 0xfe);
	PUT(0x10, 0x90, 0xeb, 0x0d);
	PUT(0x20, 0xeb, 0xee);
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_EQUAL(plan.ways[0].insn_cnt, 0);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE);
	CU_ASSERT_TRUE(plan_at(0, EFLAGS_RF, 4, UINT32_MAX));
	CU_ASSERT_EQUAL(plan.ways[0].branch_cnt, 1);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE);
	/* One instruction at a time. */
	CU_ASSERT_TRUE(plan_all(0x10));
	CU_ASSERT_EQUAL(plan.ways[0].insn_cnt, 1);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 0x11);
	CU_ASSERT_TRUE(plan_at(0x11, EFLAGS_RF, 4, UINT32_MAX));
	CU_ASSERT_EQUAL(plan.ways[0].branch_cnt, 1);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 0x20);
	CU_ASSERT_TRUE(all_agree(&plan));
}

/* A chain of jumps that is longer than a way, and straight code that is. */
static void test_limits(void)
{
	clear();
	for (uint32_t i = 0; i < 50; i++)
		PUT(4 * i, 0xeb, 0x02);
	PUT(200, 0xc3);
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_EQUAL(plan.ways[0].branch_cnt, PP_STEP_WAY_BRANCHES);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 4 * PP_STEP_WAY_BRANCHES);
	CU_ASSERT_EQUAL(plan.ways[0].end, PATHPROF_END_CNT);
	CU_ASSERT_TRUE(all_agree(&plan));
	memset(step_memory, 0x90, 2 * PP_STEP_WAY_INSNS);
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_EQUAL(plan.ways[0].insn_cnt, PP_STEP_WAY_INSNS);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + PP_STEP_WAY_INSNS);
	/* A jz behind 31 jumps may be passed, one behind 32 not. */
	clear();
	for (uint32_t i = 0; i < PP_STEP_WAY_BRANCHES; i++)
		PUT(4 * i, 0xeb, 0x02);
	PUT(4 * PP_STEP_WAY_BRANCHES, 0x74, 0x02, 0xc3, 0x90, 0xc3);
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_EQUAL(plan.way_cnt, 1);
	CU_ASSERT_TRUE(plan_all(4));
	CU_ASSERT_EQUAL(plan.way_cnt, 2);
	CU_ASSERT_TRUE(all_agree(&plan));
}

static void test_pages(void)
{
	clear();
	/* An instruction across the border, then the page that is not there. */
	memset(step_memory, 0x90, 2 * PAGE);
	PUT(PAGE - 2, 0xb8, 1, 2, 3, 4, 0xc3);
	CU_ASSERT_TRUE(plan_all(PAGE - 4));
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + PAGE + 3);
	CU_ASSERT_EQUAL(plan.ways[0].insn_cnt, 3);
	readable_cnt = 1;
	CU_ASSERT_TRUE(plan_all(PAGE - 4));
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + PAGE - 2);
	CU_ASSERT_EQUAL(plan.ways[0].end, PATHPROF_END_CNT);
	/* The instruction's length is not known: it can only be stepped. */
	CU_ASSERT_FALSE(plan_all(PAGE - 2));
	CU_ASSERT_EQUAL(plan.ways[0].end, PATHPROF_END_CNT);
	memset(step_memory, 0x90, PAGE);
	CU_ASSERT_TRUE(plan_all(PAGE - 3));
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + PAGE);
	CU_ASSERT_EQUAL(plan.ways[0].end, PATHPROF_END_FETCH);
	CU_ASSERT_FALSE(plan_all(PAGE));
	CU_ASSERT_EQUAL(plan.ways[0].end, PATHPROF_END_FETCH);
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + PAGE);
}

static void test_hazards(void)
{
	static const struct {
		uint8_t code[3];
		uint32_t end;
	} cases[] = {
		{{0x0f, 0x05}, PATHPROF_END_SYSCALL}, {{0x9c}, PATHPROF_END_FLAGS},
		{{0x9d}, PATHPROF_END_FLAGS},         {{0xcc}, PATHPROF_END_TRAP},
		{{0x0f, 0x0b}, PATHPROF_END_TRAP},    {{0x48, 0xcf}, PATHPROF_END_FAR},
		{{0x8e, 0xd0}, PATHPROF_END_SS},      {{0x0f, 0x01, 0xd5}, PATHPROF_END_TSX},
		{{0x06}, PATHPROF_END_FETCH},         {{0x0f, 0xa2}, PATHPROF_END_SYSCALL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		/* At the start, behind straight code, behind a jump, behind a branch. */
		clear();
		PUT(0, 0x90, 0xeb, 0x0d);
		PUT(0x10, 0x90);
		put(0x11, cases[i].code, 3);
		PUT(0x20, 0x90, 0x74, 0x02, 0x90, 0xc3);
		put(0x25, cases[i].code, 3);
		CU_ASSERT_FALSE(plan_all(0x11));
		CU_ASSERT_EQUAL(plan.way_cnt, 1);
		CU_ASSERT_EQUAL(plan.ways[0].end, cases[i].end);
		CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 0x11);
		CU_ASSERT_TRUE(plan_all(0x10));
		CU_ASSERT_EQUAL(plan.ways[0].end, cases[i].end);
		CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 0x11);
		CU_ASSERT_TRUE(plan_all(0));
		CU_ASSERT_EQUAL(plan.ways[0].end, cases[i].end);
		CU_ASSERT_EQUAL(plan.ways[0].branch_cnt, 1);
		CU_ASSERT_TRUE(plan_all(0x20));
		CU_ASSERT_EQUAL(plan.way_cnt, 2);
		CU_ASSERT_PTR_NOT_NULL_FATAL(way_to(0x25));
		CU_ASSERT_EQUAL(way_to(0x25)->end, cases[i].end);
		CU_ASSERT_EQUAL(way_to(0x24)->end, PATHPROF_END_CNT);
	}
}

static void test_rep(void)
{
	clear();
	PUT(0, 0x90, 0xf3, 0xa4, 0xf2, 0xae, 0x74, 0xfa, 0xc3);
	CU_ASSERT_TRUE(plan_at(1, 0, 1, UINT32_MAX));
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 5);
	CU_ASSERT_EQUAL(plan.ways[0].insn_cnt, 2);
	CU_ASSERT_TRUE(all_agree(&plan));
}

static void test_undecodable(void)
{
	clear();
	/* VEX bytes that are no instruction: no length, so it may only be stepped. */
	PUT(0, 0x90, 0x90, 0xc4, 0xff, 0xff, 0xff, 0xff);
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_EQUAL(plan.ways[0].leaf, BASE + 2);
	CU_ASSERT_EQUAL(plan.ways[0].end, PATHPROF_END_CNT);
	CU_ASSERT_FALSE(plan_all(2));
	CU_ASSERT_EQUAL(plan.ways[0].end, PATHPROF_END_CNT);
	/* A branch that the decoders take for one thing and its prefix forbids. */
	PUT(0, 0x90, 0xf0, 0x74, 0x00);
	CU_ASSERT_TRUE(plan_all(0));
	CU_ASSERT_EQUAL(plan.ways[0].end, PATHPROF_END_FETCH);
}

static void test_rewritten(void)
{
	struct pp_step_code *code;

	put_tree();
	code = pp_step_code_begin(read_bytes, NULL);
	regs.rip = BASE;
	CU_ASSERT_TRUE(pp_step_plan(&plan, code, &regs, 4, UINT32_MAX));
	CU_ASSERT_TRUE(pp_step_code_unchanged(code));
	step_memory[0x70] = 0xcc;
	CU_ASSERT_FALSE(pp_step_code_unchanged(code));
}

/* ---- made-up programs */

static uint64_t random_state = 20260101;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % limit;
}

#define REGION_BYTES 160
#define REGION_AT    (PAGE - 70)

static void put_rel(uint32_t at, uint32_t len_bytes, uint32_t to)
{
	int32_t relative = (int32_t)to - (int32_t)(at + len_bytes);

	memcpy(step_memory + at + len_bytes - 4, &relative, 4);
}

/* A short transfer where it reaches, else the long one's first bytes do for it. */
static void put_rel8(uint32_t at, uint32_t to)
{
	int32_t relative = (int32_t)to - (int32_t)(at + 2);

	if (relative < -128 || relative > 127)
		relative = (int32_t)random_below(8);
	step_memory[at + 1] = (uint8_t)relative;
}

enum form { NOP, LONG_NOP, MOV, JCC, LONG_JCC, LOOP, JMP, LONG_JMP, CALL, REP, RET, HAZARD };
static const uint8_t form_len[] = {1, 4, 5, 2, 6, 2, 2, 5, 5, 2, 1, 2};
static const uint8_t form_weight[] = {14, 8, 8, 26, 8, 4, 6, 4, 5, 4, 2, 3};

static enum form random_form(void)
{
	uint32_t sum = 0;
	uint32_t pick;

	for (size_t i = 0; i < sizeof(form_weight); i++)
		sum += form_weight[i];
	pick = random_below(sum);
	for (uint32_t i = 0;; i++) {
		if (pick < form_weight[i])
			return (enum form)i;
		pick -= form_weight[i];
	}
}

static void put_form(uint32_t at, enum form form, uint32_t to)
{
	static const uint8_t inside[] = {0x90, 0x74, 0xeb, 0x9c, 0xc3, 0x02, 0x75, 0xb8};
	uint8_t condition = (uint8_t)(0x74 + random_below(2));

	switch (form) {
	case NOP:
		PUT(at, 0x90);
		break;
	case LONG_NOP:
		PUT(at, 0x0f, 0x1f, 0x40, 0x90);
		break;
	case MOV:
		PUT(at, 0xb8);
		for (uint32_t i = 1; i < 5; i++)
			step_memory[at + i] = inside[random_below(sizeof(inside))];
		break;
	case JCC:
		PUT(at, condition);
		put_rel8(at, to);
		break;
	case LONG_JCC:
		PUT(at, 0x0f, (uint8_t)(condition + 0x10));
		put_rel(at, 6, to);
		break;
	case LOOP:
		PUT(at, 0xe2);
		put_rel8(at, to);
		break;
	case JMP:
		PUT(at, 0xeb);
		put_rel8(at, to);
		break;
	case LONG_JMP:
	case CALL:
		PUT(at, form == CALL ? 0xe8 : 0xe9);
		put_rel(at, 5, to);
		break;
	case REP:
		PUT(at, 0xf3, 0xa4);
		break;
	case RET:
		PUT(at, 0xc3);
		break;
	case HAZARD:
		PUT(at, 0x0f, 0x05);
		break;
	}
}

/* Some instructions; transfers lead mostly to one of them, else anywhere. Places of them. */
static uint32_t make_up(uint32_t *ret_places)
{
	enum form forms[REGION_BYTES];
	uint32_t cnt = 0;

	clear();
	for (uint32_t at = REGION_AT; at < REGION_AT + REGION_BYTES; at += form_len[forms[cnt++]]) {
		forms[cnt] = random_form();
		ret_places[cnt] = at;
	}
	for (uint32_t i = 0; i < cnt; i++)
		put_form(ret_places[i], forms[i],
			 random_below(8) ? ret_places[random_below(cnt)]
					 : REGION_AT + random_below(REGION_BYTES));
	regs.rcx = 1 + random_below(2);
	regs.rsp = DATA;
	put_word(DATA, BASE + ret_places[random_below(cnt)]);
	return cnt;
}

static void learn_something(const uint32_t *places, uint32_t cnt)
{
	for (uint32_t i = 0; i < 8; i++) {
		struct pathprof_branch branch = {.from = BASE + places[random_below(cnt)],
						 .kind = PP_KIND_COND,
						 .taken = random_below(2)};

		pp_step_plan_learn(&branch);
	}
}

/* Planted faults, each of which some walk must run into. */
static bool faults_show(void)
{
	static struct pp_step_plan wrong;
	bool shown;

	wrong = plan;
	wrong.ways[0].branches[0].insns++;
	wrong.ways[0].insn_cnt++;
	shown = !all_agree(&wrong);
	if (plan.way_cnt < 2)
		return shown;
	wrong = plan;
	wrong.ways[0].leaf = plan.ways[1].leaf;
	wrong.ways[1].leaf = plan.ways[0].leaf;
	shown = shown && !all_agree(&wrong);
	wrong = plan;
	wrong.ways[1].leaf = BASE + 2 * PAGE;
	return shown && !all_agree(&wrong);
}

static void test_made_up(void)
{
	uint32_t places[REGION_BYTES];
	uint32_t planned = 0, disagreed = 0, hidden = 0, ends_wrong = 0, four = 0;

	for (int i = 0; i < CASE_CNT; i++) {
		uint32_t cnt = make_up(places);
		uint64_t flags =
			(random_below(2) ? EFLAGS_ZF : 0) | (random_below(2) ? EFLAGS_RF : 0);
		uint32_t at = places[random_below(cnt)];
		struct oracle_insn first;

		learn_something(places, cnt);
		if (plan_at(at, flags, 1 + random_below(4), random_below(4) ? UINT32_MAX : 5)) {
			planned++;
			four += plan.way_cnt == 4;
			disagreed += !all_agree(&plan);
			hidden += !faults_show();
			continue;
		}
		first = oracle_decode(regs.rip);
		ends_wrong += plan.way_cnt != 1 ||
			      (plan.ways[0].end != PATHPROF_END_CNT) != first.stops ||
			      plan.ways[0].leaf != regs.rip;
	}
	CU_ASSERT_EQUAL(disagreed, 0);
	CU_ASSERT_EQUAL(hidden, 0);
	CU_ASSERT_EQUAL(ends_wrong, 0);
	CU_ASSERT_TRUE(planned > CASE_CNT * 3 / 4);
	CU_ASSERT_TRUE(four > CASE_CNT / 20);
}

static const struct unit_test tests[] = {
	{"straight code runs to its end", test_straight},
	{"one, two and three levels are opened", test_levels},
	{"what is beyond the window is not told apart", test_insns_wanted},
	{"the likely way is opened first", test_learns},
	{"a branch to itself is passed only where the breakpoint lets it", test_self_loop},
	{"no leaf lies on another way", test_leaf_on_another_way},
	{"jumps into the middle of instructions", test_middle_of_instruction},
	{"a branch to the next instruction stays closed", test_next_instruction},
	{"endless direct jumps are stepped", test_endless},
	{"a way has its limits", test_limits},
	{"pages: crossed, and not there", test_pages},
	{"hazards end the window wherever they stand", test_hazards},
	{"a repeated string instruction is one", test_rep},
	{"what cannot be decoded is stepped", test_undecodable},
	{"rewritten code is noticed", test_rewritten},
	{"made-up programs: the place of a stop tells the way", test_made_up},
};
UNIT_SUITE(step_plan, tests)
