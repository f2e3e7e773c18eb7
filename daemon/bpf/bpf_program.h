/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector's program in the kernel (collect.bpf.c): loaded, its states prepared and mapped,
 * its ring read, its tables written out. Every refusal is put into a sentence that says what to do.
 *
 * Workload: loaded once; read some times a second, written out every few seconds. One thread.
 * Memory of the kernel's: sizeof(struct pp_collect_state) for each CPU that is possible.
 */
#ifndef PP_BPF_PROGRAM_H
#define PP_BPF_PROGRAM_H

#define PP_KERNEL_TABLES /* the program's tables have a kernel's sizes */

#include <stdint.h>

#include "../chain/chain_records.h"
#include "collect.h"
#include "pathprof/error.h"

#define PP_BPF_RING_BYTES (UINT32_C(1) << 20)

struct pp_bpf_program;

/* The reader's counters, running totals. */
struct pp_bpf_ring_figures {
	uint64_t received_bytes;
	uint64_t malformed, missing; /* records; missing: by their numbers */
};

/*
 * seed: of the random numbers. -EPERM, -ENOENT (no type information), -EACCES and -EINVAL (the
 * verifier refuses), -EOPNOTSUPP (an old kernel), -ENOMEM.
 */
int pp_bpf_program_load(struct pp_bpf_program **ret_program, const struct pp_collect_config *config,
			uint64_t seed, struct pathprof_error *error);
/* NULL-safe. */
void pp_bpf_program_free(struct pp_bpf_program *program);

/* Descriptor of the program that runs at each sample. */
int pp_bpf_program_fd(const struct pp_bpf_program *program);
/* Count of possible CPUs: every CPU number is below it. */
uint32_t pp_bpf_program_cpus(const struct pp_bpf_program *program);
/* Mapped: what may be changed while it runs (collect.h) is changed there. */
struct pp_collect_config *pp_bpf_program_config(struct pp_bpf_program *program);

/* Hands over the sound records that lie in the ring, in order. */
int pp_bpf_program_read(struct pp_bpf_program *program, pp_chain_record_fn *fn, void *context);
/* Writes that CPU's tables out into the ring. -ENXIO: it is offline. */
int pp_bpf_program_drain(struct pp_bpf_program *program, uint32_t cpu);

/* Sums over CPUs since it was loaded. */
void pp_bpf_program_stats(const struct pp_bpf_program *program,
			  struct pathprof_collector_stats *ret_stats);
void pp_bpf_program_ring_figures(const struct pp_bpf_program *program,
				 struct pp_bpf_ring_figures *ret_figures);

#endif
