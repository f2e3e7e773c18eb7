// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code files by identity: see process_code.h. A name may lead to another file by now, so a file
 * that is opened must have the identity that was mapped.
 */
#include "process_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "../track/track_remote.h"
#include "pathprof/foreign.h"

/* A file that could not be opened is tried again after this time. */
#define RETRY_NS UINT64_C(10000000000)

struct entry {
	struct pathprof_build_id id;
	struct pathprof_code *code; /* NULL: not opened, tried again at retry_ns */
	uint64_t retry_ns;
};

struct pp_process_codes {
	uint32_t cnt;
	uint32_t last; /* index of the last hit: most look-ups ask for it again */
	struct entry entries[PP_PROCESS_CODE_MAX];
};

int pp_process_codes_new(struct pp_process_codes **ret_codes)
{
	struct pp_process_codes *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return -ENOMEM;
	*ret_codes = codes;
	return 0;
}

void pp_process_codes_clear(struct pp_process_codes *codes)
{
	for (uint32_t i = 0; i < codes->cnt; i++)
		pathprof_code_free(codes->entries[i].code);
	codes->cnt = 0;
	codes->last = 0;
}

void pp_process_codes_free(struct pp_process_codes *codes)
{
	if (codes)
		pp_process_codes_clear(codes);
	free(codes);
}

bool pp_process_codes_are_full(const struct pp_process_codes *codes)
{
	return codes->cnt == PP_PROCESS_CODE_MAX;
}

/* ---------------------------------------------------------------- opening */

static int open_below(int root_fd, const char *name, const struct pathprof_build_id *id,
		      struct pathprof_code **ret_code)
{
	_cleanup_close_ int fd = pathprof_foreign_open(root_fd, name, NULL);
	const struct pathprof_code_file file = {.fd = fd, .root_fd = -1, .path = name};

	return fd < 0 ? fd : pathprof_code_open_fd(ret_code, &file, id, NULL);
}

/* Opens the name below the process' root, or below our own when the process is gone. */
static int open_code(const struct pathprof_build_id *id, const char *name, pid_t pid,
		     struct pathprof_code **ret_code)
{
	_cleanup_close_ int root_fd = -EBADF;
	int r = -ENOENT;

	if (!strcmp(name, "[vdso]"))
		return pathprof_code_open_vdso(ret_code, id, NULL);
	if (name[0] != '/')
		return -ENOENT;
	/* a file server that does not answer would block us */
	if (!pp_remote_path(pid, name))
		root_fd = pathprof_foreign_root(pid);
	if (root_fd >= 0)
		r = open_below(root_fd, name, id, ret_code);
	if (r && pp_remote_path(getpid(), name))
		return -EREMOTE;
	return r ? open_below(PATHPROF_OWN_ROOT, name, id, ret_code) : 0;
}

/* ---------------------------------------------------------------- looking up */

static struct entry *find(struct pp_process_codes *codes, const struct pathprof_build_id *id)
{
	if (codes->last < codes->cnt &&
	    pathprof_build_id_equal(&codes->entries[codes->last].id, id))
		return &codes->entries[codes->last];
	for (uint32_t i = 0; i < codes->cnt; i++)
		if (pathprof_build_id_equal(&codes->entries[i].id, id)) {
			codes->last = i;
			return &codes->entries[i];
		}
	return NULL;
}

int pp_process_codes_get(struct pp_process_codes *codes, const struct pathprof_build_id *id,
			 const char *name, pid_t pid, uint64_t now_ns,
			 struct pathprof_code **ret_code)
{
	struct entry *entry = find(codes, id);

	if (!entry && pp_process_codes_are_full(codes))
		return -ENOSPC;
	if (!entry) {
		entry = &codes->entries[codes->cnt++];
		*entry = (struct entry){.id = *id};
	}
	if (!entry->code && now_ns >= entry->retry_ns) {
		entry->retry_ns = now_ns + RETRY_NS;
		if (open_code(id, name, pid, &entry->code))
			entry->code = NULL;
	}
	if (!entry->code)
		return -ENOENT;
	*ret_code = entry->code;
	return 0;
}
