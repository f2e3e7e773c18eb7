// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Data as relocated: this program's own memory is the yardstick, since the dynamic linker has
 * filled it; and a file made by hand for what linkers do not write.
 */
#include "../../libprofile/src/code/pp_functions.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_code.h"
#include "unit.h"

#define SELF "/proc/self/exe"

static int take_base(struct dl_phdr_info *info, size_t size, void *context)
{
	*(uint64_t *)context = info->dlpi_addr;
	return 1;
}

static uint64_t base_of_self(void)
{
	uint64_t base = 0;

	dl_iterate_phdr(take_base, &base);
	return base;
}

static int first_function(int x)
{
	return x + 1;
}

static int second_function(int x)
{
	return x + 2;
}

typedef int function(int x);
static function *const fixed_table[] = {first_function, second_function, first_function};
static function *open_table[] = {second_function, first_function};
static const int numbers[] = {3, 1, 4, 1, 5};
static const uint8_t large[150000] = {1, [70000] = 2, [149999] = 3};
static int zeros[1000];

static uint64_t vaddr_of(const void *object)
{
	return (uint64_t)(uintptr_t)object - base_of_self();
}

static void test_tables(void)
{
	struct pathprof_code *code = open_code(SELF);
	uint64_t words[3] = {0};
	int values[5];

	/* Keeps the compiler from optimizing the tables away. */
	__asm__ volatile("" : : "r"(fixed_table), "r"(open_table), "r"(zeros) : "memory");
	CU_ASSERT_EQUAL(pp_data_read(code, vaddr_of((const void *)fixed_table), words, 24), 0);
	CU_ASSERT_EQUAL(words[0], vaddr_of((const void *)(uintptr_t)first_function));
	CU_ASSERT_EQUAL(words[1], vaddr_of((const void *)(uintptr_t)second_function));
	CU_ASSERT_EQUAL(words[2], words[0]);
	CU_ASSERT_EQUAL(pp_data_read(code, vaddr_of((const void *)open_table), words, 16), 0);
	CU_ASSERT_EQUAL(words[0], vaddr_of((const void *)(uintptr_t)second_function));
	CU_ASSERT_EQUAL(pp_data_read(code, vaddr_of(numbers), values, sizeof(values)), 0);
	CU_ASSERT_EQUAL(memcmp(values, numbers, sizeof(values)), 0);
	pathprof_code_free(code);
}

static void test_constant(void)
{
	struct pathprof_code *code = open_code(SELF);

	CU_ASSERT(pp_data_is_constant(code, vaddr_of(numbers)));
	CU_ASSERT(pp_data_is_constant(code, vaddr_of((const void *)fixed_table)));
	CU_ASSERT(!pp_data_is_constant(code, vaddr_of((const void *)open_table)));
	CU_ASSERT(!pp_data_is_constant(code, vaddr_of(zeros)));
	CU_ASSERT(!pp_data_is_constant(code, UINT64_MAX));
	pathprof_code_free(code);
}

/* Any part of a pointer reads as that part of what it will be. */
static void test_parts(void)
{
	struct pathprof_code *code = open_code(SELF);
	uint64_t at = vaddr_of((const void *)fixed_table);
	uint8_t whole[24], part[24];

	CU_ASSERT_EQUAL_FATAL(pp_data_read(code, at, whole, sizeof(whole)), 0);
	for (size_t from = 0; from < sizeof(whole); from++)
		for (size_t len = 1; from + len <= sizeof(whole); len++) {
			CU_ASSERT_EQUAL(pp_data_read(code, at + from, part, len), 0);
			CU_ASSERT_EQUAL(memcmp(part, whole + from, len), 0);
		}
	pathprof_code_free(code);
}

static void test_bounds(void)
{
	struct pathprof_code *code = open_code(SELF);
	static uint8_t much[sizeof(large)];
	uint8_t byte = 7;

	CU_ASSERT_EQUAL(pp_data_read(code, vaddr_of(&zeros[500]), &byte, 1), -ERANGE);
	CU_ASSERT_EQUAL(pp_data_read(code, UINT64_MAX - 3, &byte, 1), -ERANGE);
	CU_ASSERT_EQUAL(pp_data_read(code, vaddr_of(numbers), much, SIZE_MAX), -ERANGE);
	CU_ASSERT_EQUAL(byte, 7);
	/* More than is read ahead. */
	CU_ASSERT_EQUAL(pp_data_read(code, vaddr_of(large), much, sizeof(large)), 0);
	CU_ASSERT_EQUAL(memcmp(much, large, sizeof(large)), 0);
	pathprof_code_free(code);
}

/* ---------------------------------------------------------------- against live memory */

struct tally {
	size_t relative, imports, wrong;
};

/* Compares a slot, read-only after relocation, with the value that the dynamic linker wrote. */
static void compare_slot(struct pathprof_code *code, const GElf_Rela *rela, const char *name,
			 uint64_t base, struct tally *t)
{
	uint64_t word = 0, live;
	const char *import = pp_data_import(code, rela->r_offset);

	if (GELF_R_TYPE(rela->r_info) == R_X86_64_RELATIVE) {
		if (!pp_data_is_constant(code, rela->r_offset))
			return;
		memcpy(&live, (const void *)(uintptr_t)(base + rela->r_offset), sizeof(live));
		t->wrong += pp_data_read(code, rela->r_offset, &word, sizeof(word)) ||
			    word + base != live || import;
		t->relative++;
	} else if (GELF_R_TYPE(rela->r_info) == R_X86_64_JUMP_SLOT ||
		   GELF_R_TYPE(rela->r_info) == R_X86_64_GLOB_DAT) {
		t->wrong += !is(import, name) || pp_data_is_constant(code, rela->r_offset);
		t->imports++;
	}
}

static void compare_table(struct pathprof_code *code, Elf_Scn *scn, const GElf_Shdr *sh,
			  uint64_t base, struct tally *t)
{
	Elf_Scn *symbols = elf_getscn(code->elf, sh->sh_link);
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Shdr linked;
	GElf_Rela rela;
	GElf_Sym sym;

	gelf_getshdr(symbols, &linked);
	for (int i = 0; gelf_getrela(data, i, &rela); i++) {
		gelf_getsym(elf_getdata(symbols, NULL), (int)GELF_R_SYM(rela.r_info), &sym);
		compare_slot(code, &rela, elf_strptr(code->elf, linked.sh_link, sym.st_name), base,
			     t);
	}
}

static struct tally compare_with_memory(uint64_t base)
{
	struct pathprof_code *code = open_code(SELF);
	struct tally t = {0};
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(code->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA)
			compare_table(code, scn, &sh, base, &t);
	pathprof_code_free(code);
	return t;
}

static void test_memory(void)
{
	struct tally t = compare_with_memory(base_of_self());

	CU_ASSERT(t.relative > 10);
	CU_ASSERT(t.imports > 20);
	CU_ASSERT_EQUAL(t.wrong, 0);
}

/* The planted fault: another program's imports. */
static void test_planted(void)
{
	struct pathprof_code *code = open_code(SELF);
	const GElf_Rela rela = {.r_offset = vaddr_of((const void *)fixed_table),
				.r_info = GELF_R_INFO(1, R_X86_64_GLOB_DAT)};
	struct tally t = {0};

	compare_slot(code, &rela, "nobody", base_of_self(), &t);
	CU_ASSERT_EQUAL(t.wrong, 1);
	pathprof_code_free(code);
}

/* ---------------------------------------------------------------- made by hand */

/* A page of data with a slot of each kind; the table of relocations is not sorted. */
struct made {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[4]; /* none, .rela, .dynsym, .dynstr */
	Elf64_Rela relocations[7];
	Elf64_Sym symbols[3];
	char names[64];
	uint64_t data[16];
};

#define DATA_VADDR 0x5000

static const struct made made = {
	.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		   .e_type = ET_DYN,
		   .e_machine = EM_X86_64,
		   .e_version = EV_CURRENT,
		   .e_phoff = offsetof(struct made, segments),
		   .e_shoff = offsetof(struct made, sections),
		   .e_ehsize = sizeof(Elf64_Ehdr),
		   .e_phentsize = sizeof(Elf64_Phdr),
		   .e_phnum = 2,
		   .e_shentsize = sizeof(Elf64_Shdr),
		   .e_shnum = 4,
		   .e_shstrndx = 3},
	.segments = {{.p_type = PT_LOAD,
		      .p_flags = PF_R | PF_W,
		      .p_offset = offsetof(struct made, data),
		      .p_vaddr = DATA_VADDR,
		      .p_filesz = 0x1000,
		      .p_memsz = 0x1000},
		     {.p_type = PT_GNU_RELRO, .p_vaddr = DATA_VADDR, .p_memsz = 0x38}},
	.sections = {{0},
		     {.sh_type = SHT_RELA,
		      .sh_flags = SHF_ALLOC,
		      .sh_offset = offsetof(struct made, relocations),
		      .sh_size = sizeof(made.relocations),
		      .sh_link = 2,
		      .sh_entsize = sizeof(Elf64_Rela)},
		     {.sh_type = SHT_DYNSYM,
		      .sh_offset = offsetof(struct made, symbols),
		      .sh_size = sizeof(made.symbols),
		      .sh_link = 3,
		      .sh_entsize = sizeof(Elf64_Sym)},
		     {.sh_type = SHT_STRTAB,
		      .sh_offset = offsetof(struct made, names),
		      .sh_size = sizeof(made.names)}},
	.relocations = {{DATA_VADDR + 0x30, ELF64_R_INFO(0, R_X86_64_RELATIVE), 0x1234},
			{DATA_VADDR + 0x10, ELF64_R_INFO(2, R_X86_64_64), 8},
			{DATA_VADDR + 0x00, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0},
			{DATA_VADDR + 0x08, ELF64_R_INFO(2, R_X86_64_64), 0},
			{DATA_VADDR + 0x20, ELF64_R_INFO(9, R_X86_64_GLOB_DAT), 0},
			{UINT64_MAX - 3, ELF64_R_INFO(0, R_X86_64_RELATIVE), 1},
			{DATA_VADDR + 0x74, ELF64_R_INFO(0, R_X86_64_RELATIVE), -1}},
	.symbols = {{0}, {.st_name = 1}, {.st_name = 7}},
	.names = "\0first\0second",
	.data = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
};

static struct pathprof_code *open_made(void)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/data.elf", unit_tmpdir());
	f = fopen(path, "we");
	if (!f || fwrite(&made, sizeof(made), 1, f) != 1 || fclose(f))
		abort();
	return open_code(path);
}

static void test_made(void)
{
	static const struct {
		unsigned int at;
		bool constant;
		const char *import;
		uint64_t word;
	} want[] = {
		{0x00, false, "first", 1},
		{0x08, false, "second", 2},
		{0x10, false, NULL, 3},
		{0x18, true, NULL, 4},
		{0x20, false, NULL, 5},
		{0x28, true, NULL, 6},
		{0x30, true, NULL, 0x1234},
		{0x38, false, NULL, 8},
		{0x70, false, NULL, 0xffffffff0000000f},
	};
	struct pathprof_code *code = open_made();
	uint64_t word = 0;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const char *import = pp_data_import(code, DATA_VADDR + want[i].at);

		CU_ASSERT_EQUAL(pp_data_is_constant(code, DATA_VADDR + want[i].at),
				want[i].constant);
		CU_ASSERT(want[i].import ? is(import, want[i].import) : !import);
		CU_ASSERT_EQUAL(pp_data_read(code, DATA_VADDR + want[i].at, &word, 8), 0);
		CU_ASSERT_EQUAL(word, want[i].word);
	}
	/* The segment says more than the file holds. */
	CU_ASSERT_EQUAL(pp_data_read(code, DATA_VADDR + 0x79, &word, 8), -ERANGE);
	CU_ASSERT_EQUAL(pp_data_read(code, DATA_VADDR + 0x80, &word, 1), -ERANGE);
	pathprof_code_free(code);
}

static const struct unit_test tests[] = {
	{"tables of pointers read as they will be", test_tables},
	{"constant is what nobody may write", test_constant},
	{"parts of pointers are relocated, too", test_parts},
	{"nothing is read beyond what the file holds", test_bounds},
	{"relocated words and imports are those of live memory", test_memory},
	{"an import of another name is told apart", test_planted},
	{"each kind of relocation does what it should", test_made},
};
UNIT_SUITE(data, tests)
