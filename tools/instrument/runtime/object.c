// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Identifies this ELF object by the parts of its file that are mapped. */
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "counts.h"
#include "kernel.h"

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static const ElfW(Phdr) * headers(void)
{
	return (const ElfW(Phdr) *)((const char *)&__ehdr_start + __ehdr_start.e_phoff);
}

/* The difference between an address in memory and in the file. */
static const char *load_bias(void)
{
	const ElfW(Phdr) *h = headers();

	for (int i = 0; i < __ehdr_start.e_phnum; i++)
		if (h[i].p_type == PT_LOAD && h[i].p_offset == 0)
			return (const char *)&__ehdr_start - h[i].p_vaddr;
	return (const char *)&__ehdr_start;
}

static void copy(void *to, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((char *)to)[i] = ((const char *)from)[i];
}

static size_t padded(size_t bytes)
{
	return (bytes + 3) & ~(size_t)3;
}

static void keep_build_id(struct pathprof_counts_head *head, const char *id, size_t bytes)
{
	if (bytes > sizeof(head->build_id))
		bytes = sizeof(head->build_id);
	copy(head->build_id, id, bytes);
	head->build_id_bytes = (uint32_t)bytes;
}

/* The last note may lack its padding. */
static void take_build_id(struct pathprof_counts_head *head, const char *notes, size_t bytes)
{
	ElfW(Nhdr) n;
	size_t at = 0, value;

	for (; at < bytes && bytes - at > sizeof(n); at = value + padded(n.n_descsz)) {
		copy(&n, notes + at, sizeof(n));
		value = at + sizeof(n) + padded(n.n_namesz);
		if (value > bytes || n.n_descsz > bytes - value)
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && notes[at + sizeof(n)] == 'G')
			keep_build_id(head, notes + value, n.n_descsz);
	}
}

bool counts_is_program(void)
{
	return getauxval(AT_PHDR) == (unsigned long)headers();
}

static int take_name(struct dl_phdr_info *info, size_t size, void *context)
{
	struct pathprof_counts_head *head = context;
	size_t bytes = 0;

	(void)size;
	if (info->dlpi_addr != (ElfW(Addr))load_bias())
		return 0;
	while (info->dlpi_name[bytes])
		bytes++;
	if (bytes < sizeof(head->object))
		copy(head->object, info->dlpi_name, bytes + 1);
	return 1;
}

/* A path that fills the buffer may be truncated, so it counts as unknown. */
static void take_program_name(struct pathprof_counts_head *head)
{
	long bytes = kernel_path_of("/proc/self/exe", head->object, sizeof(head->object));

	if (bytes < 0 || bytes == sizeof(head->object))
		head->object[0] = 0;
}

void counts_name_object(struct pathprof_counts_head *head)
{
	const ElfW(Phdr) *h = headers();

	for (int i = 0; i < __ehdr_start.e_phnum; i++)
		if (h[i].p_type == PT_NOTE)
			take_build_id(head, load_bias() + h[i].p_vaddr, h[i].p_memsz);
	if (counts_is_program())
		take_program_name(head);
	else
		dl_iterate_phdr(take_name, head);
}
