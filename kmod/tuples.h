/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A taken branch into the profiles of tuples (pp_tuples.h). Any context, NMI included; the caller
 * is busy with the tables.
 */
#ifndef PATHPROF_KMOD_TUPLES_H
#define PATHPROF_KMOD_TUPLES_H

#include <linux/build_bug.h>

#include "pp_tuples.h"
#include "tables.h"

static_assert(PP_PROFILE_EDGES == PATHPROF_PROFILE_EDGES, "one number a profile");
static_assert(PP_PROFILE_CALLS == PATHPROF_PROFILE_CALLS, "one number a profile");

/* Passes a message of the first level through the second, whose messages go into the ring. */
void pp_tuple_message(struct pp_tables *t, u64 tag, u64 from, u64 word, u32 count);

static __always_inline void pp_tuple_step(struct pp_tables *t,
					  const struct pp_compress_config *config,
					  const struct pp_tuple_plan *plan, u64 from, u64 to,
					  u32 kind)
{
	struct pp_compress *c = &t->chain.compress;
	u32 near, count;
	u64 word;

	if (!((plan->edges | plan->calls) >> kind & 1))
		return;
	near = pp_tuple_near(&c->hash, from, to);
	if (likely(plan->edges >> kind & 1)) {
		word = to | (u64)PATHPROF_PROFILE_EDGES << PP_CONTEXT_SHIFT;
		count = pp_tuple_sample(c, config, near ^ plan->edge_hash, from | plan->tag, word);
		if (unlikely(count))
			pp_tuple_message(t, plan->tag, from, word, count);
	}
	if (plan->calls >> kind & 1) {
		word = to | (u64)PATHPROF_PROFILE_CALLS << PP_CONTEXT_SHIFT;
		count = pp_tuple_sample(c, config, near ^ plan->call_hash, from | plan->tag, word);
		if (unlikely(count))
			pp_tuple_message(t, plan->tag, from, word, count);
	}
}

#endif
