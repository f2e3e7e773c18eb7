/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common part of the experiments of RPS section 5: one pass over a trace with several
 * compressors at once, their errors and messages at given points, and the cost of a message.
 */
#ifndef LAB_EXPERIMENT_RPS_H
#define LAB_EXPERIMENT_RPS_H

#include "experiment.h"

#define LAB_RPS_SAMPLERS_MAX 8
#define LAB_RPS_POINTS_MAX   96

/* RPS 5.3.2: interrupt and bookkeeping, a message. */
#define LAB_RPS_CYCLES_A_MESSAGE 30.0
/*
 * Cycles of an instruction, to turn messages into overhead. The paper simulates a 4-wide machine
 * and does not say; its own figures (3.5 % for 16 M events at rate 256 in 70 M instructions) come
 * to some 0.77, an IPC of 1.3. At 1.0 all our overheads are in proportion to the instructions.
 */
#define LAB_RPS_CYCLES_AN_INSTRUCTION 1.0

/* An event's tuple; false: it has none. */
typedef bool lab_rps_tuple_fn(const struct pathprof_trace_event *event, uint64_t *ret_pc,
			      uint64_t *ret_word);
/* (address of a load, loaded value), RPS 5.1 */
lab_rps_tuple_fn lab_rps_load;
/* (branch, where it went) and (call, callee) at once, told apart by a tag, RPS 5.7 */
lab_rps_tuple_fn lab_rps_edge_or_call;

struct lab_rps_plan {
	lab_rps_tuple_fn *tuple;
	const char *const *samplers;
	size_t sampler_cnt;
	uint64_t step_events; /* between points ... */
	uint64_t end_events;  /* ... and up to here, or where the trace ends */
	bool errors;          /* false: messages alone, without the memory of a profile */
};

struct lab_rps_point {
	uint64_t event_cnt, insn_cnt;
	double error[LAB_RPS_SAMPLERS_MAX]; /* per cent */
	uint64_t message_cnt[LAB_RPS_SAMPLERS_MAX];
};

/* Lies in shared memory: no pointers. */
struct lab_rps_result {
	size_t point_cnt;
	struct lab_rps_point points[LAB_RPS_POINTS_MAX];
};

/* All instructions of the program are counted, not only those that bring tuples. At the last point
 * second-level tables are flushed, as at the end of a profile. */
void lab_rps_measure(const struct pathprof_trace *trace, const struct lab_rps_plan *plan,
		     struct lab_rps_result *ret_result);

/* Per cent. */
double lab_rps_overhead(const struct lab_rps_point *point, size_t sampler);
const struct lab_rps_point *lab_rps_last(const struct lab_rps_result *result);
/* Over the points beyond from_events, the mean error; NaN when there are none. */
double lab_rps_mean_error(const struct lab_rps_result *result, size_t sampler,
			  uint64_t from_events);

/* Tables of a row a point, labelled in millions of events. */
struct lab_table *lab_rps_error_table(const char *name, const char *title,
				      const struct lab_rps_plan *plan,
				      const struct lab_rps_result *result, uint64_t end_events);
struct lab_table *lab_rps_overhead_table(const char *name, const char *title,
					 const struct lab_rps_plan *plan,
					 const struct lab_rps_result *result);

#endif
