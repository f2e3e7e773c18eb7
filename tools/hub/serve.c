// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprof-hub serve: HTTPS for hosts and readers, by libmicrohttpd and GnuTLS. One thread: its
 * epoll descriptor and the signals are waited for together.
 *
 * Bounds on malicious and slow clients: the connections in all, of one address, and of clients not
 * identified yet, of which the oldest makes room for the next; seconds of silence; seconds a
 * request; bytes of all bodies and parcels together.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/plural.h"
#include "server.h"

#define STRANGERS_MAX      384u
#define CONNECTIONS_OF_ONE 64u
#define CONNECTION_NS      (300 * PP_NSEC_PER_SEC)
#define SILENCE_S          20u
#define TURN_MS            1000
#define ROLLING_MS         50 /* a turn of the loop while hours are summed up */
#define ADDRESS_MAX        128
#define TLS                "NORMAL:-VERS-ALL:+VERS-TLS1.3"

/* ---------------------------------------------------------------- connections */

/* Shuts the connection down; libmicrohttpd sees the end, and closes it. */
static void end_connection(struct client *client)
{
	client->is_ending = true;
	shutdown(client->fd, SHUT_RDWR);
}

/* Strangers may come without end; a host needs a moment to show its certificate. */
static void end_oldest_stranger(struct hub *hub)
{
	struct client *oldest = NULL;
	size_t cnt = 0;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct client *client = &hub->clients[i];

		if (client->fd < 0 || client->is_ending || client->known.until_s)
			continue;
		cnt++;
		if (!oldest || client->end_ns < oldest->end_ns)
			oldest = client;
	}
	if (cnt > STRANGERS_MAX)
		end_connection(oldest);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
			  enum MHD_ConnectionNotificationCode code)
{
	struct hub *hub = context;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	bool began = code == MHD_CONNECTION_NOTIFY_STARTED;
	int fd = info ? info->connect_fd : -1;

	for (size_t i = 0; fd >= 0 && i < CONNECTIONS_MAX; i++) {
		if (hub->clients[i].fd != (began ? -1 : fd))
			continue;
		hub->clients[i] = (struct client){.fd = began ? fd : -1,
						  .end_ns = pp_monotonic_ns() + CONNECTION_NS};
		*state = began ? &hub->clients[i] : NULL;
		break;
	}
	if (began)
		end_oldest_stranger(hub);
}

static void end_old_connections(struct hub *hub)
{
	uint64_t now_ns = pp_monotonic_ns();

	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (hub->clients[i].fd >= 0 && now_ns > hub->clients[i].end_ns)
			end_connection(&hub->clients[i]);
}

/* ---------------------------------------------------------------- setting up */

/* A file of certificates or keys, as text. Caller frees with gnutls_free(). */
static int read_pem(char **ret_text, const char *path, struct pathprof_error *error)
{
	gnutls_datum_t data = {NULL, 0};
	int r = gnutls_load_file(path, &data);

	if (r < 0)
		return pathprof_fail(error, -EINVAL, "%s: %s", path, gnutls_strerror(r));
	/* A zero follows the text, which the length leaves out. */
	*ret_text = (char *)data.data;
	return 0;
}

/* Whether text is a port: getaddrinfo() would take a larger number for another port. */
static bool is_port(const char *text)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	return text[0] >= '0' && text[0] <= '9' && !*end && port <= UINT16_MAX;
}

/* "ADDRESS:PORT" in numbers, an IPv6 address in brackets. Caller frees with freeaddrinfo(). */
static int parse_address(const char *text, struct addrinfo **ret_address,
			 struct pathprof_error *error)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				       .ai_socktype = SOCK_STREAM};
	const char *colon = strrchr(text, ':'), *begin = text;
	char host[ADDRESS_MAX];
	size_t bytes = colon ? (size_t)(colon - text) : 0;

	if (bytes > 1 && text[0] == '[' && colon[-1] == ']') {
		begin++;
		bytes -= 2;
	}
	if (!colon || bytes >= sizeof(host))
		return pathprof_fail(error, -EINVAL, "--listen %s: not ADDRESS:PORT", text);
	snprintf(host, sizeof(host), "%.*s", (int)bytes, begin);
	if (!is_port(colon + 1) ||
	    getaddrinfo(*host ? host : NULL, colon + 1, &hints, ret_address) != 0)
		return pathprof_fail(error, -EINVAL,
				     "--listen %s: not an address in numbers and a port, 0 to "
				     "65535",
				     text);
	return 0;
}

/* [::] stands for all addresses of the machine, of version 4 as well. */
static unsigned int family_of(const struct addrinfo *address)
{
	const struct sockaddr_in6 *in6 = (const void *)address->ai_addr;

	if (address->ai_family != AF_INET6)
		return 0;
	return IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) ? MHD_USE_DUAL_STACK : MHD_USE_IPv6;
}

static int start(struct hub *hub, struct pathprof_error *error)
{
	struct addrinfo *address = NULL;
	int r = parse_address(hub->options->listen, &address, error);

	if (r < 0 || !address)
		return r;
	errno = 0;
	hub->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_TLS | MHD_ALLOW_SUSPEND_RESUME | family_of(address), 0,
		NULL, NULL, hub_request, hub, MHD_OPTION_SOCK_ADDR, address->ai_addr,
		MHD_OPTION_HTTPS_MEM_CERT, hub->certificate, MHD_OPTION_HTTPS_MEM_KEY, hub->key,
		MHD_OPTION_HTTPS_MEM_TRUST, hub->ca, MHD_OPTION_HTTPS_PRIORITIES, TLS,
		MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		CONNECTIONS_OF_ONE, MHD_OPTION_CONNECTION_TIMEOUT, SILENCE_S,
		MHD_OPTION_NOTIFY_COMPLETED, hub_request_end, hub, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, hub, MHD_OPTION_END);
	r = -errno;
	freeaddrinfo(address);
	if (hub->daemon)
		return 0;
	if (!r)
		return pathprof_fail(error, -EINVAL,
				     "--cert %s and --key %s: not a certificate and its key",
				     hub->options->certificate, hub->options->key);
	return pathprof_fail(error, r, "%s cannot be listened on: %s", hub->options->listen,
			     strerror(-r));
}

/* Without the relay's socket hosts are still served. */
static void open_figures(struct hub *hub)
{
	struct pathprof_error error = {""};

	if (hub_figures_new(&hub->figures, hub->options->db, hub->tenants, hub->watch,
			    &hub->denied_cnt, &error) < 0)
		hub_note("no socket for pathprof-relay: %s", error.text);
}

static int open_hub(struct hub *hub, struct pathprof_error *error)
{
	const struct hub_options *options = hub->options;
	int r = read_pem(&hub->certificate, options->certificate, error);

	if (r == 0)
		r = read_pem(&hub->key, options->key, error);
	if (r == 0)
		r = read_pem(&hub->ca, options->ca, error);
	if (r == 0)
		r = hub_identity_new(&hub->identity, options, error);
	if (r == 0)
		r = hub_rules_load(&hub->rules, options->config, error);
	if (r == 0)
		r = hub_tenants_new(&hub->tenants, options, error);
	if (r == 0 && hub_watch_new(&hub->watch, &hub->rules, hub->tenants) < 0)
		r = pathprof_fail(error, -ENOMEM, "out of memory");
	if (r == 0)
		r = hub_pgo_new(&hub->pgo, options->db, options->files, hub_request_on_profile,
				error);
	if (r == 0)
		open_figures(hub);
	return r < 0 ? r : start(hub, error);
}

static void close_hub(struct hub *hub)
{
	/* A suspended connection cannot be closed. */
	hub_pgo_stop(hub->pgo);
	if (hub->daemon)
		MHD_stop_daemon(hub->daemon);
	hub_pgo_free(hub->pgo);
	hub_figures_free(hub->figures);
	hub_watch_free(hub->watch);
	hub_tenants_free(hub->tenants);
	hub_identity_free(hub->identity);
	gnutls_free(hub->certificate);
	gnutls_free(hub->key);
	gnutls_free(hub->ca);
}

/* ---------------------------------------------------------------- running */

static void say_ready(const struct hub *hub)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(hub->daemon, MHD_DAEMON_INFO_BIND_PORT);

	hub_note("listening on %s, port %u; parcels go to %s", hub->options->listen,
		 info ? info->port : 0u, hub->options->db);
	sd_notify(0, "READY=1");
}

static void say_unsaid(struct hub *hub)
{
	const uint64_t cnt = hub_refusals_unsaid(&hub->refusals, pp_monotonic_ns());

	hub_note("%llu more %s refused, and %s not said one by one", (unsigned long long)cnt,
		 pp_plural(cnt, "request was", "requests were"), pp_plural(cnt, "is", "are"));
}

static void say_end(const struct hub *hub)
{
	const struct hub_ingest_counts counts = hub_tenants_counts(hub->tenants);
	const struct hub_watch_counts *watch = hub_watch_counts(hub->watch);

	hub_note("ends: %llu %s added, %llu in the place of emptier ones, %llu beside "
		 "others of their slot, %llu known, %llu refused, %llu %s "
		 "of functions left out, %llu %s of hosts summed up, %llu %s of who may "
		 "not ask",
		 (unsigned long long)counts.added, pp_plural(counts.added, "parcel", "parcels"),
		 (unsigned long long)counts.replaced, (unsigned long long)counts.beside,
		 (unsigned long long)counts.known, (unsigned long long)counts.refused,
		 (unsigned long long)counts.cut, pp_plural(counts.cut, "name", "names"),
		 (unsigned long long)counts.rolled, pp_plural(counts.rolled, "hour", "hours"),
		 (unsigned long long)hub->denied_cnt,
		 pp_plural(hub->denied_cnt, "request", "requests"));
	hub_note("alerts: %llu %s judged, %llu not judged, %llu passed over, %llu %s put off; "
		 "%llu %s fired, %llu %s over, %llu left out",
		 (unsigned long long)watch->judged, pp_plural(watch->judged, "span", "spans"),
		 (unsigned long long)watch->failed, (unsigned long long)watch->skipped,
		 (unsigned long long)watch->put_off, pp_plural(watch->put_off, "time", "times"),
		 (unsigned long long)watch->alerts.fired,
		 pp_plural(watch->alerts.fired, "alert", "alerts"),
		 (unsigned long long)watch->alerts.resolved,
		 pp_plural(watch->alerts.resolved, "is", "are"),
		 (unsigned long long)watch->alerts.left_out);
}

static int signal_fd(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC);
}

static int run(struct hub *hub)
{
	_cleanup_close_ int signals = signal_fd();
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(hub->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
			       {.fd = info ? info->epoll_fd : -1, .events = POLLIN},
			       {.events = POLLIN},
			       {.events = POLLIN},
			       {.events = POLLIN}};

	if (signals < 0 || !info)
		return hub_fail("no descriptor to wait with: %s", strerror(errno));
	say_ready(hub);
	while (!(fds[0].revents & POLLIN)) {
		MHD_UNSIGNED_LONG_LONG wait_ms = TURN_MS;
		bool was_woken, was_rolled;

		hub_tenants_retain(hub->tenants);
		was_rolled = hub_tenants_roll(hub->tenants);
		hub_watch_turn(hub->watch);
		was_woken = hub_pgo_turn(hub->pgo);
		if (hub->figures)
			hub_figures_turn(hub->figures);
		fds[2].fd = hub_watch_fd(hub->watch);
		fds[3].fd = hub_pgo_fd(hub->pgo);
		fds[4].fd = hub->figures ? hub_figures_fd(hub->figures) : -1;
		end_old_connections(hub);
		if (hub_refusals_is_due(&hub->refusals, pp_monotonic_ns()))
			say_unsaid(hub);
		MHD_get_timeout(hub->daemon, &wait_ms);
		/* libmicrohttpd handles a resumed connection only when it is run. */
		if (was_woken)
			wait_ms = 0;
		if (was_rolled && wait_ms > ROLLING_MS)
			wait_ms = ROLLING_MS;
		if (poll(fds, 5, wait_ms < TURN_MS ? (int)wait_ms : TURN_MS) < 0 && errno != EINTR)
			return hub_fail("poll: %s", strerror(errno));
		MHD_run(hub->daemon);
	}
	if (hub->refusals.unsaid_cnt)
		say_unsaid(hub);
	say_end(hub);
	return HUB_OK;
}

int hub_serve(const struct hub_options *options)
{
	struct hub hub = {.options = options};
	struct pathprof_error error = {""};
	int r;

	if (options->argc)
		return hub_usage(options, "%s: not expected", options->argv[0]);
	if (!options->db || !options->listen || !options->certificate || !options->key ||
	    !options->ca)
		return hub_usage(options, "--db, --listen, --cert, --key and --ca are needed");
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		hub.clients[i].fd = -1;
	r = open_hub(&hub, &error);
	r = r < 0 ? hub_fail("%s", error.text) : run(&hub);
	close_hub(&hub);
	return r;
}
