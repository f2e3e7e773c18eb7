// SPDX-License-Identifier: GPL-2.0-or-later
/* The OOM killer's score of this process: see oom_score.h. */
#include "oom_score.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SCORE_FILE "/proc/self/oom_score_adj"

int pp_oom_score_set(int score)
{
	int fd = open(SCORE_FILE, O_WRONLY | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (dprintf(fd, "%d", score) < 0)
		r = -errno;
	close(fd);
	return r;
}

/* PP_OOM_SCORE_ORDINARY where it cannot be read. */
static int read_score(void)
{
	char text[16] = "";
	int fd = open(SCORE_FILE, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return PP_OOM_SCORE_ORDINARY;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return (int)strtol(text, NULL, 10);
}

void pp_oom_score_become_ordinary(void)
{
	if (read_score() == PP_OOM_SCORE_NEVER)
		(void)pp_oom_score_set(PP_OOM_SCORE_ORDINARY);
}
