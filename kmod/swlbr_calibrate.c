// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Debug traps of our own, in a stretch of code that does nothing else, with interrupts off. The
 * fastest of a few rounds counts: the others were interrupted by NMIs, or by whoever runs this
 * virtual machine.
 */
#include "swlbr_calibrate.h"

#include <linux/irqflags.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/time64.h>
#include <asm/processor-flags.h>

#define ROUNDS 8
#define LOOPS  64 /* two traps each, and one when the flag is cleared */

static DEFINE_PER_CPU(u32, expected); /* 1 in the stretch */
static DEFINE_PER_CPU(u32, seen);
static u32 trap_ns = 1;

bool pp_swlbr_calibrating(void)
{
	if (!this_cpu_read(expected))
		return false;
	this_cpu_inc(seen);
	return true;
}

/* The trap comes after the instruction that follows popf. */
static void run_stepped(void)
{
	unsigned long loops = LOOPS;

	asm volatile("pushfq\n\t"
		     "orq %[tf], (%%rsp)\n\t"
		     "popfq\n"
		     "1:\tdecq %[loops]\n\t"
		     "jnz 1b\n\t"
		     "pushfq\n\t"
		     "andq %[no_tf], (%%rsp)\n\t"
		     "popfq"
		     : [loops] "+r"(loops)
		     : [tf] "i"(X86_EFLAGS_TF), [no_tf] "i"(~X86_EFLAGS_TF)
		     : "cc", "memory");
}

static u32 round_ns(void)
{
	unsigned long flags;
	u64 begun_ns, spent_ns;
	u32 traps;

	local_irq_save(flags);
	this_cpu_write(seen, 0);
	this_cpu_write(expected, 1);
	begun_ns = local_clock();
	run_stepped();
	spent_ns = local_clock() - begun_ns;
	this_cpu_write(expected, 0);
	traps = this_cpu_read(seen);
	local_irq_restore(flags);
	return traps ? div_u64(spent_ns, traps) : U32_MAX;
}

void pp_swlbr_calibrate(void)
{
	u32 best_ns = U32_MAX;
	int i;

	for (i = 0; i < ROUNDS; i++)
		best_ns = min(best_ns, round_ns());
	trap_ns = clamp(best_ns, 1u, (u32)NSEC_PER_MSEC);
}

u32 pp_swlbr_trap_ns(void)
{
	return trap_ns;
}
