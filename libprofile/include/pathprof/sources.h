/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The branch sources, a row each, best first: what Source=auto tries in this order. The daemon
 * opens them (daemon/source.h), pathprofctl says which of them can run here.
 */
#ifndef PATHPROF_SOURCES_H
#define PATHPROF_SOURCES_H

/* The requirements of a source. */
#define PATHPROF_NEEDS_MODULE       1u /* the kernel module, loaded */
#define PATHPROF_NEEDS_BRANCH_STACK 2u /* of the processor, as perf events have it */
#define PATHPROF_NEEDS_BPF          4u /* the same on every CPU, and the right to load BPF programs */
#define PATHPROF_NEEDS_PTRACE       8u /* the right to step the threads of others */

/*
 * A row: X, whose operations are pp_source_X; the name in settings and options; its requirements; a
 * description in a few words; a sentence for the settings' file.
 */
#define PATHPROF_SOURCES(ROW)                                                                      \
	ROW(kmod_lbr, "kmod-lbr", PATHPROF_NEEDS_MODULE | PATHPROF_NEEDS_BRANCH_STACK,             \
	    "branch stack by hardware", "the processor's branch stack, by the kernel module.")     \
	ROW(bpf, "bpf", PATHPROF_NEEDS_BPF, "branch stack by hardware, counted in the kernel",     \
	    "the same where no module may be loaded.")                                             \
	ROW(kmod_swlbr, "kmod-swlbr", PATHPROF_NEEDS_MODULE,                                       \
	    "branches by debug traps, in the kernel",                                              \
	    "the kernel module takes a thread through its next branches by debug traps.")          \
	ROW(step, "step", PATHPROF_NEEDS_PTRACE, "branches by ptrace",                             \
	    "holds a running thread for a moment and steps through it (ptrace).")

/* For texts of help: their names, a blank before each. */
#define PATHPROF_SOURCE_NAME_(id, name, needs, what, help) " " name
#define PATHPROF_SOURCE_NAMES                              PATHPROF_SOURCES(PATHPROF_SOURCE_NAME_)

#endif
