/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Constants shared by the test PMU (testpmu.c) and the programs that read its stacks. Numbers only:
 * included in kernel and in user space.
 */
#ifndef VM_TESTPMU_H
#define VM_TESTPMU_H

#define TESTPMU_ENTRIES      0xff   /* config: entries a stack, 1 to 32 */
#define TESTPMU_NMI          0x100  /* deliver by an NMI to this CPU, from the timer */
#define TESTPMU_NMI_PAIR     0x200  /* ... that interrupts the other CPU of the pair */
#define TESTPMU_DIRTY        0x400  /* spoil each stack */
#define TESTPMU_GIVEN        0x800  /* stacks out of what was written to TESTPMU_FILE, in order */
#define TESTPMU_HOLE         0x1000 /* an address of the kernel in the middle of each stack */
#define TESTPMU_ANYWHERE     0x2000 /* wherever it strikes, the kernel included: a late overflow */
#define TESTPMU_BRANCH_BYTES 64     /* branch k begins at config1 + k * this */
#define TESTPMU_BRANCH_LEAP  16     /* and goes that far */

/*
 * Windows one behind the other, each as many branches as the event has entries, oldest first; when
 * they are used up the first comes again. A branch is two words:
 *
 *     from | cycles << 48,  to | PERF_BR_* << 48 | mispredicted << 60
 *
 * May be written, or emptied by opening it with O_TRUNC, while no event is open.
 */
#define TESTPMU_FILE  "/sys/kernel/debug/pathprof_testpmu"
#define TESTPMU_BYTES 16 /* a branch */

#endif
