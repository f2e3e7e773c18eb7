/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much CPU time may be taken by work that others ask for: the tracker's, and answers at the
 * socket (outlet.h). Others decide how much the tracker is told: a process that maps and unmaps
 * code without end makes as many events as there is CPU time to make them. So the tracker has an
 * account of CPU time, which fills at a fixed share of real time, up to what is worth saving for a
 * busy moment. Work begins only while something is left; a single read of /proc
 * may overdraw the account, and is paid back before the next. Work is also cut into slices so that
 * the event loop gets its turn. A slice is real time: where many processes want a CPU, 10 ms of CPU
 * time would keep the loop from its timers for a tenth of a second.
 *
 *   share      a twentieth of one CPU, or a hundredth of all, whichever is more; half a CPU at most
 *   saved      a fifth of a second
 *   slice      10 ms, of real time
 *
 * Reads of /proc that an answer needs may go on where events may not: into a debt of
 * PP_PACE_DEBT_NS. A flood of events leaves them that much.
 *
 * One owner. Times are CLOCK_MONOTONIC, what is spent is CPU time of the calling thread.
 */
#ifndef PP_PACE_H
#define PP_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PP_PACE_SAVED_NS 200000000ll
#define PP_PACE_SLICE_NS 10000000ull
#define PP_PACE_DEBT_NS  100000000ll

struct pp_pace {
	uint64_t filled_ns;  /* until when the account was filled */
	int64_t left_ns;     /* below 0: in debt */
	uint64_t share_ppm;  /* of one CPU */
	uint64_t spent_ns;   /* since init */
	uint64_t started_ns; /* CPU time at the last pp_pace_start; 0: none is under way */
};

void pp_pace_init(struct pp_pace *pace, unsigned int cpu_cnt, uint64_t now_ns);
/* Fills the account, and returns what is in it. */
int64_t pp_pace_left(struct pp_pace *pace, uint64_t now_ns);
/* When `wanted_ns` will be in it if nothing is spent. */
uint64_t pp_pace_due(const struct pp_pace *pace, int64_t wanted_ns);
/* Takes what was spent from the account. */
void pp_pace_pay(struct pp_pace *pace, uint64_t spent_ns);

/*
 * From here to stop the time is paid for. Starts do not nest: an inner one returns false, and is
 * not stopped.
 */
bool pp_pace_start(struct pp_pace *pace);
void pp_pace_stop(struct pp_pace *pace);

#endif
