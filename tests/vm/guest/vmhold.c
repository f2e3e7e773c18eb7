// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens a perf event and sleeps. As long as an event follows a thread or has a branch stack, the
 * kernel keeps a hook in its scheduler. Without this event, each session of branch stacks would
 * patch that hook into running code, which not every emulator survives (docs/kmod-testing.md).
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.disabled = 1,
	};

	if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
		perror("vmhold");
		return 1;
	}
	for (;;)
		pause();
}
