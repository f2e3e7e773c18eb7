// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of source files: see source_text.h. */
#include "source_text.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"

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

static void load(struct source_file *file)
{
	_cleanup_close_ int fd = open(file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_size > FILE_MAX_BYTES)
		return;
	file->len_bytes = (size_t)status.st_size;
	file->text = ctl_alloc(file->len_bytes);
	if (read_all(fd, file->text, file->len_bytes))
		return;
	free(file->text);
	file->text = NULL;
}

static const struct source_file *find(struct source_text *source, const char *name)
{
	size_t at;

	for (at = 0; at < source->cnt; at++)
		if (!strcmp(source->files[at].name, name))
			return &source->files[at];
	source->files = ctl_realloc(source->files, at, at + 1, sizeof(struct source_file));
	source->files[at].name = ctl_strdup(name);
	if (name[0] == '/')
		load(&source->files[at]);
	source->cnt++;
	return &source->files[at];
}

char *source_text_line(struct source_text *source, const char *file, int line)
{
	const struct source_file *found = find(source, file);
	const char *at = found->text, *end, *newline;

	if (!at || line < 1)
		return NULL;
	end = at + found->len_bytes;
	for (; line > 1 && at < end; line--) {
		newline = memchr(at, '\n', (size_t)(end - at));
		at = newline ? newline + 1 : end;
	}
	if (at == end)
		return NULL;
	newline = memchr(at, '\n', (size_t)(end - at));
	return ctl_printf("%.*s", (int)((newline ? newline : end) - at), at);
}
