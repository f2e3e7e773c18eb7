// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * alert_writer DATABASE: pathprofd as pathprof-relay sees it, its messages made by hand: it writes
 * the store and has the outlet. Lines on standard input are what happens:
 *
 *     fire BINARY     an alert about it fires        many COUNT  so many at once, /bin/many-1 to
 *     resolve BINARY  and is over                                /bin/many-COUNT, that fire
 *
 * It prints a dot for each line once that is in the store, and ends when its input does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/shared/outlet.h"
#include "pathprof/store.h"

#define MANY_MAX 4096

struct writer {
	sd_event *event;
	struct pathprof_store *store;
	struct pp_outlet *outlet;
	char line[4096];
	size_t line_len;
};

static int64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void show(void *context, FILE *to)
{
	fputs("# HELP pathprof_up 1 while the source of branches is open, 0 while it is down.\n"
	      "# TYPE pathprof_up gauge\n"
	      "pathprof_up{source=\"made\"} 1\n",
	      to);
}

/* An alert's state and its message; the names are borrowed, json is the caller's room. */
static void make(struct pathprof_alert_row *state, struct pathprof_message_row *message,
		 const char *binary, bool fired, char json[static 512])
{
	int64_t now_ns = wall_ns();

	snprintf(json, 512,
		 "{\"version\":1,\"status\":\"%s\",\"rule\":\"fast\",\"binary\":\"%.300s\","
		 "\"paths\":[]"
		 "}",
		 fired ? "firing" : "resolved", binary);
	*state = (struct pathprof_alert_row){
		.rule = "fast", .binary = binary, .container = "", .baseline = "rolling"};
	state->json = json;
	state->state = (struct pathprof_alert_state){.phase = fired ? PATHPROF_ALERT_FIRING
								    : PATHPROF_ALERT_QUIET,
						     .since_ns = now_ns,
						     .fired_ns = fired ? now_ns : now_ns - 1,
						     .resolved_ns = fired ? 0 : now_ns,
						     .seen_ns = now_ns};
	*message = (struct pathprof_message_row){.time_ns = now_ns,
						 .fired = fired,
						 .rule = "fast",
						 .binary = binary,
						 .container = "",
						 .baseline = "rolling",
						 .metric = "kl_corrected",
						 .begin_ns = state->state.fired_ns,
						 .end_ns = state->state.resolved_ns,
						 .summary = "its paths have changed",
						 .json = json};
}

static void write_rows(const struct writer *writer, const struct pathprof_alert_row *states,
		       const struct pathprof_message_row *messages, size_t cnt)
{
	struct pathprof_error error = {""};

	if (pathprof_store_set_alerts(writer->store, states, cnt, messages, cnt, &error) < 0) {
		fprintf(stderr, "alert_writer: %s\n", error.text);
		exit(1);
	}
	pp_outlet_poke(writer->outlet);
}

static void happen(const struct writer *writer, const char *binary, bool fired)
{
	struct pathprof_message_row message;
	struct pathprof_alert_row state;
	char json[512];

	make(&state, &message, binary, fired, json);
	write_rows(writer, &state, &message, 1);
}

static void happen_often(const struct writer *writer, long cnt)
{
	static struct pathprof_message_row messages[MANY_MAX];
	static struct pathprof_alert_row states[MANY_MAX];
	static char names[MANY_MAX][32], texts[MANY_MAX][512];

	if (cnt < 1 || cnt > MANY_MAX) {
		fprintf(stderr, "alert_writer: many: 1 to %d\n", MANY_MAX);
		exit(1);
	}
	for (long i = 0; i < cnt; i++) {
		snprintf(names[i], sizeof(names[i]), "/bin/many-%ld", i + 1);
		make(&states[i], &messages[i], names[i], true, texts[i]);
	}
	write_rows(writer, states, messages, (size_t)cnt);
}

static void obey(const struct writer *writer, const char *line)
{
	if (!strncmp(line, "fire ", 5)) {
		happen(writer, line + 5, true);
	} else if (!strncmp(line, "resolve ", 8)) {
		happen(writer, line + 8, false);
	} else if (!strncmp(line, "many ", 5)) {
		happen_often(writer, strtol(line + 5, NULL, 10));
	} else {
		fprintf(stderr, "alert_writer: unknown: %s\n", line);
		exit(1);
	}
	puts(".");
	fflush(stdout);
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct writer *writer = context;
	ssize_t n = read(fd, writer->line + writer->line_len,
			 sizeof(writer->line) - 1 - writer->line_len);
	char *end;

	if (n <= 0)
		return sd_event_exit(writer->event, 0);
	writer->line_len += (size_t)n;
	writer->line[writer->line_len] = '\0';
	while ((end = strchr(writer->line, '\n'))) {
		*end = '\0';
		obey(writer, writer->line);
		writer->line_len -= (size_t)(end + 1 - writer->line);
		memmove(writer->line, end + 1, writer->line_len + 1);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct pathprof_error error = {""};
	struct writer writer = {0};
	int r;

	if (argc != 2) {
		fputs("usage: alert_writer DATABASE\n", stderr);
		return 2;
	}
	r = pathprof_store_open(&writer.store, argv[1], PATHPROF_STORE_WRITE, &error);
	if (r == 0)
		r = sd_event_new(&writer.event);
	if (r >= 0)
		r = pp_outlet_new(&writer.outlet, writer.event, argv[1], show, NULL, &error);
	if (r >= 0)
		r = sd_event_add_io(writer.event, NULL, STDIN_FILENO, EPOLLIN, on_input, &writer);
	if (r >= 0) {
		puts("ready");
		fflush(stdout);
		r = sd_event_loop(writer.event);
	}
	if (r < 0)
		fprintf(stderr, "alert_writer: %s %s\n", error.text, strerror(-r));
	pp_outlet_free(writer.outlet);
	pathprof_store_free(writer.store);
	sd_event_unref(writer.event);
	return r < 0;
}
