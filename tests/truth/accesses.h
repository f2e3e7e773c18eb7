/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loads and stores of the instruction that a stopped thread is about to run, by Zydis' operands
 * and the thread's registers: addresses, sizes, and what memory holds there before it runs. Shares
 * nothing with the exact tracer.
 *
 * They are in the trace's order: loads before stores; wide accesses in pieces of eight bytes from
 * the lowest address up; of two loads the one at rdi first; a repeated string instruction one
 * iteration at a time.
 *
 * Workload: a million instructions, decoded once each into an open table; the code must not change.
 * One thread; the table belongs to the caller.
 */
#ifndef TRUTH_ACCESSES_H
#define TRUTH_ACCESSES_H

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <linux/types.h>

#define ACCESSES_SLOTS    (1u << 18)
#define ACCESSES_OPERANDS 3
#define ACCESSES_MAX      16 /* of one instruction, in pieces */

struct access {
	__u64 address, value; /* zero-extended */
	__u32 size_bytes;     /* at most 8 */
	bool store;
	bool is_canary; /* the stack protector's, where it is kept */
};

struct access_operand {
	ZydisRegister base, index, segment;
	__u64 scale, size_bytes;
	__s64 displacement;
	bool loads, stores, is_pushed, is_narrow;
};

struct access_shape {
	__u64 pc; /* 0: free */
	__u32 len_bytes, operand_cnt;
	bool repeats, is_locked, adds_al;
	ZydisRegister bit; /* that chooses one of a bit string; NONE */
	struct access_operand operands[ACCESSES_OPERANDS];
};

struct accesses {
	ZydisDecoder decoder;
	struct access_shape *slots; /* ACCESSES_SLOTS, zeroed; NULL: not wanted */
};

static inline int accesses_init(struct accesses *accesses)
{
	accesses->slots = calloc(ACCESSES_SLOTS, sizeof(*accesses->slots));
	ZydisDecoderInit(&accesses->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return accesses->slots ? 0 : -ENOMEM;
}

static inline size_t accesses_peek(pid_t pid, __u64 address, void *to, size_t len_bytes)
{
	size_t first = 4096 - address % 4096 < len_bytes ? 4096 - address % 4096 : len_bytes;
	struct iovec local = {to, len_bytes};
	struct iovec remote[2] = {{(void *)address, first},
				  {(void *)(address + first), len_bytes - first}};
	ssize_t got = process_vm_readv(pid, &local, 1, remote, 2, 0);

	return got > 0 ? (size_t)got : 0;
}

static inline __u64 accesses_register(const struct user_regs_struct *regs, ZydisRegister name)
{
	if (name == ZYDIS_REGISTER_RIP)
		return regs->rip;
	switch (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name)) {
	case ZYDIS_REGISTER_RAX:
		return regs->rax;
	case ZYDIS_REGISTER_RCX:
		return regs->rcx;
	case ZYDIS_REGISTER_RDX:
		return regs->rdx;
	case ZYDIS_REGISTER_RBX:
		return regs->rbx;
	case ZYDIS_REGISTER_RSP:
		return regs->rsp;
	case ZYDIS_REGISTER_RBP:
		return regs->rbp;
	case ZYDIS_REGISTER_RSI:
		return regs->rsi;
	case ZYDIS_REGISTER_RDI:
		return regs->rdi;
	case ZYDIS_REGISTER_R8:
		return regs->r8;
	case ZYDIS_REGISTER_R9:
		return regs->r9;
	case ZYDIS_REGISTER_R10:
		return regs->r10;
	case ZYDIS_REGISTER_R11:
		return regs->r11;
	case ZYDIS_REGISTER_R12:
		return regs->r12;
	case ZYDIS_REGISTER_R13:
		return regs->r13;
	case ZYDIS_REGISTER_R14:
		return regs->r14;
	case ZYDIS_REGISTER_R15:
		return regs->r15;
	default:
		return 0;
	}
}

/* ---------------------------------------------------------------- shapes */

/* Has an operand in memory, yet touches none. */
static inline bool accesses_only_hints(const ZydisDecodedInstruction *insn)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH:
		return true;
	default:
		return false;
	}
}

static inline void accesses_add(struct access_shape *shape, const ZydisDecodedInstruction *insn,
				const ZydisDecodedOperand *operand)
{
	struct access_operand *o = &shape->operands[shape->operand_cnt];

	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    operand->mem.type != ZYDIS_MEMOP_TYPE_MEM || shape->operand_cnt == ACCESSES_OPERANDS)
		return;
	*o = (struct access_operand){
		.base = operand->mem.base,
		.index = operand->mem.index,
		.segment = operand->mem.segment,
		.scale = operand->mem.scale,
		.size_bytes = operand->size / 8,
		.displacement = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0,
		.loads = operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ,
		.stores = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE,
		.is_narrow = insn->address_width == 32,
	};
	o->is_pushed = operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && o->stores &&
		       o->base == ZYDIS_REGISTER_RSP;
	/* pop computes the address it writes to after it has incremented rsp. */
	if (insn->mnemonic == ZYDIS_MNEMONIC_POP && o->stores && o->base == ZYDIS_REGISTER_RSP)
		o->displacement += (__s64)o->size_bytes;
	shape->operand_cnt++;
}

static inline bool accesses_is_bit_string(const ZydisDecodedInstruction *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_BT || insn->mnemonic == ZYDIS_MNEMONIC_BTS ||
	       insn->mnemonic == ZYDIS_MNEMONIC_BTR || insn->mnemonic == ZYDIS_MNEMONIC_BTC;
}

static inline void accesses_decode(const struct accesses *accesses, pid_t pid, __u64 pc,
				   struct access_shape *ret_shape)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	unsigned char code[16];
	size_t got = accesses_peek(pid, pc, code, sizeof(code));

	*ret_shape = (struct access_shape){.pc = pc};
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&accesses->decoder, code, got, &insn, operands)) ||
	    accesses_only_hints(&insn))
		return;
	ret_shape->len_bytes = insn.length;
	ret_shape->repeats = insn.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
						ZYDIS_ATTRIB_HAS_REPNE);
	for (unsigned int i = 0; i < insn.operand_count; i++)
		accesses_add(ret_shape, &insn, &operands[i]);
	ret_shape->adds_al = insn.mnemonic == ZYDIS_MNEMONIC_XLAT;
	if (accesses_is_bit_string(&insn) && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
		ret_shape->bit = operands[1].reg.value;
	ret_shape->is_locked = ret_shape->operand_cnt && (insn.attributes & ZYDIS_ATTRIB_HAS_LOCK ||
							  insn.mnemonic == ZYDIS_MNEMONIC_XCHG);
}

static inline const struct access_shape *accesses_look_up(struct accesses *accesses, pid_t pid,
							  __u64 pc)
{
	__u32 slot = (__u32)(pc * 0x9e3779b97f4a7c15ull >> 46);

	while (accesses->slots[slot].pc && accesses->slots[slot].pc != pc)
		slot = (slot + 1) % ACCESSES_SLOTS;
	if (!accesses->slots[slot].pc)
		accesses_decode(accesses, pid, pc, &accesses->slots[slot]);
	return &accesses->slots[slot];
}

/* ---------------------------------------------------------------- addresses */

/* The operand of a bit string is the word that holds the bit. */
static inline __u64 accesses_bit_offset(const struct access_shape *shape,
					const struct access_operand *o,
					const struct user_regs_struct *regs)
{
	unsigned int shift;
	__s64 bit;

	if (shape->bit == ZYDIS_REGISTER_NONE)
		return 0;
	bit = (__s64)accesses_register(regs, shape->bit);
	if (o->size_bytes == 4)
		bit = (__s32)bit;
	else if (o->size_bytes == 2)
		bit = (__s16)bit;
	shift = o->size_bytes == 8 ? 6 : o->size_bytes == 4 ? 5 : 4;
	return (__u64)((bit >> shift) * (__s64)o->size_bytes);
}

static inline __u64 accesses_address(const struct access_shape *shape,
				     const struct access_operand *o,
				     const struct user_regs_struct *regs)
{
	__u64 index = accesses_register(regs, o->index);
	__u64 address = accesses_register(regs, o->base) + (__u64)o->displacement;

	if (shape->adds_al)
		address += regs->rax & 0xff;
	address += index * (o->scale ? o->scale : 1);
	if (o->base == ZYDIS_REGISTER_RIP)
		address += shape->len_bytes;
	if (o->is_pushed)
		address -= o->size_bytes;
	if (o->is_narrow)
		address &= 0xffffffff;
	if (o->segment == ZYDIS_REGISTER_FS)
		address += regs->fs_base;
	else if (o->segment == ZYDIS_REGISTER_GS)
		address += regs->gs_base;
	return address + accesses_bit_offset(shape, o, regs);
}

static inline unsigned int accesses_cut(struct access *list, unsigned int cnt, __u64 address,
					__u64 size_bytes, bool store)
{
	for (__u64 at = 0; at < size_bytes && cnt < ACCESSES_MAX; at += 8)
		list[cnt++] = (struct access){
			.address = address + at,
			.size_bytes = size_bytes - at < 8 ? (__u32)(size_bytes - at) : 8,
			.store = store};
	return cnt;
}

/* Those of one direction; loads at rdi first. */
static inline unsigned int accesses_of(const struct access_shape *shape, bool store,
				       const struct user_regs_struct *regs, struct access *list,
				       unsigned int cnt)
{
	for (unsigned int pass = 0; pass < 2; pass++)
		for (unsigned int i = 0; i < shape->operand_cnt; i++) {
			const struct access_operand *o = &shape->operands[i];

			if ((store ? o->stores : o->loads) &&
			    (o->base == ZYDIS_REGISTER_RDI) == !pass)
				cnt = accesses_cut(list, cnt, accesses_address(shape, o, regs),
						   o->size_bytes, store);
		}
	return cnt;
}

/* list: ACCESSES_MAX; how many there are. The thread is stopped ahead of the instruction. */
static inline unsigned int accesses_list(const struct access_shape *shape, pid_t pid,
					 const struct user_regs_struct *regs, struct access *list)
{
	unsigned int cnt;

	if (shape->repeats && !regs->rcx)
		return 0;
	cnt = accesses_of(shape, false, regs, list, 0);
	for (unsigned int i = 0; i < cnt; i++) {
		accesses_peek(pid, list[i].address, &list[i].value, list[i].size_bytes);
		list[i].is_canary = list[i].address == regs->fs_base + 0x28;
	}
	return accesses_of(shape, true, regs, list, cnt);
}

#endif
