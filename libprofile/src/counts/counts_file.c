// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Files of counts, as they are read; counts_add.c adds what they hold. The program of a file may be
 * counting into it: each counter then is as it was when it was read.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vector.h"
#include "pathprof/foreign.h"
#include "pp_counted.h"

/* Regions that a damaged file has at most; a thread needs two at a time. */
#define REGIONS_MAX (1u << 20)
/* Executions of paths that found no room in a run, at most: two years of 1e9 a second. */
#define LOST_MAX (1ull << 56)
/* Times of files lag behind the clock: by a tick of the kernel, on file servers by more. */
#define LAG_NS 1000000000ll

struct counts_file {
	int fd;
	const char *path;
	struct pathprof_error *error;
	struct pathprof_counts_head head;
	uint64_t bytes;
	uint64_t hash_bytes; /* of the tables read so far */
	int64_t changed_ns;
	struct pp_counts *counts; /* NULL: the head alone is read */
	size_t hashed_room;
};

static int damaged(const struct counts_file *f, const char *what, uint64_t place)
{
	return pathprof_fail(f->error, -EBADMSG, "%s: damaged: %s at byte %" PRIu64, f->path, what,
			     place);
}

static int no_memory(const struct counts_file *f)
{
	return pathprof_fail(f->error, -ENOMEM, "%s: out of memory", f->path);
}

static int read_at(const struct counts_file *f, uint64_t place, void *buffer, size_t bytes)
{
	size_t had = 0;

	while (had < bytes) {
		ssize_t n = pread(f->fd, (char *)buffer + had, bytes - had, (off_t)(place + had));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return pathprof_fail(f->error, -errno, "%s: cannot be read: %m", f->path);
		if (n == 0)
			return damaged(f, "it ends too early", place + had);
		had += (size_t)n;
	}
	return 0;
}

/* ---------------------------------------------------------------- the head */

static int measure(struct counts_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return pathprof_fail(f->error, -errno, "%s: cannot be examined: %m", f->path);
	f->bytes = (uint64_t)st.st_size;
	f->changed_ns = pp_file_time_ns(&st.st_mtim);
	return 0;
}

/* A head must not tell of regions that came after the file was measured. */
static int read_head(struct counts_file *f)
{
	int r = measure(f);

	if (r < 0)
		return r;
	if (f->bytes < sizeof(f->head))
		return pathprof_fail(f->error, -EBADMSG, "%s: not a file of counts", f->path);
	r = read_at(f, 0, &f->head, sizeof(f->head));
	return r < 0 ? r : measure(f);
}

static int open_head(struct counts_file *f)
{
	int r = read_head(f);

	if (r < 0)
		return r;
	if (f->head.magic != PATHPROF_COUNTS_MAGIC || f->head.version != PATHPROF_COUNTS_VERSION)
		return pathprof_fail(f->error, -EBADMSG,
				     "%s: not a file of counts of this version of pathprof",
				     f->path);
	/* No program runs for so long; sums of many files must stay within the database's range. */
	if (f->head.lost_cnt > LOST_MAX)
		return damaged(f, "the number of paths that were lost", 0);
	return 0;
}

/* The program knows its whole build-id, a reader of the binary only the beginning. */
static bool has_build_id(const struct pathprof_counts_head *head,
			 const struct pathprof_build_id *id)
{
	uint32_t len_bytes = head->build_id_bytes < PATHPROF_BUILD_ID_MAX ? head->build_id_bytes
									  : PATHPROF_BUILD_ID_MAX;

	return id->kind == PATHPROF_ID_BUILD_ID && id->len_bytes == len_bytes &&
	       memcmp(head->build_id, id->bytes, len_bytes) == 0;
}

static int check_used(const struct counts_file *f)
{
	if (f->head.used_bytes > f->bytes || f->head.used_bytes < PATHPROF_COUNTS_PAGE)
		return damaged(f, "the length of what is used", 0);
	return 0;
}

static int check_head(const struct counts_file *f, const struct pathprof_counted *counted)
{
	if (!has_build_id(&f->head, &counted->build_id) ||
	    f->head.image_bytes != counted->image_bytes)
		return pathprof_fail(f->error, -ESTALE,
				     "%s: counted by %.*s, another program, library or build: give "
				     "its files to a command of their own",
				     f->path, (int)sizeof(f->head.object),
				     f->head.object[0] ? f->head.object : "one without a name");
	return check_used(f);
}

/* Bytes that the program appended since are used by now. */
static int read_used_again(struct counts_file *f)
{
	int r = read_at(f, offsetof(struct pathprof_counts_head, used_bytes), &f->head.used_bytes,
			sizeof(f->head.used_bytes));

	if (r == 0)
		r = measure(f);
	return r < 0 ? r : check_used(f);
}

/* ---------------------------------------------------------------- regions */

static int read_region(const struct counts_file *f, uint64_t place,
		       struct pathprof_counts_region *ret_region)
{
	int r;

	if (place > f->head.used_bytes || f->head.used_bytes - place < sizeof(*ret_region))
		return damaged(f, "no region begins there", place);
	r = read_at(f, place, ret_region, sizeof(*ret_region));
	if (r < 0)
		return r;
	if (ret_region->bytes < PATHPROF_COUNTS_PAGE || ret_region->bytes % PATHPROF_COUNTS_PAGE ||
	    ret_region->bytes > f->head.used_bytes - place)
		return damaged(f, "the length of a region", place);
	return 0;
}

static int add_image(struct counts_file *f, uint64_t place)
{
	uint64_t part[8192], left = f->head.image_bytes / sizeof(part[0]), at = 0;

	while (left) {
		size_t cnt = left < 8192 ? left : 8192;
		uint64_t *image = f->counts->image + at;
		int r = read_at(f, place + at * sizeof(part[0]), part, cnt * sizeof(part[0]));

		if (r < 0)
			return r;
		for (size_t i = 0; i < cnt; i++)
			if (__builtin_add_overflow(image[i], part[i], &image[i]))
				return damaged(f, "a count beyond 64 bits", place + 8 * (at + i));
		at += cnt;
		left -= cnt;
	}
	return 0;
}

static int keep_hashed(struct counts_file *f, struct pp_hashed_path path)
{
	struct pp_counts *counts = f->counts;

	if (pp_grow(&counts->hashed, counts->hashed_cnt, &f->hashed_room) < 0)
		return no_memory(f);
	counts->hashed[counts->hashed_cnt++] = path;
	return 0;
}

/* The caches of a thread, whose image is at that place. */
static int add_caches(struct counts_file *f, const struct pathprof_counted *counted, uint64_t place)
{
	uint64_t pairs[PATHPROF_CACHE_ENTRIES][2];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < counted->function_cnt; i++) {
		const struct pathprof_counted_function *function = &counted->functions[i];

		if (function->counting != PATHPROF_COUNTING_HASH)
			continue;
		r = read_at(f, place + function->counter, pairs, sizeof(pairs));
		for (uint32_t k = 0; r == 0 && k < PATHPROF_CACHE_ENTRIES; k++)
			if (pairs[k][0] && pairs[k][1])
				r = keep_hashed(f, (struct pp_hashed_path){function->counter,
									   pairs[k][0] - 1,
									   pairs[k][1]});
	}
	return r;
}

/* Each table is one thread's, so all that are read lie in the file. */
static int open_hash(struct counts_file *f, uint64_t place,
		     struct pathprof_counts_region *ret_region)
{
	int r = place < f->head.used_bytes ? 0 : read_used_again(f);

	if (r == 0)
		r = read_region(f, place, ret_region);
	if (r < 0)
		return r;
	if (ret_region->kind != PATHPROF_COUNTS_HASH)
		return damaged(f, "no hash table is there", place);
	f->hash_bytes += ret_region->bytes;
	return f->hash_bytes > f->head.used_bytes
		       ? damaged(f, "threads share the hash table", place)
		       : 0;
}

static int add_hash(struct counts_file *f, uint64_t place)
{
	struct pathprof_counts_entry part[1024];
	struct pathprof_counts_region region = {0};
	uint64_t left, at = place + sizeof(region);
	int r = open_hash(f, place, &region);

	if (r < 0)
		return r;
	left = (region.bytes - sizeof(region)) / sizeof(part[0]);
	for (; left && r == 0; left -= left < 1024 ? left : 1024) {
		size_t cnt = left < 1024 ? left : 1024;

		r = read_at(f, at, part, cnt * sizeof(part[0]));
		for (size_t i = 0; r == 0 && i < cnt; i++)
			if (part[i].counter && part[i].id && part[i].count)
				r = keep_hashed(f, (struct pp_hashed_path){part[i].counter - 1,
									   part[i].id - 1,
									   part[i].count});
		at += cnt * sizeof(part[0]);
	}
	return r;
}

static int add_regions(struct counts_file *f, const struct pathprof_counted *counted)
{
	struct pathprof_counts_region region = {0};
	uint64_t place = PATHPROF_COUNTS_PAGE;
	int r = 0;

	for (uint32_t i = 0; place < f->head.used_bytes && r == 0; i++, place += region.bytes) {
		r = i < REGIONS_MAX ? read_region(f, place, &region)
				    : damaged(f, "too many regions", place);
		if (r < 0 || region.kind == PATHPROF_COUNTS_HASH)
			continue;
		if (region.kind != PATHPROF_COUNTS_THREAD ||
		    region.bytes - sizeof(region) < f->head.image_bytes)
			return damaged(f, "a region of no known kind", place);
		r = add_image(f, place + sizeof(region));
		if (r == 0)
			r = add_caches(f, counted, place + sizeof(region));
		if (r == 0 && region.hash)
			r = add_hash(f, region.hash);
	}
	return r;
}

/* ---------------------------------------------------------------- all of it */

/* A run keeps its beginning, which tells it from others; a time that cannot be one is none. */
static void tell_times(struct pathprof_counts_run *run)
{
	if (run->begin_ns < 0 || run->begin_ns - LAG_NS > run->end_ns)
		run->begin_ns = run->end_ns;
	else if (run->begin_ns > run->end_ns)
		run->end_ns = run->begin_ns;
}

static void tell_run(const struct counts_file *f, struct pathprof_counts_run *ret_run)
{
	*ret_run = (struct pathprof_counts_run){
		.pid = f->head.pid,
		.begin_ns = (int64_t)f->head.start_ns,
		.end_ns = f->changed_ns,
		.lost_cnt = f->head.lost_cnt,
		.crowded_cnt = f->head.crowded_cnt,
		.shared_cnt = f->head.shared_cnt,
		.unmade_cnt = f->head.unmade_cnt,
	};
	memcpy(ret_run->object, f->head.object, sizeof(ret_run->object) - 1);
	tell_times(ret_run);
}

static int read_file(struct counts_file *f, const struct pathprof_counted *counted)
{
	int r = open_head(f);

	if (r == 0)
		r = check_head(f, counted);
	if (r < 0)
		return r;
	f->counts->image = calloc(counted->image_bytes / sizeof(uint64_t) + 1, sizeof(uint64_t));
	if (!f->counts->image)
		return no_memory(f);
	r = add_regions(f, counted);
	if (r == 0)
		tell_run(f, &f->counts->run);
	return r;
}

int pp_counts_read_fd(struct pp_counts *ret_counts, const struct pathprof_counted *counted, int fd,
		      const char *path, struct pathprof_error *error)
{
	struct counts_file f = {.fd = fd, .path = path, .error = error, .counts = ret_counts};
	int r;

	*ret_counts = (struct pp_counts){.hashed_cnt = 0};
	r = read_file(&f, counted);
	if (r < 0)
		pp_counts_release(ret_counts);
	return r;
}

void pp_counts_release(struct pp_counts *counts)
{
	free(counts->image);
	free(counts->hashed);
	*counts = (struct pp_counts){.hashed_cnt = 0};
}

int pp_counts_run_fd(int fd, const char *path, struct pathprof_counts_run *ret_run,
		     struct pathprof_error *error)
{
	struct counts_file f = {.fd = fd, .path = path, .error = error};
	int r = open_head(&f);

	if (r == 0)
		tell_run(&f, ret_run);
	return r;
}

int pathprof_counts_run(const char *path, struct pathprof_counts_run *ret_run,
			struct pathprof_error *error)
{
	int fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, error), r;

	if (fd < 0)
		return fd;
	r = pp_counts_run_fd(fd, path, ret_run, error);
	close(fd);
	return r;
}
