/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The other side of `serve`: requests to a hub over TLS 1.3 by libcurl, with the certificate that
 * the command line names. One connection, kept between requests; one request at a time.
 *
 * Ownership: an answer is the caller's, hub_answer_release() frees it. Errors: an answer of status
 * 0 is none, hub_client_say() prints why. Answers above 16 MiB are cut off and count as none.
 */
#ifndef HUB_CLIENT_H
#define HUB_CLIENT_H

#include <curl/curl.h>
#include <jansson.h>

#include "hub.h"

struct hub_client {
	const struct hub_options *options;
	CURL *curl;
	CURLcode code; /* code of the last request, and libcurl's words for it */
	char why[CURL_ERROR_SIZE];
};

struct hub_answer {
	char *text; /* zero-terminated */
	size_t bytes;
	long status; /* of HTTP; 0: there was no answer */
	long retry_after_s;
};

/* Returns HUB_OK; or HUB_USAGE, with a message, if --hub, --cert, --key or --ca are missing or
 * unusable. */
int hub_client_check(const struct hub_options *options);
/* Certificates are read anew by each. -ENOMEM. hub_client_close() is safe on what was not opened.
 */
int hub_client_open(struct hub_client *ret_client, const struct hub_options *options);
void hub_client_close(struct hub_client *client);

/* body NULL: GET, else POST. */
void hub_client_ask(struct hub_client *client, const char *path, const void *body, size_t bytes,
		    struct hub_answer *ret_answer);
/* PUT of an open file, as it lies there; bytes: how many it has. */
void hub_client_put(struct hub_client *client, const char *path, int fd, uint64_t bytes,
		    struct hub_answer *ret_answer);
/* GET into an open file, at most so many bytes; of another status than 200 the answer is as ever.
 */
void hub_client_save(struct hub_client *client, const char *path, int fd, uint64_t most_bytes,
		     struct hub_answer *ret_answer);
void hub_answer_release(struct hub_answer *answer);
/* Returns the answer as JSON, which the caller frees. NULL: it is not JSON. */
json_t *hub_answer_json(const struct hub_answer *answer);
/* Prints one line: the hub's reason for refusing `what`, or the failure to reach the hub. */
void hub_client_say(const struct hub_client *client, const char *what,
		    const struct hub_answer *answer);

#endif
