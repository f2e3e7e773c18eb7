// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hub's children: what they print comes, and one whose answer cannot be read is ended at once.
 * A child is this program again, which prints a line and, if it is to stay, waits to be killed.
 */
#include "../../tools/hub/child.h"
#include "failing_memory.h"
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define ROLE   "PATHPROF_UNIT_HUB_CHILD"
#define STAYS  "stays"
#define ENDS   "ends"
#define STATUS 5
#define MOST   (600 * PP_NSEC_PER_SEC)

static const char line[] = "an answer\n";

__attribute__((constructor)) static void be_child(void)
{
	const char *role = getenv(ROLE);

	if (!role)
		return;
	if (write(STDOUT_FILENO, line, sizeof(line) - 1) != sizeof(line) - 1)
		_exit(1);
	while (strcmp(role, STAYS) == 0)
		pause();
	_exit(STATUS);
}

static int start(struct hub_child *child, const char *role)
{
	const char *const argv[] = {"unit", NULL};
	int r;

	setenv(ROLE, role, 1);
	r = hub_child_start(child, argv);
	unsetenv(ROLE);
	return r;
}

static void await_output(const struct hub_child *child)
{
	struct pollfd fd = {.fd = hub_child_fd(child), .events = POLLIN};

	CU_ASSERT_EQUAL_FATAL(poll(&fd, 1, -1), 1);
}

static void test_answer(void)
{
	enum hub_child_state state = HUB_CHILD_RUNS;
	struct hub_child child = {.pid = 0};

	CU_ASSERT_EQUAL_FATAL(start(&child, ENDS), 0);
	while (state == HUB_CHILD_RUNS) {
		await_output(&child);
		state = hub_child_follow(&child, MOST, 1 << 20);
	}
	CU_ASSERT_EQUAL(state, HUB_CHILD_ENDED);
	CU_ASSERT_EQUAL(child.status, STATUS);
	CU_ASSERT_STRING_EQUAL(child.answer, line);
	CU_ASSERT_EQUAL(hub_child_fd(&child), -1);
	hub_child_release(&child);
}

/* It works on; whoever waited for its end would wait for minutes. */
static void test_no_memory(void)
{
	struct hub_child child = {.pid = 0};
	enum hub_child_state state;

	CU_ASSERT_EQUAL_FATAL(start(&child, STAYS), 0);
	await_output(&child);
	failing_memory_begin(1);
	state = hub_child_follow(&child, MOST, 1 << 20);
	CU_ASSERT(failing_memory_end());
	CU_ASSERT_EQUAL(state, HUB_CHILD_LOST);
	CU_ASSERT_EQUAL(child.error, -ENOMEM);
	CU_ASSERT_EQUAL(child.status, -1);
	CU_ASSERT_EQUAL(hub_child_fd(&child), -1);
	hub_child_release(&child);
}

static void test_late(void)
{
	struct hub_child child = {.pid = 0};

	CU_ASSERT_EQUAL_FATAL(start(&child, STAYS), 0);
	await_output(&child);
	CU_ASSERT_EQUAL(hub_child_follow(&child, 0, 1 << 20), HUB_CHILD_LATE);
	CU_ASSERT_EQUAL(child.status, -1);
	hub_child_release(&child);
}

static void test_long(void)
{
	struct hub_child child = {.pid = 0};

	CU_ASSERT_EQUAL_FATAL(start(&child, STAYS), 0);
	await_output(&child);
	CU_ASSERT_EQUAL(hub_child_follow(&child, UINT64_MAX, 0), HUB_CHILD_RUNS);
	CU_ASSERT_EQUAL(hub_child_follow(&child, UINT64_MAX, 0), HUB_CHILD_LONG);
	CU_ASSERT_EQUAL(child.status, -1);
	hub_child_release(&child);
}

static const struct unit_test tests[] = {
	{"what a child prints and its exit status come", test_answer},
	{"without memory for its answer a child that works on is ended at once", test_no_memory},
	{"a child that takes too long is ended", test_late},
	{"a child that says too much is ended", test_long},
};
UNIT_SUITE(hub_child, tests)
