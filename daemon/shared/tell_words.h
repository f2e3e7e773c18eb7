/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names, times and paths as all messages of alerts have them, in JSON and in the line for people.
 */
#ifndef PP_TELL_WORDS_H
#define PP_TELL_WORDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config.h"

/* RFC 3339, UTC, with milliseconds; null: 0, which is never. */
json_t *pp_tell_time_json(int64_t time_ns);
/* "2026-01-31 12:00:00 UTC" */
void pp_tell_put_time(int64_t time_ns, FILE *to);
/* Whether no character of it has a meaning to a shell. */
bool pp_tell_is_plain(const char *text);
/*
 * " --db PATH", quoted as a shell wants it, behind a command of pathprofctl; nothing where
 * pathprofctl finds the service's database without it.
 */
void pp_tell_put_db(const struct pp_config *config, FILE *to);

#endif
