// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of settings and what follows from it: see config.h. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_key.h"
#include "config_value.h"
#include "pathprof/abi.h"
#include "pathprof/paths.h"

#define SECOND_NS UINT64_C(1000000000)
#define DAY_NS    (86400 * SECOND_NS)
#define MIB       (UINT64_C(1) << 20)
#define TIB       (UINT64_C(1) << 40)

static const char *const sources[] = {[PP_CONFIG_SOURCE_AUTO] = "auto",
				      [PP_CONFIG_SOURCE_KMOD_LBR] = "kmod-lbr",
				      [PP_CONFIG_SOURCE_KMOD_SWLBR] = "kmod-swlbr",
				      [PP_CONFIG_SOURCE_STEP] = "step",
				      NULL};
static const char *const compress[] = {[PP_CONFIG_COMPRESS_AUTO] = "auto",
				       [PP_CONFIG_COMPRESS_YES] = "yes",
				       [PP_CONFIG_COMPRESS_NO] = "no",
				       NULL};
static const char *const mappings[] = {
	[PATHPROF_MAPPING_BL] = "bl", [PATHPROF_MAPPING_WPP] = "wpp", NULL};

#define FIELD(name) offsetof(struct pp_config, name)

const struct pp_config_key pp_config_keys[] = {
	{"Profile", "Source", PP_CONFIG_CHOICE, false, false, FIELD(source), 0, 0, sources, "auto",
	 "Where branches come from: auto takes the best source that can run here, in this\n"
	 "order. kmod-lbr: the processor's branch stack, by the kernel module. kmod-swlbr:\n"
	 "the kernel module takes a thread through its next branches by debug traps.\n"
	 "step holds a running thread for a moment and steps through it (ptrace)."},
	{"Profile", "Overhead", PP_CONFIG_PERCENT, true, false, FIELD(overhead_ppm), 10, 1000000,
	 NULL, "0.5%",
	 "The budget: share of all CPUs' time that profiled threads may be held and the\n"
	 "source may compute. It is measured, and the rate follows."},
	{"Profile", "WindowSec", PP_CONFIG_SPAN, true, false, FIELD(window_ns), SECOND_NS / 10,
	 DAY_NS, NULL, "1min",
	 "How long one window lasts. A window is written when it closes; a crash loses\n"
	 "at most the open one."},
	{"Profile", "TakenBranches", PP_CONFIG_COUNT, true, false, FIELD(taken_wanted), 4,
	 PATHPROF_BURST_MAX / 2, NULL, "32",
	 "Taken branches in one burst. Longer bursts see longer paths, and hold a thread\n"
	 "for longer."},
	{"Profile", "FrequencyHz", PP_CONFIG_COUNT, true, false, FIELD(frequency_hz), 1, 10000,
	 NULL, "199", "Samples a second and CPU that are offered before the budget decides."},
	{"Profile", "Mapping", PP_CONFIG_CHOICE, false, false, FIELD(mapping), 0, 0, mappings, "bl",
	 "What a path is. bl: a call begins the callee's path, the caller's goes on when it\n"
	 "returns. wpp: a call ends the caller's path, and a new one begins at the return."},
	{"Profile", "PinTargets", PP_CONFIG_BOOL, false, false, FIELD(pin), 0, 1, NULL, "yes",
	 "Keep a thread on one CPU while it is stepped: a tenth of the cost."},
	{"Profile", "Compress", PP_CONFIG_CHOICE, false, false, FIELD(compress), 0, 0, compress,
	 "auto",
	 "kmod-lbr: count paths in the kernel instead of handing over every window; they\n"
	 "are then those of Mapping=wpp, whatever that says. auto: yes for the service, no\n"
	 "for a recording. The other sources hand windows over."},
	{"Profile", "Event", PP_CONFIG_TEXT, false, false, FIELD(event), 0, PP_CONFIG_EVENT_MAX,
	 NULL, "",
	 "kmod-lbr: the event to sample on, as libpfm4 names it or as perf writes it:\n"
	 "pmu/config=0x20c4/. It should count taken branches: windows are taken to say how\n"
	 "often code runs. Empty: taken branches, as this processor counts them."},
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
	 "Windows older than this go. 0: kept for as long as MaxUse= lets them."},
	{"Limits", "MemoryMax", PP_CONFIG_SIZE, false, false, FIELD(memory_max_bytes), MIB,
	 4096 * MIB, NULL, "64M",
	 "Most memory for the tables of the open window. What does not fit is counted."},
};
_Static_assert(sizeof(pp_config_keys) / sizeof(pp_config_keys[0]) <= PP_CONFIG_KEY_MAX,
	       "config: keys");
const size_t pp_config_key_cnt = sizeof(pp_config_keys) / sizeof(pp_config_keys[0]);

const struct pp_config_key *pp_config_find(const char *section, const char *name)
{
	for (size_t i = 0; i < pp_config_key_cnt; i++)
		if (!strcmp(pp_config_keys[i].section, section) &&
		    !strcmp(pp_config_keys[i].name, name))
			return &pp_config_keys[i];
	return NULL;
}

bool pp_config_has_section(const char *name, size_t len)
{
	for (size_t i = 0; i < pp_config_key_cnt; i++)
		if (strlen(pp_config_keys[i].section) == len &&
		    !strncmp(pp_config_keys[i].section, name, len))
			return true;
	return false;
}

static bool is_text(const struct pp_config_key *key)
{
	return key->type == PP_CONFIG_PATH || key->type == PP_CONFIG_TEXT;
}

static uint64_t *number_of(struct pp_config *config, const struct pp_config_key *key)
{
	return (uint64_t *)(void *)((char *)config + key->offset);
}

static uint64_t number(const struct pp_config *config, const struct pp_config_key *key)
{
	return *(const uint64_t *)(const void *)((const char *)config + key->offset);
}

static int read_number(const struct pp_config_key *key, const char *text, uint64_t *ret_value)
{
	switch (key->type) {
	case PP_CONFIG_PERCENT:
		return pp_value_percent(text, ret_value);
	case PP_CONFIG_SPAN:
		return pp_value_span(text, ret_value);
	case PP_CONFIG_SIZE:
		return pp_value_size(text, ret_value);
	case PP_CONFIG_COUNT:
		return pp_value_count(text, ret_value);
	case PP_CONFIG_BOOL:
		return pp_value_bool(text, ret_value);
	case PP_CONFIG_CHOICE:
		return pp_value_choice(text, key->choices, ret_value);
	case PP_CONFIG_PATH:
	case PP_CONFIG_TEXT:
		break;
	}
	return -EINVAL;
}

static void format_number(const struct pp_config_key *key, uint64_t value, char *text, size_t size)
{
	switch (key->type) {
	case PP_CONFIG_PERCENT:
		pp_format_percent(value, text, size);
		return;
	case PP_CONFIG_SPAN:
		pp_format_span(value, text, size);
		return;
	case PP_CONFIG_SIZE:
		pp_format_size(value, text, size);
		return;
	case PP_CONFIG_BOOL:
		snprintf(text, size, "%s", value ? "yes" : "no");
		return;
	case PP_CONFIG_CHOICE:
		snprintf(text, size, "%s", key->choices[value]);
		return;
	case PP_CONFIG_COUNT:
	case PP_CONFIG_PATH:
	case PP_CONFIG_TEXT:
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
		snprintf(text, size, "%s",
			 key->type == PP_CONFIG_BOOL   ? "yes or no"
			 : key->type == PP_CONFIG_PATH ? "a path"
						       : "an event");
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
	return pathprof_fail(error, code, "%s=%.64s: %s, wanted %s", key->name, value,
			     code == -ERANGE ? "out of range" : "bad value", wanted);
}

static int set_text(struct pp_config *config, const struct pp_config_key *key, const char *value,
		    struct pathprof_error *error)
{
	size_t len = strlen(value);

	if (len >= key->max)
		return refuse(key, value, -ERANGE, error);
	memcpy((char *)config + key->offset, value, len + 1);
	return 0;
}

static bool in_range(const struct pp_config_key *key, uint64_t value)
{
	if (key->type == PP_CONFIG_CHOICE || (key->zero && value == 0))
		return true;
	return value >= key->min && value <= key->max;
}

static int set_key(struct pp_config *config, const struct pp_config_key *key, const char *value,
		   struct pathprof_error *error)
{
	uint64_t v = 0;
	int r;

	if (is_text(key))
		return set_text(config, key, value, error);
	r = read_number(key, value, &v);
	if (r == 0 && !in_range(key, v))
		r = -ERANGE;
	if (r < 0)
		return refuse(key, value, r, error);
	*number_of(config, key) = v;
	return 0;
}

int pp_config_set(struct pp_config *config, const char *section, const char *name,
		  const char *value, struct pathprof_error *error)
{
	const struct pp_config_key *key = pp_config_find(section, name);

	if (!key)
		return pathprof_fail(error, -ENOENT, "[%.64s] %.64s=: no such setting", section,
				     name);
	return set_key(config, key, value, error);
}

void pp_config_defaults(struct pp_config *ret_config)
{
	struct pp_config config = {0};

	for (size_t i = 0; i < pp_config_key_cnt; i++)
		if (set_key(&config, &pp_config_keys[i], pp_config_keys[i].fallback, NULL) < 0)
			abort(); /* the table contradicts itself: the first unit test's matter */
	*ret_config = config;
}

static void format_key(const struct pp_config *config, const struct pp_config_key *key, char *text,
		       size_t size)
{
	if (is_text(key))
		snprintf(text, size, "%s", (const char *)config + key->offset);
	else
		format_number(key, number(config, key), text, size);
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

void pp_config_print_defaults(FILE *to)
{
	char wanted[128];

	fputs("# Settings of pathprofd, see pathprofd.conf(5). Every key stands here with its\n"
	      "# default, commented out. Files in pathprofd.conf.d/ override this one.\n\n",
	      to);
	for (size_t i = 0; i < pp_config_key_cnt; i++) {
		const struct pp_config_key *key = &pp_config_keys[i];

		print_section(i, to);
		print_help(key->help, to);
		describe(key, wanted, sizeof(wanted));
		fprintf(to, "# Wanted: %s.%s\n", wanted,
			key->live ? "" : " A change needs a restart.");
		fprintf(to, "#%s=%s\n", key->name, key->fallback);
	}
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
						"%s%s=", len ? " " : "", key->name);
	}
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
