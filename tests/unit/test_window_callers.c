// SPDX-License-Identifier: GPL-2.0-or-later
/* The open window and who called: paths counted under the calls that led to them. */
#include "unit.h"

#include <linux/perf_event.h>

#include "window_fake.h"

static struct fake fake;

static struct pp_window *new_window(void)
{
	const struct pp_resolver resolver = {&fake,        fake_dispatch, fake_process,
					     fake_resolve, fake_jit,      NULL};
	const struct pp_window_config config = {
		.mapping = PATHPROF_MAPPING_BL,
		.source = PATHPROF_SOURCE_STEP,
		.basis = PATHPROF_BASIS_TIME,
		.taken_wanted = 32,
		.memory_max_bytes = 8 << 20,
	};
	struct pp_window *window = NULL;

	CU_ASSERT_EQUAL_FATAL(pp_window_new(&window, &config, &resolver), 0);
	return window;
}

static int no_table(void *context, pid_t pid, const struct pp_location *where,
		    const struct pathprof_unwind_table **ret_table)
{
	return *(int *)context;
}

/* A thread at BASE + 0x30, called from BASE + 0x200 and that from BASE + 0x400, which nobody did.
 */
static struct pp_stack_seen stack_of_three(void)
{
	static const uint64_t words[] = {0x7010, BASE + 0x200, 0x7020, BASE + 0x400, 0, 0};

	return (struct pp_stack_seen){
		.pid = 1,
		.tid = 1,
		.time_ns = 77,
		.state = {.registers = {[PATHPROF_UNWIND_RIP] = BASE + 0x30,
					[PATHPROF_UNWIND_RSP] = 0x7000,
					[PATHPROF_UNWIND_RBP] = 0x7000},
			  .stack_address = 0x7000,
			  .stack = words,
			  .stack_bytes = sizeof(words)},
	};
}

static struct pathprof_branch taken_branch(uint32_t kind, uint64_t from, uint64_t to)
{
	return (struct pathprof_branch){.from = BASE + from,
					.target = BASE + to,
					.next = BASE + to,
					.kind = kind,
					.taken = 1};
}

static void add_calling_burst(struct pp_window *window, uint32_t tid)
{
	const struct pathprof_branch branches[] = {
		taken_branch(PERF_BR_COND, 0x40, 0x10),   taken_branch(PERF_BR_CALL, 0x20, 0x300),
		taken_branch(PERF_BR_COND, 0x340, 0x310), taken_branch(PERF_BR_RET, 0x350, 0x25),
		taken_branch(PERF_BR_COND, 0x40, 0x10),   taken_branch(PERF_BR_RET, 0x48, 0x200),
		taken_branch(PERF_BR_COND, 0x240, 0x210), taken_branch(PERF_BR_COND, 0x240, 0x210),
	};
	const struct pathprof_burst burst = {
		.size_bytes = sizeof(burst) + sizeof(branches),
		.version = PATHPROF_ABI_VERSION,
		.source = PATHPROF_SOURCE_STEP,
		.pid = 1,
		.tid = tid,
		.time_ns = 77,
		.start = BASE + 0x30,
		.start_time = START_OF(1),
		.branch_cnt = 8,
		.taken_cnt = 8,
	};
	const struct pp_stack_seen stack = stack_of_three();

	pp_window_add_stack(window, &stack);
	pp_window_add_burst(window, &burst, branches);
}

/* The function, as an offset from BASE, that called in the context of the path which began there.
 */
static uint64_t caller_of(const struct pathprof_profile *p, uint64_t start, uint32_t *ret_context)
{
	*ret_context = 0;
	for (uint32_t i = 0; i < p->context_count_cnt; i++) {
		const struct pathprof_caller_count *c = &p->context_counts[i];

		if (p->paths[c->path].start == start + 0x40) {
			*ret_context = c->context;
			return p->contexts[c->context].function - 0x40;
		}
	}
	return 0;
}

static void test_callers(void)
{
	const struct pathprof_profile *p;
	uint32_t outer, middle, inner, again;
	struct pp_window *window = new_window();
	int answer = -ENOENT;

	CU_ASSERT_EQUAL_FATAL(pp_window_want_callers(window, no_table, &answer), 0);
	p = pp_window_profile(window);
	add_calling_burst(window, 1);
	CU_ASSERT_EQUAL(caller_of(p, 0x300, &inner), 0x20);
	CU_ASSERT_EQUAL(caller_of(p, 0x310, &again), 0x20);
	CU_ASSERT_EQUAL(again, inner);
	CU_ASSERT_EQUAL(caller_of(p, 0x10, &middle), 0x1ff);
	CU_ASSERT_EQUAL(p->contexts[inner].parent, middle);
	CU_ASSERT_EQUAL(caller_of(p, 0x210, &outer), 0x3ff);
	CU_ASSERT_EQUAL(p->contexts[middle].parent, outer);
	CU_ASSERT_EQUAL(p->contexts[outer].parent, 0);
	CU_ASSERT_EQUAL(p->context_count_cnt, 5);
	pp_window_free(window);
}

/* The stack is another thread's, or a table is still to come: nothing is guessed. */
static void test_callers_not_known(void)
{
	const struct pathprof_profile *p;
	struct pp_window *window = new_window();
	int answer = -ENOENT;

	p = pp_window_profile(window);
	add_calling_burst(window, 1);
	CU_ASSERT_EQUAL_FATAL(pp_window_want_callers(window, no_table, &answer), 0);
	add_calling_burst(window, 2);
	answer = -EAGAIN;
	add_calling_burst(window, 1);
	CU_ASSERT_EQUAL(p->totals.bursts, 3);
	CU_ASSERT(p->path_cnt > 0);
	CU_ASSERT_EQUAL(p->context_count_cnt, 0);
	pp_window_free(window);
}

static const struct unit_test tests[] = {
	{"paths count under those who called, into calls and out of them", test_callers},
	{"callers that are not known are not guessed", test_callers_not_known},
};
UNIT_SUITE(window_callers, tests)
