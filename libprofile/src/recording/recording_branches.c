// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Stacks of a recording to branches and ranges of one binary; see recording_branches.h for
 * workload and ownership. The walk is the import's (pp_import_chain.h), without its windows, over
 * two images: the binary, and one for all other files. Its counts go into the profile when its
 * tables are full, and at the end.
 */
#include "pathprof/recording_branches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../branch/pp_branch_profile.h"
#include "../branch/pp_code_ranges.h"
#include "../code/pp_code.h"
#include "pathprof/mapped.h"
#include "pathprof/recorded_spaces.h"
#include "pp_import_chain.h"
#include "pp_import_event.h"

struct pathprof_recording_branches {
	enum pathprof_format format;
	struct pathprof_code *code;
	const struct pathprof_graph *graph;
	struct pathprof_branch_profile *profile;
	struct pathprof_import_files files; /* one: the binary */
	struct pathprof_build_id other;     /* the last of its name that is another build */
	char *mapped_name;                  /* without " (deleted)"; NULL: not mapped yet */
	struct pathprof_recorded_spaces *spaces;
	struct pp_import_images *images;
	struct pp_import_counts *counts;
	struct pp_import_chain *chain;
	struct pp_code_ranges ranges;
	struct pp_import_asked asked;
	struct pp_import_event event;
	uint32_t image; /* the binary's number */
	int failure;    /* the profile could not take what was counted */
	struct pathprof_import_stats walked;
	struct pathprof_recording_branches_stats stats;
	uint64_t begin_ns, end_ns; /* of the samples with branches of it; the recording's clock */
	bool has_mappings;         /* of code, of any file */
	bool nameless;             /* some samples do not say which process they are of */
	struct pathprof_error error;
};

static const struct pathprof_build_id *id_of(const struct pathprof_recording_branches *b)
{
	return &b->files.binaries[0].id;
}

/* llvm-profgen's text is taken as one process; of its mappings only the binary's count. */
static bool is_of_one(const struct pathprof_recording_branches *b)
{
	return b->format == PATHPROF_FORMAT_PROFGEN_PERFSCRIPT;
}

/*
 * Addresses in a text are the file's own until a mapping comes (is_of_one(): of the binary, or of
 * another build of it).
 */
static bool is_unmapped_text(const struct pathprof_recording_branches *b)
{
	if (is_of_one(b))
		return !b->stats.mappings && !b->stats.other_build_id;
	return b->format == PATHPROF_FORMAT_PERF_SCRIPT && !b->has_mappings;
}

/* ---------------------------------------------------------------- what was counted */

static uint64_t offset_of(const struct pathprof_recording_branches *b, uint64_t address)
{
	uint64_t offset;
	uint32_t number;

	return pp_image_has_code(address) &&
			       pp_import_images_place(b->images, address, &number, &offset) == 0
		       ? offset
		       : PATHPROF_OUTSIDE;
}

static int hand_on_edge(struct pathprof_recording_branches *b, const struct pp_import_edge *e)
{
	uint64_t from = offset_of(b, e->image.from), to = offset_of(b, e->image.to);
	bool is_loss = pp_import_edge_is_lost(e) && !is_of_one(b) && !is_unmapped_text(b);

	if (from != PATHPROF_OUTSIDE || to != PATHPROF_OUTSIDE)
		return pathprof_branch_profile_add_branch(b->profile, from, to, e->cnt,
							  e->mispredicted);
	pp_import_leave_out(&b->walked,
			    is_loss ? PATHPROF_LEDGER_UNMAPPED : PATHPROF_LEDGER_OUTSIDE, e->cnt);
	return 0;
}

static void hand_on_straight(void *context, const struct pp_import_edge *led,
			     const struct pp_import_edge *left, uint64_t cnt)
{
	struct pathprof_recording_branches *b = context;
	uint64_t start = offset_of(b, led->image.to), last = offset_of(b, left->image.from);

	if (!b->failure && start != PATHPROF_OUTSIDE && last != PATHPROF_OUTSIDE)
		b->failure = pp_code_ranges_add(&b->ranges, offset_of(b, led->image.from), start,
						last, cnt);
}

static void hand_on(void *context)
{
	struct pathprof_recording_branches *b = context;
	struct pp_import_counts *counts = b->counts;

	for (uint32_t i = 1; i <= counts->edge_cnt && !b->failure; i++)
		b->failure = hand_on_edge(b, &counts->edges[i]);
	pp_import_counts_straight(counts, hand_on_straight, b);
	pp_import_counts_clear(counts);
	b->stats.left[PATHPROF_LEFT_RANGE] = b->ranges.misfits;
	b->stats.ledger = b->walked.ledger;
	b->stats.branches = b->walked.ledger.used;
}

static bool runs(void *context, uint64_t start, uint64_t last)
{
	const struct pathprof_recording_branches *b = context;

	return pp_range_runs(b->graph, offset_of(b, start), offset_of(b, last));
}

/* ---------------------------------------------------------------- life */

/* Fails unless code, graph and profile are of one binary. */
static int check_binary(struct pathprof_recording_branches *b, const struct pathprof_graph *graph,
			struct pathprof_error *error)
{
	struct pathprof_build_id *id = &b->files.binaries[0].id;
	int r = pathprof_code_build_id(b->code, id, error);

	if (!r)
		r = pp_branch_check_id(b->profile, id, b->code->path, error);
	if (!r)
		b->profile->origin.build_id = *id;
	return r ? r
		 : pp_branch_check_id(b->profile, &graph->build_id, "the control-flow graph",
				      error);
}

/* All files but the binary are one. -ENOMEM. */
static int make_images(struct pathprof_recording_branches *b)
{
	static const struct pathprof_build_id none = {.kind = PATHPROF_ID_JIT};
	uint32_t others;
	int r = pp_import_images_new(&b->images, &b->files);

	if (!r)
		r = pp_import_images_know(b->images, b->code, id_of(b), &b->image);
	return r ? r : pp_import_images_get(b->images, "", &none, &others);
}

static int make_parts(struct pathprof_recording_branches *b)
{
	int r = pathprof_recorded_spaces_new(&b->spaces);

	if (!r)
		r = make_images(b);
	if (!r)
		r = pp_import_counts_new(&b->counts, PP_IMPORT_EDGE_MAX);
	if (!r)
		r = pp_code_ranges_init(&b->ranges, b->graph, b->profile);
	if (!r)
		r = pp_import_chain_new(&b->chain,
					&(struct pp_import_chain_parts){
						.spaces = b->spaces,
						.images = b->images,
						.counts = b->counts,
						.stats = &b->walked,
						.full = hand_on,
						.runs = runs,
						.context = b,
						.is_by_mark = true,
					},
					PATHPROF_MAPPING_BL);
	return r;
}

int pathprof_recording_branches_new(struct pathprof_recording_branches **ret_branches,
				    enum pathprof_format format, struct pathprof_code *code,
				    const struct pathprof_graph *graph,
				    struct pathprof_branch_profile *profile,
				    struct pathprof_error *error)
{
	struct pathprof_recording_branches *b;
	int r;

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
	b->event = PP_IMPORT_EVENT_INIT;
	b->files.binary_cnt = 1;
	b->files.binaries[0].path = code->path;
	b->files.binaries[0].real_path = realpath(code->path, NULL);
	r = check_binary(b, graph, error);
	if (!r) {
		r = make_parts(b);
		if (r)
			pathprof_fail(error, r, "out of memory");
	}
	if (r) {
		pathprof_recording_branches_free(b);
		return r;
	}
	*ret_branches = b;
	return 0;
}

void pathprof_recording_branches_free(struct pathprof_recording_branches *b)
{
	if (!b)
		return;
	pp_import_chain_free(b->chain);
	pp_code_ranges_release(&b->ranges);
	pp_import_counts_free(b->counts);
	pp_import_images_free(b->images);
	pathprof_recorded_spaces_free(b->spaces);
	free(b->files.binaries[0].real_path);
	free(b->mapped_name);
	free(b);
}

void pathprof_recording_branches_set_recording(struct pathprof_recording_branches *b,
					       const struct pathprof_recording *recording)
{
	b->asked.recording = recording;
}

const struct pathprof_recording_branches_stats *
pathprof_recording_branches_stats(const struct pathprof_recording_branches *b)
{
	return &b->stats;
}

const struct pathprof_error *
pathprof_recording_branches_error(const struct pathprof_recording_branches *b)
{
	return &b->error;
}

/* ---------------------------------------------------------------- where the binary lies */

/* Is it the binary? By its build-id where there is one, else by its name. */
static bool is_ours(struct pathprof_recording_branches *b,
		    const struct pathprof_recorded_mapping *m)
{
	if (!m->executable || m->pid == PATHPROF_RECORDED_KERNEL)
		return false;
	if (pp_import_files_find(&b->files, m->name, &m->id)) {
		b->stats.by_name += m->id.kind == PATHPROF_ID_NONE;
		return true;
	}
	if (m->id.kind != PATHPROF_ID_NONE &&
	    pp_import_files_find(&b->files, m->name, &(struct pathprof_build_id){0})) {
		b->stats.other_build_id++;
		b->other = m->id;
	}
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
	int r;

	mapping.pid = is_of_one(b) ? 0 : m->pid;
	r = pathprof_recorded_spaces_map(b->spaces, &mapping, ours);
	count_left_out(b);
	return r == -ENOMEM ? r : 0;
}

static int on_mapping(void *context, const struct pathprof_recorded_mapping *m)
{
	struct pathprof_recording_branches *b = context;
	bool ours = is_ours(b, m);

	/* Addresses mean something else from here on. */
	if (is_unmapped_text(b))
		hand_on(b);
	b->has_mappings |= m->executable && m->pid != PATHPROF_RECORDED_KERNEL;
	/* All processes share one space here: another file's mapping could hide the binary's. */
	if (!ours && is_of_one(b))
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
	int r = 0;

	if (p->change != PATHPROF_RECORDED_COMM)
		r = pathprof_recorded_spaces_change(b->spaces, p);
	count_left_out(b);
	return r == -ENOMEM ? r : 0;
}

/* ---------------------------------------------------------------- stacks */

static void note_time(struct pathprof_recording_branches *b, uint64_t time_ns)
{
	b->stats.of_binary++;
	if (!b->begin_ns || time_ns < b->begin_ns)
		b->begin_ns = time_ns;
	if (time_ns > b->end_ns)
		b->end_ns = time_ns;
}

/*
 * A sample of a process that has not mapped the binary, or not yet. Its branches are unmapped when
 * the process has no mappings at all, else outside of the binary.
 */
static void leave_out(struct pathprof_recording_branches *b,
		      const struct pathprof_recorded_sample *s,
		      const struct pathprof_recorded_space *process)
{
	bool has_mappings = process && process->space->piece_cnt;

	b->nameless |= s->pid == UINT32_MAX;
	pp_import_chain_leave_out(
		b->chain, s, has_mappings ? PATHPROF_LEDGER_OUTSIDE : PATHPROF_LEDGER_UNMAPPED);
}

static int on_sample(void *context, const struct pathprof_recorded_sample *recorded)
{
	struct pathprof_recording_branches *b = context;
	struct pathprof_recorded_sample s = *recorded;
	bool is_text = is_unmapped_text(b);
	const struct pathprof_recorded_space *process;

	b->stats.samples++;
	b->stats.with_stack += s.branch_cnt != 0;
	if (is_of_one(b) || is_text)
		s.pid = 0;
	process = pathprof_recorded_spaces_look(b->spaces, s.pid);
	pp_import_chain_set_only(b->chain, is_text ? b->image : PP_IMPORT_NO_IMAGE);
	if (!s.branch_cnt)
		return b->failure;
	if (!pp_import_event_joins(&b->event, &b->asked, s.event))
		pp_import_event_leave_out(&b->walked, &s);
	else if (!is_text && !(process && process->marked))
		leave_out(b, recorded, process);
	else if (pp_import_chain_stack(b->chain, &s))
		note_time(b, s.time_ns);
	return b->failure;
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
				     b->code->path, pathprof_build_id_text(id_of(b), have),
				     pathprof_build_id_text(&b->other, want));
	return pathprof_fail(
		error, -ENODATA,
		"the recording has no mapping of %s (build-id %s): was it run, and are "
		"mappings in it (perf script: --show-mmap-events)?",
		b->code->path, pathprof_build_id_text(id_of(b), have));
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
	if (b->stats.ledger.left[PATHPROF_LEDGER_OTHER_EVENT])
		return pathprof_fail(
			error, -ENODATA,
			"no branch of %s is of the event that decides, the first with branch "
			"stacks, and %llu branches are of events of another kind: record one "
			"event at a time",
			b->code->path,
			(unsigned long long)b->stats.ledger.left[PATHPROF_LEDGER_OTHER_EVENT]);
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

/* A bolt-preagg file may name the events of its counts. */
static int tell_events(struct pathprof_recording_branches *b,
		       const struct pathprof_recording *recording, uint32_t cnt)
{
	int r = 0;

	if (b->format != PATHPROF_FORMAT_BOLT_PREAGG)
		return 0;
	for (uint32_t i = 0; i < cnt && !r; i++)
		r = pp_branch_add_event(b->profile, pathprof_recording_event(recording, i));
	return r;
}

/* Fills in the profile's origin. */
static int tell_origin(struct pathprof_recording_branches *b,
		       const struct pathprof_recording *recording)
{
	struct pathprof_branch_origin *o = &b->profile->origin;
	struct pathprof_recording_info info = {.realtime_offset_ns = INT64_MIN};
	int r;

	if (recording)
		pathprof_recording_info(recording, &info);
	o->ledger = b->stats.ledger;
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
	r = tell_events(b, recording, info.event_cnt);
	return r ? r
		 : pathprof_branch_profile_name(b->profile, b->mapped_name ?: b->code->path,
						info.hostname, pathprof_format_name(b->format));
}

int pathprof_recording_branches_finish(struct pathprof_recording_branches *b,
				       const struct pathprof_recording *recording,
				       struct pathprof_error *error)
{
	bool counts = pathprof_format_addresses(b->format) != PATHPROF_ADDRESS_RUN;
	int r;

	hand_on(b);
	r = b->failure;
	if (!r && !counts && !b->stats.branches)
		return nothing_of_it(b, error);
	if (!r)
		r = tell_origin(b, recording);
	return r ? pathprof_fail(error, r, "branches of a recording: %s", strerror(-r)) : 0;
}
