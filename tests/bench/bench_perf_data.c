// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How fast a perf.data is read, beside `perf script -F brstack` of the same file in the same run.
 *
 *     bench_perf_data [FILE]
 *
 * Workload: 260,000 samples of 32 branches, 207 MB, of four CPUs in rounds that overlap; or a real
 * FILE. Ours is the best of three, perf's (which takes half a minute) is one. Output: MB/s of wall
 * clock time, branches a second, the ratio, and the most memory that was resident. One thread.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pathprof/recording.h"

#define SAMPLES  260000u
#define CPUS     4u
#define BRANCHES 32u
#define ROUND    256u /* samples of a CPU */
#define TRIES    3

enum { ATTR_AT = 104, ATTR_BYTES = 128, DATA_AT = ATTR_AT + ATTR_BYTES + 16 };

struct sample {
	uint32_t type;
	uint16_t misc, size;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns, branch_cnt;
	uint64_t branches[BRANCHES][3];
};

static void fail(const char *what)
{
	fprintf(stderr, "bench_perf_data: %s\n", what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---------------------------------------------------------------- the file */

/* One event: cycles; ip, thread, time, branch stack; times in all records. */
static void put_header(FILE *file, uint64_t data_bytes)
{
	uint64_t header[DATA_AT / 8] = {0x32454c4946524550ull, 104,     ATTR_BYTES + 16, ATTR_AT,
					ATTR_BYTES + 16,       DATA_AT, data_bytes};
	uint64_t *attr = header + ATTR_AT / 8;

	attr[0] = (uint64_t)ATTR_BYTES << 32;
	attr[3] = 0x807;
	attr[5] = 1u << 18 | 1u << 20;
	attr[9] = 8;
	rewind(file);
	fwrite(header, sizeof(header), 1, file);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 20;
}

static void put_sample(FILE *file, uint64_t i, uint64_t *state)
{
	struct sample s = {.type = 9, .misc = 2, .size = sizeof(s), .branch_cnt = BRANCHES};

	s.pid = s.tid = 1000 + (uint32_t)(i % CPUS);
	s.time_ns = 1000000000 + 1000 * i;
	s.ip = 0x400000 + next_random(state) % 0x100000;
	for (size_t b = 0; b < BRANCHES; b++) {
		uint64_t r = next_random(state);

		s.branches[b][0] = 0x400000 + r % 0x100000;
		s.branches[b][1] = 0x400000 + (r >> 20) % 0x100000;
		s.branches[b][2] = 2 | (r & 63) << 4;
	}
	fwrite(&s, sizeof(s), 1, file);
}

static void make_file(const char *name)
{
	static const struct {
		uint32_t type;
		uint16_t misc, size;
	} round_end = {68, 0, 8};
	FILE *file = fopen(name, "w");
	uint64_t state = 1;

	if (!file)
		fail("cannot write a file");
	put_header(file, 0);
	for (uint64_t from = 0; from < SAMPLES / CPUS; from += ROUND) {
		for (uint64_t i = from * CPUS; i < (from + ROUND) * CPUS; i++)
			/* The CPUs one after the other. */
			put_sample(file, from * CPUS + (i % ROUND) * CPUS + (i / ROUND) % CPUS,
				   &state);
		fwrite(&round_end, sizeof(round_end), 1, file);
	}
	put_header(file, (uint64_t)ftell(file) - DATA_AT);
	if (fclose(file) != 0)
		fail("cannot write the file");
}

/* ---------------------------------------------------------------- the readers */

static int on_sample(void *context, const struct pathprof_recorded_sample *sample)
{
	uint64_t *sum = context;

	for (uint32_t i = 0; i < sample->branch_cnt; i++)
		*sum += sample->branches[i].from ^ sample->branches[i].to;
	return 0;
}

static double ours(const char *name, struct pathprof_recording_stats *ret_stats, uint64_t *ret_sum)
{
	struct pathprof_recording_sink sink = {.context = ret_sum, .sample = on_sample};
	struct pathprof_recording *recording;
	struct pathprof_error error = {""};
	int fd = open(name, O_RDONLY), r;
	double start = now();

	if (fd < 0 || pathprof_recording_open(&recording, PATHPROF_FORMAT_PERF_DATA, fd, name,
					      &sink, &error) < 0)
		fail(error.text[0] ? error.text : "cannot open the file");
	do
		r = pathprof_recording_read(recording, &error);
	while (r > 0);
	if (r < 0)
		fail(error.text);
	pathprof_recording_stats(recording, ret_stats);
	pathprof_recording_free(recording);
	close(fd);
	return now() - start;
}

/* Negative: there is no perf. */
static double perfs(const char *name)
{
	char command[4200];
	double start = now();
	int status;

	snprintf(command, sizeof(command),
		 "exec perf script -i '%s' -F brstack >/dev/null 2>&1 </dev/null", name);
	status = system(command);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? now() - start : -1;
}

int main(int argc, char **argv)
{
	char made[] = "/tmp/bench_perf_data.XXXXXX";
	const char *name = argc > 1 ? argv[1] : made;
	struct pathprof_recording_stats stats = {0};
	struct rusage usage;
	double best = 1e9, other, mb;
	uint64_t sum = 0;

	if (argc <= 1) {
		close(mkstemp(made));
		make_file(made);
	}
	for (int i = 0; i < TRIES; i++) {
		double took = ours(name, &stats, &sum);

		best = took < best ? took : best;
	}
	getrusage(RUSAGE_SELF, &usage);
	other = perfs(name);
	if (argc <= 1)
		unlink(made);
	mb = (double)stats.bytes_total / 1e6;
	printf("perf_data.read %.0f MB/s (%.0f MB, %" PRIu64 " branches, sum %" PRIx64 ")\n",
	       mb / best, mb, stats.branches, sum);
	printf("perf_data.branches %.1f million/s\n", (double)stats.branches / best / 1e6);
	printf("perf_data.memory %.1f MB\n", (double)usage.ru_maxrss / 1024);
	if (other > 0)
		printf("perf_data.perf_script %.1f MB/s\nperf_data.ratio %.0f\n", mb / other,
		       other / best);
	else
		printf("perf_data.perf_script - (no perf here)\n");
	return 0;
}
