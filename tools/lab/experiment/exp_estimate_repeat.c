// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The same estimate over and over with few windows: is its mean the truth, and do its intervals
 * hold the truth as often as they say? Only shares above 1 % are judged. The bootstrap (Efron 1979)
 * judges how far estimates scatter without any formula: windows are drawn again from those of the
 * first repetition, and clock samples from its counts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exp_estimate.h"
#include "run.h"

#define WINDOWS    1000 /* a repetition */
#define TAKEN      32
#define FLOOR      0.01 /* the least share that is judged */
#define Z_95       1.96
#define SMALL_REPS 200
#define FULL_REPS  1000
#define RESAMPLES  100

enum { PLAIN, WEIGHTS, STRATA, ESTIMATORS };
enum { FUNCTION_TIME, FUNCTION_RUNS, PATH_TIME, PATH_RUNS, SEEN_TIME, SEEN_RUNS, COVERAGES };

/* Sums of one figure over the repetitions. */
struct moments {
	double sum, squares;
	uint64_t cnt;
};

static void add_moment(struct moments *m, double x)
{
	m->sum += x;
	m->squares += x * x;
	m->cnt++;
}

static double mean_of(const struct moments *m)
{
	return m->sum / (double)m->cnt;
}

static double deviation_of(const struct moments *m)
{
	double variance = m->squares / (double)m->cnt - mean_of(m) * mean_of(m);

	return sqrt(fmax(variance, 0) * (double)m->cnt / (double)(m->cnt - 1));
}

/* A path of the truth that is large enough in TIME or in RUNS. */
struct item {
	struct lab_path_key key;
	double truth[2];                  /* TIME, RUNS */
	struct pathprof_share *shares[2]; /* of the repetitions */
	double weight, insns;             /* over all repetitions */
	struct moments estimate[2];       /* over the repetitions */
	struct moments again[2];          /* over the bootstrap's */
	double half[2];                   /* half of the first interval's width */
};

struct work {
	const struct lab_mix *mix;
	struct item *items;
	size_t item_cnt;
	struct moments *functions; /* of ESTIMATORS each, TIME */
	/* Sums over all repetitions: that many windows leave next to no sampling error. */
	double *function_insns, weight;
	size_t reps;
	uint64_t *clock;
	uint64_t held[COVERAGES], tried[COVERAGES];
};

/* ---------------------------------------------------------------- what to look at */

static void find_items(struct work *w)
{
	const struct lab_profile *truth = &w->mix->truth;
	double runs = lab_profile_total(truth, LAB_MIX_RUNS);

	w->items = lab_alloc(2 * (size_t)(1 / FLOOR), sizeof(w->items[0]));
	for (size_t i = 0; i < truth->cnt; i++) {
		const double *c = truth->weights + i * LAB_MIX_COLUMN_CNT;

		if (c[LAB_MIX_TIME] > FLOOR || c[LAB_MIX_RUNS] / runs > FLOOR)
			w->items[w->item_cnt++] =
				(struct item){.key = truth->keys[i],
					      .truth = {c[LAB_MIX_TIME], c[LAB_MIX_RUNS] / runs}};
	}
	for (size_t i = 0; i < w->item_cnt; i++)
		for (size_t x = 0; x < 2; x++)
			w->items[i].shares[x] = lab_alloc(w->reps, sizeof(struct pathprof_share));
}

/* ---------------------------------------------------------------- one repetition */

static void try_interval(struct work *w, size_t coverage, double truth,
			 const struct pathprof_share *share)
{
	if (truth <= FLOOR)
		return;
	w->tried[coverage]++;
	w->held[coverage] += share->low <= truth && truth <= share->high;
}

static struct pathprof_shares_path *path_of(struct lab_sampled *s, const struct lab_path_key *key)
{
	const double *c = lab_profile_find(&s->paths, key);

	return c ? &s->shares.paths[(size_t)c[LAB_SAMPLED_INDEX]] : NULL;
}

static void judge_paths(struct work *w, struct lab_sampled *s)
{
	static const struct pathprof_share none = {0, 0, 0};

	for (size_t i = 0; i < w->item_cnt; i++) {
		const struct pathprof_shares_path *path = path_of(s, &w->items[i].key);
		const struct pathprof_share *shares[2] = {path ? &path->time : &none,
							  path ? &path->runs : &none};

		for (size_t x = 0; x < 2; x++) {
			try_interval(w, PATH_TIME + x, w->items[i].truth[x], shares[x]);
			w->items[i].shares[x][w->items[i].estimate[x].cnt] = *shares[x];
			if (!w->items[i].estimate[x].cnt)
				w->items[i].half[x] = (shares[x]->high - shares[x]->low) / 2;
			add_moment(&w->items[i].estimate[x], shares[x]->value);
		}
		w->items[i].weight += path ? path->weight : 0;
		w->items[i].insns += path ? path->insns : 0;
	}
	for (size_t i = 0; i < s->shares.path_cnt; i++) {
		w->weight += s->shares.paths[i].weight;
		w->function_insns[s->shares.paths[i].function] += s->shares.paths[i].insns;
	}
}

/* Tries the intervals on the windows of all repetitions together, which are what windows would show
 * without sampling error. */
static void judge_seen(struct work *w)
{
	for (size_t i = 0; i < w->item_cnt; i++) {
		const struct item *item = &w->items[i];
		uint32_t f = lab_mix_function(w->mix, &item->key);
		double seen[2] = {0, item->weight / w->weight};

		if (item->insns > 0)
			seen[0] = w->mix->function_time[f] * item->insns / w->function_insns[f];
		for (size_t x = 0; x < 2; x++)
			for (size_t r = 0; r < w->reps; r++)
				try_interval(w, SEEN_TIME + x, seen[x], &item->shares[x][r]);
	}
}

static void judge_functions(struct work *w, const struct lab_sampled *s, size_t estimator)
{
	for (uint32_t f = 0; f < w->mix->function_cnt; f++) {
		add_moment(&w->functions[f * ESTIMATORS + estimator], s->function_time[f]);
		if (estimator != STRATA)
			continue;
		try_interval(w, FUNCTION_TIME, w->mix->function_time[f],
			     &s->shares.functions[f].time);
		try_interval(w, FUNCTION_RUNS, w->mix->function_runs[f],
			     &s->shares.functions[f].runs);
	}
}

static void draw_clock(struct work *w, uint64_t *state)
{
	memset(w->clock, 0, w->mix->function_cnt * sizeof(w->clock[0]));
	lab_mix_clock(w->mix, (uint64_t)WINDOWS * ESTIMATE_CLOCK_WINDOWS, state, w->clock);
}

/* ---------------------------------------------------------------- bootstrap */

/* The sum of twelve uniform draws is nearly normal. */
static double draw_normal(uint64_t *state)
{
	double sum = -6;

	for (size_t i = 0; i < 12; i++)
		sum += (double)lab_draw(state, 1ull << 53) * 0x1p-53;
	return sum;
}

/* Clock samples drawn again from the counts: binomial, hence nearly normal where it matters. */
static void draw_clock_again(const struct work *w, uint64_t *state, uint64_t *ret_clock)
{
	double all = (double)WINDOWS * ESTIMATE_CLOCK_WINDOWS;

	for (uint32_t f = 0; f < w->mix->function_cnt; f++) {
		double cnt = (double)w->clock[f];
		double drawn = cnt + sqrt(cnt * (1 - cnt / all)) * draw_normal(state);

		ret_clock[f] = drawn > 0 ? (uint64_t)(drawn + 0.5) : 0;
	}
}

static void draw_windows_again(const struct lab_sampled *from, uint64_t *state,
			       struct lab_sampled *ret_to)
{
	uint32_t times[WINDOWS] = {0};

	for (size_t i = 0; i < WINDOWS; i++)
		times[lab_draw(state, WINDOWS)]++;
	lab_sampled_clear(ret_to);
	ret_to->window_cnt = WINDOWS;
	for (size_t i = 0; i < from->sighting_cnt; i++) {
		struct lab_sighting sighting = from->sightings[i];

		sighting.weight *= times[sighting.window];
		if (times[sighting.window])
			lab_sampled_add(ret_to, &sighting);
	}
}

static void bootstrap(struct work *w, const struct lab_sampled *first, uint64_t *state)
{
	uint64_t *clock = lab_alloc(w->mix->function_cnt, sizeof(clock[0]));
	struct lab_sampled again;

	lab_sampled_init(&again, w->mix, &first->form, 0);
	for (size_t b = 0; b < RESAMPLES; b++) {
		draw_windows_again(first, state, &again);
		draw_clock_again(w, state, clock);
		lab_sampled_read(&again, LAB_SAMPLED_STRATA, clock);
		for (size_t i = 0; i < w->item_cnt; i++) {
			const struct pathprof_shares_path *path = path_of(&again, &w->items[i].key);

			add_moment(&w->items[i].again[0], path ? path->time.value : 0);
			add_moment(&w->items[i].again[1], path ? path->runs.value : 0);
		}
	}
	lab_sampled_release(&again);
	free(clock);
}

/* ---------------------------------------------------------------- all repetitions */

static void read_functions(const struct work *w, size_t time, struct estimate_repeat *r)
{
	for (uint32_t f = 0; f < w->mix->function_cnt; f++) {
		double truth = w->mix->function_time[f];

		r->functions[time] += truth > FLOOR;
		for (size_t e = 0; truth > FLOOR && e < ESTIMATORS; e++) {
			const struct moments *m = &w->functions[f * ESTIMATORS + e];
			double bias = mean_of(m) - truth;
			double error = deviation_of(m) / sqrt((double)m->cnt);

			r->bias[time][e] = fmax(r->bias[time][e], 100 * fabs(bias));
			if (error > 0)
				r->z[time][e] = fmax(r->z[time][e], fabs(bias) / error);
		}
	}
}

static void read_spread(const struct work *w, size_t time, struct estimate_repeat *r)
{
	struct moments ratios[4] = {{0}};

	for (size_t i = 0; i < w->item_cnt; i++)
		for (size_t x = 0; x < 2; x++) {
			const struct item *item = &w->items[i];
			double sd = deviation_of(&item->estimate[x]);

			if (item->truth[x] <= FLOOR || sd <= 0 || item->half[x] <= 0)
				continue;
			add_moment(&ratios[x], item->half[x] / Z_95 / sd);
			add_moment(&ratios[2 + x], deviation_of(&item->again[x]) / sd);
		}
	for (size_t i = 0; i < 4; i++)
		r->spread[time][i] = ratios[i].cnt ? mean_of(&ratios[i]) : NAN;
}

static void read_coverage(const struct work *w, size_t time, struct estimate_repeat *r)
{
	for (size_t c = 0; c < COVERAGES; c++)
		r->coverage[time][c] =
			w->tried[c] ? 100.0 * (double)w->held[c] / (double)w->tried[c] : NAN;
}

static void repeat(struct work *w, struct lab_sampled *taken, struct lab_sampled *horizon,
		   uint64_t *state)
{
	for (size_t i = 0; i < w->reps; i++) {
		lab_sampled_clear(taken);
		lab_sampled_take(taken, WINDOWS);
		lab_sampled_read(taken, LAB_SAMPLED_PLAIN, NULL);
		judge_functions(w, taken, PLAIN);
		horizon->keep = i == 0;
		lab_sampled_clear(horizon);
		lab_sampled_take(horizon, WINDOWS);
		lab_sampled_read(horizon, LAB_SAMPLED_WEIGHTS, NULL);
		judge_functions(w, horizon, WEIGHTS);
		draw_clock(w, state);
		lab_sampled_read(horizon, LAB_SAMPLED_STRATA, w->clock);
		judge_functions(w, horizon, STRATA);
		judge_paths(w, horizon);
		if (i == 0)
			bootstrap(w, horizon, state);
	}
	judge_seen(w);
}

void estimate_repeat_skip(size_t time, struct estimate_repeat *result)
{
	result->functions[time] = NAN;
	for (size_t e = 0; e < ESTIMATORS; e++)
		result->z[time][e] = result->bias[time][e] = NAN;
	for (size_t c = 0; c < COVERAGES; c++)
		result->coverage[time][c] = NAN;
	for (size_t i = 0; i < 4; i++)
		result->spread[time][i] = NAN;
}

void estimate_repeat_measure(const struct lab_run *run, const struct lab_mix *mix, size_t time,
			     uint64_t seed, struct estimate_repeat *result)
{
	struct lab_window_form form = {.clock = estimate_times[time], .taken = TAKEN};
	struct work w = {.mix = mix};
	struct lab_sampled taken, horizon;

	w.functions = lab_alloc((size_t)mix->function_cnt * ESTIMATORS, sizeof(w.functions[0]));
	w.clock = lab_alloc(mix->function_cnt, sizeof(w.clock[0]));
	w.function_insns = lab_alloc(mix->function_cnt, sizeof(w.function_insns[0]));
	w.reps = lab_run_small(run) ? SMALL_REPS : FULL_REPS;
	find_items(&w);
	lab_sampled_init(&taken, mix, &form, seed);
	form.horizon = ESTIMATE_HORIZON;
	lab_sampled_init(&horizon, mix, &form, seed + 1);
	seed += 2;
	repeat(&w, &taken, &horizon, &seed);
	read_functions(&w, time, result);
	read_coverage(&w, time, result);
	read_spread(&w, time, result);
	lab_sampled_release(&taken);
	lab_sampled_release(&horizon);
	free(w.functions);
	free(w.clock);
	free(w.function_insns);
	for (size_t i = 0; i < 2 * w.item_cnt; i++)
		free(w.items[i / 2].shares[i % 2]);
	free(w.items);
}

/* ---------------------------------------------------------------- tables */

static const char *const suffixes[ESTIMATE_TIMES] = {"", "-dear"};
static const char *const clocks_of[ESTIMATE_TIMES] = {"clock over instructions", "modelled time"};

static void write_bias(struct lab_run *run, const struct estimate_row *rows, size_t cnt,
		       size_t time)
{
	static const char *const columns[] = {
		"functions",   "z 32 taken",         "z 1024", "z 1024 + clock", "points 32 taken",
		"points 1024", "points 1024 + clock"};
	char name[64], title[160];
	struct lab_table *table;

	snprintf(name, sizeof(name), "estimate-bias%s", suffixes[time]);
	snprintf(title, sizeof(title),
		 "TIME of functions above 1 %%: greatest |z| of the mean, and greatest bias, %s",
		 clocks_of[time]);
	table = lab_table_new(name, title, "program", columns, 1 + 2 * ESTIMATORS);
	lab_table_set_decimals(table, 0, 0);
	for (size_t i = 0; i < cnt; i++) {
		const struct estimate_repeat *r = rows[i].figures;
		double values[1 + 2 * ESTIMATORS] = {r->functions[time]};

		memcpy(values + 1, r->z[time], sizeof(r->z[time]));
		memcpy(values + 1 + ESTIMATORS, r->bias[time], sizeof(r->bias[time]));
		lab_table_add(table, rows[i].label, values);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

static void write_coverage(struct lab_run *run, const struct estimate_row *rows, size_t cnt,
			   size_t time)
{
	static const char *const columns[] = {"functions: TIME",  "functions: RUNS",
					      "paths: TIME",      "paths: RUNS",
					      "paths seen: TIME", "paths seen: RUNS"};
	char name[64], title[160];
	struct lab_table *table;

	snprintf(name, sizeof(name), "estimate-coverage%s", suffixes[time]);
	snprintf(title, sizeof(title),
		 "Intervals of 95 %% that hold the truth, %%, what is above 1 %%, %s",
		 clocks_of[time]);
	table = lab_table_new(name, title, "program", columns, COVERAGES);
	for (size_t i = 0; i < cnt; i++) {
		const struct estimate_repeat *r = rows[i].figures;

		lab_table_add(table, rows[i].label, r->coverage[time]);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

static void write_spread(struct lab_run *run, const struct estimate_row *rows, size_t cnt)
{
	static const char *const columns[] = {"TIME: interval", "RUNS: interval", "TIME: bootstrap",
					      "RUNS: bootstrap"};
	struct lab_table *table;
	char title[160];

	snprintf(title, sizeof(title),
		 "Standard deviation of paths above 1 %%, over that of %d repetitions",
		 lab_run_small(run) ? SMALL_REPS : FULL_REPS);
	table = lab_table_new("estimate-spread", title, "program", columns, 4);
	for (size_t i = 0; i < cnt; i++) {
		const struct estimate_repeat *r = rows[i].figures;

		lab_table_add(table, rows[i].label, r->spread[0]);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

static void write_headlines(struct lab_run *run, const struct estimate_row *rows, size_t cnt)
{
	double z = 0, functions = 0, coverage[COVERAGES] = {0};
	char why[96];

	for (size_t i = 0; i < cnt; i++) {
		const struct estimate_repeat *r = rows[i].figures;

		for (size_t t = 0; t < ESTIMATE_TIMES; t++) {
			z = fmax(z, r->z[t][STRATA]);
			functions += isnan(r->functions[t]) ? 0 : r->functions[t];
		}
		for (size_t c = 0; c < COVERAGES; c++)
			coverage[c] += r->coverage[0][c] / (double)cnt;
	}
	snprintf(why, sizeof(why), "the greatest of %.0f; chance alone exceeds 3 in one of 370",
		 functions);
	lab_headline(run,
		     &(struct lab_headline){.what = "TIME of functions: greatest z of the mean",
					    .paper = "none",
					    .ours = z,
					    .unit = "",
					    .aim = 3,
					    .at_most = true,
					    .why = why});
	lab_headline(run, &(struct lab_headline){
				  .what = "intervals of TIME of functions that hold the truth",
				  .paper = "none",
				  .ours = coverage[FUNCTION_TIME],
				  .unit = "%",
				  .aim = 93});
	lab_headline(run, &(struct lab_headline){
				  .what = "intervals of RUNS of paths that hold what windows show",
				  .paper = "none",
				  .ours = coverage[SEEN_RUNS],
				  .unit = "%",
				  .aim = 93});
}

void estimate_repeat_write(struct lab_run *run, const struct estimate_row *rows, size_t cnt)
{
	for (size_t t = 0; t < ESTIMATE_TIMES; t++) {
		write_bias(run, rows, cnt, t);
		write_coverage(run, rows, cnt, t);
	}
	write_spread(run, rows, cnt);
	write_headlines(run, rows, cnt);
}
