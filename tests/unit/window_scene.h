/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A window over the fake tracker, where what it hands out goes, and beside it a naive window: lists
 * searched from the start.
 */
#ifndef WINDOW_SCENE_H
#define WINDOW_SCENE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/window/window.h"
#include "unit.h"
#include "window_fake.h"

#define LIST_MAX 20000
#define TAKEN    32

struct entry {
	pid_t pid;
	struct pathprof_build_id from_id, to_id;
	uint64_t from, to; /* a path: its start, and length << 32 | outcomes */
	uint64_t cnt;
	double weight, insns;
};

struct naive {
	struct entry *paths, *edges;
	size_t path_cnt, edge_cnt;
	uint64_t unresolved;
	pid_t pid; /* of the burst being added */
	uint64_t pathless;
};

static inline bool same(const struct entry *a, const struct entry *b)
{
	return a->pid == b->pid && a->from == b->from && a->to == b->to &&
	       pathprof_build_id_equal(&a->from_id, &b->from_id) &&
	       pathprof_build_id_equal(&a->to_id, &b->to_id);
}

static inline void add(struct entry *list, size_t *cnt, const struct entry *e)
{
	size_t i = 0;

	while (i < *cnt && !same(&list[i], e))
		i++;
	if (i == *cnt) {
		if (*cnt == LIST_MAX)
			abort();
		list[(*cnt)++] = *e;
		return;
	}
	list[i].cnt += e->cnt;
	list[i].weight += e->weight;
	list[i].insns += e->insns;
}

static inline void naive_path(void *context, const struct pathprof_path_seen *path)
{
	struct naive *naive = context;
	struct pp_location where;
	struct entry e = {.pid = naive->pid,
			  .cnt = 1,
			  .weight = path->weight,
			  .insns = path->weight * path->insns};

	if (locate(naive->pid, path->start, &where) < 0) {
		naive->unresolved++;
		return;
	}
	e.from_id = where.id;
	e.from = where.offset;
	e.to = (uint64_t)path->length << 32 | path->outcomes;
	add(naive->paths, &naive->path_cnt, &e);
}

static inline void naive_edge(struct naive *naive, const struct pathprof_branch *branch)
{
	struct pp_location from, to;
	struct entry e = {.pid = naive->pid, .cnt = 1};

	if (locate(naive->pid, branch->from, &from) < 0 ||
	    locate(naive->pid, branch->next, &to) < 0) {
		naive->unresolved++;
		return;
	}
	e.from_id = from.id;
	e.from = from.offset;
	e.to_id = to.id;
	e.to = to.offset;
	add(naive->edges, &naive->edge_cnt, &e);
}

static inline void naive_burst(struct naive *naive, const struct pathprof_burst *burst,
			       const struct pathprof_branch *branches)
{
	naive->pid = (pid_t)burst->pid;
	naive->pathless += !pathprof_paths_of_window(branches, burst->branch_cnt, burst->horizon,
						     PATHPROF_MAPPING_BL, naive_path, naive);
	for (uint32_t i = 0; i < burst->branch_cnt; i++)
		if (branches[i].taken)
			naive_edge(naive, &branches[i]);
}

/* All that the sink was given, as lists. */
struct sunk {
	struct naive seen;
	struct pathprof_totals totals;
	unsigned int windows, symbols;
	int answer;
};

static inline void copy_out(struct naive *to, const struct pathprof_profile *p)
{
	for (uint32_t i = 0; i < p->path_cnt; i++) {
		const struct pathprof_path_count *path = &p->paths[i];
		struct entry e = {
			.pid = (pid_t)p->processes[path->process].pid,
			.from_id = p->binaries[path->binary].id,
			.from = path->start,
			.to = (uint64_t)path->length << 32 | path->outcomes,
			.cnt = path->samples,
			.weight = path->weight,
			.insns = path->insns,
		};

		add(to->paths, &to->path_cnt, &e);
	}
	for (uint32_t i = 0; i < p->edge_cnt; i++) {
		const struct pathprof_edge_count *edge = &p->edges[i];
		struct entry e = {
			.pid = (pid_t)p->processes[edge->process].pid,
			.from_id = p->binaries[edge->from_binary].id,
			.to_id = p->binaries[edge->to_binary].id,
			.from = edge->from,
			.to = edge->to,
			.cnt = edge->count,
		};

		add(to->edges, &to->edge_cnt, &e);
	}
}

static inline int sink_window(void *context, const struct pathprof_profile *profile,
			      struct pathprof_error *error)
{
	struct sunk *sunk = context;

	CU_ASSERT(profile->end_ns >= profile->begin_ns);
	CU_ASSERT_EQUAL(profile->basis, PATHPROF_BASIS_TIME);
	sunk->windows++;
	sunk->totals = profile->totals;
	copy_out(&sunk->seen, profile);
	return sunk->answer ? pathprof_fail(error, sunk->answer, "no") : 0;
}

static inline int sink_symbols(void *context, const struct pathprof_jit_symbol *symbols, size_t cnt,
			       struct pathprof_error *error)
{
	struct sunk *sunk = context;
	char want[32];

	for (size_t i = 0; i < cnt; i++) {
		snprintf(want, sizeof(want), "f_%llx", (unsigned long long)symbols[i].start);
		CU_ASSERT_STRING_EQUAL(symbols[i].name, want);
		CU_ASSERT_EQUAL(symbols[i].id->kind, PATHPROF_ID_JIT);
	}
	sunk->symbols += cnt;
	return 0;
}

struct scene {
	struct fake fake;
	struct naive naive;
	struct sunk sunk;
	struct pp_window *window;
	struct pp_window_sink sink;
};

static inline void lists_init(struct naive *naive)
{
	naive->paths = calloc(LIST_MAX, sizeof(*naive->paths));
	naive->edges = calloc(LIST_MAX, sizeof(*naive->edges));
	if (!naive->paths || !naive->edges)
		abort();
}

static inline void lists_release(struct naive *naive)
{
	free(naive->paths);
	free(naive->edges);
}

static inline void scene_init_beside(struct scene *scene, size_t memory, pid_t own_pid)
{
	const struct pp_resolver resolver = {&scene->fake, fake_dispatch, fake_process,
					     fake_resolve, fake_jit,      NULL};
	const struct pp_window_config config = {
		.mapping = PATHPROF_MAPPING_BL,
		.source = PATHPROF_SOURCE_STEP,
		.basis = PATHPROF_BASIS_TIME,
		.taken_wanted = TAKEN,
		.memory_max_bytes = memory,
		.own_pid = own_pid,
	};

	memset(scene, 0, sizeof(*scene));
	lists_init(&scene->naive);
	lists_init(&scene->sunk.seen);
	scene->sink = (struct pp_window_sink){&scene->sunk, sink_window, sink_symbols};
	CU_ASSERT_EQUAL_FATAL(pp_window_new(&scene->window, &config, &resolver), 0);
}

static inline void scene_init(struct scene *scene, size_t memory)
{
	scene_init_beside(scene, memory, 0);
}

static inline void scene_release(struct scene *scene)
{
	pp_window_free(scene->window);
	lists_release(&scene->naive);
	lists_release(&scene->sunk.seen);
}

/* Few addresses, so that entries repeat; some in the hole. */
static inline uint64_t random_address(unsigned int *seed)
{
	uint64_t slot = (uint64_t)rand_r(seed) % (2 * MAPS);

	if (slot % 2 && rand_r(seed) % 8)
		slot--;
	return BASE + slot * SPAN + (uint64_t)(rand_r(seed) % 4) * 0x130;
}

static inline void random_burst(unsigned int *seed, struct pathprof_burst *ret_burst,
				struct pathprof_branch *ret_branches)
{
	static const uint32_t kinds[] = {PERF_BR_COND, PERF_BR_COND, PERF_BR_UNCOND,
					 PERF_BR_CALL, PERF_BR_RET,  PERF_BR_IND};
	uint32_t cnt = (uint32_t)rand_r(seed) % 60, taken = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		struct pathprof_branch *b = &ret_branches[i];

		b->kind = kinds[rand_r(seed) % 6];
		b->taken = b->kind != PERF_BR_COND || rand_r(seed) % 2;
		b->from = random_address(seed);
		b->target = random_address(seed);
		b->next = b->taken ? b->target : b->from + 2;
		b->insns = 0;
		taken += b->taken;
	}
	*ret_burst = (struct pathprof_burst){
		.size_bytes = (uint32_t)(sizeof(*ret_burst) + cnt * sizeof(*ret_branches)),
		.version = PATHPROF_ABI_VERSION,
		.source = PATHPROF_SOURCE_STEP,
		.pid = 1 + (uint32_t)rand_r(seed) % PIDS,
		.branch_cnt = cnt,
		.taken_cnt = taken,
		.step_cnt = 3 * cnt,
		.end = (uint32_t)rand_r(seed) % PATHPROF_END_CNT,
	};
	ret_burst->start_time = START_OF(ret_burst->pid);
}

static inline void feed(struct scene *scene, unsigned int *seed, int bursts)
{
	struct pathprof_branch branches[64];
	struct pathprof_burst burst;

	for (int i = 0; i < bursts; i++) {
		random_burst(seed, &burst, branches);
		pp_window_add_burst(scene->window, &burst, branches);
		naive_burst(&scene->naive, &burst, branches);
	}
}

#endif
