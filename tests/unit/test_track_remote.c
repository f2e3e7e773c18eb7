// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of file servers: which they are, and children that do not come back. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "../../daemon/track/track_remote.h"
#include "unit.h"

static void test_own_mounts(void)
{
	struct pp_remote *remote;
	struct stat st;

	CU_ASSERT_EQUAL_FATAL(pp_remote_new(&remote), 0);
	CU_ASSERT_EQUAL_FATAL(stat("/proc", &st), 0);
	CU_ASSERT_FALSE(pp_remote_has(remote, getpid(), major(st.st_dev), minor(st.st_dev)));
	CU_ASSERT_FALSE(pp_remote_path(getpid(), "/proc/self/maps"));
	/* of no mount: with a disk it is no server's */
	CU_ASSERT_FALSE(pp_remote_has(remote, getpid(), 254, 77777));
	CU_ASSERT_TRUE(pp_remote_has(remote, getpid(), 0, 77777));
	pp_remote_free(remote);
}

/* Tells the device of a mount that nobody else has; ends without a word if it can have none. */
static _Noreturn void have_own_mount(const char *dir, int fd)
{
	struct stat st;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		_exit(1);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", dir, "tmpfs", 0, NULL) < 0 || stat(dir, &st) < 0 ||
	    write(fd, &st.st_dev, sizeof(st.st_dev)) < 0)
		_exit(1);
	for (;;)
		pause();
}

/* A child with such a mount, to be ended; 0: there can be none. */
static pid_t child_with_mount(dev_t *ret_dev)
{
	const char *dir = unit_tmpdir();
	int ends[2];
	ssize_t len_bytes;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	pid = fork();
	if (pid == 0)
		have_own_mount(dir, ends[1]);
	close(ends[1]);
	len_bytes = read(ends[0], ret_dev, sizeof(*ret_dev));
	close(ends[0]);
	if (pid > 0 && len_bytes != (ssize_t)sizeof(*ret_dev)) {
		waitpid(pid, NULL, 0);
		return 0;
	}
	return pid > 0 ? pid : 0;
}

static pid_t gone_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	CU_ASSERT_FATAL(pid > 0);
	CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
	return pid;
}

static bool is_listed(const char *lines, const char *path)
{
	FILE *mounts = fmemopen((void *)(uintptr_t)lines, strlen(lines), "r");
	bool is_remote;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mounts);
	is_remote = pp_remote_listed(mounts, path);
	fclose(mounts);
	return is_remote;
}

static void test_lists(void)
{
	static const char lines[] =
		"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
		"2 1 0:50 / /mnt/My\\040Share rw shared:1 - cifs //host/My\\040Share rw\n"
		"3 1 0:51 / /mnt/a\\134b\\011c\\012 rw - nfs host:/ rw\n"
		"4 2 0:52 / /mnt/My\\040Share/here rw - tmpfs tmpfs rw\n"
		"5 1 0:53 / /pvfs rw - pvfs2 tcp://host rw\n"
		"6 1 0:54 /\nrubbish - nfs\n\n"
		"7 1 0:55 / /odd\\04 rw - fuse.sshfs host: rw";

	CU_ASSERT_FALSE(is_listed(lines, "/mnt/My"));
	CU_ASSERT_TRUE(is_listed(lines, "/mnt/My Share/tool"));
	CU_ASSERT_FALSE(is_listed(lines, "/mnt/My Shares/tool"));
	CU_ASSERT_FALSE(is_listed(lines, "/mnt/My\\040Share/tool"));
	CU_ASSERT_FALSE(is_listed(lines, "/mnt/My Share/here/tool"));
	CU_ASSERT_TRUE(is_listed(lines, "/mnt/a\\b\tc\n/tool"));
	CU_ASSERT_TRUE(is_listed(lines, "/pvfs/tool"));
	CU_ASSERT_TRUE(is_listed(lines, "/odd\\04/tool"));
	CU_ASSERT_FALSE(is_listed("", "/mnt"));
}

#define BLANK_CNT 4000

/* A mount point as long as it may be, of blanks, each of which takes four bytes of the line. */
static void test_long_line(void)
{
	static char lines[BLANK_CNT * 4 + 64], path[BLANK_CNT + 16];
	char *to = stpcpy(lines, "2 1 0:50 / /");

	for (int i = 0; i < BLANK_CNT; i++)
		to = stpcpy(to, "\\040");
	stpcpy(to, " rw - nfs host:/ rw\n");
	path[0] = '/';
	memset(path + 1, ' ', BLANK_CNT);
	stpcpy(path + 1 + BLANK_CNT, "/tool");
	CU_ASSERT_TRUE(is_listed(lines, path));
	CU_ASSERT_FALSE(is_listed(lines, "/ /tool"));
}

/* A device that a gone process left unknown is looked up anew for one that is still there. */
static void test_gone_process(void)
{
	struct pp_remote *remote;
	dev_t dev = 0;
	pid_t pid = child_with_mount(&dev), gone = gone_pid();

	if (!pid) {
		unit_skip("no mount of a process's own can be made here");
		return;
	}
	CU_ASSERT_EQUAL_FATAL(pp_remote_new(&remote), 0);
	CU_ASSERT_TRUE(pp_remote_has(remote, gone, major(dev), minor(dev)));
	CU_ASSERT_FALSE(pp_remote_has(remote, pid, major(dev), minor(dev)));
	/* and that holds for all */
	CU_ASSERT_FALSE(pp_remote_has(remote, gone, major(dev), minor(dev)));
	pp_remote_free(remote);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The number of a device without a disk is looked up anew once another one may have it. */
static void test_reused_number(void)
{
	struct pp_remote *remote;
	dev_t dev = 0;
	pid_t pid = child_with_mount(&dev);

	if (!pid) {
		unit_skip("no mount of a process's own can be made here");
		return;
	}
	CU_ASSERT_EQUAL_FATAL(pp_remote_new(&remote), 0);
	CU_ASSERT_FALSE(pp_remote_has(remote, pid, major(dev), minor(dev)));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 1000 && !pp_remote_has(remote, getpid(), major(dev), minor(dev)); i++)
		usleep(10000);
	CU_ASSERT_TRUE(pp_remote_has(remote, getpid(), major(dev), minor(dev)));
	pp_remote_free(remote);
}

/* A file system of a server that nobody runs. */
static bool mount_fuse(const char *dir)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[80];

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	return fd >= 0 && mount("nobody", dir, "fuse", 0, options) == 0;
}

/* In a child with mounts of its own. Returns how many looks told something else than was so. */
static int look_while_mounts_change(const char *dir)
{
	struct pp_remote *remote;
	char path[PATH_MAX];
	int wrong = 0;

	snprintf(path, sizeof(path), "%s/tool", dir);
	if (pp_remote_new(&remote))
		return -1;
	for (int round = 0; round < 3; round++) {
		wrong += pp_remote_own_path(remote, path);
		if (!mount_fuse(dir))
			return -1;
		wrong += !pp_remote_own_path(remote, path) + !pp_remote_own_path(remote, path);
		wrong += pp_remote_own_path(remote, "/proc/self/maps");
		if (umount2(dir, MNT_DETACH))
			return -1;
	}
	pp_remote_free(remote);
	return wrong;
}

static void test_changing_mounts(void)
{
	const char *dir = unit_tmpdir();
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
			_exit(100);
		status = look_while_mounts_change(dir);
		_exit(status < 0 ? 100 : status);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_TRUE(WIFEXITED(status));
	if (WEXITSTATUS(status) == 100)
		unit_skip("no server's file system can be mounted here");
	else
		CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}

static int doubled(void *context, void *answer)
{
	int number = 2 * *(int *)context;

	memcpy(answer, &number, sizeof(number));
	return 0;
}

static int refusing(void *context, void *answer)
{
	return -ENOENT;
}

/* Takes 20 ms of CPU time. */
static int computing(void *context, void *answer)
{
	const clock_t begin = clock();

	while (clock() - begin < CLOCKS_PER_SEC / 50)
		;
	return 0;
}

static int never(void *context, void *answer)
{
	pause();
	return 0;
}

static int crashing(void *context, void *answer)
{
	_exit(3);
}

/*
 * The answer of a new child, and its CPU time. On a busy machine a child may be given up before it
 * was ever run, so another one is asked then.
 */
static int asked(pp_remote_fn *fn, void *context, int *answer, uint64_t *ret_cpu_ns)
{
	int r = -ETIMEDOUT;

	for (int i = 0; i < 100 && r == -ETIMEDOUT; i++) {
		struct pp_remote *remote;

		CU_ASSERT_EQUAL_FATAL(pp_remote_new(&remote), 0);
		r = pp_remote_ask(remote, 1, fn, context, answer, sizeof(*answer));
		*ret_cpu_ns = pp_remote_cpu_ns(remote);
		pp_remote_free(remote);
	}
	return r;
}

static void test_answers(void)
{
	int number = 21, answer = 0;
	uint64_t cpu_ns;

	CU_ASSERT_EQUAL(asked(doubled, &number, &answer, &cpu_ns), 0);
	CU_ASSERT_EQUAL(answer, 42);
	CU_ASSERT_EQUAL(asked(refusing, NULL, &answer, &cpu_ns), -ENOENT);
	CU_ASSERT_EQUAL(asked(crashing, NULL, &answer, &cpu_ns), -ECHILD);
	CU_ASSERT_EQUAL(answer, 42);
}

static void test_account(void)
{
	int answer = 0;
	uint64_t cpu_ns = 0;

	CU_ASSERT_EQUAL(asked(computing, NULL, &answer, &cpu_ns), 0);
	CU_ASSERT(cpu_ns >= 19000000);
}

static void test_silence(void)
{
	uint64_t begin_ns = pp_monotonic_ns(), asked_cnt = 0;
	struct pp_remote *remote;
	int r, answer = 0;

	CU_ASSERT_EQUAL_FATAL(pp_remote_new(&remote), 0);
	for (uint64_t dev = 1; dev <= 20; dev++) {
		r = pp_remote_ask(remote, dev, never, NULL, &answer, sizeof(answer));
		CU_ASSERT(r == -ETIMEDOUT || r == -EBUSY);
		asked_cnt += r == -ETIMEDOUT;
	}
	CU_ASSERT(pp_monotonic_ns() - begin_ns >= 400000000);
	/* half a second of waiting, a fiftieth of the time since, and the last tenth of a second */
	CU_ASSERT(asked_cnt <= 6 + (pp_monotonic_ns() - begin_ns) / 5000000000);
	pp_remote_free(remote);
}

static const struct unit_test tests[] = {
	{"disks and the kernel's file systems are nobody else's", test_own_mounts},
	{"mount points are read as they are escaped", test_lists},
	{"a mount point may be as long as a path", test_long_line},
	{"a device's number is not believed for long", test_reused_number},
	{"our own mounts are followed as they come and go", test_changing_mounts},
	{"what is guessed of a process that is gone is not kept", test_gone_process},
	{"a child's answer is handed on, and so is that there is none", test_answers},
	{"what children compute is counted", test_account},
	{"who does not answer is waited for a while only", test_silence},
};

UNIT_SUITE(track_remote, tests)
