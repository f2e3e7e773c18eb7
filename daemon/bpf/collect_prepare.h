/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A CPU's state as the collector's program wants to find it. For user space only: the tables of
 * the hash are filled by loops that no verifier would look through.
 *
 * Workload: once a CPU and session, some ten microseconds.
 *
 * Locking: collect.h; no program that uses the state is attached. The caller owns the memory,
 * which is mostly the value of a map.
 */
#ifndef PP_COLLECT_PREPARE_H
#define PP_COLLECT_PREPARE_H

#include <string.h>

#include "collect.h"

PP_STATIC_ASSERT(PP_HPT_MAX == 2048 && PP_SPLIT_MAX == 2048, collect_tables_of_a_kernel);

/* Each CPU has seeds of its own, or all would sample alike. The kernel module uses the same. */
PP_INLINE void pp_collect_prepare(struct pp_collect_state *s,
				  const struct pp_collect_config *config, __u64 seed, __u32 cpu)
{
	memset(s, 0, sizeof(*s));
	s->cpu = cpu;
	pp_compress_init(&s->compress, &config->compress, seed + cpu);
	pp_hpt_init(&s->hpt, ~seed - cpu);
	pp_random_init(&s->random, seed ^ (__u64)cpu << 32 ^ 0x9E3779B97F4A7C15ULL);
}

#endif
