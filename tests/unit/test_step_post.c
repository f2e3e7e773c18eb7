// SPDX-License-Identifier: GPL-2.0-or-later
/* The CPU on which the stepper waits for a sample, and the samples that it takes. */
#include "unit.h"

#include "../../daemon/step/step_engine.h"
#include "../../daemon/step/step_post.h"

#define MSEC PP_NSEC_PER_MSEC

static struct pp_sample sample_at(int cpu, uint64_t time_ns, bool fresh)
{
	return (struct pp_sample){
		.pid = 7, .tid = 7, .cpu = cpu, .time_ns = time_ns, .fresh = fresh};
}

/* A sample of another CPU, or one that is stale, says where to wait; the next one there is taken.
 */
static void test_goes_and_takes(void)
{
	struct pp_step_post post = {0};
	struct pp_sample sample = sample_at(3, 10 * MSEC, true);

	CU_ASSERT_EQUAL(pp_step_post_cpu(&post, 10 * MSEC), -1);
	CU_ASSERT(!pp_step_post_takes(&post, &sample, 1, 10 * MSEC + 1000));
	CU_ASSERT_EQUAL(pp_step_post_cpu(&post, 11 * MSEC), 3);
	sample.time_ns = 15 * MSEC;
	CU_ASSERT(pp_step_post_takes(&post, &sample, 3, 15 * MSEC + 20000));
	CU_ASSERT_EQUAL(pp_step_post_cpu(&post, 16 * MSEC), -1);
}

/* A thread that is to be left alone was met there: the next sample begins anew. */
static void test_leaves(void)
{
	struct pp_step_post post = {0};
	struct pp_sample sample = sample_at(3, 10 * MSEC, true);

	CU_ASSERT(!pp_step_post_takes(&post, &sample, 1, 10 * MSEC));
	pp_step_post_leave(&post);
	CU_ASSERT_EQUAL(pp_step_post_cpu(&post, 11 * MSEC), -1);
	sample = sample_at(2, 12 * MSEC, true);
	CU_ASSERT(!pp_step_post_takes(&post, &sample, 1, 12 * MSEC));
	CU_ASSERT_EQUAL(pp_step_post_cpu(&post, 13 * MSEC), 2);
}

static void test_takes_at_once_only(void)
{
	struct pp_step_post post = {0};
	struct pp_sample sample = sample_at(2, 10 * MSEC, true);

	CU_ASSERT(pp_step_post_takes(&post, &sample, 2, 10 * MSEC + 50000));
	CU_ASSERT(!pp_step_post_takes(&post, &sample, 2, 11 * MSEC));
	sample = sample_at(2, 20 * MSEC, false);
	CU_ASSERT(!pp_step_post_takes(&post, &sample, 2, 20 * MSEC));
}

/* In the end any fresh sample will do, a stale one never. */
static void test_loses_patience(void)
{
	struct pp_step_post post = {0};
	struct pp_sample fresh = sample_at(0, 0, true), stale = sample_at(0, 0, false);

	CU_ASSERT(!pp_step_post_takes(&post, &fresh, 1, 0));
	CU_ASSERT_EQUAL(pp_step_post_cpu(&post, 49 * MSEC), 0);
	CU_ASSERT_EQUAL(pp_step_post_cpu(&post, 51 * MSEC), -1);
	CU_ASSERT(!pp_step_post_takes(&post, &stale, 1, 51 * MSEC));
	CU_ASSERT(pp_step_post_takes(&post, &fresh, 1, 52 * MSEC));
	for (int i = 0; i < 4; i++)
		CU_ASSERT(!pp_step_post_takes(&post, &fresh, 1, 60 * MSEC));
	CU_ASSERT(pp_step_post_takes(&post, &fresh, 1, 60 * MSEC));
}

static void test_no_place(void)
{
	struct pp_step_post post = {0};
	struct pp_sample unknown = sample_at(-1, 0, true), far = sample_at(9, 0, true);

	CU_ASSERT(pp_step_post_takes(&post, &unknown, 1, 5 * MSEC));
	CU_ASSERT(!pp_step_post_takes(&post, &far, 1, 0));
	pp_step_post_give_up(&post);
	CU_ASSERT_EQUAL(pp_step_post_cpu(&post, 0), -1);
	CU_ASSERT(pp_step_post_takes(&post, &far, 1, 0));
}

static const struct unit_test tests[] = {
	{"goes to a sample's CPU and takes the next one there", test_goes_and_takes},
	{"it leaves a place", test_leaves},
	{"takes what was sampled just now only", test_takes_at_once_only},
	{"takes any fresh sample after a while", test_loses_patience},
	{"takes what has no place, or one that is out of reach", test_no_place},
};

UNIT_SUITE(step_post, tests)
