/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The branch predictor of EOPP table 5.3: gshare (12 bits of history, 8 K counters) and bimodal
 * (8 K counters) under a chooser of 1 K counters, a return address stack of 32 and a branch target
 * buffer of 2 K entries in 4 ways.
 *
 * A misprediction is a conditional branch whose direction, or an indirect branch or return whose
 * target, was guessed wrong. The targets of direct branches are known once decoded and never count.
 * Chosen where the thesis is silent: counters of two bits start weakly not taken, the chooser
 * weakly with the bimodal side and moves only when both sides differ, tables are indexed by the
 * branch's address as it is, the buffer takes every taken branch but returns and replaces the least
 * recently used, the stack wraps around. Everything is updated as branches retire.
 *
 * Workload: once for every branch. One owner.
 */
#ifndef LAB_PREDICTOR_H
#define LAB_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/abi.h"

#define LAB_HISTORY_BITS   12
#define LAB_GSHARE_CNT     8192
#define LAB_BIMODAL_CNT    8192
#define LAB_CHOOSER_CNT    1024
#define LAB_RAS_CNT        32
#define LAB_TARGET_SETS    512
#define LAB_TARGET_WAYS    4
#define LAB_CALL_MAX_BYTES 15

struct lab_target {
	uint64_t from, target; /* from 0: empty */
};

struct lab_predictor {
	uint8_t gshare[LAB_GSHARE_CNT];                              /* 0..3, taken from 2 on */
	uint8_t bimodal[LAB_BIMODAL_CNT];                            /* likewise */
	uint8_t chooser[LAB_CHOOSER_CNT];                            /* gshare from 2 on */
	struct lab_target targets[LAB_TARGET_SETS][LAB_TARGET_WAYS]; /* most recent first */
	uint64_t ras[LAB_RAS_CNT];                                   /* addresses of calls */
	uint32_t ras_top, ras_depth;
	uint32_t history;
};

void lab_predictor_init(struct lab_predictor *predictor);
/* Predicts the branch, learns from it. true: it was mispredicted. */
bool lab_predictor_step(struct lab_predictor *predictor, const struct pathprof_branch *branch);

#endif
