// SPDX-License-Identifier: GPL-2.0-or-later
/* The kinds of housekeeping are numbered, not a bit each (5.18 and later). */
#include <linux/sched/isolation.h>

bool probe(int cpu);
bool probe(int cpu)
{
	return housekeeping_test_cpu(cpu, HK_TYPE_DOMAIN);
}
