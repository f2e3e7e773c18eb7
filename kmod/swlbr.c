// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The software branch stack: a CPU clock interrupts user code, the trap flag is set on the thread
 * it interrupted, and the debug traps that follow are recorded until enough branches were taken.
 *
 * Workload: a few to a thousand bursts a second and CPU, 200 to 1,024 traps each; everything in the
 * trap's way counts, everything else does not.
 *
 * A burst ends after a number of taken branches, or after a number of instructions, its horizon.
 * The clock that samples it strikes in all code alike, so only bursts with a horizon cover equal
 * stretches of it.
 *
 * No program may ever see a trap flag that is ours. Three guards keep it hidden:
 *   - Each trap decodes the instruction that comes *next*; the flag is cleared before one that
 *     could store it (pushf, syscall), hand it on (far transfers, iret), or hold the trap back
 *     (loads of ss). So no system call is ever entered with it, no child inherits it, no new image.
 *   - A breakpoint (int3) that was put there after that look ends the burst before anybody else
 *     hears of it. Uprobes, for one, take the flag for a debugger's and send a SIGTRAP.
 *   - Two tracepoints (guards.c) end the burst before a signal reaches its thread, and before its
 *     CPU goes on to another thread. ptrace, core dumps and the freezer look at a thread only when
 *     its CPU has left it.
 *
 * Slots: one a CPU, claimed there by the clock's interrupt for the thread it interrupted. A burst
 * ends on the CPU it began on, before any other thread runs there. So a slot is only ever used by
 * its own CPU with interrupts off, and has no lock.
 *
 * Life: when the session stops, an interrupt on each CPU ends the burst there. No burst outlives
 * its session, so none holds the module.
 */
#include <linux/kdebug.h>
#include <linux/hw_breakpoint.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/task_stack.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>
#include <asm/debugreg.h>
#include <asm/ptrace.h>

#include "fetch.h"
#include "governor.h"
#include "guards.h"
#include "pipeline.h"
#include "pp_decode.h"
#include "pp_random.h"
#include "session.h"
#include "source.h"
#include "stats.h"
#include "swlbr_calibrate.h"

#define BRANCH_MAX    512 /* taken or not; a record of them fits into half of the smallest ring */
#define REP_MAX       64  /* iterations of a string instruction: each traps */
#define PERIOD_MAX_NS NSEC_PER_SEC
#define GO_ON         PATHPROF_END_CNT /* no end */
#define START_TIME_NS (NSEC_PER_SEC / USER_HZ)

/* Builds that the tests compare with the real one, to show that each guard, or count, is needed. */
#ifdef PP_TEST_NO_BREAKPOINT_GUARD
#define PRIORITY 0
#else
#define PRIORITY INT_MAX /* before uprobes */
#endif
#ifdef PP_TEST_NO_LOOKAHEAD
#define LOOKAHEAD 0
#else
#define LOOKAHEAD 1
#endif
#ifdef PP_TEST_COUNT_ROUNDS
#define COUNT_ROUNDS 1
#else
#define COUNT_ROUNDS 0
#endif

static_assert((int)PP_HAZARD_SYSCALL == PATHPROF_END_SYSCALL &&
		      (int)PP_HAZARD_FETCH == PATHPROF_END_FETCH,
	      "a hazard is an end");

struct slot {
	bool repeats;        /* the next instruction may trap where it is */
	struct pp_insn insn; /* the next one */
	u64 pc;              /* where it lies */
	u64 begun_ns;        /* local_clock() */
	u32 taken_full;      /* taken branches that end the burst */
	u32 insn_full;       /* instructions that do */
	u32 step_max;        /* traps that cut it short */
	u32 told_cnt;        /* instructions up to the last branch */
	struct pathprof_burst burst;
	struct pathprof_branch branches[BRANCH_MAX]; /* right behind the burst */
};

static_assert(offsetof(struct slot, branches) ==
		      offsetof(struct slot, burst) + sizeof(struct pathprof_burst),
	      "a burst and its branches are one record");

static struct slot *slots; /* by CPU, nr_cpu_ids of them */
/* The thread whose burst is under way on this CPU, or NULL. It is the slot's key and only lock. */
static DEFINE_PER_CPU(struct task_struct *, stepped);
static DEFINE_PER_CPU(struct pp_random, jitter);

/* Preemption may be on: a thread in a burst does not leave this CPU, and no other becomes one. */
static bool is_stepped(void)
{
	return this_cpu_read(stepped) == current;
}

/* Interrupts off; the current thread is stepped. */
static struct slot *own_slot(void)
{
	return &slots[smp_processor_id()];
}

/* ------------------------------------------------------------ end of a burst */

static void count(const struct pathprof_burst *burst)
{
	pp_stats_add(PATHPROF_STAT_TRAPS, burst->step_cnt);
	pp_stats_add(PATHPROF_STAT_BRANCHES, burst->branch_cnt);
	pp_stats_add(PATHPROF_STAT_TAKEN, burst->taken_cnt);
	pp_stats_inc(PATHPROF_STAT_END + burst->end);
}

/* A window without a horizon and without a branch says nothing. */
static bool is_told(const struct pathprof_burst *burst)
{
	return burst->branch_cnt || burst->horizon;
}

/* The current thread's slot; interrupts off. */
static void end_burst(struct slot *slot, struct pt_regs *regs, u32 end)
{
	struct pathprof_burst *burst = &slot->burst;
	u64 now_ns = local_clock();

	regs->flags &= ~X86_EFLAGS_TF;
	burst->end = end;
	burst->stopped_ns = now_ns - slot->begun_ns;
	burst->size_bytes = sizeof(*burst) + burst->branch_cnt * sizeof(slot->branches[0]);
	pp_governor_charge(now_ns, burst->stopped_ns);
	count(burst);
	if (is_told(burst))
		pp_pipeline_burst(burst, slot->branches);
	this_cpu_write(stepped, NULL);
}

/* ------------------------------------------------------------------ stepping */

/* Reads the next instruction. GO_ON: it may be stepped over. */
static u32 look_ahead(struct slot *slot, const struct pt_regs *regs)
{
	u8 code[PP_FETCH_BYTES];
	u32 len = pp_fetch(regs->ip, code);

	slot->pc = regs->ip;
	slot->repeats = false;
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
 * Control may have come to ip by the instruction that was looked at. What else changes ip in
 * between (a signal, an abort of a restartable sequence) has ended the burst before.
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
		return true;
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
	branch->insns = burst->insn_cnt - slot->told_cnt;
	slot->told_cnt = burst->insn_cnt;
	burst->taken_cnt += branch->taken;
}

/* Counts the instruction; a string instruction that goes on traps where it lies and is not over. */
static void count_insn(struct slot *slot, u64 ip)
{
	if (COUNT_ROUNDS || likely(ip != slot->pc || !slot->repeats))
		slot->burst.insn_cnt++;
}

/* Accounts for the instruction before the trap at ip. GO_ON, or why the burst ends. */
static u32 account(struct slot *slot, u64 ip)
{
	struct pathprof_burst *burst = &slot->burst;

	burst->step_cnt++;
	if (unlikely(!is_successor(slot, ip)))
		return PATHPROF_END_DISCONT;
	count_insn(slot, ip);
	if (slot->insn.kind != PP_KIND_NONE)
		record(slot, ip);
	if (burst->taken_cnt >= slot->taken_full || burst->insn_cnt >= slot->insn_full)
		return PATHPROF_END_FULL;
	if (unlikely(burst->step_cnt == slot->step_max || burst->branch_cnt == BRANCH_MAX))
		return PATHPROF_END_STEPS;
	return GO_ON;
}

/* A thread runs in real time while it holds a lock that a thread of such a policy waits for. */
static void step(struct slot *slot, struct pt_regs *regs)
{
	u32 end;

	if (unlikely(!user_64bit_mode(regs)))
		end = PATHPROF_END_DISCONT;
	else if (unlikely(pp_session_spares_thread()))
		end = PATHPROF_END_TIME;
	else
		end = account(slot, regs->ip);
	if (end == GO_ON)
		end = look_ahead(slot, regs);
	if (end != GO_ON)
		end_burst(slot, regs, end);
}

/* A trap of ours must not be seen by other handlers. */
static int trap(struct slot *slot, unsigned long *dr6, struct pt_regs *regs)
{
	*dr6 &= ~DR_STEP;
	current->thread.virtual_dr6 &= ~DR_STEP;
	step(slot, regs);
	/* A watchpoint that struck at the same time belongs to another handler. */
	return *dr6 ? NOTIFY_DONE : NOTIFY_STOP;
}

static int on_debug(struct die_args *args)
{
	unsigned long *dr6 = (unsigned long *)args->err;

	/*
	 * A hypervisor may lose the register now and then: an empty one is a step's as well. int1,
	 * which leaves it empty too, ends a burst before it is executed.
	 */
	if (*dr6 && !(*dr6 & DR_STEP))
		return NOTIFY_DONE;
	if (user_mode(args->regs))
		return is_stepped() ? trap(own_slot(), dr6, args->regs) : NOTIFY_DONE;
	if (!(*dr6 & DR_STEP) || !pp_swlbr_calibrating())
		return NOTIFY_DONE;
	*dr6 &= ~DR_STEP;
	return *dr6 ? NOTIFY_DONE : NOTIFY_STOP;
}

/* A breakpoint ends the burst, and is passed on to other handlers. */
static int on_breakpoint(struct die_args *args)
{
	if (user_mode(args->regs))
		pp_swlbr_leave(PATHPROF_END_TRAP);
	return NOTIFY_DONE;
}

/* An exception: interrupts off, within rcu_read_lock() of the notifier chain. */
static int on_exception(struct notifier_block *block, unsigned long event, void *data)
{
	switch (event) {
	case DIE_DEBUG:
		return on_debug(data);
	case DIE_INT3:
		return on_breakpoint(data);
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block exceptions = {
	.notifier_call = on_exception,
	.priority = PRIORITY,
};

void pp_swlbr_leave(u32 end)
{
	unsigned long flags;

	if (likely(!is_stepped()))
		return;
	local_irq_save(flags);
	end_burst(own_slot(), task_pt_regs(current), end);
	local_irq_restore(flags);
}

/* ------------------------------------------------------------------- sampling */

/* 0, or which PATHPROF_STAT_SKIP_* says why this thread is left alone. */
static u32 refuses(struct pt_regs *regs, u64 now_ns)
{
	u32 spares;

	if (!user_mode(regs) || regs != task_pt_regs(current) || !current->mm)
		return PATHPROF_STAT_SKIP_KERNEL;
	if (!pp_session_selects(regs->ip))
		return PATHPROF_STAT_SKIP_SELECTION;
	if (pp_session_spares_init())
		return PATHPROF_STAT_SKIP_INIT;
	if (!user_64bit_mode(regs))
		return PATHPROF_STAT_SKIP_COMPAT;
	if (is_stepped())
		return PATHPROF_STAT_SKIP_BUSY;
	/* A watchpoint and the trap flag together are more than some emulators can do. */
	if ((regs->flags & X86_EFLAGS_TF) || current->ptrace || test_thread_flag(TIF_SINGLESTEP) ||
	    hw_breakpoint_active())
		return PATHPROF_STAT_SKIP_TRACED;
	spares = pp_session_spares();
	return spares ? spares : pp_governor_refuses(now_ns);
}

static void begin_limits(struct slot *slot)
{
	u32 horizon = pp_session.start.horizon;

	slot->taken_full = horizon ? U32_MAX : pp_session.start.window;
	slot->insn_full = horizon ? horizon : U32_MAX;
	slot->step_max = PP_STEP_MAX + horizon;
	slot->told_cnt = 0;
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
	burst->horizon = pp_session.start.horizon;
	slot->begun_ns = now_ns;
}

/* Hard interrupt out of the thread's user code. */
static void begin_burst(struct pt_regs *regs, u64 now_ns)
{
	struct slot *slot = own_slot();
	u32 end;

	this_cpu_write(stepped, current);
	pp_stats_inc(PATHPROF_STAT_BURSTS);
	begin_record(slot, regs, now_ns);
	begin_limits(slot);
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

/* A burst is charged when it ends, from the sample that began it on. */
static void sample(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	u64 begun_ns = local_clock(), now_ns;
	u32 why;

	pp_stats_inc(PATHPROF_STAT_SAMPLES);
	why = refuses(regs, begun_ns);
	if (why)
		pp_stats_inc(why);
	else
		begin_burst(regs, begun_ns);
	now_ns = local_clock();
	if (why)
		pp_governor_charge(now_ns, now_ns - begun_ns);
	event->hw.sample_period = next_period_ns(now_ns);
}

/* -------------------------------------------------------------------- control */

/* Either taken branches, or instructions, which the chain's records cannot weigh. */
static bool has_end(const struct pathprof_kmod_start *start)
{
	if (!start->horizon)
		return start->window >= 1 && start->window <= PATHPROF_WINDOW_MAX;
	return !start->window && start->horizon <= PATHPROF_HORIZON_MAX &&
	       !(start->mode & PATHPROF_MODE_CHAIN);
}

static int check(const struct pathprof_kmod_start *start)
{
	if (!has_end(start))
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

static bool has_burst(int cpu, void *unused)
{
	return READ_ONCE(per_cpu(stepped, cpu));
}

/* Hard interrupt. */
static void end_here(void *unused)
{
	pp_swlbr_leave(PATHPROF_END_TIME);
}

static void settle(void)
{
	on_each_cpu_cond(has_burst, end_here, NULL, 1);
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
	slots = vzalloc(array_size(nr_cpu_ids, sizeof(*slots)));
	if (!slots)
		return -ENOMEM;
	err = register_die_notifier(&exceptions);
	if (err)
		goto out_slots;
	err = pp_guards_init();
	if (err)
		goto out_notifier;
	pp_swlbr_calibrate();
	return 0;

out_notifier:
	unregister_die_notifier(&exceptions);
out_slots:
	vfree(slots);
	return err;
}

/* No session, so no burst is under way; unregistering waits for handlers that run. */
void pp_swlbr_exit(void)
{
	pp_guards_exit();
	unregister_die_notifier(&exceptions);
	vfree(slots);
}

const struct pp_source_ops pp_swlbr_ops = {
	.id = PATHPROF_SOURCE_SWLBR,
	.check = check,
	.fill_attr = fill_attr,
	.sample = sample,
	.settle = settle,
};
