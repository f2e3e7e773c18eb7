// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Starting the alert hook: see sinks.h. The relay has threads (libcurl's), so between fork() and
 * execve() there are system calls only. Errors there come back through a pipe that execve() closes.
 * Source: capabilities(7), "Transformation of capabilities during execve()".
 */
#include "sinks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define REPORT_FD 3

static void default_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int i = 1; i < _NSIG; i++)
		(void)sigaction(i, &action, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Only the service is protected when memory runs out, not the programs that it starts. */
static void be_ordinary(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "0", 1);
	close(fd);
}

/*
 * Empties all sets from which execve() computes the program's capabilities: the ambient set, the
 * inheritable set, and the bounding set that root would get. SECBIT_NOROOT ends root's privilege,
 * and no_new_privs that of set-user-id files and of files with capabilities.
 */
static bool drop_rights(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {{0}};

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* those two take CAP_SETPCAP, which root has and the service does not need */
	for (unsigned long cap = 0; cap <= 63; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	(void)prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_capset, &head, none) == 0;
}

/*
 * Makes input, /dev/null and output the standard descriptors and report REPORT_FD, and closes all
 * others. report and null may have any of these numbers, so report is copied beyond them first, and
 * null takes its place before REPORT_FD is replaced.
 */
static bool take_descriptors(int input, int output, int report)
{
	int in = fcntl(input, F_DUPFD, REPORT_FD + 1), out = fcntl(output, F_DUPFD, REPORT_FD + 1);
	int kept = fcntl(report, F_DUPFD, REPORT_FD + 1);
	int null = open("/dev/null", O_WRONLY);

	return in >= 0 && out >= 0 && kept >= 0 && null >= 0 &&
	       dup2(null, STDOUT_FILENO) == STDOUT_FILENO &&
	       dup3(kept, REPORT_FD, O_CLOEXEC) == REPORT_FD &&
	       dup2(in, STDIN_FILENO) == STDIN_FILENO &&
	       dup2(out, STDERR_FILENO) == STDERR_FILENO && close_range(REPORT_FD + 1, ~0u, 0) == 0;
}

static _Noreturn void fail(int report)
{
	int code = errno;

	(void)!write(report, &code, sizeof(code));
	_exit(127);
}

static _Noreturn void child(char *const *argv, int input, int output, int report)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char *const environment[] = {path, NULL};

	default_signals();
	if (setpgid(0, 0) < 0 || chdir("/") < 0 || !take_descriptors(input, output, report))
		fail(report);
	be_ordinary();
	if (drop_rights())
		(void)execve(argv[0], argv, environment);
	fail(REPORT_FD);
}

int pp_tell_hook_start(pid_t *ret_child, char *const *argv, int input, int output)
{
	_cleanup_close_ int here = -EBADF, there = -EBADF;
	int ends[2], code = 0;
	sigset_t all, before;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	here = ends[0];
	there = ends[1];
	/* so that no handler of the relay's runs in the child */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		child(argv, input, output, there);
	code = pid < 0 ? errno : 0;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return -code;
	close(pp_steal_fd(&there));
	if (read(here, &code, sizeof(code)) != (ssize_t)sizeof(code)) {
		*ret_child = pid;
		return 0;
	}
	waitpid(pid, NULL, 0);
	return code > 0 ? -code : -EIO;
}
