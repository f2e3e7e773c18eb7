/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first instruction of a process's program, for tests and their tools. */
#ifndef ENTRY_OF_H
#define ENTRY_OF_H

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

/* Out of the auxiliary vector that the kernel gave it; 0: it cannot be read. */
static inline uint64_t entry_of(pid_t pid)
{
	char path[32];
	Elf64_auxv_t entry;
	uint64_t found = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (!found && fd >= 0 && read(fd, &entry, sizeof(entry)) == (ssize_t)sizeof(entry))
		if (entry.a_type == AT_ENTRY)
			found = entry.a_un.a_val;
	if (fd >= 0)
		close(fd);
	return found;
}

#endif
