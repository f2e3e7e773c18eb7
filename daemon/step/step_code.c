/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading and decoding a held thread's code: see step_code.h. */
#include "step_code.h"

#include <string.h>

#include "../../libprofile/core/pp_decode.h"

#define PAGE_CNT         64
#define INSN_CNT         2048
#define PAGE_OF(address) ((address) & ~(uint64_t)(PP_STEP_PAGE_BYTES - 1))

struct page {
	uint64_t address;
	uint64_t burst; /* that read it */
	bool readable;
	uint8_t bytes[PP_STEP_PAGE_BYTES];
};

struct known {
	struct pp_step_insn insn;
	uint64_t burst;
};

struct pp_step_code {
	pp_step_read_fn *read;
	void *context;
	uint64_t burst;
	bool changed; /* a page had to make room and was not the same any more */
	ZydisDecoder lengths, operands;
	struct page pages[PAGE_CNT];
	struct known insns[INSN_CNT];
};

struct pp_step_code *pp_step_code_begin(pp_step_read_fn *read, void *context)
{
	static struct pp_step_code code;

	if (!code.burst) {
		ZydisDecoderInit(&code.lengths, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		ZydisDecoderEnableMode(&code.lengths, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
		ZydisDecoderInit(&code.operands, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	}
	code.read = read;
	code.context = context;
	code.changed = false;
	code.burst++;
	return &code;
}

/* ---- pages */

static bool is_unchanged(const struct pp_step_code *code, const struct page *page)
{
	uint8_t now[PP_STEP_PAGE_BYTES];

	return code->read(code->context, page->address, now, sizeof(now)) == sizeof(now) &&
	       !memcmp(now, page->bytes, sizeof(now));
}

static const struct page *page_at(struct pp_step_code *code, uint64_t address)
{
	struct page *page = &code->pages[address / PP_STEP_PAGE_BYTES % PAGE_CNT];

	if (page->burst == code->burst && page->address == address)
		return page;
	if (page->burst == code->burst && page->readable && !is_unchanged(code, page))
		code->changed = true;
	page->burst = code->burst;
	page->address = address;
	page->readable = code->read(code->context, address, page->bytes, sizeof(page->bytes)) ==
			 sizeof(page->bytes);
	return page;
}

bool pp_step_code_unchanged(struct pp_step_code *code)
{
	for (size_t i = 0; i < PAGE_CNT && !code->changed; i++) {
		const struct page *page = &code->pages[i];

		if (page->burst == code->burst && page->readable && !is_unchanged(code, page))
			code->changed = true;
	}
	return !code->changed;
}

bool pp_step_code_overlaps(const struct pp_step_code *code, uint64_t address, uint64_t len_bytes)
{
	for (size_t i = 0; i < PAGE_CNT; i++) {
		const struct page *page = &code->pages[i];

		if (page->burst != code->burst)
			continue;
		if (page->address - PAGE_OF(address) < (address - PAGE_OF(address)) + len_bytes)
			return true;
	}
	return false;
}

/* The bytes of an instruction that may cross into the next page; how many there are. */
static size_t bytes_at(struct pp_step_code *code, uint64_t pc, uint8_t *bytes)
{
	size_t room = PAGE_OF(pc) + PP_STEP_PAGE_BYTES - pc;
	size_t first = room < PP_STEP_INSN_BYTES ? room : PP_STEP_INSN_BYTES;
	const struct page *page = page_at(code, PAGE_OF(pc));

	if (!page->readable)
		return 0;
	memcpy(bytes, page->bytes + (pc - page->address), first);
	if (first == PP_STEP_INSN_BYTES)
		return first;
	page = page_at(code, PAGE_OF(pc) + PP_STEP_PAGE_BYTES);
	if (!page->readable)
		return first;
	memcpy(bytes + first, page->bytes, PP_STEP_INSN_BYTES - first);
	return PP_STEP_INSN_BYTES;
}

/* ---- instructions */

static void decode(struct pp_step_code *code, uint64_t pc, struct pp_step_insn *ret_insn)
{
	ZydisDecodedInstruction length;
	uint8_t bytes[PP_STEP_INSN_BYTES];
	size_t cnt = bytes_at(code, pc, bytes);
	struct pp_insn insn;

	*ret_insn = (struct pp_step_insn){.pc = pc, .hazard = PP_HAZARD_FETCH};
	if (!cnt)
		return;
	pp_decode(bytes, (uint32_t)cnt, pc, &insn);
	ret_insn->hazard = (uint8_t)insn.hazard;
	ret_insn->kind = (uint8_t)insn.kind;
	ret_insn->target = insn.target;
	ret_insn->len = (uint8_t)insn.len;
	if (insn.kind == PP_KIND_NONE &&
	    ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&code->lengths, NULL, bytes, cnt, &length)))
		ret_insn->len = length.length;
}

const struct pp_step_insn *pp_step_code_at(struct pp_step_code *code, uint64_t pc)
{
	struct known *known = &code->insns[(pc ^ pc >> 11) % INSN_CNT];

	if (known->burst != code->burst || known->insn.pc != pc) {
		decode(code, pc, &known->insn);
		known->burst = code->burst;
	}
	return &known->insn;
}

static bool is_hazard_0f(struct pp_step_code *code, const struct pp_step_insn *insn, uint8_t opcode)
{
	uint8_t bytes[PP_STEP_INSN_BYTES];

	return insn->hazard == PP_HAZARD_SYSCALL && insn->len == 2 &&
	       bytes_at(code, insn->pc, bytes) >= 2 && bytes[0] == 0x0f && bytes[1] == opcode;
}

bool pp_step_code_is_syscall(struct pp_step_code *code, const struct pp_step_insn *insn)
{
	return is_hazard_0f(code, insn, 0x05);
}

bool pp_step_code_is_cpuid(struct pp_step_code *code, const struct pp_step_insn *insn)
{
	return is_hazard_0f(code, insn, 0xa2);
}

size_t pp_step_code_read(struct pp_step_code *code, uint64_t address, void *to, size_t len_bytes)
{
	return code->read(code->context, address, to, len_bytes);
}

bool pp_step_code_operands(struct pp_step_code *code, const struct pp_step_insn *insn,
			   ZydisDecodedInstruction *ret_insn, ZydisDecodedOperand *ret_operands)
{
	uint8_t bytes[PP_STEP_INSN_BYTES];
	size_t cnt = bytes_at(code, insn->pc, bytes);

	return cnt && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&code->operands, bytes, cnt, ret_insn,
							  ret_operands));
}
