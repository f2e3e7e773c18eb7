/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface by which addresses are resolved: by the tracker, or by a test. The functions are
 * those of track.h.
 *
 * Workload: some thousand look-ups a second. One owner, the event loop.
 */
#ifndef PP_RESOLVER_H
#define PP_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "track/track.h"

struct pp_resolver {
	void *context;
	int (*dispatch)(void *context);
	const struct pp_track_process *(*process)(void *context, pid_t pid, uint64_t time_ns);
	int (*resolve)(void *context, pid_t pid, uint64_t time_ns, uint64_t address,
		       struct pp_location *ret_location);
	int (*jit_symbol)(void *context, pid_t pid, const struct pathprof_build_id *code,
			  uint64_t address, char *name, size_t name_size, uint64_t *ret_start,
			  uint64_t *ret_len_bytes);
	/* Whether this process is to be profiled, as far as is known. NULL: each is. */
	bool (*in_view)(void *context, pid_t pid);
	/*
	 * A collector in the kernel saw this process in these control groups (record_abi.h; 0: not
	 * told). NULL: nobody wants to know.
	 */
	void (*in_cgroup)(void *context, pid_t pid, uint64_t start_time, uint64_t cgroup,
			  uint64_t cgroup_v1);
	/* The kernel's functions; both NULL: time in the kernel is one sum. */
	int (*resolve_kernel)(void *context, uint64_t address, struct pp_location *ret_location);
	int (*kernel_symbol)(void *context, uint64_t offset, char *name, size_t name_size,
			     uint64_t *ret_start, uint64_t *ret_len_bytes);
};

#endif
