// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Comparing and combining profiles (CCP section 4) over programs with three inputs each: branch
 * profiles from exact traces. It prints the metrics for each pair of inputs, and the loss of static
 * prediction when it is trained on the other input; and for each input the accuracy of prediction
 * trained on the others combined.
 *
 * Workload: two dozen traces, one pass each; profiles of some ten thousand branches. Each pass runs
 * in a process of its own and hands its profile back through shared memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perf_event.h>

#include "../model/exact.h"
#include "experiment.h"
#include "pathprof/combine.h"
#include "pathprof/compare.h"
#include "run.h"

#define EVENTS_MAX 65536
#define INPUTS_MAX 8 /* of a program */
#define METRIC_CNT 7
#define CONFLICT   3 /* dynamic */
#define KL         4
#define LOST       METRIC_CNT /* columns behind the metrics */
#define ACROSS     (METRIC_CNT + 1)
#define OWN        (METRIC_CNT + 2)
#define COLUMN_CNT (METRIC_CNT + 3)
#define PAIRS_MAX  (LAB_PROGRAMS_MAX * INPUTS_MAX)
#define METHOD_CNT PATHPROF_COMBINE_CNT

/* The result of a child process. */
struct profile {
	size_t cnt;
	struct pathprof_event events[EVENTS_MAX];
};

static const char *const pair_columns[COLUMN_CNT] = {
	"static cov.", "dynamic cov.", "static conf.", "dynamic conf.", "KL bits",
	"overlap",     "angle",        "lost",         "validated",     "own"};

/* ---------------------------------------------------------------- taking profiles */

static bool count_branches(void *context, const struct pathprof_trace_event *events, size_t cnt)
{
	struct lab_exact *table = context;

	for (size_t i = 0; i < cnt; i++) {
		const struct pathprof_branch *b = &events[i].branch;
		struct lab_key key;

		if (events[i].type != PATHPROF_TRACE_EVENT_BRANCH || b->kind != PERF_BR_COND)
			continue;
		key = (struct lab_key){b->from, b->taken};
		if (lab_exact_add(table, &key, 1) < 0)
			lab_fail("out of memory");
	}
	return true;
}

/* Load addresses may differ between runs: a branch is (file, offset). */
static uint64_t file_key(const struct pathprof_trace_module_info *module)
{
	uint64_t key = 14695981039346656037ULL;
	const unsigned char *at = (const unsigned char *)module->name;

	for (; *at; at++)
		key = (key ^ *at) * 1099511628211ULL;
	return key;
}

static void take_entry(struct profile *profile, const struct pathprof_trace *trace,
		       const struct lab_exact_entry *entry)
{
	uint64_t address = entry->key.a;
	const struct pathprof_trace_module_info *module =
		pathprof_trace_locate(trace, lab_trace_process(trace), address);

	if (!module)
		return;
	if (profile->cnt == EVENTS_MAX)
		lab_fail("ccp: more than %d branches", EVENTS_MAX);
	profile->events[profile->cnt++] = (struct pathprof_event){
		.key_hi = file_key(module),
		.key_lo = (address - module->start + module->offset) << 1 | entry->key.b,
		.weight = (double)entry->count};
}

static void take_profile(struct lab_run *run, const struct lab_program *program,
			 const struct pathprof_trace *trace, void *result)
{
	struct profile *profile = result;
	struct lab_exact table;

	(void)run;
	(void)program;
	lab_exact_init(&table);
	lab_trace_each(trace, count_branches, &table);
	for (uint32_t i = 0; i < table.cnt; i++)
		take_entry(profile, trace, &table.entries[i]);
	lab_exact_release(&table);
	if (pathprof_events_sort(profile->events, &profile->cnt) < 0)
		lab_fail("ccp: the counts of a branch exceed 2^64");
}

/* ---------------------------------------------------------------- programs and inputs */

struct study {
	struct lab_run run; /* its programs are inputs */
	struct pathprof_distribution *profiles;
	double pairs[PAIRS_MAX][COLUMN_CNT];
	size_t pair_cnt;
	double scores[LAB_PROGRAMS_MAX][METHOD_CNT]; /* tests in order of the inputs */
	/* Numbers of tests in which the best combination is no worse than the best single input,
	 * and than the mean of the single inputs. */
	size_t no_worse_than_best, no_worse_than_mean;
};

static void require(int r)
{
	if (r < 0)
		lab_fail("ccp: %s", strerror(-r));
}

static void set_profiles(struct study *study, const struct profile *taken)
{
	study->profiles = lab_alloc(study->run.program_cnt, sizeof(*study->profiles));
	for (size_t i = 0; i < study->run.program_cnt; i++) {
		require(pathprof_distribution_init(&study->profiles[i], taken[i].events,
						   taken[i].cnt));
		if (!(study->profiles[i].total > 0))
			lab_fail("%s: no branch was traced", study->run.programs[i]->name);
	}
}

/* ---------------------------------------------------------------- pairs */

static void compare(const struct pathprof_distribution *actual,
		    const struct pathprof_distribution *assumed, double *ret_row)
{
	struct pathprof_branch_comparison branches;
	struct pathprof_relative_entropy kl;
	double angle;

	require(pathprof_compare_branches(actual, assumed, &branches));
	require(pathprof_relative_entropy(actual, assumed, 0, &kl));
	require(pathprof_angle_degrees(actual, assumed, &angle));
	ret_row[0] = 100 * branches.coverage.static_share;
	ret_row[1] = 100 * branches.coverage.dynamic_share;
	ret_row[2] = 100 * branches.conflict.static_share;
	ret_row[CONFLICT] = 100 * branches.conflict.dynamic_share;
	ret_row[KL] = kl.bits;
	ret_row[5] = 100 * pathprof_distribution_overlap(actual, assumed);
	ret_row[6] = angle;
	ret_row[LOST] = 100 * (branches.accuracy_own - branches.accuracy);
	ret_row[ACROSS] = 100 * branches.accuracy;
	ret_row[OWN] = 100 * branches.accuracy_own;
}

static void write_pairs(struct lab_run *run, struct study *study)
{
	struct lab_table *table = lab_table_new("ccp-pairs",
						"Actual and assumed input: coverage, conflict, "
						"overlap and accuracy in %, angle in degrees",
						"actual < assumed", pair_columns, COLUMN_CNT);
	const struct lab_run *sub = &study->run;
	char label[128];

	lab_table_set_decimals(table, KL, 3);
	for (size_t a = 0; a < sub->program_cnt; a++)
		for (size_t b = 0; b < sub->program_cnt && study->pair_cnt < PAIRS_MAX; b++) {
			double *row = study->pairs[study->pair_cnt];

			if (a == b || !lab_same_program(sub->programs[a], sub->programs[b]))
				continue;
			compare(&study->profiles[a], &study->profiles[b], row);
			snprintf(label, sizeof(label), "%s < %s", sub->programs[a]->name,
				 strchr(sub->programs[b]->name, '.') + 1);
			lab_table_add(table, label, row);
			study->pair_cnt++;
		}
	lab_table_write(run, table);
	lab_table_free(table);
}

/* The number of smaller values, with ties counted as half. */
static double rank(const struct study *study, size_t pair, size_t column)
{
	double value = study->pairs[pair][column], below = 0;

	for (size_t i = 0; i < study->pair_cnt; i++) {
		below += study->pairs[i][column] < value;
		below += 0.5 * (study->pairs[i][column] == value);
	}
	return below;
}

/* Spearman's rank correlation between a metric and the loss of prediction. */
static double correlation(const struct study *study, size_t column)
{
	double cnt = (double)study->pair_cnt, mean = cnt / 2, both = 0, one = 0, other = 0;

	for (size_t i = 0; i < study->pair_cnt; i++) {
		double x = rank(study, i, column) - mean, y = rank(study, i, LOST) - mean;

		both += x * y;
		one += x * x;
		other += y * y;
	}
	return both / sqrt(one * other);
}

static void write_correlations(struct lab_run *run, const struct study *study)
{
	static const char *const columns[] = {"rank correlation"};
	struct lab_table *table = lab_table_new(
		"ccp-metrics", "Which metric tells what prediction loses, over all pairs", "metric",
		columns, 1);
	double found[METRIC_CNT];

	for (size_t m = 0; m < METRIC_CNT; m++) {
		found[m] = correlation(study, m);
		lab_table_add(table, pair_columns[m], &found[m]);
	}
	lab_table_write(run, table);
	lab_plot_write(run, table,
		       &(struct lab_plot){.form = LAB_PLOT_BARS,
					  .x = "metric",
					  .y = "rank correlation with accuracy lost"});
	lab_table_free(table);
	lab_headline(
		run,
		&(struct lab_headline){
			.what = "CCP 4.1: relative entropy tells accuracy lost, rank correlation",
			.paper = "reasonable, imperfect",
			.ours = found[KL],
			.unit = "",
			.aim = NAN});
	lab_headline(run, &(struct lab_headline){
				  .what = "CCP 4.1: dynamic conflict does, rank correlation",
				  .paper = "indicates well, misses some",
				  .ours = found[CONFLICT],
				  .unit = "",
				  .aim = NAN});
}

/* ---------------------------------------------------------------- combining */

static double accuracy_of(const struct pathprof_distribution *actual,
			  const struct pathprof_distribution *assumed)
{
	struct pathprof_branch_comparison branches;

	require(pathprof_compare_branches(actual, assumed, &branches));
	return 100 * branches.accuracy;
}

static double accuracy_combined(const struct study *study, size_t test,
				const struct pathprof_distribution *const *train, size_t train_cnt,
				enum pathprof_combine_method method)
{
	struct pathprof_combined combined;
	struct pathprof_distribution assumed;
	double accuracy;

	require(pathprof_combine(&combined, method, train, train_cnt, true));
	require(pathprof_distribution_init(&assumed, combined.events, combined.cnt));
	accuracy = accuracy_of(&study->profiles[test], &assumed);
	free(combined.events);
	return accuracy;
}

/* Trains on all other inputs of the program: own, best and mean single, and one score a method. */
static void test_input(struct study *study, size_t test, double *ret_row)
{
	const struct lab_run *sub = &study->run;
	const struct pathprof_distribution *train[INPUTS_MAX];
	double single = 0, sum = 0, best = 0;
	size_t cnt = 0;

	for (size_t i = 0; i < sub->program_cnt && cnt < INPUTS_MAX; i++) {
		double score;

		if (i == test || !lab_same_program(sub->programs[i], sub->programs[test]))
			continue;
		train[cnt++] = &study->profiles[i];
		score = accuracy_of(&study->profiles[test], &study->profiles[i]);
		single = fmax(single, score);
		sum += score;
	}
	ret_row[0] = accuracy_of(&study->profiles[test], &study->profiles[test]);
	ret_row[1] = single;
	ret_row[2] = sum / (double)cnt;
	for (size_t m = 0; m < METHOD_CNT; m++) {
		double score =
			accuracy_combined(study, test, train, cnt, (enum pathprof_combine_method)m);

		study->scores[test][m] = ret_row[3 + m] = score;
		best = fmax(best, score);
	}
	study->no_worse_than_best += best >= single;
	study->no_worse_than_mean += best >= sum / (double)cnt;
}

static void say_single(struct lab_run *run, const struct study *study)
{
	double cnt = (double)study->run.program_cnt;

	lab_headline(
		run,
		&(struct lab_headline){
			.what = "CCP 4.2: best combination no worse than the best single profile",
			.paper = "21 of 24",
			.ours = 100 * (double)study->no_worse_than_best / cnt,
			.unit = "%",
			.aim = 87.5,
			.why = "the inputs are of different kinds here, in the paper smaller and "
			       "larger ones of a kind: one of two is near, the other dilutes it"});
	lab_headline(
		run,
		&(struct lab_headline){
			.what = "CCP 4.2: best combination no worse than the mean single profile",
			.paper = "-",
			.ours = 100 * (double)study->no_worse_than_mean / cnt,
			.unit = "%",
			.aim = NAN});
}

static void write_combined(struct lab_run *run, struct study *study)
{
	static const char *const columns[] = {"own",    "best single", "mean single", "unscaled",
					      "scaled", "polling",     "kl"};
	struct lab_table *table = lab_table_new(
		"ccp-combined", "Accuracy of prediction trained on all other inputs, %",
		"tested on", columns, 3 + METHOD_CNT);
	const size_t cnt = study->run.program_cnt;
	double row[3 + METHOD_CNT];

	for (size_t i = 0; i < cnt; i++) {
		test_input(study, i, row);
		lab_table_add(table, study->run.programs[i]->name, row);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
	say_single(run, study);
}

static void write_regret(struct lab_run *run, const struct study *study)
{
	static const char *const columns[] = {"regret", "times best"};
	struct lab_table *table = lab_table_new(
		"ccp-regret", "Points of accuracy lost to the best method, mean; how often best",
		"method", columns, 2);
	double regret[METHOD_CNT], least = INFINITY;

	require(pathprof_regret(&study->scores[0][0], study->run.program_cnt, METHOD_CNT, regret));
	for (size_t m = 0; m < METHOD_CNT; m++) {
		double best = 0;

		for (size_t t = 0; t < study->run.program_cnt; t++) {
			double top = 0;

			for (size_t k = 0; k < METHOD_CNT; k++)
				top = fmax(top, study->scores[t][k]);
			best += study->scores[t][m] == top;
		}
		lab_table_add(table, pathprof_combine_name((enum pathprof_combine_method)m),
			      (const double[]){regret[m], best});
		if (m != PATHPROF_COMBINE_KL)
			least = fmin(least, regret[m]);
	}
	lab_table_set_decimals(table, 0, 4);
	lab_table_set_decimals(table, 1, 0);
	lab_table_write(run, table);
	lab_table_free(table);
	lab_headline(
		run,
		&(struct lab_headline){
			.what = "CCP 4.2: regret of the KL method above the least of the others",
			.paper = "close to the best or best",
			.ours = regret[PATHPROF_COMBINE_KL] - least,
			.unit = "points",
			.aim = NAN,
			.at_most = true});
}

static void run(struct lab_run *run)
{
	struct study *study = lab_alloc(1, sizeof(*study));
	struct profile *taken;

	lab_run_inputs(&study->run, run);
	taken = lab_alloc(study->run.program_cnt, sizeof(*taken));
	lab_run_each_program(&study->run, LAB_TRACE_BRANCHES, take_profile, taken, sizeof(*taken));
	set_profiles(study, taken);
	write_pairs(run, study);
	write_correlations(run, study);
	write_combined(run, study);
	write_regret(run, study);
	free(study->profiles);
	free(study);
	free(taken);
}

const struct lab_experiment exp_ccp = {"ccp", "comparing and combining branch profiles",
				       "CCP section 4", run};
