// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How fast windows are written, read and cut off: windows of 10,000 paths, a fifth of them never
 * seen before, as a busy host gives them. Prints `name value unit` lines.
 *
 *     bench_store [DIRECTORY [WINDOWS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pathprof/store.h"

#define PATHS     10000
#define HOT_PATHS 8000
#define PROCESSES 50
#define BINARIES  20

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char *what, const struct pathprof_error *error)
{
	fprintf(stderr, "bench_store: %s: %s\n", what, error->text);
	exit(1);
}

static void fill_names(struct pathprof_profile *p)
{
	char name[64];

	for (uint32_t i = 0; i < BINARIES; i++) {
		struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};

		memset(id.bytes, (int)i + 1, 20);
		snprintf(name, sizeof(name), "/usr/lib/lib%u.so", i);
		pathprof_profile_binary(p, &id, name);
	}
	for (uint32_t i = 0; i < PROCESSES; i++) {
		snprintf(name, sizeof(name), "worker-%u", i);
		const struct pathprof_process process = {
			.pid = 1000 + i, .start_time = i, .comm = name, .binary = i % BINARIES};

		pathprof_profile_process(p, &process);
	}
}

static void fill(struct pathprof_profile *p, int64_t window)
{
	pathprof_profile_clear(p);
	p->begin_ns = window * 10000000000;
	p->end_ns = p->begin_ns + 10000000000;
	p->source = PATHPROF_SOURCE_STEP;
	p->basis = PATHPROF_BASIS_TIME;
	p->totals.bursts = PATHS;
	fill_names(p);
	for (uint32_t i = 0; i < PATHS; i++) {
		uint64_t fresh = i < HOT_PATHS ? 0 : (uint64_t)window * PATHS;
		const struct pathprof_path_count count = {
			.process = i % PROCESSES,
			.binary = i % BINARIES,
			.start = 0x1000 + 16 * (fresh + i),
			.length = i % 33,
			.outcomes = i,
			.samples = 1 + i % 7,
			.weight = 1.25 * (1 + i % 7),
		};

		pathprof_profile_add_path(p, &count);
	}
}

static int count_row(void *context, const struct pathprof_path_row *row)
{
	*(uint64_t *)context += row->samples != 0;
	return 0;
}

static void bench_write(struct pathprof_store *store, int64_t window_cnt)
{
	struct pathprof_error error = {""};
	struct pathprof_profile profile;
	double spent = 0, worst = 0;

	if (pathprof_profile_init(&profile, 16u << 20) < 0)
		fail("profile", &error);
	for (int64_t i = 1; i <= window_cnt; i++) {
		fill(&profile, i);
		double begin = now();
		if (pathprof_store_add_window(store, &profile, NULL, &error) < 0)
			fail("write", &error);
		double took = now() - begin;
		spent += took;
		worst = took > worst ? took : worst;
	}
	pathprof_profile_release(&profile);
	printf("write_windows %.1f windows/s\n", (double)window_cnt / spent);
	printf("write_rows %.0f rows/s\n", (double)window_cnt * PATHS / spent);
	printf("write_window_mean %.2f ms\n", 1e3 * spent / (double)window_cnt);
	printf("write_window_worst %.2f ms\n", 1e3 * worst);
}

static void bench_read(struct pathprof_store *store, const char *name,
		       const struct pathprof_filter *filter)
{
	struct pathprof_error error = {""};
	uint64_t rows = 0;
	double begin = now();

	if (pathprof_store_paths(store, filter, count_row, &rows, &error) < 0)
		fail("read", &error);
	printf("read_%s %.2f ms\n", name, 1e3 * (now() - begin));
}

static void bench_retain(struct pathprof_store *store)
{
	struct pathprof_error error = {""};
	uint64_t bytes = 0, removed = 0;

	pathprof_store_size(store, &bytes);
	printf("size %.1f MiB\n", (double)bytes / 1048576);
	const struct pathprof_retention half = {.max_bytes = bytes / 2};
	double begin = now();
	if (pathprof_store_retain(store, &half, &removed, &error) < 0)
		fail("retain", &error);
	printf("retain_half %.1f ms\n", 1e3 * (now() - begin));
	printf("retain_half_removed %llu windows\n", (unsigned long long)removed);
	const struct pathprof_retention bit = {.max_bytes = bytes / 2 - 65536};
	begin = now();
	if (pathprof_store_retain(store, &bit, &removed, &error) < 0)
		fail("retain", &error);
	printf("retain_bit %.1f ms\n", 1e3 * (now() - begin));
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : "/tmp";
	int64_t window_cnt = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
	struct pathprof_error error = {""};
	struct pathprof_store *store = NULL;
	char file[256], name[288];

	snprintf(file, sizeof(file), "%s/bench_store.%ld.db", dir, (long)getpid());
	if (pathprof_store_open(&store, file, PATHPROF_STORE_WRITE, &error) < 0)
		fail("open", &error);
	bench_write(store, window_cnt);
	bench_read(store, "all", NULL);
	bench_read(store, "top_20", &(struct pathprof_filter){.limit = 20});
	bench_read(store, "last_10_windows",
		   &(struct pathprof_filter){.since_ns = (window_cnt - 9) * 10000000000});
	bench_read(store, "pid", &(struct pathprof_filter){.pid = 1001});
	bench_read(store, "binary", &(struct pathprof_filter){.binary = "lib3.so"});
	bench_retain(store);
	pathprof_store_free(store);
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", file, suffixes[i]);
		unlink(name);
	}
	return 0;
}
