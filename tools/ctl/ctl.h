/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pathprofctl: the common part of its verbs. Each verb is one file cmd_X.c with one entry cmd_X;
 * main.c has the table. Results go to standard output, everything else to standard error as
 * `pathprofctl: what: where: what to do`.
 *
 * One thread. The terminal's properties are the only global state.
 */
#ifndef CTL_H
#define CTL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pathprof/error.h"
#include "pathprof/labels.h"
#include "pathprof/store.h"

enum ctl_exit {
	CTL_OK = 0,
	CTL_FAILURE = 1,
	CTL_USAGE = 2,
	CTL_DOWN = 3,  /* status: the daemon does not run */
	CTL_LOSS = 3,  /* import, export --recording: more was left out than --max-loss */
	CTL_OVER = 10, /* drift --check, untested --check: over the threshold */
};

#define CTL_NS_PER_S 1000000000LL

enum ctl_color {
	CTL_COLOR_AUTO,
	CTL_COLOR_ALWAYS,
	CTL_COLOR_NEVER,
};

/* The order of the rows, which also chooses the first figure. */
enum ctl_sort {
	CTL_SORT_DEFAULT, /* as the windows allow: time, or runs */
	CTL_SORT_TIME,
	CTL_SORT_RUNS,
};

#define CTL_RECORDED_MAX 64
#define CTL_VALUE_MAX    64

/* All settings of the command line. A verb leaves those that it does not accept as in
 * ctl_options_init. */
struct ctl_options {
	const char *db; /* --db, NULL: the default */
	bool json;
	bool help, version, explain;
	enum ctl_color color;

	struct pathprof_filter filter;
	const char *host;
	char labels[PATHPROF_LABELS_BYTES]; /* --label and --group; "": any */
	const char *hub, *certificates;     /* NULL: no hub; the default directory */
	bool limit_given;

	const char *by;
	enum ctl_sort sort;
	const char *source, *overhead, *instructions, *hold, *output;
	const char *cgroup, *addresses; /* --cgroup, --addresses of record; NULL: all */
	int64_t duration_ns;            /* 0: until it ends */
	bool no_report;
	uint64_t max_bytes;
	int64_t max_age_ns;

	const char *function, *format;
	const char *graph_cache; /* NULL: the default */
	bool all, all_blocks;
	const char *tested; /* --tested of cfg: a file; NULL: none */

	const char *file; /* --file of export */
	bool old_readers;
	bool has_owner, any_owner; /* --owner, --any-owner of export */
	uint32_t owner;
	const char *recording; /* --recording of export; NULL: the database */
	const char *recording_format;
	const char *max_loss; /* of import, and of export --recording; NULL: the default */
	uint64_t max_loss_ppm;

	const char *sysroot, *window_span;
	const char *recorded[CTL_RECORDED_MAX]; /* --binary of import */
	unsigned int recorded_cnt;

	const char *values[CTL_VALUE_MAX]; /* --value of record */
	unsigned int value_cnt;
	const char *value_sampler;
	uint32_t top; /* --top of values, --hot of interesting; 0: not said */
	bool forget;

	unsigned int events; /* enum side_kind */
	const char *svg, *method, *baseline;
	double threshold;    /* bits, 0: the default; of untested a share */
	unsigned int unit;   /* enum untested_unit */
	uint32_t min_bursts; /* 0: not said */
	bool sarif, lcov, unused;
	bool check, replace;
	bool service;     /* --service of doctor */
	const char *name; /* --name of parcel; NULL: this host's */

	const char *verb; /* for messages; NULL before it is known */
	int argc;         /* operands of the verb */
	char **argv;
};

/* Which options a verb accepts, besides the global ones. */
#define CTL_OPT_SELECT                                                                             \
	(1U << 0) /* --since --until --window --kind --pid --comm --binary --container --workload  \
		     --host --label --group */
#define CTL_OPT_LIMIT    (1U << 1)
#define CTL_OPT_BY       (1U << 2)
#define CTL_OPT_RECORD   (1U << 3)
#define CTL_OPT_VACUUM   (1U << 4)
#define CTL_OPT_PID      (1U << 5) /* --pid alone */
#define CTL_OPT_COMMAND  (1U << 6) /* operands are a command: options end at the first */
#define CTL_OPT_FUNCTION (1U << 7)
#define CTL_OPT_GRAPH    (1U << 8) /* --graph-cache */
#define CTL_OPT_CFG      (1U << 9) /* --format --output --tested --all --all-blocks */
#define CTL_OPT_NARROW                                                                             \
	(1U << 10) /* as CTL_OPT_SELECT without --window, the times with --hub alone: selectors    \
		      have their own */
#define CTL_OPT_EVENTS  (1U << 11) /* --edges --calls --branches */
#define CTL_OPT_SVG     (1U << 12)
#define CTL_OPT_COMBINE (1U << 13) /* --method --output */
#define CTL_OPT_DRIFT   (1U << 14) /* --baseline --check --threshold */
#define CTL_OPT_REPLACE (1U << 15)
#define CTL_OPT_IMPORT                                                                             \
	(1U << 16) /* --format --binary --sysroot --window --max-loss --output --no-report */
#define CTL_OPT_EXPORT                                                                             \
	(1U << 17) /* --format --output --file --recording --recording-format --max-loss           \
		      --old-readers --owner --any-owner */
#define CTL_OPT_VALUES                                                                             \
	(1U << 18) /* --since --until --window --binary --function --top --forget                  \
		    */
#define CTL_OPT_SORT        (1U << 19)
#define CTL_OPT_SERVICE     (1U << 20)
#define CTL_OPT_PARCEL      (1U << 21) /* --since --until --output --name */
#define CTL_OPT_INTERESTING (1U << 22) /* --hot --output */
#define CTL_OPT_TESTED      (1U << 23) /* --output */
#define CTL_OPT_UNTESTED    (1U << 24) /* --unit --check --min-bursts --sarif --lcov --unused */
#define CTL_OPT_HUB         (1U << 25) /* reads what a hub has, by --hub */
#define CTL_OPT_CODE        (1U << 26) /* --file: of all that read code */
#define CTL_OPT_LABEL       (1U << 27) /* --label --group alone */

struct ctl_verb {
	const char *name;
	const char *operands; /* as the usage line shows them */
	const char *help;     /* one sentence, without its full stop */
	const char *example;  /* a command */
	unsigned int accepts; /* CTL_OPT_* */
	int (*run)(const struct ctl_options *options);
	bool reads_code; /* programs and their debug information: others' files */
};

int cmd_alerts(const struct ctl_options *options);
int cmd_baseline(const struct ctl_options *options);
int cmd_binaries(const struct ctl_options *options);
int cmd_cfg(const struct ctl_options *options);
int cmd_combine(const struct ctl_options *options);
int cmd_compare(const struct ctl_options *options);
int cmd_db(const struct ctl_options *options);
int cmd_doctor(const struct ctl_options *options);
int cmd_drift(const struct ctl_options *options);
int cmd_edges(const struct ctl_options *options);

int cmd_hosts(const struct ctl_options *options);
int cmd_modes(const struct ctl_options *options);
int cmd_outliers(const struct ctl_options *options);
int cmd_releases(const struct ctl_options *options);
int cmd_interesting(const struct ctl_options *options);
int cmd_import(const struct ctl_options *options);
int cmd_export(const struct ctl_options *options);
int cmd_parcel(const struct ctl_options *options);
int cmd_paths(const struct ctl_options *options);
int cmd_processes(const struct ctl_options *options);
int cmd_record(const struct ctl_options *options);
int cmd_show(const struct ctl_options *options);
int cmd_status(const struct ctl_options *options);
int cmd_tested(const struct ctl_options *options);
int cmd_top(const struct ctl_options *options);
int cmd_untested(const struct ctl_options *options);
int cmd_values(const struct ctl_options *options);
int cmd_vacuum(const struct ctl_options *options);
int cmd_windows(const struct ctl_options *options);

/* Says one line on standard error, control characters escaped. Returns CTL_FAILURE. */
int ctl_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a note, which is no failure, in the same way. */
void ctl_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and says where to read more. Returns CTL_USAGE. */
int ctl_usage(const struct ctl_options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints error->text, or the errno if there is none. Returns CTL_FAILURE. */
int ctl_fail_error(const char *where, int code, const struct pathprof_error *error);
/* Returns CTL_USAGE, after a message, if there are operands that the verb does not take; else
 * CTL_OK. */
int ctl_no_operands(const struct ctl_options *options);

/* The database that the options and the environment name. Caller frees. */
char *ctl_db_path(const struct ctl_options *options);
/* The same, but never the user's own: by default the service's. Caller frees. */
char *ctl_service_db_path(const struct ctl_options *options);
/*
 * Returns the path of a file in which this program keeps state: in $XDG_STATE_HOME when that is
 * set, in the service's state directory for root, else in the home. NULL: there is no such place.
 * Caller frees.
 */
char *ctl_state_path(const char *file);
/* The size of all the database's files now, the log included: "1.2 MiB with its write-ahead log".
 * Caller frees. */
char *ctl_db_size_text(struct pathprof_store *store);
/* Opens the database; says why not. Returns CTL_OK or CTL_FAILURE. */
int ctl_db_open(struct pathprof_store **ret_store, const struct ctl_options *options,
		enum pathprof_store_mode mode);

/* First line of a small file without its newline; NULL when it cannot be read. Caller frees. */
char *ctl_read_line(const char *path);

/*
 * nothing.c: why a selection is empty: the contents of the database instead, and the conditions in
 * the way. A sentence without a full stop, to be shown after "nothing matches: ". Returns text.
 */
typedef const char *nothing_fn(char *text, size_t text_size, struct pathprof_store *store,
			       const struct pathprof_filter *filter);
nothing_fn nothing_text;
/*
 * The reason for which more samples were left out than bursts came, and which lies in the threads;
 * "" if there is none. A sentence without a full stop.
 */
nothing_fn left_out_text;
/* As nothing_text() if branches were asked for: windows of exact counts have only paths. */
nothing_fn nothing_branches_text;

/*
 * report.c: the report of `record` when its program has ended: the hottest functions and paths of
 * the windows since since_ns. Errors are printed.
 */
void report_print(FILE *out, const char *db, int64_t since_ns, bool json);

/*
 * baseline_names.c: names of a baseline's paths that outlive their builds (match.h), for those that
 * the service did not name: read from the binaries' files while these are at hand. A
 * pathprof_store_fill_fn; context: const struct ctl_options. Paths of unreadable files stay
 * unnamed.
 */
int baseline_names_fill(void *context, struct pathprof_store *copy, struct pathprof_error *error);

/*
 * graphs.c: the control-flow graph of a binary's code, from the cache of the user. A large binary
 * takes seconds the first time, and says on standard error how far it is. name is the binary's, for
 * that. -errno, error filled. The caller's to free with pathprof_graph_free.
 */
struct pathprof_graph;
struct pathprof_code;
int graphs_open(struct pathprof_graph **ret_graph, const struct ctl_options *options,
		struct pathprof_code *code, const char *name, struct pathprof_error *error);

/* graphviz.c: draws dot_text as SVG by a process of graphviz's dot, and writes the picture to out
 * once it is whole. Returns CTL_OK, or CTL_FAILURE after a message. */
int graphviz_svg(FILE *out, const char *dot_text, size_t len_bytes);

/*
 * import_counts.c: pathprofctl import -F counts: the counts of programs built with pathprof-cc, one
 * window for each run, in a database of its own: exact counts and samples do not add up. Reads all
 * files of options into db. Returns an exit status, after messages about errors.
 */
#define IMPORT_COUNTS "counts" /* the word for -F */
int import_counts(const struct ctl_options *options, const char *db);

/* import_recording.c: a recording of another tool into the database db. */
int import_recording(const struct ctl_options *options, const char *db);

/*
 * export_counters.c: pathprofctl export -F llvm-profile-text: the counts that programs kept
 * themselves, as the counters that clang's own instrumentation would have.
 */
#define EXPORT_COUNTERS "llvm-profile-text"
int export_counters(const struct ctl_options *options);

/*
 * export_recording.c: a recording of another tool, read whole into the branch profile of one
 * binary. Progress of long work goes to standard error, and so does a list of what was left out at
 * the end.
 */
/* Returns CTL_USAGE, after a message, if options do not go with --recording; else CTL_OK. */
int export_recording_check(const struct ctl_options *options);
/* Returns CTL_OK, or CTL_FAILURE after a message. The profile is initialised, and not settled
 * yet. */
struct pathprof_branch_profile;
int export_recording(const struct ctl_options *options, struct pathprof_code *code,
		     const struct pathprof_graph *graph, struct pathprof_branch_profile *profile);

#endif
