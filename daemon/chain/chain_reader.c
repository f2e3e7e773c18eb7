// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records on their way from a collector's ring to the window: bursts as they are, windows of
 * taken branches reconstructed first, counts by way of the segments they belong to
 * (chain_counts.h). Records of processes that are not to be profiled are dropped here; bursts and
 * windows among them are counted (outside).
 *
 * Workload: some thousand records a second at most. One thread; what is handed to the sink lies in
 * the ring or in the reader until the next record. Source: pathprof/record_abi.h.
 */
#include "chain_reader.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

static bool is_in_view(const struct pp_chain_reader *reader, uint32_t pid)
{
	const struct pp_resolver *resolver = reader->resolver;

	return !reader->only_pid || !resolver || !resolver->in_view ||
	       resolver->in_view(resolver->context, (pid_t)pid);
}

/*
 * The module's own counter says what it spent, traps and samples in vain included. The burst's
 * figure is elapsed time, which includes other tasks' turns on the CPU, and is dropped.
 */
static void pass_burst(struct pp_chain_reader *reader, const struct pathprof_burst *burst)
{
	struct pathprof_burst head = *burst;

	if (!is_in_view(reader, head.pid)) {
		reader->outside++;
		return;
	}
	head.stopped_ns = 0;
	reader->sink->burst(reader->sink->context, &head,
			    (const struct pathprof_branch *)(burst + 1));
}

static uint32_t count_taken(const struct pathprof_branch *branches, uint32_t cnt)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < cnt; i++)
		taken += branches[i].taken;
	return taken;
}

static void pass_taken(struct pp_chain_reader *reader, const struct pathprof_lbr *lbr,
		       const struct pathprof_taken *taken, uint32_t taken_cnt)
{
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
	int r = pp_rebuild_window(reader->rebuild, &window, reader->branches, &burst.branch_cnt);

	if (r == -ESRCH)
		reader->unknown++;
	if (r)
		return;
	burst.taken_cnt = count_taken(reader->branches, burst.branch_cnt);
	burst.size_bytes =
		(uint32_t)(sizeof(burst) + burst.branch_cnt * sizeof(reader->branches[0]));
	reader->sink->burst(reader->sink->context, &burst, reader->branches);
}

/* Splits the window in two where the module dropped an entry. */
static void pass_lbr(struct pp_chain_reader *reader, const struct pathprof_lbr *lbr)
{
	const struct pathprof_lbr_entry *entries = (const void *)(lbr + 1);
	struct pathprof_taken taken[PP_CHAIN_LBR_MAX];
	uint32_t cnt = 0;

	if (!is_in_view(reader, lbr->pid)) {
		reader->outside++;
		return;
	}
	for (uint32_t i = 0; i < lbr->branch_cnt; i++) {
		if ((entries[i].to & PATHPROF_LBR_CUT) && cnt) {
			pass_taken(reader, lbr, taken, cnt);
			cnt = 0;
		}
		taken[cnt++] = (struct pathprof_taken){PATHPROF_LBR_ADDRESS(entries[i].from),
						       PATHPROF_LBR_ADDRESS(entries[i].to)};
	}
	if (cnt)
		pass_taken(reader, lbr, taken, cnt);
}

static void pass_counts(struct pp_chain_reader *reader, const struct pathprof_record *record)
{
	const void *body = record + 1;
	size_t body_bytes = record->size_bytes - sizeof(*record);
	const struct pathprof_path_record *paths = body;
	const struct pathprof_tuple_count *tuples = body;

	if (record->type == PATHPROF_RECORD_PATH)
		for (size_t i = 0; i < body_bytes / sizeof(*paths); i++)
			pp_chain_counts_path(reader->counts, record->cpu, &paths[i], reader->sink);
	else
		for (size_t i = 0; i < body_bytes / sizeof(*tuples); i++)
			pp_chain_counts_tuple(reader->counts, record->cpu, &tuples[i],
					      reader->sink);
}

/* The process's control groups may be gone before anybody asks, so they are named at once. */
static void name_groups(const struct pp_chain_reader *reader,
			const struct pathprof_context *context)
{
	const struct pp_resolver *resolver = reader->resolver;

	if (resolver && resolver->in_cgroup && (context->cgroup || context->cgroup_v1))
		resolver->in_cgroup(resolver->context, (pid_t)context->pid, context->start_time,
				    context->cgroup, context->cgroup_v1);
}

static void pass_context(struct pp_chain_reader *reader, uint32_t cpu,
			 const struct pathprof_context *context)
{
	bool ignored = !is_in_view(reader, context->pid);

	if (!ignored)
		name_groups(reader, context);
	pp_chain_counts_context(reader->counts, cpu, context, reader->now_ns, ignored);
}

static void pass_chain(struct pp_chain_reader *reader, const struct pathprof_record *record)
{
	const struct pathprof_segment *segment = (const void *)(record + 1);

	if (record->type == PATHPROF_RECORD_CONTEXT)
		pass_context(reader, record->cpu, (const void *)(record + 1));
	else if (record->type == PATHPROF_RECORD_DEFINE)
		pp_chain_counts_define(reader->counts, record->cpu, segment,
				       (const struct pathprof_lbr_entry *)(segment + 1),
				       reader->now_ns);
	else
		pass_counts(reader, record);
}

void pp_chain_reader_record(void *context, const struct pathprof_record *record)
{
	struct pp_chain_reader *reader = context;

	if (record->type == PATHPROF_RECORD_BURST)
		pass_burst(reader, (const void *)(record + 1));
	else if (record->type == PATHPROF_RECORD_LBR && reader->rebuild)
		pass_lbr(reader, (const void *)(record + 1));
	else if (reader->counts)
		pass_chain(reader, record);
}

void pp_chain_reader_begin(struct pp_chain_reader *reader, const struct pp_source_sink *sink)
{
	reader->now_ns = pp_monotonic_ns();
	reader->sink = sink;
	/* New mappings are taken in before counts that need them; for bursts the window does it. */
	if (reader->resolver)
		reader->resolver->dispatch(reader->resolver->context);
}

int pp_chain_reader_init(struct pp_chain_reader *reader, const struct pp_source_config *config,
			 uint32_t cpu_cnt)
{
	int r = pp_rebuild_new(&reader->rebuild, config->resolver);

	if (!r && config->compress)
		r = pp_chain_counts_new(&reader->counts, cpu_cnt, reader->rebuild);
	return r;
}

void pp_chain_reader_release(struct pp_chain_reader *reader)
{
	pp_chain_counts_free(reader->counts);
	pp_rebuild_free(reader->rebuild);
}
