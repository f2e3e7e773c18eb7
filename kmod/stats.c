// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Statistics: sums over CPUs, and debugfs pathprof/stats: a line a counter, its name, its sum, then
 * its parts as CPU:COUNT, of CPUs that are offline, too. Read-only; no locks, since counters only
 * grow.
 */
#include "stats.h"

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>

DEFINE_PER_CPU(struct pathprof_collector_stats, pp_stats);

static struct dentry *directory;

static const char *const names[PATHPROF_STAT_CNT] = {
	PATHPROF_STAT_NAMES,
	[PATHPROF_STAT_END + PATHPROF_END_FULL] = "end_full",
	[PATHPROF_STAT_END + PATHPROF_END_SYSCALL] = "end_syscall",
	[PATHPROF_STAT_END + PATHPROF_END_FLAGS] = "end_flags",
	[PATHPROF_STAT_END + PATHPROF_END_TRAP] = "end_trap",
	[PATHPROF_STAT_END + PATHPROF_END_FAR] = "end_far",
	[PATHPROF_STAT_END + PATHPROF_END_SS] = "end_ss",
	[PATHPROF_STAT_END + PATHPROF_END_TSX] = "end_tsx",
	[PATHPROF_STAT_END + PATHPROF_END_REP] = "end_rep",
	[PATHPROF_STAT_END + PATHPROF_END_FETCH] = "end_fetch",
	[PATHPROF_STAT_END + PATHPROF_END_SIGNAL] = "end_signal",
	[PATHPROF_STAT_END + PATHPROF_END_DISCONT] = "end_discont",
	[PATHPROF_STAT_END + PATHPROF_END_STEPS] = "end_steps",
	[PATHPROF_STAT_END + PATHPROF_END_TIME] = "end_time",
	[PATHPROF_STAT_END + PATHPROF_END_EXIT] = "end_exit",
	[PATHPROF_STAT_END + PATHPROF_END_SWITCH] = "end_switch",
};

static u64 sum_of(u32 which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(pp_stats, cpu).value[which]);
	return sum;
}

void pp_stats_sum(struct pathprof_collector_stats *ret_stats)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ret_stats->value); i++)
		ret_stats->value[i] = sum_of(i);
}

static void show_parts(struct seq_file *file, u32 which)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		u64 count = READ_ONCE(per_cpu(pp_stats, cpu).value[which]);

		if (count)
			seq_printf(file, " %d:%llu", cpu, count);
	}
}

static int stats_show(struct seq_file *file, void *unused)
{
	u32 i;

	for (i = 0; i < PATHPROF_STAT_CNT; i++) {
		if (!names[i])
			continue;
		seq_printf(file, "%s %llu", names[i], sum_of(i));
		show_parts(file, i);
		seq_putc(file, '\n');
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

void pp_stats_init(void)
{
	directory = debugfs_create_dir("pathprof", NULL);
	debugfs_create_file("stats", 0400, directory, NULL, &stats_fops);
}

void pp_stats_release(void)
{
	debugfs_remove_recursive(directory);
}
