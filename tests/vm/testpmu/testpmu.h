/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the test PMU and the programs that read its stacks must agree on (testpmu.c). Numbers only:
 * included in kernel and in user space.
 */
#ifndef VM_TESTPMU_H
#define VM_TESTPMU_H

#define TESTPMU_ENTRIES      0xff  /* config: entries a stack, 1 to 32 */
#define TESTPMU_NMI          0x100 /* deliver by an NMI to this CPU, from the timer */
#define TESTPMU_NMI_PAIR     0x200 /* ... that interrupts the other CPU of the pair */
#define TESTPMU_DIRTY        0x400 /* spoil each stack */
#define TESTPMU_BRANCH_BYTES 64    /* branch k begins at config1 + k * this */
#define TESTPMU_BRANCH_LEAP  16    /* and goes that far */

#endif
