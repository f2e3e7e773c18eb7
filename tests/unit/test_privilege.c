// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Capabilities given up, each case in a child of its own, since there is no way back. The oracle is
 * the kernel: /proc/PID/status of the child, and refused calls. The lost capability is
 * CAP_SYS_CHROOT: chroot("/") needs it and changes nothing.
 */
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/privilege.h"

#define LOST PP_PRIVILEGE(CAP_SYS_CHROOT)
#define KEPT PP_PRIVILEGE(CAP_KILL)

static int fails_in; /* calls until cap_get_proc fails once; 0: never */

/* libcap's own, but for the call that is to fail. */
cap_t cap_get_proc(void)
{
	cap_t (*own)(void) = (cap_t(*)(void))dlsym(RTLD_NEXT, "cap_get_proc");

	if (!fails_in || --fails_in)
		return own();
	errno = ENOMEM;
	return NULL;
}

/* Set NAME of this thread, as the kernel tells it. */
static uint64_t told(const char *name)
{
	FILE *file = fopen("/proc/thread-self/status", "re");
	char line[512];
	uint64_t caps = 0;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			caps = strtoull(line + strlen(name), NULL, 16);
	if (file)
		fclose(file);
	return caps;
}

/* Whether check says yes, in a child that ends with it. */
static bool in_child(bool (*check)(void))
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(check() ? 0 : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool can_test(void)
{
	if (pp_privilege_has(LOST | KEPT))
		return true;
	unit_skip("needs CAP_SYS_CHROOT and CAP_KILL to give one up");
	return false;
}

static bool is_gone(void)
{
	return !(told("CapEff:") & LOST) && !(told("CapPrm:") & LOST) &&
	       !(told("CapInh:") & LOST) && !(told("CapAmb:") & LOST) && chroot("/") < 0 &&
	       errno == EPERM && !pp_privilege_has(LOST);
}

static bool drops(void)
{
	return chroot("/") == 0 && pp_privilege_drop(LOST, NULL) == 0 && is_gone() &&
	       (told("CapEff:") & KEPT) && pp_privilege_has(KEPT);
}

static bool drops_twice(void)
{
	return pp_privilege_drop(LOST, NULL) == 0 && pp_privilege_drop(LOST, NULL) == 0 &&
	       is_gone();
}

static void *ask(void *ret_gone)
{
	*(bool *)ret_gone = is_gone();
	return NULL;
}

static bool drops_for_later_threads(void)
{
	pthread_t thread;
	bool gone = false;

	if (pp_privilege_drop(LOST, NULL) || pthread_create(&thread, NULL, ask, &gone))
		return false;
	pthread_join(thread, NULL);
	return gone;
}

/* Root's programs get all of the bounding set. */
static bool drops_beyond_exec(void)
{
	pid_t pid;
	int status = 1;

	if (pp_privilege_drop(LOST, NULL))
		return false;
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "! chroot / /bin/true 2>/dev/null", NULL);
		_exit(1);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void test_drop(void)
{
	if (!can_test())
		return;
	CU_ASSERT(in_child(drops));
	CU_ASSERT(in_child(drops_twice));
	CU_ASSERT(in_child(drops_for_later_threads));
	CU_ASSERT(in_child(drops_beyond_exec));
	/* and it was the child's alone */
	CU_ASSERT_EQUAL(chroot("/"), 0);
}

static int fails_first; /* of the child that comes */

/* A drop that could not look says so, or the capability is gone. */
static bool drops_or_says(void)
{
	int r;

	fails_in = fails_first;
	r = pp_privilege_drop(LOST, NULL);
	fails_in = 0;
	return r == -ENOMEM || (r == 0 && is_gone());
}

/* A look at each set that fails: more calls than a drop makes. */
static void test_fails(void)
{
	if (!can_test())
		return;
	for (fails_first = 1; fails_first <= 8; fails_first++)
		CU_ASSERT(in_child(drops_or_says));
}

static bool set_aside; /* what the tried function saw */

static int go_well(void *context)
{
	set_aside = !(told("CapEff:") & LOST) && (told("CapPrm:") & LOST) && chroot("/") < 0;
	return 0;
}

static int need_it(void *context)
{
	return chroot("/") < 0 ? -errno : 0;
}

static bool tries_well(void)
{
	return pp_privilege_try_without(LOST, go_well, NULL, NULL) == 0 && set_aside && is_gone();
}

static bool tries_in_vain(void)
{
	return pp_privilege_try_without(LOST, need_it, NULL, NULL) == -EPERM &&
	       (told("CapEff:") & LOST) && chroot("/") == 0;
}

static void test_try(void)
{
	if (!can_test())
		return;
	CU_ASSERT(in_child(tries_well));
	CU_ASSERT(in_child(tries_in_vain));
}

/* A planted fault: who drops nothing is found out. */
static bool drops_nothing(void)
{
	return pp_privilege_drop(0, NULL) == 0 && is_gone();
}

static void test_planted(void)
{
	if (can_test())
		CU_ASSERT(!in_child(drops_nothing));
}

static const struct unit_test tests[] = {
	{"what is dropped is gone from every set, later threads and programs included", test_drop},
	{"a drop that cannot look at a set does not pass for one", test_fails},
	{"what is needed after all is in force again", test_try},
	{"a drop that drops nothing is noticed", test_planted},
};
UNIT_SUITE(privilege, tests)
