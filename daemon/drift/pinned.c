// SPDX-License-Identifier: GPL-2.0-or-later
/* Pinned baselines: see pinned.h. */
#include "pinned.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../log.h"
#include "pathprof/events.h"
#include "pathprof/store.h"

#define SUFFIX ".baseline"

struct reading {
	struct pp_pinned_file *file;
	struct pp_counts counts; /* of the part that is being read */
	bool weighed;
	size_t total;
	struct pathprof_build_id id;
	uint64_t group;
	char *name, *container;
};

static void release_file(struct pp_pinned_file *file)
{
	for (uint32_t i = 0; i < file->part_cnt; i++) {
		free(file->parts[i].name);
		free(file->parts[i].container);
		pp_counts_release(&file->parts[i].counts);
		pp_portable_unref(file->parts[i].portable);
	}
	free(file->parts);
	*file = (struct pp_pinned_file){.name = ""};
}

void pp_pinned_release(struct pp_pinned *pinned)
{
	for (uint32_t i = 0; i < pinned->file_cnt; i++)
		release_file(&pinned->files[i]);
	pinned->file_cnt = 0;
	pinned->read = (struct timespec){0};
}

/* ---------------------------------------------------------------- one file */

/* id and name may be of a part of the file. */
static struct pp_pinned_part *add_part(struct pp_pinned_file *file,
				       const struct pathprof_build_id *id, const char *name)
{
	struct pp_pinned_part part = {
		.id = *id, .group = pathprof_event_group(id), .name = strdup(name)};
	struct pp_pinned_part *parts =
		realloc(file->parts, (file->part_cnt + 1) * sizeof(*file->parts));

	if (parts)
		file->parts = parts;
	if (!parts || !part.name) {
		free(part.name);
		return NULL;
	}
	parts[file->part_cnt] = part;
	return &parts[file->part_cnt++];
}

/* Takes over the container's name. */
static int end_part(struct reading *r)
{
	struct pp_pinned_part *part;

	if (!r->counts.cnt)
		return 0;
	if (pp_counts_sort(&r->counts) < 0)
		return -EBADMSG;
	part = add_part(r->file, &r->id, r->name);
	if (!part)
		return -ENOMEM;
	part->container = r->container;
	r->container = NULL;
	int code = pp_counts_join(&part->counts, &r->counts);
	pp_counts_clear(&r->counts);
	return code;
}

static int begin_part(struct reading *r, const struct pathprof_container_path_row *row)
{
	int code = end_part(r);

	if (code < 0)
		return code;
	free(r->name);
	free(r->container);
	r->name = strdup(row->binary_name);
	r->container = strdup(row->container);
	r->id = row->binary_id;
	r->group = pathprof_event_group(&row->binary_id);
	return r->name && r->container ? 0 : -ENOMEM;
}

static int take_row(void *context, const struct pathprof_container_path_row *row)
{
	struct reading *r = context;
	uint64_t group = pathprof_event_group(&row->binary_id);

	if (!r->container || group != r->group || strcmp(r->container, row->container) != 0) {
		int code = begin_part(r, row);

		if (code < 0)
			return code;
	}
	if (r->total++ == PP_PINNED_EVENTS_MAX)
		return -E2BIG;
	return pp_counts_append_row(&r->counts, group, row, r->weighed);
}

/* Where a binary ran in several containers: all of them together, behind the single ones. */
static int add_together(struct pp_pinned_file *file)
{
	uint32_t single_cnt = file->part_cnt;

	for (uint32_t i = 0; i < single_cnt; i++) {
		uint64_t group = file->parts[i].group;
		struct pp_pinned_part *all;
		int code = 0;

		if ((i && file->parts[i - 1].group == group) || i + 1 == single_cnt ||
		    file->parts[i + 1].group != group)
			continue;
		all = add_part(file, &file->parts[i].id, file->parts[i].name);
		if (!all)
			return -ENOMEM;
		for (uint32_t j = i; code == 0 && j < single_cnt && file->parts[j].group == group;
		     j++)
			code = pp_counts_join(&all->counts, &file->parts[j].counts);
		if (code < 0)
			return code;
	}
	return 0;
}

static int read_file(struct pp_pinned_file *file, const char *path, bool weighed,
		     struct pathprof_error *error)
{
	struct reading reading = {.file = file, .weighed = weighed};
	struct pathprof_store *store = NULL;
	int code = pathprof_store_open(&store, path, PATHPROF_STORE_READ, error);

	if (code < 0)
		return code;
	code = pathprof_store_container_paths(store, NULL, take_row, &reading, error);
	if (code == 0)
		code = end_part(&reading);
	if (code == 0)
		code = add_together(file);
	if (code < 0 && !error->text[0])
		pathprof_fail(error, code, "%s: %s", path, strerror(-code));
	free(reading.name);
	free(reading.container);
	pp_counts_release(&reading.counts);
	pathprof_store_free(store);
	return code;
}

/* A baseline is one window, or several of one kind. ANY: it has none. */
static int kind_of(const char *path, enum pathprof_window_kind *ret_kind,
		   struct pathprof_error *error)
{
	struct pathprof_store *store = NULL;
	unsigned int kinds;
	int code = pathprof_store_open(&store, path, PATHPROF_STORE_READ, error);

	if (code == 0)
		code = pathprof_store_kinds(store, NULL, &kinds, ret_kind, error);
	pathprof_store_free(store);
	return code;
}

/* Whether the windows at hand can be held against it; says why not. */
static bool is_comparable(const struct pp_pinned *pinned, const char *path)
{
	struct pathprof_error error = {""};
	enum pathprof_window_kind kind = PATHPROF_KIND_ANY;

	/* what cannot be read is told by who reads the rest */
	if (kind_of(path, &kind, &error) < 0 || kind == PATHPROF_KIND_ANY ||
	    pinned->kind == PATHPROF_KIND_ANY || kind == pinned->kind)
		return true;
	pp_log(LOG_WARNING,
	       "baseline passed over: %s: its windows were %s, and windows that are %s cannot be "
	       "held "
	       "against them: make it anew with pathprofctl baseline set --replace",
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
		pp_log(LOG_WARNING, "%s: passed over: more than %d baselines", path, PP_PINNED_MAX);
		return;
	}
	if (!is_comparable(pinned, path))
		return;
	if (read_file(&new, path, pinned->kind == PATHPROF_KIND_WEIGHED, &error) < 0) {
		pp_log(LOG_WARNING, "baseline passed over: %s", error.text);
		release_file(&new);
		return;
	}
	pp_log(LOG_INFO, "baseline %s read", new.name);
	pinned->files[pinned->file_cnt++] = new;
}

static int any(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void read_directory(struct pp_pinned *pinned)
{
	struct dirent **entries = NULL;
	int cnt = scandir(pinned->directory, &entries, any, alphasort);

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

/* All together comes last, and is the only one when there is one container. */
static struct pp_pinned_part *choose(struct pp_pinned_file *file, uint64_t group,
				     const char *container)
{
	struct pp_pinned_part *found = NULL;

	for (uint32_t i = 0; i < file->part_cnt; i++) {
		struct pp_pinned_part *part = &file->parts[i];

		if (part->group != group)
			continue;
		if (part->container && !strcmp(part->container, container))
			return part;
		found = part;
	}
	return found;
}

static void read_names(const struct pp_pinned *pinned, const struct pp_pinned_file *file,
		       struct pp_pinned_part *part)
{
	struct pathprof_store *store = NULL;
	struct pathprof_error error = {""};
	char path[PP_CONFIG_PATH_MAX + 300];

	part->portable = pp_portable_new(&part->id);
	if (!part->portable)
		return;
	snprintf(path, sizeof(path), "%s/%s" SUFFIX, pinned->directory, file->name);
	if (pathprof_store_open(&store, path, PATHPROF_STORE_READ, &error) < 0 ||
	    pp_portable_load(part->portable, store, &error) < 0)
		pp_log(LOG_WARNING, "baseline's names passed over: %s", error.text);
	pathprof_store_free(store);
}

/* Of the other builds of that path the one that was seen most. */
static uint64_t other_build(const struct pp_pinned_file *file, const char *binary)
{
	const struct pp_pinned_part *most = NULL;

	for (uint32_t i = 0; i < file->part_cnt; i++)
		if (!strcmp(file->parts[i].name, binary) &&
		    (!most || file->parts[i].counts.total > most->counts.total))
			most = &file->parts[i];
	return most ? most->group : 0;
}

static struct pp_pinned_part *part_of(const struct pp_pinned *pinned, struct pp_pinned_file *file,
				      uint64_t group, const char *binary, const char *container)
{
	struct pp_pinned_part *part = choose(file, group, container);

	if (part)
		return part;
	part = choose(file, other_build(file, binary), container);
	if (part && !part->portable)
		read_names(pinned, file, part);
	return part && part->portable && part->portable->functions ? part : NULL;
}

const struct pp_pinned_part *pp_pinned_part(struct pp_pinned *pinned, const char *name,
					    uint64_t group, const char *binary,
					    const char *container)
{
	for (uint32_t i = 0; i < pinned->file_cnt; i++)
		if (!strcmp(pinned->files[i].name, name))
			return part_of(pinned, &pinned->files[i], group, binary, container);
	return NULL;
}
