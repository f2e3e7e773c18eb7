// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl import: a private, one-shot pathprofd reads what another tool recorded into a
 * database. All the work, and what is said of it, is its; but for counts that programs kept
 * themselves (import_counts.h).
 */
#include "ctl.h"

#include <stdlib.h>
#include <string.h>

#include "oneshot.h"
#include "pathprof/format.h"

#define DEFAULT_OUTPUT "pathprof.db"
#define DEFAULT_FORMAT PATHPROF_FORMAT_PERF_DATA
#define ARGUMENTS_MAX  (16 + 2 * CTL_RECORDED_MAX)

static bool is_counts(const struct ctl_options *options)
{
	return options->format && strcmp(options->format, IMPORT_COUNTS) == 0;
}

static int check_arguments(const struct ctl_options *options)
{
	if (is_counts(options) && options->argc == 0)
		return ctl_usage(options, "files of counts are needed (*.ppraw)");
	if (!is_counts(options) && options->argc != 1)
		return ctl_usage(options, "one recording is needed, or - for standard input");
	if (options->db && options->output)
		return ctl_usage(options, "--db and --output mean the same here: give one");
	return CTL_OK;
}

static char **arguments_of(const struct ctl_options *options, const char *db)
{
	struct oneshot_arguments arguments;

	oneshot_begin(&arguments, "pathprofd", ARGUMENTS_MAX);
	oneshot_push_option(&arguments, "--import",
			    options->format ?: pathprof_format_name(DEFAULT_FORMAT));
	oneshot_push_option(&arguments, "--db", db);
	for (unsigned int i = 0; i < options->recorded_cnt; i++)
		oneshot_push_option(&arguments, "--binary", options->recorded[i]);
	oneshot_push_option(&arguments, "--sysroot", options->sysroot);
	oneshot_push_option(&arguments, "--window", options->window_span);
	oneshot_push_option(&arguments, "--max-loss", options->max_loss);
	if (options->json)
		oneshot_push(&arguments, "--json");
	if (options->no_report)
		oneshot_push(&arguments, "--quiet");
	oneshot_push(&arguments, "--");
	oneshot_push(&arguments, options->argv[0]);
	return arguments.list;
}

int cmd_import(const struct ctl_options *options)
{
	const char *db = options->output ? options->output
			 : options->db   ? options->db
					 : DEFAULT_OUTPUT;
	int result = check_arguments(options);

	if (result == CTL_OK)
		result = oneshot_check_output(db);
	if (result)
		return result;
	return is_counts(options) ? import_counts(options, db)
				  : oneshot_run("import", arguments_of(options, db));
}
