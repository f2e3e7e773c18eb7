// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records on their way from the kernel module's rings to the window: bursts as they are, windows of
 * taken branches reconstructed first, counts by way of the segments they belong to (kmod_counts.h).
 * What belongs to processes that are not to be profiled ends here, and is counted.
 *
 * Workload: some thousand records a second at most. One thread; what is handed to the sink lies in
 * the rings or in the source until the next record. Source: pathprof/kmod_abi.h.
 */
#include <errno.h>
#include <string.h>

#include "kmod_source.h"

/* On the way from a ring to the window. */
struct passage {
	struct pp_kmod_source *source;
	const struct pp_source_sink *sink;
	uint64_t now_ns;
};

static bool is_in_view(struct pp_kmod_source *source, uint32_t pid)
{
	const struct pp_resolver *resolver = source->config.resolver;

	return !source->config.only_pid || !resolver || !resolver->in_view ||
	       resolver->in_view(resolver->context, (pid_t)pid);
}

/*
 * What the module spent is told by its own counter, traps and samples in vain included; the burst's
 * figure is how long it took by the clock, others' turns on the CPU included.
 */
static void pass_burst(struct passage *p, const struct pathprof_burst *burst)
{
	struct pathprof_burst head = *burst;

	if (!is_in_view(p->source, head.pid)) {
		p->source->outside++;
		return;
	}
	head.stopped_ns = 0;
	p->sink->burst(p->sink->context, &head, (const struct pathprof_branch *)(burst + 1));
}

static uint32_t count_taken(const struct pathprof_branch *branches, uint32_t cnt)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < cnt; i++)
		taken += branches[i].taken;
	return taken;
}

static void pass_taken(struct passage *p, const struct pathprof_lbr *lbr,
		       const struct pathprof_taken *taken, uint32_t taken_cnt)
{
	struct pp_kmod_source *source = p->source;
	const struct pp_rebuild_window window = {
		.who = {lbr->pid, lbr->start_time, lbr->time_ns},
		.taken = taken,
		.taken_cnt = taken_cnt,
	};
	struct pathprof_burst burst = {
		.version = PATHPROF_ABI_VERSION,
		.source = PATHPROF_SOURCE_LBR,
		.pid = lbr->pid,
		.tid = lbr->tid,
		.time_ns = lbr->time_ns,
		.start = taken[0].from,
		.start_time = lbr->start_time,
		.end = PATHPROF_END_FULL,
	};
	int r = pp_rebuild_window(source->rebuild, &window, source->branches, &burst.branch_cnt);

	if (r == -ESRCH)
		source->unknown++;
	if (r)
		return;
	burst.taken_cnt = count_taken(source->branches, burst.branch_cnt);
	burst.size_bytes =
		(uint32_t)(sizeof(burst) + burst.branch_cnt * sizeof(source->branches[0]));
	p->sink->burst(p->sink->context, &burst, source->branches);
}

/* Where the module dropped an entry there are two windows. */
static void pass_lbr(struct passage *p, const struct pathprof_lbr *lbr)
{
	const struct pathprof_lbr_entry *entries = (const void *)(lbr + 1);
	struct pathprof_taken taken[PP_KMOD_LBR_MAX];
	uint32_t cnt = 0;

	if (!is_in_view(p->source, lbr->pid)) {
		p->source->outside++;
		return;
	}
	for (uint32_t i = 0; i < lbr->branch_cnt; i++) {
		if ((entries[i].to & PATHPROF_LBR_CUT) && cnt) {
			pass_taken(p, lbr, taken, cnt);
			cnt = 0;
		}
		taken[cnt++] = (struct pathprof_taken){PATHPROF_LBR_ADDRESS(entries[i].from),
						       PATHPROF_LBR_ADDRESS(entries[i].to)};
	}
	if (cnt)
		pass_taken(p, lbr, taken, cnt);
}

static void pass_counts(struct passage *p, const struct pathprof_record *record)
{
	const void *body = record + 1;
	size_t body_bytes = record->size_bytes - sizeof(*record);
	const struct pathprof_path_record *paths = body;
	const struct pathprof_tuple_count *tuples = body;

	if (record->type == PATHPROF_RECORD_PATH)
		for (size_t i = 0; i < body_bytes / sizeof(*paths); i++)
			pp_kmod_counts_path(p->source->counts, record->cpu, &paths[i], p->sink);
	else
		for (size_t i = 0; i < body_bytes / sizeof(*tuples); i++)
			pp_kmod_counts_tuple(p->source->counts, record->cpu, &tuples[i], p->sink);
}

static void pass_chain(struct passage *p, const struct pathprof_record *record)
{
	const struct pathprof_context *context = (const void *)(record + 1);
	const struct pathprof_segment *segment = (const void *)(record + 1);

	if (record->type == PATHPROF_RECORD_CONTEXT)
		pp_kmod_counts_context(p->source->counts, record->cpu, context, p->now_ns,
				       !is_in_view(p->source, context->pid));
	else if (record->type == PATHPROF_RECORD_DEFINE)
		pp_kmod_counts_define(p->source->counts, record->cpu, segment,
				      (const struct pathprof_lbr_entry *)(segment + 1), p->now_ns);
	else
		pass_counts(p, record);
}

static void pass(void *context, const struct pathprof_record *record)
{
	struct passage *p = context;

	if (record->type == PATHPROF_RECORD_BURST)
		pass_burst(p, (const void *)(record + 1));
	else if (record->type == PATHPROF_RECORD_LBR && p->source->rebuild)
		pass_lbr(p, (const void *)(record + 1));
	else if (p->source->counts)
		pass_chain(p, record);
}

int pp_kmod_records_read(struct pp_kmod_source *source, const struct pp_source_sink *sink)
{
	const struct pp_resolver *resolver = source->config.resolver;
	struct passage p = {source, sink, pp_kmod_clock_ns(CLOCK_MONOTONIC)};

	/* What the counts belong to was mapped before; bursts have it done one by one. */
	if (resolver)
		resolver->dispatch(resolver->context);
	return pp_kmod_device_drain(&source->device, pass, &p);
}
