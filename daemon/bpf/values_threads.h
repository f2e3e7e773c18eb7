/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a probe for one process see all of its threads? The first kernels that had multi links (6.6
 * to 6.9, unless repaired since) looked at the first thread only. Their version does not tell, so
 * it is tried: a probe in this very process, and a thread that runs into it.
 *
 * Workload: once a recording, some milliseconds. Starts a thread and waits for its end.
 */
#ifndef PP_BPF_VALUES_THREADS_H
#define PP_BPF_VALUES_THREADS_H

#include <bpf/libbpf.h>
#include <stdint.h>

#include "values_link.h"

/*
 * Puts the probe there under this cookie and runs a thread into it; the caller sees by what the
 * program counted whether it was noticed. -errno when it cannot be tried.
 */
int pp_values_threads_try(enum pp_values_way way, const struct bpf_program *program,
			  uint64_t cookie);

#endif
