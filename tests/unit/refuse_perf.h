/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A filter that answers each perf_event_open of this process, and of what it starts, with EACCES:
 * so a kernel whose perf_event_paranoid is 3 answers a process without CAP_SYS_ADMIN. Source:
 * seccomp(2).
 */
#ifndef UNIT_REFUSE_PERF_H
#define UNIT_REFUSE_PERF_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* false: there can be no filter, errno says why. */
static inline bool refuse_perf_events(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif
