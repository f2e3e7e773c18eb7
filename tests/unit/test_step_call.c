// SPDX-License-Identifier: GPL-2.0-or-later
/* Which system calls a burst goes through, and which of these may be broken off. */
#include "unit.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/step/step_call.h"
#include "../../daemon/step/step_mount.h"

#define CODE 0x400000ull

static size_t read_nops(void *context, uint64_t address, void *to, size_t len_bytes)
{
	memset(to, 0x90, len_bytes);
	return len_bytes;
}

/* A burst that has read one page of code. */
static struct pp_step_code *begin(void)
{
	struct pp_step_code *code = pp_step_code_begin(read_nops, NULL);

	pp_step_code_at(code, CODE + 16);
	return code;
}

static enum pp_step_call look(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct user_regs_struct regs = {
		.rax = (unsigned long long)number, .rdi = a, .rsi = b, .rdx = c, .r10 = d};

	return pp_step_call_look(begin(), &regs, getpid());
}

static void test_numbers(void)
{
	CU_ASSERT_EQUAL(look(SYS_getppid, 0, 0, 0, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_write, 1, 0, 100, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_nanosleep, 0, 0, 0, 0), PP_STEP_CALL_AGAIN);
	CU_ASSERT_EQUAL(look(SYS_futex, 0, 0, 0, 0), PP_STEP_CALL_AGAIN);
	CU_ASSERT_EQUAL(look(SYS_execve, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_clone3, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_rt_sigreturn, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_rt_sigprocmask, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_sched_getaffinity, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_ptrace, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
}

/* The kernel takes 32 bits of the number, and knows calls by numbers of another ABI as well. */
static void test_strange_numbers(void)
{
	CU_ASSERT_EQUAL(look(-1, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(0x40000000 + SYS_getppid, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(100000, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(0x700000000 + SYS_exit, 0, 0, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(0x700000000 + SYS_getppid, 0, 0, 0, 0), PP_STEP_CALL_WHOLE);
}

static void test_own_code(void)
{
	CU_ASSERT_EQUAL(look(SYS_munmap, CODE, 4096, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_munmap, CODE - 4096, 4096, 0, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_munmap, CODE + 4096, 4096, 0, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_mprotect, CODE - 8192, 8193, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_mprotect, CODE - 4096, 1, 0, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_mmap, CODE, 4096, 0, MAP_PRIVATE | MAP_FIXED), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_mmap, CODE, 4096, 0, MAP_PRIVATE), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_mremap, 0x10000, 4096, 8192, MREMAP_MAYMOVE), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_mremap, 0x10000, 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED),
			PP_STEP_CALL_ENDS);
}

static void test_arguments(void)
{
	CU_ASSERT_EQUAL(look(SYS_rt_sigaction, SIGTRAP, 0, 0, 8), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_rt_sigaction, SIGINT, 0, 0, 8), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_recvfrom, 0, 0, 0, 0), PP_STEP_CALL_AGAIN);
	CU_ASSERT_EQUAL(look(SYS_recvfrom, 0, 0, 0, MSG_WAITALL), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_recvmsg, 0, 0, MSG_WAITALL, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_ioctl, 1, 0x5401, 0, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_ioctl, 1, 0xae80, 0, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_io_uring_enter, 3, 1, 1, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_io_uring_enter, 3, 1, 0, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_io_uring_enter, 3, 0, 1, 0), PP_STEP_CALL_AGAIN);
	CU_ASSERT_EQUAL(look(SYS_io_getevents, 1, 1, 8, 0), PP_STEP_CALL_AGAIN);
	CU_ASSERT_EQUAL(look(SYS_io_getevents, 1, 2, 8, 0), PP_STEP_CALL_WHOLE);
}

/* A thread may read there that it is traced. */
static void test_procfs(void)
{
	int own = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CU_ASSERT_FATAL(own >= 0 && null >= 0);
	CU_ASSERT_EQUAL(look(SYS_read, (uint64_t)own, 0, 1, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_pread64, (uint64_t)own, 0, 1, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_sendfile, 1, (uint64_t)own, 0, 1), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_splice, (uint64_t)own, 0, 1, 0), PP_STEP_CALL_ENDS);
	CU_ASSERT_EQUAL(look(SYS_splice, (uint64_t)null, 0, 1, 0), PP_STEP_CALL_WHOLE);
	CU_ASSERT_EQUAL(look(SYS_read, (uint64_t)null, 0, 1, 0), PP_STEP_CALL_AGAIN);
	close(own);
	close(null);
	CU_ASSERT_EQUAL(look(SYS_read, (uint64_t)own, 0, 1, 0), PP_STEP_CALL_AGAIN);
}

/* Mounts that nobody else sees: a file system of its own at dir, and procfs in it. */
static bool have_own_mounts(const char *dir, const char *proc)
{
	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", dir, "tmpfs", 0, NULL) == 0 && mkdir(proc, 0700) == 0 &&
	       mount("/proc", proc, NULL, MS_BIND | MS_REC, NULL) == 0;
}

static enum pp_step_call look_at_read(const char *dir, const char *name, int flags)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return look(SYS_read, (uint64_t)open(path, flags | O_CLOEXEC, 0600), 0, 1, 0);
}

/* Thousands of mounts, and a file system behind them. */
static bool have_many_mounts(const char *dir)
{
	char path[4096];

	for (int i = 0; i < 2000; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		if (mkdir(path, 0700) || mount(dir, path, NULL, MS_BIND, NULL))
			return false;
	}
	snprintf(path, sizeof(path), "%s/last", dir);
	return mkdir(path, 0700) == 0 && mount("none", path, "tmpfs", 0, NULL) == 0;
}

/* In a child. 2: it can have no mounts. */
static int look_at_mounts(const char *dir)
{
	char proc[4096];

	snprintf(proc, sizeof(proc), "%s/proc", dir);
	if (!have_own_mounts(dir, proc))
		return 2;
	return look_at_read(dir, "proc/self/status", O_RDONLY) != PP_STEP_CALL_ENDS ||
	       look_at_read(dir, "file", O_RDWR | O_CREAT) != PP_STEP_CALL_AGAIN ||
	       !have_many_mounts(dir) ||
	       look_at_read(dir, "last/file", O_RDWR | O_CREAT) != PP_STEP_CALL_ENDS;
}

static void test_procfs_elsewhere(void)
{
	const char *dir = unit_tmpdir();
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(look_at_mounts(dir));
	}
	CU_ASSERT_FATAL(child > 0);
	CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
	CU_ASSERT_TRUE(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		unit_skip("no mounts of one's own here");
	else
		CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}

/* A child with a file of dir at *ret_fd, and dir as its root. */
static pid_t start_chrooted(const char *dir, int *ret_fd)
{
	char path[4096], byte = 0;
	int ready[2];
	pid_t child;

	snprintf(path, sizeof(path), "%s/file", dir);
	*ret_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CU_ASSERT_FATAL(*ret_fd >= 0 && pipe(ready) == 0);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = chroot(dir) == 0;
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
	CU_ASSERT_EQUAL(byte, 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

/* A root that is a directory has its mount in no list of the thread. */
static void test_files_below_chroot(void)
{
	int fd = -1;
	pid_t child;

	if (geteuid() != 0) {
		unit_skip("only root changes its root");
		return;
	}
	child = start_chrooted(unit_tmpdir(), &fd);
	CU_ASSERT_FALSE(pp_step_mount_is_procfs(child, fd));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(fd);
}

static const struct unit_test tests[] = {
	{"tells calls by their number", test_numbers},
	{"knows the kernel's idea of a number", test_strange_numbers},
	{"keeps the code of the window", test_own_code},
	{"looks at arguments", test_arguments},
	{"leaves procfs alone", test_procfs},
	{"leaves procfs alone where it is mounted elsewhere", test_procfs_elsewhere},
	{"goes on through reads below a changed root", test_files_below_chroot},
};

UNIT_SUITE(step_call, tests)
