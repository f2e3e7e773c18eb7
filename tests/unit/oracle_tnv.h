/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A naive model of the TNV table (VP 3) and of convergent profiling (VP 6): a list that is sorted
 * anew at every execution, shares as fractions.
 */
#ifndef ORACLE_TNV_H
#define ORACLE_TNV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oracle_rule { ORACLE_ALWAYS, ORACLE_INCREASING, ORACLE_BOUNDED };

struct oracle_tnv_config {
	size_t size;
	uint64_t clear;
	enum oracle_rule rule;
	uint64_t converge, increase_ppm, decrease_ppm;
	uint64_t backoff, backoff_max;
	bool backoff_random;
	bool unstable_ties; /* a fault: a value that draws level overtakes */
	bool never_clears;  /* a fault */
};

struct oracle_value {
	uint64_t value, count;
};

struct oracle_tnv {
	struct oracle_tnv_config config;
	struct oracle_value list[64];
	size_t cnt;
	uint64_t executed, profiled, same, last;
	uint64_t since_clear, since_test;
	uint64_t invariance_ppm;
	uint64_t pause_left;   /* executions still passed over */
	uint64_t last_backoff; /* 0: none yet */
	uint64_t *random;      /* generator's state, the owner's */
};

void oracle_tnv_init(struct oracle_tnv *t, const struct oracle_tnv_config *config,
		     uint64_t *random);
/* true: it was profiled. */
bool oracle_tnv_step(struct oracle_tnv *t, uint64_t value);
/* A message of count executions. */
void oracle_tnv_add(struct oracle_tnv *t, uint64_t value, uint64_t count);
/* Share of the first `top` values, parts per million, rounded down. */
uint64_t oracle_tnv_invariance(const struct oracle_tnv *t, size_t top);

#endif
