/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How truth and bursts start the program they watch: in the same way to the byte, for the C
 * library's string functions take other branches when the stack lies elsewhere.
 */
#ifndef TRUTH_LAUNCH_H
#define TRUTH_LAUNCH_H

#include <stdio.h>
#include <sys/personality.h>
#include <unistd.h>

/* Addresses not randomised, an environment of one variable; does not return. */
static inline void launch_fixed(char **argv)
{
	char path[] = "PATH=/usr/bin:/bin";
	char *environment[] = {path, NULL};

	personality(ADDR_NO_RANDOMIZE);
	execve(argv[0], argv, environment);
	perror(argv[0]);
	_exit(127);
}

#endif
