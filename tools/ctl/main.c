// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl: finds the verb and runs it. */
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "ctl.h"
#include "keeper.h"
#include "options.h"
#include "pathprof/parcel_store.h"
#include "term.h"

static const struct ctl_verb verbs[] = {
	{"doctor", "", "what this machine can do, why not more, what would change it",
	 CTL_OPT_SERVICE, cmd_doctor},
	{"status", "", "the daemon: sources, rates, overhead against budget, drops", 0, cmd_status},
	{"top", "", "what is hot now: live on a terminal, once into a pipe",
	 CTL_OPT_SELECT | CTL_OPT_LIMIT | CTL_OPT_BY | CTL_OPT_SORT, cmd_top, true},
	{"paths", "", "the hottest paths",
	 CTL_OPT_SELECT | CTL_OPT_LIMIT | CTL_OPT_SORT | CTL_OPT_FUNCTION | CTL_OPT_GRAPH,
	 cmd_paths, true},
	{"show", "PATH", "one path, block by block: a PATH-ID, or FUNCTION:NUMBER",
	 CTL_OPT_SELECT | CTL_OPT_GRAPH, cmd_show, true},
	{"cfg", "FUNCTION", "a function's blocks and edges with counts: text, dot or svg",
	 CTL_OPT_SELECT | CTL_OPT_CFG | CTL_OPT_GRAPH | CTL_OPT_SORT, cmd_cfg, true},
	{"edges", "", "branch edges: BUILDID FROM TO COUNT MISPREDICTED",
	 CTL_OPT_SELECT | CTL_OPT_LIMIT, cmd_edges, true},
	{"windows", "", "the profile windows stored", CTL_OPT_SELECT | CTL_OPT_LIMIT, cmd_windows},
	{"processes", "", "the processes seen", CTL_OPT_SELECT | CTL_OPT_LIMIT | CTL_OPT_SORT,
	 cmd_processes, true},
	{"binaries", "", "the binaries seen", CTL_OPT_SELECT | CTL_OPT_LIMIT | CTL_OPT_SORT,
	 cmd_binaries, true},
	{"compare", "A B", "how far B, what ran, is from A, what was assumed; what moved",
	 CTL_OPT_NARROW | CTL_OPT_LIMIT | CTL_OPT_EVENTS | CTL_OPT_SVG | CTL_OPT_GRAPH |
		 CTL_OPT_SORT,
	 cmd_compare, true},
	{"combine", "A B...", "several profiles into one file",
	 CTL_OPT_NARROW | CTL_OPT_EVENTS | CTL_OPT_COMBINE | CTL_OPT_REPLACE, cmd_combine, true},
	{"drift", "", "how far each binary has moved from its baseline",
	 CTL_OPT_SELECT | CTL_OPT_LIMIT | CTL_OPT_DRIFT | CTL_OPT_SVG, cmd_drift, true},
	{"baseline", "set|list|rm", "profiles to compare with: set NAME, list, rm NAME",
	 CTL_OPT_SELECT | CTL_OPT_REPLACE, cmd_baseline, true},
	{"alerts", "", "what fires, what is pending, what fired", 0, cmd_alerts},
	{"values", "", "the values that parameters of functions had, where they were recorded",
	 CTL_OPT_VALUES, cmd_values, true},
	{"record", "-- COMMAND...", "profile one program",
	 CTL_OPT_RECORD | CTL_OPT_PID | CTL_OPT_COMMAND, cmd_record},
	{"import", "FILE...|-", "what another tool recorded, as windows, paths and edges",
	 CTL_OPT_IMPORT, cmd_import},
	{"export", "", "one binary's branches for BOLT, LLVM, AutoFDO, pprof, flame graphs",
	 CTL_OPT_SELECT | CTL_OPT_EXPORT | CTL_OPT_GRAPH | CTL_OPT_SORT, cmd_export, true},
	{"hosts", "", "the hosts whose parcels were added to the database", 0, cmd_hosts},
	{"parcel", "write|read|add",
	 "five minutes of a database as a small file; those of several hosts added up",
	 CTL_OPT_PARCEL, cmd_parcel},
	{"vacuum", "", "drop old windows", CTL_OPT_VACUUM, cmd_vacuum},
	{"db", "check", "integrity of the database", 0, cmd_db},
};
#define VERB_CNT (sizeof(verbs) / sizeof(verbs[0]))

static const struct ctl_verb *find_verb(const char *name)
{
	for (size_t i = 0; i < VERB_CNT; i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

static void help(void)
{
	puts("pathprofctl [OPTION...] VERB [OPTION...] [OPERAND...]\n\nVerbs:");
	for (size_t i = 0; i < VERB_CNT; i++) {
		char words[40];

		snprintf(words, sizeof(words), "%s %s", verbs[i].name, verbs[i].operands);
		printf("  %-22s %s\n", words, verbs[i].help);
	}
	puts("\nOptions everywhere:");
	ctl_options_help(stdout, 0);
	puts("\nA verb's own options: pathprofctl VERB --help. Exit status: 0 done, 1 failed,\n"
	     "2 bad usage, 3 the daemon is down (status), 10 over the threshold (drift --check).\n"
	     "See pathprofctl(1).");
}

static void help_verb(const struct ctl_verb *verb)
{
	printf("pathprofctl %s [OPTION...] %s\n  %s\n\nOptions:\n", verb->name, verb->operands,
	       verb->help);
	ctl_options_help(stdout, 0);
	if (verb->accepts)
		ctl_options_help(stdout, verb->accepts);
}

static void version(void)
{
	puts("pathprofctl " PATHPROF_VERSION);
}

struct hosts {
	const char *wanted;
	unsigned int cnt;
	bool found;
};

static int take_host(void *context, const struct pathprof_host_row *row)
{
	struct hosts *hosts = context;

	hosts->cnt++;
	hosts->found = hosts->found || !strcmp(row->host.name, hosts->wanted);
	return 0;
}

/* Without parcels a database knows one host: its own. */
static int check_only_host(const char *host)
{
	char name[256] = "";

	gethostname(name, sizeof(name) - 1);
	if (!strcmp(host, name))
		return CTL_OK;
	return ctl_fail("--host %s: the database holds one host, this one is %s: ask on that "
			"host, add its parcels to a database (`pathprofctl parcel`), or leave "
			"--host out",
			host, name);
}

/* One whose parcels were added is selected. */
static int check_host(struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct hosts hosts = {.wanted = options->host};
	struct pathprof_error error = {""};
	int r;

	if (!options->host)
		return CTL_OK;
	r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	r = pathprof_store_hosts(store, take_host, &hosts, &error);
	if (r < 0)
		return ctl_fail_error("--host", r, &error);
	if (!hosts.cnt)
		return check_only_host(options->host);
	if (!hosts.found)
		return ctl_fail("--host %s: no parcel of it was added: `pathprofctl hosts` lists "
				"the hosts of the database",
				options->host);
	options->filter.host = options->host;
	return CTL_OK;
}

static int check_times(const struct ctl_options *options)
{
	const struct pathprof_filter *filter = &options->filter;

	if (filter->since_ns && filter->until_ns && filter->since_ns >= filter->until_ns)
		return ctl_usage(options, "--since is not before --until");
	return CTL_OK;
}

static bool reader_went_away(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO};

	return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

/* A reader that went away is no failure; a full disk is. */
static int finish(int result)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return result;
	if (reader_went_away())
		return result;
	return ctl_fail("standard output: %s", errno ? strerror(errno) : "not all was written");
}

/* The live screen has the terminal to itself. */
static bool is_live(const struct ctl_verb *verb, const struct ctl_options *options)
{
	return verb->run == cmd_top && ctl_term.terminal && !options->json && isatty(STDIN_FILENO);
}

static int run_verb(struct ctl_options *options, int argc, char **argv)
{
	const struct ctl_verb *verb = find_verb(argv[0]);
	int r;

	if (!verb)
		return ctl_usage(options, "%s: no such verb", argv[0]);
	options->verb = verb->name;
	r = ctl_options_parse(options, argc, argv, verb->accepts, false);
	if (r)
		return r;
	ctl_term_init(STDOUT_FILENO, options->color);
	if (options->help || options->version) {
		options->help ? help_verb(verb) : version();
		return CTL_OK;
	}
	r = check_times(options);
	if (r == CTL_OK)
		r = check_host(options);
	if (r)
		return r;
	if (verb->reads_code && !is_live(verb, options))
		return keeper_run(options, verb->run, finish);
	return verb->run(options);
}

static int run(int argc, char **argv)
{
	struct ctl_options options;
	int r;

	ctl_options_init(&options);
	r = ctl_options_parse(&options, argc, argv, 0, true);
	if (r)
		return r;
	if (options.help || options.version) {
		options.help ? help() : version();
		return CTL_OK;
	}
	if (options.argc == 0)
		return ctl_usage(&options, "a verb is needed");
	return run_verb(&options, options.argc, options.argv);
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	signal(SIGPIPE, SIG_IGN);
	ctl_term_init(STDOUT_FILENO, CTL_COLOR_AUTO);
	return finish(run(argc, argv));
}
