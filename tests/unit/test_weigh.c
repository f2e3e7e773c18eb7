// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bursts weighed by the clock: scenes whose true proportions are known, the arithmetic done by
 * hand.
 */
#include <math.h>

#include "../../daemon/window/weigh.h"
#include "unit.h"

#define HZ      100
#define USEC    10000.0 /* a clock sample */
#define HORIZON 1024
#define SLICE   UINT64_C(2000000000)

struct scene {
	struct pathprof_profile profile;
	struct pp_weigh *weigh;
	uint32_t binaries[4], processes[4];
	uint64_t burst, now_ns;
};

static uint32_t add_program(struct scene *scene, uint32_t i)
{
	struct pathprof_build_id id = {.kind = PATHPROF_ID_BUILD_ID, .len_bytes = 1};
	struct pathprof_process process = {
		.pid = 100 + i, .comm = (char *)"program", .container = (char *)""};

	id.bytes[0] = (uint8_t)(i + 1);
	scene->binaries[i] = pathprof_profile_binary(&scene->profile, &id, "program");
	process.binary = scene->binaries[i];
	return pathprof_profile_process(&scene->profile, &process);
}

static void scene_init(struct scene *scene)
{
	*scene = (struct scene){.now_ns = SLICE};
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&scene->profile, 1 << 20), 0);
	CU_ASSERT_EQUAL_FATAL(pp_weigh_new(&scene->weigh, &scene->profile), 0);
	scene->profile.clock_hz = HZ;
	for (uint32_t i = 0; i < 4; i++)
		scene->processes[i] = add_program(scene, i);
	pp_weigh_begin(scene->weigh);
}

static void scene_release(struct scene *scene)
{
	pp_weigh_free(scene->weigh);
	pathprof_profile_release(&scene->profile);
}

static void strike(struct scene *scene, uint32_t program, uint32_t cnt)
{
	while (cnt--)
		pp_weigh_add_clock(scene->weigh, scene->processes[program]);
}

/* A burst that covers so many instructions and shows one path, `start`, one edge and a segment. */
static void add_burst(struct scene *scene, uint32_t program, uint64_t start, uint32_t insns,
		      uint32_t span)
{
	const struct pathprof_burst burst = {.horizon = HORIZON, .insn_cnt = insns};
	const struct pathprof_path_count path = {
		.process = scene->processes[program],
		.binary = scene->binaries[program],
		.start = start,
		.samples = 1,
		.weight = 1,
		.insns = 7,
		.burst = ++scene->burst,
	};
	const struct pathprof_edge_count edge = {
		.process = scene->processes[program],
		.from_binary = scene->binaries[program],
		.to_binary = scene->binaries[program],
		.from = start,
		.count = 1,
	};

	pp_weigh_tick(scene->weigh, scene->now_ns);
	CU_ASSERT(pp_weigh_add_burst(scene->weigh, scene->processes[program], &burst));
	pp_weigh_add_path(scene->weigh, &path, span, 0);
	pp_weigh_add_segment(
		scene->weigh,
		&(struct pathprof_segment_count){.first = {.binary = path.binary}, .second = path},
		span);
	pp_weigh_add_edge(scene->weigh, &edge);
}

/* Bursts of one path, all of them full and it very short. */
static void add_bursts(struct scene *scene, uint32_t program, uint64_t start, uint32_t cnt)
{
	while (cnt--)
		add_burst(scene, program, start, HORIZON, 0);
}

static const struct pathprof_path_count *path_at(const struct scene *scene, uint32_t program,
						 uint64_t start)
{
	static const struct pathprof_path_count none;

	for (uint32_t i = 0; i < scene->profile.path_cnt; i++)
		if (scene->profile.paths[i].start == start &&
		    scene->profile.paths[i].binary == scene->binaries[program])
			return &scene->profile.paths[i];
	return &none;
}

/* Each segment has the figures of the path that is its second piece. */
static bool segments_are_as_paths(const struct scene *scene)
{
	const struct pathprof_profile *p = &scene->profile;
	bool same = p->segment_cnt == p->path_cnt;

	for (uint32_t i = 0; i < p->segment_cnt && same; i++) {
		const struct pathprof_path_count *a = &p->paths[i], *b = &p->segments[i].second;

		same = a->start == b->start && a->samples == b->samples &&
		       a->squares == b->squares && a->weight == b->weight &&
		       a->weight_squares == b->weight_squares;
	}
	return same;
}

static double edge_at(const struct scene *scene, uint64_t from)
{
	for (uint32_t i = 0; i < scene->profile.edge_cnt; i++)
		if (scene->profile.edges[i].from == from)
			return scene->profile.edges[i].weight;
	return 0;
}

static bool is_near(double have, double want)
{
	return fabs(have - want) <= 1e-9 * fabs(want);
}

/* Each slice has the same number of bursts, and the later ones have twenty times the work. */
static void test_idle_then_busy(void)
{
	const struct pathprof_path_count *quiet, *busy;
	struct scene scene;

	scene_init(&scene);
	for (uint32_t slice = 0; slice < 4; slice++) {
		bool late = slice >= 2;

		add_bursts(&scene, 0, late ? 0x200 : 0x100, 8);
		strike(&scene, 0, late ? 200 : 10);
		scene.now_ns += SLICE;
		pp_weigh_tick(scene.weigh, scene.now_ns);
	}
	pp_weigh_close(scene.weigh);
	quiet = path_at(&scene, 0, 0x100);
	busy = path_at(&scene, 0, 0x200);
	CU_ASSERT_EQUAL(quiet->samples, 16);
	CU_ASSERT_EQUAL(busy->samples, 16);
	CU_ASSERT(is_near(quiet->weight, 20 * USEC));
	CU_ASSERT(is_near(busy->weight, 400 * USEC));
	CU_ASSERT(is_near(busy->insns, 7 * busy->weight));
	/* sixteen bursts alike, in two slices of 200 clock samples */
	CU_ASSERT(
		is_near(busy->weight_squares, busy->weight * busy->weight * (1. / 16 + 1. / 400)));
	CU_ASSERT(is_near(quiet->weight_squares,
			  quiet->weight * quiet->weight * (1. / 16 + 1. / 20)));
	CU_ASSERT(is_near(edge_at(&scene, 0x100), 20 * USEC));
	CU_ASSERT(is_near(edge_at(&scene, 0x200), 400 * USEC));
	CU_ASSERT(segments_are_as_paths(&scene));
	scene_release(&scene);
}

/* A slice goes on until it has some bursts, and what is left at the close belongs to the program.
 */
static void test_few_bursts(void)
{
	struct scene scene;

	scene_init(&scene);
	add_bursts(&scene, 0, 0x100, 3);
	strike(&scene, 0, 50);
	scene.now_ns += 2 * SLICE;
	pp_weigh_tick(scene.weigh, scene.now_ns);
	CU_ASSERT_EQUAL(scene.profile.path_cnt, 0);
	add_bursts(&scene, 0, 0x100, 1);
	add_bursts(&scene, 0, 0x200, 2);
	CU_ASSERT_EQUAL(scene.profile.path_cnt, 1);
	strike(&scene, 0, 20);
	pp_weigh_close(scene.weigh);
	CU_ASSERT(is_near(path_at(&scene, 0, 0x100)->weight, 50 * USEC));
	CU_ASSERT(is_near(path_at(&scene, 0, 0x200)->weight, 20 * USEC));
	scene_release(&scene);
}

/* One that ended early stands for as much time: its paths are runs for each instruction covered. */
static void test_ended_early(void)
{
	const struct pathprof_path_count *whole, *cut;
	struct scene scene;

	scene_init(&scene);
	for (int i = 0; i < 8; i++) {
		add_burst(&scene, 0, 0x100, HORIZON, 24);
		add_burst(&scene, 0, 0x200, 124, 24);
	}
	strike(&scene, 0, 160);
	pp_weigh_close(scene.weigh);
	whole = path_at(&scene, 0, 0x100);
	cut = path_at(&scene, 0, 0x200);
	CU_ASSERT(is_near(whole->weight, 80 * USEC * HORIZON / 1000));
	CU_ASSERT(is_near(cut->weight, 80 * USEC * HORIZON / 100));
	CU_ASSERT(is_near(edge_at(&scene, 0x200), 80 * USEC * HORIZON / 124));
	CU_ASSERT(segments_are_as_paths(&scene));
	scene_release(&scene);
}

/* Each program has the time that the clock found in it, however many bursts fell to it. */
static void test_programs(void)
{
	struct scene scene;

	scene_init(&scene);
	add_bursts(&scene, 0, 0x100, 5);
	add_bursts(&scene, 1, 0x200, 20);
	strike(&scene, 0, 300);
	strike(&scene, 1, 100);
	pp_weigh_close(scene.weigh);
	CU_ASSERT(is_near(path_at(&scene, 0, 0x100)->weight, 300 * USEC));
	CU_ASSERT(is_near(path_at(&scene, 1, 0x200)->weight, 100 * USEC));
	scene_release(&scene);
}

/* Small programs share their time; one that can have no burst keeps its own, and gives it to none.
 */
static void test_small_and_missed(void)
{
	struct scene scene;

	scene_init(&scene);
	add_bursts(&scene, 0, 0x100, 40);
	add_burst(&scene, 1, 0x200, HORIZON, 0);
	strike(&scene, 0, 400);
	strike(&scene, 1, 6);
	strike(&scene, 2, 14);
	strike(&scene, 3, 4000);
	pp_weigh_close(scene.weigh);
	CU_ASSERT(is_near(path_at(&scene, 0, 0x100)->weight, 400 * USEC));
	CU_ASSERT(is_near(path_at(&scene, 1, 0x200)->weight, 20 * USEC));
	scene_release(&scene);
}

/* Code that was rewritten while the burst ran tells nothing, not even that it was a burst. */
static void test_no_burst(void)
{
	const struct pathprof_burst none = {.horizon = HORIZON, .end = PATHPROF_END_DISCONT};
	struct scene scene;

	scene_init(&scene);
	CU_ASSERT_FALSE(pp_weigh_add_burst(scene.weigh, scene.processes[0], &none));
	pp_weigh_close(scene.weigh);
	CU_ASSERT_EQUAL(scene.profile.path_cnt, 0);
	scene_release(&scene);
}

/* More than waits at once: the slice ends early, and nothing is lost. */
static void test_many(void)
{
	struct scene scene;

	scene_init(&scene);
	for (int i = 0; i < 100; i++) {
		add_bursts(&scene, 0, 0x100, 1000);
		strike(&scene, 0, 10);
	}
	pp_weigh_close(scene.weigh);
	CU_ASSERT_EQUAL(path_at(&scene, 0, 0x100)->samples, 100000);
	CU_ASSERT(is_near(path_at(&scene, 0, 0x100)->weight, 1000 * USEC));
	scene_release(&scene);
}

/* The next window begins from nothing. */
static void test_next_window(void)
{
	struct scene scene;

	scene_init(&scene);
	add_bursts(&scene, 0, 0x100, 8);
	strike(&scene, 0, 500);
	pp_weigh_close(scene.weigh);
	pathprof_profile_clear(&scene.profile);
	scene.profile.clock_hz = HZ;
	scene.processes[0] = add_program(&scene, 0);
	pp_weigh_begin(scene.weigh);
	add_bursts(&scene, 0, 0x100, 8);
	strike(&scene, 0, 16);
	pp_weigh_close(scene.weigh);
	CU_ASSERT(is_near(path_at(&scene, 0, 0x100)->weight, 16 * USEC));
	scene_release(&scene);
}

static const struct unit_test tests[] = {
	{"as many bursts, more work", test_idle_then_busy},
	{"a slice goes on until it has bursts", test_few_bursts},
	{"bursts that end early are rates", test_ended_early},
	{"programs have the time of their clock", test_programs},
	{"small programs, and one without bursts", test_small_and_missed},
	{"no burst", test_no_burst},
	{"more than waits at once", test_many},
	{"the next window", test_next_window},
};

UNIT_SUITE(weigh, tests)
