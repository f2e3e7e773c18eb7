/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware breakpoints on one held thread: up to four places where it stops before the instruction
 * there runs.
 *
 * Two holders. *perf*: four breakpoint events with `sigtrap`, which the kernel removes when their
 * descriptors are closed, so a killed stepper leaves none behind; they take Linux 5.13 and the
 * right to open perf events, or another process that has it (step_opener.h). *debug registers* of
 * the thread by ptrace, where perf is refused; a stepper that is killed leaves them set, and the
 * daemon clears them (step_pin.c's page says where). Registers that ptrace has written are none for
 * perf's events until their thread executes a program or ends: the kernel never gives them back,
 * and counts them as used on every CPU. So this holder leaves one of four alone, for whoever
 * watches a CPU. Measured on a virtual machine: 24 us a stop for either, 0.9 us to move a perf
 * breakpoint, 1.2 us to write a debug register, 5 us to open and close an event.
 *
 * One thread is held at a time; its stepper owns the state. No allocation.
 * Source: perf_event_open(2) (sigtrap, since Linux 5.13), ptrace(2) (PTRACE_POKEUSER).
 */
#ifndef PP_STEP_BREAK_H
#define PP_STEP_BREAK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PP_STEP_BREAK_MAX 4
/* The number of debug registers that are used where ptrace sets them. */
#define PP_STEP_BREAK_POKED 3

enum pp_step_break_kind {
	PP_STEP_BREAK_NONE, /* single steps only */
	PP_STEP_BREAK_PERF,
	PP_STEP_BREAK_PTRACE,
};

struct pp_step_break {
	enum pp_step_break_kind kind;
	pid_t tid;
	uint32_t cnt;                          /* breakpoints that can be set on this thread */
	uint64_t addresses[PP_STEP_BREAK_MAX]; /* as set; 0: none */
	int fds[PP_STEP_BREAK_MAX];            /* perf's, cnt of them */
	bool enabled[PP_STEP_BREAK_MAX];
};

/*
 * Keeps the kernel ready for breakpoints, for as long as this process lives: an event on itself
 * that counts nothing. Before the first event of any thread the kernel patches its scheduler and
 * waits for every CPU, 10 to 16 ms, in which a burst would hold its thread; a second after the last
 * one it takes the patch back. False: events are refused here.
 */
bool pp_step_break_keep_ready(void);
/* The best holder that works here, tried on a child; `from` and the kinds after it only. */
enum pp_step_break_kind pp_step_break_probe(enum pp_step_break_kind from);
/* Breakpoints for a stopped thread, none set yet. cnt is 0 where its registers are in use. */
void pp_step_break_open(struct pp_step_break *b, enum pp_step_break_kind kind, pid_t tid);
/* perf's on a thread, watching nothing yet, up to PP_STEP_BREAK_MAX; how many could be opened. */
uint32_t pp_step_break_open_events(pid_t tid, int *ret_fds);
/* Sets breakpoints at these places and no other; cnt <= b->cnt. False: the thread has gone. */
bool pp_step_break_set(struct pp_step_break *b, const uint64_t *addresses, uint32_t cnt);
/* Whether a SIGTRAP tells of a breakpoint of ours. */
bool pp_step_break_is_ours(const siginfo_t *info);
/* Takes all of them away; the thread is stopped, or (perf only) may be anywhere. */
void pp_step_break_close(struct pp_step_break *b);
/*
 * Whether perf's breakpoints, which this process opens itself, were refused several times for want
 * of rights, and are also on a child of its own: kernel.perf_event_paranoid was raised meanwhile.
 */
bool pp_step_break_is_refused(void);
/*
 * Clears the debug registers of a thread whose stepper was killed, by a process of its own, which
 * has half a second. A thread that sleeps longer where no interrupt reaches it keeps them.
 */
void pp_step_break_clear_orphan(pid_t tid);

#endif
