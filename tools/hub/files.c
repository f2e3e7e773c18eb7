// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of builds that hosts upload: see files.h. */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "patience.h"

#define WANTED_MAX 8
#define WANTED_NS  (86400 * PP_NSEC_PER_SEC)
#define FILES_MAX  64
#define BYTES_MAX  (UINT64_C(1) << 30)
#define DIGITS_MIN 8
#define COMES      "/comes"
#define SUFFIX     ".files"
#define WHY_BYTES  512

static const char not_an_id[] =
	"behind /v1/files/ a build-id is to stand: 8 to 40 digits of hex, an even number of them, "
	"in small letters";

struct wanted {
	char id[PATHPROF_BUILD_ID_TEXT_LEN]; /* "": none */
	uint64_t asked_ns;
};

struct hub_files {
	char *directory;
	int64_t keep_s;
	struct wanted wanted[WANTED_MAX];
	size_t cnt;
	uint64_t bytes;
	struct hub_upload *upload; /* under way; NULL: none */
	struct hub_patience patience;
};

struct hub_upload {
	struct hub_files *files;
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	char path[HUB_FILES_PATH];
	char host[PATHPROF_PARCEL_HOST_BYTES];
	uint64_t begin_ns;
	bool is_kept;
	int fd;
	int code; /* 0, or the -errno of what could not be written */
	uint64_t bytes, told;
	char why[WHY_BYTES];
};

/* Two digits a byte, and nothing that could lead out of a directory. */
static bool is_id(const char *text)
{
	size_t len = strlen(text);

	return len >= DIGITS_MIN && len < PATHPROF_BUILD_ID_TEXT_LEN && len % 2 == 0 &&
	       !text[strspn(text, "0123456789abcdef")];
}

static bool place(const char *directory, const char *id, char *ret_path, size_t size)
{
	int n = snprintf(ret_path, size, "%s/%.2s/%s", directory, id, id + 2);

	return n > 0 && (size_t)n < size;
}

bool hub_files_find(const char *db, const char *id, char *ret_path, size_t size)
{
	char directory[HUB_FILES_PATH];
	int n = snprintf(directory, sizeof(directory), "%s" SUFFIX, db);

	return n > 0 && (size_t)n < sizeof(directory) && is_id(id) &&
	       place(directory, id, ret_path, size) && access(ret_path, R_OK) == 0;
}

static bool is_there(const struct hub_files *files, const char *id)
{
	char path[HUB_FILES_PATH];

	return place(files->directory, id, path, sizeof(path)) && access(path, F_OK) == 0;
}

/* ---------------------------------------------------------------- what there is */

/*
 * A crash may have left a file without its contents, which has no build-id any more. A file that
 * cannot be opened now, for want of descriptors say, is not taken for broken.
 */
static bool is_broken(const char *path, const char *id)
{
	struct pathprof_build_id have;
	struct pathprof_error error = {""};
	char text[PATHPROF_BUILD_ID_TEXT_LEN];

	if (pathprof_build_id_read_file(&have, path, &error) < 0)
		return false;
	if (have.kind == PATHPROF_ID_BUILD_ID &&
	    strcmp(pathprof_build_id_text(&have, text), id) == 0)
		return false;
	hub_note("%s: removed, since it is not the file of build %s", path, id);
	return true;
}

/* Counts the file; or removes it if it is old or, at the first look, not whole. */
static void take_stock(struct hub_files *files, const char *id, bool is_first)
{
	char path[HUB_FILES_PATH];
	int64_t now_s = pp_realtime_ns() / (int64_t)PP_NSEC_PER_SEC;
	struct stat status;

	if (!is_id(id) || !place(files->directory, id, path, sizeof(path)) ||
	    lstat(path, &status) < 0)
		return;
	if (status.st_mtime < now_s - files->keep_s || (is_first && is_broken(path, id))) {
		unlink(path);
		return;
	}
	files->cnt++;
	files->bytes += (uint64_t)status.st_size;
}

static void look_into(struct hub_files *files, const char *begin, bool is_first)
{
	char path[HUB_FILES_PATH], id[2 * PATHPROF_BUILD_ID_TEXT_LEN];
	const struct dirent *entry;
	DIR *directory = NULL;

	if (strlen(begin) == 2 && begin[0] != '.' &&
	    snprintf(path, sizeof(path), "%s/%s", files->directory, begin) < (int)sizeof(path))
		directory = opendir(path);
	while (directory && (entry = readdir(directory)))
		if (snprintf(id, sizeof(id), "%s%s", begin, entry->d_name) < (int)sizeof(id))
			take_stock(files, id, is_first);
	if (directory)
		closedir(directory);
}

static void look(struct hub_files *files, bool is_first)
{
	DIR *directory = opendir(files->directory);
	const struct dirent *entry;

	files->cnt = 0;
	files->bytes = 0;
	while (directory && (entry = readdir(directory)))
		look_into(files, entry->d_name, is_first);
	if (directory)
		closedir(directory);
}

int hub_files_new(struct hub_files **ret_files, const char *db, int64_t keep_s,
		  struct pathprof_error *error)
{
	struct hub_files *files = calloc(1, sizeof(*files));
	char path[HUB_FILES_PATH];

	if (!files || asprintf(&files->directory, "%s" SUFFIX, db) < 0) {
		free(files);
		return pathprof_fail(error, -ENOMEM, "out of memory");
	}
	files->keep_s = keep_s;
	if (snprintf(path, sizeof(path), "%s" COMES, files->directory) < (int)sizeof(path))
		unlink(path);
	look(files, true);
	*ret_files = files;
	return 0;
}

void hub_files_free(struct hub_files *files)
{
	if (!files)
		return;
	free(files->directory);
	free(files);
}

void hub_files_retain(struct hub_files *files)
{
	look(files, false);
}

/* ---------------------------------------------------------------- what is wanted */

static bool is_current(const struct wanted *wanted)
{
	return wanted->id[0] && pp_monotonic_ns() - wanted->asked_ns < WANTED_NS;
}

static struct wanted *find_wanted(struct hub_files *files, const char *id)
{
	for (size_t i = 0; i < WANTED_MAX; i++)
		if (is_current(&files->wanted[i]) && strcmp(files->wanted[i].id, id) == 0)
			return &files->wanted[i];
	return NULL;
}

/* Returns a free entry, or the one asked for the longest time ago. */
static struct wanted *oldest_wanted(struct hub_files *files)
{
	struct wanted *oldest = &files->wanted[0];

	for (size_t i = 0; i < WANTED_MAX; i++) {
		if (!is_current(&files->wanted[i]))
			return &files->wanted[i];
		if (files->wanted[i].asked_ns < oldest->asked_ns)
			oldest = &files->wanted[i];
	}
	return oldest;
}

void hub_files_want(struct hub_files *files, const char *id)
{
	struct wanted *wanted = find_wanted(files, id);

	if (!is_id(id) || is_there(files, id))
		return;
	if (!wanted)
		wanted = oldest_wanted(files);
	snprintf(wanted->id, sizeof(wanted->id), "%s", id);
	wanted->asked_ns = pp_monotonic_ns();
}

static bool has_room(const struct hub_files *files, uint64_t bytes)
{
	return files->cnt < FILES_MAX && files->bytes <= BYTES_MAX &&
	       bytes <= BYTES_MAX - files->bytes;
}

json_t *hub_files_wanted(const struct hub_files *files)
{
	json_t *list = json_array();

	for (size_t i = 0; i < WANTED_MAX && has_room(files, 0); i++)
		if (is_current(&files->wanted[i]))
			json_array_append_new(list, json_string(files->wanted[i].id));
	return list;
}

/* id is a valid build-id. */
static bool open_file(const struct hub_files *files, const char *id, int *ret_fd,
		      uint64_t *ret_bytes)
{
	char path[HUB_FILES_PATH];
	struct stat status;
	int fd = -1;

	if (place(files->directory, id, path, sizeof(path)))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	if (fstat(fd, &status) < 0) {
		close(fd);
		return false;
	}
	*ret_fd = fd;
	*ret_bytes = (uint64_t)status.st_size;
	return true;
}

/* Whether hosts of the tenant ran it, which is assumed if the database cannot be read. id is a
 * valid build-id. */
static bool is_known(struct pathprof_store *store, const char *id)
{
	struct pathprof_build_id build = {.kind = PATHPROF_ID_BUILD_ID};
	struct pathprof_error error = {""};
	bool knows = true;

	for (; id[0] && id[1]; id += 2)
		sscanf(id, "%2hhx", &build.bytes[build.len_bytes++]);
	if (pathprof_store_knows_build(store, &build, &knows, &error) < 0)
		hub_note("%s", error.text);
	return knows;
}

unsigned int hub_files_open(struct hub_files *files, struct pathprof_store *store, const char *id,
			    int *ret_fd, uint64_t *ret_bytes, const char **ret_why)
{
	*ret_why = not_an_id;
	if (!is_id(id))
		return 400;
	if (open_file(files, id, ret_fd, ret_bytes))
		return 200;
	*ret_why = "no host has sent that it ran this build: look whether that is its build-id, "
		   "and ask again once hosts that run it have sent";
	if (!is_known(store, id))
		return 404;
	*ret_why = "no host has uploaded the file of this build, and none is asked for it: 64 "
		   "files, or 1 GiB of them, are there already, and the oldest go with the parcels "
		   "of their time";
	hub_files_want(files, id);
	if (has_room(files, 0))
		*ret_why = "no host has uploaded the file of this build: those that may (send "
			   "--upload) are asked for it; ask again once one that ran it has sent";
	return 404;
}

/* ---------------------------------------------------------------- one that comes */

static unsigned int judge(struct hub_files *files, const char *host, const char *id, uint64_t bytes,
			  const char **ret_why)
{
	*ret_why = not_an_id;
	if (!is_id(id))
		return 400;
	*ret_why = "the length of a file is to be said before it comes";
	if (bytes == UINT64_MAX)
		return 411;
	*ret_why = "no file is taken that is larger than 256 MiB";
	if (bytes > HUB_FILE_BYTES)
		return 413;
	*ret_why = "the file of this build is there already";
	if (is_there(files, id))
		return 409;
	*ret_why = "the file of this build was not asked for";
	if (!find_wanted(files, id))
		return 404;
	*ret_why = "there is no room for this file: 64 files, or 1 GiB of them, are there already";
	if (!has_room(files, bytes))
		return 507;
	*ret_why = "this host held up others' files with some that did not come: it is to try "
		   "again later";
	if (hub_patience_is_out(&files->patience, host, pp_monotonic_ns()))
		return 503;
	*ret_why = "another file comes just now";
	return files->upload ? 503 : 200;
}

static int create(struct hub_upload *upload)
{
	const struct hub_files *files = upload->files;

	if (mkdir(files->directory, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (snprintf(upload->path, sizeof(upload->path), "%s" COMES, files->directory) >=
	    (int)sizeof(upload->path))
		return -ENAMETOOLONG;
	upload->fd = open(upload->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	return upload->fd < 0 ? -errno : 0;
}

unsigned int hub_upload_begin(struct hub_files *files, const char *host, const char *id,
			      uint64_t bytes, struct hub_upload **ret_upload, const char **ret_why)
{
	unsigned int status = judge(files, host, id, bytes, ret_why);
	struct hub_upload *upload;

	if (status != 200)
		return status;
	*ret_why = "out of memory";
	upload = calloc(1, sizeof(*upload));
	if (!upload)
		return 503;
	upload->files = files;
	upload->told = bytes;
	upload->fd = -1;
	upload->begin_ns = pp_monotonic_ns();
	snprintf(upload->host, sizeof(upload->host), "%s", host);
	snprintf(upload->id, sizeof(upload->id), "%s", id);
	upload->code = create(upload);
	files->upload = upload;
	*ret_upload = upload;
	return 200;
}

/* A failed write is told at the end, when an answer can be given. */
bool hub_upload_part(struct hub_upload *upload, const void *part, size_t bytes)
{
	size_t done = 0;

	if (bytes > upload->told - upload->bytes)
		return false;
	while (upload->code == 0 && done < bytes) {
		ssize_t n = write(upload->fd, (const char *)part + done, bytes - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			upload->code = -errno;
	}
	upload->bytes += bytes;
	return true;
}

static void say_unwritten(struct hub_upload *upload, int code)
{
	snprintf(upload->why, sizeof(upload->why), "the hub cannot write into %s: %s%s",
		 upload->files->directory, strerror(-code),
		 code == -ENOSPC ? ": free some space there" : "");
}

/* Decides whether the received file is accepted. */
static unsigned int judge_file(struct hub_upload *upload)
{
	struct pathprof_build_id id = {.kind = PATHPROF_ID_NONE};
	struct pathprof_error error = {""};
	char text[PATHPROF_BUILD_ID_TEXT_LEN];

	if (upload->code < 0) {
		say_unwritten(upload, upload->code);
		return 503;
	}
	if (upload->bytes != upload->told ||
	    pathprof_build_id_read_fd(&id, upload->fd, "it", &error) < 0 ||
	    id.kind != PATHPROF_ID_BUILD_ID) {
		snprintf(upload->why, sizeof(upload->why),
			 "the file is no ELF file with a build-id");
		return 400;
	}
	if (strcmp(pathprof_build_id_text(&id, text), upload->id) == 0)
		return 200;
	snprintf(upload->why, sizeof(upload->why), "the file is that of another build, %s", text);
	return 400;
}

/* Readers find it under its name when it is whole. */
static int publish(struct hub_upload *upload)
{
	struct hub_files *files = upload->files;
	char path[HUB_FILES_PATH], *slash;

	if (!place(files->directory, upload->id, path, sizeof(path)))
		return -ENAMETOOLONG;
	slash = strrchr(path, '/');
	*slash = 0;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	*slash = '/';
	if (rename(upload->path, path) < 0)
		return -errno;
	files->cnt++;
	files->bytes += upload->bytes;
	return 0;
}

unsigned int hub_upload_finish(struct hub_upload *upload, const char **ret_why)
{
	unsigned int status = judge_file(upload);
	struct wanted *wanted = find_wanted(upload->files, upload->id);
	int r = status == 200 ? publish(upload) : 0;

	*ret_why = upload->why;
	if (r < 0) {
		say_unwritten(upload, r);
		return 503;
	}
	upload->is_kept = status == 200;
	if (status == 200 && wanted)
		wanted->id[0] = 0;
	return status;
}

void hub_upload_end(struct hub_upload *upload)
{
	if (!upload)
		return;
	upload->files->upload = NULL;
	if (!upload->is_kept)
		hub_patience_use(&upload->files->patience, upload->host, upload->begin_ns,
				 pp_monotonic_ns());
	if (upload->fd >= 0) {
		close(upload->fd);
		unlink(upload->path); /* finished, it has another name */
	}
	free(upload);
}
