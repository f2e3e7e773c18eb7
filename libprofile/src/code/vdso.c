// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The vDSO's code. It is no file: what the kernel mapped into this process is copied into one in
 * memory, which the handle keeps.
 *
 * Workload: once a program's run, some 8 KB.
 *
 * Source: vdso(7).
 */
#include "pathprof/code.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* Section headers are the last thing in it. */
static size_t image_len(const Elf64_Ehdr *image)
{
	return image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
}

/* A descriptor, or -errno. */
static int copy_image(struct pathprof_error *error)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel hands over a number */
	const Elf64_Ehdr *image = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	int fd;

	if (!image)
		return pathprof_fail(error, -ENOENT, "[vdso]: this kernel maps none");
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return pathprof_fail(error, -errno, "[vdso]: no file in memory: %m");
	if (write(fd, image, image_len(image)) == (ssize_t)image_len(image))
		return fd;
	close(fd);
	return pathprof_fail(error, -EIO, "[vdso]: cannot be copied");
}

int pathprof_code_open_vdso(struct pathprof_code **ret_code, const struct pathprof_build_id *expect,
			    struct pathprof_error *error)
{
	int fd = copy_image(error), r;
	char path[40];

	if (fd < 0)
		return fd;
	/* An absolute name: debug files are looked for beside it. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = pathprof_code_open(ret_code, path, expect, error);
	close(fd);
	return r;
}
