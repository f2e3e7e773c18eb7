// SPDX-License-Identifier: GPL-2.0-or-later
/* The tracepoint sched_switch ends in the state of the thread that is left (5.19 and later). */
#include <linux/sched.h>
#include <trace/events/sched.h>

static void on_switch(void *unused, bool preempt, struct task_struct *prev,
		      struct task_struct *next, unsigned int prev_state)
{
}

void probe(void);
void probe(void)
{
	check_trace_callback_type_sched_switch(on_switch);
}
