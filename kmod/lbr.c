// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hardware branch stack, by way of perf: an event of user space's choice whose samples bring
 * what the processor last recorded. The stack lies in storage that the driver uses again, so it is
 * copied before the handler returns.
 *
 * Workload: up to some thousand samples a second and CPU of 16 to 64 entries, mostly in an NMI.
 * Locking: none; one handler a CPU at a time, which is all that it shares.
 */
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "governor.h"
#include "ring.h"
#include "session.h"
#include "source.h"
#include "stats.h"

#define ENTRY_MAX     128 /* of a stack; hardware has 8 to 64 */
#define STACK_MAX     127 /* newer kernels cut stacks to attr.sample_max_stack */
#define STRETCH_MAX   10  /* log2 of how much the budget may stretch the period */
#define ADDRESS_BITS  47  /* of user space, without the fifth level of page tables */
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

/* 0, or which PATHPROF_STAT_LBR_* says why it is dropped. */
static u32 refuses_entry(const struct perf_branch_entry *entry)
{
	if (!entry->from || !entry->to)
		return PATHPROF_STAT_LBR_ZERO;
	if (((entry->from | entry->to) >> ADDRESS_BITS) || pp_branch_is_wrong_path(entry))
		return PATHPROF_STAT_LBR_BOGUS;
	return 0;
}

/* Without a jump: each flag is multiplied by its bit. */
static void copy_entry(const struct perf_branch_entry *from, struct pathprof_lbr_entry *to)
{
	to->from = from->from | (u64)from->cycles << 48;
	to->to = from->to | (u64)from->type << 48 | from->mispred * PATHPROF_LBR_MISPREDICTED |
		 from->predicted * PATHPROF_LBR_PREDICTED | from->abort * PATHPROF_LBR_ABORTED |
		 from->in_tx * PATHPROF_LBR_TRANSACTIONAL;
}

/*
 * perf has the newest first, a window the oldest. Some processors record the newest twice; a branch
 * to itself that was taken twice looks the same, and loses one round at the window's edge.
 */
static u32 copy_stack(const struct perf_branch_stack *stack, u32 cnt,
		      struct pathprof_lbr_entry *ret_entries)
{
	u32 newest = 0, kept = 0, i, why;

	if (cnt > 1 && same_entry(&stack->entries[0], &stack->entries[1]) &&
	    stack->entries[0].from) {
		pp_stats_inc(PATHPROF_STAT_LBR_DUPLICATE);
		newest = 1;
	}
	for (i = cnt; i-- > newest;) {
		why = refuses_entry(&stack->entries[i]);
		if (why)
			pp_stats_inc(why);
		else
			copy_entry(&stack->entries[i], &ret_entries[kept++]);
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

static void write_window(const struct perf_branch_stack *stack, const struct perf_sample_data *data,
			 const struct pt_regs *regs)
{
	u32 cnt = min_t(u64, stack->nr, ENTRY_MAX);
	struct pathprof_lbr *head;

	head = pp_ring_reserve(PATHPROF_RECORD_LBR,
			       sizeof(*head) + cnt * sizeof(struct pathprof_lbr_entry));
	if (!head)
		return;
	fill_head(head, data, regs);
	head->branch_cnt = copy_stack(stack, cnt, (struct pathprof_lbr_entry *)(head + 1));
	head->dropped = cnt - head->branch_cnt;
	pp_ring_commit(sizeof(*head) + head->branch_cnt * sizeof(struct pathprof_lbr_entry));
}

/* 0, or which PATHPROF_STAT_SKIP_* says why this sample is left out. */
static u32 refuses(struct pt_regs *regs, u64 now_ns)
{
	if (!current->mm)
		return PATHPROF_STAT_SKIP_KERNEL;
	if (!pp_session_selects(regs->ip))
		return PATHPROF_STAT_SKIP_SELECTION;
	if (!user_64bit_mode(task_pt_regs(current)))
		return PATHPROF_STAT_SKIP_COMPAT;
	return pp_governor_refuses(now_ns);
}

/* A budget that is spent doubles the period; one that is kept brings it back bit by bit. */
static u64 next_period(u64 period, u32 why)
{
	u64 wanted = pp_session.start.period;

	if (why == PATHPROF_STAT_SKIP_BUDGET || why == PATHPROF_STAT_SKIP_CEILING)
		return period >> STRETCH_MAX < wanted ? period * 2 : period;
	return max(wanted, period - (period >> 6));
}

static void take(const struct perf_sample_data *data, const struct pt_regs *regs)
{
	const struct perf_branch_stack *stack = pp_sample_stack(data);

	if (!stack || !stack->nr) {
		pp_stats_inc(PATHPROF_STAT_LBR_NO_STACK);
		return;
	}
	pp_stats_inc(PATHPROF_STAT_WINDOWS);
	pp_stats_add(PATHPROF_STAT_LBR_ENTRIES, min_t(u64, stack->nr, ENTRY_MAX));
	write_window(stack, data, regs);
}

static void sample(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	u64 begun_ns = local_clock(), now_ns;
	u32 why;

	pp_stats_inc(PATHPROF_STAT_SAMPLES);
	if (in_nmi())
		pp_stats_inc(PATHPROF_STAT_NMI);
	if (!READ_ONCE(pp_session.live) || READ_ONCE(pp_session.stopping))
		return;
	why = refuses(regs, begun_ns);
	if (why)
		pp_stats_inc(why);
	else
		take(data, regs);
	now_ns = local_clock();
	pp_governor_charge(now_ns, now_ns - begun_ns);
	event->hw.sample_period = next_period(event->hw.sample_period, why);
}

/* ----------------------------------------------------------------- control */

static int check(const struct pathprof_kmod_start *start)
{
	if (start->mode != PATHPROF_MODE_RAW || start->window || start->flags)
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
