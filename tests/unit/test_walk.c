// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Windows walked against windows gone through branch by branch: programs whose every instruction is
 * known (oracle_program.h) run, and all paths of all windows must be the same, in the same order,
 * whatever the walker knew before. Deep recursion and ways that end many paths are made by hand.
 */
#include "pathprof/walk.h"
#include "unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "../../libprofile/src/path/pp_walk.h"
#include "oracle_program.h"

#define BASE ORACLE_PROGRAM_BASE

struct world {
	struct pathprof_code *code;
	struct pathprof_reconstructor *r;
	struct pathprof_walker *walker;
	enum pathprof_mapping mapping;
	uint64_t byte_cnt;
};

/* Each path has its last branch, when gone through slowly, and whether a call or return ended it.
 */
struct seen {
	struct pathprof_path_seen list[PATHPROF_BURST_MAX];
	bool crosses[PATHPROF_BURST_MAX];
	size_t cnt;
};

static int locate(void *context, uint64_t address, struct pathprof_mapping_place *ret_place)
{
	struct world *w = context;

	if (address < BASE || address >= BASE + w->byte_cnt)
		return -ENOENT;
	*ret_place = (struct pathprof_mapping_place){.code = w->code,
						     .start = BASE,
						     .end = BASE + w->byte_cnt,
						     .offset = ORACLE_FILE_OFFSET};
	return 0;
}

static void open_world(struct world *w, const void *bytes, size_t byte_cnt,
		       enum pathprof_mapping mapping)
{
	*w = (struct world){
		.code = oracle_file(bytes, byte_cnt), .byte_cnt = byte_cnt, .mapping = mapping};
	CU_ASSERT_EQUAL_FATAL(pathprof_reconstructor_new(&w->r, locate, w), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_walker_new(&w->walker, w->r, mapping), 0);
}

static void close_world(struct world *w)
{
	pathprof_walker_free(w->walker);
	pathprof_reconstructor_free(w->r);
	pathprof_code_free(w->code);
}

static void see(void *context, const struct pathprof_path_seen *path)
{
	struct seen *seen = context;

	CU_ASSERT_FATAL(seen->cnt < PATHPROF_BURST_MAX);
	memcpy(&seen->list[seen->cnt++], path, sizeof(*path));
}

/* Branch by branch. A refusal, or 0. */
static int go_slowly(struct world *w, const struct pathprof_taken *taken, uint32_t cnt,
		     enum pathprof_mapping mapping, struct seen *seen)
{
	static struct pathprof_branch branches[PATHPROF_BURST_MAX];
	uint32_t branch_cnt, at;
	int refusal = pathprof_reconstruct(w->r, taken, cnt, branches, &branch_cnt, &at);

	seen->cnt = 0;
	if (!refusal)
		pathprof_paths_of_burst(branches, branch_cnt, mapping, see, seen);
	for (size_t i = 0; i < seen->cnt; i++) {
		uint32_t kind = branches[seen->list[i].last].kind;

		seen->crosses[i] =
			kind == PERF_BR_CALL || kind == PERF_BR_IND_CALL || kind == PERF_BR_RET;
	}
	return refusal;
}

static void keep(const struct pathprof_walker *walker,
		 void (*tell)(const struct pathprof_walker *, uint32_t,
			      struct pathprof_path_seen *),
		 const struct pathprof_walked *ended, uint32_t cnt, struct seen *seen)
{
	for (uint32_t i = 0; i < cnt; i++) {
		struct pathprof_path_seen path = {.span = ended[i].span};

		tell(walker, (uint32_t)ended[i].path, &path);
		seen->crosses[seen->cnt] = ended[i].crosses;
		see(seen, &path);
	}
}

static int walk(struct world *w, const struct pathprof_taken *taken, uint32_t cnt,
		struct seen *seen, struct seen *pieces)
{
	static struct pathprof_walk_ends ends;
	static uint32_t numbers[PATHPROF_BURST_MAX];
	int r;

	seen->cnt = pieces->cnt = 0;
	for (uint32_t i = 0; i < cnt; i++)
		CU_ASSERT_EQUAL_FATAL(pathprof_walker_branch(w->walker, &taken[i], &numbers[i]), 0);
	ends.path_cnt = UINT32_MAX;
	r = pathprof_walk(w->walker, numbers, cnt, &ends);
	if (r) {
		CU_ASSERT_EQUAL(ends.path_cnt, UINT32_MAX);
		return r;
	}
	keep(w->walker, pathprof_walker_path, ends.paths, ends.path_cnt, seen);
	keep(w->walker, pathprof_walker_piece, ends.pieces, ends.piece_cnt, pieces);
	return 0;
}

static bool is_same(const struct seen *a, const struct seen *b)
{
	bool same = a->cnt == b->cnt;

	for (size_t i = 0; i < a->cnt && same; i++)
		same = a->list[i].start == b->list[i].start &&
		       a->list[i].length == b->list[i].length &&
		       a->list[i].outcomes == b->list[i].outcomes &&
		       a->list[i].span == b->list[i].span && a->crosses[i] == b->crosses[i];
	return same;
}

static struct seen slow, fast, slow_pieces, fast_pieces;

/* How many paths the window has. */
static size_t check(struct world *w, const struct pathprof_taken *taken, uint32_t cnt)
{
	int refusal = go_slowly(w, taken, cnt, w->mapping, &slow);

	go_slowly(w, taken, cnt, PATHPROF_MAPPING_WPP, &slow_pieces);
	CU_ASSERT_EQUAL(walk(w, taken, cnt, &fast, &fast_pieces), refusal);
	CU_ASSERT(is_same(&slow, &fast));
	CU_ASSERT(is_same(&slow_pieces, &fast_pieces));
	return slow.cnt;
}

static void run(struct oracle_program *p, struct pathprof_taken *taken, uint32_t cnt)
{
	struct pathprof_branch b;

	for (uint32_t i = 0; i < cnt;) {
		oracle_program_step(p, &b);
		if (b.taken)
			taken[i++] = (struct pathprof_taken){b.from, b.next};
	}
}

/* ---------------------------------------------------------------- the tests */

static void test_same_paths(void)
{
	static const uint32_t lens[] = {1, 2, 7, 16, 24, 32, 64, 200};
	static struct oracle_program p;
	struct pathprof_taken taken[200];
	size_t paths = 0;

	for (uint64_t seed = 1; seed <= 48; seed++) {
		struct world w;

		oracle_program_make(&p, 300, 3 + seed % 3, 500 + seed);
		open_world(&w, p.bytes, p.byte_cnt, (enum pathprof_mapping)(seed % 2));
		for (uint32_t i = 0; i < 300; i++) {
			uint32_t cnt = lens[i % 8];

			run(&p, taken, cnt);
			paths += check(&w, taken, cnt);
			if (i == 200)
				pathprof_walker_clear(w.walker);
		}
		close_world(&w);
	}
	CU_ASSERT(paths > 100000);
	/* a fault must be found */
	CU_ASSERT_FATAL(fast.cnt > 0);
	fast.list[fast.cnt / 2].span++;
	CU_ASSERT(!is_same(&slow, &fast));
}

struct blocks {
	struct pathprof_block list[PATHPROF_BURST_MAX];
	uint32_t cnt;
};

static int keep_block(void *context, const struct pathprof_block *block)
{
	struct blocks *blocks = context;

	blocks->list[blocks->cnt++] = *block;
	return 0;
}

/* The branches of a piece, the last one before `end`, of which one that crosses has no outcome. */
static bool ran_so(const struct blocks *blocks, const struct pathprof_branch *end, uint32_t cnt)
{
	bool same = blocks->cnt == cnt;

	for (uint32_t i = 0; i < cnt && same; i++) {
		const struct pathprof_branch *b = end - cnt + i;
		uint64_t from = b->from - BASE + ORACLE_FILE_OFFSET;

		same = from >= blocks->list[i].start && from < blocks->list[i].end &&
		       blocks->list[i].kind == b->kind && blocks->list[i].taken == (int)b->taken;
	}
	return same;
}

/* The way of a piece is read from its code, up to a call. */
static void test_pieces_are_read(void)
{
	static struct pathprof_branch branches[1000];
	static struct oracle_program p;
	static struct blocks blocks;
	uint32_t calls = 0;

	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct seen seen = {.cnt = 0};
		struct world w;

		oracle_program_make(&p, 300, 3 + seed % 3, 700 + seed);
		open_world(&w, p.bytes, p.byte_cnt, PATHPROF_MAPPING_WPP);
		for (uint32_t i = 0; i < 1000; i++)
			oracle_program_step(&p, &branches[i]);
		pathprof_paths_of_burst(branches, 1000, w.mapping, see, &seen);
		for (size_t i = 0; i < seen.cnt; i++) {
			const struct pathprof_path_seen *piece = &seen.list[i];
			uint32_t kind = branches[piece->last].kind;
			bool crosses = kind == PERF_BR_CALL || kind == PERF_BR_IND_CALL ||
				       kind == PERF_BR_RET;

			blocks.cnt = 0;
			CU_ASSERT_EQUAL(pathprof_code_walk_piece(
						w.code, piece->start - BASE + ORACLE_FILE_OFFSET,
						piece->length, piece->outcomes, keep_block, &blocks,
						NULL),
					0);
			CU_ASSERT(ran_so(&blocks, &branches[piece->last] + 1,
					 piece->length + crosses));
			calls += kind == PERF_BR_CALL || kind == PERF_BR_IND_CALL;
		}
		CU_ASSERT(seen.cnt > 100);
		/* another outcome is no such piece, or another way */
		blocks.list[0].start = blocks.list[0].end;
		CU_ASSERT(
			!ran_so(&blocks, &branches[seen.list[seen.cnt - 1].last] + 1, blocks.cnt));
		close_world(&w);
	}
	CU_ASSERT(calls > 100);
}

/* Spoilt windows are refused for the same reason, and do no harm to those after them. */
static void test_refusals(void)
{
	static struct oracle_program p;
	struct pathprof_taken taken[32];
	uint32_t refused = 0;
	struct world w;

	oracle_program_make(&p, 300, 4, 7);
	open_world(&w, p.bytes, p.byte_cnt, PATHPROF_MAPPING_BL);
	for (uint32_t i = 0; i < 2000; i++) {
		run(&p, taken, 32);
		if (i % 2) {
			struct pathprof_taken *spoilt = &taken[i / 2 % 32];

			*spoilt = i % 3 ? (struct pathprof_taken){spoilt->from + 1, spoilt->to}
					: (struct pathprof_taken){spoilt->from, spoilt->to + 1};
			refused += go_slowly(&w, taken, 32, w.mapping, &slow) != 0;
		}
		check(&w, taken, 32);
	}
	CU_ASSERT(refused > 500);
	CU_ASSERT_EQUAL(pathprof_walk(w.walker, NULL, 0, NULL), PATHPROF_REFUSED_EMPTY);
	close_world(&w);
}

/* A stack of 32 forgets what lies deepest, and finds nothing there later. */
static void test_deep_recursion(void)
{
	/* f: je out; call f; out: ret */
	static const uint8_t bytes[] = {0x74, 0x05, 0xe8, 0xf9, 0xff, 0xff, 0xff, 0xc3};
	struct pathprof_taken taken[2 * 50 + 1];

	for (uint32_t depth = 1; depth <= 50; depth++)
		for (int mapping = 0; mapping < 2; mapping++) {
			struct world w;

			open_world(&w, bytes, sizeof(bytes), (enum pathprof_mapping)mapping);
			for (uint32_t i = 0; i < depth; i++) {
				taken[i] = (struct pathprof_taken){BASE + 2, BASE};
				taken[depth + 1 + i] = (struct pathprof_taken){BASE + 7, BASE + 7};
			}
			taken[depth] = (struct pathprof_taken){BASE, BASE + 7};
			for (int round = 0; round < 2; round++)
				CU_ASSERT(check(&w, taken, 2 * depth + 1) > 0);
			if (mapping == PATHPROF_MAPPING_BL)
				CU_ASSERT_EQUAL(slow.cnt, depth < 32 ? depth : 32);
			close_world(&w);
		}
}

/* On one way: backward branches, none taken, each of which ends a path and begins the next. */
static void test_many_ends(void)
{
	uint8_t bytes[2 * 90 + 2];
	struct pathprof_taken taken[30];

	for (int i = 0; i < 90; i++)
		memcpy(bytes + 2 * i, (const uint8_t[]){0x74, 0xfe}, 2); /* je to itself */
	memcpy(bytes + 180, (const uint8_t[]){0xff, 0xe0}, 2);
	for (int i = 0; i < 30; i++)
		taken[i] = (struct pathprof_taken){BASE + 180, BASE};
	for (int mapping = 0; mapping < 2; mapping++)
		for (uint32_t cnt = 1; cnt <= 30; cnt++) {
			struct world w;

			open_world(&w, bytes, sizeof(bytes), (enum pathprof_mapping)mapping);
			check(&w, taken, cnt);
			check(&w, taken, cnt);
			/* one branch of the first entry, 91 of each other; else it is too long */
			CU_ASSERT_EQUAL(slow.cnt, cnt <= 12 ? 91 * (cnt - 1) : 0);
			close_world(&w);
		}
}

/* Full: nothing is walked any more, until it is cleared. */
static void test_bound(void)
{
	static struct oracle_program p;
	static struct pathprof_walk_ends ends;
	struct pathprof_taken taken[32];
	uint32_t number, last = 0;
	struct world w;

	oracle_program_make(&p, 300, 4, 11);
	open_world(&w, p.bytes, p.byte_cnt, PATHPROF_MAPPING_BL);
	run(&p, taken, 32);
	check(&w, taken, 32);
	for (uint64_t i = 0; i < PP_WALK_BRANCHES_MAX; i++)
		if (pathprof_walker_branch(w.walker, &(struct pathprof_taken){i, i}, &number) == 0)
			last = number;
	CU_ASSERT_EQUAL(last, PP_WALK_BRANCHES_MAX);
	CU_ASSERT(pathprof_walker_is_full(w.walker));
	CU_ASSERT_EQUAL(pathprof_walker_branch(w.walker, &(struct pathprof_taken){1, 2}, &number),
			-ENOSPC);
	/* what is there already still has its number */
	CU_ASSERT_EQUAL(pathprof_walker_branch(w.walker, &taken[0], &number), 0);
	CU_ASSERT_EQUAL(pathprof_walk(w.walker, &number, 1, &ends), -ENOSPC);
	pathprof_walker_clear(w.walker);
	CU_ASSERT(!pathprof_walker_is_full(w.walker));
	/* a branch without a number, before anything was learnt and behind it */
	number = 0;
	CU_ASSERT_EQUAL(pathprof_walk(w.walker, &number, 1, &ends), -ENOSPC);
	check(&w, taken, 32);
	CU_ASSERT_EQUAL(pathprof_walk(w.walker, &number, 1, &ends), -ENOSPC);
	close_world(&w);
}

static uint64_t key_of(uint32_t i)
{
	return pp_step_key(i % 7, i % 3, i / 7, i << 1 & 0xffff);
}

/* Steps are found again however many there are, and none that is not there. */
static void test_steps(void)
{
	struct pp_steps steps;
	uint32_t index;

	CU_ASSERT_EQUAL_FATAL(pp_steps_init(&steps, 1), 0);
	for (uint32_t i = 0; i < PP_WALK_STEPS_MAX; i++) {
		const struct pp_step step = {.key = key_of(i), .next = i};

		CU_ASSERT_EQUAL(pp_steps_find(&steps, step.key), PP_TABLE_NONE);
		CU_ASSERT_EQUAL(pp_steps_add(&steps, &step, &index), 0);
		CU_ASSERT_EQUAL(index, i);
	}
	for (uint32_t i = 0; i < PP_WALK_STEPS_MAX; i += 97) {
		uint32_t at = pp_steps_find(&steps, key_of(i));

		CU_ASSERT_EQUAL(at, i);
		CU_ASSERT_EQUAL(steps.steps[at].next, i);
		CU_ASSERT_EQUAL(pp_steps_find(&steps, key_of(i) + 1), PP_TABLE_NONE);
	}
	CU_ASSERT_EQUAL(pp_steps_add(&steps, &(struct pp_step){.key = 1}, &index), -ENOSPC);
	pp_steps_release(&steps);
}

static const struct unit_test tests[] = {
	{"paths of windows are those gone through branch by branch", test_same_paths},
	{"spoilt windows are refused as they are elsewhere", test_refusals},
	{"recursion deeper than the path stack", test_deep_recursion},
	{"a way that ends many paths", test_many_ends},
	{"pieces are read from the code as they ran", test_pieces_are_read},
	{"full, and cleared", test_bound},
	{"steps are found again", test_steps},
};
UNIT_SUITE(walk, tests)
