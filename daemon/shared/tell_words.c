// SPDX-License-Identifier: GPL-2.0-or-later
/* See tell_words.h. */
#include "tell_words.h"

#include <string.h>
#include <time.h>

#define SECOND_NS 1000000000
/* The database that pathprofctl looks at by itself. */
#define SYSTEM_DB "/var/lib/pathprof/profile.db"

json_t *pp_tell_time_json(int64_t time_ns)
{
	char text[40], full[64];
	time_t seconds = (time_t)(time_ns / SECOND_NS);
	struct tm tm;

	if (time_ns <= 0 || !gmtime_r(&seconds, &tm))
		return json_null();
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(full, sizeof(full), "%s.%03dZ", text, (int)(time_ns / 1000000 % 1000));
	return json_string(full);
}

void pp_tell_put_time(int64_t time_ns, FILE *to)
{
	time_t seconds = (time_t)(time_ns / SECOND_NS);
	char text[40] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm);
	fputs(text, to);
}

bool pp_tell_is_plain(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789/_-.+:@%";

	return !text[strspn(text, letters)];
}

/* A quote ends the quoted part, stands by itself behind a backslash, and begins the next part. */
static void put_quoted(const char *text, FILE *to)
{
	fputc('\'', to);
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", to);
		else
			fputc(*text, to);
	fputc('\'', to);
}

void pp_tell_put_db(const struct pp_config *config, FILE *to)
{
	char path[PP_CONFIG_PATH_MAX];

	if (pp_config_db_path(config, path, sizeof(path)) < 0 || !strcmp(path, SYSTEM_DB))
		return;
	fputs(" --db ", to);
	if (pp_tell_is_plain(path))
		fputs(path, to);
	else
		put_quoted(path, to);
}
