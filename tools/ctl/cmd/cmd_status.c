// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl status: the daemon's activity, its cost, and the samples it drops. */
#include "../ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../doctor/relay_status.h"
#include "../doctor/status.h"
#include "../text/cleanup.h"
#include "../text/term.h"
#include "../text/text.h"
#include "../view/json.h"

static void line(const char *name, const char *text)
{
	_cleanup_free_ char *safe = text_escape(text);

	printf("  %s%-9s%s %s\n", ctl_style_on(CTL_DIM), name, ctl_style_off(CTL_DIM), safe);
}

static double number(const json_t *object, const char *key)
{
	return daemon_status_number(object, key, 0);
}

static const char *word(const json_t *object, const char *key, const char *one, const char *many)
{
	return number(object, key) == 1 ? one : many;
}

static void head_line(const struct daemon_status *status)
{
	const json_t *members = status->members;
	enum ctl_style style = status->running ? CTL_GOOD : CTL_HOT;
	_cleanup_free_ char *version =
		text_escape(daemon_status_text(members, "version", "(unknown version)"));
	double started_ns = number(members, "started_ns");
	char when[32];

	printf("pathprofd %s: %s%s%s", version, ctl_style_on(style),
	       status->running ? "running" : "down", ctl_style_off(style));
	if (status->running)
		printf(", process %.0f", number(members, "pid"));
	else
		printf(", %s", status->why_down);
	printf(", %s %s\n", status->running ? "since" : "was started",
	       text_time(when, sizeof(when), started_ns < 9e18 ? (int64_t)started_ns : 0));
}

static void source_line(const json_t *members)
{
	bool lost = json_is_false(json_object_get(members, "source_up"));
	const char *stepping = daemon_status_text(members, "stepping", "");
	_cleanup_free_ char *text = ctl_printf(
		"%s%s%s%s, sampler %s, basis %s, mapping %s, windows of %g s",
		daemon_status_text(members, "source", "?"), lost ? " (not running)" : "",
		stepping[0] ? " by " : "", stepping, daemon_status_text(members, "sampler", "?"),
		daemon_status_text(members, "basis", "?"),
		daemon_status_text(members, "mapping", "?"), number(members, "window_s"));

	line("source", text);
}

/* A daemon of an older version has no clock, and says nothing of one. */
static void clock_line(const json_t *members)
{
	_cleanup_free_ char *text = NULL;

	if (!json_object_get(members, "clock_hz"))
		return;
	if (number(members, "clock_hz") > 0)
		text = ctl_printf("%.0f samples, %.0f a second and CPU, %s time in the kernel",
				  number(members, "clock_samples"), number(members, "clock_hz"),
				  json_is_true(json_object_get(members, "clock_kernel"))
					  ? "with"
					  : "without");
	else
		text = ctl_printf("none (its samples: %.0f %s of bursts)",
				  number(members, "clock_samples"),
				  word(members, "clock_samples", "start", "starts"));
	line("clock", text);
}

static void overhead_line(const json_t *members)
{
	double budget = number(members, "budget_ratio");
	_cleanup_free_ char *text = ctl_printf(
		"%.3f%% of CPU time in the last window, %.3f%% since the start; budget %.3f%%, of "
		"which the source has %.3f%% now, %.2f CPUs counted as busy (0.20 at least)",
		100 * number(members, "overhead_ratio"),
		100 * number(members, "overhead_total_ratio"), 100 * budget,
		100 * daemon_status_number(members, "source_budget_ratio", budget),
		daemon_status_number(members, "busy_cpus", number(members, "cpus")));

	line("overhead", text);
}

static double seconds(const json_t *costs, const char *key)
{
	return number(costs, key) / 1e9;
}

/* Costs since the start, including the start itself. An older daemon does not report them. */
static void costs_line(const json_t *costs)
{
	_cleanup_free_ char *text = NULL;

	if (!json_is_object(costs))
		return;
	text = ctl_printf(
		"threads held %.2f s; CPU time %.2f s: stepper %.2f, pathprofd %.2f (in it "
		"tracker %.2f, answers %.2f, names %.2f)",
		seconds(costs, "held_ns"), seconds(costs, "cpu_ns"),
		seconds(costs, "source_cpu_ns"), seconds(costs, "daemon_cpu_ns"),
		seconds(costs, "tracker_cpu_ns"), seconds(costs, "outlet_cpu_ns"),
		seconds(costs, "naming_cpu_ns"));
	line("costs", text);
}

/* Printed only if bursts are so rare that a user would wonder. */
static void price_line(const json_t *members)
{
	double every_s = number(members, "burst_every_s");
	double budget = number(members, "budget_ratio");
	double source = daemon_status_number(members, "source_budget_ratio", budget);
	double percent = 100 * (budget - source + source * every_s);
	_cleanup_free_ char *text = NULL;

	if (every_s < 2)
		return;
	text = ctl_printf(
		"a burst every %.0f s at this budget, for it costs %.1f ms; Overhead=%.2g%% "
		"would give one a second",
		every_s, number(members, "burst_ns") / 1e6, percent < 100 ? percent : 100);
	line("price", text);
}

static void seen_line(const json_t *members)
{
	_cleanup_free_ char *text =
		ctl_printf("%.0f %s, %.0f %s, %.0f %s", number(members, "bursts"),
			   word(members, "bursts", "burst", "bursts"), number(members, "branches"),
			   word(members, "branches", "branch", "branches"),
			   number(members, "paths"), word(members, "paths", "path", "paths"));

	line("seen", text);
}

/* Printed only if expected bursts do not come. */
static void barren_line(const json_t *members)
{
	double since_ns = number(members, "barren_since_ns");
	_cleanup_free_ char *text = NULL;
	char when[32];

	if (since_ns <= 0)
		return;
	text = ctl_printf("none since %s, though programs run: see drops, and pathprofctl doctor "
			  "--service",
			  text_time(when, sizeof(when), since_ns < 9e18 ? (int64_t)since_ns : 0));
	line("bursts", text);
}

static void rates_line(const json_t *members)
{
	_cleanup_free_ char *text = ctl_printf(
		"%.1f bursts/s, %.0f branches/s, %.0f paths/s", number(members, "bursts_per_s"),
		number(members, "branches_per_s"), number(members, "paths_per_s"));

	line("rates", text);
}

static void windows_line(const json_t *members)
{
	_cleanup_free_ char *text =
		ctl_printf("%.0f written, %.0f could not be, %.0f removed as too old",
			   number(members, "windows"), number(members, "windows_dropped"),
			   number(members, "windows_removed"));

	line("windows", text);
}

/* The reasons that occurred: "budget 12, gone 3". */
static void counts_line(const char *name, const json_t *counts)
{
	char text[2048] = "";
	size_t at = 0;
	const char *reason;
	json_t *count;

	/* jansson iterates over a non-const object; nothing is changed. */
	json_object_foreach((json_t *)counts, reason, count)
	{
		if (json_number_value(count) == 0 || at >= sizeof(text) - 1)
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %.0f", at ? ", " : "",
				       reason, json_number_value(count));
	}
	line(name, at ? text : "none");
}

/* Printed only if names for generated code exist or were refused. */
static void jit_line(const json_t *tracker)
{
	_cleanup_free_ char *text = NULL;

	if (number(tracker, "jit_bytes") <= 0 && number(tracker, "jit_refused") <= 0)
		return;
	text = ctl_printf("%.1f MB of names, %.0f times put off, %.0f times without memory",
			  number(tracker, "jit_bytes") / 1e6, number(tracker, "jit_postponed"),
			  number(tracker, "jit_refused"));
	line("generated code", text);
}

static void tracker_line(const json_t *tracker)
{
	bool perf = json_is_true(json_object_get(tracker, "perf"));
	_cleanup_free_ char *text = ctl_printf(
		"%s, %.0f processes, %.0f mappings, %.0f events lost, %.0f repairs",
		perf ? "perf events" : "/proc alone", number(tracker, "processes"),
		number(tracker, "mappings"), number(tracker, "lost"), number(tracker, "repairs"));

	line("tracker", text);
	if (json_is_object(json_object_get(tracker, "drops")))
		counts_line("untracked", json_object_get(tracker, "drops"));
	jit_line(tracker);
}

static uint64_t bytes_of(const json_t *members, const char *key)
{
	double bytes = number(members, key);

	return bytes > 0 && bytes < 1e18 ? (uint64_t)bytes : 0;
}

/* The database's size is that of now, as `db check` prints it, not the one that the daemon last
 * saw. */
static void memory_line(const json_t *members, struct pathprof_store *store)
{
	char memory[32];
	_cleanup_free_ char *size = ctl_db_size_text(store);
	_cleanup_free_ char *text =
		ctl_printf("%s; database %s, %s",
			   text_bytes(memory, sizeof(memory), bytes_of(members, "memory_bytes")),
			   size, daemon_status_text(members, "db", "?"));

	line("memory", text);
}

/* A daemon of an older version says nothing of a relay. */
static void relay_line(const json_t *members, struct pathprof_store *store, const char *path)
{
	_cleanup_free_ char *text = relay_status_text(members, store, path);

	if (text)
		line("relay", text);
}

/* Printed only after a reload that failed. */
static void settings_line(const json_t *members)
{
	const char *refused = daemon_status_text(members, "settings_refused", "");
	_cleanup_free_ char *text =
		ctl_printf("older than the file, which could not be read again: %s", refused);

	if (*refused)
		line("settings", text);
}

static void print_text(const struct daemon_status *status, struct pathprof_store *store,
		       const char *path)
{
	const json_t *members = status->members;

	if (!members) {
		printf("pathprofd: %sdown%s, %s\n", ctl_style_on(CTL_HOT), ctl_style_off(CTL_HOT),
		       status->why_down);
		return;
	}
	head_line(status);
	settings_line(members);
	source_line(members);
	clock_line(members);
	overhead_line(members);
	costs_line(json_object_get(members, "costs"));
	price_line(members);
	seen_line(members);
	barren_line(members);
	rates_line(members);
	windows_line(members);
	counts_line("drops", json_object_get(members, "drops"));
	if (json_object_size(json_object_get(members, "counters")))
		counts_line("counters", json_object_get(members, "counters"));
	tracker_line(json_object_get(members, "tracker"));
	memory_line(members, store);
	relay_line(members, store, path);
}

static void print_json(const struct daemon_status *status, struct pathprof_store *store,
		       const char *path)
{
	_cleanup_json_ json_t *object = json_object();
	uint64_t bytes = 0;

	json_add_text(object, "state", status->running ? "running" : "down");
	if (!status->running)
		json_add_text(object, "why", status->why_down);
	if (status->members)
		json_object_update_missing(object, status->members);
	if (status->members)
		relay_status_json(object, status->members, store, path);
	pathprof_store_size(store, &bytes);
	json_add_count(object, "db_bytes", bytes);
	json_dumpf(object, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	putchar('\n');
}

/* Whether no daemon ever ran, since it would have made the default database. If --db names none,
 * that is taken for a mistake instead. */
static bool never_ran(const struct ctl_options *options)
{
	_cleanup_free_ char *path = ctl_db_path(options);

	return !options->db && access(path, F_OK) < 0;
}

int cmd_status(const struct ctl_options *options)
{
	_cleanup_free_ char *path = ctl_db_path(options);
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct daemon_status status;
	struct pathprof_error error = {""};
	bool down = never_ran(options);
	int r = ctl_no_operands(options);

	if (r == CTL_OK)
		r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r == CTL_FAILURE && down ? CTL_DOWN : r;
	r = daemon_status_read(&status, store, &error);
	if (r < 0)
		return ctl_fail_error("status", r, &error);
	if (options->json)
		print_json(&status, store, path);
	else
		print_text(&status, store, path);
	r = status.running ? CTL_OK : CTL_DOWN;
	daemon_status_release(&status);
	return r;
}
