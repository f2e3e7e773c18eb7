/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the stepper process, as they see each other: inspection (step_proc.c), holding and
 * letting go (step_target.c), affinity (step_pin.c), the burst (step_burst.c, which reads code by
 * step_code.h, memory by step_memory.h, plans by step_plan.h and stops by step_break.h), budget
 * (step_budget.c). One thread, no locks. Nothing here allocates: a target may be held.
 */
#ifndef PP_STEP_ENGINE_H
#define PP_STEP_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/clock.h"
#include "../clock/isolated.h"
#include "step.h"
#include "step_break.h"

/* ---- step_proc.c: what /proc says about a thread; -errno when it is gone or hidden */

struct pp_step_stat {
	char state;
	pid_t ppid;
	int cpu; /* where it last ran */
	int nice;
	int policy; /* SCHED_* */
	uint32_t thread_cnt;
	bool forked; /* it has executed no program since it was forked */
	uint64_t utime_ticks, stime_ticks;
	uint64_t start_time; /* clock ticks since boot */
};

/* Signal sets: bit N - 1 stands for signal N. */
struct pp_step_status {
	char state;
	pid_t tracer;
	int seccomp;
	unsigned int thread_cnt; /* of its process */
	uint64_t pending;        /* the thread's and its process' */
	uint64_t blocked, ignored, caught;
	uint32_t uid;      /* real: who started it */
	uint64_t switches; /* times it gave its CPU up by itself, or was stopped by a tracer */
};

/* tid 0: the whole process, times summed over its threads. */
int pp_step_read_stat(pid_t pid, pid_t tid, struct pp_step_stat *ret_stat);
int pp_step_read_status(pid_t pid, pid_t tid, struct pp_step_status *ret_status);
/* CPU time of the thread, by the scheduler; 0: not known. */
uint64_t pp_step_cpu_ns(pid_t pid, pid_t tid);
/* 1 when the program is 64-bit x86, 0 when it is not; its file is not opened. */
int pp_step_is_64bit(pid_t pid, pid_t tid, uint64_t start_time);
/* False when the thread sleeps in a system call. */
bool pp_step_is_running(pid_t pid, pid_t tid);

/* ---- step_target.c */

struct pp_step_target {
	pid_t pid, tid;
	uint32_t uid;
	uint64_t start_time;
	uint64_t run_ns;         /* see pp_step_run_ns() */
	uint64_t interrupted_ns; /* CLOCK_MONOTONIC of the PTRACE_INTERRUPT */
	uint64_t stopped_ns;     /* CLOCK_MONOTONIC of the first stop */
	uint64_t released_ns;    /* CLOCK_MONOTONIC when it was let go, or given up */
	uint64_t slept_ns;       /* of these: in a system call that took long */
	uint64_t no_effect;      /* signals that do nothing to it, as of the look before */
	uint64_t sigmask;        /* to be put back when mask_changed */
	bool mask_changed;
	bool stepped; /* it was told to go on, so a trap of ours may be due */
	bool single;  /* the last thing it was told is to execute one instruction */
	bool in_call; /* in limbo: in a system call, a breakpoint of ours behind it */
	bool again;   /* that call may be broken off and started again */
	bool pinned;
	bool boosted;
	int cpu;                     /* valid while pinned */
	int nice;                    /* to be put back when boosted */
	struct pp_step_break breaks; /* open during a burst */
	struct user_regs_struct regs;
};

#define PP_STEP_SIGNAL_BIT(number) (1ull << ((number)-1))

/* Whether it sleeps where an interrupt wakes it (step_proc.c). */
bool pp_step_is_asleep(const struct pp_step_target *target);

enum pp_step_stop {
	PP_STEP_STOP_OURS,   /* PTRACE_INTERRUPT took effect */
	PP_STEP_STOP_STEP,   /* one instruction was executed, or a breakpoint was reached */
	PP_STEP_STOP_SIGNAL, /* about to receive a signal, which detach has to hand on */
	PP_STEP_STOP_GROUP,  /* the whole process is being stopped */
	PP_STEP_STOP_GONE,   /* ended, and its end is consumed */
	PP_STEP_STOP_MOVED,  /* its number is gone: it may go on under its process' by an exec */
	PP_STEP_STOP_DYING,  /* killed while stopped; its end is still to be consumed */
	PP_STEP_STOP_LATE,   /* no stop before the deadline */
};

/* Seized threads that could not be let go at once, for they were not stopped. */
#define PP_STEP_LIMBO_MAX 64
struct pp_step_limbo {
	uint32_t cnt;
	struct pp_step_target targets[PP_STEP_LIMBO_MAX];
};

#define PP_STEP_CPU_MAX   8192
#define PP_STEP_WORD_BITS 64

struct pp_step_mask {
	unsigned long words[PP_STEP_CPU_MAX / PP_STEP_WORD_BITS];
};

struct pp_step_pin {
	bool enabled;
	uint32_t cpu_cnt; /* CPUs online */
	struct pp_step_hold *hold;
	bool moved;               /* the stepper's own mask is narrowed */
	bool confined;            /* whoever started us keeps us to some CPUs: */
	struct pp_step_mask home; /* these */
};

/* Threads of a real-time policy and isolated CPUs: nobody there is touched. */
struct pp_step_spare {
	bool enabled;
	bool any_isolated;
	bool is_isolated[PP_ISOLATED_CPU_MAX];
};

struct pp_step_holder {
	struct pp_step_limbo limbo;
	struct pp_step_pin pin;
	struct pp_step_spare spare;
	struct pp_step_silent *silent; /* NULL: nobody is remembered */
	pid_t only_pid,
		daemon_pid; /* the daemon's other children are never held: it waits for them */
	bool unprivileged;  /* a set-user-id program that a traced thread executes gets no rights */
	uint64_t restarts;
	uint64_t singles; /* steps by the trap flag */
};

#define PP_STEP_HELD PATHPROF_DROP_CNT
/*
 * Stops target (pid and tid set, the rest zero) at a place where it may be stepped, with its
 * registers read. PP_STEP_HELD, or why not; then it is untouched, or let go.
 */
enum pathprof_drop pp_step_catch(struct pp_step_holder *holder, struct pp_step_target *target);
/*
 * Whether target's thread was promised a CPU, to which some milliseconds are much: PP_STEP_HELD, or
 * why it is spared.
 */
enum pathprof_drop pp_step_check_promises(const struct pp_step_spare *spare,
					  const struct pp_step_target *target);
/* Waits for the next stop of target until deadline_ns; *ret_signal for STOP_SIGNAL only. */
enum pp_step_stop pp_step_wait(const struct pp_step_target *target, uint64_t deadline_ns,
			       int *ret_signal);
/* Lets go of a target whose last stop was `stop`, handing on `signal` if there was one. */
void pp_step_release(struct pp_step_holder *holder, struct pp_step_target *target,
		     enum pp_step_stop stop, int signal);
/* Lets go of those in limbo that have stopped or ended since. Never waits. */
void pp_step_poll_limbo(struct pp_step_holder *holder);
/* Whether the stepper may end now and nobody in limbo comes to harm. */
bool pp_step_may_leave(struct pp_step_limbo *limbo);

/* ---- step_pin.c */

/* Finds out which CPUs the stepper may use. Before it is tied to one. */
void pp_step_pin_begin(struct pp_step_pin *pin);
/* Ties the stepper to a CPU. False: it may not run there, or moves nowhere. */
bool pp_step_go_to(struct pp_step_pin *pin, int cpu);
/* Lets the stepper run wherever it might at first. */
void pp_step_roam(struct pp_step_pin *pin);
/*
 * Moves the stepper to the CPU where target runs, before target is seized. There target does not go
 * on while it is looked at: seized from another CPU, a thread full of system calls is nearly always
 * stopped at the end of one, and gives no window.
 */
void pp_step_follow(struct pp_step_pin *pin, const struct pp_step_target *target);
/*
 * Ties a stopped target and the stepper to the CPU where target last ran, and puts target ahead of
 * whatever else wants that CPU, as far as that is allowed. pp_step_unpin undoes both.
 */
void pp_step_pin(struct pp_step_pin *pin, struct pp_step_target *target);
void pp_step_unpin(struct pp_step_pin *pin, struct pp_step_target *target);
/*
 * Says in the shared page that target's debug registers are about to be set or still are, or that
 * nobody's are: a killed stepper leaves them as they are. perf's breakpoints go by themselves.
 */
void pp_step_publish_armed(struct pp_step_pin *pin, const struct pp_step_target *target);
void pp_step_publish_disarmed(struct pp_step_pin *pin);
/*
 * Says in the shared page which thread the stepper turns to, and that it is done with it. Whatever
 * is touched of a thread may put the stepper to sleep.
 */
void pp_step_publish_busy(struct pp_step_pin *pin, const struct pp_step_target *target);
void pp_step_publish_idle(struct pp_step_pin *pin);
/* Whether a stepper killed now would leave some target with a trap or mask of ours. */
void pp_step_publish_harms(struct pp_step_pin *pin, bool harms);
/* Lets a stepper, which is a child of the caller, run wherever the caller may. */
void pp_step_free_stepper(pid_t stepper);
/* Undoes the pin of a dead stepper, and clears debug registers that it left set. */
void pp_step_unpin_orphan(const struct pp_step_hold *hold);

/* ---- step_waits.c */

/* Counts stops of ours, of a target whose start_time is set. */
void pp_step_add_stops(const struct pp_step_target *target, uint64_t cnt);
/* CPU time from one of its own waits to the next, on average, by all its switches. 0: not known. */
uint64_t pp_step_run_ns(const struct pp_step_target *target, uint64_t switches);

/* ---- step_main.c */

/* Puts the caller, which must sleep mostly, ahead of all else that wants a CPU, if allowed. */
void pp_step_run_first(void);

/* ---- step_burst.c */

#define PP_STEP_CALL_NS PP_NSEC_PER_MSEC /* unless a test wants another */

struct pp_step_limits {
	uint32_t taken_wanted; /* taken branches, where horizon is 0 */
	uint32_t horizon;      /* instructions */
	enum pp_step_break_kind breaks;
	uint32_t step_max;
	uint64_t time_ns;            /* for a thread that computes: see pp_step_burst() */
	uint64_t call_ns;            /* a system call that takes longer ends the window */
	bool lookahead;              /* false in one test only */
	struct pp_step_stack *stack; /* filled as the burst begins; NULL: nobody wants it */
};

struct pp_step_record {
	struct pathprof_burst burst;
	struct pathprof_branch branches[PATHPROF_BURST_MAX];
};

/*
 * Steps a held target, fills record (all but stopped_ns), lets target go. A thread that waits again
 * and again, such as a server's between two requests, is held for no longer than it usually runs in
 * between: whoever waits for its answer would wait that much longer.
 */
void pp_step_burst(struct pp_step_holder *holder, struct pp_step_target *target,
		   const struct pp_step_limits *limits, struct pp_step_record *record);

/* ---- step_budget.c: a token bucket of nanoseconds */

struct pp_step_budget {
	uint64_t rate_ppm; /* tokens earned per million ns of wall time, all CPUs together */
	int64_t tokens_ns;
	uint64_t refilled_ns; /* CLOCK_MONOTONIC */
	uint64_t cost_ns;     /* moving average of what a burst costs */
	uint64_t wake_ns;     /* moving average of what a wake-up costs */
	uint64_t due_ns;      /* CLOCK_MONOTONIC: no burst before */
	uint64_t ready_ns;    /* since when a burst may begin; 0: it may not */
	uint64_t late_ns;     /* moving average of how much later one began */
	uint64_t random;      /* not 0 */
};

void pp_step_budget_init(struct pp_step_budget *budget, uint32_t overhead_ppm, uint32_t cpu_cnt,
			 uint64_t now_ns);
/*
 * A new rate from now on; tokens and average stay. What is left of a pause is drawn as if the rate
 * had been this one.
 */
void pp_step_budget_configure(struct pp_step_budget *budget, uint32_t overhead_ppm,
			      uint32_t cpu_cnt, uint64_t now_ns);
/* Charges time spent, whatever for. */
void pp_step_budget_charge(struct pp_step_budget *budget, uint64_t spent_ns);
/* Charges time spent between two sleeps without a burst, and learns from it. */
void pp_step_budget_charge_wake(struct pp_step_budget *budget, uint64_t spent_ns);
/* Learns what one burst cost altogether, to foresee the next. Charges nothing. */
void pp_step_budget_learn(struct pp_step_budget *budget, uint64_t burst_ns);
/* A burst that began at begin_ns has ended: draws when the next may come. */
void pp_step_budget_pause(struct pp_step_budget *budget, uint64_t begin_ns, uint64_t now_ns);
/* How long to wait until a burst fits: 0 now, UINT64_MAX never. */
uint64_t pp_step_budget_wait(struct pp_step_budget *budget, uint64_t now_ns);

#endif
