/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The burst: a held thread executes one instruction at a time until it has taken enough branches.
 * About ten instructions a branch, three hundred a burst, 16 us each with the target on our CPU:
 * the most expensive loop of the program, so nothing in it allocates or reads /proc.
 *
 * Look-ahead: an instruction is decoded before it is stepped, and one that could carry the trap
 * flag to where the program sees it (onto the stack, into r11, into the kernel) is never stepped;
 * the burst ends in front of it. A branch counts only after its successor proved to be one that
 * the instruction allows.
 *
 * Locking: none, one thread. Ownership: the caller's record, target and limits.
 * Source: Intel SDM vol. 3, 17.3.1.4 (single-step exceptions); ptrace(2).
 */
#include "step_engine.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "../../libprofile/core/pp_decode.h"

#define INSN_MAX_BYTES 15
#define FETCH_BYTES    16
#define PAGE_BYTES     4096
/* Iterations of a string instruction that are still worth a step each. */
#define REP_MAX 64

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
	struct pp_step_target *target;
	const struct pp_step_limits *limits;
	struct pp_step_record *record;
	uint64_t deadline_ns;
	struct pp_insn insn; /* the next to be executed */
	uint64_t pc;         /* where it lies */
	bool repeats;        /* a string instruction: may stay where it is */
	enum pp_step_stop stop;
	int signal;
};

/* Two pieces, so that a missing second page does not hide what is on the first. */
static size_t fetch(pid_t tid, uint64_t pc, uint8_t *code)
{
	size_t room = PAGE_BYTES - (pc & (PAGE_BYTES - 1));
	size_t first = room < FETCH_BYTES ? room : FETCH_BYTES;
	struct iovec local = {code, FETCH_BYTES};
	struct iovec remote[2] = {{(void *)(uintptr_t)pc, first},
				  {(void *)(uintptr_t)(pc + first), FETCH_BYTES - first}};
	ssize_t got = process_vm_readv(tid, &local, 1, remote, first < FETCH_BYTES ? 2 : 1, 0);

	return got < 0 ? 0 : (size_t)got;
}

/* Decodes the instruction at rip. PATHPROF_END_CNT when it may be stepped, else why not. */
static uint32_t look_ahead(struct stepper *stepper)
{
	uint8_t code[FETCH_BYTES];
	size_t len_bytes;

	stepper->pc = stepper->target->regs.rip;
	stepper->repeats = false;
	len_bytes = fetch(stepper->target->tid, stepper->pc, code);
	if (!len_bytes)
		return PATHPROF_END_FETCH;
	pp_decode(code, (uint32_t)len_bytes, stepper->pc, &stepper->insn);
	switch (stepper->insn.hazard) {
	case PP_HAZARD_NONE:
		return PATHPROF_END_CNT;
	case PP_HAZARD_REP:
		stepper->repeats = stepper->target->regs.rcx <= REP_MAX;
		return stepper->repeats ? PATHPROF_END_CNT : PATHPROF_END_REP;
	case PP_HAZARD_FLAGS:
		return stepper->limits->lookahead ? PATHPROF_END_FLAGS : PATHPROF_END_CNT;
	default:
		return stepper->insn.hazard;
	}
}

static uint32_t end_of_stop(enum pp_step_stop stop)
{
	switch (stop) {
	case PP_STEP_STOP_STEP:
		return PATHPROF_END_CNT;
	case PP_STEP_STOP_GONE:
	case PP_STEP_STOP_DYING:
		return PATHPROF_END_EXIT;
	case PP_STEP_STOP_LATE:
		return PATHPROF_END_TIME;
	default:
		return PATHPROF_END_SIGNAL;
	}
}

/* Executes one instruction. PATHPROF_END_CNT when that is what happened. */
static uint32_t step(struct stepper *stepper)
{
	struct pp_step_target *target = stepper->target;

	target->stepped = true;
	if (ptrace(PTRACE_SINGLESTEP, target->tid, NULL, NULL)) {
		stepper->stop = PP_STEP_STOP_DYING;
		return PATHPROF_END_EXIT;
	}
	stepper->stop = pp_step_wait(target, stepper->deadline_ns, &stepper->signal);
	if (stepper->stop == PP_STEP_STOP_STEP &&
	    ptrace(PTRACE_GETREGS, target->tid, NULL, &target->regs))
		stepper->stop = PP_STEP_STOP_DYING;
	return end_of_stop(stepper->stop);
}

/* Whether control may get from the instruction just executed to next. */
static bool is_successor(const struct stepper *stepper, uint64_t next)
{
	const struct pp_insn *insn = &stepper->insn;
	uint64_t advance = next - stepper->pc;

	switch (insn->kind) {
	case PP_KIND_NONE:
		return advance <= INSN_MAX_BYTES && (advance || stepper->repeats);
	case PP_KIND_COND:
		return next == insn->target || advance == insn->len;
	case PP_KIND_JMP:
	case PP_KIND_CALL:
		return next == insn->target;
	default:
		return true;
	}
}

static void record_branch(struct stepper *stepper, uint64_t next)
{
	struct pathprof_burst *burst = &stepper->record->burst;
	const struct pp_insn *insn = &stepper->insn;
	bool direct = insn->kind == PP_KIND_COND || insn->kind == PP_KIND_JMP ||
		      insn->kind == PP_KIND_CALL;
	bool taken = insn->kind != PP_KIND_COND || next == insn->target;

	stepper->record->branches[burst->branch_cnt++] = (struct pathprof_branch){
		.from = stepper->pc,
		.target = direct ? insn->target : next,
		.next = next,
		.kind = insn->kind,
		.taken = taken,
	};
	burst->taken_cnt += taken;
}

/* PATHPROF_END_CNT: go on. */
static uint32_t account(struct stepper *stepper)
{
	struct pathprof_burst *burst = &stepper->record->burst;
	uint64_t next = stepper->target->regs.rip;

	burst->step_cnt++;
	if (!is_successor(stepper, next))
		return PATHPROF_END_DISCONT;
	if (stepper->insn.kind != PP_KIND_NONE)
		record_branch(stepper, next);
	if (burst->taken_cnt >= stepper->limits->taken_wanted)
		return PATHPROF_END_FULL;
	if (burst->step_cnt >= stepper->limits->step_max || burst->branch_cnt >= PATHPROF_BURST_MAX)
		return PATHPROF_END_STEPS;
	if (pp_step_now() >= stepper->deadline_ns)
		return PATHPROF_END_TIME;
	return PATHPROF_END_CNT;
}

static void begin(struct pathprof_burst *burst, const struct pp_step_target *target)
{
	*burst = (struct pathprof_burst){
		.version = PATHPROF_ABI_VERSION,
		.source = PATHPROF_SOURCE_STEP,
		.pid = (__u32)target->pid,
		.tid = (__u32)target->tid,
		.time_ns = target->stopped_ns,
		.start = target->regs.rip,
		.start_time = target->start_time,
	};
}

void pp_step_burst(struct pp_step_holder *holder, struct pp_step_target *target,
		   const struct pp_step_limits *limits, struct pp_step_record *record)
{
	struct stepper stepper = {
		.target = target,
		.limits = limits,
		.record = record,
		.deadline_ns = target->stopped_ns + limits->time_ns,
		.stop = PP_STEP_STOP_OURS,
	};
	uint32_t end;

	begin(&record->burst, target);
	do {
		end = look_ahead(&stepper);
		if (end == PATHPROF_END_CNT)
			end = step(&stepper);
		if (end == PATHPROF_END_CNT)
			end = account(&stepper);
	} while (end == PATHPROF_END_CNT);
	record->burst.end = end;
	record->burst.size_bytes = (__u32)(sizeof(record->burst) +
					   record->burst.branch_cnt * sizeof(*record->branches));
	pp_step_release(holder, target, stepper.stop, stepper.signal);
}
