// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `pathprof-lab compare`: every figure of compare.h and drift.h over two text profiles. 17 digits,
 * so that nothing of a double is lost on the way to whoever checks it.
 */
#include "lab.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/compare.h"
#include "pathprof/drift.h"
#include "pathprof/profile_text.h"

#define FIGURES_MAX 32

struct figures {
	const char *name[FIGURES_MAX];
	double value[FIGURES_MAX]; /* NaN: none */
	size_t cnt;
};

struct request {
	bool branches, json;
	double epsilon; /* 0: the default */
};

static void add(struct figures *figures, const char *name, double value)
{
	figures->name[figures->cnt] = name;
	figures->value[figures->cnt++] = value;
}

static double epsilon_option(const char *text)
{
	char *end;
	double epsilon = strtod(text, &end);

	if (end == text || *end || !(epsilon > 0 && epsilon < 1))
		lab_usage("--epsilon: '%s' is not a number between 0 and 1", text);
	return epsilon;
}

static struct request parse(int argc, char **argv)
{
	static const struct option options[] = {{"branches", no_argument, NULL, 'b'},
						{"epsilon", required_argument, NULL, 'e'},
						{"json", no_argument, NULL, 'j'},
						{NULL, 0, NULL, 0}};
	struct request request = {0};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'b')
			request.branches = true;
		else if (c == 'e')
			request.epsilon = epsilon_option(optarg);
		else if (c == 'j')
			request.json = true;
		else
			lab_usage("compare: not understood");
	}
	if (optind + 2 != argc)
		lab_usage("compare: two profiles, please");
	return request;
}

static void require(int r)
{
	if (r == -ERANGE)
		lab_fail("--epsilon: must be below the inverse of ASSUMED's total, and of how many "
			 "events it lacks");
	if (r < 0)
		lab_fail("compare: %s", strerror(-r));
}

static void add_divergence(struct figures *figures, const struct pathprof_distribution *actual,
			   const struct pathprof_distribution *assumed, double epsilon)
{
	struct pathprof_drift_settings settings = pathprof_drift_defaults;
	struct pathprof_drift drift = {.kl_corrected_bits = NAN,
				       .kl_low_bits = NAN,
				       .kl_high_bits = NAN,
				       .null_bits = NAN};
	struct pathprof_relative_entropy kl;
	int r;

	require(pathprof_relative_entropy(actual, assumed, epsilon, &kl));
	add(figures, "entropy_actual", pathprof_entropy_bits(actual));
	add(figures, "entropy_assumed", pathprof_entropy_bits(assumed));
	add(figures, "kl", kl.bits);
	settings.epsilon = epsilon;
	r = pathprof_drift_measure(&drift, actual, assumed, &settings);
	/* Weights that are no counts say nothing of how sure they are. */
	require(r == -EDOM ? 0 : r);
	add(figures, "kl_corrected", drift.kl_corrected_bits);
	add(figures, "kl_low", drift.kl_low_bits);
	add(figures, "kl_high", drift.kl_high_bits);
	add(figures, "kl_chance", drift.null_bits);
	add(figures, "epsilon", kl.epsilon);
	add(figures, "unseen", (double)kl.unseen_cnt);
}

static void add_shares(struct figures *figures, const struct pathprof_distribution *actual,
		       const struct pathprof_distribution *assumed)
{
	struct pathprof_coverage coverage;
	double angle;

	require(pathprof_angle_degrees(actual, assumed, &angle));
	require(pathprof_coverage(actual, assumed, &coverage));
	add(figures, "overlap", pathprof_distribution_overlap(actual, assumed));
	add(figures, "angle_degrees", angle);
	add(figures, "static_coverage", coverage.static_share);
	add(figures, "dynamic_coverage", coverage.dynamic_share);
}

static void add_branches(struct figures *figures, const struct pathprof_distribution *actual,
			 const struct pathprof_distribution *assumed)
{
	struct pathprof_branch_comparison branches;

	require(pathprof_compare_branches(actual, assumed, &branches));
	add(figures, "static_conflict", branches.conflict.static_share);
	add(figures, "dynamic_conflict", branches.conflict.dynamic_share);
	add(figures, "static_branch_coverage", branches.coverage.static_share);
	add(figures, "dynamic_branch_coverage", branches.coverage.dynamic_share);
	add(figures, "accuracy", branches.accuracy);
	add(figures, "accuracy_own", branches.accuracy_own);
}

static void print(const struct figures *figures, bool json)
{
	for (size_t i = 0; i < figures->cnt; i++) {
		if (!json)
			printf("%s %.17g\n", figures->name[i], figures->value[i]);
		else if (isnan(figures->value[i]))
			printf("%s\"%s\": null", i ? ", " : "{", figures->name[i]);
		else
			printf("%s\"%s\": %.17g", i ? ", " : "{", figures->name[i],
			       figures->value[i]);
	}
	if (json)
		puts("}");
}

int lab_compare(int argc, char **argv)
{
	struct request request = parse(argc, argv);
	const char *const files[] = {argv[optind], argv[optind + 1]};
	const struct pathprof_distribution *side[2];
	struct pathprof_text_profiles *profiles;
	struct pathprof_error error;
	struct figures figures = {.cnt = 0};

	if (pathprof_text_profiles_read(
		    &profiles, files, 2,
		    request.branches ? PATHPROF_TEXT_BRANCHES : PATHPROF_TEXT_ANY, &error) < 0)
		lab_fail("%s", error.text);
	for (size_t i = 0; i < 2; i++) {
		side[i] = pathprof_text_profile(profiles, i);
		if (!(side[i]->total > 0))
			lab_fail("%s: an empty profile has nothing to compare", files[i]);
	}
	add_divergence(&figures, side[0], side[1], request.epsilon);
	add_shares(&figures, side[0], side[1]);
	if (request.branches)
		add_branches(&figures, side[0], side[1]);
	print(&figures, request.json);
	pathprof_text_profiles_free(profiles);
	lab_finish_output();
	return 0;
}

int lab_overlap(int argc, char **argv)
{
	struct pathprof_counts a, b;
	struct pathprof_error error;

	if (argc != 3)
		lab_usage("overlap: two profiles, please");
	if (pathprof_counts_read(&a, argv[1], &error) < 0 ||
	    pathprof_counts_read(&b, argv[2], &error) < 0)
		lab_fail("%s", error.text);
	printf("%.4f\n", 100 * pathprof_overlap(&a, &b));
	pathprof_counts_release(&a);
	pathprof_counts_release(&b);
	lab_finish_output();
	return 0;
}
