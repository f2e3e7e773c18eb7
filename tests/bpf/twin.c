// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The collector's steps in user space: the same text as in BPF, over a state of its own, and a ring
 * that is full when a kernel's would be.
 *
 * Workload: collect_check.h. One state, one owner.
 */
#include "collect_check.h"

#include <errno.h>
#include <string.h>

#include "../../daemon/bpf/collect_prepare.h"

#define RING_HEAD 8 /* bytes before a record in the kernel's ring */

struct twin_side twin_side;
static struct pp_collect_config pp_collect_config;

static struct pp_collect_state *pp_collect_mine(void)
{
	return &twin_side.state;
}

static long pp_collect_output(void *record, __u64 size)
{
	uint64_t taken = (size + RING_HEAD + 7) / 8 * 8;

	if (twin_side.ring_bytes + taken > RING_BYTES - 1)
		return -EAGAIN;
	twin_side.ring_bytes += taken;
	memcpy(twin_side.records + twin_side.record_bytes, record, size);
	twin_side.record_bytes += size;
	return 0;
}

/* The context comes with each window, so that this default is never used. */
static void pp_collect_describe(struct pathprof_context *context)
{
	memset(context, 0xff, sizeof(*context));
}

#include "../../daemon/bpf/collect_steps.h"

void twin_begin_as(const struct pp_collect_config *config, uint32_t cpu)
{
	pp_collect_config = *config;
	pp_collect_prepare(&twin_side.state, config, SEED, cpu);
	twin_forget();
}

void twin_forget(void)
{
	twin_side.record_bytes = 0;
	twin_side.ring_bytes = 0;
}

void twin_run(const struct pp_collect_given *given, uint32_t cnt)
{
	struct pp_collect_state *s = &twin_side.state;
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		s->given = 1;
		s->naming.context = given[i].who;
		memcpy(s->stack, given[i].stack, sizeof(s->stack));
		pp_collect_window((uint32_t)given[i].cnt, given[i].who.address_space);
		s->given = 0;
	}
}

void twin_drain(uint64_t first)
{
	if (first < PP_HPT_MAX)
		pp_collect_drain_slots((uint32_t)first);
	else
		pp_collect_drain_rest(0);
}
