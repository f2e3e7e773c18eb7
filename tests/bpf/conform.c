// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The same windows, the same bits: each setting on all three ways at once, with drains in the
 * middle; and faults planted in a window and in the state, which must be seen.
 *
 * Workload: collect_check.h.
 */
#include "collect_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../daemon/bpf/collect_prepare.h"

#define FALSIFIED 20 /* windows: a sampler may leave any one out */

struct run {
	struct program *program;
	const struct setting *setting;
	const struct windows *windows;
	uint64_t made;     /* windows */
	uint64_t branches; /* entries of those */
	uint64_t batches;
	uint64_t falsify; /* windows of the program's side only, from the first on */
	uint32_t falsify_entries;
	uint64_t lines_differ;
	bool modelled;
	bool quiet;
	char why[128]; /* not empty: what differs */
};

#define FAIL(run, ...) snprintf((run)->why, sizeof((run)->why), __VA_ARGS__)

/* ---------------------------------------------------------------- comparing */

/* Clears the fields that only BPF writes, and those that hold times. */
static void forget_own(struct pp_collect_state *s)
{
	s->walk.scratch = 0;
	s->hpt.scratch = 0;
	s->compress.tagged.scratch = 0;
	s->compress.assoc.scratch = 0;
	s->compress.assoc.scratch2 = 0;
	s->slice_spent_ns = 0;
	s->stats.value[PATHPROF_STAT_SPENT_NS] = 0;
}

/* -1, or the offset of the first byte that differs. */
static long first_difference(const void *a, const void *b, size_t len_bytes)
{
	const unsigned char *x = a, *y = b;
	size_t i = 0;

	if (!memcmp(a, b, len_bytes))
		return -1;
	while (x[i] == y[i])
		i++;
	return (long)i;
}

static void compare_state(struct run *run)
{
	static struct pp_collect_state seen;
	long at;
	int counter;

	seen = *run->program->state;
	forget_own(&seen);
	forget_own(&twin_side.state);
	at = first_difference(&seen, &twin_side.state, sizeof(seen));
	if (at >= 0)
		FAIL(run, "state differs at byte %ld, after %" PRIu64 " windows", at, run->made);
	counter = run->modelled ? model_counters(&seen.stats) : -1;
	if (counter >= 0 && !run->why[0])
		FAIL(run, "counter %d is %llu", counter, seen.stats.value[counter]);
}

static void compare_records(struct run *run)
{
	struct program *p = run->program;
	int r = program_take(p);
	long at;

	if (r) {
		FAIL(run, "ring: %s", strerror(-r));
		return;
	}
	if (p->record_bytes != twin_side.record_bytes)
		FAIL(run, "%zu bytes of records, %zu of the twin, after %" PRIu64 " windows",
		     p->record_bytes, twin_side.record_bytes, run->made);
	at = run->why[0] ? -1 : first_difference(p->records, twin_side.records, p->record_bytes);
	if (at >= 0)
		FAIL(run, "records differ at byte %ld, after %" PRIu64 " windows", at, run->made);
	if (run->modelled)
		model_see(p->records, p->record_bytes);
	twin_forget();
}

static void compare_lines(struct run *run)
{
	uint64_t differ = model_differences(!run->quiet);

	run->lines_differ += differ;
	if (differ && !run->why[0])
		FAIL(run, "%" PRIu64 " lines are not the model's, after %" PRIu64 " windows",
		     differ, run->made);
}

/* ------------------------------------------------------------------ running */

static void falsify(struct run *run)
{
	uint32_t i, j;

	for (i = 0; i < BATCH && run->falsify; i++, run->falsify--)
		for (j = 0; j < run->falsify_entries; j++)
			run->program->given[i].stack[j].from ^= 2;
}

static void run_batch(struct run *run)
{
	struct pp_collect_given *given = run->program->given;
	uint32_t i;
	int r;

	for (i = 0; i < BATCH; i++) {
		windows_make(run->windows, run->setting, run->made + i, &given[i]);
		run->branches += given[i].cnt <= PP_COLLECT_STACK_MAX ? given[i].cnt : 0;
	}
	twin_run(given, BATCH);
	if (run->modelled)
		model_run(given, BATCH);
	falsify(run);
	r = program_run(run->program);
	if (r && !run->why[0])
		FAIL(run, "test run: %s", strerror(-r));
	run->made += BATCH;
	if (++run->batches % (run->setting->ring_batches ? run->setting->ring_batches : 1) == 0)
		compare_records(run);
}

static void drain(struct run *run)
{
	uint64_t step;
	int r;

	for (step = 0; step < DRAIN_STEPS; step++) {
		uint64_t first = step * PP_COLLECT_DRAIN_STEP;

		r = program_drain(run->program, first);
		if (r && !run->why[0])
			FAIL(run, "drain: %s", strerror(-r));
		twin_drain(first);
		if (run->modelled)
			model_drain(first);
		if (run->setting->in_drain && step + 1 < DRAIN_STEPS)
			run_batch(run);
	}
	if (run->setting->ring_batches)
		return;
	compare_records(run);
	if (run->modelled)
		compare_lines(run);
}

static void begin(struct run *run)
{
	struct program *p = run->program;

	program_take(p);
	*p->config = run->setting->config;
	pp_collect_prepare(p->state, p->config, SEED, p->cpu);
	twin_begin_as(p->config, p->cpu);
	p->state->last_context = run->setting->last_context;
	twin_side.state.last_context = run->setting->last_context;
	p->record_cnt = 0;
	if (run->modelled)
		model_begin(run->setting, p->cpu);
}

static void run_all(struct run *run, uint64_t windows)
{
	begin(run);
	while (run->made < windows && !run->why[0]) {
		run_batch(run);
		if (run->batches % run->setting->drain_batches == 0)
			drain(run);
	}
	compare_records(run);
	if (!run->why[0])
		compare_state(run);
	if (run->why[0])
		return;
	drain(run);
	compare_records(run);
	compare_state(run);
}

/* ----------------------------------------------------------------- settings */

/* Whether the event that a setting is meant to cause has happened. */
static bool has_happened(const struct run *run)
{
	const struct pp_collect_state *s = run->program->state;
	const __u64 *v = s->stats.value;

	if (run->setting->ring_batches)
		return v[PATHPROF_STAT_LOST_FULL] && v[PATHPROF_STAT_LOST_DEFINE] &&
		       v[PATHPROF_STAT_LOST_CONTEXT];
	if (run->setting->last_context)
		return s->epoch && v[PATHPROF_STAT_LOST_CONTEXT];
	if (run->setting->spoiled)
		return v[PATHPROF_STAT_LBR_ZERO] && v[PATHPROF_STAT_LBR_BOGUS] &&
		       v[PATHPROF_STAT_LBR_DUPLICATE];
	return v[PATHPROF_STAT_SEGMENTS] && run->program->record_cnt;
}

static void conform_one(struct program *p, const char *entry, const struct windows *w,
			const struct setting *s, uint64_t windows)
{
	struct run run = {.program = p, .setting = s, .windows = w};
	char name[96];

	run.modelled = !s->ring_batches;
	snprintf(name, sizeof(name), "bpf-%s-%s", entry, s->name);
	run_all(&run, windows);
	if (!run.why[0] && !has_happened(&run))
		FAIL(&run, "nothing of what it tests has happened");
	report(name, run.why[0] ? "%s" : NULL, run.why);
	printf("# %s: %" PRIu64 " branches, %" PRIu64 " records equal, %" PRIu64
	       " lines as the model's, %llu lost\n",
	       name, run.branches, p->record_cnt, run.modelled ? model_lines() : 0,
	       p->state->stats.value[PATHPROF_STAT_LOST_FULL]);
}

void conform(struct program *p, const char *entry, const struct windows *w, uint64_t windows,
	     uint64_t others)
{
	size_t i;

	for (i = 0; i < setting_cnt; i++) {
		uint64_t cnt = i ? others : windows;

		if (cnt < settings[i].least_windows)
			cnt = settings[i].least_windows;
		conform_one(p, entry, w, &settings[i], cnt);
	}
}

/* ------------------------------------------------------------------ planted */

static void plant(struct run *run, struct program *p, const struct windows *w)
{
	memset(run, 0, sizeof(*run));
	run->program = p;
	run->setting = &settings[0];
	run->windows = w;
	run->quiet = true;
}

/* One bit of one branch of one window. */
static bool sees_window(struct program *p, const struct windows *w)
{
	struct run run;

	plant(&run, p, w);
	run.falsify = 1;
	run.falsify_entries = 1;
	run_all(&run, (uint64_t)BATCH * 64);
	return run.why[0];
}

/* That the twin differs as well is passed over. */
static bool model_sees_windows(struct program *p, const struct windows *w)
{
	struct run run;
	uint32_t i;

	plant(&run, p, w);
	run.modelled = true;
	run.falsify = FALSIFIED;
	run.falsify_entries = PP_COLLECT_STACK_MAX;
	begin(&run);
	for (i = 0; i < 64; i++) {
		run.why[0] = 0;
		run_batch(&run);
	}
	drain(&run);
	return run.lines_differ;
}

static bool sees_state(struct program *p, const struct windows *w)
{
	struct run run;

	plant(&run, p, w);
	run_all(&run, (uint64_t)BATCH * 4);
	if (run.why[0])
		return false;
	p->state->compress.split.counter[PP_SPLIT_MAX - 1] ^= 1;
	compare_state(&run);
	return run.why[0];
}

void conform_planted(struct program *p, const char *entry, const struct windows *w)
{
	bool window = sees_window(p, w), windows = model_sees_windows(p, w),
	     state = sees_state(p, w);
	char name[96];

	snprintf(name, sizeof(name), "bpf-%s-planted-bits", entry);
	report(name,
	       window && windows && state
		       ? NULL
		       : "a flipped bit went unseen (window %d, by the model %d, state %d)",
	       window, windows, state);
}
