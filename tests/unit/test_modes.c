// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Modes of made-up hosts, of which it is known who runs a build in which way: hosts that only
 * scatter are one mode, others are told apart, in whatever order they come.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "pathprof/fleet.h"
#include "unit.h"

#define HOSTS_MAX  200
#define EVENTS_MAX 200

static uint64_t state;

struct made {
	struct pathprof_fleet_member members[HOSTS_MAX];
	struct pathprof_event events[HOSTS_MAX][EVENTS_MAX];
	int truth[HOSTS_MAX];
	struct pathprof_fleet_group group;
};

/* How hosts are made: shares of 1/i, scattered, and a part of the flow moved to an event of the
 * mode's own. */
struct kind {
	size_t events, hosts;
	double scatter, samples, moved;
};

static void add_host(struct made *made, const struct kind *kind, int mode, double samples)
{
	size_t at = made->group.member_cnt++, own = (size_t)(3 + 4 * mode) % kind->events;
	double shares[EVENTS_MAX], sum = 0;

	for (size_t i = 0; i < kind->events; i++) {
		shares[i] = exp(kind->scatter * chance_normal(&state)) / (double)(i + 1);
		sum += shares[i];
	}
	for (size_t i = 0; i < kind->events; i++) {
		double moved = mode ? kind->moved : 0;
		double mean = samples * (shares[i] / sum * (1 - moved) + (i == own ? moved : 0));
		double cnt = floor(fmax(mean + sqrt(mean) * chance_normal(&state), 0) + 0.5);

		made->events[at][i] = (struct pathprof_event){1, i, cnt, cnt};
	}
	made->truth[at] = mode;
	made->members[at] = (struct pathprof_fleet_member){.host = "host", .weight = samples};
	CU_ASSERT_EQUAL(pathprof_distribution_init(&made->members[at].distribution,
						   made->events[at], kind->events),
			0);
}

/* Finds modes in a fleet that has so many, with hosts of each in turn. */
static struct pathprof_modes find(struct made *made, const struct kind *kind, int modes)
{
	struct pathprof_modes found;

	made->group = (struct pathprof_fleet_group){.members = made->members};
	for (size_t i = 0; i < kind->hosts; i++)
		add_host(made, kind, (int)(i % (size_t)modes),
			 kind->samples * (0.5 + (double)(i % 5) / 4));
	CU_ASSERT_EQUAL(pathprof_modes_find(&found, &made->group), 0);
	return found;
}

/* Any two hosts are of one mode if and only if they are so in truth. */
static bool is_right(const struct made *made, const struct pathprof_modes *found, size_t modes)
{
	if (found->cnt != modes || found->alone_cnt)
		return false;
	for (size_t i = 0; i < made->group.member_cnt; i++)
		for (size_t j = 0; j < i; j++)
			if ((found->mode_of[i] == found->mode_of[j]) !=
			    (made->truth[i] == made->truth[j]))
				return false;
	return true;
}

static size_t right_of(struct made *made, const struct kind *kind, int modes, size_t rounds)
{
	size_t right = 0;

	for (size_t i = 0; i < rounds; i++) {
		struct pathprof_modes found = find(made, kind, modes);

		right += is_right(made, &found, (size_t)modes);
		pathprof_modes_release(&found);
	}
	if (rounds >= 100 || right < rounds)
		printf("modes: %zu hosts, %zu events, scatter %.1f, %.0f samples, %.1f moved: %d "
		       "found in %zu of %zu\n",
		       kind->hosts, kind->events, kind->scatter, kind->samples, kind->moved, modes,
		       right, rounds);
	return right;
}

static void test_one(void)
{
	static const struct kind kinds[] = {
		{200, 4, 0.2, 1000, 0},  {200, 50, 0.2, 1000, 0}, {30, 6, 0.3, 1000, 0},
		{30, 20, 0.3, 5000, 0},  {200, 20, 0, 60, 0},     {30, 10, 0, 5000, 0},
		{200, 20, 0.3, 5000, 0},
	};
	struct made *made = calloc(1, sizeof(*made));
	size_t rounds = unit_rounds(5, 200);

	CU_ASSERT_PTR_NOT_NULL_FATAL(made);
	state = CHANCE_SEED;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		CU_ASSERT(right_of(made, &kinds[i], 1, rounds) >= rounds - rounds / 40);
	free(made);
}

static void test_several(void)
{
	static const struct kind kinds[] = {
		{200, 10, 0.1, 5000, 0.3}, {200, 24, 0.2, 5000, 0.3}, {200, 24, 0.3, 5000, 0.5},
		{200, 60, 0.2, 1000, 0.5}, {30, 24, 0.1, 5000, 0.2},
	};
	struct made *made = calloc(1, sizeof(*made));
	size_t rounds = unit_rounds(5, 200);

	CU_ASSERT_PTR_NOT_NULL_FATAL(made);
	state = CHANCE_SEED;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (int modes = 2; modes <= 3; modes++)
			CU_ASSERT(right_of(made, &kinds[i], modes, rounds) >= rounds * 9 / 10);
	free(made);
}

/* The heaviest first; a host that is like no other is of none. */
static void test_order(void)
{
	const struct kind kind = {100, 0, 0.1, 5000, 0.4};
	struct made *made = calloc(1, sizeof(*made));
	struct pathprof_modes found;

	CU_ASSERT_PTR_NOT_NULL_FATAL(made);
	state = CHANCE_SEED;
	made->group.members = made->members;
	for (int i = 0; i < 12; i++)
		add_host(made, &kind, i < 3 ? 1 : 0, i < 3 ? 30000 : 5000);
	add_host(made, &kind, 5, 5000);
	CU_ASSERT_EQUAL(pathprof_modes_find(&found, &made->group), 0);
	CU_ASSERT_EQUAL_FATAL(found.cnt, 2);
	CU_ASSERT_EQUAL(found.alone_cnt, 1);
	CU_ASSERT_EQUAL(found.mode_of[12], -1);
	CU_ASSERT_EQUAL(found.mode_of[0], 0);
	CU_ASSERT_EQUAL(found.mode_of[11], 1);
	CU_ASSERT_EQUAL(found.list[0].host_cnt, 3);
	CU_ASSERT_EQUAL(found.list[1].host_cnt, 9);
	CU_ASSERT_DOUBLE_EQUAL(found.list[0].share, 90.0 / 140, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(found.list[1].share, 45.0 / 140, 1e-9);
	CU_ASSERT(found.list[0].bits > 0.3 && found.list[0].bits < 3);
	pathprof_modes_release(&found);
	made->group.member_cnt = 3;
	CU_ASSERT_EQUAL(pathprof_modes_find(&found, &made->group), 0);
	CU_ASSERT_EQUAL(found.cnt, 0);
	pathprof_modes_release(&found);
	free(made);
}

static const struct unit_test tests[] = {
	{"hosts that only scatter are one mode", test_one},
	{"hosts that run in several ways are told apart", test_several},
	{"modes by weight, and who is alone", test_order},
};
UNIT_SUITE(modes, tests)
