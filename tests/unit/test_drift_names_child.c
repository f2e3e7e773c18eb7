// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Children that name paths: hostile files, children that are killed, answers that no child would
 * give.
 */
#include "names_desk.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define STOPS_WITHIN_S 60 /* however often the child is done before */

/* ---------------------------------------------------------------- files of enemies */

/* The file with some of its bytes drawn anew, its identity kept: the child may say what it likes,
 * but it ends, and so does the waiting. */
static void spoil(const struct binary *binary, const char *name, uint32_t seed)
{
	static unsigned char bytes[1 << 17];
	FILE *file = fopen(binary->file, "re");
	size_t len = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

	fclose(file);
	for (int i = 0; i < 400; i++) {
		size_t at;

		seed = seed * 1103515245 + 12345;
		at = 0x400 + (seed >> 8) % (len - 0x400);
		bytes[at] = (unsigned char)(seed >> 16);
	}
	file = fopen(name, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fwrite(bytes, 1, len, file);
	fclose(file);
}

static void test_hostile_files(void)
{
	struct binary binary;
	struct pp_names_job job;
	struct desk d;
	char name[300];

	make_binary(&binary);
	desk_init(&d);
	snprintf(name, sizeof(name), "%s/bad", unit_tmpdir());
	job = job_of(&binary);
	job.file = name;
	for (uint32_t seed = 1; seed <= 8; seed++) {
		spoil(&binary, name, seed);
		ask(&d, &job);
		CU_ASSERT(d.heard.code <= 0);
	}
	/* what would block, act or hang when opened */
	unlink(name);
	CU_ASSERT_EQUAL(mkfifo(name, 0600), 0);
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, -ENOENT);
	job.file = "/dev/zero";
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, -ENOENT);
	desk_release(&d);
}

/* ---------------------------------------------------------------- children that die */

static pid_t only_child(void)
{
	char path[64], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	return (pid_t)atoi(text);
}

/* One that was killed may not have died yet, nor may its parent have looked again. */
static int child_runs_on(void)
{
	pid_t child = only_child();

	for (int i = 0; i < 6000; i++) {
		siginfo_t ended = {.si_pid = 0};

		if (!child || waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) ||
		    ended.si_pid == child)
			return 0;
		usleep(10000);
	}
	return 1;
}

static void test_killed(void)
{
	struct binary binary;
	struct pp_names_stats stats;
	struct pp_names_job job;
	struct desk d;

	make_binary(&binary);
	desk_init(&d);
	job = job_of(&binary);
	CU_ASSERT_EQUAL_FATAL(pp_names_ask(d.names, &job, hear, &d.heard), 0);
	CU_ASSERT_EQUAL(pp_names_ask(d.names, &job, hear, &d.heard), -EBUSY);
	CU_ASSERT(only_child() > 0);
	kill(only_child(), SIGKILL);
	wait_for_answer(&d);
	/* it may have been done before */
	CU_ASSERT(d.heard.cnt == 1 && d.heard.code <= 0);
	/* cut off in the middle: nothing of it counts */
	memset(&d.heard, 0, sizeof(d.heard));
	CU_ASSERT_EQUAL_FATAL(pp_names_ask(d.names, &job, hear, &d.heard), 0);
	kill(only_child(), SIGSTOP);
	kill(only_child(), SIGKILL);
	wait_for_answer(&d);
	CU_ASSERT_EQUAL(d.heard.cnt, 1);
	/* put off */
	memset(&d.heard, 0, sizeof(d.heard));
	CU_ASSERT_EQUAL_FATAL(pp_names_ask(d.names, &job, hear, &d.heard), 0);
	pp_names_cancel(d.names);
	CU_ASSERT(d.heard.cnt == 1 && d.heard.code == -ECANCELED && !pp_names_busy(d.names));
	CU_ASSERT(!child_runs_on());
	/* and it works as before */
	ask(&d, &job);
	CU_ASSERT(is_as_expected(&d.heard, &binary));
	pp_names_stats(d.names, &stats);
	CU_ASSERT_EQUAL(stats.jobs, 4);
	/* freed while one runs */
	CU_ASSERT_EQUAL_FATAL(pp_names_ask(d.names, &job, hear, &d.heard), 0);
	desk_release(&d);
	CU_ASSERT(!child_runs_on());
}

/* A process that holds another in its exit until it is killed itself. 0: it may not. */
static pid_t hold_exit(pid_t pid)
{
	int told[2];
	pid_t holder;
	char ok = 0;

	CU_ASSERT_EQUAL_FATAL(pipe(told), 0);
	holder = fork();
	CU_ASSERT_FATAL(holder >= 0);
	if (holder == 0) {
		ok = ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT) == 0;
		(void)!write(told[1], &ok, 1);
		pause();
		_exit(0);
	}
	CU_ASSERT_EQUAL(read(told[0], &ok, 1), 1);
	close(told[0]);
	close(told[1]);
	if (ok)
		return holder;
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	return 0;
}

static uint64_t cpu_of(const struct desk *d)
{
	struct pp_names_stats stats;

	pp_names_stats(d->names, &stats);
	return stats.cpu_ns;
}

/* Whether the child of a new job is stopped; on a busy machine it may have been done before. */
static bool stops(struct desk *d, const struct pp_names_job *job)
{
	siginfo_t stopped = {.si_code = 0};

	CU_ASSERT_EQUAL_FATAL(pp_names_ask(d->names, job, hear, &d->heard), 0);
	kill(only_child(), SIGSTOP);
	CU_ASSERT_EQUAL(waitid(P_PID, (id_t)only_child(), &stopped, WSTOPPED | WEXITED | WNOWAIT),
			0);
	if (stopped.si_code == CLD_STOPPED)
		return true;
	wait_for_answer(d);
	return false;
}

/* A child that does not die at once when it is put off: what it has used stays counted. */
static void test_dies_late(void)
{
	struct binary binary;
	struct pp_names_job job;
	struct desk d;
	uint64_t before_ns, after_ns, end_ns;
	bool is_stopped = false;
	pid_t holder;

	make_binary(&binary);
	desk_init(&d);
	job = job_of(&binary);
	end_ns = pp_monotonic_ns() + STOPS_WITHIN_S * PP_NSEC_PER_SEC;
	while (!is_stopped && pp_monotonic_ns() < end_ns)
		is_stopped = stops(&d, &job);
	CU_ASSERT_FATAL(is_stopped);
	before_ns = cpu_of(&d);
	CU_ASSERT(before_ns > 0);
	holder = hold_exit(only_child());
	if (!holder) {
		unit_skip("no right to trace the child");
		desk_release(&d);
		return;
	}
	pp_names_cancel(d.names);
	after_ns = cpu_of(&d);
	CU_ASSERT(after_ns >= before_ns);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	CU_ASSERT(!child_runs_on());
	ask(&d, &job);
	CU_ASSERT(is_as_expected(&d.heard, &binary));
	CU_ASSERT(cpu_of(&d) >= after_ns);
	CU_ASSERT_EQUAL(only_child(), 0);
	desk_release(&d);
}

/* ---------------------------------------------------------------- answers no child gives */

static int parse(const void *bytes, size_t len, size_t path_cnt)
{
	struct pp_names_answer answer = {.path_cnt = 0};
	int code = 0, r = pp_names_parse(bytes, len, path_cnt, &code, &answer);

	if (r == 0)
		pp_names_answer_release(&answer);
	return r < 0 ? r : code;
}

static void test_answers(void)
{
	struct {
		struct pp_names_head head;
		uint64_t functions[2];
		struct pp_names_record record;
		char texts[8];
	} good =
		{
			.head = {PP_NAMES_MAGIC, 0, 2, 1},
			.functions = {5, 9},
			.record = {.function = 5, .place = 6, .name_bytes = 3, .source_bytes = 5},
			.texts = {'a', '\033', 'c', 'x', '.', 'c', ':', '1'},
		},
	  bad;
	struct pp_names_answer answer;
	int code = 1;

	CU_ASSERT_EQUAL_FATAL(pp_names_parse(&good, sizeof(good), 1, &code, &answer), 0);
	CU_ASSERT_EQUAL(code, 0);
	CU_ASSERT_STRING_EQUAL(answer.paths[0].name, "a?c");
	CU_ASSERT_STRING_EQUAL(answer.paths[0].source, "x.c:1");
	CU_ASSERT(answer.function_cnt == 2 && answer.functions[1] == 9);
	pp_names_answer_release(&answer);
	bad = good;
	memcpy(bad.texts, "\302\233mx\303\251:1", sizeof(bad.texts));
	CU_ASSERT_EQUAL_FATAL(pp_names_parse(&bad, sizeof(bad), 1, &code, &answer), 0);
	CU_ASSERT_STRING_EQUAL(answer.paths[0].name, "??m");
	CU_ASSERT_STRING_EQUAL(answer.paths[0].source, "x\303\251:1");
	pp_names_answer_release(&answer);
	for (size_t len = 0; len < sizeof(good); len++)
		CU_ASSERT_EQUAL(parse(&good, len, 1), -EBADMSG);
	CU_ASSERT_EQUAL(parse(&good, sizeof(good), 2), -EBADMSG);
	bad = good;
	bad.functions[1] = 5;
	CU_ASSERT_EQUAL(parse(&bad, sizeof(bad), 1), -EBADMSG);
	bad = good;
	bad.record.name_bytes = 2;
	CU_ASSERT_EQUAL(parse(&bad, sizeof(bad), 1), -EBADMSG);
	bad = good;
	bad.head.function_cnt = UINT32_MAX;
	CU_ASSERT_EQUAL(parse(&bad, sizeof(bad), 1), -EBADMSG);
	bad = good;
	bad.head.code = 5;
	CU_ASSERT_EQUAL(parse(&bad, sizeof(bad), 1), -EBADMSG);
	bad.head.code = -ENOENT;
	CU_ASSERT_EQUAL(parse(&bad, sizeof(bad), 1), -ENOENT);
}

static const struct unit_test tests[] = {
	{"hostile files end in an answer", test_hostile_files},
	{"a child that dies costs its answer only", test_killed},
	{"a child that dies late costs what it has used", test_dies_late},
	{"answers that no child gives are refused", test_answers},
};
UNIT_SUITE(drift_names_child, tests)
