// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tuples and loads are numbered as they come by two open-addressed tables; counts lie in arrays by
 * number, one row of profile_cnt each, so that an error is two passes over memory in order.
 */
#include "value_error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/vector.h"
#include "run.h"

#define EXECUTIONS_MIN 1000

/* Keys are numbered 0, 1, ... in order of arrival. */
struct numbering {
	uint64_t (*key)[2];
	uint32_t *counts; /* [number * profile_cnt + profile] */
	uint32_t cnt, room;
	struct pp_table table;
};

struct lab_values {
	size_t profile_cnt;
	struct numbering tuples, loads;
	uint32_t *load_of; /* tuple -> load; grows with the tuples' room */
	uint32_t load_room;
};

static uint64_t hash(uint64_t a, uint64_t b)
{
	return (a ^ (b + 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd) * 0xc4ceb9fe1a85ec53 >> 32;
}

static void *resize(void *memory, size_t cnt, size_t bytes)
{
	if (pp_array_resize(&memory, cnt, bytes) < 0)
		lab_fail("out of memory for %zu tuples", cnt);
	return memory;
}

static void grow(struct numbering *n, size_t profile_cnt)
{
	uint32_t room = n->room ? n->room * 2 : 1024;

	n->key = resize(n->key, room, sizeof(*n->key));
	n->counts = resize(n->counts, room * profile_cnt, sizeof(uint32_t));
	n->room = room;
}

static uint32_t number_of(struct numbering *n, size_t profile_cnt, uint64_t a, uint64_t b)
{
	uint32_t number =
		pp_table_find(&n->table, hash(a, b), i, n->key[i][0] == a && n->key[i][1] == b);

	if (number != PP_TABLE_NONE)
		return number;
	number = n->cnt++;
	if (number == n->room)
		grow(n, profile_cnt);
	n->key[number][0] = a;
	n->key[number][1] = b;
	if (pp_table_add(&n->table, hash(a, b), i, hash(n->key[i][0], n->key[i][1])) < 0)
		lab_fail("out of memory for %u tuples", n->cnt);
	memset(n->counts + number * profile_cnt, 0, profile_cnt * sizeof(uint32_t));
	return number;
}

struct lab_values *lab_values_new(size_t profile_cnt)
{
	struct lab_values *values = lab_alloc(1, sizeof(*values));

	values->profile_cnt = profile_cnt;
	return values;
}

static void release(struct numbering *n)
{
	free(n->key);
	free(n->counts);
	pp_table_release(&n->table);
}

void lab_values_free(struct lab_values *values)
{
	if (!values)
		return;
	release(&values->tuples);
	release(&values->loads);
	free(values->load_of);
	free(values);
}

void lab_values_add(struct lab_values *values, size_t profile, uint64_t pc, uint64_t word,
		    uint32_t count)
{
	size_t profile_cnt = values->profile_cnt;
	uint32_t known = values->tuples.cnt;
	uint32_t tuple = number_of(&values->tuples, profile_cnt, pc, word);

	if (values->load_room < values->tuples.room) {
		values->load_room = values->tuples.room;
		values->load_of = resize(values->load_of, values->load_room, sizeof(uint32_t));
	}
	if (tuple == known)
		values->load_of[tuple] = number_of(&values->loads, profile_cnt, pc, 0);
	values->tuples.counts[tuple * profile_cnt + profile] += count;
	values->loads.counts[values->load_of[tuple] * profile_cnt + profile] += count;
}

static const uint32_t *load_counts(const struct lab_values *values, uint32_t tuple)
{
	return values->loads.counts + values->load_of[tuple] * values->profile_cnt;
}

static bool invariant(const struct lab_values *values, uint32_t tuple)
{
	uint64_t own = values->tuples.counts[tuple * values->profile_cnt];
	uint64_t load = load_counts(values, tuple)[0];

	return load >= EXECUTIONS_MIN && own * 10 >= load;
}

/* By load: its executions in sufficiently invariant tuples. */
static uint64_t *covered(const struct lab_values *values)
{
	uint64_t *ret = lab_alloc(values->loads.cnt, sizeof(*ret));

	for (uint32_t i = 0; i < values->tuples.cnt; i++)
		if (invariant(values, i))
			ret[values->load_of[i]] += values->tuples.counts[i * values->profile_cnt];
	return ret;
}

static double invariance(uint32_t tuple, uint32_t load)
{
	return load ? (double)tuple / load : 0;
}

static void add_errors(const struct lab_values *values, uint32_t tuple, double *errors)
{
	const uint32_t *own = values->tuples.counts + tuple * values->profile_cnt;
	const uint32_t *load = load_counts(values, tuple);

	for (size_t p = 0; p < values->profile_cnt; p++)
		errors[p] +=
			own[0] * fabs(invariance(own[0], load[0]) - invariance(own[p], load[p]));
}

size_t lab_values_errors(struct lab_values *values, double *ret_errors)
{
	uint64_t *in_invariant = covered(values);
	double weight = 0;
	size_t selected = 0;

	memset(ret_errors, 0, values->profile_cnt * sizeof(*ret_errors));
	for (uint32_t i = 0; i < values->tuples.cnt; i++)
		if (invariant(values, i) && in_invariant[values->load_of[i]] * 10 >=
						    (uint64_t)load_counts(values, i)[0] * 4) {
			add_errors(values, i, ret_errors);
			weight += values->tuples.counts[i * values->profile_cnt];
			selected++;
		}
	for (size_t p = 0; p < values->profile_cnt; p++)
		ret_errors[p] = selected ? 100 * ret_errors[p] / weight : NAN;
	free(in_invariant);
	return selected;
}
