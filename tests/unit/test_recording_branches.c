// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording straight into a profile: each rule by hand on ten lines of code; random stacks of
 * processes that fork, exec and are mapped elsewhere against a slow way to count them; more
 * different branches than the table holds. tests/scenario/import_peers.sh compares with real tools.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../libprofile/src/code/pp_code.h"
#include "../../libprofile/src/recording/pp_import_counts.h"
#include "elf_writer.h"
#include "pathprof/recording_branches.h"
#include "reading.h"
#include "test_store.h"
#include "two_functions.h"
#include "unit.h"

/* The text's place in the file and in a process, and other addresses. */
#define FILE_AT UINT64_C(0x1000)
#define RUN_AT  UINT64_C(0x7f0000001000)
#define KERNEL  UINT64_C(0xffffffff81000000)
#define LIBRARY UINT64_C(0x7f1000000000)
#define PID     7

struct world {
	struct pathprof_code *code;
	struct pathprof_graph *graph;
	struct pathprof_branch_profile profile;
	struct pathprof_recording_branches *branches;
	struct pathprof_recording_sink sink;
	struct pathprof_error error;
};

static void begin_as(struct world *w, enum pathprof_format format)
{
	static struct elf_writer writer;

	elf_writer_init(&writer);
	memcpy(writer.text, two_functions, sizeof(two_functions));
	elf_writer_symbol(&writer, "f", 0, 0x14, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
	elf_writer_symbol(&writer, "g", 0x20, 2, ELF64_ST_INFO(STB_LOCAL, STT_FUNC));
	*w = (struct world){.code = elf_writer_open(&writer)};
	CU_ASSERT_EQUAL_FATAL(pathprof_graph_build(&w->graph, w->code, NULL, NULL, &w->error), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_init(&w->profile, &w->graph->build_id), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_recording_branches_new(&w->branches, format, w->code,
							      w->graph, &w->profile, &w->error),
			      0);
	pathprof_recording_branches_sink(w->branches, &w->sink);
}

static void end(struct world *w)
{
	pathprof_recording_branches_free(w->branches);
	pathprof_branch_profile_release(&w->profile);
	pathprof_graph_free(w->graph);
	pathprof_code_free(w->code);
}

/* ---------------------------------------------------------------- records */

static void map_named(struct world *w, uint32_t pid, uint64_t start, const char *name,
		      const struct pathprof_build_id *id)
{
	const struct pathprof_recorded_mapping mapping = {
		.pid = pid,
		.start = start,
		.end = start + 0x1000,
		.offset = FILE_AT,
		.name = name,
		.id = id ? *id : (struct pathprof_build_id){.kind = PATHPROF_ID_NONE},
		.executable = true,
	};

	CU_ASSERT_EQUAL(w->sink.mapping(w->sink.context, &mapping), 0);
}

static void map(struct world *w, uint32_t pid, uint64_t start)
{
	map_named(w, pid, start, "/usr/bin/whatever", &w->graph->build_id);
}

static void change(struct world *w, enum pathprof_recorded_change change, uint32_t pid,
		   uint32_t parent)
{
	const struct pathprof_recorded_process process = {
		.pid = pid, .parent = parent, .change = change, .comm = "comm"};

	CU_ASSERT_EQUAL(w->sink.process(w->sink.context, &process), 0);
}

static void begin(struct world *w)
{
	begin_as(w, PATHPROF_FORMAT_PERF_DATA);
	map(w, PID, RUN_AT);
}

/* A branch between two offsets in the text. */
static struct pathprof_recorded_branch at(uint64_t from, uint64_t to)
{
	return (struct pathprof_recorded_branch){.from = RUN_AT + from, .to = RUN_AT + to};
}

static struct pathprof_recorded_branch far(uint64_t from, uint64_t to)
{
	return (struct pathprof_recorded_branch){.from = from, .to = to};
}

static void sample(struct world *w, const struct pathprof_recorded_sample *sample)
{
	CU_ASSERT_EQUAL(w->sink.sample(w->sink.context, sample), 0);
}

/* Newest first, as recorded. */
#define STACK(w, ...)                                                                              \
	do {                                                                                       \
		const struct pathprof_recorded_branch stack_[] = {__VA_ARGS__};                    \
		sample(w, &(struct pathprof_recorded_sample){.pid = PID,                           \
							     .branch_cnt = sizeof(stack_) /        \
									   sizeof(stack_[0]),      \
							     .branches = stack_});                 \
	} while (0)

/* Every entry is used, or left out for one reason. */
static void check_ledger(const struct world *w)
{
	const struct pathprof_ledger ledger =
		pathprof_recording_branches_stats(w->branches)->ledger;
	uint64_t sum = ledger.used;

	for (int i = 0; i < PATHPROF_LEDGER_CNT; i++)
		sum += ledger.left[i];
	CU_ASSERT(sum == ledger.branches || ledger.branches == UINT64_MAX);
}

static int finish(struct world *w)
{
	int r = pathprof_recording_branches_finish(w->branches, NULL, &w->error);

	check_ledger(w);

	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_settle(&w->profile), 0);
	return r;
}

static uint64_t left(const struct world *w, enum pathprof_recording_left left)
{
	return pathprof_recording_branches_stats(w->branches)->left[left];
}

static uint64_t left_out(const struct world *w, enum pathprof_ledger_reason why)
{
	return pathprof_recording_branches_stats(w->branches)->ledger.left[why];
}

/* ---------------------------------------------------------------- what came of it */

static uint64_t branch_count(const struct world *w, uint64_t from, uint64_t to)
{
	from += from == PATHPROF_OUTSIDE ? 0 : FILE_AT;
	to += to == PATHPROF_OUTSIDE ? 0 : FILE_AT;
	for (uint32_t i = 0; i < w->profile.branch_cnt; i++)
		if (w->profile.branches[i].from == from && w->profile.branches[i].to == to)
			return w->profile.branches[i].count;
	return 0;
}

static uint64_t range_count(const struct world *w, uint64_t start, uint64_t last, bool after_call)
{
	for (uint32_t i = 0; i < w->profile.range_cnt; i++) {
		const struct pathprof_range_count *r = &w->profile.ranges[i];

		if (r->start == FILE_AT + start && r->last == FILE_AT + last &&
		    r->after_call == after_call)
			return r->count;
	}
	return 0;
}

static void test_neighbours(void)
{
	struct world w;

	begin(&w);
	STACK(&w, at(0x0a, 0x02), at(0x0a, 0x02), at(0x12, 0x0c), far(LIBRARY, RUN_AT));
	STACK(&w, far(RUN_AT + 0x0c, LIBRARY), at(0x0a, 0x02));
	CU_ASSERT_EQUAL(finish(&w), 0);
	CU_ASSERT_EQUAL(w.profile.branch_cnt, 4);
	CU_ASSERT_EQUAL(branch_count(&w, 0x0a, 0x02), 3);
	CU_ASSERT_EQUAL(branch_count(&w, 0x12, 0x0c), 1);
	CU_ASSERT_EQUAL(branch_count(&w, PATHPROF_OUTSIDE, 0x00), 1);
	CU_ASSERT_EQUAL(branch_count(&w, 0x0c, PATHPROF_OUTSIDE), 1);
	/* 00 to 12 and 0c to 0a cannot be run. */
	CU_ASSERT_EQUAL(w.profile.range_cnt, 2);
	CU_ASSERT_EQUAL(range_count(&w, 0x02, 0x0a, false), 1);
	CU_ASSERT_EQUAL(range_count(&w, 0x02, 0x0c, false), 1);
	CU_ASSERT_EQUAL(left(&w, PATHPROF_LEFT_RANGE), 2);
	CU_ASSERT_EQUAL(w.profile.trace_cnt, 2);
	CU_ASSERT_EQUAL(w.profile.origin.samples, 2);
	CU_ASSERT_EQUAL(w.profile.origin.taken, 6);
	end(&w);
}

static void test_behind_calls(void)
{
	struct world w;

	begin(&w);
	STACK(&w, at(0x12, 0x0c), at(0x21, 0x12), at(0x0d, 0x20));
	STACK(&w, at(0x12, 0x0c), far(LIBRARY, RUN_AT + 0x12));
	STACK(&w, at(0x12, 0x0c), at(0x04, 0x12));
	CU_ASSERT_EQUAL(finish(&w), 0);
	CU_ASSERT_EQUAL(range_count(&w, 0x12, 0x12, true), 2);
	CU_ASSERT_EQUAL(range_count(&w, 0x12, 0x12, false), 1);
	CU_ASSERT_EQUAL(range_count(&w, 0x20, 0x21, false), 1);
	/* Ranges behind a call are counted as ranges only, the other two as traces too. */
	CU_ASSERT_EQUAL(w.profile.trace_cnt, 2);
	end(&w);
}

static void test_kernel(void)
{
	struct world w;

	begin(&w);
	/* an interrupt; a system call's 2 bytes; the way back alone */
	STACK(&w, at(0x0a, 0x02), far(KERNEL, RUN_AT + 0x06), far(KERNEL + 8, KERNEL),
	      far(RUN_AT + 0x06, KERNEL), at(0x0a, 0x02));
	STACK(&w, at(0x0a, 0x02), far(KERNEL, RUN_AT + 0x08), far(RUN_AT + 0x06, KERNEL),
	      at(0x0a, 0x02));
	STACK(&w, at(0x0a, 0x02), far(KERNEL, RUN_AT + 0x06), at(0x0a, 0x02));
	/* a handler; back before where it was; behind where it ends; far behind */
	STACK(&w, at(0x0a, 0x02), far(KERNEL, LIBRARY), far(RUN_AT + 0x06, KERNEL), at(0x0a, 0x02));
	STACK(&w, at(0x0a, 0x02), far(KERNEL, RUN_AT + 0x00), at(0x0a, 0x02));
	STACK(&w, at(0x0a, 0x02), far(KERNEL, RUN_AT + 0x0c), at(0x0a, 0x02));
	STACK(&w, at(0x21, 0x12), far(KERNEL, RUN_AT + 0x21), far(RUN_AT + 0x06, KERNEL),
	      at(0x0d, 0x02));
	CU_ASSERT_EQUAL(finish(&w), 0);
	CU_ASSERT_EQUAL(range_count(&w, 0x02, 0x0a, false), 3);
	CU_ASSERT_EQUAL(w.profile.range_cnt, 1);
	CU_ASSERT_EQUAL(left_out(&w, PATHPROF_LEDGER_KERNEL), 12);
	CU_ASSERT_EQUAL(branch_count(&w, 0x0a, 0x02), 12);
	end(&w);
}

static void test_repeated(void)
{
	struct world w;

	begin(&w);
	STACK(&w, at(0x04, 0x0d), at(0x04, 0x0d), at(0x0a, 0x02));
	STACK(&w, at(0x0d, 0x20), at(0x04, 0x0d), at(0x04, 0x0d));
	CU_ASSERT_EQUAL(finish(&w), 0);
	/* Only the newest two are known to come twice. */
	CU_ASSERT_EQUAL(branch_count(&w, 0x04, 0x0d), 3);
	CU_ASSERT_EQUAL(range_count(&w, 0x02, 0x04, false), 1);
	CU_ASSERT_EQUAL(left_out(&w, PATHPROF_LEDGER_REPEATED), 1);
	end(&w);
}

static void test_not_run(void)
{
	struct pathprof_recorded_branch wrong = at(0x04, 0x0d), not_taken = at(0x04, 0x0d);
	struct pathprof_recorded_branch aborted = at(0x08, 0x0c);
	struct world w;

	wrong.spec = PERF_BR_SPEC_WRONG_PATH;
	not_taken.flags = PATHPROF_RECORDED_NOT_TAKEN;
	aborted.flags = PATHPROF_RECORDED_ABORT;
	begin(&w);
	STACK(&w, at(0x0a, 0x02), wrong, not_taken, at(0x0a, 0x02));
	STACK(&w, at(0x0a, 0x02), aborted, at(0x0a, 0x02));
	STACK(&w, at(0x0a, 0x02), far(0, 0), at(0x0a, 0x02), far(0, RUN_AT));
	CU_ASSERT_EQUAL(finish(&w), 0);
	CU_ASSERT_EQUAL(w.profile.branch_cnt, 1);
	CU_ASSERT_EQUAL(branch_count(&w, 0x0a, 0x02), 6);
	CU_ASSERT_EQUAL(range_count(&w, 0x02, 0x0a, false), 1);
	CU_ASSERT_EQUAL(left_out(&w, PATHPROF_LEDGER_UNTAKEN), 2);
	CU_ASSERT_EQUAL(left_out(&w, PATHPROF_LEDGER_ABORTED), 1);
	CU_ASSERT_EQUAL(left_out(&w, PATHPROF_LEDGER_EMPTY), 2);
	end(&w);
}

static void test_samples(void)
{
	struct pathprof_recorded_branch stack[] = {at(0x0a, 0x02), at(0x0a, 0x02)};
	struct pathprof_recorded_sample s = {.pid = PID, .branch_cnt = 2, .branches = stack};
	struct world w;

	begin(&w);
	stack[0].flags = PATHPROF_RECORDED_MISPREDICTED;
	s.repeats = 9;
	sample(&w, &s);
	s.repeats = 0;
	s.filtered = true;
	sample(&w, &s);
	s.repeats = UINT64_MAX;
	s.branch_cnt = 1;
	sample(&w, &s);
	CU_ASSERT_EQUAL(finish(&w), 0);
	CU_ASSERT_EQUAL(range_count(&w, 0x02, 0x0a, false), 10);
	/* what a text claims is bounded, so that sums of it do not wrap */
	CU_ASSERT_EQUAL(branch_count(&w, 0x0a, 0x02), 20 + 2 + (UINT64_C(1) << 40) + 1);
	CU_ASSERT_EQUAL(w.profile.branches[0].mispredicted, 10 + 1 + (UINT64_C(1) << 40) + 1);
	end(&w);
}

/* ---------------------------------------------------------------- processes */

static uint64_t counted_at(struct world *w, uint32_t pid, uint64_t start)
{
	const struct pathprof_recorded_branch branch = far(start + 0x04, start + 0x0d);
	uint64_t before = pathprof_recording_branches_stats(w->branches)->of_binary;

	sample(w, &(struct pathprof_recorded_sample){
			  .pid = pid, .branch_cnt = 1, .branches = &branch});
	return pathprof_recording_branches_stats(w->branches)->of_binary - before;
}

/* Branches before the mappings of their file are a loss; branches of other files are not. */
static void test_ledger(void)
{
	const struct pathprof_recorded_branch unmapped = far(LIBRARY + 2, LIBRARY);
	struct pathprof_ledger ledger;
	char text[PATHPROF_LEDGER_TEXT_LEN];
	struct world w;

	begin_as(&w, PATHPROF_FORMAT_PERF_DATA);
	STACK(&w, at(0x0a, 0x02), far(KERNEL, RUN_AT), far(0, 0));
	map(&w, PID, RUN_AT);
	STACK(&w, at(0x0a, 0x02), unmapped);
	map_named(&w, PID, LIBRARY, "/lib/other", NULL);
	STACK(&w, at(0x0a, 0x02), unmapped);
	map_named(&w, 9, LIBRARY, "/lib/other", NULL);
	sample(&w, &(struct pathprof_recorded_sample){
			   .pid = 9, .branch_cnt = 1, .repeats = 2, .branches = &unmapped});
	CU_ASSERT_EQUAL(finish(&w), 0);
	ledger = pathprof_recording_branches_stats(w.branches)->ledger;
	CU_ASSERT_EQUAL(ledger.branches, 10);
	CU_ASSERT_EQUAL(ledger.used, 2);
	CU_ASSERT_EQUAL(ledger.left[PATHPROF_LEDGER_UNMAPPED], 2);
	CU_ASSERT_EQUAL(ledger.left[PATHPROF_LEDGER_OUTSIDE], 4);
	CU_ASSERT_EQUAL(pathprof_ledger_loss_ppm(&ledger), 500000);
	CU_ASSERT_STRING_EQUAL(pathprof_ledger_text(&ledger, text),
			       "10 branches read, 2 used (20.0 %); left out: 1 kernel (10.0 %), "
			       "4 other files (40.0 %), 1 empty (10.0 %), 2 unmapped (20.0 %)");
	end(&w);
}

static void test_mappings(void)
{
	struct pathprof_recorded_mapping other = {.pid = PID,
						  .start = RUN_AT + 0x8,
						  .end = RUN_AT + 0x10,
						  .name = "//anon",
						  .executable = true};
	struct world w;

	begin(&w);
	/* The code's copy on huge pages lies where the code was. */
	CU_ASSERT_EQUAL(w.sink.mapping(w.sink.context, &other), 0);
	CU_ASSERT_EQUAL(counted_at(&w, PID, RUN_AT), 1);
	other.name = "/usr/lib/other.so";
	CU_ASSERT_EQUAL(w.sink.mapping(w.sink.context, &other), 0);
	STACK(&w, at(0x04, 0x12), at(0x04, 0x0d), at(0x0a, 0x02));
	map(&w, PID, RUN_AT);
	STACK(&w, at(0x0a, 0x02));
	CU_ASSERT_EQUAL(finish(&w), 0);
	CU_ASSERT_EQUAL(branch_count(&w, 0x04, 0x12), 1);
	CU_ASSERT_EQUAL(branch_count(&w, 0x04, 0x0d), 1);
	CU_ASSERT_EQUAL(branch_count(&w, 0x04, PATHPROF_OUTSIDE), 1);
	CU_ASSERT_EQUAL(branch_count(&w, PATHPROF_OUTSIDE, 0x02), 1);
	CU_ASSERT_EQUAL(branch_count(&w, 0x0a, 0x02), 1);
	end(&w);
}

static void test_which_binary(void)
{
	struct pathprof_build_id id = {.kind = PATHPROF_ID_BUILD_ID, .len_bytes = 20, .bytes = {1}};
	char name[4096];
	struct world w;

	begin_as(&w, PATHPROF_FORMAT_PERF_DATA);
	map_named(&w, 1, RUN_AT, "/usr/bin/other", NULL);
	CU_ASSERT_EQUAL(counted_at(&w, 1, RUN_AT), 0);
	snprintf(name, sizeof(name), "/elsewhere%s (deleted)", strrchr(w.code->path, '/'));
	map_named(&w, 2, RUN_AT, name, NULL);
	CU_ASSERT_EQUAL(counted_at(&w, 2, RUN_AT), 1);
	map_named(&w, 3, RUN_AT, name, &id);
	CU_ASSERT_EQUAL(counted_at(&w, 3, RUN_AT), 0);
	CU_ASSERT_EQUAL(pathprof_recording_branches_stats(w.branches)->by_name, 1);
	CU_ASSERT_EQUAL(pathprof_recording_branches_stats(w.branches)->other_build_id, 1);
	CU_ASSERT_EQUAL(finish(&w), 0);
	name[strlen(name) - strlen(" (deleted)")] = 0;
	CU_ASSERT_STRING_EQUAL(w.profile.origin.binary, name);
	end(&w);
}

static void map_page(struct world *w, uint64_t page, const char *name)
{
	struct pathprof_recorded_mapping m = {
		.pid = PID,
		.start = RUN_AT + page * 0x1000,
		.end = RUN_AT + (page + 1) * 0x1000,
		.offset = FILE_AT + page * 0x1000,
		.name = name,
		.executable = true,
	};

	if (name[0] != '/')
		m.id = w->graph->build_id;
	CU_ASSERT_EQUAL(w->sink.mapping(w->sink.context, &m), 0);
}

/* A program that makes its text writable and back, page by page: the kernel tells of each page. */
static void test_many_pieces(void)
{
	struct world w;

	begin(&w);
	for (uint64_t i = 0; i < 0x80; i++)
		map_page(&w, i, "whole");
	for (uint64_t i = 0; i < 0x80; i += 3)
		map_page(&w, i, "/usr/lib/other.so");
	for (uint64_t i = 0; i < 0x80; i++)
		CU_ASSERT_EQUAL(counted_at(&w, PID, RUN_AT + i * 0x1000), i % 3 != 0);
	for (uint64_t i = 0; i < 0x80; i += 3)
		map_page(&w, i, "whole");
	for (uint64_t i = 0; i < 0x80; i++)
		CU_ASSERT_EQUAL(counted_at(&w, PID, RUN_AT + i * 0x1000), 1);
	CU_ASSERT_EQUAL(left(&w, PATHPROF_LEFT_MAPPINGS), 0);
	end(&w);
}

/* Pieces beyond the bound are told as lost, and the rest is right. */
static void test_too_many_pieces(void)
{
	uint64_t cnt = 0;
	struct world w;

	begin(&w);
	for (; cnt < 1 << 20 && !left(&w, PATHPROF_LEFT_MAPPINGS); cnt++)
		map_page(&w, 2 * cnt, "whole");
	CU_ASSERT(cnt > 60000 && cnt < 1 << 20);
	CU_ASSERT_EQUAL(counted_at(&w, PID, RUN_AT), 1);
	CU_ASSERT_EQUAL(counted_at(&w, PID, RUN_AT + (2 * cnt - 4) * 0x1000), 1);
	CU_ASSERT_EQUAL(counted_at(&w, PID, RUN_AT + (2 * cnt - 2) * 0x1000), 0);
	end(&w);
}

/* ---------------------------------------------------------------- against the slow way */

#define TEXT      0x22
#define OUT       TEXT /* in no text */
#define PROCESSES 6
#define BASES     3
#define DEPTH     12

struct slow {
	int base[PROCESSES]; /* -1: not mapped */
	uint64_t branches[TEXT + 1][TEXT + 1], ranges[TEXT][TEXT];
};

static const uint64_t bases[BASES] = {RUN_AT, RUN_AT + 0x100000, RUN_AT + 0x200000};

/* The text's own instructions: where does what runs on from each go next? -1: away. */
static int next_of(int at)
{
	static const int8_t lengths[TEXT] = {
		[0x00] = 2,  [0x02] = 2,  [0x04] = 2,  [0x06] = 2, [0x08] = 2,  [0x0a] = 2,
		[0x0c] = -1, [0x0d] = -1, [0x12] = -1, [0x20] = 1, [0x21] = -1,
	};

	return lengths[at] > 0 ? at + lengths[at] : -1;
}

static bool slow_runs(int from, int to)
{
	while (from >= 0 && from < to)
		from = next_of(from);
	return from == to;
}

static int slow_place(const struct slow *slow, int process, uint64_t address)
{
	uint64_t base = slow->base[process] < 0 ? 0 : bases[slow->base[process]];

	return base && address >= base && address < base + TEXT ? (int)(address - base) : OUT;
}

/* From the oldest entry on, as the program ran. */
static void slow_sample(struct slow *slow, int process, const struct pathprof_recorded_sample *s)
{
	const struct pathprof_recorded_branch *before = NULL;

	for (uint32_t i = s->branch_cnt; i-- > 0;) {
		const struct pathprof_recorded_branch *e = &s->branches[i];
		int from = slow_place(slow, process, e->from),
		    to = slow_place(slow, process, e->to);
		int start = before ? slow_place(slow, process, before->to) : OUT;
		bool runs = start != OUT && from != OUT && slow_runs(start, from);

		if (!e->from) {
			before = NULL;
			continue;
		}
		if (i == 0 && s->branch_cnt > 1 && before == e + 1 && e->from == before->from &&
		    e->to == before->to && (from != OUT || to != OUT) && !runs)
			continue;
		if (runs)
			slow->ranges[start][from]++;
		if (from != OUT || to != OUT)
			slow->branches[from][to]++;
		before = e;
	}
}

static const int8_t places[] = {0x00, 0x02, 0x04, 0x06, 0x08, 0x0a, 0x0c, 0x0d, 0x12, 0x20, 0x21};

static uint64_t random_address(const struct slow *slow, int process, uint64_t *state)
{
	int base = slow->base[process] < 0 || world_random(state, 8) == 0
			   ? (int)world_random(state, BASES)
			   : slow->base[process];

	return bases[base] + (uint64_t)places[world_random(state, sizeof(places))];
}

static void random_sample(struct world *w, struct slow *slow, uint64_t *state, bool spoil)
{
	struct pathprof_recorded_branch stack[DEPTH];
	uint32_t cnt = 1 + world_random(state, DEPTH), process = world_random(state, PROCESSES);
	struct pathprof_recorded_sample s = {
		.pid = process + 1, .branch_cnt = cnt, .branches = stack};

	for (uint32_t i = 0; i < cnt; i++) {
		stack[i] = far(random_address(slow, (int)process, state),
			       random_address(slow, (int)process, state));
		if (world_random(state, 16) == 0)
			stack[i] = far(0, 0);
		if (i == 1 && world_random(state, 2))
			stack[i] = stack[0];
	}
	slow_sample(slow, (int)process, &s);
	if (spoil && slow->base[process] >= 0)
		stack[cnt - 1] =
			far(bases[slow->base[process]] + 0x04, bases[slow->base[process]] + 0x06);
	sample(w, &s);
}

static void random_change(struct world *w, struct slow *slow, uint64_t *state)
{
	uint32_t pid = world_random(state, PROCESSES), other = world_random(state, PROCESSES);
	int base = (int)world_random(state, BASES);

	switch (world_random(state, 4)) {
	case 0:
		if (slow->base[pid] >= 0)
			change(w, PATHPROF_RECORDED_EXEC, pid + 1, 0);
		slow->base[pid] = base;
		map(w, pid + 1, bases[base]);
		break;
	case 1:
		change(w, PATHPROF_RECORDED_FORK, pid + 1, other + 1);
		slow->base[pid] = slow->base[other];
		break;
	case 2:
		change(w, PATHPROF_RECORDED_EXIT, pid + 1, 0);
		break;
	default:
		if (slow->base[pid] == base)
			slow->base[pid] = -1;
		map_named(w, pid + 1, bases[base], "/usr/lib/other.so", NULL);
	}
}

static int differences(const struct world *w, const struct slow *slow)
{
	int cnt = 0;

	for (int a = 0; a <= TEXT; a++)
		for (int b = 0; b <= TEXT; b++) {
			uint64_t from = a == OUT ? PATHPROF_OUTSIDE : (uint64_t)a;
			uint64_t to = b == OUT ? PATHPROF_OUTSIDE : (uint64_t)b;

			cnt += slow->branches[a][b] != branch_count(w, from, to);
			if (a < TEXT && b < TEXT)
				cnt += slow->ranges[a][b] != range_count(w, from, to, false) +
								     range_count(w, from, to, true);
		}
	return cnt;
}

static int random_recording(uint64_t seed, bool spoil)
{
	static struct slow slow;
	struct world w;
	uint64_t state = seed;
	int cnt;

	memset(&slow, 0, sizeof(slow));
	memset(slow.base, -1, sizeof(slow.base));
	begin_as(&w, PATHPROF_FORMAT_PERF_DATA);
	for (int i = 0; i < 2000; i++) {
		if (i % 16 == 0)
			random_change(&w, &slow, &state);
		random_sample(&w, &slow, &state, spoil && i > 1000 && i < 1100);
	}
	CU_ASSERT_EQUAL(finish(&w), 0);
	CU_ASSERT(w.profile.branch_cnt > 100 && w.profile.range_cnt > 10);
	cnt = differences(&w, &slow);
	end(&w);
	return cnt;
}

static void test_slow_way(void)
{
	for (uint64_t seed = 1; seed < 30; seed++)
		CU_ASSERT_EQUAL(random_recording(seed * 77777, false), 0);
	CU_ASSERT(random_recording(77777, true) > 0);
}

/* ---------------------------------------------------------------- more than the table holds */

#define SIDE 640

static void test_full_table(void)
{
	static uint32_t counts[SIDE][SIDE];
	struct world w;
	uint64_t state = 12345, sum = 0, wrong = 0;

	memset(counts, 0, sizeof(counts));
	begin(&w);
	for (uint32_t i = 0; i < 1000000; i++) {
		uint32_t from = world_random(&state, SIDE), to = world_random(&state, SIDE);

		counts[from][to]++;
		STACK(&w, at(0x100 + from, 0x100 + to));
	}
	CU_ASSERT_EQUAL(finish(&w), 0);
	CU_ASSERT(w.profile.branch_cnt > PP_IMPORT_EDGE_MAX);
	for (uint32_t i = 0; i < w.profile.branch_cnt; i++) {
		const struct pathprof_branch_count *b = &w.profile.branches[i];

		sum += b->count;
		wrong += b->count != counts[b->from - FILE_AT - 0x100][b->to - FILE_AT - 0x100];
	}
	CU_ASSERT_EQUAL(sum, 1000000);
	CU_ASSERT_EQUAL(wrong, 0);
	end(&w);
}

/* ---------------------------------------------------------------- the end */

static void expect_error(struct world *w, int code, const char *part)
{
	CU_ASSERT_EQUAL(finish(w), code);
	CU_ASSERT_PTR_NOT_NULL(strstr(w->error.text, part));
	end(w);
}

static void test_errors(void)
{
	struct pathprof_build_id id = {
		.kind = PATHPROF_ID_BUILD_ID, .len_bytes = 2, .bytes = {1, 2}};
	char own[PATHPROF_BUILD_ID_TEXT_LEN];
	struct world w;

	begin(&w);
	expect_error(&w, -ENODATA, "no samples");
	begin(&w);
	sample(&w, &(struct pathprof_recorded_sample){.pid = PID});
	expect_error(&w, -ENODATA, "perf record -b");
	begin_as(&w, PATHPROF_FORMAT_PERF_DATA);
	STACK(&w, at(0x04, 0x0d));
	expect_error(&w, -ENODATA, "no mapping");
	begin(&w);
	STACK(&w, far(LIBRARY, LIBRARY + 4));
	expect_error(&w, -ENODATA,
		     "and 1 branches are in nothing that is mapped: were mappings "
		     "recorded too late");
	begin(&w);
	map_named(&w, PID, LIBRARY, "/lib/other", NULL);
	STACK(&w, far(LIBRARY, LIBRARY + 4));
	CU_ASSERT_EQUAL(finish(&w), -ENODATA);
	CU_ASSERT_EQUAL(left_out(&w, PATHPROF_LEDGER_OUTSIDE), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.error.text, "record more"));
	end(&w);
	begin(&w);
	CU_ASSERT_EQUAL(counted_at(&w, UINT32_MAX, RUN_AT), 0);
	expect_error(&w, -ENODATA, "of which process");
	begin_as(&w, PATHPROF_FORMAT_PERF_DATA);
	map_named(&w, PID, RUN_AT, strrchr(w.code->path, '/'), &id);
	STACK(&w, at(0x04, 0x0d));
	pathprof_build_id_text(&w.graph->build_id, own);
	CU_ASSERT_EQUAL(finish(&w), -ESTALE);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.error.text, "0102"));
	CU_ASSERT_PTR_NOT_NULL(strstr(w.error.text, own));
	end(&w);
}

/* The rule of `import`: the first event with stacks decides, those of its basis join. */
static void test_events(void)
{
	static const char text[] = "  7/7  1.000000: cycles: 401004 0x40100a/0x401002/P/-/-/0\n"
				   "  7/7  2.000000: branches: 401004 0x401012/0x40100c/P/-/-/0\n"
				   "  7/7  3.000000: cpu-clock: 401004 0x40100a/0x401002/P/-/-/0\n";
	struct pathprof_recording *recording;
	struct world w;
	int fd = reading_file(text, strlen(text)), r;

	begin_as(&w, PATHPROF_FORMAT_PERF_SCRIPT);
	CU_ASSERT_EQUAL_FATAL(pathprof_recording_open(&recording, PATHPROF_FORMAT_PERF_SCRIPT, fd,
						      "text", &w.sink, &w.error),
			      0);
	pathprof_recording_branches_set_recording(w.branches, recording);
	do {
		r = pathprof_recording_read(recording, &w.error);
	} while (r > 0);
	CU_ASSERT_EQUAL(r, 0);
	CU_ASSERT_EQUAL(finish(&w), 0);
	CU_ASSERT_EQUAL(branch_count(&w, 0x0a, 0x02), 2);
	CU_ASSERT_EQUAL(branch_count(&w, 0x12, 0x0c), 0);
	CU_ASSERT_EQUAL(left_out(&w, PATHPROF_LEDGER_OTHER_EVENT), 1);
	pathprof_recording_free(recording);
	close(fd);
	end(&w);
}

/* Another build's addresses are not this file's own. */
static void test_text_of_another_build(void)
{
	struct pathprof_build_id id = {
		.kind = PATHPROF_ID_BUILD_ID, .len_bytes = 2, .bytes = {1, 2}};
	struct world w;

	begin_as(&w, PATHPROF_FORMAT_PROFGEN_PERFSCRIPT);
	map_named(&w, PID, RUN_AT, strrchr(w.code->path, '/'), &id);
	STACK(&w, far(WRITER_TEXT + 0x0a, WRITER_TEXT + 0x02),
	      far(WRITER_TEXT + 0x0a, WRITER_TEXT + 0x02));
	expect_error(&w, -ESTALE, "0102");
}

/* llvm-profgen's text: the file's own addresses, unless something was mapped. */
static void test_text_without_mappings(void)
{
	struct world w;

	begin_as(&w, PATHPROF_FORMAT_PROFGEN_PERFSCRIPT);
	STACK(&w, far(WRITER_TEXT + 0x0a, WRITER_TEXT + 0x02),
	      far(WRITER_TEXT + 0x0a, WRITER_TEXT + 0x02));
	map(&w, 1234, RUN_AT);
	STACK(&w, at(0x04, 0x0d));
	CU_ASSERT_EQUAL(finish(&w), 0);
	CU_ASSERT_EQUAL(branch_count(&w, 0x0a, 0x02), 2);
	CU_ASSERT_EQUAL(range_count(&w, 0x02, 0x0a, false), 1);
	CU_ASSERT_EQUAL(branch_count(&w, 0x04, 0x0d), 1);
	end(&w);
}

static void test_counts(void)
{
	struct pathprof_recorded_count count = {
		.kind = PATHPROF_RECORDED_BRANCH,
		.from = {.address = FILE_AT + 0x0a},
		.to = {.address = FILE_AT + 0x02},
		.count = 5,
	};
	struct world w;

	begin_as(&w, PATHPROF_FORMAT_AUTOFDO_TEXT);
	CU_ASSERT_EQUAL(w.sink.count(w.sink.context, &count), 0);
	CU_ASSERT_EQUAL(finish(&w), 0);
	CU_ASSERT_EQUAL(branch_count(&w, 0x0a, 0x02), 5);
	CU_ASSERT_STRING_EQUAL(w.profile.origin.sources, "autofdo-text");
	end(&w);
}

static void test_one_binary(void)
{
	struct pathprof_build_id id = {
		.kind = PATHPROF_ID_BUILD_ID, .len_bytes = 2, .bytes = {1, 2}};
	struct pathprof_recording_branches *branches = NULL;
	struct pathprof_branch_profile other;
	struct world w;

	begin(&w);
	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_init(&other, &id), 0);
	CU_ASSERT_EQUAL(pathprof_recording_branches_new(&branches, PATHPROF_FORMAT_PERF_DATA,
							w.code, w.graph, &other, &w.error),
			-ESTALE);
	CU_ASSERT_EQUAL(pathprof_recording_branches_new(&branches, PATHPROF_FORMAT_PPROF, w.code,
							w.graph, &w.profile, &w.error),
			-EOPNOTSUPP);
	CU_ASSERT_PTR_NULL(branches);
	pathprof_branch_profile_release(&other);
	end(&w);
}

static const struct unit_test tests[] = {
	{"neighbours in a stack are branches and ranges", test_neighbours},
	{"a range behind a call is told from one that was jumped to", test_behind_calls},
	{"a range goes on behind the kernel if the program does", test_kernel},
	{"the newest entry given twice is one branch, a loop is two", test_repeated},
	{"what did not run is no branch", test_not_run},
	{"samples count as often as they were seen, filtered ones without ranges", test_samples},
	{"what is mapped over the binary is not the binary", test_mappings},
	{"by build-id, else by name, never another build", test_which_binary},
	{"every entry is used, or left out for a reason", test_ledger},
	{"a mapping may have many pieces", test_many_pieces},
	{"pieces are bounded", test_too_many_pieces},
	{"random recordings come to what the slow way counts", test_slow_way},
	{"a table that is full is emptied and nothing is lost", test_full_table},
	{"errors say what is missing, and both build-ids", test_errors},
	{"text without mappings has the file's addresses", test_text_without_mappings},
	{"samples of an event of another basis are left out", test_events},
	{"text of another build is refused", test_text_of_another_build},
	{"counts of a counted format are taken as they are", test_counts},
	{"code, graph and profile are of one binary", test_one_binary},
};
UNIT_SUITE(recording_branches, tests)
