// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a database that a service watched: drift_db FILE. The windows, a minute apart from
 * 2026-01-02 00:00 UTC, went through the daemon's drift when they closed: with the default rules,
 * and a row of drift for each that was measured. pathprofctl measures the same windows by itself
 * where the rows are missing (tests/scenario/ctl_drift.sh).
 *
 * Two builds run, one of them in two containers, and one of these changes its ways for a while, so
 * that the rule fires and windows stay out of the baseline. One build is seen too seldom now and
 * then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/drift/drift.h"

#define BEGIN_NS  INT64_C(1767312000000000000)
#define MINUTE_NS INT64_C(60000000000)
#define WINDOWS   90 /* more than the baseline spans */
#define WAYS      40

static uint64_t state = 1;

static uint32_t draw(uint32_t bound)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % bound);
}

/* shift moves the program's taste; some samples weigh more than others. */
static void run_program(struct pathprof_profile *profile, uint8_t number, const char *container,
			uint32_t shift, uint32_t samples)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};
	char comm[] = "program", where[16], name[16];
	struct pathprof_process process = {
		.pid = 100 * number + (uint32_t)strlen(container),
		.start_time = 1,
		.comm = comm,
		.container = where,
	};
	struct pathprof_path_count path = {.length = 1, .samples = 1, .squares = 1};

	memset(id.bytes, number, sizeof(id.bytes));
	snprintf(where, sizeof(where), "%s", container);
	snprintf(name, sizeof(name), "program%d", number);
	path.binary = process.binary = pathprof_profile_binary(profile, &id, name);
	path.process = pathprof_profile_process(profile, &process);
	for (uint32_t i = 0; i < samples; i++) {
		uint32_t a = draw(WAYS), b = draw(WAYS);

		path.start = 0x1000 + 16 * (((a < b ? a : b) + shift) % WAYS);
		path.weight = 1 + 0.25 * (double)draw(4);
		path.weight_squares = path.weight * path.weight;
		pathprof_profile_add_path(profile, &path);
	}
}

static void fill(struct pathprof_profile *profile, uint32_t window)
{
	bool changed = window >= 30 && window < 40;

	pathprof_profile_clear(profile);
	profile->begin_ns = BEGIN_NS + window * MINUTE_NS;
	profile->end_ns = profile->begin_ns + MINUTE_NS;
	profile->source = PATHPROF_SOURCE_STEP;
	profile->basis = PATHPROF_BASIS_TIME;
	profile->horizon = 1000;
	profile->clock_hz = 97;
	profile->weighed = true;
	run_program(profile, 1, "", 0, 1000);
	run_program(profile, 1, "box", changed ? 5 : 0, 1500);
	run_program(profile, 2, "", 0, window % 3 ? 400 : 100);
	profile->totals.paths = window % 3 ? 2900 : 2600;
	profile->totals.bursts = 1000;
}

static int must(int r, const char *what, const struct pathprof_error *error)
{
	if (r == 0)
		return 0;
	fprintf(stderr, "drift_db: %s: %s\n", what, error->text);
	exit(1);
}

int main(int argc, char **argv)
{
	struct pathprof_error error = {""};
	struct pathprof_store *store = NULL;
	struct pathprof_profile profile;
	struct pp_drift *drift = NULL;
	struct pp_config config;
	sd_event *event = NULL;
	int64_t id = 0;

	if (argc != 2) {
		fputs("usage: drift_db FILE\n", stderr);
		return 2;
	}
	pp_config_defaults(&config);
	config.tell_journal = 0;
	snprintf(config.db_path, sizeof(config.db_path), "%s", argv[1]);
	must(sd_event_new(&event) < 0, "event loop", &error);
	must(pathprof_profile_init(&profile, 8 << 20), "profile", &error);
	must(pathprof_store_open(&store, argv[1], PATHPROF_STORE_WRITE, &error), "open", &error);
	must(pp_drift_new(&drift, &config, store, event, &error), "drift", &error);
	for (uint32_t i = 0; i < WINDOWS; i++) {
		fill(&profile, i);
		must(pathprof_store_add_window(store, &profile, &id, &error), "write", &error);
		pp_drift_window(drift, &profile, id);
	}
	pp_drift_free(drift);
	pathprof_store_free(store);
	pathprof_profile_release(&profile);
	sd_event_unref(event);
	return 0;
}
