// SPDX-License-Identifier: GPL-2.0-or-later
/* Weights by path; see profile.h. */
#include "profile.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "../lab.h"

void lab_profile_init(struct lab_profile *p, size_t column_cnt)
{
	*p = (struct lab_profile){.column_cnt = column_cnt};
}

void lab_profile_release(struct lab_profile *p)
{
	free(p->keys);
	free(p->weights);
	pp_table_release(&p->numbers);
	*p = (struct lab_profile){.keys = NULL};
}

void lab_profile_clear(struct lab_profile *p)
{
	pp_table_clear(&p->numbers);
	p->cnt = 0;
}

static size_t hash(const struct lab_path_key *key)
{
	uint64_t h = key->start * 0x9e3779b97f4a7c15ULL;

	h ^= ((uint64_t)key->length << 32 | key->outcomes) + (h >> 29);
	h *= 0xbf58476d1ce4e5b9ULL;
	return (size_t)(h ^ h >> 31);
}

static bool same(const struct lab_path_key *a, const struct lab_path_key *b)
{
	return a->start == b->start && a->length == b->length && a->outcomes == b->outcomes;
}

static uint32_t find(const struct lab_profile *p, const struct lab_path_key *key)
{
	return pp_table_find(&p->numbers, hash(key), i, same(&p->keys[i], key));
}

static void make_room(struct lab_profile *p)
{
	size_t weight_room = p->room * p->column_cnt;

	if (pp_grow(&p->keys, p->cnt, &p->room) < 0 ||
	    pp_reserve(&p->weights, p->room * p->column_cnt, &weight_room) < 0)
		lab_fail("profile: out of memory");
}

double *lab_profile_at(struct lab_profile *p, const struct lab_path_key *key)
{
	uint32_t number = find(p, key);

	if (number == PP_TABLE_NONE) {
		make_room(p);
		number = (uint32_t)p->cnt++;
		p->keys[number] = *key;
		memset(p->weights + number * p->column_cnt, 0,
		       p->column_cnt * sizeof(p->weights[0]));
		if (pp_table_add(&p->numbers, hash(key), i, hash(&p->keys[i])) < 0)
			lab_fail("profile: out of memory");
	}
	return &p->weights[number * p->column_cnt];
}

const double *lab_profile_find(const struct lab_profile *p, const struct lab_path_key *key)
{
	uint32_t number = find(p, key);

	return number == PP_TABLE_NONE ? NULL : &p->weights[number * p->column_cnt];
}

double lab_profile_total(const struct lab_profile *p, size_t column)
{
	double sum = 0;

	for (size_t i = 0; i < p->cnt; i++)
		sum += p->weights[i * p->column_cnt + column];
	return sum;
}

void lab_profile_cumulate(struct lab_profile *p, size_t run_cnt)
{
	for (size_t i = 0; i < p->cnt; i++) {
		double *w = &p->weights[i * p->column_cnt];

		for (size_t c = 1; c < p->column_cnt; c++)
			if (c % run_cnt)
				w[c] += w[c - 1];
	}
}

double lab_profile_overlap(const struct lab_profile *a, size_t a_column,
			   const struct lab_profile *b, size_t b_column)
{
	double a_total = lab_profile_total(a, a_column), b_total = lab_profile_total(b, b_column);
	double sum = 0;

	if (a_total <= 0 || b_total <= 0)
		return a_total <= 0 && b_total <= 0;
	for (size_t i = 0; i < a->cnt; i++) {
		const double *other = lab_profile_find(b, &a->keys[i]);

		if (!other)
			continue;
		double p = a->weights[i * a->column_cnt + a_column] / a_total;
		double q = other[b_column] / b_total;

		sum += p < q ? p : q;
	}
	return sum;
}
