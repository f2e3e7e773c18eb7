// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of source files: see source_text.h. */
#include "source_text.h"

#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../text/cleanup.h"
#include "apart.h"
#include "pathprof/foreign.h"

#define FILE_MAX_BYTES (16 << 20)

struct source_file {
	char *name;
	char *text; /* NULL: cannot be read */
	size_t len_bytes;
};

struct source_text {
	struct source_file *files;
	size_t cnt;
};

struct source_text *source_text_new(void)
{
	return ctl_alloc(sizeof(struct source_text));
}

void source_text_free(struct source_text *source)
{
	if (!source)
		return;
	for (size_t i = 0; i < source->cnt; i++) {
		free(source->files[i].name);
		free(source->files[i].text);
	}
	free(source->files);
	free(source);
}

static bool read_all(int fd, char *text, size_t len_bytes)
{
	size_t at = 0;

	while (at < len_bytes) {
		ssize_t n = read(fd, text + at, len_bytes - at);

		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static void load(struct source_file *file, int fd)
{
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0 || status.st_size > FILE_MAX_BYTES)
		return;
	file->len_bytes = (size_t)status.st_size;
	file->text = ctl_alloc(file->len_bytes);
	if (read_all(fd, file->text, file->len_bytes))
		return;
	free(file->text);
	file->text = NULL;
}

static struct source_file *find(struct source_text *source, const char *name)
{
	for (size_t i = 0; i < source->cnt; i++)
		if (!strcmp(source->files[i].name, name))
			return &source->files[i];
	return NULL;
}

static struct source_file *add(struct source_text *source, const char *name)
{
	struct source_file *file;

	source->files = ctl_realloc(source->files, source->cnt, source->cnt + 1,
				    sizeof(struct source_file));
	file = &source->files[source->cnt++];
	file->name = ctl_strdup(name);
	return file;
}

static char *line_of(const struct source_file *file, int line)
{
	const char *at = file->text, *end, *newline;

	if (!at || line < 1)
		return NULL;
	end = at + file->len_bytes;
	for (; line > 1 && at < end; line--) {
		newline = memchr(at, '\n', (size_t)(end - at));
		at = newline ? newline + 1 : end;
	}
	if (at == end)
		return NULL;
	newline = memchr(at, '\n', (size_t)(end - at));
	return ctl_printf("%.*s", (int)((newline ? newline : end) - at), at);
}

char *source_text_line_of(struct source_text *source, int fd, const char *name, int line)
{
	struct source_file *file = find(source, name);

	if (!file) {
		file = add(source, name);
		load(file, fd);
	}
	return line_of(file, line);
}

static int open_source(const char *name)
{
	return name[0] == '/' ? pathprof_foreign_open(PATHPROF_OWN_ROOT, name, NULL) : -1;
}

/* ---------------------------------------------------------------- with rights */

#define GROUPS_MAX 256
#define NO_GROUP   65534

/* Whether the process now opens files as uid: setfsuid() does not report failure. */
static bool takes_place_of(uid_t uid)
{
	setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid;
}

/*
 * Opens a file as uid, without the capabilities by which root reads anything: the kernel takes
 * these away when the file-system user changes from root to another.
 */
static int open_as(uid_t uid, const char *name)
{
	gid_t groups[GROUPS_MAX];
	int cnt = getgroups(GROUPS_MAX, groups), fd = -1;

	if (geteuid() != 0 || cnt < 0 || setgroups(0, NULL) < 0)
		return -1;
	setfsgid(NO_GROUP);
	if (takes_place_of(uid))
		fd = open_source(name);
	setfsuid(0);
	setfsgid(getegid());
	if (setgroups((size_t)cnt, groups) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The maker of a binary can name any file in it, so root shows only files that the binary's owner
 * may read. */
static int open_for(const struct pathprof_code *binary, const char *name)
{
	uid_t owner;

	if (pathprof_code_owner(binary, &owner) < 0)
		return -1;
	return owner == 0 ? open_source(name) : open_as(owner, name);
}

char *source_text_line(struct source_text *source, const struct pathprof_code *binary,
		       const char *name, int line)
{
	bool apart = apart_is_needed();
	_cleanup_close_ int fd = -1;

	/* Unless it is read apart, a file is kept, so it is opened once. */
	if (apart)
		fd = open_for(binary, name);
	else if (!find(source, name))
		fd = open_source(name);
	if (!apart)
		return source_text_line_of(source, fd, name, line);
	return fd < 0 ? NULL : texts_line(fd, name, line);
}
