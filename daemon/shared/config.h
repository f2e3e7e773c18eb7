/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings: an INI file (inih), its drop-ins in order of name, then the command line. One static
 * table of keys (config.c) drives reading, --check-config and --print-config.
 *
 * Workload: read at the start and on SIGHUP. A file is hostile until read: whatever is unknown,
 * malformed, out of range, repeated or too long is refused with one line that names file and
 * line, and nothing of it takes effect. Pure but for reading files; any thread.
 */
#ifndef PP_CONFIG_H
#define PP_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pathprof/error.h"

#define PP_CONFIG_FILE     "/etc/pathprof/pathprofd.conf"
#define PP_CONFIG_PATH_MAX 1024

/* How both programs end where trying again cannot help: systemd starts them no more then. 78 is
 * EX_CONFIG of sysexits.h. */
enum { PP_EXIT_USAGE = 2, PP_EXIT_CONFIG = 78 };

/* The best source that can run here; else a row of PATHPROF_SOURCES(), counted from 1. */
#define PP_CONFIG_SOURCE_AUTO 0

enum pp_config_compress {
	PP_CONFIG_COMPRESS_AUTO, /* yes for a whole system, no for a recording */
	PP_CONFIG_COMPRESS_YES,
	PP_CONFIG_COMPRESS_NO,
};

#define PP_CONFIG_EVENT_MAX 128

/* Rules, [Alert NAME]; those of no name are free. */
#define PP_CONFIG_ALERT_MAX   16
#define PP_CONFIG_NAME_MAX    40
#define PP_CONFIG_PATTERN_MAX 256
/* The name of the rule that [Tested] makes, which no section may have. */
#define PP_CONFIG_RULE_TESTED "untested"

/* A rule is applied by pathprofd to this machine, or by a hub to its fleet. */
enum pp_config_scope {
	PP_CONFIG_SCOPE_MACHINE,
	PP_CONFIG_SCOPE_HOST,    /* a host that stands out from those that run the same build */
	PP_CONFIG_SCOPE_RELEASE, /* a build that stands out from the build before */
};

struct pp_config_alert {
	char name[PP_CONFIG_NAME_MAX];
	uint64_t enabled;                       /* 0 or 1 */
	uint64_t scope;                         /* enum pp_config_scope */
	uint64_t metric;                        /* enum pathprof_metric */
	uint64_t threshold_ppm, hysteresis_ppm; /* millionths of the metric's unit */
	uint64_t samples_min;
	uint64_t pooled, windows, resolve_windows; /* windows */
	uint64_t cool_down_ns;
	char binary[PP_CONFIG_PATTERN_MAX], container[PP_CONFIG_PATTERN_MAX]; /* fnmatch(3) */
	char baseline[PP_CONFIG_NAME_MAX];
};

/* Every number is a uint64_t, so that the table of keys can point at it. */
struct pp_config {
	uint64_t source;       /* see PP_CONFIG_SOURCE_AUTO */
	uint64_t overhead_ppm; /* share of all CPUs' time */
	uint64_t window_ns;
	uint64_t taken_wanted; /* taken branches a burst, where it is counted in them */
	uint64_t horizon;      /* instructions a burst of a source that samples on a clock */
	uint64_t hold_max_ns;  /* a burst holds its thread so long at most */
	uint64_t frequency_hz;
	uint64_t clock_hz;      /* of the clock beside the source; 0: none */
	uint64_t mapping;       /* enum pathprof_mapping */
	uint64_t pin;           /* 0 or 1 */
	uint64_t realtime;      /* 0 or 1 */
	uint64_t callers;       /* 0 or 1 */
	uint64_t segments;      /* 0 or 1 */
	uint64_t compress;      /* enum pp_config_compress */
	uint64_t max_use_bytes; /* 0: no bound */
	uint64_t keep_free_bytes;
	uint64_t max_retention_ns;          /* 0: no bound */
	uint64_t memory_max_bytes;          /* of the open window's tables */
	char db_path[PP_CONFIG_PATH_MAX];   /* "": the default, see pp_config_db_path */
	char event[PP_CONFIG_EVENT_MAX];    /* "": taken branches, as this processor counts them */
	char sampler[PP_CONFIG_EVENT_MAX];  /* notation of the compressor, "": the source's own */
	char cgroup[PP_CONFIG_PATTERN_MAX]; /* as pp_cgroup_find takes it, "": all */
	char addresses[PP_CONFIG_NAME_MAX]; /* as pp_value_addresses takes it, "": all */

	uint64_t drift;                     /* 0 or 1 */
	uint64_t rolling_ns;                /* what the rolling baseline spans */
	char baselines[PP_CONFIG_PATH_MAX]; /* directory; "": see pp_config_baselines_path */
	uint64_t drift_previous;            /* 0 or 1 */
	uint64_t drift_samples_min;         /* windows of fewer are not measured */
	uint64_t drift_subjects_max, drift_memory_max_bytes;
	char tested[PP_CONFIG_PATH_MAX]; /* directory; "": none */
	uint64_t tested_alert_ppm;       /* share; 0: no alert */
	uint64_t tested_span_ns;         /* of which the share is */
	struct pp_config_alert alerts[PP_CONFIG_ALERT_MAX];
	uint64_t tell_journal; /* 0 or 1 */
	char tell_exec[PP_CONFIG_PATH_MAX], tell_alertmanager[PP_CONFIG_PATH_MAX];
	char tell_webhook[PP_CONFIG_PATH_MAX]; /* "": none, of these three */
	char tell_bearer_file[PP_CONFIG_PATH_MAX], tell_ca_file[PP_CONFIG_PATH_MAX];
	char metrics_listen[PP_CONFIG_EVENT_MAX]; /* "": no endpoint */
};

void pp_config_defaults(struct pp_config *ret_config);

/*
 * Sets one key from text. -EINVAL (bad value), -ERANGE (out of range), -ENOENT (no such key):
 * error says what was wanted, *config is unchanged.
 */
int pp_config_set(struct pp_config *config, const char *section, const char *name,
		  const char *value, struct pathprof_error *error);

/* -EINVAL: values that are good each, and cannot be together. */
int pp_config_check(const struct pp_config *config, struct pathprof_error *error);
/* Applies one file's text, alone. name is for messages. *config is unchanged on failure: -EINVAL.
 */
int pp_config_parse(struct pp_config *config, const char *name, const char *text, size_t len_bytes,
		    struct pathprof_error *error);

/*
 * Applies file and file.d/ *.conf, whose values are checked together at the end. A missing file is
 * an error (-ENOENT) when required, else no change, and its drop-ins count. *config is unchanged on
 * failure.
 */
int pp_config_load(struct pp_config *config, const char *file, bool required,
		   struct pathprof_error *error);

/* The settings as a file, without comments. */
void pp_config_print(const struct pp_config *config, FILE *to);
/* The defaults as a file in which every key is commented out and explained. */
void pp_config_print_defaults(FILE *to);

/*
 * Takes over from *wanted what can change while running. Sections and names of the keys that differ
 * but need a restart go to ret_rest, split by commas ("" for none).
 */
void pp_config_adopt(struct pp_config *config, const struct pp_config *wanted, char *ret_rest,
		     size_t rest_size);

/*
 * The path of the store: the setting, else $STATE_DIRECTORY, else /var/lib/pathprof for root and
 * $XDG_STATE_HOME/pathprof for anybody else. -ENAMETOOLONG; -ENOENT without a home.
 */
int pp_config_db_path(const struct pp_config *config, char *ret_path, size_t path_size);
/* The directory of baselines: the setting, else "baselines" beside the store. Errors as above. */
int pp_config_baselines_path(const struct pp_config *config, char *ret_path, size_t path_size);

#endif
