/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file between vmsteps.c and vmhorizon.c: a word an instruction, in the order of execution. */
#ifndef VM_STEPS_H
#define VM_STEPS_H

#include <stdint.h>

#define STEPS_KERNEL     ((uint64_t)1 << 63) /* a system call, or cpuid */
#define STEPS_BREAK      ((uint64_t)0)       /* a signal led elsewhere */
#define STEPS_ADDRESS(x) ((x) & ~STEPS_KERNEL)
#define STEPS_INSN_MAX   15 /* bytes */

#endif
