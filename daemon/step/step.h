/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages between the daemon and its stepper process. The stepper does all the ptrace work
 * so that a daemon that dies, however, leaves no thread with its trap flag set; docs/stepping.md
 * has the reasoning.
 *
 * Transport: one SOCK_SEQPACKET pair. Bursts (struct pathprof_burst and its branches), each behind
 * its thread's stack where that is wanted, and statistics go up, the configuration goes down; the
 * first one carries the descriptor of the hold page, and those of perf events may follow it, for a
 * service that gave up the right to open them. End of file on the socket ends the stepper.
 */
#ifndef PP_STEP_H
#define PP_STEP_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/abi.h"
#include "pathprof/profile.h"
#include "pathprof/unwind.h"
#include "../source.h"
#include "step_family.h"
#include "step_silent.h"

#define PP_STEP_VERSION 5
/* The longest window, in instructions. */
#define PP_STEP_HORIZON_MAX 8192

/* Lies where the first members of struct pathprof_burst do; type shares the place of source. */
struct pp_step_header {
	uint32_t size_bytes;
	uint16_t version;
	uint16_t type; /* PATHPROF_SOURCE_STEP: a burst; else PP_STEP_TYPE_* */
};
#define PP_STEP_TYPE_CONFIG 0x100
#define PP_STEP_TYPE_STATS  0x101
#define PP_STEP_TYPE_STACK  0x102

/* For tests: the stepper steps over pushf and popf as if they were harmless. */
#define PP_STEP_NO_LOOKAHEAD 1
/* For tests: as if perf_event_open were refused. */
#define PP_STEP_NO_PERF 2
/* For tests: single steps only; the thread's debug registers instead of perf's breakpoints. */
#define PP_STEP_NO_BREAK      4
#define PP_STEP_NO_PERF_BREAK 8

/* Threads of a real-time policy and on isolated CPUs are profiled, too. */
#define PP_STEP_REALTIME 16
/* The stack of each burst goes ahead of it. */
#define PP_STEP_STACKS 32

struct pp_step_config {
	struct pp_step_header header;
	int32_t only_pid;
	int32_t daemon_pid; /* never profiled */
	uint32_t taken_wanted;
	uint32_t overhead_ppm;
	uint32_t frequency_hz;
	uint32_t pin;
	uint32_t flags;
	uint32_t horizon;   /* instructions a burst; 0: taken_wanted */
	uint32_t event_cnt; /* in the first: descriptors of events that come after it */
	uint32_t hold_max_us;
};

/* Descriptors come so many a message of one byte; the kernel takes 253. */
#define PP_STEP_EVENTS_A_MESSAGE 128u

#define PP_STEP_SAMPLER_PERF 1
#define PP_STEP_SAMPLER_PROC 2

/* Chains of 10 to 30 frames take 1 to 8 KB; deeper ones are cut off. */
#define PP_STEP_STACK_BYTES PP_STACK_MAX_BYTES

/*
 * The registers of a thread as its burst began, by DWARF's numbers, and the top of its stack,
 * stack_bytes of it. The message ends there.
 */
struct pp_step_stack {
	struct pp_step_header header;
	uint32_t pid, tid;
	uint64_t time_ns; /* the burst's */
	uint64_t registers[PATHPROF_UNWIND_REGISTERS_CNT];
	uint64_t address;
	uint32_t stack_bytes, pad;
	uint8_t stack[PP_STEP_STACK_BYTES];
};

/* Running totals. The first one is the stepper's answer to its first configuration. */
struct pp_step_stats {
	struct pp_step_header header;
	uint32_t sampler;      /* PP_STEP_SAMPLER_*; 0 when there is none */
	int32_t error;         /* -errno: the stepper cannot run and has ended */
	uint32_t breaks;       /* enum pp_step_break_kind */
	uint32_t events_stale; /* some of the events that it was given were stopped for good */
	uint64_t samples, bursts, steps;
	uint64_t stopped_ns, cpu_ns;
	uint64_t burst_ns; /* price of a burst of late: target held, and CPU time */
	uint64_t restarts; /* system calls started again because our interrupt broke them off */
	uint64_t singles;  /* of the steps: by the trap flag */
	uint64_t drops[PATHPROF_DROP_CNT];
};

/*
 * The page both map, one a stepper. Written by the stepper alone, but for its last two members.
 *
 * Which thread the stepper has tied to one CPU, and the nice value it had before: read by the
 * daemon once the stepper is dead. `pinned` is stored last on the way in and first on the way out
 * (release; the reader's acquire is in step_pin.c).
 *
 * The work that the stepper is at: read by the daemon now and then, see step_watch.h. `busy_ns` is
 * stored last on the way in and first on the way out (release; the reader's acquire is in
 * step_watch.c).
 */
struct pp_step_hold {
	int32_t pid, tid;
	int32_t cpu; /* that it is tied to; -1: only its nice value is ours */
	int32_t nice;
	uint64_t start_time;
	uint32_t pinned;
	uint32_t armed; /* its debug registers are set; between two bursts: of one in limbo */

	uint64_t busy_ns; /* CLOCK_MONOTONIC when it turned to a thread; 0: to none */
	uint64_t due_ns;  /* CLOCK_MONOTONIC when it wakes by itself at the latest */
	int32_t busy_pid, busy_tid;
	uint32_t harms; /* killed now, it would leave a target with what kills it */
	uint32_t pad;
	struct pp_step_silent silent; /* begun by the daemon, before the stepper starts */
	struct pp_step_family family; /* written by both: see step_family.h */
};

_Static_assert(offsetof(struct pathprof_burst, source) == offsetof(struct pp_step_header, type),
	       "step: type");
_Static_assert(sizeof(struct pp_step_config) == 48, "step: config");
_Static_assert(offsetof(struct pp_step_stack, stack) == 176, "step: stack");
_Static_assert(sizeof(struct pp_step_stats) == 88 + 8 * PATHPROF_DROP_CNT, "step: stats");

/* The stepper process: returns its exit status when the socket fd reaches its end. */
int pp_step_main(int fd);

#endif
