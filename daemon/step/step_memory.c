/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A held thread's memory, as far as it is there: see step_memory.h. */
#include "step_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES   4096
#define PAGE_PRESENT (1ull << 63)

/* Other errors are for want of a descriptor or memory, and there is a map. */
static bool has_no_maps(int code)
{
	return code == ENOENT || code == EACCES || code == EPERM;
}

void pp_step_memory_open(struct pp_step_memory *memory, pid_t tid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	*memory = (struct pp_step_memory){
		.tid = tid, .map_fd = fd, .is_mapless = fd < 0 && has_no_maps(errno)};
}

void pp_step_memory_close(struct pp_step_memory *memory)
{
	if (memory->map_fd >= 0)
		close(memory->map_fd);
	memory->map_fd = -1;
}

static bool is_present(const struct pp_step_memory *memory, uint64_t page)
{
	uint64_t entry = 0;

	if (memory->map_fd < 0)
		return memory->is_mapless;
	return pread(memory->map_fd, &entry, sizeof(entry), (off_t)(page * sizeof(entry))) ==
		       (ssize_t)sizeof(entry) &&
	       entry & PAGE_PRESENT;
}

/* How many of the bytes from address on lie in pages that are there. */
static size_t present_bytes(const struct pp_step_memory *memory, uint64_t address, size_t len_bytes)
{
	size_t cnt = 0;

	while (cnt < len_bytes && is_present(memory, (address + cnt) / PAGE_BYTES))
		cnt += PAGE_BYTES - (address + cnt) % PAGE_BYTES;
	return cnt < len_bytes ? cnt : len_bytes;
}

size_t pp_step_memory_read(void *context, uint64_t address, void *to, size_t len_bytes)
{
	const struct pp_step_memory *memory = context;
	size_t wanted = present_bytes(memory, address, len_bytes);
	struct iovec local = {to, wanted};
	struct iovec remote = {(void *)(uintptr_t)address, wanted};
	ssize_t got;

	if (!wanted)
		return 0;
	got = process_vm_readv(memory->tid, &local, 1, &remote, 1, 0);
	return got < 0 ? 0 : (size_t)got;
}
