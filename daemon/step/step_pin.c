/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ties a held thread and the stepper to one CPU for the length of a burst. Every step is two
 * wake-ups; on one CPU they are plain context switches, between two CPUs the idle one has to be
 * woken by an interrupt, which under virtualisation costs more than all the rest. The scheduler
 * always prefers the idle CPU, so only affinity helps. docs/stepping.md has figures and risks.
 *
 * Rules: the stepper moves to its target's CPU, before it seizes the target, unless it was started
 * with a mask that leaves this CPU out (CPUAffinity=, taskset). Only a thread that may run on every
 * CPU is tied to it; a narrower mask stays as it is. A thread is tied and untied while stopped, so
 * that it can neither fork nor clone in between and hand the narrow mask down; untied with a mask
 * of ones, which says "wherever the cpuset allows"; whoever else sets a mask meanwhile wins.
 *
 * On a busy machine the pair would also wait for its turn behind every other runnable thread, once
 * a step, a thousand times longer than the step. So the tied thread gets the highest nice value
 * meanwhile, where that is allowed; put back under the same rules.
 *
 * Source: sched_setaffinity(2), setpriority(2), whose PRIO_PROCESS is one thread on Linux.
 */
#include "step_engine.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE_BEST (-20)
#define CPU_MAX   PP_STEP_CPU_MAX
#define WORD_BITS PP_STEP_WORD_BITS
#define WORD_CNT  (CPU_MAX / WORD_BITS)

/* The C library's functions would fail on machines with more CPUs than a cpu_set_t holds. */
static int get_mask(pid_t tid, struct pp_step_mask *ret_mask)
{
	memset(ret_mask, 0, sizeof(*ret_mask));
	return syscall(SYS_sched_getaffinity, tid, sizeof(*ret_mask), ret_mask) < 0 ? -1 : 0;
}

static int set_mask(pid_t tid, const struct pp_step_mask *mask)
{
	return (int)syscall(SYS_sched_setaffinity, tid, sizeof(*mask), mask);
}

static int set_all(pid_t tid)
{
	struct pp_step_mask all;

	memset(&all, 0xff, sizeof(all));
	return set_mask(tid, &all);
}

static int set_one(pid_t tid, int cpu)
{
	struct pp_step_mask one = {{0}};

	one.words[cpu / WORD_BITS] = 1ul << (cpu % WORD_BITS);
	return set_mask(tid, &one);
}

static uint32_t count(const struct pp_step_mask *mask)
{
	uint32_t cnt = 0;

	for (size_t i = 0; i < WORD_CNT; i++)
		cnt += (uint32_t)__builtin_popcountl(mask->words[i]);
	return cnt;
}

static bool has(const struct pp_step_mask *mask, int cpu)
{
	return mask->words[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1;
}

static bool is_only(const struct pp_step_mask *mask, int cpu)
{
	return count(mask) == 1 && has(mask, cpu);
}

static void name(struct pp_step_hold *hold, const struct pp_step_target *target)
{
	hold->pid = target->pid;
	hold->tid = target->tid;
	hold->start_time = target->start_time;
}

static void publish(struct pp_step_hold *hold, const struct pp_step_target *target)
{
	name(hold, target);
	hold->cpu = target->cpu;
	hold->nice = target->nice;
	__atomic_store_n(&hold->pinned, 1, __ATOMIC_RELEASE);
}

void pp_step_publish_armed(struct pp_step_pin *pin, const struct pp_step_target *target)
{
	if (!pin->hold)
		return;
	name(pin->hold, target);
	__atomic_store_n(&pin->hold->armed, 1, __ATOMIC_RELEASE);
}

void pp_step_publish_disarmed(struct pp_step_pin *pin)
{
	if (pin->hold)
		__atomic_store_n(&pin->hold->armed, 0, __ATOMIC_RELEASE);
}

void pp_step_publish_busy(struct pp_step_pin *pin, const struct pp_step_target *target)
{
	if (!pin->hold)
		return;
	pin->hold->busy_pid = target->pid;
	pin->hold->busy_tid = target->tid;
	__atomic_store_n(&pin->hold->busy_ns, pp_monotonic_ns(), __ATOMIC_RELEASE);
}

void pp_step_publish_idle(struct pp_step_pin *pin)
{
	if (pin->hold)
		__atomic_store_n(&pin->hold->busy_ns, 0, __ATOMIC_RELEASE);
}

void pp_step_publish_harms(struct pp_step_pin *pin, bool harms)
{
	if (pin->hold)
		__atomic_store_n(&pin->hold->harms, harms, __ATOMIC_RELEASE);
}

static bool set_nice(pid_t tid, int nice)
{
	return !setpriority(PRIO_PROCESS, (id_t)tid, nice);
}

static void restore_mask(pid_t tid, int cpu)
{
	struct pp_step_mask mask;

	if (!get_mask(tid, &mask) && is_only(&mask, cpu))
		set_all(tid);
}

static void restore_nice(pid_t tid, int nice)
{
	errno = 0;
	if (getpriority(PRIO_PROCESS, (id_t)tid) == NICE_BEST && !errno)
		set_nice(tid, nice);
}

static void boost(struct pp_step_target *target, const struct pp_step_stat *stat)
{
	if (stat->policy == SCHED_OTHER || stat->policy == SCHED_BATCH)
		target->boosted = stat->nice != NICE_BEST && set_nice(target->tid, NICE_BEST);
}

static bool read_place(const struct pp_step_pin *pin, const struct pp_step_target *target,
		       struct pp_step_stat *ret_stat)
{
	return pin->enabled && !pp_step_read_stat(target->pid, target->tid, ret_stat) &&
	       ret_stat->cpu >= 0 && ret_stat->cpu < CPU_MAX;
}

void pp_step_pin_begin(struct pp_step_pin *pin)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);

	pin->confined = !get_mask(0, &pin->home) && online > 0 && count(&pin->home) < online;
}

static bool may_use(const struct pp_step_pin *pin, int cpu)
{
	return cpu >= 0 && cpu < CPU_MAX && (!pin->confined || has(&pin->home, cpu));
}

bool pp_step_go_to(struct pp_step_pin *pin, int cpu)
{
	if (!pin->enabled || pin->cpu_cnt < 2 || !may_use(pin, cpu) || set_one(0, cpu))
		return false;
	pin->moved = true;
	return true;
}

void pp_step_roam(struct pp_step_pin *pin)
{
	if (pin->moved && pin->confined)
		set_mask(0, &pin->home);
	else if (pin->moved)
		set_all(0);
	pin->moved = false;
}

void pp_step_follow(struct pp_step_pin *pin, const struct pp_step_target *target)
{
	struct pp_step_stat stat;

	if (read_place(pin, target, &stat))
		pp_step_go_to(pin, stat.cpu);
}

void pp_step_pin(struct pp_step_pin *pin, struct pp_step_target *target)
{
	struct pp_step_stat stat;
	struct pp_step_mask mask;
	bool ties;

	if (!read_place(pin, target, &stat) || get_mask(target->tid, &mask))
		return;
	ties = pin->cpu_cnt > 1 && count(&mask) == pin->cpu_cnt;
	target->nice = stat.nice;
	target->cpu = pp_step_go_to(pin, stat.cpu) && ties ? stat.cpu : -1;
	publish(pin->hold, target);
	if (target->cpu >= 0)
		target->pinned = !set_one(target->tid, stat.cpu);
	boost(target, &stat);
}

void pp_step_unpin(struct pp_step_pin *pin, struct pp_step_target *target)
{
	if (target->boosted)
		restore_nice(target->tid, target->nice);
	if (target->pinned)
		restore_mask(target->tid, target->cpu);
	if (pin->enabled)
		__atomic_store_n(&pin->hold->pinned, 0, __ATOMIC_RELEASE);
	pp_step_roam(pin);
	target->pinned = target->boosted = false;
}

void pp_step_free_stepper(pid_t stepper)
{
	struct pp_step_mask mask, own;

	if (!get_mask(stepper, &mask) && count(&mask) == 1 && !get_mask(0, &own))
		set_mask(stepper, &own);
}

void pp_step_unpin_orphan(const struct pp_step_hold *hold)
{
	struct pp_step_stat stat;

	bool pinned = __atomic_load_n(&hold->pinned, __ATOMIC_ACQUIRE);
	bool armed = __atomic_load_n(&hold->armed, __ATOMIC_ACQUIRE);

	if (!pinned && !armed)
		return;
	/* The process' start time, so that a reused number is left alone. */
	if (pp_step_read_stat(hold->pid, hold->pid, &stat) || stat.start_time != hold->start_time)
		return;
	if (armed)
		pp_step_break_clear_orphan(hold->tid);
	if (!pinned)
		return;
	restore_nice(hold->tid, hold->nice);
	if (hold->cpu >= 0 && hold->cpu < CPU_MAX)
		restore_mask(hold->tid, hold->cpu);
}
