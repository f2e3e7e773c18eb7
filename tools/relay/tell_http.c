// SPDX-License-Identifier: GPL-2.0-or-later
/* POST by libcurl on sd-event: see tell_http.h. */
#include "tell_http.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tell_failure.h"

#define TOKEN_MAX          8192
#define ANSWER_MAX         65536
#define CONNECT_TIMEOUT_MS 5000L
#define TURN_MS            50

struct pp_tell_http {
	sd_event *event;
	sd_event_source *timer;
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	char *bearer_file, *ca_file;
	char *body; /* of the post under way; NULL: none */
	size_t answered_bytes;
	char why[CURL_ERROR_SIZE];
	pp_tell_http_fn *fn;
	void *context;
};

bool pp_tell_http_busy(const struct pp_tell_http *http)
{
	return http->body != NULL;
}

/* ---------------------------------------------------------------- libcurl on the event loop */

static const char *why_of(struct pp_tell_http *http, CURLcode code)
{
	/* libcurl does not say which file it was */
	if (code == CURLE_SSL_CACERT_BADFILE && http->ca_file)
		snprintf(http->why, sizeof(http->why), "no certificates can be read from %s",
			 http->ca_file);
	return http->why[0] ? http->why : curl_easy_strerror(code);
}

static void finish(struct pp_tell_http *http, CURLcode code)
{
	struct pp_tell_http_reply reply = {0};
	curl_off_t retry_after_s = 0;
	_cleanup_free_ char *body = http->body;

	/* once a byte of the body has come, the answer has a status, even if the rest fails */
	if (code == CURLE_OK || http->answered_bytes)
		curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &reply.status);
	curl_easy_getinfo(http->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	if (retry_after_s > 0)
		reply.retry_after_s =
			retry_after_s < INT32_MAX ? (uint32_t)retry_after_s : INT32_MAX;
	reply.why = why_of(http, code);
	curl_multi_remove_handle(http->multi, http->easy);
	http->body = NULL;
	http->fn(http->context, &reply);
}

/* Handles finished requests. Not to be called from libcurl's own callbacks. */
static void collect(struct pp_tell_http *http)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(http->multi, &left)))
		if (message->msg == CURLMSG_DONE)
			finish(http, message->data.result);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct pp_tell_http *http = context;
	int flags = 0, running;

	if (events & EPOLLIN)
		flags |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		flags |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		flags |= CURL_CSELECT_ERR;
	curl_multi_socket_action(http->multi, fd, flags, &running);
	collect(http);
	return 0;
}

static int on_time(sd_event_source *source, uint64_t now_us, void *context)
{
	struct pp_tell_http *http = context;
	int running;

	curl_multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	collect(http);
	return 0;
}

static uint32_t events_of(int what)
{
	return (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
}

static int curl_wants_socket(CURL *easy, curl_socket_t fd, int what, void *context,
			     void *socket_context)
{
	struct pp_tell_http *http = context;
	sd_event_source *source = socket_context;

	if (what == CURL_POLL_REMOVE) {
		sd_event_source_disable_unref(source);
		curl_multi_assign(http->multi, fd, NULL);
		return 0;
	}
	if (source)
		return sd_event_source_set_io_events(source, events_of(what)) < 0 ? -1 : 0;
	if (sd_event_add_io(http->event, &source, fd, events_of(what), on_io, http) < 0)
		return -1;
	curl_multi_assign(http->multi, fd, source);
	return 0;
}

static int curl_wants_timer(CURLM *multi, long after_ms, void *context)
{
	struct pp_tell_http *http = context;

	if (after_ms < 0)
		return sd_event_source_set_enabled(http->timer, SD_EVENT_OFF) < 0 ? -1 : 0;
	if (sd_event_source_set_time_relative(http->timer, (uint64_t)after_ms * 1000) < 0)
		return -1;
	return sd_event_source_set_enabled(http->timer, SD_EVENT_ONESHOT) < 0 ? -1 : 0;
}

/* Discards the answer's body, which is of no use to us, and stops reading after ANSWER_MAX
 * bytes. */
static size_t take_answer(char *data, size_t one, size_t len_bytes, void *context)
{
	struct pp_tell_http *http = context;

	http->answered_bytes += len_bytes;
	return http->answered_bytes > ANSWER_MAX ? 0 : len_bytes;
}

/* ---------------------------------------------------------------- posting */

/* Reads the token, without blanks at its end. */
static int read_token(const char *path, char token[static TOKEN_MAX + 1])
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, token, TOKEN_MAX + 1);
	if (n < 0)
		return -errno;
	if (n > TOKEN_MAX)
		return -E2BIG;
	while (n > 0 && (unsigned char)token[n - 1] <= ' ')
		n--;
	token[n] = '\0';
	/* a newline in it would begin another header */
	for (ssize_t i = 0; i < n; i++)
		if ((unsigned char)token[i] <= ' ' || token[i] == 127)
			return -EBADMSG;
	return n ? 0 : -ENODATA;
}

static int set_token(struct pp_tell_http *http)
{
	char token[TOKEN_MAX + 1];
	int r;

	if (!http->bearer_file)
		return 0;
	r = read_token(http->bearer_file, token);
	if (r == 0 && curl_easy_setopt(http->easy, CURLOPT_XOAUTH2_BEARER, token) != CURLE_OK)
		r = -ENOMEM;
	explicit_bzero(token, sizeof(token));
	return r;
}

int pp_tell_http_post(struct pp_tell_http *http, char *body)
{
	int r = http->body ? -EBUSY : set_token(http);

	if (r < 0) {
		free(body);
		return r;
	}
	http->answered_bytes = 0;
	http->why[0] = '\0';
	curl_easy_setopt(http->easy, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(http->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
	http->body = body;
	if (curl_multi_add_handle(http->multi, http->easy) == CURLM_OK)
		return 0;
	http->body = NULL;
	free(body);
	return -ENOMEM;
}

void pp_tell_http_wait(struct pp_tell_http *http, uint64_t until_us)
{
	const char *body = http->body;
	int running;

	while (http->body == body && body && pp_tell_now_us() < until_us) {
		if (curl_multi_perform(http->multi, &running) != CURLM_OK)
			return;
		collect(http);
		if (http->body == body)
			curl_multi_poll(http->multi, NULL, 0, TURN_MS, NULL);
	}
}

/* ---------------------------------------------------------------- setting up */

static int set_options(struct pp_tell_http *http, const struct pp_tell_http_config *config)
{
	CURL *easy = http->easy;
	bool good = true;

#define SET(option, value) (good = good && curl_easy_setopt(easy, option, value) == CURLE_OK)
	SET(CURLOPT_URL, config->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_HTTPHEADER, http->headers);
	SET(CURLOPT_USERAGENT, "pathprof-relay/" PATHPROF_VERSION);
	SET(CURLOPT_TIMEOUT_MS, (long)config->timeout_ms);
	SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	/* a kept connection would be stale: there are a few messages an hour */
	SET(CURLOPT_FORBID_REUSE, 1L);
	SET(CURLOPT_WRITEFUNCTION, take_answer);
	SET(CURLOPT_WRITEDATA, http);
	SET(CURLOPT_ERRORBUFFER, http->why);
	if (config->bearer_file)
		SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
	if (config->ca_file) {
		SET(CURLOPT_CAINFO, config->ca_file);
		/* the system's are not believed beside it */
		SET(CURLOPT_CAPATH, NULL);
		/* read at each try, as the token is: libcurl would keep it for a day, and a session
		   that is taken up again vouches for itself */
		SET(CURLOPT_CA_CACHE_TIMEOUT, 0L);
		SET(CURLOPT_SSL_SESSIONID_CACHE, 0L);
	}
#undef SET
	return good ? 0 : -ENOMEM;
}

static int open_multi(struct pp_tell_http *http)
{
	http->multi = curl_multi_init();
	http->easy = curl_easy_init();
	/* without "Expect: 100-continue", to which a long body would first await an answer */
	http->headers = curl_slist_append(NULL, "Expect:");
	if (!http->multi || !http->easy || !http->headers ||
	    !curl_slist_append(http->headers, "Content-Type: application/json"))
		return -ENOMEM;
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, curl_wants_socket);
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, curl_wants_timer);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
	return 0;
}

/* A URL may hold a password: it is not repeated. */
static int check_url(const char *url, struct pathprof_error *error)
{
	CURLU *parts = curl_url();
	char *scheme = NULL;
	bool good;

	if (!parts)
		return -ENOMEM;
	good = curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
	       curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
	       (!strcmp(scheme, "http") || !strcmp(scheme, "https"));
	curl_free(scheme);
	curl_url_cleanup(parts);
	return good ? 0
		    : pathprof_fail(
			      error, -EINVAL,
			      "webhook: not a URL of http or https, as http://HOST:PORT/PATH");
}

int pp_tell_http_new(struct pp_tell_http **ret_http, sd_event *event,
		     const struct pp_tell_http_config *config, pp_tell_http_fn *fn, void *context,
		     struct pathprof_error *error)
{
	struct pp_tell_http *http;
	int r = check_url(config->url, error);

	if (r < 0)
		return r;
	http = calloc(1, sizeof(*http));
	if (!http)
		return -ENOMEM;
	http->event = sd_event_ref(event);
	http->fn = fn;
	http->context = context;
	if (config->bearer_file && !(http->bearer_file = strdup(config->bearer_file)))
		r = -ENOMEM;
	if (config->ca_file && !(http->ca_file = strdup(config->ca_file)))
		r = -ENOMEM;
	if (r == 0)
		r = sd_event_add_time_relative(event, &http->timer, CLOCK_MONOTONIC, 0, 1000,
					       on_time, http);
	if (r >= 0)
		r = sd_event_source_set_enabled(http->timer, SD_EVENT_OFF);
	if (r >= 0)
		r = open_multi(http);
	if (r >= 0)
		r = set_options(http, config);
	if (r < 0) {
		pp_tell_http_free(http);
		return r;
	}
	*ret_http = http;
	return 0;
}

void pp_tell_http_free(struct pp_tell_http *http)
{
	if (!http)
		return;
	if (http->body)
		curl_multi_remove_handle(http->multi, http->easy);
	curl_easy_cleanup(http->easy);
	if (http->multi)
		curl_multi_cleanup(http->multi);
	curl_slist_free_all(http->headers);
	sd_event_source_disable_unref(http->timer);
	sd_event_unref(http->event);
	free(http->bearer_file);
	free(http->ca_file);
	free(http->body);
	free(http);
}
