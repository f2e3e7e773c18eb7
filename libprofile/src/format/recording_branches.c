// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Stacks of a recording to branches and ranges of one binary; see recording_branches.h for
 * workload and ownership. What follows a branch is known with the next one, so each waits for it.
 *
 * Sources of the rules: LLVM, bolt/lib/Profile/DataAggregator.cpp and
 * llvm/tools/llvm-profgen/PerfReader.cpp; AutoFDO, sample_reader.cc.
 */
#include "pathprof/recording_branches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../code/pp_code.h"
#include "pathprof/build_id.h"
#include "pathprof/mapped.h"
#include "pathprof/recorded_spaces.h"
#include "pathprof/recorded_stack.h"
#include "pp_branch_profile.h"
#include "pp_recording_traces.h"

struct pathprof_recording_branches {
	enum pathprof_format format;
	struct pathprof_code *code;
	const struct pathprof_graph *graph;
	struct pathprof_branch_profile *profile;
	struct pathprof_build_id id;
	struct pathprof_build_id other; /* the last of its name that is another build */
	char *real_path;                /* of the code's file; NULL: not known */
	char *mapped_name;              /* as recorded, if not deleted; NULL: not mapped yet */
	struct pathprof_recorded_spaces *spaces;
	struct pp_recording_traces traces;
	struct pathprof_recording_branches_stats stats;
	uint64_t begin_ns, end_ns; /* of the samples with branches of it; the recording's clock */
	bool has_mappings;         /* of code, of any file */
	bool nameless;             /* some samples do not say which process they are of */
	struct pathprof_error error;
};

/* The stack in hand. */
struct walk {
	struct pathprof_recorded_walk rules;
	const struct pathprof_space *space;        /* NULL: addresses are the file's */
	const struct pathprof_mapped_piece *piece; /* found last */
	struct pp_trace
		trace; /* of the last branch, which waits for the next; without ends: none */
	uint64_t mispredicted; /* of it */
	bool ranges;
	bool unmapped; /* an address was in nothing that is mapped */
	uint64_t times;
	bool counted;
};

/* ---------------------------------------------------------------- life */

/* Fails unless code, graph and profile are of one binary. */
static int check_binary(struct pathprof_recording_branches *b, const struct pathprof_graph *graph,
			struct pathprof_error *error)
{
	int rc = pathprof_code_build_id(b->code, &b->id, error);

	if (!rc)
		rc = pp_branch_check_id(b->profile, &b->id, b->code->path, error);
	if (!rc)
		b->profile->origin.build_id = b->id;
	return rc ? rc
		  : pp_branch_check_id(b->profile, &graph->build_id, "the control-flow graph",
				       error);
}

int pathprof_recording_branches_new(struct pathprof_recording_branches **ret_branches,
				    enum pathprof_format format, struct pathprof_code *code,
				    const struct pathprof_graph *graph,
				    struct pathprof_branch_profile *profile,
				    struct pathprof_error *error)
{
	struct pathprof_recording_branches *b;
	int rc;

	if (!pathprof_format_reads(format))
		return pathprof_fail(error, -EOPNOTSUPP, "%s is not a format that is read",
				     pathprof_format_name(format) ?: "this");
	b = calloc(1, sizeof(*b));
	if (!b)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	b->format = format;
	b->code = code;
	b->graph = graph;
	b->profile = profile;
	b->real_path = realpath(code->path, NULL);
	rc = check_binary(b, graph, error);
	if (!rc) {
		rc = pathprof_recorded_spaces_new(&b->spaces);
		if (!rc)
			rc = pp_recording_traces_init(&b->traces, code, graph, profile, &b->stats);
		if (rc)
			pathprof_fail(error, rc, "out of memory");
	}
	if (rc) {
		pathprof_recording_branches_free(b);
		return rc;
	}
	*ret_branches = b;
	return 0;
}

void pathprof_recording_branches_free(struct pathprof_recording_branches *b)
{
	if (!b)
		return;
	pp_recording_traces_release(&b->traces);
	pathprof_recorded_spaces_free(b->spaces);
	free(b->mapped_name);
	free(b->real_path);
	free(b);
}

const struct pathprof_recording_branches_stats *
pathprof_recording_branches_stats(const struct pathprof_recording_branches *b)
{
	return &b->stats;
}

void pathprof_recording_branches_ledger(const struct pathprof_recording_branches *b,
					struct pathprof_ledger *ret_ledger)
{
	*ret_ledger = b->stats.ledger;
	ret_ledger->used = b->stats.branches;
}

const struct pathprof_error *
pathprof_recording_branches_error(const struct pathprof_recording_branches *b)
{
	return &b->error;
}

/* ---------------------------------------------------------------- where the binary lies */

/* llvm-profgen's text has one process, whatever numbers it gives. */
static uint32_t pid_of(const struct pathprof_recording_branches *b, uint32_t pid)
{
	return b->format == PATHPROF_FORMAT_PROFGEN_PERFSCRIPT ? 0 : pid;
}

/* Is it the binary? By its build-id where there is one, else by its name. */
static bool is_ours(struct pathprof_recording_branches *b,
		    const struct pathprof_recorded_mapping *m)
{
	if (!m->executable || m->pid == PATHPROF_RECORDED_KERNEL)
		return false;
	if (m->id.kind != PATHPROF_ID_NONE && pathprof_build_id_is_of(&m->id, &b->id))
		return true;
	if (!pathprof_mapped_is_named(m->name, b->code->path, b->real_path))
		return false;
	if (m->id.kind == PATHPROF_ID_NONE) {
		b->stats.by_name++;
		return true;
	}
	b->stats.other_build_id++;
	b->other = m->id;
	return false;
}

static void count_left_out(struct pathprof_recording_branches *b)
{
	struct pathprof_recorded_spaces_left left;

	pathprof_recorded_spaces_stats(b->spaces, &left);
	b->stats.left[PATHPROF_LEFT_PROCESSES] = left.processes;
	b->stats.left[PATHPROF_LEFT_MAPPINGS] = left.mappings;
}

static int map(struct pathprof_recording_branches *b, const struct pathprof_recorded_mapping *m,
	       bool ours)
{
	struct pathprof_recorded_mapping mapping = *m;
	int rc;

	mapping.pid = pid_of(b, m->pid);
	if (ours)
		mapping.offset = pathprof_mapped_offset(b->traces.segments, b->traces.segment_cnt,
							m->start, m->end, m->offset);
	rc = pathprof_recorded_spaces_map(b->spaces, &mapping, ours);
	count_left_out(b);
	return rc == -ENOMEM ? rc : 0;
}

static int on_mapping(void *context, const struct pathprof_recorded_mapping *m)
{
	struct pathprof_recording_branches *b = context;
	bool ours = is_ours(b, m);

	b->has_mappings |= m->executable && m->pid != PATHPROF_RECORDED_KERNEL;
	/* Its processes are not told apart: what one of them has there may be another's binary. */
	if (!ours && b->format == PATHPROF_FORMAT_PROFGEN_PERFSCRIPT)
		return 0;
	b->stats.mappings += ours;
	if (ours && !b->mapped_name) {
		b->mapped_name = strndup(m->name, pathprof_mapped_name_len(m->name));
		if (!b->mapped_name)
			return -ENOMEM;
	}
	return map(b, m, ours);
}

static int on_process(void *context, const struct pathprof_recorded_process *p)
{
	struct pathprof_recording_branches *b = context;
	int rc = 0;

	if (p->change != PATHPROF_RECORDED_COMM)
		rc = pathprof_recorded_spaces_change(b->spaces, p);
	count_left_out(b);
	return rc == -ENOMEM ? rc : 0;
}

/* ---------------------------------------------------------------- stacks */

/* The file offset at an address, or PP_PLACE_NONE: it is not the binary's. */
static uint32_t place(const struct pathprof_recording_branches *b, struct walk *w, uint64_t address)
{
	const struct pathprof_mapped_piece *p = w->piece;
	uint64_t offset;

	if (!w->space)
		return pp_recording_traces_at(&b->traces, address);
	if (!p || address < p->start || address >= p->end)
		p = w->piece = pathprof_space_find(w->space, 0, address);
	/* llvm-profgen's text has the mappings of one binary. */
	w->unmapped |= !p && b->format != PATHPROF_FORMAT_PROFGEN_PERFSCRIPT;
	if (!p || !p->file || !p->file->mark)
		return PP_PLACE_NONE;
	offset = address - p->start + p->offset;
	return offset < PP_PLACE_NONE ? (uint32_t)offset : PP_PLACE_NONE;
}

static void leave_out(struct pathprof_recording_branches *b, struct walk *w,
		      enum pathprof_ledger_reason why)
{
	b->stats.ledger.left[why] = pp_count_sum(b->stats.ledger.left[why], w->times);
}

/* Counts the branch that waits. */
static int count_last(struct pathprof_recording_branches *b, const struct walk *w)
{
	if (w->trace.from == PP_PLACE_NONE && w->trace.start == PP_PLACE_NONE)
		return 0;
	return pp_recording_traces_add(&b->traces, &w->trace, w->times, w->mispredicted);
}

/* The code that ran from the branch that waits up to the one at `from`, if it is known. */
static void end_range(struct pathprof_recording_branches *b, struct walk *w,
		      const struct pathprof_recorded_branch *e, uint32_t from)
{
	bool range = w->ranges && w->trace.start != PP_PLACE_NONE && from != PP_PLACE_NONE;
	bool cut = w->rules.cut;

	if (pathprof_recorded_reach(&w->rules, e)) {
		if (range)
			w->trace.last = from;
	} else if (range && !cut) {
		b->stats.left[PATHPROF_LEFT_AWAY] =
			pp_count_sum(b->stats.left[PATHPROF_LEFT_AWAY], w->times);
	}
}

/* repeats: the newest entry is the same as the one before. */
static int take_entry(struct pathprof_recording_branches *b, struct walk *w,
		      const struct pathprof_recorded_branch *e, bool repeats)
{
	uint32_t from, to;
	int rc;

	w->unmapped = false;
	from = place(b, w, e->from);
	to = place(b, w, e->to);
	end_range(b, w, e, from);
	rc = count_last(b, w);
	w->trace = (struct pp_trace){from, to, PP_PLACE_NONE, repeats ? PP_TRACE_REPEATS : 0};
	w->mispredicted = e->flags & PATHPROF_RECORDED_MISPREDICTED ? w->times : 0;
	if (from != PP_PLACE_NONE || to != PP_PLACE_NONE)
		w->counted = true;
	else
		leave_out(b, w, w->unmapped ? PATHPROF_LEDGER_UNMAPPED : PATHPROF_LEDGER_OUTSIDE);
	return rc;
}

static bool is_same(const struct pathprof_recorded_branch *a,
		    const struct pathprof_recorded_branch *b)
{
	return a->from == b->from && a->to == b->to;
}

static int walk_stack(struct pathprof_recording_branches *b, struct walk *w,
		      const struct pathprof_recorded_sample *s)
{
	int rc = 0;

	for (uint32_t i = s->branch_cnt; !rc && i-- > 0;) {
		const struct pathprof_recorded_branch *e = &s->branches[i];
		enum pathprof_ledger_reason why = pathprof_recorded_reason(e);

		if (why != PATHPROF_LEDGER_CNT) {
			leave_out(b, w, why);
			pathprof_recorded_pass(&w->rules, e, why);
		} else {
			rc = take_entry(b, w, e, i == 1 && is_same(e, &s->branches[0]));
		}
	}
	return rc ? rc : count_last(b, w);
}

/* Of a process that has not mapped the binary: nothing, or not yet. */
static void leave_out_stack(struct pathprof_recording_branches *b, struct walk *w,
			    const struct pathprof_recorded_sample *s, bool has_mappings)
{
	enum pathprof_ledger_reason none =
		has_mappings ? PATHPROF_LEDGER_OUTSIDE : PATHPROF_LEDGER_UNMAPPED;

	for (uint32_t i = 0; i < s->branch_cnt; i++) {
		enum pathprof_ledger_reason why = pathprof_recorded_reason(&s->branches[i]);

		leave_out(b, w, why == PATHPROF_LEDGER_CNT ? none : why);
	}
}

/* Addresses in a text are taken for the file's where there are no mappings at all. */
static bool is_unmapped_text(const struct pathprof_recording_branches *b)
{
	if (b->format == PATHPROF_FORMAT_PROFGEN_PERFSCRIPT)
		return !b->stats.mappings;
	return b->format == PATHPROF_FORMAT_PERF_SCRIPT && !b->has_mappings;
}

static void note_time(struct pathprof_recording_branches *b, uint64_t time_ns)
{
	b->stats.of_binary++;
	if (!b->begin_ns || time_ns < b->begin_ns)
		b->begin_ns = time_ns;
	if (time_ns > b->end_ns)
		b->end_ns = time_ns;
}

static int on_sample(void *context, const struct pathprof_recorded_sample *s)
{
	struct pathprof_recording_branches *b = context;
	const struct pathprof_recorded_space *process =
		pathprof_recorded_spaces_look(b->spaces, pid_of(b, s->pid));
	const struct pathprof_space *space = process ? process->space : NULL;
	bool is_mapped = process && process->marked;
	struct walk w = {
		.rules = PATHPROF_RECORDED_WALK,
		.space = is_mapped ? space : NULL,
		.trace = {PP_PLACE_NONE, PP_PLACE_NONE, PP_PLACE_NONE, 0},
		.ranges = !s->filtered,
		.times = pp_count_sum(s->repeats, 1),
	};
	int rc;

	b->stats.samples++;
	b->stats.with_stack += s->branch_cnt != 0;
	b->stats.ledger.branches =
		pp_count_sum(b->stats.ledger.branches, pp_count_product(w.times, s->branch_cnt));
	b->nameless |= !is_mapped && s->pid == UINT32_MAX;
	if (!is_mapped && !is_unmapped_text(b)) {
		leave_out_stack(b, &w, s, space && space->piece_cnt);
		return 0;
	}
	rc = walk_stack(b, &w, s);
	if (w.counted)
		note_time(b, s->time_ns);
	return rc;
}

/* ---------------------------------------------------------------- counts */

static int on_count(void *context, const struct pathprof_recorded_count *count)
{
	struct pathprof_recording_branches *b = context;

	return pathprof_branch_profile_add_count(b->profile, b->code, b->graph,
						 pathprof_format_addresses(b->format), count,
						 &b->error);
}

void pathprof_recording_branches_sink(struct pathprof_recording_branches *b,
				      struct pathprof_recording_sink *ret_sink)
{
	*ret_sink = (struct pathprof_recording_sink){
		.context = b,
		.mapping = on_mapping,
		.process = on_process,
		.sample = on_sample,
		.count = on_count,
	};
}

/* ---------------------------------------------------------------- the end */

static int no_mapping(const struct pathprof_recording_branches *b, struct pathprof_error *error)
{
	char want[PATHPROF_BUILD_ID_TEXT_LEN], have[PATHPROF_BUILD_ID_TEXT_LEN];

	if (b->stats.other_build_id)
		return pathprof_fail(error, -ESTALE,
				     "%s is another build (%s) than the one recorded (%s): find "
				     "that one",
				     b->code->path, pathprof_build_id_text(&b->id, have),
				     pathprof_build_id_text(&b->other, want));
	return pathprof_fail(
		error, -ENODATA,
		"the recording has no mapping of %s (build-id %s): was it run, and are "
		"mappings in it (perf script: --show-mmap-events)?",
		b->code->path, pathprof_build_id_text(&b->id, have));
}

static int nothing_of_it(const struct pathprof_recording_branches *b, struct pathprof_error *error)
{
	if (!b->stats.samples)
		return pathprof_fail(error, -ENODATA, "the recording has no samples");
	if (!b->stats.with_stack)
		return pathprof_fail(error, -ENODATA,
				     "its samples have no branch stacks: record them (perf record "
				     "-b)");
	if (!b->stats.mappings && !is_unmapped_text(b))
		return no_mapping(b, error);
	if (b->nameless)
		return pathprof_fail(error, -ENODATA,
				     "samples do not say of which process they are: print them "
				     "with it (perf script -F pid,tid,...)");
	if (b->stats.ledger.left[PATHPROF_LEDGER_UNMAPPED])
		return pathprof_fail(
			error, -ENODATA,
			"none of its %llu samples has a branch of %s, and %llu branches are in "
			"nothing that is mapped: were mappings recorded too late, or not at all?",
			(unsigned long long)b->stats.samples, b->code->path,
			(unsigned long long)b->stats.ledger.left[PATHPROF_LEDGER_UNMAPPED]);
	return pathprof_fail(error, -ENODATA,
			     "none of its %llu samples has a branch of %s: record more, or another "
			     "binary",
			     (unsigned long long)b->stats.samples, b->code->path);
}

/* Of counts, whose file may name the events that they are of. */
static int tell_events(struct pathprof_recording_branches *b,
		       const struct pathprof_recording *recording, uint32_t cnt)
{
	int rc = 0;

	if (b->format != PATHPROF_FORMAT_BOLT_PREAGG)
		return 0;
	for (uint32_t i = 0; i < cnt && !rc; i++)
		rc = pp_branch_add_event(b->profile, pathprof_recording_event(recording, i));
	return rc;
}

/* Fills in the profile's origin. */
static int tell_origin(struct pathprof_recording_branches *b,
		       const struct pathprof_recording *recording)
{
	struct pathprof_branch_origin *o = &b->profile->origin;
	struct pathprof_recording_info info = {.realtime_offset_ns = INT64_MIN};
	int rc;

	if (recording)
		pathprof_recording_info(recording, &info);
	pathprof_recording_branches_ledger(b, &o->ledger);
	o->windows++;
	o->samples = pp_count_sum(o->samples, b->stats.of_binary);
	o->weight += (double)b->stats.of_binary;
	o->taken = pp_count_sum(o->taken, b->stats.branches);
	o->refused = pp_count_sum(o->refused, b->stats.left[PATHPROF_LEFT_RANGE]);
	if (info.realtime_offset_ns != INT64_MIN && b->begin_ns) {
		/* unsigned, since times come from outside and their sum may overflow */
		o->begin_ns = (int64_t)((uint64_t)info.realtime_offset_ns + b->begin_ns);
		o->end_ns = (int64_t)((uint64_t)info.realtime_offset_ns + b->end_ns);
	}
	rc = tell_events(b, recording, info.event_cnt);
	return rc ? rc
		  : pathprof_branch_profile_name(b->profile, b->mapped_name ?: b->code->path,
						 info.hostname, pathprof_format_name(b->format));
}

int pathprof_recording_branches_finish(struct pathprof_recording_branches *b,
				       const struct pathprof_recording *recording,
				       struct pathprof_error *error)
{
	bool counts = pathprof_format_addresses(b->format) != PATHPROF_ADDRESS_RUN;
	int rc = pp_recording_traces_flush(&b->traces);

	if (!rc && !counts && !b->stats.branches)
		return nothing_of_it(b, error);
	if (!rc)
		rc = tell_origin(b, recording);
	return rc ? pathprof_fail(error, rc, "branches of a recording: %s", strerror(-rc)) : 0;
}
