// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl import: reads recordings of other tools, or counts that programs kept themselves,
 * into a database.
 */
#include "../ctl.h"

#include <string.h>

#include "../oneshot.h"

#define DEFAULT_OUTPUT "pathprof.db"

static bool is_counts(const struct ctl_options *options)
{
	return options->format && strcmp(options->format, IMPORT_COUNTS) == 0;
}

static int check_arguments(const struct ctl_options *options)
{
	if (is_counts(options) && options->argc == 0)
		return ctl_usage(options, "files of counts are needed (*.ppraw)");
	if (!is_counts(options) && options->argc == 0)
		return ctl_usage(options, "a recording is needed, or - for standard input");
	if (!is_counts(options) && options->argc > 1)
		return ctl_usage(options,
				 "%s: one recording at a time (only -F counts takes several "
				 "files): import each with the same --output, which grows",
				 options->argv[1]);
	if (options->db && options->output)
		return ctl_usage(options, "--db and --output mean the same here: give one");
	return CTL_OK;
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
	return is_counts(options) ? import_counts(options, db) : import_recording(options, db);
}
