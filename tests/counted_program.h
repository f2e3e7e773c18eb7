/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The smallest ELF file that counted paths can be read of: a build-id, a section of counters and
 * one with the description that the compiler left. For tests and fuzz targets that make the
 * description themselves.
 */
#ifndef COUNTED_PROGRAM_H
#define COUNTED_PROGRAM_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "pathprof/path_counts.h"

#define COUNTED_PROGRAM_ADDRESS     0x1000 /* of the counters */
#define COUNTED_PROGRAM_IMAGE_BYTES 4096
#define COUNTED_PROGRAM_ID_BYTES    20
#define COUNTED_PROGRAM_ID          1 /* first byte of the build-id; the others are 0 */

/* The description stands behind it. */
struct counted_program {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[4];
	char names[64];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[COUNTED_PROGRAM_ID_BYTES];
	} note;
	uint8_t counters[COUNTED_PROGRAM_IMAGE_BYTES];
};

static inline Elf64_Shdr counted_program_section(uint32_t name, uint32_t type, uint64_t at,
						 uint64_t bytes, uint64_t address)
{
	return (Elf64_Shdr){.sh_name = name,
			    .sh_type = type,
			    .sh_addr = address,
			    .sh_offset = at,
			    .sh_size = bytes,
			    .sh_addralign = 1};
}

static inline void counted_program_sections(struct counted_program *p, size_t description_bytes)
{
	static const char names[] =
		"\0.names\0" PATHPROF_COUNTERS_SECTION "\0" PATHPROF_DESCRIPTION_SECTION;
	uint32_t counters = 8, description = counters + sizeof(PATHPROF_COUNTERS_SECTION);

	memcpy(p->names, names, sizeof(names));
	p->sections[1] = counted_program_section(
		1, SHT_STRTAB, offsetof(struct counted_program, names), sizeof(p->names), 0);
	p->sections[2] = counted_program_section(
		counters, SHT_PROGBITS, offsetof(struct counted_program, counters),
		COUNTED_PROGRAM_IMAGE_BYTES, COUNTED_PROGRAM_ADDRESS);
	p->sections[3] = counted_program_section(description, SHT_PROGBITS, sizeof(*p),
						 description_bytes, 0);
}

static inline void counted_program_note(struct counted_program *p)
{
	p->note.header = (Elf64_Nhdr){4, COUNTED_PROGRAM_ID_BYTES, NT_GNU_BUILD_ID};
	memcpy(p->note.name, "GNU", 4);
	p->note.id[0] = COUNTED_PROGRAM_ID;
	p->segment = (Elf64_Phdr){.p_type = PT_NOTE,
				  .p_offset = offsetof(struct counted_program, note),
				  .p_filesz = sizeof(p->note),
				  .p_align = 4};
}

/* Into an empty file that stays open; 0, or -1 where it could not be written. */
static inline int counted_program_write(int fd, const void *description, size_t description_bytes)
{
	struct counted_program p = {
		.header = {
			.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct counted_program, segment),
			.e_shoff = offsetof(struct counted_program, sections),
			.e_ehsize = sizeof(p.header),
			.e_phentsize = sizeof(p.segment),
			.e_phnum = 1,
			.e_shentsize = sizeof(p.sections[0]),
			.e_shnum = sizeof(p.sections) / sizeof(p.sections[0]),
			.e_shstrndx = 1,
		}};

	counted_program_note(&p);
	counted_program_sections(&p, description_bytes);
	if (pwrite(fd, &p, sizeof(p), 0) != sizeof(p) ||
	    pwrite(fd, description, description_bytes, sizeof(p)) != (ssize_t)description_bytes)
		return -1;
	return 0;
}

#endif
