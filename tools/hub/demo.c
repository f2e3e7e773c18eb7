// SPDX-License-Identifier: GPL-2.0-or-later
/* demo: a fleet on one machine, by a script that this program holds (demo.sh). See hub.h. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "hub.h"

/* The build makes it of demo.sh. */
extern const char hub_demo_script[];

int hub_demo(const struct hub_options *options)
{
	char ctl[PATH_MAX];

	if (options->argc > 0)
		return hub_usage(options, "no operand is wanted: %s", options->argv[0]);
	if (!hub_child_find("pathprofctl", ctl, sizeof(ctl)))
		return hub_fail("demo: it is unknown where this program lies: is /proc mounted?");
	if (access(ctl, X_OK) < 0)
		return hub_fail("demo: %s: %s; the demonstration records with it", ctl,
				strerror(errno));
	signal(SIGPIPE, SIG_DFL);
	execl("/bin/sh", "sh", "-c", hub_demo_script, "pathprof-hub", ctl, (char *)NULL);
	return hub_fail("/bin/sh: %s", strerror(errno));
}
