/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A naive model of the TNV table (VP 3): a list that is sorted anew at every message. */
#ifndef ORACLE_TNV_H
#define ORACLE_TNV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oracle_tnv_config {
	size_t size;
	uint64_t clear;
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
	uint64_t profiled, since_clear;
};

void oracle_tnv_init(struct oracle_tnv *t, const struct oracle_tnv_config *config);
/* A message of count executions. */
void oracle_tnv_add(struct oracle_tnv *t, uint64_t value, uint64_t count);

#endif
