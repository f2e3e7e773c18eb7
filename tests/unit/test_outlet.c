// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofd's socket for the relay, asked well and badly, and by the relay's own inlet. */
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../tools/relay/inlet.h"
#include "../../daemon/shared/outlet.h"
#include "../../daemon/shared/outlet_places.h"

#define LINE  "pathprof_drift_kl{binary=\"/usr/bin/program\"} 0.25\n"
#define LINES 20000 /* more than a socket holds */

struct scene {
	sd_event *event;
	struct pp_outlet *outlet;
	char database[160];
	unsigned int asked;
};

static void show(void *context, FILE *to)
{
	struct scene *scene = context;

	scene->asked++;
	for (int i = 0; i < LINES; i++)
		fputs(LINE, to);
}

static void open_outlet(struct scene *scene)
{
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL_FATAL(
		pp_outlet_new(&scene->outlet, scene->event, scene->database, show, scene, &error),
		0);
}

static void open_scene(struct scene *scene)
{
	*scene = (struct scene){0};
	snprintf(scene->database, sizeof(scene->database), "%s/p.db", unit_tmpdir());
	CU_ASSERT_FATAL(sd_event_new(&scene->event) >= 0);
	open_outlet(scene);
}

static void close_scene(struct scene *scene)
{
	pp_outlet_free(scene->outlet);
	sd_event_unref(scene->event);
}

static void turn(const struct scene *scene)
{
	for (int i = 0; i < 20; i++)
		sd_event_run(scene->event, 0);
}

/* Connected, and the question sent; -1: refused. */
static int ask(const struct scene *scene, const char *question)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(pp_outlet_address(&address, scene->database), 0);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	(void)!send(fd, question, strlen(question), MSG_NOSIGNAL);
	turn(scene);
	return fd;
}

/* Bytes that come until it is closed; -1: it stays open. */
static ssize_t read_all(const struct scene *scene, int fd)
{
	static char piece[65536];
	ssize_t sum = 0;

	for (int idle = 0; idle < 20;) {
		ssize_t n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			return sum;
		idle = n > 0 ? 0 : idle + 1;
		sum += n > 0 ? n : 0;
		turn(scene);
	}
	return -1;
}

static void test_answers(void)
{
	struct scene scene;
	struct stat status;
	int fd;

	open_scene(&scene);
	fd = ask(&scene, PP_OUTLET_FIGURES);
	CU_ASSERT_EQUAL(read_all(&scene, fd), (ssize_t)(LINES * (sizeof(LINE) - 1)));
	close(fd);
	CU_ASSERT_EQUAL(scene.asked, 1);
	strcat(scene.database, PP_OUTLET_SUFFIX);
	CU_ASSERT_EQUAL(stat(scene.database, &status), 0);
	CU_ASSERT_EQUAL(status.st_mode & 0777, 0660);
	close_scene(&scene);
	CU_ASSERT_EQUAL(stat(scene.database, &status), -1);
}

static void test_follows(void)
{
	struct scene scene;
	char said[8];
	int fd;

	open_scene(&scene);
	CU_ASSERT_FALSE(pp_outlet_has_relay(scene.outlet));
	fd = ask(&scene, PP_OUTLET_RELAY);
	CU_ASSERT(pp_outlet_has_relay(scene.outlet));
	CU_ASSERT(recv(fd, said, sizeof(said), MSG_DONTWAIT) < 0);
	pp_outlet_poke(scene.outlet);
	CU_ASSERT_EQUAL(recv(fd, said, sizeof(said), MSG_DONTWAIT), 1);
	/* one that does not read is poked for ever, and what it says is not looked at */
	for (int i = 0; i < 100000; i++)
		pp_outlet_poke(scene.outlet);
	CU_ASSERT_EQUAL(send(fd, "figures\n", 8, MSG_NOSIGNAL), 8);
	turn(&scene);
	CU_ASSERT_EQUAL(scene.asked, 0);
	CU_ASSERT(pp_outlet_has_relay(scene.outlet));
	close(fd);
	turn(&scene);
	CU_ASSERT_FALSE(pp_outlet_has_relay(scene.outlet));
	pp_outlet_poke(scene.outlet);
	close_scene(&scene);
	pp_outlet_poke(NULL);
	CU_ASSERT_FALSE(pp_outlet_has_relay(NULL));
}

/* Another follower gets the same messages as the relay, and does not count as the relay. */
static void test_other_follower(void)
{
	struct scene scene;
	char said[8];
	int fd;

	open_scene(&scene);
	fd = ask(&scene, PP_OUTLET_FOLLOW);
	CU_ASSERT_FALSE(pp_outlet_has_relay(scene.outlet));
	pp_outlet_poke(scene.outlet);
	CU_ASSERT_EQUAL(recv(fd, said, sizeof(said), MSG_DONTWAIT), 1);
	close(fd);
	close_scene(&scene);
}

/* The directory of the relay's notes is remembered when it has gone, and only a whole name. */
static void test_notes(void)
{
	char longest[sizeof(PP_OUTLET_RELAY_AT) + PP_OUTLET_NOTES_MAX + 2] = PP_OUTLET_RELAY_AT "/";
	struct scene scene;
	int fd;

	open_scene(&scene);
	CU_ASSERT_STRING_EQUAL(pp_outlet_relay_notes(scene.outlet), "");
	close(ask(&scene, PP_OUTLET_RELAY_AT "/var/notes\n"));
	turn(&scene);
	CU_ASSERT_FALSE(pp_outlet_has_relay(scene.outlet));
	CU_ASSERT_STRING_EQUAL(pp_outlet_relay_notes(scene.outlet), "/var/notes");
	fd = ask(&scene, PP_OUTLET_RELAY_AT "notes\n");
	CU_ASSERT(pp_outlet_has_relay(scene.outlet));
	close(fd);
	memset(longest + strlen(longest), 'x', PP_OUTLET_NOTES_MAX + 1);
	fd = ask(&scene, longest);
	CU_ASSERT_STRING_EQUAL(pp_outlet_relay_notes(scene.outlet), "/var/notes");
	close(fd);
	strcpy(longest + strlen(PP_OUTLET_RELAY_AT) + PP_OUTLET_NOTES_MAX, "\n");
	fd = ask(&scene, longest);
	CU_ASSERT(pp_outlet_has_relay(scene.outlet));
	CU_ASSERT_EQUAL(strlen(pp_outlet_relay_notes(scene.outlet)), PP_OUTLET_NOTES_MAX);
	close(fd);
	close_scene(&scene);
	CU_ASSERT_STRING_EQUAL(pp_outlet_relay_notes(NULL), "");
}

static void test_refusals(void)
{
	char endless[PP_OUTLET_NOTES_MAX + 16] = "";
	const char *const questions[] = {"GET /metrics HTTP/1.1\r\n\r\n",
					 "figures",
					 "figures\nfigures\n",
					 "\n",
					 "follow \n",
					 endless};
	struct scene scene;

	memset(endless, 'f', sizeof(endless) - 1);
	open_scene(&scene);
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		int fd = ask(&scene, questions[i]);

		/* half a question may yet become one */
		CU_ASSERT_EQUAL(read_all(&scene, fd), strcmp(questions[i], "figures") ? 0 : -1);
		close(fd);
		turn(&scene);
	}
	CU_ASSERT_EQUAL(scene.asked, 0);
	CU_ASSERT_FALSE(pp_outlet_has_relay(scene.outlet));
	close_scene(&scene);
}

/* One user has some places and no more: who was there longest goes. */
static void test_crowd(void)
{
	struct scene scene;
	int fds[32];

	open_scene(&scene);
	for (int i = 0; i < 32; i++)
		fds[i] = ask(&scene, PP_OUTLET_FOLLOW);
	for (int i = 0; i < 32; i++) {
		CU_ASSERT_EQUAL(read_all(&scene, fds[i]),
				i < 32 - PP_OUTLET_PLACES_OF_USER ? 0 : -1);
		close(fds[i]);
	}
	turn(&scene);
	CU_ASSERT_FALSE(pp_outlet_has_relay(scene.outlet));
	fds[0] = ask(&scene, PP_OUTLET_RELAY);
	CU_ASSERT(pp_outlet_has_relay(scene.outlet));
	close(fds[0]);
	close_scene(&scene);
}

/* The first goes that does not read, though another has been there longer. */
static void test_deaf(void)
{
	struct scene scene;
	int reader, deaf, fds[PP_OUTLET_PLACES_OF_USER - 1];
	char said[8];

	open_scene(&scene);
	reader = ask(&scene, PP_OUTLET_FOLLOW);
	deaf = ask(&scene, PP_OUTLET_FOLLOW);
	for (int i = 0; i < 100000; i++) {
		pp_outlet_poke(scene.outlet);
		(void)!recv(reader, said, sizeof(said), MSG_DONTWAIT);
	}
	for (int i = 0; i < PP_OUTLET_PLACES_OF_USER - 1; i++)
		fds[i] = ask(&scene, PP_OUTLET_FOLLOW);
	CU_ASSERT_EQUAL(read_all(&scene, reader), -1);
	CU_ASSERT(read_all(&scene, deaf) >= 0);
	for (int i = 0; i < PP_OUTLET_PLACES_OF_USER - 1; i++)
		close(fds[i]);
	close(reader);
	close(deaf);
	close_scene(&scene);
}

/* A user who asks too often waits, and is answered in the end. */
static void test_pace(void)
{
	const ssize_t all = (ssize_t)(LINES * (sizeof(LINE) - 1));
	struct scene scene;
	bool waits = false;
	int fd = -1;
	char c;

	open_scene(&scene);
	/* on a slow machine the pace is not beaten at once */
	for (int i = 0; i < 1000 && !waits; i++) {
		if (fd >= 0)
			close(fd);
		fd = ask(&scene, PP_OUTLET_FIGURES);
		waits = recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
	}
	CU_ASSERT(waits);
	for (int i = 0; i < 3000 && recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK) < 0; i++)
		sd_event_run(scene.event, 10000);
	CU_ASSERT_EQUAL(read_all(&scene, fd), all);
	close(fd);
	close_scene(&scene);
}

/* Asks three times at once; returns how often the figures were made for them. */
static unsigned int ask_at_once(struct scene *scene)
{
	unsigned int before = scene->asked;
	struct sockaddr_un address;
	int fds[3];

	CU_ASSERT_EQUAL(pp_outlet_address(&address, scene->database), 0);
	for (int i = 0; i < 3; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CU_ASSERT_EQUAL(connect(fds[i], (const struct sockaddr *)&address, sizeof(address)),
				0);
		CU_ASSERT_EQUAL(send(fds[i], PP_OUTLET_FIGURES, 8, MSG_NOSIGNAL), 8);
	}
	turn(scene);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(read_all(scene, fds[i]), (ssize_t)(LINES * (sizeof(LINE) - 1)));
		close(fds[i]);
	}
	return scene->asked - before;
}

static void test_made_once(void)
{
	struct scene scene;
	unsigned int made = 0;

	/* where other processes take the CPU, a second may pass in between */
	for (int i = 0; i < 20 && made != 1; i++) {
		open_scene(&scene);
		made = ask_at_once(&scene);
		close_scene(&scene);
	}
	CU_ASSERT_EQUAL(made, 1);
}

/* Words of a follower cost nothing: nobody reads them. */
static void test_babbler(void)
{
	static const char words[4096] = "x";
	struct scene scene;
	int fd, turns = 0;

	open_scene(&scene);
	fd = ask(&scene, PP_OUTLET_RELAY);
	(void)!send(fd, words, sizeof(words), MSG_NOSIGNAL | MSG_DONTWAIT);
	while (turns < 100 && sd_event_run(scene.event, 0) > 0)
		turns++;
	CU_ASSERT(turns < 100);
	CU_ASSERT(pp_outlet_has_relay(scene.outlet));
	close(fd);
	close_scene(&scene);
}

/* ---------------------------------------------------------------- places and pace */

#define MANY_USERS 1000

/* Comes and takes its place, as the outlet does. The place's index. */
static size_t come(struct pp_outlet_place *places, uid_t user, uint64_t *clock)
{
	size_t at = pp_outlet_place_for(places, user);

	CU_ASSERT_FATAL(at < PP_OUTLET_PLACES);
	places[at] = (struct pp_outlet_place){.taken = true, .user = user, .since = ++*clock};
	return at;
}

static size_t count_user(const struct pp_outlet_place *places, uid_t user)
{
	size_t cnt = 0;

	for (size_t i = 0; i < PP_OUTLET_PLACES; i++)
		cnt += places[i].taken && places[i].user == user;
	return cnt;
}

static void test_own_users(void)
{
	CU_ASSERT(pp_outlet_is_own_user(0));
	CU_ASSERT(pp_outlet_is_own_user(geteuid()));
	CU_ASSERT(pp_outlet_is_own_user(61184));
	CU_ASSERT(pp_outlet_is_own_user(65519));
	CU_ASSERT_FALSE(pp_outlet_is_own_user(61183));
	CU_ASSERT_FALSE(pp_outlet_is_own_user(65520));
	CU_ASSERT_FALSE(pp_outlet_is_own_user(65534));
}

/* A relay as systemd runs it stays, whoever comes, and gets in, whoever is there. */
static void test_kept_places(void)
{
	const uid_t relay = 61200;
	struct pp_outlet_place places[PP_OUTLET_PLACES] = {{0}};
	uint64_t clock = 0;
	size_t at;

	for (uid_t i = 0; i < MANY_USERS; i++)
		come(places, 2000 + i, &clock);
	CU_ASSERT_EQUAL(count_user(places, relay), 0);
	at = come(places, relay, &clock);
	for (uid_t i = 0; i < 100 * MANY_USERS; i++)
		come(places, 2000 + i % 7 * (i % 5), &clock);
	CU_ASSERT(places[at].taken && places[at].user == relay);
	/* its questions find room as well */
	come(places, relay, &clock);
	CU_ASSERT_EQUAL(count_user(places, relay), 2);
}

/* The user with most places gives one up, and no user has more than some. */
static void test_fair_places(void)
{
	struct pp_outlet_place places[PP_OUTLET_PLACES] = {{0}};
	uint64_t clock = 0;

	for (int i = 0; i < 40; i++)
		for (uid_t user = 2000; user < 2006; user++)
			come(places, user, &clock);
	for (uid_t user = 2000; user < 2006; user++)
		CU_ASSERT_EQUAL(count_user(places, user), PP_OUTLET_PLACES_OF_USER);
	for (uid_t user = 3000; user < 3018; user++)
		come(places, user, &clock);
	for (uid_t user = 3000; user < 3018; user++)
		CU_ASSERT_EQUAL(count_user(places, user), 1);
	for (uid_t user = 2000; user < 2006; user++)
		CU_ASSERT_EQUAL(count_user(places, user), 1);
}

static void test_questions(void)
{
	struct pp_outlet_askers askers = {0};
	const uint64_t second_us = 1000000;
	uint64_t now_us = 5 * second_us;
	unsigned int cnt = 0;

	for (int i = 0; i < 100; i++)
		cnt += pp_outlet_may_ask(&askers, 2000, now_us);
	CU_ASSERT_EQUAL(cnt, 8);
	/* others are asked for themselves */
	CU_ASSERT(pp_outlet_may_ask(&askers, 0, now_us));
	for (cnt = 0; now_us < 105 * second_us; now_us += second_us / 10)
		cnt += pp_outlet_may_ask(&askers, 2000, now_us);
	CU_ASSERT(cnt >= 199 && cnt <= 201);
	/* a crowd of users takes nothing away from one of them */
	for (uid_t user = 3000; user < 3000 + MANY_USERS; user++)
		CU_ASSERT(pp_outlet_may_ask(&askers, user, now_us));
	CU_ASSERT(pp_outlet_may_ask(&askers, 0, now_us));
	/* what is saved up has an end */
	now_us += 1000 * second_us;
	for (cnt = 0; pp_outlet_may_ask(&askers, 2000, now_us);)
		cnt++;
	CU_ASSERT_EQUAL(cnt, 8);
}

/* One that asks and does not read holds up nobody. */
static void test_slow_reader(void)
{
	struct scene scene;
	int slow, other;

	open_scene(&scene);
	slow = ask(&scene, PP_OUTLET_FIGURES);
	other = ask(&scene, PP_OUTLET_FIGURES);
	CU_ASSERT_EQUAL(read_all(&scene, other), (ssize_t)(LINES * (sizeof(LINE) - 1)));
	CU_ASSERT_EQUAL(read_all(&scene, slow), (ssize_t)(LINES * (sizeof(LINE) - 1)));
	close(slow);
	close(other);
	/* nor one that goes away in between */
	slow = ask(&scene, PP_OUTLET_FIGURES);
	close(slow);
	turn(&scene);
	close_scene(&scene);
}

static void test_what_lies_there(void)
{
	struct pathprof_error error = {""};
	struct pp_outlet *outlet = NULL;
	struct scene scene;
	char path[200], long_path[160];
	FILE *file;
	int fd;

	open_scene(&scene);
	snprintf(path, sizeof(path), "%s%s", scene.database, PP_OUTLET_SUFFIX);
	/* left by one that was killed */
	fd = ask(&scene, PP_OUTLET_RELAY);
	outlet = scene.outlet;
	open_outlet(&scene);
	CU_ASSERT_FALSE(pp_outlet_has_relay(scene.outlet));
	close(fd);
	pp_outlet_free(outlet);
	pp_outlet_free(scene.outlet);
	scene.outlet = NULL;
	outlet = NULL;
	/* what is no socket is left alone */
	file = fopen(path, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fclose(file);
	CU_ASSERT_EQUAL(pp_outlet_new(&outlet, scene.event, scene.database, show, &scene, &error),
			-EADDRINUSE);
	CU_ASSERT_EQUAL(access(path, F_OK), 0);
	unlink(path);
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	CU_ASSERT_EQUAL(pp_outlet_new(&outlet, scene.event, long_path, show, &scene, &error),
			-ENAMETOOLONG);
	CU_ASSERT_PTR_NULL(outlet);
	close_scene(&scene);
}

/* ---------------------------------------------------------------- the inlet */

struct heard {
	unsigned int news, answers;
	size_t len;
	bool none;
};

static void on_news(void *context)
{
	struct heard *heard = context;

	heard->news++;
}

static void on_figures(void *context, const char *text, size_t len_bytes)
{
	struct heard *heard = context;

	heard->answers++;
	heard->len = len_bytes;
	heard->none = text == NULL;
}

static void run_until(const struct scene *scene, const unsigned int *figure, unsigned int wanted)
{
	/* its own pauses are of five seconds */
	for (int i = 0; i < 3000 && *figure < wanted; i++)
		sd_event_run(scene->event, 10000);
	CU_ASSERT(*figure >= wanted);
}

static void test_inlet(void)
{
	struct heard heard = {0};
	struct pp_inlet *inlet = NULL;
	struct scene scene;

	open_scene(&scene);
	CU_ASSERT_EQUAL_FATAL(pp_inlet_new(&inlet, scene.event,
					   &(struct pp_inlet_config){.database = scene.database,
								     .notes = "/there",
								     .on_news = on_news,
								     .on_figures = on_figures,
								     .context = &heard}),
			      0);
	run_until(&scene, &heard.news, 1);
	CU_ASSERT(pp_inlet_is_up(inlet));
	turn(&scene);
	CU_ASSERT_STRING_EQUAL(pp_outlet_relay_notes(scene.outlet), "/there");
	pp_outlet_poke(scene.outlet);
	run_until(&scene, &heard.news, 2);
	/* two questions, one answer */
	pp_inlet_ask(inlet);
	pp_inlet_ask(inlet);
	run_until(&scene, &heard.answers, 1);
	CU_ASSERT_EQUAL(heard.len, LINES * (sizeof(LINE) - 1));
	CU_ASSERT_EQUAL(scene.asked, 1);
	/* it goes, and comes again */
	pp_outlet_free(scene.outlet);
	scene.outlet = NULL;
	turn(&scene);
	CU_ASSERT_FALSE(pp_inlet_is_up(inlet));
	pp_inlet_ask(inlet);
	CU_ASSERT_EQUAL(heard.answers, 2);
	CU_ASSERT(heard.none);
	open_outlet(&scene);
	heard.news = 0;
	run_until(&scene, &heard.news, 1);
	CU_ASSERT(pp_inlet_is_up(inlet));
	/* it goes in the midst of an answer: that is none */
	pp_inlet_ask(inlet);
	sd_event_run(scene.event, 0);
	pp_outlet_free(scene.outlet);
	scene.outlet = NULL;
	run_until(&scene, &heard.answers, 3);
	CU_ASSERT(heard.none);
	pp_inlet_free(inlet);
	close_scene(&scene);
}

static const struct unit_test tests[] = {
	{"answers with all figures, however many", test_answers},
	{"tells followers that there is news", test_follows},
	{"takes no other follower for the relay", test_other_follower},
	{"remembers where the relay's notes are", test_notes},
	{"closes on any other question", test_refusals},
	{"has so many places for one user, the newest", test_crowd},
	{"sends away whoever does not read before others", test_deaf},
	{"answers at a pace, and lets who asks more often wait", test_pace},
	{"makes one answer for all who ask at once", test_made_once},
	{"does not read what followers say", test_babbler},
	{"knows the service's own users", test_own_users},
	{"keeps places for the service's own users", test_kept_places},
	{"shares places among users", test_fair_places},
	{"counts questions by user", test_questions},
	{"is not held up by one that does not read", test_slow_reader},
	{"takes the place of a socket, and of nothing else", test_what_lies_there},
	{"the inlet hears news and reads figures, and finds it again", test_inlet},
};
UNIT_SUITE(outlet, tests)
