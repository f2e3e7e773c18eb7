// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Giving up rights: see pathprof/confine.h. */
#include "pathprof/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534

/* ---------------------------------------------------------------- capabilities */

static int read_capabilities(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &head, data) < 0 ? -errno : 0;
}

bool pathprof_confine_has_rights(void)
{
	struct __user_cap_data_struct data[2] = {{0}};

	if (geteuid() == 0 || geteuid() != getuid() || getegid() != getgid())
		return true;
	return read_capabilities(data) < 0 || data[0].permitted || data[1].permitted;
}

int pathprof_confine_capabilities(const int *kept, size_t cnt)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}}, had[2];
	int r = read_capabilities(data);

	if (r < 0)
		return r;
	memcpy(had, data, sizeof(had));
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t mask = 0;

		for (size_t k = 0; k < cnt; k++)
			if ((unsigned int)CAP_TO_INDEX(kept[k]) == i)
				mask |= CAP_TO_MASK(kept[k]);
		data[i].permitted &= mask;
		data[i].effective &= mask;
		data[i].inheritable = 0;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* A service that has none may be forbidden to ask. */
	if (memcmp(had, data, sizeof(had)) == 0)
		return 0;
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

/* ---------------------------------------------------------------- who it is */

int pathprof_confine_identity(void)
{
	int r = 0;

	if (geteuid() != 0)
		return setresgid(getgid(), getgid(), getgid()) < 0 ||
				       setresuid(getuid(), getuid(), getuid()) < 0
			       ? -errno
			       : 0;
	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0)
		r = -errno;
	/* the user counts even where the groups must stay */
	if (setresuid(NOBODY, NOBODY, NOBODY) < 0 && r == 0)
		r = -errno;
	/* In a user namespace without a user nobody, root is an ordinary user outside. */
	return r == -EINVAL ? 0 : r;
}

/* ---------------------------------------------------------------- limits */

/* Bytes that are mapped now: of the whole, and of data. */
static void mapped_now(uint64_t *ret_bytes, uint64_t *ret_data_bytes)
{
	unsigned long long pages = 0, data = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file && fscanf(file, "%llu %*u %*u %*u %*u %llu", &pages, &data) != 2)
		pages = data = 0;
	if (file)
		fclose(file);
	*ret_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	*ret_data_bytes = data * (uint64_t)sysconf(_SC_PAGESIZE);
}

static rlim_t lower(rlim_t limit, uint64_t value)
{
	return limit < value ? limit : value;
}

static void set_limit(int resource, uint64_t value)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return;
	limit = (struct rlimit){lower(limit.rlim_cur, value), lower(limit.rlim_max, value)};
	setrlimit((__rlimit_resource_t)resource, &limit);
}

static void be_expendable(void)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "we");

	if (!file)
		return;
	fputs("1000", file);
	fclose(file);
}

void pathprof_confine_limits(const struct pathprof_confine_limits *limits)
{
	uint64_t bytes, data_bytes;

	be_expendable();
	mapped_now(&bytes, &data_bytes);
#ifndef __SANITIZE_ADDRESS__ /* which maps terabytes for itself */
	set_limit(RLIMIT_AS, bytes + limits->more_bytes);
	set_limit(RLIMIT_DATA, data_bytes + limits->more_data_bytes);
#endif
	if (limits->file_bytes != UINT64_MAX)
		set_limit(RLIMIT_FSIZE, limits->file_bytes);
	set_limit(RLIMIT_CPU, limits->cpu_s);
	set_limit(RLIMIT_CORE, 0);
}

/* ---------------------------------------------------------------- signals, descriptors */

void pathprof_confine_signals(void)
{
	sigset_t none;

	for (int i = 1; i < _NSIG; i++)
		if (i != SIGPIPE)
			signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int pathprof_confine_descriptors(int last)
{
	return close_range((unsigned int)last + 1, ~0u, 0) < 0 ? -errno : 0;
}
