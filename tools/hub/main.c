// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprof-hub: its command line. See hub.h. */
#include "hub.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_DAYS 30
#define CERT_DAYS 397

static const char usage[] =
	"Usage: pathprof-hub VERB [OPTION...]\n"
	"\n"
	"Adds up what many hosts recorded. Hosts send their parcels, and pathprofctl --db FILE "
	"asks.\n"
	"\n"
	"  serve --db FILE --listen ADDRESS:PORT --cert FILE --key FILE --ca FILE\n"
	"        [--crl FILE] [--denied FILE] [--keep DAYS] [--tenants DIRECTORY]\n"
	"  send  --db FILE --hub https://HOST:PORT --cert FILE --key FILE --ca FILE [--once] "
	"[--no-names]\n"
	"  fetch --db FILE --hub https://HOST:PORT --cert FILE --key FILE --ca FILE\n"
	"        [--since SECONDS] [--until SECONDS] [--host NAME]\n"
	"  ca    DIRECTORY                    makes a certificate authority there\n"
	"  enrol DIRECTORY NAME [--days N]    makes a host's certificate; --reader: that of\n"
	"                                     somebody who may fetch; --tenant NAME: of one of\n"
	"                                     several tenants; --server --address LIST: the\n"
	"                                     hub's, for these names and addresses\n"
	"\n"
	"      --db FILE      the database: the hub's, the one whose parcels are sent, or the one\n"
	"                     that fetch makes\n"
	"      --listen A:P   where the hub answers; port 0: any, which it then says\n"
	"      --cert, --key  one's own certificate and its key (PEM)\n"
	"      --ca FILE      who may have signed the other side's\n"
	"      --crl FILE     revoked certificates; read again when the file changes\n"
	"      --denied FILE  hosts and readers that are refused, a name a line; read again when "
	"it\n"
	"                     changes\n"
	"      --keep DAYS    older parcels are forgotten (30)\n"
	"      --tenants DIR  serve more tenants than one, each with a database there\n"
	"      --no-names     functions' names stay here: who asks the hub sees places\n"
	"      --once         sends what is there and ends, instead of every five minutes\n"
	"      --since, --until   what ended after and began before, in seconds since 1970\n"
	"  -h, --help         this text\n"
	"  -V, --version      version\n"
	"\n"
	"To begin with:\n"
	"  pathprof-hub ca ca && pathprof-hub enrol ca hub --server --address hub.example.org\n"
	"  pathprof-hub enrol ca web1\n";

enum {
	OPTION_DB = 256,
	OPTION_LISTEN,
	OPTION_HUB,
	OPTION_CERT,
	OPTION_KEY,
	OPTION_CA,
	OPTION_CRL,
	OPTION_DENIED,
	OPTION_KEEP,
	OPTION_DAYS,
	OPTION_ADDRESS,
	OPTION_SERVER,
	OPTION_READER,
	OPTION_ONCE,
	OPTION_NO_NAMES,
	OPTION_SINCE,
	OPTION_UNTIL,
	OPTION_HOST,
	OPTION_TENANTS,
	OPTION_TENANT,
};

static const struct option long_options[] = {
	{"db", required_argument, NULL, OPTION_DB},
	{"listen", required_argument, NULL, OPTION_LISTEN},
	{"hub", required_argument, NULL, OPTION_HUB},
	{"cert", required_argument, NULL, OPTION_CERT},
	{"key", required_argument, NULL, OPTION_KEY},
	{"ca", required_argument, NULL, OPTION_CA},
	{"crl", required_argument, NULL, OPTION_CRL},
	{"denied", required_argument, NULL, OPTION_DENIED},
	{"keep", required_argument, NULL, OPTION_KEEP},
	{"days", required_argument, NULL, OPTION_DAYS},
	{"address", required_argument, NULL, OPTION_ADDRESS},
	{"server", no_argument, NULL, OPTION_SERVER},
	{"reader", no_argument, NULL, OPTION_READER},
	{"once", no_argument, NULL, OPTION_ONCE},
	{"no-names", no_argument, NULL, OPTION_NO_NAMES},
	{"since", required_argument, NULL, OPTION_SINCE},
	{"until", required_argument, NULL, OPTION_UNTIL},
	{"host", required_argument, NULL, OPTION_HOST},
	{"tenants", required_argument, NULL, OPTION_TENANTS},
	{"tenant", required_argument, NULL, OPTION_TENANT},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{0},
};

static const struct {
	const char *name;
	int (*run)(const struct hub_options *options);
} verbs[] = {
	{"serve", hub_serve}, {"send", hub_send},   {"fetch", hub_fetch},
	{"ca", hub_ca},       {"enrol", hub_enrol},
};

/* ---------------------------------------------------------------- what is said */

static void say(const char *verb, const char *format, va_list arguments)
{
	char text[2048];

	vsnprintf(text, sizeof(text), format, arguments);
	/* Names come from hosts: nothing of them may reach into a terminal. */
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
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

/* ---------------------------------------------------------------- the command line */

static bool parse_days(const char *text, uint32_t *ret_days)
{
	char *end;
	unsigned long days;

	errno = 0;
	days = strtoul(text, &end, 10);
	*ret_days = (uint32_t)days;
	return text[0] >= '1' && text[0] <= '9' && !*end && !errno && days <= 36500;
}

static bool take_days(struct hub_options *options, int option, const char *value)
{
	uint32_t days;

	if (!parse_days(value, &days))
		return false;
	if (option == OPTION_KEEP)
		options->keep_s = days * 86400ll;
	else
		options->days = days;
	return true;
}

/* Where the value of an option that is a text belongs; NULL: it is another one. */
static const char **text_of(struct hub_options *options, int option)
{
	switch (option) {
	case OPTION_DB:
		return &options->db;
	case OPTION_LISTEN:
		return &options->listen;
	case OPTION_HUB:
		return &options->hub;
	case OPTION_CERT:
		return &options->certificate;
	case OPTION_KEY:
		return &options->key;
	case OPTION_CA:
		return &options->ca;
	case OPTION_CRL:
		return &options->crl;
	case OPTION_DENIED:
		return &options->denied;
	case OPTION_ADDRESS:
		return &options->addresses;
	case OPTION_SINCE:
		return &options->since;
	case OPTION_UNTIL:
		return &options->until;
	case OPTION_HOST:
		return &options->host;
	case OPTION_TENANTS:
		return &options->tenants;
	case OPTION_TENANT:
		return &options->tenant;
	default:
		return NULL;
	}
}

/* HUB_OK, or an exit status: then nothing is to be done. -1: go on. */
static int take_option(struct hub_options *options, int option, const char *value)
{
	const char **text = text_of(options, option);

	if (text)
		*text = value;
	else if (option == 'h')
		return fputs(usage, stdout) < 0 ? HUB_FAILURE : HUB_OK;
	else if (option == 'V')
		return puts("pathprof-hub " PATHPROF_VERSION) < 0 ? HUB_FAILURE : HUB_OK;
	else if (option == OPTION_SERVER)
		options->server = true;
	else if (option == OPTION_READER)
		options->reader = true;
	else if (option == OPTION_ONCE)
		options->once = true;
	else if (option == OPTION_NO_NAMES)
		options->no_names = true;
	else if (option == '?')
		return hub_usage(options, "no such option, or a value is missing");
	else if (!take_days(options, option, value))
		return hub_usage(options, "%s: a number of days is needed", value);
	return -1;
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
	struct hub_options options = {.keep_s = KEEP_DAYS * 86400ll, .days = CERT_DAYS};
	int option, r;

	signal(SIGPIPE, SIG_IGN);
	opterr = 0;
	while ((option = getopt_long(argc, argv, "hV", long_options, NULL)) != -1) {
		r = take_option(&options, option, optarg);
		if (r >= 0)
			return r;
	}
	if (optind == argc)
		return hub_usage(&options, "a verb is needed: serve, send, fetch, ca or enrol");
	options.verb = argv[optind];
	options.argc = argc - optind - 1;
	options.argv = argv + optind + 1;
	return run_verb(&options);
}
