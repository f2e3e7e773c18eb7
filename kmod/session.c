// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Starting and stopping, in the order that lets nothing be used after it is gone. Workload: once in
 * the life of a reader. Locking: control.c's mutex; what handlers read is written before the first
 * event opens, and again only when the last has closed.
 */
#include "session.h"

#include <linux/cgroup.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "compat.h"
#include "events.h"
#include "governor.h"
#include "pipeline.h"
#include "stats.h"

struct pp_session pp_session;

static const struct pp_source_ops *const sources[] = {&pp_swlbr_ops, &pp_lbr_ops};

static const struct pp_source_ops *find_source(u32 id)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sources); i++)
		if (sources[i]->id == id)
			return sources[i];
	return NULL;
}

static int check_start(const struct pathprof_kmod_start *start)
{
	if (start->version != PATHPROF_KMOD_VERSION || (start->flags & ~PATHPROF_START_FLAGS))
		return -EINVAL;
	if (!start->mode || (start->mode & ~(PATHPROF_MODE_RAW | PATHPROF_MODE_CHAIN)))
		return -EINVAL;
	if (start->budget_ppm > PATHPROF_BUDGET_MAX || start->ip_min > start->ip_max)
		return -EINVAL;
	if (!start->period || (start->period >> 63))
		return -EINVAL;
	if (memchr_inv(start->reserved, 0, sizeof(start->reserved)))
		return -EINVAL;
	return 0;
}

static void fill_defaults(struct pathprof_kmod_start *start)
{
	if (!start->budget_ppm)
		start->budget_ppm = PATHPROF_BUDGET_DEFAULT;
	if (!start->ip_max)
		start->ip_max = U64_MAX;
}

/* Groups are not many levels deep, and this is asked once a sample. */
static bool is_below(u64 cgroup)
{
	struct cgroup *at;
	bool found = false;

	rcu_read_lock();
	for (at = task_dfl_cgroup(current); at && !found; at = cgroup_parent(at))
		found = cgroup_id(at) == cgroup;
	rcu_read_unlock();
	return found;
}

bool pp_session_selects(u64 ip)
{
	const struct pathprof_kmod_start *start = &pp_session.start;

	if ((start->pid && start->pid != current->tgid) || ip < start->ip_min || ip > start->ip_max)
		return false;
	return !start->cgroup || is_below(start->cgroup);
}

bool pp_session_spares_cpu(int cpu)
{
	return pp_cpu_is_isolated(cpu) && !(pp_session.start.flags & PATHPROF_START_REALTIME);
}

u32 pp_session_spares(void)
{
	if (pp_session_spares_thread())
		return PATHPROF_STAT_SKIP_REALTIME;
	return pp_session_spares_cpu(raw_smp_processor_id()) ? PATHPROF_STAT_SKIP_ISOLATED : 0;
}

static void publish(const struct pathprof_kmod_start *start, const struct pp_source_ops *source)
{
	pp_session.start = *start;
	fill_defaults(&pp_session.start);
	pp_session.source = source;
	pp_session.init = find_get_pid(1);
	pp_governor_reset(pp_session.start.budget_ppm);
}

/* Everything up to the moment when nobody looks at the session any more. */
static void retire(void)
{
	pp_events_close();
	if (pp_session.source->settle)
		pp_session.source->settle();
	put_pid(pp_session.init);
	pp_session.init = NULL;
}

int pp_session_start(const struct pathprof_kmod_start *start)
{
	const struct pp_source_ops *source = find_source(start->source);
	int err;

	if (pp_session.source)
		return -EBUSY;
	err = source ? check_start(start) : -EINVAL;
	if (!err)
		err = source->check(start);
	if (!err)
		err = pp_pipeline_alloc(start);
	if (err)
		return err;
	publish(start, source);
	err = pp_events_open(&pp_session.start, source);
	if (err) {
		retire();
		pp_pipeline_free();
		pp_session.source = NULL;
	}
	return err;
}

void pp_session_drain(void)
{
	if (pp_session.source)
		pp_pipeline_drain_all();
}

int pp_session_set_budget(u32 budget_ppm)
{
	if (!pp_session.source || budget_ppm > PATHPROF_BUDGET_MAX)
		return -EINVAL;
	pp_session.start.budget_ppm = budget_ppm ? budget_ppm : PATHPROF_BUDGET_DEFAULT;
	pp_governor_set_budget(pp_session.start.budget_ppm);
	return 0;
}

void pp_session_stop(void)
{
	if (!pp_session.source)
		return;
	retire();
	pp_pipeline_drain_all();
	pp_pipeline_free();
	pp_session.source = NULL;
}
