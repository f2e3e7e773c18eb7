/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Value profiles of many instructions (VP 3): one TNV table for each profiled pc, in a table with
 * open addressing of bounded reach. When the reach is full the value is dropped and counted: a
 * bound on memory, never an error. Any context; the caller owns the table.
 */
#ifndef PP_VALUE_TABLE_H
#define PP_VALUE_TABLE_H

#include "pp_hash.h"
#include "pp_tnv.h"

#define PP_VALUE_TABLE_MAX   1024 /* slots, a power of two */
#define PP_VALUE_TABLE_REACH 8

struct pp_value_slot {
	__u64 pc; /* 0: free */
	struct pp_tnv tnv;
};

struct pp_value_table {
	struct pp_random random;
	__u64 dropped;
	__u32 scratch, pad; /* for PP_LAUNDER */
	struct pp_value_slot slot[PP_VALUE_TABLE_MAX];
};

/* t is all zeroes; seed: of the random back-offs. */
PP_INLINE void pp_value_table_init(struct pp_value_table *t, __u64 seed)
{
	pp_random_init(&t->random, seed);
}

PP_INLINE __u32 pp_value_table_find(const struct pp_value_table *t, __u64 pc)
{
	__u32 home = (__u32)pp_fold(pc * 0x9E3779B97F4A7C15ULL, 10), i, at;

	PP_NO_UNROLL
	for (i = 0; i < PP_VALUE_TABLE_REACH; i++) {
		at = (home + i) & (PP_VALUE_TABLE_MAX - 1);
		if (t->slot[at].pc == pc || !t->slot[at].pc)
			return at;
	}
	return PP_VALUE_TABLE_MAX;
}

/* The instruction at pc (not 0) produced value. 1: profiled; 0: paused or dropped. */
PP_INLINE __u32 pp_value_table_step(struct pp_value_table *t, const struct pp_tnv_config *config,
				    __u64 pc, __u64 value)
{
	__u32 at = pp_value_table_find(t, pc);
	struct pp_value_slot *slot;

	at = PP_LAUNDER(at, &t->scratch);
	if (at >= PP_VALUE_TABLE_MAX) {
		t->dropped++;
		return 0;
	}
	slot = &t->slot[PP_MASK(at, PP_VALUE_TABLE_MAX - 1)];
	slot->pc = pc;
	return pp_tnv_step(&slot->tnv, config, value, &t->random);
}

#endif
