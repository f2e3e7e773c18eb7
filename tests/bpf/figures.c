// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The cost of a branch in the kernel and in user space, in turns over the same windows, and the
 * bytes that a sample puts into the ring, beside a raw copy of its branch stack.
 *
 * Workload: a million branches of each program, and all its windows once. Times include disturbance
 * by other programs, so only figures of one run can be compared.
 */
#include "collect_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../daemon/bpf/collect_prepare.h"

#define SLICE       32 /* batches between two looks into the ring */
#define BATCHES_MAX 2048
#define RAW_BYTES   795 /* of a sample with 32 entries in perf's own ring */
#define RING_HEAD   8   /* bytes of the BPF ring's own before a record */
#define NS_KERNEL   45  /* what a branch may cost */
#define NS_USER     20

/* Nanoseconds a branch, of each batch. */
struct cost {
	double kernel[BATCHES_MAX], user[BATCHES_MAX];
	size_t cnt;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static uint64_t spent_ns(const struct program *p)
{
	return *(volatile __u64 *)&p->state->stats.value[PATHPROF_STAT_SPENT_NS];
}

static void begin(struct program *p)
{
	program_take(p);
	*p->config = settings[0].config;
	pp_collect_prepare(p->state, p->config, SEED, p->cpu);
	twin_begin_as(p->config, p->cpu);
}

/* The file by itself, so that what differs between programs shows. */
static void alone(const struct windows *w, size_t file, struct windows *ret_alone)
{
	memset(ret_alone, 0, sizeof(*ret_alone));
	ret_alone->file[0] = w->file[file];
	ret_alone->file_cnt = 1;
	ret_alone->window_cnt = w->file[file].window_cnt;
}

static uint64_t fill(struct program *p, const struct windows *w, uint64_t first)
{
	uint64_t branches = 0;
	uint32_t i;

	for (i = 0; i < BATCH; i++) {
		windows_make(w, &settings[0], first + i, &p->given[i]);
		branches += p->given[i].cnt;
	}
	return branches;
}

/* -------------------------------------------------------------------- speed */

static int time_batch(struct program *p, const struct windows *w, uint64_t first, struct cost *cost)
{
	double branches = (double)fill(p, w, first);
	uint64_t before = now_ns();

	twin_run(p->given, BATCH);
	cost->user[cost->cnt] = (double)(now_ns() - before) / branches;
	before = spent_ns(p);
	if (program_run(p))
		return -1;
	cost->kernel[cost->cnt++] = (double)(spent_ns(p) - before) / branches;
	if (cost->cnt % SLICE == 0) {
		twin_forget();
		program_take(p);
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_cost(const char *name, struct cost *cost)
{
	double kernel, user;

	qsort(cost->kernel, cost->cnt, sizeof(cost->kernel[0]), by_value);
	qsort(cost->user, cost->cnt, sizeof(cost->user[0]), by_value);
	kernel = cost->kernel[cost->cnt / 2];
	user = cost->user[cost->cnt / 2];
	printf("# bpf-speed-%s: ns a branch, median and least: BPF %.1f %.1f (aim %d, %s), user "
	       "%.1f %.1f (aim %d, %s), ratio of medians %.2f\n",
	       name, kernel, cost->kernel[0], NS_KERNEL, kernel <= NS_KERNEL ? "met" : "missed",
	       user, cost->user[0], NS_USER, user <= NS_USER ? "met" : "missed", kernel / user);
}

/* The cost of the test entry itself for each window: it finds, copies and counts the window. */
static double harness_ns(struct program *p)
{
	uint64_t before = spent_ns(p);
	uint32_t i;

	for (i = 0; i < BATCH; i++)
		p->given[i].cnt = 0;
	for (i = 0; i < SLICE; i++)
		if (program_run(p))
			return 0;
	return (double)(spent_ns(p) - before) / SLICE / BATCH;
}

void figures_speed(struct program *p, const struct windows *w, int rounds)
{
	size_t batches = (size_t)rounds * SLICE, file;
	static struct cost cost;

	for (file = 0; file < w->file_cnt; file++) {
		struct windows one;

		alone(w, file, &one);
		begin(p);
		cost.cnt = 0;
		while (cost.cnt < batches && cost.cnt < BATCHES_MAX)
			if (time_batch(p, &one, cost.cnt * BATCH, &cost))
				return;
		print_cost(one.file[0].name, &cost);
	}
	printf("# bpf-speed: of that the test entry: %.1f ns a window\n", harness_ns(p));
}

/* -------------------------------------------------------------------- bytes */

static void drain(struct program *p)
{
	uint64_t step;

	for (step = 0; step < DRAIN_STEPS; step++)
		program_drain(p, step * PP_COLLECT_DRAIN_STEP);
}

static void bytes_of(struct program *p, const struct windows *one, uint64_t windows,
		     uint64_t drain_windows)
{
	const __u64 *v = p->state->stats.value;
	uint64_t made;
	double per_sample, ring;

	begin(p);
	for (made = 0; made < windows; made += BATCH) {
		fill(p, one, made);
		if (program_run(p))
			return;
		if (made / drain_windows != (made + BATCH) / drain_windows)
			drain(p);
		program_take(p);
	}
	drain(p);
	program_take(p);
	per_sample = (double)v[PATHPROF_STAT_BYTES] / (double)made;
	ring = per_sample + RING_HEAD * (double)v[PATHPROF_STAT_RECORDS] / (double)made;
	printf("# bpf-bytes-%s: %" PRIu64 " samples, drained every %" PRIu64
	       ": %.1f bytes a sample, %.1f in the ring; raw %d, %.0f times\n",
	       one->file[0].name, made, drain_windows, per_sample, ring, RAW_BYTES,
	       RAW_BYTES / ring);
}

void figures_bytes(struct program *p, const struct windows *w)
{
	size_t file;

	for (file = 0; file < w->file_cnt; file++) {
		struct windows one;

		alone(w, file, &one);
		bytes_of(p, &one, one.window_cnt, 5000);
		bytes_of(p, &one, one.window_cnt, 30000);
	}
}
