// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ELF files that claim much and hold little: crafted_elf DIR [SECONDS]. Each is sparse, so it costs
 * its maker a few blocks. They are mapped executable one after the other, changed each time so that
 * nothing learnt of them before is of use. SECONDS 0, or none: they are only made.
 *
 *   notes      1,500 segments of notes, 1 MiB each
 *   endless    a terabyte of notes, 12 bytes each
 *   sections   as many sections as the extended count allows for a table of a gibibyte
 *   segments   65,534 program headers, each of notes
 *   loop       notes that begin where they end
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MIB   (UINT64_C(1) << 20)
#define NOTES 1500

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static Elf64_Ehdr header(uint16_t segment_cnt)
{
	Elf64_Ehdr h = {
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = 4096,
		.e_ehsize = sizeof(h),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = segment_cnt,
		.e_shentsize = sizeof(Elf64_Shdr),
	};

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	return h;
}

static void put(int fd, const void *bytes, size_t len, uint64_t at)
{
	must(pwrite(fd, bytes, len, (off_t)at) == (ssize_t)len, "pwrite");
}

static void put_segments(int fd, uint32_t cnt, uint64_t first, uint64_t each)
{
	Elf64_Ehdr h = header((uint16_t)cnt);

	put(fd, &h, sizeof(h), 0);
	for (uint32_t i = 0; i < cnt; i++) {
		Elf64_Phdr ph = {.p_type = PT_NOTE,
				 .p_offset = first + i * each,
				 .p_filesz = each,
				 .p_align = 4};

		put(fd, &ph, sizeof(ph), h.e_phoff + i * sizeof(ph));
	}
}

static void make_notes(int fd)
{
	put_segments(fd, NOTES, MIB, MIB);
	must(ftruncate(fd, (off_t)((NOTES + 1) * MIB)) == 0, "ftruncate");
}

static void make_endless(int fd)
{
	put_segments(fd, 1, MIB, UINT64_C(1) << 40);
	must(ftruncate(fd, (off_t)((UINT64_C(1) << 40) + MIB)) == 0, "ftruncate");
}

static void make_sections(int fd)
{
	Elf64_Ehdr h = header(0);
	Elf64_Shdr first = {.sh_size = UINT64_C(1) << 24};

	h.e_phoff = 0;
	h.e_shoff = MIB;
	put(fd, &h, sizeof(h), 0);
	put(fd, &first, sizeof(first), MIB);
	must(ftruncate(fd, (off_t)(MIB + (UINT64_C(1) << 24) * sizeof(first))) == 0, "ftruncate");
}

static void make_segments(int fd)
{
	put_segments(fd, 65534, 16 * MIB, 4096);
	must(ftruncate(fd, (off_t)(16 * MIB + 65534 * UINT64_C(4096))) == 0, "ftruncate");
}

/* The sizes of a note add up to 2^32. */
static void make_loop(int fd)
{
	Elf64_Nhdr note = {.n_namesz = 0xfffffff4, .n_descsz = 0, .n_type = NT_GNU_BUILD_ID};

	put_segments(fd, 1, MIB, UINT64_C(1) << 33);
	put(fd, &note, sizeof(note), MIB);
	must(ftruncate(fd, (off_t)((UINT64_C(1) << 33) + MIB)) == 0, "ftruncate");
}

static const struct {
	const char *name;
	void (*make)(int fd);
} kinds[] = {
	{"notes", make_notes},       {"endless", make_endless}, {"sections", make_sections},
	{"segments", make_segments}, {"loop", make_loop},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Another time of change: what is known by that is not known. */
static void map(int fd)
{
	struct timespec pause = {.tv_nsec = 10000000};
	void *code;

	must(futimens(fd, NULL) == 0, "futimens");
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	must(code != MAP_FAILED, "mmap");
	nanosleep(&pause, NULL);
	munmap(code, 4096);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 0);
	int fds[KINDS];

	if (argc < 2 || chdir(argv[1]) < 0)
		return 2;
	for (size_t i = 0; i < KINDS; i++) {
		fds[i] = open(kinds[i].name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
		must(fds[i] >= 0, kinds[i].name);
		kinds[i].make(fds[i]);
	}
	while (time(NULL) < end)
		for (size_t i = 0; i < KINDS; i++)
			map(fds[i]);
	return 0;
}
