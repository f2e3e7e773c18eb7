// SPDX-License-Identifier: GPL-2.0-or-later
/* demo: a fleet on one machine, by a script that this program holds (demo.sh). See hub.h. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hub.h"

/* Made of demo.sh when this is built. */
extern const char hub_demo_script[];

int hub_demo(const struct hub_options *options)
{
	char own[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	if (options->argc > 0)
		return hub_usage(options, "no operand is wanted: %s", options->argv[0]);
	if (len < 0)
		return hub_fail("/proc/self/exe: %s", strerror(errno));
	own[len] = '\0';
	/* pathprofctl lies beside it */
	slash = strrchr(own, '/');
	if (slash)
		*slash = '\0';
	signal(SIGPIPE, SIG_DFL);
	execl("/bin/sh", "sh", "-c", hub_demo_script, "pathprof-hub", own, (char *)NULL);
	return hub_fail("/bin/sh: %s", strerror(errno));
}
