// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The directory that graphs are kept in: a file BUILDID.graph each, and while one is written
 * BUILDID.graph.XXXXXX. Files with other names are not ours and left alone.
 *
 * Used files are touched, so that the time of change orders them by use. A writer that dies leaves
 * its file behind; it is never used, so it is among the first to go.
 */
#include "pp_graph_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vector.h"

#define DEFAULT_MAX_BYTES (1ull << 30)
#define SUFFIX            ".graph"
#define TEMPORARY         ".XXXXXX"

/* Build-id, suffix, the temporary's suffix. */
#define NAME_SIZE (PATHPROF_BUILD_ID_TEXT_LEN + sizeof(SUFFIX) + sizeof(TEMPORARY))

static uint64_t max_bytes_of(const struct pathprof_graph_cache *cache)
{
	return cache->max_bytes ? cache->max_bytes : DEFAULT_MAX_BYTES;
}

static void name_of(char *ret_name, const struct pp_graph_key *key)
{
	char text[PATHPROF_BUILD_ID_TEXT_LEN];

	snprintf(ret_name, NAME_SIZE, "%s" SUFFIX, pathprof_build_id_text(&key->build_id, text));
}

static int open_directory(const struct pathprof_graph_cache *cache)
{
	int fd = open(cache->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int pp_graph_cache_load(struct pathprof_graph **ret_graph, const struct pathprof_graph_cache *cache,
			const struct pp_graph_key *key)
{
	char name[NAME_SIZE];
	int directory = open_directory(cache), fd, r;

	if (directory < 0)
		return directory;
	name_of(name, key);
	fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	r = fd < 0 ? -errno : pp_graph_read(ret_graph, fd, key, max_bytes_of(cache));
	close(directory);
	if (fd < 0)
		return r;
	/* This fails for another user's file, which is used all the same. */
	if (!r)
		(void)!futimens(fd, NULL);
	close(fd);
	return r;
}

/* ---------------------------------------------------------------- the bound */

struct kept {
	char name[NAME_SIZE];
	uint64_t bytes;
	struct timespec used;
};

struct listing {
	struct kept *files;
	size_t cnt, room;
	uint64_t bytes;
};

static bool is_ours(const char *name)
{
	size_t digits = strspn(name, "0123456789abcdef");
	size_t suffix = strlen(SUFFIX), rest;

	if (!digits || digits >= PATHPROF_BUILD_ID_TEXT_LEN ||
	    strncmp(name + digits, SUFFIX, suffix) != 0)
		return false;
	rest = strlen(name + digits + suffix);
	return !rest || (rest == strlen(TEMPORARY) && name[digits + suffix] == '.');
}

static int listing_add(struct listing *l, int directory, const char *name)
{
	struct stat st;

	if (!is_ours(name) || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return 0;
	if (pp_grow(&l->files, l->cnt, &l->room) < 0)
		return -ENOMEM;
	l->files[l->cnt] = (struct kept){.bytes = (uint64_t)st.st_size, .used = st.st_mtim};
	memcpy(l->files[l->cnt++].name, name, strlen(name) + 1); /* is_ours() bounds it */
	l->bytes += (uint64_t)st.st_size;
	return 0;
}

static int by_use(const void *x, const void *y)
{
	const struct kept *a = x, *b = y;

	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	if (a->used.tv_nsec != b->used.tv_nsec)
		return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int list(struct listing *ret_listing, DIR *d)
{
	const struct dirent *entry;
	int r = 0;

	while (!r && (entry = readdir(d)))
		r = listing_add(ret_listing, dirfd(d), entry->d_name);
	return r;
}

/* Removes the least recently used files until the rest fits, but never `keep`. */
static void remove_oldest(struct listing *l, int directory, const char *keep, uint64_t max_bytes)
{
	if (l->bytes <= max_bytes)
		return;
	qsort(l->files, l->cnt, sizeof(l->files[0]), by_use);
	for (size_t i = 0; i < l->cnt && l->bytes > max_bytes; i++) {
		if (!strcmp(l->files[i].name, keep))
			continue;
		unlinkat(directory, l->files[i].name, 0);
		l->bytes -= l->files[i].bytes;
	}
}

static int trim(const struct pathprof_graph_cache *cache, const char *keep)
{
	struct listing l = {0};
	DIR *d = opendir(cache->directory);
	int r;

	if (!d)
		return -errno;
	r = list(&l, d);
	if (!r)
		remove_oldest(&l, dirfd(d), keep, max_bytes_of(cache));
	free(l.files);
	closedir(d);
	return r;
}

/* ---------------------------------------------------------------- keeping one */

/* Writes to `temporary`, whose last six characters are replaced, and moves it to `name`. */
static int write_and_rename(const struct pathprof_graph *graph, char *temporary, const char *name,
			    const struct pp_graph_key *key, uint64_t max_bytes)
{
	int fd = mkostemp(temporary, O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = pp_graph_write(graph, fd, key, max_bytes);
	if (!r && fchmod(fd, 0644))
		r = -errno;
	if (close(fd) && !r)
		r = -errno;
	if (!r && rename(temporary, name))
		r = -errno;
	if (r)
		unlink(temporary);
	return r;
}

int pp_graph_cache_store(const struct pathprof_graph *graph,
			 const struct pathprof_graph_cache *cache, const struct pp_graph_key *key)
{
	char name[NAME_SIZE], *path = NULL, *temporary = NULL;
	int r = -ENOMEM;

	/* An error shows when the file is written below. */
	(void)!mkdir(cache->directory, 0755);
	name_of(name, key);
	if (asprintf(&path, "%s/%s", cache->directory, name) < 0)
		return -ENOMEM;
	if (asprintf(&temporary, "%s" TEMPORARY, path) >= 0) {
		r = write_and_rename(graph, temporary, path, key, max_bytes_of(cache));
		free(temporary);
	}
	free(path);
	return r ? r : trim(cache, name);
}
