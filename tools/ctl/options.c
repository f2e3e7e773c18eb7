// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line: see options.h. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "kinds.h"
#include "pathprof/combine.h"
#include "import_counts.h"
#include "pathprof/format.h"
#include "pathprof/parcel.h"
#include "pathprof/sources.h"
#include "side.h"
#include "when.h"

typedef int set_fn(struct ctl_options *options, const char *value);

static int set_number(const char *value, uint64_t most, uint64_t *ret_number)
{
	char *end;

	if (value[strspn(value, "0123456789")] || !*value)
		return -EINVAL;
	errno = 0;
	*ret_number = strtoull(value, &end, 10);
	return errno || *ret_number > most ? -ERANGE : 0;
}

static int set_db(struct ctl_options *options, const char *value)
{
	options->db = value;
	return *value ? 0 : -EINVAL;
}

static int set_json(struct ctl_options *options, const char *value)
{
	options->json = true;
	return 0;
}

static int set_help(struct ctl_options *options, const char *value)
{
	options->help = true;
	return 0;
}

static int set_version(struct ctl_options *options, const char *value)
{
	options->version = true;
	return 0;
}

static int set_color(struct ctl_options *options, const char *value)
{
	static const char *const names[] = {"auto", "always", "never"};

	for (unsigned int i = 0; i < 3; i++) {
		if (!strcmp(value, names[i])) {
			options->color = (enum ctl_color)i;
			return 0;
		}
	}
	return -EINVAL;
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

static int set_since(struct ctl_options *options, const char *value)
{
	return set_time(value, &options->filter.since_ns);
}

static int set_until(struct ctl_options *options, const char *value)
{
	return set_time(value, &options->filter.until_ns);
}

static int set_pid(struct ctl_options *options, const char *value)
{
	uint64_t pid;
	int r = set_number(value, INT32_MAX, &pid);

	if (r < 0 || pid == 0)
		return r < 0 ? r : -ERANGE;
	options->filter.pid = (uint32_t)pid;
	return 0;
}

static int set_comm(struct ctl_options *options, const char *value)
{
	options->filter.comm = value;
	return *value ? 0 : -EINVAL;
}

static int set_binary(struct ctl_options *options, const char *value)
{
	options->filter.binary = value;
	return *value ? 0 : -EINVAL;
}

static int set_container(struct ctl_options *options, const char *value)
{
	options->filter.container = value;
	return *value ? 0 : -EINVAL;
}

static int set_host(struct ctl_options *options, const char *value)
{
	options->host = value;
	return *value ? 0 : -EINVAL;
}

static int set_window(struct ctl_options *options, const char *value)
{
	uint64_t id;
	int r = set_number(value, INT64_MAX, &id);

	if (r < 0 || id == 0)
		return r < 0 ? r : -ERANGE;
	options->filter.window = (int64_t)id;
	return 0;
}

static int set_limit(struct ctl_options *options, const char *value)
{
	uint64_t limit;
	int r = set_number(value, UINT32_MAX, &limit);

	if (r < 0)
		return r;
	options->filter.limit = (uint32_t)limit;
	options->limit_given = true;
	return 0;
}

static int set_by(struct ctl_options *options, const char *value)
{
	options->by = value;
	return 0;
}

static int set_sort(struct ctl_options *options, const char *value)
{
	if (!strcmp(value, "time"))
		options->sort = CTL_SORT_TIME;
	else if (!strcmp(value, "runs"))
		options->sort = CTL_SORT_RUNS;
	else
		return -EINVAL;
	return 0;
}

static int set_kind(struct ctl_options *options, const char *value)
{
	options->filter.kind = kinds_named(value);
	return options->filter.kind == PATHPROF_KIND_ANY ? -EINVAL : 0;
}

static int set_source(struct ctl_options *options, const char *value)
{
	options->source = value;
	return *value ? 0 : -EINVAL;
}

static int set_overhead(struct ctl_options *options, const char *value)
{
	uint64_t ppm = 0;
	int r = pp_percent_parse(value, &ppm);

	options->overhead = value;
	return r == 0 && (ppm == 0 || ppm > 1000000) ? -ERANGE : r;
}

/* The daemon knows the range. */
static int set_instructions(struct ctl_options *options, const char *value)
{
	options->instructions = value;
	return *value && !value[strspn(value, "0123456789")] ? 0 : -EINVAL;
}

static int set_cgroup(struct ctl_options *options, const char *value)
{
	options->cgroup = value;
	return *value ? 0 : -EINVAL;
}

/* The daemon reads it, and says what is wrong with it. */
static int set_addresses(struct ctl_options *options, const char *value)
{
	options->addresses = value;
	return *value ? 0 : -EINVAL;
}

static int set_output(struct ctl_options *options, const char *value)
{
	options->output = value;
	return *value ? 0 : -EINVAL;
}

static int set_duration(struct ctl_options *options, const char *value)
{
	int64_t ns;
	int r = when_parse_span(value, &ns);

	if (r < 0 || ns == 0)
		return r < 0 ? r : -ERANGE;
	options->duration_s = (double)ns / (double)CTL_NS_PER_S;
	return 0;
}

static int set_no_report(struct ctl_options *options, const char *value)
{
	options->no_report = true;
	return 0;
}

static int set_max_size(struct ctl_options *options, const char *value)
{
	int r = pp_size_parse(value, &options->max_bytes);

	return r == 0 && options->max_bytes == 0 ? -ERANGE : r;
}

static int set_max_age(struct ctl_options *options, const char *value)
{
	int r = when_parse_span(value, &options->max_age_ns);

	return r == 0 && options->max_age_ns == 0 ? -ERANGE : r;
}

static int set_function(struct ctl_options *options, const char *value)
{
	options->function = value;
	return *value ? 0 : -EINVAL;
}

static int set_format(struct ctl_options *options, const char *value)
{
	options->format = value;
	return strcmp(value, "text") != 0 && strcmp(value, "dot") != 0 && strcmp(value, "svg") != 0
		       ? -EINVAL
		       : 0;
}

static int set_graph_cache(struct ctl_options *options, const char *value)
{
	options->graph_cache = value;
	return *value ? 0 : -EINVAL;
}

static int set_all(struct ctl_options *options, const char *value)
{
	options->all = true;
	return 0;
}

static int set_all_blocks(struct ctl_options *options, const char *value)
{
	options->all_blocks = true;
	return 0;
}

static int set_edges(struct ctl_options *options, const char *value)
{
	options->events = SIDE_EDGES;
	return 0;
}

static int set_calls(struct ctl_options *options, const char *value)
{
	options->events = SIDE_CALLS;
	return 0;
}

static int set_branches(struct ctl_options *options, const char *value)
{
	options->events = SIDE_BRANCHES;
	return 0;
}

static int set_svg(struct ctl_options *options, const char *value)
{
	options->svg = value;
	return *value ? 0 : -EINVAL;
}

static int set_method(struct ctl_options *options, const char *value)
{
	enum pathprof_combine_method method;

	options->method = value;
	return pathprof_combine_method(value, &method);
}

static int set_baseline(struct ctl_options *options, const char *value)
{
	options->baseline = value;
	return *value ? 0 : -EINVAL;
}

static int set_threshold(struct ctl_options *options, const char *value)
{
	char *end;

	options->threshold = strtod(value, &end);
	if (end == value || *end)
		return -EINVAL;
	return options->threshold > 0 && options->threshold <= 64 ? 0 : -ERANGE;
}

static int set_check(struct ctl_options *options, const char *value)
{
	options->check = true;
	return 0;
}

static int set_replace(struct ctl_options *options, const char *value)
{
	options->replace = true;
	return 0;
}

static int set_recording(struct ctl_options *options, const char *value)
{
	enum pathprof_format format = pathprof_format_named(value);

	options->format = value;
	if (strcmp(value, IMPORT_COUNTS) == 0)
		return 0;
	return format && pathprof_format_reads(format) ? 0 : -EINVAL;
}

static int set_written(struct ctl_options *options, const char *value)
{
	enum pathprof_format format = pathprof_format_named(value);

	options->format = value;
	return format && pathprof_format_writes(format) ? 0 : -EINVAL;
}

static int set_file(struct ctl_options *options, const char *value)
{
	options->file = value;
	return *value ? 0 : -EINVAL;
}

static int set_recording_file(struct ctl_options *options, const char *value)
{
	options->recording = value;
	return *value ? 0 : -EINVAL;
}

static int set_recording_format(struct ctl_options *options, const char *value)
{
	enum pathprof_format format = pathprof_format_named(value);

	options->recording_format = value;
	return format && pathprof_format_reads(format) ? 0 : -EINVAL;
}

static int set_old_readers(struct ctl_options *options, const char *value)
{
	options->old_readers = true;
	return 0;
}

/* A user's name, or a number. */
static int set_owner(struct ctl_options *options, const char *value)
{
	const struct passwd *user = getpwnam(value);
	char *end;
	unsigned long long number;

	options->has_owner = true;
	if (user) {
		options->owner = user->pw_uid;
		return 0;
	}
	if (*value < '0' || *value > '9')
		return -EINVAL;
	errno = 0;
	number = strtoull(value, &end, 10);
	if (errno || *end || number >= PATHPROF_OWNER_UNKNOWN)
		return -EINVAL;
	options->owner = (uint32_t)number;
	return 0;
}

static int set_any_owner(struct ctl_options *options, const char *value)
{
	options->any_owner = true;
	return 0;
}

static int add_recorded(struct ctl_options *options, const char *value)
{
	if (options->recorded_cnt == CTL_RECORDED_MAX)
		return -ERANGE;
	options->recorded[options->recorded_cnt++] = value;
	return *value ? 0 : -EINVAL;
}

static int set_sysroot(struct ctl_options *options, const char *value)
{
	options->sysroot = value;
	return *value ? 0 : -EINVAL;
}

static int set_window_span(struct ctl_options *options, const char *value)
{
	int64_t ns;
	int r = when_parse_span(value, &ns);

	options->window_span = value;
	return r < 0 || ns == 0 ? -EINVAL : 0;
}

static int add_value(struct ctl_options *options, const char *value)
{
	if (options->value_cnt == CTL_VALUE_MAX)
		return -ERANGE;
	options->values[options->value_cnt++] = value;
	return *value ? 0 : -EINVAL;
}

static int set_value_sampler(struct ctl_options *options, const char *value)
{
	options->value_sampler = value;
	return *value ? 0 : -EINVAL;
}

static int set_top(struct ctl_options *options, const char *value)
{
	uint64_t top;
	int r = set_number(value, 255, &top);

	if (r < 0 || top == 0)
		return r < 0 ? r : -ERANGE;
	options->top = (uint32_t)top;
	return 0;
}

static int set_forget(struct ctl_options *options, const char *value)
{
	options->forget = true;
	return 0;
}

static int set_service(struct ctl_options *options, const char *value)
{
	options->service = true;
	return 0;
}

static int set_name(struct ctl_options *options, const char *value)
{
	options->name = value;
	if (!*value)
		return -EINVAL;
	return strlen(value) < PATHPROF_PARCEL_HOST_BYTES ? 0 : -ERANGE;
}

static const struct option_row {
	const char *name;
	char letter;           /* 0: none */
	const char *value;     /* NULL: takes none */
	unsigned int accepted; /* CTL_OPT_* of which one is enough; 0: global */
	set_fn *set;
	const char *help;
} rows[] = {
	{"db", 0, "FILE", 0, set_db, "the database ($PATHPROF_DB, else the daemon's)"},
	{"json", 'j', NULL, 0, set_json, "JSON instead of a table"},
	{"color", 0, "WHEN", 0, set_color, "auto, always or never"},
	{"help", 'h', NULL, 0, set_help, "this text"},
	{"version", 'V', NULL, 0, set_version, "the version"},
	{"since", 0, "TIME", CTL_OPT_SELECT | CTL_OPT_VALUES | CTL_OPT_PARCEL, set_since,
	 "windows that end after it: \"2026-11-21 10:00\", -5min, \"1h ago\", today, @EPOCH"},
	{"until", 0, "TIME", CTL_OPT_SELECT | CTL_OPT_VALUES | CTL_OPT_PARCEL, set_until,
	 "windows that begin before it"},
	{"window", 0, "ID", CTL_OPT_SELECT | CTL_OPT_VALUES, set_window, "one window"},
	{"pid", 'p', "PID", CTL_OPT_SELECT | CTL_OPT_NARROW | CTL_OPT_PID, set_pid, "one process"},
	{"comm", 0, "NAME", CTL_OPT_SELECT | CTL_OPT_NARROW, set_comm, "processes of this name"},
	{"binary", 0, "WHICH", CTL_OPT_SELECT | CTL_OPT_NARROW | CTL_OPT_VALUES, set_binary,
	 "code of this path, file name or build-id prefix"},
	{"container", 0, "NAME", CTL_OPT_SELECT | CTL_OPT_NARROW, set_container,
	 "a container, name or prefix"},
	{"kind", 0, "KIND", CTL_OPT_SELECT | CTL_OPT_NARROW, set_kind,
	 "windows of one kind: weighed, horizon, taken or branches"},
	{"host", 0, "NAME", CTL_OPT_SELECT | CTL_OPT_NARROW, set_host,
	 "one of the hosts whose parcels were added (`pathprofctl hosts`)"},
	{"limit", 'n', "ROWS", CTL_OPT_LIMIT, set_limit, "at most so many rows; 0: all"},
	{"sort", 0, "FIGURE", CTL_OPT_SORT, set_sort,
	 "time or runs: the figure that stands first, or is written"},
	{"by", 0, "VIEW", CTL_OPT_BY, set_by, "paths, functions, edges, binaries or processes"},
	{"source", 0, "NAME", CTL_OPT_RECORD, set_source,
	 "branch source: one of auto" PATHPROF_SOURCE_NAMES},
	{"overhead", 0, "PERCENT", CTL_OPT_RECORD, set_overhead,
	 "share of CPU time to spend on it"},
	{"instructions", 0, "N", CTL_OPT_RECORD, set_instructions,
	 "length of a burst of the sources that sample on a clock, 64 to 8192 (1024)"},
	{"cgroup", 0, "NAME", CTL_OPT_RECORD, set_cgroup,
	 "only what runs in this unit or control group (branch stacks and the module)"},
	{"addresses", 0, "RANGE", CTL_OPT_RECORD, set_addresses,
	 "only samples at these addresses, FIRST-LAST in hex (the same sources)"},
	{"function", 0, "FUNCTION", CTL_OPT_FUNCTION, set_function,
	 "paths that begin in it: NAME[@BINARY], OFFSET[@BINARY]"},
	{"value", 0, "WHAT", CTL_OPT_RECORD, add_value,
	 "also the values of a parameter: [FILE:]FUNCTION:ARG, ARG 1 to 6; may be given again"},
	{"value-sampler", 0, "SPEC", CTL_OPT_RECORD, set_value_sampler,
	 "how values are sampled (H[PR16]1024; P1: all of them)"},
	{"function", 0, "NAME", CTL_OPT_VALUES, set_function, "parameters of this function"},
	{"top", 0, "N", CTL_OPT_VALUES, set_top, "so many values a line (3)"},
	{"forget", 0, NULL, CTL_OPT_VALUES, set_forget,
	 "delete all values from the database, and overwrite them there"},
	{"format", 0, "FORMAT", CTL_OPT_CFG, set_format, "text, dot or svg"},
	{"output", 'o', "FILE",
	 CTL_OPT_RECORD | CTL_OPT_CFG | CTL_OPT_COMBINE | CTL_OPT_IMPORT | CTL_OPT_EXPORT |
		 CTL_OPT_PARCEL,
	 set_output,
	 "where to: record's and import's database (pathprof.db), cfg's picture, combine's and "
	 "export's profile (-: standard output), parcel write's "
	 "directory, parcel add's database"},
	{"name", 0, "HOST", CTL_OPT_PARCEL, set_name, "what the host is called (this host's name)"},
	{"format", 'F', "FORMAT", CTL_OPT_EXPORT, set_written, "one of" PATHPROF_FORMATS_WRITTEN},
	{"file", 0, "FILE", CTL_OPT_EXPORT, set_file,
	 "where the binary lies, when not where it ran; must be the same build"},
	{"recording", 0, "FILE", CTL_OPT_EXPORT, set_recording_file,
	 "what another tool recorded (-: standard input) instead of the database; --file says of "
	 "which binary"},
	{"recording-format", 0, "FORMAT", CTL_OPT_EXPORT, set_recording_format,
	 "one of" PATHPROF_FORMATS_READ " (the first if not said)"},
	{"old-readers", 0, NULL, CTL_OPT_EXPORT, set_old_readers,
	 "bolt-preagg for LLVM up to 19, autofdo-text for AutoFDO before 0.20"},
	{"owner", 0, "USER", CTL_OPT_EXPORT, set_owner,
	 "what this user's files did counts, too; without it that of root's and one's own does"},
	{"any-owner", 0, NULL, CTL_OPT_EXPORT, set_any_owner,
	 "what anybody's files did counts: anybody can write the build-id of another binary into "
	 "theirs"},
	{"format", 'F', "FORMAT", CTL_OPT_IMPORT, set_recording,
	 "one of" PATHPROF_FORMATS_READ " " IMPORT_COUNTS
	 " (the first if not said; counts: of programs that pathprof-cc built)"},
	{"binary", 0, "FILE", CTL_OPT_IMPORT, add_recorded,
	 "a program or library that was recorded; may be given again"},
	{"sysroot", 0, "DIR", CTL_OPT_IMPORT, set_sysroot, "files that were recorded lie below it"},
	{"window", 0, "SPAN", CTL_OPT_IMPORT, set_window_span, "how long one window lasts (1min)"},
	{"all", 0, NULL, CTL_OPT_CFG, set_all, "every block, of large functions too"},
	{"all-blocks", 0, NULL, CTL_OPT_CFG, set_all_blocks,
	 "blocks that only a call ends on their own, not joined"},
	{"graph-cache", 0, "DIR", CTL_OPT_GRAPH, set_graph_cache,
	 "where graphs of binaries are kept"},
	{"edges", 0, NULL, CTL_OPT_EVENTS, set_edges, "taken branches instead of paths"},
	{"calls", 0, NULL, CTL_OPT_EVENTS, set_calls, "calls with their targets"},
	{"branches", 0, NULL, CTL_OPT_EVENTS, set_branches,
	 "conditional branches with their directions"},
	{"svg", 0, "FILE", CTL_OPT_SVG, set_svg, "a picture of it as well (-: standard output)"},
	{"method", 0, "METHOD", CTL_OPT_COMBINE, set_method,
	 "unscaled (counts added), scaled, polling or kl"},
	{"baseline", 0, "NAME", CTL_OPT_DRIFT, set_baseline,
	 "against this baseline; else rolling, the hour before"},
	{"check", 0, NULL, CTL_OPT_DRIFT, set_check, "exit status 10 when over the threshold"},
	{"threshold", 0, "BITS", CTL_OPT_DRIFT, set_threshold,
	 "of the corrected figure and its interval's low end (0.01)"},
	{"replace", 0, NULL, CTL_OPT_REPLACE, set_replace, "a file of that name that is there"},
	{"duration", 0, "TIME", CTL_OPT_RECORD, set_duration, "stop after it"},
	{"no-report", 0, NULL, CTL_OPT_RECORD | CTL_OPT_IMPORT, set_no_report,
	 "no summary at the end"},
	{"service", 0, NULL, CTL_OPT_SERVICE, set_service,
	 "the service: whether it runs, why not, and what it may, with its own rights"},
	{"max-size", 0, "SIZE", CTL_OPT_VACUUM, set_max_size, "bytes on disk at most: 512M, 2G"},
	{"max-age", 0, "AGE", CTL_OPT_VACUUM, set_max_age, "windows not older: 30d, 12h"},
};
#define ROW_CNT (sizeof(rows) / sizeof(rows[0]))

void ctl_options_init(struct ctl_options *options)
{
	*options = (struct ctl_options){0};
}

static bool accepted(const struct option_row *row, unsigned int accepts)
{
	return row->accepted == 0 || (row->accepted & accepts);
}

/* getopt's own description of the rows accepted; val is the row's index + 256. */
static void describe(unsigned int accepts, bool stop_at_operand, struct option *ret_long,
		     char *ret_short)
{
	size_t cnt = 0, at = 0;

	if (stop_at_operand)
		ret_short[at++] = '+';
	ret_short[at++] = ':';
	for (size_t i = 0; i < ROW_CNT; i++) {
		if (!accepted(&rows[i], accepts))
			continue;
		ret_long[cnt++] = (struct option){
			.name = rows[i].name,
			.has_arg = rows[i].value ? required_argument : no_argument,
			.val = (int)i + 256,
		};
		if (!rows[i].letter)
			continue;
		ret_short[at++] = rows[i].letter;
		if (rows[i].value)
			ret_short[at++] = ':';
	}
	ret_long[cnt] = (struct option){0};
	ret_short[at] = 0;
}

/* A letter may mean something else to another verb. */
static const struct option_row *row_of(int c, unsigned int accepts)
{
	if (c >= 256)
		return &rows[c - 256];
	for (size_t i = 0; i < ROW_CNT; i++)
		if (rows[i].letter == c && accepted(&rows[i], accepts))
			return &rows[i];
	return NULL;
}

static int set(struct ctl_options *options, const struct option_row *row)
{
	int r = row->set(options, optarg);

	if (r == -ERANGE)
		return ctl_usage(options, "--%s %s: out of range", row->name, optarg);
	if (r < 0)
		return ctl_usage(options, "--%s %s: not a valid %s", row->name, optarg, row->value);
	return CTL_OK;
}

static int complain(const struct ctl_options *options, unsigned int accepts, int c,
		    const char *word)
{
	const struct option_row *row = row_of(optopt, accepts);

	if (c == ':' && row)
		return ctl_usage(options, "--%s: needs a %s", row->name, row->value);
	if (row && optopt >= 256)
		return ctl_usage(options, "--%s: takes no value", row->name);
	if (optopt > 0 && optopt < 256)
		return ctl_usage(options, "-%c: no such option here", optopt);
	return ctl_usage(options, "%s: no such option here", word);
}

int ctl_options_parse(struct ctl_options *options, int argc, char **argv, unsigned int accepts,
		      bool only_globals)
{
	struct option long_options[ROW_CNT + 1];
	char short_options[3 * ROW_CNT + 3];
	int c, r;

	describe(accepts, only_globals || (accepts & CTL_OPT_COMMAND), long_options, short_options);
	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		if (c == '?' || c == ':')
			return complain(options, accepts, c, argv[optind - 1]);
		r = set(options, row_of(c, accepts));
		if (r)
			return r;
	}
	options->argc = argc - optind;
	options->argv = argv + optind;
	return CTL_OK;
}

void ctl_options_help(FILE *out, unsigned int accepts)
{
	for (size_t i = 0; i < ROW_CNT; i++) {
		const struct option_row *row = &rows[i];
		char name[32];

		if (accepts ? !(row->accepted & accepts) : row->accepted != 0)
			continue;
		snprintf(name, sizeof(name), "--%s%s%s", row->name, row->value ? " " : "",
			 row->value ? row->value : "");
		fprintf(out, "  %c%c%c %-18s %s\n", row->letter ? '-' : ' ',
			row->letter ? row->letter : ' ', row->letter ? ',' : ' ', name, row->help);
	}
}
