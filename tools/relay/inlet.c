// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofd's socket, from the relay's side: see inlet.h. */
#include "inlet.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "../../daemon/shared/outlet_address.h"

#define AWAY_US    UINT64_C(5000000)  /* between looks for pathprofd, and into the store */
#define THERE_US   UINT64_C(30000000) /* between looks into the store while pathprofd is there */
#define ANSWER_US  UINT64_C(5000000)
#define CONNECT_S  1 /* the loop stands still meanwhile */
#define ANSWER_MAX (16u << 20)
#define PIECE      65536

struct pp_inlet {
	sd_event *event;
	struct sockaddr_un address;
	struct pp_inlet_config config;
	sd_event_source *turn;

	int news; /* the connection that follows; -1: pathprofd is away */
	sd_event_source *news_io;

	int figures; /* the connection that awaits an answer; -1: none */
	sd_event_source *figures_io, *figures_timer;
	char *answer;
	size_t answer_len, answer_room;
};

/* A local socket connects at once, or waits for its turn for a moment among many clients. */
static int ask_there(const struct pp_inlet *inlet, const char *question)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval most = {.tv_sec = CONNECT_S};
	size_t len = strlen(question);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) < 0 ||
	    connect(fd, (const struct sockaddr *)&inlet->address, sizeof(inlet->address)) < 0)
		return -errno;
	if (send(fd, question, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len)
		return -EIO;
	return pp_steal_fd(&fd);
}

/* ---------------------------------------------------------------- news */

static void turn_again(struct pp_inlet *inlet)
{
	uint64_t after_us = inlet->news < 0 ? AWAY_US : THERE_US;

	if (sd_event_source_set_time_relative(inlet->turn, after_us) >= 0)
		sd_event_source_set_enabled(inlet->turn, SD_EVENT_ONESHOT);
}

static void lose(struct pp_inlet *inlet)
{
	inlet->news_io = sd_event_source_disable_unref(inlet->news_io);
	pp_cleanup_fd(&inlet->news);
	inlet->news = -EBADF;
}

static int on_news(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct pp_inlet *inlet = context;
	char said[256];
	ssize_t n = recv(fd, said, sizeof(said), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		lose(inlet);
		turn_again(inlet);
	}
	/* the end of the connection may have been news, too */
	inlet->config.on_news(inlet->config.context);
	return 0;
}

static void follow(struct pp_inlet *inlet)
{
	const char *notes = inlet->config.notes;
	char question[sizeof(PP_OUTLET_RELAY_AT) + PP_OUTLET_NOTES_MAX + 1] = PP_OUTLET_RELAY;

	if (notes && strlen(notes) <= PP_OUTLET_NOTES_MAX && !strchr(notes, '\n'))
		snprintf(question, sizeof(question), PP_OUTLET_RELAY_AT "%s\n", notes);
	inlet->news = ask_there(inlet, question);
	if (inlet->news >= 0 && sd_event_add_io(inlet->event, &inlet->news_io, inlet->news, EPOLLIN,
						on_news, inlet) < 0)
		lose(inlet);
}

/* Looks at the store in case news was missed: messages may have been written while no connection
 * was open. */
static int on_turn(sd_event_source *source, uint64_t now_us, void *context)
{
	struct pp_inlet *inlet = context;

	if (inlet->news < 0)
		follow(inlet);
	inlet->config.on_news(inlet->config.context);
	turn_again(inlet);
	return 0;
}

bool pp_inlet_is_up(const struct pp_inlet *inlet)
{
	return inlet->news >= 0;
}

/* ---------------------------------------------------------------- figures */

static void end_question(struct pp_inlet *inlet, bool well)
{
	_cleanup_free_ char *answer = inlet->answer;
	size_t len = inlet->answer_len;

	inlet->figures_io = sd_event_source_disable_unref(inlet->figures_io);
	inlet->figures_timer = sd_event_source_disable_unref(inlet->figures_timer);
	pp_cleanup_fd(&inlet->figures);
	inlet->figures = -EBADF;
	inlet->answer = NULL;
	inlet->answer_len = inlet->answer_room = 0;
	inlet->config.on_figures(inlet->config.context, well ? answer : NULL, well ? len : 0);
}

/* Makes room for one more piece. */
static bool make_room(struct pp_inlet *inlet)
{
	size_t room = inlet->answer_room ? 2 * inlet->answer_room : 2 * PIECE;

	if (inlet->answer_room - inlet->answer_len >= PIECE)
		return true;
	if (room > ANSWER_MAX || pp_resize(&inlet->answer, room) < 0)
		return false;
	inlet->answer_room = room;
	return true;
}

static int on_figures(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct pp_inlet *inlet = context;
	ssize_t n;

	if (!make_room(inlet)) {
		end_question(inlet, false);
		return 0;
	}
	n = recv(fd, inlet->answer + inlet->answer_len, PIECE, MSG_DONTWAIT);
	if (n > 0)
		inlet->answer_len += (size_t)n;
	/* all of it has come when the other side closes behind a line's end */
	else if (n == 0)
		end_question(inlet,
			     inlet->answer_len && inlet->answer[inlet->answer_len - 1] == '\n');
	else if (errno != EAGAIN && errno != EINTR)
		end_question(inlet, false);
	return 0;
}

static int on_late(sd_event_source *source, uint64_t now_us, void *context)
{
	end_question(context, false);
	return 0;
}

void pp_inlet_ask(struct pp_inlet *inlet)
{
	int r;

	if (inlet->figures >= 0)
		return;
	inlet->figures = ask_there(inlet, PP_OUTLET_FIGURES);
	r = inlet->figures;
	if (r >= 0)
		r = sd_event_add_io(inlet->event, &inlet->figures_io, inlet->figures, EPOLLIN,
				    on_figures, inlet);
	if (r >= 0)
		r = sd_event_add_time_relative(inlet->event, &inlet->figures_timer, CLOCK_MONOTONIC,
					       ANSWER_US, 0, on_late, inlet);
	if (r < 0)
		end_question(inlet, false);
}

/* ---------------------------------------------------------------- life */

int pp_inlet_new(struct pp_inlet **ret_inlet, sd_event *event, const struct pp_inlet_config *config)
{
	struct pp_inlet *inlet = calloc(1, sizeof(*inlet));
	int r;

	if (!inlet)
		return -ENOMEM;
	inlet->event = sd_event_ref(event);
	inlet->config = *config;
	inlet->news = inlet->figures = -EBADF;
	r = pp_outlet_address(&inlet->address, config->database);
	if (r == 0)
		r = sd_event_add_time_relative(event, &inlet->turn, CLOCK_MONOTONIC, 0, 0, on_turn,
					       inlet);
	if (r < 0) {
		pp_inlet_free(inlet);
		return r;
	}
	*ret_inlet = inlet;
	return 0;
}

void pp_inlet_free(struct pp_inlet *inlet)
{
	if (!inlet)
		return;
	sd_event_source_disable_unref(inlet->turn);
	sd_event_source_disable_unref(inlet->news_io);
	sd_event_source_disable_unref(inlet->figures_io);
	sd_event_source_disable_unref(inlet->figures_timer);
	pp_cleanup_fd(&inlet->news);
	pp_cleanup_fd(&inlet->figures);
	free(inlet->answer);
	sd_event_unref(inlet->event);
	free(inlet);
}
