/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The whole chain for one branch: its edge as a tuple through the compressor, its path through
 * the path stack into the hot path table. The home owns the loop over branches, the memory and
 * what becomes of the records.
 *
 * Any context, NMI included; the caller owns this CPU's state.
 */
#ifndef PP_CHAIN_H
#define PP_CHAIN_H

#include "pp_compress.h"
#include "pp_hpt.h"
#include "pp_path_stack.h"

struct pp_chain_config {
	struct pp_compress_config compress;
	struct pp_path_config path;
	struct pp_hpt_config hpt;
};

struct pp_chain {
	struct pp_path_stack stack;
	struct pp_hpt hpt;
	struct pp_compress compress;
};

/* Bits of pp_chain_step()'s result. */
#define PP_CHAIN_MESSAGE  1 /* *ret_message is filled */
#define PP_CHAIN_REPLACED 2 /* *ret_replaced is filled */

PP_INLINE __u32 pp_chain_step(struct pp_chain *c, const struct pp_chain_config *config,
			      const struct pp_branch *b, struct pp_message *ret_message,
			      struct pp_hpt_entry *ret_replaced)
{
	struct pp_tuple edge;
	struct pp_path path;
	__u32 out = 0;

	edge.pc = b->from;
	edge.word = b->next;
	if (pp_compress_step(&c->compress, &config->compress, &edge, ret_message))
		out |= PP_CHAIN_MESSAGE;
	if (pp_path_stack_step(&c->stack, &config->path, b, &path) &&
	    pp_hpt_step(&c->hpt, &config->hpt, path.start, path.desc, 1, ret_replaced))
		out |= PP_CHAIN_REPLACED;
	return out;
}

#endif
