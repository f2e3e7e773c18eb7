// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * refuse_perf COMMAND...: runs it under a filter that answers each perf_event_open with EACCES, as
 * a kernel does whose perf_event_paranoid is 3. Source: seccomp(2).
 */
#include <stdio.h>
#include <unistd.h>

#include "../unit/refuse_perf.h"

int main(int argc, char **argv)
{
	if (argc < 2 || !refuse_perf_events()) {
		perror("refuse_perf");
		return 1;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
