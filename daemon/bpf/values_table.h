/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TNV tables (VP 3), one a parameter, fed by a sampler's messages: the values that came most often
 * since the last clear.
 *
 * Workload: up to some 100,000 messages a second; read and cleared once a window. One owner.
 */
#ifndef PP_BPF_VALUES_TABLE_H
#define PP_BPF_VALUES_TABLE_H

#include <stdint.h>

#define PP_VALUES_TOP_MAX 16 /* N of VP */

struct pp_values_tables;

struct pp_values_top {
	uint64_t value, count;
};

/* rate: executions that the sampler sends one message for. -ENOMEM. */
int pp_values_tables_new(struct pp_values_tables **ret_tables, uint32_t place_cnt, uint32_t rate);
/* NULL-safe. */
void pp_values_tables_free(struct pp_values_tables *tables);

/* Adds count (at least 1) executions with this value at a place below place_cnt. */
void pp_values_tables_add(struct pp_values_tables *tables, uint32_t place, uint64_t value,
			  uint64_t count);
/* Returns the number of values, highest count first. *ret_profiled: executions added in all. */
uint32_t pp_values_tables_read(const struct pp_values_tables *tables, uint32_t place,
			       struct pp_values_top ret_tops[PP_VALUES_TOP_MAX],
			       uint64_t *ret_profiled);
void pp_values_tables_clear(struct pp_values_tables *tables);

#endif
