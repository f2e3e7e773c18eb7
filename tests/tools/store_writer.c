// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program that tests/scenario/store_kill.sh kills: it writes windows as fast as it can, and
 * says which are safe.
 *
 *     store_writer write FILE [retain]   prints k when window k is committed, for ever
 *     store_writer verify FILE LAST      windows up to LAST are there, whole and right; at most
 *                                        one more; prints the newest
 *
 * Window k's content follows from k alone. With `retain` all but the newest thirty or so windows
 * are removed as it goes, so that a kill hits retention too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pathprof/store.h"

#define PATHS      40
#define KEEP_BYTES 300000
#define BASE_NS    1000000000000000

struct newest {
	int64_t first, last, cnt;
};

static void die(const char *what, const struct pathprof_error *error)
{
	fprintf(stderr, "store_writer: %s: %s\n", what, error->text);
	exit(1);
}

static struct pathprof_path_count path_of(int64_t k, uint32_t i)
{
	/* Some paths come in every window, some in every eighth, some in one only. */
	uint64_t group = i % 3 == 0 ? 0 : i % 3 == 1 ? (uint64_t)k % 8 : (uint64_t)k;

	return (struct pathprof_path_count){
		.process = i % 2,
		.start = UINT64_C(64) * (i + 1) + (group << 20),
		.length = i % 33,
		.outcomes = (uint32_t)group,
		.samples = (uint64_t)k * 31 + i,
		.weight = (double)k + i * 0.5,
	};
}

static void fill(struct pathprof_profile *p, int64_t k)
{
	const struct pathprof_build_id id = {{1, 2, 3, 4}, 4, PATHPROF_ID_BUILD_ID};
	char comm[16];

	pathprof_profile_clear(p);
	p->begin_ns = BASE_NS + k * 1000;
	p->end_ns = p->begin_ns + 1000;
	p->source = PATHPROF_SOURCE_STEP;
	p->basis = PATHPROF_BASIS_TIME;
	p->totals.bursts = (uint64_t)k;
	p->totals.ends[k % PATHPROF_END_CNT] = (uint64_t)k;
	pathprof_profile_binary(p, &id, "/bin/written");
	for (uint32_t i = 0; i < 2; i++) {
		/* One process stays, one comes and goes. */
		snprintf(comm, sizeof(comm), "writer-%u", i);
		const struct pathprof_process process = {
			.pid = 10 + i, .start_time = i ? (uint64_t)k / 5 : 1, .comm = comm};

		pathprof_profile_process(p, &process);
	}
	for (uint32_t i = 0; i < PATHS; i++) {
		const struct pathprof_path_count path = path_of(k, i);

		pathprof_profile_add_path(p, &path);
	}
}

static int see_window(void *context, const struct pathprof_window_row *row)
{
	struct newest *newest = context;
	int64_t k = (row->begin_ns - BASE_NS) / 1000;

	if (row->id != k || row->totals.bursts != (uint64_t)k ||
	    row->totals.ends[k % PATHPROF_END_CNT] != (uint64_t)k) {
		fprintf(stderr, "store_writer: window %lld is not what was written\n",
			(long long)row->id);
		return 1;
	}
	newest->last = k > newest->last ? k : newest->last;
	newest->first = newest->cnt == 0 || k < newest->first ? k : newest->first;
	newest->cnt++;
	return 0;
}

static struct newest see_windows(struct pathprof_store *store)
{
	struct pathprof_error error = {""};
	struct newest newest = {0};

	if (pathprof_store_windows(store, NULL, see_window, &newest, &error))
		die("windows", &error);
	if (newest.cnt && newest.last - newest.first + 1 != newest.cnt) {
		fprintf(stderr, "store_writer: a window is missing between %lld and %lld\n",
			(long long)newest.first, (long long)newest.last);
		exit(1);
	}
	return newest;
}

static struct pathprof_store *open_store(const char *file)
{
	struct pathprof_error error = {""};
	struct pathprof_store *store = NULL;

	if (pathprof_store_open(&store, file, PATHPROF_STORE_WRITE, &error) < 0)
		die("open", &error);
	return store;
}

static void write_windows(const char *file, int with_retention)
{
	struct pathprof_store *store = open_store(file);
	struct pathprof_error error = {""};
	const struct pathprof_retention bound = {.max_bytes = KEEP_BYTES};
	struct pathprof_profile profile;
	int64_t k = see_windows(store).last, id = 0;

	if (pathprof_profile_init(&profile, 1 << 20) < 0)
		die("profile", &error);
	for (;;) {
		fill(&profile, ++k);
		if (pathprof_store_add_window(store, &profile, &id, &error) < 0)
			die("add", &error);
		printf("%lld\n", (long long)k);
		fflush(stdout);
		if (id != k)
			die("id is not the window's number", &error);
		if (with_retention && k % 4 == 0 &&
		    pathprof_store_retain(store, &bound, NULL, &error) < 0)
			die("retain", &error);
	}
}

/* ---------------------------------------------------------------- verify */

struct sums {
	uint64_t cnt, samples;
	double weight;
};

static int add_path(void *context, const struct pathprof_path_row *row)
{
	struct sums *sums = context;

	sums->cnt++;
	sums->samples += row->samples;
	sums->weight += row->weight;
	return 0;
}

static int same_sums(const struct sums *a, const struct sums *b)
{
	return a->samples == b->samples && a->weight == b->weight;
}

static struct sums sums_of(int64_t first, int64_t last)
{
	struct sums sums = {0};

	for (int64_t k = first; k <= last && last; k++)
		for (uint32_t i = 0; i < PATHS; i++) {
			const struct pathprof_path_count path = path_of(k, i);

			sums.cnt++;
			sums.samples += path.samples;
			sums.weight += path.weight;
		}
	return sums;
}

static void verify_window(struct pathprof_store *store, int64_t k)
{
	struct pathprof_error error = {""};
	struct sums is = {0}, should = sums_of(k, k);

	if (pathprof_store_paths(store, &(struct pathprof_filter){.window = k}, add_path, &is,
				 &error))
		die("paths", &error);
	if (is.cnt != PATHS || !same_sums(&is, &should)) {
		fprintf(stderr, "store_writer: window %lld is not whole\n", (long long)k);
		exit(1);
	}
}

/* Each of the newest windows alone, and the sum of all. */
static void verify(const char *file, int64_t last_told)
{
	struct pathprof_store *store = open_store(file);
	struct pathprof_error error = {""};
	struct newest newest = see_windows(store);
	struct sums is = {0}, should = sums_of(newest.first, newest.last);

	if (newest.last < last_told || newest.last > last_told + 1) {
		fprintf(stderr, "store_writer: %lld windows told, newest is %lld\n",
			(long long)last_told, (long long)newest.last);
		exit(1);
	}
	if (pathprof_store_check(store, &error) < 0)
		die("check", &error);
	for (int64_t k = newest.last; k > newest.last - 20 && k >= newest.first && k; k--)
		verify_window(store, k);
	if (pathprof_store_paths(store, NULL, add_path, &is, &error))
		die("paths", &error);
	if (!same_sums(&is, &should)) {
		fprintf(stderr, "store_writer: the sum over all windows is wrong\n");
		exit(1);
	}
	pathprof_store_free(store);
	printf("%lld\n", (long long)newest.last);
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "write"))
		write_windows(argv[2], argc > 3 && !strcmp(argv[3], "retain"));
	else if (argc == 4 && !strcmp(argv[1], "verify"))
		verify(argv[2], strtoll(argv[3], NULL, 10));
	else
		fprintf(stderr, "usage: store_writer write FILE [retain] | verify FILE LAST\n");
	return argc == 4 ? 0 : 2;
}
