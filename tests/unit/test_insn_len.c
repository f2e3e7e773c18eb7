// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lengths of instructions against Zydis: every instruction of two libraries' code, whole and cut
 * off after each of its bytes. EVEX-coded ones are left out: the emulator refuses them.
 */
#include "unit.h"

#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "../../tools/trace/plugin/insn_len.h"

typedef size_t length_fn(const uint8_t *code, size_t len_bytes);

struct comparison {
	length_fn *fn;
	unsigned long compared, wrong, whole_when_cut;
};

static void compare_one(struct comparison *c, const uint8_t *code, size_t len_bytes)
{
	c->compared++;
	c->wrong += c->fn(code, len_bytes) != len_bytes;
	for (size_t cut = 1; cut < len_bytes; cut++)
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
		else if (in.encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX)
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
	struct comparison c = {.fn = insn_len};

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

/* Takes a REX prefix for an opcode. */
static size_t broken(const uint8_t *code, size_t len_bytes)
{
	return (code[0] & 0xf0) == 0x40 ? 1 : insn_len(code, len_bytes);
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
	{"a wrong length is seen", test_planted},
};
UNIT_SUITE(insn_len, tests)
