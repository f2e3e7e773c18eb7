// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads all that an ELF file calls notes, as libelf offers to: greedy_notes FILE MEGABYTES. Ends
 * with 0 as soon as it holds more memory than that, with 1 when it came to the end before.
 */
#include <gelf.h>
#include <libelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static long resident_kb(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) < 0 ? 0 : usage.ru_maxrss;
}

int main(int argc, char **argv)
{
	long most_kb = argc > 2 ? strtol(argv[2], NULL, 10) * 1024 : 0;
	int fd = argc > 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	size_t cnt = 0;
	GElf_Phdr ph;
	Elf *elf;

	if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
		return 2;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_getphdrnum(elf, &cnt))
		return 2;
	for (size_t i = 0; i < cnt && resident_kb() <= most_kb; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_NOTE)
			(void)elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz,
						   ELF_T_BYTE);
	elf_end(elf);
	close(fd);
	return resident_kb() > most_kb ? 0 : 1;
}
