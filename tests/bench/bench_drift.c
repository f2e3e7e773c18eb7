// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of drift in the service: 200 binaries of 1,000 paths each a window, an hour of windows
 * so that baselines are full. Prints CPU time a window and the share of one core that is at windows
 * of 60 s and of 10 s; the aim is 0.1 % of a core at 60 s.
 *
 * 2,000 samples a binary and window are 400,000 paths a minute, which is a busy host at the default
 * budget; cost goes with the number of different counts, so more samples cost more.
 *
 *     bench_drift [windows [binaries [paths [samples]]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/drift/drift_state.h"

#define SHARE_MAX      0.001
#define PATHS_PER_FUNC 16

static uint64_t state = 1;

static uint32_t draw(uint32_t bound)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % bound);
}

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench_drift: %s\n", what);
	exit(1);
}

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* A few paths make most of the samples, as in real programs. */
static uint64_t draw_samples(uint32_t path, uint32_t samples)
{
	double expected = (double)samples / ((double)(path + 1) * 8);
	uint64_t whole = (uint64_t)expected;

	whole += draw(1000) < (uint32_t)((expected - (double)whole) * 1000);
	return 1 + whole + draw(1 + (uint32_t)(whole / 8));
}

static void fill(struct pathprof_profile *p, uint32_t binaries, uint32_t paths, uint32_t samples,
		 int64_t end_ns)
{
	char comm[] = "program", container[] = "";

	pathprof_profile_clear(p);
	p->begin_ns = end_ns - INT64_C(60000000000);
	p->end_ns = end_ns;
	p->source = PATHPROF_SOURCE_STEP;
	p->basis = PATHPROF_BASIS_TIME;
	for (uint32_t b = 0; b < binaries; b++) {
		struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};
		struct pathprof_process process = {
			.pid = b + 1, .comm = comm, .container = container};
		char name[64];

		memcpy(id.bytes, &b, sizeof(b));
		snprintf(name, sizeof(name), "/usr/bin/program-%u", b);
		process.binary = pathprof_profile_binary(p, &id, name);
		uint32_t who = pathprof_profile_process(p, &process);
		for (uint32_t i = 0; i < paths; i++) {
			uint64_t seen = draw_samples(i, samples);
			const struct pathprof_path_count path = {
				.process = who,
				.binary = process.binary,
				.start = 0x1000 + 64 * (i / PATHS_PER_FUNC),
				.length = 4,
				.outcomes = i % PATHS_PER_FUNC,
				.samples = seen,
				.weight = 1,
				.squares = seen + seen / 2,
			};

			if (path.samples)
				pathprof_profile_add_path(p, &path);
		}
	}
}

static struct pathprof_store *open_store(char *dir)
{
	struct pathprof_error error = {""};
	struct pathprof_store *store = NULL;
	char file[64];

	must(mkdtemp(dir) != NULL, "no directory for the store");
	snprintf(file, sizeof(file), "%s/p.db", dir);
	if (pathprof_store_open(&store, file, PATHPROF_STORE_WRITE, &error) < 0)
		fprintf(stderr, "%s\n", error.text);
	must(store != NULL, "no store");
	return store;
}

static void remove_store(const char *dir)
{
	static const char *const names[] = {"p.db", "p.db-wal", "p.db-shm", "p.db.lock"};
	char file[80];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(file, sizeof(file), "%s/%s", dir, names[i]);
		unlink(file);
	}
	rmdir(dir);
}

/* The window is written without its counts, whose cost is the store's own (bench_store). */
static int64_t write_header(struct pathprof_store *store, int64_t end_ns)
{
	struct pathprof_profile header = {
		.begin_ns = end_ns - 1, .end_ns = end_ns, .basis = PATHPROF_BASIS_TIME};
	int64_t id = 0;

	must(pathprof_store_add_window(store, &header, &id, NULL) == 0, "window not written");
	return id;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double middle(double *values, uint32_t cnt)
{
	qsort(values, cnt, sizeof(*values), by_value);
	return values[cnt / 2];
}

static uint32_t argument(int argc, char **argv, int which, uint32_t fallback)
{
	long value = argc > which ? strtol(argv[which], NULL, 10) : 0;

	return value > 0 && value < 100000 ? (uint32_t)value : fallback;
}

int main(int argc, char **argv)
{
	uint32_t windows = argument(argc, argv, 1, 70), binaries = argument(argc, argv, 2, 200);
	uint32_t paths = argument(argc, argv, 3, 1000), samples = argument(argc, argv, 4, 2000);
	uint32_t late = 0;
	char dir[] = "/tmp/bench_drift.XXXXXX";
	struct pathprof_store *store = open_store(dir);
	struct pathprof_error error = {""};
	struct pathprof_profile profile;
	struct pp_drift *drift = NULL;
	static double costs[100000];
	struct pp_config config;
	struct timespec now;
	int64_t end_ns;

	pp_config_defaults(&config);
	config.tell_journal = 0;
	config.drift_memory_max_bytes = 128 << 20; /* all of them are to be watched */
	snprintf(config.db_path, sizeof(config.db_path), "%s/p.db", dir);
	must(pathprof_profile_init(&profile, 512u << 20) == 0, "out of memory");
	must(pp_drift_new(&drift, &config, store, NULL, &error) == 0, error.text);
	clock_gettime(CLOCK_REALTIME, &now);
	end_ns = (int64_t)now.tv_sec * 1000000000;
	for (uint32_t i = 0; i < windows; i++, end_ns += INT64_C(60000000000)) {
		int64_t id = write_header(store, end_ns);

		fill(&profile, binaries, paths, samples, end_ns);
		double begin = cpu_ms();
		pp_drift_window(drift, &profile, id);
		if (i >= windows / 2)
			costs[late++] = cpu_ms() - begin;
	}
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < drift->subjects.cnt; i++)
		bytes += pathprof_rolling_bytes(&drift->subjects.list[i]->rolling);
	double ms = middle(costs, late);
	printf("%u binaries of %u paths, some %u samples each a window, windows %u..%u\n", binaries,
	       paths, samples, windows / 2, windows);
	printf("CPU a window: median %.1f ms, greatest %.1f ms\n", ms, costs[late - 1]);
	printf("share of a core: %.4f %% at 60 s windows, %.4f %% at 10 s\n", ms / 600, ms / 100);
	printf("memory: %.1f MB, measurements %llu, subjects %u, let go %llu\n",
	       (double)bytes / 1e6, (unsigned long long)drift->judge.measured, drift->subjects.cnt,
	       (unsigned long long)drift->subjects.evicted);
	pp_drift_free(drift);
	pathprof_profile_release(&profile);
	pathprof_store_free(store);
	remove_store(dir);
	if (ms / 60000 > SHARE_MAX)
		printf("over the aim of %.1f %% of a core at 60 s\n", SHARE_MAX * 100);
	return 0;
}
