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

#include "base/cleanup.h"
#include "pace.h"
#include "outlet_places.h"

#define CONNECTION_US    UINT64_C(10000000)
#define ANSWER_FRESH_US  UINT64_C(1000000)
#define WAITING_AGAIN_US UINT64_C(100000)
#define QUESTION_MAX     (sizeof(PP_OUTLET_RELAY_AT) + PP_OUTLET_NOTES_MAX)
#define BACKLOG          64
#define ACCEPTED_AT_ONCE 8
#define SHARE_PPM        10000  /* of one CPU */
#define REST_NS          500000 /* of CPU time, before anybody is let in again */

/* One text, sent to all who asked for it. */
struct answer {
	unsigned int user_cnt;
	uint64_t made_us;
	char *text;
	size_t len;
};

struct client {
	struct pp_outlet *outlet;
	int fd;
	bool follows, is_relay, waits;
	sd_event_source *io, *timer;
	char question[QUESTION_MAX + 1];
	size_t question_len;
	struct answer *answer;
	size_t sent_bytes;
};

struct pp_outlet {
	sd_event *event;
	struct sockaddr_un address;
	bool bound;
	int fd;
	/* rest: until somebody may be let in again; waiting: until questions are looked at again */
	sd_event_source *io, *rest, *waiting;
	pp_outlet_figures_fn *figures;
	void *context;
	struct pp_pace pace;
	struct answer *answer; /* the last one; NULL: nobody has asked */
	struct pp_outlet_askers askers;
	uint64_t client_cnt; /* that ever came */
	char relay_notes[PP_OUTLET_NOTES_MAX + 1];
	/* of the same index; clients[i] is in use while places[i] is taken */
	struct pp_outlet_place places[PP_OUTLET_PLACES];
	struct client clients[PP_OUTLET_PLACES];
};

static uint64_t now_us(const struct pp_outlet *outlet)
{
	uint64_t now = 0;

	sd_event_now(outlet->event, CLOCK_MONOTONIC, &now);
	return now;
}

static void set_timer(sd_event_source *timer, uint64_t at_us)
{
	if (sd_event_source_set_time(timer, at_us) >= 0)
		sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static struct pp_outlet_place *place_of(const struct client *client)
{
	return &client->outlet->places[client - client->outlet->clients];
}

static void drop_answer(struct answer *answer)
{
	if (!answer || --answer->user_cnt)
		return;
	free(answer->text);
	free(answer);
}

static void close_client(struct client *client)
{
	place_of(client)->taken = false;
	sd_event_source_disable_unref(client->io);
	sd_event_source_disable_unref(client->timer);
	close(client->fd);
	drop_answer(client->answer);
	*client = (struct client){.outlet = NULL};
}

/* ---------------------------------------------------------------- questions */

static void send_some(struct client *client)
{
	const struct answer *answer = client->answer;
	ssize_t n = send(client->fd, answer->text + client->sent_bytes,
			 answer->len - client->sent_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0)
		client->sent_bytes += (size_t)n;
	if (client->sent_bytes == answer->len || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_client(client);
}

static struct answer *make_answer(struct pp_outlet *outlet)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	FILE *to = answer ? open_memstream(&answer->text, &answer->len) : NULL;

	if (!to) {
		free(answer);
		return NULL;
	}
	answer->user_cnt = 1;
	answer->made_us = now_us(outlet);
	outlet->figures(outlet->context, to);
	if (fclose(to) || !answer->len) {
		drop_answer(answer);
		return NULL;
	}
	return answer;
}

/* NULL: there is none. */
static struct answer *fresh_answer(struct pp_outlet *outlet)
{
	if (!outlet->answer || now_us(outlet) - outlet->answer->made_us >= ANSWER_FRESH_US) {
		drop_answer(outlet->answer);
		outlet->answer = make_answer(outlet);
	}
	if (outlet->answer)
		outlet->answer->user_cnt++;
	return outlet->answer;
}

static void answer_figures(struct client *client)
{
	client->answer = fresh_answer(client->outlet);
	if (!client->answer || sd_event_source_set_io_events(client->io, EPOLLOUT) < 0)
		close_client(client);
}

/* From here on only its end is of interest, which is told in any case. */
static int listen_no_more(struct client *client)
{
	return sd_event_source_set_io_events(client->io, 0);
}

static void ask_figures(struct client *client)
{
	struct pp_outlet *outlet = client->outlet;

	client->waits = !pp_outlet_may_ask(&outlet->askers, place_of(client)->user, now_us(outlet));
	if (!client->waits)
		answer_figures(client);
	else if (listen_no_more(client) < 0)
		close_client(client);
	else
		set_timer(outlet->waiting, now_us(outlet) + WAITING_AGAIN_US);
}

static void follow(struct client *client, bool is_relay)
{
	client->follows = true;
	client->is_relay = is_relay;
	client->timer = sd_event_source_disable_unref(client->timer);
	if (listen_no_more(client) < 0)
		close_client(client);
}

/* Other users could name a directory in which root would find something else than notes. */
static void take_notes(struct client *client, const char *directory)
{
	uid_t user = place_of(client)->user;
	size_t len = strcspn(directory, "\n");

	if ((user != 0 && user != geteuid()) || directory[0] != '/' || !directory[len])
		return;
	memcpy(client->outlet->relay_notes, directory, len);
	client->outlet->relay_notes[len] = '\0';
}

static void follow_with_notes(struct client *client, const char *directory)
{
	take_notes(client, directory);
	follow(client, true);
}

static void take_question(struct client *client)
{
	if (!strcmp(client->question, PP_OUTLET_FIGURES))
		ask_figures(client);
	else if (!strcmp(client->question, PP_OUTLET_FOLLOW))
		follow(client, false);
	else if (!strcmp(client->question, PP_OUTLET_RELAY))
		follow(client, true);
	else if (!strncmp(client->question, PP_OUTLET_RELAY_AT, strlen(PP_OUTLET_RELAY_AT)))
		follow_with_notes(client, client->question + strlen(PP_OUTLET_RELAY_AT));
	else
		close_client(client);
}

static void read_some(struct client *client)
{
	ssize_t n = recv(client->fd, client->question + client->question_len,
			 QUESTION_MAX - client->question_len, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_client(client);
		return;
	}
	client->question_len += (size_t)n;
	if (memchr(client->question, '\n', client->question_len) ||
	    client->question_len == QUESTION_MAX)
		take_question(client);
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct client *client = context;
	struct pp_pace *pace = &client->outlet->pace;

	pp_pace_start(pace);
	if (client->answer)
		send_some(client);
	else if (client->follows || client->waits)
		close_client(client);
	else
		read_some(client);
	pp_pace_stop(pace);
	return 0;
}

static int on_time(sd_event_source *source, uint64_t time_us, void *context)
{
	close_client(context);
	return 0;
}

static int on_waiting(sd_event_source *source, uint64_t time_us, void *context)
{
	struct pp_outlet *outlet = context;

	pp_pace_start(&outlet->pace);
	for (size_t i = 0; i < PP_OUTLET_PLACES; i++)
		if (outlet->places[i].taken && outlet->clients[i].waits)
			ask_figures(&outlet->clients[i]);
	pp_pace_stop(&outlet->pace);
	return 0;
}

/* ---------------------------------------------------------------- connections */

/* Closes fd when it cannot. */
static void add_client(struct pp_outlet *outlet, int fd)
{
	struct ucred who = {0};
	socklen_t len = sizeof(who);
	struct client *client;
	size_t at;
	int r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0) {
		close(fd);
		return;
	}
	at = pp_outlet_place_for(outlet->places, who.uid);
	client = &outlet->clients[at];
	if (outlet->places[at].taken)
		close_client(client);
	outlet->places[at] = (struct pp_outlet_place){
		.taken = true, .user = who.uid, .since = outlet->client_cnt++};
	*client = (struct client){.outlet = outlet, .fd = fd};
	r = sd_event_add_io(outlet->event, &client->io, fd, EPOLLIN, on_client, client);
	if (r >= 0)
		r = sd_event_add_time_relative(outlet->event, &client->timer, CLOCK_MONOTONIC,
					       CONNECTION_US, 0, on_time, client);
	if (r < 0)
		close_client(client);
}

static void accept_some(struct pp_outlet *outlet)
{
	for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
		int fd = accept4(outlet->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		add_client(outlet, fd);
	}
}

static int on_listener(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct pp_outlet *outlet = context;
	struct pp_pace *pace = &outlet->pace;

	if (pp_pace_left(pace, now_us(outlet) * 1000) <= 0) {
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
		set_timer(outlet->rest, pp_pace_due(pace, REST_NS) / 1000);
		return 0;
	}
	pp_pace_start(pace);
	accept_some(outlet);
	pp_pace_stop(pace);
	return 0;
}

static int on_rested(sd_event_source *source, uint64_t time_us, void *context)
{
	struct pp_outlet *outlet = context;

	return sd_event_source_set_enabled(outlet->io, SD_EVENT_ON);
}

/* ---------------------------------------------------------------- public */

uint64_t pp_outlet_cpu_ns(const struct pp_outlet *outlet)
{
	return outlet ? outlet->pace.spent_ns : 0;
}

void pp_outlet_poke(struct pp_outlet *outlet)
{
	for (size_t i = 0; outlet && i < PP_OUTLET_PLACES; i++) {
		const struct client *client = &outlet->clients[i];

		if (outlet->places[i].taken && client->follows)
			outlet->places[i].deaf =
				send(client->fd, "\n", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0;
	}
}

bool pp_outlet_has_relay(const struct pp_outlet *outlet)
{
	for (size_t i = 0; outlet && i < PP_OUTLET_PLACES; i++)
		if (outlet->places[i].taken && outlet->clients[i].is_relay)
			return true;
	return false;
}

const char *pp_outlet_relay_notes(const struct pp_outlet *outlet)
{
	return outlet ? outlet->relay_notes : "";
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
	return sd_event_add_io(outlet->event, &outlet->io, outlet->fd, EPOLLIN, on_listener,
			       outlet);
}

static int add_timer(struct pp_outlet *outlet, sd_event_source **ret_timer,
		     sd_event_time_handler_t handler)
{
	int r = sd_event_add_time(outlet->event, ret_timer, CLOCK_MONOTONIC, 0, 1000, handler,
				  outlet);

	return r < 0 ? r : sd_event_source_set_enabled(*ret_timer, SD_EVENT_OFF);
}

static int open_outlet(struct pp_outlet *outlet, const char *database)
{
	int r = pp_outlet_address(&outlet->address, database);

	pp_pace_init(&outlet->pace, 1, now_us(outlet) * 1000);
	outlet->pace.share_ppm = SHARE_PPM;
	if (r == 0)
		r = add_timer(outlet, &outlet->rest, on_rested);
	if (r >= 0)
		r = add_timer(outlet, &outlet->waiting, on_waiting);
	return r < 0 ? r : listen_there(outlet);
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
	r = open_outlet(outlet, database);
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
	for (size_t i = 0; i < PP_OUTLET_PLACES; i++)
		if (outlet->places[i].taken)
			close_client(&outlet->clients[i]);
	drop_answer(outlet->answer);
	sd_event_source_disable_unref(outlet->io);
	sd_event_source_disable_unref(outlet->rest);
	sd_event_source_disable_unref(outlet->waiting);
	pp_cleanup_fd(&outlet->fd);
	if (outlet->bound)
		unlink(outlet->address.sun_path);
	sd_event_unref(outlet->event);
	free(outlet);
}
