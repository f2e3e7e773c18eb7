// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of programs that the hub asks for: see upload.h. */
#include "upload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "files.h"
#include "pathprof/build_id.h"
#include "pathprof/foreign.h"

#define ROUTE     "/v1/files/"
#define ASKED_MAX 8 /* from one answer */

#define _cleanup_answer_ _cleanup_(hub_answer_release)

struct sought {
	const char *id;
	char *path; /* NULL: no build with that id ran here */
};

static int take_path(void *context, const struct pathprof_binary_row *row)
{
	struct sought *sought = context;
	char id[PATHPROF_BUILD_ID_TEXT_LEN];

	if (row->binary_id.kind != PATHPROF_ID_BUILD_ID || !row->name || row->name[0] != '/' ||
	    strcmp(pathprof_build_id_text(&row->binary_id, id), sought->id) != 0)
		return 0;
	sought->path = strdup(row->name);
	return 1;
}

/* Returns -1 if it is not a regular file any more, another build, too large, or not readable by
 * everybody. */
static int open_build(const char *path, const char *id, uint64_t *ret_bytes)
{
	struct pathprof_build_id have;
	struct pathprof_error error = {""};
	int fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, &error);
	char text[PATHPROF_BUILD_ID_TEXT_LEN];
	struct stat status;

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) == 0 && (status.st_mode & S_IROTH) &&
	    (uint64_t)status.st_size <= HUB_FILE_BYTES &&
	    pathprof_build_id_read_fd(&have, fd, path, &error) == 0 &&
	    have.kind == PATHPROF_ID_BUILD_ID &&
	    strcmp(pathprof_build_id_text(&have, text), id) == 0 && lseek(fd, 0, SEEK_SET) == 0) {
		*ret_bytes = (uint64_t)status.st_size;
		return fd;
	}
	close(fd);
	return -1;
}

static bool upload(struct hub_client *client, const struct sought *sought)
{
	_cleanup_answer_ struct hub_answer answer = {NULL, 0, 0, 0};
	char route[sizeof(ROUTE) + PATHPROF_BUILD_ID_TEXT_LEN];
	uint64_t bytes = 0;
	_cleanup_close_ int fd = open_build(sought->path, sought->id, &bytes);

	if (fd < 0)
		return false;
	snprintf(route, sizeof(route), ROUTE "%s", sought->id);
	hub_client_put(client, route, fd, bytes, &answer);
	if (answer.status == 200)
		hub_note("%s: it has %s, the file of build %s, which it asked for",
			 client->options->hub, sought->path, sought->id);
	else
		hub_client_say(client, sought->path, &answer);
	return answer.status == 200;
}

uint64_t hub_upload_files(struct hub_client *client, struct pathprof_store *store,
			  const json_t *wanted)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < json_array_size(wanted) && i < ASKED_MAX; i++) {
		struct sought sought = {.id = json_string_value(json_array_get(wanted, i))};
		const struct pathprof_filter filter = {.binary = sought.id};
		struct pathprof_error error = {""};

		if (!sought.id || strlen(sought.id) >= PATHPROF_BUILD_ID_TEXT_LEN ||
		    strlen(sought.id) < 8 || sought.id[strspn(sought.id, "0123456789abcdef")])
			continue;
		if (pathprof_store_binaries(store, &filter, take_path, &sought, &error) >= 0 &&
		    sought.path)
			cnt += upload(client, &sought);
		free(sought.path);
	}
	return cnt;
}
