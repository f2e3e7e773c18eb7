// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprof-hub: its verbs, and what it says. See hub.h. */
#include "hub.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/children.h"
#include "base/controls.h"

static const struct {
	const char *name;
	int (*run)(const struct hub_options *options);
} verbs[] = {
	{"serve", hub_serve}, {"judge", hub_judge}, {"pgo", hub_pgo},     {"send", hub_send},
	{"fetch", hub_fetch}, {"ca", hub_ca},       {"enrol", hub_enrol}, {"demo", hub_demo},
};

/* ---------------------------------------------------------------- what is said */

static void say(const char *verb, const char *format, va_list arguments)
{
	char text[2048];

	vsnprintf(text, sizeof(text), format, arguments);
	/* Names come from hosts: nothing of them may reach into a terminal. */
	pp_controls_replace(text, strlen(text), '?');
	fprintf(stderr, "pathprof-hub: %s%s%s\n", verb ? verb : "", verb ? ": " : "", text);
}

int hub_fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(NULL, format, arguments);
	va_end(arguments);
	return HUB_FAILURE;
}

void hub_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(NULL, format, arguments);
	va_end(arguments);
}

int hub_usage(const struct hub_options *options, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(options->verb, format, arguments);
	va_end(arguments);
	fputs("pathprof-hub --help says more\n", stderr);
	return HUB_USAGE;
}

/* ---------------------------------------------------------------- names, and ids of stores */

bool hub_is_plain_name(const char *name)
{
	return name[0] && name[0] != '.' &&
	       !name[strspn(name,
			    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")];
}

char *hub_store_text(const uint8_t store[PATHPROF_PARCEL_STORE_BYTES], char text[HUB_STORE_TEXT])
{
	for (int i = 0; i < PATHPROF_PARCEL_STORE_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", store[i]);
	return text;
}

bool hub_store_parse(const char *text, uint8_t ret_store[PATHPROF_PARCEL_STORE_BYTES])
{
	if (strlen(text) != HUB_STORE_TEXT - 1 || text[strspn(text, "0123456789abcdef")])
		return false;
	for (int i = 0; i < PATHPROF_PARCEL_STORE_BYTES; i++)
		sscanf(text + 2 * i, "%2hhx", &ret_store[i]);
	return true;
}

static int run_verb(struct hub_options *options)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, options->verb) == 0)
			return verbs[i].run(options);
	return hub_usage(options, "no such verb");
}

int main(int argc, char **argv)
{
	struct hub_options options;
	int r = hub_options_parse(&options, argc, argv);

	if (r != HUB_OK)
		return r;
	signal(SIGPIPE, SIG_IGN);
	pp_children_leave_status(NULL);
	if (options.help)
		hub_options_help();
	else if (options.version)
		puts("pathprof-hub " PATHPROF_VERSION);
	else
		return run_verb(&options);
	return fflush(stdout) == 0 ? HUB_OK : HUB_FAILURE;
}
