// SPDX-License-Identifier: GPL-2.0-or-later
/* The world of telling: see tell_world.h. */
#include "tell_world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../tools/relay/tell_failure.h"
#include "unit.h"

#define BEAT_US     UINT64_C(5000)
#define LIMIT_US    UINT64_C(300000000)
#define HELD_UP_US  UINT64_C(700000)   /* asleep: nothing in the loop may wait */
#define AT_WORK_US  UINT64_C(10000000) /* a slow machine forks for long */
#define REQUEST_MAX 262144
#define SLOW_US     UINT64_C(2000)

struct world_client {
	struct world_client *next;
	struct world *world;
	int fd;
	sd_event_source *io, *timer;
	char request[REQUEST_MAX];
	size_t request_len;
	const char *slow;
	bool endless;
};

static void free_client(struct world_client *client)
{
	sd_event_source_disable_unref(client->io);
	sd_event_source_disable_unref(client->timer);
	close(client->fd);
	free(client);
}

static void close_client(struct world_client *client)
{
	struct world_client **at = &client->world->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	free_client(client);
}

static void say(struct world_client *client, const char *text)
{
	if (send(client->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		client->endless = false;
}

static int on_slow(sd_event_source *source, uint64_t now_us, void *context)
{
	struct world_client *client = context;

	if (client->endless) {
		static char flood[65537];

		memset(flood, 'x', sizeof(flood) - 1);
		say(client, flood);
	} else if (*client->slow) {
		send(client->fd, client->slow++, 1, MSG_NOSIGNAL);
	} else {
		close_client(client);
		return 0;
	}
	sd_event_source_set_time_relative(source, SLOW_US);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

static void answer_slowly(struct world_client *client, const char *text)
{
	client->slow = text;
	CU_ASSERT(sd_event_add_time_relative(client->world->event, &client->timer, CLOCK_MONOTONIC,
					     SLOW_US, 1, on_slow, client) >= 0);
}

static void reset(struct world_client *client)
{
	struct linger linger = {.l_onoff = 1};

	setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

static void answer(struct world_client *client, int what)
{
	char text[128];

	switch (what) {
	case ANSWER_HANG:
		return;
	case ANSWER_SLOW:
		answer_slowly(client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
		return;
	case ANSWER_ENDLESS:
		client->endless = true;
		say(client, "HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n");
		answer_slowly(client, "");
		return;
	case ANSWER_RESET:
		reset(client);
		break;
	case ANSWER_GARBAGE:
		say(client, "220 mail.example ESMTP\r\n");
		break;
	case ANSWER_LATER:
		say(client, "HTTP/1.1 503 Later\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n");
		break;
	case ANSWER_THITHER:
		snprintf(text, sizeof(text),
			 "HTTP/1.1 307 There\r\nLocation: %s/there\r\nContent-Length: 0\r\n\r\n",
			 world_url(client->world));
		say(client, text);
		break;
	default:
		snprintf(text, sizeof(text), "HTTP/1.1 %d Said\r\nContent-Length: 0\r\n\r\n", what);
		say(client, text);
	}
	close_client(client);
}

/* The body, once all of it is there. */
static const char *whole_body(const struct world_client *client)
{
	const char *body = strstr(client->request, "\r\n\r\n");
	const char *length = strcasestr(client->request, "content-length:");

	if (!body || !length || length > body)
		return NULL;
	body += 4;
	return client->request + client->request_len >= body + atol(length + 15) ? body : NULL;
}

static void take_request(struct world_client *client, const char *body)
{
	struct world *world = client->world;
	size_t index = world->request_cnt;
	int what = 200;

	if (index >= WORLD_REQUESTS_MAX) {
		CU_FAIL("more requests than the test has room for");
		close_client(client);
		return;
	}
	world->bodies[index] = strdup(body);
	world->heads[index] = strndup(client->request, (size_t)(body - client->request));
	world->came_us[index] = pp_tell_now_us();
	world->request_cnt++;
	for (size_t i = 0; i <= index; i++)
		what = world->answers[i] ? world->answers[i] : what;
	answer(client, what);
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct world_client *client = context;
	ssize_t n = recv(fd, client->request + client->request_len,
			 REQUEST_MAX - 1 - client->request_len, MSG_DONTWAIT);
	const char *body;

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0) {
		close_client(client);
		return 0;
	}
	client->request_len += (size_t)n;
	body = whole_body(client);
	if (body)
		take_request(client, body);
	return 0;
}

static int on_accept(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct world *world = context;
	struct world_client *client = calloc(1, sizeof(*client));

	CU_ASSERT_PTR_NOT_NULL_FATAL(client);
	if (!client)
		return -ENOMEM;
	client->fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	client->world = world;
	client->next = world->clients;
	world->clients = client;
	if (client->fd < 0 ||
	    sd_event_add_io(world->event, &client->io, client->fd, EPOLLIN, on_client, client) < 0)
		close_client(client);
	return 0;
}

/* Time on a CPU, and waiting for one, since the beginning; 0 where the kernel does not tell. */
static void read_account(uint64_t *ret_ran_us, uint64_t *ret_waited_us)
{
	unsigned long long ran_ns = 0, waited_ns = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (file && fscanf(file, "%llu %llu", &ran_ns, &waited_ns) != 2)
		ran_ns = waited_ns = 0;
	if (file)
		fclose(file);
	*ret_ran_us = ran_ns / 1000;
	*ret_waited_us = waited_ns / 1000;
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

/* A machine that is busy, or whose host takes the CPU away, is not what holds the loop up. */
static void note_beat(struct world *world, uint64_t apart_us)
{
	uint64_t ran_us, waited_us, work_us, asleep_us;

	read_account(&ran_us, &waited_us);
	work_us = less(ran_us, world->ran_us);
	asleep_us = less(less(apart_us, less(waited_us, world->waited_us)), work_us);
	world->was_held_up |= asleep_us > HELD_UP_US || work_us > AT_WORK_US;
	world->ran_us = ran_us;
	world->waited_us = waited_us;
}

static int on_beat(sd_event_source *source, uint64_t now_us, void *context)
{
	struct world *world = context;
	uint64_t real_us = pp_tell_now_us();

	note_beat(world, real_us - world->beat_us);
	world->beat_us = real_us;
	sd_event_source_set_time_relative(source, BEAT_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void world_init(struct world *world)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	sd_event_source *beat = NULL;

	*world = (struct world){.beat_us = pp_tell_now_us()};
	read_account(&world->ran_us, &world->waited_us);
	unsetenv("http_proxy");
	unsetenv("ALL_PROXY");
	unsetenv("all_proxy");
	CU_ASSERT_FATAL(sd_event_new(&world->event) >= 0);
	CU_ASSERT_FATAL(sd_event_add_time_relative(world->event, &beat, CLOCK_MONOTONIC, BEAT_US, 1,
						   on_beat, world) >= 0);
	sd_event_source_set_floating(beat, 1);
	sd_event_source_unref(beat);
	world->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_FATAL(bind(world->listener, (struct sockaddr *)&address, len) == 0);
	CU_ASSERT_FATAL(listen(world->listener, 64) == 0);
	getsockname(world->listener, (struct sockaddr *)&address, &len);
	world->port = ntohs(address.sin_port);
	CU_ASSERT_FATAL(sd_event_add_io(world->event, NULL, world->listener, EPOLLIN, on_accept,
					world) >= 0);
}

void world_release(struct world *world)
{
	struct world_client *client;

	while ((client = world->clients)) {
		world->clients = client->next;
		free_client(client);
	}
	for (size_t i = 0; i < world->request_cnt; i++) {
		free(world->bodies[i]);
		free(world->heads[i]);
	}
	sd_event_unref(world->event);
	close(world->listener);
}

const char *world_url(const struct world *world)
{
	static char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", world->port);
	return url;
}

bool world_until(struct world *world, world_condition *condition, void *context)
{
	uint64_t until_us = pp_tell_now_us() + LIMIT_US;

	while (!condition(context)) {
		if (pp_tell_now_us() > until_us)
			return false;
		sd_event_run(world->event, 20000);
	}
	return true;
}

struct request_wish {
	const struct world *world;
	size_t cnt;
};

static bool requests_came(void *context)
{
	const struct request_wish *wish = context;

	return wish->world->request_cnt >= wish->cnt;
}

bool world_until_requests(struct world *world, size_t cnt)
{
	struct request_wish wish = {world, cnt};

	return world_until(world, requests_came, &wish);
}

struct done_wish {
	struct pp_tell *tell;
	uint64_t cnt;
};

static bool is_done(void *context)
{
	const struct done_wish *wish = context;
	struct pp_tell_stats stats = world_stats(wish->tell);

	return stats.told + stats.dropped >= wish->cnt;
}

bool world_until_done(struct world *world, struct pp_tell *tell, uint64_t cnt)
{
	struct done_wish wish = {tell, cnt};

	return world_until(world, is_done, &wish);
}

void world_run(struct world *world, uint64_t for_us)
{
	uint64_t until_us = pp_tell_now_us() + for_us;

	while (pp_tell_now_us() < until_us)
		sd_event_run(world->event, 5000);
}

bool world_was_held_up(const struct world *world)
{
	return world->was_held_up;
}

struct pp_tell_stats world_stats(struct pp_tell *tell)
{
	struct pp_tell_stats stats = {0};

	tell->ops->stats(tell, &stats);
	return stats;
}

struct pp_tell_message world_message(const char *binary, enum pathprof_alert_change change)
{
	static char json[512];
	static int64_t id;

	snprintf(json, sizeof(json),
		 "{\"version\":1,\"status\":\"%s\",\"rule\":\"fast\",\"binary\":\"%s\",\"paths\":["
		 "{\"path_id\":\"1\",\"function\":\"compress\",\"source\":\"a.c:7\",\"share\":0.5,"
		 "\"baseline_share\":0.25,\"bits\":0.5}]}",
		 change == PATHPROF_ALERT_RESOLVED ? "resolved" : "firing", binary);
	id++;
	return (struct pp_tell_message){
		.change = change,
		.id = id,
		.rule = "fast",
		.binary = binary,
		.container = "",
		.baseline = "rolling",
		.metric = "kl_corrected",
		.value = 0.25,
		.threshold = 0.01,
		.begin_ns = INT64_C(1700000000123456789),
		.end_ns = change == PATHPROF_ALERT_RESOLVED ? INT64_C(1700000060123456789) : 0,
		.json = json,
		.summary = "the paths of it have changed",
	};
}
