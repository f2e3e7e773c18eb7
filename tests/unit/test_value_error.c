// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The error of value profiles (RPS 5.3.1) against an oracle that follows the paper sentence by
 * sentence over a list of tuples, and against figures worked out by hand.
 */
#include "../../tools/lab/experiment/value_error.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define ORACLE_TUPLES 4096

struct oracle {
	struct {
		uint64_t pc, word, ideal, profiled;
	} tuples[ORACLE_TUPLES];
	size_t cnt;
};

static void oracle_add(struct oracle *o, bool profiled, uint64_t pc, uint64_t word, uint64_t count)
{
	size_t i = 0;

	while (i < o->cnt && (o->tuples[i].pc != pc || o->tuples[i].word != word))
		i++;
	if (i == o->cnt) {
		CU_ASSERT_FATAL(o->cnt < ORACLE_TUPLES);
		o->cnt++;
		o->tuples[i].pc = pc;
		o->tuples[i].word = word;
	}
	*(profiled ? &o->tuples[i].profiled : &o->tuples[i].ideal) += count;
}

static double oracle_load(const struct oracle *o, uint64_t pc, bool profiled)
{
	double sum = 0;

	for (size_t i = 0; i < o->cnt; i++)
		if (o->tuples[i].pc == pc)
			sum += (double)(profiled ? o->tuples[i].profiled : o->tuples[i].ideal);
	return sum;
}

static bool oracle_invariant(const struct oracle *o, size_t i)
{
	return (double)o->tuples[i].ideal >= 0.1 * oracle_load(o, o->tuples[i].pc, false);
}

static double oracle_covered(const struct oracle *o, uint64_t pc)
{
	double sum = 0;

	for (size_t i = 0; i < o->cnt; i++)
		if (o->tuples[i].pc == pc && oracle_invariant(o, i))
			sum += (double)o->tuples[i].ideal;
	return sum;
}

static double oracle_error(const struct oracle *o, size_t *ret_selected)
{
	double sum = 0, weight = 0;

	*ret_selected = 0;
	for (size_t i = 0; i < o->cnt; i++) {
		uint64_t pc = o->tuples[i].pc;
		double load = oracle_load(o, pc, false), sampled = oracle_load(o, pc, true);
		double ideal = (double)o->tuples[i].ideal;

		if (load < 1000 || !oracle_invariant(o, i) || oracle_covered(o, pc) < 0.4 * load)
			continue;
		sum += ideal * fabs(ideal / load -
				    (sampled > 0 ? (double)o->tuples[i].profiled / sampled : 0));
		weight += ideal;
		++*ret_selected;
	}
	return *ret_selected ? 100 * sum / weight : NAN;
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 16;
}

/* Loads of every sort: rare, of one value, of a few, of many; their profile by 1 in 16. */
static void made_up(struct oracle *o, struct lab_values *values, uint64_t seed)
{
	uint64_t state = seed;

	for (int i = 0; i < 60000; i++) {
		uint64_t load = draw(&state) % 24;
		uint64_t word = draw(&state) % (load + 1) * (draw(&state) % 3);

		if (load > 20 && draw(&state) % 8)
			continue;
		oracle_add(o, false, load, word, 1);
		lab_values_add(values, 0, load, word, 1);
		if (draw(&state) % 16 == 0) {
			oracle_add(o, true, load, word, 16);
			lab_values_add(values, 1, load, word, 16);
		}
	}
}

static double difference_to_oracle(uint64_t seed, bool fault)
{
	struct oracle *o = calloc(1, sizeof(*o));
	struct lab_values *values = lab_values_new(2);
	double errors[2], expected;
	size_t selected, expected_selected;

	if (!o)
		abort();
	made_up(o, values, seed);
	if (fault)
		lab_values_add(values, 1, 1, 0, 400);
	selected = lab_values_errors(values, errors);
	expected = oracle_error(o, &expected_selected);
	CU_ASSERT(selected == expected_selected && selected > 5);
	CU_ASSERT(errors[0] == 0);
	CU_ASSERT(expected > 0);
	lab_values_free(values);
	free(o);
	return fabs(errors[1] - expected);
}

static void test_oracle(void)
{
	for (uint64_t seed = 1; seed <= 6; seed++)
		CU_ASSERT(difference_to_oracle(seed * 77, false) < 1e-9);
}

static void test_fault(void)
{
	CU_ASSERT(difference_to_oracle(77, true) > 1e-3);
}

static void test_by_hand(void)
{
	struct lab_values *values = lab_values_new(2);
	double errors[2];

	/* 60 % and 40 % in truth, 50 % and 50 % profiled: 10 % off each. */
	lab_values_add(values, 0, 1, 7, 600);
	lab_values_add(values, 0, 1, 8, 400);
	lab_values_add(values, 1, 1, 7, 256);
	lab_values_add(values, 1, 1, 8, 256);
	CU_ASSERT(lab_values_errors(values, errors) == 2);
	CU_ASSERT_DOUBLE_EQUAL(errors[1], 10, 1e-9);
	lab_values_free(values);
}

static void test_never_profiled(void)
{
	struct lab_values *values = lab_values_new(2);
	double errors[2];

	lab_values_add(values, 0, 1, 7, 1000);
	lab_values_add(values, 1, 2, 7, 500);
	CU_ASSERT(lab_values_errors(values, errors) == 1);
	CU_ASSERT_DOUBLE_EQUAL(errors[1], 100, 1e-9);
	lab_values_free(values);
}

/* Just under and at each of the three thresholds. */
static void test_thresholds(void)
{
	static const struct {
		uint32_t hot, warm, rest; /* executions: one value, another, values all different */
		size_t selected;
	} cases[] = {{999, 0, 0, 0},   {1000, 0, 0, 1},  {950, 100, 0, 1},  {900, 100, 0, 2},
		     {399, 0, 601, 0}, {400, 0, 600, 1}, {300, 100, 600, 2}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lab_values *values = lab_values_new(1);
		double errors[1];

		lab_values_add(values, 0, 5, 0, cases[i].hot);
		if (cases[i].warm)
			lab_values_add(values, 0, 5, 1, cases[i].warm);
		for (uint32_t k = 0; k < cases[i].rest; k++)
			lab_values_add(values, 0, 5, 100 + k, 1);
		CU_ASSERT(lab_values_errors(values, errors) == cases[i].selected);
		CU_ASSERT(cases[i].selected ? errors[0] == 0 : isnan(errors[0]));
		lab_values_free(values);
	}
}

static const struct unit_test tests[] = {
	{"agrees with a naive oracle", test_oracle},
	{"a wrong count is seen", test_fault},
	{"is what the paper's formula gives by hand", test_by_hand},
	{"a load never profiled is wholly wrong", test_never_profiled},
	{"selects by the paper's three thresholds", test_thresholds},
};
UNIT_SUITE(value_error, tests)
