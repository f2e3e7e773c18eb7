// SPDX-License-Identifier: GPL-2.0-or-later
/* Pinned baselines: see pinned.h. */
#include "pinned.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/store.h"

#define SUFFIX ".baseline"

void pp_pinned_release(struct pp_pinned *pinned)
{
	for (uint32_t i = 0; i < pinned->file_cnt; i++)
		pathprof_pinned_release(&pinned->files[i].pinned);
	pinned->file_cnt = 0;
	pinned->read = (struct timespec){0};
}

/* A baseline is one window, or several of one kind. ANY: it has none. */
static int kind_of(const char *path, enum pathprof_window_kind *ret_kind,
		   struct pathprof_error *error)
{
	struct pathprof_store *store = NULL;
	unsigned int kinds;
	int r = pathprof_store_open(&store, path, PATHPROF_STORE_READ, error);

	if (r == 0)
		r = pathprof_store_kinds(store, NULL, &kinds, ret_kind, error);
	pathprof_store_free(store);
	return r;
}

/* Whether current windows can be compared with this baseline; logs why not. */
static bool is_comparable(const struct pp_pinned *pinned, const char *path)
{
	struct pathprof_error error = {""};
	enum pathprof_window_kind kind = PATHPROF_KIND_ANY;

	/* a file that cannot be read is reported when all of it is read */
	if (kind_of(path, &kind, &error) < 0 || kind == PATHPROF_KIND_ANY ||
	    pinned->kind == PATHPROF_KIND_ANY || kind == pinned->kind)
		return true;
	pp_log(LOG_WARNING,
	       "baseline not used: %s: its windows were %s, and the windows of now, which are %s, "
	       "cannot be compared with them: make it again with pathprofctl baseline set "
	       "--replace",
	       path, pathprof_window_kind_text(kind), pathprof_window_kind_text(pinned->kind));
	return false;
}

/* ---------------------------------------------------------------- the directory */

static bool is_baseline(const char *file, char *name, size_t size)
{
	size_t len = strlen(file), suffix_len = sizeof(SUFFIX) - 1;

	if (file[0] == '.' || len <= suffix_len || len - suffix_len >= size ||
	    strcmp(file + len - suffix_len, SUFFIX) != 0)
		return false;
	memcpy(name, file, len - suffix_len);
	name[len - suffix_len] = '\0';
	return true;
}

static void read_named(struct pp_pinned *pinned, const char *file)
{
	struct pp_pinned_file new = {.name = ""};
	struct pathprof_error error = {""};
	char path[PP_CONFIG_PATH_MAX + 300];

	if (!is_baseline(file, new.name, sizeof(new.name)))
		return;
	snprintf(path, sizeof(path), "%s/%s", pinned->directory, file);
	if (pinned->file_cnt == PP_PINNED_MAX) {
		pp_log(LOG_WARNING,
		       "baseline not used: %s: more than %d baselines: remove one of them", path,
		       PP_PINNED_MAX);
		return;
	}
	if (!is_comparable(pinned, path))
		return;
	if (pathprof_pinned_read(&new.pinned, path, pinned->kind == PATHPROF_KIND_WEIGHED, &error) <
	    0) {
		pp_log(LOG_WARNING, "baseline not used: %s", error.text);
		pathprof_pinned_release(&new.pinned);
		return;
	}
	pp_log(LOG_INFO, "baseline %s read", new.name);
	pinned->files[pinned->file_cnt++] = new;
}

static int any(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* One that cannot be read is tried again at the next refresh. */
static void refuse_directory(struct pp_pinned *pinned, int code)
{
	pinned->read = (struct timespec){0};
	if (pp_log_once(&pinned->trouble, code))
		pp_log(LOG_WARNING,
		       "no baseline is used: %s: %s: pathprofd needs a directory that it may read",
		       pinned->directory, strerror(code));
}

static void read_directory(struct pp_pinned *pinned)
{
	struct dirent **entries = NULL;
	int cnt = scandir(pinned->directory, &entries, any, alphasort);

	if (cnt < 0)
		refuse_directory(pinned, errno);
	for (int i = 0; i < cnt; i++) {
		read_named(pinned, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

void pp_pinned_set_kind(struct pp_pinned *pinned, enum pathprof_window_kind kind)
{
	if (pinned->kind != kind)
		pp_pinned_release(pinned);
	pinned->kind = kind;
}

/* Files are renamed into place, so a new one always changes the directory's time. */
void pp_pinned_refresh(struct pp_pinned *pinned)
{
	struct stat st;

	if (stat(pinned->directory, &st) < 0) {
		pp_pinned_release(pinned);
		return;
	}
	if (st.st_mtim.tv_sec == pinned->read.tv_sec && st.st_mtim.tv_nsec == pinned->read.tv_nsec)
		return;
	pp_pinned_release(pinned);
	pinned->read = st.st_mtim;
	read_directory(pinned);
}

/* ---------------------------------------------------------------- asking */

struct pathprof_baseline pp_pinned_baseline(struct pp_pinned *pinned, const char *name,
					    uint64_t group, const char *binary,
					    const char *container)
{
	struct pathprof_baseline baseline = {.tally = NULL};
	struct pathprof_error error = {""};

	for (uint32_t i = 0; i < pinned->file_cnt; i++)
		if (!strcmp(pinned->files[i].name, name))
			baseline = pathprof_pinned_baseline(&pinned->files[i].pinned, group, binary,
							    container, &error);
	if (error.text[0])
		pp_log(LOG_WARNING, "names in a baseline not used: %s", error.text);
	return baseline;
}
