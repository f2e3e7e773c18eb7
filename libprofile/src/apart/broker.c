// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Requests that a process apart may send to its asker. The names in them come from a file, or from
 * an attacker in the process: it gets readable ELF files and nothing else, so that it cannot obtain
 * the contents of any other file. A core file is ELF, too, but holds the memory of other programs:
 * it is refused.
 *
 * The client library of debuginfod is loaded at the first fetch, so that nothing depends on it.
 *
 * Source: debuginfod_find_debuginfo(3).
 */
#include "pp_apart.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pathprof/foreign.h"

static bool is_code(int fd)
{
	struct {
		unsigned char ident[EI_NIDENT];
		Elf64_Half type;
	} head;

	return pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
	       memcmp(head.ident, ELFMAG, SELFMAG) == 0 && head.type != ET_CORE;
}

static int open_elf(const char *path)
{
	int fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, NULL);

	if (fd < 0 || is_code(fd))
		return fd;
	close(fd);
	return -EACCES;
}

/* ---------------------------------------------------------------- debuginfod */

struct client {
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *id, int id_bytes, char **ret_path);
	void (*end)(void *client);
};

static bool load(struct client *client)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	*(void **)&client->begin = dlsym(library, "debuginfod_begin");
	*(void **)&client->find = dlsym(library, "debuginfod_find_debuginfo");
	*(void **)&client->end = dlsym(library, "debuginfod_end");
	return client->begin && client->find && client->end;
}

static int fetch(const struct pathprof_apart_message *message)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct client client;
	char *path = NULL;
	void *handle;
	int fd;

	if (!urls || !*urls || message->bytes < 2 || message->bytes > PATHPROF_BUILD_ID_MAX)
		return -ENOENT;
	handle = load(&client) ? client.begin() : NULL;
	if (!handle)
		return -ENOENT;
	fd = client.find(handle, (const unsigned char *)message->text, (int)message->bytes, &path);
	client.end(handle);
	free(path);
	return fd;
}

/* ---------------------------------------------------------------- */

int pp_apart_serve(int socket, struct pathprof_apart_message *message)
{
	int fd, r;

	if (message->kind == PP_APART_OPEN)
		fd = open_elf(message->text);
	else if (message->kind == PP_APART_FETCH)
		fd = fetch(message);
	else
		return -EBADMSG;
	message->kind = PP_APART_FILE;
	message->code = fd < 0 ? fd : 0;
	message->bytes = 0;
	r = pp_apart_send_at_once(socket, message, fd);
	if (fd >= 0)
		close(fd);
	return r;
}
