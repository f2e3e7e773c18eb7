// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The filter over system calls: see pathprof/confine.h. Calls that take no more than what the
 * process has already are let through, all others fail with EPERM, and readers take that as they
 * take any failure.
 *
 * A call that opens a file raises SIGSYS, whose handler asks for the file and returns its
 * descriptor in the call's place: libdw opens a unit's .dwo file by itself and cannot be given one.
 *
 * A list of numbers needs no library, just a comparison for each. The command of fcntl() is checked
 * as well: F_SETOWN and F_SETSIG would send any signal to any process of the same user.
 */
#include "pathprof/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static const unsigned int allowed[] = {
	/* of descriptors */
	SYS_read,
	SYS_pread64,
	SYS_write,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_close,
	SYS_lseek,
	SYS_fstat,
	SYS_newfstatat,
	SYS_dup,
	SYS_readlink,
	SYS_ftruncate,
	/* of memory */
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_brk,
	/* of itself */
	SYS_rt_sigreturn,
	SYS_rt_sigprocmask,
	SYS_futex,
	SYS_clock_gettime,
	SYS_getpid,
	SYS_gettid,
	SYS_exit_group,
	SYS_exit,
#ifdef __SANITIZE_ADDRESS__
	SYS_sigaltstack,
	SYS_sched_yield,
#endif
};
#define ALLOWED_CNT (sizeof(allowed) / sizeof(allowed[0]))

/* Commands of fcntl(). */
static const unsigned int commands[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL};
#define COMMAND_CNT (sizeof(commands) / sizeof(commands[0]))

static const unsigned int asked_for[] = {SYS_open, SYS_openat};
#define ASKED_CNT (sizeof(asked_for) / sizeof(asked_for[0]))

static pathprof_confine_open_fn *opener;

/* ---------------------------------------------------------------- open */

/* NOLINTBEGIN(performance-no-int-to-ptr): registers are numbers */
static void open_instead(int signal_number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	bool at = info->si_syscall == SYS_openat;
	const char *path = (const char *)registers[at ? REG_RSI : REG_RDI];
	int flags = (int)registers[at ? REG_RDX : REG_RSI];
	int saved = errno;

	registers[REG_RAX] = -EACCES;
	if ((!at || (int)registers[REG_RDI] == AT_FDCWD || path[0] == '/') &&
	    (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_DIRECTORY)))
		registers[REG_RAX] = opener(path);
	errno = saved;
}
/* NOLINTEND(performance-no-int-to-ptr) */

static int catch_open(pathprof_confine_open_fn *open_file)
{
	struct sigaction action = {.sa_sigaction = open_instead, .sa_flags = SA_SIGINFO};

	opener = open_file;
	return sigaction(SIGSYS, &action, NULL) < 0 ? -errno : 0;
}

/* ---------------------------------------------------------------- the filter */

#define FILTER_LEN (4 + 2 * (ALLOWED_CNT + ASKED_CNT) + 3 + 2 * COMMAND_CNT + 1)

struct filter {
	struct sock_filter code[FILTER_LEN];
	unsigned short len;
};

static void put(struct filter *filter, struct sock_filter instruction)
{
	filter->code[filter->len++] = instruction;
}

static void put_verdict(struct filter *filter, const unsigned int *numbers, size_t cnt,
			uint32_t verdict)
{
	for (size_t i = 0; i < cnt; i++) {
		put(filter,
		    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i], 0, 1));
		put(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
	}
}

/* The kernel looks at the lower half of a command alone, which comes first in memory. */
static void put_commands(struct filter *filter)
{
	put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 1, 0));
	put(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
	put(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, args[1])));
	put_verdict(filter, commands, COMMAND_CNT, SECCOMP_RET_ALLOW);
}

/* Numbers of another architecture mean something else. */
static void fill(struct filter *filter)
{
	put(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, arch)));
	put(filter,
	    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
	put(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	put(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr)));
	put_verdict(filter, allowed, ALLOWED_CNT, SECCOMP_RET_ALLOW);
	put_verdict(filter, asked_for, ASKED_CNT, SECCOMP_RET_TRAP);
	put_commands(filter);
	put(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
}

int pathprof_confine_calls(pathprof_confine_open_fn *open_file)
{
	struct filter filter = {.len = 0};
	struct sock_fprog program = {.filter = filter.code};
	int r = catch_open(open_file);

	fill(&filter);
	program.len = filter.len;
	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return -errno;
	return 0;
}
