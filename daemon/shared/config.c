// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of settings and what follows from it: see config.h. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "config_key.h"
#include "config_value.h"
#include "pathprof/abi.h"
#include "pathprof/alert.h"
#include "pathprof/compress.h"
#include "pathprof/judge.h"
#include "pathprof/paths.h"
#include "pathprof/sources.h"

#define SECOND_NS UINT64_C(1000000000)
#define DAY_NS    (86400 * SECOND_NS)
#define MIB       (UINT64_C(1) << 20)
#define TIB       (UINT64_C(1) << 40)
#define MILLION   UINT64_C(1000000)

#define SOURCE_NAME(id, name, needs, what, help) name,
#define SOURCE_HELP(id, name, needs, what, help) "\n" name ": " help
static const char *const sources[] = {"auto", PATHPROF_SOURCES(SOURCE_NAME) NULL};
static const char *const compress[] = {[PP_CONFIG_COMPRESS_AUTO] = "auto",
				       [PP_CONFIG_COMPRESS_YES] = "yes",
				       [PP_CONFIG_COMPRESS_NO] = "no",
				       NULL};
/* By enum pathprof_metric, in whose order they come first; those of branches cannot be had here. */
#define METRIC_NAME(id, name, fires, most, figure) name,
#define METRIC_MOST(id, name, fires, most, figure) most,
static const char *const metrics[] = {PATHPROF_METRICS_OF_PATHS(METRIC_NAME) NULL};
static const unsigned int most[] = {PATHPROF_METRICS_OF_PATHS(METRIC_MOST)};
static const char *const scopes[] = {[PP_CONFIG_SCOPE_MACHINE] = "machine",
				     [PP_CONFIG_SCOPE_HOST] = "host",
				     [PP_CONFIG_SCOPE_RELEASE] = "release",
				     NULL};
static const char *const mappings[] = {
	[PATHPROF_MAPPING_BL] = "bl", [PATHPROF_MAPPING_WPP] = "wpp", NULL};

#define FIELD(name) offsetof(struct pp_config, name)

const struct pp_config_key pp_config_keys[] = {
	{"Profile", "Source", PP_CONFIG_CHOICE, false, false, FIELD(source), 0, 0, sources, "auto",
	 "Where branches come from: auto takes the best source that can run here, in this\n"
	 "order." PATHPROF_SOURCES(SOURCE_HELP)},
	{"Profile", "Overhead", PP_CONFIG_PERCENT, true, false, FIELD(overhead_ppm), 10, 1000000,
	 NULL, "0.5%",
	 "The budget: share of all CPUs' time that profiled threads may be held and all\n"
	 "processes of the daemon may compute. It is measured, and the rate follows. A busy\n"
	 "daemon leaves its source a quarter. The source step takes this share only of the\n"
	 "CPUs that programs keep busy (a fifth of one at least), so that none loses more."},
	{"Profile", "WindowSec", PP_CONFIG_SPAN, true, false, FIELD(window_ns), SECOND_NS / 10,
	 DAY_NS, NULL, "1min",
	 "How long one window lasts. A window is written when it closes; a crash loses\n"
	 "at most the open one. The service's first one ends after 20 s at the latest, where\n"
	 "they are to last 10min or less."},
	{"Profile", "TakenBranches", PP_CONFIG_COUNT, true, false, FIELD(taken_wanted), 4,
	 PATHPROF_BURST_MAX / 2, NULL, "32",
	 "Taken branches in one burst of hardware, as kmod-lbr and bpf have them. Bursts of\n"
	 "the other sources are as long as Instructions= says."},
	{"Profile", "Instructions", PP_CONFIG_COUNT, true, false, FIELD(horizon), 64, 8192, NULL,
	 "1024",
	 "Instructions in one burst of the sources that sample on a clock: step and\n"
	 "kmod-swlbr. A path that is longer is never seen whole; longer bursts hold a thread\n"
	 "for longer."},
	{"Profile", "HoldMaxSec", PP_CONFIG_SPAN, true, false, FIELD(hold_max_ns),
	 SECOND_NS / 10000, SECOND_NS / 10, NULL, "2ms",
	 "How long a burst of the source step may hold its thread. What it has seen by then\n"
	 "counts for what it covered; longer holds see longer paths whole, and are longer than\n"
	 "many a transaction. A thread that waits again and again, as a server's does between\n"
	 "requests, is held no longer than it usually runs in between, or a fifth of this."},
	{"Profile", "FrequencyHz", PP_CONFIG_COUNT, true, false, FIELD(frequency_hz), 1, 10000,
	 NULL, "199",
	 "Samples a second and CPU that are offered to the source before the budget decides.\n"
	 "The source step has none made while no burst is due."},
	{"Profile", "ClockHz", PP_CONFIG_COUNT, false, true, FIELD(clock_hz), 1, 1000, NULL, "97",
	 "Samples a second and CPU of the clock that runs beside any source: each is counted,\n"
	 "and says how much time was spent where. In step neither with the kernel's ticks nor\n"
	 "with FrequencyHz=. 0: no clock."},
	{"Profile", "Mapping", PP_CONFIG_CHOICE, false, false, FIELD(mapping), 0, 0, mappings, "bl",
	 "What a path is. bl: a call begins the callee's path, the caller's goes on when it\n"
	 "returns. wpp: a call ends the caller's path, and a new one begins at the return."},
	{"Profile", "PinTargets", PP_CONFIG_BOOL, false, false, FIELD(pin), 0, 1, NULL, "yes",
	 "Keep a thread on one CPU while it is stepped: a tenth of the cost."},
	{"Profile", "RealTime", PP_CONFIG_BOOL, false, false, FIELD(realtime), 0, 1, NULL, "no",
	 "Profile threads of a real-time policy (SCHED_FIFO, SCHED_RR, SCHED_DEADLINE) and\n"
	 "what runs on isolated and nohz_full CPUs as well. Such threads are not\n"
	 "made to be held for a millisecond or interrupted: with \"no\" they are left alone and\n"
	 "counted (realtime, isolated)."},
	{"Profile", "Context", PP_CONFIG_BOOL, false, false, FIELD(callers), 0, 1, NULL, "yes",
	 "Find out who called, where the source is step: the stack of a thread is read as its\n"
	 "burst begins, and each path counts under its callers, too."},
	{"Profile", "Segments", PP_CONFIG_BOOL, false, false, FIELD(segments), 0, 1, NULL, "yes",
	 "Keep which piece of a path followed which over a call or a return, where the source\n"
	 "hands over its branches in order: what `pathprofctl untested --unit segment` holds\n"
	 "against tests. The database needs up to half as much room again for it."},
	{"Profile", "Compress", PP_CONFIG_CHOICE, false, false, FIELD(compress), 0, 0, compress,
	 "auto",
	 "kmod-lbr: count paths in the kernel instead of handing over every window; they\n"
	 "are then those of Mapping=wpp, whatever that says. auto: yes for the service, no\n"
	 "for a recording. bpf always counts paths; step and kmod-swlbr hand windows over."},
	{"Profile", "Event", PP_CONFIG_EVENT, false, false, FIELD(event), 0, PP_CONFIG_EVENT_MAX,
	 NULL, "",
	 "kmod-lbr, bpf: the event to sample on, as libpfm4 names it or as perf writes it:\n"
	 "pmu/config=0x20c4/. It should count taken branches: windows are taken to say how\n"
	 "often code runs. Empty: taken branches, as this processor counts them.\n"
	 "Sources that sample a clock have none: the service ends (78), or with Source=auto\n"
	 "says that it is not used."},
	{"Profile", "Sampler", PP_CONFIG_SAMPLER, false, false, FIELD(sampler), 0,
	 PP_CONFIG_EVENT_MAX, NULL, "",
	 "bpf: what edges go through on their way out of the kernel, in the notation of the\n"
	 "stratified sampler: H[PR256]2048A16, R64, T[256]1024... Empty: the first of these."},
	{"Profile", "Cgroup", PP_CONFIG_CGROUP, false, false, FIELD(cgroup), 0,
	 PP_CONFIG_PATTERN_MAX, NULL, "",
	 "Only processes of this control group and of those below: a unit, as foo.service, or\n"
	 "a path in the unified hierarchy, as /sys/fs/cgroup/system.slice. Empty: all. The\n"
	 "sources kmod-lbr, bpf and kmod-swlbr can do it. Looked up when the source is opened;\n"
	 "the service ends (78) where there is none: give it After= of a unit that starts later."},
	{"Profile", "Addresses", PP_CONFIG_ADDRESSES, false, false, FIELD(addresses), 0,
	 PP_CONFIG_NAME_MAX, NULL, "",
	 "Only samples that interrupt code at addresses from the first to the last, in hex:\n"
	 "400000-4fffff. What led there is seen wherever it ran. Empty: all. Sources as above."},
	{"Store", "Path", PP_CONFIG_PATH, false, false, FIELD(db_path), 0, PP_CONFIG_PATH_MAX, NULL,
	 "",
	 "The database. Empty: profile.db in $STATE_DIRECTORY, else in /var/lib/pathprof;\n"
	 "not root: in $XDG_STATE_HOME/pathprof."},
	{"Store", "MaxUse", PP_CONFIG_SIZE, true, true, FIELD(max_use_bytes), 4 * MIB, 1024 * TIB,
	 NULL, "512M",
	 "Most disk space the database and its log may use; the oldest windows go first.\n"
	 "0: no bound."},
	{"Store", "KeepFree", PP_CONFIG_SIZE, true, true, FIELD(keep_free_bytes), MIB, 1024 * TIB,
	 NULL, "256M", "Disk space that is left to others. 0: none."},
	{"Store", "MaxRetentionSec", PP_CONFIG_SPAN, true, true, FIELD(max_retention_ns), SECOND_NS,
	 36525 * DAY_NS, NULL, "30d",
	 "Windows older than this go. 0: kept for as long as MaxUse= lets them. For an hour after\n"
	 "the clock was set none goes for its age."},
	{"Limits", "MemoryMax", PP_CONFIG_SIZE, false, false, FIELD(memory_max_bytes), MIB,
	 4096 * MIB, NULL, "64M",
	 "Most memory for the tables of the open window. What does not fit is counted."},
	{"Drift", "Enabled", PP_CONFIG_BOOL, false, false, FIELD(drift), 0, 1, NULL, "yes",
	 "Measure each window of each binary and container against its baselines, and judge\n"
	 "the figures by the rules, [Alert NAME]. Not in a recording."},
	{"Drift", "Rolling", PP_CONFIG_SPAN, false, false, FIELD(rolling_ns), SECOND_NS,
	 30 * DAY_NS, NULL, "1h",
	 "How long the rolling baseline reaches back. While an alert on it is pending or\n"
	 "firing, new windows stay out of it; a change that lasts this long is the new normal."},
	{"Drift", "Previous", PP_CONFIG_BOOL, false, false, FIELD(drift_previous), 0, 1, NULL,
	 "yes",
	 "Measure a new build of a binary against what the build before did as well: the\n"
	 "baseline \"previous\". Paths in functions that only one of them has are left out. A\n"
	 "child with little priority reads the binaries' files for it."},
	{"Drift", "Baselines", PP_CONFIG_PATH, false, false, FIELD(baselines), 0,
	 PP_CONFIG_PATH_MAX, NULL, "",
	 "Directory of pinned baselines, NAME.baseline, as pathprofctl baseline set makes them.\n"
	 "Empty: baselines beside the database."},
	{"Drift", "SamplesMin", PP_CONFIG_COUNT, true, false, FIELD(drift_samples_min), 1,
	 1000000000, NULL, "200",
	 "A binary of which a window saw fewer paths is not measured in it."},
	{"Drift", "SubjectsMax", PP_CONFIG_COUNT, false, false, FIELD(drift_subjects_max), 1, 4096,
	 NULL, "256",
	 "Binaries, each with each container, that are watched at a time. Those not seen for\n"
	 "longest make room."},
	{"Drift", "MemoryMax", PP_CONFIG_SIZE, true, false, FIELD(drift_memory_max_bytes), MIB,
	 4096 * MIB, NULL, "64M", "Most memory for their counts."},
	{"Tested", "Directory", PP_CONFIG_PATH, false, false, FIELD(tested), 0, PP_CONFIG_PATH_MAX,
	 NULL, "",
	 "Directory of tested sets, NAME.tested, as pathprofctl tested merge makes them of a\n"
	 "CI's runs: how much of their builds' work no test ran is told at the endpoint of\n"
	 "[Metrics] (pathprof_tested_weight_total). Read again when it changes. Empty: none."},
	{"Tested", "AlertShare", PP_CONFIG_PERCENT, false, true, FIELD(tested_alert_ppm), 1,
	 1000000, NULL, "0%",
	 "Tell of a binary, as of drift, when more than this share of what it runs is untested,\n"
	 "by the low end of the share's interval (95 %), two windows in a row; and that this is\n"
	 "over when the share is a tenth of this below. The rule's name is untested. 0: no alert."},
	{"Tested", "AlertSpan", PP_CONFIG_SPAN, false, false, FIELD(tested_span_ns), SECOND_NS,
	 30 * DAY_NS, NULL, "1d",
	 "The time that the share is of. It begins with what the database has of it: a set that\n"
	 "is new is held against windows that were stored before."},
	{"Tell", "Journal", PP_CONFIG_BOOL, false, false, FIELD(tell_journal), 0, 1, NULL, "yes",
	 "Tell alerts to the journal, with fields. pathprofd does this itself; all else here and\n"
	 "in [Metrics] is pathprof-relay's work, which reads these settings when it starts."},
	{"Tell", "Exec", PP_CONFIG_COMMAND, false, false, FIELD(tell_exec), 0, PP_CONFIG_PATH_MAX,
	 NULL, "",
	 "Run this for each alert, with the alert as JSON on its standard input. No shell:\n"
	 "words between blanks. It runs as pathprof-relay does, without any right."},
	{"Tell", "Alertmanager", PP_CONFIG_URL, false, false, FIELD(tell_alertmanager), 0,
	 PP_CONFIG_PATH_MAX, NULL, "",
	 "Tell alerts to this Alertmanager: http://127.0.0.1:9093, without /api/v2/alerts."},
	{"Tell", "Webhook", PP_CONFIG_URL, false, false, FIELD(tell_webhook), 0, PP_CONFIG_PATH_MAX,
	 NULL, "", "POST alerts as JSON there."},
	{"Tell", "BearerFile", PP_CONFIG_PATH, false, false, FIELD(tell_bearer_file), 0,
	 PP_CONFIG_PATH_MAX, NULL, "",
	 "A token in this file goes with both. Empty: none. pathprof-relay must be able to\n"
	 "read it: chgrp pathprof, chmod 640."},
	{"Tell", "CAFile", PP_CONFIG_PATH, false, false, FIELD(tell_ca_file), 0, PP_CONFIG_PATH_MAX,
	 NULL, "",
	 "Authorities to believe for https. Empty: the system's. To be read as BearerFile=."},
	{"Metrics", "Listen", PP_CONFIG_LISTEN, false, false, FIELD(metrics_listen), 0,
	 PP_CONFIG_EVENT_MAX, NULL, "",
	 "Where Prometheus may scrape: 127.0.0.1:9753, [::1]:9753. Empty: nowhere, because\n"
	 "even on loopback every user of this machine could read there what runs on it."},
};
_Static_assert(sizeof(pp_config_keys) / sizeof(pp_config_keys[0]) <= PP_CONFIG_KEY_MAX,
	       "config: keys");
const size_t pp_config_key_cnt = sizeof(pp_config_keys) / sizeof(pp_config_keys[0]);

#define ALERT(name) offsetof(struct pp_config_alert, name)

/* A rule begins as "fast": the fallbacks here are that one's. */
const struct pp_config_key pp_config_alert_keys[] = {
	{"Alert", "Enabled", PP_CONFIG_BOOL, true, false, ALERT(enabled), 0, 1, NULL, "yes",
	 "Whether this rule is applied."},
	{"Alert", "Scope", PP_CONFIG_CHOICE, true, false, ALERT(scope), 0, 0, scopes, "machine",
	 "machine: pathprofd applies it to this machine. A hub applies the others to its\n"
	 "fleet. host: a host stands out from those that run the same build. release: a\n"
	 "build stands out from the build before."},
	{"Alert", "Metric", PP_CONFIG_CHOICE, true, false, ALERT(metric), 0, 0, metrics,
	 "kl_corrected",
	 "What is judged: relative entropy to the baseline in bits, less what chance makes of\n"
	 "it; or plain; the angle; overlap or coverage, which alert when below."},
	{"Alert", "Threshold", PP_CONFIG_DECIMAL, true, false, ALERT(threshold_ppm), 0, 1000000000,
	 NULL, "0.01", "kl_corrected: the low end of its interval must be over it, too."},
	{"Alert", "Hysteresis", PP_CONFIG_DECIMAL, true, false, ALERT(hysteresis_ppm), 0,
	 1000000000, NULL, "0.005",
	 "How far back over the threshold the figure must be to count as well again. It must\n"
	 "be able to get there: kl and angle_degrees are hardly ever 0 and never below it,\n"
	 "overlap and coverage never above 1."},
	{"Alert", "SamplesMin", PP_CONFIG_COUNT, true, false, ALERT(samples_min), 1, 1000000000,
	 NULL, "200", "A measurement of fewer paths is no evidence either way."},
	{"Alert", "Pooled", PP_CONFIG_COUNT, true, false, ALERT(pooled), 1, 16, NULL, "1",
	 "So many last windows are measured together: fainter changes, later."},
	{"Alert", "Windows", PP_CONFIG_COUNT, true, false, ALERT(windows), 1, 10000, NULL, "2",
	 "Fires after so many in a row over the threshold."},
	{"Alert", "ResolveWindows", PP_CONFIG_COUNT, true, false, ALERT(resolve_windows), 1, 10000,
	 NULL, "2", "Resolves after so many in a row that are well."},
	{"Alert", "CoolDown", PP_CONFIG_SPAN, true, true, ALERT(cool_down_ns), SECOND_NS / 1000,
	 365 * DAY_NS, NULL, "5min", "So long after it resolved it does not fire again."},
	{"Alert", "Binary", PP_CONFIG_PATTERN, true, false, ALERT(binary), 1, PP_CONFIG_PATTERN_MAX,
	 NULL, "*", "Binaries it is for: a pattern of their path, or of its last part."},
	{"Alert", "Container", PP_CONFIG_PATTERN, true, false, ALERT(container), 0,
	 PP_CONFIG_PATTERN_MAX, NULL, "*",
	 "Containers it is for; those outside of any have the\n"
	 "empty name."},
	{"Alert", "Baseline", PP_CONFIG_BASELINE, true, false, ALERT(baseline), 1,
	 PP_CONFIG_NAME_MAX, NULL, "rolling", "rolling, previous, or the name of a pinned one."},
};
_Static_assert(sizeof(pp_config_alert_keys) / sizeof(pp_config_alert_keys[0]) <= PP_CONFIG_KEY_MAX,
	       "config: keys of an alert");
const size_t pp_config_alert_key_cnt =
	sizeof(pp_config_alert_keys) / sizeof(pp_config_alert_keys[0]);

/* The faint changes: docs/alerting.md. */
static const char *const slow[][2] = {
	{"Threshold", "0.005"}, {"Hysteresis", "0.0025"}, {"Pooled", "3"}, {"Windows", "1"}};

/* The characters that names of rules and baselines may have. */
static const char name_letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";

const char *pp_config_alert_name(const char *section)
{
	const char *name = section + sizeof("Alert ") - 1;

	if (strncmp(section, "Alert ", sizeof("Alert ") - 1) != 0 || !name[0] ||
	    strlen(name) >= PP_CONFIG_NAME_MAX || name[strspn(name, name_letters)] ||
	    !strcmp(name, PP_CONFIG_RULE_TESTED))
		return NULL;
	return name;
}

static const struct pp_config_key *find_alert_key(const char *name)
{
	for (size_t i = 0; i < pp_config_alert_key_cnt; i++)
		if (!strcmp(pp_config_alert_keys[i].name, name))
			return &pp_config_alert_keys[i];
	return NULL;
}

const struct pp_config_key *pp_config_find(const char *section, const char *name)
{
	if (pp_config_alert_name(section))
		return find_alert_key(name);
	for (size_t i = 0; i < pp_config_key_cnt; i++)
		if (!strcmp(pp_config_keys[i].section, section) &&
		    !strcmp(pp_config_keys[i].name, name))
			return &pp_config_keys[i];
	return NULL;
}

bool pp_config_has_section(const char *name, size_t len)
{
	char section[PP_CONFIG_NAME_MAX + 8];

	if (len < sizeof(section)) {
		memcpy(section, name, len);
		section[len] = '\0';
		if (pp_config_alert_name(section))
			return true;
	}
	for (size_t i = 0; i < pp_config_key_cnt; i++)
		if (strlen(pp_config_keys[i].section) == len &&
		    !strncmp(pp_config_keys[i].section, name, len))
			return true;
	return false;
}

static bool is_text(const struct pp_config_key *key)
{
	switch (key->type) {
	case PP_CONFIG_PATH:
	case PP_CONFIG_EVENT:
	case PP_CONFIG_SAMPLER:
	case PP_CONFIG_PATTERN:
	case PP_CONFIG_URL:
	case PP_CONFIG_COMMAND:
	case PP_CONFIG_LISTEN:
	case PP_CONFIG_BASELINE:
	case PP_CONFIG_CGROUP:
	case PP_CONFIG_ADDRESSES:
		return true;
	default:
		return false;
	}
}

/* base: the settings, or one rule. */
static uint64_t *number_of(void *base, const struct pp_config_key *key)
{
	return (uint64_t *)(void *)((char *)base + key->offset);
}

static uint64_t number(const void *base, const struct pp_config_key *key)
{
	return *(const uint64_t *)(const void *)((const char *)base + key->offset);
}

static int read_number(const struct pp_config_key *key, const char *text, uint64_t *ret_value)
{
	switch (key->type) {
	case PP_CONFIG_PERCENT:
		return pp_percent_parse(text, ret_value);
	case PP_CONFIG_SPAN:
		return pp_span_parse(text, ret_value);
	case PP_CONFIG_SIZE:
		return pp_size_parse(text, ret_value);
	case PP_CONFIG_COUNT:
		return pp_count_parse(text, ret_value);
	case PP_CONFIG_BOOL:
		return pp_value_bool(text, ret_value);
	case PP_CONFIG_CHOICE:
		return pp_value_choice(text, key->choices, ret_value);
	case PP_CONFIG_DECIMAL:
		return pp_decimal_parse(text, ret_value);
	default:
		break;
	}
	return -EINVAL;
}

static void format_number(const struct pp_config_key *key, uint64_t value, char *text, size_t size)
{
	switch (key->type) {
	case PP_CONFIG_PERCENT:
		pp_percent_format(value, text, size);
		return;
	case PP_CONFIG_SPAN:
		pp_span_format(value, text, size);
		return;
	case PP_CONFIG_SIZE:
		pp_size_format(value, text, size);
		return;
	case PP_CONFIG_BOOL:
		snprintf(text, size, "%s", value ? "yes" : "no");
		return;
	case PP_CONFIG_CHOICE:
		snprintf(text, size, "%s", key->choices[value]);
		return;
	case PP_CONFIG_DECIMAL:
		pp_decimal_format(value, text, size);
		return;
	default:
		snprintf(text, size, "%" PRIu64, value);
		return;
	}
}

static const char *noun(enum pp_config_type type)
{
	switch (type) {
	case PP_CONFIG_PERCENT:
		return "a percentage";
	case PP_CONFIG_SPAN:
		return "a span of time";
	case PP_CONFIG_SIZE:
		return "a size";
	case PP_CONFIG_DECIMAL:
		return "a number";
	case PP_CONFIG_BOOL:
		return "yes or no";
	case PP_CONFIG_PATH:
		return "a path";
	case PP_CONFIG_PATTERN:
		return "a pattern";
	case PP_CONFIG_URL:
		return "a URL, http:// or https://";
	case PP_CONFIG_COMMAND:
		return "a command by its absolute path";
	case PP_CONFIG_LISTEN:
		return "an address and a port in numbers, as 127.0.0.1:9753";
	case PP_CONFIG_BASELINE:
		return "a baseline: letters, digits, . _ and -";
	case PP_CONFIG_CGROUP:
		return "a unit or a path";
	case PP_CONFIG_ADDRESSES:
		return "two addresses in hex, as 400000-4fffff";
	case PP_CONFIG_EVENT:
		return "an event";
	case PP_CONFIG_SAMPLER:
		return "a sampler, as H[PR256]2048A16";
	default:
		return "a whole number";
	}
}

/* "one of auto step", "a size from 4M to 1P, or 0". */
static void describe(const struct pp_config_key *key, char *text, size_t size)
{
	char low[32] = "", high[32] = "";
	size_t len = 0;

	if (key->type == PP_CONFIG_BOOL || is_text(key)) {
		snprintf(text, size, "%s", noun(key->type));
		return;
	}
	if (key->type == PP_CONFIG_CHOICE) {
		len = (size_t)snprintf(text, size, "one of");
		for (size_t i = 0; key->choices[i] && len < size; i++)
			len += (size_t)snprintf(text + len, size - len, " %s", key->choices[i]);
		return;
	}
	format_number(key, key->min, low, sizeof(low));
	format_number(key, key->max, high, sizeof(high));
	snprintf(text, size, "%s from %s to %s%s", noun(key->type), low, high,
		 key->zero ? ", or 0" : "");
}

static int refuse(const struct pp_config_key *key, const char *value, int code,
		  struct pathprof_error *error)
{
	char wanted[128];

	describe(key, wanted, sizeof(wanted));
	if (is_text(key) && code == -ERANGE)
		return pathprof_fail(error, code,
				     "%s=%.64s: too long, wanted %s of at most %zu bytes",
				     key->name, value, wanted, (size_t)key->max - 1);
	return pathprof_fail(error, code, "%s=%.64s: %s, wanted %s", key->name, value,
			     code == -ERANGE ? "out of range" : "bad value", wanted);
}

/* The host's name is not looked at further here. */
static bool is_url(const char *value)
{
	size_t scheme = !strncmp(value, "http://", 7) ? 7 : !strncmp(value, "https://", 8) ? 8 : 0;

	return scheme && value[scheme] && !strchr("/:?#", value[scheme]) &&
	       strpbrk(value, " \t") == NULL;
}

/* "1.2.3.4:80", "[::1]:80" */
static bool is_address(const char *value)
{
	const char *colon = strrchr(value, ':');
	size_t len = colon ? (size_t)(colon - value) : 0;
	unsigned char address[sizeof(struct in6_addr)];
	char host[INET6_ADDRSTRLEN + 2];
	uint64_t port = 0;

	if (!len || len >= sizeof(host) || pp_count_parse(colon + 1, &port) < 0 || port > 65535)
		return false;
	memcpy(host, value, len);
	host[len] = '\0';
	if (host[0] != '[' || host[len - 1] != ']')
		return inet_pton(AF_INET, host, address) == 1;
	host[len - 1] = '\0';
	return inet_pton(AF_INET6, host + 1, address) == 1;
}

/* Accepts the names that `pathprofctl baseline set` accepts. */
static bool is_baseline(const char *value)
{
	return !strchr(".-", value[0]) && !value[strspn(value, name_letters)];
}

static bool is_well_formed(const struct pp_config_key *key, const char *value)
{
	if (!value[0])
		return !key->min;
	switch (key->type) {
	case PP_CONFIG_URL:
		return is_url(value);
	case PP_CONFIG_COMMAND:
		return value[0] == '/';
	case PP_CONFIG_LISTEN:
		return is_address(value);
	case PP_CONFIG_BASELINE:
		return is_baseline(value);
	case PP_CONFIG_ADDRESSES:
		return pp_value_addresses(value, &(uint64_t){0}, &(uint64_t){0}) == 0;
	case PP_CONFIG_SAMPLER:
		return pathprof_compress_read(&(struct pathprof_compress_form){0}, value, NULL) ==
		       0;
	default:
		return true;
	}
}

static int set_text(void *base, const struct pp_config_key *key, const char *value,
		    struct pathprof_error *error)
{
	size_t len = strlen(value);

	if (len >= key->max)
		return refuse(key, value, -ERANGE, error);
	if (!is_well_formed(key, value))
		return refuse(key, value, -EINVAL, error);
	memcpy((char *)base + key->offset, value, len + 1);
	return 0;
}

static bool in_range(const struct pp_config_key *key, uint64_t value)
{
	if (key->type == PP_CONFIG_CHOICE || (key->zero && value == 0))
		return true;
	return value >= key->min && value <= key->max;
}

static int set_key(void *base, const struct pp_config_key *key, const char *value,
		   struct pathprof_error *error)
{
	uint64_t v = 0;
	int r;

	if (is_text(key))
		return set_text(base, key, value, error);
	r = read_number(key, value, &v);
	if (r == 0 && !in_range(key, v))
		r = -ERANGE;
	if (r < 0)
		return refuse(key, value, r, error);
	*number_of(base, key) = v;
	return 0;
}

static void alert_defaults(struct pp_config_alert *ret_alert, const char *name)
{
	struct pp_config_alert alert = {.name = ""};

	snprintf(alert.name, sizeof(alert.name), "%s", name);
	for (size_t i = 0; i < pp_config_alert_key_cnt; i++)
		if (set_key(&alert, &pp_config_alert_keys[i], pp_config_alert_keys[i].fallback,
			    NULL) < 0)
			abort(); /* as pp_config_defaults */
	*ret_alert = alert;
}

/* The rule of that name, else a free place; NULL: there is none. */
static struct pp_config_alert *alert_of(struct pp_config *config, const char *name)
{
	for (size_t i = 0; i < PP_CONFIG_ALERT_MAX; i++)
		if (!config->alerts[i].name[0] || !strcmp(config->alerts[i].name, name))
			return &config->alerts[i];
	return NULL;
}

static int set_alert(struct pp_config *config, const struct pp_config_key *key, const char *name,
		     const char *value, struct pathprof_error *error)
{
	struct pp_config_alert *alert = alert_of(config, name), changed;
	int r;

	if (!alert)
		return pathprof_fail(error, -EINVAL, "[Alert %s]: more than %d rules", name,
				     PP_CONFIG_ALERT_MAX);
	changed = *alert;
	if (!changed.name[0])
		alert_defaults(&changed, name);
	r = set_key(&changed, key, value, error);
	if (r == 0)
		*alert = changed;
	return r;
}

int pp_config_set(struct pp_config *config, const char *section, const char *name,
		  const char *value, struct pathprof_error *error)
{
	const struct pp_config_key *key = pp_config_find(section, name);

	if (!key)
		return pathprof_fail(error, -ENOENT, "[%.64s] %.64s=: no such setting", section,
				     name);
	if (pp_config_alert_name(section))
		return set_alert(config, key, pp_config_alert_name(section), value, error);
	return set_key(config, key, value, error);
}

void pp_config_defaults(struct pp_config *ret_config)
{
	struct pp_config config = {0};

	for (size_t i = 0; i < pp_config_key_cnt; i++)
		if (set_key(&config, &pp_config_keys[i], pp_config_keys[i].fallback, NULL) < 0)
			abort(); /* the table contradicts itself: the first unit test's matter */
	alert_defaults(&config.alerts[0], "fast");
	alert_defaults(&config.alerts[1], "slow");
	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++)
		if (pp_config_set(&config, "Alert slow", slow[i][0], slow[i][1], NULL) < 0)
			abort();
	*ret_config = config;
}

/* Whether the figure can go as far back over the threshold as the rule wants it to. */
static bool can_resolve(const struct pp_config_alert *alert)
{
	if (alert->metric == PATHPROF_METRIC_KL_CORRECTED) /* it is below 0 at times */
		return true;
	if (pathprof_metric_fires_below((enum pathprof_metric)alert->metric))
		return alert->threshold_ppm + alert->hysteresis_ppm <=
		       most[alert->metric] * MILLION;
	/* two windows are never quite the same, so it is 0 for a program of a single path alone */
	return alert->hysteresis_ppm < alert->threshold_ppm;
}

static int check_alert(const struct pp_config *config, const struct pp_config_alert *alert,
		       struct pathprof_error *error)
{
	const char *metric = metrics[alert->metric];
	char text[32];

	pp_decimal_format(alert->threshold_ppm, text, sizeof(text));
	if (alert->threshold_ppm > most[alert->metric] * MILLION)
		return pathprof_fail(error, -EINVAL, "[Alert %s]: Threshold=%s: %s is from 0 to %u",
				     alert->name, text, metric, most[alert->metric]);
	pp_decimal_format(alert->hysteresis_ppm, text, sizeof(text));
	if (alert->enabled && !can_resolve(alert))
		return pathprof_fail(error, -EINVAL,
				     "[Alert %s]: Hysteresis=%s: the alert would never or hardly "
				     "ever resolve, %s is from 0 to %u",
				     alert->name, text, metric, most[alert->metric]);
	if (alert->enabled && !config->drift_previous &&
	    !strcmp(alert->baseline, PATHPROF_BASELINE_PREVIOUS))
		return pathprof_fail(error, -EINVAL,
				     "[Alert %s]: Baseline=previous: there is none with "
				     "Previous=no in [Drift]",
				     alert->name);
	return 0;
}

int pp_config_check(const struct pp_config *config, struct pathprof_error *error)
{
	int r = 0;

	if (config->tested_alert_ppm && !config->tested[0])
		return pathprof_fail(error, -EINVAL,
				     "[Tested]: AlertShare= is of the tested sets in Directory=, "
				     "which is not set");
	for (size_t i = 0; i < PP_CONFIG_ALERT_MAX && config->alerts[i].name[0] && r == 0; i++)
		r = check_alert(config, &config->alerts[i], error);
	return r;
}

static void format_key(const void *base, const struct pp_config_key *key, char *text, size_t size)
{
	if (is_text(key))
		snprintf(text, size, "%s", (const char *)base + key->offset);
	else
		format_number(key, number(base, key), text, size);
}

static void print_section(size_t i, FILE *to)
{
	if (i == 0 || strcmp(pp_config_keys[i].section, pp_config_keys[i - 1].section) != 0)
		fprintf(to, "%s[%s]\n", i ? "\n" : "", pp_config_keys[i].section);
}

void pp_config_print(const struct pp_config *config, FILE *to)
{
	char text[PP_CONFIG_PATH_MAX];

	for (size_t i = 0; i < pp_config_key_cnt; i++) {
		print_section(i, to);
		format_key(config, &pp_config_keys[i], text, sizeof(text));
		fprintf(to, "%s=%s\n", pp_config_keys[i].name, text);
	}
	for (size_t i = 0; i < PP_CONFIG_ALERT_MAX && config->alerts[i].name[0]; i++) {
		fprintf(to, "\n[Alert %s]\n", config->alerts[i].name);
		for (size_t k = 0; k < pp_config_alert_key_cnt; k++) {
			format_key(&config->alerts[i], &pp_config_alert_keys[k], text,
				   sizeof(text));
			fprintf(to, "%s=%s\n", pp_config_alert_keys[k].name, text);
		}
	}
}

static void print_help(const char *help, FILE *to)
{
	fputs("\n# ", to);
	for (; *help; help++) {
		fputc(*help, to);
		if (*help == '\n')
			fputs("# ", to);
	}
	fputc('\n', to);
}

static void print_key(const struct pp_config_key *key, const char *value, FILE *to)
{
	char wanted[128];

	print_help(key->help, to);
	describe(key, wanted, sizeof(wanted));
	fprintf(to, "# Wanted: %s.%s\n", wanted, key->live ? "" : " A change needs a restart.");
	fprintf(to, "#%s=%s\n", key->name, value);
}

/* The first rule explains the keys, the other shows them. */
static void print_default_alerts(FILE *to)
{
	struct pp_config config;
	char text[PP_CONFIG_PATH_MAX];

	pp_config_defaults(&config);
	fputs("\n# Rules. Any number up to 16 of sections [Alert NAME]; what one leaves out is as\n"
	      "# in [Alert fast]. Enabled=no switches one of these two off.\n[Alert fast]\n",
	      to);
	for (size_t i = 0; i < pp_config_alert_key_cnt; i++)
		print_key(&pp_config_alert_keys[i], pp_config_alert_keys[i].fallback, to);
	fputs("\n# Faint changes, by three windows together.\n[Alert slow]\n", to);
	for (size_t i = 0; i < pp_config_alert_key_cnt; i++) {
		format_key(&config.alerts[1], &pp_config_alert_keys[i], text, sizeof(text));
		fprintf(to, "#%s=%s\n", pp_config_alert_keys[i].name, text);
	}
}

void pp_config_print_defaults(FILE *to)
{
	fputs("# Settings of pathprofd, see pathprofd.conf(5). Every key stands here with its\n"
	      "# default, commented out. Files in pathprofd.conf.d/ override this one.\n\n",
	      to);
	for (size_t i = 0; i < pp_config_key_cnt; i++) {
		print_section(i, to);
		print_key(&pp_config_keys[i], pp_config_keys[i].fallback, to);
	}
	print_default_alerts(to);
}

static bool key_equal(const struct pp_config *a, const struct pp_config *b,
		      const struct pp_config_key *key)
{
	if (is_text(key))
		return !strcmp((const char *)a + key->offset, (const char *)b + key->offset);
	return number(a, key) == number(b, key);
}

void pp_config_adopt(struct pp_config *config, const struct pp_config *wanted, char *ret_rest,
		     size_t rest_size)
{
	size_t len = 0;

	ret_rest[0] = '\0';
	for (size_t i = 0; i < pp_config_key_cnt; i++) {
		const struct pp_config_key *key = &pp_config_keys[i];

		if (key_equal(config, wanted, key))
			continue;
		if (key->live)
			*number_of(config, key) = number(wanted, key);
		else if (len < rest_size)
			len += (size_t)snprintf(ret_rest + len, rest_size - len,
						"%s[%s] %s=", len ? ", " : "", key->section,
						key->name);
	}
	memcpy(config->alerts, wanted->alerts, sizeof(config->alerts));
}

static int join(char *ret_path, size_t path_size, const char *base, int base_len, const char *rest)
{
	int len = snprintf(ret_path, path_size, "%.*s%s", base_len, base, rest);

	return len < 0 || (size_t)len >= path_size ? -ENAMETOOLONG : 0;
}

int pp_config_db_path(const struct pp_config *config, char *ret_path, size_t path_size)
{
	const char *state = getenv("STATE_DIRECTORY"), *home = getenv("HOME");
	const char *xdg = getenv("XDG_STATE_HOME");

	if (config->db_path[0])
		return join(ret_path, path_size, config->db_path, INT16_MAX, "");
	/* systemd splits several directories by colons; ours is the first */
	if (state && state[0])
		return join(ret_path, path_size, state, (int)strcspn(state, ":"), "/profile.db");
	if (geteuid() == 0)
		return join(ret_path, path_size, "/var/lib/pathprof", INT16_MAX, "/profile.db");
	if (xdg && xdg[0] == '/')
		return join(ret_path, path_size, xdg, INT16_MAX, "/pathprof/profile.db");
	if (home && home[0] == '/')
		return join(ret_path, path_size, home, INT16_MAX,
			    "/.local/state/pathprof/profile.db");
	return -ENOENT;
}

int pp_config_baselines_path(const struct pp_config *config, char *ret_path, size_t path_size)
{
	char db[PP_CONFIG_PATH_MAX];
	const char *slash;
	int r;

	if (config->baselines[0])
		return join(ret_path, path_size, config->baselines, INT16_MAX, "");
	r = pp_config_db_path(config, db, sizeof(db));
	if (r < 0)
		return r;
	slash = strrchr(db, '/');
	if (!slash)
		return join(ret_path, path_size, "baselines", INT16_MAX, "");
	return join(ret_path, path_size, db, (int)(slash - db), "/baselines");
}
