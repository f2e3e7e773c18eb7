// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line: see options.h. */
#include "options.h"

#include <errno.h>
#include <stddef.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/units.h"
#include "code/names.h"
#include "compare/side.h"
#include "ctl.h"
#include "pathprof/combine.h"
#include "pathprof/format.h"
#include "pathprof/labels.h"
#include "pathprof/parcel.h"
#include "pathprof/sources.h"
#include "text/kinds.h"
#include "text/when.h"
#include "untested/untested.h"

static int set_number(const char *value, uint64_t most, uint64_t *ret_number)
{
	int r = pp_count_parse(value, ret_number);

	return r == 0 && *ret_number > most ? -ERANGE : r;
}

static int set_color(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	static const char *const names[] = {"auto", "always", "never"};

	for (unsigned int i = 0; i < 3; i++) {
		if (!strcmp(value, names[i])) {
			options->color = (enum ctl_color)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int set_full_names(void *context, const struct pp_option *option, const char *value)
{
	names_use_full();
	return 0;
}

/* The filter takes 0 for no restriction; one nanosecond later selects the same. */
static int set_time(const char *value, int64_t *ret_ns)
{
	int64_t ns = 0;
	int r = when_parse(value, pp_realtime_ns(), &ns);

	if (r == 0)
		*ret_ns = ns ? ns : 1;
	return r;
}

static int set_since(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	return set_time(value, &options->filter.since_ns);
}

static int set_until(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	return set_time(value, &options->filter.until_ns);
}

static int set_pid(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	uint64_t pid;
	int r = set_number(value, INT32_MAX, &pid);

	if (r < 0 || pid == 0)
		return r < 0 ? r : -ERANGE;
	if (options->filter.pid && options->filter.pid != pid)
		return -EEXIST;
	options->filter.pid = (uint32_t)pid;
	return 0;
}

static int set_window(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	uint64_t id;
	int r = set_number(value, INT64_MAX, &id);

	if (r < 0 || id == 0)
		return r < 0 ? r : -ERANGE;
	options->filter.window = (int64_t)id;
	return 0;
}

static int set_limit(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	uint64_t limit;
	int r = set_number(value, UINT32_MAX, &limit);

	if (r < 0)
		return r;
	options->filter.limit = (uint32_t)limit;
	options->limit_given = true;
	return 0;
}

static int set_sort(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	if (!strcmp(value, "time"))
		options->sort = CTL_SORT_TIME;
	else if (!strcmp(value, "runs"))
		options->sort = CTL_SORT_RUNS;
	else
		return -EINVAL;
	return 0;
}

const char *ctl_binary_given(const char *which, char path[static PATH_MAX])
{
	bool is_relative = which[0] != '/' && strchr(which, '/');

	return is_relative && realpath(which, path) ? path : which;
}

static int set_binary(void *context, const struct pp_option *option, const char *value)
{
	static char path[PATH_MAX]; /* as long as the program, like argv */
	struct ctl_options *options = context;

	options->filter.binary = ctl_binary_given(value, path);
	return 0;
}

static int set_kind(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	options->filter.kind = kinds_named(value);
	return options->filter.kind == PATHPROF_KIND_ANY ? -EINVAL : 0;
}

static int set_overhead(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	uint64_t ppm = 0;
	int r = pp_percent_parse(value, &ppm);

	options->overhead = value;
	return r == 0 && (ppm == 0 || ppm > 1000000) ? -ERANGE : r;
}

/* The daemon knows the range. */
static int set_instructions(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	options->instructions = value;
	return *value && !value[strspn(value, "0123456789")] ? 0 : -EINVAL;
}

/* A length of time, in the form of --max-age. */
static int set_duration(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	int64_t ns;
	int r = when_parse_span(value, &ns);

	if (r < 0 || ns == 0)
		return r < 0 ? r : -ERANGE;
	options->duration_ns = ns;
	return 0;
}

static int set_max_size(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	int r = pp_size_parse(value, &options->max_bytes);

	return r == 0 && options->max_bytes == 0 ? -ERANGE : r;
}

static int set_max_age(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	int r = when_parse_span(value, &options->max_age_ns);

	return r == 0 && options->max_age_ns == 0 ? -ERANGE : r;
}

static int set_format(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	options->format = value;
	return strcmp(value, "text") != 0 && strcmp(value, "dot") != 0 && strcmp(value, "svg") != 0
		       ? -EINVAL
		       : 0;
}

static int set_edges(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	options->events = SIDE_EDGES;
	return 0;
}

static int set_calls(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	options->events = SIDE_CALLS;
	return 0;
}

static int set_branches(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	options->events = SIDE_BRANCHES;
	return 0;
}

static int set_method(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	enum pathprof_combine_method method;

	options->method = value;
	return pathprof_combine_method(value, &method);
}

static int set_unit(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	for (unsigned int i = 0; untested_unit_name(i); i++) {
		if (!strcmp(value, untested_unit_name(i))) {
			options->unit = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int set_check(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	uint64_t ppm = 0;
	int r = pp_percent_parse(value, &ppm);

	options->check = true;
	options->threshold = (double)ppm / 1e6;
	return r == 0 && ppm > 1000000 ? -ERANGE : r;
}

static int set_max_loss(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	int r = pp_percent_parse(value, &options->max_loss_ppm);

	options->max_loss = value;
	return r == 0 && options->max_loss_ppm > 1000000 ? -ERANGE : r;
}

static int set_min_bursts(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	uint64_t cnt = 0;
	int r = set_number(value, UINT32_MAX, &cnt);

	options->min_bursts = (uint32_t)cnt;
	return r == 0 && !cnt ? -ERANGE : r;
}

static int set_threshold(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	char *end;

	options->threshold = strtod(value, &end);
	if (end == value || *end)
		return -EINVAL;
	return options->threshold > 0 && options->threshold <= 64 ? 0 : -ERANGE;
}

static int set_recording(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	enum pathprof_format format = pathprof_format_named(value);

	options->format = value;
	if (strcmp(value, IMPORT_COUNTS) == 0)
		return 0;
	return format && pathprof_format_reads(format) ? 0 : -EINVAL;
}

static int set_written(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	enum pathprof_format format = pathprof_format_named(value);

	options->format = value;
	if (strcmp(value, EXPORT_COUNTERS) == 0)
		return 0;
	return format && pathprof_format_writes(format) ? 0 : -EINVAL;
}

static int set_recording_format(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	enum pathprof_format format = pathprof_format_named(value);

	options->recording_format = value;
	return format && pathprof_format_reads(format) ? 0 : -EINVAL;
}

/* A user's name, or a number. */
static int set_owner(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	const struct passwd *user = getpwnam(value);
	uint64_t number;

	options->has_owner = true;
	if (user) {
		options->owner = user->pw_uid;
		return 0;
	}
	if (pp_count_parse(value, &number) < 0 || number >= PATHPROF_OWNER_UNKNOWN)
		return -EINVAL;
	options->owner = (uint32_t)number;
	return 0;
}

static int add_recorded(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	if (options->recorded_cnt == CTL_RECORDED_MAX)
		return -ERANGE;
	options->recorded[options->recorded_cnt++] = value;
	return *value ? 0 : -EINVAL;
}

static int set_window_span(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	int64_t ns;
	int r = when_parse_span(value, &ns);

	options->window_span = value;
	return r < 0 || ns == 0 ? -EINVAL : 0;
}

static int add_value(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	if (options->value_cnt == CTL_VALUE_MAX)
		return -ERANGE;
	options->values[options->value_cnt++] = value;
	return *value ? 0 : -EINVAL;
}

static int set_top(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	uint64_t top;
	int r = set_number(value, 255, &top);

	if (r < 0 || top == 0)
		return r < 0 ? r : -ERANGE;
	options->top = (uint32_t)top;
	return 0;
}

static int set_hot(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;
	uint64_t hot;
	int r = set_number(value, UINT32_MAX, &hot);

	if (r < 0 || hot == 0)
		return r < 0 ? r : -ERANGE;
	options->top = (uint32_t)hot;
	return 0;
}

static int add_label(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	return *value ? pathprof_labels_add(options->labels, value) : -EINVAL;
}

static int add_group(void *context, const struct pp_option *option, const char *value)
{
	char label[PATHPROF_LABELS_BYTES];
	int len = snprintf(label, sizeof(label), PATHPROF_LABEL_GROUP "=%s", value);

	return (size_t)len < sizeof(label) ? add_label(context, option, label) : -ERANGE;
}

static int set_name(void *context, const struct pp_option *option, const char *value)
{
	struct ctl_options *options = context;

	options->name = value;
	if (!*value)
		return -EINVAL;
	return strlen(value) < PATHPROF_PARCEL_HOST_BYTES ? 0 : -ERANGE;
}

#define TEXT(field) pp_option_text, offsetof(struct ctl_options, field)
#define FLAG(field) pp_option_flag, offsetof(struct ctl_options, field)

static const struct option_row {
	unsigned int accepted; /* CTL_OPT_* of which one is enough; 0: global */
	struct pp_option option;
} rows[] = {
	{0, {"db", 0, "FILE", "the database ($PATHPROF_DB, else the daemon's)", TEXT(db)}},
	{0,
	 {"hub", 0, "URL", "ask a hub, https://HOST:PORT, instead of a database (the last hour)",
	  TEXT(hub)}},
	{0,
	 {"certificates", 0, "DIR",
	  "for --hub: where reader.pem, reader-key.pem and ca.pem are (~/.config/pathprof)",
	  TEXT(certificates)}},
	{0, {"json", 'j', NULL, "JSON instead of a table", FLAG(json)}},
	{0, {"color", 0, "WHEN", "auto, always or never", set_color}},
	{0, {"full-names", 0, NULL, "names of C++ and Rust with arguments", set_full_names}},
	{0, {"explain", 0, NULL, "say below the output what its words mean", FLAG(explain)}},
	{0, {"help", 'h', NULL, "this text", FLAG(help)}},
	{0, {"version", 'V', NULL, "the version", FLAG(version)}},
	{CTL_OPT_SELECT | CTL_OPT_NARROW | CTL_OPT_VALUES | CTL_OPT_PARCEL,
	 {"since", 0, "TIME",
	  "windows that end after it: -5min, today, \"1h ago\", \"2026-11-21 10:00\", @EPOCH",
	  set_since}},
	{CTL_OPT_SELECT | CTL_OPT_NARROW | CTL_OPT_VALUES | CTL_OPT_PARCEL,
	 {"until", 0, "TIME", "windows that begin before it", set_until}},
	{CTL_OPT_SELECT | CTL_OPT_VALUES, {"window", 0, "ID", "one window", set_window}},
	{CTL_OPT_SELECT | CTL_OPT_NARROW | CTL_OPT_PID,
	 {"pid", 'p', "PID", "one process", set_pid}},
	{CTL_OPT_SELECT | CTL_OPT_NARROW,
	 {"comm", 0, "NAME", "processes of this name", TEXT(filter.comm)}},
	{CTL_OPT_SELECT | CTL_OPT_NARROW | CTL_OPT_VALUES,
	 {"binary", 0, "WHICH", "code of this path, file name or beginning of a build-id",
	  set_binary}},
	{CTL_OPT_SELECT | CTL_OPT_NARROW,
	 {"container", 0, "NAME", "a container by its name, or how that begins",
	  TEXT(filter.container)}},
	{CTL_OPT_SELECT | CTL_OPT_NARROW,
	 {"kind", 0, "KIND", "windows of one kind: weighed, horizon, taken or branches", set_kind}},
	{CTL_OPT_SELECT | CTL_OPT_NARROW,
	 {"host", 0, "NAME", "one of the hosts that `pathprofctl hosts` lists", TEXT(host)}},
	{CTL_OPT_SELECT | CTL_OPT_NARROW,
	 {"workload", 0, "NAME",
	  "processes of this container or service, or of this name outside of any",
	  TEXT(filter.workload)}},
	{CTL_OPT_SELECT | CTL_OPT_NARROW | CTL_OPT_LABEL,
	 {"label", 0, "KEY=VALUE", "hosts that have this label; may be given again", add_label}},
	{CTL_OPT_SELECT | CTL_OPT_NARROW | CTL_OPT_LABEL,
	 {"group", 0, "NAME", "hosts with the label group=NAME", add_group}},
	{CTL_OPT_PARCEL,
	 {"label", 0, "KEY=VALUE", "a label of the host, in the parcel; may be given again",
	  add_label}},
	{CTL_OPT_LIMIT, {"limit", 'n', "ROWS", "at most so many rows; 0: all", set_limit}},
	{CTL_OPT_SORT,
	 {"sort", 0, "FIGURE", "the figure that stands first, or is written: time or runs",
	  set_sort}},
	{CTL_OPT_BY,
	 {"by", 0, "VIEW",
	  "what a row is: paths, functions, callers, edges, binaries, processes, containers, units "
	  "or comms",
	  TEXT(by)}},
	{CTL_OPT_RECORD,
	 {"source", 0, "NAME", "where branches come from, one of auto" PATHPROF_SOURCE_NAMES,
	  TEXT(source)}},
	{CTL_OPT_RECORD,
	 {"overhead", 0, "PERCENT", "at most so much of the CPU time, as 0.5% or 20%",
	  set_overhead}},
	{CTL_OPT_RECORD,
	 {"instructions", 0, "N",
	  "instructions in a burst where a clock begins it, 64 to 8192 (1024)", set_instructions}},
	{CTL_OPT_RECORD,
	 {"hold", 0, "SPAN", "how long a burst of step may hold its thread, 100us to 100ms (2ms)",
	  TEXT(hold)}},
	{CTL_OPT_RECORD,
	 {"cgroup", 0, "NAME", "only what runs in this unit or control group (not with step)",
	  TEXT(cgroup)}},
	{CTL_OPT_RECORD,
	 {"addresses", 0, "RANGE", "only samples at FIRST-LAST, in hex (not with step)",
	  TEXT(addresses)}},
	{CTL_OPT_FUNCTION,
	 {"function", 0, "FUNCTION", "paths that begin in it: NAME[@BINARY], OFFSET[@BINARY]",
	  TEXT(function)}},
	{CTL_OPT_RECORD,
	 {"value", 0, "WHAT",
	  "also the values of a parameter, [FILE:]FUNCTION:ARG with ARG 1 to 6; may be given again",
	  add_value}},
	{CTL_OPT_RECORD,
	 {"value-sampler", 0, "SPEC", "how values are sampled (H[PR16]1024; P1: all of them)",
	  TEXT(value_sampler)}},
	{CTL_OPT_VALUES, {"function", 0, "NAME", "parameters of this function", TEXT(function)}},
	{CTL_OPT_VALUES, {"top", 0, "N", "at most so many values a line (3)", set_top}},
	{CTL_OPT_VALUES,
	 {"forget", 0, NULL, "delete all values from the database and overwrite their place",
	  FLAG(forget)}},
	{CTL_OPT_CFG, {"format", 0, "FORMAT", "text, dot or svg", set_format}},
	{CTL_OPT_RECORD | CTL_OPT_IMPORT,
	 {"output", 'o', "FILE", "the database to write (pathprof.db)", TEXT(output)}},
	{CTL_OPT_CFG | CTL_OPT_COMBINE | CTL_OPT_EXPORT | CTL_OPT_INTERESTING,
	 {"output", 'o', "FILE", "the file to write (-: standard output)", TEXT(output)}},
	{CTL_OPT_PARCEL,
	 {"output", 'o', "PATH", "the directory that `write` fills, the database that `add` fills",
	  TEXT(output)}},
	{CTL_OPT_INTERESTING,
	 {"hot", 0, "N", "at most so many paths of each function (256)", set_hot}},
	{CTL_OPT_TESTED, {"output", 'o', "FILE", "the file that `merge` writes", TEXT(output)}},
	{CTL_OPT_PARCEL,
	 {"name", 0, "HOST", "the host's name in the parcel (what this host is called)", set_name}},
	{CTL_OPT_EXPORT,
	 {"format", 'F', "FORMAT",
	  "what to write, one of" PATHPROF_FORMATS_WRITTEN " " EXPORT_COUNTERS, set_written}},
	{CTL_OPT_CODE,
	 {"file", 0, "FILE", "the binary, if it is not where it ran; must be the same build",
	  TEXT(file)}},
	{CTL_OPT_EXPORT,
	 {"recording", 0, "FILE",
	  "what another tool recorded, instead of the database (-: standard input); --file names "
	  "the "
	  "binary",
	  TEXT(recording)}},
	{CTL_OPT_EXPORT,
	 {"recording-format", 0, "FORMAT",
	  "what it is, one of" PATHPROF_FORMATS_READ " (the first)", set_recording_format}},
	{CTL_OPT_EXPORT | CTL_OPT_IMPORT,
	 {"max-loss", 0, "PCT",
	  "exit status 3 when more of a recording's branches was left out (5%)", set_max_loss}},
	{CTL_OPT_EXPORT,
	 {"old-readers", 0, NULL,
	  "bolt-preagg for LLVM up to 19, autofdo-text for AutoFDO before 0.20",
	  FLAG(old_readers)}},
	{CTL_OPT_PARCEL,
	 {"old-readers", 0, NULL,
	  "larger files, for programs that read parcels of version 1 alone, and for protoc",
	  FLAG(old_readers)}},
	{CTL_OPT_EXPORT,
	 {"owner", 0, "USER",
	  "count this user's copies of the binary, too, not only root's and one's own", set_owner}},
	{CTL_OPT_EXPORT,
	 {"any-owner", 0, NULL,
	  "count everybody's copies: anybody can write another binary's build-id into a file",
	  FLAG(any_owner)}},
	{CTL_OPT_IMPORT,
	 {"format", 'F', "FORMAT",
	  "what it is, one of" PATHPROF_FORMATS_READ " " IMPORT_COUNTS
	  " (the first; counts come from programs that pathprof-cc built)",
	  set_recording}},
	{CTL_OPT_IMPORT,
	 {"binary", 0, "FILE", "a program or library that was recorded; may be given again",
	  add_recorded}},
	{CTL_OPT_IMPORT,
	 {"sysroot", 0, "DIR", "where the files lie that were recorded", TEXT(sysroot)}},
	{CTL_OPT_IMPORT, {"window", 0, "SPAN", "the length of a window (1min)", set_window_span}},
	{CTL_OPT_CFG,
	 {"tested", 0, "FILE", "mark what no run of this tested set ran (tested merge)",
	  TEXT(tested)}},
	{CTL_OPT_CFG, {"all", 0, NULL, "every block, even of large functions", FLAG(all)}},
	{CTL_OPT_CFG,
	 {"all-blocks", 0, NULL, "end a block at each call; blocks are joined there otherwise",
	  FLAG(all_blocks)}},
	{CTL_OPT_GRAPH,
	 {"graph-cache", 0, "DIR", "where the graphs of binaries are kept", TEXT(graph_cache)}},
	{CTL_OPT_EVENTS, {"edges", 0, NULL, "taken branches instead of paths", set_edges}},
	{CTL_OPT_EVENTS, {"calls", 0, NULL, "calls and their targets instead of paths", set_calls}},
	{CTL_OPT_EVENTS,
	 {"branches", 0, NULL, "conditional branches and their directions instead of paths",
	  set_branches}},
	{CTL_OPT_SVG, {"svg", 0, "FILE", "also a picture of it (-: standard output)", TEXT(svg)}},
	{CTL_OPT_COMBINE,
	 {"method", 0, "METHOD", "unscaled (counts added), scaled, polling or kl", set_method}},
	{CTL_OPT_DRIFT,
	 {"baseline", 0, "NAME", "from this baseline instead of rolling, the hour before",
	  TEXT(baseline)}},
	{CTL_OPT_DRIFT, {"check", 0, NULL, "exit status 10 when over the threshold", FLAG(check)}},
	{CTL_OPT_DRIFT,
	 {"threshold", 0, "BITS",
	  "how much is too far (0.01): the corrected figure and its interval's low end are above "
	  "it",
	  set_threshold}},
	{CTL_OPT_UNTESTED, {"unit", 0, "UNIT", "path, piece or segment (path)", set_unit}},
	{CTL_OPT_UNTESTED,
	 {"check", 0, "PERCENT",
	  "exit status 10 when more than that is untested, as 1%: the interval's low end says",
	  set_check}},
	{CTL_OPT_UNTESTED,
	 {"sarif", 0, NULL, "SARIF 2.1.0, which code hosts and editors read", FLAG(sarif)}},
	{CTL_OPT_UNTESTED,
	 {"lcov", 0, NULL, "lines and branches that ran, tested or not, for genhtml and editors",
	  FLAG(lcov)}},
	{CTL_OPT_UNTESTED,
	 {"unused", 0, NULL, "the reverse: functions with tested paths that did not run",
	  FLAG(unused)}},
	{CTL_OPT_UNTESTED,
	 {"min-bursts", 0, "N",
	  "believe an untested path that so many bursts saw (1; 2 with the source lbr)",
	  set_min_bursts}},
	{CTL_OPT_REPLACE,
	 {"replace", 0, NULL, "write over what has that name already", FLAG(replace)}},
	{CTL_OPT_RECORD, {"duration", 0, "SPAN", "stop after so long", set_duration}},
	{CTL_OPT_RECORD | CTL_OPT_IMPORT,
	 {"no-report", 0, NULL, "no summary at the end", FLAG(no_report)}},
	{CTL_OPT_SERVICE,
	 {"service", 0, NULL,
	  "say whether the service runs, why not, and what its own rights allow", FLAG(service)}},
	{CTL_OPT_VACUUM,
	 {"max-size", 0, "SIZE", "keep at most so much on disk: 512M, 2G", set_max_size}},
	{CTL_OPT_VACUUM,
	 {"max-age", 0, "AGE", "keep windows that are not older: 30d, 12h", set_max_age}},
};
#define ROW_CNT (sizeof(rows) / sizeof(rows[0]))
_Static_assert(ROW_CNT < PP_OPTIONS_MAX, "more options than a table may have");

void ctl_options_init(struct ctl_options *options)
{
	*options = (struct ctl_options){0};
}

/* Selects the rows that match `accepts`, with or without the globals. */
static void choose(unsigned int accepts, bool globals, struct pp_option ret_options[ROW_CNT + 1])
{
	size_t cnt = 0;

	for (size_t i = 0; i < ROW_CNT; i++)
		if (rows[i].accepted ? rows[i].accepted & accepts : globals)
			ret_options[cnt++] = rows[i].option;
	ret_options[cnt] = (struct pp_option){NULL};
}

int ctl_options_parse(struct ctl_options *options, int argc, char **argv, unsigned int accepts,
		      bool only_globals)
{
	struct pp_option chosen[ROW_CNT + 1];
	char why[512];
	int operands, r;

	choose(accepts, true, chosen);
	r = pp_options_parse(chosen, argc, argv, only_globals || (accepts & CTL_OPT_COMMAND),
			     options, &operands, why, sizeof(why));
	if (r < 0)
		return ctl_usage(options, "%s", why);
	options->argc = argc - operands;
	options->argv = argv + operands;
	return CTL_OK;
}

void ctl_options_help(FILE *out, unsigned int accepts)
{
	struct pp_option chosen[ROW_CNT + 1];

	choose(accepts, !accepts, chosen);
	pp_options_help(chosen, out);
}
