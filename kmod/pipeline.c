// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The chain at work: every CPU has a compressor, a path stack and a hot path table of its own, and
 * a small cache of which number each address space has in its ring (kmod_abi.h, contexts).
 *
 * Workload: windows of 32 to 256 branches, up to a thousand a second and CPU; from ten to some
 * hundred address spaces in turn.
 *
 * Locking: none; each CPU has its own, interrupts are off, and windows come from no NMI.
 * Ownership: the session's, from pp_pipeline_alloc() to pp_pipeline_free().
 */
#include "pipeline.h"

#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/mm_types.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "chain_config.h"
#include "pp_chain.h"
#include "ring.h"
#include "stats.h"

#define CONTEXT_BITS  8 /* log2 of the cache's entries */
#define CONTEXT_MAX   65535
#define CONTEXT_SHIFT 48
#define ADDRESS_BITS  47 /* of user code that lies where a context fits above */

struct context {
	u64 address_space; /* 0: none */
	u32 number;
	u32 pad;
};

struct tables {
	struct pp_chain chain;
	struct context context[1 << CONTEXT_BITS];
	u32 last_context; /* number given out last */
};

static DEFINE_PER_CPU(struct tables *, tables);
static struct pp_chain_config config; /* constant in a session */
static bool chained;                  /* likewise: CHAIN mode */
static u32 kinds;                     /* likewise: bits of the branches that make tuples */
static bool raw;                      /* likewise: RAW mode */

/* ---------------------------------------------------------------- messages */

static void write_path(const struct pp_hpt_entry *entry)
{
	struct pathprof_path_record path = {
		.start = entry->start,
		.desc = entry->desc & ~PP_HPT_VALID,
		.count = entry->count,
	};

	pp_ring_write(PATHPROF_RECORD_PATH, &path, sizeof(path));
}

static void write_tuple(const struct pp_message *message)
{
	struct pathprof_tuple_count tuple = {
		.pc = message->tuple.pc,
		.word = message->tuple.word,
		.count = message->count,
	};

	pp_ring_write(PATHPROF_RECORD_TUPLE, &tuple, sizeof(tuple));
}

/* Writes out and forgets what lies in the tables; counters of substreams go on. */
static void drain(struct tables *t)
{
	struct pp_hpt *hpt = &t->chain.hpt;
	struct pp_assoc *assoc = &t->chain.compress.assoc;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(hpt->entry); i++)
		if (hpt->entry[i].desc & PP_HPT_VALID)
			write_path(&hpt->entry[i]);
	memset(hpt->entry, 0, sizeof(hpt->entry));
	for (i = 0; i < assoc->used; i++)
		write_tuple(&assoc->entry[i]);
	memset(assoc, 0, sizeof(*assoc));
}

/* ---------------------------------------------------------------- contexts */

static bool write_context(const struct pathprof_burst *burst, u64 address_space, u32 number)
{
	struct pathprof_context context = {
		.address_space = address_space,
		.start_time = burst->start_time,
		.pid = burst->pid,
		.context = number,
	};

	BUILD_BUG_ON(sizeof(context.comm) != sizeof(current->group_leader->comm));
	memcpy(context.comm, current->group_leader->comm, sizeof(context.comm));
	context.comm[sizeof(context.comm) - 1] = 0;
	return pp_ring_write(PATHPROF_RECORD_CONTEXT, &context, sizeof(context));
}

/* Numbers begin again: whatever is tagged with an old one goes out before. */
static void renumber(struct tables *t)
{
	drain(t);
	memset(t->context, 0, sizeof(t->context));
	t->last_context = 0;
}

/* The number of the current address space in this CPU's ring; 0: none, its record was lost. */
static u32 context_of(struct tables *t, const struct pathprof_burst *burst)
{
	u64 space = current->mm ? current->mm->context.ctx_id : 0;
	struct context *context = &t->context[hash_64(space, CONTEXT_BITS)];

	if (!space)
		return 0;
	if (likely(context->address_space == space))
		return context->number;
	if (t->last_context == CONTEXT_MAX)
		renumber(t);
	if (!write_context(burst, space, t->last_context + 1))
		return 0;
	context->address_space = space;
	context->number = ++t->last_context;
	return context->number;
}

/* ------------------------------------------------------------------- chain */

static void compress_edge(struct pp_compress *compress, const struct pp_branch *branch)
{
	struct pp_tuple edge = {.pc = branch->from, .word = branch->next};
	struct pp_message message;

	if (pp_compress_step(compress, &config.compress, &edge, &message))
		write_tuple(&message);
}

/* pp_chain_step(), with a choice of which edges count. */
static void step(struct pp_chain *chain, const struct pathprof_branch *from, u64 tag)
{
	struct pp_branch branch = {
		.from = from->from | tag,
		.target = from->target | tag,
		.next = from->next | tag,
		.info = PP_BRANCH_INFO(from->kind, from->taken),
		.events = 1,
	};
	struct pp_hpt_entry replaced;
	struct pp_path path;

	if (kinds >> from->kind & 1)
		compress_edge(&chain->compress, &branch);
	if (pp_path_stack_step(&chain->stack, &config.path, &branch, &path) &&
	    pp_hpt_step(&chain->hpt, &config.hpt, path.start, path.desc, 1, &replaced))
		write_path(&replaced);
}

static bool addresses_fit(const struct pathprof_burst *burst,
			  const struct pathprof_branch *branches)
{
	u64 bits = 0;
	u32 i;

	for (i = 0; i < burst->branch_cnt; i++)
		bits |= branches[i].from | branches[i].target | branches[i].next;
	return !(bits >> ADDRESS_BITS);
}

static void compress(struct tables *t, const struct pathprof_burst *burst,
		     const struct pathprof_branch *branches)
{
	u64 context = addresses_fit(burst, branches) ? context_of(t, burst) : 0;
	u32 i;

	if (!context) {
		pp_stats_inc(PATHPROF_STAT_LOST_CONTEXT);
		return;
	}
	pp_path_stack_clear(&t->chain.stack);
	for (i = 0; i < burst->branch_cnt; i++)
		step(&t->chain, &branches[i], context << CONTEXT_SHIFT);
}

void pp_pipeline_burst(const struct pathprof_burst *burst, const struct pathprof_branch *branches)
{
	pp_stats_inc(PATHPROF_STAT_WINDOWS);
	if (raw)
		pp_ring_write(PATHPROF_RECORD_BURST, burst, burst->size_bytes);
	if (chained)
		compress(this_cpu_read(tables), burst, branches);
}

/* -------------------------------------------------------------------- life */

static int alloc_one(u32 cpu, u64 seed)
{
	struct tables *t = vzalloc(sizeof(*t));

	if (!t)
		return -ENOMEM;
	/* Each CPU its own: equal seeds would sample alike. */
	pp_compress_init(&t->chain.compress, &config.compress, seed + cpu);
	pp_hpt_init(&t->chain.hpt, ~seed - cpu);
	per_cpu(tables, cpu) = t;
	return 0;
}

/* Nothing that only the chain understands is set. */
static bool is_unused(const struct pathprof_kmod_start *start)
{
	return !start->kinds && !memchr_inv(&start->chain, 0, sizeof(start->chain));
}

int pp_pipeline_alloc(const struct pathprof_kmod_start *start)
{
	int cpu, err;

	chained = start->mode & PATHPROF_MODE_CHAIN;
	raw = start->mode & PATHPROF_MODE_RAW;
	kinds = start->kinds ? start->kinds : ~0u;
	if (!chained)
		return is_unused(start) ? 0 : -EINVAL;
	if (start->kinds >> PP_KIND_CNT)
		return -EINVAL;
	err = pp_chain_config_read(&start->chain, &config);
	if (err)
		return err;
	for_each_possible_cpu(cpu) {
		err = alloc_one(cpu, start->chain.seed);
		if (err)
			goto out_free;
	}
	return 0;

out_free:
	pp_pipeline_free();
	return err;
}

void pp_pipeline_free(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		vfree(per_cpu(tables, cpu));
		per_cpu(tables, cpu) = NULL;
	}
}

static void drain_this(void *unused)
{
	drain(this_cpu_read(tables));
}

void pp_pipeline_drain_all(void)
{
	if (chained)
		on_each_cpu(drain_this, NULL, 1);
}
