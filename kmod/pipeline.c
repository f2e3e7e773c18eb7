// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The chain at work: every CPU has a compressor, a path stack or the branches of its segments, and
 * a hot path table of its own (tables.h). Bursts are dealt with here, branch stacks in segments.c.
 *
 * Workload: windows of 32 to 256 branches, up to a thousand a second and CPU; a drain a minute.
 *
 * Locking: tables.h. A CPU that goes offline writes its tables out itself, from a hotplug callback;
 * whoever frees them, or wants all of them written out, keeps such callbacks away.
 *
 * Ownership: only CPUs that are plugged in when the session starts have tables, a megabyte each:
 * many machines could take far more than they have. Windows of a CPU that is added later are lost,
 * and counted.
 */
#include "pipeline.h"

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "chain_config.h"
#include "context.h"
#include "ring.h"
#include "segments.h"
#include "stats.h"
#include "tuples.h"

#define ADDRESS_BITS 47 /* of user code that lies where a context fits above */

struct pp_pipeline_config pp_pipeline_config;

static DEFINE_PER_CPU(struct pp_tables *, tables);

/* ---------------------------------------------------------------- messages */

static void write_path(struct pp_tables *t, const struct pp_hpt_entry *entry)
{
	pp_stage_add(&t->paths, PATHPROF_RECORD_PATH, entry->start, entry->desc & ~PP_HPT_VALID,
		     entry->count);
}

static void write_tuple(struct pp_tables *t, const struct pp_message *message)
{
	pp_stage_add(&t->tuples, PATHPROF_RECORD_TUPLE, message->tuple.pc, message->tuple.word,
		     message->count);
}

/* One in some hundred tuples gets here. */
void pp_tuple_message(struct pp_tables *t, u64 tag, u64 from, u64 word, u32 count)
{
	u32 size = pp_pipeline_config.chain.compress.assoc_size;
	struct pp_message message = {{from | tag, word}, count}, evicted;

	if (!size)
		write_tuple(t, &message);
	else if (pp_assoc_step(&t->chain.compress.assoc, size, &message.tuple, count, &evicted))
		write_tuple(t, &evicted);
}

static void drain_paths(struct pp_tables *t)
{
	struct pp_hpt *hpt = &t->chain.hpt;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(hpt->entry); i++)
		if (hpt->entry[i].desc & PP_HPT_VALID)
			write_path(t, &hpt->entry[i]);
	memset(hpt->entry, 0, sizeof(hpt->entry));
}

/* Counters of substreams go on. */
void pp_pipeline_drain(struct pp_tables *t)
{
	struct pp_assoc *assoc = &t->chain.compress.assoc;
	u32 i;

	if (pp_pipeline_config.segments)
		pp_segments_drain(t);
	else
		drain_paths(t);
	for (i = 0; i < assoc->used; i++)
		write_tuple(t, &assoc->entry[i]);
	memset(assoc, 0, sizeof(*assoc));
	pp_stage_write(&t->paths, PATHPROF_RECORD_PATH);
	pp_stage_write(&t->tuples, PATHPROF_RECORD_TUPLE);
}

/* ------------------------------------------------------------------- owning */

bool pp_pipeline_begin(void)
{
	struct pp_tables *t = this_cpu_read(tables);

	if (unlikely(!t || READ_ONCE(t->busy))) {
		pp_stats_inc(PATHPROF_STAT_LOST_BUSY);
		return false;
	}
	/* An NMI before this finds 0, and leaves 0; one behind it finds 1 and goes. */
	WRITE_ONCE(t->busy, 1);
	WRITE_ONCE(t->filled, 1);
	barrier();
	return true;
}

void pp_pipeline_end(void)
{
	barrier();
	WRITE_ONCE(this_cpu_read(tables)->busy, 0);
}

/* ------------------------------------------------------------------- bursts */

static void step(struct pp_tables *t, const struct pathprof_branch *from,
		 const struct pp_tuple_plan *plan)
{
	const struct pp_chain_config *config = &pp_pipeline_config.chain;
	struct pp_branch branch = {
		.from = from->from | plan->tag,
		.target = from->target | plan->tag,
		.next = from->next | plan->tag,
		.info = PP_BRANCH_INFO(from->kind, from->taken),
		.events = 1,
	};
	struct pp_hpt_entry replaced;
	struct pp_path path;

	pp_tuple_step(t, &config->compress, plan, from->from, from->next, from->kind);
	if (pp_path_stack_step(&t->chain.stack, &config->path, &branch, &path) &&
	    pp_hpt_step(&t->chain.hpt, &config->hpt, path.start, path.desc, 1, &replaced))
		write_path(t, &replaced);
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

static void compress(struct pp_tables *t, const struct pathprof_burst *burst,
		     const struct pathprof_branch *branches)
{
	u32 context = addresses_fit(burst, branches) ? pp_context_of_current(t) : 0, i;
	struct pp_tuple_plan plan;

	if (!context) {
		pp_stats_inc(PATHPROF_STAT_LOST_CONTEXT);
		return;
	}
	pp_tuple_plan_init(&plan, &t->chain.compress.hash, pp_pipeline_config.kinds,
			   pp_pipeline_config.profiles, context);
	pp_path_stack_clear(&t->chain.stack);
	for (i = 0; i < burst->branch_cnt; i++)
		step(t, &branches[i], &plan);
}

void pp_pipeline_burst(const struct pathprof_burst *burst, const struct pathprof_branch *branches)
{
	pp_stats_inc(PATHPROF_STAT_WINDOWS);
	if (pp_pipeline_config.raw)
		pp_ring_write(PATHPROF_RECORD_BURST, burst, burst->size_bytes);
	if (pp_pipeline_config.chained && pp_pipeline_begin()) {
		compress(this_cpu_read(tables), burst, branches);
		pp_pipeline_end();
	}
}

void pp_pipeline_stack(const struct perf_branch_stack *stack, u32 cnt, u32 newest)
{
	struct pp_tables *t = this_cpu_read(tables);
	u32 context = pp_context_of_current(t);

	if (likely(context))
		pp_segments_window(t, stack, cnt, newest, context);
	else
		pp_stats_inc(PATHPROF_STAT_LOST_CONTEXT);
}

/* -------------------------------------------------------------------- life */

static void free_one(struct pp_tables *t)
{
	if (t)
		vfree(t->branches);
	vfree(t);
}

static int alloc_one(u32 cpu, u64 seed)
{
	const struct pp_chain_config *config = &pp_pipeline_config.chain;
	size_t slots = (size_t)config->hpt.ways << config->hpt.bits;
	struct pp_tables *t = vzalloc(sizeof(*t));

	if (!t)
		return -ENOMEM;
	if (pp_pipeline_config.segments) {
		t->branches = vzalloc(slots * sizeof(t->branches[0]));
		if (!t->branches) {
			free_one(t);
			return -ENOMEM;
		}
	}
	/* Each CPU its own: equal seeds would sample alike. */
	pp_compress_init(&t->chain.compress, &config->compress, seed + cpu);
	pp_hpt_init(&t->chain.hpt, ~seed - cpu);
	pp_random_init(&t->random, seed ^ (u64)cpu << 32 ^ 0x9E3779B97F4A7C15ULL);
	/* Pairs with a hotplug callback's load. */
	smp_store_release(per_cpu_ptr(&tables, cpu), t);
	return 0;
}

/* Nothing that only the chain understands is set. */
static bool is_unused(const struct pathprof_kmod_start *start)
{
	return !start->kinds && !start->profiles && !start->metric &&
	       !memchr_inv(&start->chain, 0, sizeof(start->chain));
}

static int configure_chain(const struct pathprof_kmod_start *start)
{
	struct pp_pipeline_config *config = &pp_pipeline_config;
	int err;

	if (start->profiles & ~(PATHPROF_PROFILE_EDGES | PATHPROF_PROFILE_CALLS))
		return -EINVAL;
	if (start->metric >= (config->segments ? PATHPROF_METRIC_CNT : PATHPROF_METRIC_RUNS + 1))
		return -EINVAL;
	if (start->kinds >> PP_KIND_CNT)
		return -EINVAL;
	err = pp_chain_config_read(&start->chain, config->segments, &config->chain);
	if (err)
		return err;
	config->kinds = start->kinds ? start->kinds : ~0u;
	config->profiles =
		start->profiles ? start->profiles : PATHPROF_PROFILE_EDGES | PATHPROF_PROFILE_CALLS;
	config->metric = start->metric;
	config->usual = config->segments && pp_segments_are_usual(config);
	return 0;
}

int pp_pipeline_alloc(const struct pathprof_kmod_start *start)
{
	int cpu, err;

	pp_pipeline_config.raw = start->mode & PATHPROF_MODE_RAW;
	pp_pipeline_config.chained = start->mode & PATHPROF_MODE_CHAIN;
	pp_pipeline_config.segments = start->source == PATHPROF_SOURCE_LBR;
	if (!pp_pipeline_config.chained)
		return is_unused(start) ? 0 : -EINVAL;
	err = configure_chain(start);
	if (err)
		return err;
	for_each_present_cpu(cpu) {
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

	cpus_read_lock();
	for_each_possible_cpu(cpu)
		free_one(xchg(per_cpu_ptr(&tables, cpu), NULL));
	cpus_read_unlock();
}

/* Interrupts off. Whoever it interrupts is not busy: those have them off as well. */
static void drain_this(void *unused)
{
	if (!pp_pipeline_begin())
		return;
	pp_pipeline_drain(this_cpu_read(tables));
	WRITE_ONCE(this_cpu_read(tables)->filled, 0);
	pp_pipeline_end();
}

/* Any CPU. One where nothing came, which may be isolated, is not to be interrupted. */
static bool is_filled(int cpu, void *unused)
{
	const struct pp_tables *t = READ_ONCE(per_cpu(tables, cpu));

	return t && READ_ONCE(t->filled);
}

void pp_pipeline_drain_all(void)
{
	if (!pp_pipeline_config.chained)
		return;
	cpus_read_lock();
	on_each_cpu_cond(is_filled, drain_this, NULL, 1);
	cpus_read_unlock();
}

void pp_pipeline_leave_cpu(void)
{
	unsigned long flags;

	local_irq_save(flags);
	/* Pairs with the release when they were made. */
	if (smp_load_acquire(this_cpu_ptr(&tables)))
		drain_this(NULL);
	local_irq_restore(flags);
}
