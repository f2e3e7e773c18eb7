// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * What a branch costs in the kernel and in user space, in turns of the same windows, and how many
 * bytes a sample brings beside a raw copy of its branch stack.
 *
 * Workload: a million branches of each program, and all its windows once. Times are those of the
 * machine as it is now, neighbours included; what one run says of both sides can be compared.
 */
#include "collect_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../daemon/bpf/collect_prepare.h"

#define SLICE     32  /* batches timed at a time */
#define RAW_BYTES 795 /* of a sample with 32 entries in perf's own ring */
#define RING_HEAD 8   /* bytes of the BPF ring's own before a record */
#define NS_KERNEL 45  /* what a branch may cost */
#define NS_USER   20

struct cost {
	double kernel_ns, user_ns;             /* of all */
	double least_kernel_ns, least_user_ns; /* of a branch, in the best slice */
	uint64_t branches;
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

static int time_slice(struct program *p, const struct windows *w, uint64_t first, struct cost *cost)
{
	uint64_t kernel_ns = 0, user_ns = 0, branches = 0, before;
	uint32_t i;

	for (i = 0; i < SLICE; i++) {
		branches += fill(p, w, first + (uint64_t)i * BATCH);
		before = now_ns();
		twin_run(p->given, BATCH);
		user_ns += now_ns() - before;
		before = spent_ns(p);
		if (program_run(p))
			return -1;
		kernel_ns += spent_ns(p) - before;
	}
	twin_forget();
	program_take(p);
	cost->kernel_ns += (double)kernel_ns;
	cost->user_ns += (double)user_ns;
	cost->branches += branches;
	if ((double)kernel_ns < cost->least_kernel_ns * (double)branches)
		cost->least_kernel_ns = (double)kernel_ns / (double)branches;
	if ((double)user_ns < cost->least_user_ns * (double)branches)
		cost->least_user_ns = (double)user_ns / (double)branches;
	return 0;
}

/* What the test entry itself does for each window: finding it, copying it, counting it. */
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
	size_t file;
	int round;

	for (file = 0; file < w->file_cnt; file++) {
		struct cost cost = {.least_kernel_ns = 1e9, .least_user_ns = 1e9};
		struct windows one;

		alone(w, file, &one);
		begin(p);
		for (round = 0; round < rounds; round++)
			if (time_slice(p, &one, (uint64_t)round * SLICE * BATCH, &cost))
				return;
		printf("# bpf-speed-%s: ns a branch: BPF %.1f (best %.1f, aim %d), user %.1f (best "
		       "%.1f, aim %d), ratio %.2f\n",
		       one.file[0].name, cost.kernel_ns / (double)cost.branches,
		       cost.least_kernel_ns, NS_KERNEL, cost.user_ns / (double)cost.branches,
		       cost.least_user_ns, NS_USER, cost.kernel_ns / cost.user_ns);
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
