// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../libprofile/src/code/pp_code.h"
#include "test_code.h"
#include "unit.h"

enum {
	PLAIN_CIE,
	SIGNAL_CIE,
};

static size_t cie_at[2];

static void put(struct elf_writer *w, const void *bytes, size_t len)
{
	if (len > sizeof(w->frames) - w->frames_len)
		abort();
	memcpy(w->frames + w->frames_len, bytes, len);
	w->frames_len += len;
}

static void put_u32(struct elf_writer *w, uint32_t value)
{
	put(w, &value, sizeof(value));
}

/* Code alignment 1, data alignment -8, return address in 16; CFA = rsp + 8, rip saved below it. */
static void put_cie(struct elf_writer *w, const char *augmentation, const void *data, size_t len)
{
	static const uint8_t tail[] = {0x0c, 7, 8, 0x90, 1}, alignments[] = {1, 0x78, 16};
	uint8_t version = 1, data_len = (uint8_t)len;
	size_t at = w->frames_len, name_len = strlen(augmentation) + 1;

	put_u32(w, (uint32_t)(4 + 1 + name_len + sizeof(alignments) + 1 + len + sizeof(tail)));
	put_u32(w, 0);
	put(w, &version, 1);
	put(w, augmentation, name_len);
	put(w, alignments, sizeof(alignments));
	put(w, &data_len, 1);
	put(w, data, len);
	put(w, tail, sizeof(tail));
	cie_at[strchr(augmentation, 'S') ? SIGNAL_CIE : PLAIN_CIE] = at;
}

void elf_writer_init(struct elf_writer *w)
{
	memset(w, 0, sizeof(*w));
	memset(w->text, 0x90, sizeof(w->text));
	w->symbol_cnt = 1;
	w->names_len = 1;
	/* Addresses are 4 bytes, signed, relative to where they stand. */
	put_cie(w, "zLR", "\x1b\x1b", 2);
	put_cie(w, "zRS", "\x1b", 1);
}

void elf_writer_cie(struct elf_writer *w, const char *augmentation)
{
	put_cie(w, augmentation, "\x1b\x1b", 2);
}

void elf_writer_symbol(struct elf_writer *w, const char *name, unsigned int start,
		       unsigned int size, unsigned char info)
{
	size_t len = strlen(name) + 1;

	if (w->symbol_cnt == sizeof(w->symbols) / sizeof(w->symbols[0]) ||
	    len > sizeof(w->names) - w->names_len)
		abort();
	memcpy(w->names + w->names_len, name, len);
	w->symbols[w->symbol_cnt++] = (Elf64_Sym){
		.st_name = (Elf64_Word)w->names_len,
		.st_info = info,
		.st_shndx = 1,
		.st_value = WRITER_TEXT + start,
		.st_size = size,
	};
	w->names_len += len;
}

static uint32_t relative(const struct elf_writer *w, uint64_t to)
{
	return (uint32_t)(to - (WRITER_FRAMES + w->frames_len));
}

void elf_writer_frame(struct elf_writer *w, unsigned int start, unsigned int len, int table_at,
		      const void *instructions, size_t instruction_bytes)
{
	uint8_t data_len = 4;

	put_u32(w, (uint32_t)(4 + 8 + 1 + 4 + instruction_bytes));
	put_u32(w, (uint32_t)(w->frames_len - cie_at[PLAIN_CIE]));
	put_u32(w, relative(w, WRITER_TEXT + start));
	put_u32(w, len);
	put(w, &data_len, 1);
	put_u32(w, table_at < 0 ? 0 : relative(w, WRITER_TABLE + (uint64_t)table_at));
	put(w, instructions, instruction_bytes);
}

void elf_writer_signal_frame(struct elf_writer *w, unsigned int start, unsigned int len)
{
	/* No augmentation data; then CFA = *(rsp), as signal frames compute it. */
	static const uint8_t rest[] = {0, 0x0f, 3, 0x77, 0, 0x06};

	put_u32(w, (uint32_t)(4 + 8 + sizeof(rest)));
	put_u32(w, (uint32_t)(w->frames_len - cie_at[SIGNAL_CIE]));
	put_u32(w, relative(w, WRITER_TEXT + start));
	put_u32(w, len);
	put(w, rest, sizeof(rest));
}

void elf_writer_jump(struct elf_writer *w, unsigned int from, unsigned int to)
{
	uint32_t distance = to - (from + 5);

	w->text[from] = 0xe9;
	memcpy(w->text + from + 1, &distance, sizeof(distance));
}

enum { TEXT = 1, INIT, FRAMES, TABLE, SYMBOLS, STRINGS, SECTIONS };

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	Elf64_Shdr sections[SECTIONS];
	char section_names[128];
	uint8_t padding[WRITER_PAGE - sizeof(Elf64_Ehdr) - 3 * sizeof(Elf64_Phdr) -
			SECTIONS * sizeof(Elf64_Shdr) - 128];
	uint8_t text[WRITER_PAGE], frames[WRITER_PAGE], table[WRITER_PAGE];
	Elf64_Sym symbols[64];
	char names[WRITER_NAMES];
};
_Static_assert(offsetof(struct image, text) == WRITER_PAGE, "sections begin at pages");

static void fill_header(struct image *i, const struct elf_writer *w)
{
	i->header = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = w->entry,
		.e_phoff = offsetof(struct image, segments),
		.e_shoff = offsetof(struct image, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = STRINGS,
	};
	i->segments[0] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = offsetof(struct image, text),
		.p_vaddr = WRITER_TEXT,
		.p_filesz = WRITER_PAGE,
		.p_memsz = WRITER_PAGE,
	};
	i->segments[1] = i->segments[0];
	i->segments[1].p_flags = PF_R;
	i->segments[1].p_offset = offsetof(struct image, frames);
	i->segments[1].p_vaddr = WRITER_FRAMES;
	i->segments[1].p_filesz = i->segments[1].p_memsz = 2 * (Elf64_Xword)WRITER_PAGE;
}

/* The text's bytes change places with .init's. */
static void put_init_first(struct image *i, const struct elf_writer *w)
{
	size_t text_len = WRITER_PAGE - w->init_len;

	i->segments[2] = i->segments[0];
	i->segments[0].p_offset += w->init_len;
	i->segments[0].p_filesz = i->segments[0].p_memsz = text_len;
	i->segments[2].p_vaddr += text_len;
	i->segments[2].p_filesz = i->segments[2].p_memsz = w->init_len;
	i->header.e_phnum = 3;
	memcpy(i->text, w->text + text_len, w->init_len);
	memcpy(i->text + w->init_len, w->text, text_len);
	i->sections[TEXT].sh_offset = i->segments[0].p_offset;
	i->sections[INIT].sh_offset = i->segments[2].p_offset;
}

static void add_section(struct image *i, int index, const char *name, Elf64_Shdr section)
{
	static const size_t name_bytes = sizeof(i->names) / 2;
	size_t at = name_bytes + (size_t)index * 32;

	snprintf(i->names + at, 32, "%s", name);
	section.sh_name = (Elf64_Word)at;
	section.sh_addralign = 1;
	i->sections[index] = section;
}

static Elf64_Shdr loaded(uint64_t vaddr, size_t offset, size_t len, uint64_t flags)
{
	return (Elf64_Shdr){
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC | flags,
		.sh_addr = vaddr,
		.sh_offset = offset,
		.sh_size = len,
	};
}

static void fill_sections(struct image *i, const struct elf_writer *w)
{
	size_t text_len = WRITER_PAGE - w->init_len, text = offsetof(struct image, text);

	add_section(i, TEXT, ".text", loaded(WRITER_TEXT, text, text_len, SHF_EXECINSTR));
	add_section(i, INIT, ".init",
		    loaded(WRITER_TEXT + text_len, text + text_len, w->init_len, SHF_EXECINSTR));
	add_section(i, FRAMES, ".eh_frame",
		    loaded(WRITER_FRAMES, offsetof(struct image, frames), w->frames_len, 0));
	add_section(i, TABLE, ".gcc_except_table",
		    loaded(WRITER_TABLE, offsetof(struct image, table), w->table_len, 0));
	add_section(i, SYMBOLS, ".symtab",
		    (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				 .sh_offset = offsetof(struct image, symbols),
				 .sh_size = w->symbol_cnt * sizeof(Elf64_Sym),
				 .sh_link = STRINGS,
				 .sh_info = 1,
				 .sh_entsize = sizeof(Elf64_Sym)});
	add_section(i, STRINGS, ".strtab",
		    (Elf64_Shdr){.sh_type = SHT_STRTAB,
				 .sh_offset = offsetof(struct image, names),
				 .sh_size = sizeof(i->names)});
}

void elf_writer_save(const struct elf_writer *w, const char *path)
{
	struct image *i = calloc(1, sizeof(*i));
	FILE *f = fopen(path, "we");

	if (!i || !f || w->names_len > sizeof(i->names) / 2)
		abort();
	memcpy(i->text, w->text, sizeof(i->text));
	memcpy(i->frames, w->frames, sizeof(i->frames));
	memcpy(i->table, w->table, sizeof(i->table));
	memcpy(i->symbols, w->symbols, sizeof(i->symbols));
	memcpy(i->names, w->names, w->names_len);
	fill_header(i, w);
	fill_sections(i, w);
	if (w->init_first)
		put_init_first(i, w);
	if (fwrite(i, sizeof(*i), 1, f) != 1 || fclose(f))
		abort();
	free(i);
}

struct pathprof_code *elf_writer_open(const struct elf_writer *w)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/made.elf", unit_tmpdir());
	elf_writer_save(w, path);
	return open_code(path);
}

struct pathprof_code *elf_writer_open_with_tables(const struct elf_writer *w)
{
	struct pathprof_code *code = elf_writer_open(w);
	const struct pp_symbol *symbols;
	const struct pp_frame *frames;

	CU_ASSERT(pp_symbols_all(code, &symbols) > 0);
	(void)pp_frames_all(code, &frames);
	return code;
}
