// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of ways read before, against a plain list that is searched from end to end. */
#include "../../libprofile/src/path/pp_runs.h"
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_program.h"

#define LIST_MAX 3000

struct list {
	struct pp_run runs[LIST_MAX];
	uint32_t cnt;
};

static uint32_t list_find(const struct list *list, uint64_t start, uint64_t from)
{
	for (uint32_t i = 0; i < list->cnt; i++)
		if (list->runs[i].start == start && list->runs[i].from == from)
			return i;
	return UINT32_MAX;
}

/* Branches that tell whose they are. */
static void fill(struct pathprof_branch *branches, const struct pp_run *run)
{
	memset(branches, 0, run->cnt * sizeof(branches[0]));
	for (uint32_t i = 0; i < run->cnt; i++) {
		branches[i].from = run->start + i;
		branches[i].next = run->from;
	}
}

static bool is_sound(const struct pp_runs *runs, uint32_t index, const struct pp_run *want)
{
	struct pathprof_branch branches[8];
	const struct pp_run *run;

	if (index >= runs->run_cnt)
		return false;
	run = &runs->runs[index];
	fill(branches, want);
	return run->start == want->start && run->from == want->from && run->cnt == want->cnt &&
	       run->kind == want->kind && run->first + run->cnt <= runs->branch_cnt &&
	       !memcmp(runs->branches + run->first, branches, run->cnt * sizeof(branches[0]));
}

/* Few addresses, so that many keys share one half. */
static struct pp_run draw_run(uint64_t *random)
{
	struct pp_run run = {.start = oracle_draw(random, 60) * 4096ull};

	run.from = run.start + oracle_draw(random, 60);
	run.cnt = oracle_draw(random, 8);
	run.kind = 1 + oracle_draw(random, 6);
	return run;
}

/* How many of so many look-ups the table and the list answered alike, adding what is not there. */
static uint32_t count_alike(struct pp_runs *runs, struct list *list, uint32_t draws)
{
	uint64_t random = 88172645463325252ull;
	struct pathprof_branch branches[8];
	uint32_t alike = 0;

	for (uint32_t i = 0; i < draws; i++) {
		struct pp_run run = draw_run(&random);
		uint32_t known = list_find(list, run.start, run.from);
		uint32_t found = pp_runs_find(runs, run.start, run.from);

		if (known != UINT32_MAX) {
			alike += is_sound(runs, found, &list->runs[known]);
			continue;
		}
		alike += found == UINT32_MAX;
		fill(branches, &run);
		if (list->cnt < LIST_MAX && pp_runs_add(runs, run, branches) == 0)
			list->runs[list->cnt++] = run;
	}
	return alike;
}

static void test_finds_what_was_added(void)
{
	static struct list list;
	struct pp_runs runs;

	for (uint64_t seed = 0; seed < 3; seed++) {
		list.cnt = 0;
		CU_ASSERT_EQUAL_FATAL(pp_runs_init(&runs, seed), 0);
		CU_ASSERT_EQUAL(count_alike(&runs, &list, 20000), 20000);
		CU_ASSERT(list.cnt > PP_RUNS_MIN); /* it has grown */
		pp_runs_clear(&runs);
		CU_ASSERT_EQUAL(pp_runs_find(&runs, list.runs[0].start, list.runs[0].from),
				UINT32_MAX);
		pp_runs_release(&runs);
	}
}

/* The check has teeth: one key changed in the table's memory, and the answers differ. */
static void test_damage_is_seen(void)
{
	static struct list list;
	struct pp_runs runs;

	list.cnt = 0;
	CU_ASSERT_EQUAL_FATAL(pp_runs_init(&runs, 1), 0);
	CU_ASSERT_EQUAL(count_alike(&runs, &list, 20000), 20000);
	runs.runs[0].from ^= 1ull << 40;
	CU_ASSERT(count_alike(&runs, &list, 20000) < 20000);
	pp_runs_release(&runs);
}

/* Adds until it is full; then it can be used again, and holds as much as before. */
static void test_bounds(void)
{
	static const uint32_t cnts[] = {0, 1, 3, PATHPROF_BURST_MAX};
	static struct pathprof_branch branches[PATHPROF_BURST_MAX];
	struct pp_runs runs;

	CU_ASSERT_EQUAL_FATAL(pp_runs_init(&runs, 1), 0);
	for (size_t i = 0; i < sizeof(cnts) / sizeof(cnts[0]); i++) {
		struct pp_run run = {.cnt = cnts[i]};
		uint32_t most = PP_RUNS_MAX;

		if (run.cnt && PP_RUN_BRANCHES_MAX / run.cnt < most)
			most = PP_RUN_BRANCHES_MAX / run.cnt;
		while (pp_runs_add(&runs, run, branches) == 0)
			run.start++;
		CU_ASSERT_EQUAL(run.start, most);
		CU_ASSERT(runs.run_room <= PP_RUNS_MAX);
		CU_ASSERT(runs.branch_room <= PP_RUN_BRANCHES_MAX);
		CU_ASSERT_EQUAL(pp_runs_find(&runs, most - 1, 0), most - 1);
		CU_ASSERT_EQUAL(pp_runs_add(&runs, run, branches), -ENOSPC);
		pp_runs_clear(&runs);
	}
	pp_runs_release(&runs);
}

static const struct unit_test tests[] = {
	{"finds what was added, and nothing else", test_finds_what_was_added},
	{"a damaged key is seen", test_damage_is_seen},
	{"bounded, and as good as new when emptied", test_bounds},
};
UNIT_SUITE(runs, tests)
