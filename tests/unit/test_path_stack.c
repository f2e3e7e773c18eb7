// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The path stack under every setting against operations spelled out on an array that only grows;
 * the two tables of operations line by line; and bursts with their weights.
 */
#include "unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>

#include "../../libprofile/core/pp_path_stack.h"
#include "oracle_path.h"
#include "pathprof/paths.h"

#define EVENTS 6000 /* a setting and mix, of which there are 320 */

static uint32_t kind_of(char letter)
{
	switch (letter) {
	case 'c':
		return PERF_BR_CALL;
	case 'C':
		return PERF_BR_IND_CALL;
	case 'r':
		return PERF_BR_RET;
	case 'i':
		return PERF_BR_IND;
	case 'j':
		return PERF_BR_UNCOND;
	default:
		return PERF_BR_COND;
	}
}

static struct pp_branch to_core(const struct oracle_branch *b)
{
	return (struct pp_branch){.from = b->from,
				  .target = b->target,
				  .next = b->next,
				  .info = PP_BRANCH_INFO(kind_of(b->kind), b->taken),
				  .events = b->events};
}

static struct pp_path_config core_config(const struct oracle_path_config *o)
{
	struct pp_path_config c;

	if (o->whole_program)
		pp_path_config_wpp(&c);
	else
		pp_path_config_bl(&c);
	c.max_length = o->max_length;
	c.extend = (uint32_t)o->extend;
	c.extensions = o->extensions;
	return c;
}

static bool same(const struct pp_path *p, const struct oracle_path *o)
{
	return p->start == o->start && PP_DESC_LENGTH(p->desc) == o->length &&
	       PP_DESC_OUTCOMES(p->desc) == oracle_path_outcomes(o) && p->events == o->events &&
	       p->span == o->span;
}

/* A fault planted in the core's state when half of the stream is over. */
typedef void fault_fn(struct pp_path_stack *s);

/* Compares the paths left on the stack in the end, popped by both sides. */
static size_t differences_left(struct pp_path_stack *s, struct oracle_path_stack *o)
{
	struct oracle_path expected;
	size_t different = 0;
	struct pp_path path;

	while (s->depth && oracle_path_stack_pop(o, &expected)) {
		pp_path_pop(s, &path);
		different += !same(&path, &expected);
	}
	return different + s->depth + (o->cnt - o->lost);
}

/* Paths that differ, those left on the stack included. */
static size_t differences(const struct oracle_path_config *core,
			  const struct oracle_path_config *oracle, enum branch_mix mix,
			  size_t events, fault_fn *fault)
{
	struct pp_path_stack stack = {.depth = 0};
	struct pp_path_config config = core_config(core);
	struct oracle_path_stack o;
	struct oracle_path expected;
	struct pp_path path;
	size_t different = 0;
	struct stream s;

	oracle_path_stack_init(&o, oracle);
	stream_init(&s, STREAM_UNIFORM, core->extensions % 2, 0, core->max_length + 100 * mix);
	for (size_t i = 0; i < events; i++) {
		struct oracle_branch branch = oracle_branch_draw(&s, mix);
		struct pp_branch b = to_core(&branch);

		if (fault && i == events / 2)
			fault(&stack);
		bool popped = pp_path_stack_step(&stack, &config, &b, &path);
		if (popped != oracle_path_stack_step(&o, &branch, &expected))
			different++;
		else if (popped)
			different += !same(&path, &expected);
	}
	different += differences_left(&stack, &o);
	oracle_path_stack_release(&o);
	return different;
}

static const struct {
	enum oracle_extend extend;
	uint32_t extensions;
} extensions[] = {{ORACLE_EXTEND_NONE, 0}, {ORACLE_EXTEND_LOOP, 1},  {ORACLE_EXTEND_LOOP, 3},
		  {ORACLE_EXTEND_CALL, 1}, {ORACLE_EXTEND_CALL, 4},  {ORACLE_EXTEND_LOOP, 0},
		  {ORACLE_EXTEND_CALL, 0}, {ORACLE_EXTEND_CALL, ~0u}};

static void compare_all(bool whole_program)
{
	for (uint32_t length = 1; length <= 32; length++) {
		for (size_t x = 0; x < sizeof(extensions) / sizeof(extensions[0]); x++) {
			struct oracle_path_config config = {.whole_program = whole_program,
							    .max_length = length,
							    .extend = extensions[x].extend,
							    .extensions = extensions[x].extensions,
							    .depth = 32};
			enum branch_mix mix = (length + x) % BRANCH_MIX_CNT;

			CU_ASSERT_EQUAL(differences(&config, &config, mix, EVENTS, NULL), 0);
		}
	}
}

static void test_ball_larus(void)
{
	compare_all(false);
}

static void test_whole_program(void)
{
	compare_all(true);
}

static void test_long_streams(void)
{
	struct oracle_path_config config = {.max_length = 32, .depth = 32};

	for (unsigned int mix = 0; mix < BRANCH_MIX_CNT; mix++) {
		config.whole_program = mix % 2;
		CU_ASSERT_EQUAL(differences(&config, &config, mix, 100000, NULL), 0);
	}
}

static void flip_outcome(struct pp_path_stack *s)
{
	s->entry[s->top].desc ^= 1;
}

static void lose_entry(struct pp_path_stack *s)
{
	s->depth -= s->depth > 0;
}

static void add_event(struct pp_path_stack *s)
{
	s->entry[s->top].events++;
}

static void shift_birth(struct pp_path_stack *s)
{
	s->entry[s->top].born--;
}

static void test_planted_state(void)
{
	static fault_fn *const faults[] = {flip_outcome, lose_entry, add_event, shift_birth};
	struct oracle_path_config config = {.max_length = 32, .depth = 32};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		CU_ASSERT_NOT_EQUAL(
			differences(&config, &config, BRANCH_FORWARD, EVENTS, faults[i]), 0);
}

static void test_planted_rule(void)
{
	struct oracle_path_config right = {.max_length = 16, .depth = 32}, wrong = right;

	wrong.max_length = 17;
	CU_ASSERT_NOT_EQUAL(differences(&right, &wrong, BRANCH_FORWARD, EVENTS, NULL), 0);
	wrong = right;
	wrong.depth = 31;
	CU_ASSERT_NOT_EQUAL(differences(&right, &wrong, BRANCH_DEEP, EVENTS, NULL), 0);
	wrong = right;
	wrong.whole_program = true;
	CU_ASSERT_NOT_EQUAL(differences(&right, &wrong, BRANCH_MIXED, EVENTS, NULL), 0);
	wrong = right;
	wrong.self_is_forward = true;
	CU_ASSERT_NOT_EQUAL(differences(&right, &wrong, BRANCH_LOOPS, EVENTS, NULL), 0);
	right.extend = ORACLE_EXTEND_CALL;
	right.extensions = 2;
	wrong = right;
	wrong.extensions = 3;
	CU_ASSERT_NOT_EQUAL(differences(&right, &wrong, BRANCH_MIXED, EVENTS, NULL), 0);
	wrong = right;
	wrong.return_keeps_extended = true;
	CU_ASSERT_NOT_EQUAL(differences(&right, &wrong, BRANCH_MIXED, EVENTS, NULL), 0);
}

static struct pp_branch branch(uint32_t kind, uint64_t from, uint64_t target, uint32_t taken)
{
	return (struct pp_branch){.from = from,
				  .target = target,
				  .next = taken ? target : from + 2,
				  .info = PP_BRANCH_INFO(kind, taken),
				  .events = 1};
}

static uint32_t step(struct pp_path_stack *s, const struct pp_path_config *config,
		     struct pp_branch b, struct pp_path *ret_path)
{
	return pp_path_stack_step(s, config, &b, ret_path);
}

/* A procedure called from a loop: the caller's path waits below and then goes on. */
static void test_call_and_return(void)
{
	struct pp_path_stack s = {.depth = 0};
	struct pp_path_config config;
	struct pp_path p;

	pp_path_config_bl(&config);
	CU_ASSERT_EQUAL(step(&s, &config, branch(PP_KIND_COND, 0x50, 0x10, 1), &p), 0);
	CU_ASSERT_EQUAL(step(&s, &config, branch(PP_KIND_COND, 0x18, 0x30, 1), &p), 0);
	CU_ASSERT_EQUAL(step(&s, &config, branch(PP_KIND_CALL, 0x34, 0x100, 1), &p), 0);
	CU_ASSERT_EQUAL(step(&s, &config, branch(PP_KIND_COND, 0x104, 0x110, 0), &p), 0);
	CU_ASSERT_EQUAL(step(&s, &config, branch(PP_KIND_RET, 0x10a, 0x39, 1), &p), 1);
	CU_ASSERT_EQUAL(p.start, 0x100);
	CU_ASSERT_EQUAL(p.desc, PP_DESC(1, 0));
	CU_ASSERT_EQUAL(p.events, 2);
	CU_ASSERT_EQUAL(p.span, 1);
	CU_ASSERT_EQUAL(step(&s, &config, branch(PP_KIND_COND, 0x50, 0x10, 1), &p), 1);
	CU_ASSERT_EQUAL(p.start, 0x10);
	CU_ASSERT_EQUAL(p.desc, PP_DESC(2, 3));
	CU_ASSERT_EQUAL(p.events, 3);
	CU_ASSERT_EQUAL(p.span, 4);
}

/* A not-taken backward branch ends a path too; the next begins at the fall-through. */
static void test_fall_through(void)
{
	struct pp_path_stack s = {.depth = 0};
	struct pp_path_config config;
	struct pp_path p;

	pp_path_config_bl(&config);
	CU_ASSERT_EQUAL(step(&s, &config, branch(PP_KIND_COND, 0x50, 0x10, 0), &p), 0);
	CU_ASSERT_EQUAL(step(&s, &config, branch(PP_KIND_IJMP, 0x60, 0x90, 1), &p), 1);
	CU_ASSERT_EQUAL(p.start, 0x52);
	CU_ASSERT_EQUAL(p.desc, PP_DESC(1, 1));
}

static void test_clear(void)
{
	struct pp_path_stack s = {.depth = 0};
	struct pp_path_config config;
	struct pp_path p;

	pp_path_config_bl(&config);
	CU_ASSERT_EQUAL(step(&s, &config, branch(PP_KIND_CALL, 0x50, 0x100, 1), &p), 0);
	pp_path_stack_clear(&s);
	CU_ASSERT_EQUAL(step(&s, &config, branch(PP_KIND_RET, 0x10a, 0x55, 1), &p), 0);
}

/* ---------------------------------------------------------------- the library's interface */

static struct pathprof_branch to_public(const struct oracle_branch *b)
{
	return (struct pathprof_branch){.from = b->from,
					.target = b->target,
					.next = b->next,
					.kind = kind_of(b->kind),
					.taken = b->taken};
}

static bool same_popped(const struct pathprof_path_popped *p, const struct oracle_path *o)
{
	return p->start == o->start && p->length == o->length && p->events == o->events &&
	       p->outcomes == oracle_path_outcomes(o);
}

static size_t library_differences(const struct oracle_path_config *config, enum branch_mix mix)
{
	struct pathprof_path_settings settings = {
		.mapping = config->whole_program ? PATHPROF_MAPPING_WPP : PATHPROF_MAPPING_BL,
		.max_length = config->max_length,
		.extend = (enum pathprof_extend)config->extend,
		.extensions = config->extensions};
	struct pathprof_path_popped popped;
	struct pathprof_path_stack *stack;
	struct oracle_path_stack o;
	struct oracle_path expected;
	size_t different = 0;
	struct stream s;

	if (pathprof_path_stack_new(&stack, &settings) < 0)
		return 1;
	oracle_path_stack_init(&o, config);
	stream_init(&s, STREAM_UNIFORM, true, 0, mix);
	for (size_t i = 0; i < EVENTS; i++) {
		struct oracle_branch b = oracle_branch_draw(&s, mix);
		struct pathprof_branch in = to_public(&b);
		bool out = pathprof_path_stack_step(stack, &in, b.events, &popped);

		if (out != oracle_path_stack_step(&o, &b, &expected))
			different++;
		else if (out)
			different += !same_popped(&popped, &expected);
	}
	while (oracle_path_stack_pop(&o, &expected))
		different += !pathprof_path_stack_drain(stack, &popped) ||
			     !same_popped(&popped, &expected);
	different += pathprof_path_stack_drain(stack, &popped);
	oracle_path_stack_release(&o);
	pathprof_path_stack_free(stack);
	return different;
}

static void test_library(void)
{
	struct oracle_path_config config = {
		.max_length = 20, .extend = ORACLE_EXTEND_LOOP, .extensions = 2, .depth = 32};

	for (unsigned int mix = 0; mix < BRANCH_MIX_CNT; mix++) {
		config.whole_program = mix % 2;
		CU_ASSERT_EQUAL(library_differences(&config, mix), 0);
	}
}

static void test_settings(void)
{
	struct pathprof_path_settings settings = {.max_length = 0};
	struct pathprof_path_stack *stack = NULL;

	CU_ASSERT_EQUAL(pathprof_path_stack_new(&stack, &settings), -EINVAL);
	settings.max_length = 33;
	CU_ASSERT_EQUAL(pathprof_path_stack_new(&stack, &settings), -EINVAL);
	CU_ASSERT_PTR_NULL(stack);
	pathprof_path_stack_free(NULL);
}

struct expected_paths {
	const struct oracle_path *path;
	size_t cnt, at, different;
	uint64_t taken;
};

static void expect_path(void *context, const struct pathprof_path_seen *seen)
{
	struct expected_paths *e = context;
	const struct oracle_path *o = &e->path[e->at];
	double places = e->at < e->cnt ? (double)(e->taken - o->span) : 1;

	if (places < 1)
		places = 1;
	if (e->at++ >= e->cnt) {
		e->different++;
		return;
	}
	e->different += seen->start != o->start || seen->length != o->length ||
			seen->outcomes != oracle_path_outcomes(o) || seen->span != o->span ||
			fabs(seen->weight - (double)e->taken / places) > 1e-9;
}

static size_t burst_differences(const struct oracle_branch *branches, uint32_t cnt,
				uint64_t miscounted_taken)
{
	static struct pathprof_branch burst[PATHPROF_BURST_MAX];
	static struct oracle_path path[PATHPROF_BURST_MAX];
	struct oracle_path_config config = {.max_length = 32, .depth = 32};
	struct expected_paths e = {.path = path, .taken = miscounted_taken};
	struct oracle_path_stack o;
	int paths;

	oracle_path_stack_init(&o, &config);
	for (uint32_t i = 0; i < cnt; i++) {
		burst[i] = to_public(&branches[i]);
		e.taken += branches[i].taken;
		e.cnt += oracle_path_stack_step(&o, &branches[i], &path[e.cnt]);
	}
	oracle_path_stack_release(&o);
	paths = pathprof_paths_of_burst(burst, cnt, PATHPROF_MAPPING_BL, expect_path, &e);
	return e.different + (paths != (int)e.cnt) + (e.at != e.cnt);
}

static void test_bursts(void)
{
	static struct oracle_branch branches[PATHPROF_BURST_MAX];
	size_t different = 0, planted = 0;
	struct stream s;

	for (uint32_t round = 0; round < 2000; round++) {
		uint32_t cnt = round * 7 % (PATHPROF_BURST_MAX + 1);

		stream_init(&s, STREAM_UNIFORM, round % 2, 0, round);
		for (uint32_t i = 0; i < cnt; i++)
			branches[i] = oracle_branch_draw(&s, round % BRANCH_MIX_CNT);
		different += burst_differences(branches, cnt, 0);
		planted += burst_differences(branches, cnt, 1);
	}
	CU_ASSERT_EQUAL(different, 0);
	CU_ASSERT_NOT_EQUAL(planted, 0);
}

static void count_path(void *context, const struct pathprof_path_seen *seen)
{
	++*(size_t *)context;
}

static void test_burst_refused(void)
{
	static const struct pathprof_branch good = {0x50, 0x10, 0x10, PERF_BR_COND, 1};
	static struct pathprof_branch burst[PATHPROF_BURST_MAX + 1];
	struct pathprof_branch bad[] = {good, good, good, good};
	size_t seen = 0;

	bad[0].kind = 0;
	bad[1].kind = PERF_BR_RET + 1;
	bad[2].kind = UINT16_MAX;
	bad[3].taken = 2;
	for (size_t i = 0; i < 4; i++) {
		struct pathprof_branch three[] = {good, good, bad[i]};

		CU_ASSERT_EQUAL(
			pathprof_paths_of_burst(three, 3, PATHPROF_MAPPING_BL, count_path, &seen),
			-EINVAL);
	}
	for (size_t i = 0; i <= PATHPROF_BURST_MAX; i++)
		burst[i] = good;
	CU_ASSERT_EQUAL(pathprof_paths_of_burst(burst, PATHPROF_BURST_MAX + 1, PATHPROF_MAPPING_WPP,
						count_path, &seen),
			-EINVAL);
	CU_ASSERT_EQUAL(seen, 0);
	CU_ASSERT_EQUAL(pathprof_paths_of_burst(burst, PATHPROF_BURST_MAX, PATHPROF_MAPPING_WPP,
						count_path, &seen),
			PATHPROF_BURST_MAX - 1);
	CU_ASSERT_EQUAL(seen, PATHPROF_BURST_MAX - 1);
}

static const struct unit_test tests[] = {
	{"Ball-Larus paths equal the oracle at every length and extension", test_ball_larus},
	{"whole program paths equal the oracle at every length and extension", test_whole_program},
	{"equals the oracle on long streams", test_long_streams},
	{"a changed outcome, depth, count or birth is found", test_planted_state},
	{"a changed rule is found", test_planted_rule},
	{"a caller's path waits for the return", test_call_and_return},
	{"a not-taken backward branch begins a path at the fall-through", test_fall_through},
	{"forgets all on clear", test_clear},
	{"the library's stack equals the oracle", test_library},
	{"the library refuses lengths out of range", test_settings},
	{"paths and weights of bursts equal the oracle", test_bursts},
	{"a burst with a bad record reports nothing", test_burst_refused},
};
UNIT_SUITE(path_stack, tests)
