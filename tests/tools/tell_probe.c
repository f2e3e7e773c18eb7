// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tell_probe [-j] [-c CA_FILE] [-b TOKEN_FILE] URL LISTEN: the relay's sinks and endpoint without
 * the relay. It tells an Alertmanager, each second again; -j: any webhook, as JSON. Lines on
 * standard input are what happens: `fire BINARY`, `still BINARY`, `resolve BINARY`. Ends when its
 * input does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/shared/log.h"
#include "../../tools/relay/metrics.h"
#include "../../tools/relay/sinks.h"
#include "../../daemon/shared/metrics_text.h"

struct probe {
	sd_event *event;
	struct pp_tell *tell;
	struct pp_metrics *metrics;
	int64_t began_ns;
	char line[4096];
	size_t line_len;
};

static int64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void write_metrics(const struct probe *probe, FILE *to)
{
	const char *labels[] = {"binary", "/bin/a \"b\"", "baseline", "rolling", NULL};

	pp_tell_metrics(&probe->tell, 1, to);
	pp_metrics_head(to, "pathprof_drift_kl", "gauge", "Plain relative entropy.");
	pp_metrics_sample(to, "pathprof_drift_kl", labels, 0.125);
}

static void on_question(void *context)
{
	const struct probe *probe = context;
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return;
	write_metrics(probe, to);
	fclose(to);
	pp_metrics_answer(probe->metrics, text, len);
	free(text);
}

static void happen(struct probe *probe, enum pathprof_alert_change change, const char *binary)
{
	bool over = change == PATHPROF_ALERT_RESOLVED;
	struct pp_tell_message message = {
		.change = change,
		.rule = "fast",
		.binary = binary,
		.container = "",
		.baseline = "rolling",
		.metric = "kl_corrected",
		.value = 0.5,
		.threshold = 0.01,
		.begin_ns = probe->began_ns,
		.end_ns = over ? wall_ns() : 0,
		.json = "{\"paths\":[{\"function\":\"f\",\"source\":\"f.c:1\",\"share\":0.5,"
			"\"baseline_share\":0.1}]}",
		.summary = "paths have changed",
	};
	int r = probe->tell->ops->tell(probe->tell, &message);

	if (r < 0)
		fprintf(stderr, "tell_probe: %s\n", strerror(-r));
}

static void obey(struct probe *probe, const char *line)
{
	if (!strncmp(line, "fire ", 5)) {
		probe->began_ns = wall_ns();
		happen(probe, PATHPROF_ALERT_FIRED, line + 5);
	} else if (!strncmp(line, "still ", 6)) {
		probe->began_ns = wall_ns();
		happen(probe, PATHPROF_ALERT_SAME, line + 6);
	} else if (!strncmp(line, "resolve ", 8)) {
		happen(probe, PATHPROF_ALERT_RESOLVED, line + 8);
	} else {
		fprintf(stderr, "tell_probe: unknown: %s\n", line);
	}
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct probe *probe = context;
	ssize_t n =
		read(fd, probe->line + probe->line_len, sizeof(probe->line) - 1 - probe->line_len);
	char *end;

	if (n <= 0)
		return sd_event_exit(probe->event, 0);
	probe->line_len += (size_t)n;
	probe->line[probe->line_len] = '\0';
	while ((end = strchr(probe->line, '\n'))) {
		*end = '\0';
		obey(probe, probe->line);
		probe->line_len -= (size_t)(end + 1 - probe->line);
		memmove(probe->line, end + 1, probe->line_len + 1);
	}
	return 0;
}

static int open_probe(struct probe *probe, const struct pp_tell_webhook_config *config,
		      const char *listen, struct pathprof_error *error)
{
	const struct pp_metrics_config metrics = {
		.address = listen, .ask = on_question, .context = probe};
	int r = sd_event_new(&probe->event);

	if (r >= 0)
		r = pp_tell_webhook_new(&probe->tell, probe->event, config, error);
	if (r >= 0)
		r = pp_metrics_new(&probe->metrics, probe->event, &metrics, error);
	if (r >= 0)
		r = sd_event_add_io(probe->event, NULL, STDIN_FILENO, EPOLLIN, on_input, probe);
	return r;
}

static int read_options(struct pp_tell_webhook_config *config, int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "jc:b:")) != -1) {
		if (option == 'j')
			config->kind = PP_TELL_WEBHOOK_JSON;
		else if (option == 'c')
			config->ca_file = optarg;
		else if (option == 'b')
			config->bearer_file = optarg;
		else
			return -EINVAL;
	}
	return argc - optind == 2 ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	struct pp_tell_webhook_config config = {.resend_ms = 1000, .retry_ms = 200};
	struct pathprof_error error = {""};
	struct probe probe = {0};
	int r;

	if (read_options(&config, argc, argv) < 0)
		return 2;
	config.url = argv[optind];
	pp_log_init(LOG_INFO);
	r = open_probe(&probe, &config, argv[optind + 1], &error);
	if (r >= 0) {
		puts("ready");
		fflush(stdout);
		r = sd_event_loop(probe.event);
	}
	if (r < 0)
		fprintf(stderr, "tell_probe: %s %s\n", error.text, strerror(-r));
	pp_metrics_free(probe.metrics);
	if (probe.tell) {
		probe.tell->ops->finish(probe.tell, 2000);
		probe.tell->ops->free(probe.tell);
	}
	sd_event_unref(probe.event);
	return r < 0;
}
