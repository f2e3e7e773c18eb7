// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line: see config_args.h. */
#include "config_args.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/units.h"
#include "pathprof/sources.h"

/* A recording has one program to look at and somebody waiting for it. */
#define RECORD_OVERHEAD  "20%"
#define RECORD_FREQUENCY "997"

/*
 * Options are read into this structure. An option that only fills in a member gives its offset
 * here.
 */
struct reading {
	struct pp_args args;
	struct pathprof_error *error;
};

/* Returned by functions that have already said why in error. */
#define SAID (-ECANCELED)

/* A setting's "Name=value: why" under the name of the option. */
static int refuse(const struct reading *to, const struct pp_option *option, const char *why)
{
	size_t name_len = strlen(option->detail);

	if (strncmp(why, option->detail, name_len) != 0 || why[name_len] != '=')
		return pathprof_fail(to->error, SAID, "--%s: %s", option->name, why);
	return pathprof_fail(to->error, SAID, "--%s %s", option->name, why + name_len + 1);
}

/* The last of several flags of one name wins, as usual. */
static int override(struct reading *to, const char *section, const struct pp_option *option,
		    const char *value)
{
	struct pp_args *args = &to->args;
	struct pathprof_error why = {""};
	struct pp_config scratch;
	int r;

	/* Mostly a variable that was never set: a default must not take its place. */
	if (!*value)
		return pathprof_fail(to->error, SAID, "--%s: its %s is empty", option->name,
				     option->value);
	pp_config_defaults(&scratch);
	r = pp_config_set(&scratch, section, option->detail, value, &why);
	if (r < 0)
		return refuse(to, option, why.text);
	if (args->override_cnt == PP_OVERRIDE_MAX)
		return pathprof_fail(to->error, SAID, "too many options");
	args->overrides[args->override_cnt++] =
		(struct pp_override){section, option->detail, value};
	return 0;
}

static int set_store(void *context, const struct pp_option *option, const char *value)
{
	return override(context, "Store", option, value);
}

static int set_profile(void *context, const struct pp_option *option, const char *value)
{
	return override(context, "Profile", option, value);
}

static int set_pid(void *context, const struct pp_option *option, const char *value)
{
	struct reading *to = context;
	uint64_t pid = 0;

	if (pp_count_parse(value, &pid) < 0 || pid == 0 || pid > INT_MAX)
		return -EINVAL;
	if (to->args.pid && to->args.pid != (pid_t)pid)
		return -EEXIST;
	to->args.pid = (pid_t)pid;
	return 0;
}

static int set_duration(void *context, const struct pp_option *option, const char *value)
{
	struct reading *to = context;
	int r = pp_span_parse(value, &to->args.duration_ns);

	return r == 0 && to->args.duration_ns == 0 ? -ERANGE : r;
}

static int set_mode(void *context, const struct pp_option *option, const char *value)
{
	struct reading *to = context;
	const enum pp_args_mode mode = (enum pp_args_mode)option->number;

	if (to->args.mode != PP_ARGS_RUN && to->args.mode != mode)
		return pathprof_fail(to->error, SAID, "options that exclude each other");
	to->args.mode = mode;
	return 0;
}

static int add_value(void *context, const struct pp_option *option, const char *value)
{
	struct reading *to = context;

	if (to->args.value_cnt == PP_ARGS_VALUE_MAX)
		return pathprof_fail(to->error, SAID, "--value: more than %d", PP_ARGS_VALUE_MAX);
	to->args.values[to->args.value_cnt++] = value;
	return 0;
}

#define TEXT(field)   pp_option_text, offsetof(struct reading, args.field)
#define FLAG(field)   pp_option_flag, offsetof(struct reading, args.field)
#define PROFILE(name) set_profile, 0, name

static const struct pp_option options[] = {
	{"config", 'c', "FILE", "settings (default " PP_CONFIG_FILE ")", TEXT(file)},
	{"db", 0, "FILE", "database", set_store, 0, "Path"},
	{"source", 0, "NAME", "where branches come from: one of auto" PATHPROF_SOURCE_NAMES,
	 PROFILE("Source")},
	{"overhead", 0, "PCT", "share of CPU time to spend (0.5%; recording: 20%)",
	 PROFILE("Overhead")},
	{"window", 0, "SPAN", "how long one window lasts (1min)", PROFILE("WindowSec")},
	{"taken", 0, "N", "taken branches in one burst of hardware (32)", PROFILE("TakenBranches")},
	{"instructions", 0, "N",
	 "instructions in one burst of the sources that sample on a clock (1024)",
	 PROFILE("Instructions")},
	{"hold", 0, "SPAN", "how long a burst of the source step may hold its thread (2ms)",
	 PROFILE("HoldMaxSec")},
	{"clock", 0, "HZ", "samples a second and CPU of the clock beside the source (97; 0: none)",
	 PROFILE("ClockHz")},
	{"cgroup", 0, "NAME", "only processes of this unit or control group, and those below",
	 PROFILE("Cgroup")},
	{"addresses", 0, "A-B", "only samples in this range of addresses, in hex",
	 PROFILE("Addresses")},
	{"duration", 0, "SPAN", "stop after so long", set_duration},
	{"record", 0, NULL, "profile one program, without service or root; exits as it does",
	 set_mode, PP_ARGS_RECORD},
	{"pid", 'p', "PID", "record this running process and its descendants", set_pid},
	{"value", 0, "WHAT",
	 "also the values of a parameter (1 to 6) of a function; may be "
	 "given again. Values can be secrets: they go into the database",
	 add_value},
	{"value-sampler", 0, "SPEC", "how they are sampled (H[PR16]1024)", TEXT(value_sampler)},
	{"quiet", 0, NULL, "no progress line", FLAG(quiet)},
	{"check-config", 0, NULL, "read the settings, print what they come to, exit", set_mode,
	 PP_ARGS_CHECK},
	{"print-config", 0, NULL,
	 "print a commented file of defaults, exit; with -c, the settings "
	 "of that file, as --check-config does",
	 set_mode, PP_ARGS_PRINT},
	{"help", 'h', NULL, "this text", set_mode, PP_ARGS_HELP},
	{"version", 'V', NULL, "version", set_mode, PP_ARGS_VERSION},
	{NULL},
};

void pp_args_help(FILE *out)
{
	fputs("Usage: pathprofd [-c FILE] [OPTION...]\n"
	      "       pathprofd --record --db FILE [OPTION...] (-p PID | --cgroup NAME |\n"
	      "                 -- COMMAND ARGUMENTS...)\n"
	      "       pathprofd [-c FILE] --check-config | --print-config\n"
	      "\n"
	      "The pathprof daemon: profiles which way programs go. It stays in the foreground.\n"
	      "\n",
	      out);
	pp_options_help(options, out);
}

/* A flag that is empty, as `--db "$UNSET"` is, says nothing: its default would be taken in silence.
 */
static bool overrides(const struct pp_args *args, const char *name)
{
	const char *value = "";

	for (unsigned int i = 0; i < args->override_cnt; i++)
		if (!strcmp(args->overrides[i].name, name))
			value = args->overrides[i].value;
	return value[0] != '\0';
}

static int check_record(struct pp_args *args, struct pathprof_error *error)
{
	if (!overrides(args, "Path"))
		return pathprof_fail(error, -EINVAL, "--record: needs --db FILE");
	args->group = !args->pid && !args->command && overrides(args, "Cgroup");
	if (args->duration_ns && args->command)
		return pathprof_fail(error, -EINVAL,
				     "--duration: not with a command, which ends by itself");
	if (args->value_cnt && args->group)
		return pathprof_fail(error, -EINVAL, "--value: needs -p PID or a command");
	if (args->value_sampler && !args->value_cnt)
		return pathprof_fail(error, -EINVAL, "--value-sampler: only with --value");
	if (!args->pid == !args->command && !args->group)
		return pathprof_fail(error, -EINVAL,
				     "--record: needs -p PID, a command, or --cgroup alone");
	return 0;
}

static int check(struct pp_args *args, struct pathprof_error *error)
{
	if (args->mode == PP_ARGS_RECORD)
		return check_record(args, error);
	if (args->value_cnt || args->value_sampler)
		return pathprof_fail(error, -EINVAL, "--value: only with --record");
	if (args->command)
		return pathprof_fail(error, -EINVAL, "%s: unexpected argument", args->command[0]);
	if (args->pid)
		return pathprof_fail(error, -EINVAL, "-p: only with --record");
	return 0;
}

int pp_args_parse(struct pp_args *ret_args, int argc, char **argv, struct pathprof_error *error)
{
	struct reading to = {.args = {.mode = PP_ARGS_RUN}, .error = error};
	char why[sizeof(error->text)];
	int operands, r;

	r = pp_options_parse(options, argc, argv, true, &to, &operands, why, sizeof(why));
	if (r < 0)
		return r == SAID ? -EINVAL : pathprof_fail(error, -EINVAL, "%s", why);
	if (operands < argc)
		to.args.command = argv + operands;
	r = check(&to.args, error);
	if (r < 0)
		return r;
	*ret_args = to.args;
	return 0;
}

static void record_defaults(struct pp_config *config)
{
	pp_config_set(config, "Profile", "Overhead", RECORD_OVERHEAD, NULL);
	pp_config_set(config, "Profile", "FrequencyHz", RECORD_FREQUENCY, NULL);
	/* a recording of a group is treated like one of a single program */
	pp_config_set(config, "Profile", "Compress", "no", NULL);
	pp_config_set(config, "Drift", "Enabled", "no", NULL);
	/* a recording is kept whole */
	pp_config_set(config, "Store", "MaxUse", "0", NULL);
	pp_config_set(config, "Store", "KeepFree", "0", NULL);
	pp_config_set(config, "Store", "MaxRetentionSec", "0", NULL);
}

int pp_args_config(const struct pp_args *args, struct pp_config *ret_config,
		   struct pathprof_error *error)
{
	bool is_record = args->mode == PP_ARGS_RECORD; /* into a database of one's own */
	struct pp_config config;
	int r = 0;

	pp_config_defaults(&config);
	if (is_record)
		record_defaults(&config);
	if (args->file || !is_record)
		r = pp_config_load(&config, args->file ? args->file : PP_CONFIG_FILE,
				   args->file != NULL, error);
	for (unsigned int i = 0; r == 0 && i < args->override_cnt; i++) {
		const struct pp_override *o = &args->overrides[i];

		r = pp_config_set(&config, o->section, o->name, o->value, error);
	}
	if (r < 0)
		return r;
	*ret_config = config;
	return 0;
}
