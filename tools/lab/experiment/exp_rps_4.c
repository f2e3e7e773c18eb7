// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * RPS figure 4: how far six samplers are off when they estimate how often one tuple occurs in a
 * randomly permuted stream of N tuples of which 30 % are that one (RPS 3.3). Rate 10, means over
 * 2,500 trials. The paper does not say into how many substreams it splits; with four the curves lie
 * nearest to its own.
 */
#include <math.h>
#include <stdlib.h>

#include "experiment.h"
#include "pathprof/compress.h"

#define WANTED_PC 0x1000
#define POINT_CNT 20
#define STEP      1000

static const char *const samplers[] = {"R10", "P10", "CR10", "H[R10]4", "H[P10]4", "H[CR10]4"};
#define SAMPLER_CNT (sizeof(samplers) / sizeof(samplers[0]))

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Tuple i for i below 0.3 N is the wanted one, the others are all different. */
static void permute(uint32_t *order, size_t cnt, uint64_t *state)
{
	for (size_t i = 0; i < cnt; i++)
		order[i] = (uint32_t)i;
	for (size_t i = cnt - 1; i > 0; i--) {
		size_t j = (size_t)((draw(state) >> 32) * (i + 1) >> 32);
		uint32_t kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
}

static double trial(const char *notation, const uint32_t *order, size_t cnt, uint64_t seed)
{
	const struct pathprof_compress_options options = {.seed = seed};
	size_t wanted = cnt * 3 / 10;
	struct pathprof_compressor *compressor;
	struct pathprof_message message;
	struct pathprof_error error;
	double estimate = 0;

	if (pathprof_compressor_new(&compressor, notation, &options, &error))
		lab_fail("%s", error.text);
	for (size_t i = 0; i < cnt; i++) {
		uint64_t pc = order[i] < wanted ? WANTED_PC : WANTED_PC + 4 * (uint64_t)order[i];

		if (pathprof_compressor_step(compressor, pc, 0, &message) &&
		    message.pc == WANTED_PC)
			estimate += (double)message.count;
	}
	pathprof_compressor_free(compressor);
	return estimate > 0 ? 100 * fabs((double)wanted - estimate) / estimate : 100;
}

static void point(struct lab_table *table, size_t cnt, unsigned int trial_cnt, double *ret_mean)
{
	uint32_t *order = calloc(cnt, sizeof(*order));
	uint64_t state = 0x5eed + cnt;
	char label[32];

	if (!order)
		lab_fail("out of memory");
	for (size_t s = 0; s < SAMPLER_CNT; s++)
		ret_mean[s] = 0;
	for (unsigned int t = 0; t < trial_cnt; t++) {
		permute(order, cnt, &state);
		for (size_t s = 0; s < SAMPLER_CNT; s++)
			ret_mean[s] += trial(samplers[s], order, cnt, draw(&state) | 1) / trial_cnt;
	}
	free(order);
	snprintf(label, sizeof(label), "%zu", cnt);
	lab_table_add(table, label, ret_mean);
}

/* The point at which a falling curve passes 4 %, interpolated. NaN if it does not. */
static double reaches(double (*mean)[SAMPLER_CNT], size_t sampler)
{
	if (mean[0][sampler] <= 4)
		return STEP;
	for (size_t i = 1; i < POINT_CNT; i++) {
		double before = mean[i - 1][sampler], now = mean[i][sampler];

		if (now <= 4)
			return STEP *
			       ((double)i + (before > now ? (before - 4) / (before - now) : 1));
	}
	return NAN;
}

static void run(struct lab_run *run)
{
	struct lab_table *table = lab_table_new("rps-4", "Mean error of an estimated frequency, %",
						"tuples", samplers, SAMPLER_CNT);
	const struct lab_plot plot = {
		.form = LAB_PLOT_LINES, .x = "stream length, tuples", .y = "mean error, %"};
	static double mean[POINT_CNT][SAMPLER_CNT];

	for (size_t i = 0; i < POINT_CNT; i++)
		point(table, (i + 1) * STEP, lab_run_small(run) ? 500 : 2500, mean[i]);
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
	lab_headline(run,
		     &(struct lab_headline){.what = "stream length to 4 % error, R10 over H[P10]4",
					    .paper = "12000/4600 = 2.6 x",
					    .ours = reaches(mean, 0) / reaches(mean, 4),
					    .unit = "x",
					    .aim = 2.6});
}

const struct lab_experiment exp_rps_4 = {"rps-4", "samplers on a random stream", "RPS figure 4",
					 run};
