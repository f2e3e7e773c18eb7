// SPDX-License-Identifier: GPL-2.0-or-later
/* The Prometheus endpoint, asked well and badly. Client and server share one loop. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tools/relay/metrics.h"
#include "../../tools/relay/tell_failure.h"
#include "../../daemon/shared/metrics_text.h"
#include "tell_world.h"

#define CROWD_CNT     20     /* more than there is room for */
#define CONNECTION_MS 2000   /* its end comes while the test waits */
#define PATIENCE_MS   600000 /* a slow machine has as long as it needs */
#define LONG_LINES    100000

struct scene {
	struct world world;
	struct pp_metrics *metrics;
	unsigned int asked;
	bool is_long; /* the answer: more than sockets hold */
	bool is_late; /* it comes when the test says so */
};

static void write_metrics(struct scene *scene, FILE *to)
{
	const char *labels[] = {"binary", "/bin/a\"b\\c\nd", "baseline", "roll\xff\xc0\xafing",
				NULL};

	for (int i = 0; scene->is_long && i < LONG_LINES; i++)
		fprintf(to, "pathprof_drift_kl{binary=\"%050d\"} 0\n", i);
	pp_metrics_head(to, "pathprof_drift_kl", "gauge", "Drift,\nin bits.");
	pp_metrics_sample(to, "pathprof_drift_kl", labels, 0.1);
	pp_metrics_head(to, "pathprof_bursts_total", "counter", "Branch windows taken.");
	pp_metrics_sample(to, "pathprof_bursts_total", NULL, 9007199254740991.0);
}

static void give_answer(struct scene *scene)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(to);
	write_metrics(scene, to);
	fclose(to);
	pp_metrics_answer(scene->metrics, text, len);
	free(text);
}

static void on_question(void *context)
{
	struct scene *scene = context;

	scene->asked++;
	if (!scene->is_late)
		give_answer(scene);
}

static void open_for(struct scene *scene, uint32_t connection_ms)
{
	const struct pp_metrics_config config = {.address = "127.0.0.1:0",
						 .ask = on_question,
						 .context = scene,
						 .connection_ms = connection_ms};
	struct pathprof_error error = {""};

	*scene = (struct scene){0};
	world_init(&scene->world);
	CU_ASSERT_FATAL(pp_metrics_new(&scene->metrics, scene->world.event, &config, &error) == 0);
}

static void open_scene(struct scene *scene)
{
	open_for(scene, PATIENCE_MS);
}

/* Connections last for CONNECTION_MS. */
static void open_hasty(struct scene *scene)
{
	open_for(scene, CONNECTION_MS);
}

static void close_scene(struct scene *scene)
{
	pp_metrics_free(scene->metrics);
	CU_ASSERT_FALSE(world_was_held_up(&scene->world));
	world_release(&scene->world);
}

static int connect_to(const struct scene *scene)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				      .sin_port = htons(pp_metrics_port(scene->metrics))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_FATAL(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
			errno == EINPROGRESS);
	return fd;
}

struct answer {
	int fd;
	char text[65536];
	size_t len;
	bool closed;
};

static bool has_closed(void *context)
{
	struct answer *answer = context;
	ssize_t n = recv(answer->fd, answer->text + answer->len,
			 sizeof(answer->text) - 1 - answer->len, MSG_DONTWAIT);

	if (n > 0)
		answer->len += (size_t)n;
	else if (n == 0 || errno != EAGAIN)
		answer->closed = true;
	answer->text[answer->len] = '\0';
	return answer->closed;
}

/* Sends text and reads until the server closes. */
static struct answer ask(struct scene *scene, const char *text, size_t len)
{
	struct answer answer = {.fd = connect_to(scene)};
	size_t sent = 0;

	while (sent < len) {
		ssize_t n = send(answer.fd, text + sent, len - sent, MSG_NOSIGNAL);

		if (n > 0)
			sent += (size_t)n;
		else if (errno != EAGAIN)
			break;
		world_run(&scene->world, 1000);
	}
	CU_ASSERT(world_until(&scene->world, has_closed, &answer));
	close(answer.fd);
	return answer;
}

static struct answer ask_for(struct scene *scene, const char *text)
{
	return ask(scene, text, strlen(text));
}

static int status_of(const struct answer *answer)
{
	int status = 0;

	return sscanf(answer->text, "HTTP/1.%*d %d", &status) == 1 ? status : 0;
}

static const char good_request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

static void test_answers(void)
{
	static const char wanted[] =
		"# HELP pathprof_drift_kl Drift,\\nin bits.\n"
		"# TYPE pathprof_drift_kl gauge\n"
		"pathprof_drift_kl{binary=\"/bin/a\\\"b\\\\c\\nd\","
		"baseline=\"roll\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbding\"} 0.10000000000000001\n"
		"# HELP pathprof_bursts_total Branch windows taken.\n"
		"# TYPE pathprof_bursts_total counter\n"
		"pathprof_bursts_total 9007199254740991\n";
	struct scene scene;
	struct answer answer;
	const char *body;

	open_scene(&scene);
	answer = ask_for(&scene, good_request);
	CU_ASSERT(status_of(&answer) == 200);
	CU_ASSERT_PTR_NOT_NULL(strstr(answer.text, "text/plain; version=0.0.4"));
	CU_ASSERT_PTR_NOT_NULL(strstr(answer.text, "Connection: close\r\n"));
	body = strstr(answer.text, "\r\n\r\n");
	CU_ASSERT_PTR_NOT_NULL_FATAL(body);
	CU_ASSERT_STRING_EQUAL(body ? body + 4 : "", wanted);
	CU_ASSERT(scene.asked == 1);
	answer = ask_for(&scene, "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
	CU_ASSERT(status_of(&answer) == 200);
	CU_ASSERT_PTR_NULL(strstr(answer.text, "pathprof"));
	close_scene(&scene);
}

static void test_refusals(void)
{
	static const struct {
		const char *text;
		int status;
	} asked[] = {
		{"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 405},
		{"DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 405},
		{"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 413},
		{"GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		 413},
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"GET /metrics/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"GET /metrics HTTP/1.1\r\n\r\n", 400},
		{"GET /metrics\r\n\r\n", 0},
	};
	struct scene scene;

	open_scene(&scene);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct answer answer = ask_for(&scene, asked[i].text);

		if (asked[i].status)
			CU_ASSERT(status_of(&answer) == asked[i].status);
		CU_ASSERT_PTR_NULL(strstr(answer.text, "pathprof_"));
	}
	CU_ASSERT(scene.asked == 0);
	close_scene(&scene);
}

/* Without the NUL. */
static void put(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
}

static void test_long_request(void)
{
	static char text[400000];
	struct scene scene;
	struct answer answer;

	open_hasty(&scene);
	memset(text, 'a', sizeof(text));
	put(text, "GET /");
	answer = ask(&scene, text, sizeof(text));
	CU_ASSERT(status_of(&answer) == 0 || status_of(&answer) / 100 == 4);
	put(text, "GET /metrics HTTP/1.1\r\nX: ");
	answer = ask(&scene, text, sizeof(text));
	CU_ASSERT(status_of(&answer) == 0 || status_of(&answer) / 100 == 4);
	memset(text, 0, sizeof(text));
	put(text + 4996, "\r\n\r\n");
	answer = ask(&scene, text, 5000);
	CU_ASSERT(status_of(&answer) == 0 || status_of(&answer) / 100 == 4);
	CU_ASSERT(scene.asked == 0);
	answer = ask_for(&scene, good_request);
	CU_ASSERT(status_of(&answer) == 200);
	close_scene(&scene);
}

static struct answer begin(struct scene *scene, const char *text)
{
	struct answer answer = {.fd = connect_to(scene)};

	CU_ASSERT(send(answer.fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
	return answer;
}

static void test_many_at_once(void)
{
	static struct answer answers[CROWD_CNT];
	struct scene scene;

	open_scene(&scene);
	for (size_t i = 0; i < CROWD_CNT; i++)
		answers[i] = begin(&scene, good_request);
	for (size_t i = 0; i < CROWD_CNT; i++) {
		CU_ASSERT(world_until(&scene.world, has_closed, &answers[i]));
		CU_ASSERT(status_of(&answers[i]) == 200);
		CU_ASSERT_PTR_NOT_NULL(
			strstr(answers[i].text, "pathprof_bursts_total 9007199254740991\n"));
		close(answers[i].fd);
	}
	/* those that wait together are answered together */
	CU_ASSERT(scene.asked > 0);
	CU_ASSERT(scene.asked <= CROWD_CNT);
	close_scene(&scene);
}

/* The answer is long in coming: others are refused meanwhile, as ever, and all that wait have it.
 */
static void test_late_answer(void)
{
	static struct answer answers[3];
	struct answer other;
	struct scene scene;

	open_scene(&scene);
	scene.is_late = true;
	for (size_t i = 0; i < 3; i++)
		answers[i] = begin(&scene, good_request);
	while (!scene.asked)
		world_run(&scene.world, 1000);
	other = ask_for(&scene, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	CU_ASSERT(status_of(&other) == 404);
	world_run(&scene.world, 50000);
	CU_ASSERT(scene.asked == 1);
	CU_ASSERT_FALSE(has_closed(&answers[0]));
	give_answer(&scene);
	scene.is_late = false;
	for (size_t i = 0; i < 3; i++) {
		CU_ASSERT(world_until(&scene.world, has_closed, &answers[i]));
		CU_ASSERT(status_of(&answers[i]) == 200);
		CU_ASSERT_PTR_NOT_NULL(strstr(answers[i].text, "pathprof_bursts_total 9"));
		close(answers[i].fd);
	}
	close_scene(&scene);
}

/* One that has gone before the answer came, and the end of all of it. */
static void test_gone_before_the_answer(void)
{
	static struct answer answers[3];
	struct scene scene;

	open_hasty(&scene);
	scene.is_late = true;
	answers[0] = begin(&scene, good_request);
	answers[1] = begin(&scene, good_request);
	while (!scene.asked)
		world_run(&scene.world, 1000);
	close(answers[0].fd);
	world_run(&scene.world, (CONNECTION_MS + 200) * 1000);
	give_answer(&scene);
	CU_ASSERT(world_until(&scene.world, has_closed, &answers[1]));
	answers[2] = begin(&scene, good_request);
	scene.asked = 0;
	while (!scene.asked)
		world_run(&scene.world, 1000);
	close_scene(&scene);
	close(answers[1].fd);
	close(answers[2].fd);
}

/* Reads all that comes, and keeps none of it. */
static bool is_cut_off(void *context)
{
	struct answer *answer = context;
	ssize_t n;

	while ((n = recv(answer->fd, answer->text, sizeof(answer->text), MSG_DONTWAIT)) > 0)
		answer->len += (size_t)n;
	answer->closed = n == 0 || errno != EAGAIN;
	return answer->closed;
}

/* One that asks and does not read: others are answered meanwhile, and its time is up as theirs. */
static void test_slow_reader(void)
{
	struct answer slow, other;
	struct scene scene;
	uint64_t begin_us;

	open_hasty(&scene);
	scene.is_long = true;
	begin_us = pp_tell_now_us();
	slow = begin(&scene, good_request);
	while (!scene.asked)
		world_run(&scene.world, 1000);
	scene.is_long = false;
	for (int i = 0; i < 3; i++) {
		other = ask_for(&scene, good_request);
		CU_ASSERT(status_of(&other) == 200);
	}
	while (pp_tell_now_us() - begin_us < (CONNECTION_MS + 200) * 1000)
		world_run(&scene.world, 10000);
	CU_ASSERT(world_until(&scene.world, is_cut_off, &slow));
	CU_ASSERT(slow.len > 0);
	CU_ASSERT(slow.len < (size_t)LONG_LINES * 70);
	close(slow.fd);
	close_scene(&scene);
}

/* All send a byte now and then, so that none is ever silent for long. */
static int on_drip(sd_event_source *source, uint64_t now_us, void *context)
{
	const int *fds = context;

	for (size_t i = 0; i < CROWD_CNT; i++)
		if (send(fds[i], "X", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			continue;
	sd_event_source_set_time_relative(source, CONNECTION_MS * 1000 / 20);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/*
 * More than there is room for, who never end their requests and are never silent: each is shut out
 * in its turn, and one that asks well meanwhile is served in the end.
 */
static void test_crowd(void)
{
	sd_event_source *dripper = NULL;
	struct answer answer;
	struct scene scene;
	int fds[CROWD_CNT];
	uint64_t begin_us;

	open_hasty(&scene);
	begin_us = pp_tell_now_us();
	for (size_t i = 0; i < CROWD_CNT; i++)
		fds[i] = begin(&scene, "GET /met").fd;
	CU_ASSERT_FATAL(sd_event_add_time_relative(scene.world.event, &dripper, CLOCK_MONOTONIC, 0,
						   1, on_drip, fds) >= 0);
	answer = begin(&scene, good_request);
	CU_ASSERT(world_until(&scene.world, has_closed, &answer));
	CU_ASSERT(status_of(&answer) == 200);
	/* none of the others has gone before its time */
	CU_ASSERT(pp_tell_now_us() - begin_us >= CONNECTION_MS * 1000);
	sd_event_source_disable_unref(dripper);
	for (size_t i = 0; i < CROWD_CNT; i++)
		close(fds[i]);
	close(answer.fd);
	close_scene(&scene);
}

static void test_addresses(void)
{
	static const char *const bad[] = {"",           "9753",    "localhost:1", "127.0.0.1",
					  "127.0.0.1:", "::1:80",  "[::1]",       "127.0.0.1:x",
					  "[::1:80",    "1.2.3:a", ":80"};
	struct pp_metrics_config config = {.ask = on_question};
	struct pp_metrics *metrics = NULL;
	struct pathprof_error error;
	struct scene scene;
	char address[32];

	open_scene(&scene);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		error.text[0] = '\0';
		config.address = bad[i];
		CU_ASSERT(pp_metrics_new(&metrics, scene.world.event, &config, &error) == -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "127.0.0.1:9753"));
	}
	snprintf(address, sizeof(address), "127.0.0.1:%u", pp_metrics_port(scene.metrics));
	config.address = address;
	CU_ASSERT(pp_metrics_new(&metrics, scene.world.event, &config, &error) == -EADDRINUSE);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "Listen="));
	CU_ASSERT_PTR_NULL(metrics);
	close_scene(&scene);
}

/* Numbers as the format spells them, and back without loss. */
static void test_values(void)
{
	static const double values[] = {0, -1.5, 1e-300, 0.1, 18446744073709551616.0};
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	pp_metrics_sample(to, "a", NULL, NAN);
	pp_metrics_sample(to, "a", NULL, INFINITY);
	pp_metrics_sample(to, "a", NULL, -INFINITY);
	fflush(to);
	CU_ASSERT_STRING_EQUAL(text, "a NaN\na +Inf\na -Inf\n");
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		rewind(to);
		pp_metrics_sample(to, "a", NULL, values[i]);
		fflush(to);
		CU_ASSERT(strtod(text + 2, NULL) == values[i]);
	}
	fclose(to);
	free(text);
}

/* Runs promtool on metrics text; 0 if it finds no fault. */
static int lint(const char *text)
{
	FILE *promtool = popen("promtool check metrics >/dev/null 2>&1", "we");

	CU_ASSERT_PTR_NOT_NULL_FATAL(promtool);
	fputs(text, promtool);
	return pclose(promtool);
}

static void test_promtool(void)
{
	const struct pp_tell_webhook_config config = {.kind = PP_TELL_WEBHOOK_JSON,
						      .url = "http://127.0.0.1:9"};
	struct pathprof_error error = {""};
	struct world world;
	struct pp_tell *tell = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	if (system("command -v promtool >/dev/null 2>&1")) {
		unit_skip("promtool is not installed");
		fclose(to);
		free(text);
		return;
	}
	world_init(&world);
	CU_ASSERT_FATAL(pp_tell_webhook_new(&tell, world.event, &config, &error) == 0);
	pp_tell_metrics(&tell, 1, to);
	fclose(to);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "pathprof_tell_told_total{sink=\"webhook\"} 0\n"));
	CU_ASSERT(lint(text) == 0);
	CU_ASSERT(lint("# TYPE a_count counter\na_count{b=\"\xff\"} 1\n") != 0);
	tell->ops->free(tell);
	world_release(&world);
	free(text);
}

static const struct unit_test tests[] = {
	{"answers GET and HEAD of /metrics, labels escaped", test_answers},
	{"answers anything else with 4xx", test_refusals},
	{"outlasts requests of any length and of nothing", test_long_request},
	{"serves more at once than there is room for", test_many_at_once},
	{"waits for an answer, and answers all that wait", test_late_answer},
	{"outlasts those who leave before the answer", test_gone_before_the_answer},
	{"is not held up by one that does not read", test_slow_reader},
	{"shuts out those who never end, and serves who waited", test_crowd},
	{"takes addresses in numbers, says what is wrong with others", test_addresses},
	{"spells numbers as the format does", test_values},
	{"promtool finds no fault, but does find a planted one", test_promtool},
};
UNIT_SUITE(metrics, tests)
