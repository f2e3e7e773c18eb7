// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A branch's target by a thread's registers and memory, compared with this processor.
 */
#include "step_memory.h"
#include "unit.h"

#include "../../daemon/step/step_plan.h"

static struct user_regs_struct regs;

static bool decide(uint64_t *ret_next)
{
	struct pp_step_code *code = pp_step_code_begin(read_bytes, NULL);
	const struct pp_step_insn insn = *pp_step_code_at(code, BASE);

	regs.rip = BASE;
	return pp_step_decide(code, &insn, &regs, ret_next);
}

/* The stack below belongs to the compiler. */
#define WITH_FLAGS(text)                                                                           \
	"lea -128(%%rsp), %%rsp\n"                                                                 \
	"push %[flags]\n"                                                                          \
	"popfq\n" text "lea 128(%%rsp), %%rsp\n"
#define REAL_CONDITION(name, condition)                                                            \
	static bool real_##name(uint64_t flags)                                                    \
	{                                                                                          \
		uint8_t holds;                                                                     \
                                                                                                   \
		__asm__ volatile(WITH_FLAGS("set" condition " %[holds]\n")                         \
				 : [holds] "=q"(holds)                                             \
				 : [flags] "r"(flags)                                              \
				 : "cc", "memory");                                                \
		return holds;                                                                      \
	}
REAL_CONDITION(o, "o")
REAL_CONDITION(no, "no")
REAL_CONDITION(b, "b")
REAL_CONDITION(ae, "ae")
REAL_CONDITION(e, "e")
REAL_CONDITION(ne, "ne")
REAL_CONDITION(be, "be")
REAL_CONDITION(a, "a")
REAL_CONDITION(s, "s")
REAL_CONDITION(ns, "ns")
REAL_CONDITION(p, "p")
REAL_CONDITION(np, "np")
REAL_CONDITION(l, "l")
REAL_CONDITION(ge, "ge")
REAL_CONDITION(le, "le")
REAL_CONDITION(g, "g")

static uint64_t flags_of(uint32_t number)
{
	static const uint32_t flags[] = {0x1, 0x4, 0x40, 0x80, 0x800};
	uint64_t all = 0x202;

	for (uint32_t i = 0; i < 5; i++)
		all |= number >> i & 1 ? flags[i] : 0;
	return all;
}

static void test_conditions(void)
{
	static bool (*const real[16])(uint64_t) = {
		real_o, real_no, real_b, real_ae, real_e, real_ne, real_be, real_a,
		real_s, real_ns, real_p, real_np, real_l, real_ge, real_le, real_g,
	};
	uint32_t wrong = 0;

	for (uint32_t code = 0; code < 16; code++)
		for (uint32_t number = 0; number < 32; number++) {
			bool holds = real[code](flags_of(number));
			uint64_t next = 0;

			clear();
			regs.eflags = flags_of(number);
			PUT(0, (uint8_t)(0x70 + code), 0x20);
			wrong += !decide(&next) || next != BASE + (holds ? 0x22 : 2);
			PUT(0, 0x0f, (uint8_t)(0x80 + code), 0, 2, 0, 0);
			wrong += !decide(&next) || next != BASE + (holds ? 0x206 : 6);
		}
	CU_ASSERT_EQUAL(wrong, 0);
}

#define REAL_COUNT(name, text)                                                                     \
	static bool real_##name(uint64_t flags, uint64_t cnt)                                      \
	{                                                                                          \
		uint32_t taken = 1;                                                                \
                                                                                                   \
		__asm__ volatile(WITH_FLAGS(text " 1f\n"                                           \
						 "mov $0, %[taken]\n"                              \
						 "1:\n")                                           \
				 : [taken] "+r"(taken), "+c"(cnt)                                  \
				 : [flags] "r"(flags)                                              \
				 : "cc", "memory");                                                \
		return taken;                                                                      \
	}
REAL_COUNT(loopne, "loopne")
REAL_COUNT(loope, "loope")
REAL_COUNT(loop, "loop")
REAL_COUNT(jrcxz, "jrcxz")

static void test_counters(void)
{
	static bool (*const real[4])(uint64_t, uint64_t) = {real_loopne, real_loope, real_loop,
							    real_jrcxz};
	static const uint64_t counts[] = {0, 1, 2, 300, 1ull << 32, (1ull << 32) + 1, UINT64_MAX};
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t j = 0; j < 2 * sizeof(counts) / sizeof(*counts); j++) {
			uint64_t next = 0;

			clear();
			regs.rcx = counts[j / 2];
			regs.eflags = flags_of(j % 2 ? 4 : 0);
			PUT(0, (uint8_t)(0xe0 + i), 0x20);
			wrong += !decide(&next) ||
				 next != BASE + (real[i](regs.eflags, regs.rcx) ? 0x22 : 2);
			/* The count is ecx there: refused. */
			PUT(0, 0x67, (uint8_t)(0xe0 + i), 0x20);
			wrong += decide(&next);
		}
	CU_ASSERT_EQUAL(wrong, 0);
	regs.rax = DATA;
	PUT(0, 0x67, 0xff, 0x20);
	CU_ASSERT_FALSE(decide(&(uint64_t){0}));
}

static void test_registers(void)
{
	unsigned long long *const in_order[] = {
		&regs.rax, &regs.rcx, &regs.rdx, &regs.rbx, &regs.rsp, &regs.rbp,
		&regs.rsi, &regs.rdi, &regs.r8,  &regs.r9,  &regs.r10, &regs.r11,
		&regs.r12, &regs.r13, &regs.r14, &regs.r15,
	};
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < 16; i++)
		*in_order[i] = 0x1111 * (i + 1);
	for (uint32_t i = 0; i < 16; i++) {
		uint64_t next = 0;

		clear();
		PUT(0, (uint8_t)(i < 8 ? 0x40 : 0x41), 0xff, (uint8_t)(0xe0 + i % 8));
		wrong += !decide(&next) || next != 0x1111 * (i + 1);
		PUT(0, (uint8_t)(i < 8 ? 0x40 : 0x41), 0xff, (uint8_t)(0xd0 + i % 8));
		wrong += !decide(&next) || next != 0x1111 * (i + 1);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void test_memory(void)
{
	static const struct {
		uint8_t code[9];
		uint64_t at; /* that the target is read from */
	} cases[] = {
		{{0xff, 0x20}, DATA},                                    /* (%rax) */
		{{0xff, 0x10}, DATA},                                    /* call */
		{{0xff, 0x24, 0xcb}, DATA + 0x100 + 8 * 3},              /* (%rbx,%rcx,8) */
		{{0x42, 0xff, 0x64, 0x8b, 0x10}, DATA + 0x110 + 4 * 5},  /* 16(%rbx,%r9,4) */
		{{0xff, 0x63, 0xf8}, DATA + 0xf8},                       /* -8(%rbx) */
		{{0xff, 0x24, 0x25, 0x08, 0x30, 0x40, 0x00}, DATA + 8},  /* 0x403008 */
		{{0xff, 0x25, 0xfa, 0x2f, 0x00, 0x00}, DATA},            /* 0x2ffa(%rip) */
		{{0xff, 0x14, 0x24}, DATA + 0x200},                      /* call *(%rsp) */
		{{0xff, 0x64, 0x24, 0x08}, DATA + 0x208},                /* 8(%rsp) */
		{{0x41, 0xff, 0x65, 0x00}, DATA + 0x300},                /* (%r13) */
		{{0x41, 0xff, 0x54, 0x24, 0x08}, DATA + 0x408},          /* call *8(%r12) */
		{{0x64, 0xff, 0x24, 0x25, 0x10, 0, 0, 0}, DATA + 0x510}, /* %fs:16 */
		{{0x64, 0xff, 0x26}, DATA + 0x520},                      /* %fs:(%rsi) */
		{{0x65, 0xff, 0x24, 0x25, 0xf0, 0xff, 0xff, 0xff}, DATA + 0x5f0}, /* %gs:-16 */
		{{0x3e, 0xff, 0x20}, DATA},                                       /* notrack */
		{{0xc3}, DATA + 0x200},
		{{0xc2, 0x10, 0x00}, DATA + 0x200},
		{{0xf3, 0xc3}, DATA + 0x200},
	};
	uint64_t next = 0;

	regs = (struct user_regs_struct){
		.rax = DATA,
		.rbx = DATA + 0x100,
		.rcx = 3,
		.r9 = 5,
		.rsp = DATA + 0x200,
		.r13 = DATA + 0x300,
		.r12 = DATA + 0x400,
		.fs_base = DATA + 0x500,
		.gs_base = DATA + 0x600,
		.rsi = 0x20,
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		clear();
		put(0, cases[i].code, sizeof(cases[i].code));
		put_word(cases[i].at, 0x7f1234567890 + i);
		if (!decide(&next) || next != 0x7f1234567890 + i)
			CU_FAIL("a target in memory was not found");
	}
	/* Nothing can be read there. */
	PUT(0, 0xff, 0x20);
	regs.rax = BASE + PAGE_CNT * PAGE - 7;
	CU_ASSERT_FALSE(decide(&next));
	PUT(0, 0xc3);
	regs.rsp = 0x1000;
	CU_ASSERT_FALSE(decide(&next));
}

static const struct unit_test tests[] = {
	{"conditions hold as on this processor", test_conditions},
	{"counting branches go as on this processor", test_counters},
	{"targets in registers", test_registers},
	{"targets in memory", test_memory},
};
UNIT_SUITE(step_decide, tests)
