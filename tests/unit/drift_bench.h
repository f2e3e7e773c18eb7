/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drift in the service on a made-up program whose ways are known, window by window, with a store
 * and no clock.
 */
#ifndef DRIFT_BENCH_H
#define DRIFT_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/drift/drift_state.h"
#include "unit.h"

static uint64_t state;

static inline uint32_t draw(uint32_t bound)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % bound);
}

/* ---------------------------------------------------------------- a made-up program */

#define WAYS    40
#define SAMPLES 6000
#define WINDOW  INT64_C(60000000000)

struct bench {
	struct pp_config config;
	struct pathprof_store *store;
	struct pathprof_profile profile;
	struct pp_drift *drift;
	sd_event *event;
	int64_t now_ns;
	uint32_t horizon; /* of the windows to come */
	char dir[160];
};

static inline struct pathprof_build_id build(uint8_t number)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};

	memset(id.bytes, number, sizeof(id.bytes));
	return id;
}

static inline void open_drift(struct bench *b)
{
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pp_drift_new(&b->drift, &b->config, b->store, b->event, &error), 0);
	CU_ASSERT_STRING_EQUAL(error.text, "");
	if (!b->drift)
		abort();
}

static inline void open_store(struct bench *b)
{
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL_FATAL(
		pathprof_store_open(&b->store, b->config.db_path, PATHPROF_STORE_WRITE, &error), 0);
}

/* Windows end now: at a start those of the last hour are looked for. */
static inline void bench_init(struct bench *b)
{
	struct timespec now;

	memset(b, 0, sizeof(*b));
	state = 3;
	pp_config_defaults(&b->config);
	b->config.tell_journal = 0;
	b->config.alerts[1].enabled = 0;
	snprintf(b->dir, sizeof(b->dir), "%s", unit_tmpdir());
	snprintf(b->config.db_path, sizeof(b->config.db_path), "%s/p.db", b->dir);
	clock_gettime(CLOCK_REALTIME, &now);
	b->now_ns = ((int64_t)now.tv_sec - 1800) * 1000000000;
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&b->profile, 8 << 20), 0);
	CU_ASSERT(sd_event_new(&b->event) >= 0);
	open_store(b);
	open_drift(b);
}

static inline void bench_release(struct bench *b)
{
	pp_drift_free(b->drift);
	pathprof_store_free(b->store);
	pathprof_profile_release(&b->profile);
	sd_event_unref(b->event);
}

/* Earlier windows may still be read when it has returned. */
static inline void begin_restart(struct bench *b)
{
	pp_drift_free(b->drift);
	pathprof_store_free(b->store);
	b->drift = NULL;
	open_store(b);
	open_drift(b);
}

/* A slow machine reads only some of the earlier windows at once. */
static inline void restart(struct bench *b)
{
	begin_restart(b);
	while (b->drift->restore)
		CU_ASSERT_FATAL(sd_event_run(b->event, UINT64_MAX) >= 0);
}

static inline void begin_window(struct bench *b)
{
	pathprof_profile_clear(&b->profile);
	b->profile.begin_ns = b->now_ns;
	b->now_ns += WINDOW;
	b->profile.end_ns = b->now_ns;
	b->profile.source = PATHPROF_SOURCE_STEP;
	b->profile.basis = PATHPROF_BASIS_TIME;
	b->profile.horizon = b->horizon;
	b->profile.totals.bursts = b->profile.totals.paths = SAMPLES;
}

/* shift moves the program's taste: 0 is how it always was. */
static inline void run_program(struct bench *b, uint8_t number, const char *path, const char *where,
			       uint32_t shift, uint32_t samples)
{
	const struct pathprof_build_id id = build(number);
	char comm[] = "program", container[32];
	struct pathprof_process process = {
		.pid = number, .start_time = number, .comm = comm, .container = container};
	struct pathprof_path_count path_count = {.length = 1, .samples = 1, .weight = 1};

	snprintf(container, sizeof(container), "%s", where);
	path_count.binary = process.binary = pathprof_profile_binary(&b->profile, &id, path);
	process.pid += (uint32_t)strlen(where) * 1000;
	path_count.process = pathprof_profile_process(&b->profile, &process);
	for (uint32_t i = 0; i < samples; i++) {
		uint32_t a = draw(WAYS), c = draw(WAYS);

		path_count.start = 0x1000 + 16 * (((a < c ? a : c) + shift) % WAYS);
		pathprof_profile_add_path(&b->profile, &path_count);
	}
}

static inline void end_window(struct bench *b)
{
	struct pathprof_error error = {""};
	int64_t id = 0;

	CU_ASSERT_EQUAL(pathprof_store_add_window(b->store, &b->profile, &id, &error), 0);
	pp_drift_window(b->drift, &b->profile, id);
}

static inline void window(struct bench *b, uint32_t shift)
{
	begin_window(b);
	run_program(b, 1, "/bin/program", "", shift, SAMPLES);
	end_window(b);
}

/* Until nothing is being read and no message waits. */
static inline void settle(struct bench *b)
{
	while (b->drift->telling.drafts || pp_names_busy(b->drift->naming.names))
		CU_ASSERT_FATAL(sd_event_run(b->event, UINT64_MAX) >= 0);
}

static inline void windows(struct bench *b, uint32_t shift, int cnt)
{
	for (int i = 0; i < cnt; i++)
		window(b, shift);
}

static inline uint32_t phase_of(const struct bench *b, const char *rule, const char *binary)
{
	for (uint32_t i = 0; i < b->drift->alerts.cnt; i++)
		if (!strcmp(b->drift->alerts.list[i]->rule, rule) &&
		    !strcmp(b->drift->alerts.list[i]->binary, binary))
			return b->drift->alerts.list[i]->state.phase;
	return UINT32_MAX;
}

static inline uint32_t fast_phase(const struct bench *b)
{
	return phase_of(b, "fast", "/bin/program");
}

struct row_sum {
	uint32_t cnt, over_cnt;
	char baseline[40];
};

static inline int add_row(void *context, const struct pathprof_drift_row *row)
{
	struct row_sum *sum = context;

	sum->cnt++;
	sum->over_cnt += row->kl_low_bits > 0.01;
	snprintf(sum->baseline, sizeof(sum->baseline), "%s", row->baseline);
	return 0;
}

static inline struct row_sum rows_of(const struct bench *b, const char *baseline)
{
	struct row_sum sum = {0};

	CU_ASSERT_EQUAL(pathprof_store_drift(b->store, NULL, baseline, add_row, &sum, NULL), 0);
	return sum;
}

static inline void windows_without_program(struct bench *b, int cnt)
{
	for (int i = 0; i < cnt; i++) {
		begin_window(b);
		end_window(b);
	}
}

#endif
