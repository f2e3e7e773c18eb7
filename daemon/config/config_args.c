// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line: see config_args.h. */
#include "config_args.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "base/units.h"
#include "pathprof/format.h"
#include "pathprof/sources.h"

/* A recording has one program to look at and somebody waiting for it. */
#define RECORD_OVERHEAD  "20%"
#define RECORD_FREQUENCY "997"

const char pp_args_usage[] =
	"Usage: pathprofd [-c FILE] [--db FILE] [--source NAME] [--overhead PERCENT]\n"
	"                 [--window SECONDS] [--taken N] [--duration SECONDS]\n"
	"                 [--cgroup NAME] [--addresses FIRST-LAST]\n"
	"       pathprofd --record --db FILE [--overhead PERCENT] [--taken N] [--quiet]\n"
	"                 [--value [FILE:]FUNCTION:ARG]... [--value-sampler SPEC]\n"
	"                 (-p PID [--duration SECONDS] | --cgroup NAME [--duration SECONDS] |\n"
	"                 -- COMMAND ARGUMENTS...)\n"
	"       pathprofd --import FORMAT --db FILE [--binary FILE]... [--sysroot DIRECTORY]\n"
	"                 [--window SPAN] [--json] [--quiet] FILE|-\n"
	"       pathprofd [-c FILE] --check-config | --print-config\n"
	"\n"
	"The pathprof daemon: profiles which way programs go. It stays in the foreground.\n"
	"\n"
	"  -c, --config FILE    settings (default " PP_CONFIG_FILE ")\n"
	"      --db FILE        database\n"
	"      --source NAME    where branches come from: one of auto" PATHPROF_SOURCE_NAMES "\n"
	"      --overhead PCT   share of CPU time to spend (0.5%; recording: 20%)\n"
	"      --window SPAN    how long one window lasts (1min)\n"
	"      --taken N        taken branches in one burst (32)\n"
	"      --cgroup NAME    only processes of this unit or control group, and those below\n"
	"      --addresses A-B  only samples in this range of addresses, in hex\n"
	"      --duration SPAN  stop after so long\n"
	"      --record         profile one program, without service or root; exits as it does\n"
	"  -p, --pid PID        record this running process and its descendants\n"
	"      --value WHAT     also the values of a parameter (1 to 6) of a function; may be\n"
	"                       given again. Values can be secrets: they go into the database\n"
	"      --value-sampler SPEC  how they are sampled (H[PR16]1024)\n"
	"      --import FORMAT  read what another tool recorded: one of\n"
	"                      " PATHPROF_FORMATS_READ "\n"
	"      --binary FILE    a program or library that was recorded; may be given again\n"
	"      --sysroot DIR    files that were recorded lie below it\n"
	"      --json           the closing table as JSON\n"
	"      --quiet          no progress line\n"
	"      --check-config   read the settings, print what they come to, exit\n"
	"      --print-config   print a commented file of defaults, exit; with -c, the settings\n"
	"                       of that file, as --check-config does\n"
	"  -h, --help           this text\n"
	"  -V, --version        version\n";

enum option_id {
	OPTION_DB = 256,
	OPTION_SOURCE,
	OPTION_OVERHEAD,
	OPTION_WINDOW,
	OPTION_TAKEN,
	OPTION_INSTRUCTIONS,
	OPTION_CLOCK,
	OPTION_DURATION,
	OPTION_RECORD,
	OPTION_IMPORT,
	OPTION_BINARY,
	OPTION_SYSROOT,
	OPTION_JSON,
	OPTION_CGROUP,
	OPTION_ADDRESSES,
	OPTION_VALUE,
	OPTION_VALUE_SAMPLER,
	OPTION_QUIET,
	OPTION_CHECK,
	OPTION_PRINT,
};

static const struct option options[] = {
	{"config", required_argument, NULL, 'c'},
	{"db", required_argument, NULL, OPTION_DB},
	{"source", required_argument, NULL, OPTION_SOURCE},
	{"overhead", required_argument, NULL, OPTION_OVERHEAD},
	{"window", required_argument, NULL, OPTION_WINDOW},
	{"taken", required_argument, NULL, OPTION_TAKEN},
	{"instructions", required_argument, NULL, OPTION_INSTRUCTIONS},
	{"clock", required_argument, NULL, OPTION_CLOCK},
	{"duration", required_argument, NULL, OPTION_DURATION},
	{"record", no_argument, NULL, OPTION_RECORD},
	{"import", required_argument, NULL, OPTION_IMPORT},
	{"binary", required_argument, NULL, OPTION_BINARY},
	{"sysroot", required_argument, NULL, OPTION_SYSROOT},
	{"json", no_argument, NULL, OPTION_JSON},
	{"pid", required_argument, NULL, 'p'},
	{"cgroup", required_argument, NULL, OPTION_CGROUP},
	{"addresses", required_argument, NULL, OPTION_ADDRESSES},
	{"value", required_argument, NULL, OPTION_VALUE},
	{"value-sampler", required_argument, NULL, OPTION_VALUE_SAMPLER},
	{"quiet", no_argument, NULL, OPTION_QUIET},
	{"check-config", no_argument, NULL, OPTION_CHECK},
	{"print-config", no_argument, NULL, OPTION_PRINT},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

/* The last one given of a flag wins, as everywhere. */
static int override(struct pp_args *args, const char *section, const char *name, const char *value,
		    struct pathprof_error *error)
{
	struct pathprof_error why = {""};
	struct pp_config scratch;
	int r;

	pp_config_defaults(&scratch);
	r = pp_config_set(&scratch, section, name, value, &why);
	if (r < 0)
		return pathprof_fail(error, -EINVAL, "%s", why.text);
	if (args->override_cnt == PP_OVERRIDE_MAX)
		return pathprof_fail(error, -EINVAL, "too many options");
	args->overrides[args->override_cnt++] = (struct pp_override){section, name, value};
	return 0;
}

static int read_pid(const char *text, pid_t *ret_pid, struct pathprof_error *error)
{
	uint64_t value = 0;

	if (pp_count_parse(text, &value) < 0 || value == 0 || value > INT_MAX)
		return pathprof_fail(error, -EINVAL, "-p %s: not a process id", text);
	*ret_pid = (pid_t)value;
	return 0;
}

static int read_duration(const char *text, uint64_t *ret_ns, struct pathprof_error *error)
{
	uint64_t value = 0;

	if (pp_span_parse(text, &value) < 0 || value == 0)
		return pathprof_fail(error, -EINVAL, "--duration %s: not a span of time", text);
	*ret_ns = value;
	return 0;
}

static int set_mode(struct pp_args *args, enum pp_args_mode mode, struct pathprof_error *error)
{
	if (args->mode != PP_ARGS_RUN && args->mode != mode)
		return pathprof_fail(error, -EINVAL, "options that exclude each other");
	args->mode = mode;
	return 0;
}

static int set_import(struct pp_args *args, const char *format, struct pathprof_error *error)
{
	enum pathprof_format named = pathprof_format_named(format);

	if (!named || !pathprof_format_reads(named))
		return pathprof_fail(error, -EINVAL, "--import %s: not a format that is read",
				     format);
	args->format = named;
	return set_mode(args, PP_ARGS_IMPORT, error);
}

static int add_binary(struct pp_args *args, const char *path, struct pathprof_error *error)
{
	if (args->binary_cnt == PP_ARGS_BINARY_MAX)
		return pathprof_fail(error, -EINVAL, "--binary: more than %d: use --sysroot",
				     PP_ARGS_BINARY_MAX);
	args->binaries[args->binary_cnt++] = path;
	return 0;
}

static int add_value(struct pp_args *args, const char *spec, struct pathprof_error *error)
{
	if (args->value_cnt == PP_ARGS_VALUE_MAX)
		return pathprof_fail(error, -EINVAL, "--value: more than %d", PP_ARGS_VALUE_MAX);
	args->values[args->value_cnt++] = spec;
	return 0;
}

static int take(struct pp_args *args, int option, const char *spelled, struct pathprof_error *error)
{
	switch (option) {
	case 'c':
		args->file = optarg;
		return 0;
	case 'p':
		return read_pid(optarg, &args->pid, error);
	case 'h':
		return set_mode(args, PP_ARGS_HELP, error);
	case 'V':
		return set_mode(args, PP_ARGS_VERSION, error);
	case OPTION_DB:
		return override(args, "Store", "Path", optarg, error);
	case OPTION_SOURCE:
		return override(args, "Profile", "Source", optarg, error);
	case OPTION_OVERHEAD:
		return override(args, "Profile", "Overhead", optarg, error);
	case OPTION_WINDOW:
		return override(args, "Profile", "WindowSec", optarg, error);
	case OPTION_TAKEN:
		return override(args, "Profile", "TakenBranches", optarg, error);
	case OPTION_INSTRUCTIONS:
		return override(args, "Profile", "Instructions", optarg, error);
	case OPTION_CLOCK:
		return override(args, "Profile", "ClockHz", optarg, error);
	case OPTION_DURATION:
		return read_duration(optarg, &args->duration_ns, error);
	case OPTION_RECORD:
		return set_mode(args, PP_ARGS_RECORD, error);
	case OPTION_IMPORT:
		return set_import(args, optarg, error);
	case OPTION_BINARY:
		return add_binary(args, optarg, error);
	case OPTION_SYSROOT:
		args->sysroot = optarg;
		return 0;
	case OPTION_CGROUP:
		return override(args, "Profile", "Cgroup", optarg, error);
	case OPTION_ADDRESSES:
		return override(args, "Profile", "Addresses", optarg, error);
	case OPTION_VALUE:
		return add_value(args, optarg, error);
	case OPTION_VALUE_SAMPLER:
		args->value_sampler = optarg;
		return 0;
	case OPTION_JSON:
		args->json = true;
		return 0;
	case OPTION_CHECK:
		return set_mode(args, PP_ARGS_CHECK, error);
	case OPTION_PRINT:
		return set_mode(args, PP_ARGS_PRINT, error);
	case OPTION_QUIET:
		args->quiet = true;
		return 0;
	case ':':
		return pathprof_fail(error, -EINVAL, "%s: needs a value", spelled);
	default:
		return pathprof_fail(error, -EINVAL, "%s: unknown option", spelled);
	}
}

static bool overrides(const struct pp_args *args, const char *name)
{
	for (unsigned int i = 0; i < args->override_cnt; i++)
		if (!strcmp(args->overrides[i].name, name))
			return true;
	return false;
}

static int check_record(struct pp_args *args, struct pathprof_error *error)
{
	if (!overrides(args, "Path"))
		return pathprof_fail(error, -EINVAL, "--record: needs --db FILE");
	args->group = !args->pid && !args->command && overrides(args, "Cgroup");
	if (args->duration_ns && args->command)
		return pathprof_fail(error, -EINVAL, "--duration: a command ends by itself");
	if (args->value_cnt && args->group)
		return pathprof_fail(error, -EINVAL, "--value: needs -p PID or a command");
	if (args->value_sampler && !args->value_cnt)
		return pathprof_fail(error, -EINVAL, "--value-sampler: only with --value");
	if (!args->pid == !args->command && !args->group)
		return pathprof_fail(error, -EINVAL,
				     "--record: needs -p PID, a command, or --cgroup alone");
	return 0;
}

static int check_import(struct pp_args *args, struct pathprof_error *error)
{
	if (!overrides(args, "Path"))
		return pathprof_fail(error, -EINVAL, "--import: needs --db FILE");
	if (!args->command || args->command[1])
		return pathprof_fail(error, -EINVAL,
				     "--import: needs one file, or - for standard input");
	if (args->pid || args->duration_ns)
		return pathprof_fail(error, -EINVAL,
				     "--import: goes with neither -p nor "
				     "--duration");
	args->import_file = args->command[0];
	args->command = NULL;
	return 0;
}

static int check(struct pp_args *args, struct pathprof_error *error)
{
	if (args->mode == PP_ARGS_IMPORT)
		return check_import(args, error);
	if (args->binary_cnt || args->sysroot || args->json)
		return pathprof_fail(error, -EINVAL,
				     "--binary, --sysroot, --json: only with --import");
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
	struct pp_args args = {.mode = PP_ARGS_RUN};
	int option, r;

	opterr = 0;
	optind = 0; /* glibc: begin anew, so that tests may parse twice */
	for (;;) {
		int at = optind ? optind : 1;

		option = getopt_long(argc, argv, "+:c:p:hV", options, NULL);
		if (option < 0)
			break;
		r = take(&args, option, at < argc ? argv[at] : "?", error);
		if (r < 0)
			return r;
	}
	if (optind < argc)
		args.command = argv + optind;
	r = check(&args, error);
	if (r < 0)
		return r;
	*ret_args = args;
	return 0;
}

static void record_defaults(struct pp_config *config)
{
	pp_config_set(config, "Profile", "Overhead", RECORD_OVERHEAD, NULL);
	pp_config_set(config, "Profile", "FrequencyHz", RECORD_FREQUENCY, NULL);
	/* what is so with one program is so with all of a group */
	pp_config_set(config, "Profile", "Compress", "no", NULL);
	pp_config_set(config, "Drift", "Enabled", "no", NULL);
	/* what somebody asked to have recorded is kept whole */
	pp_config_set(config, "Store", "MaxUse", "0", NULL);
	pp_config_set(config, "Store", "KeepFree", "0", NULL);
	pp_config_set(config, "Store", "MaxRetentionSec", "0", NULL);
}

/* Somebody's own database, not the service's. */
static bool is_oneshot(const struct pp_args *args)
{
	return args->mode == PP_ARGS_RECORD || args->mode == PP_ARGS_IMPORT;
}

int pp_args_config(const struct pp_args *args, struct pp_config *ret_config,
		   struct pathprof_error *error)
{
	struct pp_config config;
	int r = 0;

	pp_config_defaults(&config);
	if (is_oneshot(args))
		record_defaults(&config);
	if (args->file || !is_oneshot(args))
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
