// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The endpoint's server: see metrics.h. libmicrohttpd has no thread of its own here: the event loop
 * watches its epoll descriptor, and a timer stands in for its time-outs. It times out on silence
 * only, so a client that sends a byte now and then could stay; connections are therefore shut down
 * at a fixed end.
 */
#include "metrics.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tell_failure.h"

#define CONNECTIONS_MAX    16
#define CONNECTION_MS      10000
#define CONNECTION_BYTES   16384
#define BACKLOG            32
#define ADDRESS_MAX        80
#define CONTENT_TYPE       "text/plain; version=0.0.4; charset=utf-8"
#define CONTENT_TYPE_PLAIN "text/plain; charset=utf-8"

struct connection {
	struct MHD_Connection *connection; /* NULL: free */
	uint64_t end_us;                   /* CLOCK_MONOTONIC */
	bool waits;                        /* suspended, until there is an answer */
};

struct pp_metrics {
	struct MHD_Daemon *daemon;
	sd_event_source *io, *timer;
	uint16_t port;
	bool closed; /* a connection was closed during this run() */
	bool asked;  /* pathprofd was asked and has not answered yet */
	char *text;  /* its last answer */
	size_t text_len;
	pp_metrics_ask_fn *ask;
	void *context;
	uint32_t connection_ms;
	struct connection connections[CONNECTIONS_MAX];
};

/* ---------------------------------------------------------------- requests */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status,
			      const char *type, struct MHD_Response *response)
{
	enum MHD_Result r = MHD_NO;

	if (response &&
	    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES &&
	    MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES &&
	    (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
	     MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES))
		r = MHD_queue_response(connection, status, response);
	if (response)
		MHD_destroy_response(response);
	return r;
}

/* text is a constant. */
static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned int status,
				   const char *text)
{
	return answer(connection, status, CONTENT_TYPE_PLAIN,
		      MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
						      MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result answer_metrics(struct pp_metrics *metrics, struct MHD_Connection *connection)
{
	if (!metrics->text)
		return MHD_NO;
	return answer(connection, MHD_HTTP_OK, CONTENT_TYPE,
		      MHD_create_response_from_buffer(metrics->text_len, metrics->text,
						      MHD_RESPMEM_MUST_COPY));
}

static struct connection *slot_of(struct pp_metrics *metrics,
				  const struct MHD_Connection *connection)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (metrics->connections[i].connection == connection)
			return &metrics->connections[i];
	return NULL;
}

/* libmicrohttpd calls on_request() for the connection again when it is resumed. */
static enum MHD_Result await_metrics(struct pp_metrics *metrics, struct MHD_Connection *connection)
{
	struct connection *slot = slot_of(metrics, connection);

	if (!slot)
		return MHD_NO;
	MHD_suspend_connection(connection);
	slot->waits = true;
	return MHD_YES;
}

static bool has_body(struct MHD_Connection *connection)
{
	const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_CONTENT_LENGTH);

	return (length && strcmp(length, "0") != 0) ||
	       MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					   MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **request)
{
	struct pp_metrics *metrics = context;

	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				   "only GET and HEAD are known here\n");
	if (has_body(connection))
		return answer_text(connection, MHD_HTTP_CONTENT_TOO_LARGE, "no body is taken\n");
	if (strcmp(url, "/metrics") != 0)
		return answer_text(connection, MHD_HTTP_NOT_FOUND, "see /metrics\n");
	/* set: this is the second call, after the answer came */
	if (*request)
		return answer_metrics(metrics, connection);
	*request = metrics;
	return await_metrics(metrics, connection);
}

/* ---------------------------------------------------------------- connections */

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct pp_metrics *metrics = context;
	bool began = code == MHD_CONNECTION_NOTIFY_STARTED;
	struct connection *slot = slot_of(metrics, began ? NULL : connection);

	metrics->closed |= !began;
	if (slot)
		*slot = (struct connection){.connection = began ? connection : NULL,
					    .end_us = pp_tell_now_us() +
						      metrics->connection_ms * UINT64_C(1000)};
}

/* Shuts down connections whose end has come. Returns the next end; UINT64_MAX: there is none. */
static uint64_t end_old(struct pp_metrics *metrics, uint64_t now_us)
{
	uint64_t next_us = UINT64_MAX;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *slot = &metrics->connections[i];
		const union MHD_ConnectionInfo *info;

		if (!slot->connection)
			continue;
		if (slot->end_us > now_us) {
			next_us = slot->end_us < next_us ? slot->end_us : next_us;
			continue;
		}
		info = MHD_get_connection_info(slot->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		if (info)
			shutdown(info->connect_fd, SHUT_RDWR);
		slot->end_us = UINT64_MAX;
	}
	return next_us;
}

static bool any_waits(const struct pp_metrics *metrics)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (metrics->connections[i].waits)
			return true;
	return false;
}

static void ask_for_those_who_wait(struct pp_metrics *metrics)
{
	if (metrics->asked || !any_waits(metrics))
		return;
	metrics->asked = true;
	metrics->ask(metrics->context);
}

static void run(struct pp_metrics *metrics)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;
	uint64_t now_us = pp_tell_now_us();
	uint64_t next_us;

	end_old(metrics, now_us);
	metrics->closed = false;
	MHD_run(metrics->daemon);
	next_us = end_old(metrics, now_us);
	if (MHD_get_timeout(metrics->daemon, &wait_ms) == MHD_YES &&
	    now_us + wait_ms * 1000 < next_us)
		next_us = now_us + wait_ms * 1000;
	/* the next run accepts clients that wait for room, and nothing else would start it */
	if (metrics->closed)
		next_us = now_us;
	if (next_us == UINT64_MAX)
		sd_event_source_set_enabled(metrics->timer, SD_EVENT_OFF);
	else if (sd_event_source_set_time(metrics->timer, next_us) >= 0)
		sd_event_source_set_enabled(metrics->timer, SD_EVENT_ONESHOT);
	ask_for_those_who_wait(metrics);
}

void pp_metrics_answer(struct pp_metrics *metrics, const char *text, size_t len_bytes)
{
	char *copy = malloc(len_bytes + 1);

	metrics->asked = false;
	if (copy)
		memcpy(copy, text, len_bytes);
	free(metrics->text);
	metrics->text = copy;
	metrics->text_len = copy ? len_bytes : 0;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *slot = &metrics->connections[i];

		if (!slot->waits)
			continue;
		slot->waits = false;
		MHD_resume_connection(slot->connection);
	}
	/* by the timer, since this function may have been called by run() */
	if (sd_event_source_set_time(metrics->timer, 0) >= 0)
		sd_event_source_set_enabled(metrics->timer, SD_EVENT_ONESHOT);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *context)
{
	run(context);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *context)
{
	run(context);
	return 0;
}

/* ---------------------------------------------------------------- setting up */

/* "HOST:PORT", both in numbers, an IPv6 address in brackets. */
static int parse(const char *address, struct sockaddr_storage *ret_address, socklen_t *ret_len,
		 struct pathprof_error *error)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				       .ai_socktype = SOCK_STREAM};
	const char *colon = strrchr(address, ':');
	size_t len = colon ? (size_t)(colon - address) : 0;
	struct addrinfo *found = NULL;
	char host[ADDRESS_MAX];
	const char *begin = host;

	if (!len || len >= sizeof(host) || !colon[1])
		goto bad;
	memcpy(host, address, len);
	host[len] = '\0';
	if (host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		begin++;
	} else if (strchr(host, ':')) {
		goto bad;
	}
	if (getaddrinfo(begin, colon + 1, &hints, &found))
		goto bad;
	memcpy(ret_address, found->ai_addr, found->ai_addrlen);
	*ret_len = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
bad:
	return pathprof_fail(error, -EINVAL,
			     "Listen=%s: no address, as 127.0.0.1:9753 or [::1]:9753", address);
}

static int listen_at(const struct sockaddr *address, socklen_t len)
{
	_cleanup_close_ int fd =
		socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	if (address->sa_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return -errno;
	if (bind(fd, address, len) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return pp_steal_fd(&fd);
}

static const char *advice(int code)
{
	switch (code) {
	case -EADDRINUSE:
		return "; choose another port";
	case -EADDRNOTAVAIL:
		return "; choose an address that this machine has";
	case -EACCES:
		return "; choose a port from 1024 on";
	default:
		return "";
	}
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in6 address = {0};
	socklen_t len = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return 0;
	/* IPv4 has the port at the same offset */
	return ntohs(address.sin6_port);
}

/* The server owns fd from here on, if it starts. */
static int start_server(struct pp_metrics *metrics, int fd)
{
	metrics->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, metrics,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		metrics->connection_ms / 1000 + 1, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, metrics, MHD_OPTION_END);
	return metrics->daemon ? 0 : -ENOMEM;
}

static int watch(struct pp_metrics *metrics, sd_event *event)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(metrics->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r;

	if (!info)
		return -ENOTSUP;
	r = sd_event_add_io(event, &metrics->io, info->epoll_fd, EPOLLIN, on_io, metrics);
	if (r >= 0)
		r = sd_event_add_time(event, &metrics->timer, CLOCK_MONOTONIC, 0, 1000, on_timer,
				      metrics);
	return r < 0 ? r : 0;
}

static int open_all(struct pp_metrics *metrics, sd_event *event, const char *address,
		    struct pathprof_error *error)
{
	struct sockaddr_storage where = {0};
	_cleanup_close_ int fd = -EBADF;
	socklen_t len = 0;
	int r = parse(address, &where, &len, error);

	if (r < 0)
		return r;
	fd = listen_at((const struct sockaddr *)&where, len);
	if (fd < 0)
		return pathprof_fail(error, fd, "Listen=%s: %s%s", address, strerror(-fd),
				     advice(fd));
	metrics->port = port_of(fd);
	r = start_server(metrics, fd);
	if (r == 0) {
		pp_steal_fd(&fd);
		r = watch(metrics, event);
	}
	return r < 0 ? pathprof_fail(error, r, "Listen=%s: %s", address, strerror(-r)) : 0;
}

int pp_metrics_new(struct pp_metrics **ret_metrics, sd_event *event,
		   const struct pp_metrics_config *config, struct pathprof_error *error)
{
	struct pp_metrics *metrics = calloc(1, sizeof(*metrics));
	int r;

	if (!metrics)
		return -ENOMEM;
	metrics->ask = config->ask;
	metrics->context = config->context;
	metrics->connection_ms = config->connection_ms ? config->connection_ms : CONNECTION_MS;
	r = open_all(metrics, event, config->address, error);
	if (r < 0) {
		pp_metrics_free(metrics);
		return r;
	}
	*ret_metrics = metrics;
	return 0;
}

void pp_metrics_free(struct pp_metrics *metrics)
{
	if (!metrics)
		return;
	sd_event_source_disable_unref(metrics->io);
	sd_event_source_disable_unref(metrics->timer);
	/* libmicrohttpd must not end with suspended connections */
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (metrics->connections[i].waits)
			MHD_resume_connection(metrics->connections[i].connection);
	if (metrics->daemon)
		MHD_stop_daemon(metrics->daemon);
	free(metrics->text);
	free(metrics);
}

uint16_t pp_metrics_port(const struct pp_metrics *metrics)
{
	return metrics->port;
}
