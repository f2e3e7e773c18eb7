// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl record: a private, one-shot pathprofd around one program. The daemon does the work;
 * this verb checks the database before and prints the report afterwards. The exit status is the
 * program's.
 */
#include "../ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "../oneshot.h"
#include "../text/term.h"
#include "base/clock.h"
#include "base/units.h"

#define DEFAULT_OUTPUT "pathprof.db"
/* --record, seven options that are words, --duration, and -p or -- */
#define ARGUMENTS_MAX (1 + 2 * 8 + 2 + 2)

static int check_arguments(const struct ctl_options *options)
{
	if (options->argc == 0 && options->filter.pid == 0 && !options->cgroup)
		return ctl_usage(options, "a command, --pid or --cgroup is needed");
	if (options->argc && options->filter.pid)
		return ctl_usage(options, "a command and --pid exclude each other");
	if (options->duration_ns && options->argc)
		return ctl_usage(options,
				 "--duration goes without a command, which ends by itself");
	if (options->db && options->output)
		return ctl_usage(options, "--db and --output mean the same here: give one");
	return CTL_OK;
}

/* The daemon's argument vector. */
static char **arguments_of(const struct ctl_options *options, const char *db)
{
	struct oneshot_arguments arguments;
	char number[32];

	oneshot_begin(&arguments, "pathprofd",
		      (size_t)options->argc + 2 * (size_t)options->value_cnt + ARGUMENTS_MAX);
	oneshot_push(&arguments, "--record");
	oneshot_push_option(&arguments, "--db", db);
	oneshot_push_option(&arguments, "--source", options->source);
	oneshot_push_option(&arguments, "--overhead", options->overhead);
	oneshot_push_option(&arguments, "--instructions", options->instructions);
	oneshot_push_option(&arguments, "--hold", options->hold);
	oneshot_push_option(&arguments, "--cgroup", options->cgroup);
	oneshot_push_option(&arguments, "--addresses", options->addresses);
	for (unsigned int i = 0; i < options->value_cnt; i++)
		oneshot_push_option(&arguments, "--value", options->values[i]);
	oneshot_push_option(&arguments, "--value-sampler", options->value_sampler);
	if (options->duration_ns) {
		pp_span_format((uint64_t)options->duration_ns, number, sizeof(number));
		oneshot_push_option(&arguments, "--duration", number);
	}
	if (options->filter.pid) {
		snprintf(number, sizeof(number), "%" PRIu32, options->filter.pid);
		oneshot_push_option(&arguments, "-p", number);
		return arguments.list;
	}
	oneshot_push(&arguments, "--");
	for (int i = 0; i < options->argc; i++)
		oneshot_push(&arguments, options->argv[i]);
	return arguments.list;
}

/* The program's own output must stay unmixed: the report goes to standard output only if that is a
 * terminal. */
static FILE *report_stream(const struct ctl_options *options)
{
	if (isatty(STDOUT_FILENO) == 1)
		return stdout;
	ctl_term_init(STDERR_FILENO, options->color);
	return stderr;
}

int cmd_record(const struct ctl_options *options)
{
	const char *db = options->output ? options->output
			 : options->db   ? options->db
					 : DEFAULT_OUTPUT;
	int64_t begin_ns;
	int result = check_arguments(options);

	if (result == CTL_OK)
		result = oneshot_check_output(db);
	if (result)
		return result;
	begin_ns = pp_realtime_ns();
	result = oneshot_run_passing("record", arguments_of(options, db));
	if (!options->no_report && access(db, F_OK) == 0)
		report_print(report_stream(options), db, begin_ns, options->json);
	return result;
}
