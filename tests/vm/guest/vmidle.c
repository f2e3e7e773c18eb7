// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs a command on what CPU time nobody else wants: vmidle CMD ARGS... */
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const struct sched_param none = {0};

	if (argc < 2 || sched_setscheduler(0, SCHED_IDLE, &none))
		return 1;
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
