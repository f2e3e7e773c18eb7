// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Imports against a naive count: programs whose every instruction is known (oracle_program.h) run,
 * stacks are cut out of what they execute, and what the windows hold must be what counting branch
 * by branch gives, wherever the program was mapped.
 */
#include "pathprof/import.h"
#include "unit.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../libprofile/src/recording/pp_import_counts.h"
#include "pathprof/recorded_spaces.h"
#include "../one_segment.h"
#include "oracle_program.h"
#include "pathprof/reconstruct.h"

#define BASE    ORACLE_PROGRAM_BASE
#define DEPTH   24
#define ROWS    16384
#define SECOND  UINT64_C(1000000000)
#define KERNEL  UINT64_C(0xffffffff81000000)
#define WINDOWS 64

/* What was counted of one edge (b its target) or path (b its descriptor). */
struct row {
	uint32_t pid;
	bool is_path;
	uint64_t a, b, cnt, mispredicted;
	double weight;
};

struct rows {
	struct row list[ROWS];
	size_t cnt;
};

static void count(struct rows *rows, const struct row *add)
{
	struct row *at = rows->list;

	while (at < rows->list + rows->cnt && (at->pid != add->pid || at->is_path != add->is_path ||
					       at->a != add->a || at->b != add->b))
		at++;
	if (at == rows->list + rows->cnt) {
		CU_ASSERT_FATAL(rows->cnt < ROWS);
		*at = (struct row){add->pid, add->is_path, add->a, add->b, 0, 0, 0};
		rows->cnt++;
	}
	at->cnt += add->cnt;
	at->mispredicted += add->mispredicted;
	at->weight += add->weight;
}

static bool has(const struct rows *rows, const struct row *row)
{
	for (size_t i = 0; i < rows->cnt; i++) {
		const struct row *r = &rows->list[i];
		double off = (r->weight - row->weight) / (row->weight > 1 ? row->weight : 1);

		if (r->pid == row->pid && r->is_path == row->is_path && r->a == row->a &&
		    r->b == row->b)
			return r->cnt == row->cnt && r->mispredicted == row->mispredicted &&
			       off < 1e-9 && off > -1e-9;
	}
	return false;
}

static bool has_all(const struct rows *rows, const struct rows *wanted)
{
	for (size_t i = 0; i < wanted->cnt; i++)
		if (!has(rows, &wanted->list[i]))
			return false;
	return true;
}

static bool are_same(const struct rows *a, const struct rows *b)
{
	return has_all(b, a) && a->cnt == b->cnt;
}

/* ---------------------------------------------------------------- the import under test */

struct world {
	struct oracle_program program;
	struct pathprof_import_files files;
	struct pathprof_import *import;
	struct pathprof_recording_sink sink;
	struct pathprof_import_sink out;
	struct pathprof_reconstructor *naive;
	struct pathprof_code *code;
	char path[256];

	struct rows got, want;
	int64_t begins[WINDOWS], ends[WINDOWS];
	size_t window_cnt;
	uint64_t stored_stacks;

	/* whose stack is being counted */
	uint32_t pid;
	uint64_t times;
	double depth;
	bool filtered;
};

static void keep_edges(struct world *w, const struct pathprof_profile *p)
{
	for (uint32_t i = 0; i < p->edge_cnt; i++) {
		const struct pathprof_edge_count *e = &p->edges[i];

		count(&w->got, &(struct row){.pid = p->processes[e->process].pid,
					     .a = e->from,
					     .b = e->to,
					     .cnt = e->count,
					     .mispredicted = e->mispredicted});
	}
}

static int keep_window(void *context, const struct pathprof_profile *p,
		       const struct pathprof_ranges *ranges, struct pathprof_error *error)
{
	struct world *w = context;

	CU_ASSERT_FATAL(w->window_cnt < WINDOWS);
	w->begins[w->window_cnt] = p->begin_ns;
	w->ends[w->window_cnt++] = p->end_ns;
	w->stored_stacks += p->totals.bursts;
	CU_ASSERT_EQUAL(p->source, PATHPROF_SOURCE_IMPORT);
	CU_ASSERT_EQUAL(p->totals.drops[PATHPROF_DROP_TABLE_FULL], 0);
	keep_edges(w, p);
	for (uint32_t i = 0; i < p->path_cnt; i++) {
		const struct pathprof_path_count *c = &p->paths[i];

		count(&w->got, &(struct row){.pid = p->processes[c->process].pid,
					     .is_path = true,
					     .a = c->start,
					     .b = (uint64_t)c->length << 32 | c->outcomes,
					     .cnt = c->samples,
					     .weight = c->weight});
	}
	return 0;
}

static int locate(void *context, uint64_t address, struct pathprof_mapping_place *ret_place)
{
	struct world *w = context;

	*ret_place = (struct pathprof_mapping_place){.code = w->code,
						     .start = BASE,
						     .end = BASE + w->program.byte_cnt,
						     .offset = ORACLE_FILE_OFFSET};
	return 0;
}

static void write_program(struct world *w)
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

static struct world *open_world_of(enum pathprof_format format, uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));
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

static struct world *open_world(uint64_t seed)
{
	return open_world_of(PATHPROF_FORMAT_PERF_DATA, seed);
}

static void close_world(struct world *w)
{
	pathprof_import_free(w->import);
	pathprof_import_files_release(&w->files);
	pathprof_reconstructor_free(w->naive);
	pathprof_code_free(w->code);
	free(w);
}

static void map(struct world *w, uint32_t pid, uint64_t start, const char *name)
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

static void change(struct world *w, enum pathprof_recorded_change kind, uint32_t pid,
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

struct stack {
	struct pathprof_taken taken[DEPTH]; /* oldest first, where the program was made for */
	struct pathprof_recorded_branch branches[4 * DEPTH]; /* as recorded */
	uint32_t cnt;
};

static void run(struct world *w, struct stack *s)
{
	struct pathprof_branch b;

	for (uint32_t i = 0; i < DEPTH;) {
		oracle_program_step(&w->program, &b);
		if (b.taken)
			s->taken[i++] = (struct pathprof_taken){b.from, b.next};
	}
}

static void put(struct stack *s, uint64_t from, uint64_t to)
{
	s->branches[s->cnt++] = (struct pathprof_recorded_branch){
		.from = from, .to = to, .flags = from % 3 ? 0 : PATHPROF_RECORDED_MISPREDICTED};
}

/* Newest first, moved to where the process has it. */
static void record(struct stack *s, uint64_t moved)
{
	s->cnt = 0;
	for (uint32_t i = DEPTH; i-- > 0;)
		put(s, s->taken[i].from + moved, s->taken[i].to + moved);
}

static int send(struct world *w, const struct stack *s, uint32_t pid, uint64_t time_ns)
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

static uint64_t offset(uint64_t address)
{
	return address - BASE + ORACLE_FILE_OFFSET;
}

static void want_path(void *context, const struct pathprof_path_seen *path)
{
	struct world *w = context;
	double places = w->depth - path->span;

	count(&w->want,
	      &(struct row){.pid = w->pid,
			    .is_path = true,
			    .a = offset(path->start),
			    .b = (uint64_t)path->length << 32 | path->outcomes,
			    .cnt = w->times,
			    .weight = (double)w->times * w->depth / (places > 1 ? places : 1)});
}

/* taken[cnt] in a stack of `depth` entries; moved says what its mispredictions were made of. */
static void want_paths(struct world *w, const struct pathprof_taken *taken, uint32_t cnt,
		       double depth)
{
	static struct pathprof_branch branches[PATHPROF_BURST_MAX];
	uint32_t branch_cnt, at;

	w->depth = depth;
	CU_ASSERT_EQUAL_FATAL(
		pathprof_reconstruct(w->naive, taken, cnt, branches, &branch_cnt, &at), 0);
	pathprof_paths_of_burst(branches, branch_cnt, PATHPROF_MAPPING_BL, want_path, w);
}

static void want_edges(struct world *w, const struct stack *s, uint64_t moved)
{
	for (uint32_t i = 0; i < DEPTH; i++) {
		bool missed = (s->taken[i].from + moved) % 3 == 0;

		count(&w->want, &(struct row){.pid = w->pid,
					      .a = offset(s->taken[i].from),
					      .b = offset(s->taken[i].to),
					      .cnt = w->times,
					      .mispredicted = missed ? w->times : 0});
	}
}

/* One stack of the process, which has the program so far from where it was made for. */
static void sample(struct world *w, uint32_t pid, uint64_t moved, uint64_t time_ns)
{
	struct stack s;

	run(w, &s);
	record(&s, moved);
	w->pid = pid;
	want_edges(w, &s, moved);
	want_paths(w, s.taken, DEPTH, DEPTH);
	CU_ASSERT_EQUAL(send(w, &s, pid, time_ns), 0);
}

static void finish(struct world *w)
{
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pathprof_import_finish(w->import, &error), 0);
}

/* ---------------------------------------------------------------- the tests */

static void test_naive(void)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct world *w = open_world(seed);

		map(w, 10, BASE, "/bin/prog");
		map(w, 11, BASE + 0x5000000, "/bin/prog");
		for (uint64_t i = 0; i < 300; i++)
			sample(w, 10 + i % 2, i % 2 * 0x5000000, SECOND + i);
		finish(w);
		CU_ASSERT(w->got.cnt > 5);
		CU_ASSERT(are_same(&w->got, &w->want));
		CU_ASSERT_EQUAL(w->stored_stacks, 300);
		/* a fault must be found */
		w->got.list[w->got.cnt / 2].cnt++;
		CU_ASSERT(!are_same(&w->got, &w->want));
		close_world(w);
	}
}

/* What overlays what, who inherits what: addresses mean what they meant at the time. */
static void test_changes(void)
{
	struct world *w = open_world(77);

	map(w, 10, BASE + 0x1000000, "/bin/prog");
	sample(w, 10, 0x1000000, SECOND);
	change(w, PATHPROF_RECORDED_FORK, 20, 10);
	sample(w, 20, 0x1000000, SECOND + 1);
	map(w, 20, BASE + 0x1010000, "/bin/prog"); /* covers the end of the first */
	map(w, 20, BASE + 0x1000000, "/bin/prog"); /* and all of it again */
	sample(w, 20, 0x1000000, SECOND + 2);
	sample(w, 10, 0x1000000, SECOND + 3);
	map(w, 10, BASE + 0x1000000 - 0x8000, "/bin/other"); /* something else lies there now */
	map(w, 10, BASE + 0x2000000, "/bin/prog");
	sample(w, 10, 0x2000000, SECOND + 4);
	change(w, PATHPROF_RECORDED_EXEC, 20, 0);
	map(w, 20, BASE + 0x3000000, "/bin/prog");
	sample(w, 20, 0x3000000, SECOND + 5);
	change(w, PATHPROF_RECORDED_EXIT, 20, 0);
	change(w, PATHPROF_RECORDED_FORK, 20, 10);
	sample(w, 20, 0x2000000, SECOND + 6);
	finish(w);
	CU_ASSERT(are_same(&w->got, &w->want));
	CU_ASSERT_EQUAL(pathprof_import_stats(w->import)->ledger.left[PATHPROF_LEDGER_UNMAPPED], 0);
	close_world(w);
}

/* After an exec nothing lies where the program was. */
static void test_exec_forgets(void)
{
	struct world *w = open_world(5);
	struct stack s;

	map(w, 10, BASE, "/bin/prog");
	change(w, PATHPROF_RECORDED_EXEC, 10, 0);
	run(w, &s);
	record(&s, 0);
	send(w, &s, 10, SECOND);
	finish(w);
	CU_ASSERT_EQUAL(w->got.cnt, 0);
	CU_ASSERT_EQUAL(pathprof_import_stats(w->import)->ledger.left[PATHPROF_LEDGER_UNMAPPED],
			DEPTH);
	close_world(w);
}

/*
 * A call of the kernel and an interrupt in the middle change weights alone, a signal cuts; so does
 * what comes back behind the next branch. Of some hardware there is the way back alone.
 */
static void kernel_in_the_middle(bool whole)
{
	static const uint64_t resumes[] = {0, 1, 2, 15, 16, 4096};
	size_t joined = 0;

	for (size_t i = 0; i < sizeof(resumes) / sizeof(resumes[0]); i++) {
		struct world *w = open_world(31 + i);
		uint32_t middle = DEPTH / 2;
		struct stack s;
		uint64_t back;

		map(w, 10, BASE, "/bin/prog");
		run(w, &s);
		s.cnt = 0;
		for (uint32_t n = DEPTH; n-- > middle;)
			put(&s, s.taken[n].from, s.taken[n].to);
		back = s.taken[middle - 1].to + resumes[i];
		put(&s, KERNEL + 8, back);
		if (whole) {
			put(&s, KERNEL, KERNEL + 4);
			put(&s, s.taken[middle - 1].to, KERNEL);
		}
		for (uint32_t n = middle; n-- > 0;)
			put(&s, s.taken[n].from, s.taken[n].to);
		w->pid = 10;
		want_edges(w, &s, 0);
		if (back <= s.taken[middle].from && (resumes[i] <= 15 || !whole)) {
			want_paths(w, s.taken, DEPTH, s.cnt);
			joined++;
		} else {
			want_paths(w, s.taken, middle, s.cnt);
			want_paths(w, s.taken + middle, DEPTH - middle, s.cnt);
		}
		send(w, &s, 10, SECOND);
		finish(w);
		CU_ASSERT(are_same(&w->got, &w->want));
		CU_ASSERT_EQUAL(
			pathprof_import_stats(w->import)->ledger.left[PATHPROF_LEDGER_KERNEL],
			s.cnt - DEPTH);
		close_world(w);
	}
	CU_ASSERT(joined > 0 && joined < sizeof(resumes) / sizeof(resumes[0]));
}

static void test_kernel(void)
{
	kernel_in_the_middle(true);
	kernel_in_the_middle(false);
}

/* The first entry from the fourth on whose branch may lead anywhere; DEPTH: none. */
static uint32_t find_indirect(struct world *w, const struct stack *s)
{
	struct pathprof_branch branch;
	uint32_t cnt, at;

	for (uint32_t i = 3; i + 3 < DEPTH; i++) {
		CU_ASSERT_EQUAL_FATAL(
			pathprof_reconstruct(w->naive, &s->taken[i], 1, &branch, &cnt, &at), 0);
		if (branch.kind == PERF_BR_IND || branch.kind == PERF_BR_RET ||
		    branch.kind == PERF_BR_IND_CALL)
			return i;
	}
	return DEPTH;
}

/* What has no code leaves edges, and windows on either side of it. */
static void test_without_code(void)
{
	/* in the other file where the program has nothing */
	const uint64_t other = BASE + 0x9080000;
	struct world *w = open_world(9);
	uint32_t away, found = 0;
	struct stack s;

	map(w, 10, BASE, "/bin/prog");
	map(w, 10, BASE + 0x9000000, "/lib/nowhere.so");
	w->pid = 10;
	for (int i = 0; i < 50; i++) {
		run(w, &s);
		away = find_indirect(w, &s);
		if (away == DEPTH)
			continue;
		/* this entry leads away, and the next comes back */
		s.taken[away].to = other;
		s.taken[away + 1].from = other + 8;
		record(&s, 0);
		want_edges(w, &s, 0);
		want_paths(w, s.taken, away + 1, DEPTH);
		want_paths(w, s.taken + away + 2, DEPTH - away - 2, DEPTH);
		send(w, &s, 10, SECOND);
		found++;
	}
	finish(w);
	CU_ASSERT(found > 10);
	CU_ASSERT_EQUAL(pathprof_import_stats(w->import)->no_code, 2 * found);
	/* offsets in the other file are told from its own start */
	for (size_t i = 0; i < w->want.cnt; i++) {
		struct row *row = &w->want.list[i];

		row->b -= row->b == offset(other) ? 0x9000000 : 0;
		row->a -= row->a == offset(other + 8) ? 0x9000000 : 0;
	}
	CU_ASSERT(are_same(&w->got, &w->want));
	close_world(w);
}

/* The newest entry twice: where the code does not lead from it to itself, it is taken back. */
/* How many were. */
static uint64_t repeat_entries(uint64_t seed)
{
	struct world *w = open_world(seed);
	struct pathprof_branch branches[PATHPROF_BURST_MAX];
	uint64_t repeated = 0;
	struct stack s;

	map(w, 10, BASE, "/bin/prog");
	w->pid = 10;
	for (int i = 0; i < 100; i++) {
		struct pathprof_taken twice[2];
		uint32_t cnt, at;
		int refusal;

		run(w, &s);
		twice[0] = twice[1] = s.taken[DEPTH - 1];
		refusal = pathprof_reconstruct(w->naive, twice, 2, branches, &cnt, &at);
		record(&s, 0);
		if (refusal) {
			memmove(s.branches + 1, s.branches, DEPTH * sizeof(s.branches[0]));
			s.cnt++;
			repeated++;
		}
		want_edges(w, &s, 0);
		want_paths(w, s.taken, DEPTH, DEPTH);
		send(w, &s, 10, SECOND);
	}
	finish(w);
	CU_ASSERT_EQUAL(pathprof_import_stats(w->import)->ledger.left[PATHPROF_LEDGER_REPEATED],
			repeated);
	CU_ASSERT(are_same(&w->got, &w->want));
	close_world(w);
	return repeated;
}

static void test_repeated_entry(void)
{
	uint64_t repeated = 0;

	for (uint64_t seed = 1; seed <= 10; seed++)
		repeated += repeat_entries(seed);
	CU_ASSERT(repeated > 50);
}

/* Of stacks of some kinds of branches only edges are known, and other stacks are not touched. */
static void test_filtered(void)
{
	struct world *w = open_world(13);
	struct stack s;
	uint64_t edges = 0;

	map(w, 10, BASE, "/bin/prog");
	w->pid = 10;
	for (uint32_t i = 0; i < 100; i++) {
		run(w, &s);
		w->filtered = i % 2;
		/* one entry twice, and what cannot follow one another: nobody asks */
		if (w->filtered)
			s.taken[DEPTH - 1] = s.taken[DEPTH - 2];
		record(&s, 0);
		want_edges(w, &s, 0);
		if (w->filtered) {
			edges += DEPTH;
		} else {
			want_paths(w, s.taken, DEPTH, DEPTH);
		}
		send(w, &s, 10, SECOND);
	}
	finish(w);
	CU_ASSERT(are_same(&w->got, &w->want));
	CU_ASSERT_EQUAL(pathprof_import_stats(w->import)->filtered, edges);
	CU_ASSERT_EQUAL(pathprof_import_stats(w->import)->windows, 50);
	CU_ASSERT_EQUAL(pathprof_import_stats(w->import)->ledger.left[PATHPROF_LEDGER_REPEATED], 0);
	close_world(w);
}

static uint32_t distinct_cnt(const struct stack *s)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < DEPTH; i++) {
		uint32_t at = 0;

		while (memcmp(&s->taken[at], &s->taken[i], sizeof(s->taken[i])) != 0)
			at++;
		cnt += at == i;
	}
	return cnt;
}

/* Mapped anew before each stack, no edge is the one that was counted: tables are full in between.
 */
static void test_full_tables(void)
{
	struct world *w = open_world(14);
	uint32_t edges = 0;
	struct stack s;

	w->pid = 10;
	for (uint32_t i = 0; edges < 3 * PP_IMPORT_EDGE_MAX; i++) {
		map(w, 10, BASE, i % 2 ? "/bin/prog" : "/sbin/prog");
		run(w, &s);
		record(&s, 0);
		want_edges(w, &s, 0);
		want_paths(w, s.taken, DEPTH, DEPTH);
		CU_ASSERT_EQUAL(send(w, &s, 10, SECOND), 0);
		edges += distinct_cnt(&s);
	}
	finish(w);
	CU_ASSERT(are_same(&w->got, &w->want));
	CU_ASSERT_EQUAL(w->window_cnt, 1);
	close_world(w);
}

static void test_time(void)
{
	struct world *w = open_world(3);
	static const uint64_t times[] = {10 * SECOND,     10 * SECOND + 5, 11 * SECOND - 1,
					 11 * SECOND,     15 * SECOND + 7, 14 * SECOND,
					 15 * SECOND + 9, 16 * SECOND};

	map(w, 10, BASE, "/bin/prog");
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		sample(w, 10, 0, times[i]);
	finish(w);
	CU_ASSERT(are_same(&w->got, &w->want));
	CU_ASSERT_EQUAL(w->window_cnt, 4);
	/* the file's time, as the recording does not say */
	CU_ASSERT_EQUAL(w->begins[0], (int64_t)(1000 * SECOND));
	CU_ASSERT_EQUAL(w->ends[0], (int64_t)(1001 * SECOND));
	CU_ASSERT_EQUAL(w->begins[1], (int64_t)(1001 * SECOND));
	CU_ASSERT_EQUAL(w->begins[2], (int64_t)(1005 * SECOND));
	CU_ASSERT_EQUAL(w->begins[3], (int64_t)(1006 * SECOND));
	CU_ASSERT_EQUAL(w->ends[3], (int64_t)(1006 * SECOND));
	close_world(w);
}

/* Without a build-id the name decides: of a file that was replaced, and of one behind a link. */
static void test_names(void)
{
	struct world *w = open_world(12);
	char link[280];

	snprintf(link, sizeof(link), "%s/link", unit_tmpdir());
	CU_ASSERT_EQUAL_FATAL(symlink(w->path, link), 0);
	free(w->files.binaries[0].path);
	w->files.binaries[0].path = strdup(link);
	map(w, 10, BASE, "/bin/prog");
	sample(w, 10, 0, SECOND);
	map(w, 11, BASE, "/bin/prog (deleted)");
	sample(w, 11, 0, SECOND);
	map(w, 12, BASE, "/bin/link (deleted)");
	sample(w, 12, 0, SECOND);
	finish(w);
	CU_ASSERT(are_same(&w->got, &w->want));
	close_world(w);
}

/* patchelf moves code within the file, and leaves build-id and addresses as they are. */
static void test_other_layout(void)
{
	struct world *w = open_world(13);

	w->sink.mapping(w->sink.context, &(struct pathprof_recorded_mapping){
						 .pid = 10,
						 .start = BASE,
						 .end = BASE + 0x100000,
						 .offset = ORACLE_FILE_OFFSET + 0x3000,
						 .name = "/bin/prog",
						 .executable = true,
					 });
	for (int times = 0; times < 50; times++)
		sample(w, 10, 0, SECOND);
	finish(w);
	CU_ASSERT(are_same(&w->got, &w->want));
	close_world(w);
}

/* The ways to move a program's text to memory of another kind, as perf records them. */
static const struct {
	const char *name;
	uint64_t around_bytes; /* rounded outwards */
	bool writable_first;
} copies[] = {
	{"//anon", 0, false},
	{"//anon", 2 << 20, false},
	{"//anon", 0, true},
	{"//anon", 2 << 20, true},
	{"/anon_hugepage (deleted)", 0, false},
	{"/memfd:text (deleted)", 0, true},
	{"[anon:.text]", 0, false},
	{"/dev/zero (deleted)", 2 << 20, false},
	{"/SYSV00000000 (deleted)", 0, false},
	{"/dev/hugepages/libhugetlbfs.tmp.x3TrYc (deleted)", 2 << 20, false},
};

static void lay_copy(struct world *w, size_t at)
{
	struct pathprof_recorded_mapping m = {
		.pid = 10,
		.start = BASE - copies[at].around_bytes,
		.end = BASE + 0x100000 + copies[at].around_bytes,
		.name = copies[at].name,
	};

	if (copies[at].writable_first)
		w->sink.mapping(w->sink.context, &m);
	m.executable = true;
	w->sink.mapping(w->sink.context, &m);
}

/* Of the program itself; what else is mapped over code is other code. */
static void test_copied_code(void)
{
	struct world *w = open_world(9);
	struct stack s;

	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		map(w, 10, BASE, "/bin/prog");
		lay_copy(w, i);
		for (int times = 0; times < 5; times++)
			sample(w, 10, 0, SECOND);
		change(w, PATHPROF_RECORDED_EXEC, 10, 0);
	}
	map(w, 11, BASE, "/bin/prog");
	map(w, 11, BASE, "/lib/other");
	run(w, &s);
	record(&s, 0);
	CU_ASSERT_EQUAL(send(w, &s, 11, SECOND), 0);
	finish(w);
	CU_ASSERT(has_all(&w->got, &w->want) && w->got.cnt > w->want.cnt);
	for (size_t i = 0; i < w->got.cnt; i++)
		CU_ASSERT(!w->got.list[i].is_path || w->got.list[i].pid == 10);
	close_world(w);
}

static void test_repeats(void)
{
	struct world *w = open_world(4);

	map(w, 10, BASE, "/bin/prog");
	for (uint64_t i = 0; i < 50; i++) {
		w->times = 1 + i % 7;
		sample(w, 10, 0, SECOND);
	}
	finish(w);
	CU_ASSERT(are_same(&w->got, &w->want));
	close_world(w);
}

/* A stack with an entry between any two that the program never took. */
static void record_untaken(struct stack *s, bool is_foreseen)
{
	s->cnt = 0;
	for (uint32_t i = DEPTH; i-- > 0;) {
		put(s, s->taken[i].from, s->taken[i].to);
		put(s, s->taken[i].to, s->taken[i].from);
		if (is_foreseen)
			s->branches[s->cnt - 1].spec = PERF_BR_SPEC_WRONG_PATH;
		else
			s->branches[s->cnt - 1].flags = PATHPROF_RECORDED_NOT_TAKEN;
	}
}

static void test_untaken(void)
{
	struct world *w = open_world(8);
	struct stack s;

	map(w, 10, BASE, "/bin/prog");
	for (uint64_t i = 0; i < 50; i++) {
		run(w, &s);
		record_untaken(&s, i % 2);
		w->pid = 10;
		want_edges(w, &s, 0);
		want_paths(w, s.taken, DEPTH, DEPTH);
		CU_ASSERT_EQUAL(send(w, &s, 10, SECOND), 0);
	}
	finish(w);
	CU_ASSERT(are_same(&w->got, &w->want));
	CU_ASSERT_EQUAL(pathprof_import_stats(w->import)->ledger.left[PATHPROF_LEDGER_UNTAKEN],
			50 * DEPTH);
	close_world(w);
}

/* Entries that cannot be leave everything else as it was. */
static void test_nonsense(void)
{
	static const uint64_t odd[] = {0, 1, UINT64_MAX, KERNEL, BASE - 1, UINT64_C(1) << 62};
	struct world *w = open_world(6);
	struct stack s = {.cnt = 0};
	const struct pathprof_import_stats *stats;
	uint64_t left = 0;

	map(w, 10, BASE, "/bin/prog");
	map(w, 10, UINT64_MAX - 10, "/bin/wraps");
	for (size_t i = 0; i < 6; i++)
		for (size_t j = 0; j < 6; j++)
			put(&s, odd[i], odd[j]);
	send(w, &s, 10, SECOND);
	send(w, &s, UINT32_MAX, SECOND);
	finish(w);
	stats = pathprof_import_stats(w->import);
	for (int i = 0; i < PATHPROF_LEDGER_CNT; i++)
		left += stats->ledger.left[i];
	CU_ASSERT_EQUAL(left + stats->ledger.used, stats->ledger.branches);
	CU_ASSERT_EQUAL(stats->ledger.branches, 72);
	CU_ASSERT_EQUAL(w->got.cnt, 0);
	close_world(w);
}

/* ---------------------------------------------------------------- counts */

static void send_count(struct world *w, enum pathprof_recorded_count_kind kind, uint64_t from,
		       uint64_t to, uint64_t end, uint64_t cnt)
{
	const struct pathprof_recorded_count c = {.kind = kind,
						  .from.address = from,
						  .to.address = to,
						  .end.address = end,
						  .count = cnt,
						  .mispredicted = cnt / 2};

	CU_ASSERT_EQUAL(w->sink.count(w->sink.context, &c), 0);
}

/* Traces of what ran: the edges are all there; whole paths are those of one run each. */
static void test_counts(void)
{
	struct world *w = open_world_of(PATHPROF_FORMAT_AUTOFDO_TEXT, 8);
	struct pathprof_branch branches[PATHPROF_BURST_MAX], b;
	struct stack s;
	uint64_t paths = 0;
	uint32_t cnt, at;

	for (int i = 0; i < 100; i++) {
		run(w, &s);
		for (uint32_t n = 0; n + 1 < DEPTH; n++) {
			send_count(w, PATHPROF_RECORDED_TRACE, offset(s.taken[n].from),
				   offset(s.taken[n].to), offset(s.taken[n + 1].from), 3);
			count(&w->want, &(struct row){.a = offset(s.taken[n].from),
						      .b = offset(s.taken[n].to),
						      .cnt = 3,
						      .mispredicted = 1});
			CU_ASSERT_EQUAL_FATAL(
				pathprof_reconstruct(w->naive, s.taken + n, 2, branches, &cnt, &at),
				0);
			b = branches[0];
			if (b.kind == PERF_BR_CALL || b.kind == PERF_BR_IND_CALL ||
			    b.kind == PERF_BR_IND ||
			    (b.kind != PERF_BR_RET && b.target <= b.from)) {
				w->times = 3;
				w->depth = 1e18; /* a weight of one each */
				branches[0].kind = PERF_BR_CALL;
				paths += pathprof_paths_of_burst(branches, cnt, PATHPROF_MAPPING_BL,
								 want_path, w);
			}
		}
	}
	finish(w);
	CU_ASSERT(paths > 100);
	CU_ASSERT(are_same(&w->got, &w->want));
	close_world(w);
}

/* ---------------------------------------------------------------- paths of windows */

struct seen {
	struct pathprof_path_seen list[2 * PATHPROF_BURST_MAX];
	size_t cnt;
};

static void see(void *context, const struct pathprof_path_seen *path)
{
	struct seen *seen = context;

	memcpy(&seen->list[seen->cnt++], path, sizeof(*path));
}

static bool same_seen(const struct seen *a, const struct seen *b)
{
	bool same = a->cnt == b->cnt;

	for (size_t i = 0; i < a->cnt && same; i++)
		same = a->list[i].start == b->list[i].start &&
		       a->list[i].length == b->list[i].length &&
		       a->list[i].outcomes == b->list[i].outcomes &&
		       a->list[i].span == b->list[i].span && a->list[i].weight == b->list[i].weight;
	return same;
}

static void test_straight_from_runs(void)
{
	static struct seen slow, fast;
	static struct pathprof_branch branches[PATHPROF_BURST_MAX];
	uint32_t cnt, at;
	size_t all = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct world *w = open_world(100 + seed);
		enum pathprof_mapping mapping = (enum pathprof_mapping)(seed % 2);
		struct stack s;

		for (int i = 0; i < 200; i++) {
			run(w, &s);
			slow.cnt = fast.cnt = 0;
			CU_ASSERT_EQUAL(
				pathprof_reconstruct(w->naive, s.taken, DEPTH, branches, &cnt, &at),
				0);
			pathprof_paths_of_burst(branches, cnt, mapping, see, &slow);
			CU_ASSERT_EQUAL(pathprof_reconstruct_paths(w->naive, s.taken, DEPTH,
								   mapping, see, &fast, &at),
					0);
			CU_ASSERT(same_seen(&slow, &fast));
			all += slow.cnt;
			s.taken[DEPTH / 2].from++; /* no branch there: nothing is told */
			fast.cnt = 0;
			CU_ASSERT(pathprof_reconstruct_paths(w->naive, s.taken, DEPTH, mapping, see,
							     &fast, &at) > 0);
			CU_ASSERT_EQUAL(fast.cnt, 0);
			CU_ASSERT_EQUAL(at, DEPTH / 2);
		}
		close_world(w);
	}
	CU_ASSERT(all > 10000);
}

/* ---------------------------------------------------------------- processes */

static void test_many_processes(void)
{
	struct pathprof_recorded_spaces *spaces;
	struct pathprof_recorded_spaces_left stats;
	uint32_t number, cnt = 0;

	CU_ASSERT_EQUAL_FATAL(pathprof_recorded_spaces_new(&spaces), 0);
	while (cnt < 1 << 20 && pathprof_recorded_spaces_find(spaces, cnt + 1, &number) == 0)
		pathprof_recorded_spaces_at(spaces, number)->used = ++cnt % 2;
	CU_ASSERT(cnt > 50000 && cnt < 1 << 20);
	for (uint32_t pid = 1; pid <= cnt; pid++)
		pathprof_recorded_spaces_change(
			spaces, &(struct pathprof_recorded_process){
					.pid = pid, .change = PATHPROF_RECORDED_EXIT});
	/* those something was counted of are still asked about */
	for (uint32_t i = 0; i < cnt / 2; i++)
		CU_ASSERT_EQUAL(pathprof_recorded_spaces_find(spaces, 2000000 + i, &number), 0);
	CU_ASSERT(pathprof_recorded_spaces_find(spaces, 1000000, &number) < 0);
	pathprof_recorded_spaces_expire(spaces);
	CU_ASSERT_EQUAL(pathprof_recorded_spaces_find(spaces, 1000000, &number), 0);
	pathprof_recorded_spaces_stats(spaces, &stats);
	CU_ASSERT_EQUAL(stats.processes, 2);
	pathprof_recorded_spaces_free(spaces);
}

static const struct unit_test tests[] = {
	{"windows hold what a naive count has, wherever the program lies", test_naive},
	{"mappings, forks, execs and exits", test_changes},
	{"after an exec nothing is where it was", test_exec_forgets},
	{"kernel entries are passed over, signals cut", test_kernel},
	{"edges without code, windows on either side", test_without_code},
	{"the newest entry given twice counts once", test_repeated_entry},
	{"stacks of some kinds of branches leave edges only", test_filtered},
	{"more edges than tables hold", test_full_tables},
	{"windows end by the recording's time", test_time},
	{"what was seen repeatedly weighs as much", test_repeats},
	{"a file is found by the name it had", test_names},
	{"code that lies elsewhere in the file is found by its address", test_other_layout},
	{"code copied to where it was is the program's", test_copied_code},
	{"what was never taken lies between neighbours", test_untaken},
	{"entries that cannot be are counted by reason", test_nonsense},
	{"counted branches become edges and whole paths", test_counts},
	{"paths straight from runs are those of their branches", test_straight_from_runs},
	{"processes beyond the bound are counted, ended ones make room", test_many_processes},
};
UNIT_SUITE(import, tests)
