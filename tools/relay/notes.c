// SPDX-License-Identifier: GPL-2.0-or-later
/* The relay's memory: see notes.h. */
#include "notes.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NAME      "told.json"
#define NEXT      "told.json.new"
#define LOCK      "lock"
#define BYTES_MAX 1024

static const char *const sinks[PP_NOTES_SINK_CNT] = {
	[PP_NOTES_EXEC] = "exec",
	[PP_NOTES_ALERTMANAGER] = "alertmanager",
	[PP_NOTES_WEBHOOK] = "webhook",
};

/* ---------------------------------------------------------------- reading */

static bool take_identity(struct pp_notes *notes, const char *identity)
{
	size_t len = identity ? strlen(identity) : 0;

	if (len != sizeof(notes->identity) - 1 || strspn(identity, "0123456789abcdef") != len)
		return false;
	memcpy(notes->identity, identity, sizeof(notes->identity));
	return true;
}

static bool take_notes(struct pp_notes *notes, const json_t *file)
{
	const json_t *told = json_object_get(file, "told");

	if (!take_identity(notes, json_string_value(json_object_get(file, "store"))) ||
	    !json_is_object(told))
		return false;
	for (int i = 0; i < PP_NOTES_SINK_CNT; i++) {
		const json_t *id = json_object_get(told, sinks[i]);

		if (id && (!json_is_integer(id) || json_integer_value(id) < 0))
			return false;
		if (id)
			notes->told[i] = json_integer_value(id);
	}
	return true;
}

static int read_notes(struct pp_notes *notes)
{
	_cleanup_close_ int fd = openat(notes->directory, NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[BYTES_MAX];
	json_t *file;
	ssize_t n;
	bool good;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	n = read(fd, text, sizeof(text));
	if (n < 0)
		return -errno;
	file = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
	good = file && take_notes(notes, file);
	json_decref(file);
	return good ? 0 : -EBADMSG;
}

/* ---------------------------------------------------------------- writing */

static char *make_text(const struct pp_notes *notes)
{
	json_t *told = json_object();
	json_t *file = json_object();
	char *text;

	for (int i = 0; i < PP_NOTES_SINK_CNT; i++)
		if (notes->told[i] != PP_NOTES_NONE)
			json_object_set_new(told, sinks[i], json_integer(notes->told[i]));
	json_object_set_new(file, "store", json_string(notes->identity));
	json_object_set_new(file, "told", told);
	text = json_dumps(file, JSON_COMPACT);
	json_decref(file);
	return text;
}

int pp_notes_save(const struct pp_notes *notes)
{
	_cleanup_free_ char *text = make_text(notes);
	_cleanup_close_ int fd = -EBADF;
	size_t len = text ? strlen(text) : 0;
	ssize_t n;

	if (!text)
		return -ENOMEM;
	fd = openat(notes->directory, NEXT, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	if (n != (ssize_t)len)
		return n < 0 ? -errno : -ENOSPC;
	if (fdatasync(fd) < 0 || renameat(notes->directory, NEXT, notes->directory, NAME) < 0)
		return -errno;
	/* the name, too, outlives a loss of power */
	return fsync(notes->directory) < 0 ? -errno : 0;
}

/* ---------------------------------------------------------------- life */

static int open_directory(struct pp_notes *notes, const char *directory)
{
	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return -errno;
	notes->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (notes->directory < 0)
		return -errno;
	notes->lock =
		openat(notes->directory, LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (notes->lock < 0)
		return -errno;
	if (flock(notes->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return read_notes(notes);
}

int pp_notes_open(struct pp_notes *ret_notes, const char *directory, struct pathprof_error *error)
{
	int r;

	*ret_notes = (struct pp_notes){.directory = -EBADF, .lock = -EBADF};
	for (int i = 0; i < PP_NOTES_SINK_CNT; i++)
		ret_notes->told[i] = PP_NOTES_NONE;
	r = open_directory(ret_notes, directory);
	if (r == -EBUSY)
		return pathprof_fail(error, r,
				     "%s: another pathprof-relay has it: stop that one, or name "
				     "another directory with --state",
				     directory);
	if (r == -EBADMSG)
		return pathprof_fail(error, r,
				     "%s/" NAME ": damaged: remove it; what was told before may "
				     "then not be known any more",
				     directory);
	if (r < 0)
		return pathprof_fail(error, r, "%s: %s: name another directory with --state",
				     directory, strerror(-r));
	return 0;
}

void pp_notes_release(struct pp_notes *notes)
{
	pp_cleanup_fd(&notes->lock);
	pp_cleanup_fd(&notes->directory);
}
