/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holding a thread and letting it go so that it never finds out. One thread is held at a time, for
 * some milliseconds, a few times a second; those that could not be let go yet (they were killed,
 * or sleep in the kernel where no interrupt reaches them) wait in limbo and are polled.
 *
 * docs/stepping.md says what may go wrong at each stop, and what is owed to the target. The
 * rules in short: a signal or a group stop that gets in between is handed on by the detach; a
 * system call that our interrupt broke off is started again; SIGTRAP is never left to the kernel
 * to force while the target blocks or ignores it; every end is consumed.
 *
 * Locking: none, the stepper's one thread. Ownership: targets are values. No allocation.
 * Source: ptrace(2), signal(7); Linux kernel/signal.c and kernel/ptrace.c.
 */
#include "step_engine.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#define USER_CS_64 0x33
#define EFLAGS_TF  0x100
/*
 * Process 1 as the stepper sees it: the machine's, or that of the container it runs in. A stepper
 * that is killed may take its target with it, and with process 1 the kernel kills the whole
 * container, or panics.
 */
#define INIT_PID 1
/* How long a runnable thread may take to reach its stop; it may have to wait for a CPU. */
#define STOP_TIMEOUT_NS (20 * PP_NSEC_PER_MSEC)
#define TICK_US         500
/*
 * The number of ticks that break a seizure off before it is given up. Ticks are counted, not time,
 * for a stepper that had no CPU meanwhile took none.
 */
#define SEIZE_TICKS 40

/* CPU time, in ticks of 10 ms, before which a process may be about to execute a program. */
#define FORKED_TICKS   50
#define EXECUTED_TICKS 2

/* The kernel's own codes for "start this call again"; user space never sees them. */
#define KERNEL_ERESTARTSYS           512
#define KERNEL_ERESTARTNOHAND        514ll
#define KERNEL_ERESTART_RESTARTBLOCK 516

/* Signals that do nothing by default. SIGCONT is none of them: it takes a stop back. */
#define NO_EFFECT_DEFAULT                                                                          \
	(PP_STEP_SIGNAL_BIT(SIGCHLD) | PP_STEP_SIGNAL_BIT(SIGURG) | PP_STEP_SIGNAL_BIT(SIGWINCH))

/* The ticks that are left while a thread is being seized, and where to go on after the last. */
static volatile sig_atomic_t seize_ticks;
static sigjmp_buf seize_over;

static void on_tick(int signal)
{
	if (seize_ticks && !--seize_ticks)
		siglongjmp(seize_over, 1);
}

/*
 * waitpid knows no time-out: a repeating SIGALRM breaks it off. Repeating, for one that came just
 * before waitpid slept would be lost. The signal stays open in its handler, which may not return.
 */
static void tick(bool on)
{
	static bool is_caught;
	struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_NODEFER};
	struct itimerval interval = {0};

	if (!is_caught)
		is_caught = !sigaction(SIGALRM, &action, NULL);
	if (on)
		interval.it_interval.tv_usec = interval.it_value.tv_usec = TICK_US;
	setitimer(ITIMER_REAL, &interval, NULL);
}

/*
 * A uprobe that is set on the very instruction being stepped runs it elsewhere, finds the trap
 * flag, and sends a plain SIGTRAP in place of the step's trap. A program cannot send itself one
 * there: a system call is never stepped.
 */
static bool is_uprobe_step(const struct pp_step_target *target, const siginfo_t *info)
{
	return target->single && info->si_code == SI_USER && info->si_pid == target->pid;
}

/*
 * If debug register 6 does not say what trapped, the kernel takes the trap for that of `int1`.
 * A hypervisor may lose the register now and then, when a step ends in a page fault. A stepped
 * thread never executes `int1` itself: look-ahead ends the burst in front of it.
 */
static bool is_unnamed_trap(const struct pp_step_target *target, const siginfo_t *info)
{
	return target->stepped && info->si_code == TRAP_BRKPT;
}

static enum pp_step_stop classify(const struct pp_step_target *target, int status, int *ret_signal)
{
	int signal = WSTOPSIG(status);
	siginfo_t info;

	if (!WIFSTOPPED(status))
		return PP_STEP_STOP_GONE;
	if (status >> 16 == PTRACE_EVENT_STOP)
		return signal == SIGTRAP ? PP_STEP_STOP_OURS : PP_STEP_STOP_GROUP;
	if (signal == SIGTRAP) {
		if (ptrace(PTRACE_GETSIGINFO, target->tid, NULL, &info))
			return PP_STEP_STOP_DYING;
		if (info.si_code == TRAP_TRACE || pp_step_break_is_ours(&info) ||
		    is_uprobe_step(target, &info) || is_unnamed_trap(target, &info))
			return PP_STEP_STOP_STEP;
	}
	*ret_signal = signal;
	return PP_STEP_STOP_SIGNAL;
}

enum pp_step_stop pp_step_wait(const struct pp_step_target *target, uint64_t deadline_ns,
			       int *ret_signal)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(target->tid, &status, __WALL | (deadline_ns ? 0 : WNOHANG));

		if (pid == target->tid)
			return classify(target, status, ret_signal);
		if (pid < 0 && errno == ECHILD)
			return PP_STEP_STOP_MOVED;
		if (pid == 0 || pp_monotonic_ns() >= deadline_ns)
			return PP_STEP_STOP_LATE;
	}
}

/* ---- before touching it */

static enum pathprof_drop check_status(const struct pp_step_status *status)
{
	uint64_t trap = PP_STEP_SIGNAL_BIT(SIGTRAP);

	if (status->tracer)
		return PATHPROF_DROP_TRACED;
	if (status->state == 'T' || status->state == 't')
		return PATHPROF_DROP_STOPPED;
	if (status->state != 'R')
		return PATHPROF_DROP_GONE;
	/* A filter never sees a burst, which enters no system call. */
	if (status->seccomp == SECCOMP_MODE_STRICT)
		return PATHPROF_DROP_SECCOMP;
	/* A forced SIGTRAP would reset the disposition, an unblocked one would be delivered. */
	if ((status->ignored | status->pending) & trap)
		return PATHPROF_DROP_DENIED;
	return PP_STEP_HELD;
}

static bool is_realtime(pid_t tid)
{
	int policy = sched_getscheduler(tid);

	policy = policy < 0 ? SCHED_OTHER : policy & ~SCHED_RESET_ON_FORK;
	return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
}

static bool is_isolated(const struct pp_step_spare *spare, const struct pp_step_target *target)
{
	struct pp_step_stat stat;

	return spare->any_isolated && !pp_step_read_stat(target->pid, target->tid, &stat) &&
	       stat.cpu >= 0 && stat.cpu < PP_ISOLATED_CPU_MAX && spare->is_isolated[stat.cpu];
}

enum pathprof_drop pp_step_check_promises(const struct pp_step_spare *spare,
					  const struct pp_step_target *target)
{
	if (!spare->enabled)
		return PP_STEP_HELD;
	if (is_realtime(target->tid))
		return PATHPROF_DROP_REALTIME;
	return is_isolated(spare, target) ? PATHPROF_DROP_ISOLATED : PP_STEP_HELD;
}

/* A user may fill a quarter of the places in limbo that are free, so 13 if he is alone there. */
static bool fills_limbo(const struct pp_step_limbo *limbo, uint32_t uid)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < limbo->cnt; i++)
		cnt += limbo->targets[i].uid == uid;
	return cnt > (PP_STEP_LIMBO_MAX - limbo->cnt) / 4;
}

/*
 * A set-user-id program runs without its owner's rights where the thread that executes it is traced
 * by us and we lack CAP_SYS_PTRACE. Between our last look and its stop a thread may enter execve,
 * and nothing then keeps the kernel from it. Those who do so are young: a fork that executes a
 * program, a shell or a wrapper that executes another in its place.
 */
static bool may_execute(const struct pp_step_target *target)
{
	struct pp_step_stat process;
	uint64_t ticks;

	if (pp_step_read_stat(target->pid, 0, &process))
		return true;
	ticks = process.utime_ticks + process.stime_ticks;
	return ticks < (process.forked ? FORKED_TICKS : EXECUTED_TICKS);
}

/* A recorded command may be a child of the daemon, too. */
static bool is_own(const struct pp_step_holder *holder, const struct pp_step_target *target,
		   const struct pp_step_stat *leader)
{
	return holder->daemon_pid && leader->ppid == holder->daemon_pid &&
	       target->pid != holder->only_pid;
}

static enum pathprof_drop check(const struct pp_step_holder *holder, struct pp_step_target *target)
{
	struct pp_step_stat leader;
	struct pp_step_status status;
	enum pathprof_drop drop;
	int is_64bit;

	if (target->pid == INIT_PID)
		return PATHPROF_DROP_INIT;
	drop = pp_step_check_promises(&holder->spare, target);
	if (drop != PP_STEP_HELD)
		return drop;
	if (pp_step_read_stat(target->pid, target->pid, &leader) ||
	    pp_step_read_status(target->pid, target->tid, &status))
		return PATHPROF_DROP_GONE;
	if (is_own(holder, target, &leader))
		return PATHPROF_DROP_OWN;
	target->start_time = leader.start_time;
	target->uid = status.uid;
	target->no_effect = status.ignored | (NO_EFFECT_DEFAULT & ~status.caught);
	target->run_ns = pp_step_run_ns(target, status.switches);
	if (pp_step_silent_holds(holder->silent, target->pid, target->start_time, target->uid,
				 pp_monotonic_ns()) ||
	    fills_limbo(&holder->limbo, target->uid))
		return PATHPROF_DROP_SILENT;
	drop = check_status(&status);
	if (drop != PP_STEP_HELD)
		return drop;
	if (holder->unprivileged && may_execute(target))
		return PATHPROF_DROP_STARTING;
	is_64bit = pp_step_is_64bit(target->pid, target->tid, leader.start_time);
	if (is_64bit == -EACCES || is_64bit == -EPERM)
		return PATHPROF_DROP_DENIED;
	if (is_64bit < 0)
		return PATHPROF_DROP_GONE;
	return is_64bit ? PP_STEP_HELD : PATHPROF_DROP_32BIT;
}

/*
 * Seizes a thread and has it interrupted: 0, ETIMEDOUT, or another errno. The kernel waits for a
 * lock of the process here, which one that executes a program holds until it was read; a signal
 * breaks the wait off, and after the handler it begins again. So the handler does not return. It
 * may come when the thread has just been seized: only a thread that was can be interrupted.
 */
static int seize(pid_t tid)
{
	int r = 0;

	if (sigsetjmp(seize_over, 0))
		return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && errno == ESRCH ? ETIMEDOUT : 0;
	seize_ticks = SEIZE_TICKS;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		r = errno;
	seize_ticks = 0;
	/* Fails only when it has just died; the wait then finds its end. */
	if (!r)
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return r;
}

/*
 * Whether a process whose seizure was broken off waits for a program to be read. A single thread
 * that is ready to run is not waiting, only the machine is slow; of several threads, one may wait
 * for a program that never comes while another runs.
 */
static bool is_silent(const struct pp_step_status *status)
{
	return status->thread_cnt > 1 || status->state != 'R';
}

static enum pathprof_drop why_not_seized(struct pp_step_holder *holder,
					 const struct pp_step_target *target, int code)
{
	struct pp_step_status status;

	if ((code != EPERM && code != ETIMEDOUT) ||
	    pp_step_read_status(target->pid, target->tid, &status))
		return PATHPROF_DROP_GONE;
	if (code == ETIMEDOUT && !is_silent(&status))
		return PATHPROF_DROP_GONE;
	if (code == ETIMEDOUT) {
		pp_step_silent_add(holder->silent, target->pid, target->start_time, target->uid,
				   PP_STEP_SILENT_SEIZE, pp_monotonic_ns());
		return PATHPROF_DROP_SILENT;
	}
	if (status.tracer)
		return PATHPROF_DROP_TRACED;
	if (status.state == 'Z' || status.state == 'X')
		return PATHPROF_DROP_GONE;
	return PATHPROF_DROP_DENIED;
}

/* ---- system calls in the way */

static bool in_call(const struct user_regs_struct *regs)
{
	return (long)regs->orig_rax >= 0;
}

/* The kernel will start this call again, or hand -EINTR to a handler, once it is let go. */
static bool restart_pending(const struct user_regs_struct *regs)
{
	long result = (long)regs->rax;

	return in_call(regs) && (result == -EINTR || (result <= -KERNEL_ERESTARTSYS &&
						      result >= -KERNEL_ERESTART_RESTARTBLOCK));
}

/*
 * A call with time left goes on by another one, restart_syscall, which a filter may kill for: so
 * under a filter it is begun again itself.
 */
static bool needs_other_restart(const struct pp_step_target *target,
				const struct user_regs_struct *regs)
{
	struct pp_step_status status;

	return (long)regs->rax == -KERNEL_ERESTART_RESTARTBLOCK &&
	       regs->orig_rax != SYS_restart_syscall &&
	       !pp_step_read_status(target->pid, target->tid, &status) &&
	       status.seccomp == SECCOMP_MODE_FILTER;
}

/*
 * Some calls (epoll_wait, sigtimedwait, semop, ...) return EINTR whenever the thread is woken for
 * a signal, and our interrupt looks like one. Turned into the kernel's own code, the kernel decides
 * once target goes on: it hands EINTR to a handler if there is one to run, else starts the call
 * again. Done over it waits for its whole time again, but it had only just begun: the thread was
 * running when it was seized. Not close: it has closed.
 */
static void restart_call(struct pp_step_holder *holder, const struct pp_step_target *target)
{
	struct user_regs_struct regs;
	bool broken_off;

	if (ptrace(PTRACE_GETREGS, target->tid, NULL, &regs) || !in_call(&regs) ||
	    regs.cs != USER_CS_64)
		return;
	broken_off = (long)regs.rax == -EINTR && regs.orig_rax != SYS_close;
	if (!broken_off && !needs_other_restart(target, &regs))
		return;
	regs.rax = (unsigned long long)-KERNEL_ERESTARTNOHAND;
	if (!ptrace(PTRACE_SETREGS, target->tid, NULL, &regs))
		holder->restarts++;
}

/* ---- at the first stop */

static enum pathprof_drop check_registers(const struct user_regs_struct *regs)
{
	if (regs->cs != USER_CS_64)
		return PATHPROF_DROP_32BIT;
	/* It steps itself. */
	if (regs->eflags & EFLAGS_TF)
		return PATHPROF_DROP_TRACED;
	return restart_pending(regs) ? PATHPROF_DROP_GONE : PP_STEP_HELD;
}

/*
 * The trap after a step is a forced SIGTRAP: to a thread that blocks SIGTRAP the kernel would
 * unblock it and reset the process' handler to the default, for good.
 */
static int open_sigtrap(struct pp_step_holder *holder, struct pp_step_target *target)
{
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, target->tid, sizeof(mask), &mask))
		return -errno;
	target->sigmask = mask;
	if (!(mask & PP_STEP_SIGNAL_BIT(SIGTRAP)))
		return 0;
	mask &= ~PP_STEP_SIGNAL_BIT(SIGTRAP);
	pp_step_publish_harms(&holder->pin, true);
	if (ptrace(PTRACE_SETSIGMASK, target->tid, sizeof(mask), &mask))
		return -errno;
	target->mask_changed = true;
	return 0;
}

/* Whether a SIGTRAP waits for this very thread. If in doubt, one does. */
static bool trap_pending(const struct pp_step_target *target)
{
	struct __ptrace_peeksiginfo_args first = {.nr = 1};
	struct pp_step_status status;
	siginfo_t info;

	if (ptrace(PTRACE_PEEKSIGINFO, target->tid, &first, &info) == 0)
		return false;
	return pp_step_read_status(target->pid, target->tid, &status) ||
	       status.pending & PP_STEP_SIGNAL_BIT(SIGTRAP);
}

static enum pathprof_drop prepare(struct pp_step_holder *holder, struct pp_step_target *target)
{
	enum pathprof_drop drop;

	if (ptrace(PTRACE_GETREGS, target->tid, NULL, &target->regs))
		return PATHPROF_DROP_GONE;
	drop = check_registers(&target->regs);
	if (drop == PP_STEP_HELD && in_call(&target->regs))
		drop = PATHPROF_DROP_KERNEL;
	if (drop != PP_STEP_HELD)
		return drop;
	/* The last trap of a program that has just stopped stepping itself: ours would swallow it.
	 */
	if (trap_pending(target))
		return PATHPROF_DROP_TRACED;
	if (open_sigtrap(holder, target))
		return PATHPROF_DROP_GONE;
	pp_step_pin(&holder->pin, target);
	return PP_STEP_HELD;
}

/* Seizes a thread if it runs, for a call in its sleep could show an interrupt; or why not. */
static enum pathprof_drop seize_running(struct pp_step_holder *holder,
					struct pp_step_target *target)
{
	int r;

	pp_step_follow(&holder->pin, target);
	if (!pp_step_is_running(target->pid, target->tid))
		return PATHPROF_DROP_GONE;
	target->interrupted_ns = pp_monotonic_ns();
	target->released_ns = target->interrupted_ns;
	tick(true);
	r = seize(target->tid);
	if (!r)
		return PP_STEP_HELD;
	tick(false);
	return why_not_seized(holder, target, r);
}

enum pathprof_drop pp_step_catch(struct pp_step_holder *holder, struct pp_step_target *target)
{
	enum pathprof_drop drop = check(holder, target);
	enum pp_step_stop stop;
	int signal = 0;

	if (drop == PP_STEP_HELD)
		drop = seize_running(holder, target);
	if (drop != PP_STEP_HELD) {
		pp_step_unpin(&holder->pin, target);
		return drop;
	}
	stop = pp_step_wait(target, target->interrupted_ns + STOP_TIMEOUT_NS, &signal);
	target->stopped_ns = pp_monotonic_ns();
	/* Before our first step a trace trap can only be the target's own. */
	if (stop == PP_STEP_STOP_STEP) {
		stop = PP_STEP_STOP_SIGNAL;
		signal = SIGTRAP;
	}
	drop = stop == PP_STEP_STOP_GROUP ? PATHPROF_DROP_STOPPED : PATHPROF_DROP_GONE;
	if (stop == PP_STEP_STOP_OURS)
		drop = prepare(holder, target);
	if (drop != PP_STEP_HELD)
		pp_step_release(holder, target, stop, signal);
	return drop;
}

/* ---- letting go */

/*
 * A thread that executed a program has its process' number. It takes the place of the thread that
 * had it before, which has ended.
 */
static void enter_limbo(struct pp_step_limbo *limbo, const struct pp_step_target *target)
{
	uint32_t at = 0;

	while (at < limbo->cnt && limbo->targets[at].tid != target->tid)
		at++;
	if (at == PP_STEP_LIMBO_MAX)
		return;
	limbo->targets[at] = *target;
	limbo->cnt += at == limbo->cnt;
}

static bool is_stopped(enum pp_step_stop stop)
{
	return stop != PP_STEP_STOP_GONE && stop != PP_STEP_STOP_MOVED &&
	       stop != PP_STEP_STOP_DYING && stop != PP_STEP_STOP_LATE;
}

/*
 * A stop of the whole process is reported ahead of the trap that our last step has left: left
 * pending it would kill. So let target run into it. What it stopped at then.
 */
static enum pp_step_stop swallow_trap(const struct pp_step_target *target, enum pp_step_stop stop,
				      int *signal)
{
	uint64_t deadline_ns = pp_monotonic_ns() + STOP_TIMEOUT_NS;

	while ((stop == PP_STEP_STOP_OURS || stop == PP_STEP_STOP_GROUP) && trap_pending(target)) {
		if (ptrace(PTRACE_CONT, target->tid, NULL, NULL))
			return PP_STEP_STOP_DYING;
		stop = pp_step_wait(target, deadline_ns, signal);
	}
	return stop;
}

/* PTRACE_DETACH takes the trap flag back that PTRACE_SINGLESTEP has set. */
static bool detach(struct pp_step_holder *holder, struct pp_step_target *target,
		   enum pp_step_stop stop, int signal)
{
	if (stop != PP_STEP_STOP_GROUP)
		restart_call(holder, target);
	if (target->mask_changed)
		ptrace(PTRACE_SETSIGMASK, target->tid, sizeof(target->sigmask), &target->sigmask);
	return !ptrace(PTRACE_DETACH, target->tid, NULL, (long)signal);
}

/*
 * A thread that executes a program goes on under its process' number, still traced: unless it is
 * found there and let go, its parent never learns that it has ended. target is it then.
 */
static bool goes_on_by_exec(struct pp_step_target *target)
{
	if (target->tid == target->pid)
		return false;
	if (ptrace(PTRACE_INTERRUPT, target->pid, NULL, NULL) && errno == ESRCH)
		return false;
	target->tid = target->pid;
	return true;
}

/* Whether some target in limbo still has a trap of ours before it, or our mask. */
static bool limbo_is_harmed(const struct pp_step_limbo *limbo)
{
	for (uint32_t i = 0; i < limbo->cnt; i++)
		if (limbo->targets[i].stepped || limbo->targets[i].mask_changed)
			return true;
	return false;
}

/* Publishes a thread in limbo whose debug registers are set, now that none is held. */
static void publish_registers(struct pp_step_holder *holder)
{
	const struct pp_step_limbo *limbo = &holder->limbo;
	uint32_t i = 0;

	while (i < limbo->cnt && (limbo->targets[i].breaks.kind != PP_STEP_BREAK_PTRACE ||
				  !limbo->targets[i].breaks.cnt))
		i++;
	if (i < limbo->cnt)
		pp_step_publish_armed(&holder->pin, &limbo->targets[i]);
	else
		pp_step_publish_disarmed(&holder->pin);
}

static void let_go(struct pp_step_holder *holder, struct pp_step_target *target,
		   enum pp_step_stop stop, int signal)
{
	/*
	 * Debug registers can be written while it is stopped only, perf's breakpoints always go.
	 * One in a call is to stop behind it.
	 */
	if (is_stopped(stop) || (target->breaks.kind == PP_STEP_BREAK_PERF &&
				 !(target->in_call && stop == PP_STEP_STOP_LATE)))
		pp_step_break_close(&target->breaks);
	if (target->stepped) {
		tick(true);
		stop = swallow_trap(target, stop, &signal);
	}
	tick(false);
	pp_step_unpin(&holder->pin, target);
	target->released_ns = pp_monotonic_ns();
	if (stop == PP_STEP_STOP_GONE || (stop == PP_STEP_STOP_MOVED && !goes_on_by_exec(target)))
		return;
	if (is_stopped(stop) && detach(holder, target, stop, signal))
		return;
	enter_limbo(&holder->limbo, target);
}

void pp_step_release(struct pp_step_holder *holder, struct pp_step_target *target,
		     enum pp_step_stop stop, int signal)
{
	let_go(holder, target, stop, signal);
	publish_registers(holder);
	pp_step_publish_harms(&holder->pin, limbo_is_harmed(&holder->limbo));
}

/* Breaks a call off that sleeps only since it was left alone. */
static void break_off(struct pp_step_target *target)
{
	if (!target->again || !pp_step_is_asleep(target))
		return;
	ptrace(PTRACE_INTERRUPT, target->tid, NULL, NULL);
	target->again = false;
}

void pp_step_poll_limbo(struct pp_step_holder *holder)
{
	struct pp_step_limbo *limbo = &holder->limbo;

	for (uint32_t i = limbo->cnt; i-- > 0;) {
		struct pp_step_target target = limbo->targets[i];
		int signal = 0;
		enum pp_step_stop stop = pp_step_wait(&target, 0, &signal);

		if (stop == PP_STEP_STOP_LATE) {
			break_off(&limbo->targets[i]);
			continue;
		}
		limbo->targets[i] = limbo->targets[--limbo->cnt];
		if (stop == PP_STEP_STOP_STEP && !target.stepped)
			signal = SIGTRAP;
		pp_step_release(holder, &target, stop, signal);
	}
}

/*
 * Whether our end would leave target as it was. The kernel then lets it go, but takes nothing back:
 * neither the trap flag of a step, nor debug registers, nor what was opened in its signal mask. So
 * one that has any of these is waited for. One that only ran to breakpoints of perf, which are
 * closed by now, may be left in its sleep: awake it would have stopped for us by now, and a trap of
 * ours that it had not taken yet would kill it.
 */
static bool may_be_left(const struct pp_step_target *target)
{
	struct pp_step_status status;

	if (target->single || target->mask_changed || target->breaks.cnt)
		return false;
	if (pp_step_read_status(target->pid, target->tid, &status))
		return true;
	return (status.state == 'D' || status.state == 'S') &&
	       !(status.pending & PP_STEP_SIGNAL_BIT(SIGTRAP));
}

bool pp_step_may_leave(struct pp_step_limbo *limbo)
{
	for (uint32_t i = 0; i < limbo->cnt; i++) {
		struct pp_step_target *target = &limbo->targets[i];

		if (target->breaks.kind == PP_STEP_BREAK_PERF)
			pp_step_break_close(&target->breaks);
		if (!may_be_left(target))
			return false;
	}
	return true;
}
