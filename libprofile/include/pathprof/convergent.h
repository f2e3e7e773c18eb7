/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A convergent value profile of many sites (Calder, Feller, Eustace 1997), and beside it the full
 * one of the same executions, so that what convergence leaves out can be told. One object, one
 * thread. libprofile/core/pp_convergent.h says when a site converges.
 */
#ifndef PATHPROF_CONVERGENT_H
#define PATHPROF_CONVERGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PATHPROF_CONVERGENT_ENTRIES_MAX 16

struct pathprof_convergent;

struct pathprof_convergent_rules {
	uint32_t entries;  /* N of each table: even, 2..PATHPROF_CONVERGENT_ENTRIES_MAX */
	uint32_t clear;    /* clear interval, executions profiled, 1 or more */
	uint32_t interval; /* convergence interval, executions profiled, 1 or more */
	/* Profiling goes on while the invariance grows or falls by more, percent, 0..100. Of
	 * heuristic 1 they are 0 and 100. */
	uint32_t increase, decrease;
	uint32_t backoff; /* percent of the executions so far, 0..100000; 0: all are profiled */
	bool random;      /* back-offs are drawn from 0 to twice that */
	uint64_t seed;
};

struct pathprof_convergent_value {
	uint64_t value, count;
};

/* A TNV table, highest count first, and the executions that it was made of. */
struct pathprof_convergent_table {
	uint64_t profiled;
	uint32_t cnt;
	struct pathprof_convergent_value values[PATHPROF_CONVERGENT_ENTRIES_MAX];
};

struct pathprof_convergent_site {
	uint64_t site, executed;
	uint64_t same; /* executions with the value of the execution before */
	struct pathprof_convergent_table convergent, full;
};

/* -EINVAL for rules out of range, -ENOMEM. */
int pathprof_convergent_new(struct pathprof_convergent **ret_profile,
			    const struct pathprof_convergent_rules *rules,
			    struct pathprof_error *error);
void pathprof_convergent_free(struct pathprof_convergent *profile);
/* The site produced value. -ENOMEM. */
int pathprof_convergent_add(struct pathprof_convergent *profile, uint64_t site, uint64_t value);
/* Sites are numbered in the order in which they first came. */
uint32_t pathprof_convergent_cnt(const struct pathprof_convergent *profile);
void pathprof_convergent_read(const struct pathprof_convergent *profile, uint32_t number,
			      struct pathprof_convergent_site *ret_site);

/* How far the convergent profile is from the full one (section on metrics), shares, 0 to 1. */
struct pathprof_convergent_cost {
	uint64_t executed, profiled;
	/* |difference of the invariance of the top value, of the top N|, a site weighs its
	 * executions. */
	double diff_1, diff_n;
	/* The top value, the top N of the full table: how many of their executions are of a value
	 * that the convergent table has. Sites with a full Inv-1 above 30 %; NaN: there is none. */
	double find_1, find_n;
};
struct pathprof_convergent_cost pathprof_convergent_cost(const struct pathprof_convergent *profile);
/* The share that the first cnt values of a table take. */
double pathprof_convergent_invariance(const struct pathprof_convergent_table *table, uint32_t cnt);

#ifdef __cplusplus
}
#endif

#endif
