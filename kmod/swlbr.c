// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The software branch stack: a CPU clock interrupts user code, the trap flag is set on the thread
 * it interrupted, and the debug traps that follow are recorded until enough branches were taken.
 *
 * Workload: a few to a thousand bursts a second and CPU, 200 to 512 traps each; everything in the
 * trap's way counts, everything else does not.
 *
 * What must never happen is that somebody sees a trap flag that is ours. Two guards see to it:
 *   - Each trap decodes the instruction that comes *next*; the flag is cleared before one that
 *     could store it (pushf, syscall), hand it on (far transfers, iret), or hold the trap back
 *     (loads of ss). So no system call is ever entered with it, no child inherits it, no new image.
 *   - Signals, ptrace stops, core dumps, the freezer: all pass get_signal() on their way to the
 *     thread's registers. A probe there ends the burst first. Another in do_exit() is for threads
 *     that die without (a kernel fault).
 *
 * Slots: a few a CPU, since a thread may go to sleep in mid-burst; claimed there by the clock's
 * interrupt for the thread it interrupted. From then on the slot is that thread's alone, wherever
 * it runs, with interrupts off, until it gives it back. Nobody else touches it, so it has no lock.
 *
 * Life: each slot in use holds a reference on the module, so what a sleeping thread still has to
 * trap into cannot be unloaded. It may outlive its session, and then ends without a word.
 */
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/delay.h>
#include <linux/hw_breakpoint.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/task_stack.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>
#include <asm/debugreg.h>
#include <asm/ptrace.h>

#include "fetch.h"
#include "governor.h"
#include "pipeline.h"
#include "pp_decode.h"
#include "pp_random.h"
#include "session.h"
#include "source.h"
#include "stats.h"
#include "swlbr_calibrate.h"

#define SLOT_CNT      4   /* bursts under way that began on one CPU */
#define BRANCH_MAX    256 /* taken or not */
#define REP_MAX       64  /* iterations of a string instruction: each traps */
#define PERIOD_MAX_NS NSEC_PER_SEC
#define SETTLE_MS     200
#define GO_ON         PATHPROF_END_CNT /* no end */
#define START_TIME_NS (NSEC_PER_SEC / USER_HZ)

/* Builds that the tests hold against the real one, to show that each guard is needed. */
#ifdef PP_TEST_NO_SIGNAL_GUARD
#define SIGNAL_GUARD 0
#else
#define SIGNAL_GUARD 1
#endif
#ifdef PP_TEST_NO_LOOKAHEAD
#define LOOKAHEAD 0
#else
#define LOOKAHEAD 1
#endif

static_assert((int)PP_HAZARD_SYSCALL == PATHPROF_END_SYSCALL &&
		      (int)PP_HAZARD_FETCH == PATHPROF_END_FETCH,
	      "a hazard is an end");

struct slot {
	struct task_struct *task; /* whose it is; NULL: free */
	u32 session_id;
	u32 cpu;                /* where it began */
	bool repeats;           /* the next instruction may trap where it is */
	struct pp_insn insn;    /* the next one */
	u64 pc;                 /* where it lies */
	unsigned long switches; /* away from this thread, before it */
	unsigned long switches_at_start;
	u64 begun_ns; /* local_clock() */
	struct pathprof_burst burst;
	struct pathprof_branch branches[BRANCH_MAX]; /* right behind the burst */
};

static_assert(offsetof(struct slot, branches) ==
		      offsetof(struct slot, burst) + sizeof(struct pathprof_burst),
	      "a burst and its branches are one record");

static struct slot *slots;               /* SLOT_CNT for each of nr_cpu_ids */
static atomic_t active = ATOMIC_INIT(0); /* slots in use */
static DEFINE_PER_CPU(struct pp_random, jitter);

static struct slot *find_among(const struct task_struct *task, struct slot *first, u32 cnt)
{
	u32 i;

	for (i = 0; i < cnt; i++)
		if (READ_ONCE(first[i].task) == task)
			return &first[i];
	return NULL;
}

/* This CPU's first: threads rarely move within a burst. */
static struct slot *find_slot(const struct task_struct *task)
{
	struct slot *slot;

	slot = find_among(task, &slots[raw_smp_processor_id() * SLOT_CNT], SLOT_CNT);
	if (likely(slot) || !atomic_read(&active))
		return slot;
	return find_among(task, slots, nr_cpu_ids * SLOT_CNT);
}

/* A free slot of this CPU for the current thread, else NULL. */
static struct slot *claim_slot(void)
{
	struct slot *slot = &slots[smp_processor_id() * SLOT_CNT];
	u32 i;

	for (i = 0; i < SLOT_CNT; i++, slot++)
		if (!cmpxchg(&slot->task, NULL, current))
			return slot;
	return NULL;
}

static unsigned long switches_of_current(void)
{
	return current->nvcsw + current->nivcsw;
}

/* ------------------------------------------------------------ end of a burst */

static void free_slot(struct slot *slot)
{
	/* Pairs with the claim's cmpxchg(): all is done with the slot when another takes it. */
	smp_store_release(&slot->task, NULL);
	atomic_dec(&active);
	module_put(THIS_MODULE);
}

static void charge(const struct slot *slot, u64 now_ns)
{
	bool ran_through = switches_of_current() == slot->switches_at_start;
	u64 held_ns = slot->burst.stopped_ns;

	pp_governor_charge(now_ns,
			   pp_governor_burst_cost(held_ns, slot->burst.step_cnt, ran_through));
}

static void count(const struct pathprof_burst *burst)
{
	pp_stats_add(PATHPROF_STAT_BRANCHES, burst->branch_cnt);
	pp_stats_add(PATHPROF_STAT_TAKEN, burst->taken_cnt);
	pp_stats_inc(PATHPROF_STAT_END + burst->end);
}

/* The current thread owns the slot; interrupts off. What has no branch says nothing. */
static void end_burst(struct slot *slot, struct pt_regs *regs, u32 end)
{
	struct pathprof_burst *burst = &slot->burst;
	u64 now_ns = local_clock();

	regs->flags &= ~X86_EFLAGS_TF;
	burst->end = end;
	/* Clocks of two CPUs may differ by a little. */
	burst->stopped_ns = now_ns > slot->begun_ns ? now_ns - slot->begun_ns : 0;
	burst->size_bytes = sizeof(*burst) + burst->branch_cnt * sizeof(slot->branches[0]);
	pp_stats_add(PATHPROF_STAT_TRAPS, burst->step_cnt);
	if (pp_session_takes(slot->session_id)) {
		charge(slot, now_ns);
		count(burst);
		if (burst->branch_cnt)
			pp_pipeline_burst(burst, slot->branches);
	} else {
		pp_stats_inc(PATHPROF_STAT_LATE);
	}
	free_slot(slot);
}

/* ------------------------------------------------------------------ stepping */

/* Reads the next instruction. GO_ON: it may be stepped over. */
static u32 look_ahead(struct slot *slot, const struct pt_regs *regs)
{
	u8 code[PP_FETCH_BYTES];
	u32 len = pp_fetch(regs->ip, code);

	slot->pc = regs->ip;
	slot->repeats = false;
	slot->switches = switches_of_current();
	if (!len)
		return PATHPROF_END_FETCH;
	pp_decode(code, len, regs->ip, &slot->insn);
	switch (slot->insn.hazard) {
	case PP_HAZARD_NONE:
		return GO_ON;
	case PP_HAZARD_REP:
		slot->repeats = regs->cx <= REP_MAX;
		return slot->repeats ? GO_ON : PATHPROF_END_REP;
	case PP_HAZARD_SYSCALL:
	case PP_HAZARD_FLAGS:
		return LOOKAHEAD ? slot->insn.hazard : GO_ON;
	default:
		return slot->insn.hazard;
	}
}

/*
 * Control may have come to ip by the instruction that was looked at. Where that says nothing (an
 * indirect branch) a thread that was switched away in between may have been sent elsewhere, by an
 * abort of its restartable sequence.
 */
static bool is_successor(const struct slot *slot, u64 ip)
{
	const struct pp_insn *insn = &slot->insn;

	switch (insn->kind) {
	case PP_KIND_NONE:
		return ip - slot->pc - !slot->repeats <= PP_INSN_MAX - !slot->repeats;
	case PP_KIND_COND:
		return ip == insn->target || ip == slot->pc + insn->len;
	case PP_KIND_JMP:
	case PP_KIND_CALL:
		return ip == insn->target;
	default:
		return slot->switches == switches_of_current();
	}
}

static void record(struct slot *slot, u64 next)
{
	struct pathprof_burst *burst = &slot->burst;
	struct pathprof_branch *branch = &slot->branches[burst->branch_cnt++];
	const struct pp_insn *insn = &slot->insn;

	branch->from = slot->pc;
	/* No direct branch leads to address 0: what is read there cannot be fetched. */
	branch->target = insn->target ? insn->target : next;
	branch->next = next;
	branch->kind = insn->kind;
	branch->taken = insn->kind != PP_KIND_COND || next == insn->target;
	burst->taken_cnt += branch->taken;
}

/* What the trap at ip tells of the instruction before it. GO_ON, or why the burst ends. */
static u32 account(struct slot *slot, u64 ip)
{
	struct pathprof_burst *burst = &slot->burst;

	burst->step_cnt++;
	if (unlikely(!is_successor(slot, ip)))
		return PATHPROF_END_DISCONT;
	if (slot->insn.kind != PP_KIND_NONE)
		record(slot, ip);
	if (burst->taken_cnt >= pp_session.start.window || burst->branch_cnt == BRANCH_MAX)
		return PATHPROF_END_FULL;
	if (unlikely(burst->step_cnt == PP_STEP_MAX))
		return PATHPROF_END_STEPS;
	return GO_ON;
}

static void step(struct slot *slot, struct pt_regs *regs)
{
	u32 end;

	if (unlikely(!user_64bit_mode(regs) || !pp_session_takes(slot->session_id)))
		end = PATHPROF_END_DISCONT;
	else if (unlikely(READ_ONCE(pp_session.stopping)))
		end = PATHPROF_END_TIME;
	else
		end = account(slot, regs->ip);
	if (end == GO_ON)
		end = look_ahead(slot, regs);
	if (end != GO_ON)
		end_burst(slot, regs, end);
}

/* A trap of ours: nobody else is to hear of it. */
static int trap(struct slot *slot, unsigned long *dr6, struct pt_regs *regs)
{
	if (slot->cpu != raw_smp_processor_id())
		pp_stats_inc(PATHPROF_STAT_TRAPS_MIGRATED);
	*dr6 &= ~DR_STEP;
	current->thread.virtual_dr6 &= ~DR_STEP;
	step(slot, regs);
	/* A watchpoint that struck at the same time is another's business. */
	return *dr6 ? NOTIFY_DONE : NOTIFY_STOP;
}

/* A debug exception: interrupts off, within rcu_read_lock() of the notifier chain. */
static int on_debug(struct notifier_block *block, unsigned long event, void *data)
{
	struct die_args *args = data;
	unsigned long *dr6;
	struct slot *slot;

	if (event != DIE_DEBUG)
		return NOTIFY_DONE;
	dr6 = (unsigned long *)args->err;
	if (!(*dr6 & DR_STEP))
		return NOTIFY_DONE;
	if (!user_mode(args->regs)) {
		if (!pp_swlbr_calibrating())
			return NOTIFY_DONE;
		*dr6 &= ~DR_STEP;
		return *dr6 ? NOTIFY_DONE : NOTIFY_STOP;
	}
	slot = find_slot(current);
	return slot ? trap(slot, dr6, args->regs) : NOTIFY_DONE;
}

static struct notifier_block debug_notifier = {
	.notifier_call = on_debug, .priority = 0x1000, /* before kprobes and kgdb */
};

/* -------------------------------------------------------------------- guards */

static void end_of_current(u32 end)
{
	unsigned long flags;
	struct slot *slot;

	if (!atomic_read(&active))
		return;
	local_irq_save(flags);
	slot = find_slot(current);
	if (slot)
		end_burst(slot, task_pt_regs(current), end);
	local_irq_restore(flags);
}

static int on_get_signal(struct kprobe *probe, struct pt_regs *regs)
{
	if (SIGNAL_GUARD)
		end_of_current(PATHPROF_END_SIGNAL);
	return 0;
}

static int on_do_exit(struct kprobe *probe, struct pt_regs *regs)
{
	if (SIGNAL_GUARD)
		end_of_current(PATHPROF_END_EXIT);
	return 0;
}

static struct kprobe signal_guard = {.symbol_name = "get_signal", .pre_handler = on_get_signal};
static struct kprobe exit_guard = {.symbol_name = "do_exit", .pre_handler = on_do_exit};

/* ------------------------------------------------------------------- sampling */

/* 0, or which PATHPROF_STAT_SKIP_* says why this thread is left alone. */
static u32 refuses(struct pt_regs *regs, u64 now_ns)
{
	if (!user_mode(regs) || regs != task_pt_regs(current) || !current->mm)
		return PATHPROF_STAT_SKIP_KERNEL;
	if (!pp_session_selects(regs->ip))
		return PATHPROF_STAT_SKIP_SELECTION;
	if (!user_64bit_mode(regs))
		return PATHPROF_STAT_SKIP_COMPAT;
	if (find_slot(current))
		return PATHPROF_STAT_SKIP_BUSY;
	/* A watchpoint and the trap flag together are more than some emulators can do. */
	if ((regs->flags & X86_EFLAGS_TF) || current->ptrace || test_thread_flag(TIF_SINGLESTEP) ||
	    hw_breakpoint_active())
		return PATHPROF_STAT_SKIP_TRACED;
	return pp_governor_refuses(now_ns);
}

static void begin_record(struct slot *slot, const struct pt_regs *regs, u64 now_ns)
{
	struct pathprof_burst *burst = &slot->burst;

	memset(burst, 0, sizeof(*burst));
	burst->version = PATHPROF_ABI_VERSION;
	burst->source = PATHPROF_SOURCE_SWLBR;
	burst->pid = current->tgid;
	burst->tid = current->pid;
	burst->time_ns = ktime_get_mono_fast_ns();
	burst->start = regs->ip;
	burst->start_time = div_u64(current->group_leader->start_boottime, START_TIME_NS);
	slot->begun_ns = now_ns;
	slot->switches_at_start = switches_of_current();
	slot->session_id = pp_session.id;
	slot->cpu = smp_processor_id();
}

/* Hard interrupt out of the thread's user code. */
static void begin_burst(struct pt_regs *regs, u64 now_ns)
{
	struct slot *slot = claim_slot();
	u32 end;

	if (!slot) {
		pp_stats_inc(PATHPROF_STAT_SKIP_BUSY);
		return;
	}
	/* The open device holds the module, so this cannot fail. */
	__module_get(THIS_MODULE);
	atomic_inc(&active);
	pp_stats_inc(PATHPROF_STAT_BURSTS);
	begin_record(slot, regs, now_ns);
	end = look_ahead(slot, regs);
	if (end == GO_ON)
		regs->flags |= X86_EFLAGS_TF;
	else
		end_burst(slot, regs, end);
}

/* When the clock strikes next: as asked, but not before the budget allows a burst. */
static u64 next_period_ns(u64 now_ns)
{
	u64 period_ns = pp_session.start.period;

	if (pp_session.start.flags & PATHPROF_START_JITTER)
		period_ns = period_ns / 2 +
			    mul_u64_u64_shr(pp_random_next(this_cpu_ptr(&jitter)), period_ns, 64);
	return max(period_ns, min_t(u64, pp_governor_wait_ns(now_ns), PERIOD_MAX_NS));
}

static void sample(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	u64 begun_ns = local_clock(), now_ns;
	u32 why;

	pp_stats_inc(PATHPROF_STAT_SAMPLES);
	if (!READ_ONCE(pp_session.live) || READ_ONCE(pp_session.stopping))
		return;
	why = refuses(regs, begun_ns);
	if (why)
		pp_stats_inc(why);
	else
		begin_burst(regs, begun_ns);
	now_ns = local_clock();
	pp_governor_charge(now_ns, now_ns - begun_ns);
	event->hw.sample_period = next_period_ns(now_ns);
}

/* -------------------------------------------------------------------- control */

static int check(const struct pathprof_kmod_start *start)
{
	if (start->window < 1 || start->window > PATHPROF_WINDOW_MAX)
		return -EINVAL;
	if (start->period < PATHPROF_PERIOD_MIN_NS || start->period > 3600 * NSEC_PER_SEC)
		return -EINVAL;
	if (start->pmu_type || start->pmu_config || start->pmu_config1 || start->pmu_config2 ||
	    start->branch_sample_type)
		return -EINVAL;
	return 0;
}

static void fill_attr(const struct pathprof_kmod_start *start, struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
}

/*
 * Bursts see `stopping` at their next trap. One whose thread sleeps (on a page, say) is not waited
 * for long: it is harmless, and the module stays until it is over.
 */
static void settle(void)
{
	int ms;

	for (ms = 0; ms < SETTLE_MS && atomic_read(&active); ms++)
		usleep_range(500, 1000);
}

static void seed_jitter(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		pp_random_init(per_cpu_ptr(&jitter, cpu), get_random_u64());
}

int pp_swlbr_init(void)
{
	int err;

	seed_jitter();
	slots = vzalloc(array3_size(nr_cpu_ids, SLOT_CNT, sizeof(*slots)));
	if (!slots)
		return -ENOMEM;
	err = register_die_notifier(&debug_notifier);
	if (err)
		goto out_slots;
	err = register_kprobe(&signal_guard);
	if (err)
		goto out_notifier;
	err = register_kprobe(&exit_guard);
	if (err)
		goto out_signal;
	pp_swlbr_calibrate();
	return 0;

out_signal:
	unregister_kprobe(&signal_guard);
out_notifier:
	unregister_die_notifier(&debug_notifier);
out_slots:
	vfree(slots);
	return err;
}

/* No slot is in use, or the module would be; unregistering waits for handlers that run. */
void pp_swlbr_exit(void)
{
	unregister_kprobe(&exit_guard);
	unregister_kprobe(&signal_guard);
	unregister_die_notifier(&debug_notifier);
	vfree(slots);
}

const struct pp_source_ops pp_swlbr_ops = {
	.id = PATHPROF_SOURCE_SWLBR,
	.check = check,
	.fill_attr = fill_attr,
	.sample = sample,
	.settle = settle,
};
