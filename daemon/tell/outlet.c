// SPDX-License-Identifier: GPL-2.0-or-later
/* The Unix socket that pathprof-relay asks: see outlet.h. */
#include "outlet.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../cleanup.h"

#define CONNECTIONS_MAX         16
#define CONNECTIONS_OF_ONE_USER 4
#define CONNECTION_US           UINT64_C(10000000)
#define QUESTION_MAX            15
#define BACKLOG                 16
#define ACCEPTED_AT_ONCE        8

struct client {
	struct pp_outlet *outlet; /* NULL: this place is free */
	int fd;
	uid_t user;
	bool follows;
	sd_event_source *io, *timer;
	char question[QUESTION_MAX + 1];
	size_t question_len;
	char *answer;
	size_t answer_len, sent_bytes;
};

struct pp_outlet {
	sd_event *event;
	struct sockaddr_un address;
	bool bound;
	int fd;
	sd_event_source *io;
	pp_outlet_figures_fn *figures;
	void *context;
	struct client clients[CONNECTIONS_MAX];
};

static void close_client(struct client *client)
{
	sd_event_source_disable_unref(client->io);
	sd_event_source_disable_unref(client->timer);
	close(client->fd);
	free(client->answer);
	*client = (struct client){.outlet = NULL};
}

/* ---------------------------------------------------------------- questions */

static void send_some(struct client *client)
{
	ssize_t n = send(client->fd, client->answer + client->sent_bytes,
			 client->answer_len - client->sent_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0)
		client->sent_bytes += (size_t)n;
	if (client->sent_bytes == client->answer_len ||
	    (n < 0 && errno != EAGAIN && errno != EINTR))
		close_client(client);
}

static void answer_figures(struct client *client)
{
	struct pp_outlet *outlet = client->outlet;
	FILE *to = open_memstream(&client->answer, &client->answer_len);

	if (!to) {
		close_client(client);
		return;
	}
	outlet->figures(outlet->context, to);
	if (fclose(to) || !client->answer_len ||
	    sd_event_source_set_io_events(client->io, EPOLLOUT) < 0)
		close_client(client);
}

static void follow(struct client *client)
{
	client->follows = true;
	client->timer = sd_event_source_disable_unref(client->timer);
}

static void take_question(struct client *client)
{
	if (!strcmp(client->question, PP_OUTLET_FIGURES))
		answer_figures(client);
	else if (!strcmp(client->question, PP_OUTLET_FOLLOW))
		follow(client);
	else
		close_client(client);
}

/* Of a follower only the end is of interest. */
static void read_some(struct client *client)
{
	char rest[64];
	char *to = client->follows ? rest : client->question + client->question_len;
	size_t room = client->follows ? sizeof(rest) : QUESTION_MAX - client->question_len;
	ssize_t n = recv(client->fd, to, room, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_client(client);
		return;
	}
	if (client->follows)
		return;
	client->question_len += (size_t)n;
	if (memchr(client->question, '\n', client->question_len) ||
	    client->question_len == QUESTION_MAX)
		take_question(client);
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct client *client = context;

	if (client->answer)
		send_some(client);
	else
		read_some(client);
	return 0;
}

static int on_time(sd_event_source *source, uint64_t now_us, void *context)
{
	close_client(context);
	return 0;
}

/* ---------------------------------------------------------------- connections */

/* A free place, unless this user has as many as one may have. NULL: there is none. */
static struct client *place_for(struct pp_outlet *outlet, uid_t user)
{
	struct client *free_place = NULL;
	unsigned int cnt = 0;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct client *client = &outlet->clients[i];

		if (!client->outlet)
			free_place = client;
		else
			cnt += client->user == user;
	}
	return cnt < CONNECTIONS_OF_ONE_USER ? free_place : NULL;
}

/* Closes fd when it cannot. */
static void add_client(struct pp_outlet *outlet, int fd)
{
	struct ucred who = {0};
	socklen_t len = sizeof(who);
	struct client *client;
	int r;

	client = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0
			 ? place_for(outlet, who.uid)
			 : NULL;
	if (!client) {
		close(fd);
		return;
	}
	*client = (struct client){.outlet = outlet, .fd = fd, .user = who.uid};
	r = sd_event_add_io(outlet->event, &client->io, fd, EPOLLIN, on_client, client);
	if (r >= 0)
		r = sd_event_add_time_relative(outlet->event, &client->timer, CLOCK_MONOTONIC,
					       CONNECTION_US, 0, on_time, client);
	if (r < 0)
		close_client(client);
}

static int on_listener(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct pp_outlet *outlet = context;

	for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (client < 0)
			return 0;
		add_client(outlet, client);
	}
	return 0;
}

/* ---------------------------------------------------------------- public */

void pp_outlet_poke(struct pp_outlet *outlet)
{
	for (size_t i = 0; outlet && i < CONNECTIONS_MAX; i++) {
		const struct client *client = &outlet->clients[i];

		if (client->outlet && client->follows)
			(void)!send(client->fd, "\n", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

bool pp_outlet_is_followed(const struct pp_outlet *outlet)
{
	for (size_t i = 0; outlet && i < CONNECTIONS_MAX; i++)
		if (outlet->clients[i].outlet && outlet->clients[i].follows)
			return true;
	return false;
}

/* A file that is no socket is not ours to remove. */
static int make_way(const char *path)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(status.st_mode))
		return -EADDRINUSE;
	return unlink(path) < 0 ? -errno : 0;
}

/* Nobody can connect before it listens, so its mode is right from the beginning. */
static int listen_there(struct pp_outlet *outlet)
{
	const char *path = outlet->address.sun_path;
	int r = make_way(path);

	if (r < 0)
		return r;
	outlet->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (outlet->fd < 0 || bind(outlet->fd, (const struct sockaddr *)&outlet->address,
				   sizeof(outlet->address)) < 0)
		return -errno;
	outlet->bound = true;
	if (chmod(path, 0660) < 0 || listen(outlet->fd, BACKLOG) < 0)
		return -errno;
	r = sd_event_add_io(outlet->event, &outlet->io, outlet->fd, EPOLLIN, on_listener, outlet);
	return r < 0 ? r : 0;
}

int pp_outlet_new(struct pp_outlet **ret_outlet, sd_event *event, const char *database,
		  pp_outlet_figures_fn *figures, void *context, struct pathprof_error *error)
{
	struct pp_outlet *outlet = calloc(1, sizeof(*outlet));
	int r;

	if (!outlet)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	outlet->event = sd_event_ref(event);
	outlet->fd = -EBADF;
	outlet->figures = figures;
	outlet->context = context;
	r = pp_outlet_address(&outlet->address, database);
	if (r == 0)
		r = listen_there(outlet);
	if (r < 0) {
		pp_outlet_free(outlet);
		return pathprof_fail(error, r, "%s" PP_OUTLET_SUFFIX ": %s", database,
				     strerror(-r));
	}
	*ret_outlet = outlet;
	return 0;
}

void pp_outlet_free(struct pp_outlet *outlet)
{
	if (!outlet)
		return;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (outlet->clients[i].outlet)
			close_client(&outlet->clients[i]);
	sd_event_source_disable_unref(outlet->io);
	pp_cleanup_fd(&outlet->fd);
	if (outlet->bound)
		unlink(outlet->address.sun_path);
	sd_event_unref(outlet->event);
	free(outlet);
}
