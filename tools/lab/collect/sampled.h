/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows drawn from a mix, and the shares that estimators make of them.
 *
 *     PLAIN     TIME and RUNS of a path follow its weight, n / (n - span)
 *     WEIGHTS   RUNS follow the weight, TIME follows weight * own instructions
 *     STRATA    pathprof_shares_work_out(): TIME of functions from clock samples as well
 *
 * Workload: up to 100,000 windows of some hundred branches; or a thousand of them, hundreds of
 * times over. One owner.
 */
#ifndef LAB_COLLECT_SAMPLED_H
#define LAB_COLLECT_SAMPLED_H

#include <stdbool.h>

#include "mix.h"
#include "pathprof/shares.h"

enum lab_sampled_estimator { LAB_SAMPLED_PLAIN, LAB_SAMPLED_WEIGHTS, LAB_SAMPLED_STRATA };

enum lab_sampled_column {
	LAB_SAMPLED_SAMPLES,
	LAB_SAMPLED_SQUARES, /* as in pathprof/profile.h */
	LAB_SAMPLED_WEIGHT,
	LAB_SAMPLED_INSNS,
	LAB_SAMPLED_BURST, /* the last window it was seen in, and how often there */
	LAB_SAMPLED_BURST_SAMPLES,
	LAB_SAMPLED_RUNS, /* shares, from the last lab_sampled_read() */
	LAB_SAMPLED_TIME,
	LAB_SAMPLED_INDEX, /* in shares.paths */
	LAB_SAMPLED_COLUMN_CNT,
};

/* One path of one window, to draw windows again from those drawn (bootstrap). */
struct lab_sighting {
	struct lab_path_key key;
	uint32_t window, insns;
	double weight;
};

struct lab_sampled {
	const struct lab_mix *mix;
	struct lab_window_form form;
	bool without_weights; /* a planted fault: each path counts once */
	struct lab_profile paths;
	uint64_t window_cnt, branch_cnt, insn_cnt;
	uint64_t decision_cnt; /* conditional branches and indirect transfers */
	uint64_t full_cnt;     /* windows that ended at PATHPROF_BURST_MAX branches */
	uint64_t state;        /* of the random numbers */
	bool keep;             /* sightings are kept */
	struct lab_sighting *sightings;
	size_t sighting_cnt, sighting_room;
	/* Filled in by lab_sampled_read(). */
	struct pathprof_shares shares; /* STRATA: all; else the values alone */
	double *function_time, *function_runs;
	size_t stream; /* private: of the window in hand */
};

void lab_sampled_init(struct lab_sampled *s, const struct lab_mix *mix,
		      const struct lab_window_form *form, uint64_t seed);
void lab_sampled_release(struct lab_sampled *s);
/* Forgets all windows but goes on with the random numbers. */
void lab_sampled_clear(struct lab_sampled *s);
void lab_sampled_take(struct lab_sampled *s, uint64_t window_cnt);
/* A path seen in a window; what lab_sampled_take() does for each. */
void lab_sampled_add(struct lab_sampled *s, const struct lab_sighting *sighting);
/* Works the shares out. clock[mix->function_cnt]: clock samples by function, of STRATA; else NULL.
 */
void lab_sampled_read(struct lab_sampled *s, enum lab_sampled_estimator estimator,
		      const uint64_t *clock);

/* Overlaps with the truth, 0..1, of the shares from the last lab_sampled_read(). */
double lab_sampled_overlap_runs(const struct lab_sampled *s);
double lab_sampled_overlap_time(const struct lab_sampled *s);
double lab_sampled_overlap_functions(const struct lab_sampled *s);

#endif
