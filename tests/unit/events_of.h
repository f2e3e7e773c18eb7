/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many of perf's events a process has open, by /proc. */
#ifndef UNIT_EVENTS_OF_H
#define UNIT_EVENTS_OF_H

#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int events_of(pid_t pid)
{
	static const char event[] = "anon_inode:[perf_event]";
	int cnt = 0;

	for (int fd = 0; fd < 64; fd++) {
		char path[64], what[64];
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		len = readlink(path, what, sizeof(what));
		cnt += len == sizeof(event) - 1 && !memcmp(what, event, sizeof(event) - 1);
	}
	return cnt;
}

#endif
