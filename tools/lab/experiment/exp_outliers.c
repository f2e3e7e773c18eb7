// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How outliers.h does on made-up fleets whose truth is known (docs/fleet.md): a hundredth of the
 * hosts, one at least, have 10 % of their flow moved to one event; all others differ by as much as
 * hosts are made to scatter. Beside it stands the verdict of a test against chance alone: relative
 * entropy from all others, its interval's low end above 0.
 *
 * No program runs and nothing is traced: seeds are fixed, so the tables are the same everywhere.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../drift/world.h"
#include "experiment.h"
#include "pathprof/drift.h"
#include "pathprof/outliers.h"

#define EVENTS     200
#define EVENTS_MAX (EVENTS + 10) /* a moved world may have ten more */
#define FLOW       0.1
#define ODD_IN     100 /* one host of so many */
#define UNEVEN     5   /* a host has 1 to 3 times the fewest samples, in so many steps */
#define CONFIDENCE 0.9999

struct fleet {
	size_t cnt, odd_cnt;
	double scatter;
	uint64_t samples;
	struct pathprof_event *events; /* [cnt + 1][EVENTS_MAX], the last for sums */
	struct pathprof_distribution *hosts;
	const struct pathprof_distribution **members;
	struct pathprof_outlier *outliers;
};

/* Sums over all trials. */
struct verdicts {
	size_t trials, odd, caught, wrong;
	double wrong_share; /* sum over trials: the share of named hosts that were named wrongly */
	size_t chance_caught, chance_wrong;
};

static void *allocate(size_t cnt, size_t size)
{
	void *memory = calloc(cnt, size);

	if (!memory)
		lab_fail("outliers: out of memory");
	return memory;
}

static void check(int r)
{
	if (r < 0)
		lab_fail("outliers: %s", strerror(-r));
}

/* ---------------------------------------------------------------- a fleet */

static void draw_host(struct fleet *f, const struct lab_world *program, size_t host,
		      uint64_t *random)
{
	struct pathprof_event *events = &f->events[host * EVENTS_MAX];
	uint64_t samples = f->samples + f->samples * (host % UNEVEN) * 2 / (UNEVEN - 1);
	struct lab_world own, moved = {0};

	check(lab_world_init_varied(&own, program, f->scatter, random));
	check(lab_world_init_moved(&moved, &own, host < f->odd_cnt ? LAB_MOVE_OTHER : LAB_MOVE_NONE,
				   FLOW));
	lab_world_draw(&moved, samples, 1, random, events);
	check(pathprof_distribution_init(&f->hosts[host], events, moved.cnt));
	f->members[host] = &f->hosts[host];
	lab_world_release(&own);
	lab_world_release(&moved);
}

static void fleet_init(struct fleet *f)
{
	f->odd_cnt = f->cnt > ODD_IN ? f->cnt / ODD_IN : 1;
	f->events = allocate((f->cnt + 1) * EVENTS_MAX, sizeof(*f->events));
	f->hosts = allocate(f->cnt, sizeof(*f->hosts));
	f->members = allocate(f->cnt, sizeof(*f->members));
	f->outliers = allocate(f->cnt, sizeof(*f->outliers));
}

static void fleet_release(struct fleet *f)
{
	free(f->events);
	free(f->hosts);
	free(f->members);
	free(f->outliers);
}

/* ---------------------------------------------------------------- two tests */

static void test_outliers(struct fleet *f, struct verdicts *v)
{
	size_t caught = 0, wrong = 0;

	check(pathprof_outliers_find(f->outliers, f->members, f->cnt, 0.05));
	for (size_t h = 0; h < f->cnt; h++) {
		caught += h < f->odd_cnt && f->outliers[h].found;
		wrong += h >= f->odd_cnt && f->outliers[h].found;
	}
	v->trials++;
	v->odd += f->odd_cnt;
	v->caught += caught;
	v->wrong += wrong;
	v->wrong_share += wrong ? (double)wrong / (double)(wrong + caught) : 0;
}

/* Adds up the samples of all hosts but one. Every world here has the same events in the same
 * order. */
static void sum_others(struct fleet *f, size_t without, struct pathprof_distribution *ret_rest)
{
	struct pathprof_event *sum = &f->events[f->cnt * EVENTS_MAX];

	memcpy(sum, f->hosts[without].events, EVENTS * sizeof(*sum));
	for (size_t i = 0; i < EVENTS; i++)
		sum[i].weight = sum[i].squares = 0;
	for (size_t h = 0; h < f->cnt; h++)
		for (size_t i = 0; h != without && i < EVENTS; i++)
			sum[i].weight += f->hosts[h].events[i].weight;
	check(pathprof_distribution_init(ret_rest, sum, EVENTS));
}

static void test_chance(struct fleet *f, struct verdicts *v)
{
	struct pathprof_drift_settings settings = pathprof_drift_defaults;

	settings.replicates = 0;
	settings.confidence = CONFIDENCE;
	for (size_t h = 0; h < f->cnt; h++) {
		struct pathprof_distribution rest;
		struct pathprof_drift drift;

		sum_others(f, h, &rest);
		check(pathprof_drift_measure(&drift, &f->hosts[h], &rest, &settings));
		v->chance_caught += h < f->odd_cnt && drift.kl_low_bits > 0;
		v->chance_wrong += h >= f->odd_cnt && drift.kl_low_bits > 0;
	}
}

/* ---------------------------------------------------------------- the table */

static struct verdicts try(size_t hosts, double scatter, uint64_t samples, bool small)
{
	struct fleet f = {.cnt = hosts, .scatter = scatter, .samples = samples};
	uint64_t random = 1000 * hosts + samples + (uint64_t)(100 * scatter);
	size_t trials = (small ? 4000 : 40000) / hosts;
	struct verdicts v = {0};
	struct lab_world program;

	fleet_init(&f);
	check(lab_world_init(&program, LAB_WORLD_ZIPF, EVENTS));
	for (size_t i = 0; i < trials; i++) {
		for (size_t h = 0; h < f.cnt; h++)
			draw_host(&f, &program, h, &random);
		test_outliers(&f, &v);
		if (!i)
			test_chance(&f, &v);
	}
	lab_world_release(&program);
	fleet_release(&f);
	return v;
}

static const char *const columns[] = {"trials", "caught %", "of those named, wrong %",
				      "by chance alone: caught %", "wrong, hosts"};

static void add_row(struct lab_table *table, const char *label, const struct verdicts *v,
		    double *least_caught, double *most_wrong)
{
	double caught = 100.0 * (double)v->caught / (double)v->odd;
	double wrong = 100 * v->wrong_share / (double)v->trials;
	double odd_a_trial = (double)v->odd / (double)v->trials;

	*least_caught = fmin(*least_caught, caught);
	*most_wrong = fmax(*most_wrong, wrong);
	lab_table_add(table, label,
		      (const double[]){(double)v->trials, caught, wrong,
				       100.0 * (double)v->chance_caught / odd_a_trial,
				       (double)v->chance_wrong});
}

static void say(struct lab_run *run, const char *what, double ours, double aim, bool at_most)
{
	lab_headline(run, &(struct lab_headline){.what = what,
						 .paper = "-",
						 .ours = ours,
						 .unit = "%",
						 .aim = aim,
						 .at_most = at_most});
}

static void run(struct lab_run *run)
{
	static const size_t hosts[] = {20, 50, 200, 1000};
	static const double scatters[] = {0, 0.1, 0.2, 0.3};
	static const uint64_t samples[] = {1000, 5000};
	double least_caught = 100, most_wrong = 0;
	struct lab_table *table = lab_table_new(
		"outliers",
		"Outliers of made-up fleets: 10 % of the flow moved to one event on a hundredth of "
		"the hosts, 1/i of 200 events",
		"hosts, scatter, samples", columns, sizeof(columns) / sizeof(columns[0]));

	lab_table_set_decimals(table, 0, 0);
	lab_table_set_decimals(table, 4, 0);
	for (size_t i = 0; i < 4 * 4 * 2; i++) {
		size_t cnt = hosts[i / 8];
		double scatter = scatters[i / 2 % 4];
		struct verdicts v = try(cnt, scatter, samples[i % 2], lab_run_small(run));
		char label[64];

		snprintf(label, sizeof(label), "%zu, %.0f %%, %llu to %llu", cnt, 100 * scatter,
			 (unsigned long long)samples[i % 2],
			 3ull * (unsigned long long)samples[i % 2]);
		add_row(table, label, &v, &least_caught, &most_wrong);
	}
	lab_table_write(run, table);
	lab_table_free(table);
	say(run, "outliers caught, worst fleet", least_caught, 99, false);
	say(run, "outliers wrongly named, of those named, worst fleet", most_wrong, 10, true);
}

const struct lab_experiment exp_outliers = {
	"outliers", "hosts of a fleet that behave otherwise than the rest", "outliers.h", run};
