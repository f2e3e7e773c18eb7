/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time budget of each CPU. A source asks before it spends and says what it spent; from that
 * follows when it may go on. A hard ceiling stands behind: what spends more than that within a
 * second is held still for a while, whatever the budget's arithmetic says.
 *
 * Functions without another context: this CPU, interrupts off or NMI; times are local_clock().
 */
#ifndef PATHPROF_KMOD_GOVERNOR_H
#define PATHPROF_KMOD_GOVERNOR_H

#include <linux/types.h>

/* For a new session, on no CPU in particular; nothing runs. */
void pp_governor_reset(u32 budget_ppm);

/*
 * Samples may come meanwhile; process context, one caller at a time. A CPU goes on owing what it
 * owes, and a sample under way is charged by either budget.
 */
void pp_governor_set_budget(u32 budget_ppm);

/* 0, or which PATHPROF_STAT_SKIP_* is why not. */
u32 pp_governor_refuses(u64 now_ns);

/* How long until it may run again, 0 when it may now. */
u64 pp_governor_wait_ns(u64 now_ns);

void pp_governor_charge(u64 now_ns, u64 cost_ns);

#endif
