// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Reading a way instruction by instruction; see pp_way.h for workload and ownership.
 *
 * Transfers are told by the core's decoder, as all sources tell them; of all other instructions
 * only the length matters, which Zydis tells, or, for instructions newer than Zydis, their form. An
 * instruction that enters the kernel and comes back (syscall, int3) is no branch and is run
 * through.
 */
#include "pp_way.h"

#include <stdbool.h>
#include <string.h>

#include "../../core/pp_decode.h"
#include "../../core/pp_insn_len.h"
#include "../code/pp_code.h"

void pp_way_reader_init(struct pp_way_reader *ret_reader, pathprof_locate_fn *locate, void *context)
{
	*ret_reader = (struct pp_way_reader){.locate = locate, .context = context};
	ZydisDecoderInit(&ret_reader->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

void pp_way_reader_forget(struct pp_way_reader *reader)
{
	memset(&reader->place, 0, sizeof(reader->place));
}

static bool holds(const struct pathprof_mapping_place *place, uint64_t address)
{
	return address >= place->start && address < place->end;
}

static bool find_place(struct pp_way_reader *r, uint64_t address)
{
	struct pathprof_mapping_place place;

	if (holds(&r->place, address))
		return true;
	if (r->locate(r->context, address, &place) < 0 || !place.code || !holds(&place, address))
		return false;
	r->place = place;
	return true;
}

/* Up to size bytes at address, of the mapping it lies in. */
static size_t read_mapping(struct pp_way_reader *r, uint64_t address, uint8_t *buf, size_t size)
{
	const struct pathprof_mapping_place *p = &r->place;
	uint64_t vaddr;

	if (!find_place(r, address))
		return 0;
	if (size > p->end - address)
		size = p->end - address;
	if (pathprof_code_offset_to_vaddr(p->code, p->offset + (address - p->start), &vaddr))
		return 0;
	return pp_elf_read(p->code, vaddr, buf, size);
}

/* An instruction may begin in one mapping and end in the next. */
static uint32_t read_bytes(struct pp_way_reader *r, uint64_t pc, uint8_t bytes[PP_INSN_MAX])
{
	size_t len = 0, got;

	do {
		got = read_mapping(r, pc + len, bytes + len, PP_INSN_MAX - len);
		len += got;
	} while (got && len < PP_INSN_MAX);
	return (uint32_t)len;
}

/* Whether nothing runs behind the instruction, though it is no transfer of user code. */
static bool is_dead_end(ZydisMnemonic mnemonic)
{
	return mnemonic == ZYDIS_MNEMONIC_UD0 || mnemonic == ZYDIS_MNEMONIC_UD1 ||
	       mnemonic == ZYDIS_MNEMONIC_UD2 || mnemonic == ZYDIS_MNEMONIC_HLT;
}

/* The length of what is no transfer; 0: it cannot be run through. */
static uint32_t other_len(const struct pp_way_reader *r, const uint8_t *bytes, uint32_t len)
{
	ZydisDecodedInstruction insn;
	ZydisDecoderContext context;

	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&r->decoder, &context, bytes, len, &insn)))
		return pp_insn_len_by_form(bytes, len);
	return is_dead_end(insn.mnemonic) ? 0 : insn.length;
}

/* Runs through the instruction at pc: 0 and its length, or why not. */
static int pass(struct pp_way_reader *r, struct pp_way *way, uint64_t pc, uint32_t *ret_len)
{
	uint8_t bytes[PP_INSN_MAX + 1] = {0};
	uint32_t len = read_bytes(r, pc, bytes);
	struct pp_insn insn;

	if (!len)
		return PATHPROF_REFUSED_UNKNOWN_CODE;
	pp_decode(bytes, len, pc, &insn);
	if (insn.hazard == PP_HAZARD_FAR || (insn.kind && insn.kind != PP_KIND_COND))
		return PATHPROF_REFUSED_OVERLAP;
	if (!insn.kind) {
		*ret_len = other_len(r, bytes, len);
		return *ret_len ? 0 : PATHPROF_REFUSED_UNDECODABLE;
	}
	if (way->cnt == PATHPROF_BURST_MAX)
		return PATHPROF_REFUSED_TOO_LONG;
	way->branches[way->cnt++] = (struct pathprof_branch){
		.from = pc, .target = insn.target, .next = pc + insn.len, .kind = insn.kind};
	*ret_len = insn.len;
	return 0;
}

static int read_branch(struct pp_way_reader *r, uint64_t from, struct pp_way *way)
{
	uint8_t bytes[PP_INSN_MAX + 1] = {0};
	uint32_t len = read_bytes(r, from, bytes);
	struct pp_insn insn;

	if (!len)
		return PATHPROF_REFUSED_UNKNOWN_CODE;
	pp_decode(bytes, len, from, &insn);
	if (!insn.kind)
		return PATHPROF_REFUSED_NO_BRANCH;
	way->kind = insn.kind;
	way->target = insn.target;
	return 0;
}

int pp_way_read(struct pp_way_reader *reader, uint64_t start, uint64_t from, struct pp_way *ret_way)
{
	/* Counted from start, so that no address can wrap. */
	uint64_t distance = from - start, at = 0;
	uint32_t len = 0;
	int refusal;

	if (from < start)
		return PATHPROF_REFUSED_OVERLAP;
	if (distance > PP_WAY_BYTES_MAX)
		return PATHPROF_REFUSED_TOO_LONG;
	ret_way->cnt = 0;
	for (; at < distance; at += len) {
		refusal = pass(reader, ret_way, start + at, &len);
		if (refusal)
			return refusal;
	}
	return at == distance ? read_branch(reader, from, ret_way) : PATHPROF_REFUSED_NO_BRANCH;
}
