// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Outliers of made-up groups of which the truth is known: members that only scatter are not named,
 * one whose flow moved is, also in a group that scatters, and in a new event; samples that come in
 * bursts count as bursts; what cannot be judged is refused. `pathprof-lab experiment outliers` has
 * how often it is right.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "chance.h"
#include "pathprof/outliers.h"
#include "unit.h"

#define MEMBERS 60
#define EVENTS  50

static uint64_t state;

struct group {
	struct pathprof_event events[MEMBERS][EVENTS + 1];
	struct pathprof_distribution distributions[MEMBERS];
	const struct pathprof_distribution *members[MEMBERS];
	struct pathprof_outlier outliers[MEMBERS];
};
static struct group group;

/* Shares of 1/i that scatter, and a number of whole bursts of each event. */
static void make_member(size_t at, double scatter, double samples, double burst)
{
	double sum = 0;

	for (size_t i = 0; i <= EVENTS; i++) {
		struct pathprof_event *e = &group.events[at][i];

		*e = (struct pathprof_event){.key_lo = i};
		if (i < EVENTS)
			e->weight = exp(scatter * chance_normal(&state)) / (double)(i + 1);
		sum += e->weight;
	}
	for (size_t i = 0; i < EVENTS; i++) {
		struct pathprof_event *e = &group.events[at][i];
		double mean = e->weight / sum * samples / burst;
		double bursts = floor(fmax(mean + sqrt(mean) * chance_normal(&state), 0) + 0.5);

		e->weight = burst * bursts;
		e->squares = burst * burst * bursts;
	}
}

/* Moves so much of a member's flow to one event. */
static void move(size_t at, size_t event, double flow)
{
	double moved = 0;

	for (size_t i = 0; i <= EVENTS; i++) {
		double part = floor(group.events[at][i].weight * flow);

		group.events[at][i].weight -= part;
		moved += part;
	}
	group.events[at][event].weight += moved;
	for (size_t i = 0; i <= EVENTS; i++)
		group.events[at][i].squares = group.events[at][i].weight;
}

static void make_group(double scatter, double samples, double burst)
{
	state = CHANCE_SEED;
	for (size_t h = 0; h < MEMBERS; h++)
		make_member(h, scatter, samples * (1 + (double)(h % 3)), burst);
}

static int find(size_t cnt)
{
	for (size_t h = 0; h < MEMBERS; h++) {
		CU_ASSERT_EQUAL(pathprof_distribution_init(&group.distributions[h], group.events[h],
							   EVENTS + 1),
				0);
		group.members[h] = &group.distributions[h];
	}
	memset(group.outliers, 0, sizeof(group.outliers));
	return pathprof_outliers_find(group.outliers, group.members, cnt, 0.05);
}

static size_t found_cnt(void)
{
	size_t cnt = 0;

	for (size_t h = 0; h < MEMBERS; h++)
		cnt += group.outliers[h].found;
	return cnt;
}

static void test_alike(void)
{
	static const double scatters[] = {0, 0.1, 0.3};

	for (size_t i = 0; i < 3; i++) {
		make_group(scatters[i], 4000, 1);
		CU_ASSERT_EQUAL(find(MEMBERS), 0);
		CU_ASSERT(found_cnt() <= 1);
		for (size_t h = 0; h < MEMBERS; h++) {
			CU_ASSERT(group.outliers[h].chance >= 0 && group.outliers[h].chance <= 1);
			CU_ASSERT(group.outliers[h].distance < 10);
		}
	}
}

static void check_named(size_t at, size_t event, double scatter)
{
	make_group(scatter, 4000, 1);
	move(at, event, 0.1);
	CU_ASSERT_EQUAL(find(MEMBERS), 0);
	CU_ASSERT(group.outliers[at].found);
	CU_ASSERT(group.outliers[at].chance < 0.001);
	CU_ASSERT(found_cnt() <= 2);
}

static void test_moved(void)
{
	check_named(7, 30, 0);
	check_named(7, 30, 0.3);
	check_named(59, 25, 0.2);
	/* an event that no other member has */
	check_named(0, EVENTS, 0);
	check_named(0, EVENTS, 0.3);
}

/* Ten samples that come together are one: what would be far for 4000 samples is chance for 400. */
static void test_bursts(void)
{
	make_group(0, 4000, 10);
	CU_ASSERT_EQUAL(find(MEMBERS), 0);
	CU_ASSERT(found_cnt() <= 1);
	for (size_t h = 0; h < MEMBERS; h++)
		CU_ASSERT_DOUBLE_EQUAL(group.outliers[h].samples,
				       (double)group.distributions[h].total / 10, 1e-6);
}

/* 1000 samples each of one event, in bursts; of one member so much of it is another event. */
static void make_always(double flow, double burst)
{
	for (size_t h = 0; h < MEMBERS; h++)
		for (size_t i = 0; i <= EVENTS; i++)
			group.events[h][i] =
				(struct pathprof_event){.key_lo = i, .weight = i ? 0 : 1000};
	move(7, 1, flow);
	for (size_t h = 0; h < MEMBERS; h++)
		for (size_t i = 0; i <= EVENTS; i++)
			group.events[h][i].squares =
				group.events[h][i].weight * (burst + 0.01 * (double)h);
}

/* An event that all others always run, or never, leaves no chance: the distance is finite. */
static void test_always(void)
{
	for (int flow = 2; flow <= 9; flow++)
		for (int burst = 1; burst <= 3; burst++) {
			make_always(0.1 * flow, burst);
			CU_ASSERT_EQUAL(find(MEMBERS), 0);
			CU_ASSERT(group.outliers[7].distance > 100);
			CU_ASSERT(group.outliers[7].distance < 1e6);
			CU_ASSERT(group.outliers[7].found);
			CU_ASSERT_EQUAL(found_cnt(), 1);
		}
}

/* Members of hardly any samples beside a large one: no distance is below 0. */
static void test_thin(void)
{
	for (size_t h = 0; h < MEMBERS; h++)
		for (size_t i = 0; i <= EVENTS; i++)
			group.events[h][i] = (struct pathprof_event){.key_lo = i};
	for (size_t h = 0; h < MEMBERS; h++)
		group.events[h][h % 2].weight = group.events[h][h % 2].squares = 1;
	for (size_t i = 0; i < 2; i++)
		group.events[0][i].weight = group.events[0][i].squares = 30;
	CU_ASSERT_EQUAL(find(MEMBERS), 0);
	for (size_t h = 0; h < MEMBERS; h++)
		CU_ASSERT(group.outliers[h].distance >= 0 && group.outliers[h].distance < 100);
}

static void test_refused(void)
{
	make_group(0, 4000, 1);
	CU_ASSERT_EQUAL(find(PATHPROF_OUTLIERS_MEMBERS_MIN - 1), -ENODATA);
	CU_ASSERT_EQUAL(find(PATHPROF_OUTLIERS_MEMBERS_MIN), 0);
	CU_ASSERT_EQUAL(pathprof_outliers_find(group.outliers, group.members, MEMBERS, 0.6),
			-EINVAL);
	CU_ASSERT_EQUAL(pathprof_outliers_find(group.outliers, group.members, MEMBERS, NAN),
			-EINVAL);
	group.distributions[3].counted = false;
	CU_ASSERT_EQUAL(pathprof_outliers_find(group.outliers, group.members, MEMBERS, 0.05),
			-EDOM);
	for (size_t i = 0; i <= EVENTS; i++)
		group.events[5][i].weight = group.events[5][i].squares = 0;
	CU_ASSERT_EQUAL(find(MEMBERS), -EDOM);
	/* one event alone leaves nothing in which to differ */
	for (size_t h = 0; h < MEMBERS; h++)
		for (size_t i = 0; i <= EVENTS; i++)
			group.events[h][i].weight = group.events[h][i].squares = i ? 0 : 1000;
	CU_ASSERT_EQUAL(find(MEMBERS), -ENODATA);
}

static const struct unit_test tests[] = {
	{"members that only scatter are not named", test_alike},
	{"one whose flow moved is named, whatever the others scatter", test_moved},
	{"samples of one burst count once", test_bursts},
	{"one that differs in what all others always run is named", test_always},
	{"no distance is below 0 where samples are few", test_thin},
	{"what cannot be judged is refused", test_refused},
};
UNIT_SUITE(outliers, tests)
