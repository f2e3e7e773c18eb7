/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Weights by path, in several columns at once: a column is one way of taking the same profile (a
 * number of windows, a weighting), so that all of them are compared with the truth after one pass.
 *
 * Workload: up to some hundred thousand paths, some hundred million additions to a few columns of
 * one path. No removal. One owner, no locking. A column holds weights at or above zero.
 *
 * Overlap is EOPP 5.5: the sum over paths of the smaller of both normalised weights, 0..1.
 */
#ifndef LAB_COLLECT_PROFILE_H
#define LAB_COLLECT_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

struct lab_path_key {
	uint64_t start;
	uint32_t length, outcomes;
};

struct lab_profile {
	struct lab_path_key *keys; /* [cnt], in the order they came */
	double *weights;           /* column_cnt a key */
	size_t cnt, room, column_cnt;
	struct pp_table numbers;
};

/* Exits with a message without memory, as everything here does. column_cnt at least 1. */
void lab_profile_init(struct lab_profile *p, size_t column_cnt);
void lab_profile_release(struct lab_profile *p);
/* Forgets all, and keeps the memory. */
void lab_profile_clear(struct lab_profile *p);
/* The columns of this path, added as zeros when new; valid until the next call. */
double *lab_profile_at(struct lab_profile *p, const struct lab_path_key *key);
/* NULL: not in it. */
const double *lab_profile_find(const struct lab_profile *p, const struct lab_path_key *key);
double lab_profile_total(const struct lab_profile *p, size_t column);
/* Each column becomes the sum of itself and those before it, within every run of run_cnt. */
void lab_profile_cumulate(struct lab_profile *p, size_t run_cnt);
/* 0..1. Two empty columns overlap by 1, an empty and another by 0. */
double lab_profile_overlap(const struct lab_profile *a, size_t a_column,
			   const struct lab_profile *b, size_t b_column);

#endif
