// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes the database of a busy host: a window a minute, the last one ending now, each of PATHS
 * paths of twenty binaries, a fifth of them never seen before.
 *
 *     large_db FILE WINDOWS PATHS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pathprof/store.h"

#define PROCESSES 50
#define BINARIES  20
#define MINUTE_NS INT64_C(60000000000)

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

static void fill(struct pathprof_profile *p, int64_t end_ns, uint64_t number, uint64_t path_cnt)
{
	pathprof_profile_clear(p);
	p->begin_ns = end_ns - MINUTE_NS;
	p->end_ns = end_ns;
	p->source = PATHPROF_SOURCE_STEP;
	p->basis = PATHPROF_BASIS_TIME;
	p->horizon = 1024;
	p->totals.bursts = path_cnt;
	fill_names(p);
	for (uint64_t i = 0; i < path_cnt; i++) {
		const uint64_t fresh = i % 5 ? 0 : number * path_cnt;
		const struct pathprof_path_count count = {
			.process = (uint32_t)(i % PROCESSES),
			.binary = (uint32_t)(i % BINARIES),
			.start = 0x1000 + 16 * (fresh + i),
			.length = (uint8_t)(i % 33),
			.outcomes = (uint32_t)i & ((1u << (i % 33 % 32)) - 1),
			.samples = 1 + i % 7,
			.weight = 1.25 * (double)(1 + i % 7),
		};

		pathprof_profile_add_path(p, &count);
	}
}

int main(int argc, char **argv)
{
	struct pathprof_error error = {""};
	struct pathprof_store *store = NULL;
	struct pathprof_profile profile;
	struct timespec now;
	int64_t window_cnt, now_ns;

	if (argc != 4) {
		fprintf(stderr, "usage: large_db FILE WINDOWS PATHS\n");
		return 2;
	}
	window_cnt = strtol(argv[2], NULL, 10);
	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	if (pathprof_store_open(&store, argv[1], PATHPROF_STORE_WRITE, &error) < 0 ||
	    pathprof_profile_init(&profile, 256u << 20) < 0) {
		fprintf(stderr, "large_db: %s: %s\n", argv[1], error.text);
		return 1;
	}
	for (int64_t i = 1; i <= window_cnt; i++) {
		fill(&profile, now_ns - (window_cnt - i) * MINUTE_NS, (uint64_t)i,
		     strtoul(argv[3], NULL, 10));
		if (pathprof_store_add_window(store, &profile, NULL, &error) < 0) {
			fprintf(stderr, "large_db: %s: %s\n", argv[1], error.text);
			return 1;
		}
	}
	pathprof_profile_release(&profile);
	pathprof_store_free(store);
	return 0;
}
