// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hardware branch stack, by way of perf: an event of user space's choice whose samples bring
 * what the processor last recorded. The stack lies in storage that the driver uses again, so it is
 * copied before the handler returns.
 *
 * Workload: up to some thousand samples a second and CPU of 16 to 64 entries, mostly in an NMI.
 * Locking: none; one handler a CPU at a time, which is all that it shares.
 */
#include "lbr.h"

#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/timekeeping.h>

#include "governor.h"
#include "pipeline.h"
#include "ring.h"
#include "session.h"
#include "source.h"
#include "stats.h"

#define ENTRY_MAX     128 /* of a stack; hardware has 8 to 64 */
#define STACK_MAX     127 /* newer kernels cut stacks to attr.sample_max_stack */
#define STRETCH_MAX   10  /* log2 of how much the budget may stretch the period */
#define START_TIME_NS (NSEC_PER_SEC / USER_HZ)

#define KNOWN_BRANCH_BITS                                                                          \
	(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_ANY_CALL |          \
	 PERF_SAMPLE_BRANCH_ANY_RETURN | PERF_SAMPLE_BRANCH_IND_CALL | PERF_SAMPLE_BRANCH_COND |   \
	 PERF_SAMPLE_BRANCH_IND_JUMP | PERF_SAMPLE_BRANCH_CALL | PERF_SAMPLE_BRANCH_TYPE_SAVE |    \
	 PERF_SAMPLE_BRANCH_HW_INDEX | PERF_SAMPLE_BRANCH_NO_TX | PERF_SAMPLE_BRANCH_IN_TX |       \
	 PERF_SAMPLE_BRANCH_ABORT_TX)

/* ----------------------------------------------------------------- entries */

static bool same_entry(const struct perf_branch_entry *a, const struct perf_branch_entry *b)
{
	return a->from == b->from && a->to == b->to && a->cycles == b->cycles &&
	       a->mispred == b->mispred && a->predicted == b->predicted;
}

/*
 * Some processors record the newest twice; a branch to itself that was taken twice looks the same,
 * and loses one round at the window's edge. The index of the newest that counts.
 */
static u32 find_newest(const struct perf_branch_stack *stack, u32 cnt)
{
	if (cnt < 2 || !same_entry(&stack->entries[0], &stack->entries[1]) ||
	    !stack->entries[0].from)
		return 0;
	pp_stats_inc(PATHPROF_STAT_LBR_DUPLICATE);
	return 1;
}

/* perf has the newest first, a window the oldest. */
static u32 copy_stack(const struct perf_branch_stack *stack, u32 cnt, u32 newest,
		      struct pathprof_lbr_entry *ret_entries)
{
	u32 kept = 0, why, i;
	u64 cut = 0;

	for (i = cnt; i-- > newest;) {
		why = pp_lbr_refuses(&stack->entries[i]);
		if (unlikely(why)) {
			pp_stats_inc(why);
			cut = kept ? PATHPROF_LBR_CUT : 0;
			continue;
		}
		pp_lbr_copy(&stack->entries[i], &ret_entries[kept]);
		ret_entries[kept++].to |= cut;
		cut = 0;
	}
	return kept;
}

/* ---------------------------------------------------------------- sampling */

static void fill_head(struct pathprof_lbr *head, const struct perf_sample_data *data,
		      const struct pt_regs *regs)
{
	head->pid = current->tgid;
	head->tid = current->pid;
	head->time_ns = ktime_get_mono_fast_ns();
	head->ip = regs->ip;
	head->period = data->period;
	head->start_time = div_u64(current->group_leader->start_boottime, START_TIME_NS);
}

static void write_window(const struct perf_branch_stack *stack, u32 cnt, u32 newest,
			 const struct perf_sample_data *data, const struct pt_regs *regs)
{
	struct pathprof_lbr *head;

	head = pp_ring_reserve(PATHPROF_RECORD_LBR,
			       sizeof(*head) + cnt * sizeof(struct pathprof_lbr_entry));
	if (!head)
		return;
	fill_head(head, data, regs);
	head->branch_cnt = copy_stack(stack, cnt, newest, (struct pathprof_lbr_entry *)(head + 1));
	head->dropped = cnt - head->branch_cnt;
	pp_ring_commit(sizeof(*head) + head->branch_cnt * sizeof(struct pathprof_lbr_entry));
}

/* 0, or which PATHPROF_STAT_SKIP_* says why this sample is left out. */
static u32 refuses(struct pt_regs *regs, u64 now_ns)
{
	u32 spares;

	if (!current->mm)
		return PATHPROF_STAT_SKIP_KERNEL;
	if (!pp_session_selects(regs->ip))
		return PATHPROF_STAT_SKIP_SELECTION;
	if (!user_64bit_mode(task_pt_regs(current)))
		return PATHPROF_STAT_SKIP_COMPAT;
	spares = pp_session_spares();
	return spares ? spares : pp_governor_refuses(now_ns);
}

/* A budget that is spent doubles the period; one that is kept brings it back by a 64th or by 1. */
static u64 next_period(u64 period, u32 why)
{
	u64 wanted = pp_session.start.period;

	if (why == PATHPROF_STAT_SKIP_BUDGET || why == PATHPROF_STAT_SKIP_CEILING)
		return period >> STRETCH_MAX < wanted ? period * 2 : period;
	return max(wanted, period - max_t(u64, period >> 6, 1));
}

static void take(const struct perf_sample_data *data, const struct pt_regs *regs)
{
	const struct perf_branch_stack *stack = pp_sample_stack(data);
	u32 cnt, newest;

	if (!stack || !stack->nr) {
		pp_stats_inc(PATHPROF_STAT_LBR_NO_STACK);
		return;
	}
	cnt = min_t(u64, stack->nr, ENTRY_MAX);
	newest = find_newest(stack, cnt);
	pp_stats_inc(PATHPROF_STAT_WINDOWS);
	pp_stats_add(PATHPROF_STAT_LBR_ENTRIES, cnt);
	if (pp_session.start.mode & PATHPROF_MODE_RAW)
		write_window(stack, cnt, newest, data, regs);
	if (pp_session.start.mode & PATHPROF_MODE_CHAIN)
		pp_pipeline_stack(stack, cnt, newest);
}

/* With the chain this CPU's tables belong to the sample first, so that RAW shows what they got. */
static void take_alone(const struct perf_sample_data *data, const struct pt_regs *regs)
{
	bool chained = pp_session.start.mode & PATHPROF_MODE_CHAIN;

	if (chained && !pp_pipeline_begin())
		return;
	take(data, regs);
	if (chained)
		pp_pipeline_end();
}

static void sample(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	u64 begun_ns = local_clock(), now_ns;
	u32 why;

	pp_stats_inc(PATHPROF_STAT_SAMPLES);
	if (in_nmi())
		pp_stats_inc(PATHPROF_STAT_NMI);
	why = refuses(regs, begun_ns);
	if (why)
		pp_stats_inc(why);
	else
		take_alone(data, regs);
	now_ns = local_clock();
	pp_governor_charge(now_ns, now_ns - begun_ns);
	event->hw.sample_period = next_period(event->hw.sample_period, why);
}

/* ----------------------------------------------------------------- control */

static int check(const struct pathprof_kmod_start *start)
{
	if (start->window || start->horizon || (start->flags & PATHPROF_START_JITTER))
		return -EINVAL;
	if (start->branch_sample_type & ~(u64)KNOWN_BRANCH_BITS)
		return -EINVAL;
	return 0;
}

/*
 * Kernel events do not pass where system calls get their defaults, so what a sample is to hold is
 * said in full.
 */
static void fill_attr(const struct pathprof_kmod_start *start, struct perf_event_attr *attr)
{
	attr->type = start->pmu_type;
	attr->config = start->pmu_config;
	attr->config1 = start->pmu_config1;
	attr->config2 = start->pmu_config2;
	attr->sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr->branch_sample_type = start->branch_sample_type | PERF_SAMPLE_BRANCH_USER;
	if (!(start->branch_sample_type & ~(u64)PERF_SAMPLE_BRANCH_USER))
		attr->branch_sample_type |= PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE;
	attr->sample_max_stack = STACK_MAX;
}

const struct pp_source_ops pp_lbr_ops = {
	.id = PATHPROF_SOURCE_LBR,
	.check = check,
	.fill_attr = fill_attr,
	.sample = sample,
};
