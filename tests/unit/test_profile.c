// SPDX-License-Identifier: GPL-2.0-or-later
/* The profile's tables against plain arrays that are searched from the front. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/profile.h"

#define ADDS 1000000u
#define KEYS 400u

static uint64_t random_state;

static uint32_t random_below(uint32_t bound)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % bound);
}

/* ---------------------------------------------------------------- the oracle */

struct oracle {
	struct pathprof_path_count paths[KEYS];
	struct pathprof_edge_count edges[KEYS];
	struct pathprof_clock_count clocks[KEYS];
	uint64_t clock_samples;
	uint32_t path_cnt, edge_cnt, clock_cnt;
};

static int same_path_key(const struct pathprof_path_count *a, const struct pathprof_path_count *b)
{
	return a->process == b->process && a->binary == b->binary && a->start == b->start &&
	       a->length == b->length && a->outcomes == b->outcomes;
}

static int same_edge_key(const struct pathprof_edge_count *a, const struct pathprof_edge_count *b)
{
	return a->process == b->process && a->from_binary == b->from_binary &&
	       a->to_binary == b->to_binary && a->from == b->from && a->to == b->to;
}

static int same_clock_key(const struct pathprof_clock_count *a,
			  const struct pathprof_clock_count *b)
{
	return a->process == b->process && a->binary == b->binary && a->place == b->place;
}

static void oracle_add_path(struct oracle *o, const struct pathprof_path_count *add)
{
	uint32_t i = 0;

	while (i < o->path_cnt && !same_path_key(&o->paths[i], add))
		i++;
	if (i == o->path_cnt) {
		o->paths[o->path_cnt++] = *add;
		return;
	}
	o->paths[i].samples += add->samples;
	o->paths[i].weight += add->weight;
	o->paths[i].insns += add->insns;
}

static void oracle_add_edge(struct oracle *o, const struct pathprof_edge_count *add)
{
	uint32_t i = 0;

	while (i < o->edge_cnt && !same_edge_key(&o->edges[i], add))
		i++;
	if (i == o->edge_cnt) {
		o->edges[o->edge_cnt++] = *add;
		return;
	}
	o->edges[i].count += add->count;
	o->edges[i].mispredicted += add->mispredicted;
}

static void oracle_add_clock(struct oracle *o, const struct pathprof_clock_count *add)
{
	uint32_t i = 0;

	o->clock_samples += add->samples;
	while (i < o->clock_cnt && !same_clock_key(&o->clocks[i], add))
		i++;
	if (i == o->clock_cnt)
		o->clocks[o->clock_cnt++] = *add;
	else
		o->clocks[i].samples += add->samples;
}

static int clocks_agree(const struct pathprof_profile *p, const struct oracle *o)
{
	if (p->clock_cnt != o->clock_cnt || p->totals.clock_samples != o->clock_samples)
		return 0;
	for (uint32_t i = 0; i < p->clock_cnt; i++)
		if (!same_clock_key(&p->clocks[i], &o->clocks[i]) ||
		    p->clocks[i].samples != o->clocks[i].samples)
			return 0;
	return 1;
}

/* Entries come in the order of their first addition in both. */
static int agree(const struct pathprof_profile *p, const struct oracle *o)
{
	if (p->path_cnt != o->path_cnt || p->edge_cnt != o->edge_cnt)
		return 0;
	for (uint32_t i = 0; i < p->path_cnt; i++)
		if (!same_path_key(&p->paths[i], &o->paths[i]) ||
		    p->paths[i].samples != o->paths[i].samples ||
		    p->paths[i].weight != o->paths[i].weight ||
		    p->paths[i].insns != o->paths[i].insns)
			return 0;
	for (uint32_t i = 0; i < p->edge_cnt; i++)
		if (!same_edge_key(&p->edges[i], &o->edges[i]) ||
		    p->edges[i].count != o->edges[i].count ||
		    p->edges[i].mispredicted != o->edges[i].mispredicted)
			return 0;
	return clocks_agree(p, o);
}

/* ---------------------------------------------------------------- input */

static struct pathprof_build_id make_id(uint32_t n)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};

	memcpy(id.bytes, &n, sizeof(n));
	return id;
}

static void add_names(struct pathprof_profile *p, uint32_t binary_cnt, uint32_t process_cnt)
{
	char name[32];

	for (uint32_t i = 0; i < binary_cnt; i++) {
		const struct pathprof_build_id id = make_id(i);

		snprintf(name, sizeof(name), "/bin/b%u", i);
		CU_ASSERT_EQUAL(pathprof_profile_binary(p, &id, name), i);
	}
	for (uint32_t i = 0; i < process_cnt; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		const struct pathprof_process process = {
			.pid = i + 1, .start_time = 7, .comm = name, .binary = i % binary_cnt};

		CU_ASSERT_EQUAL(pathprof_profile_process(p, &process), i);
	}
}

/* Neighbouring keys, so that a key that forgets a field meets another one. */
static void make_keys(struct pathprof_path_count *paths, struct pathprof_edge_count *edges,
		      struct pathprof_clock_count *clocks)
{
	for (uint32_t i = 0; i < KEYS; i++) {
		paths[i] = (struct pathprof_path_count){
			.process = i & 1,
			.binary = i >> 1 & 1,
			.start = 0x1000 + (i >> 2 & 1),
			.length = 1 + (i >> 3 & 1),
			.outcomes = i >> 4,
		};
		edges[i] = (struct pathprof_edge_count){
			.process = i & 1,
			.from_binary = i >> 1 & 1,
			.to_binary = i >> 2 & 1,
			.from = i >> 3 & 1,
			.to = i >> 4,
		};
		clocks[i] = (struct pathprof_clock_count){
			.process = i & 1,
			.binary = i & 2 ? i >> 2 & 1 : PATHPROF_NO_INDEX,
			.place = i & 2   ? 9 * i
				 : i & 4 ? PATHPROF_PLACE_KERNEL
					 : PATHPROF_PLACE_UNKNOWN,
		};
	}
}

static void add_random(struct pathprof_profile *p, struct oracle *o, uint32_t cnt)
{
	static struct pathprof_path_count paths[KEYS];
	static struct pathprof_edge_count edges[KEYS];
	static struct pathprof_clock_count clocks[KEYS];

	make_keys(paths, edges, clocks);
	for (uint32_t i = 0; i < cnt; i++) {
		struct pathprof_path_count path = paths[random_below(1 + random_below(KEYS))];
		struct pathprof_edge_count edge = edges[random_below(1 + random_below(KEYS))];
		struct pathprof_clock_count clock = clocks[random_below(1 + random_below(KEYS))];

		path.samples = 1 + random_below(5);
		path.weight = random_below(1000) / 8.0;
		path.insns = (1 + random_below(1000)) / 8.0;
		clock.samples = 1 + random_below(2);
		edge.count = random_below(5);
		edge.mispredicted = random_below(3);
		pathprof_profile_add_path(p, &path);
		pathprof_profile_add_edge(p, &edge);
		oracle_add_path(o, &path);
		oracle_add_edge(o, &edge);
		pathprof_profile_add_clock(p, &clock);
		oracle_add_clock(o, &clock);
	}
}

/* ---------------------------------------------------------------- tests */

static void test_random_adds(void)
{
	static struct oracle o;
	struct pathprof_profile p;

	random_state = 1;
	o = (struct oracle){0};
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	add_names(&p, 2, 2);
	add_random(&p, &o, ADDS);
	CU_ASSERT_EQUAL(p.path_cnt, KEYS);
	CU_ASSERT(agree(&p, &o));
	CU_ASSERT_EQUAL(p.totals.drops[PATHPROF_DROP_TABLE_FULL], 0);
	pathprof_profile_release(&p);
}

static void test_planted_fault(void)
{
	static struct oracle o;
	struct pathprof_profile p;

	random_state = 2;
	o = (struct oracle){0};
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	add_names(&p, 2, 2);
	add_random(&p, &o, 10000);
	CU_ASSERT_FATAL(agree(&p, &o));
	p.paths[17].outcomes ^= 1;
	CU_ASSERT(!agree(&p, &o));
	p.paths[17].outcomes ^= 1;
	p.edges[3].mispredicted++;
	CU_ASSERT(!agree(&p, &o));
	p.edges[3].mispredicted--;
	p.clocks[5].binary ^= 1;
	CU_ASSERT(!agree(&p, &o));
	pathprof_profile_release(&p);
}

/* How often each burst saw each of a few paths, squared and added up burst by burst. */
static void test_squares(void)
{
	enum { PATHS = 5, BURSTS = 400 };
	uint64_t squares[PATHS] = {0}, samples[PATHS] = {0};
	struct pathprof_profile p;

	random_state = 3;
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	add_names(&p, 1, 1);
	for (uint32_t path = 0; path < PATHS; path++)
		pathprof_profile_add_path(&p, &(struct pathprof_path_count){.start = path});
	for (uint64_t burst = 1; burst <= BURSTS; burst++) {
		uint64_t seen[PATHS] = {0};

		for (uint32_t i = random_below(40); i; i--) {
			uint32_t path = random_below(1 + random_below(PATHS));

			seen[path]++;
			pathprof_profile_add_path(
				&p, &(struct pathprof_path_count){
					    .start = path, .samples = 1, .burst = burst});
		}
		for (uint32_t path = 0; path < PATHS; path++) {
			squares[path] += seen[path] * seen[path];
			samples[path] += seen[path];
		}
	}
	for (uint32_t path = 0; path < PATHS; path++) {
		CU_ASSERT_EQUAL(p.paths[path].squares, squares[path]);
		CU_ASSERT_EQUAL(p.paths[path].samples, samples[path]);
	}
	pathprof_profile_release(&p);
}

/* One addition that does not know makes the sum unknown, whatever comes before or after. */
static void test_squares_unknown(void)
{
	struct pathprof_path_count path = {.samples = 3, .burst = 1};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	add_names(&p, 1, 1);
	pathprof_profile_add_path(&p, &path);
	CU_ASSERT_EQUAL(p.paths[0].squares, 9);
	path.burst = 0;
	pathprof_profile_add_path(&p, &path);
	CU_ASSERT_EQUAL(p.paths[0].squares, 0);
	path.burst = 2;
	pathprof_profile_add_path(&p, &path);
	CU_ASSERT_EQUAL(p.paths[0].squares, 0);
	path = (struct pathprof_path_count){.start = 1, .samples = 3, .squares = 5};
	pathprof_profile_add_path(&p, &path);
	pathprof_profile_add_path(&p, &path);
	CU_ASSERT_EQUAL(p.paths[1].squares, 10);
	path = (struct pathprof_path_count){.start = 1, .samples = UINT64_MAX, .burst = 3};
	pathprof_profile_add_path(&p, &path);
	CU_ASSERT_EQUAL(p.paths[1].squares, UINT64_MAX);
	pathprof_profile_release(&p);
}

static void test_insns_unknown(void)
{
	struct pathprof_path_count path = {.samples = 2, .insns = 30};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	add_names(&p, 1, 1);
	pathprof_profile_add_path(&p, &path);
	pathprof_profile_add_path(&p, &path);
	CU_ASSERT_EQUAL(p.paths[0].insns, 60);
	pathprof_profile_add_path(&p, &(struct pathprof_path_count){.insns = 0});
	CU_ASSERT_EQUAL(p.paths[0].insns, 60);
	path.insns = 0;
	pathprof_profile_add_path(&p, &path);
	CU_ASSERT_EQUAL(p.paths[0].insns, 0);
	path.insns = 30;
	pathprof_profile_add_path(&p, &path);
	CU_ASSERT_EQUAL(p.paths[0].insns, 0);
	pathprof_profile_release(&p);
}

/* Room for some places only; those that are in go on being counted. */
static void test_clock_bound(void)
{
	struct pathprof_clock_count clock = {.samples = 1};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 50000), 0);
	add_names(&p, 1, 1);
	for (uint32_t i = 0; i < 20000; i++) {
		clock.place = i;
		pathprof_profile_add_clock(&p, &clock);
	}
	CU_ASSERT(p.clock_cnt > 500 && p.clock_cnt < 20000);
	CU_ASSERT_EQUAL(p.clock_cnt + p.totals.drops[PATHPROF_DROP_TABLE_FULL], 20000);
	CU_ASSERT_EQUAL(p.totals.clock_samples, p.clock_cnt);
	clock.place = 1;
	pathprof_profile_add_clock(&p, &clock);
	CU_ASSERT_EQUAL(p.clocks[0].samples, 1);
	CU_ASSERT_EQUAL(p.clocks[1].samples, 2);
	pathprof_profile_release(&p);
}

/* Every entry is found again after the tables have grown many times. */
static void test_many_entries(void)
{
	struct pathprof_path_count path = {.length = 3, .samples = 1, .weight = 1};
	struct pathprof_profile p;
	uint32_t wrong = 0;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 64 << 20), 0);
	add_names(&p, 1, 1);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 300000; i++) {
			path.start = (uint64_t)i * 4096;
			pathprof_profile_add_path(&p, &path);
		}
	CU_ASSERT_EQUAL_FATAL(p.path_cnt, 300000);
	for (uint32_t i = 0; i < 300000; i++)
		wrong += p.paths[i].start != (uint64_t)i * 4096 || p.paths[i].samples != 2;
	CU_ASSERT_EQUAL(wrong, 0);
	pathprof_profile_release(&p);
}

static void test_bound(void)
{
	struct pathprof_path_count path = {.length = 3, .samples = 1, .weight = 1};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 100000), 0);
	add_names(&p, 1, 1);
	for (uint32_t i = 0; i < 50000; i++) {
		path.start = i;
		pathprof_profile_add_path(&p, &path);
	}
	CU_ASSERT(p.path_cnt * sizeof(*p.paths) <= 100000);
	CU_ASSERT(p.path_cnt * sizeof(*p.paths) > 40000);
	CU_ASSERT_EQUAL(p.path_cnt + p.totals.drops[PATHPROF_DROP_TABLE_FULL], 50000);
	/* Paths in the table are still counted when no new one fits. */
	path.start = 0;
	pathprof_profile_add_path(&p, &path);
	CU_ASSERT_EQUAL(p.paths[0].samples, 2);
	pathprof_profile_release(&p);
}

static void test_no_memory_at_all(void)
{
	const struct pathprof_build_id id = make_id(1);
	const struct pathprof_process process = {.pid = 1, .binary = PATHPROF_NO_INDEX};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 0), 0);
	CU_ASSERT_EQUAL(pathprof_profile_binary(&p, &id, "a"), PATHPROF_NO_INDEX);
	CU_ASSERT_EQUAL(pathprof_profile_process(&p, &process), PATHPROF_NO_INDEX);
	pathprof_profile_add_path(&p, &(struct pathprof_path_count){
					      .process = PATHPROF_NO_INDEX,
					      .binary = PATHPROF_NO_INDEX,
				      });
	CU_ASSERT_EQUAL(p.totals.drops[PATHPROF_DROP_TABLE_FULL], 2);
	CU_ASSERT_EQUAL(p.totals.drops[PATHPROF_DROP_MALFORMED], 0);
	pathprof_profile_release(&p);
}

static void test_long_names_count(void)
{
	struct pathprof_profile p;
	char name[3000];
	uint32_t stored = 0;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 50000), 0);
	for (uint32_t i = 0; i < 100; i++) {
		const struct pathprof_build_id id = make_id(i);

		stored += pathprof_profile_binary(&p, &id, name) != PATHPROF_NO_INDEX;
	}
	CU_ASSERT(stored > 5 && stored <= 16);
	CU_ASSERT_EQUAL(p.totals.drops[PATHPROF_DROP_TABLE_FULL], 100 - stored);
	pathprof_profile_clear(&p);
	const struct pathprof_build_id id = make_id(1);
	CU_ASSERT_EQUAL(pathprof_profile_binary(&p, &id, name), 0);
	pathprof_profile_release(&p);
}

static void test_clear(void)
{
	static struct oracle o;
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	for (uint32_t round = 0; round < 3; round++) {
		random_state = 10 + round;
		o = (struct oracle){0};
		add_names(&p, 2, 2);
		add_random(&p, &o, 5000);
		CU_ASSERT(agree(&p, &o));
		p.totals.bursts = 5;
		p.end_ns = 1;
		const void *kept = p.paths;
		pathprof_profile_clear(&p);
		CU_ASSERT_PTR_EQUAL(p.paths, kept);
		CU_ASSERT_EQUAL(
			p.binary_cnt + p.process_cnt + p.path_cnt + p.edge_cnt + p.clock_cnt, 0);
		CU_ASSERT_EQUAL(p.totals.bursts + (uint64_t)p.end_ns, 0);
	}
	pathprof_profile_release(&p);
}

static uint32_t fill_clocks(struct pathprof_profile *p)
{
	struct pathprof_clock_count clock = {.samples = 1};

	add_names(p, 1, 1);
	for (uint32_t i = 0; i < 50000; i++) {
		clock.place = i;
		pathprof_profile_add_clock(p, &clock);
	}
	return p->clock_cnt;
}

/* A window that is full of paths leaves the next one as much memory for places as it had. */
static void test_clear_when_full(void)
{
	struct pathprof_path_count path = {.length = 3, .samples = 1, .weight = 1};
	struct pathprof_profile p;
	uint32_t before;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	before = fill_clocks(&p);
	pathprof_profile_clear(&p);
	add_names(&p, 1, 1);
	for (uint32_t i = 0; i < 50000; i++) {
		path.start = i;
		pathprof_profile_add_path(&p, &path);
	}
	CU_ASSERT(p.totals.drops[PATHPROF_DROP_TABLE_FULL] > 0);
	pathprof_profile_clear(&p);
	CU_ASSERT_EQUAL(fill_clocks(&p), before);
	pathprof_profile_release(&p);
}

static void test_identity_of_binaries(void)
{
	struct pathprof_build_id a = make_id(1), b = make_id(1);
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	b.kind = PATHPROF_ID_JIT;
	CU_ASSERT_EQUAL(pathprof_profile_binary(&p, &a, ""), 0);
	CU_ASSERT_EQUAL(pathprof_profile_binary(&p, &b, "jit:1"), 1);
	b.kind = PATHPROF_ID_BUILD_ID;
	b.len_bytes = 8;
	CU_ASSERT_EQUAL(pathprof_profile_binary(&p, &b, NULL), 2);
	/* The first name that says something stays. */
	CU_ASSERT_EQUAL(pathprof_profile_binary(&p, &a, "/first"), 0);
	CU_ASSERT_EQUAL(pathprof_profile_binary(&p, &a, "/second"), 0);
	CU_ASSERT_STRING_EQUAL(p.binaries[0].name, "/first");
	CU_ASSERT_STRING_EQUAL(p.binaries[2].name, "");
	b.len_bytes = PATHPROF_BUILD_ID_MAX + 1;
	CU_ASSERT_EQUAL(pathprof_profile_binary(&p, &b, "x"), PATHPROF_NO_INDEX);
	CU_ASSERT_EQUAL(p.totals.drops[PATHPROF_DROP_MALFORMED], 1);
	pathprof_profile_release(&p);
}

static void test_identity_of_processes(void)
{
	char old_name[] = "old", new_name[] = "new";
	struct pathprof_process process = {
		.pid = 1, .start_time = 2, .comm = old_name, .binary = PATHPROF_NO_INDEX};
	const struct pathprof_build_id id = make_id(1);
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	pathprof_profile_binary(&p, &id, "/bin/a");
	CU_ASSERT_EQUAL(pathprof_profile_process(&p, &process), 0);
	process.comm = new_name;
	process.binary = 0;
	CU_ASSERT_EQUAL(pathprof_profile_process(&p, &process), 0);
	CU_ASSERT_STRING_EQUAL(p.processes[0].comm, "new");
	CU_ASSERT_STRING_EQUAL(p.processes[0].container, "");
	CU_ASSERT_EQUAL(p.processes[0].binary, 0);
	new_name[0] = 'X';
	CU_ASSERT_STRING_EQUAL(p.processes[0].comm, "new");
	process.exec_cnt++;
	CU_ASSERT_EQUAL(pathprof_profile_process(&p, &process), 1);
	process.start_time++;
	CU_ASSERT_EQUAL(pathprof_profile_process(&p, &process), 2);
	process.pid++;
	CU_ASSERT_EQUAL(pathprof_profile_process(&p, &process), 3);
	process.binary = 1;
	CU_ASSERT_EQUAL(pathprof_profile_process(&p, &process), PATHPROF_NO_INDEX);
	pathprof_profile_release(&p);
}

static void test_malformed_counts(void)
{
	const struct pathprof_path_count bad_paths[] = {
		{.process = 1}, {.binary = 2},   {.length = 33},
		{.weight = -1}, {.weight = NAN}, {.weight = INFINITY},
		{.insns = -1},  {.insns = NAN},  {.insns = INFINITY},
	};
	const struct pathprof_clock_count bad_clocks[] = {
		{.process = 1},
		{.binary = 2},
		{.binary = PATHPROF_NO_INDEX, .place = 2 * PATHPROF_PLACE_KERNEL},
	};
	const struct pathprof_edge_count bad_edges[] = {
		{.process = 1}, {.from_binary = 2}, {.to_binary = 2}};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	add_names(&p, 2, 1);
	for (size_t i = 0; i < sizeof(bad_paths) / sizeof(bad_paths[0]); i++)
		pathprof_profile_add_path(&p, &bad_paths[i]);
	for (size_t i = 0; i < sizeof(bad_edges) / sizeof(bad_edges[0]); i++)
		pathprof_profile_add_edge(&p, &bad_edges[i]);
	for (size_t i = 0; i < sizeof(bad_clocks) / sizeof(bad_clocks[0]); i++)
		pathprof_profile_add_clock(&p, &bad_clocks[i]);
	CU_ASSERT_EQUAL(p.totals.drops[PATHPROF_DROP_MALFORMED], 15);
	CU_ASSERT_EQUAL(p.path_cnt + p.edge_cnt + p.clock_cnt, 0);
	CU_ASSERT_EQUAL(p.totals.clock_samples, 0);
	pathprof_profile_release(&p);
}

static void test_counts_saturate(void)
{
	const struct pathprof_path_count path = {.samples = UINT64_MAX - 1};
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	add_names(&p, 1, 1);
	pathprof_profile_add_path(&p, &path);
	pathprof_profile_add_path(&p, &path);
	CU_ASSERT_EQUAL(p.paths[0].samples, UINT64_MAX);
	pathprof_profile_release(&p);
}

static void test_names_of_reasons(void)
{
	for (int i = 0; i < PATHPROF_DROP_CNT; i++)
		for (int j = 0; j <= i; j++)
			CU_ASSERT_EQUAL(!strcmp(pathprof_drop_name((enum pathprof_drop)i),
						pathprof_drop_name((enum pathprof_drop)j)),
					i == j);
	for (uint32_t i = 0; i < PATHPROF_END_CNT; i++)
		for (uint32_t j = 0; j <= i; j++)
			CU_ASSERT_EQUAL(!strcmp(pathprof_end_name(i), pathprof_end_name(j)),
					i == j);
	CU_ASSERT_PTR_NULL(pathprof_drop_name(PATHPROF_DROP_CNT));
	CU_ASSERT_PTR_NULL(pathprof_end_name(PATHPROF_END_CNT));
	CU_ASSERT_STRING_EQUAL(pathprof_drop_name(PATHPROF_DROP_TABLE_FULL), "table-full");
	CU_ASSERT_STRING_EQUAL(pathprof_end_name(PATHPROF_END_SYSCALL), "syscall");
	CU_ASSERT_STRING_EQUAL(pathprof_basis_name(PATHPROF_BASIS_TIME), "time");
	CU_ASSERT_STRING_EQUAL(pathprof_source_name(PATHPROF_SOURCE_STEP), "step");
	CU_ASSERT_PTR_NULL(pathprof_source_name(0));
}

static void test_release_twice(void)
{
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	add_names(&p, 2, 2);
	pathprof_profile_release(&p);
	pathprof_profile_release(&p);
	CU_ASSERT_PTR_NULL(p.paths);
}

static const struct unit_test tests[] = {
	{"a million random adds equal a linear search", test_random_adds},
	{"a planted fault is seen", test_planted_fault},
	{"squares add up burst by burst", test_squares},
	{"squares unknown once stay so", test_squares_unknown},
	{"instructions unknown once stay so", test_insns_unknown},
	{"places of the clock are bounded, and drops are counted", test_clock_bound},
	{"300,000 entries are all found again", test_many_entries},
	{"the memory bound holds, and drops are counted", test_bound},
	{"without memory everything is dropped and counted", test_no_memory_at_all},
	{"names count against the bound, clear gives them back", test_long_names_count},
	{"clear empties and keeps the memory", test_clear},
	{"clear after a full window gives the memory back", test_clear_when_full},
	{"binaries differ by bytes, length and kind", test_identity_of_binaries},
	{"processes differ by pid, start and exec count", test_identity_of_processes},
	{"malformed counts are dropped", test_malformed_counts},
	{"counts saturate", test_counts_saturate},
	{"every reason has its own name", test_names_of_reasons},
	{"release works twice", test_release_twice},
};
UNIT_SUITE(profile, tests)
