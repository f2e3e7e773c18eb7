// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf map files: see track_jit.h for the workload, locking and ownership.
 * Source: Linux tools/perf/Documentation/jit-interface.txt (the format).
 */
#include "track_jit.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cleanup.h"
#include "track_proc.h"

#define NAME_MAX_BYTES 1023

struct line {
	uint64_t start, end;
	uint32_t name;  /* offset in names */
	uint32_t order; /* its place in the file */
};

/* [start, up to the next span's start) belongs to a line, or to none. */
struct span {
	uint64_t start;
	uint32_t line; /* index in lines, or NO_LINE */
};
#define NO_LINE UINT32_MAX

struct pp_jit {
	struct line *lines; /* by start, once built */
	uint32_t line_cnt, line_cap;
	char *names;
	size_t names_bytes, names_cap;
	struct span *spans; /* by start, none overlap */
	uint32_t span_cnt;
	bool is_built;
	dev_t dev;
	ino_t inode;
	uint64_t read_bytes;
};

int pp_jit_new(struct pp_jit **ret_jit)
{
	struct pp_jit *jit = calloc(1, sizeof(*jit));

	if (!jit)
		return -ENOMEM;
	*ret_jit = jit;
	return 0;
}

static void clear(struct pp_jit *jit)
{
	free(jit->lines);
	free(jit->names);
	free(jit->spans);
	*jit = (struct pp_jit){0};
}

void pp_jit_free(struct pp_jit *jit)
{
	if (!jit)
		return;
	clear(jit);
	free(jit);
}

/* ---------------------------------------------------------------- lines */

static int add_name(struct pp_jit *jit, const char *name, size_t len_bytes, uint32_t *ret_name)
{
	if (jit->names_bytes + len_bytes + 1 > jit->names_cap) {
		size_t cap = 2 * (jit->names_cap + NAME_MAX_BYTES + 1);
		char *names = realloc(jit->names, cap);

		if (!names)
			return -ENOMEM;
		jit->names = names;
		jit->names_cap = cap;
	}
	*ret_name = (uint32_t)jit->names_bytes;
	for (size_t i = 0; i < len_bytes; i++)
		jit->names[jit->names_bytes++] = iscntrl((unsigned char)name[i]) ? '?' : name[i];
	jit->names[jit->names_bytes++] = 0;
	return 0;
}

static int add_line(struct pp_jit *jit, uint64_t start, uint64_t end, const char *name,
		    size_t len_bytes)
{
	uint32_t name_offset;
	int r;

	if (jit->line_cnt == PP_JIT_SYMBOLS_MAX)
		return -ENOSPC;
	if (jit->line_cnt == jit->line_cap) {
		uint32_t cap = jit->line_cap ? 2 * jit->line_cap : 256;
		struct line *lines = reallocarray(jit->lines, cap, sizeof(*lines));

		if (!lines)
			return -ENOMEM;
		jit->lines = lines;
		jit->line_cap = cap;
	}
	r = add_name(jit, name, len_bytes < NAME_MAX_BYTES ? len_bytes : NAME_MAX_BYTES,
		     &name_offset);
	if (r)
		return r;
	jit->lines[jit->line_cnt] = (struct line){start, end, name_offset, jit->line_cnt};
	jit->line_cnt++;
	jit->is_built = false;
	return 0;
}

/* At most 16 digits and then a blank. */
static const char *parse_hex(const char *at, const char *end, uint64_t *ret_value)
{
	uint64_t value = 0;
	int digits = 0;

	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	for (; at < end && isxdigit((unsigned char)*at); at++, digits++) {
		int digit = isdigit((unsigned char)*at) ? *at - '0'
							: tolower((unsigned char)*at) - 'a' + 10;

		value = value << 4 | (uint64_t)digit;
	}
	if (digits == 0 || digits > 16 || at == end || *at != ' ')
		return NULL;
	*ret_value = value;
	return at + 1;
}

/* What is no symbol line is passed over: 0. */
static int parse_line(struct pp_jit *jit, const char *at, const char *end)
{
	uint64_t start, len_bytes;

	at = parse_hex(at, end, &start);
	at = at ? parse_hex(at, end, &len_bytes) : NULL;
	if (!at || at == end || len_bytes == 0 || start + len_bytes < start)
		return 0;
	return add_line(jit, start, start + len_bytes, at, (size_t)(end - at));
}

int pp_jit_add(struct pp_jit *jit, const char *text, size_t len_bytes, size_t *ret_used_bytes)
{
	const char *at = text, *end = text + len_bytes, *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		int r = parse_line(jit, at, newline);

		if (r)
			return r;
		at = newline + 1;
	}
	*ret_used_bytes = (size_t)(at - text);
	return 0;
}

/* ---------------------------------------------------------------- spans */

static int by_start(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* A heap of line indices, the line that came last in the file on top. */
struct heap {
	const struct line *lines;
	uint32_t *items;
	uint32_t cnt;
};

static bool above(const struct heap *heap, uint32_t a, uint32_t b)
{
	return heap->lines[heap->items[a]].order > heap->lines[heap->items[b]].order;
}

static void swap(struct heap *heap, uint32_t a, uint32_t b)
{
	uint32_t item = heap->items[a];

	heap->items[a] = heap->items[b];
	heap->items[b] = item;
}

static void heap_push(struct heap *heap, uint32_t item)
{
	uint32_t at = heap->cnt++;

	heap->items[at] = item;
	while (at && above(heap, at, (at - 1) / 2)) {
		swap(heap, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

static void heap_pop(struct heap *heap)
{
	uint32_t at = 0;

	heap->items[0] = heap->items[--heap->cnt];
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= heap->cnt)
			return;
		if (child + 1 < heap->cnt && above(heap, child + 1, child))
			child++;
		if (!above(heap, child, at))
			return;
		swap(heap, child, at);
		at = child;
	}
}

static void add_span(struct pp_jit *jit, uint64_t start, uint32_t line)
{
	if (jit->span_cnt && jit->spans[jit->span_cnt - 1].start == start)
		jit->span_cnt--;
	if (jit->span_cnt && jit->spans[jit->span_cnt - 1].line == line)
		return;
	jit->spans[jit->span_cnt++] = (struct span){start, line};
}

/* Ends lines at or before address: where the top one ends, the next below shows through. */
static void end_lines(struct pp_jit *jit, struct heap *heap, uint64_t address)
{
	while (heap->cnt && heap->lines[heap->items[0]].end <= address) {
		uint64_t end = heap->lines[heap->items[0]].end;

		while (heap->cnt && heap->lines[heap->items[0]].end <= end)
			heap_pop(heap);
		add_span(jit, end, heap->cnt ? heap->items[0] : NO_LINE);
	}
}

/* A sweep over the starts; each line begins and ends one span, so 2 n + 1 are enough. */
static int build(struct pp_jit *jit)
{
	struct heap heap = {.cnt = 0};
	struct span *spans;

	if (jit->is_built || !jit->line_cnt)
		return 0;
	spans = reallocarray(jit->spans, 2 * (size_t)jit->line_cnt + 1, sizeof(*spans));
	if (!spans)
		return -ENOMEM;
	jit->spans = spans;
	jit->span_cnt = 0;
	heap.items = reallocarray(NULL, jit->line_cnt, sizeof(*heap.items));
	if (!heap.items)
		return -ENOMEM;
	qsort(jit->lines, jit->line_cnt, sizeof(*jit->lines), by_start);
	heap.lines = jit->lines;
	for (uint32_t i = 0; i < jit->line_cnt; i++) {
		end_lines(jit, &heap, jit->lines[i].start);
		heap_push(&heap, i);
		add_span(jit, jit->lines[i].start, heap.items[0]);
	}
	end_lines(jit, &heap, UINT64_MAX);
	free(heap.items);
	jit->is_built = true;
	return 0;
}

int pp_jit_find(struct pp_jit *jit, uint64_t address, struct pp_jit_symbol *ret_symbol)
{
	uint32_t low = 0, high;
	int r = build(jit);

	if (r)
		return r;
	high = jit->span_cnt;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (jit->spans[middle].start > address)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == 0 || jit->spans[low - 1].line == NO_LINE)
		return -ENOENT;
	const struct line *line = &jit->lines[jit->spans[low - 1].line];
	*ret_symbol = (struct pp_jit_symbol){line->start, line->end - line->start,
					     jit->names + line->name};
	return 0;
}

/* ---------------------------------------------------------------- the file */

static int open_map_file(pid_t pid, struct stat *ret_stat)
{
	_cleanup_close_ int path_fd = -EBADF, fd = -EBADF;
	char path[40];
	pid_t inner_pid;
	uid_t uid;
	int r;

	r = pp_proc_status(pid, &inner_pid, &uid);
	if (r)
		return r;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", inner_pid);
	path_fd = pp_proc_open_inside(pid, path);
	if (path_fd < 0)
		return path_fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, ret_stat) < 0)
		return -errno;
	/* /tmp is open to all: another user's file of that name tells nothing of this process. */
	if (ret_stat->st_uid != uid && ret_stat->st_uid != 0)
		return -EPERM;
	return pp_fd_take(&fd);
}

static int read_from(struct pp_jit *jit, int fd, size_t size_bytes)
{
	_cleanup_free_ char *text = malloc(size_bytes);
	size_t len_bytes = 0, used_bytes = 0;
	int r;

	if (!text)
		return -ENOMEM;
	while (len_bytes < size_bytes) {
		ssize_t n = pread(fd, text + len_bytes, size_bytes - len_bytes,
				  (off_t)(jit->read_bytes + len_bytes));

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len_bytes += (size_t)n;
	}
	r = pp_jit_add(jit, text, len_bytes, &used_bytes);
	jit->read_bytes += used_bytes;
	return r == -ENOSPC ? 0 : r;
}

int pp_jit_refresh(struct pp_jit *jit, pid_t pid, int64_t not_before_s)
{
	struct stat stat = {0};
	_cleanup_close_ int fd = open_map_file(pid, &stat);
	uint64_t size_bytes;

	if (fd < 0)
		return fd;
	if (stat.st_mtim.tv_sec < not_before_s)
		return -ESTALE;
	size_bytes = (uint64_t)stat.st_size;
	if (size_bytes > PP_JIT_BYTES_MAX)
		size_bytes = PP_JIT_BYTES_MAX;
	/* Another file, or one begun anew. */
	if (stat.st_dev != jit->dev || stat.st_ino != jit->inode || size_bytes < jit->read_bytes)
		clear(jit);
	jit->dev = stat.st_dev;
	jit->inode = stat.st_ino;
	if (size_bytes == jit->read_bytes)
		return 0;
	return read_from(jit, fd, (size_t)(size_bytes - jit->read_bytes));
}
