/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User time by /proc/stat: see user_time.h. */
#include "user_time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* PROC_PID_INIT_INO of the kernel: the namespace that is there from the start. */
#define FIRST_NAMESPACE "pid:[4026531836]"

static int is_first_namespace(const char *path)
{
	char name[64];
	ssize_t len = readlink(path, name, sizeof(name) - 1);

	if (len < 0)
		return -errno;
	name[len] = '\0';
	return !strcmp(name, FIRST_NAMESPACE);
}

static int read_ticks(const char *path, uint64_t *ret_ticks)
{
	uint64_t user, nice, guest, guest_nice;
	FILE *file = fopen(path, "re");
	int cnt;

	if (!file)
		return -errno;
	/* user and nice have the time of guests in them */
	cnt = fscanf(file,
		     "cpu %" SCNu64 " %" SCNu64 " %*u %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
		     &user, &nice, &guest, &guest_nice);
	fclose(file);
	if (cnt != 4 || guest > user || guest_nice > nice)
		return -EBADMSG;
	*ret_ticks = user - guest + (nice - guest_nice);
	return 0;
}

int pp_user_time_read(const char *stat_path, const char *ns_path, uint64_t *ret_ns)
{
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t ticks = 0;
	int r = is_first_namespace(ns_path);

	if (r <= 0)
		return r ? r : -ENOTSUP;
	r = read_ticks(stat_path, &ticks);
	if (r == 0)
		*ret_ns = ticks * (PP_NSEC_PER_SEC / (uint64_t)hz);
	return r;
}
