// SPDX-License-Identifier: GPL-2.0-or-later
/* Webhooks against a server that answers as servers do on a bad day. */
#include "unit.h"

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tools/relay/tell_failure.h"
#include "tell_world.h"

/* The timeout of a try whose server never answers; other tries may take as long as they need. */
#define HANG_MS   300
#define RESEND_MS 100
/* A machine that stood still over a try is given more time for all of them, up to that. */
#define HANG_MAX_MS 20000
#define PATIENT_MS  600000

static struct pp_tell *open_as(struct world *world, struct pp_tell_webhook_config config)
{
	struct pathprof_error error = {""};
	struct pp_tell *tell = NULL;

	config.url = config.url ? config.url : world_url(world);
	config.retry_ms = 1;
	CU_ASSERT_FATAL(pp_tell_webhook_new(&tell, world->event, &config, &error) == 0);
	return tell;
}

static struct pp_tell *open_hook(struct world *world, enum pp_tell_webhook_kind kind)
{
	return open_as(world, (struct pp_tell_webhook_config){.kind = kind});
}

static struct pp_tell *open_hasty(struct world *world, enum pp_tell_webhook_kind kind,
				  uint32_t queue_max)
{
	return open_as(world, (struct pp_tell_webhook_config){
				      .kind = kind, .queue_max = queue_max, .timeout_ms = HANG_MS});
}

/* Opens a webhook whose tries have a timeout longer than any test waits. */
static struct pp_tell *open_patient(struct world *world)
{
	return open_as(world, (struct pp_tell_webhook_config){.kind = PP_TELL_WEBHOOK_JSON,
							      .timeout_ms = PATIENT_MS});
}

static int tell(struct pp_tell *to, const char *binary, enum pathprof_alert_change change)
{
	struct pp_tell_message message = world_message(binary, change);

	return to->ops->tell(to, &message);
}

static void close_all(struct world *world, struct pp_tell *hook)
{
	hook->ops->free(hook);
	CU_ASSERT_FALSE(world_was_held_up(world));
	world_release(world);
}

static const char *binary_of(const char *body)
{
	static char binary[64];
	json_t *json = json_loads(body, 0, NULL);
	const char *text = json_string_value(json_object_get(json, "binary"));

	snprintf(binary, sizeof(binary), "%s", text ? text : "");
	json_decref(json);
	return binary;
}

static void test_json_as_it_is(void)
{
	struct pp_tell_message message = world_message("/bin/a", PATHPROF_ALERT_FIRED);
	struct world world;
	struct pp_tell *hook;

	world_init(&world);
	hook = open_hook(&world, PP_TELL_WEBHOOK_JSON);
	CU_ASSERT(hook->ops->tell(hook, &message) == 0);
	CU_ASSERT(world_stats(hook).queued == 1);
	CU_ASSERT(world_until_done(&world, hook, 1));
	CU_ASSERT_FATAL(world.request_cnt == 1);
	CU_ASSERT_STRING_EQUAL(world.bodies[0], message.json);
	CU_ASSERT_PTR_NOT_NULL(strstr(world.heads[0], "POST / HTTP/1.1\r\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(world.heads[0], "Content-Type: application/json\r\n"));
	CU_ASSERT_PTR_NULL(strstr(world.heads[0], "Authorization"));
	CU_ASSERT(world_stats(hook).told == 1);
	CU_ASSERT(world_stats(hook).queued == 0);
	CU_ASSERT(tell(hook, "/bin/a", PATHPROF_ALERT_SAME) == 0);
	world_run(&world, 50000);
	CU_ASSERT(world.request_cnt == 1);
	close_all(&world, hook);
}

/*
 * Each in turn fails some other way; the message arrives all the same, and those behind it in
 * order. False: a machine that stood still was longer over a try than that may take, and there was
 * one more.
 */
static bool outlasts_bad_days(uint32_t timeout_ms)
{
	static const int answers[] = {500, ANSWER_RESET, ANSWER_GARBAGE, ANSWER_HANG, 429,
				      401, 200};
	struct world world;
	struct pp_tell *hook;

	world_init(&world);
	memcpy(world.answers, answers, sizeof(answers));
	hook = open_as(&world, (struct pp_tell_webhook_config){.kind = PP_TELL_WEBHOOK_JSON,
							       .timeout_ms = timeout_ms});
	CU_ASSERT(tell(hook, "/bin/a", PATHPROF_ALERT_FIRED) == 0);
	CU_ASSERT(tell(hook, "/bin/b", PATHPROF_ALERT_FIRED) == 0);
	CU_ASSERT(tell(hook, "/bin/c", PATHPROF_ALERT_RESOLVED) == 0);
	CU_ASSERT(world_until_done(&world, hook, 3));
	if (world.request_cnt != 9 || world_stats(hook).failed_tries != 6) {
		close_all(&world, hook);
		return false;
	}
	for (size_t i = 0; i < 7; i++)
		CU_ASSERT_STRING_EQUAL(binary_of(world.bodies[i]), "/bin/a");
	CU_ASSERT_STRING_EQUAL(binary_of(world.bodies[7]), "/bin/b");
	CU_ASSERT_STRING_EQUAL(binary_of(world.bodies[8]), "/bin/c");
	CU_ASSERT(world_stats(hook).dropped == 0);
	CU_ASSERT(world_stats(hook).told == 3);
	close_all(&world, hook);
	return true;
}

static void test_bad_days(void)
{
	uint32_t timeout_ms = HANG_MS;

	while (timeout_ms < HANG_MAX_MS && !outlasts_bad_days(timeout_ms))
		timeout_ms *= 2;
	CU_ASSERT(timeout_ms < HANG_MAX_MS);
}

static void test_slow_answer(void)
{
	struct world world;
	struct pp_tell *hook;

	world_init(&world);
	world.answers[0] = ANSWER_SLOW;
	world.answers[1] = 500;
	hook = open_hook(&world, PP_TELL_WEBHOOK_JSON);
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	CU_ASSERT(world_until_done(&world, hook, 1));
	CU_ASSERT(world.request_cnt == 1);
	CU_ASSERT(world_stats(hook).told == 1);
	close_all(&world, hook);
}

/* The status says that the message was taken; of a flood behind it not all is read. */
static void test_long_answer(void)
{
	struct world world;
	struct pp_tell *hook;

	world_init(&world);
	world.answers[0] = ANSWER_ENDLESS;
	world.answers[1] = 400;
	hook = open_hook(&world, PP_TELL_WEBHOOK_JSON);
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	CU_ASSERT(world_until_done(&world, hook, 1));
	CU_ASSERT_EQUAL(world.request_cnt, 1);
	CU_ASSERT_EQUAL(world_stats(hook).told, 1);
	CU_ASSERT_EQUAL(world_stats(hook).failed_tries, 0);
	close_all(&world, hook);
}

static void test_retry_after(void)
{
	struct world world;
	struct pp_tell *hook;

	world_init(&world);
	world.answers[0] = ANSWER_LATER;
	world.answers[1] = 200;
	hook = open_hook(&world, PP_TELL_WEBHOOK_JSON);
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	CU_ASSERT_FATAL(world_until_requests(&world, 2));
	CU_ASSERT(world.came_us[1] - world.came_us[0] >= 990000);
	close_all(&world, hook);
}

static void test_refused_is_given_up(void)
{
	struct world world;
	struct pp_tell *hook;

	world_init(&world);
	world.answers[0] = 400;
	world.answers[1] = 200;
	hook = open_hook(&world, PP_TELL_WEBHOOK_JSON);
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	tell(hook, "/bin/b", PATHPROF_ALERT_FIRED);
	CU_ASSERT(world_until_done(&world, hook, 2));
	CU_ASSERT_FATAL(world.request_cnt == 2);
	CU_ASSERT_STRING_EQUAL(binary_of(world.bodies[1]), "/bin/b");
	CU_ASSERT(world_stats(hook).told == 1);
	CU_ASSERT(world_stats(hook).dropped == 1);
	close_all(&world, hook);
}

static void test_redirect_is_not_followed(void)
{
	struct world world;
	struct pp_tell *hook;

	world_init(&world);
	world.answers[0] = ANSWER_THITHER;
	world.answers[1] = 200;
	hook = open_hook(&world, PP_TELL_WEBHOOK_JSON);
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	CU_ASSERT(world_until_done(&world, hook, 1));
	CU_ASSERT(world.request_cnt == 1);
	CU_ASSERT(world_stats(hook).dropped == 1);
	close_all(&world, hook);
}

/* The bound holds while nobody answers, and what found room arrives later. */
static void test_queue_bound(void)
{
	struct world world;
	struct pp_tell *hook;
	int full = 0;

	world_init(&world);
	world.answers[0] = ANSWER_HANG;
	world.answers[1] = 200;
	hook = open_hasty(&world, PP_TELL_WEBHOOK_JSON, 4);
	for (int i = 0; i < 10; i++)
		full += tell(hook, "/bin/a", PATHPROF_ALERT_FIRED) == -ENOBUFS;
	CU_ASSERT(full == 6);
	CU_ASSERT(world_stats(hook).dropped == 6);
	CU_ASSERT(world_stats(hook).queued == 4);
	CU_ASSERT(world_until_done(&world, hook, 10));
	CU_ASSERT(world_stats(hook).told == 4);
	close_all(&world, hook);
}

/* ---------------------------------------------------------------- Alertmanager */

static json_t *alerts_of(const struct world *world, size_t index)
{
	json_t *alerts = json_loads(world->bodies[index], 0, NULL);

	CU_ASSERT_FATAL(json_is_array(alerts));
	return alerts;
}

static const char *text_at(json_t *alert, const char *part, const char *name)
{
	json_t *object = part ? json_object_get(alert, part) : alert;
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

static void check_fired(json_t *alert)
{
	CU_ASSERT_STRING_EQUAL(text_at(alert, "labels", "alertname"), "fast");
	CU_ASSERT_STRING_EQUAL(text_at(alert, "labels", "binary"), "/bin/a");
	CU_ASSERT_STRING_EQUAL(text_at(alert, "labels", "baseline"), "rolling");
	CU_ASSERT_STRING_NOT_EQUAL(text_at(alert, "labels", "instance"), "");
	CU_ASSERT_PTR_NULL(json_object_get(json_object_get(alert, "labels"), "container"));
	CU_ASSERT_STRING_EQUAL(text_at(alert, NULL, "startsAt"), "2023-11-14T22:13:20.123Z");
	CU_ASSERT_STRING_EQUAL(text_at(alert, "annotations", "description"),
			       "compress (a.c:7): 50.0 % of paths, 25.0 % before\n");
	CU_ASSERT_STRING_EQUAL(text_at(alert, "annotations", "value"), "0.25");
}

static void test_alertmanager_life(void)
{
	struct world world;
	struct pp_tell *hook;
	json_t *first, *again, *last;
	size_t cnt;

	world_init(&world);
	hook = open_as(&world, (struct pp_tell_webhook_config){.kind = PP_TELL_WEBHOOK_ALERTMANAGER,
							       .resend_ms = RESEND_MS});
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	CU_ASSERT_FATAL(world_until_requests(&world, 2));
	CU_ASSERT_PTR_NOT_NULL(strstr(world.heads[0], "POST /api/v2/alerts HTTP/1.1\r\n"));
	CU_ASSERT(world.came_us[1] - world.came_us[0] >= RESEND_MS * 990);
	CU_ASSERT(world_stats(hook).told == 1);
	cnt = world.request_cnt;
	tell(hook, "/bin/a", PATHPROF_ALERT_RESOLVED);
	CU_ASSERT_FATAL(world_until_requests(&world, cnt + 1));
	world_run(&world, 3 * RESEND_MS * 1000);
	CU_ASSERT(world.request_cnt == cnt + 1);
	first = alerts_of(&world, 0);
	again = alerts_of(&world, 1);
	last = alerts_of(&world, cnt);
	check_fired(json_array_get(first, 0));
	check_fired(json_array_get(again, 0));
	/* it ends later each time it is told again */
	CU_ASSERT(strcmp(text_at(json_array_get(first, 0), NULL, "endsAt"),
			 text_at(json_array_get(again, 0), NULL, "endsAt")) < 0);
	CU_ASSERT_STRING_EQUAL(text_at(json_array_get(last, 0), NULL, "endsAt"),
			       "2023-11-14T22:14:20.123Z");
	CU_ASSERT(json_equal(json_object_get(json_array_get(first, 0), "labels"),
			     json_object_get(json_array_get(last, 0), "labels")));
	CU_ASSERT(world_stats(hook).told == 2);
	json_decref(first);
	json_decref(again);
	json_decref(last);
	close_all(&world, hook);
}

/* A baseline that was renamed meanwhile must not leave an alert standing that nobody resolves. */
static void test_alertmanager_labels_stay(void)
{
	struct pp_tell_message message = world_message("/bin/a", PATHPROF_ALERT_RESOLVED);
	struct world world;
	struct pp_tell *hook;
	json_t *last;

	world_init(&world);
	hook = open_hook(&world, PP_TELL_WEBHOOK_ALERTMANAGER);
	tell(hook, "/bin/a", PATHPROF_ALERT_SAME);
	CU_ASSERT_FATAL(world_until_requests(&world, 1));
	CU_ASSERT(world_stats(hook).told == 0);
	world_run(&world, 50000);
	message.baseline = "pinned";
	hook->ops->tell(hook, &message);
	CU_ASSERT(world_until_done(&world, hook, 1));
	last = alerts_of(&world, world.request_cnt - 1);
	CU_ASSERT_STRING_EQUAL(text_at(json_array_get(last, 0), "labels", "baseline"), "rolling");
	json_decref(last);
	close_all(&world, hook);
}

/* An alert fires and resolves while the receiver is away: only its last state is sent. */
static void test_alertmanager_last_state(void)
{
	struct world world;
	struct pp_tell *hook;
	json_t *alerts;

	world_init(&world);
	world.answers[0] = ANSWER_HANG;
	world.answers[1] = 503;
	world.answers[2] = 200;
	hook = open_hasty(&world, PP_TELL_WEBHOOK_ALERTMANAGER, 2);
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	CU_ASSERT_FATAL(world_until_requests(&world, 1));
	tell(hook, "/bin/a", PATHPROF_ALERT_RESOLVED);
	tell(hook, "/bin/b", PATHPROF_ALERT_FIRED);
	CU_ASSERT(tell(hook, "/bin/c", PATHPROF_ALERT_FIRED) == -ENOBUFS);
	CU_ASSERT(world_until_done(&world, hook, 4));
	CU_ASSERT_FATAL(world.request_cnt >= 3);
	alerts = alerts_of(&world, 2);
	CU_ASSERT(json_array_size(alerts) == 2);
	CU_ASSERT_STRING_EQUAL(text_at(json_array_get(alerts, 0), NULL, "endsAt"),
			       "2023-11-14T22:14:20.123Z");
	CU_ASSERT_STRING_EQUAL(text_at(json_array_get(alerts, 1), "labels", "binary"), "/bin/b");
	json_decref(alerts);
	CU_ASSERT(world_stats(hook).told == 3);
	CU_ASSERT(world_stats(hook).dropped == 1);
	/* the one that resolved has left: there is room again */
	CU_ASSERT(tell(hook, "/bin/c", PATHPROF_ALERT_FIRED) == 0);
	close_all(&world, hook);
}

static void test_alertmanager_batches(void)
{
	struct world world;
	struct pp_tell *hook;
	size_t seen = 0;

	world_init(&world);
	hook = open_hook(&world, PP_TELL_WEBHOOK_ALERTMANAGER);
	for (int i = 0; i < 150; i++) {
		char name[24];

		snprintf(name, sizeof(name), "/bin/%d", i);
		CU_ASSERT(tell(hook, name, PATHPROF_ALERT_RESOLVED) == 0);
	}
	CU_ASSERT(world_until_done(&world, hook, 150));
	CU_ASSERT(world.request_cnt == 3);
	for (size_t i = 0; i < world.request_cnt; i++) {
		json_t *alerts = alerts_of(&world, i);

		seen += json_array_size(alerts);
		json_decref(alerts);
	}
	CU_ASSERT(seen == 150);
	close_all(&world, hook);
}

/* ---------------------------------------------------------------- tokens, ends, bad settings */

static void write_token(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	fclose(file);
}

static bool has_failed(void *context)
{
	return world_stats(context).failed_tries > 1;
}

static void test_token(void)
{
	char path[160];
	struct pp_tell *hook;
	struct world world;

	world_init(&world);
	snprintf(path, sizeof(path), "%s/token", unit_tmpdir());
	write_token(path, "two\nlines: x");
	hook = open_as(&world, (struct pp_tell_webhook_config){.kind = PP_TELL_WEBHOOK_JSON,
							       .bearer_file = path});
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	CU_ASSERT(world_until(&world, has_failed, hook));
	CU_ASSERT(world.request_cnt == 0);
	CU_ASSERT_STRING_EQUAL(world_stats(hook).why,
			       "BearerFile= gives no token: the file has more than one word");
	write_token(path, "s3cr.et\n");
	CU_ASSERT_FATAL(world_until_requests(&world, 1));
	CU_ASSERT_PTR_NOT_NULL(strstr(world.heads[0], "Authorization: Bearer s3cr.et\r\n"));
	CU_ASSERT(world_until_done(&world, hook, 1));
	close_all(&world, hook);
}

/* The beginning of a token is no token. */
static void test_token_too_long(void)
{
	char path[160], token[9000];
	struct pp_tell *hook;
	struct world world;

	world_init(&world);
	snprintf(path, sizeof(path), "%s/token", unit_tmpdir());
	memset(token, 'x', sizeof(token) - 1);
	token[sizeof(token) - 1] = '\0';
	write_token(path, token);
	hook = open_as(&world, (struct pp_tell_webhook_config){.kind = PP_TELL_WEBHOOK_JSON,
							       .bearer_file = path});
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	CU_ASSERT(world_until(&world, has_failed, hook));
	CU_ASSERT_EQUAL(world.request_cnt, 0);
	close_all(&world, hook);
}

/* Serves one message slowly: its port, then a byte when it came. */
static void serve_one(int to)
{
	struct world world;

	world_init(&world);
	world.answers[0] = ANSWER_SLOW;
	if (write(to, &world.port, sizeof(world.port)) != sizeof(world.port) ||
	    !world_until_requests(&world, 1) || write(to, "", 1) != 1)
		_exit(2);
	world_run(&world, 60000000);
	_exit(1);
}

static bool has_come(void *context)
{
	struct pollfd end = {.fd = *(const int *)context, .events = POLLIN};

	return poll(&end, 1, 0) > 0;
}

/* At the end, a try under way is waited for, and nothing more is sent. */
static void test_end(void)
{
	struct world world, other;
	struct pp_tell *hook;
	struct pp_tell_stats stats;
	int ends[2];
	pid_t child;

	CU_ASSERT_FATAL(pipe(ends) == 0);
	child = fork();
	if (child == 0)
		serve_one(ends[1]);
	CU_ASSERT_FATAL(read(ends[0], &other.port, sizeof(other.port)) == sizeof(other.port));
	world_init(&world);
	hook = open_as(&world, (struct pp_tell_webhook_config){.kind = PP_TELL_WEBHOOK_JSON,
							       .url = world_url(&other)});
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	tell(hook, "/bin/b", PATHPROF_ALERT_FIRED);
	stats = world_stats(hook);
	CU_ASSERT(world_until(&world, has_come, &ends[0]));
	hook->ops->finish(hook, 60000);
	CU_ASSERT_EQUAL(world_stats(hook).told, 1);
	CU_ASSERT_EQUAL(world_stats(hook).queued, 1);
	CU_ASSERT_EQUAL(world_stats(hook).settled, stats.settled + 1);
	hook->ops->free(hook);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	world_release(&world);
}

static void test_end_is_bounded(void)
{
	struct world world;
	struct pp_tell *hook;
	uint64_t begin_us;

	world_init(&world);
	world.answers[0] = ANSWER_HANG;
	hook = open_patient(&world);
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	begin_us = pp_tell_now_us();
	hook->ops->finish(hook, 100);
	hook->ops->free(hook);
	CU_ASSERT(pp_tell_now_us() - begin_us < PATIENT_MS * UINT64_C(1000) / 4);
	world_release(&world);
}

/* pathprofd is away for long: what was told is not said to fire any more, what was not is told. */
static void test_forget(void)
{
	struct world world;
	struct pp_tell *hook;

	world_init(&world);
	hook = open_as(&world, (struct pp_tell_webhook_config){.kind = PP_TELL_WEBHOOK_ALERTMANAGER,
							       .url = world_url(&world),
							       .resend_ms = 50});
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	CU_ASSERT(world_until_requests(&world, 3));
	CU_ASSERT(world_until_done(&world, hook, 1));
	tell(hook, "/bin/b", PATHPROF_ALERT_FIRED);
	pp_tell_webhook_forget(hook);
	CU_ASSERT(world_until_done(&world, hook, 2));
	CU_ASSERT(world_until_requests(&world, world.request_cnt + 3));
	CU_ASSERT_PTR_NULL(strstr(world.bodies[world.request_cnt - 1], "/bin/a"));
	CU_ASSERT_PTR_NOT_NULL(strstr(world.bodies[world.request_cnt - 1], "/bin/b"));
	/* it is told of what fires when pathprofd is there again, and nobody is told twice */
	tell(hook, "/bin/a", PATHPROF_ALERT_SAME);
	CU_ASSERT(world_until_requests(&world, world.request_cnt + 3));
	CU_ASSERT_PTR_NOT_NULL(strstr(world.bodies[world.request_cnt - 1], "/bin/a"));
	CU_ASSERT_EQUAL(world_stats(hook).told, 2);
	close_all(&world, hook);
}

/* A message that is told while pathprofd is away leaves its room: it may fire no more. */
static void test_away(void)
{
	struct world world;
	struct pp_tell *hook;

	world_init(&world);
	hook = open_as(&world, (struct pp_tell_webhook_config){.kind = PP_TELL_WEBHOOK_ALERTMANAGER,
							       .queue_max = 1});
	tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
	pp_tell_webhook_set_away(hook, true);
	CU_ASSERT(world_until_done(&world, hook, 1));
	CU_ASSERT_EQUAL(tell(hook, "/bin/b", PATHPROF_ALERT_FIRED), 0);
	pp_tell_webhook_set_away(hook, false);
	CU_ASSERT(world_until_done(&world, hook, 2));
	CU_ASSERT_EQUAL(world_stats(hook).told, 2);
	CU_ASSERT_EQUAL(tell(hook, "/bin/c", PATHPROF_ALERT_FIRED), -ENOBUFS);
	close_all(&world, hook);
}

/* Messages are done with in the order of their ids, whatever becomes of them. */
static void test_settled(void)
{
	struct world world;
	struct pp_tell *hook;
	int64_t before;

	for (int kind = PP_TELL_WEBHOOK_ALERTMANAGER; kind <= PP_TELL_WEBHOOK_JSON; kind++) {
		world_init(&world);
		world.answers[0] = ANSWER_RESET;
		world.answers[1] = 400;
		world.answers[2] = 200;
		hook = open_hook(&world, (enum pp_tell_webhook_kind)kind);
		tell(hook, "/bin/a", PATHPROF_ALERT_FIRED);
		before = world_stats(hook).settled;
		CU_ASSERT(world_until_requests(&world, 1));
		CU_ASSERT_EQUAL(world_stats(hook).settled, before);
		tell(hook, "/bin/b", PATHPROF_ALERT_FIRED);
		tell(hook, "/bin/b", PATHPROF_ALERT_RESOLVED);
		CU_ASSERT(world_stats(hook).settled < before + 3);
		CU_ASSERT(world_until_done(&world, hook, 3));
		CU_ASSERT_EQUAL(world_stats(hook).settled, before + 3);
		close_all(&world, hook);
	}
}

static void test_bad_url(void)
{
	static const char *const urls[] = {"",         "ftp://host/", "file:///etc/passwd",
					   "host:1/x", "http://",     "gopher://a"};
	struct world world;

	world_init(&world);
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct pp_tell_webhook_config config = {.kind = PP_TELL_WEBHOOK_JSON,
							.url = urls[i]};
		struct pathprof_error error = {""};
		struct pp_tell *hook = NULL;

		CU_ASSERT(pp_tell_webhook_new(&hook, world.event, &config, &error) == -EINVAL);
		CU_ASSERT_PTR_NULL(hook);
		CU_ASSERT_STRING_NOT_EQUAL(error.text, "");
	}
	world_release(&world);
}

static void test_pauses(void)
{
	bool spread = false;
	uint64_t first = pp_tell_pause_us(1000, 300000, 5);

	for (uint32_t failed = 1; failed < 100; failed++) {
		uint64_t whole_us = failed < 10 ? UINT64_C(1000) << (failed - 1) : 300000;
		uint64_t pause_us = pp_tell_pause_us(1000, 300000, failed);

		whole_us = whole_us > 300000 ? 300000 : whole_us;
		CU_ASSERT(pause_us <= whole_us);
		CU_ASSERT(pause_us >= whole_us / 2);
		spread |= pp_tell_pause_us(1000, 300000, 5) != first;
	}
	CU_ASSERT(spread);
}

static const struct unit_test tests[] = {
	{"posts JSON as it is", test_json_as_it_is},
	{"outlasts errors, resets, silence and garbage, in order", test_bad_days},
	{"outlasts a slow answer", test_slow_answer},
	{"tells once though the answer is a flood", test_long_answer},
	{"waits as long as it is asked to", test_retry_after},
	{"gives up what is refused, and nothing else", test_refused_is_given_up},
	{"follows no redirect", test_redirect_is_not_followed},
	{"bounds its queue and counts what it drops", test_queue_bound},
	{"alertmanager: fires, is told again, resolves once", test_alertmanager_life},
	{"alertmanager: labels stay to the end", test_alertmanager_labels_stay},
	{"alertmanager: only the last state is told", test_alertmanager_last_state},
	{"alertmanager: hundreds go in few requests", test_alertmanager_batches},
	{"reads the token at each try, and no bad one", test_token},
	{"sends no token that is cut off", test_token_too_long},
	{"ends with the message under way", test_end},
	{"is freed in time though nobody answers", test_end_is_bounded},
	{"alertmanager: what fires is forgotten and learned again", test_forget},
	{"alertmanager: tells once while pathprofd is away", test_away},
	{"knows up to which message all is done", test_settled},
	{"takes only http and https", test_bad_url},
	{"pauses grow, are bounded and spread", test_pauses},
};
UNIT_SUITE(tell_webhook, tests)
