// SPDX-License-Identifier: GPL-2.0-or-later
/* Code by the processes that run it: see live_code.h. */
#include "live_code.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../ctl.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "apart.h"
#include "pathprof/foreign.h"

#define TRIES_MAX 32 /* processes that have the name mapped; that there are more is said */

struct live_code {
	struct pathprof_store *store;
	bool asked;
	pid_t *pids;
	size_t cnt, room;
};

struct search {
	const struct pathprof_build_id *id;
	const char *name;
	struct pathprof_code *code; /* NULL: not found yet */
};

struct live_code *live_code_new(struct pathprof_store *store)
{
	struct live_code *live = ctl_alloc(sizeof(*live));

	live->store = store;
	return live;
}

void live_code_free(struct live_code *live)
{
	if (!live)
		return;
	free(live->pids);
	free(live);
}

static bool open_path(struct search *search, const char *path)
{
	struct pathprof_error unsaid;

	if (apart_open_code(&search->code, path, search->id, &unsaid) < 0)
		return false;
	(void)pathprof_code_call(search->code, search->name);
	return true;
}

/* No link in a container leads out of its root. */
static bool open_in_root(struct search *search, pid_t pid)
{
	_cleanup_close_ int root_fd = pathprof_foreign_root(pid);
	_cleanup_close_ int fd =
		root_fd < 0 ? -EBADF : pathprof_foreign_look(root_fd, search->name);
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fd >= 0 && open_path(search, path);
}

/* Whether the recorded process still lives, and its number is not that of another one. */
static bool lives(const struct pathprof_process_row *row)
{
	char path[40];
	_cleanup_free_ char *stat = NULL;
	unsigned long long start_time = 0;
	const char *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)row->pid);
	stat = row->pid ? ctl_read_line(path) : NULL;
	state = stat ? strrchr(stat, ')') : NULL;
	return state &&
	       sscanf(state,
		      ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
		      "%*d %*d %*d %llu",
		      &start_time) == 1 &&
	       start_time == row->start_time;
}

static int take_process(void *context, const struct pathprof_process_row *row)
{
	struct live_code *live = context;

	if (!lives(row))
		return 0;
	ctl_grow(&live->pids, live->cnt, &live->room);
	live->pids[live->cnt++] = (pid_t)row->pid;
	return 0;
}

static void ask(struct live_code *live)
{
	const struct pathprof_filter all = {0};

	if (!live->asked && live->store)
		pathprof_store_processes(live->store, &all, take_process, live, NULL);
	live->asked = true;
}

/* Whether it has mapped something of the name: "/usr/bin/x", "/usr/bin/x (deleted)". */
static bool has_mapped(pid_t pid, const char *name)
{
	_cleanup_fclose_ FILE *maps = NULL;
	char path[40], line[4352];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (!found && maps && fgets(line, sizeof(line), maps))
		found = strstr(line, name) != NULL;
	return found;
}

static bool open_of_process(struct search *search, pid_t pid)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return open_path(search, path) || (search->name[0] == '/' && open_in_root(search, pid));
}

/* Says that further processes, which were not tried, may have the code. */
static void tell_bound(const char *name)
{
	ctl_note("%s: its code is no more in its file, and was not found in %d processes that have "
		 "a file of that name mapped; others were not tried, so its functions may lack "
		 "names",
		 name, TRIES_MAX);
}

int live_code_open(struct live_code *live, struct pathprof_code **ret_code,
		   const struct pathprof_build_id *id, const char *name)
{
	struct search search = {.id = id, .name = name};
	unsigned int tries = 0;

	if (!id->len_bytes || !name[0])
		return -ENOENT;
	ask(live);
	for (size_t i = 0; i < live->cnt; i++) {
		if (!has_mapped(live->pids[i], text_base_name(name)))
			continue;
		if (tries++ == TRIES_MAX) {
			tell_bound(name);
			break;
		}
		if (open_of_process(&search, live->pids[i])) {
			*ret_code = search.code;
			return 0;
		}
	}
	return -ENOENT;
}
