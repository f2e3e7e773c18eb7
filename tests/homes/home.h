/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What the BPF program of this test and its user-space twin share: configuration, state, output.
 * Both sides are built with the kernel's table limits.
 */
#ifndef HOME_H
#define HOME_H

#include "pp_chain.h"
#include "pp_value_table.h"

#define HOME_WINDOW 32    /* branches, the most a branch stack holds */
#define HOME_SLICE  1024  /* branches a run of the program */
#define HOME_BATCH  65536 /* branches in the arrays at a time */

enum home_what {
	HOME_NOTHING = 0, /* the harness alone, for its cost */
	HOME_CHAIN = 1,
	HOME_VALUES = 2,
};

struct home_config {
	struct pp_chain_config chain;
	struct pp_tnv_config tnv;
	__u32 what;     /* enum home_what */
	__u32 first;    /* record where the next slice begins */
	__u64 spent_ns; /* written by the program */
};

struct home_state {
	struct pp_chain chain;
	struct pp_value_table values;
};

struct home_output {
	__u64 flags;
	struct pp_message message;
	struct pp_hpt_entry replaced;
};

#endif
