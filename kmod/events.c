// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events by CPU. Opening the first event with a branch stack takes the lock of CPU hotplug inside
 * perf, so nothing here may hold that lock meanwhile, nor a lock that hotplug callbacks take.
 * Hence no mutex between open() and the callbacks: whoever opens an event puts it into its CPU's
 * slot if that is empty, and closes it again if not. A CPU that comes while open() goes over them
 * may be served twice or by either; one that goes makes open() see -ENODEV.
 *
 * The callbacks open only while `attr_valid`, so after another CPU's event: perf has by then taken
 * its lock, and will not again.
 */
#include "events.h"

#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>

#include "pipeline.h"
#include "session.h"
#include "stats.h"

static DEFINE_PER_CPU(struct perf_event *, events);
static struct perf_event_attr attr;     /* constant while attr_valid */
static perf_overflow_handler_t handler; /* likewise */
static bool attr_valid;
static int hotplug_state;

static int open_on(u32 cpu)
{
	struct perf_event_attr own = attr;
	struct perf_event *event;

	if (pp_session_spares_cpu(cpu)) {
		pp_stats_inc(PATHPROF_STAT_SKIP_ISOLATED);
		return -ENODEV;
	}
	event = perf_event_create_kernel_counter(&own, cpu, NULL, handler, NULL);
	if (IS_ERR(event))
		return PTR_ERR(event);
	if (cmpxchg(per_cpu_ptr(&events, cpu), NULL, event))
		perf_event_release_kernel(event);
	return 0;
}

static void close_on(u32 cpu)
{
	struct perf_event *event = xchg(per_cpu_ptr(&events, cpu), NULL);

	if (event)
		perf_event_release_kernel(event);
}

/* A CPU that cannot have an event, or is spared, is not sampled; it comes up all the same. */
static int cpu_comes(unsigned int cpu)
{
	if (smp_load_acquire(&attr_valid))
		open_on(cpu);
	return 0;
}

static int cpu_goes(unsigned int cpu)
{
	close_on(cpu);
	pp_pipeline_leave_cpu();
	return 0;
}

int pp_events_init(void)
{
	hotplug_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "pathprof:events", cpu_comes,
						  cpu_goes);
	return hotplug_state < 0 ? hotplug_state : 0;
}

void pp_events_exit(void)
{
	cpuhp_remove_state_nocalls(hotplug_state);
}

int pp_events_open(const struct pathprof_kmod_start *start, const struct pp_source_ops *source)
{
	int cpu, err, opened = 0;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.sample_period = start->period;
	attr.pinned = 1;
	attr.exclude_hv = 1;
	attr.exclude_guest = 1; /* a virtual machine's branches are in no stack of the host's */
	attr.exclude_idle = 1;
	attr.exclude_kernel = 1;
	source->fill_attr(start, &attr);
	handler = source->sample;
	for_each_online_cpu(cpu) {
		err = open_on(cpu);
		if (err && err != -ENODEV)
			return err;
		opened += !err;
		/* Pairs with cpu_comes(). */
		smp_store_release(&attr_valid, opened > 0);
	}
	return opened ? 0 : -ENODEV;
}

void pp_events_close(void)
{
	int cpu;

	WRITE_ONCE(attr_valid, false);
	/* A callback that still saw it true is in its slot when hotplug is quiet. */
	cpus_read_lock();
	cpus_read_unlock();
	for_each_possible_cpu(cpu)
		close_on(cpu);
	synchronize_rcu();
}
