// SPDX-License-Identifier: GPL-2.0-or-later
/* The cost of the tracker, in lines `name value unit`. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/track/track.h"
#include "pathprof/space.h"

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static struct pp_track *new_track(bool no_perf)
{
	struct pp_track_config config = {.no_perf = no_perf};
	struct pathprof_error error;
	struct pp_track *track;

	if (pp_track_new(&track, &config, &error)) {
		fprintf(stderr, "bench_track: %s\n", error.text);
		exit(1);
	}
	return track;
}

static size_t used_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* A tracker that knows no process yet. */
static size_t empty_bytes(void)
{
	size_t before_bytes = used_bytes(), after_bytes;
	struct pp_track *track = new_track(true);

	after_bytes = used_bytes();
	pp_track_free(track);
	return after_bytes - before_bytes;
}

static void bench_scan(void)
{
	size_t fixed_bytes = empty_bytes(), before_bytes = used_bytes(), after_bytes;
	uint64_t begin_ns = now_ns(CLOCK_MONOTONIC), cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct pp_track *track = new_track(false);
	struct pp_track_stats stats;

	begin_ns = now_ns(CLOCK_MONOTONIC) - begin_ns;
	cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	after_bytes = used_bytes();
	pp_track_stats(track, &stats);
	cpu_ns += stats.child_cpu_ns;
	printf("track_open_and_scan %.3f ms\n", (double)begin_ns / 1e6);
	printf("track_scan_processes %llu processes\n", (unsigned long long)stats.processes);
	printf("track_scan_mappings %llu mappings\n", (unsigned long long)stats.mappings);
	if (stats.processes)
		printf("track_scan_cpu_per_process %.1f us\n",
		       (double)cpu_ns / 1e3 / (double)stats.processes);
	printf("track_memory_fixed %.0f KiB\n", (double)fixed_bytes / 1024);
	if (stats.processes)
		printf("track_memory_per_process %.0f bytes\n",
		       (double)(after_bytes - before_bytes - fixed_bytes) /
			       (double)stats.processes);
	pp_track_free(track);
}

static void bench_resolve(bool no_perf, const char *name)
{
	const int cnt = 200000;
	struct pp_track *track = new_track(no_perf);
	struct pp_location location;
	uint64_t begin_ns, sum = 0;
	pid_t self = getpid();

	pp_track_dispatch(track);
	begin_ns = now_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < cnt; i++) {
		uint64_t address = i & 1 ? (uintptr_t)&bench_resolve : (uintptr_t)&getenv;

		if (pp_track_resolve(track, self, begin_ns, address, &location))
			exit(1);
		sum += location.offset;
	}
	printf("%s %.1f ns\n", name,
	       (double)(now_ns(CLOCK_MONOTONIC) - begin_ns) / cnt + (sum == 1));
	pp_track_free(track);
}

static void bench_dispatch_idle(void)
{
	const int cnt = 20000;
	struct pp_track *track = new_track(false);
	uint64_t begin_ns = now_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < cnt; i++)
		pp_track_dispatch(track);
	printf("track_dispatch_idle %.0f ns\n", (double)(now_ns(CLOCK_MONOTONIC) - begin_ns) / cnt);
	pp_track_free(track);
}

/* CPU time of the tracker, and memory kept for the grace time, an exec that came and went. */
static void bench_exec(void)
{
	const int cnt = 500;
	struct pp_track *track = new_track(false);
	struct pp_track_stats stats;
	uint64_t cpu_ns = 0, children_ns, events;
	size_t before_bytes;

	pp_track_dispatch(track);
	pp_track_stats(track, &stats);
	events = stats.events;
	children_ns = stats.child_cpu_ns;
	before_bytes = used_bytes();
	for (int i = 0; i < cnt; i++) {
		uint64_t begin_ns;
		pid_t pid = fork();

		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
		begin_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
		pp_track_dispatch(track);
		cpu_ns += now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
	}
	pp_track_stats(track, &stats);
	cpu_ns += stats.child_cpu_ns - children_ns;
	printf("track_cpu_per_exec %.1f us\n", (double)cpu_ns / 1e3 / cnt);
	printf("track_events_per_exec %.1f events\n", (double)(stats.events - events) / cnt);
	printf("track_memory_per_ended_exec %.0f bytes\n",
	       (double)(used_bytes() - before_bytes) / cnt);
	pp_track_free(track);
}

static void bench_space(void)
{
	const uint64_t page_bytes = 4096, piece_cnt = 1000;
	const int cnt = 2000000;
	struct pathprof_space *space;
	uint64_t begin_ns, found = 0;

	if (pathprof_space_new(&space))
		exit(1);
	for (uint64_t i = 0; i < piece_cnt; i++) {
		struct pathprof_mapped_piece piece = {2 * i * page_bytes, (2 * i + 1) * page_bytes,
						      0, NULL};

		if (pathprof_space_map(space, &piece, 1))
			exit(1);
	}
	begin_ns = now_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < cnt; i++)
		found += pathprof_space_find(space, 2,
					     (uint64_t)i * 7919 % (2 * piece_cnt) * page_bytes) !=
			 NULL;
	printf("track_find_of_1000_pieces %.1f ns\n",
	       (double)(now_ns(CLOCK_MONOTONIC) - begin_ns) / cnt + (found == 1));
	pathprof_space_put(space);
}

int main(void)
{
	bench_scan();
	bench_resolve(false, "track_resolve");
	bench_resolve(true, "track_resolve_no_perf");
	bench_space();
	bench_dispatch_idle();
	bench_exec();
	return 0;
}
