// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pp_decode() against Zydis: every instruction of four large programs, hand-made oddities, and
 * random bytes. The code under test lies flush against an unmapped page, so that a read past its
 * length is a crash and not luck.
 *
 * The comparison leaves out all that Zydis calls a branch and we do not: XBEGIN, XABORT and XEND (a
 * transaction's abort is no place a program goes by its own decision; they are hazards), and JKZD
 * and JKNZD, the mask jumps of the Knights Corner coprocessor, invalid opcodes everywhere else.
 * Where Zydis finds no instruction, we must find no transfer; which hazard is named there is left
 * open.
 */
#include "../../libprofile/core/pp_decode.h"
#include "unit.h"

#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void classify_fn(const __u8 *code, __u32 len, __u64 pc, struct pp_insn *ret_insn);

static void classify(const __u8 *code, __u32 len, __u64 pc, struct pp_insn *ret_insn)
{
	pp_decode(code, len, pc, ret_insn);
}

static ZydisDecoder decoder;

__attribute__((constructor)) static void decoder_init(void)
{
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

/* ---------------------------------------------------------------- the oracle */

static int has_rep(const ZydisDecodedInstruction *in)
{
	for (unsigned int i = 0; i < in->raw.prefix_count; i++)
		if (in->raw.prefixes[i].value == 0xf2 || in->raw.prefixes[i].value == 0xf3)
			return 1;
	return 0;
}

static int is_direct(const ZydisDecodedInstruction *in)
{
	return in->raw.imm[0].is_relative;
}

static __u32 oracle_kind(const ZydisDecodedInstruction *in)
{
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
		return is_direct(in) ? PP_KIND_CALL : PP_KIND_ICALL;
	case ZYDIS_MNEMONIC_JMP:
		return is_direct(in) ? PP_KIND_JMP : PP_KIND_IJMP;
	case ZYDIS_MNEMONIC_RET:
		return PP_KIND_RET;
	default:
		return in->meta.category == ZYDIS_CATEGORY_COND_BR ? PP_KIND_COND : PP_KIND_NONE;
	}
}

/* The stack segment as destination: only a register operand of that class can be one. */
static int loads_ss(const ZydisDecodedInstruction *in)
{
	if (in->mnemonic == ZYDIS_MNEMONIC_LSS)
		return 1;
	return in->mnemonic == ZYDIS_MNEMONIC_MOV && in->opcode == 0x8e &&
	       in->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && in->raw.modrm.reg == 2;
}

static __u32 oracle_trap(const ZydisDecodedInstruction *in)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_SGDT:
	case ZYDIS_MNEMONIC_SIDT:
	case ZYDIS_MNEMONIC_SLDT:
	case ZYDIS_MNEMONIC_STR:
	case ZYDIS_MNEMONIC_SMSW:
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_STI:
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_VMCALL:
	case ZYDIS_MNEMONIC_VMMCALL:
		return PP_HAZARD_SYSCALL;
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFD:
	case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFD:
	case ZYDIS_MNEMONIC_POPFQ:
		return PP_HAZARD_FLAGS;
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		return PP_HAZARD_TRAP;
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_UIRET:
	case ZYDIS_MNEMONIC_ENCLU:
		return PP_HAZARD_FAR;
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_XEND:
		return PP_HAZARD_TSX;
	default:
		return PP_HAZARD_NONE;
	}
}

static __u32 oracle_hazard(const ZydisDecodedInstruction *in)
{
	if (in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return PP_HAZARD_FAR;
	if (loads_ss(in))
		return PP_HAZARD_SS;
	if (in->meta.category == ZYDIS_CATEGORY_STRINGOP ||
	    in->meta.category == ZYDIS_CATEGORY_IOSTRINGOP)
		return has_rep(in) ? PP_HAZARD_REP : PP_HAZARD_NONE;
	return oracle_trap(in);
}

static void oracle(const ZydisDecodedInstruction *in, __u64 pc, struct pp_insn *ret_insn)
{
	memset(ret_insn, 0, sizeof(*ret_insn));
	ret_insn->kind = oracle_kind(in);
	ret_insn->hazard = ret_insn->kind ? PP_HAZARD_NONE : oracle_hazard(in);
	if (!ret_insn->kind)
		return;
	ret_insn->len = in->length;
	if (is_direct(in))
		ret_insn->target = pc + in->length + (__u64)in->raw.imm[0].value.s;
}

/* ---------------------------------------------------------------- the checker */

static int same(const struct pp_insn *a, const struct pp_insn *b)
{
	return a->kind == b->kind && a->len == b->len && a->target == b->target &&
	       a->hazard == b->hazard;
}

static void print_difference(const __u8 *code, __u32 len, const struct pp_insn *want,
			     const struct pp_insn *got)
{
	printf("  ");
	for (__u32 i = 0; i < len; i++)
		printf("%02x ", code[i]);
	printf(": want kind %u len %u target %#llx hazard %u, got %u %u %#llx %u\n", want->kind,
	       want->len, (unsigned long long)want->target, want->hazard, got->kind, got->len,
	       (unsigned long long)got->target, got->hazard);
}

struct comparison {
	classify_fn *fn;
	unsigned long compared, transfers, differences, undecoded;
	unsigned int printed_max;
};

static void compare_one(struct comparison *c, const __u8 *code, __u32 len, __u64 pc,
			const ZydisDecodedInstruction *in)
{
	struct pp_insn want, got;

	oracle(in, pc, &want);
	c->fn(code, len, pc, &got);
	c->compared++;
	c->transfers += want.kind != PP_KIND_NONE;
	if (same(&want, &got))
		return;
	if (c->differences++ < c->printed_max)
		print_difference(code, in->length, &want, &got);
}

static void compare_section(struct comparison *c, const __u8 *bytes, size_t size, __u64 vaddr)
{
	ZydisDecodedInstruction in;

	for (size_t at = 0; at < size; at += in.length) {
		__u32 len = size - at < 16 ? (__u32)(size - at) : 16;

		if (ZYAN_FAILED(
			    ZydisDecoderDecodeInstruction(&decoder, NULL, bytes + at, len, &in))) {
			c->undecoded++;
			in.length = 1;
			continue;
		}
		compare_one(c, bytes + at, len, vaddr + at, &in);
	}
}

static int compare_elf(struct comparison *c, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (fd < 0)
		return 0;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	while (elf && (scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR))
			continue;
		Elf_Data *data = elf_rawdata(scn, NULL);
		if (data && data->d_buf)
			compare_section(c, data->d_buf, data->d_size, sh.sh_addr);
	}
	elf_end(elf);
	close(fd);
	return 1;
}

static void sweep(const char *path, unsigned long at_least)
{
	struct comparison c = {.fn = classify, .printed_max = 10};

	if (!compare_elf(&c, path)) {
		unit_skip(path);
		return;
	}
	printf("  %s: %lu instructions, %lu transfers, %lu different, %lu bytes undecoded\n", path,
	       c.compared, c.transfers, c.differences, c.undecoded);
	CU_ASSERT_EQUAL(c.differences, 0);
	CU_ASSERT(c.compared >= at_least);
	CU_ASSERT(c.transfers >= at_least / 20);
}

static void test_cc1(void)
{
	char path[256] = "";
	FILE *p = popen("gcc -print-prog-name=cc1", "re"); /* NOLINT(cert-env33-c): fixed text */

	if (p && fgets(path, sizeof(path), p))
		path[strcspn(path, "\n")] = 0;
	if (p)
		pclose(p);
	sweep(path[0] ? path : "cc1", 1000000);
}

static void test_libc(void)
{
	sweep("/lib/x86_64-linux-gnu/libc.so.6", 200000);
}

static void test_python(void)
{
	sweep("/usr/bin/python3", 200000);
}

static void test_sqlite(void)
{
	sweep("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", 100000);
}

/* ---------------------------------------------------------------- guarded bytes */

/* The last 16 bytes before an unmapped page. */
static __u8 *guard_end(void)
{
	static __u8 *end;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (end)
		return end;
	__u8 *map =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED || mprotect(map + page, page, PROT_NONE))
		abort();
	end = map + page;
	return end;
}

static void classify_guarded(const __u8 *code, __u32 len, __u64 pc, struct pp_insn *ret_insn)
{
	__u8 *at = guard_end() - len;

	memcpy(at, code, len);
	/* The compiler must not see the copy and use the original. */
	__asm__ volatile("" : "+r"(at) : : "memory");
	pp_decode(at, len, pc, ret_insn);
}

/* ---------------------------------------------------------------- by hand */

struct vector {
	const char *hex;
	__u32 kind, hazard;
	__s64 displacement; /* of a direct transfer, from the end of the instruction */
};

#define COND(hex, d)                                                                               \
	{                                                                                          \
		hex, PP_KIND_COND, PP_HAZARD_NONE, d                                               \
	}
#define JMP(hex, d)                                                                                \
	{                                                                                          \
		hex, PP_KIND_JMP, PP_HAZARD_NONE, d                                                \
	}
#define CALL(hex, d)                                                                               \
	{                                                                                          \
		hex, PP_KIND_CALL, PP_HAZARD_NONE, d                                               \
	}
#define IJMP(hex)                                                                                  \
	{                                                                                          \
		hex, PP_KIND_IJMP, PP_HAZARD_NONE, 0                                               \
	}
#define ICALL(hex)                                                                                 \
	{                                                                                          \
		hex, PP_KIND_ICALL, PP_HAZARD_NONE, 0                                              \
	}
#define RET(hex)                                                                                   \
	{                                                                                          \
		hex, PP_KIND_RET, PP_HAZARD_NONE, 0                                                \
	}
#define OTHER(hex, hz)                                                                             \
	{                                                                                          \
		hex, PP_KIND_NONE, PP_HAZARD_##hz, 0                                               \
	}

static const struct vector vectors[] = {
	COND("7400", 0),
	COND("75fe", -2),
	COND("7f7f", 127),
	COND("7080", -128),
	COND("2e7410", 16),
	COND("3e7410", 16),
	COND("f27410", 16),
	COND("6674f0", -16),
	COND("0f8400000080", -2147483648LL),
	COND("f20f8f01000000", 1),
	COND("660f85ffffffff", -1),
	COND("480f8278563412", 0x12345678),
	COND("e0fe", -2),
	COND("e110", 16),
	COND("e2fd", -3),
	COND("e304", 4),
	COND("67e304", 4),
	COND("67e2fe", -2),
	COND("66e304", 4),
	JMP("ebfe", -2),
	JMP("e900010000", 256),
	JMP("66eb05", 5),
	JMP("66e900000100", 65536),
	JMP("f2e9fbffffff", -5),
	JMP("4feb00", 0),
	JMP("66666666666666666666666666eb00", 0),
	JMP("48662eeb00", 0), /* a REX with a prefix behind it is void */
	CALL("e800000000", 0),
	CALL("6648e8f0ffffff", -16),
	CALL("666648e810000000", 16),
	CALL("f2e810000000", 16),
	CALL("67e810000000", 16),
	CALL("2e67e810000000", 16),
	ICALL("ffd0"),
	ICALL("41ffd7"),
	ICALL("ff10"),
	ICALL("ff1500000000"),
	ICALL("ff5008"),
	ICALL("ff9000010000"),
	ICALL("ff1424"),
	ICALL("ff14c8"),
	ICALL("ff14cd00000000"),
	ICALL("ff142500000000"),
	ICALL("41ff542408"),
	ICALL("41ff942400010000"),
	ICALL("41ff5500"),
	ICALL("3effd0"),
	ICALL("64ff142510000000"),
	ICALL("67ff1500000000"),
	ICALL("66ffd0"),
	ICALL("4bff14c500000000"),
	ICALL("ff54c500"),
	ICALL("ff94c500000000"),
	IJMP("ffe0"),
	IJMP("3effe0"),
	IJMP("f2ffe1"),
	IJMP("41ff24c500000000"),
	IJMP("ff2500000000"),
	IJMP("ff642408"),
	IJMP("ff23"),
	IJMP("f2ff2500000000"),
	IJMP("48ffe0"),
	IJMP("2effe0"),
	RET("c3"),
	RET("f3c3"),
	RET("f2c3"),
	RET("c21000"),
	RET("48c3"),
	RET("66c3"),
	RET("f2c20000"),
	OTHER("ff18", FAR),
	OTHER("48ff18", FAR),
	OTHER("ff28", FAR),
	OTHER("ff2d00000000", FAR),
	OTHER("ca0800", FAR),
	OTHER("cb", FAR),
	OTHER("48cb", FAR),
	OTHER("cf", FAR),
	OTHER("48cf", FAR),
	OTHER("66cf", FAR),
	OTHER("0f07", FAR),
	OTHER("480f07", FAR),
	OTHER("0f35", FAR),
	OTHER("f30f01ec", FAR),
	OTHER("0f01d7", FAR),
	OTHER("0f05", SYSCALL),
	OTHER("0f34", SYSCALL),
	OTHER("660f05", SYSCALL),
	/* done by the kernel in the processor's place */
	OTHER("0f0100", SYSCALL),     /* sgdt */
	OTHER("0f01442410", SYSCALL), /* the same on the stack */
	OTHER("0f0108", SYSCALL),     /* sidt */
	OTHER("430f018c2400010000", SYSCALL),
	OTHER("0f0120", SYSCALL), /* smsw */
	OTHER("0f01e0", SYSCALL),
	OTHER("66410f01e7", SYSCALL),
	OTHER("0f0000", SYSCALL), /* sldt */
	OTHER("0f00c0", SYSCALL),
	OTHER("0f0048f8", SYSCALL), /* str */
	OTHER("480f00c8", SYSCALL),
	OTHER("fa", SYSCALL), /* cli */
	OTHER("fb", SYSCALL), /* sti */
	OTHER("66fb", SYSCALL),
	/* their neighbours */
	OTHER("0f00e0", NONE), /* verr */
	OTHER("0f0028", NONE), /* verw */
	OTHER("0f00d0", NONE), /* lldt */
	OTHER("0f0110", NONE), /* lgdt */
	OTHER("0f0130", NONE), /* lmsw */
	OTHER("0f01d0", NONE), /* xgetbv */
	OTHER("0f01c8", NONE), /* monitor */
	OTHER("0f01f9", NONE), /* rdtscp */
	OTHER("f8", NONE),     /* clc */
	OTHER("fc", NONE),     /* cld */
	OTHER("0f00", FETCH),
	OTHER("cc", TRAP),
	OTHER("cd80", TRAP),
	OTHER("ce", TRAP),
	OTHER("f1", TRAP),
	OTHER("f4", TRAP),
	OTHER("0f0b", TRAP),
	OTHER("0fb9c0", TRAP),
	OTHER("0fffc0", TRAP),
	OTHER("670fb940d6", TRAP),
	OTHER("c7f800000000", TSX),
	OTHER("66c7f80000", TSX),
	OTHER("c6f801", TSX),
	OTHER("0f01d5", TSX),
	OTHER("0f01d6", NONE), /* xtest */
	OTHER("9c", FLAGS),
	OTHER("9d", FLAGS),
	OTHER("669c", FLAGS),
	OTHER("489d", FLAGS),
	OTHER("9b", NONE),
	OTHER("9e", NONE),
	OTHER("8ed0", SS),
	OTHER("8e10", SS),
	OTHER("488ed0", SS),
	OTHER("8ed8", NONE),
	OTHER("8cd0", NONE),
	OTHER("17", SS),
	OTHER("0fb200", SS),
	OTHER("480fb200", SS),
	OTHER("0fb400", NONE),
	OTHER("f3a4", REP),
	OTHER("f348a5", REP),
	OTHER("f2ae", REP),
	OTHER("f3a6", REP),
	OTHER("f3aa", REP),
	OTHER("f3ac", REP),
	OTHER("f36c", REP),
	OTHER("f36e", REP),
	OTHER("66f3a5", REP),
	OTHER("f366a5", REP),
	OTHER("67f3a4", REP),
	OTHER("a4", NONE),
	OTHER("48ab", NONE),
	OTHER("6e", NONE),
	OTHER("f3a801", NONE),
	OTHER("f390", NONE),
	OTHER("f30f1efa", NONE),
	/* VEX, EVEX, XOP and their neighbours: the payload looks like transfers and hazards */
	OTHER("c4e278f3cb", NONE),
	OTHER("c5f8c3c000", NONE),
	OTHER("c5f877", NONE),
	OTHER("62f17c487400", NONE),
	OTHER("62f1fe486f00", NONE),
	OTHER("8fe978e2c3", NONE),
	OTHER("8f00", NONE),
	OTHER("8fc3", NONE),
	OTHER("0f0fc3e3", NONE),
	OTHER("0f38f0c3", NONE),
	OTHER("0f3a0fc3e8", NONE),
	OTHER("c60074", NONE),
	OTHER("c7c0e8000000", NONE),
	OTHER("b8e8e8e8e8", NONE),
	OTHER("0f01ef", NONE), /* wrpkru */
	OTHER("ffc0", NONE),
	OTHER("ff30", NONE),
	OTHER("f0ff00", NONE),
	OTHER("fec0", NONE),
	/* no instruction, or not all of it */
	OTHER("f0e800000000", FETCH),
	OTHER("f0c3", FETCH),
	OTHER("f0ff10", FETCH),
	OTHER("f0ebfe", FETCH),
	OTHER("f00f8400000000", FETCH),
	OTHER("9a0000000000", FETCH),
	OTHER("ea0000000000", FETCH),
	OTHER("06", FETCH),
	OTHER("d510", FETCH),
	OTHER("82c000", FETCH),
	OTHER("ffd8", FETCH),
	OTHER("ffe8", FETCH),
	OTHER("fff8", FETCH),
	OTHER("74", FETCH),
	OTHER("e8000000", FETCH),
	OTHER("0f84000000", FETCH),
	OTHER("0f", FETCH),
	OTHER("ff", FETCH),
	OTHER("ff15000000", FETCH),
	OTHER("ff14", FETCH),
	OTHER("ff142500", FETCH),
	OTHER("c200", FETCH),
	OTHER("66", FETCH),
	OTHER("48", FETCH),
	OTHER("8e", FETCH),
	OTHER("c7", FETCH),
	OTHER("0f01", FETCH),
	OTHER("f3", FETCH),
	OTHER("6666666666666666666666666666eb00", FETCH), /* sixteen bytes are one too many */
	OTHER("66666666666666666666666666666690", FETCH),
};

static __u32 from_hex(const char *hex, __u8 bytes[16])
{
	__u32 digits = 0, cnt = 0, value = 0;

	for (; *hex && cnt < 16; hex++) {
		value = value << 4 | (__u32)(*hex <= '9' ? *hex - '0' : *hex - 'a' + 10);
		if (++digits % 2 == 0)
			bytes[cnt++] = (__u8)value;
	}
	return cnt;
}

static void test_vectors(void)
{
	const __u64 pc = 0x7f0000001000;

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const struct vector *v = &vectors[i];
		__u8 bytes[16];
		__u32 len = from_hex(v->hex, bytes);
		int direct = v->kind == PP_KIND_COND || v->kind == PP_KIND_JMP ||
			     v->kind == PP_KIND_CALL;
		struct pp_insn got,
			want = {
				.kind = v->kind,
				.hazard = v->hazard,
				.len = v->kind ? len : 0,
				.target = direct ? pc + len + (__u64)v->displacement : 0,
			};

		classify_guarded(bytes, len, pc, &got);
		if (!same(&want, &got))
			print_difference(bytes, len, &want, &got);
		CU_ASSERT(same(&want, &got));
	}
}

static void test_vectors_zydis(void)
{
	struct comparison c = {.fn = classify_guarded, .printed_max = 10};

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		ZydisDecodedInstruction in;
		__u8 bytes[16];
		__u32 len = from_hex(vectors[i].hex, bytes);
		int known = ZYAN_SUCCESS(
			ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, len, &in));

		if (known)
			compare_one(&c, bytes, len, 0x1000, &in);
		else
			CU_ASSERT_EQUAL(vectors[i].kind, PP_KIND_NONE);
	}
	CU_ASSERT_EQUAL(c.differences, 0);
	CU_ASSERT(c.compared > 100);
}

/* 0F 00 and 0F 01 are a different instruction with nearly every byte that follows. */
static void compare_system_groups(struct comparison *c)
{
	static const __u8 prefix[] = {0x90, 0x66, 0xf2, 0xf3, 0x48}; /* the first is left out */

	for (unsigned int i = 0; i < sizeof(prefix) * 512; i++) {
		__u8 all[] = {prefix[i >> 9], 0x0f, (__u8)(i >> 8 & 1), (__u8)i, 0x25, 0, 0, 0, 0};
		const __u8 *code = all + (i < 512);
		ZydisDecodedInstruction in;

		if (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
			    &decoder, NULL, code, (__u32)(all + sizeof(all) - code), &in)))
			compare_one(c, code, in.length, 0x1000, &in);
	}
}

static void test_system_groups(void)
{
	struct comparison c = {.fn = classify_guarded, .printed_max = 20};

	compare_system_groups(&c);
	CU_ASSERT_EQUAL(c.differences, 0);
	CU_ASSERT(c.compared > 1500);
}

/* ---------------------------------------------------------------- random bytes */

static __u64 random_state = 0x9E3779B97F4A7C15;

static __u64 next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Every second string is prefixes before an opcode of interest: uniform bytes rarely are. */
static void random_code(__u8 code[16])
{
	static const __u8 prefix[] = {0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x2e, 0x3e, 0x64, 0x48, 0x41};
	static const __u8 opcode[] = {0xff, 0x0f, 0xe8, 0xe9, 0xeb, 0xc3, 0xc2, 0x74,
				      0xe3, 0x8e, 0xa4, 0xae, 0x6e, 0xc6, 0xc7, 0x9c,
				      0x8f, 0xc4, 0x62, 0xcf, 0xfa, 0xfb};
	__u64 bits = next_random(), r[2] = {next_random(), next_random()};
	unsigned int prefix_cnt = bits >> 1 & 3;

	memcpy(code, r, 16);
	if (bits & 1)
		return;
	if ((bits >> 3 & 31) == 0)
		prefix_cnt = 8 + (bits >> 8 & 7);
	for (unsigned int i = 0; i < prefix_cnt; i++)
		code[i] = prefix[code[i] % sizeof(prefix)];
	code[prefix_cnt] = opcode[bits >> 32 & 0xffff ? (bits >> 32) % sizeof(opcode) : 0];
}

/* Behind all prefixes: Zydis takes D5 for no instruction. */
static int has_rex2(const __u8 *code)
{
	unsigned int i = 0;

	while (i < 15 && pp_decode_prefix(code[i]) >= 0)
		i++;
	return code[i] == 0xd5;
}

/* Given just its bytes we must decode as Zydis does; with a byte fewer we must see no transfer. */
static void compare_random(struct comparison *c, const __u8 *code)
{
	ZydisDecodedInstruction in;
	struct pp_insn got;
	const __u64 pc = 0x400000;

	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, code, 16, &in))) {
		c->fn(code, 16, pc, &got);
		c->undecoded++;
		/* The other way round: we never see a transfer where there is no instruction. */
		c->differences += got.kind != PP_KIND_NONE && !has_rex2(code);
		return;
	}
	compare_one(c, code, 16, pc, &in);
	compare_one(c, code, in.length, pc, &in);
	if (oracle_kind(&in) == PP_KIND_NONE || in.length == 1)
		return;
	c->fn(code, in.length - 1u, pc, &got);
	c->differences += got.kind != PP_KIND_NONE || got.hazard != PP_HAZARD_FETCH;
}

static void test_random(void)
{
	struct comparison c = {.fn = classify_guarded, .printed_max = 20};
	__u8 code[16];

	for (int i = 0; i < 2000000; i++) {
		random_code(code);
		compare_random(&c, code);
	}
	printf("  2000000 random strings: %lu comparisons, %lu of transfers, %lu undecodable, %lu "
	       "different\n",
	       c.compared, c.transfers, c.undecoded, c.differences);
	CU_ASSERT_EQUAL(c.differences, 0);
	CU_ASSERT(c.compared > 1000000);
	CU_ASSERT(c.transfers > 100000);
	CU_ASSERT(c.undecoded > 1000);
}

/* ---------------------------------------------------------------- APX */

/* Instructions as clang-22 -c assembles them. Zydis has no APX yet. */
static void test_apx(void)
{
	static const struct {
		__u8 code[15];
		__u32 len, kind, hazard;
		__u64 target;
	} known[] = {
		{{0xd5, 0x00, 0xa1, 8, 7, 6, 5, 4, 3, 2, 0x81},
		 11,
		 PP_KIND_JMP,
		 PP_HAZARD_NONE,
		 0x8102030405060708},                                           /* jmpabs */
		{{0xd5, 0x11, 0xff, 0xe0}, 4, PP_KIND_IJMP, PP_HAZARD_NONE, 0}, /* jmp r24 */
		{{0xd5, 0x11, 0xff, 0x54, 0xc0, 9}, 6, PP_KIND_ICALL, PP_HAZARD_NONE, 0},
		{{0xd5, 0x11, 0x89, 0xc0}, 4, PP_KIND_NONE, PP_HAZARD_NONE, 0}, /* mov r24, rax */
		{{0xd5, 0x00, 0x74, 0}, 4, PP_KIND_NONE, PP_HAZARD_FETCH, 0},   /* no jump */
		{{0xd5, 0x80, 0x84, 0}, 7, PP_KIND_NONE, PP_HAZARD_FETCH, 0},
		{{0xd5, 0x00, 0xe8, 0}, 7, PP_KIND_NONE, PP_HAZARD_FETCH, 0},
		{{0xd5, 0x00, 0x0f, 0x84}, 8, PP_KIND_NONE, PP_HAZARD_FETCH, 0},
		{{0xf3, 0x0f, 0x01, 0xca}, 4, PP_KIND_NONE, PP_HAZARD_FAR, 0}, /* eretu */
		{{0xf2, 0x0f, 0x01, 0xca}, 4, PP_KIND_NONE, PP_HAZARD_FAR, 0}, /* erets */
		{{0x0f, 0x01, 0xca}, 3, PP_KIND_NONE, PP_HAZARD_NONE, 0},      /* clac */
		/* ccmp, which is no jump */
		{{0x62, 0xf4, 0x84, 0x04, 0x83, 0xf8, 5}, 7, PP_KIND_NONE, PP_HAZARD_NONE, 0},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct pp_insn insn;

		classify_guarded(known[i].code, known[i].len, 0x400000, &insn);
		CU_ASSERT_EQUAL(insn.kind, known[i].kind);
		CU_ASSERT_EQUAL(insn.hazard, known[i].hazard);
		CU_ASSERT_EQUAL(insn.target, known[i].target);
		CU_ASSERT_EQUAL(insn.len, known[i].kind ? known[i].len : 0);
		if (known[i].kind) {
			classify_guarded(known[i].code, known[i].len - 1, 0x400000, &insn);
			CU_ASSERT_EQUAL(insn.hazard, PP_HAZARD_FETCH);
		}
	}
}

/* ---------------------------------------------------------------- planted faults */

/* The SIB form without base register is one displacement short. */
static void broken_length(const __u8 *code, __u32 len, __u64 pc, struct pp_insn *ret_insn)
{
	pp_decode(code, len, pc, ret_insn);
	if (ret_insn->kind == PP_KIND_IJMP && ret_insn->len == 7)
		ret_insn->len = 3;
}

static void broken_sign(const __u8 *code, __u32 len, __u64 pc, struct pp_insn *ret_insn)
{
	pp_decode(code, len, pc, ret_insn);
	if (ret_insn->kind == PP_KIND_COND && ret_insn->len == 2)
		ret_insn->target = pc + 2 + code[1];
}

static void broken_ret(const __u8 *code, __u32 len, __u64 pc, struct pp_insn *ret_insn)
{
	pp_decode(code, len, pc, ret_insn);
	if (code[0] == 0xf3 && ret_insn->kind == PP_KIND_RET)
		memset(ret_insn, 0, sizeof(*ret_insn));
}

static void broken_hazard(const __u8 *code, __u32 len, __u64 pc, struct pp_insn *ret_insn)
{
	pp_decode(code, len, pc, ret_insn);
	if (ret_insn->hazard == PP_HAZARD_REP)
		ret_insn->hazard = PP_HAZARD_NONE;
}

static void broken_group(const __u8 *code, __u32 len, __u64 pc, struct pp_insn *ret_insn)
{
	pp_decode(code, len, pc, ret_insn);
	if (code[0] == 0x0f && code[1] == 0x01 && code[2] >= 0xc0)
		ret_insn->hazard = PP_HAZARD_NONE;
}

static void test_planted(void)
{
	struct comparison faults[] = {
		{.fn = broken_length}, {.fn = broken_sign},  {.fn = broken_ret},
		{.fn = broken_hazard}, {.fn = broken_group},
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		__u8 code[16];

		for (int j = 0; j < 200000; j++) {
			random_code(code);
			compare_random(&faults[i], code);
		}
		compare_system_groups(&faults[i]);
		CU_ASSERT(faults[i].differences > 0);
	}
}

static const struct unit_test tests[] = {
	{"odd prefixes, forms and cut-off bytes are told apart", test_vectors},
	{"Zydis reads the hand-made vectors the same way", test_vectors_zydis},
	{"Zydis tells the forms of the system groups apart the same way", test_system_groups},
	{"cc1: every instruction as Zydis sees it", test_cc1},
	{"libc: every instruction as Zydis sees it", test_libc},
	{"python: every instruction as Zydis sees it", test_python},
	{"sqlite: every instruction as Zydis sees it", test_sqlite},
	{"random bytes as Zydis sees them, never past their end", test_random},
	{"APX: one branch more, and others with more registers", test_apx},
	{"a broken classifier is caught", test_planted},
};
UNIT_SUITE(decode, tests)
