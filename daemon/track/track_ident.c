// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Identities of mapped code: see track_ident.h for the workload, locking and ownership.
 * Source: this project.
 */
#include "track_ident.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "pathprof/foreign.h"
#include "pathprof/mapped.h"
#include "base/clock.h"
#include "track_remote.h"

#define SLOT_CNT 8192 /* a power of two */

struct slot {
	uint64_t dev, inode;
	int64_t size_bytes, changed_ns;
	uint64_t generation; /* 0: not told */
	uint64_t read_ns;    /* of a file of a server: when; of others: last looked at */
	uint32_t owner;
	struct pathprof_build_id id;
};

#define LOOKED_NS 1000000000ull
#define REMOTE_NS 60000000000ull

struct pp_idents {
	struct pp_reader *reader;
	struct pp_remote *remote;
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
	(void)pp_proc_vmas(getpid(), &query, 0, own_vdso, &idents->vdso);
}

/* ---------------------------------------------------------------- life */

int pp_idents_new(struct pp_idents **ret_idents, struct pp_reader *reader)
{
	struct pp_idents *idents = calloc(1, sizeof(*idents));
	int r = idents ? pp_remote_new(&idents->remote) : -ENOMEM;

	if (r) {
		free(idents);
		return r;
	}
	idents->reader = reader;
	read_vdso(idents);
	*ret_idents = idents;
	return 0;
}

void pp_idents_free(struct pp_idents *idents)
{
	if (idents)
		pp_remote_free(idents->remote);
	free(idents);
}

uint64_t pp_idents_child_cpu_ns(const struct pp_idents *idents)
{
	return pp_remote_cpu_ns(idents->remote);
}

/* ---------------------------------------------------------------- files */

static uint64_t hash_of(uint64_t dev, uint64_t inode)
{
	return ((inode ^ dev << 48 ^ dev) * 0x9e3779b97f4a7c15ull) >> 51;
}

static struct slot *slot_of(struct pp_idents *idents, uint64_t dev, uint64_t inode)
{
	return &idents->slots[hash_of(dev, inode) & (SLOT_CNT - 1)];
}

/* A file that everybody may write to has no owner who could vouch for it. */
static uint32_t owner_of(const struct stat *stat)
{
	return stat->st_mode & S_IWOTH ? PATHPROF_OWNER_UNKNOWN : (uint32_t)stat->st_uid;
}

/* Every process that maps an unreadable file gives it the same identity. */
static void make_id(const struct pp_vma *vma, struct pathprof_build_id *ret_id)
{
	uint64_t what[2] = {makedev(vma->dev_major, vma->dev_minor), vma->inode};

	*ret_id = (struct pathprof_build_id){0};
	pathprof_build_id_make(ret_id, PATHPROF_ID_FILE, what, sizeof(what));
}

/* idents NULL: this is a child, which may wait itself. */
static int look_mapped(const struct pp_idents *idents, pid_t pid, const struct pp_vma *vma)
{
	if (vma->is_refused)
		return -EACCES;
	return idents && idents->reader ? pp_reader_look(idents->reader, pid, vma->start, vma->end)
					: pp_proc_look_mapped(pid, vma->start, vma->end);
}

/* The file by its name, as the process or as we have it: a file server may not answer. */
static int look_inside(const struct pp_idents *idents, pid_t pid, const char *path)
{
	if (idents && pp_remote_path(pid, path))
		return -EREMOTE;
	return pp_proc_look_inside(pid, path);
}

static int look_at_own(const struct pp_idents *idents, const char *path)
{
	if (idents && pp_remote_own_path(idents->remote, path))
		return -EREMOTE;
	return pathprof_foreign_look(PATHPROF_OWN_ROOT, path);
}

/*
 * The mapped file, whichever way it can be reached. A path may by now name another file, so the
 * inode is compared; overlay file systems show other device numbers in maps than stat does, which
 * is why map_files, that cannot err, is not held to the device. A process that has ended, as most
 * have that are told about, has nothing to look into.
 */
static int open_mapped(const struct pp_idents *idents, pid_t pid, const struct pp_vma *vma,
		       const char *path, struct stat *ret_stat)
{
	bool is_gone = kill(pid, 0) < 0 && errno == ESRCH;

	for (int way = is_gone ? 2 : 0; way < 3; way++) {
		_cleanup_close_ int fd = -EBADF;
		struct stat stat;

		fd = way == 0   ? look_mapped(idents, pid, vma)
		     : way == 1 ? look_inside(idents, pid, path)
				: look_at_own(idents, path);
		if (fd < 0 || fstat(fd, &stat) < 0 || stat.st_ino != vma->inode)
			continue;
		if (way > 0 && stat.st_dev != makedev(vma->dev_major, vma->dev_minor))
			continue;
		*ret_stat = stat;
		return pp_fd_take(&fd);
	}
	return -ENOENT;
}

static int read_id(int looked_fd, struct pathprof_build_id *ret_id)
{
	_cleanup_close_ int fd = pathprof_foreign_read(looked_fd);
	struct pathprof_build_id id = {0};
	int r;

	if (fd < 0)
		return fd;
	r = pathprof_build_id_read_fd(&id, fd, "", NULL);
	if (!r)
		*ret_id = id;
	return r;
}

int pp_ident_program(const char *link, struct pathprof_build_id *ret_id,
		     struct pathprof_file *ret_from)
{
	_cleanup_close_ int fd = pathprof_foreign_look(PATHPROF_OWN_ROOT, link);
	struct stat stat;

	if (fd < 0)
		return fd;
	if (fstat(fd, &stat) < 0)
		return -errno;
	*ret_from = (struct pathprof_file){owner_of(&stat), stat.st_dev, stat.st_ino};
	return read_id(fd, ret_id);
}

/* ---------------------------------------------------------------- files of file servers */

/* A child's question about a mapping, and its finding. */
struct question {
	pid_t pid;
	const struct pp_vma *vma;
	const char *path;
};
struct finding {
	uint32_t owner;
	struct pathprof_build_id id;
};
_Static_assert(sizeof(struct finding) <= PP_REMOTE_ANSWER_MAX, "an answer");

static int find_out(void *context, void *answer)
{
	const struct question *question = context;
	struct finding *finding = answer;
	struct stat stat;
	int fd = open_mapped(NULL, question->pid, question->vma, question->path, &stat);

	if (fd < 0)
		return fd;
	finding->owner = owner_of(&stat);
	return read_id(fd, &finding->id);
}

static bool is_remote(const struct pp_idents *idents, pid_t pid, const struct pp_vma *vma)
{
	return pp_remote_has(idents->remote, pid, vma->dev_major, vma->dev_minor);
}

/* The slot of a file of a server, asked for again when what it says is old. NULL: no answer. */
static const struct slot *remote_slot(struct pp_idents *idents, pid_t pid, const struct pp_vma *vma,
				      const char *path)
{
	uint64_t dev = makedev(vma->dev_major, vma->dev_minor), now = pp_monotonic_ns();
	struct slot *slot = slot_of(idents, dev, vma->inode);
	struct question question = {pid, vma, path};
	struct finding finding;
	bool is_known = slot->id.len_bytes && slot->dev == dev && slot->inode == vma->inode;

	if (is_known && now - slot->read_ns < REMOTE_NS)
		return slot;
	if (pp_remote_ask(idents->remote, dev, find_out, &question, &finding, sizeof(finding)))
		return is_known ? slot : NULL;
	*slot = (struct slot){.dev = dev,
			      .inode = vma->inode,
			      .generation = vma->generation,
			      .owner = finding.owner,
			      .read_ns = now,
			      .id = finding.id};
	return slot;
}

/* ---------------------------------------------------------------- the rest */

static bool slot_holds(const struct slot *slot, const struct stat *stat)
{
	return slot->id.len_bytes && slot->dev == stat->st_dev && slot->inode == stat->st_ino &&
	       slot->size_bytes == stat->st_size &&
	       slot->changed_ns == pp_file_time_ns(&stat->st_ctim);
}

static void remote_id(struct pp_idents *idents, pid_t pid, const struct pp_vma *vma,
		      const char *path, struct pathprof_build_id *ret_id,
		      struct pathprof_file *ret_from)
{
	const struct slot *slot = remote_slot(idents, pid, vma, path);

	*ret_from = (struct pathprof_file){slot ? slot->owner : PATHPROF_OWNER_UNKNOWN,
					   makedev(vma->dev_major, vma->dev_minor), vma->inode};
	if (slot)
		*ret_id = slot->id;
	else
		make_id(vma, ret_id);
}

/* A machine that starts programs maps the same few files hundreds of times a second. */
static bool was_just_looked_at(const struct slot *slot, const struct pp_vma *vma)
{
	return slot->id.len_bytes && slot->generation == vma->generation &&
	       slot->dev == makedev(vma->dev_major, vma->dev_minor) && slot->inode == vma->inode &&
	       pp_monotonic_ns() - slot->read_ns < LOOKED_NS;
}

/* A file that is known, by what the reader saw of it or by a look of a moment ago. */
static bool is_known(struct slot *slot, const struct pp_vma *vma, struct pathprof_build_id *ret_id,
		     struct pathprof_file *ret_from)
{
	bool is_seen =
		vma->looked && vma->looked->st_ino == vma->inode && slot_holds(slot, vma->looked);

	if (!is_seen && (vma->looked || !was_just_looked_at(slot, vma)))
		return false;
	if (is_seen)
		slot->owner = owner_of(vma->looked);
	*ret_from = (struct pathprof_file){slot->owner, makedev(vma->dev_major, vma->dev_minor),
					   vma->inode};
	*ret_id = slot->id;
	return true;
}

/* Whether device and inode are the slot's, and no generation says that they were reused since. */
static bool may_be_of(const struct slot *slot, const struct pp_vma *vma, uint64_t dev)
{
	return slot->id.len_bytes && slot->dev == dev && slot->inode == vma->inode &&
	       (!vma->generation || !slot->generation || slot->generation == vma->generation);
}

static void file_id(struct pp_idents *idents, pid_t pid, const struct pp_vma *vma, const char *path,
		    struct pathprof_build_id *ret_id, struct pathprof_file *ret_from)
{
	uint64_t dev = makedev(vma->dev_major, vma->dev_minor);
	struct slot *slot = slot_of(idents, dev, vma->inode);
	struct stat stat;
	_cleanup_close_ int fd = -EBADF;

	if (is_known(slot, vma, ret_id, ret_from))
		return;
	fd = open_mapped(idents, pid, vma, path, &stat);
	*ret_from = (struct pathprof_file){fd < 0 ? PATHPROF_OWNER_UNKNOWN : owner_of(&stat), dev,
					   vma->inode};
	if (fd < 0 && may_be_of(slot, vma, dev)) {
		*ret_id = slot->id;
		/* a number alone may have been given to another file */
		if (vma->generation && slot->generation == vma->generation)
			ret_from->owner = slot->owner;
		return;
	}
	if (fd >= 0 && slot_holds(slot, &stat)) {
		slot->generation = vma->generation ? vma->generation : slot->generation;
		slot->owner = ret_from->owner;
		slot->read_ns = pp_monotonic_ns();
		*ret_id = slot->id;
		return;
	}
	if (fd < 0 || read_id(fd, ret_id)) {
		make_id(vma, ret_id);
		return;
	}
	*slot = (struct slot){.dev = stat.st_dev,
			      .inode = stat.st_ino,
			      .generation = vma->generation,
			      .owner = ret_from->owner,
			      .read_ns = pp_monotonic_ns(),
			      .size_bytes = stat.st_size,
			      .changed_ns = pp_file_time_ns(&stat.st_ctim),
			      .id = *ret_id};
}

/* ---------------------------------------------------------------- kinds */

char *pp_ident_name(const char *path, char *name, size_t size)
{
	size_t len_bytes = pathprof_mapped_name_len(path);

	if (len_bytes > size - 1)
		len_bytes = size - 1;
	memmove(name, path, len_bytes);
	name[len_bytes] = 0;
	return name;
}

static enum pp_ident_kind named_id(struct pp_idents *idents, pid_t pid, const struct pp_vma *vma,
				   struct pathprof_build_id *ret_id, struct pathprof_file *ret_from)
{
	struct pathprof_build_id id = {0};
	char path[4096];

	(is_remote(idents, pid, vma) ? remote_id : file_id)(
		idents, pid, vma, pp_ident_name(vma->name, path, sizeof(path)), &id, ret_from);
	if (pathprof_mapped_is_memory(vma->name, id.kind == PATHPROF_ID_BUILD_ID ? &id : NULL))
		return PP_IDENT_JIT;
	*ret_id = id;
	return PP_IDENT_FILE;
}

enum pp_ident_kind pp_idents_of(struct pp_idents *idents, pid_t pid, const struct pp_vma *vma,
				struct pathprof_build_id *ret_id, struct pathprof_file *ret_from)
{
	*ret_from = (struct pathprof_file){.owner = PATHPROF_OWNER_UNKNOWN};
	if (!strcmp(vma->name, "[vdso]")) {
		ret_from->owner = 0;
		*ret_id = vma->end <= UINT32_MAX ? idents->vdso_32 : idents->vdso;
		return PP_IDENT_VDSO;
	}
	if (!strcmp(vma->name, "[vsyscall]"))
		return PP_IDENT_SKIP;
	if (vma->name[0] != '/' || strncmp(vma->name, "//", 2) == 0 || !vma->inode)
		return PP_IDENT_JIT;
	return named_id(idents, pid, vma, ret_id, ret_from);
}
