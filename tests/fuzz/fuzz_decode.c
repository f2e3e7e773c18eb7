// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pp_decode() against Zydis on whatever libFuzzer thinks of. The input is copied to a buffer of
 * its own length, so that the address sanitizer sees a read past it.
 *
 * The same exceptions as in tests/unit/test_decode.c: transactions, Knights Corner's mask jumps,
 * and REX2, which Zydis takes for no instruction.
 */
#include "../../libprofile/core/pp_decode.h"
#include "fuzz.h"

#include <Zydis/Zydis.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static __u32 kind_of(const ZydisDecodedInstruction *in)
{
	int direct = in->raw.imm[0].is_relative;

	if (in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return PP_KIND_NONE;
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_JKZD:
	case ZYDIS_MNEMONIC_JKNZD:
		return PP_KIND_NONE;
	case ZYDIS_MNEMONIC_CALL:
		return direct ? PP_KIND_CALL : PP_KIND_ICALL;
	case ZYDIS_MNEMONIC_JMP:
		return direct ? PP_KIND_JMP : PP_KIND_IJMP;
	case ZYDIS_MNEMONIC_RET:
		return PP_KIND_RET;
	default:
		return in->meta.category == ZYDIS_CATEGORY_COND_BR ? PP_KIND_COND : PP_KIND_NONE;
	}
}

static int has_rex2(const __u8 *code, size_t size)
{
	size_t i = 0;

	while (i < size && pp_decode_prefix(code[i]) >= 0)
		i++;
	return i < size && code[i] == 0xd5;
}

static void must(int truth)
{
	if (!truth)
		abort();
}

static void compare(const struct pp_insn *got, const ZydisDecodedInstruction *in, __u64 pc)
{
	__u32 kind = kind_of(in);

	must(got->kind == kind);
	must(got->len == (kind ? in->length : 0u));
	must(!kind || got->hazard == PP_HAZARD_NONE);
	must(kind || got->hazard != PP_HAZARD_FETCH);
	if (kind == PP_KIND_COND || kind == PP_KIND_JMP || kind == PP_KIND_CALL)
		must(got->target == pc + in->length + (__u64)in->raw.imm[0].value.s);
	else
		must(got->target == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static ZydisDecoder decoder;
	ZydisDecodedInstruction in;
	struct pp_insn got;
	const __u64 pc = 0x7ffffffff000;
	__u8 *code;

	if (size < 1 || size > 16)
		return 0;
	code = malloc(size);
	must(code != NULL);
	memcpy(code, data, size);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	pp_decode(code, (__u32)size, pc, &got);
	if (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code, size, &in)))
		compare(&got, &in, pc);
	else
		must(got.kind == PP_KIND_NONE || has_rex2(code, size));
	free(code);
	return 0;
}
