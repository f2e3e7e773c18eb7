/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters by CPU, numbered as PATHPROF_STAT_* of kmod_abi.h, and their view in debugfs. Counting
 * is one instruction, so any context will do, NMI included; sums are taken while others count.
 */
#ifndef PATHPROF_KMOD_STATS_H
#define PATHPROF_KMOD_STATS_H

#include <linux/percpu.h>

#include "pathprof/kmod_abi.h"

DECLARE_PER_CPU(struct pathprof_collector_stats, pp_stats);

#define pp_stats_add(which, n) this_cpu_add(pp_stats.value[which], n)
#define pp_stats_inc(which)    this_cpu_inc(pp_stats.value[which])

void pp_stats_sum(struct pathprof_collector_stats *ret_stats);

/* debugfs pathprof/; a kernel without debugfs goes without. */
void pp_stats_init(void);
void pp_stats_release(void);

#endif
