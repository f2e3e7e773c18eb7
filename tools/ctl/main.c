// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl: finds the verb and runs it. */
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "code/keeper.h"
#include "code/symbols.h"
#include "ctl.h"
#include "hub.h"
#include "oneshot.h"
#include "options.h"
#include "pathprof/parcel_store.h"
#include "scratch.h"
#include "text/cleanup.h"
#include "text/glossary.h"
#include "text/output.h"
#include "text/term.h"

static const struct ctl_verb verbs[] = {
	{"doctor", "", "Say what this machine can do, and what would change it",
	 "pathprofctl doctor --service", CTL_OPT_SERVICE, cmd_doctor},
	{"status", "", "Show the daemon's sources, overhead, budget and drops",
	 "pathprofctl status", 0, cmd_status},
	{"top", "", "Show what is hot now, live if on a terminal",
	 "pathprofctl top --by functions --since -5min",
	 CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_LIMIT | CTL_OPT_BY | CTL_OPT_SORT, cmd_top, true},
	{"paths", "", "List the hottest paths", "pathprofctl paths --comm gzip -n 10",
	 CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_LIMIT | CTL_OPT_SORT | CTL_OPT_FUNCTION |
		 CTL_OPT_GRAPH,
	 cmd_paths, true},
	{"show", "PATH", "Show a path block by block: PATH-ID, FUNCTION:NUMBER",
	 "pathprofctl show 42", CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_GRAPH, cmd_show, true},
	{"cfg", "FUNCTION", "Draw a function's blocks and edges with their counts",
	 "pathprofctl cfg deflate --format svg -o deflate.svg",
	 CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_CFG | CTL_OPT_GRAPH | CTL_OPT_SORT, cmd_cfg, true},
	{"edges", "", "List branches: BUILDID FROM TO COUNT MISPREDICTED",
	 "pathprofctl edges --binary gzip", CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_LIMIT, cmd_edges,
	 true},
	{"windows", "", "List the profile windows of the database",
	 "pathprofctl windows --since -1h", CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_LIMIT,
	 cmd_windows},
	{"processes", "", "List the processes that were seen", "pathprofctl processes --since -1h",
	 CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_LIMIT | CTL_OPT_SORT, cmd_processes, true},
	{"binaries", "", "List the programs and libraries that were seen",
	 "pathprofctl binaries --since today",
	 CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_LIMIT | CTL_OPT_SORT, cmd_binaries, true},
	{"compare", "A B", "Compare profile B, what ran, with A, what was assumed",
	 "pathprofctl compare file:before.db file:after.db",
	 CTL_OPT_HUB | CTL_OPT_NARROW | CTL_OPT_LIMIT | CTL_OPT_EVENTS | CTL_OPT_SVG |
		 CTL_OPT_GRAPH | CTL_OPT_SORT,
	 cmd_compare, true},
	{"combine", "A B...", "Combine several profiles into one file",
	 "pathprofctl combine file:a.db file:b.db -o both.profile",
	 CTL_OPT_HUB | CTL_OPT_NARROW | CTL_OPT_EVENTS | CTL_OPT_COMBINE | CTL_OPT_REPLACE,
	 cmd_combine, true},
	{"drift", "", "Say how far each binary has moved from its baseline",
	 "pathprofctl drift --baseline release --check",
	 CTL_OPT_SELECT | CTL_OPT_LIMIT | CTL_OPT_DRIFT | CTL_OPT_SVG, cmd_drift, true},
	{"baseline", "set|list|rm", "Keep profiles to compare with: set NAME, list, rm NAME",
	 "pathprofctl baseline set release --since -1h", CTL_OPT_SELECT | CTL_OPT_REPLACE,
	 cmd_baseline, true},
	{"alerts", "", "List the alerts that fire, are pending, or have fired",
	 "pathprofctl alerts", CTL_OPT_HUB, cmd_alerts},
	{"values", "", "Show the recorded values of functions' parameters",
	 "pathprofctl values --function malloc", CTL_OPT_VALUES, cmd_values, true},
	{"record", "-- COMMAND...", "Profile one program and print what was hot",
	 "pathprofctl record -o gzip.db -- gzip -k FILE",
	 CTL_OPT_RECORD | CTL_OPT_PID | CTL_OPT_COMMAND, cmd_record},
	{"import", "RECORDING|-|COUNTS...", "Read what another tool recorded",
	 "pathprofctl import perf.data -o perf.db", CTL_OPT_IMPORT, cmd_import},
	{"export", "", "Write a profile for BOLT, LLVM, AutoFDO or pprof",
	 "pathprofctl export --binary gzip -F bolt-fdata -o gzip.fdata",
	 CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_EXPORT | CTL_OPT_GRAPH | CTL_OPT_SORT, cmd_export,
	 true},
	{"interesting", "", "Write the hot paths that pathprof-cc reads",
	 "pathprofctl interesting --db program.db -o program.paths",
	 CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_INTERESTING, cmd_interesting, true},
	{"hosts", "", "List the hosts whose parcels were added", "pathprofctl hosts",
	 CTL_OPT_HUB | CTL_OPT_LABEL, cmd_hosts},
	{"outliers", "", "Say which hosts run a program otherwise than the rest, and in what",
	 "pathprofctl outliers --since -1d --db fleet.db",
	 CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_LIMIT, cmd_outliers, true},
	{"modes", "", "Say in which different ways hosts run a program, and in what they differ",
	 "pathprofctl modes --since -1d --db fleet.db",
	 CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_LIMIT, cmd_modes},
	{"releases", "[PROGRAM]", "Say what each new build of a program changed in how it runs",
	 "pathprofctl releases nginx --since -30d",
	 CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_LIMIT | CTL_OPT_GRAPH, cmd_releases, true},
	{"parcel", "write|read|add", "Write, read or add up five minutes of a host as a file",
	 "pathprofctl parcel write --since -1h -o parcels", CTL_OPT_PARCEL, cmd_parcel},
	{"tested", "merge|list|redundant", "Keep the paths that tests ran: merge, list, redundant",
	 "pathprofctl tested merge -o app.tested tested/*.paths", CTL_OPT_TESTED, cmd_tested},
	{"untested", "TESTED",
	 "Say what ran that no test ran, and where it leaves the tested paths",
	 "pathprofctl untested app.tested --since -1d --check 1%",
	 CTL_OPT_HUB | CTL_OPT_SELECT | CTL_OPT_LIMIT | CTL_OPT_UNTESTED | CTL_OPT_GRAPH,
	 cmd_untested, true},
	{"vacuum", "", "Delete old windows", "pathprofctl vacuum --max-age 30d", CTL_OPT_VACUUM,
	 cmd_vacuum},
	{"db", "check", "Check the database's integrity", "pathprofctl db check", 0, cmd_db},
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
	puts("Usage: pathprofctl [OPTION...] VERB [OPTION...] [OPERAND...]\n\nVerbs:");
	for (size_t i = 0; i < VERB_CNT; i++) {
		char words[40];

		snprintf(words, sizeof(words), "  %s %s", verbs[i].name, verbs[i].operands);
		pp_help_line(words, verbs[i].help, stdout);
	}
	puts("\nOptions everywhere:");
	ctl_options_help(stdout, 0);
	puts("\nA verb's own options, and an example: pathprofctl VERB --help. Exit status: 0 "
	     "done,\n"
	     "1 failed, 2 bad usage, 3 the daemon is down (status) or too much was left out\n"
	     "(import, export), 10 over the threshold (drift --check, untested --check).\n"
	     "See pathprofctl(1).");
}

static unsigned int accepted(const struct ctl_verb *verb)
{
	return verb->accepts | (verb->reads_code ? CTL_OPT_CODE : 0);
}

static void help_verb(const struct ctl_verb *verb)
{
	const unsigned int accepts = accepted(verb);
	const unsigned int selecting = accepts & (CTL_OPT_SELECT | CTL_OPT_NARROW | CTL_OPT_LABEL);

	printf("%s.\n\nUsage:   pathprofctl %s [OPTION...]%s%s\nExample: %s\n", verb->help,
	       verb->name, *verb->operands ? " " : "", verb->operands, verb->example);
	if (accepts != selecting) {
		puts("\nOptions:");
		ctl_options_help(stdout, accepts & ~selecting);
	}
	if (selecting) {
		puts("\nWhich windows, processes and code:");
		ctl_options_help(stdout, selecting);
	}
	puts("\nEverywhere: --db FILE, --hub URL, --certificates DIR, --json, --color WHEN,\n"
	     "            --full-names, --explain, --help, --version");
}

static void version(void)
{
	puts("pathprofctl " PATHPROF_VERSION);
}

struct hosts {
	const struct ctl_options *options;
	unsigned int cnt;
	bool named, labelled;
};

static int take_host(void *context, const struct pathprof_host_row *row)
{
	struct hosts *hosts = context;

	hosts->cnt++;
	hosts->named = hosts->named || !strcmp(row->host.name, hosts->options->host ?: "");
	hosts->labelled =
		hosts->labelled || pathprof_labels_match(row->host.labels, hosts->options->labels);
	return 0;
}

/* A database without parcels knows only its own host. */
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

static int check_label(const struct hosts *hosts)
{
	if (!hosts->cnt)
		return ctl_fail("%s: the database holds one host, which has no labels: parcels "
				"bring them from hosts whose settings name some",
				hosts->options->labels);
	return hosts->labelled ? CTL_OK
			       : ctl_fail("%s: no host has these labels: `pathprofctl hosts` lists "
					  "hosts and labels",
					  hosts->options->labels);
}

static int check_name(const struct hosts *hosts)
{
	const char *host = hosts->options->host;

	if (!hosts->cnt)
		return check_only_host(host);
	return hosts->named ? CTL_OK
			    : ctl_fail("--host %s: no parcel of it was added: `pathprofctl hosts` "
				       "lists the hosts of the database",
				       host);
}

/* Whether the verb's operands are profile files, so that the database's hosts do not matter. */
static bool reads_files_alone(const struct ctl_verb *verb, const struct ctl_options *options)
{
	if (!(verb->accepts & CTL_OPT_NARROW) || !options->argc)
		return false;
	for (int i = 0; i < options->argc; i++)
		if (strncmp(options->argv[i], "file:", 5) != 0)
			return false;
	return true;
}

static void narrow_to_hosts(struct ctl_options *options, bool by_name)
{
	if (by_name)
		options->filter.host = options->host;
	if (options->labels[0])
		options->filter.labels = options->labels;
}

/* Hosts are selected by their labels in added parcels; for `parcel` the labels are what it writes.
 */
static int check_hosts(const struct ctl_verb *verb, struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct hosts hosts = {.options = options};
	struct pathprof_error error = {""};
	int r;

	if ((!options->host && !options->labels[0]) || verb->accepts & CTL_OPT_PARCEL)
		return CTL_OK;
	if (reads_files_alone(verb, options)) {
		narrow_to_hosts(options, true);
		return CTL_OK;
	}
	r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	r = pathprof_store_hosts(store, NULL, take_host, &hosts, &error);
	if (r < 0)
		return ctl_fail_error("--host", r, &error);
	if (options->labels[0])
		r = check_label(&hosts);
	if (r == CTL_OK && options->host)
		r = check_name(&hosts);
	if (r == CTL_OK)
		narrow_to_hosts(options, hosts.cnt > 0);
	return r;
}

static int check_times(const struct ctl_verb *verb, const struct ctl_options *options)
{
	const struct pathprof_filter *filter = &options->filter;

	if (verb->accepts & CTL_OPT_NARROW && !options->hub &&
	    (filter->since_ns || filter->until_ns))
		return ctl_usage(options, "--since and --until go with --hub here: a time is a "
					  "selector, SINCE..UNTIL");
	if (filter->since_ns && filter->until_ns && filter->since_ns >= filter->until_ns)
		return ctl_usage(options, "--since is not before --until");
	return CTL_OK;
}

static bool reader_went_away(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO};

	return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

/* A closed pipe is no failure; a full disk is. */
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
	return verb->run == cmd_top && ctl_term.terminal && !options->json && !options->hub &&
	       isatty(STDIN_FILENO);
}

/* Runs a verb and, with --explain, prints the meaning of its words below its output. */
static int run_explained(const struct ctl_options *options)
{
	int r = find_verb(options->verb)->run(options);

	if ((r == CTL_OK || r == CTL_OVER) && options->explain && !options->json &&
	    !output_is_stdout(options->svg))
		glossary_print(stdout, options->verb);
	return r;
}

/* Runs a verb on its database, which is here by now if it had to be fetched from a hub. */
static int run_on_db(const struct ctl_verb *verb, struct ctl_options *options)
{
	int r = check_hosts(verb, options);

	if (r)
		return r;
	if (verb->reads_code && !is_live(verb, options))
		return keeper_run(options, run_explained, finish);
	return run_explained(options);
}

static int run_on_hub(const struct ctl_verb *verb, struct ctl_options *options)
{
	struct scratch scratch = SCRATCH_INIT;
	int r;

	if (!(verb->accepts & CTL_OPT_HUB))
		return ctl_usage(options, "a hub has nothing for this verb: leave --hub out");
	if (options->db)
		return ctl_usage(options, "--db and --hub: choose one");
	r = hub_fetch(options, verb->run == cmd_alerts, &scratch);
	if (verb->run == cmd_cfg || verb->run == cmd_show || verb->run == cmd_export)
		hub_use_files(options, scratch.directory);
	if (r == CTL_OK)
		r = run_on_db(verb, options);
	scratch_remove(&scratch);
	return r;
}

static int run_verb(struct ctl_options *options, int argc, char **argv)
{
	const struct ctl_verb *verb = find_verb(argv[0]);
	int r;

	if (!verb)
		return ctl_usage(options, "%s: no such verb", argv[0]);
	options->verb = verb->name;
	r = ctl_options_parse(options, argc, argv, accepted(verb), false);
	if (r)
		return r;
	symbols_use_file(options->file);
	ctl_term_init(STDOUT_FILENO, options->color);
	if (options->help || options->version) {
		options->help ? help_verb(verb) : version();
		return CTL_OK;
	}
	r = check_times(verb, options);
	if (r)
		return r;
	return options->hub ? run_on_hub(verb, options) : run_on_db(verb, options);
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
	oneshot_take_signals();
	ctl_term_init(STDOUT_FILENO, CTL_COLOR_AUTO);
	return finish(run(argc, argv));
}
