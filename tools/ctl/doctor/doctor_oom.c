// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts about the OOM killer. It must never choose the stepper, which may take its target with it:
 * whether one that is started from here could say so to the kernel, and whether the service's has.
 *
 * Source: proc_pid_oom_score_adj(5).
 */
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../text/cleanup.h"

#define NEVER   "-1000"
#define FACT    "memory runs out"
#define STEPPER "pathprof-step"

static void add_protected(struct facts *facts, const char *name)
{
	fact_value(facts_add(facts, FACT_OK, name, NULL, NULL),
		   "the stepper is never killed for it");
}

/* ---------------------------------------------------------------- a stepper of our own */

static bool make_unkillable(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, NEVER, strlen(NEVER)) == (ssize_t)strlen(NEVER);
}

/* Tries it in a child, since the score cannot always be restored. */
static bool may_be_unkillable(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(make_unkillable() ? 0 : 1);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

void doctor_oom(struct facts *facts)
{
	if (may_be_unkillable())
		add_protected(facts, FACT);
	else
		fact_value(facts_add(facts, FACT_WARN, FACT,
				     "CAP_SYS_RESOURCE is missing, so the stepper cannot set its "
				     "oom_score_adj to " NEVER
				     "; a program that it holds dies with it",
				     "the service's unit; in a container --oom-score-adj=" NEVER
				     " or --cap-add=SYS_RESOURCE; record as root"),
			   "the stepper may be killed for it");
}

/* ---------------------------------------------------------------- that of the service */

static bool is_stepper_of(long pid, long parent)
{
	_cleanup_free_ char *path = ctl_printf("/proc/%ld/stat", pid);
	_cleanup_free_ char *line = ctl_read_line(path);
	const char *name_end = line ? strrchr(line, ')') : NULL;
	char *name = line ? strchr(line, '(') : NULL;
	long of = 0;

	return name && name_end && !strncmp(name + 1, STEPPER ")", sizeof(STEPPER)) &&
	       sscanf(name_end + 1, " %*c %ld", &of) == 1 && of == parent;
}

/* Returns 0 if there is none. */
static long find_stepper(long parent)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	long found = 0;

	while (directory && !found && (entry = readdir(directory))) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0 && is_stepper_of(pid, parent))
			found = pid;
	}
	if (directory)
		closedir(directory);
	return found;
}

void doctor_service_oom(struct facts *facts, long pid)
{
	const long stepper = find_stepper(pid);
	_cleanup_free_ char *path = ctl_printf("/proc/%ld/oom_score_adj", stepper);
	_cleanup_free_ char *score = stepper ? ctl_read_line(path) : NULL;

	if (!score)
		return;
	if (!strcmp(score, NEVER))
		add_protected(facts, "service memory");
	else
		fact_value(facts_add(facts, FACT_WARN, "service memory",
				     "when memory runs out the kernel may kill the stepper, and a "
				     "program that it holds dies with it",
				     "OOMScoreAdjust=" NEVER " as pathprof's own unit has it"),
			   "the stepper's oom_score_adj is %s", score);
}
