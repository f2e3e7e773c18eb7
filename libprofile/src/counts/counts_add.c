// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The counts of a file are added to those of its program. All of it is checked before
 * anything is added.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pathprof/foreign.h"
#include "pp_counted_apart.h"

/* A file of counts that was read. */
struct counts_read {
	const char *path;
	struct pathprof_error *error;
	struct pp_counts counts;
};

static int no_memory(const struct counts_read *f)
{
	return pathprof_fail(f->error, -ENOMEM, "%s: out of memory", f->path);
}

/* ---------------------------------------------------------------- reading it */

static int read_here(struct counts_read *f, const struct pathprof_counted *counted)
{
	int fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, f->path, f->error), r;

	if (fd < 0)
		return fd;
	r = pp_counts_read_fd(&f->counts, counted, fd, f->path, f->error);
	close(fd);
	return r;
}

static int read_counts(struct counts_read *f, const struct pathprof_counted *counted)
{
	return counted->apart ? pp_counts_read_apart(&f->counts, counted, f->path, f->error)
			      : read_here(f, counted);
}

/* ---------------------------------------------------------------- adding it */

static int by_path(const void *x, const void *y)
{
	const struct pp_hashed_path *a = x, *b = y;

	if (a->counter != b->counter)
		return (a->counter > b->counter) - (a->counter < b->counter);
	return (a->id > b->id) - (a->id < b->id);
}

static int by_counter(const void *key, const void *element)
{
	const struct pathprof_counted_function *a = key, *b = *(void *const *)element;

	return (a->counter > b->counter) - (a->counter < b->counter);
}

static int by_place(const void *x, const void *y)
{
	return by_counter(*(void *const *)x, y);
}

static bool may_be_hashed(const struct pathprof_counted_function *f)
{
	return f->counting == PATHPROF_COUNTING_HASH || f->counting == PATHPROF_COUNTING_TABLE;
}

/* Every path that was counted by hash is one of a function that is. */
static int check_hashed(const struct counts_read *f, const struct pathprof_counted *counted)
{
	const struct pathprof_counted_function **sorted =
		calloc((size_t)counted->function_cnt + 1, sizeof(*sorted));
	int r = 0;

	if (!sorted)
		return no_memory(f);
	for (uint32_t i = 0; i < counted->function_cnt; i++)
		sorted[i] = &counted->functions[i];
	qsort(sorted, counted->function_cnt, sizeof(*sorted), by_place);
	for (size_t i = 0; i < f->counts.hashed_cnt && r == 0; i++) {
		struct pathprof_counted_function key = {.counter = f->counts.hashed[i].counter};
		const struct pathprof_counted_function *const *found =
			bsearch(&key, sorted, counted->function_cnt, sizeof(*sorted), by_counter);

		if (!found || !may_be_hashed(*found) ||
		    f->counts.hashed[i].id >= (*found)->path_cnt)
			r = pathprof_fail(f->error, -EBADMSG,
					  "%s: damaged: a path that no function has", f->path);
	}
	free(sorted);
	return r;
}

static int too_much(const struct counts_read *f)
{
	return pathprof_fail(f->error, -EBADMSG,
			     "%s: damaged: with the files before it a count goes beyond 64 bits",
			     f->path);
}

static int check_sums(const struct counts_read *f, const struct pathprof_counted *counted)
{
	for (uint64_t i = 0; i < counted->image_bytes / sizeof(uint64_t); i++)
		if (f->counts.image[i] > UINT64_MAX - counted->image[i])
			return too_much(f);
	return 0;
}

/* One entry a path; there is room for all. */
static int join_hashed(const struct counts_read *f, const struct pathprof_counted *counted,
		       struct pp_hashed_path *joined, size_t *ret_cnt)
{
	size_t cnt = counted->hashed_cnt + f->counts.hashed_cnt, kept = 0;

	if (counted->hashed_cnt)
		memcpy(joined, counted->hashed, counted->hashed_cnt * sizeof(*joined));
	if (f->counts.hashed_cnt)
		memcpy(joined + counted->hashed_cnt, f->counts.hashed,
		       f->counts.hashed_cnt * sizeof(*joined));
	qsort(joined, cnt, sizeof(*joined), by_path);
	for (size_t i = 0; i < cnt; i++) {
		if (!kept || by_path(&joined[kept - 1], &joined[i]) != 0)
			joined[kept++] = joined[i];
		else if (__builtin_add_overflow(joined[kept - 1].count, joined[i].count,
						&joined[kept - 1].count))
			return too_much(f);
	}
	*ret_cnt = kept;
	return 0;
}

static int add(struct pathprof_counted *counted, const struct counts_read *f)
{
	struct pp_hashed_path *joined =
		calloc(counted->hashed_cnt + f->counts.hashed_cnt + 1, sizeof(*joined));
	size_t cnt = 0;
	int r;

	if (!joined)
		return no_memory(f);
	r = check_sums(f, counted);
	if (r == 0)
		r = join_hashed(f, counted, joined, &cnt);
	if (r < 0) {
		free(joined);
		return r;
	}
	free(counted->hashed);
	counted->hashed = joined;
	counted->hashed_cnt = cnt;
	for (uint64_t i = 0; i < counted->image_bytes / sizeof(uint64_t); i++)
		counted->image[i] += f->counts.image[i];
	return 0;
}

int pathprof_counted_add(struct pathprof_counted *counted, const char *path,
			 struct pathprof_counts_run *ret_run, struct pathprof_error *error)
{
	struct counts_read f = {.path = path, .error = error};
	int r = read_counts(&f, counted);

	if (r < 0)
		return r;
	r = check_hashed(&f, counted);
	if (r == 0)
		r = add(counted, &f);
	if (r == 0 && ret_run)
		*ret_run = f.counts.run;
	pp_counts_release(&f.counts);
	return r;
}
