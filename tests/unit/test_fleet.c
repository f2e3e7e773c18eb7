// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fleets of made-up hosts of which the truth is known: a build whose flow moved on most of its
 * hosts is found and the function named, one that runs as the build before is not, however hosts
 * scatter, nor one that differs on a few of its hosts alone; of few hosts of one build none is
 * named when all only scatter. How often, the counts of many fleets say.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "pathprof/events.h"
#include "pathprof/fleet.h"
#include "test_store.h"
#include "unit.h"

#define EVENTS    30
#define HOSTS     40
#define FUNCTIONS 5
#define NOW       4 /* binaries of the world */
#define BEFORE    3

static uint64_t state;

/* Paths of a build as the store knows them. */
struct build {
	struct pathprof_build_id id;
	struct pathprof_portable_row rows[EVENTS];
	size_t cnt;
};

struct fleet {
	struct pathprof_store *store;
	struct build before, now;
	struct pathprof_fleet_member members[2][HOSTS];
	struct pathprof_fleet_group groups[2]; /* before, now */
};

static int take_path(void *context, const struct pathprof_path_row *row)
{
	static const char *const names[FUNCTIONS] = {"zero", "one", "two", "three", "four"};
	struct build *build = context;
	size_t i = build->cnt;

	if (i == EVENTS)
		return 0;
	build->rows[build->cnt++] = (struct pathprof_portable_row){
		.start = row->start,
		.length = row->length,
		.outcomes = row->outcomes,
		.function = 1000 + i % FUNCTIONS,
		.place = i,
		.function_name = names[i % FUNCTIONS],
	};
	return 0;
}

static void name_build(struct pathprof_store *store, struct build *build, uint32_t binary)
{
	static const uint64_t keys[FUNCTIONS] = {1000, 1001, 1002, 1003, 1004};

	*build = (struct build){.id = world_binary_id(binary)};
	CU_ASSERT_EQUAL(pathprof_store_known_paths(store, &build->id, take_path, build, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(build->cnt, EVENTS);
	CU_ASSERT_EQUAL(
		pathprof_store_add_portable(store, &build->id, build->rows, build->cnt, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_set_function_keys(store, &build->id, keys, FUNCTIONS, NULL),
			0);
}

static struct fleet *make_fleet(void)
{
	struct fleet *fleet = calloc(1, sizeof(*fleet));

	CU_ASSERT_PTR_NOT_NULL_FATAL(fleet);
	fleet->store = world_open(world_file(unit_tmpdir(), "fleet.db"), PATHPROF_STORE_WRITE);
	world_fill(fleet->store, 1, 4, 2000);
	name_build(fleet->store, &fleet->before, BEFORE);
	name_build(fleet->store, &fleet->now, NOW);
	for (int i = 0; i < 2; i++)
		fleet->groups[i] =
			(struct pathprof_fleet_group){.id = i ? fleet->now.id : fleet->before.id,
						      .name = (char *)(uintptr_t) "/srv/shop",
						      .members = fleet->members[i]};
	return fleet;
}

static void clear(struct fleet *fleet)
{
	for (int i = 0; i < 2; i++) {
		for (size_t h = 0; h < fleet->groups[i].member_cnt; h++)
			pathprof_tally_release(&fleet->members[i][h].tally);
		fleet->groups[i].member_cnt = 0;
		fleet->groups[i].judged = false;
	}
}

static void free_fleet(struct fleet *fleet)
{
	clear(fleet);
	pathprof_store_free(fleet->store);
	free(fleet);
}

/* Shares of 1/i that scatter from host to host; a part of the flow goes to one event. */
static void add_host(struct fleet *fleet, int which, double scatter, double samples, double moved)
{
	const struct build *build = which ? &fleet->now : &fleet->before;
	struct pathprof_fleet_group *group = &fleet->groups[which];
	struct pathprof_fleet_member *member = &group->members[group->member_cnt++];
	double shares[EVENTS], sum = 0;

	*member = (struct pathprof_fleet_member){.host = "host"};
	for (size_t i = 0; i < EVENTS; i++) {
		shares[i] = exp(scatter * chance_normal(&state)) / (double)(i + 1);
		sum += shares[i];
	}
	for (size_t i = 0; i < EVENTS; i++) {
		double mean =
			samples * shares[i] / sum * (1 - moved) + (i == 12 ? samples * moved : 0);
		double cnt = floor(fmax(mean + sqrt(mean) * chance_normal(&state), 0) + 0.5);
		const struct pathprof_worth seen = {cnt, cnt, cnt, cnt};
		struct pathprof_event key;

		pathprof_event_of_path(&key, pathprof_event_group(&build->id), build->rows[i].start,
				       build->rows[i].length, build->rows[i].outcomes, 0);
		CU_ASSERT_EQUAL(pathprof_tally_append(&member->tally, &key, &seen, false), 0);
	}
	CU_ASSERT_EQUAL(pathprof_tally_sort(&member->tally), 0);
	member->distribution = pathprof_tally_distribution(&member->tally);
}

static double weight_of(const struct build *build, const struct pathprof_fleet_member *member,
			const char *function)
{
	double weight = 0;

	for (size_t i = 0; i < build->cnt; i++) {
		const struct pathprof_portable_row *row = &build->rows[i];
		struct pathprof_event key;

		pathprof_event_of_path(&key, pathprof_event_group(&build->id), row->start,
				       row->length, row->outcomes, 0);
		for (size_t e = 0; e < member->tally.cnt; e++)
			if (member->tally.events[e].key_lo == key.key_lo &&
			    !strcmp(row->function_name, function))
				weight += member->tally.events[e].weight;
	}
	return weight;
}

#define NOBODY SIZE_MAX

/* The share of all paths of a function: of one member, or of all others together. */
static double share_of(const struct build *build, const struct pathprof_fleet_group *group,
		       size_t member, bool others, const char *function)
{
	double weight = 0, total = 0;

	for (size_t i = 0; i < group->member_cnt; i++) {
		if ((i != member) != others)
			continue;
		weight += weight_of(build, &group->members[i], function);
		total += group->members[i].tally.total;
	}
	return weight / total;
}

/* Hosts of both builds; so many of those of the new one have a tenth of their flow moved. */
static struct pathprof_release_verdict judge(struct fleet *fleet, size_t before, size_t now,
					     double scatter, size_t moved)
{
	struct pathprof_release_verdict verdict;

	clear(fleet);
	for (size_t h = 0; h < before; h++)
		add_host(fleet, 0, scatter, 1000, 0);
	for (size_t h = 0; h < now; h++)
		add_host(fleet, 1, scatter, 1000, h < moved ? 0.1 : 0);
	CU_ASSERT_EQUAL(pathprof_release_judge(&verdict, fleet->store, &fleet->groups[1],
					       &fleet->groups[0], NULL),
			0);
	return verdict;
}

static size_t found_of(struct fleet *fleet, size_t rounds, size_t hosts, double scatter,
		       size_t moved)
{
	size_t found = 0;

	for (size_t i = 0; i < rounds; i++) {
		struct pathprof_release_verdict v = judge(fleet, hosts, hosts, scatter, moved);

		CU_ASSERT(v.judged);
		CU_ASSERT_DOUBLE_EQUAL(v.matched, 1, 1e-9);
		found += v.found;
	}
	return found;
}

/* Little is caught where hosts scatter by a third: docs/fleet.md has it. */
static void test_release(void)
{
	static const double scatters[] = {0, 0.1, 0.2, 0.3};
	struct fleet *fleet = make_fleet();
	size_t rounds = unit_rounds(8, 1000);

	state = CHANCE_SEED;
	for (size_t i = 0; i < sizeof(scatters) / sizeof(scatters[0]); i++)
		for (size_t hosts = 5; hosts <= 20; hosts *= 2) {
			size_t wrong = found_of(fleet, rounds, hosts, scatters[i], 0);
			size_t caught = found_of(fleet, rounds, hosts, scatters[i], hosts);

			CU_ASSERT(wrong <= rounds / 100);
			CU_ASSERT(scatters[i] > 0.1 || caught >= rounds * 9 / 10);
			CU_ASSERT(scatters[i] > 0.2 || hosts < 10 || caught >= rounds * 3 / 4);
			if (rounds >= 100)
				printf("fleet: scatter %.1f, %zu hosts: %zu of %zu found, %zu "
				       "wrongly\n",
				       scatters[i], hosts, caught, rounds, wrong);
		}
	free_fleet(fleet);
}

static void test_verdict(void)
{
	struct fleet *fleet = make_fleet();
	struct pathprof_release_verdict v;

	state = CHANCE_SEED;
	v = judge(fleet, 6, 9, 0.1, 9);
	CU_ASSERT(v.judged && v.found);
	CU_ASSERT_EQUAL(v.hosts, 9);
	CU_ASSERT_EQUAL(v.before_hosts, 6);
	CU_ASSERT_EQUAL(v.out, 9);
	CU_ASSERT(v.low_bits > 0 && v.bits > v.low_bits && v.high_bits > v.bits);
	CU_ASSERT(v.usual_bits < v.bits / 4);
	CU_ASSERT_FATAL(v.moved_cnt > 0);
	/* event 12 is of the third function */
	CU_ASSERT_STRING_EQUAL(v.moved[0].name, "two");
	CU_ASSERT(v.moved[0].now > v.moved[0].before + 0.05);
	for (size_t i = 0; i < v.moved_cnt; i++) {
		const struct pathprof_fleet_moved *moved = &v.moved[i];

		CU_ASSERT_DOUBLE_EQUAL(
			moved->before,
			share_of(&fleet->before, &fleet->groups[0], NOBODY, true, moved->name),
			1e-9);
		CU_ASSERT_DOUBLE_EQUAL(
			moved->now,
			share_of(&fleet->now, &fleet->groups[1], NOBODY, true, moved->name), 1e-9);
	}
	/* fewer than half of the hosts */
	v = judge(fleet, 6, 9, 0.1, 4);
	CU_ASSERT(v.judged && !v.found);
	CU_ASSERT_EQUAL(v.out, 4);
	/* how two hosts scatter is not seen */
	CU_ASSERT(!judge(fleet, 2, 9, 0.1, 9).judged);
	CU_ASSERT(!judge(fleet, 6, 0, 0.1, 0).judged);
	/* the most members: some are left out */
	v = judge(fleet, HOSTS, HOSTS, 0.1, HOSTS);
	CU_ASSERT_EQUAL(v.hosts, PATHPROF_RELEASE_MEMBERS_MAX);
	CU_ASSERT(v.found);
	free_fleet(fleet);
}

/* Builds of which no host said which functions they have. */
static void test_nameless(void)
{
	struct fleet *fleet = make_fleet();

	state = CHANCE_SEED;
	fleet->now.id = fleet->groups[1].id = world_binary_id(5);
	CU_ASSERT(!judge(fleet, 6, 6, 0, 6).judged);
	free_fleet(fleet);
}

/* Few hosts are held each against each. */
static void test_hosts(void)
{
	struct fleet *fleet = make_fleet();
	struct pathprof_fleet_moved moved[PATHPROF_FLEET_MOVED_MAX];
	struct pathprof_fleet_group *group = &fleet->groups[0];
	size_t rounds = unit_rounds(100, 1000), wrong = 0, cnt = 0;

	state = CHANCE_SEED;
	for (size_t i = 0; i < rounds; i++) {
		clear(fleet);
		for (size_t h = 0; h < 6; h++)
			add_host(fleet, 0, 0.1, 1000, 0);
		CU_ASSERT_EQUAL(pathprof_fleet_group_judge(group), 0);
		for (size_t h = 0; h < 6; h++)
			wrong += group->members[h].verdict.found;
	}
	CU_ASSERT(wrong <= rounds / 50);
	clear(fleet);
	for (size_t h = 0; h < 6; h++)
		add_host(fleet, 0, 0.1, 1000, h == 2 ? 0.2 : 0);
	CU_ASSERT_EQUAL(pathprof_fleet_group_judge(group), 0);
	for (size_t h = 0; h < 6; h++)
		CU_ASSERT_EQUAL(group->members[h].verdict.found, h == 2);
	CU_ASSERT_EQUAL(pathprof_fleet_moved(moved, &cnt, fleet->store, group, 2, NULL), 0);
	CU_ASSERT_FATAL(cnt > 0);
	CU_ASSERT_STRING_EQUAL(moved[0].name, "two");
	CU_ASSERT(moved[0].now > moved[0].before + 0.1);
	for (size_t i = 0; i < cnt; i++) {
		CU_ASSERT_DOUBLE_EQUAL(moved[i].before,
				       share_of(&fleet->before, group, 2, true, moved[i].name),
				       1e-9);
		CU_ASSERT_DOUBLE_EQUAL(moved[i].now,
				       share_of(&fleet->before, group, 2, false, moved[i].name),
				       1e-9);
	}
	clear(fleet);
	for (size_t h = 0; h < 2; h++)
		add_host(fleet, 0, 0.1, 1000, 0);
	CU_ASSERT_EQUAL(pathprof_fleet_group_judge(group), 0);
	CU_ASSERT(!group->judged);
	free_fleet(fleet);
}

static const struct unit_test tests[] = {
	{"builds that run otherwise are found, and no others", test_release},
	{"a verdict says on how many hosts, by how much and in what", test_verdict},
	{"builds without names are not judged", test_nameless},
	{"of few hosts the odd one is found", test_hosts},
};
UNIT_SUITE(fleet, tests)
