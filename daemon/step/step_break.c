/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Breakpoints on a held thread: see step_break.h. */
#include "step_break.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "step_opener.h"

#ifndef TRAP_PERF
#define TRAP_PERF 6
#endif
/* In si_perf_data, so that another's breakpoint event is not taken for ours. */
#define COOKIE 0x70617468u
/* A place where no code lies: an event has to watch something. */
#define NOWHERE 0x1000

#define DEBUG_REGISTER(n) offsetof(struct user, u_debugreg[n])
#define DR7_LOCAL(n)      (1ul << (2 * (n)))
#define ORPHAN_WAIT_MS    500
#define KILLED_WAIT_MS    200
/* One thread may be out of reach; of several in a row it is worth asking why. */
#define REFUSED_MAX 3

static unsigned int refused_cnt; /* in a row */

/* Head of the kernel's siginfo for TRAP_PERF, which older C libraries do not know. */
struct perf_siginfo {
	int signo, error, r, pad;
	uint64_t address;
	uint64_t data;
};

/* ---- perf */

static struct perf_event_attr attributes(uint64_t address, bool enabled)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(struct perf_event_attr),
		.sample_period = 1,
		.disabled = !enabled,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.remove_on_exec = 1,
		.sigtrap = 1,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = address,
		.bp_len = sizeof(long),
		.sig_data = COOKIE,
	};
}

static int perf_open(pid_t tid)
{
	struct perf_event_attr attr = attributes(NOWHERE, false);

	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

uint32_t pp_step_break_open_events(pid_t tid, int *ret_fds)
{
	uint32_t cnt = 0;

	while (cnt < PP_STEP_BREAK_MAX && (ret_fds[cnt] = perf_open(tid)) >= 0)
		cnt++;
	return cnt;
}

static uint32_t open_events_here(pid_t tid, int *ret_fds)
{
	uint32_t cnt = pp_step_break_open_events(tid, ret_fds);

	if (cnt)
		refused_cnt = 0;
	else if (errno == EACCES || errno == EPERM)
		refused_cnt++;
	return cnt;
}

bool pp_step_break_keep_ready(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	/* The descriptor stays open until the process ends. */
	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) >= 0;
}

static bool perf_move(struct pp_step_break *b, uint32_t i, uint64_t address)
{
	struct perf_event_attr attr = attributes(address, true);

	if (ioctl(b->fds[i], PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr))
		return false;
	if (!b->enabled[i] && ioctl(b->fds[i], PERF_EVENT_IOC_ENABLE, 0))
		return false;
	b->enabled[i] = true;
	return true;
}

static bool perf_disable(struct pp_step_break *b, uint32_t i)
{
	b->enabled[i] = false;
	return !ioctl(b->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

/* ---- debug registers */

static bool poke(pid_t tid, unsigned int number, uint64_t value)
{
	return !ptrace(PTRACE_POKEUSER, tid, DEBUG_REGISTER(number), value);
}

static uint64_t control_of(const struct pp_step_break *b)
{
	uint64_t control = 0;

	for (uint32_t i = 0; i < PP_STEP_BREAK_MAX; i++)
		control |= b->enabled[i] ? DR7_LOCAL(i) : 0;
	return control;
}

static bool poke_clear(pid_t tid)
{
	bool done = poke(tid, 7, 0);

	/* The registers stay ptrace's until the thread ends or executes; they watch nothing. */
	for (unsigned int i = 0; i < PP_STEP_BREAK_POKED; i++)
		done = poke(tid, i, 0) && done;
	return done;
}

/* All or none. */
static uint32_t poke_open(pid_t tid)
{
	for (unsigned int i = 0; i < PP_STEP_BREAK_POKED; i++)
		if (!poke(tid, i, NOWHERE)) {
			poke_clear(tid);
			return 0;
		}
	return PP_STEP_BREAK_POKED;
}

/* ---- both */

void pp_step_break_open(struct pp_step_break *b, enum pp_step_break_kind kind, pid_t tid)
{
	*b = (struct pp_step_break){.kind = kind, .tid = tid};
	if (kind == PP_STEP_BREAK_PTRACE)
		b->cnt = poke_open(tid);
	if (kind == PP_STEP_BREAK_PERF)
		b->cnt = pp_step_opener_is_used() ? pp_step_opener_ask(tid, b->fds)
						  : open_events_here(tid, b->fds);
}

static bool move(struct pp_step_break *b, uint32_t i, uint64_t address)
{
	if (b->enabled[i] && b->addresses[i] == address)
		return true;
	b->addresses[i] = address;
	if (b->kind == PP_STEP_BREAK_PERF)
		return perf_move(b, i, address);
	b->enabled[i] = true;
	return poke(b->tid, i, address);
}

static bool disable(struct pp_step_break *b, uint32_t i)
{
	if (!b->enabled[i])
		return true;
	if (b->kind == PP_STEP_BREAK_PERF)
		return perf_disable(b, i);
	b->enabled[i] = false;
	return true;
}

static bool is_wanted(uint64_t address, const uint64_t *addresses, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (addresses[i] == address)
			return true;
	return false;
}

static bool is_set(const struct pp_step_break *b, uint64_t address)
{
	for (uint32_t i = 0; i < b->cnt; i++)
		if (b->enabled[i] && b->addresses[i] == address)
			return true;
	return false;
}

/* An address that is set already stays in its register. */
bool pp_step_break_set(struct pp_step_break *b, const uint64_t *addresses, uint32_t cnt)
{
	uint64_t control = control_of(b);
	uint32_t next = 0;

	for (uint32_t i = 0; i < b->cnt; i++) {
		if (b->enabled[i] && is_wanted(b->addresses[i], addresses, cnt))
			continue;
		while (next < cnt && is_set(b, addresses[next]))
			next++;
		if (next < cnt ? !move(b, i, addresses[next]) : !disable(b, i))
			return false;
	}
	return b->kind != PP_STEP_BREAK_PTRACE || control == control_of(b) ||
	       poke(b->tid, 7, control_of(b));
}

bool pp_step_break_is_ours(const siginfo_t *info)
{
	struct perf_siginfo perf;

	if (info->si_code == TRAP_HWBKPT)
		return true;
	if (info->si_code != TRAP_PERF)
		return false;
	memcpy(&perf, info, sizeof(perf));
	return perf.data == COOKIE;
}

/* An event is disabled first: the opener may have it open yet, and a strike then would kill. */
static void perf_close(struct pp_step_break *b)
{
	for (uint32_t i = 0; i < b->cnt; i++) {
		if (b->enabled[i])
			perf_disable(b, i);
		close(b->fds[i]);
	}
}

void pp_step_break_close(struct pp_step_break *b)
{
	if (b->kind == PP_STEP_BREAK_PTRACE && b->cnt)
		poke_clear(b->tid);
	if (b->kind == PP_STEP_BREAK_PERF)
		perf_close(b);
	*b = (struct pp_step_break){.kind = b->kind};
}

/* ---- trying them out */

/* Waits for the child's next stop or end; false: there was none in time. */
static bool wait_for(pid_t pid, int timeout_ms, int *ret_status)
{
	struct timespec pause = {0, 1000000};

	for (int waited_ms = 0; waited_ms < timeout_ms; waited_ms++) {
		if (waitpid(pid, ret_status, __WALL | WNOHANG) == pid)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static void __attribute__((noinline)) landmark(void)
{
	__asm__ volatile("nop");
}

/*
 * A child that stops, executes the landmark, and stops again. A breakpoint that strikes stops it in
 * between; the second stop says that none did, however slow the machine is.
 */
static pid_t start_child(void)
{
	pid_t parent = getpid();
	pid_t child = fork();
	sigset_t none;

	if (child == 0) {
		/* perf's trap is not forced on a thread that blocks it. */
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent && !ptrace(PTRACE_TRACEME, 0, NULL, NULL)) {
			raise(SIGSTOP);
			landmark();
			raise(SIGSTOP);
		}
		_exit(0);
	}
	return child;
}

/* Whether the child's next stop is by this signal. A child that ended instead is not reaped here.
 */
static bool stops_by(pid_t child, int signal)
{
	siginfo_t info = {0};
	int r;

	do
		r = waitid(P_PID, (id_t)child, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL);
	while (r < 0 && errno == EINTR);
	return !r && info.si_code == CLD_TRAPPED && info.si_status == signal;
}

/* Sets a breakpoint at the landmark of a stopped child and sees whether it strikes there. */
static bool strikes(pid_t child, enum pp_step_break_kind kind)
{
	uint64_t address = (uint64_t)(uintptr_t)landmark;
	struct pp_step_break b;
	struct user_regs_struct regs;
	siginfo_t info;
	bool found = false;

	pp_step_break_open(&b, kind, child);
	if (b.cnt && pp_step_break_set(&b, &address, 1) &&
	    !ptrace(PTRACE_CONT, child, NULL, NULL) && stops_by(child, SIGTRAP))
		found = !ptrace(PTRACE_GETREGS, child, NULL, &regs) && regs.rip == address &&
			!ptrace(PTRACE_GETSIGINFO, child, NULL, &info) &&
			pp_step_break_is_ours(&info);
	pp_step_break_close(&b);
	return found;
}

static bool works(enum pp_step_break_kind kind)
{
	pid_t child = start_child();
	bool found;

	if (child < 0)
		return false;
	found = stops_by(child, SIGSTOP) && strikes(child, kind);
	kill(child, SIGKILL);
	while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	return found;
}

enum pp_step_break_kind pp_step_break_probe(enum pp_step_break_kind from)
{
	if (from <= PP_STEP_BREAK_PERF && works(PP_STEP_BREAK_PERF))
		return PP_STEP_BREAK_PERF;
	return works(PP_STEP_BREAK_PTRACE) ? PP_STEP_BREAK_PTRACE : PP_STEP_BREAK_NONE;
}

bool pp_step_break_is_refused(void)
{
	bool refused = refused_cnt >= REFUSED_MAX && !works(PP_STEP_BREAK_PERF);

	if (refused_cnt >= REFUSED_MAX)
		refused_cnt = 0;
	return refused;
}

/* ---- after a stepper that was killed */

/* The signal that a stopped thread is owed: none for our interrupt, or for a breakpoint of ours. */
static int owed_signal(pid_t tid, int status)
{
	siginfo_t info;

	if (status >> 16 == PTRACE_EVENT_STOP)
		return 0;
	if (WSTOPSIG(status) == SIGTRAP && !ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) &&
	    pp_step_break_is_ours(&info))
		return 0;
	return WSTOPSIG(status);
}

/* Runs in a child that may be killed: the kernel then lets the thread go, stopped or not. */
static _Noreturn void clear_and_exit(pid_t tid)
{
	int status;

	/* The daemon's files, locks and sockets are not ours to keep open. */
	close_range(0, ~0u, 0);
	if (!ptrace(PTRACE_SEIZE, tid, NULL, NULL) && !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) &&
	    waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status)) {
		poke_clear(tid);
		ptrace(PTRACE_DETACH, tid, NULL, (long)owed_signal(tid, status));
	}
	_exit(0);
}

void pp_step_break_clear_orphan(pid_t tid)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		clear_and_exit(tid);
	if (child < 0 || wait_for(child, ORPHAN_WAIT_MS, &status))
		return;
	kill(child, SIGKILL);
	wait_for(child, KILLED_WAIT_MS, &status);
}
