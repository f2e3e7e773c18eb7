// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Budget: a cost of c at a budget of b millionths keeps its CPU's source quiet for c * 10^6 / b
 * from when it was run up, so over any longer span the share spent is at most b.
 *
 * Workload: one question and one or two charges a sample. Locking: none, each CPU has its own; an
 * NMI source and an interrupt source never run at the same time. Budget and ceiling are written in
 * process context while samples read them: no reader needs the two to be of one change.
 */
#include "governor.h"

#include <linux/cpumask.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "pathprof/kmod_abi.h"
#include "stats.h"

#define SLICE_NS    NSEC_PER_SEC       /* the ceiling holds for each */
#define PAUSE_NS    (5 * NSEC_PER_SEC) /* after it was reached */
#define PPM         1000000u
#define CEILING_MAX 900000

static unsigned int ceiling_ppm = 250000;
module_param(ceiling_ppm, uint, 0644);
MODULE_PARM_DESC(ceiling_ppm, "most of a CPU's second in millionths, twice the budget at least; "
			      "who reaches it is held still for 5 seconds");

struct governor {
	u64 not_before_ns;
	u64 slice_ns;       /* when this slice began */
	u64 slice_spent_ns; /* in it */
	u64 paused_until_ns;
};

static DEFINE_PER_CPU(struct governor, governors);
static u32 budget;  /* millionths, never 0 in a session */
static u32 ceiling; /* likewise */

void pp_governor_set_budget(u32 budget_ppm)
{
	u32 limit = min_t(u32, max(READ_ONCE(ceiling_ppm), 2 * budget_ppm), CEILING_MAX);

	WRITE_ONCE(ceiling, limit);
	WRITE_ONCE(budget, budget_ppm);
}

void pp_governor_reset(u32 budget_ppm)
{
	int cpu;

	pp_governor_set_budget(budget_ppm);
	for_each_possible_cpu(cpu)
		memset(&per_cpu(governors, cpu), 0, sizeof(struct governor));
}

u32 pp_governor_refuses(u64 now_ns)
{
	const struct governor *governor = this_cpu_ptr(&governors);

	if ((s64)(now_ns - governor->paused_until_ns) < 0)
		return PATHPROF_STAT_SKIP_CEILING;
	if ((s64)(now_ns - governor->not_before_ns) < 0)
		return PATHPROF_STAT_SKIP_BUDGET;
	return 0;
}

u64 pp_governor_wait_ns(u64 now_ns)
{
	const struct governor *governor = this_cpu_ptr(&governors);
	u64 until_ns = max(governor->not_before_ns, governor->paused_until_ns);

	return until_ns > now_ns ? until_ns - now_ns : 0;
}

static void check_ceiling(struct governor *governor, u64 now_ns, u64 cost_ns)
{
	if (now_ns - governor->slice_ns >= SLICE_NS) {
		governor->slice_ns = now_ns;
		governor->slice_spent_ns = 0;
	}
	governor->slice_spent_ns += cost_ns;
	if (governor->slice_spent_ns <= div_u64(SLICE_NS * READ_ONCE(ceiling), PPM))
		return;
	governor->slice_spent_ns = 0;
	governor->paused_until_ns = now_ns + PAUSE_NS;
	pp_stats_inc(PATHPROF_STAT_CEILING_TRIPS);
}

void pp_governor_charge(u64 now_ns, u64 cost_ns)
{
	struct governor *governor = this_cpu_ptr(&governors);
	u64 from_ns = max(governor->not_before_ns, now_ns - min(cost_ns, now_ns));

	cost_ns = min_t(u64, cost_ns, SLICE_NS);
	governor->not_before_ns = from_ns + div_u64(cost_ns * PPM, READ_ONCE(budget));
	pp_stats_add(PATHPROF_STAT_SPENT_NS, cost_ns);
	check_ceiling(governor, now_ns, cost_ns);
}
