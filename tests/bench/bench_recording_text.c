// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of reading a text, beside the time that other programs need for the same file.
 *
 *     bench_recording_text [MIB]
 *
 * Workload: files of MIB (64 unless said otherwise) made here: perf script's samples of 32
 * branches, and BOLT's pre-aggregated traces. Each is read whole, three times, the best counts;
 * then awk reads it (counting branches, or adding up counts), and perf2bolt the traces, if it is
 * installed. One thread.
 *
 * Output: MB a second of processor time, and how often ours is as fast; the most memory that was
 * ever resident.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pathprof/recording.h"

#define ROUNDS   3
#define BRANCHES 32

static void fail(const char *what)
{
	fprintf(stderr, "bench_recording_text: %s\n", what);
	exit(1);
}

static uint64_t next_random(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* One of some thousand places. */
static uint64_t any_place(uint64_t base)
{
	return base + next_random() % 4096 * 19;
}

static void put_sample(FILE *file, unsigned int i)
{
	fprintf(file, "           bench %7u/%-7u %5u.%06u: cycles:u:  %16" PRIx64 " ", 4000 + i % 8,
		4000 + i % 8, i / 1000, i % 1000 * 1000, any_place(0x55d0c0a01000));
	for (int b = 0; b < BRANCHES; b++)
		fprintf(file, " 0x%" PRIx64 "/0x%" PRIx64 "/%c/-/-/%u//- ",
			any_place(0x55d0c0a01000), any_place(0x55d0c0a01000),
			next_random() % 16 ? 'P' : 'M', (unsigned int)(next_random() % 100));
	fputc('\n', file);
}

static void put_trace(FILE *file, unsigned int i)
{
	uint64_t to = any_place(0x1000);

	fprintf(file, "T %" PRIx64 " %" PRIx64 " %" PRIx64 " %u\n", any_place(0x1000), to,
		to + next_random() % 64, 1 + i % 1000);
}

/* A file in memory, named by /proc/self/fd. */
static int make_file(size_t bytes, void (*put)(FILE *, unsigned int))
{
	int fd = memfd_create("bench", 0);
	FILE *file = fd < 0 ? NULL : fdopen(dup(fd), "w");

	if (!file)
		fail("cannot make a file");
	for (unsigned int i = 0; (size_t)ftell(file) < bytes; i++)
		put(file, i);
	fclose(file);
	return fd;
}

static double used_s(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static int take_sample(void *context, const struct pathprof_recorded_sample *sample)
{
	*(uint64_t *)context += sample->branch_cnt;
	return 0;
}

static int take_count(void *context, const struct pathprof_recorded_count *count)
{
	*(uint64_t *)context += count->count;
	return 0;
}

/* Seconds; the sum is of branches, or of counts. */
static double read_once(int fd, enum pathprof_format format, uint64_t *ret_sum)
{
	uint64_t sum = 0;
	struct pathprof_recording_sink sink = {
		.context = &sum, .sample = take_sample, .count = take_count};
	struct pathprof_error error = {""};
	struct pathprof_recording *recording;
	double start = used_s(RUSAGE_SELF);
	int r;

	lseek(fd, 0, SEEK_SET);
	if (pathprof_recording_open(&recording, format, fd, "file", &sink, &error) < 0)
		fail(error.text);
	while ((r = pathprof_recording_read(recording, &error)) > 0)
		;
	if (r < 0)
		fail(error.text);
	pathprof_recording_free(recording);
	*ret_sum = sum;
	return used_s(RUSAGE_SELF) - start;
}

static double read_best(int fd, enum pathprof_format format, uint64_t *ret_sum)
{
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		double s = read_once(fd, format, ret_sum);

		if (s < best)
			best = s;
	}
	return best;
}

/* Seconds of a shell command; below 0 when it fails. It prints a number or nothing. */
static double run(const char *command, uint64_t *ret_number)
{
	double start = used_s(RUSAGE_CHILDREN);
	FILE *pipe = popen(command, "re");
	char line[64] = "";

	if (!pipe)
		fail("popen");
	if (fgets(line, sizeof(line), pipe))
		*ret_number = strtoull(line, NULL, 10);
	if (pclose(pipe) != 0)
		return -1;
	return used_s(RUSAGE_CHILDREN) - start;
}

static void report(const char *name, const char *other, double mb, double ours_s, double other_s)
{
	if (other_s <= 0) {
		printf("%s.%s skipped: not installed, or it failed\n", name, other);
		return;
	}
	printf("%s.%s %.0f MB/s\n", name, other, mb / other_s);
	printf("%s.times_%s %.1f\n", name, other, other_s / ours_s);
}

static double file_mb(int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		fail("fstat");
	return (double)status.st_size * 1e-6;
}

static void bench_script(size_t bytes)
{
	int fd = make_file(bytes, put_sample);
	uint64_t sum, other_sum = 0;
	char command[256];
	double ours_s = read_best(fd, PATHPROF_FORMAT_PERF_SCRIPT, &sum), other_s;

	printf("script.ours %.0f MB/s\n", file_mb(fd) / ours_s);
	snprintf(command, sizeof(command),
		 "awk '{for(i=1;i<=NF;i++)if(index($i,\"0x\")==1)n++}END{print n}' /proc/%d/fd/%d",
		 (int)getpid(), fd);
	other_s = run(command, &other_sum);
	if (other_s > 0 && other_sum != sum)
		fail("awk counts other branches");
	report("script", "awk", file_mb(fd), ours_s, other_s);
	close(fd);
}

/* perf2bolt's work on a binary is not ours to count: it is run on an empty file as well. */
static double run_perf2bolt(int fd)
{
	char command[512];
	uint64_t number;
	double empty_s, s;
	const char *form =
		"p=$(command -v perf2bolt-22 perf2bolt-19 perf2bolt /usr/lib/llvm-22/bin/"
		"perf2bolt | head -n 1); t=$(mktemp); \"$p\" --pa -p %s -o $t "
		"/proc/%d/exe >/dev/null 2>&1; r=$?; rm -f $t; exit $r";
	char file[64];

	snprintf(command, sizeof(command), form, "/dev/null", (int)getpid());
	empty_s = run(command, &number);
	snprintf(file, sizeof(file), "/proc/%d/fd/%d", (int)getpid(), fd);
	snprintf(command, sizeof(command), form, file, (int)getpid());
	s = run(command, &number);
	return s > 0 && empty_s > 0 ? s - empty_s : -1;
}

static void bench_preagg(size_t bytes)
{
	int fd = make_file(bytes, put_trace);
	uint64_t sum, other_sum = 0;
	char command[256];
	double ours_s = read_best(fd, PATHPROF_FORMAT_BOLT_PREAGG, &sum), other_s;

	printf("preagg.ours %.0f MB/s\n", file_mb(fd) / ours_s);
	snprintf(command, sizeof(command), "awk '{n+=$5}END{print n}' /proc/%d/fd/%d",
		 (int)getpid(), fd);
	other_s = run(command, &other_sum);
	if (other_s > 0 && other_sum != sum)
		fail("awk adds up other counts");
	report("preagg", "awk", file_mb(fd), ours_s, other_s);
	report("preagg", "perf2bolt", file_mb(fd), ours_s, run_perf2bolt(fd));
	close(fd);
}

int main(int argc, char **argv)
{
	size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 64;
	struct rusage usage;

	if (mib == 0 || mib > 4096)
		fail("MIB is a number from 1 to 4096");
	bench_script(mib << 20);
	bench_preagg(mib << 20);
	getrusage(RUSAGE_SELF, &usage);
	printf("resident %ld kB\n", usage.ru_maxrss);
	return 0;
}
