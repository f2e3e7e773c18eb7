/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pathprof-hub: hosts send it parcels (pathprof/parcel.h), and it adds them up in one database that
 * pathprofctl reads. Its verbs are one file each:
 *
 *     serve   takes parcels over TLS; the sender is known by a certificate, and by nothing else
 *     judge   finds hosts and builds that stand out in a span of time; serve runs it for alerts
 *     pgo     the profile of one build over all hosts; serve runs it for GET /v1/pgo/
 *     send    the host's part: asks which slots the hub has, and sends those that it lacks
 *     fetch   the reader's part: gets the sum of what hosts ran, as a database
 *     ca, enrol   a private authority and certificates, for fleets that have none of their own
 *     demo    all of it on one machine, by a script that runs these and pathprofctl
 *
 * The protocol is in docs/fleet.md.
 */
#ifndef HUB_H
#define HUB_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/error.h"
#include "pathprof/parcel.h"

/* HUB_NONE and HUB_NO_FILE are results of pgo alone, which prints why there is no profile. With
 * HUB_NO_FILE, a host that may upload files could help. */
enum hub_exit { HUB_OK = 0, HUB_FAILURE = 1, HUB_USAGE = 2, HUB_NONE = 4, HUB_NO_FILE = 5 };

/* The options of the command line; NULL: not given. */
struct hub_options {
	const char *db, *listen, *hub;
	const char *certificate, *key, *ca, *crl, *denied;
	const char *addresses;     /* of a server, for its certificate; commas between them */
	const char *tenants;       /* serve: the directory of the tenants' databases */
	const char *tenant;        /* enrol: the tenant that the certificate is for */
	const char *host;          /* fetch, pgo: this host alone */
	const char *labels;        /* send: this host's; fetch, pgo: only hosts that have these */
	const char *workload;      /* pgo: this container, service or command alone; or NULL */
	const char *release;       /* pgo: first digits of the build-id wanted; or NULL */
	const char *since, *until; /* fetch, judge, pgo: seconds since 1970 */
	const char *files;         /* serve, pgo: directory of binaries by build-id, or NULL */
	const char *binary;        /* pgo: a path, or digits of a build-id */
	const char *format;        /* pgo */
	const char *scratch;       /* pgo: a directory */
	const char *config;        /* serve: a file of rules; NULL: those that are built in */
	uint32_t keep_days, days;
	uint32_t roll_days; /* serve; 0: not said */
	const char *build;  /* fetch: gets only the file of this build */
	const char *hosts;  /* fetch: file for the hub's list of hosts; or NULL */
	bool server, reader, once, no_names, upload, alerts, help, version;
	const char *verb;
	int argc; /* operands */
	char **argv;
};

/* Returns HUB_USAGE, with a message, for an invalid command line. verb is NULL with help or version
 * alone. */
int hub_options_parse(struct hub_options *ret_options, int argc, char **argv);
void hub_options_help(void);

int hub_serve(const struct hub_options *options);
int hub_judge(const struct hub_options *options);
int hub_pgo(const struct hub_options *options);
int hub_send(const struct hub_options *options);
int hub_fetch(const struct hub_options *options);
int hub_ca(const struct hub_options *options);
int hub_enrol(const struct hub_options *options);
int hub_demo(const struct hub_options *options);

/* One line on standard error. hub_fail() returns HUB_FAILURE, hub_usage() HUB_USAGE. */
int hub_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int hub_usage(const struct hub_options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void hub_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The tenant of peers whose certificate names none. Its database is --db. */
#define HUB_TENANT_DEFAULT "default"
#define HUB_TENANT_BYTES   64
/* A name of letters, digits, points, - and _ that does not begin with a point: it can stand in a
 * file's name, a table and a log. */
bool hub_is_plain_name(const char *name);

#define HUB_STORE_TEXT (2 * PATHPROF_PARCEL_STORE_BYTES + 1)
/* A store's id in hex. hub_store_parse() is strict: false for anything else. */
char *hub_store_text(const uint8_t store[PATHPROF_PARCEL_STORE_BYTES], char text[HUB_STORE_TEXT]);
bool hub_store_parse(const char *text, uint8_t ret_store[PATHPROF_PARCEL_STORE_BYTES]);

#endif
