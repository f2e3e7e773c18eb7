// SPDX-License-Identifier: GPL-2.0-or-later
/* Windows drawn from a mix, and the shares estimated from them. */
#include "sampled.h"

#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "../lab.h"

void lab_sampled_init(struct lab_sampled *s, const struct lab_mix *mix,
		      const struct lab_window_form *form, uint64_t seed)
{
	*s = (struct lab_sampled){.mix = mix, .form = *form, .state = seed};
	lab_profile_init(&s->paths, LAB_SAMPLED_COLUMN_CNT);
	s->function_time = calloc(mix->function_cnt + 1, sizeof(s->function_time[0]));
	s->function_runs = calloc(mix->function_cnt + 1, sizeof(s->function_runs[0]));
	if (!s->function_time || !s->function_runs)
		lab_fail("sampled: out of memory");
}

static void forget_shares(struct lab_sampled *s)
{
	free(s->shares.functions);
	free(s->shares.paths);
	s->shares = (struct pathprof_shares){.path_cnt = 0};
}

void lab_sampled_release(struct lab_sampled *s)
{
	forget_shares(s);
	lab_profile_release(&s->paths);
	free(s->sightings);
	free(s->function_time);
	free(s->function_runs);
	*s = (struct lab_sampled){.mix = NULL};
}

void lab_sampled_clear(struct lab_sampled *s)
{
	lab_profile_clear(&s->paths);
	s->window_cnt = s->branch_cnt = s->insn_cnt = s->decision_cnt = s->full_cnt = 0;
	s->sighting_cnt = 0;
}

/* ---------------------------------------------------------------- windows */

void lab_sampled_add(struct lab_sampled *s, const struct lab_sighting *sighting)
{
	double *c = lab_profile_at(&s->paths, &sighting->key);
	double burst = 1.0 + sighting->window;

	if (c[LAB_SAMPLED_BURST] != burst) {
		c[LAB_SAMPLED_BURST] = burst;
		c[LAB_SAMPLED_BURST_SAMPLES] = 0;
	}
	/* (k + 1)^2 - k^2 */
	c[LAB_SAMPLED_SQUARES] += 2 * c[LAB_SAMPLED_BURST_SAMPLES]++ + 1;
	c[LAB_SAMPLED_SAMPLES]++;
	c[LAB_SAMPLED_WEIGHT] += sighting->weight;
	c[LAB_SAMPLED_INSNS] += sighting->weight * sighting->insns;
}

static void keep(struct lab_sampled *s, const struct lab_sighting *sighting)
{
	if (pp_grow(&s->sightings, s->sighting_cnt, &s->sighting_room) < 0)
		lab_fail("sampled: out of memory");
	s->sightings[s->sighting_cnt++] = *sighting;
}

static void add_seen(void *context, const struct pathprof_path_seen *path)
{
	struct lab_sampled *s = context;
	const struct lab_sighting sighting = {
		.key = {lab_mix_start(s->stream, path->start), path->length, path->outcomes},
		.window = (uint32_t)s->window_cnt,
		.insns = path->insns,
		.weight = s->without_weights ? 1 : path->weight,
	};

	lab_sampled_add(s, &sighting);
	if (s->keep)
		keep(s, &sighting);
}

/* Whether a stepper must stop here, because it cannot tell where the program goes. */
static bool is_decision(const struct pathprof_branch *b)
{
	return b->kind == PERF_BR_COND || b->kind == PERF_BR_IND || b->kind == PERF_BR_IND_CALL ||
	       b->kind == PERF_BR_RET;
}

void lab_sampled_take(struct lab_sampled *s, uint64_t window_cnt)
{
	struct pathprof_branch branches[PATHPROF_BURST_MAX];
	uint32_t cnt, insns;

	for (uint64_t i = 0; i < window_cnt; i++) {
		cnt = lab_mix_window(s->mix, &s->form, &s->state, branches, &insns, &s->stream);
		if (pathprof_paths_of_window(branches, cnt, s->form.horizon, PATHPROF_MAPPING_BL,
					     add_seen, s) < 0)
			lab_fail("windows: the trace holds a branch that cannot be");
		s->window_cnt++;
		s->branch_cnt += cnt;
		s->insn_cnt += insns;
		s->full_cnt += cnt == PATHPROF_BURST_MAX;
		for (uint32_t b = 0; b < cnt; b++)
			s->decision_cnt += is_decision(&branches[b]);
	}
}

/* ---------------------------------------------------------------- shares */

static void prepare(struct lab_sampled *s, const uint64_t *clock)
{
	struct pathprof_shares *shares = &s->shares;
	uint32_t cnt = s->mix->function_cnt;

	forget_shares(s);
	shares->functions = calloc(cnt + 1, sizeof(shares->functions[0]));
	shares->paths = calloc(s->paths.cnt + 1, sizeof(shares->paths[0]));
	if (!shares->functions || !shares->paths)
		lab_fail("sampled: out of memory");
	shares->function_cnt = cnt;
	shares->bursts = s->window_cnt;
	for (uint32_t f = 0; clock && f < cnt; f++) {
		shares->functions[f].clock_samples = clock[f];
		shares->clock_samples += clock[f];
	}
	shares->horizon = s->form.horizon;
	if (shares->clock_samples)
		shares->insns_a_sample =
			(double)s->window_cnt * s->form.horizon / (double)shares->clock_samples;
	for (size_t i = 0; i < s->paths.cnt; i++) {
		double *c = s->paths.weights + i * s->paths.column_cnt;

		c[LAB_SAMPLED_INDEX] = (double)shares->path_cnt;
		shares->paths[shares->path_cnt++] = (struct pathprof_shares_path){
			.function = lab_mix_function(s->mix, &s->paths.keys[i]),
			.samples = (uint64_t)c[LAB_SAMPLED_SAMPLES],
			.squares = c[LAB_SAMPLED_SQUARES],
			.weight = c[LAB_SAMPLED_WEIGHT],
			.insns = c[LAB_SAMPLED_INSNS],
		};
	}
}

/* Shares as proportions of what was seen. */
static void by_proportion(struct lab_sampled *s, enum lab_sampled_column time_column)
{
	double weights = lab_profile_total(&s->paths, LAB_SAMPLED_WEIGHT);
	double times = lab_profile_total(&s->paths, time_column);

	for (size_t i = 0; i < s->paths.cnt; i++) {
		const double *c = s->paths.weights + i * s->paths.column_cnt;
		struct pathprof_shares_path *path;
		struct pathprof_shares_function *function;

		path = &s->shares.paths[(size_t)c[LAB_SAMPLED_INDEX]];
		function = &s->shares.functions[path->function];
		path->runs.value = c[LAB_SAMPLED_WEIGHT] / weights;
		path->time.value = c[time_column] / times;
		function->runs.value += path->runs.value;
		function->time.value += path->time.value;
	}
}

static double known(double value)
{
	return isnan(value) ? 0 : value;
}

void lab_sampled_read(struct lab_sampled *s, enum lab_sampled_estimator estimator,
		      const uint64_t *clock)
{
	prepare(s, clock);
	if (estimator == LAB_SAMPLED_PLAIN)
		by_proportion(s, LAB_SAMPLED_WEIGHT);
	else if (estimator == LAB_SAMPLED_WEIGHTS)
		by_proportion(s, LAB_SAMPLED_INSNS);
	else if (pathprof_shares_work_out(&s->shares) < 0)
		lab_fail("sampled: figures that no profile has");
	for (size_t i = 0; i < s->paths.cnt; i++) {
		double *c = s->paths.weights + i * s->paths.column_cnt;
		const struct pathprof_shares_path *path =
			&s->shares.paths[(size_t)c[LAB_SAMPLED_INDEX]];

		c[LAB_SAMPLED_RUNS] = known(path->runs.value);
		c[LAB_SAMPLED_TIME] = known(path->time.value);
	}
	for (uint32_t f = 0; f < s->mix->function_cnt; f++) {
		s->function_time[f] = known(s->shares.functions[f].time.value);
		s->function_runs[f] = known(s->shares.functions[f].runs.value);
	}
}

double lab_sampled_overlap_runs(const struct lab_sampled *s)
{
	return lab_profile_overlap(&s->paths, LAB_SAMPLED_RUNS, &s->mix->truth, LAB_MIX_RUNS);
}

double lab_sampled_overlap_time(const struct lab_sampled *s)
{
	return lab_profile_overlap(&s->paths, LAB_SAMPLED_TIME, &s->mix->truth, LAB_MIX_TIME);
}

double lab_sampled_overlap_functions(const struct lab_sampled *s)
{
	double sum = 0;

	for (uint32_t f = 0; f < s->mix->function_cnt; f++)
		sum += fmin(s->function_time[f], s->mix->function_time[f]);
	return sum;
}
