/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POST, one at a time, on the event loop: libcurl's multi interface, its sockets and its timer as
 * event sources. Resolving names is libcurl's own thread's work, so nothing here blocks.
 *
 * Redirects are not followed: the token is for the receiver that was named. One owner, the event
 * loop. Bodies are taken over.
 */
#ifndef PP_TELL_HTTP_H
#define PP_TELL_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "pathprof/error.h"

struct pp_tell_http;

struct pp_tell_http_config {
	const char *url;
	const char *bearer_file; /* NULL: none */
	const char *ca_file;     /* NULL: the system's */
	uint32_t timeout_ms;
};

struct pp_tell_http_reply {
	long status;            /* of HTTP; 0: there was no answer, why says the reason */
	uint32_t retry_after_s; /* 0: not said */
	const char *why;
};

/* The post is over, with or without success. May post the next. */
typedef void pp_tell_http_fn(void *context, const struct pp_tell_http_reply *reply);

/* -EINVAL: not an http or https URL; -ENOMEM. */
int pp_tell_http_new(struct pp_tell_http **ret_http, sd_event *event,
		     const struct pp_tell_http_config *config, pp_tell_http_fn *fn, void *context,
		     struct pathprof_error *error);
/* Breaks off the post under way; fn is not called. NULL-safe. */
void pp_tell_http_free(struct pp_tell_http *http);
bool pp_tell_http_busy(const struct pp_tell_http *http);
/*
 * JSON; body comes from malloc and is freed here whatever happens. -EBUSY. Other errors: nothing
 * was sent and fn will not be called (the token cannot be read: that file's error; -ENODATA: it is
 * empty, -EBADMSG: it has more than one word, -E2BIG: it is too long).
 */
int pp_tell_http_post(struct pp_tell_http *http, char *body);
/* Goes on with the post without the event loop, until it is over or CLOCK_MONOTONIC until_us. */
void pp_tell_http_wait(struct pp_tell_http *http, uint64_t until_us);

#endif
