/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The outcome of a branch that a thread is stopped in front of: conditions from the flags, targets
 * from registers and memory. Once a stop; Zydis reads the operands.
 *
 * A target in memory is read some tens of microseconds before the thread reads it. Should another
 * thread change it meanwhile, the window ends where the thread is not found (step_burst.c).
 *
 * Source: Intel SDM vol. 2, Jcc, LOOP, CALL, JMP, RET.
 */
#include <Zydis/Zydis.h>

#include "step_code.h"

#include "../../libprofile/core/pp_types.h"

#define FLAG_CF 0x001
#define FLAG_PF 0x004
#define FLAG_ZF 0x040
#define FLAG_SF 0x080
#define FLAG_OF 0x800

/* Jcc by its condition code: each even code is the negation of the odd code behind it. */
static bool condition_holds(unsigned int code, uint64_t flags)
{
	bool less = !(flags & FLAG_SF) != !(flags & FLAG_OF);
	bool holds = false;

	switch (code >> 1) {
	case 0:
		holds = flags & FLAG_OF;
		break;
	case 1:
		holds = flags & FLAG_CF;
		break;
	case 2:
		holds = flags & FLAG_ZF;
		break;
	case 3:
		holds = flags & (FLAG_CF | FLAG_ZF);
		break;
	case 4:
		holds = flags & FLAG_SF;
		break;
	case 5:
		holds = flags & FLAG_PF;
		break;
	case 6:
		holds = less;
		break;
	case 7:
		holds = less || (flags & FLAG_ZF);
		break;
	}
	return holds != (code & 1);
}

/* loopne, loope, loop: they count rcx down first; jrcxz does not. */
static bool counter_holds(unsigned int opcode, const struct user_regs_struct *regs)
{
	bool zero = regs->eflags & FLAG_ZF;

	if (opcode == 0xe3)
		return !regs->rcx;
	return regs->rcx != 1 && (opcode == 0xe2 || zero == (opcode == 0xe1));
}

static bool decide_condition(const ZydisDecodedInstruction *insn,
			     const struct user_regs_struct *regs, bool *ret_taken)
{
	if (insn->opcode >= 0xe0 && insn->opcode <= 0xe3) {
		if (insn->address_width != 64)
			return false;
		*ret_taken = counter_holds(insn->opcode, regs);
		return true;
	}
	*ret_taken = condition_holds(insn->opcode & 15, regs->eflags);
	return true;
}

/* General registers in the order of their encoding. */
static uint64_t register_value(ZydisRegister reg, const struct user_regs_struct *regs)
{
	const unsigned long long in_order[] = {
		regs->rax, regs->rcx, regs->rdx, regs->rbx, regs->rsp, regs->rbp,
		regs->rsi, regs->rdi, regs->r8,  regs->r9,  regs->r10, regs->r11,
		regs->r12, regs->r13, regs->r14, regs->r15,
	};

	return in_order[reg - ZYDIS_REGISTER_RAX];
}

static bool is_general(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15;
}

static bool add_register(ZydisRegister reg, uint64_t scale, const struct user_regs_struct *regs,
			 uint64_t end, uint64_t *address)
{
	if (reg == ZYDIS_REGISTER_NONE)
		return true;
	if (reg == ZYDIS_REGISTER_RIP)
		*address += end;
	else if (is_general(reg))
		*address += scale * register_value(reg, regs);
	else
		return false;
	return true;
}

static bool address_of(const ZydisDecodedOperand *operand, const struct user_regs_struct *regs,
		       uint64_t end, uint64_t *ret_address)
{
	uint64_t address =
		operand->mem.disp.has_displacement ? (uint64_t)operand->mem.disp.value : 0;

	if (operand->size != 64 || !add_register(operand->mem.base, 1, regs, end, &address) ||
	    !add_register(operand->mem.index, operand->mem.scale, regs, end, &address))
		return false;
	if (operand->mem.segment == ZYDIS_REGISTER_FS)
		address += regs->fs_base;
	else if (operand->mem.segment == ZYDIS_REGISTER_GS)
		address += regs->gs_base;
	*ret_address = address;
	return true;
}

static bool read_word(struct pp_step_code *code, uint64_t address, uint64_t *ret_word)
{
	return pp_step_code_read(code, address, ret_word, sizeof(*ret_word)) == sizeof(*ret_word);
}

static bool decide_target(struct pp_step_code *code, const ZydisDecodedInstruction *insn,
			  const ZydisDecodedOperand *operand, const struct user_regs_struct *regs,
			  uint64_t *ret_next)
{
	uint64_t address;

	if (insn->address_width != 64 || insn->operand_width != 64)
		return false;
	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER && is_general(operand->reg.value)) {
		*ret_next = register_value(operand->reg.value, regs);
		return true;
	}
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       address_of(operand, regs, regs->rip + insn->length, &address) &&
	       read_word(code, address, ret_next);
}

bool pp_step_decide(struct pp_step_code *code, const struct pp_step_insn *insn,
		    const struct user_regs_struct *regs, uint64_t *ret_next)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction full;
	bool taken;

	if (insn->kind == PP_KIND_RET)
		return read_word(code, regs->rsp, ret_next);
	if (!pp_step_code_operands(code, insn, &full, operands))
		return false;
	if (insn->kind != PP_KIND_COND)
		return decide_target(code, &full, &operands[0], regs, ret_next);
	if (!decide_condition(&full, regs, &taken))
		return false;
	*ret_next = taken ? insn->target : insn->pc + insn->len;
	return true;
}
