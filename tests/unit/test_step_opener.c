// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process that opens perf's breakpoints for a stepper without the right to: what it opens, what
 * it may do beside that, and what becomes of who asks when it does not answer.
 */
#include "events_of.h"
#include "refuse_perf.h"
#include "step_breaks_here.h"
#include "unit.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/step/step_engine.h"
#include "../../daemon/step/step_opener.h"

static pid_t opener;

static bool start(void)
{
	int fd;

	opener = pp_step_opener_start(&fd);
	if (opener < 0)
		return false;
	pp_step_opener_use(fd);
	return true;
}

/* In a process of its own, which has an opener and no right to events. */
static int apart(int (*steps)(void))
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(start() && refuse_perf_events() ? steps() : 1);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static pid_t start_target(void)
{
	pid_t target = fork();

	if (target == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return target;
}

/* How many breakpoints are opened on a process that lives; others may hold some for a moment. */
static uint32_t open_on(pid_t tid)
{
	int fds[PP_STEP_BREAK_MAX];
	uint32_t cnt = 0, opened = 0;

	for (int i = 0; i < 3000 && opened < PP_STEP_BREAK_MAX; i++) {
		if (i)
			usleep(20000);
		opened = cnt = pp_step_opener_ask(tid, fds);
		while (cnt)
			close(fds[--cnt]);
	}
	return opened;
}

static bool opens_on_target(void)
{
	pid_t target = start_target();
	bool opens = open_on(target) == PP_STEP_BREAK_MAX;

	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	return opens;
}

/* ---- */

/*
 * By perf where it may be asked, else not: the probe sets one and waits until it strikes. At once:
 * it answers from its start on.
 */
static int strike(void)
{
	if (pp_step_break_probe(PP_STEP_BREAK_PERF) != PP_STEP_BREAK_PERF)
		return 2;
	if (!opens_on_target())
		return 3;
	pp_step_opener_use(-1);
	return pp_step_break_probe(PP_STEP_BREAK_PERF) == PP_STEP_BREAK_PTRACE ? 0 : 4;
}

static void test_strikes(void)
{
	if (breaks_are_here(PP_STEP_BREAK_PERF))
		CU_ASSERT_EQUAL(apart(strike), 0);
}

static uint64_t word_of(const char *name, int base)
{
	char path[64], line[256];
	uint64_t value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", opener);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			value = strtoull(line + strlen(name), NULL, base);
	if (file)
		fclose(file);
	return value;
}

static int look_at_rights(void)
{
	const uint64_t allowed = 1ull << CAP_SYS_ADMIN | 1ull << CAP_SYS_PTRACE;

	/* It has answered, so it has settled. */
	if (!opens_on_target())
		return 2;
	if ((word_of("CapPrm:", 16) | word_of("CapEff:", 16) | word_of("CapInh:", 16) |
	     word_of("CapAmb:", 16)) &
	    ~allowed)
		return 3;
	if (word_of("Seccomp:", 10) != SECCOMP_MODE_FILTER || word_of("NoNewPrivs:", 10) != 1)
		return 4;
	return 0;
}

static void test_rights(void)
{
	if (breaks_are_here(PP_STEP_BREAK_PERF))
		CU_ASSERT_EQUAL(apart(look_at_rights), 0);
}

/* Neither itself (0) nor every thread of a CPU (-1), nor one that is no more. */
static int ask_for_others(void)
{
	pid_t gone = start_target();
	int fds[PP_STEP_BREAK_MAX];

	kill(gone, SIGKILL);
	waitpid(gone, NULL, 0);
	if (pp_step_opener_ask(0, fds) || pp_step_opener_ask(-1, fds) ||
	    pp_step_opener_ask(gone, fds))
		return 2;
	return opens_on_target() ? 0 : 3;
}

static void test_others(void)
{
	if (breaks_are_here(PP_STEP_BREAK_PERF))
		CU_ASSERT_EQUAL(apart(ask_for_others), 0);
}

/* One that is stopped answers late: none of that is taken for an answer to what was asked then. */
static int ask_while_stopped(void)
{
	pid_t target = start_target();
	int fds[PP_STEP_BREAK_MAX];
	uint64_t begun_ns, took_ns;

	if (open_on(target) != PP_STEP_BREAK_MAX)
		return 6;
	kill(opener, SIGSTOP);
	waitpid(opener, NULL, WUNTRACED);
	begun_ns = pp_monotonic_ns();
	for (int i = 0; i < 3; i++)
		if (pp_step_opener_ask(target, fds))
			return 2;
	took_ns = pp_monotonic_ns() - begun_ns;
	kill(opener, SIGCONT);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	if (took_ns < 3 * 15 * PP_NSEC_PER_MSEC || pp_step_opener_has_gone())
		return 3;
	for (int i = 0; i < 50; i++)
		if (pp_step_opener_ask(target, fds))
			return 4;
	return opens_on_target() ? 0 : 5;
}

/* One that comes late at a stepper's start, as on a slow machine, is waited for. */
static int ask_early(void)
{
	pid_t waker;

	kill(opener, SIGSTOP);
	waitpid(opener, NULL, WUNTRACED);
	waker = fork();
	if (waker == 0) {
		usleep(300000);
		kill(opener, SIGCONT);
		_exit(0);
	}
	if (pp_step_break_probe(PP_STEP_BREAK_PERF) != PP_STEP_BREAK_PERF)
		return 2;
	waitpid(waker, NULL, 0);
	return 0;
}

static void test_early(void)
{
	if (breaks_are_here(PP_STEP_BREAK_PERF))
		CU_ASSERT_EQUAL(apart(ask_early), 0);
}

static void test_stopped(void)
{
	if (breaks_are_here(PP_STEP_BREAK_PERF))
		CU_ASSERT_EQUAL(apart(ask_while_stopped), 0);
}

static int ask_the_dead(void)
{
	int fds[PP_STEP_BREAK_MAX];

	if (!opens_on_target())
		return 2;
	if (pp_step_opener_has_gone())
		return 3;
	kill(opener, SIGKILL);
	waitpid(opener, NULL, 0);
	/* Without being asked, too. */
	if (!pp_step_opener_has_gone() || pp_step_opener_ask(getpid(), fds))
		return 4;
	return pp_step_break_probe(PP_STEP_BREAK_PERF) == PP_STEP_BREAK_PTRACE ? 0 : 5;
}

static void test_dead(void)
{
	if (breaks_are_here(PP_STEP_BREAK_PERF))
		CU_ASSERT_EQUAL(apart(ask_the_dead), 0);
}

static int end_asking(void)
{
	pp_step_opener_use(-1);
	for (int i = 0; i < 6000; i++) {
		if (waitpid(opener, NULL, WNOHANG) == opener)
			return 0;
		usleep(10000);
	}
	return 2;
}

static void test_ends(void)
{
	CU_ASSERT_EQUAL(apart(end_asking), 0);
}

/* The first event of a thread would cost whoever is held then 10 ms and more. */
static int look_at_descriptors(void)
{
	if (!opens_on_target())
		return 2;
	/* Those that it has sent it closes a moment later. */
	for (int i = 0; i < 6000 && events_of(opener) != 1; i++)
		usleep(10000);
	return events_of(opener) == 1 ? 0 : 3;
}

static void test_ready(void)
{
	if (breaks_are_here(PP_STEP_BREAK_PERF))
		CU_ASSERT_EQUAL(apart(look_at_descriptors), 0);
}

static int count_time(void)
{
	uint64_t before_ns = pp_step_opener_cpu_ns();

	return opens_on_target() && pp_step_opener_cpu_ns() > before_ns ? 0 : 2;
}

static void test_time(void)
{
	if (breaks_are_here(PP_STEP_BREAK_PERF))
		CU_ASSERT_EQUAL(apart(count_time), 0);
}

static const struct unit_test tests[] = {
	{"breakpoints strike for who may open none", test_strikes},
	{"it has the rights and calls that this takes, and no other", test_rights},
	{"it opens on threads that live, and on nothing else", test_others},
	{"one event stays open, so that the next need not wait for every CPU", test_ready},
	{"a stepper's first request is patient", test_early},
	{"late answers are thrown away", test_stopped},
	{"its end is noticed, and ptrace takes its place", test_dead},
	{"it ends with who asks", test_ends},
	{"its time is told", test_time},
};
UNIT_SUITE(step_opener, tests)
