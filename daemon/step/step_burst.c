/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The burst: a held thread runs on from decision to decision until its window has reached its
 * horizon. Some hundred microseconds to a few milliseconds, a stop 20 to 30 us: the most expensive
 * loop of the program, so nothing in it allocates or reads /proc, but in front of a few system
 * calls (step_call.h).
 *
 * At each stop the way to the next decisions is planned from the code (step_plan.c), breakpoints
 * are set at its leaves (step_break.c), and the place of the next stop tells which way the thread
 * went. Where the code does not tell where an instruction leads, a burst by perf's breakpoints
 * ends; by the thread's debug registers, or with all of these in use, the instruction is stepped
 * by the trap flag. Before that it is looked at: an instruction that could carry the flag to where
 * the program sees it is never stepped; the burst ends in front of it. Through system calls the
 * thread runs by a breakpoint behind them (step_call.c). Nothing is recorded before the thread was
 * seen at the place that proves it.
 *
 * Locking: none, one thread. Ownership: the caller's record, target and limits.
 * Source: Intel SDM vol. 3, 17.2 (debug registers), 17.3.1.4 (single-step exceptions); ptrace(2).
 */
#include "step_engine.h"

#include <linux/perf_event.h>
#include <linux/rseq.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>

#include "../../libprofile/core/pp_decode.h"
#include "step_call.h"
#include "step_code.h"
#include "step_memory.h"
#include "step_plan.h"

#define INSN_MAX_BYTES 15
/* Iterations of a string instruction that are still worth a step each. */
#define REP_MAX 64
/* The part of the limit that every thread is held for, if need be: by default some twenty stops,
 * and a window of less shows hardly a path. */
#define HOLD_LEAST_PART 5
/* A thread that no breakpoint stops is interrupted, and given so long to stop. */
#define INTERRUPT_WAIT_NS (3 * PP_NSEC_PER_MSEC)

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
struct __ptrace_rseq_configuration {
	uint64_t rseq_abi_pointer;
	uint32_t rseq_abi_size;
	uint32_t signature;
	uint32_t flags;
	uint32_t pad;
};
#endif

_Static_assert((int)PP_KIND_COND == (int)PERF_BR_COND && (int)PP_KIND_JMP == (int)PERF_BR_UNCOND &&
		       (int)PP_KIND_IJMP == (int)PERF_BR_IND &&
		       (int)PP_KIND_CALL == (int)PERF_BR_CALL &&
		       (int)PP_KIND_ICALL == (int)PERF_BR_IND_CALL &&
		       (int)PP_KIND_RET == (int)PERF_BR_RET,
	       "core and perf number kinds alike");
_Static_assert((int)PP_HAZARD_SYSCALL == PATHPROF_END_SYSCALL &&
		       (int)PP_HAZARD_FETCH == PATHPROF_END_FETCH,
	       "a hazard is an end");

struct stepper {
	struct pp_step_holder *holder;
	struct pp_step_target *target;
	const struct pp_step_limits *limits;
	struct pp_step_record *record;
	struct pp_step_code *code;
	struct pp_step_plan *plan;
	uint64_t deadline_ns;
	uint64_t sequence; /* address of rseq_cs in the thread's area; 0: none */
	uint32_t pending;  /* instructions behind the last branch recorded */
	enum pp_step_stop stop;
	int signal;
};

/* ---- the record */

static bool is_full(const struct stepper *stepper)
{
	const struct pathprof_burst *burst = &stepper->record->burst;

	if (burst->horizon)
		return burst->insn_cnt >= burst->horizon;
	return burst->taken_cnt >= stepper->limits->taken_wanted;
}

/* Instructions that ran; those beyond the horizon are left out. */
static void add_insns(struct stepper *stepper, uint32_t cnt)
{
	struct pathprof_burst *burst = &stepper->record->burst;

	if (burst->horizon && cnt > burst->horizon - burst->insn_cnt)
		cnt = burst->horizon - burst->insn_cnt;
	burst->insn_cnt += cnt;
	stepper->pending += cnt;
}

static void add_branch(struct stepper *stepper, const struct pathprof_branch *branch)
{
	struct pathprof_burst *burst = &stepper->record->burst;
	struct pathprof_branch *to = &stepper->record->branches[burst->branch_cnt++];

	*to = *branch;
	to->insns = stepper->pending;
	stepper->pending = 0;
	burst->taken_cnt += branch->taken;
	pp_step_plan_learn(branch);
}

static bool has_room(const struct stepper *stepper)
{
	return stepper->record->burst.branch_cnt < PATHPROF_BURST_MAX;
}

/* Why the window ends after what was recorded so far; PATHPROF_END_CNT: it goes on. */
static uint32_t end_of_record(const struct stepper *stepper)
{
	const struct pathprof_burst *burst = &stepper->record->burst;

	if (is_full(stepper))
		return PATHPROF_END_FULL;
	if (burst->step_cnt >= stepper->limits->step_max || !has_room(stepper))
		return PATHPROF_END_STEPS;
	if (pp_monotonic_ns() >= stepper->deadline_ns)
		return PATHPROF_END_TIME;
	return PATHPROF_END_CNT;
}

/* Records a way that the thread has gone to its end. */
static uint32_t add_way(struct stepper *stepper, const struct pp_step_way *way)
{
	for (uint32_t i = 0; i < way->branch_cnt && !is_full(stepper) && has_room(stepper); i++) {
		const struct pathprof_burst *burst = &stepper->record->burst;
		uint32_t insns = way->branches[i].insns;
		bool within = !burst->horizon || insns <= burst->horizon - burst->insn_cnt;

		add_insns(stepper, insns);
		if (within)
			add_branch(stepper, &way->branches[i]);
	}
	if (!is_full(stepper) && has_room(stepper))
		add_insns(stepper, way->tail_cnt);
	return end_of_record(stepper);
}

/* ---- waiting */

static uint32_t end_of_stop(enum pp_step_stop stop)
{
	switch (stop) {
	case PP_STEP_STOP_STEP:
		return PATHPROF_END_CNT;
	case PP_STEP_STOP_GONE:
	case PP_STEP_STOP_MOVED:
	case PP_STEP_STOP_DYING:
		return PATHPROF_END_EXIT;
	case PP_STEP_STOP_LATE:
		return PATHPROF_END_TIME;
	default:
		return PATHPROF_END_SIGNAL;
	}
}

/* Lets the thread go on by `request`, with a signal that it stopped for or 0. */
static void go_with(struct stepper *stepper, long request, int signal, uint64_t deadline_ns)
{
	struct pp_step_target *target = stepper->target;

	if (!target->stepped)
		pp_step_publish_harms(&stepper->holder->pin, true);
	target->stepped = true;
	target->single = request == PTRACE_SINGLESTEP;
	stepper->record->burst.step_cnt++;
	stepper->stop = PP_STEP_STOP_DYING;
	if (!ptrace(request, target->tid, NULL, (long)signal))
		stepper->stop = pp_step_wait(target, deadline_ns, &stepper->signal);
}

/*
 * Whether the thread stopped in front of a signal that would not have stopped it without us, such
 * as SIGCHLD for a program that does not catch it. In a system call such a signal has broken the
 * call off, and the window ends there.
 */
static bool is_at_no_effect(const struct stepper *stepper)
{
	struct user_regs_struct regs;

	return stepper->stop == PP_STEP_STOP_SIGNAL &&
	       stepper->target->no_effect & PP_STEP_SIGNAL_BIT(stepper->signal) &&
	       !ptrace(PTRACE_GETREGS, stepper->target->tid, NULL, &regs) &&
	       (long)regs.orig_rax < 0;
}

/* Lets the thread go on by `request` and waits for its next stop until deadline_ns. */
static void go(struct stepper *stepper, long request, uint64_t deadline_ns)
{
	go_with(stepper, request, 0, deadline_ns);
	while (is_at_no_effect(stepper) && pp_monotonic_ns() < deadline_ns)
		go_with(stepper, request, stepper->signal, deadline_ns);
}

static void interrupt(struct stepper *stepper)
{
	ptrace(PTRACE_INTERRUPT, stepper->target->tid, NULL, NULL);
	stepper->stop = pp_step_wait(stepper->target, pp_monotonic_ns() + INTERRUPT_WAIT_NS,
				     &stepper->signal);
}

/* The registers at a stop of ours. PATHPROF_END_CNT: they were read. */
static uint32_t read_registers(struct stepper *stepper)
{
	struct pp_step_target *target = stepper->target;

	if (!ptrace(PTRACE_GETREGS, target->tid, NULL, &target->regs))
		return PATHPROF_END_CNT;
	stepper->stop = PP_STEP_STOP_DYING;
	return PATHPROF_END_EXIT;
}

/* Lets the thread go on by `request` to its next stop. PATHPROF_END_CNT: one of ours. */
static uint32_t resume(struct stepper *stepper, long request)
{
	uint32_t end;

	go(stepper, request, stepper->deadline_ns);
	end = end_of_stop(stepper->stop);
	if (stepper->stop == PP_STEP_STOP_LATE)
		interrupt(stepper);
	return end == PATHPROF_END_CNT ? read_registers(stepper) : end;
}

/* ---- restartable sequences */

static void find_sequence(struct stepper *stepper)
{
	struct __ptrace_rseq_configuration config = {0};
	pid_t tid = stepper->target->tid;

	stepper->sequence = 0;
	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(config), &config) > 0 &&
	    config.rseq_abi_pointer)
		stepper->sequence = config.rseq_abi_pointer + offsetof(struct rseq, rseq_cs);
}

static uint64_t sequence_now(const struct stepper *stepper)
{
	uint64_t now = 0;

	if (stepper->sequence)
		pp_step_code_read(stepper->code, stepper->sequence, &now, sizeof(now));
	return now;
}

/*
 * At the first stop: whether the thread stands inside a restartable sequence, which our stop
 * aborts. One that it has left is still named until the kernel clears it, which it does as the
 * thread goes on.
 */
static bool in_sequence(const struct stepper *stepper)
{
	uint64_t address = sequence_now(stepper);
	struct rseq_cs sequence;

	if (!address)
		return false;
	if (pp_step_code_read(stepper->code, address, &sequence, sizeof(sequence)) !=
	    sizeof(sequence))
		return true;
	return stepper->target->regs.rip - sequence.start_ip < sequence.post_commit_offset;
}

/* ---- one instruction by the trap flag */

static uint32_t hazard_of_step(const struct stepper *stepper, const struct pp_step_insn *insn)
{
	switch (insn->hazard) {
	case PP_HAZARD_NONE:
		return PATHPROF_END_CNT;
	case PP_HAZARD_REP:
		return stepper->target->regs.rcx <= REP_MAX ? PATHPROF_END_CNT : PATHPROF_END_REP;
	case PP_HAZARD_SYSCALL:
	case PP_HAZARD_FLAGS:
		return stepper->limits->lookahead ? insn->hazard : PATHPROF_END_CNT;
	default:
		return insn->hazard;
	}
}

/* Whether control may get from insn to next. One whose length is not known goes on behind itself.
 */
static bool is_successor(const struct pp_step_insn *insn, uint64_t next)
{
	uint64_t advance = next - insn->pc;

	switch (insn->kind) {
	case PP_KIND_NONE:
		if (insn->hazard == PP_HAZARD_REP && !advance)
			return true;
		return insn->len ? advance == insn->len : advance - 1 < INSN_MAX_BYTES;
	case PP_KIND_COND:
		return next == insn->target || advance == insn->len;
	case PP_KIND_JMP:
	case PP_KIND_CALL:
		return next == insn->target;
	default:
		return true;
	}
}

static void add_step(struct stepper *stepper, const struct pp_step_insn *insn, uint64_t next)
{
	bool direct = insn->kind == PP_KIND_COND || insn->kind == PP_KIND_JMP ||
		      insn->kind == PP_KIND_CALL;
	struct pathprof_branch branch = {
		.from = insn->pc,
		.target = direct ? insn->target : next,
		.next = next,
		.kind = insn->kind,
		.taken = insn->kind != PP_KIND_COND || next == insn->target,
	};

	/* A string instruction that repeats stays where it is and counts when it is done. */
	if (insn->kind == PP_KIND_NONE && next == insn->pc)
		return;
	add_insns(stepper, 1);
	if (insn->kind != PP_KIND_NONE)
		add_branch(stepper, &branch);
}

static uint32_t step(struct stepper *stepper)
{
	const struct pp_step_insn insn = *pp_step_code_at(stepper->code, stepper->target->regs.rip);
	uint32_t end = hazard_of_step(stepper, &insn);

	if (end != PATHPROF_END_CNT)
		return end;
	if (!pp_step_break_set(&stepper->target->breaks, NULL, 0))
		return PATHPROF_END_EXIT;
	stepper->holder->singles++;
	end = resume(stepper, PTRACE_SINGLESTEP);
	if (end != PATHPROF_END_CNT)
		return end;
	if (!is_successor(&insn, stepper->target->regs.rip))
		return PATHPROF_END_DISCONT;
	add_step(stepper, &insn, stepper->target->regs.rip);
	return end_of_record(stepper);
}

/* ---- to the next decisions by breakpoints */

static bool set_breakpoints(struct stepper *stepper)
{
	uint64_t leaves[PP_STEP_LEAF_MAX];

	for (uint32_t i = 0; i < stepper->plan->way_cnt; i++)
		leaves[i] = stepper->plan->ways[i].leaf;
	return pp_step_break_set(&stepper->target->breaks, leaves, stepper->plan->way_cnt);
}

/* Runs to a leaf of the plan. */
static uint32_t run(struct stepper *stepper)
{
	const struct pp_step_way *way;
	uint32_t end;

	if (!set_breakpoints(stepper))
		return PATHPROF_END_EXIT;
	end = resume(stepper, PTRACE_CONT);
	if (end != PATHPROF_END_CNT)
		return end;
	way = pp_step_plan_way(stepper->plan, stepper->target->regs.rip);
	/* A restartable sequence on the way may have been aborted and restarted unseen. */
	if (!way || sequence_now(stepper))
		return PATHPROF_END_DISCONT;
	end = add_way(stepper, way);
	/* The registers decide about a system call: see pass_call(). */
	return end == PATHPROF_END_CNT && way->end != PATHPROF_END_SYSCALL ? way->end : end;
}

/* ---- through a system call */

/*
 * Lets the thread go through its call. A call that takes long ends the window: it is broken off if
 * the program cannot notice, else limbo waits until the thread stops behind it.
 */
static uint32_t resume_call(struct stepper *stepper, enum pp_step_call call)
{
	struct pp_step_target *target = stepper->target;
	uint64_t begun_ns = pp_monotonic_ns();
	uint32_t end;

	go(stepper, PTRACE_CONT, begun_ns + stepper->limits->call_ns);
	end = end_of_stop(stepper->stop);
	if (stepper->stop != PP_STEP_STOP_LATE)
		return end == PATHPROF_END_CNT ? read_registers(stepper) : end;
	target->slept_ns = pp_monotonic_ns() - begun_ns;
	target->again = call == PP_STEP_CALL_AGAIN;
	if (target->again && pp_step_is_asleep(target))
		interrupt(stepper);
	else
		target->in_call = true;
	return PATHPROF_END_SYSCALL;
}

static uint32_t pass_call(struct stepper *stepper)
{
	struct pp_step_target *target = stepper->target;
	const struct pp_step_insn insn = *pp_step_code_at(stepper->code, target->regs.rip);
	uint64_t behind = insn.pc + insn.len;
	bool is_cpuid = pp_step_code_is_cpuid(stepper->code, &insn);
	enum pp_step_call call = PP_STEP_CALL_ENDS;
	uint32_t end;

	if (pp_step_code_is_syscall(stepper->code, &insn))
		call = pp_step_call_look(stepper->code, &target->regs, target->tid);
	if (!is_cpuid && call == PP_STEP_CALL_ENDS)
		return PATHPROF_END_SYSCALL;
	if (!pp_step_break_set(&target->breaks, &behind, 1))
		return PATHPROF_END_EXIT;
	/* cpuid never sleeps: the limit of all stops does for it. */
	end = is_cpuid ? resume(stepper, PTRACE_CONT) : resume_call(stepper, call);
	if (end != PATHPROF_END_CNT)
		return end;
	if (target->regs.rip != behind)
		return PATHPROF_END_DISCONT;
	add_insns(stepper, 1);
	return end_of_record(stepper);
}

static uint32_t insns_left(const struct stepper *stepper)
{
	const struct pathprof_burst *burst = &stepper->record->burst;

	return burst->horizon ? burst->horizon - burst->insn_cnt : UINT32_MAX;
}

static uint32_t go_on(struct stepper *stepper)
{
	struct pp_step_break *breaks = &stepper->target->breaks;
	struct pp_step_plan *plan = stepper->plan;

	if (!breaks->cnt)
		return step(stepper);
	if (pp_step_plan(plan, stepper->code, &stepper->target->regs, breaks->cnt,
			 insns_left(stepper)))
		return run(stepper);
	if (plan->ways[0].end == PATHPROF_END_SYSCALL)
		return pass_call(stepper);
	if (plan->ways[0].end != PATHPROF_END_CNT)
		return plan->ways[0].end;
	/* A killed stepper would leave the trap flag set; perf's breakpoints go with it. */
	return breaks->kind == PP_STEP_BREAK_PERF ? PATHPROF_END_FETCH : step(stepper);
}

/* ---- the whole */

static void begin(struct stepper *stepper)
{
	const struct pp_step_target *target = stepper->target;

	stepper->record->burst = (struct pathprof_burst){
		.version = PATHPROF_ABI_VERSION,
		.source = PATHPROF_SOURCE_STEP,
		.pid = (__u32)target->pid,
		.tid = (__u32)target->tid,
		.time_ns = target->stopped_ns,
		.start = target->regs.rip,
		.start_time = target->start_time,
		.horizon = stepper->limits->horizon,
	};
	find_sequence(stepper);
}

/* Copies only pages that are present, in some microseconds. Below rsp there may be none. */
static void copy_top(struct pp_step_stack *stack, uint64_t rsp, struct pp_step_memory *memory)
{
	size_t got_bytes;

	stack->address = rsp - PATHPROF_UNWIND_RED_ZONE;
	got_bytes = pp_step_memory_read(memory, stack->address, stack->stack, sizeof(stack->stack));
	if (!got_bytes) {
		stack->address = rsp;
		got_bytes = pp_step_memory_read(memory, rsp, stack->stack, sizeof(stack->stack));
	}
	stack->stack_bytes = (uint32_t)got_bytes;
}

static void copy_stack(const struct stepper *stepper, struct pp_step_memory *memory)
{
	const struct user_regs_struct *r = &stepper->target->regs;
	struct pp_step_stack *stack = stepper->limits->stack;
	const uint64_t registers[PATHPROF_UNWIND_REGISTERS_CNT] = {
		r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
		r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip};

	stack->pid = (uint32_t)stepper->target->pid;
	stack->tid = (uint32_t)stepper->target->tid;
	stack->time_ns = stepper->record->burst.time_ns;
	memcpy(stack->registers, registers, sizeof(registers));
	copy_top(stack, r->rsp, memory);
	stack->header = (struct pp_step_header){
		(uint32_t)(offsetof(struct pp_step_stack, stack) + stack->stack_bytes),
		PP_STEP_VERSION, PP_STEP_TYPE_STACK};
}

/* Code that was rewritten while it ran makes the whole window doubtful. */
static void forget(struct pathprof_burst *burst)
{
	burst->branch_cnt = burst->taken_cnt = burst->insn_cnt = 0;
	burst->end = PATHPROF_END_DISCONT;
}

static uint64_t deadline_of(const struct pp_step_target *target,
			    const struct pp_step_limits *limits)
{
	uint64_t hold_ns = limits->time_ns / HOLD_LEAST_PART;

	if (target->run_ns > hold_ns)
		hold_ns = target->run_ns;
	if (!target->run_ns || hold_ns > limits->time_ns)
		hold_ns = limits->time_ns;
	return target->stopped_ns + hold_ns;
}

void pp_step_burst(struct pp_step_holder *holder, struct pp_step_target *target,
		   const struct pp_step_limits *limits, struct pp_step_record *record)
{
	static struct pp_step_plan plan;
	struct pp_step_memory memory;
	struct stepper stepper = {
		.holder = holder,
		.target = target,
		.limits = limits,
		.record = record,
		.code = pp_step_code_begin(pp_step_memory_read, &memory),
		.plan = &plan,
		.deadline_ns = deadline_of(target, limits),
		.stop = PP_STEP_STOP_OURS,
	};
	struct pathprof_burst *burst = &record->burst;

	pp_step_memory_open(&memory, target->tid);
	begin(&stepper);
	if (limits->stack)
		copy_stack(&stepper, &memory);
	burst->end = PATHPROF_END_DISCONT;
	if (!in_sequence(&stepper)) {
		if (limits->breaks == PP_STEP_BREAK_PTRACE)
			pp_step_publish_armed(&holder->pin, target);
		pp_step_break_open(&target->breaks, limits->breaks, target->tid);
		do
			burst->end = go_on(&stepper);
		while (burst->end == PATHPROF_END_CNT);
	}
	if (!pp_step_code_unchanged(stepper.code))
		forget(burst);
	pp_step_memory_close(&memory);
	pp_step_add_stops(target, burst->step_cnt + 1ul);
	burst->size_bytes = (__u32)(sizeof(*burst) + burst->branch_cnt * sizeof(*record->branches));
	pp_step_release(holder, target, stepper.stop, stepper.signal);
}
