// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprof-hub's options: see hub.h. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/options.h"
#include "hub.h"

#define KEEP_DAYS 30
#define CERT_DAYS 397
#define DAYS_MAX  36500

static int set_days(void *context, const struct pp_option *option, const char *value)
{
	char *end;
	unsigned long days;

	errno = 0;
	days = strtoul(value, &end, 10);
	if (value[0] < '1' || value[0] > '9' || *end)
		return -EINVAL;
	if (errno || days > DAYS_MAX)
		return -ERANGE;
	*(uint32_t *)((char *)context + option->number) = (uint32_t)days;
	return 0;
}

/* "" means none: units pass it when their environment does not set the option. */
static int set_labels(void *context, const struct pp_option *option, const char *value)
{
	char labels[PATHPROF_LABELS_BYTES] = "";

	*(const char **)((char *)context + option->number) = *value ? value : NULL;
	return pathprof_labels_add(labels, value);
}

#define TEXT(field) pp_option_text, offsetof(struct hub_options, field)
#define FLAG(field) pp_option_flag, offsetof(struct hub_options, field)
#define DAYS(field) set_days, offsetof(struct hub_options, field)

static const struct pp_option rows[] = {
	{"db", 0, "FILE",
	 "the database: the hub's, the one whose parcels are sent, or the one that "
	 "fetch makes",
	 TEXT(db)},
	{"listen", 0, "ADDR:PORT", "where the hub answers; port 0: any, which it then says",
	 TEXT(listen)},
	{"hub", 0, "URL", "the hub: https://HOST:PORT", TEXT(hub)},
	{"cert", 0, "FILE", "one's own certificate (PEM)", TEXT(certificate)},
	{"key", 0, "FILE", "its key (PEM)", TEXT(key)},
	{"ca", 0, "FILE", "who may have signed the other side's certificate", TEXT(ca)},
	{"crl", 0, "FILE", "revoked certificates; read again when the file changes", TEXT(crl)},
	{"denied", 0, "FILE",
	 "hosts and readers that are refused, a name a line; read again when it changes",
	 TEXT(denied)},
	{"keep", 0, "DAYS", "older parcels are forgotten (30)", DAYS(keep_days)},
	{"roll", 0, "DAYS", "what is older is summed up by hour and host", DAYS(roll_days)},
	{"tenants", 0, "DIR", "serve more tenants than one, each with a database there",
	 TEXT(tenants)},
	{"config", 0, "FILE", "rules of alerts: sections [Alert NAME], see docs/fleet.md",
	 TEXT(config)},
	{"files", 0, "DIR", "binaries for profiles, by build-id: DIR/ab/cdef...", TEXT(files)},
	{"no-names", 0, NULL, "send no names of functions: who asks the hub sees places",
	 FLAG(no_names)},
	{"upload", 0, NULL,
	 "send files of programs, too, where the hub asks for them and they may be read",
	 FLAG(upload)},
	{"once", 0, NULL, "send what is there and end, instead of every five minutes", FLAG(once)},
	{"binary", 0, "WHICH", "make the profile of this path or build-id", TEXT(binary)},
	{"format", 0, "FORMAT", "in this format, as pathprofctl export knows it", TEXT(format)},
	{"scratch", 0, "DIR", "with files in this directory", TEXT(scratch)},
	{"since", 0, "SECONDS", "fetch or judge what ended after, in seconds since 1970",
	 TEXT(since)},
	{"until", 0, "SECONDS", "fetch or judge what began before", TEXT(until)},
	{"host", 0, "NAME", "fetch of this host alone, or make a profile of it", TEXT(host)},
	{"workload", 0, "NAME", "make a profile of what this container, service or command ran",
	 TEXT(workload)},
	{"release", 0, "DIGITS", "make it of the build whose build-id begins so", TEXT(release)},
	{"labels", 0, "LIST",
	 "labels of the host that sends, as 'dc=ams role=web'; fetch or make a profile of hosts "
	 "that have them all",
	 set_labels, offsetof(struct hub_options, labels)},
	{"hosts", 0, "FILE", "fetch, and write as JSON what the hub says of each host",
	 TEXT(hosts)},
	{"alerts", 0, NULL, "fetch the alerts alone", FLAG(alerts)},
	{"build", 0, "BUILDID", "fetch the file of this build alone, as the file that --db names",
	 TEXT(build)},
	{"days", 0, "DAYS", "how long a certificate holds (397)", DAYS(days)},
	{"reader", 0, NULL, "make the certificate of somebody who may fetch", FLAG(reader)},
	{"tenant", 0, "NAME", "make that of one of several tenants", TEXT(tenant)},
	{"server", 0, NULL, "make the hub's certificate", FLAG(server)},
	{"address", 0, "LIST", "for these names and addresses of it", TEXT(addresses)},
	{"help", 'h', NULL, "this text", FLAG(help)},
	{"version", 'V', NULL, "version", FLAG(version)},
	{NULL},
};

void hub_options_help(void)
{
	puts("Usage: pathprof-hub VERB [OPTION...]\n"
	     "\n"
	     "Adds up what many hosts recorded. Hosts send their parcels, and pathprofctl --hub "
	     "URL "
	     "asks.\n"
	     "\n"
	     "  serve --db FILE --listen ADDR:PORT --cert FILE --key FILE --ca FILE\n"
	     "        [--crl FILE] [--denied FILE] [--keep DAYS] [--roll DAYS] [--tenants DIR]\n"
	     "        [--config FILE] [--files DIR]\n"
	     "  judge --db FILE --since SECONDS --until SECONDS\n"
	     "  pgo   --db FILE --since SECONDS --until SECONDS --binary WHICH --format FORMAT\n"
	     "        --scratch DIR [--files DIR] [--host NAME] [--labels LIST] [--workload NAME]\n"
	     "        [--release DIGITS]\n"
	     "  send  --db FILE --hub URL --cert FILE --key FILE --ca FILE [--once] [--no-names]\n"
	     "        [--labels LIST] [--upload]\n"
	     "  fetch --db FILE --hub URL --cert FILE --key FILE --ca FILE\n"
	     "        [--since SECONDS] [--until SECONDS] [--host NAME] [--labels LIST] "
	     "[--alerts]\n"
	     "        [--hosts FILE] [--build BUILDID]\n"
	     "  ca    DIRECTORY               makes a certificate authority there\n"
	     "  enrol DIRECTORY NAME          makes a host's certificate\n"
	     "        [--days DAYS] [--reader] [--tenant NAME] [--server --address LIST]\n"
	     "  demo                          shows a hub and three hosts on this machine\n");
	pp_options_help(rows, stdout);
	puts("\n"
	     "To begin with:\n"
	     "  pathprof-hub ca ca\n"
	     "  pathprof-hub enrol ca hub --server --address hub.example.org\n"
	     "  pathprof-hub enrol ca web1");
}

int hub_options_parse(struct hub_options *ret_options, int argc, char **argv)
{
	struct hub_options options = {.keep_days = KEEP_DAYS, .days = CERT_DAYS};
	char why[256];
	int operands;

	if (pp_options_parse(rows, argc, argv, false, &options, &operands, why, sizeof(why)) < 0)
		return hub_usage(&options, "%s", why);
	if (operands < argc)
		options.verb = argv[operands++];
	else if (!options.help && !options.version)
		return hub_usage(&options,
				 "a verb is needed: serve, judge, pgo, send, fetch, ca, enrol "
				 "or demo");
	options.argc = argc - operands;
	options.argv = argv + operands;
	*ret_options = options;
	return HUB_OK;
}
