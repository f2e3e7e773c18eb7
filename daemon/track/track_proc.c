// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading of /proc: see track_proc.h for the workload, locking and ownership.
 * Source: Linux Documentation/filesystems/proc.rst, include/uapi/linux/fs.h (PROCMAP_QUERY).
 */
#include "track_proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vector.h"
#include "pathprof/foreign.h"

int pp_proc_read(const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len_bytes = 0;

	if (fd < 0)
		return -errno;
	while (len_bytes < size - 1) {
		ssize_t n = read(fd, text + len_bytes, size - 1 - len_bytes);

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len_bytes += (size_t)n;
	}
	text[len_bytes] = 0;
	return (int)len_bytes;
}

int pp_proc_read_of(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	r = pp_proc_read(path, text, size);
	return r == -ENOENT ? -ESRCH : r;
}

/* ---------------------------------------------------------------- stat */

/* Field number (from 3, as proc(5) counts) of the text after the command's ")". */
static const char *stat_field(const char *rest, unsigned int number)
{
	for (unsigned int at = 3; at < number; at++) {
		rest = strchr(rest, ' ');
		if (!rest)
			return NULL;
		rest++;
	}
	return rest;
}

static int field_u64(const char *rest, unsigned int number, uint64_t *ret_value)
{
	const char *field = stat_field(rest, number);
	char *end;

	if (!field || !isdigit((unsigned char)*field))
		return -EINVAL;
	errno = 0;
	uint64_t value = strtoull(field, &end, 10);
	if (errno || end == field)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

static void copy_comm(char *comm, const char *from, size_t len_bytes)
{
	memset(comm, 0, 16);
	memcpy(comm, from, len_bytes < 15 ? len_bytes : 15);
}

/* A flag of the kernel's task_struct (include/linux/sched.h), which proc(5) shows as it is. */
#define PF_KTHREAD 0x00200000

int pp_proc_parse_stat(const char *text, struct pp_stat *ret_stat)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	uint64_t ppid, flags, thread_cnt, start_time, start_code = 0, start_stack = 0;
	struct pp_stat stat = {0};

	/* The name may hold blanks and brackets: the last bracket is the one that closes it. */
	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return -EINVAL;
	if (field_u64(close + 2, 4, &ppid) || field_u64(close + 2, 9, &flags) ||
	    field_u64(close + 2, 20, &thread_cnt) || field_u64(close + 2, 22, &start_time) ||
	    ppid > INT_MAX || thread_cnt > INT_MAX)
		return -EINVAL;
	if (field_u64(close + 2, 26, &start_code) || field_u64(close + 2, 28, &start_stack))
		start_code = start_stack = 0;
	copy_comm(stat.comm, open + 1, (size_t)(close - open - 1));
	stat.state = close[2];
	stat.is_kernel = flags & PF_KTHREAD;
	stat.ppid = (pid_t)ppid;
	stat.thread_cnt = (uint32_t)thread_cnt;
	stat.start_time = start_time;
	/* Without the right to trace the process the kernel shows 0 or 1 for both. */
	if (start_stack > 1)
		stat.signature = start_stack ^ start_code * 0x9e3779b97f4a7c15ull;
	*ret_stat = stat;
	return 0;
}

#define THREADS_BYTES 1024

static int read_stat(pid_t pid, struct pp_stat *ret_stat)
{
	char text[1024];
	int r = pp_proc_read_of(pid, "stat", text, sizeof(text));

	if (r >= 0)
		r = pp_proc_parse_stat(text, ret_stat);
	if (!r)
		ret_stat->tid = pid;
	return r;
}

static void take_if_runs(pid_t tid, struct pp_stat *stat)
{
	struct pp_stat other;

	if (tid <= 0 || read_stat(tid, &other) || pp_stat_is_dead(&other))
		return;
	stat->state = other.state;
	stat->signature = other.signature;
	stat->tid = tid;
}

/* Looks at some thirty threads, so that a process of thousands costs no more. */
static void take_other_thread(pid_t pid, struct pp_stat *stat)
{
	char path[32], entries[THREADS_BYTES] __attribute__((aligned(8)));
	_cleanup_close_ int fd = -EBADF;
	ssize_t len_bytes;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	len_bytes = fd < 0 ? 0 : getdents64(fd, entries, sizeof(entries));
	for (ssize_t at = 0; at < len_bytes && pp_stat_is_dead(stat);) {
		const struct dirent64 *entry = (const void *)(entries + at);

		take_if_runs((pid_t)strtol(entry->d_name, NULL, 10), stat);
		at += entry->d_reclen;
	}
}

int pp_proc_stat(pid_t pid, struct pp_stat *ret_stat)
{
	struct pp_stat stat;
	int r = read_stat(pid, &stat);

	if (r)
		return r;
	if (pp_stat_is_dead(&stat) && stat.thread_cnt > 1)
		take_other_thread(pid, &stat);
	*ret_stat = stat;
	return 0;
}

/* ---------------------------------------------------------------- status */

/* A process may be in 65,536 groups, each of up to ten digits and a blank, and may choose so. */
#define STATUS_USUAL 8192
#define STATUS_MAX   (1u << 20)

static const char *status_line(const char *text, const char *key)
{
	size_t len_bytes = strlen(key);

	while (text && strncmp(text, key, len_bytes) != 0) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + len_bytes : NULL;
}

int pp_proc_parse_status(const char *text, pid_t *ret_inner_pid, uid_t *ret_uid)
{
	const char *uid = status_line(text, "Uid:"), *pids = status_line(text, "NSpid:");
	unsigned long value = 0, uid_value;
	char *end;

	if (!uid || !pids)
		return -EINVAL;
	uid_value = strtoul(uid, &end, 10);
	if (end == uid || uid_value > UINT_MAX)
		return -EINVAL;
	/* From the outermost namespace to the innermost. */
	while (*pids == '\t' || *pids == ' ') {
		value = strtoul(pids, &end, 10);
		if (end == pids)
			break;
		pids = end;
	}
	if (value == 0 || value > INT_MAX)
		return -EINVAL;
	*ret_inner_pid = (pid_t)value;
	*ret_uid = (uid_t)uid_value;
	return 0;
}

int pp_proc_status(pid_t pid, pid_t *ret_inner_pid, uid_t *ret_uid)
{
	char text[STATUS_USUAL];
	_cleanup_free_ char *long_text = NULL;
	int r = pp_proc_read_of(pid, "status", text, sizeof(text));

	if (r == sizeof(text) - 1) {
		long_text = malloc(STATUS_MAX);
		r = long_text ? pp_proc_read_of(pid, "status", long_text, STATUS_MAX) : -ENOMEM;
	}
	if (r < 0)
		return r;
	return pp_proc_parse_status(long_text ? long_text : text, ret_inner_pid, ret_uid);
}

uid_t pp_proc_uid(pid_t pid)
{
	pid_t inner_pid;
	uid_t uid;

	return pp_proc_status(pid, &inner_pid, &uid) ? (uid_t)-1 : uid;
}

/* ---------------------------------------------------------------- maps as text */

static int hex_until(char **text, char stop, uint64_t *ret_value)
{
	char *end;

	if (!isxdigit((unsigned char)**text))
		return -EINVAL;
	errno = 0;
	uint64_t value = strtoull(*text, &end, 16);
	if (errno || end - *text > 16 || *end != stop)
		return -EINVAL;
	*text = end + 1;
	*ret_value = value;
	return 0;
}

int pp_proc_parse_vma(char *line, struct pp_vma *ret_vma)
{
	struct pp_vma vma = {0};
	uint64_t dev_major, dev_minor;
	const char *rights;
	char *end;

	line[strcspn(line, "\n")] = 0;
	if (hex_until(&line, '-', &vma.start) || hex_until(&line, ' ', &vma.end) ||
	    vma.start >= vma.end || strnlen(line, 5) < 5 || line[4] != ' ')
		return -EINVAL;
	rights = line;
	line += 5;
	if (hex_until(&line, ' ', &vma.offset) || hex_until(&line, ':', &dev_major) ||
	    hex_until(&line, ' ', &dev_minor) || dev_major > UINT32_MAX || dev_minor > UINT32_MAX ||
	    !isdigit((unsigned char)*line))
		return -EINVAL;
	errno = 0;
	vma.inode = strtoull(line, &end, 10);
	if (errno || (*end && *end != ' '))
		return -EINVAL;
	vma.dev_major = (uint32_t)dev_major;
	vma.dev_minor = (uint32_t)dev_minor;
	vma.name = end + strspn(end, " ");
	*ret_vma = vma;
	return rights[2] == 'x';
}

static bool is_over(uint64_t until_ns)
{
	return until_ns && pp_monotonic_ns() > until_ns;
}

static int read_lines(FILE *file, uint64_t until_ns, pp_vma_fn *fn, void *context)
{
	unsigned int line_cnt = 0;
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	struct pp_vma vma;
	int cnt = 0;

	while (getline(&line, &size, file) > 0) {
		int r = pp_proc_parse_vma(line, &vma);

		if (++line_cnt % 32 == 0 && is_over(until_ns))
			return -ETIME;
		if (r > 0) {
			r = fn(context, &vma);
			cnt++;
		}
		if (r)
			return r;
	}
	return ferror(file) ? -ESRCH : cnt;
}

/* Closes maps_fd. */
static int read_maps_text(int maps_fd, uint64_t until_ns, pp_vma_fn *fn, void *context)
{
	FILE *file = fdopen(maps_fd, "r");
	int r;

	if (!file) {
		r = -errno;
		close(maps_fd);
		return r;
	}
	r = read_lines(file, until_ns, fn, context);
	fclose(file);
	return r;
}

/* ---------------------------------------------------------------- maps by ioctl */

/* struct procmap_query of <linux/fs.h>, which Debian 12's headers do not have yet. */
struct map_query {
	uint64_t size;
	uint64_t query_flags;
	uint64_t query_addr;
	uint64_t vma_start, vma_end;
	uint64_t vma_flags;
	uint64_t vma_page_size;
	uint64_t vma_offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint32_t vma_name_size;
	uint32_t build_id_size;
	uint64_t vma_name_addr;
	uint64_t build_id_addr;
};
_Static_assert(sizeof(struct map_query) == 104, "PROCMAP_QUERY: layout");
#define MAP_QUERY            _IOWR('f', 17, struct map_query)
#define MAP_QUERY_EXECUTABLE 0x04
#define MAP_QUERY_OR_NEXT    0x10

/* The kernel fails where the file's path is longer than any that it takes itself. */
static int ask_for_map(int maps_fd, struct map_query *query)
{
	const struct map_query asked = *query;

	if (ioctl(maps_fd, MAP_QUERY, query) == 0)
		return 0;
	if (errno != ENAMETOOLONG)
		return -errno;
	*query = asked;
	query->vma_name_addr = 0;
	query->vma_name_size = 0;
	if (ioctl(maps_fd, MAP_QUERY, query) < 0)
		return -errno;
	snprintf((char *)(uintptr_t)asked.vma_name_addr, asked.vma_name_size, "%s",
		 PP_PROC_LONG_NAME);
	query->vma_name_size = sizeof(PP_PROC_LONG_NAME);
	return 0;
}

/*
 * The next executable mapping at or after address. -ENOENT: no more. The kernel would tell its
 * build-id as well, but it reads the file for that, and a file server may not answer.
 */
static int query_vma(int maps_fd, uint64_t address, char *name, size_t name_size,
		     struct pp_vma *ret_vma)
{
	struct pp_vma vma = {.name = name};
	struct map_query query = {
		.size = sizeof(query),
		.query_flags = MAP_QUERY_EXECUTABLE | MAP_QUERY_OR_NEXT,
		.query_addr = address,
		.vma_name_addr = (uintptr_t)name,
		.vma_name_size = (uint32_t)name_size,
	};
	int r;

	name[0] = 0;
	r = ask_for_map(maps_fd, &query);
	if (r < 0)
		return r;
	name[name_size - 1] = 0;
	if (query.vma_name_size == 0)
		name[0] = 0;
	vma.start = query.vma_start;
	vma.end = query.vma_end;
	vma.offset = query.vma_offset;
	vma.dev_major = query.dev_major;
	vma.dev_minor = query.dev_minor;
	vma.inode = query.inode;
	*ret_vma = vma;
	return vma.start < vma.end && vma.end > address ? 0 : -EINVAL;
}

static int read_maps_query(int maps_fd, uint64_t until_ns, pp_vma_fn *fn, void *context)
{
	char name[PATH_MAX + 32];
	struct pp_vma vma = {0};
	uint64_t address = 0;
	int cnt = 0, r;

	for (;;) {
		r = query_vma(maps_fd, address, name, sizeof(name), &vma);
		if (r)
			return r == -ENOENT ? cnt : r;
		address = vma.end;
		r = fn(context, &vma);
		if (r)
			return r;
		if (++cnt % 32 == 0 && is_over(until_ns))
			return -ETIME;
	}
}

static bool query_is_missing(int r)
{
	return r == -ENOTTY || r == -EINVAL || r == -ENOSYS || r == -E2BIG;
}

int pp_proc_vmas(pid_t pid, bool *query, uint64_t until_ns, pp_vma_fn *fn, void *context)
{
	_cleanup_close_ int fd = -EBADF;
	struct pp_vma vma;
	char path[32], name[PATH_MAX + 32];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	/* Asked once before fn sees anything, so that the text may still be read instead. */
	if (*query) {
		r = query_vma(fd, 0, name, sizeof(name), &vma);
		if (query_is_missing(r))
			*query = false;
		else if (r == -ENOENT)
			return 0;
		else if (!r)
			return read_maps_query(fd, until_ns, fn, context);
	}
	return read_maps_text(pp_fd_take(&fd), until_ns, fn, context);
}

/* ---------------------------------------------------------------- processes and threads */

struct pid_list {
	pid_t *pids;
	size_t cnt, cap;
};

static int pid_list_add(struct pid_list *list, pid_t pid)
{
	if (pp_grow(&list->pids, list->cnt, &list->cap) < 0)
		return -ENOMEM;
	list->pids[list->cnt++] = pid;
	return 0;
}

static int list_numbers(const char *path, struct pid_list *list)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int r = 0;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!r && (entry = readdir(dir))) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && !*end && number > 0 &&
		    number <= INT_MAX)
			r = pid_list_add(list, (pid_t)number);
	}
	closedir(dir);
	return r;
}

static bool pid_list_has(const struct pid_list *list, pid_t pid)
{
	for (size_t i = 0; i < list->cnt; i++)
		if (list->pids[i] == pid)
			return true;
	return false;
}

/* Adds every child of what is in found until nothing is added: a child may have a lower pid. */
static int add_descendants(const struct pid_list *all, struct pid_list *found)
{
	size_t cnt_before;
	int r = 0;

	do {
		cnt_before = found->cnt;
		for (size_t i = 0; i < all->cnt && !r; i++) {
			struct pp_stat stat;

			if (!pid_list_has(found, all->pids[i]) &&
			    !pp_proc_stat(all->pids[i], &stat) && pid_list_has(found, stat.ppid))
				r = pid_list_add(found, all->pids[i]);
		}
	} while (!r && found->cnt > cnt_before);
	return r;
}

int pp_proc_pids(pid_t only_pid, pid_t **ret_pids, size_t *ret_cnt)
{
	struct pid_list all = {0}, found = {0};
	int r = list_numbers("/proc", &all);

	if (!r && only_pid) {
		r = pid_list_add(&found, only_pid);
		if (!r)
			r = add_descendants(&all, &found);
		free(all.pids);
		all = found;
	}
	if (r) {
		free(all.pids);
		return r;
	}
	*ret_pids = all.pids;
	*ret_cnt = all.cnt;
	return 0;
}

int pp_proc_tids(pid_t pid, pid_t **ret_tids, size_t *ret_cnt)
{
	struct pid_list list = {0};
	char path[32];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	r = list_numbers(path, &list);
	if (r) {
		free(list.pids);
		return r;
	}
	*ret_tids = list.pids;
	*ret_cnt = list.cnt;
	return 0;
}

/* ---------------------------------------------------------------- files of a process */

int pp_proc_look_inside(pid_t pid, const char *path)
{
	_cleanup_close_ int root_fd = pathprof_foreign_root(pid);

	return root_fd < 0 ? root_fd : pathprof_foreign_look(root_fd, path);
}

int pp_proc_look_mapped(pid_t pid, uint64_t start, uint64_t end)
{
	char link[80];

	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)start,
		 (unsigned long long)end);
	return pathprof_foreign_look(PATHPROF_OWN_ROOT, link);
}
