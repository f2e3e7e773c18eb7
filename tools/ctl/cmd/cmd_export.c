// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl export: the branches of one binary in the format that a compiler, a layout tool or
 * somebody else's viewer reads; from the database, or straight from a recording of another tool.
 * Stacks are of all binaries unless one is named. A note on standard error says whether there are
 * enough samples.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../code/apart.h"
#include "../code/symbols.h"
#include "../ctl.h"
#include "../exchange/export_callers.h"
#include "../exchange/export_enough.h"
#include "../exchange/export_stacks.h"
#include "../exchange/recording.h"
#include "../hub.h"
#include "../text/cleanup.h"
#include "../text/kinds.h"
#include "../text/output.h"
#include "../text/text.h"
#include "../view/measure.h"
#include "pathprof/export.h"
#include "pathprof/ledger.h"
#include "pathprof/path_counts.h"

/* The exported binary, and facts about it. */
struct exported {
	const struct ctl_options *options;
	enum pathprof_format format;
	struct pathprof_store *store;
	struct pathprof_filter filter; /* for one kind of windows */
	struct measure measure;        /* the figures of these windows */
	struct pathprof_build_id id;
	char *name;
	uint64_t samples;
	unsigned int cnt;           /* number of binaries in the selection */
	unsigned int placeless_cnt; /* number of those whose paths have no places in a file */
	struct pathprof_file other; /* a file of it that is left out, and in how many windows */
	uint64_t other_windows;
	struct pathprof_code *code;
	struct pathprof_graph *graph;
	struct pathprof_branch_profile profile;
	struct export_callers *callers;     /* NULL: the format has no stacks, or a recording */
	struct pathprof_export_names names; /* of the branches written */
};

static bool has_stacks(enum pathprof_format format)
{
	return format == PATHPROF_FORMAT_FOLDED || format == PATHPROF_FORMAT_PPROF;
}

static void release(struct exported *e)
{
	pathprof_branch_profile_release(&e->profile);
	export_callers_free(e->callers);
	pathprof_graph_free(e->graph);
	pathprof_code_free(e->code);
	pathprof_store_free(e->store);
	free(e->name);
}

/* ---------------------------------------------------------------- which binary */

/* Chooses the binary with the most samples, and counts the binaries: without --binary a note says
 * if there are others. */
static int take_binary(void *context, const struct pathprof_binary_row *row)
{
	struct exported *e = context;

	if (row->binary_id.kind == PATHPROF_ID_JIT) {
		e->placeless_cnt++;
		return 0;
	}
	e->cnt++;
	if (e->name && row->samples <= e->samples)
		return 0;
	free(e->name);
	e->name = ctl_strdup(row->name);
	e->id = row->binary_id;
	e->samples = row->samples;
	return 0;
}

/* Anybody can give a file the build-id of this binary, so without --any-owner only the files of
 * root, the caller and the user of --owner count. */
static void choose_owners(struct exported *e)
{
	struct pathprof_filter *filter = &e->filter;

	if (e->options->any_owner)
		return;
	filter->owners[filter->owner_cnt++] = 0;
	filter->owners[filter->owner_cnt++] = geteuid();
	if (e->options->has_owner)
		filter->owners[filter->owner_cnt++] = e->options->owner;
}

static bool is_chosen(const struct pathprof_filter *filter, uint32_t owner)
{
	for (uint32_t i = 0; i < filter->owner_cnt; i++)
		if (filter->owners[i] == owner)
			return true;
	return !filter->owner_cnt;
}

static int take_file(void *context, const struct pathprof_file_row *row)
{
	struct exported *e = context;

	if (e->name && !pathprof_build_id_equal(&row->binary_id, &e->id))
		return 0;
	if (is_chosen(&e->filter, row->file.owner))
		return 0;
	e->other_windows += row->windows;
	e->other = row->file;
	return 0;
}

/* Names the owners of files left out: those of the binary or, without one, of all that is
 * selected. */
static int tell_others(struct exported *e)
{
	struct pathprof_error error = {""};
	char whose[40] = "of which nobody knows whose it is";
	int r = pathprof_store_files(e->store, &e->filter, take_file, e, &error);

	if (r < 0)
		return ctl_fail_error("export", r, &error);
	if (e->other.owner != PATHPROF_OWNER_UNKNOWN)
		snprintf(whose, sizeof(whose), "of user %" PRIu32, e->other.owner);
	if (e->other_windows)
		ctl_note("left out: %" PRIu64 " windows with a file %s: --owner takes one user's, "
			 "--any-owner everybody's",
			 e->other_windows, whose);
	return CTL_OK;
}

struct generated {
	uint64_t samples, all_samples;
};

static int add_generated(void *context, const struct pathprof_binary_row *row)
{
	struct generated *generated = context;
	bool counted = row->name && pathprof_is_counted(&row->binary_id, row->name);

	generated->all_samples += row->samples;
	if (row->binary_id.kind == PATHPROF_ID_JIT && !counted)
		generated->samples += row->samples;
	return 0;
}

/* Reports the share of samples that no export can hold, whichever binary is chosen. */
static int tell_generated(struct exported *e)
{
	struct pathprof_filter every = e->filter;
	struct generated generated = {0};
	struct pathprof_error error = {""};
	int r;

	every.binary = NULL;
	r = pathprof_store_binaries(e->store, &every, add_generated, &generated, &error);
	if (r < 0)
		return ctl_fail_error("export", r, &error);
	if (generated.samples)
		ctl_note("%.1f %% of all samples are of generated code, which is in no file and "
			 "so in no export",
			 100 * (double)generated.samples / (double)generated.all_samples);
	return CTL_OK;
}

/* The file that --file names is taken for the binary, whatever its name. */
static int name_file(struct exported *e)
{
	struct pathprof_error error = {""};
	int r = apart_read_build_id(&e->id, e->options->file, &error);

	e->name = ctl_strdup(e->options->file);
	return r < 0 ? ctl_fail_error("export", r, &error) : CTL_OK;
}

/* An import of branches alone has no binary with paths: then --file names the binary. */
static bool names_file(const struct exported *e)
{
	const char *file = e->options->file, *binary = e->filter.binary;

	return file && (!binary || !strcmp(text_base_name(binary), text_base_name(file)));
}

static int find_binary(struct exported *e)
{
	const struct pathprof_filter *filter = &e->filter;
	struct pathprof_error error = {""};
	char why[256];
	int r = pathprof_store_binaries(e->store, filter, take_binary, e, &error);

	if (r < 0)
		return ctl_fail_error("export", r, &error);
	r = tell_others(e);
	if (r)
		return r;
	if (!e->name && e->placeless_cnt)
		return ctl_fail("export: only generated code and paths that programs counted "
				"themselves were seen: neither has places in a file, which the "
				"formats need");
	if (!e->name && names_file(e))
		return name_file(e);
	if (!e->name)
		return ctl_fail("export: nothing of the selected binary was seen: %s",
				nothing_text(why, sizeof(why), e->store, filter));
	if (e->cnt > 1 && !filter->binary)
		ctl_note("exporting %s, which has the most samples of %u binaries: --binary "
			 "chooses another",
			 e->name, e->cnt);
	return tell_generated(e);
}

static int open_code(struct exported *e)
{
	const char *path = e->options->file ? e->options->file : e->name;
	struct pathprof_error error = {""};
	int r = apart_open_code(&e->code, path, &e->id, &error);
	_cleanup_free_ char *uploaded = r < 0 && !e->options->file ? hub_file(&e->id) : NULL;

	if (uploaded)
		r = apart_open_code(&e->code, uploaded, &e->id, &error);
	if (r == 0)
		r = graphs_open(&e->graph, e->options, e->code, e->name, &error);
	if (r < 0)
		return ctl_fail("export: %s%s", error.text,
				e->options->file ? "" : ": --file says where this build lies");
	return CTL_OK;
}

/* ---------------------------------------------------------------- what is known of it */

static bool is_of(const struct exported *e, const char *source)
{
	return e->profile.origin.sources && strstr(e->profile.origin.sources, source);
}

/* The store does not know which host an import ran on. */
static int name_host(struct exported *e)
{
	char host[256] = "";

	if (is_of(e, "import"))
		return 0;
	gethostname(host, sizeof(host) - 1);
	return pathprof_branch_profile_name(&e->profile, NULL, host, NULL);
}

static int fill_from_store(struct exported *e, struct pathprof_error *error)
{
	int r = pathprof_branch_profile_name(&e->profile, e->name, NULL, NULL);

	if (r == 0)
		r = pathprof_branch_profile_add_store(&e->profile, e->store, &e->filter, e->code,
						      e->graph, error);
	if (r == 0 && has_stacks(e->format))
		r = export_callers_load(&e->callers, e->store, &e->filter, &e->id, error);
	return r ? r : name_host(e);
}

static int fill(struct exported *e)
{
	struct pathprof_error error = {""};
	int r = pathprof_branch_profile_init(&e->profile, &e->id);

	if (r == 0 && e->options->recording) {
		r = export_recording(e->options, e->code, e->graph, &e->profile);
		if (r)
			return r;
	} else if (r == 0) {
		r = fill_from_store(e, &error);
	}
	if (r == 0)
		r = pathprof_branch_profile_settle(&e->profile);
	if (r < 0)
		return ctl_fail_error("export", r, &error);
	if (e->profile.origin.refused && !e->options->recording)
		ctl_note("%" PRIu64 " paths or branches do not fit the code and are left out; if "
			 "they are many, --file may have the build-id of the one that ran, and "
			 "code elsewhere, as patchelf leaves it",
			 e->profile.origin.refused);
	return CTL_OK;
}

/* Reports the branches that the format cannot name, for instance where a library has only dynamic
 * symbols. */
static void tell_names(const struct exported *e)
{
	const struct pathprof_export_names *names = &e->names;

	if (names->stripped)
		ctl_note("%s has no symbol table, and llvm-bolt does not read dynamic symbols: "
			 "this fdata is for the build before it was stripped; for the stripped one "
			 "take bolt-preagg and perf2bolt --allow-stripped",
			 e->name);
	if (!names->nameless && !names->half)
		return;
	ctl_note("%s: of %" PRIu64 " branches %" PRIu64 " %s (%.1f %%) are left out, and %" PRIu64
		 " (%.1f %%) have one end [unknown]: bolt-fdata names places by symbols; take the "
		 "build before it was stripped, or bolt-preagg and perf2bolt --allow-stripped",
		 e->name, names->branches, names->nameless,
		 pathprof_ledger_name(PATHPROF_LEDGER_NAMELESS),
		 100 * (double)names->nameless / (double)names->branches, names->half,
		 100 * (double)names->half / (double)names->branches);
}

/* Reports the losses of a recording. Returns CTL_LOSS if they are too large. */
static int tell_ledger(const struct exported *e)
{
	struct pathprof_ledger ledger = e->profile.origin.ledger;
	char text[PATHPROF_LEDGER_TEXT_LEN];

	if (!ledger.branches)
		return CTL_OK;
	ledger.used -= e->names.nameless;
	ledger.left[PATHPROF_LEDGER_NAMELESS] = e->names.nameless;
	ctl_note("%s", pathprof_ledger_text(&ledger, text));
	return recording_tell_loss(e->options, &ledger, "the profile is written");
}

/* ---------------------------------------------------------------- writing */

static struct pathprof_export_options options_of(const struct exported *e)
{
	return (struct pathprof_export_options){
		.old_autofdo = e->options->old_readers,
		.bolt_branches = e->options->old_readers,
		.json = e->options->json,
		.runs = e->options->sort == CTL_SORT_RUNS,
		.callers = export_callers_of(e->callers),
	};
}

/* The unit written, and the windows behind it. */
static void tell_unit(const struct exported *e, const char *figure)
{
	_cleanup_free_ char *bursts = measure_bursts(&e->measure);

	if (!strcmp(figure, "time"))
		ctl_note("counts are TIME, from a clock set to %s%" PRIu32
			 " samples a second of each CPU",
			 e->measure.mixed ? "up to " : "", e->measure.clock_hz);
	else if (!measure_figure(&e->measure))
		ctl_note("counts are of branches alone: no path was seen whole");
	else
		ctl_note("counts are %s%s: %s%s", measure_figure(&e->measure),
			 strcmp(figure, "runs") != 0 ? " times instructions" : "", bursts,
			 *measure_caution(&e->measure)
				 ? ", all code taken to run at one rate of instructions"
				 : "");
	if (e->options->sort == CTL_SORT_TIME && strcmp(figure, "time") != 0)
		ctl_note("--sort time: TIME is not known of what is selected");
}

/* A recording is passed on unchanged, so there is nothing to report. */
static void tell_figure(const struct exported *e)
{
	const struct pathprof_export_options options = options_of(e);

	if (e->store)
		tell_unit(e, pathprof_export_figure(e->format, &e->profile, &options));
}

static int write_out(struct exported *e)
{
	struct pathprof_export_options options = options_of(e);
	struct pathprof_error error = {""};
	struct output output;
	int r = output_begin(&output, e->options->output, &error);

	options.names = &e->names;
	if (r == 0) {
		r = pathprof_export(e->format, &e->profile, e->code, e->graph, &options,
				    output.file, &error);
		r = output_end(&output, r, &error);
	}
	return r < 0 ? ctl_fail_error("export", r, &error) : CTL_OK;
}

static int settle_kind(struct exported *e)
{
	struct pathprof_error error = {""};
	struct kinds kinds;
	int r = kinds_settle(e->store, &e->filter, &kinds);

	if (r)
		return r;
	r = measure_load(&e->measure, e->store, &e->filter, kinds.used, &error);
	return r < 0 ? ctl_fail_error("export", r, &error) : CTL_OK;
}

/* ---------------------------------------------------------------- all binaries */

/* Stacks name what ran and need no place in a file, so one profile may hold all that is selected.
 */
static bool takes_all(const struct exported *e)
{
	return has_stacks(e->format) && !e->options->recording && !e->options->file &&
	       !e->filter.binary;
}

static int write_stacks(struct exported *e, struct view_query *query, const char **ret_figure)
{
	struct pathprof_error error = {""};
	struct output output;
	char why[256];
	int r = output_begin(&output, e->options->output, &error);

	if (r == 0) {
		r = export_stacks(query, e->format, e->options->sort == CTL_SORT_RUNS, output.file,
				  ret_figure, &error);
		if (r == -ENODATA)
			pathprof_fail(&error, r, "nothing was seen: %s",
				      nothing_text(why, sizeof(why), e->store, &e->filter));
		r = output_end(&output, r, &error);
	}
	return r < 0 ? ctl_fail_error("export", r, &error) : CTL_OK;
}

static int export_all(struct exported *e)
{
	struct view_query query = {.filter = e->filter};
	const char *figure = "";
	int r = ctl_db_open(&e->store, e->options, PATHPROF_STORE_READ);

	if (r)
		return r;
	query.store = e->store;
	query.symbols = symbols_new(e->store);
	r = write_stacks(e, &query, &figure);
	e->measure = query.measure;
	if (r == CTL_OK) {
		kinds_tell(&query.kinds);
		tell_unit(e, figure);
	}
	view_query_unload(&query);
	symbols_free(query.symbols);
	return r;
}

/* ---------------------------------------------------------------- one binary */

static int choose(struct exported *e)
{
	int r;

	if (e->options->recording)
		return name_file(e);
	r = ctl_db_open(&e->store, e->options, PATHPROF_STORE_READ);
	if (r == CTL_OK)
		r = settle_kind(e);
	choose_owners(e);
	return r ? r : find_binary(e);
}

static int run(struct exported *e)
{
	int r;

	if (takes_all(e))
		return export_all(e);
	r = choose(e);

	if (r == CTL_OK)
		r = open_code(e);
	if (r == CTL_OK)
		r = fill(e);
	if (r == CTL_OK)
		r = write_out(e);
	if (r == CTL_OK)
		tell_names(e);
	if (r == CTL_OK)
		r = tell_ledger(e);
	if (r == CTL_OK)
		tell_enough(e->format, &e->profile, e->graph);
	if (r == CTL_OK)
		tell_figure(e);
	return r;
}

int cmd_export(const struct ctl_options *options)
{
	struct exported e = {.options = options, .filter = options->filter};
	int r;

	if (options->argc)
		return ctl_usage(options, "export takes no operand: -o names the output");
	if (!options->format)
		return ctl_usage(options, "--format is needed");
	e.format = pathprof_format_named(options->format);
	if (options->has_owner && options->any_owner)
		return ctl_usage(options, "--owner and --any-owner exclude each other");
	if (options->sort && !has_stacks(e.format))
		return ctl_usage(
			options,
			"--sort goes with --format folded and pprof: the other formats hold runs");
	if (options->json && e.format != PATHPROF_FORMAT_CSV)
		return ctl_usage(options, "--json goes with --format csv");
	if (options->has_owner && takes_all(&e))
		return ctl_usage(options,
				 "--owner goes with --binary: stacks of all binaries hold what ran "
				 "of everybody's files");
	r = export_recording_check(options);
	if (r == CTL_OK && strcmp(options->format, EXPORT_COUNTERS) == 0)
		return options->recording
			       ? ctl_usage(options,
					   "--format " EXPORT_COUNTERS
					   " is of what programs counted themselves: leave "
					   "out --recording")
			       : export_counters(options);
	if (r == CTL_OK)
		r = run(&e);
	release(&e);
	return r;
}
