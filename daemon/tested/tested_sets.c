// SPDX-License-Identifier: GPL-2.0-or-later
/* Tested sets in the service: see tested_sets.h. */
#include "tested_sets.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../shared/config.h"
#include "../shared/log.h"
#include "../shared/metrics_text.h"
#include "base/plural.h"
#include "base/table.h"
#include "base/variants.h"
#include "pathprof/store.h"

#define SUFFIX          ".tested"
#define PATHS_MAX       500000
#define BINARIES_MAX    4096
#define BUILD_ID_DIGITS 12
#define NAME_BYTES      256

/* No padding: it is compared byte by byte. */
struct path_key {
	uint64_t start;
	uint32_t binary; /* number */
	uint32_t length, outcomes;
	uint32_t reserved;
};

/* A build that tests ran. Its key is the id. */
struct build {
	struct pathprof_build_id id;
	char name[NAME_BYTES];
	char set[NAME_BYTES];                /* the first file that has it */
	uint32_t set_cnt, last_set;          /* files that do; number of the last, from 1 */
	uint32_t tested_cnt;                 /* paths */
	double tested, untested;             /* weight that windows saw */
	uint64_t tested_seen, untested_seen; /* and how many paths */
};

struct pp_tested_sets {
	char directory[PP_CONFIG_PATH_MAX];
	uint64_t files; /* a hash of what was read */
	struct pp_keyed builds, paths;
	uint32_t file_cnt, refused_cnt, reading_cnt;
	uint32_t lossy_cnt; /* runs that lost paths, so some paths count as untested */
	const char *file;   /* being read */
	bool is_broken;     /* a part of a set was kept, and the rest could not be */
};

static void empty(struct pp_tested_sets *sets)
{
	pp_keyed_release(&sets->builds);
	pp_keyed_release(&sets->paths);
	pp_keyed_init(&sets->builds, sizeof(struct build), sizeof(struct pathprof_build_id),
		      BINARIES_MAX, 0);
	pp_keyed_init(&sets->paths, sizeof(struct path_key), sizeof(struct path_key), PATHS_MAX, 0);
	sets->file_cnt = sets->refused_cnt = 0;
	sets->lossy_cnt = 0;
	sets->is_broken = false;
}

static struct build *build_at(const struct pp_tested_sets *sets, uint32_t index)
{
	return pp_keyed_item(&sets->builds, index);
}

/* ---------------------------------------------------------------- reading */

static void note_set(const struct pp_tested_sets *sets, struct build *build)
{
	if (build->last_set == sets->file_cnt + 1)
		return;
	build->last_set = sets->file_cnt + 1;
	if (!build->set_cnt++)
		snprintf(build->set, sizeof(build->set), "%s", sets->file);
}

static int add_path(void *context, const struct pathprof_path_row *row)
{
	struct pp_tested_sets *sets = context;
	struct path_key key = {
		.start = row->start, .length = row->length, .outcomes = row->outcomes};
	uint32_t index, before = sets->paths.cnt;
	struct build *build;
	int r;

	if (pp_chooses_variants(row->binary_name))
		return 0;
	r = pp_keyed_at(&sets->builds, &row->binary_id, &key.binary);
	if (r == 0)
		r = pp_keyed_at(&sets->paths, &key, &index);
	if (r < 0)
		return r;
	build = build_at(sets, key.binary);
	build->tested_cnt += sets->paths.cnt > before;
	if (!build->name[0])
		snprintf(build->name, sizeof(build->name), "%s", row->binary_name);
	note_set(sets, build);
	return 0;
}

struct runs {
	uint32_t cnt, lossy_cnt;
};

/* 1: samples, so what they do not show may have been tested all the same. */
static int take_run(void *context, const struct pathprof_window_row *row)
{
	struct runs *runs = context;

	runs->cnt++;
	runs->lossy_cnt += row->totals.drops[PATHPROF_DROP_TABLE_FULL] != 0;
	return row->source != PATHPROF_SOURCE_TRACE;
}

static void note_lossy(struct pp_tested_sets *sets, const char *path, uint32_t cnt)
{
	sets->lossy_cnt += cnt;
	if (cnt)
		pp_log(LOG_WARNING,
		       "%s: %" PRIu32 " %s not whole: what was lost may count as untested", path,
		       cnt, pp_plural(cnt, "run is", "runs are"));
}

static int read_set(struct pp_tested_sets *sets, const char *path, struct pathprof_error *error)
{
	struct pathprof_store *store = NULL;
	struct runs runs = {0};
	int r = pathprof_store_open(&store, path, PATHPROF_STORE_READ, error);

	if (r == 0)
		r = pathprof_store_windows(store, NULL, take_run, &runs, error);
	if (r > 0)
		r = pathprof_fail(error, -EINVAL,
				  "%s holds samples, which do not show all that was "
				  "tested",
				  path);
	if (r == 0 && !runs.cnt)
		r = pathprof_fail(error, -EINVAL, "%s holds no run", path);
	if (r == 0)
		r = pathprof_store_paths(store, NULL, add_path, sets, error);
	if (r == -ENOSPC && !error->text[0])
		pathprof_fail(error, r, "%s: more than %d paths of %d builds in all", path,
			      PATHS_MAX, BINARIES_MAX);
	pathprof_store_free(store);
	if (r == 0)
		note_lossy(sets, path, runs.lossy_cnt);
	return r;
}

static bool is_set(const char *file)
{
	size_t len = strlen(file), suffix_len = sizeof(SUFFIX) - 1;

	return file[0] != '.' && len > suffix_len && !strcmp(file + len - suffix_len, SUFFIX);
}

static void read_named(struct pp_tested_sets *sets, const char *file)
{
	struct pathprof_error error = {""};
	char path[PP_CONFIG_PATH_MAX + 300];
	uint32_t path_cnt = sets->paths.cnt, build_cnt = sets->builds.cnt;
	int r;

	sets->file = file;
	snprintf(path, sizeof(path), "%s/%s", sets->directory, file);
	r = read_set(sets, path, &error);
	if (r == 0) {
		sets->file_cnt++;
		return;
	}
	sets->refused_cnt++;
	sets->is_broken |= sets->paths.cnt != path_cnt || sets->builds.cnt != build_cnt;
	pp_log(LOG_WARNING, "tested set not used: %s", error.text[0] ? error.text : strerror(-r));
}

static int is_set_entry(const struct dirent *entry)
{
	return is_set(entry->d_name);
}

/* The counts of a build stay when its set is read again. */
static void keep_counts(struct pp_tested_sets *sets, const struct pp_keyed *before)
{
	for (uint32_t i = 0; i < before->cnt; i++) {
		const struct build *old = pp_keyed_item(before, i);
		struct build *build;
		uint32_t index;

		if (pp_keyed_find(&sets->builds, old, &index) < 0)
			continue;
		build = build_at(sets, index);
		build->tested = old->tested;
		build->untested = old->untested;
		build->tested_seen = old->tested_seen;
		build->untested_seen = old->untested_seen;
	}
}

/* Half a set, even a build without paths, would call untested what the other half tested. */
static void drop_broken(struct pp_tested_sets *sets)
{
	uint32_t refused_cnt = sets->refused_cnt + sets->file_cnt;

	if (!sets->is_broken)
		return;
	empty(sets);
	sets->refused_cnt = refused_cnt;
	pp_log(LOG_WARNING, "%s: no tested set is used until that one is mended or taken away",
	       sets->directory);
}

static void read_directory(struct pp_tested_sets *sets)
{
	struct pp_keyed before = sets->builds;
	struct dirent **entries = NULL;
	int cnt;

	sets->builds = (struct pp_keyed){NULL};
	sets->reading_cnt++;
	empty(sets);
	cnt = scandir(sets->directory, &entries, is_set_entry, alphasort);
	if (cnt < 0 && errno != ENOENT)
		pp_log(LOG_WARNING, "%s: no tested set is used, the directory cannot be read: %s",
		       sets->directory, strerror(errno));
	for (int i = 0; i < cnt; i++) {
		read_named(sets, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	drop_broken(sets);
	keep_counts(sets, &before);
	pp_keyed_release(&before);
	pp_log(LOG_INFO, "%s: %" PRIu32 " tested %s read, %" PRIu32 " %s of %" PRIu32 " %s",
	       sets->directory, sets->file_cnt, pp_plural(sets->file_cnt, "set", "sets"),
	       sets->paths.cnt, pp_plural(sets->paths.cnt, "path", "paths"), sets->builds.cnt,
	       pp_plural(sets->builds.cnt, "build", "builds"));
}

static uint64_t hash_file(const struct pp_tested_sets *sets, const char *file, uint64_t hash)
{
	char path[PP_CONFIG_PATH_MAX + 300];
	struct stat st = {0};

	snprintf(path, sizeof(path), "%s/%s", sets->directory, file);
	if (stat(path, &st) < 0)
		st.st_ino = 0;
	for (const char *c = file; *c; c++)
		hash = pp_hash_mix(hash, (uint8_t)*c);
	hash = pp_hash_mix(hash, st.st_ino);
	hash = pp_hash_mix(hash, (uint64_t)st.st_size);
	hash = pp_hash_mix(hash, (uint64_t)st.st_mtim.tv_sec);
	return pp_hash_mix(hash, (uint64_t)st.st_mtim.tv_nsec);
}

/* The directory's own time will not do: opening a set, even to read it, may change that. */
static uint64_t hash_files(const struct pp_tested_sets *sets)
{
	struct dirent **entries = NULL;
	int cnt = scandir(sets->directory, &entries, is_set_entry, alphasort);
	uint64_t hash = 1;

	for (int i = 0; i < cnt; i++) {
		hash = hash_file(sets, entries[i]->d_name, hash);
		free(entries[i]);
	}
	free(entries);
	return hash;
}

static void refresh(struct pp_tested_sets *sets)
{
	uint64_t files = hash_files(sets);

	if (sets->reading_cnt && files == sets->files)
		return;
	sets->files = files;
	read_directory(sets);
}

/* ---------------------------------------------------------------- what others ask */

uint32_t pp_tested_sets_readings(const struct pp_tested_sets *sets)
{
	return sets->reading_cnt;
}

uint32_t pp_tested_sets_build_cnt(const struct pp_tested_sets *sets)
{
	return sets->builds.cnt;
}

struct pp_tested_build pp_tested_sets_build(const struct pp_tested_sets *sets, uint32_t number)
{
	const struct build *build = build_at(sets, number);

	return (struct pp_tested_build){&build->id, build->set, build->set_cnt};
}

bool pp_tested_sets_find(const struct pp_tested_sets *sets, const struct pathprof_build_id *id,
			 uint32_t *ret_number)
{
	return pp_keyed_find(&sets->builds, id, ret_number) == 0;
}

bool pp_tested_sets_has(const struct pp_tested_sets *sets, uint32_t number, uint64_t start,
			uint32_t length, uint32_t outcomes)
{
	struct path_key key = {
		.start = start, .binary = number, .length = length, .outcomes = outcomes};

	return pp_keyed_find(&sets->paths, &key, &(uint32_t){0}) == 0;
}

/* ---------------------------------------------------------------- windows */

/* A weight of 0 is one that is not known: each sighting counts once. */
static double weight_of(const struct pathprof_path_count *path)
{
	return path->weight > 0 ? path->weight : (double)path->samples;
}

static void count(const struct pp_tested_sets *sets, const struct pathprof_path_count *path,
		  uint32_t number)
{
	struct build *build = build_at(sets, number);

	if (pp_tested_sets_has(sets, number, path->start, path->length, path->outcomes)) {
		build->tested += weight_of(path);
		build->tested_seen += path->samples;
	} else {
		build->untested += weight_of(path);
		build->untested_seen += path->samples;
	}
}

void pp_tested_sets_window(struct pp_tested_sets *sets, const struct pathprof_profile *profile)
{
	if (!sets)
		return;
	refresh(sets);
	for (uint32_t i = 0; sets->builds.cnt && i < profile->path_cnt; i++) {
		const struct pathprof_path_count *path = &profile->paths[i];
		uint32_t number;

		if (pp_tested_sets_find(sets, &profile->binaries[path->binary].id, &number))
			count(sets, path, number);
	}
}

/* ---------------------------------------------------------------- figures */

static void show(const struct build *build, const char *name, const char *tested, double value,
		 FILE *to)
{
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	const char *labels[] = {"binary", build->name, "build_id", id, "tested", tested, NULL};

	pathprof_build_id_text(&build->id, id);
	id[BUILD_ID_DIGITS] = '\0';
	pp_metrics_sample(to, name, labels, value);
}

void pp_tested_sets_metrics(const struct pp_tested_sets *sets, FILE *to)
{
	static const char weight[] = "pathprof_tested_weight_total";
	static const char seen[] = "pathprof_tested_samples_total";

	if (!sets)
		return;
	pp_metrics_one(to, "pathprof_tested_files", "gauge", "Tested sets that were read.",
		       sets->file_cnt);
	pp_metrics_one(to, "pathprof_tested_files_refused", "gauge",
		       "Tested sets that could not be used.", sets->refused_cnt);
	pp_metrics_one(to, "pathprof_tested_runs_not_whole", "gauge",
		       "Runs in tested sets that lost paths, which may count as untested.",
		       sets->lossy_cnt);
	pp_metrics_one(to, "pathprof_tested_paths", "gauge", "Paths in them.", sets->paths.cnt);
	pp_metrics_head(to, weight, "counter",
			"Weight of paths that windows saw, by whether a test ran them.");
	for (uint32_t i = 0; i < sets->builds.cnt; i++) {
		show(build_at(sets, i), weight, "yes", build_at(sets, i)->tested, to);
		show(build_at(sets, i), weight, "no", build_at(sets, i)->untested, to);
	}
	pp_metrics_head(to, seen, "counter", "The same, each sighting counted once.");
	for (uint32_t i = 0; i < sets->builds.cnt; i++) {
		show(build_at(sets, i), seen, "yes", (double)build_at(sets, i)->tested_seen, to);
		show(build_at(sets, i), seen, "no", (double)build_at(sets, i)->untested_seen, to);
	}
}

/* ---------------------------------------------------------------- life */

int pp_tested_sets_new(struct pp_tested_sets **ret_sets, const char *directory)
{
	struct pp_tested_sets *sets = calloc(1, sizeof(*sets));

	if (!sets)
		return -ENOMEM;
	snprintf(sets->directory, sizeof(sets->directory), "%s", directory);
	empty(sets);
	refresh(sets);
	*ret_sets = sets;
	return 0;
}

void pp_tested_sets_free(struct pp_tested_sets *sets)
{
	if (!sets)
		return;
	pp_keyed_release(&sets->builds);
	pp_keyed_release(&sets->paths);
	free(sets);
}
