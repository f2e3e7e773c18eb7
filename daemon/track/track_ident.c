// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Identities of mapped code: see track_ident.h for the workload, locking and ownership.
 * Source: this project.
 */
#include "track_ident.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../cleanup.h"

#define SLOT_CNT 8192 /* a power of two */

struct slot {
	uint64_t dev, inode;
	int64_t size_bytes, changed_ns;
	struct pathprof_build_id id;
};

struct pp_idents {
	struct pathprof_build_id vdso, vdso_32;
	struct slot slots[SLOT_CNT];
};

/* ---------------------------------------------------------------- vDSO */

static int own_vdso(void *context, const struct pp_vma *vma)
{
	struct pathprof_build_id *id = context;
	struct pathprof_build_id found = {0};
	uintptr_t image = getauxval(AT_SYSINFO_EHDR);

	if (!image || vma->start != image)
		return 0;
	if (pathprof_build_id_read_memory(&found, (const void *)image, vma->end - vma->start))
		return 0;
	*id = found;
	return 1;
}

/* One kernel has one vDSO a word size, and each process maps it: ours tells for all. */
static void read_vdso(struct pp_idents *idents)
{
	bool query = false;

	pathprof_build_id_make(&idents->vdso, PATHPROF_ID_FILE, "[vdso]", 6);
	pathprof_build_id_make(&idents->vdso_32, PATHPROF_ID_FILE, "[vdso]32", 8);
	(void)pp_proc_vmas(getpid(), &query, own_vdso, &idents->vdso);
}

/* ---------------------------------------------------------------- life */

int pp_idents_new(struct pp_idents **ret_idents)
{
	struct pp_idents *idents = calloc(1, sizeof(*idents));

	if (!idents)
		return -ENOMEM;
	read_vdso(idents);
	*ret_idents = idents;
	return 0;
}

void pp_idents_free(struct pp_idents *idents)
{
	free(idents);
}

/* ---------------------------------------------------------------- files */

static struct slot *slot_of(struct pp_idents *idents, uint64_t dev, uint64_t inode)
{
	uint64_t hash = (inode ^ dev << 48 ^ dev) * 0x9e3779b97f4a7c15ull;

	return &idents->slots[hash >> 51 & (SLOT_CNT - 1)];
}

/* Every process that maps an unreadable file gives it the same identity. */
static void make_id(const struct pp_vma *vma, struct pathprof_build_id *ret_id)
{
	uint64_t what[2] = {makedev(vma->dev_major, vma->dev_minor), vma->inode};

	*ret_id = (struct pathprof_build_id){0};
	pathprof_build_id_make(ret_id, PATHPROF_ID_FILE, what, sizeof(what));
}

static int open_regular(const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return -errno;
	return S_ISREG(stat.st_mode) ? pp_fd_take(&fd) : -EINVAL;
}

/*
 * The mapped file, whichever way it can be reached. A path may by now name another file, so the
 * inode is compared; overlay file systems show other device numbers in maps than stat does, which
 * is why map_files, that cannot err, is not held to the device.
 */
static int open_mapped(pid_t pid, const struct pp_vma *vma, const char *path, struct stat *ret_stat)
{
	for (int way = 0; way < 3; way++) {
		_cleanup_close_ int fd = -EBADF;
		struct stat stat;
		char link[80];

		snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid,
			 (unsigned long long)vma->start, (unsigned long long)vma->end);
		fd = way == 0   ? open_regular(link)
		     : way == 1 ? pp_proc_open_inside(pid, path)
				: open_regular(path);
		if (fd < 0 || fstat(fd, &stat) < 0 || stat.st_ino != vma->inode)
			continue;
		if (way > 0 && stat.st_dev != makedev(vma->dev_major, vma->dev_minor))
			continue;
		*ret_stat = stat;
		return pp_fd_take(&fd);
	}
	return -ENOENT;
}

static int read_id(int fd, struct pathprof_build_id *ret_id)
{
	struct pathprof_build_id id = {0};
	char path[40];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = pathprof_build_id_read_file(&id, path, NULL);
	if (!r)
		*ret_id = id;
	return r;
}

static bool slot_holds(const struct slot *slot, const struct stat *stat)
{
	return slot->id.len_bytes && slot->dev == stat->st_dev && slot->inode == stat->st_ino &&
	       slot->size_bytes == stat->st_size &&
	       slot->changed_ns == stat->st_mtim.tv_sec * 1000000000ll + stat->st_mtim.tv_nsec;
}

static void file_id(struct pp_idents *idents, pid_t pid, const struct pp_vma *vma, const char *path,
		    struct pathprof_build_id *ret_id)
{
	uint64_t dev = makedev(vma->dev_major, vma->dev_minor);
	struct slot *slot = slot_of(idents, dev, vma->inode);
	struct stat stat;
	_cleanup_close_ int fd = open_mapped(pid, vma, path, &stat);

	if (fd < 0 && slot->id.len_bytes && slot->dev == dev && slot->inode == vma->inode) {
		*ret_id = slot->id;
		return;
	}
	if (fd >= 0 && slot_holds(slot, &stat)) {
		*ret_id = slot->id;
		return;
	}
	if (fd < 0 || read_id(fd, ret_id)) {
		make_id(vma, ret_id);
		return;
	}
	*slot = (struct slot){.dev = stat.st_dev,
			      .inode = stat.st_ino,
			      .size_bytes = stat.st_size,
			      .changed_ns =
				      stat.st_mtim.tv_sec * 1000000000ll + stat.st_mtim.tv_nsec,
			      .id = *ret_id};
}

/* ---------------------------------------------------------------- kinds */

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Files that only memory has: code in them was generated, unless it is an ELF image. */
static bool is_memory_file(const char *name)
{
	return starts_with(name, "/memfd:") || starts_with(name, "/dev/zero") ||
	       starts_with(name, "/SYSV") || starts_with(name, "/anon_hugepage");
}

char *pp_ident_name(const char *path, char *name, size_t size)
{
	static const char deleted[] = " (deleted)";
	size_t len_bytes = strlen(path);

	if (len_bytes > sizeof(deleted) - 1 &&
	    !strcmp(path + len_bytes - (sizeof(deleted) - 1), deleted))
		len_bytes -= sizeof(deleted) - 1;
	if (len_bytes > size - 1)
		len_bytes = size - 1;
	memmove(name, path, len_bytes);
	name[len_bytes] = 0;
	return name;
}

static enum pp_ident_kind named_id(struct pp_idents *idents, pid_t pid, const struct pp_vma *vma,
				   struct pathprof_build_id *ret_id)
{
	struct pathprof_build_id id = {0};
	char path[4096];

	file_id(idents, pid, vma, pp_ident_name(vma->name, path, sizeof(path)), &id);
	if (is_memory_file(vma->name) && id.kind != PATHPROF_ID_BUILD_ID)
		return PP_IDENT_JIT;
	*ret_id = id;
	return PP_IDENT_FILE;
}

enum pp_ident_kind pp_idents_of(struct pp_idents *idents, pid_t pid, const struct pp_vma *vma,
				struct pathprof_build_id *ret_id)
{
	if (!strcmp(vma->name, "[vdso]")) {
		*ret_id = vma->end <= UINT32_MAX ? idents->vdso_32 : idents->vdso;
		return PP_IDENT_VDSO;
	}
	if (!strcmp(vma->name, "[vsyscall]"))
		return PP_IDENT_SKIP;
	if (vma->id.len_bytes && vma->name[0] == '/') {
		*ret_id = vma->id;
		return PP_IDENT_FILE;
	}
	if (vma->name[0] != '/' || starts_with(vma->name, "//") || !vma->inode)
		return PP_IDENT_JIT;
	return named_id(idents, pid, vma, ret_id);
}
