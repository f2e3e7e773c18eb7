// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The executable segments of an ELF file: file offset to vaddr and back, and their bytes.
 *
 * Workload: a look-up and 15 bytes for each instruction of a walk. Files have one executable
 * segment, seldom two, so a linear search does; hostile ones have at most SEGMENTS_MAX.
 *
 * Source: ELF gABI, chapter 5 (program headers).
 */
#include "pp_code.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS_MAX 256

static int check_header(Elf *elf, const char *path, struct pathprof_error *error)
{
	GElf_Ehdr header;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return pathprof_fail(error, -EINVAL, "%s: is no ELF file", path);
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_machine != EM_X86_64)
		return pathprof_fail(error, -EINVAL,
				     "%s: is not for x86-64; profile it on its own machine", path);
	return 0;
}

/* The part of an executable segment that the file holds; false: there is none, or it wraps. */
static bool clip_segment(const GElf_Phdr *ph, uint64_t file_size, struct pp_segment *ret_segment)
{
	uint64_t len = ph->p_filesz;

	if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || ph->p_offset >= file_size)
		return false;
	if (len > file_size - ph->p_offset)
		len = file_size - ph->p_offset;
	if (!len || len > UINT64_MAX - ph->p_vaddr)
		return false;
	*ret_segment = (struct pp_segment){ph->p_offset, ph->p_vaddr, len};
	return true;
}

/* llvm-profgen knows no other, whatever the machine's. */
#define PAGE_BYTES 4096u

static void read_layout(struct pathprof_code *code)
{
	struct pp_layout *layout = &code->layout;
	bool loads = false, text = false;
	struct pp_section section;
	GElf_Ehdr header;
	GElf_Phdr ph;
	size_t cnt = 0;

	if (!gelf_getehdr(code->elf, &header) || elf_getphdrnum(code->elf, &cnt))
		return;
	layout->is_pie = header.e_type == ET_DYN;
	layout->is_bolted = pp_section_named(code, ".note.bolt_info", &section);
	layout->has_symbols = pp_section_named(code, ".symtab", &section);
	for (size_t i = 0; i < cnt && gelf_getphdr(code->elf, (int)i, &ph); i++) {
		if (ph.p_type != PT_LOAD)
			continue;
		if (!loads)
			layout->first_load = ph.p_vaddr;
		loads = true;
		if (!text && (ph.p_flags & PF_X)) {
			layout->first_text = ph.p_vaddr & ~(uint64_t)(PAGE_BYTES - 1);
			text = true;
		}
	}
}

static int read_segments(struct pathprof_code *code, uint64_t file_size,
			 struct pathprof_error *error)
{
	size_t cnt = 0;
	GElf_Phdr ph;
	struct pp_segment segment;

	if (elf_getphdrnum(code->elf, &cnt) || cnt > INT32_MAX)
		return pathprof_fail(error, -EBADMSG, "%s: damaged program headers", code->path);
	code->segments = calloc(SEGMENTS_MAX, sizeof(code->segments[0]));
	if (!code->segments)
		return pathprof_fail(error, -ENOMEM, "%s: out of memory", code->path);
	for (size_t i = 0; i < cnt; i++) {
		if (!gelf_getphdr(code->elf, (int)i, &ph))
			return pathprof_fail(error, -EBADMSG, "%s: damaged program header %zu",
					     code->path, i);
		if (!clip_segment(&ph, file_size, &segment))
			continue;
		if (code->segment_cnt == SEGMENTS_MAX)
			return pathprof_fail(error, -EBADMSG,
					     "%s: more than %d executable segments", code->path,
					     SEGMENTS_MAX);
		code->segments[code->segment_cnt++] = segment;
	}
	return 0;
}

int pp_elf_open(struct pathprof_code *code, struct pathprof_error *error)
{
	struct stat st;
	int r;

	if (fstat(code->fd, &st))
		return pathprof_fail(error, -errno, "%s: cannot be examined: %m", code->path);
	if (elf_version(EV_CURRENT) == EV_NONE)
		return pathprof_fail(error, -EINVAL, "libelf: %s", elf_errmsg(-1));
	code->elf = elf_begin(code->fd, ELF_C_READ, NULL);
	r = check_header(code->elf, code->path, error);
	if (!r)
		r = read_segments(code, (uint64_t)st.st_size, error);
	if (!r)
		read_layout(code);
	return r;
}

static const struct pp_segment *segment_of_offset(const struct pathprof_code *code, uint64_t offset)
{
	for (uint32_t i = 0; i < code->segment_cnt; i++) {
		const struct pp_segment *s = &code->segments[i];

		if (offset - s->offset < s->len_bytes && offset >= s->offset)
			return s;
	}
	return NULL;
}

static const struct pp_segment *segment_of_vaddr(const struct pathprof_code *code, uint64_t vaddr)
{
	for (uint32_t i = 0; i < code->segment_cnt; i++) {
		const struct pp_segment *s = &code->segments[i];

		if (vaddr - s->vaddr < s->len_bytes && vaddr >= s->vaddr)
			return s;
	}
	return NULL;
}

int pathprof_code_segment(const struct pathprof_code *code, uint32_t index,
			  struct pathprof_code_segment *ret_segment)
{
	const struct pp_segment *s;

	if (index >= code->segment_cnt)
		return -ERANGE;
	s = &code->segments[index];
	*ret_segment = (struct pathprof_code_segment){s->offset, s->vaddr, s->len_bytes,
						      !code->layout.is_pie};
	return 0;
}

int pathprof_code_offset_to_vaddr(const struct pathprof_code *code, uint64_t offset,
				  uint64_t *ret_vaddr)
{
	const struct pp_segment *s = segment_of_offset(code, offset);

	if (!s)
		return -ERANGE;
	*ret_vaddr = s->vaddr + (offset - s->offset);
	return 0;
}

int pathprof_code_vaddr_to_offset(const struct pathprof_code *code, uint64_t vaddr,
				  uint64_t *ret_offset)
{
	const struct pp_segment *s = segment_of_vaddr(code, vaddr);

	if (!s)
		return -ERANGE;
	*ret_offset = s->offset + (vaddr - s->vaddr);
	return 0;
}

ssize_t pp_elf_read_file(int fd, void *buf, size_t size, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(fd, buf, size, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got;
}

/* Moves the window so that it holds offset and some of what is before: paths mostly go on. */
static void move_window(struct pathprof_code *code, uint64_t offset)
{
	uint64_t at = offset & ~(uint64_t)(PP_CODE_WINDOW / 4 - 1);
	ssize_t got = pp_elf_read_file(code->fd, code->window, PP_CODE_WINDOW, at);

	code->window_offset = at;
	code->window_len = got > 0 ? (size_t)got : 0;
}

static size_t window_has(const struct pathprof_code *code, uint64_t offset)
{
	uint64_t into = offset - code->window_offset;

	return offset >= code->window_offset && into < code->window_len ? code->window_len - into
									: 0;
}

size_t pp_elf_read(struct pathprof_code *code, uint64_t vaddr, uint8_t *buf, size_t size)
{
	const struct pp_segment *s = segment_of_vaddr(code, vaddr);
	uint64_t offset;
	size_t there;

	if (!s || code->apart)
		return 0;
	offset = s->offset + (vaddr - s->vaddr);
	if (size > s->len_bytes - (vaddr - s->vaddr))
		size = s->len_bytes - (vaddr - s->vaddr);
	if (window_has(code, offset) < size)
		move_window(code, offset);
	there = window_has(code, offset);
	if (size > there)
		size = there;
	memcpy(buf, code->window + (offset - code->window_offset), size);
	return size;
}
