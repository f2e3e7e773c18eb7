/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of settings, shared by the files config*.c. Read-only. */
#ifndef PP_CONFIG_KEY_H
#define PP_CONFIG_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pp_config_type {
	PP_CONFIG_PERCENT,
	PP_CONFIG_SPAN,
	PP_CONFIG_SIZE,
	PP_CONFIG_COUNT,
	PP_CONFIG_BOOL,
	PP_CONFIG_CHOICE,
	PP_CONFIG_PATH,
	PP_CONFIG_EVENT,
	PP_CONFIG_SAMPLER,
	PP_CONFIG_DECIMAL, /* millionths */
	PP_CONFIG_PATTERN,
	PP_CONFIG_URL,
	PP_CONFIG_COMMAND,
	PP_CONFIG_LISTEN,
	PP_CONFIG_BASELINE,
	PP_CONFIG_CGROUP,
	PP_CONFIG_ADDRESSES,
};

struct pp_config_key {
	const char *section, *name;
	enum pp_config_type type;
	bool live;         /* can change while running */
	bool zero;         /* 0 is allowed besides min..max: no bound */
	size_t offset;     /* in struct pp_config, or pp_config_alert */
	uint64_t min, max; /* of a text: bytes it has at least; its room, with the NUL */
	const char *const *choices;
	const char *fallback; /* the default, as one writes it */
	const char *help;     /* lines of the commented file, split by newlines */
};

/* A set of keys fits one word. */
#define PP_CONFIG_KEY_MAX 64

extern const struct pp_config_key pp_config_keys[];
extern const size_t pp_config_key_cnt;

/* The keys of a section [Alert NAME]. */
extern const struct pp_config_key pp_config_alert_keys[];
extern const size_t pp_config_alert_key_cnt;
/* NAME of "Alert NAME", or NULL. */
const char *pp_config_alert_name(const char *section);

/* NULL when there is none. */
const struct pp_config_key *pp_config_find(const char *section, const char *name);
bool pp_config_has_section(const char *name, size_t len);

#endif
