// SPDX-License-Identifier: GPL-2.0-or-later
/* See counts.h. */
#include "counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vector.h"
#include "pathprof/build_id.h"
#include "pathprof/store.h"

#define PROFILE_MAX_BYTES ((size_t)4 << 30)
#define PATH_LENGTH_MAX   32
/* Ids are assigned in sequence, so one far beyond was overwritten by the program. */
#define MODULE_ID_MAX (1u << 24)

struct trace_counts_module {
	uint64_t start, offset;
	uint32_t binary; /* of the profile; PATHPROF_NO_INDEX: code without a file */
	bool is_known;
};

struct trace_counts_piece {
	uint64_t start; /* file offset */
	uint64_t cnt;
	uint32_t binary, length, outcomes;
};

struct trace_counts_segment {
	size_t first, second; /* pieces */
	uint64_t cnt;
};

int trace_counts_init(struct trace_counts *counts)
{
	int r;

	*counts = (struct trace_counts){0};
	r = pathprof_profile_init(&counts->profile, PROFILE_MAX_BYTES);
	if (r < 0)
		return r;
	counts->profile.begin_ns = pp_realtime_ns();
	counts->profile.source = PATHPROF_SOURCE_TRACE;
	counts->profile.basis = PATHPROF_BASIS_BRANCHES;
	return 0;
}

void trace_counts_release(struct trace_counts *counts)
{
	pathprof_profile_release(&counts->profile);
	free(counts->modules);
	free(counts->pieces);
	free(counts->segments);
	*counts = (struct trace_counts){0};
}

/* ---------------------------------------------------------------- files */

static uint32_t binary_of(struct trace_counts *counts, const char *path)
{
	struct pathprof_build_id id;

	if (path[0] != '/' || pathprof_build_id_read_file(&id, path, NULL) < 0)
		return PATHPROF_NO_INDEX;
	return pathprof_profile_binary(&counts->profile, &id, path);
}

int trace_counts_module(struct trace_counts *counts, const struct pathprof_trace_module *module,
			const char *path)
{
	if (module->module >= MODULE_ID_MAX)
		return 0;
	while (counts->module_cnt <= module->module) {
		size_t cnt = counts->module_cnt ? counts->module_cnt * 2 : 64;

		if (pp_resize(&counts->modules, cnt) < 0)
			return -ENOMEM;
		memset(counts->modules + counts->module_cnt, 0,
		       (cnt - counts->module_cnt) * sizeof(*counts->modules));
		counts->module_cnt = cnt;
	}
	counts->modules[module->module] = (struct trace_counts_module){
		.start = module->start,
		.offset = module->offset,
		.binary = binary_of(counts, path),
		.is_known = true,
	};
	return 0;
}

/* ---------------------------------------------------------------- one process */

/* The arena of a process while it is added to the counts. The program may have overwritten it. */
struct taking {
	struct trace_counts *counts;
	const struct trace_arena *arena;
	uint32_t node_cnt;
	uint32_t left_cnt; /* nodes still to come: a forest has each once */
	uint32_t process, binary;
	uint64_t start;
	size_t *piece_of; /* by node: 1 + its piece; 0: none */
	bool is_damaged;
};

static int take_piece(struct taking *t, uint32_t node, uint32_t length, uint32_t outcomes)
{
	struct trace_counts *counts = t->counts;

	if (!t->arena->nodes[node].pieces)
		return 0;
	if (pp_grow(&counts->pieces, counts->piece_cnt, &counts->piece_room) < 0)
		return -ENOMEM;
	counts->pieces[counts->piece_cnt++] = (struct trace_counts_piece){
		.start = t->start,
		.binary = t->binary,
		.length = length,
		.outcomes = outcomes,
		.cnt = t->arena->nodes[node].pieces,
	};
	t->piece_of[node] = counts->piece_cnt;
	return 0;
}

/* A path that ran only where no window could show it whole is stored with a count of 0. */
static void take_path(struct taking *t, uint32_t node, uint32_t length, uint32_t outcomes)
{
	const struct trace_node *n = &t->arena->nodes[node];
	const struct pathprof_path_count path = {
		.process = t->process,
		.binary = t->binary,
		.start = t->start,
		.length = length,
		.outcomes = outcomes,
		.samples = n->paths,
		.weight = (double)n->paths,
	};

	if (!n->paths && !n->deep)
		return;
	pathprof_profile_add_path(&t->counts->profile, &path);
	t->counts->profile.totals.paths += n->paths;
}

static int take_node(struct taking *t, uint32_t node, uint32_t length, uint32_t outcomes)
{
	const struct trace_node *n = &t->arena->nodes[node];
	int r;

	if (!node || node >= t->node_cnt || length > PATH_LENGTH_MAX || !t->left_cnt) {
		t->is_damaged = true;
		return 0;
	}
	t->left_cnt--;
	if (t->binary == PATHPROF_NO_INDEX) {
		t->counts->profile.totals.drops[PATHPROF_DROP_UNRESOLVED] += n->paths;
		r = 0;
	} else {
		take_path(t, node, length, outcomes);
		r = take_piece(t, node, length, outcomes);
	}
	for (uint32_t taken = 0; taken < 2 && r == 0; taken++)
		if (n->child[taken])
			r = take_node(t, n->child[taken], length + 1,
				      outcomes | (uint32_t)((uint64_t)taken << length));
	return r;
}

static int take_root(struct taking *t, const struct trace_root *root)
{
	const struct trace_counts_module *module = NULL;

	if (root->module < t->counts->module_cnt)
		module = &t->counts->modules[root->module];
	if (!module || !module->is_known) {
		t->is_damaged = true;
		return 0;
	}
	t->binary = module->binary;
	t->start = root->start - module->start + module->offset;
	return take_node(t, root->node, 0, 0);
}

static int take_pairs(struct taking *t)
{
	struct trace_counts *counts = t->counts;
	uint32_t pair_cnt = t->arena->pair_cnt;

	t->is_damaged |= pair_cnt > TRACE_PAIR_CNT || t->arena->lost_pairs;
	for (uint32_t i = 1; i < pair_cnt && i < TRACE_PAIR_CNT; i++) {
		const struct trace_pair *pair = &t->arena->pairs[i];
		struct trace_counts_segment segment = {.cnt = pair->cnt};

		if (pair->first >= t->node_cnt || pair->second >= t->node_cnt) {
			t->is_damaged = true;
			return 0;
		}
		if (!t->piece_of[pair->first] || !t->piece_of[pair->second])
			continue;
		segment.first = t->piece_of[pair->first] - 1;
		segment.second = t->piece_of[pair->second] - 1;
		if (pp_grow(&counts->segments, counts->segment_cnt, &counts->segment_room) < 0)
			return -ENOMEM;
		counts->segments[counts->segment_cnt++] = segment;
	}
	return 0;
}

static uint32_t add_process(struct trace_counts *counts, uint32_t pid, const char *program)
{
	const char *slash = strrchr(program, '/');
	char *absolute = realpath(program, NULL);
	uint32_t index;
	char container[] = "";
	struct pathprof_process process = {
		.pid = pid,
		.start_time =
			pp_clock_ns(CLOCK_BOOTTIME) / 1000000000 * (uint64_t)sysconf(_SC_CLK_TCK),
		.comm = (char *)(slash ? slash + 1 : program),
		.container = container,
		.binary = binary_of(counts, absolute ? absolute : ""),
	};

	index = pathprof_profile_process(&counts->profile, &process);
	free(absolute);
	return index;
}

int trace_counts_take(struct trace_counts *counts, const struct trace_arena *arena, uint32_t pid,
		      const char *program)
{
	struct taking t = {.counts = counts, .arena = arena, .node_cnt = arena->node_cnt};
	uint32_t root_cnt = arena->root_cnt;
	int r = 0;

	/* The process ended before it counted anything. */
	if (!t.node_cnt)
		return 0;
	if (t.node_cnt > TRACE_NODE_CNT || root_cnt > TRACE_ROOT_CNT) {
		counts->lost_processes++;
		return 0;
	}
	t.left_cnt = t.node_cnt - 1;
	t.is_damaged = arena->nodes[0].paths || arena->nodes[0].pieces;
	t.piece_of = calloc(t.node_cnt, sizeof(*t.piece_of));
	if (!t.piece_of)
		return -ENOMEM;
	t.process = add_process(counts, pid, program);
	for (uint32_t i = 0; i < root_cnt && r == 0; i++)
		r = take_root(&t, &arena->roots[i]);
	if (r == 0)
		r = take_pairs(&t);
	free(t.piece_of);
	counts->lost_processes += t.is_damaged;
	return r;
}

/* ---------------------------------------------------------------- the file */

struct writing {
	struct trace_counts *counts;
	const char *note;
};

static struct pathprof_piece piece_at(const struct trace_counts *counts, size_t i)
{
	const struct trace_counts_piece *piece = &counts->pieces[i];
	const struct pathprof_binary *binary = &counts->profile.binaries[piece->binary];

	return (struct pathprof_piece){
		.binary_id = binary->id,
		.binary_name = binary->name,
		.start = piece->start,
		.length = piece->length,
		.outcomes = piece->outcomes,
	};
}

static int add_run(const struct writing *w, struct pathprof_store *store, int64_t window,
		   struct pathprof_piece_row *pieces, struct pathprof_segment_row *segments,
		   struct pathprof_error *error)
{
	const struct trace_counts *counts = w->counts;
	const struct pathprof_run run = {
		.note = w->note,
		.pieces = pieces,
		.piece_cnt = counts->piece_cnt,
		.segments = segments,
		.segment_cnt = counts->segment_cnt,
	};

	if (!pieces || !segments)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < counts->piece_cnt; i++)
		pieces[i] = (struct pathprof_piece_row){.piece = piece_at(counts, i),
							.count = counts->pieces[i].cnt};
	for (size_t i = 0; i < counts->segment_cnt; i++)
		segments[i] = (struct pathprof_segment_row){
			.first = piece_at(counts, counts->segments[i].first),
			.second = piece_at(counts, counts->segments[i].second),
			.count = counts->segments[i].cnt};
	return pathprof_store_add_run(store, window, &run, error);
}

static int fill(void *context, struct pathprof_store *store, struct pathprof_error *error)
{
	const struct writing *w = context;
	struct pathprof_piece_row *pieces = calloc(w->counts->piece_cnt + 1, sizeof(*pieces));
	struct pathprof_segment_row *segments =
		calloc(w->counts->segment_cnt + 1, sizeof(*segments));
	int64_t window = 0;
	int r = pathprof_store_add_window(store, &w->counts->profile, &window, error);

	if (r == 0)
		r = add_run(w, store, window, pieces, segments, error);
	free(pieces);
	free(segments);
	return r;
}

int trace_counts_write(struct trace_counts *counts, const char *file, const char *note,
		       struct pathprof_error *error)
{
	struct writing w = {.counts = counts, .note = note};

	counts->profile.end_ns = pp_realtime_ns();
	return pathprof_store_make(file, true, fill, &w, error);
}
