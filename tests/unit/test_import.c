// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Imports against a naive count: what the windows hold must be what counting branch by branch gives
 * (import_world.h), wherever the program was mapped.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../libprofile/src/recording/pp_import_chain.h"
#include "../../libprofile/src/recording/pp_import_counts.h"
#include "../../libprofile/src/recording/pp_import_window.h"
#include "import_world.h"
#include "unit.h"

static void test_naive(void)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct import_world *w = import_world_open(seed);

		import_map(w, 10, BASE, "/bin/prog");
		import_map(w, 11, BASE + 0x5000000, "/bin/prog");
		for (uint64_t i = 0; i < 300; i++)
			import_sample(w, 10 + i % 2, i % 2 * 0x5000000, SECOND + i);
		import_finish(w);
		CU_ASSERT(w->got.cnt > 5);
		CU_ASSERT(import_are_same(&w->got, &w->want));
		CU_ASSERT_EQUAL(w->stored_stacks, 300);
		/* a fault must be found */
		w->got.list[w->got.cnt / 2].cnt++;
		CU_ASSERT(!import_are_same(&w->got, &w->want));
		import_world_close(w);
	}
}

/*
 * A system call or an interrupt in the middle of a stack changes weights alone. A signal cuts the
 * window, and so does a return to a place behind the next branch. Some hardware records the return
 * from the kernel alone (not `whole`).
 */
static void kernel_in_the_middle(bool whole)
{
	static const uint64_t resumes[] = {0, 1, 2, 15, 16, 4096};
	size_t joined = 0;

	for (size_t i = 0; i < sizeof(resumes) / sizeof(resumes[0]); i++) {
		struct import_world *w = import_world_open(31 + i);
		uint32_t middle = DEPTH / 2;
		struct import_stack s;
		uint64_t back;

		import_map(w, 10, BASE, "/bin/prog");
		import_run(w, &s);
		s.cnt = 0;
		for (uint32_t n = DEPTH; n-- > middle;)
			import_put(&s, s.taken[n].from, s.taken[n].to);
		back = s.taken[middle - 1].to + resumes[i];
		import_put(&s, KERNEL + 8, back);
		if (whole) {
			import_put(&s, KERNEL, KERNEL + 4);
			import_put(&s, s.taken[middle - 1].to, KERNEL);
		}
		for (uint32_t n = middle; n-- > 0;)
			import_put(&s, s.taken[n].from, s.taken[n].to);
		w->pid = 10;
		import_want_edges(w, &s, 0);
		if (back <= s.taken[middle].from && (resumes[i] <= 15 || !whole)) {
			import_want_paths(w, s.taken, DEPTH, s.cnt);
			joined++;
		} else {
			import_want_paths(w, s.taken, middle, s.cnt);
			import_want_paths(w, s.taken + middle, DEPTH - middle, s.cnt);
		}
		import_send(w, &s, 10, SECOND);
		import_finish_same(w);
		CU_ASSERT_EQUAL(import_left(w, PATHPROF_LEDGER_KERNEL), s.cnt - DEPTH);
		import_world_close(w);
	}
	CU_ASSERT(joined > 0 && joined < sizeof(resumes) / sizeof(resumes[0]));
}

static void test_kernel(void)
{
	kernel_in_the_middle(true);
	kernel_in_the_middle(false);
}

/* The first entry from the fourth on whose branch may lead anywhere; DEPTH: none. */
static uint32_t find_indirect(struct import_world *w, const struct import_stack *s)
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

/* A place without code has edges only, and splits the window into the parts on either side. */
static void test_without_code(void)
{
	/* in the other file where the program has nothing */
	const uint64_t other = BASE + 0x9080000;
	struct import_world *w = import_world_open(9);
	uint32_t away, found = 0;
	struct import_stack s;

	import_map(w, 10, BASE, "/bin/prog");
	import_map(w, 10, BASE + 0x9000000, "/lib/nowhere.so");
	w->pid = 10;
	for (int i = 0; i < 50; i++) {
		import_run(w, &s);
		away = find_indirect(w, &s);
		if (away == DEPTH)
			continue;
		/* this entry leads away, and the next comes back */
		s.taken[away].to = other;
		s.taken[away + 1].from = other + 8;
		import_record(&s, 0);
		import_want_edges(w, &s, 0);
		import_want_paths(w, s.taken, away + 1, DEPTH);
		import_want_paths(w, s.taken + away + 2, DEPTH - away - 2, DEPTH);
		import_send(w, &s, 10, SECOND);
		found++;
	}
	import_finish(w);
	CU_ASSERT(found > 10);
	CU_ASSERT_EQUAL(pathprof_import_stats(w->import)->no_code, 2 * found);
	/* offsets in the other file are told from its own start */
	for (size_t i = 0; i < w->want.cnt; i++) {
		struct import_row *row = &w->want.list[i];

		row->b -= row->b == import_offset(other) ? 0x9000000 : 0;
		row->a -= row->a == import_offset(other + 8) ? 0x9000000 : 0;
	}
	CU_ASSERT(import_are_same(&w->got, &w->want));
	import_world_close(w);
}

/* The newest entry twice: where the code does not lead from it to itself, it is taken back. */
/* How many were. */
static uint64_t repeat_entries(uint64_t seed)
{
	struct import_world *w = import_world_open(seed);
	struct pathprof_branch branches[PATHPROF_BURST_MAX];
	uint64_t repeated = 0;
	struct import_stack s;

	import_map(w, 10, BASE, "/bin/prog");
	w->pid = 10;
	for (int i = 0; i < 100; i++) {
		struct pathprof_taken twice[2];
		uint32_t cnt, at;
		int refusal;

		import_run(w, &s);
		twice[0] = twice[1] = s.taken[DEPTH - 1];
		refusal = pathprof_reconstruct(w->naive, twice, 2, branches, &cnt, &at);
		import_record(&s, 0);
		if (refusal) {
			memmove(s.branches + 1, s.branches, DEPTH * sizeof(s.branches[0]));
			s.cnt++;
			repeated++;
		}
		import_want_edges(w, &s, 0);
		import_want_paths(w, s.taken, DEPTH, DEPTH);
		import_send(w, &s, 10, SECOND);
	}
	import_finish(w);
	CU_ASSERT_EQUAL(import_left(w, PATHPROF_LEDGER_REPEATED), repeated);
	CU_ASSERT(import_are_same(&w->got, &w->want));
	import_world_close(w);
	return repeated;
}

static void test_repeated_entry(void)
{
	uint64_t repeated = 0;

	for (uint64_t seed = 1; seed <= 10; seed++)
		repeated += repeat_entries(seed);
	CU_ASSERT(repeated > 50);
}

/* Stacks filtered to some kinds of branches give edges only; unfiltered ones are not affected. */
static void test_filtered(void)
{
	struct import_world *w = import_world_open(13);
	struct import_stack s;
	uint64_t edges = 0;

	import_map(w, 10, BASE, "/bin/prog");
	w->pid = 10;
	for (uint32_t i = 0; i < 100; i++) {
		import_run(w, &s);
		w->filtered = i % 2;
		/* one entry twice, and what cannot follow one another: nobody asks */
		if (w->filtered)
			s.taken[DEPTH - 1] = s.taken[DEPTH - 2];
		import_record(&s, 0);
		import_want_edges(w, &s, 0);
		if (w->filtered) {
			edges += DEPTH;
		} else {
			import_want_paths(w, s.taken, DEPTH, DEPTH);
		}
		import_send(w, &s, 10, SECOND);
	}
	import_finish_same(w);
	CU_ASSERT_EQUAL(pathprof_import_stats(w->import)->filtered, edges);
	CU_ASSERT_EQUAL(pathprof_import_stats(w->import)->windows, 50);
	CU_ASSERT_EQUAL(import_left(w, PATHPROF_LEDGER_REPEATED), 0);
	import_world_close(w);
}

static uint32_t distinct_cnt(const struct import_stack *s)
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
	struct import_world *w = import_world_open(14);
	uint32_t edges = 0;
	struct import_stack s;

	w->pid = 10;
	for (uint32_t i = 0; edges < 3 * PP_IMPORT_EDGE_MAX; i++) {
		import_map(w, 10, BASE, i % 2 ? "/bin/prog" : "/sbin/prog");
		import_run(w, &s);
		import_record(&s, 0);
		import_want_edges(w, &s, 0);
		import_want_paths(w, s.taken, DEPTH, DEPTH);
		CU_ASSERT_EQUAL(import_send(w, &s, 10, SECOND), 0);
		edges += distinct_cnt(&s);
	}
	import_finish_same(w);
	CU_ASSERT_EQUAL(w->window_cnt, 1);
	import_world_close(w);
}

static void test_time(void)
{
	struct import_world *w = import_world_open(3);
	static const uint64_t times[] = {10 * SECOND,     10 * SECOND + 5, 11 * SECOND - 1,
					 11 * SECOND,     15 * SECOND + 7, 14 * SECOND,
					 15 * SECOND + 9, 16 * SECOND};

	import_map(w, 10, BASE, "/bin/prog");
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		import_sample(w, 10, 0, times[i]);
	import_finish_same(w);
	CU_ASSERT_EQUAL(w->window_cnt, 4);
	/* the file's time, as the recording does not say */
	CU_ASSERT_EQUAL(w->begins[0], (int64_t)(1000 * SECOND));
	CU_ASSERT_EQUAL(w->ends[0], (int64_t)(1001 * SECOND));
	CU_ASSERT_EQUAL(w->begins[1], (int64_t)(1001 * SECOND));
	CU_ASSERT_EQUAL(w->begins[2], (int64_t)(1005 * SECOND));
	CU_ASSERT_EQUAL(w->begins[3], (int64_t)(1006 * SECOND));
	CU_ASSERT_EQUAL(w->ends[3], (int64_t)(1006 * SECOND));
	import_world_close(w);
}

/* No sum of a recording's clock and an offset leaves 64 bits. */
static void test_far_times(void)
{
	const uint64_t far = (UINT64_C(1) << 63) + 5;
	struct import_world *w = import_world_open(16);

	import_map(w, 10, BASE, "/bin/prog");
	import_sample(w, 10, 0, far);
	import_sample(w, 10, 0, far + 2 * SECOND);
	import_finish_same(w);
	CU_ASSERT_EQUAL(w->window_cnt, 2);
	CU_ASSERT_EQUAL(w->begins[0], (int64_t)(1000 * SECOND));
	CU_ASSERT_EQUAL(w->begins[1], (int64_t)(1002 * SECOND));
	CU_ASSERT_EQUAL(w->ends[1], (int64_t)(1002 * SECOND));
	import_world_close(w);
}

struct stored {
	size_t window_cnt;
	uint64_t edge_cnt, dropped_cnt;
};

static int count_window(void *context, const struct pathprof_profile *p,
			const struct pathprof_ranges *ranges, struct pathprof_error *error)
{
	struct stored *stored = context;

	stored->window_cnt++;
	stored->edge_cnt += p->edge_cnt;
	stored->dropped_cnt += p->totals.drops[PATHPROF_DROP_TABLE_FULL];
	return 0;
}

/* Samples older than what came before, as of recordings one behind the other, fill windows, too. */
static void test_late(void)
{
	const uint64_t start = BASE + 0x9000000, edge_cnt = 5000 * DEPTH;
	const struct pathprof_import_config config = {.format = PATHPROF_FORMAT_PERF_DATA,
						      .window_ns = 100 * SECOND};
	struct import_world *w = import_world_open(15);
	struct stored stored = {.window_cnt = 0};
	struct import_stack s;

	pathprof_import_free(w->import);
	w->out = (struct pathprof_import_sink){&stored, count_window};
	CU_ASSERT_EQUAL_FATAL(pathprof_import_new(&w->import, &config, &w->files, &w->out, NULL),
			      0);
	w->sink = pathprof_import_records(w->import);
	import_map(w, 10, start, "/lib/nowhere.so");
	for (uint64_t i = 0; i < edge_cnt;) {
		s.cnt = 0;
		for (; s.cnt < DEPTH; i++)
			import_put(&s, start + 8 * i, start);
		CU_ASSERT_EQUAL(import_send(w, &s, 10, i == DEPTH ? 10 * SECOND : 9 * SECOND), 0);
	}
	import_finish(w);
	CU_ASSERT(stored.window_cnt >= 2);
	CU_ASSERT_EQUAL(stored.edge_cnt, edge_cnt);
	CU_ASSERT_EQUAL(stored.dropped_cnt, 0);
	import_world_close(w);
}

static void test_repeats(void)
{
	struct import_world *w = import_world_open(4);

	import_map(w, 10, BASE, "/bin/prog");
	for (uint64_t i = 0; i < 50; i++) {
		w->times = 1 + i % 7;
		import_sample(w, 10, 0, SECOND);
	}
	import_finish_same(w);
	import_world_close(w);
}

/* A text may claim any number of repeats: sums stop at their bound. */
static void test_repeats_bound(void)
{
	struct import_world *w = import_world_open(4);
	const struct pathprof_ledger *ledger = &pathprof_import_stats(w->import)->ledger;
	struct import_stack s;

	import_map(w, 10, BASE, "/bin/prog");
	import_run(w, &s);
	import_record(&s, 0);
	w->times = 1 + PATHPROF_RECORDED_REPEATS_MAX;
	for (uint64_t sum = 0; sum < PP_IMPORT_BRANCHES_MAX; sum += w->times * DEPTH)
		CU_ASSERT_EQUAL(import_send(w, &s, 10, SECOND), 0);
	for (int i = 0; i < 20; i++)
		CU_ASSERT_EQUAL(import_send(w, &s, 10, SECOND), 0);
	CU_ASSERT(ledger->branches <= PP_IMPORT_BRANCHES_MAX);
	CU_ASSERT(ledger->branches > PP_IMPORT_BRANCHES_MAX - DEPTH);
	CU_ASSERT_EQUAL(ledger->used, ledger->branches);
	import_finish(w);
	import_world_close(w);
}

/* A stack with an entry between any two that the program never took. */
static void record_untaken(struct import_stack *s, bool is_foreseen)
{
	s->cnt = 0;
	for (uint32_t i = DEPTH; i-- > 0;) {
		import_put(s, s->taken[i].from, s->taken[i].to);
		import_put(s, s->taken[i].to, s->taken[i].from);
		if (is_foreseen)
			s->branches[s->cnt - 1].spec = PERF_BR_SPEC_WRONG_PATH;
		else
			s->branches[s->cnt - 1].flags = PATHPROF_RECORDED_NOT_TAKEN;
	}
}

static void test_untaken(void)
{
	struct import_world *w = import_world_open(8);
	struct import_stack s;

	import_map(w, 10, BASE, "/bin/prog");
	for (uint64_t i = 0; i < 50; i++) {
		import_run(w, &s);
		record_untaken(&s, i % 2);
		w->pid = 10;
		import_want_edges(w, &s, 0);
		import_want_paths(w, s.taken, DEPTH, DEPTH);
		CU_ASSERT_EQUAL(import_send(w, &s, 10, SECOND), 0);
	}
	import_finish_same(w);
	CU_ASSERT_EQUAL(import_left(w, PATHPROF_LEDGER_UNTAKEN), 50 * DEPTH);
	import_world_close(w);
}

/* Entries that cannot be leave everything else as it was. */
static void test_nonsense(void)
{
	static const uint64_t odd[] = {0, 1, UINT64_MAX, KERNEL, BASE - 1, UINT64_C(1) << 62};
	struct import_world *w = import_world_open(6);
	struct import_stack s = {.cnt = 0};
	const struct pathprof_import_stats *stats;
	uint64_t left = 0;

	import_map(w, 10, BASE, "/bin/prog");
	import_map(w, 10, UINT64_MAX - 10, "/bin/wraps");
	for (size_t i = 0; i < 6; i++)
		for (size_t j = 0; j < 6; j++)
			import_put(&s, odd[i], odd[j]);
	import_send(w, &s, 10, SECOND);
	import_send(w, &s, UINT32_MAX, SECOND);
	import_finish(w);
	stats = pathprof_import_stats(w->import);
	for (int i = 0; i < PATHPROF_LEDGER_CNT; i++)
		left += stats->ledger.left[i];
	CU_ASSERT_EQUAL(left + stats->ledger.used, stats->ledger.branches);
	CU_ASSERT_EQUAL(stats->ledger.branches, 72);
	CU_ASSERT_EQUAL(w->got.cnt, 0);
	import_world_close(w);
}

/* ---------------------------------------------------------------- counts */

static void send_count(struct import_world *w, enum pathprof_recorded_count_kind kind,
		       uint64_t from, uint64_t to, uint64_t end, uint64_t cnt)
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
	struct import_world *w = import_world_open_of(PATHPROF_FORMAT_AUTOFDO_TEXT, 8);
	struct pathprof_branch branches[PATHPROF_BURST_MAX], b;
	struct import_stack s;
	uint64_t paths = 0;
	uint32_t cnt, at;

	for (int i = 0; i < 100; i++) {
		import_run(w, &s);
		for (uint32_t n = 0; n + 1 < DEPTH; n++) {
			send_count(w, PATHPROF_RECORDED_TRACE, import_offset(s.taken[n].from),
				   import_offset(s.taken[n].to), import_offset(s.taken[n + 1].from),
				   3);
			import_count(&w->want,
				     &(struct import_row){.a = import_offset(s.taken[n].from),
							  .b = import_offset(s.taken[n].to),
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
								 import_want_path, w);
			}
		}
	}
	import_finish(w);
	CU_ASSERT(paths > 100);
	CU_ASSERT(import_are_same(&w->got, &w->want));
	import_world_close(w);
}

/* ---------------------------------------------------------------- ranges */

/* Ranges of binaries that no edge has named: each keeps its own, however many there are. */
static void test_ranges_of_many(void)
{
	static const struct pathprof_build_id none;
	static const struct pathprof_import_files files;
	struct pp_import_window window = {.files = &files};

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&window.profile, 1 << 20), 0);
	CU_ASSERT_EQUAL_FATAL(pp_import_images_new(&window.images, &files), 0);
	for (uint32_t i = 0; i < 300; i++) {
		uint64_t at = (uint64_t)i << PP_IMAGE_SHIFT | PP_IMAGE_NOCODE;
		uint32_t number;
		char name[32];

		snprintf(name, sizeof(name), "/nowhere/%u", i);
		CU_ASSERT_EQUAL(pp_import_images_get(window.images, name, &none, &number), 0);
		CU_ASSERT_EQUAL(number, i);
		pp_import_window_add_range(&window, at + 1, at + 2, at + 3, 1);
	}
	CU_ASSERT_EQUAL(pp_import_window_find_ranges(&window), 0);
	CU_ASSERT_EQUAL_FATAL(window.found.cnt, 300);
	for (uint32_t i = 0; i < 300; i++) {
		const struct pathprof_build_id *id = &pp_import_images_at(window.images, i)->id;

		CU_ASSERT(pathprof_build_id_equal(window.found.rows[i].from_id, id));
		CU_ASSERT(pathprof_build_id_equal(window.found.rows[i].to_id, id));
	}
	pp_import_window_clear(&window);
	pp_import_window_release(&window);
	pp_import_images_free(window.images);
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
		struct import_world *w = import_world_open(100 + seed);
		enum pathprof_mapping mapping = (enum pathprof_mapping)(seed % 2);
		struct import_stack s;

		for (int i = 0; i < 200; i++) {
			import_run(w, &s);
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
		import_world_close(w);
	}
	CU_ASSERT(all > 10000);
}

static const struct unit_test tests[] = {
	{"windows hold what a naive count has, wherever the program lies", test_naive},
	{"kernel entries are passed over, signals cut", test_kernel},
	{"edges without code, windows on either side", test_without_code},
	{"the newest entry given twice counts once", test_repeated_entry},
	{"stacks of some kinds of branches leave edges only", test_filtered},
	{"more edges than tables hold", test_full_tables},
	{"windows end by the recording's time", test_time},
	{"times beyond 2^63 do no harm", test_far_times},
	{"samples that come late fill windows, too", test_late},
	{"what was seen repeatedly weighs as much", test_repeats},
	{"repeats without end", test_repeats_bound},
	{"what was never taken lies between neighbours", test_untaken},
	{"entries that cannot be are counted by reason", test_nonsense},
	{"counted branches become edges and whole paths", test_counts},
	{"ranges keep their binaries, however many there are", test_ranges_of_many},
	{"paths straight from runs are those of their branches", test_straight_from_runs},
};
UNIT_SUITE(import, tests)
