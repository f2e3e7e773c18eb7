// SPDX-License-Identifier: GPL-2.0-or-later
/* Lost samples: more than a hundredth is reported. */
#include "../../tools/ctl/text/lost.h"
#include "unit.h"

#include <string.h>

static void add(struct lost *sum, uint64_t clock_samples, uint64_t bursts, uint64_t lost_cnt)
{
	struct pathprof_totals window = {.clock_samples = clock_samples, .bursts = bursts};

	window.drops[PATHPROF_DROP_QUEUE_FULL] = lost_cnt;
	window.drops[PATHPROF_DROP_BUDGET] = 100000;
	lost_add(sum, &window);
}

static void test_text(void)
{
	struct lost lost = {0};
	char text[256];

	add(&lost, 10000, 300, 4110);
	add(&lost, 10000, 300, 4110);
	lost_text(text, sizeof(text), &lost);
	CU_ASSERT_EQUAL(strncmp(text, "8220 samples (29.1%) were lost, for ", 36), 0);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "For the service, raise CPUWeight=; for a recording, "));
	CU_ASSERT_DOUBLE_EQUAL(lost_share(&lost), 8220 / 28220., 1e-12);
}

static void test_few(void)
{
	struct lost lost = {0};
	char text[256] = "old";

	CU_ASSERT_EQUAL(lost_share(&lost), 0);
	add(&lost, 990, 20, 10);
	CU_ASSERT_EQUAL(lost_share(&lost), 0);
	CU_ASSERT_STRING_EQUAL(lost_text(text, sizeof(text), &lost), "");
	add(&lost, 0, 0, 1);
	CU_ASSERT(lost_share(&lost) > 0.01);
}

/* Bursts are the samples of a window without a clock. */
static void test_no_clock(void)
{
	struct lost lost = {0};

	add(&lost, 0, 75, 25);
	CU_ASSERT_DOUBLE_EQUAL(lost_share(&lost), 0.25, 1e-12);
}

static const struct unit_test tests[] = {
	{"it is told how many were lost, and what to do", test_text},
	{"nothing is told of a hundredth", test_few},
	{"bursts are the samples where no clock ran", test_no_clock},
};
UNIT_SUITE(lost, tests)
