// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The details of a process: read from /proc when somebody first asks, since most processes
 * end before anybody does. See track_state.h for locking and ownership. Source: this project.
 */
#include "track_state.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "pathprof/foreign.h"
#include "track_cgroup.h"
#include "track_remote.h"

#define CONTAINER_MAX sizeof(((struct pp_track_process *)NULL)->container)

static void set_container(struct pp_track *track, struct pp_image *image, const char *name)
{
	struct pathprof_mapped_file *container;

	if (pp_track_file(track, image->pid, NULL, NULL, name, &container))
		return;
	pathprof_mapped_file_put(image->container);
	image->container = container;
	image->container_exact = true;
}

/* A process that has ended is in the root of each tree of v1: that it has no name says nothing. */
static void read_container(struct pp_track *track, struct pp_image *image,
			   const struct pp_stat *stat)
{
	char name[CONTAINER_MAX];

	if (!pp_cgroup_read(stat->tid, name, sizeof(name)) && (name[0] || !pp_stat_is_dead(stat)))
		set_container(track, image, name);
}

/* The link to the program that pid runs, and the path it leads to. False: there is no answer. */
static bool find_program(pid_t pid, char link[static 32], char *name, size_t size)
{
	char path[4096];
	ssize_t len_bytes;

	snprintf(link, 32, "/proc/%d/exe", pid);
	len_bytes = readlink(link, path, sizeof(path) - 1);
	if (len_bytes <= 0)
		return false;
	path[len_bytes] = 0;
	pp_ident_name(path, name, size);
	return true;
}

/* A file server may not answer; the path is as we see it, or as the process does. */
static bool may_open(pid_t pid, const char *name)
{
	return !pp_remote_path(pid, name) && !pp_remote_path(getpid(), name);
}

/* The piece of the program itself, whatever else is mapped from it. */
static void find_exe(struct pp_track *track, struct pp_image *image, pid_t tid)
{
	struct pathprof_build_id id = {0};
	struct pathprof_file from;
	char link[32], name[4096];

	if (!find_program(tid, link, name, sizeof(name)))
		return;
	for (uint32_t i = 0; i < image->space->piece_cnt && !image->exe; i++) {
		struct pathprof_mapped_file *file = image->space->pieces[i].file;

		if (file && !strcmp(file->name, name))
			image->exe = pathprof_mapped_file_ref(file);
	}
	if (!image->exe && may_open(tid, name) && !pp_ident_program(link, &id, &from))
		(void)pp_track_file(track, image->pid, &id, &from, name, &image->exe);
}

/* Once an image, while it can still be told. */
static void complete(struct pp_track *track, struct pp_image *image)
{
	struct pp_stat stat;

	if (image->is_complete)
		return;
	image->is_complete = true;
	if (image != pp_images_newest(&track->images, image->pid) ||
	    pp_proc_stat(image->pid, &stat) || !pp_track_is_same(track, image, &stat))
		return;
	image->start_time = stat.start_time;
	image->start_exact = true;
	read_container(track, image, &stat);
	if (!image->exe)
		find_exe(track, image, stat.tid);
}

static int elf_is_64bit(pid_t pid)
{
	unsigned char header[20];
	char link[32], name[4096];
	_cleanup_close_ int fd = -EBADF;

	if (!find_program(pid, link, name, sizeof(name)) || !may_open(pid, name))
		return -1;
	fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, link, NULL);
	if (fd < 0 || read(fd, header, sizeof(header)) != (ssize_t)sizeof(header) ||
	    memcmp(header, ELFMAG, SELFMAG) != 0)
		return -1;
	/* x32 programs are of class 32 but run 64-bit code. */
	return header[EI_CLASS] == ELFCLASS64 || (header[18] | header[19] << 8) == EM_X86_64;
}

/* A 64-bit process has its stack, vDSO and libraries above 4 GiB, a 32-bit one cannot. */
static int is_64bit(const struct pp_image *image, int known)
{
	const struct pathprof_space *space = image->space;

	if (!space->piece_cnt)
		return known;
	if (space->pieces[space->piece_cnt - 1].end > UINT32_MAX)
		return 1;
	return known >= 0 || image->end_ns ? known : elf_is_64bit(image->pid);
}

static void make_jit_id(const struct pp_track *track, const struct pp_image *image,
			struct pp_image_detail *detail)
{
	char what[128];
	int len_bytes = snprintf(what, sizeof(what), "%s %d %llu %u", track->boot_id, image->pid,
				 (unsigned long long)image->start_time, image->exec_cnt);

	pathprof_build_id_make(&detail->jit_id, PATHPROF_ID_JIT, what, (size_t)len_bytes);
	snprintf(detail->jit_name, sizeof(detail->jit_name), "jit:%d", image->pid);
}

static void copy_text(char *to, size_t size, const struct pathprof_mapped_file *from)
{
	snprintf(to, size, "%s", from ? from->name : "");
}

static struct pp_image_detail *new_detail(struct pp_track *track, struct pp_image *image)
{
	struct pp_image_detail *detail = calloc(1, sizeof(*detail));

	if (!detail)
		return NULL;
	detail->process.pid = image->pid;
	detail->process.is_64bit = -1;
	image->detail = detail;
	make_jit_id(track, image, detail);
	return detail;
}

static int open_cgroups(struct pp_track *track)
{
	struct pp_cgroup_places places;

	if (track->cgroups)
		return 0;
	pp_cgroup_places_read(&places, PP_CGROUP_MOUNTS);
	return pp_cgroups_new(&track->cgroups, &places, PP_CGROUPS_MAX);
}

/* Each program that the process ran: an exec does not move it. */
void pp_track_in_cgroup(struct pp_track *track, pid_t pid, uint64_t start_time, uint64_t cgroup,
			uint64_t cgroup_v1)
{
	const struct pp_stat stat = {.start_time = start_time};
	struct pp_image *image = pp_images_newest(&track->images, pid);
	char name[CONTAINER_MAX];

	for (; image; image = image->older) {
		if (!pp_track_is_same(track, image, &stat))
			continue;
		complete(track, image);
		if (image->container_exact)
			continue;
		if (open_cgroups(track) || pp_cgroups_name(track->cgroups, cgroup, cgroup_v1,
							   pp_monotonic_ns(), name, sizeof(name)))
			return;
		set_container(track, image, name);
	}
}

struct pp_image_detail *pp_track_detail(struct pp_track *track, struct pp_image *image)
{
	struct pp_image_detail *detail;
	struct pp_track_process *process;

	complete(track, image);
	detail = image->detail ? image->detail : new_detail(track, image);
	if (!detail)
		return NULL;
	process = &detail->process;
	process->start_time = image->start_time;
	process->exec_cnt = image->exec_cnt;
	process->change_cnt = image->space->change_cnt;
	memcpy(process->comm, image->comm, sizeof(process->comm));
	copy_text(process->container, sizeof(process->container), image->container);
	copy_text(process->exe, sizeof(process->exe), image->exe);
	if (image->exe) {
		process->exe_id = image->exe->id;
		process->exe_from = image->exe->from;
	}
	process->is_64bit = is_64bit(image, process->is_64bit);
	return detail;
}
