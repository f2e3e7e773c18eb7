/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small ELF files made by hand: code, symbols, .eh_frame records, an exception table. Positions are
 * counted from the start of each section.
 */
#ifndef ELF_WRITER_H
#define ELF_WRITER_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/code.h"

#define WRITER_PAGE   4096
#define WRITER_NAMES  (10 * WRITER_PAGE) /* half of them the sections' */
#define WRITER_TEXT   0x401000
#define WRITER_FRAMES 0x402000
#define WRITER_TABLE  0x403000

struct elf_writer {
	uint8_t text[WRITER_PAGE], frames[WRITER_PAGE], table[WRITER_PAGE];
	size_t frames_len, table_len;
	Elf64_Sym symbols[64]; /* number 0 is none */
	size_t symbol_cnt;
	char names[WRITER_NAMES];
	size_t names_len;
	uint64_t entry, init_len; /* the last init_len bytes of code are .init */
	/* .init is a segment of its own, which the file has before that of the other code */
	bool init_first;
};

void elf_writer_init(struct elf_writer *w);
/* info as ELF64_ST_INFO(binding, type). */
void elf_writer_symbol(struct elf_writer *w, const char *name, unsigned int start,
		       unsigned int size, unsigned char info);
/* Writes the CIE of the records that follow; the augmentation begins with "zLR". */
void elf_writer_cie(struct elf_writer *w, const char *augmentation);
/* Writes the record of [start, start + len); table_at < 0: it has no exception table. */
void elf_writer_frame(struct elf_writer *w, unsigned int start, unsigned int len, int table_at,
		      const void *instructions, size_t instruction_bytes);
/* Writes the record of the code that a signal handler returns to. */
void elf_writer_signal_frame(struct elf_writer *w, unsigned int start, unsigned int len);
/* `jmp to` at from, 5 bytes. */
void elf_writer_jump(struct elf_writer *w, unsigned int from, unsigned int to);
void elf_writer_save(const struct elf_writer *w, const char *path);
/* Saves the file in a temporary directory and opens it; ends the test if that fails. */
struct pathprof_code *elf_writer_open(const struct elf_writer *w);
/* The same, with symbols and frames already read, so that a later lack of memory omits none. */
struct pathprof_code *elf_writer_open_with_tables(const struct elf_writer *w);

#endif
