/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a burst treats each system call: see step_call.h. */
#include "step_call.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "step_mount.h"

#define NUMBER_CNT 512
/* Numbers that the C library's headers may not know yet. */
#define NUMBER_FUTEX_WAITV 449
#define NUMBER_RSEQ        334

/* The group of a terminal's commands; others may sleep for as long as a device likes. */
#define IOCTL_GROUP(command) ((command) >> 8 & 0xff)
#define IOCTL_TERMINAL       0x54

/* By number; a call that is not named is gone through whole. */
static const unsigned char calls[NUMBER_CNT] = {
	[SYS_execve] = PP_STEP_CALL_ENDS,
	[SYS_execveat] = PP_STEP_CALL_ENDS,
	[SYS_exit] = PP_STEP_CALL_ENDS,
	[SYS_exit_group] = PP_STEP_CALL_ENDS,
	[SYS_fork] = PP_STEP_CALL_ENDS,
	[SYS_vfork] = PP_STEP_CALL_ENDS,
	[SYS_clone] = PP_STEP_CALL_ENDS,
	[SYS_clone3] = PP_STEP_CALL_ENDS,
	[SYS_rt_sigreturn] = PP_STEP_CALL_ENDS,
	[SYS_restart_syscall] = PP_STEP_CALL_ENDS,
	/* SIGTRAP may be out of the mask for the burst, and must not get into it. */
	[SYS_rt_sigprocmask] = PP_STEP_CALL_ENDS,
	[SYS_rt_sigsuspend] = PP_STEP_CALL_ENDS,
	/* They see that we trace, or what the stepper has set for the burst. */
	[SYS_ptrace] = PP_STEP_CALL_ENDS,
	[SYS_sched_setaffinity] = PP_STEP_CALL_ENDS,
	[SYS_sched_getaffinity] = PP_STEP_CALL_ENDS,
	[SYS_getpriority] = PP_STEP_CALL_ENDS,
	[SYS_setpriority] = PP_STEP_CALL_ENDS,
	[SYS_sched_setparam] = PP_STEP_CALL_ENDS,
	[SYS_sched_getparam] = PP_STEP_CALL_ENDS,
	[SYS_sched_setscheduler] = PP_STEP_CALL_ENDS,
	[SYS_sched_getscheduler] = PP_STEP_CALL_ENDS,
	[SYS_sched_rr_get_interval] = PP_STEP_CALL_ENDS,
	[SYS_sched_setattr] = PP_STEP_CALL_ENDS,
	[SYS_sched_getattr] = PP_STEP_CALL_ENDS,
	[SYS_ioprio_get] = PP_STEP_CALL_ENDS,
	/* The burst has asked once where the thread's area lies. */
	[NUMBER_RSEQ] = PP_STEP_CALL_ENDS,

	/* Nothing is done by halves: what it waits for has not come when it sleeps. */
	[SYS_read] = PP_STEP_CALL_AGAIN,
	[SYS_readv] = PP_STEP_CALL_AGAIN,
	[SYS_recvfrom] = PP_STEP_CALL_AGAIN,
	[SYS_recvmsg] = PP_STEP_CALL_AGAIN,
	[SYS_accept] = PP_STEP_CALL_AGAIN,
	[SYS_accept4] = PP_STEP_CALL_AGAIN,
	[SYS_poll] = PP_STEP_CALL_AGAIN,
	[SYS_ppoll] = PP_STEP_CALL_AGAIN,
	[SYS_select] = PP_STEP_CALL_AGAIN,
	[SYS_pselect6] = PP_STEP_CALL_AGAIN,
	[SYS_epoll_wait] = PP_STEP_CALL_AGAIN,
	[SYS_epoll_pwait] = PP_STEP_CALL_AGAIN,
	[SYS_epoll_pwait2] = PP_STEP_CALL_AGAIN,
	[SYS_pause] = PP_STEP_CALL_AGAIN,
	[SYS_nanosleep] = PP_STEP_CALL_AGAIN,
	[SYS_clock_nanosleep] = PP_STEP_CALL_AGAIN,
	[SYS_futex] = PP_STEP_CALL_AGAIN,
	[NUMBER_FUTEX_WAITV] = PP_STEP_CALL_AGAIN,
	[SYS_wait4] = PP_STEP_CALL_AGAIN,
	[SYS_waitid] = PP_STEP_CALL_AGAIN,
	[SYS_rt_sigtimedwait] = PP_STEP_CALL_AGAIN,
	[SYS_semop] = PP_STEP_CALL_AGAIN,
	[SYS_semtimedop] = PP_STEP_CALL_AGAIN,
	[SYS_msgrcv] = PP_STEP_CALL_AGAIN,
	[SYS_msgsnd] = PP_STEP_CALL_AGAIN,
	[SYS_mq_timedreceive] = PP_STEP_CALL_AGAIN,
	[SYS_mq_timedsend] = PP_STEP_CALL_AGAIN,
	[SYS_flock] = PP_STEP_CALL_AGAIN,
	[SYS_fcntl] = PP_STEP_CALL_AGAIN,
	[SYS_io_getevents] = PP_STEP_CALL_AGAIN,
};

static bool takes_own_code(const struct pp_step_code *code, const struct user_regs_struct *regs)
{
	return pp_step_code_overlaps(code, regs->rdi, regs->rsi);
}

/*
 * Whether a file is of procfs, where a thread can read of its own state that it is traced, and of
 * the mask, affinity and nice value that it has for the burst. One that cannot be told is taken for
 * one.
 */
static bool is_of_procfs(pid_t tid, int fd)
{
	char name[48], path[sizeof("/proc/")] = "";

	snprintf(name, sizeof(name), "/proc/%d/fd/%d", tid, fd);
	if (readlink(name, path, sizeof(path) - 1) < 0)
		return access(name, F_OK) == 0;
	if (!strcmp(path, "/proc/"))
		return true;
	/* Pipes, sockets and their like have no path. */
	return path[0] == '/' && pp_step_mount_is_procfs(tid, fd);
}

static enum pp_step_call ends_if(bool ends, enum pp_step_call otherwise)
{
	return ends ? PP_STEP_CALL_ENDS : otherwise;
}

/* The arguments decide about some calls. */
static enum pp_step_call look_closer(const struct pp_step_code *code,
				     const struct user_regs_struct *regs, pid_t tid, int number)
{
	enum pp_step_call call = calls[number];

	switch (number) {
	case SYS_mmap:
		return ends_if(regs->r10 & MAP_FIXED && takes_own_code(code, regs), call);
	case SYS_mremap: /* it may also move to a place of the caller's choice */
		return ends_if(regs->r10 & MREMAP_FIXED || takes_own_code(code, regs), call);
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_madvise:
	case SYS_remap_file_pages:
		return ends_if(takes_own_code(code, regs), call);
	case SYS_rt_sigaction:
		return ends_if((int)regs->rdi == SIGTRAP, call);
	case SYS_ioctl:
		return ends_if(IOCTL_GROUP(regs->rsi) != IOCTL_TERMINAL, call);
	case SYS_io_uring_enter: /* what it has submitted counts, even if the wait is broken off */
		return ends_if(regs->rsi && regs->rdx, regs->rsi ? call : PP_STEP_CALL_AGAIN);
	case SYS_io_getevents: /* of several that it waits for, it returns those that have come */
		return (long)regs->rsi > 1 ? PP_STEP_CALL_WHOLE : call;
	case SYS_read:
	case SYS_readv:
	case SYS_pread64:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_splice:
		return ends_if(is_of_procfs(tid, (int)regs->rdi), call);
	case SYS_sendfile:
		return ends_if(is_of_procfs(tid, (int)regs->rsi), call);
	case SYS_recvfrom:
		return regs->r10 & MSG_WAITALL ? PP_STEP_CALL_WHOLE : call;
	case SYS_recvmsg:
		return regs->rdx & MSG_WAITALL ? PP_STEP_CALL_WHOLE : call;
	default:
		return call;
	}
}

enum pp_step_call pp_step_call_look(const struct pp_step_code *code,
				    const struct user_regs_struct *regs, pid_t tid)
{
	int number = (int)regs->rax;

	/* Also the calls of the x32 ABI. */
	if (number < 0 || number >= NUMBER_CNT)
		return PP_STEP_CALL_ENDS;
	return look_closer(code, regs, tid, number);
}
