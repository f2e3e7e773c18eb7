// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel says in one place which CPUs are isolated (6.4 and later). */
#include <linux/sched/isolation.h>

bool probe(int cpu);
bool probe(int cpu)
{
	return cpu_is_isolated(cpu);
}
