// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The code reader on hostile files: opens the input as a file, asks for everything about it, and
 * builds its graph and its table of frames.
 *
 * Input with the ELF magic is taken as it is. Any other is cut in pieces, which become the sections
 * of an otherwise sound file: a fuzzer without a corpus would hardly ever get past the headers.
 */
#include "fuzz.h"
#include "pathprof/code.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pathprof/graph.h"
#include "pathprof/unwind.h"

struct piece {
	const char *name;
	uint64_t flags, entry_bytes;
	uint32_t type, link;
};

/* Section numbers begin at 1; symbol tables link to the string table behind them. */
static const struct piece pieces[] = {
	{".text", SHF_ALLOC | SHF_EXECINSTR, 0, SHT_PROGBITS, 0},
	{".eh_frame", SHF_ALLOC, 0, SHT_PROGBITS, 0},
	{".note.gnu.build-id", SHF_ALLOC, 0, SHT_NOTE, 0},
	{".symtab", 0, sizeof(Elf64_Sym), SHT_SYMTAB, 5},
	{".strtab", 0, 0, SHT_STRTAB, 0},
	{".debug_abbrev", 0, 0, SHT_PROGBITS, 0},
	{".debug_info", 0, 0, SHT_PROGBITS, 0},
	{".debug_line", 0, 0, SHT_PROGBITS, 0},
	{".debug_aranges", 0, 0, SHT_PROGBITS, 0},
	{".debug_str", 0, 0, SHT_PROGBITS, 0},
};
#define PIECES         (sizeof(pieces) / sizeof(pieces[0]))
#define SECTIONS       (PIECES + 2)
#define VADDR          0x1000
#define TABLE_ROWS_MAX 4096

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[SECTIONS];
	char names[256];
	uint8_t bytes[];
};

static void fill_headers(struct file *f, size_t size)
{
	memcpy(f->header.e_ident, ELFMAG, SELFMAG);
	f->header.e_ident[EI_CLASS] = ELFCLASS64;
	f->header.e_ident[EI_DATA] = ELFDATA2LSB;
	f->header.e_ident[EI_VERSION] = EV_CURRENT;
	f->header.e_type = ET_DYN;
	f->header.e_machine = EM_X86_64;
	f->header.e_version = EV_CURRENT;
	f->header.e_ehsize = sizeof(f->header);
	f->header.e_phoff = offsetof(struct file, segments);
	f->header.e_phentsize = sizeof(Elf64_Phdr);
	f->header.e_phnum = 2;
	f->header.e_shoff = offsetof(struct file, sections);
	f->header.e_shentsize = sizeof(Elf64_Shdr);
	f->header.e_shnum = SECTIONS;
	f->header.e_shstrndx = SECTIONS - 1;
	f->segments[0] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = offsetof(struct file, bytes),
		.p_vaddr = VADDR,
		.p_filesz = size,
		.p_memsz = size,
		.p_align = 1,
	};
}

/* The first bytes say how large each piece is, in 256ths of all. */
static struct file *make_file(const uint8_t *data, size_t size, size_t *ret_size)
{
	struct file *f = calloc(1, sizeof(*f) + size);
	size_t at = 0, names = 1, body = size - PIECES;

	if (!f)
		abort();
	fill_headers(f, size);
	memcpy(f->bytes, data + PIECES, body);
	for (size_t i = 0; i < PIECES; i++) {
		size_t len = body * data[i] / 256;

		if (len > body - at)
			len = body - at;
		f->sections[i + 1] = (Elf64_Shdr){
			.sh_name = (Elf64_Word)names,
			.sh_type = pieces[i].type,
			.sh_flags = pieces[i].flags,
			.sh_addr = pieces[i].flags ? VADDR + at : 0,
			.sh_offset = offsetof(struct file, bytes) + at,
			.sh_size = len,
			.sh_link = pieces[i].link,
			.sh_addralign = 1,
			.sh_entsize = pieces[i].entry_bytes,
		};
		names += (size_t)snprintf(f->names + names, sizeof(f->names) - names, "%s",
					  pieces[i].name) +
			 1;
		at += len;
	}
	f->segments[1] = (Elf64_Phdr){
		.p_type = PT_NOTE,
		.p_offset = f->sections[3].sh_offset,
		.p_filesz = f->sections[3].sh_size,
		.p_align = 4,
	};
	f->sections[SECTIONS - 1] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct file, names),
		.sh_size = sizeof(f->names),
		.sh_addralign = 1,
	};
	*ret_size = sizeof(*f) + size;
	return f;
}

static int sum_block(void *context, const struct pathprof_block *block)
{
	if (block->end <= block->start)
		abort();
	*(uint64_t *)context += block->end - block->start;
	return 0;
}

static void ask(struct pathprof_code *code, uint64_t offset)
{
	uint64_t start;
	const char *text = NULL;
	unsigned int len;
	char line[80];
	int number;

	if (!pathprof_code_function(code, offset, &text, &start) && text && !strlen(text))
		abort();
	if (!pathprof_code_line(code, offset, &text, &number) && (!strlen(text) || number < 1))
		abort();
	if (!pathprof_code_instruction(code, offset, line, sizeof(line), &len) &&
	    (!strlen(line) || len < 1 || len > 15))
		abort();
}

/* The constant turns positions into bits that look like outcomes. */
static void walk(struct pathprof_code *code, uint64_t offset)
{
	uint32_t bits = (uint32_t)(offset * 0x9E3779B1u) >> 16;
	uint32_t length = bits >> 8 & 3;
	uint64_t sum = 0;

	pathprof_code_walk(code, offset, length, bits & ((1u << length) - 1), sum_block, &sum,
			   NULL);
}

static void build_table(struct pathprof_code *code)
{
	struct pathprof_unwind_table table;

	if (pathprof_unwind_table_new(&table, code, TABLE_ROWS_MAX))
		return;
	if (pathprof_unwind_table_check(table.rows, table.row_cnt))
		abort();
	pathprof_unwind_table_release(&table);
}

/* The graph's shape is checked by fuzz_graph.c; here each block must only be found by its start. */
static void build_graph(struct pathprof_code *code)
{
	struct pathprof_graph *graph;
	struct pathprof_error error;

	if (pathprof_graph_build(&graph, code, NULL, NULL, &error))
		return;
	for (uint32_t b = 0; b < graph->block_cnt; b++)
		if (pathprof_graph_block_at(graph, graph->blocks[b].start) != b)
			abort();
	pathprof_graph_free(graph);
}

/* Offsets all over the file, more of them in a short one. */
static void open_and_ask(const char *path, size_t size)
{
	struct pathprof_build_id id;
	struct pathprof_code *code;
	struct pathprof_error error;

	if (pathprof_build_id_read_file(&id, path, &error))
		abort();
	if (pathprof_code_open(&code, path, &id, &error))
		return;
	for (uint64_t offset = 0, asked = 0; offset < size && asked < 16; offset += size / 64 + 1) {
		uint64_t vaddr;

		if (pathprof_code_offset_to_vaddr(code, offset, &vaddr))
			continue;
		ask(code, offset);
		if (asked++ % 4 == 0)
			walk(code, offset);
	}
	build_table(code);
	build_graph(code);
	pathprof_code_free(code);
}

static void run(const void *bytes, size_t size)
{
	struct pathprof_build_id id;
	char path[64];
	int fd;

	pathprof_build_id_read_memory(&id, bytes, size);
	fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	open_and_ask(path, size);
	close(fd);
}

/* Nothing here may go to the network. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	unsetenv("DEBUGINFOD_URLS");
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t file_size;
	struct file *f;

	if (size >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG)) {
		run(data, size);
		return 0;
	}
	if (size <= PIECES)
		return 0;
	f = make_file(data, size, &file_size);
	run(f, file_size);
	free(f);
	return 0;
}
