// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tested sets in the service: what windows saw is counted by whether a set has it; a set of samples
 * is refused, and where one breaks off in the middle none is used. With a real program:
 * tests/scenario/daemon_tested.sh.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../daemon/tested/tested_sets.h"
#include "pathprof/store.h"

#define BUILDS_TOO_MANY 4097   /* of tested_sets.c one more than there is room for */
#define PATHS_FULL      500000 /* and as many as there is */
#define PROFILE_BYTES   (512 << 20)
#define NEW_NS          1000000000

static struct pathprof_build_id id_of(uint32_t build)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};

	memcpy(id.bytes, &build, sizeof(build));
	return id;
}

static const char *directory; /* the test's */

/* A file in it. Caller frees. */
static char *path_of(const char *name)
{
	char *path = NULL;

	CU_ASSERT_FATAL(asprintf(&path, "%s/%s", directory, name) > 0);
	return path;
}

/* Fills a profile with path_cnt paths of each build, the first of which starts at `first`. */
static void fill(struct pathprof_profile *profile, uint32_t source, uint32_t build_cnt,
		 uint64_t first, uint32_t path_cnt)
{
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(profile, PROFILE_BYTES), 0);
	profile->begin_ns = NEW_NS;
	profile->end_ns = 2 * NEW_NS;
	profile->source = source;
	profile->basis = PATHPROF_BASIS_BRANCHES;
	for (uint32_t build = 0; build < build_cnt; build++) {
		const struct pathprof_build_id id = id_of(build + 1);
		struct pathprof_path_count path = {
			.length = 3, .outcomes = 5, .samples = 2, .weight = 2};
		char name[32];

		snprintf(name, sizeof(name), "/bin/app%u", build);
		path.binary = pathprof_profile_binary(profile, &id, name);
		path.process = pathprof_profile_process(
			profile, &(struct pathprof_process){.pid = 7,
							    .comm = (char *)"app",
							    .container = (char *)"",
							    .binary = path.binary});
		for (uint32_t i = 0; i < path_cnt; i++) {
			path.start = first + i;
			pathprof_profile_add_path(profile, &path);
		}
	}
}

/* lost: of the run, as pathprof-trace notes it when a thread found no room */
static void write_run(const char *name, uint32_t source, uint32_t build_cnt, uint64_t first,
		      uint32_t path_cnt, uint64_t lost)
{
	char *draft = path_of("draft"), *path = path_of(name);
	struct pathprof_error error = {""};
	struct pathprof_profile profile;
	struct pathprof_store *store;
	int64_t window;

	fill(&profile, source, build_cnt, first, path_cnt);
	profile.totals.drops[PATHPROF_DROP_TABLE_FULL] = lost;
	CU_ASSERT_EQUAL_FATAL(pathprof_store_open(&store, draft, PATHPROF_STORE_WRITE, &error), 0);
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &profile, &window, &error), 0);
	pathprof_store_free(store);
	pathprof_profile_release(&profile);
	CU_ASSERT_EQUAL(rename(draft, path), 0);
	free(draft);
	free(path);
}

static void write_set(const char *name, uint32_t source, uint32_t build_cnt, uint64_t first,
		      uint32_t path_cnt)
{
	write_run(name, source, build_cnt, first, path_cnt, 0);
}

/* A figure with this label, or with any label if it is NULL, summed over builds. */
static double figure(const struct pp_tested_sets *sets, const char *name, const char *label)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	double sum = 0;

	pp_tested_sets_metrics(sets, out);
	fclose(out);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (!strncmp(line, name, strlen(name)) && strchr("{ ", line[strlen(name)]) &&
		    (!label || strstr(line, label)))
			sum += atof(strrchr(line, ' '));
	free(text);
	return sum;
}

static void see(struct pp_tested_sets *sets, uint64_t first, uint32_t path_cnt)
{
	struct pathprof_profile profile;

	fill(&profile, PATHPROF_SOURCE_STEP, 1, first, path_cnt);
	pp_tested_sets_window(sets, &profile);
	pathprof_profile_release(&profile);
}

static const char samples[] = "pathprof_tested_samples_total";

/* A run that lost paths is used, and told: what it lost counts as untested. */
static void test_lossy(void)
{
	const char *name = "pathprof_tested_runs_not_whole";
	struct pp_tested_sets *sets;
	char *path;

	directory = unit_tmpdir();
	write_set("a.tested", PATHPROF_SOURCE_TRACE, 1, 100, 10);
	write_run("b.tested", PATHPROF_SOURCE_TRACE, 1, 200, 10, 3);
	write_run("live.tested", PATHPROF_SOURCE_STEP, 1, 100, 10, 1);
	CU_ASSERT_EQUAL_FATAL(pp_tested_sets_new(&sets, directory), 0);
	CU_ASSERT_EQUAL(figure(sets, "pathprof_tested_files", NULL), 2);
	CU_ASSERT_EQUAL(figure(sets, name, NULL), 1);
	path = path_of("b.tested");
	CU_ASSERT_EQUAL(unlink(path), 0);
	free(path);
	see(sets, 100, 1);
	CU_ASSERT_EQUAL(figure(sets, name, NULL), 0);
	pp_tested_sets_free(sets);
}

static void test_counted(void)
{
	struct pp_tested_sets *sets;

	directory = unit_tmpdir();
	write_set("a.tested", PATHPROF_SOURCE_TRACE, 2, 100, 10);
	write_set("live.tested", PATHPROF_SOURCE_STEP, 1, 100, 50);
	CU_ASSERT_EQUAL_FATAL(pp_tested_sets_new(&sets, directory), 0);
	CU_ASSERT_EQUAL(figure(sets, "pathprof_tested_files", NULL), 1);
	CU_ASSERT_EQUAL(figure(sets, "pathprof_tested_files_refused", NULL), 1);
	CU_ASSERT_EQUAL(figure(sets, "pathprof_tested_paths", NULL), 20);
	see(sets, 105, 20);
	CU_ASSERT_EQUAL(figure(sets, samples, "tested=\"yes\""), 2 * 5);
	CU_ASSERT_EQUAL(figure(sets, samples, "tested=\"no\""), 2 * 15);
	CU_ASSERT_EQUAL(figure(sets, "pathprof_tested_weight_total", "tested=\"no\""), 2 * 15);
	/* a set more: what was counted stays, what comes is held against both */
	write_set("b.tested", PATHPROF_SOURCE_TRACE, 1, 110, 15);
	see(sets, 105, 20);
	CU_ASSERT_EQUAL(figure(sets, samples, "tested=\"yes\""), 2 * 25);
	CU_ASSERT_EQUAL(figure(sets, samples, "tested=\"no\""), 2 * 15);
	pp_tested_sets_free(sets);
}

static void test_broken(void)
{
	struct pp_tested_sets *sets;
	char *large;

	directory = unit_tmpdir();
	large = path_of("large.tested");
	write_set("a.tested", PATHPROF_SOURCE_TRACE, 1, 100, 10);
	write_set("large.tested", PATHPROF_SOURCE_TRACE, BUILDS_TOO_MANY, 100, 1);
	CU_ASSERT_EQUAL_FATAL(pp_tested_sets_new(&sets, directory), 0);
	CU_ASSERT_EQUAL(figure(sets, "pathprof_tested_files", NULL), 0);
	CU_ASSERT(figure(sets, "pathprof_tested_files_refused", NULL) >= 2);
	see(sets, 100, 20);
	CU_ASSERT_EQUAL(figure(sets, samples, NULL), 0);
	unlink(large);
	see(sets, 100, 20);
	CU_ASSERT_EQUAL(figure(sets, samples, "tested=\"yes\""), 2 * 10);
	pp_tested_sets_free(sets);
	free(large);
}

/* No path of the second build has room any more: it must not stand there as one without paths. */
static void test_full(void)
{
	struct pp_tested_sets *sets;

	directory = unit_tmpdir();
	write_set("a.tested", PATHPROF_SOURCE_TRACE, 1, 100, PATHS_FULL);
	write_set("b.tested", PATHPROF_SOURCE_TRACE, 2, 100, 1);
	CU_ASSERT_EQUAL_FATAL(pp_tested_sets_new(&sets, directory), 0);
	see(sets, 100, 20);
	CU_ASSERT_EQUAL(pp_tested_sets_build_cnt(sets), 0);
	CU_ASSERT_EQUAL(figure(sets, "pathprof_tested_files", NULL), 0);
	CU_ASSERT_EQUAL(figure(sets, "pathprof_tested_files_refused", NULL), 2);
	CU_ASSERT_EQUAL(figure(sets, samples, NULL), 0);
	pp_tested_sets_free(sets);
}

static void test_no_directory(void)
{
	struct pp_tested_sets *sets;
	char *path;

	directory = unit_tmpdir();
	path = path_of("missing");
	CU_ASSERT_EQUAL_FATAL(pp_tested_sets_new(&sets, path), 0);
	see(sets, 100, 20);
	CU_ASSERT_EQUAL(figure(sets, samples, NULL), 0);
	pp_tested_sets_free(sets);
	pp_tested_sets_window(NULL, NULL);
	free(path);
}

/* The words of a service on standard error as it opens the sets of a directory. */
static void told_of(const char *path, char *ret_text, size_t size)
{
	int file = memfd_create("stderr", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
	struct pp_tested_sets *sets = NULL;
	ssize_t n;

	CU_ASSERT_FATAL(file >= 0 && kept >= 0);
	fflush(stderr);
	dup2(file, STDERR_FILENO);
	CU_ASSERT_EQUAL(pp_tested_sets_new(&sets, path), 0);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	n = pread(file, ret_text, size - 1, 0);
	ret_text[n > 0 ? n : 0] = '\0';
	pp_tested_sets_free(sets);
	close(file);
	close(kept);
}

/* A directory may come later; one that cannot be read is told. */
static void test_unreadable_directory(void)
{
	char *file, *missing, text[2048];

	directory = unit_tmpdir();
	file = path_of("file");
	missing = path_of("missing");
	CU_ASSERT_EQUAL(symlink("/dev/null", file), 0);
	told_of(file, text, sizeof(text));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "no tested set is used, the directory cannot be read"));
	told_of(missing, text, sizeof(text));
	CU_ASSERT_PTR_NULL(strstr(text, "cannot be read"));
	free(file);
	free(missing);
}

static const struct unit_test tests[] = {
	{"what windows saw is counted by whether a test ran it", test_counted},
	{"a run that lost paths is told", test_lossy},
	{"half a set is none, and then none is used", test_broken},
	{"a build that finds the table of paths full leaves half a set", test_full},
	{"a directory that is not there has no set", test_no_directory},
	{"a directory that cannot be read is told", test_unreadable_directory},
};

UNIT_SUITE(tested_sets, tests)
