// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact and estimated path profiles of one stream. */
#include "estimate.h"

#include <stdlib.h>

#include "../lab.h"

const uint32_t lab_levels[LAB_LEVEL_CNT] = {10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000};
const uint32_t lab_windows[LAB_WINDOW_CNT] = {16, 32, 64, 128};

void lab_truth_init(struct lab_truth *t)
{
	*t = (struct lab_truth){.taken_cnt = 0};
	lab_finder_init(&t->finder, PATHPROF_MAPPING_BL);
	lab_profile_init(&t->profile, LAB_TRUTH_CNT);
}

void lab_truth_release(struct lab_truth *t)
{
	lab_finder_release(&t->finder);
	lab_whole_release(&t->whole);
	lab_profile_release(&t->profile);
}

static void count_unseen(struct lab_truth *t, const struct lab_found *found)
{
	for (size_t i = 0; i < LAB_WINDOW_CNT; i++)
		t->unseen_cnt[i] += lab_found_places(found, lab_windows[i]) <= 0;
}

static void step_whole(struct lab_truth *t, const struct pathprof_branch *branch)
{
	struct lab_path_key key;

	if (!lab_whole_step(&t->whole, branch, &key))
		return;
	lab_profile_at(&t->profile, &key)[LAB_TRUTH_WHOLE]++;
	t->whole_cnt++;
}

void lab_truth_step(struct lab_truth *t, const struct pathprof_branch *branch, uint32_t insn_cnt)
{
	struct lab_found found;

	t->taken_cnt += branch->taken;
	t->insn_cnt += insn_cnt;
	t->branch_cnt++;
	step_whole(t, branch);
	if (!lab_finder_step(&t->finder, branch, insn_cnt, &found))
		return;
	double *weights = lab_profile_at(&t->profile, &found.key);

	weights[LAB_TRUTH_COUNT]++;
	weights[LAB_TRUTH_INSNS] += (double)found.events;
	t->path_cnt++;
	count_unseen(t, &found);
}

void lab_truth_tear(struct lab_truth *t)
{
	lab_finder_clear(&t->finder);
	lab_whole_clear(&t->whole);
}

double lab_truth_unobservable(const struct lab_truth *t, size_t window)
{
	uint64_t forgotten_cnt = t->whole_cnt - t->path_cnt;

	if (!t->whole_cnt)
		return 0;
	return (double)(t->unseen_cnt[window] + forgotten_cnt) / (double)t->whole_cnt;
}

static size_t level_of(uint32_t rank)
{
	size_t level = 0;

	while (level < LAB_LEVEL_CNT - 1 && rank >= lab_levels[level])
		level++;
	return level;
}

static void add(struct lab_estimate *e, const struct lab_path_key *key,
		enum lab_weighting weighting, double weight)
{
	lab_profile_at(&e->profile, key)[weighting * LAB_LEVEL_CNT + e->level] += weight;
}

static void add_seen(void *context, const struct pathprof_path_seen *path)
{
	struct lab_path_key key = {path->start, path->length, path->outcomes};

	add(context, &key, LAB_WEIGHT_PLAIN, 1);
	add(context, &key, LAB_WEIGHT_SPAN, path->weight);
}

static void add_refined(struct lab_estimate *e, const struct pathprof_branch *branches,
			uint32_t branch_cnt)
{
	struct lab_found found;

	lab_finder_clear(&e->finder);
	for (uint32_t i = 0; i < branch_cnt; i++) {
		if (!lab_finder_step(&e->finder, &branches[i], 1, &found))
			continue;
		int64_t places = lab_found_places(&found, e->taken_wanted);

		add(e, &found.key, LAB_WEIGHT_REFINED,
		    (double)e->taken_wanted / (double)(places > 0 ? places : 1));
	}
}

static void add_to_stitched(struct lab_estimate *e, const struct pathprof_branch *branches,
			    uint32_t branch_cnt)
{
	for (size_t o = 0; o < LAB_ORDER_CNT; o++)
		for (size_t l = e->level; l < LAB_LEVEL_CNT && e->stitched[o][l]; l++)
			if (pathprof_estimator_add(e->stitched[o][l], branches, branch_cnt) < 0)
				lab_fail("windows: out of memory");
}

static void take_window(void *context, uint32_t rank, const struct pathprof_branch *branches,
			uint32_t branch_cnt)
{
	struct lab_estimate *e = context;

	e->level = level_of(rank);
	if (pathprof_paths_of_burst(branches, branch_cnt, PATHPROF_MAPPING_BL, add_seen, e) < 0)
		lab_fail("windows: the trace holds a branch that cannot be");
	add_refined(e, branches, branch_cnt);
	add_to_stitched(e, branches, branch_cnt);
}

void lab_estimate_init(struct lab_estimate *e, enum lab_clock clock, uint32_t taken_wanted,
		       uint32_t window_cnt, const struct lab_truth *truth, uint64_t seed)
{
	uint64_t clock_end = clock == LAB_CLOCK_TAKEN ? truth->taken_cnt : truth->insn_cnt;

	*e = (struct lab_estimate){.clock = clock, .taken_wanted = taken_wanted};
	lab_finder_init(&e->finder, PATHPROF_MAPPING_BL);
	lab_profile_init(&e->profile, (size_t)LAB_WEIGHTING_CNT * LAB_LEVEL_CNT);
	lab_cutter_init(&e->cutter, window_cnt, clock_end ? clock_end : 1, taken_wanted, seed,
			take_window, e);
}

void lab_estimate_stitch(struct lab_estimate *e)
{
	for (uint32_t o = 0; o < LAB_ORDER_CNT; o++) {
		struct pathprof_estimator_settings settings = {.weighted = true, .order = o + 1};

		for (size_t l = 0; l < LAB_LEVEL_CNT; l++)
			if (pathprof_estimator_new(&e->stitched[o][l], &settings) < 0)
				lab_fail("windows: out of memory");
	}
}

void lab_estimate_release(struct lab_estimate *e)
{
	for (size_t o = 0; o < LAB_ORDER_CNT; o++)
		for (size_t l = 0; l < LAB_LEVEL_CNT; l++)
			pathprof_estimator_free(e->stitched[o][l]);
	lab_finder_release(&e->finder);
	lab_profile_release(&e->profile);
	lab_cutter_release(&e->cutter);
}

void lab_estimate_step(struct lab_estimate *e, const struct pathprof_branch *branch,
		       uint32_t insn_cnt)
{
	if (e->clock == LAB_CLOCK_INSNS) {
		e->clock_now += insn_cnt;
		lab_cutter_step(&e->cutter, branch, e->clock_now);
		return;
	}
	lab_cutter_step(&e->cutter, branch, e->clock_now + 1);
	e->clock_now += branch->taken;
}

void lab_estimate_tear(struct lab_estimate *e)
{
	lab_cutter_tear(&e->cutter);
}

void lab_estimate_finish(struct lab_estimate *e)
{
	lab_cutter_tear(&e->cutter);
	lab_profile_cumulate(&e->profile, LAB_LEVEL_CNT);
}

double lab_estimate_overlap(const struct lab_estimate *e, enum lab_weighting weighting,
			    size_t level, const struct lab_profile *truth,
			    enum lab_truth_column column)
{
	return lab_profile_overlap(&e->profile, weighting * LAB_LEVEL_CNT + level, truth, column);
}

double lab_estimate_stitched_overlap(const struct lab_estimate *e, uint32_t order, size_t level,
				     const struct lab_profile *truth, enum lab_truth_column column,
				     double *ret_unobservable)
{
	struct pathprof_estimate_summary summary;
	struct pathprof_estimated_path *paths;
	struct lab_profile profile;
	double overlap;
	size_t cnt;

	if (pathprof_estimator_read(e->stitched[order - 1][level], &paths, &cnt, &summary) < 0)
		lab_fail("windows: out of memory");
	lab_profile_init(&profile, 1);
	for (size_t i = 0; i < cnt; i++) {
		struct lab_path_key key = {paths[i].start, paths[i].length, paths[i].outcomes};

		lab_profile_at(&profile, &key)[0] += paths[i].weight;
	}
	overlap = lab_profile_overlap(&profile, 0, truth, column);
	lab_profile_release(&profile);
	free(paths);
	*ret_unobservable = summary.unobservable_share;
	return overlap;
}
