/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The smallest ELF file that code can be read from: one executable segment, no sections. For tests,
 * fuzz targets and benchmarks that make their code themselves.
 */
#ifndef ONE_SEGMENT_H
#define ONE_SEGMENT_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

struct one_segment {
	uint16_t type;          /* ET_EXEC, ET_DYN */
	uint64_t offset, vaddr; /* of the code; the offset behind both headers */
};

static inline Elf64_Ehdr one_segment_header(uint16_t type)
{
	return (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = type,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
}

/* Into an empty file that stays open; 0, or -1 where it could not be written. */
static inline int one_segment_write(int fd, const struct one_segment *place, const void *bytes,
				    size_t len_bytes)
{
	Elf64_Ehdr header = one_segment_header(place->type);
	Elf64_Phdr segment = {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = place->offset,
			      .p_vaddr = place->vaddr,
			      .p_filesz = len_bytes,
			      .p_memsz = len_bytes};

	if (pwrite(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    pwrite(fd, &segment, sizeof(segment), sizeof(header)) != sizeof(segment) ||
	    pwrite(fd, bytes, len_bytes, (off_t)place->offset) != (ssize_t)len_bytes)
		return -1;
	return 0;
}

#endif
