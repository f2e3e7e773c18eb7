// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs a command behind all others, which the guest's shell has no word for: vmnice CMD ARGS... */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2 || setpriority(PRIO_PROCESS, 0, 19))
		return 1;
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
