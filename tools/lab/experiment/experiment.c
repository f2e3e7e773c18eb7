// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `pathprof-lab experiment`: which experiments there are, and the command line.
 */
#include "experiment.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run.h"

extern const struct lab_experiment exp_rps_4;
extern const struct lab_experiment exp_rps_7, exp_rps_8, exp_rps_9, exp_rps_10, exp_rps_11;
extern const struct lab_experiment exp_eopp_3_1, exp_eopp_3_16, exp_eopp_5_2, exp_eopp_5_3,
	exp_eopp_5_7, exp_eopp_5_8, exp_eopp_5_10, exp_eopp_5_12;
extern const struct lab_experiment exp_rivals_paths, exp_rivals_tuples;
extern const struct lab_experiment exp_collectors_windows, exp_collectors_step, exp_estimate;
extern const struct lab_experiment exp_ccp, exp_drift, exp_outliers;

/* In the order of the report; NULL at the end. */
static const struct lab_experiment *const experiments[] = {
	&exp_rps_4,
	&exp_rps_7,
	&exp_rps_8,
	&exp_rps_9,
	&exp_rps_10,
	&exp_rps_11,
	&exp_eopp_3_1,
	&exp_eopp_3_16,
	&exp_eopp_5_2,
	&exp_eopp_5_3,
	&exp_eopp_5_7,
	&exp_eopp_5_8,
	&exp_eopp_5_10,
	&exp_eopp_5_12,
	&exp_rivals_paths,
	&exp_rivals_tuples,
	&exp_collectors_windows,
	&exp_collectors_step,
	&exp_estimate,
	&exp_ccp,
	&exp_drift,
	&exp_outliers,
	NULL,
};

static const struct lab_experiment *find(const char *name)
{
	for (size_t i = 0; experiments[i]; i++)
		if (strcmp(experiments[i]->name, name) == 0)
			return experiments[i];
	lab_usage("no experiment '%s' (`pathprof-lab experiment list` names them)", name);
}

static int list(void)
{
	for (size_t i = 0; experiments[i]; i++)
		printf("%-16s %-24s %s\n", experiments[i]->name, experiments[i]->source,
		       experiments[i]->title);
	puts("\nprograms:");
	for (size_t i = 0; i < lab_program_cnt(); i++)
		printf("%-16s %-24s %s\n", lab_program_all(i)->name, lab_program_all(i)->package,
		       lab_program_all(i)->what);
	lab_finish_output();
	return 0;
}

static void select_programs(struct lab_run *run, char *names)
{
	char *name;

	run->program_cnt = 0;
	while ((name = strsep(&names, ",")) != NULL) {
		const struct lab_program *program = lab_program_find(name);

		if (!program)
			lab_usage("--programs: no program '%s'", name);
		if (run->program_cnt == LAB_PROGRAMS_MAX)
			lab_usage("--programs: more than %d", LAB_PROGRAMS_MAX);
		run->programs[run->program_cnt++] = program;
	}
}

static void select_all(struct lab_run *run)
{
	for (size_t i = 0; i < lab_program_cnt() && i < LAB_PROGRAMS_MAX; i++)
		run->programs[run->program_cnt++] = lab_program_all(i);
}

/* The programs change their directory, so OUT must be absolute. */
static void make_out(struct lab_run *run, const char *out)
{
	if (mkdir(out, 0777) && errno != EEXIST)
		lab_fail("%s: %s", out, strerror(errno));
	run->out = realpath(out, NULL);
	if (!run->out)
		lab_fail("%s: %s", out, strerror(errno));
}

static void run_one(struct lab_run *run, const struct lab_experiment *experiment)
{
	run->experiment = experiment;
	fprintf(stderr, "%s: %s (%s)\n", experiment->name, experiment->title, experiment->source);
	lab_headlines_begin(run);
	experiment->run(run);
	lab_headlines_collect(run, experiments);
	lab_finish_output();
}

static const char *parse(struct lab_run *run, const char **ret_out, int argc, char **argv)
{
	static const struct option options[] = {{"programs", required_argument, NULL, 'p'},
						{"out", required_argument, NULL, 'o'},
						{"small", no_argument, NULL, 's'},
						{"full", no_argument, NULL, 'f'},
						{NULL, 0, NULL, 0}};
	const char *out = "experiments";
	int c;

	select_all(run);
	run->small = true;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'p')
			select_programs(run, optarg);
		else if (c == 'o')
			out = optarg;
		else if (c == 's' || c == 'f')
			run->small = c == 's';
		else
			lab_usage("experiment: not understood");
	}
	if (optind + 1 != argc)
		lab_usage("experiment: one NAME, 'all' or 'list'");
	*ret_out = out;
	return argv[optind];
}

int lab_experiment_command(int argc, char **argv)
{
	static struct lab_run run;
	const char *out, *name = parse(&run, &out, argc, argv);

	if (strcmp(name, "list") == 0)
		return list();
	if (strcmp(name, "all") != 0) {
		const struct lab_experiment *experiment = find(name);

		make_out(&run, out);
		run_one(&run, experiment);
		return 0;
	}
	make_out(&run, out);
	for (size_t i = 0; experiments[i]; i++)
		run_one(&run, experiments[i]);
	return 0;
}
