/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One probe: a BPF program at an instruction of a file, for one process, under a number of the
 * caller's (the attach cookie). Two ways, of which libbpf knows the second only.
 */
#ifndef PP_BPF_VALUES_LINK_H
#define PP_BPF_VALUES_LINK_H

#include <bpf/libbpf.h>
#include <stdint.h>
#include <sys/types.h>

enum pp_values_way {
	PP_VALUES_WAY_MULTI = 0,
	PP_VALUES_WAY_PERF = 1,
	PP_VALUES_WAY_CNT = 2,
};

struct pp_values_link {
	pid_t pid;
	int fd;                /* multi; else -1 */
	struct bpf_link *link; /* perf; else NULL */
};

/* The attach type that a program must be loaded with for PP_VALUES_WAY_MULTI. */
#define PP_VALUES_ATTACH_MULTI 48

/* -errno as the kernel gives it. */
int pp_values_link_open(struct pp_values_link *ret_link, enum pp_values_way way,
			const struct bpf_program *program, pid_t pid, const char *path,
			uint64_t offset, uint64_t cookie);
/* The probe is gone when it returns. */
void pp_values_link_close(struct pp_values_link *link);

#endif
