// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Branch stacks of real programs (tests/vm/windows cuts them), as a sample would bring them: newest
 * entry first, of one program after the other, and spoiled where a setting wants that.
 *
 * Workload: some hundred thousand windows, each made when its turn comes; the same for the same
 * number, whoever asks.
 */
#include "collect_check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES     32  /* of a window in a file */
#define TURN        100 /* windows of a program until the next program's turn */
#define KERNEL      0xffffffff81000000ull
#define SPECULATION 24 /* in the flags */

/* gzip of DIRECTORY/gzip.win; the memory is there until the end. */
static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return strndup(name, strcspn(name, "."));
}

static int file_read(struct windows_file *ret_file, const char *path)
{
	struct stat status;
	void *memory;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status))
		return -errno;
	ret_file->window_cnt = (size_t)status.st_size / (ENTRIES * sizeof(*ret_file->entry));
	if (!ret_file->window_cnt)
		return -ENODATA;
	memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		return -errno;
	ret_file->entry = memory;
	ret_file->name = name_of(path);
	return ret_file->name ? 0 : -ENOMEM;
}

int windows_read(struct windows *ret_windows, char **paths, int path_cnt)
{
	int i, r;

	if (path_cnt < 1 || path_cnt > PROGRAMS)
		return -EINVAL;
	ret_windows->window_cnt = 0;
	for (i = 0; i < path_cnt; i++) {
		r = file_read(&ret_windows->file[i], paths[i]);
		if (r)
			return r;
		ret_windows->window_cnt += ret_windows->file[i].window_cnt;
	}
	ret_windows->file_cnt = (size_t)path_cnt;
	return 0;
}

/* ------------------------------------------------------------------ making */

/* Something else for each (n, i), the same every time. */
static uint64_t chance(uint64_t n, uint64_t i)
{
	uint64_t x = (n * 64 + i + 1) * 0x9E3779B97F4A7C15ull;

	x ^= x >> 29;
	x *= 0xBF58476D1CE4E5B9ull;
	return x ^ x >> 32;
}

static void convert(const struct pathprof_lbr_entry *from, struct pp_collect_entry *ret_entry)
{
	uint64_t mispredicted = !!(from->to & PATHPROF_LBR_MISPREDICTED);

	ret_entry->from = PATHPROF_LBR_ADDRESS(from->from);
	ret_entry->to = PATHPROF_LBR_ADDRESS(from->to);
	ret_entry->flags = mispredicted | !mispredicted << 1 |
			   (uint64_t)PATHPROF_LBR_CYCLES(from->from) << 4 |
			   (uint64_t)PATHPROF_LBR_KIND(from->to) << 20;
}

static void spoil_entry(struct pp_collect_entry *e, uint64_t how)
{
	switch (how % 200) {
	case 0:
		memset(e, 0, sizeof(*e));
		break;
	case 1:
		e->to = 0;
		break;
	case 2:
		e->from |= KERNEL;
		break;
	case 3:
		e->to = KERNEL;
		break;
	case 4:
		e->to |= 1ull << 47;
		break;
	case 5: /* fetched, and never executed */
		e->flags |= 1ull << SPECULATION;
		break;
	case 6: /* found out while it was no speculation any more */
		e->flags |= 2ull << SPECULATION;
		break;
	case 7: /* a kind that has no name here */
		e->flags |= 15ull << 20;
		break;
	default:
		break;
	}
}

static void spoil(struct pp_collect_given *g, uint64_t n)
{
	struct pp_collect_entry *e = g->stack;
	uint32_t i;

	for (i = 0; i < g->cnt && i < PP_COLLECT_STACK_MAX; i++)
		spoil_entry(&e[i], chance(n, i) >> 20);
	if (chance(n, 70) % 3 || g->cnt < 2)
		return;
	/* The newest twice; what differs below makes two of them. */
	e[1] = e[0];
	e[1].flags ^= (chance(n, 71) & 7) == 0 ? 1ull << 9 : (chance(n, 71) & 7) == 1 ? 2 : 0;
	e[1].flags ^= (chance(n, 71) & 24) == 8 ? 1ull << 20 : 0;
}

static uint32_t length_of(uint64_t n)
{
	static const uint32_t corners[] = {0, 1, 2, 63, 64, 65, 0xffffffff, 64};
	uint64_t x = chance(n, 80);

	return x % 16 ? (uint32_t)(x >> 8) % 64 + 1 : corners[x >> 8 & 7];
}

static void name_owner(struct pathprof_context *ret_who, const struct windows_file *file,
		       uint32_t number)
{
	memset(ret_who, 0, sizeof(*ret_who));
	ret_who->address_space = number;
	ret_who->start_time = 1000 + number;
	ret_who->pid = 100 + number;
	ret_who->cgroup = 7000 + number / 4;
	ret_who->cgroup_v1 = number & 1 ? 9000 + number : 0;
	strncpy((char *)ret_who->comm, file->name, sizeof(ret_who->comm) - 1);
}

/* The oldest of two windows of the file that follow one another lies last. */
void windows_make(const struct windows *w, const struct setting *s, uint64_t n,
		  struct pp_collect_given *ret_given)
{
	uint64_t turn = n / TURN, program = turn % w->file_cnt;
	uint64_t at = turn / w->file_cnt * TURN + n % TURN;
	const struct windows_file *file = &w->file[program];
	const struct pathprof_lbr_entry *entry =
		&file->entry[at % (file->window_cnt - 1) * ENTRIES];
	uint32_t i, cnt = s->any_length ? 2 * ENTRIES : ENTRIES;

	for (i = 0; i < cnt; i++)
		convert(&entry[cnt - 1 - i], &ret_given->stack[i]);
	ret_given->cnt = s->any_length ? length_of(n) : ENTRIES;
	name_owner(&ret_given->who, file,
		   (uint32_t)(1 + program + at % (s->spaces ? s->spaces : 1) * w->file_cnt));
	if (s->spoiled)
		spoil(ret_given, n);
}
