// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments of bursts against a naive machine that cuts pieces branch by branch: random bursts,
 * windows cut out of one stream against the stream's own exact set, and the open window's counts.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/window/window.h"
#include "unit.h"

#define BASE       UINT64_C(0x400000)
#define SPAN       UINT64_C(0x1000)
#define LIST_MAX   50000
#define LENGTH_MAX 32

/* A segment as the naive machine has it, and how often. */
struct segment {
	struct pathprof_path_seen first, second;
	uint64_t cnt;
	double weight;
};

struct list {
	struct segment *segments;
	size_t cnt;
	uint64_t seen; /* with repeats */
};

static bool same_piece(const struct pathprof_path_seen *a, const struct pathprof_path_seen *b)
{
	return a->start == b->start && a->length == b->length && a->outcomes == b->outcomes;
}

static struct segment *find(const struct list *list, const struct pathprof_path_seen *first,
			    const struct pathprof_path_seen *second)
{
	for (size_t i = 0; i < list->cnt; i++)
		if (same_piece(&list->segments[i].first, first) &&
		    same_piece(&list->segments[i].second, second))
			return &list->segments[i];
	return NULL;
}

static void add(struct list *list, const struct pathprof_path_seen *first,
		const struct pathprof_path_seen *second, double weight)
{
	struct segment *segment = find(list, first, second);

	if (!segment) {
		if (list->cnt == LIST_MAX)
			abort();
		segment = &list->segments[list->cnt++];
		*segment = (struct segment){*first, *second, 0, 0};
	}
	segment->cnt++;
	segment->weight += weight;
	list->seen++;
}

static void list_init(struct list *list)
{
	*list = (struct list){.segments = calloc(LIST_MAX, sizeof(*list->segments))};
	if (!list->segments)
		abort();
}

/* ---------------------------------------------------------------- the naive machine */

struct machine {
	struct list *list;
	uint64_t units, all; /* taken branches or instructions so far, and of the window */
	bool has_piece, has_first;
	struct pathprof_path_seen piece, first; /* span: units before its first branch */
};

static void end_piece(struct machine *m, bool crosses)
{
	if (m->has_piece && m->has_first) {
		uint64_t span = m->units - m->first.span;
		uint64_t places = span < m->all ? m->all - span : 1;

		add(m->list, &m->first, &m->piece, m->all ? (double)m->all / (double)places : 1);
	}
	m->has_first = m->has_piece && crosses;
	m->first = m->piece;
	m->has_piece = false;
}

static void begin_piece(struct machine *m, uint64_t start)
{
	m->has_piece = true;
	m->piece = (struct pathprof_path_seen){.start = start, .span = (uint32_t)m->units};
}

static void pass(struct machine *m, const struct pathprof_branch *b)
{
	bool crosses = b->kind == PERF_BR_CALL || b->kind == PERF_BR_RET;
	bool turns = b->kind == PERF_BR_IND || b->target <= b->from;

	if (m->has_piece && !crosses) {
		m->piece.outcomes |= (uint32_t)b->taken << m->piece.length++;
		turns |= m->piece.length == LENGTH_MAX;
	}
	if (crosses || turns) {
		/* A forward branch begins nothing where nothing was known. */
		bool begins =
			crosses || m->has_piece || b->kind == PERF_BR_IND || b->target <= b->from;

		end_piece(m, crosses);
		if (begins)
			begin_piece(m, b->next);
	}
}

static void run(struct list *list, const struct pathprof_branch *branches, uint32_t cnt,
		uint32_t horizon)
{
	struct machine m = {.list = list, .all = horizon};

	for (uint32_t i = 0; i < cnt && !horizon; i++)
		m.all += branches[i].taken;
	for (uint32_t i = 0; i < cnt; i++) {
		m.units += horizon ? branches[i].insns : branches[i].taken;
		pass(&m, &branches[i]);
	}
}

/* ---------------------------------------------------------------- streams */

static void random_branch(unsigned int *seed, struct pathprof_branch *ret_branch)
{
	static const uint32_t kinds[] = {PERF_BR_COND, PERF_BR_COND, PERF_BR_COND, PERF_BR_UNCOND,
					 PERF_BR_CALL, PERF_BR_RET,  PERF_BR_IND};
	uint32_t kind = kinds[rand_r(seed) % 7];

	*ret_branch = (struct pathprof_branch){
		.kind = kind,
		.taken = kind != PERF_BR_COND || rand_r(seed) % 2,
		.from = BASE + (uint64_t)(rand_r(seed) % 3) * 0x130,
		.insns = 1 + (uint32_t)rand_r(seed) % 20,
	};
	/* mostly forward */
	ret_branch->target = rand_r(seed) % 4 ? ret_branch->from + 0x60
					      : BASE + (uint64_t)(rand_r(seed) % 3) * 0x130;
	ret_branch->next = ret_branch->taken ? ret_branch->target : ret_branch->from + 2;
}

static void collect(void *context, const struct pathprof_segment_seen *segment)
{
	add(context, &segment->first, &segment->second, segment->weight);
}

static bool agree(const struct list *a, const struct list *b)
{
	if (a->cnt != b->cnt || a->seen != b->seen)
		return false;
	for (size_t i = 0; i < a->cnt; i++) {
		const struct segment *x = &a->segments[i];
		const struct segment *y = find(b, &x->first, &x->second);

		if (!y || y->cnt != x->cnt || fabs(y->weight - x->weight) > 1e-6 * x->weight)
			return false;
	}
	return true;
}

static void test_bursts(void)
{
	struct pathprof_branch branches[200];
	struct list naive, seen;
	unsigned int seed = 31;

	for (uint32_t horizon = 0; horizon <= 2048; horizon += 2048) {
		uint64_t returned = 0;

		list_init(&naive);
		list_init(&seen);
		for (int i = 0; i < 400; i++) {
			uint32_t cnt = (uint32_t)rand_r(&seed) % 200;

			for (uint32_t j = 0; j < cnt; j++)
				random_branch(&seed, &branches[j]);
			run(&naive, branches, cnt, horizon);
			returned += (uint64_t)pathprof_segments_of_window(branches, cnt, horizon,
									  collect, &seen);
		}
		CU_ASSERT(naive.cnt > 200);
		CU_ASSERT_EQUAL(returned, naive.seen);
		CU_ASSERT(agree(&naive, &seen));
		seen.segments[seen.cnt / 2].second.outcomes ^= 1;
		CU_ASSERT_FALSE(agree(&naive, &seen)); /* the planted fault */
		free(naive.segments);
		free(seen.segments);
	}
	branches[0].kind = 99;
	CU_ASSERT_EQUAL(pathprof_segments_of_window(branches, 1, 0, collect, NULL), -EINVAL);
}

struct against {
	const struct list *exact;
	uint64_t seen, untested;
};

static void hold(void *context, const struct pathprof_segment_seen *segment)
{
	struct against *a = context;

	a->seen++;
	a->untested += !find(a->exact, &segment->first, &segment->second);
}

/* Wherever a window begins, what it shows whole is what the stream's own machine cut. */
static void test_windows_of_a_stream(void)
{
	enum { STREAM = 20000 };
	struct pathprof_branch *stream = calloc(STREAM, sizeof(*stream));
	struct against against = {0}, without;
	unsigned int seed = 32;
	struct list exact;

	list_init(&exact);
	for (uint32_t i = 0; i < STREAM; i++)
		random_branch(&seed, &stream[i]);
	run(&exact, stream, STREAM, 0);
	against.exact = &exact;
	for (int i = 0; i < 500; i++)
		pathprof_segments_of_window(stream + rand_r(&seed) % (STREAM - 300), 300, 0, hold,
					    &against);
	CU_ASSERT(against.seen > 10000);
	CU_ASSERT_EQUAL(against.untested, 0);
	/* one is left out of the exact set on purpose */
	without = (struct against){.exact = &exact};
	exact.segments[0].first.outcomes ^= 1;
	for (uint32_t at = 0; at + 300 <= STREAM; at += 100)
		pathprof_segments_of_window(stream + at, 300, 0, hold, &without);
	CU_ASSERT(without.untested > 0 && without.untested < without.seen / 2);
	free(exact.segments);
	free(stream);
}

/* ---------------------------------------------------------------- the open window */

/* One mapping, and a hole behind it. */
static int resolve(void *context, pid_t pid, uint64_t time_ns, uint64_t address,
		   struct pp_location *ret_location)
{
	++*(unsigned int *)context;
	if (address < BASE || address >= BASE + SPAN)
		return -ENOENT;
	*ret_location = (struct pp_location){
		.id = {.kind = PATHPROF_ID_BUILD_ID, .len_bytes = 20, .bytes = {7}},
		.offset = address - BASE + 0x40,
		.name = "/bin/x",
		.start = BASE,
		.end = BASE + SPAN,
	};
	return 0;
}

static const struct pp_track_process *process(void *context, pid_t pid, uint64_t time_ns)
{
	static struct pp_track_process p;

	p = (struct pp_track_process){.pid = pid};
	return &p;
}

static int dispatch(void *context)
{
	return 0;
}

static void open_window_of(struct pp_window **ret_window, unsigned int *resolved, size_t memory,
			   bool without)
{
	const struct pp_resolver resolver = {
		.context = resolved, .dispatch = dispatch, .process = process, .resolve = resolve};
	const struct pp_window_config config = {
		.mapping = PATHPROF_MAPPING_BL,
		.source = PATHPROF_SOURCE_STEP,
		.basis = PATHPROF_BASIS_TIME,
		.taken_wanted = 32,
		.memory_max_bytes = memory,
		.without_segments = without,
	};

	CU_ASSERT_EQUAL_FATAL(pp_window_new(ret_window, &config, &resolver), 0);
}

static void open_window(struct pp_window **ret_window, unsigned int *resolved, size_t memory)
{
	open_window_of(ret_window, resolved, memory, false);
}

static void add_burst(struct pp_window *window, const struct pathprof_branch *branches,
		      uint32_t cnt)
{
	struct pathprof_burst burst = {
		.size_bytes = (uint32_t)(sizeof(burst) + cnt * sizeof(*branches)),
		.version = PATHPROF_ABI_VERSION,
		.source = PATHPROF_SOURCE_STEP,
		.pid = 1,
		.branch_cnt = cnt,
	};

	pp_window_add_burst(window, &burst, branches);
}

static void copy_segment(struct list *list, const struct pathprof_segment_count *s)
{
	struct segment *to = &list->segments[list->cnt++];

	*to = (struct segment){
		.first = {.start = s->first.start + BASE - 0x40,
			  .length = s->first.length,
			  .outcomes = s->first.outcomes},
		.second = {.start = s->second.start + BASE - 0x40,
			   .length = s->second.length,
			   .outcomes = s->second.outcomes},
		.cnt = s->second.samples,
		.weight = s->second.weight,
	};
	list->seen += s->second.samples;
}

static void test_window_counts(void)
{
	struct pathprof_branch branches[100];
	const struct pathprof_profile *p;
	unsigned int seed = 33, resolved = 0;
	struct pp_window *window;
	struct list naive, seen;

	open_window(&window, &resolved, 8 << 20);
	p = pp_window_profile(window);
	CU_ASSERT_FALSE(p->is_ordered);
	list_init(&naive);
	list_init(&seen);
	for (int i = 0; i < 300; i++) {
		for (uint32_t j = 0; j < 100; j++)
			random_branch(&seed, &branches[j]);
		run(&naive, branches, 100, 0);
		add_burst(window, branches, 100);
	}
	for (uint32_t i = 0; i < p->segment_cnt; i++)
		copy_segment(&seen, &p->segments[i]);
	CU_ASSERT(p->is_ordered && p->segments_lost == 0 && naive.cnt > 200);
	CU_ASSERT(agree(&naive, &seen));
	/* a burst's start, which is a clock sample, and once for all the rest in the same mapping
	 */
	CU_ASSERT_EQUAL(resolved, 2 * 300);
	seen.segments[0].cnt++;
	CU_ASSERT_FALSE(agree(&naive, &seen)); /* the planted fault */
	free(naive.segments);
	free(seen.segments);
	pp_window_free(window);
}

/* Bursts in which one segment was seen several times are one look each. */
static void test_looks(void)
{
	struct pathprof_branch branches[8];
	const struct pathprof_profile *p;
	unsigned int resolved = 0;
	struct pp_window *window;

	for (uint32_t i = 0; i < 8; i++)
		branches[i] = (struct pathprof_branch){
			.kind = i % 2 ? PERF_BR_RET : PERF_BR_CALL,
			.taken = 1,
			.from = i % 2 ? BASE + 0x200 : BASE + 0x100,
			.target = i % 2 ? BASE + 0x105 : BASE + 0x200,
			.next = i % 2 ? BASE + 0x105 : BASE + 0x200,
		};
	open_window(&window, &resolved, 8 << 20);
	p = pp_window_profile(window);
	add_burst(window, branches, 8);
	add_burst(window, branches, 8);
	CU_ASSERT_EQUAL_FATAL(p->segment_cnt, 2);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t each = p->segments[i].second.samples / 2;

		CU_ASSERT_EQUAL(each, 3);
		CU_ASSERT_EQUAL(p->segments[i].second.squares, 2 * each * each);
	}
	pp_window_free(window);
}

/* A window that is told so keeps none, and does not say that it knows them. */
static void test_without(void)
{
	struct pathprof_branch branches[100];
	unsigned int seed = 34, resolved = 0;
	const struct pathprof_profile *p;
	struct pp_window *window;

	for (uint32_t j = 0; j < 100; j++)
		random_branch(&seed, &branches[j]);
	open_window_of(&window, &resolved, 8 << 20, true);
	p = pp_window_profile(window);
	add_burst(window, branches, 100);
	CU_ASSERT(p->path_cnt > 0 && !p->segment_cnt && !p->is_ordered);
	pp_window_free(window);
}

/* The table is bounded far below the profile, and paths keep their room. */
static void test_full(void)
{
	enum { MEMORY = 1 << 20 };
	struct pathprof_branch branches[3] = {
		{.kind = PERF_BR_CALL, .taken = 1, .from = BASE + 1, .target = BASE + 2},
		{.kind = PERF_BR_CALL, .taken = 1},
		{.kind = PERF_BR_RET, .taken = 1, .target = BASE + 3, .next = BASE + 3},
	};
	const struct pathprof_profile *p;
	unsigned int resolved = 0;
	struct pp_window *window;

	open_window(&window, &resolved, MEMORY);
	p = pp_window_profile(window);
	for (uint64_t i = 0; i < SPAN; i++) {
		branches[0].next = branches[0].target = BASE + i;
		branches[1].from = BASE + i;
		branches[1].next = branches[1].target = BASE + SPAN - 1 - i;
		branches[2].from = BASE + SPAN - 1 - i;
		add_burst(window, branches, 3);
	}
	CU_ASSERT(p->segments_lost > 0);
	CU_ASSERT_EQUAL(p->segments_lost + p->segment_cnt, SPAN);
	CU_ASSERT(p->segment_cnt * sizeof(*p->segments) <= MEMORY / 4);
	CU_ASSERT(p->path_cnt > p->segment_cnt);
	pp_window_free(window);
}

static const struct unit_test tests[] = {
	{"segments of bursts are those of the naive machine", test_bursts},
	{"windows of a stream have no segment that the stream has not", test_windows_of_a_stream},
	{"the open window counts them", test_window_counts},
	{"a burst is one look at a segment", test_looks},
	{"a window may be told to keep none", test_without},
	{"a full table of segments is counted, and leaves paths their room", test_full},
};
UNIT_SUITE(segments, tests)
