// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lengths of instructions against Zydis: every instruction of two libraries' code, whole and cut
 * off after each of its bytes; every VEX, EVEX and XOP opcode that Zydis knows, in every form of
 * its operand; and by hand what Zydis does not know.
 */
#include "unit.h"

#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../libprofile/core/pp_insn_len.h"

typedef __u32 length_fn(const __u8 *code, __u32 len_bytes);

struct comparison {
	length_fn *fn;
	unsigned long compared, wrong, whole_when_cut;
};

static void compare_one(struct comparison *c, const uint8_t *code, uint32_t len_bytes)
{
	c->compared++;
	c->wrong += c->fn(code, len_bytes) != len_bytes;
	for (uint32_t cut = 1; cut < len_bytes; cut++)
		c->whole_when_cut += c->fn(code, cut) != 0;
}

static void compare_code(struct comparison *c, const uint8_t *code, size_t size)
{
	ZydisDecodedInstruction in;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t at = 0; at < size; at += in.length) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, code + at, size - at,
							      &in)))
			in.length = 1;
		else
			compare_one(c, code + at, in.length);
	}
}

/* false: there is no such file. */
static bool compare_file(struct comparison *c, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf *elf;

	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	while (elf && (section = elf_nextscn(elf, section))) {
		Elf_Data *data = elf_rawdata(section, NULL);

		if (gelf_getshdr(section, &header) && (header.sh_flags & SHF_EXECINSTR) && data)
			compare_code(c, data->d_buf, data->d_size);
	}
	elf_end(elf);
	close(fd);
	return true;
}

static void sweep(const char *path)
{
	struct comparison c = {.fn = pp_insn_len};

	if (!compare_file(&c, path)) {
		unit_skip(path);
		return;
	}
	printf("  %s: %lu instructions, %lu wrong, %lu whole when cut\n", path, c.compared, c.wrong,
	       c.whole_when_cut);
	CU_ASSERT(c.compared > 100000);
	CU_ASSERT_EQUAL(c.wrong, 0);
	CU_ASSERT_EQUAL(c.whole_when_cut, 0);
}

static void test_libc(void)
{
	sweep("/lib/x86_64-linux-gnu/libc.so.6");
}

static void test_sqlite(void)
{
	sweep("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0");
}

/* ---------------------------------------------------------------- every opcode */

#define SIB_OF_DISP32 0x25 /* with mod 0: no base, four bytes of displacement */

/*
 * In each form of a ModRM operand: what Zydis decodes has the length that its form says. But for
 * the jumps of Knights Corner, which has no successor.
 */
static void compare_forms(struct comparison *c, uint8_t *code, uint32_t modrm_at)
{
	static const uint8_t rm[] = {0, 4, 5};
	ZydisDecodedInstruction in;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	for (unsigned mod_reg = 0; mod_reg < 32; mod_reg++)
		for (size_t i = 0; i < sizeof(rm); i++) {
			code[modrm_at] = (uint8_t)(mod_reg << 3 | rm[i]);
			code[modrm_at + 1] = SIB_OF_DISP32;
			if (ZYAN_SUCCESS(
				    ZydisDecoderDecodeInstruction(&decoder, NULL, code, 15, &in)) &&
			    in.mnemonic != ZYDIS_MNEMONIC_JKZD &&
			    in.mnemonic != ZYDIS_MNEMONIC_JKNZD)
				compare_one(c, code, in.length);
		}
}

static void compare_opcodes(struct comparison *c, uint8_t *code, uint32_t opcode_at)
{
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		code[opcode_at] = (uint8_t)opcode;
		compare_forms(c, code, opcode_at + 1);
	}
}

static void expect_same(const struct comparison *c, const char *what)
{
	printf("  %s: %lu instructions, %lu wrong\n", what, c->compared, c->wrong);
	CU_ASSERT(c->compared > 1000);
	CU_ASSERT_EQUAL(c->wrong, 0);
}

/* W, L and pp of the last byte; inverted register bits are set, which is register 0. */
static void test_vex(void)
{
	struct comparison c = {.fn = pp_insn_len_by_form};

	for (unsigned map = 0; map < 32; map++)
		for (unsigned last = 0; last < 16; last++) {
			uint8_t code[15] = {0xc4, (uint8_t)(0xe0 | map),
					    (uint8_t)((last & 8) << 4 | 0x78 | (last & 7))};

			compare_opcodes(&c, code, 3);
		}
	for (unsigned last = 0; last < 8; last++) {
		uint8_t code[15] = {0xc5, (uint8_t)(0xf8 | last)};

		compare_opcodes(&c, code, 2);
	}
	expect_same(&c, "VEX");
}

static void test_xop(void)
{
	struct comparison c = {.fn = pp_insn_len_by_form};

	for (unsigned map = 8; map < 32; map++)
		for (unsigned last = 0; last < 16; last++) {
			uint8_t code[15] = {0x8f, (uint8_t)(0xe0 | map),
					    (uint8_t)((last & 8) << 4 | 0x78 | (last & 7))};

			compare_opcodes(&c, code, 3);
		}
	expect_same(&c, "XOP");
}

/* Masks 0 and 1, broadcast or not, three lengths. */
static void test_evex(void)
{
	static const uint8_t third[] = {0x08, 0x28, 0x48, 0x09, 0x18, 0x19, 0x58, 0xc9};
	struct comparison c = {.fn = pp_insn_len_by_form};

	for (unsigned map = 0; map < 8; map++)
		for (unsigned w_pp = 0; w_pp < 8; w_pp++)
			for (size_t i = 0; i < sizeof(third); i++) {
				uint8_t code[15] = {0x62, (uint8_t)(0xf0 | map),
						    (uint8_t)((w_pp & 4) << 5 | 0x7c | (w_pp & 3)),
						    third[i]};

				compare_opcodes(&c, code, 4);
			}
	expect_same(&c, "EVEX");
}

/* Maps 0F 38, 0F 3A, and 0F 01, under each prefix that chooses another instruction. */
static void test_legacy(void)
{
	static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x48, 0x2e};
	static const uint8_t maps[][2] = {{0x0f, 0x38}, {0x0f, 0x3a}};
	struct comparison c = {.fn = pp_insn_len_by_form};

	for (size_t i = 0; i < sizeof(prefixes); i++) {
		uint8_t code[15] = {prefixes[i], 0x0f, 0x01};

		compare_forms(&c, code, 3);
		for (size_t m = 0; m < 2; m++) {
			memcpy(code + 1, maps[m], 2);
			compare_opcodes(&c, code, 3);
		}
	}
	expect_same(&c, "0F 38, 0F 3A, 0F 01");
}

/* Instructions of no known form get no length here; Zydis may decode them. */
static void test_no_form(void)
{
	static const struct {
		uint8_t code[15];
		const char *what;
	} none[] = {
		{{0x06}, "push es"},
		{{0x0f, 0x04}, "an opcode that is none"},
		{{0x0f, 0xff}, "ud0"},
		{{0x48, 0x89, 0xe5}, "mov"},
		{{0xc4, 0xe0, 0x78, 0x10, 0xc0}, "VEX of map 0"},
		{{0xc4, 0xe8, 0x78, 0x10, 0xc0}, "VEX of map 8"},
		{{0xc5, 0xf8, 0x84}, "a jump of Knights Corner"},
		{{0x62, 0xf0, 0x7c, 0x48, 0x10, 0xc0}, "EVEX of map 0"},
		{{0x8f, 0xc0}, "pop"},
		{{0xd5, 0x00, 0x70}, "REX2 before a conditional jump"},
		{{0xd5, 0x80, 0x84}, "REX2 before a near one"},
		{{0xd5, 0x00, 0xe8}, "REX2 before a call"},
		{{0xd5, 0x00, 0x0f, 0xaf, 0xc0}, "REX2 before an escape"},
	};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (pp_insn_len_by_form(none[i].code, 15)) {
			fprintf(stderr, "%s has a length\n", none[i].what);
			CU_FAIL("a length by no form");
		}
}

/* Instructions as clang-22 -c assembles them; tests/scenario/import_others.sh tests more. */
static void test_newer_than_zydis(void)
{
	static const struct {
		uint32_t len;
		uint8_t code[15];
	} known[] = {
		{5, {0xc4, 0xe2, 0x6b, 0x50, 0xd9}},                    /* vpdpbssd */
		{5, {0xc4, 0xe2, 0x79, 0xe0, 0x02}},                    /* cmpoxadd */
		{4, {0x0f, 0x38, 0xfc, 0x02}},                          /* aadd */
		{4, {0xf3, 0x0f, 0x01, 0xca}},                          /* eretu */
		{4, {0xd5, 0x11, 0x89, 0xc0}},                          /* mov, with r24 */
		{11, {0xd5, 0x00, 0xa1, 1, 2, 3, 4, 5, 6, 7, 8}},       /* jmpabs */
		{11, {0xd5, 0x19, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}},       /* movabs */
		{3, {0xd5, 0x11, 0x50}},                                /* push */
		{10, {0x62, 0xf4, 0x7c, 0x08, 0x81, 0xc0, 1, 2, 3, 4}}, /* {nf} add */
		{8, {0x62, 0xf4, 0x7d, 0x18, 0x81, 0xc0, 1, 2}}, /* add, 16 bits, to a third */
		{7, {0x62, 0xf4, 0x84, 0x04, 0x83, 0xf8, 5}},    /* ccmp */
		{10, {0x62, 0xf4, 0x04, 0x04, 0xf7, 0xc0, 1, 2, 3, 4}}, /* ctest */
		{6, {0x62, 0xf4, 0x04, 0x04, 0xf7, 0xd0}},              /* the same opcode's not */
		{10, {0x62, 0xf4, 0xfd, 0x18, 0x81, 0xf0, 1, 2, 3, 4}}, /* xor, W before 66 */
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		CU_ASSERT_EQUAL(pp_insn_len_by_form(known[i].code, 15), known[i].len);
		CU_ASSERT_EQUAL(pp_insn_len_by_form(known[i].code, known[i].len - 1), 0);
	}
}

/* ---------------------------------------------------------------- planted faults */

/* Takes a REX prefix for an opcode. */
static __u32 broken(const __u8 *code, __u32 len_bytes)
{
	return (code[0] & 0xf0) == 0x40 ? 1 : pp_insn_len(code, len_bytes);
}

static void test_planted(void)
{
	static const uint8_t code[] = {0x48, 0x89, 0xe5}; /* mov rbp, rsp */
	struct comparison c = {.fn = broken};

	compare_one(&c, code, sizeof(code));
	CU_ASSERT_EQUAL(c.wrong, 1);
	CU_ASSERT_EQUAL(c.whole_when_cut, 2);
}

static const struct unit_test tests[] = {
	{"agrees with Zydis on libc", test_libc},
	{"agrees with Zydis on libsqlite3", test_sqlite},
	{"agrees with Zydis on all VEX opcodes", test_vex},
	{"agrees with Zydis on all XOP opcodes", test_xop},
	{"agrees with Zydis on all EVEX opcodes", test_evex},
	{"agrees with Zydis on the maps of three bytes", test_legacy},
	{"no length where the form has none", test_no_form},
	{"instructions that Zydis does not know", test_newer_than_zydis},
	{"a wrong length is seen", test_planted},
};
UNIT_SUITE(insn_len, tests)
