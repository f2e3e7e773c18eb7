// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a command under a seccomp filter.
 *
 *     filtered docker|listed CMD [ARGS...]
 *
 * docker: as a container engine's default profile has it, calls that nobody needs in a container
 * fail with EPERM. listed: as a hardened service has it, whatever is not on a list kills; the
 * kernel's own restart_syscall is not on it.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STEP_MAX 256

static const int refused[] = {
	SYS_acct,
	SYS_add_key,
	SYS_bpf,
	SYS_clock_adjtime,
	SYS_clock_settime,
	SYS_delete_module,
	SYS_finit_module,
	SYS_get_mempolicy,
	SYS_init_module,
	SYS_ioperm,
	SYS_iopl,
	SYS_kcmp,
	SYS_kexec_load,
	SYS_keyctl,
	SYS_lookup_dcookie,
	SYS_mbind,
	SYS_mount,
	SYS_move_pages,
	SYS_name_to_handle_at,
	SYS_open_by_handle_at,
	SYS_perf_event_open,
	SYS_pivot_root,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_ptrace,
	SYS_quotactl,
	SYS_reboot,
	SYS_request_key,
	SYS_set_mempolicy,
	SYS_setns,
	SYS_settimeofday,
	SYS_swapoff,
	SYS_swapon,
	SYS_syslog,
	SYS_umount2,
	SYS_unshare,
	SYS_userfaultfd,
	SYS_vhangup,
};

static const int listed[] = {
	SYS_access,
	SYS_arch_prctl,
	SYS_brk,
	SYS_chmod,
	SYS_clock_getres,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_clone,
	SYS_clone3,
	SYS_close,
	SYS_dup,
	SYS_dup2,
	SYS_dup3,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_wait,
	SYS_execve,
	SYS_exit,
	SYS_exit_group,
	SYS_fadvise64,
	SYS_fchmod,
	SYS_fchown,
	SYS_fcntl,
	SYS_fstat,
	SYS_futex,
	SYS_getcwd,
	SYS_getdents64,
	SYS_getegid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getpid,
	SYS_getppid,
	SYS_getrandom,
	SYS_gettid,
	SYS_getuid,
	SYS_ioctl,
	SYS_kill,
	SYS_lseek,
	SYS_madvise,
	SYS_mmap,
	SYS_mprotect,
	SYS_mremap,
	SYS_munmap,
	SYS_nanosleep,
	SYS_newfstatat,
	SYS_open,
	SYS_openat,
	SYS_pipe,
	SYS_pipe2,
	SYS_poll,
	SYS_ppoll,
	SYS_prctl,
	SYS_pread64,
	SYS_prlimit64,
	SYS_read,
	SYS_readlink,
	SYS_readlinkat,
	SYS_getpgrp,
	SYS_getrusage,
	SYS_membarrier,
	SYS_msgctl,
	SYS_msgget,
	SYS_msgrcv,
	SYS_msgsnd,
	SYS_pselect6,
	SYS_pwrite64,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_sendmsg,
	SYS_sendto,
	SYS_shutdown,
	SYS_setsockopt,
	SYS_getsockopt,
	SYS_accept4,
	SYS_epoll_pwait,
	SYS_socketpair,
	SYS_times,
	SYS_eventfd2,
	SYS_sched_getparam,
	SYS_setpgid,
	SYS_rseq,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigsuspend,
	SYS_rt_sigtimedwait,
	SYS_sched_getaffinity,
	SYS_sched_yield,
	SYS_select,
	SYS_semctl,
	SYS_semget,
	SYS_semop,
	SYS_semtimedop,
	SYS_set_robust_list,
	SYS_set_tid_address,
	SYS_setitimer,
	SYS_sigaltstack,
	SYS_stat,
	SYS_statx,
	SYS_sysinfo,
	SYS_tgkill,
	SYS_timer_create,
	SYS_timer_settime,
	SYS_uname,
	SYS_unlink,
	SYS_utimensat,
	SYS_wait4,
	SYS_waitid,
	SYS_write,
	SYS_writev,
};

/* Each call of the list leads to `then`, all others to `otherwise`. */
static int install(const int *calls, size_t cnt, unsigned int then, unsigned int otherwise)
{
	struct sock_filter steps[STEP_MAX] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = {.filter = steps};
	size_t at = 4;

	for (size_t i = 0; i < cnt; i++) {
		steps[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							   (unsigned int)calls[i], 0, 1);
		steps[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, then);
	}
	steps[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	program.len = (unsigned short)at;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	int code = -1;

	if (argc > 2 && !strcmp(argv[1], "docker"))
		code = install(refused, sizeof(refused) / sizeof(refused[0]),
			       SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
	else if (argc > 2 && !strcmp(argv[1], "listed"))
		code = install(listed, sizeof(listed) / sizeof(listed[0]), SECCOMP_RET_ALLOW,
			       SECCOMP_RET_KILL_PROCESS);
	if (code) {
		perror("filtered");
		return 125;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
