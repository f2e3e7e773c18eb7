// SPDX-License-Identifier: GPL-2.0-or-later
/* An import under test: see import_world.h. */
#include "import_world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../one_segment.h"
#include "unit.h"

static bool is_same_key(const struct import_row *a, const struct import_row *b)
{
	return a->pid == b->pid && a->is_path == b->is_path && a->a == b->a && a->b == b->b &&
	       a->second_a == b->second_a && a->second_b == b->second_b;
}

void import_count(struct import_rows *rows, const struct import_row *add)
{
	struct import_row *at = rows->list;

	while (at < rows->list + rows->cnt && !is_same_key(at, add))
		at++;
	if (at == rows->list + rows->cnt) {
		CU_ASSERT_FATAL(rows->cnt < ROWS);
		*at = *add;
		at->cnt = at->mispredicted = 0;
		at->weight = 0;
		rows->cnt++;
	}
	at->cnt += add->cnt;
	at->mispredicted += add->mispredicted;
	at->weight += add->weight;
}

static bool has(const struct import_rows *rows, const struct import_row *row)
{
	for (size_t i = 0; i < rows->cnt; i++) {
		const struct import_row *r = &rows->list[i];
		double off = (r->weight - row->weight) / (row->weight > 1 ? row->weight : 1);

		if (is_same_key(r, row))
			return r->cnt == row->cnt && r->mispredicted == row->mispredicted &&
			       off < 1e-9 && off > -1e-9;
	}
	return false;
}

bool import_has_all(const struct import_rows *rows, const struct import_rows *wanted)
{
	for (size_t i = 0; i < wanted->cnt; i++)
		if (!has(rows, &wanted->list[i]))
			return false;
	return true;
}

bool import_are_same(const struct import_rows *a, const struct import_rows *b)
{
	return import_has_all(b, a) && a->cnt == b->cnt;
}

/* ---------------------------------------------------------------- the import under test */

/* Generated code is its own process's. */
static void check_jit(struct import_world *w, const struct pathprof_profile *p,
		      const struct pathprof_edge_count *e)
{
	const struct pathprof_binary *binary = &p->binaries[e->from_binary];
	char name[32];

	if (binary->id.kind != PATHPROF_ID_JIT)
		return;
	snprintf(name, sizeof(name), "jit:%u", p->processes[e->process].pid);
	CU_ASSERT_STRING_EQUAL(binary->name, name);
	w->jit_edges++;
}

static void keep_edges(struct import_world *w, const struct pathprof_profile *p)
{
	for (uint32_t i = 0; i < p->edge_cnt; i++) {
		const struct pathprof_edge_count *e = &p->edges[i];

		check_jit(w, p, e);
		import_count(&w->got, &(struct import_row){.pid = p->processes[e->process].pid,
							   .a = e->from,
							   .b = e->to,
							   .cnt = e->count,
							   .mispredicted = e->mispredicted});
	}
}

static uint64_t descriptor(uint32_t length, uint32_t outcomes)
{
	return (uint64_t)length << 32 | outcomes;
}

static void keep_segments(struct import_world *w, const struct pathprof_profile *p)
{
	for (uint32_t i = 0; i < p->segment_cnt; i++) {
		const struct pathprof_segment_count *s = &p->segments[i];
		const struct pathprof_path_count *c = &s->second;

		import_count(&w->got, &(struct import_row){
					      .pid = p->processes[c->process].pid,
					      .a = s->first.start,
					      .b = descriptor(s->first.length, s->first.outcomes),
					      .second_a = c->start,
					      .second_b = descriptor(c->length, c->outcomes),
					      .cnt = c->samples,
					      .weight = c->weight});
	}
}

static int keep_window(void *context, const struct pathprof_profile *p,
		       const struct pathprof_ranges *ranges, struct pathprof_error *error)
{
	struct import_world *w = context;

	CU_ASSERT_FATAL(w->window_cnt < WINDOWS);
	w->begins[w->window_cnt] = p->begin_ns;
	w->ends[w->window_cnt++] = p->end_ns;
	w->stored_stacks += p->totals.bursts;
	CU_ASSERT_EQUAL(p->source, PATHPROF_SOURCE_IMPORT);
	CU_ASSERT_EQUAL(p->totals.drops[PATHPROF_DROP_TABLE_FULL], 0);
	CU_ASSERT(p->is_ordered || !p->segment_cnt);
	CU_ASSERT_EQUAL(p->segments_lost, 0);
	keep_edges(w, p);
	keep_segments(w, p);
	for (uint32_t i = 0; i < p->path_cnt; i++) {
		const struct pathprof_path_count *c = &p->paths[i];

		import_count(&w->got, &(struct import_row){.pid = p->processes[c->process].pid,
							   .is_path = true,
							   .a = c->start,
							   .b = descriptor(c->length, c->outcomes),
							   .cnt = c->samples,
							   .weight = c->weight});
	}
	return 0;
}

static int locate(void *context, uint64_t address, struct pathprof_mapping_place *ret_place)
{
	struct import_world *w = context;

	*ret_place = (struct pathprof_mapping_place){.code = w->code,
						     .start = BASE,
						     .end = BASE + w->program.byte_cnt,
						     .offset = ORACLE_FILE_OFFSET};
	return 0;
}

static void write_program(struct import_world *w)
{
	const struct one_segment place = {ET_EXEC, ORACLE_FILE_OFFSET, BASE};
	int fd;

	snprintf(w->path, sizeof(w->path), "%s/prog", unit_tmpdir());
	fd = open(w->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(one_segment_write(fd, &place, w->program.bytes, w->program.byte_cnt),
			      0);
	close(fd);
}

struct import_world *import_world_open_of(enum pathprof_format format, uint64_t seed)
{
	struct import_world *w = calloc(1, sizeof(*w));
	struct pathprof_import_config config = {
		.format = format,
		.mapping = PATHPROF_MAPPING_BL,
		.window_ns = SECOND,
		.file_time_ns = (int64_t)(1000 * SECOND),
	};

	if (!w)
		abort();
	oracle_program_make(&w->program, 400, 4, seed);
	write_program(w);
	w->code = oracle_file(w->program.bytes, w->program.byte_cnt);
	CU_ASSERT_EQUAL_FATAL(pathprof_reconstructor_new(&w->naive, locate, w), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_import_files_add(&w->files, w->path, NULL), 0);
	w->out = (struct pathprof_import_sink){w, keep_window};
	CU_ASSERT_EQUAL_FATAL(pathprof_import_new(&w->import, &config, &w->files, &w->out, NULL),
			      0);
	w->sink = pathprof_import_records(w->import);
	w->times = 1;
	return w;
}

struct import_world *import_world_open(uint64_t seed)
{
	return import_world_open_of(PATHPROF_FORMAT_PERF_DATA, seed);
}

void import_world_close(struct import_world *w)
{
	pathprof_import_free(w->import);
	pathprof_import_files_release(&w->files);
	pathprof_reconstructor_free(w->naive);
	pathprof_code_free(w->code);
	free(w);
}

void import_map(struct import_world *w, uint32_t pid, uint64_t start, const char *name)
{
	w->sink.mapping(w->sink.context, &(struct pathprof_recorded_mapping){
						 .pid = pid,
						 .start = start,
						 .end = start + 0x100000,
						 .offset = ORACLE_FILE_OFFSET,
						 .name = name,
						 .executable = true,
					 });
}

void import_change(struct import_world *w, enum pathprof_recorded_change kind, uint32_t pid,
		   uint32_t parent)
{
	w->sink.process(w->sink.context, &(struct pathprof_recorded_process){
						 .time_ns = 5 * SECOND,
						 .pid = pid,
						 .parent = parent,
						 .change = kind,
						 .comm = "name",
					 });
}

/* ---------------------------------------------------------------- stacks */

void import_run(struct import_world *w, struct import_stack *s)
{
	struct pathprof_branch b;

	for (uint32_t i = 0; i < DEPTH;) {
		oracle_program_step(&w->program, &b);
		if (b.taken)
			s->taken[i++] = (struct pathprof_taken){b.from, b.next};
	}
}

void import_put(struct import_stack *s, uint64_t from, uint64_t to)
{
	s->branches[s->cnt++] = (struct pathprof_recorded_branch){
		.from = from, .to = to, .flags = from % 3 ? 0 : PATHPROF_RECORDED_MISPREDICTED};
}

/* Newest first, moved to where the process has it. */
void import_record(struct import_stack *s, uint64_t moved)
{
	s->cnt = 0;
	for (uint32_t i = DEPTH; i-- > 0;)
		import_put(s, s->taken[i].from + moved, s->taken[i].to + moved);
}

int import_send(struct import_world *w, const struct import_stack *s, uint32_t pid,
		uint64_t time_ns)
{
	return w->sink.sample(w->sink.context, &(struct pathprof_recorded_sample){
						       .time_ns = time_ns,
						       .pid = pid,
						       .repeats = w->times - 1,
						       .branch_cnt = s->cnt,
						       .branches = s->branches,
						       .user = true,
						       .filtered = w->filtered,
					       });
}

uint64_t import_offset(uint64_t address)
{
	return address - BASE + ORACLE_FILE_OFFSET;
}

void import_want_path(void *context, const struct pathprof_path_seen *path)
{
	struct import_world *w = context;
	double places = w->depth - path->span;

	import_count(&w->want, &(struct import_row){.pid = w->pid,
						    .is_path = true,
						    .a = import_offset(path->start),
						    .b = descriptor(path->length, path->outcomes),
						    .cnt = w->times,
						    .weight = (double)w->times * w->depth /
							      (places > 1 ? places : 1)});
}

static void want_segment(void *context, const struct pathprof_segment_seen *segment)
{
	const struct pathprof_path_seen *first = &segment->first, *second = &segment->second;
	struct import_world *w = context;
	double places = w->depth - segment->span;

	import_count(&w->want,
		     &(struct import_row){.pid = w->pid,
					  .a = import_offset(first->start),
					  .b = descriptor(first->length, first->outcomes),
					  .second_a = import_offset(second->start),
					  .second_b = descriptor(second->length, second->outcomes),
					  .cnt = w->times,
					  .weight = (double)w->times * w->depth /
						    (places > 1 ? places : 1)});
}

/* taken[cnt] in a stack of `depth` entries; moved says what its mispredictions were made of. */
void import_want_paths(struct import_world *w, const struct pathprof_taken *taken, uint32_t cnt,
		       double depth)
{
	static struct pathprof_branch branches[PATHPROF_BURST_MAX];
	uint32_t branch_cnt, at;

	w->depth = depth;
	CU_ASSERT_EQUAL_FATAL(
		pathprof_reconstruct(w->naive, taken, cnt, branches, &branch_cnt, &at), 0);
	pathprof_paths_of_burst(branches, branch_cnt, PATHPROF_MAPPING_BL, import_want_path, w);
	pathprof_segments_of_window(branches, branch_cnt, 0, want_segment, w);
}

void import_want_edges(struct import_world *w, const struct import_stack *s, uint64_t moved)
{
	for (uint32_t i = 0; i < DEPTH; i++) {
		bool missed = (s->taken[i].from + moved) % 3 == 0;

		import_count(&w->want, &(struct import_row){.pid = w->pid,
							    .a = import_offset(s->taken[i].from),
							    .b = import_offset(s->taken[i].to),
							    .cnt = w->times,
							    .mispredicted = missed ? w->times : 0});
	}
}

/* One stack of the process, which has the program so far from where it was made for. */
void import_sample(struct import_world *w, uint32_t pid, uint64_t moved, uint64_t time_ns)
{
	struct import_stack s;

	import_run(w, &s);
	import_record(&s, moved);
	w->pid = pid;
	import_want_edges(w, &s, moved);
	import_want_paths(w, s.taken, DEPTH, DEPTH);
	CU_ASSERT_EQUAL(import_send(w, &s, pid, time_ns), 0);
}

void import_finish(struct import_world *w)
{
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pathprof_import_finish(w->import, &error), 0);
}

void import_finish_same(struct import_world *w)
{
	import_finish(w);
	CU_ASSERT(import_are_same(&w->got, &w->want));
}

uint64_t import_left(const struct import_world *w, enum pathprof_ledger_reason why)
{
	return pathprof_import_stats(w->import)->ledger.left[why];
}
