// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf map files: see track_jit.h for the workload, locking and ownership.
 * Source: Linux tools/perf/Documentation/jit-interface.txt (the format).
 */
#include "track_jit.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "base/vector.h"
#include "pathprof/foreign.h"
#include "base/clock.h"
#include "track_proc.h"
#include "track_remote.h"

#define NAME_MAX_BYTES 1023
#define PIECE_BYTES    65536
#define FULL_NS        10000000000 /* others may have ended by then */

struct line {
	uint64_t start, end;
	uint32_t name;  /* offset in names */
	uint32_t order; /* its place in the file */
};

/* The place of the map file of a process, which may not exist yet. */
struct place {
	int root_fd; /* the process' root directory; negative: not known */
	char path[40];
	uid_t uid;            /* the process' user */
	int64_t not_before_s; /* an older file was left by another process */
};

/* [start, up to the next span's start) belongs to a line, or to none. */
struct span {
	uint64_t start;
	uint32_t line; /* index in lines, or NO_LINE */
};
#define NO_LINE UINT32_MAX
/* Each line begins one and ends one. */
#define SPANS_A_LINE    2
#define SPANS_OF(lines) (SPANS_A_LINE * (size_t)(lines) + 1)

struct pp_jit {
	struct pp_jit_budget *budget;
	struct pp_jit *before, *next; /* in the budget's list */
	uint64_t asked_ns;            /* when somebody last asked */
	uint64_t bytes;               /* of the budget's */
	uint64_t full_until_ns;       /* there was no memory: it is not tried again before */
	int fd;                       /* the file, kept for when the process is gone; -1 */
	struct place place;           /* its place, kept while there is no file */
	bool in_long_line;            /* the rest of a line that is no symbol's follows */

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

/* ---------------------------------------------------------------- the budget */

/* The time left in the budget, refilled by the time passed since the last call. */
static int64_t time_left_ns(struct pp_jit_budget *budget)
{
	uint64_t now = pp_monotonic_ns(), passed_ns = now - budget->last_ns;

	/* The first time, or after so long that the product would be large. */
	if (!budget->last_ns || passed_ns > 1000000000000)
		budget->left_ns = PP_JIT_TIME_MAX_NS;
	else
		budget->left_ns += (int64_t)(passed_ns * PP_JIT_TIME_PPM / 1000000);
	if (budget->left_ns > PP_JIT_TIME_MAX_NS)
		budget->left_ns = PP_JIT_TIME_MAX_NS;
	budget->last_ns = now;
	return budget->left_ns;
}

static void take_time(struct pp_jit_budget *budget, uint64_t begin_ns)
{
	budget->left_ns -= (int64_t)(pp_monotonic_ns() - begin_ns);
}

static void unlist(struct pp_jit *jit)
{
	if (jit->before)
		jit->before->next = jit->next;
	else
		jit->budget->maps = jit->next;
	if (jit->next)
		jit->next->before = jit->before;
}

static void list_first(struct pp_jit *jit)
{
	jit->before = NULL;
	jit->next = jit->budget->maps;
	if (jit->next)
		jit->next->before = jit;
	jit->budget->maps = jit;
}

static void touch(struct pp_jit *jit)
{
	jit->asked_ns = pp_monotonic_ns();
	if (!jit->before)
		return;
	unlist(jit);
	list_first(jit);
}

static void clear(struct pp_jit *jit)
{
	free(jit->lines);
	free(jit->names);
	free(jit->spans);
	jit->budget->bytes -= jit->bytes;
	*jit = (struct pp_jit){.budget = jit->budget,
			       .before = jit->before,
			       .next = jit->next,
			       .asked_ns = jit->asked_ns,
			       .fd = jit->fd,
			       .place = jit->place};
}

/* Clears maps that nobody has asked for in a while, the longest unused first. */
static void make_room(struct pp_jit_budget *budget, uint64_t bytes)
{
	uint64_t now = pp_monotonic_ns(),
		 idle_ns = budget->idle_ns ? budget->idle_ns : PP_JIT_IDLE_NS;
	struct pp_jit *last = budget->maps;

	while (last && last->next)
		last = last->next;
	for (; last && budget->bytes + bytes > PP_JIT_BYTES_MAX; last = last->before)
		if (now > last->asked_ns + idle_ns)
			clear(last);
}

static bool take_bytes(struct pp_jit *jit, uint64_t bytes)
{
	struct pp_jit_budget *budget = jit->budget;

	if (budget->bytes + bytes > PP_JIT_BYTES_MAX)
		make_room(budget, bytes);
	if (budget->bytes + bytes > PP_JIT_BYTES_MAX || jit->bytes + bytes > PP_JIT_MAP_BYTES_MAX) {
		budget->refused++;
		return false;
	}
	jit->bytes += bytes;
	budget->bytes += bytes;
	return true;
}

static void give_back(struct pp_jit *jit, uint64_t bytes)
{
	jit->bytes -= bytes;
	jit->budget->bytes -= bytes;
}

static void let_go(struct pp_jit *jit)
{
	int *kept = jit->fd >= 0 ? &jit->fd : &jit->place.root_fd;

	if (*kept < 0)
		return;
	close(*kept);
	*kept = -EBADF;
	jit->budget->files--;
}

/* Keeps fd in *ret_kept where there is room for one more, else closes it. */
static void keep(struct pp_jit *jit, int *ret_kept, int fd)
{
	let_go(jit);
	if (jit->budget->files >= PP_JIT_FILES_MAX) {
		close(fd);
		return;
	}
	*ret_kept = fd;
	jit->budget->files++;
}

int pp_jit_new(struct pp_jit **ret_jit, struct pp_jit_budget *budget)
{
	struct pp_jit *jit = calloc(1, sizeof(*jit));

	if (!jit)
		return -ENOMEM;
	jit->budget = budget;
	jit->fd = jit->place.root_fd = -EBADF;
	jit->asked_ns = pp_monotonic_ns();
	list_first(jit);
	*ret_jit = jit;
	return 0;
}

void pp_jit_free(struct pp_jit *jit)
{
	if (!jit)
		return;
	clear(jit);
	let_go(jit);
	unlist(jit);
	free(jit);
}

/* ---------------------------------------------------------------- lines */

static int grow_names(struct pp_jit *jit, size_t cap)
{
	uint64_t bytes = cap - jit->names_cap;
	int r;

	if (!take_bytes(jit, bytes))
		return -ENOSPC;
	r = pp_resize(&jit->names, cap);
	if (r)
		give_back(jit, bytes);
	else
		jit->names_cap = cap;
	return r;
}

static int add_name(struct pp_jit *jit, const char *name, size_t len_bytes, uint32_t *ret_name)
{
	if (jit->names_bytes + len_bytes + 1 > jit->names_cap) {
		size_t cap = jit->names_cap + jit->names_cap / 2 + NAME_MAX_BYTES + 1;
		int r = grow_names(jit, cap);

		if (r)
			return r;
	}
	*ret_name = (uint32_t)jit->names_bytes;
	for (size_t i = 0; i < len_bytes; i++)
		jit->names[jit->names_bytes++] = iscntrl((unsigned char)name[i]) ? '?' : name[i];
	jit->names[jit->names_bytes++] = 0;
	return 0;
}

/* Makes room for lines and for the spans that as many lines may become. */
static int grow_lines(struct pp_jit *jit, uint32_t cap)
{
	uint64_t bytes = (uint64_t)(cap - jit->line_cap) *
			 (sizeof(*jit->lines) + SPANS_A_LINE * sizeof(*jit->spans));
	int r;

	if (!take_bytes(jit, bytes))
		return -ENOSPC;
	r = pp_resize(&jit->spans, SPANS_OF(cap));
	if (!r)
		r = pp_resize(&jit->lines, cap);
	if (r)
		give_back(jit, bytes);
	else
		jit->line_cap = cap;
	return r;
}

static int add_line(struct pp_jit *jit, uint64_t start, uint64_t end, const char *name,
		    size_t len_bytes)
{
	uint32_t name_offset;
	int r;

	if (jit->line_cnt == jit->line_cap) {
		uint32_t cap = jit->line_cap + jit->line_cap / 2 + 256;

		r = grow_lines(jit, cap);
		if (r)
			return r;
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

/* Reads at most 16 digits and then a blank. */
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

/* Passes over a line that is no symbol: returns 0. */
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
	int r = 0;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		r = parse_line(jit, at, newline);
		if (r)
			break;
		at = newline + 1;
	}
	*ret_used_bytes = (size_t)(at - text);
	return r;
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

/* A sweep over the starts. */
static int build(struct pp_jit *jit)
{
	struct heap heap = {0};

	if (pp_resize(&heap.items, jit->line_cnt) < 0)
		return -ENOMEM;
	jit->span_cnt = 0;
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

/* Puts new lines in order; if there is no time for it, the spans of before stay valid. */
static int need_spans(struct pp_jit *jit)
{
	struct pp_jit_budget *budget = jit->budget;
	uint64_t begin_ns;
	int r;

	if (jit->is_built || !jit->line_cnt)
		return 0;
	if (time_left_ns(budget) <= 0) {
		budget->postponed++;
		return jit->span_cnt ? 0 : -EAGAIN;
	}
	begin_ns = pp_monotonic_ns();
	r = build(jit);
	take_time(budget, begin_ns);
	return r;
}

int pp_jit_find(struct pp_jit *jit, uint64_t address, struct pp_jit_symbol *ret_symbol)
{
	uint32_t low;
	int r = need_spans(jit);

	if (r)
		return r;
	low = pp_first(i, 0, jit->span_cnt, jit->spans[i].start > address);
	if (low == 0 || jit->spans[low - 1].line == NO_LINE)
		return -ENOENT;
	const struct line *line = &jit->lines[jit->spans[low - 1].line];
	*ret_symbol = (struct pp_jit_symbol){line->start, line->end - line->start,
					     jit->names + line->name};
	return 0;
}

/* ---------------------------------------------------------------- the file */

/* The caller closes ret_place->root_fd. */
static int find_place(struct place *ret_place, pid_t pid, int64_t not_before_s)
{
	pid_t inner_pid;
	int r = pp_proc_status(pid, &inner_pid, &ret_place->uid);

	if (r)
		return r;
	ret_place->not_before_s = not_before_s;
	snprintf(ret_place->path, sizeof(ret_place->path), "/tmp/perf-%d.map", inner_pid);
	/* a file server may not answer */
	if (pp_remote_path(pid, ret_place->path))
		return -EREMOTE;
	ret_place->root_fd = pathprof_foreign_root(pid);
	return ret_place->root_fd < 0 ? ret_place->root_fd : 0;
}

static int open_map_file(const struct place *place, struct stat *ret_stat)
{
	_cleanup_close_ int looked_fd = pathprof_foreign_look(place->root_fd, place->path);
	_cleanup_close_ int fd = looked_fd < 0 ? looked_fd : pathprof_foreign_read(looked_fd);

	if (fd < 0)
		return fd;
	if (fstat(fd, ret_stat) < 0)
		return -errno;
	/* /tmp is open to all: another user's file of that name tells nothing of this process. */
	if (ret_stat->st_uid != place->uid && ret_stat->st_uid != 0)
		return -EPERM;
	if (ret_stat->st_mtim.tv_sec < place->not_before_s)
		return -ESTALE;
	return pp_fd_take(&fd);
}

/* Reads a piece from where the last one ended. 1: there may be more; 0: that was all; -ENOSPC. */
static int read_piece(struct pp_jit *jit, int fd, char *text, size_t size_bytes)
{
	ssize_t n = pread(fd, text, size_bytes, (off_t)jit->read_bytes);
	const char *begin = text;
	size_t used_bytes = 0;
	int r;

	if (n <= 0)
		return n < 0 ? -errno : 0;
	if (jit->in_long_line) {
		begin = memchr(text, '\n', (size_t)n);
		begin = begin ? begin + 1 : text + n;
		jit->in_long_line = begin == text + n && text[n - 1] != '\n';
	}
	r = pp_jit_add(jit, begin, (size_t)(text + n - begin), &used_bytes);
	used_bytes += (size_t)(begin - text);
	/* no end in sight: a name has a thousand bytes at most */
	if (!r && !used_bytes && (size_t)n == size_bytes) {
		jit->in_long_line = true;
		used_bytes = (size_t)n;
	}
	jit->read_bytes += used_bytes;
	return r ? r : used_bytes && (size_t)n == size_bytes;
}

static int read_pieces(struct pp_jit *jit, int fd)
{
	struct pp_jit_budget *budget = jit->budget;
	int64_t left_ns = time_left_ns(budget), until_ns = left_ns / 2;
	char text[PIECE_BYTES];
	int r = 1;

	for (; r > 0 && left_ns > until_ns; left_ns = budget->left_ns) {
		uint64_t begin_ns = pp_monotonic_ns();

		r = read_piece(jit, fd, text, sizeof(text));
		take_time(budget, begin_ns);
	}
	if (r == -ENOSPC)
		jit->full_until_ns = pp_monotonic_ns() + FULL_NS;
	budget->postponed += r > 0;
	return r > 0 ? -EAGAIN : r;
}

/* Reads the part of the file that was appended since the last reading. */
static int read_on(struct pp_jit *jit, int fd, const struct stat *stat)
{
	/* It is another file, or one begun anew. */
	if (stat->st_dev != jit->dev || stat->st_ino != jit->inode ||
	    (uint64_t)stat->st_size < jit->read_bytes)
		clear(jit);
	jit->dev = stat->st_dev;
	jit->inode = stat->st_ino;
	if ((uint64_t)stat->st_size == jit->read_bytes)
		return 0;
	return pp_monotonic_ns() < jit->full_until_ns ? -ENOSPC : read_pieces(jit, fd);
}

int pp_jit_refresh(struct pp_jit *jit, pid_t pid, int64_t not_before_s)
{
	struct place place = {.root_fd = -EBADF};
	struct stat stat = {0};
	int fd, r = find_place(&place, pid, not_before_s);

	touch(jit);
	if (r < 0)
		return r;
	fd = open_map_file(&place, &stat);
	close(place.root_fd);
	if (fd < 0)
		return fd;
	r = read_on(jit, fd, &stat);
	keep(jit, &jit->fd, fd);
	return r;
}

/* The root is kept in its place, or closed where one is kept already. */
static void keep_place(struct pp_jit *jit, const struct place *place)
{
	if (jit->place.root_fd >= 0) {
		close(place->root_fd);
		return;
	}
	jit->place = *place;
	jit->place.root_fd = -EBADF;
	keep(jit, &jit->place.root_fd, place->root_fd);
}

int pp_jit_watch(struct pp_jit *jit, pid_t pid, int64_t not_before_s)
{
	struct place place = {.root_fd = -EBADF};
	struct stat stat = {0};
	int fd, r = jit->fd < 0 ? find_place(&place, pid, not_before_s) : -EALREADY;

	if (r < 0)
		return r == -EALREADY ? 0 : r;
	fd = open_map_file(&place, &stat);
	if (fd < 0) {
		keep_place(jit, &place);
		return fd;
	}
	close(place.root_fd);
	keep(jit, &jit->fd, fd);
	return 0;
}

/* Opens the file of a process that wrote it when it ended, or shortly before. */
static int open_last(struct pp_jit *jit, struct stat *ret_stat)
{
	int fd = jit->place.root_fd < 0 ? -ENOENT : open_map_file(&jit->place, ret_stat);

	if (fd >= 0)
		keep(jit, &jit->fd, fd);
	return fd;
}

int pp_jit_refresh_last(struct pp_jit *jit)
{
	struct stat stat;
	int r;

	touch(jit);
	if (jit->fd >= 0)
		r = fstat(jit->fd, &stat) < 0 ? -errno : 0;
	else
		r = open_last(jit, &stat);
	if (r >= 0)
		r = read_on(jit, jit->fd, &stat);
	if (r != -EAGAIN)
		let_go(jit);
	return r;
}
