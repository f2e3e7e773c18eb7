// SPDX-License-Identifier: GPL-2.0-or-later
/* Weights by path: open addressing with linear probing, at most two thirds full. */
#include "profile.h"

#include <stdbool.h>
#include <stdlib.h>

#include "../lab.h"

#define FIRST_SLOTS 1024

static void *allocate(size_t cnt, size_t size_bytes)
{
	void *p = calloc(cnt, size_bytes);

	if (!p)
		lab_fail("profile: out of memory");
	return p;
}

static void set_slots(struct lab_profile *p, size_t slot_cnt)
{
	p->slot_cnt = slot_cnt;
	p->cnt = 0;
	p->keys = allocate(slot_cnt, sizeof(p->keys[0]));
	p->weights = allocate(slot_cnt, p->column_cnt * sizeof(p->weights[0]));
	p->used = allocate(slot_cnt, sizeof(p->used[0]));
}

void lab_profile_init(struct lab_profile *p, size_t column_cnt)
{
	p->column_cnt = column_cnt;
	set_slots(p, FIRST_SLOTS);
}

void lab_profile_release(struct lab_profile *p)
{
	free(p->keys);
	free(p->weights);
	free(p->used);
	*p = (struct lab_profile){.keys = NULL};
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

/* The slot that holds the key, or the free one where it belongs. */
static size_t slot_of(const struct lab_profile *p, const struct lab_path_key *key)
{
	size_t slot = hash(key) & (p->slot_cnt - 1);

	while (p->used[slot] && !same(&p->keys[slot], key))
		slot = (slot + 1) & (p->slot_cnt - 1);
	return slot;
}

static size_t add(struct lab_profile *p, const struct lab_path_key *key)
{
	size_t slot = slot_of(p, key);

	p->used[slot] = 1;
	p->keys[slot] = *key;
	p->cnt++;
	return slot;
}

static void grow(struct lab_profile *p)
{
	struct lab_profile old = *p;

	set_slots(p, old.slot_cnt * 2);
	for (size_t i = 0; i < old.slot_cnt; i++) {
		if (!old.used[i])
			continue;
		double *to = &p->weights[add(p, &old.keys[i]) * p->column_cnt];

		for (size_t c = 0; c < p->column_cnt; c++)
			to[c] = old.weights[i * p->column_cnt + c];
	}
	lab_profile_release(&old);
}

double *lab_profile_at(struct lab_profile *p, const struct lab_path_key *key)
{
	size_t slot = slot_of(p, key);

	if (!p->used[slot]) {
		if ((p->cnt + 1) * 3 > p->slot_cnt * 2)
			grow(p);
		slot = add(p, key);
	}
	return &p->weights[slot * p->column_cnt];
}

const double *lab_profile_find(const struct lab_profile *p, const struct lab_path_key *key)
{
	size_t slot = slot_of(p, key);

	return p->used[slot] ? &p->weights[slot * p->column_cnt] : NULL;
}

double lab_profile_total(const struct lab_profile *p, size_t column)
{
	double sum = 0;

	for (size_t i = 0; i < p->slot_cnt; i++)
		sum += p->weights[i * p->column_cnt + column];
	return sum;
}

void lab_profile_cumulate(struct lab_profile *p, size_t run_cnt)
{
	for (size_t i = 0; i < p->slot_cnt; i++) {
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
	for (size_t i = 0; i < a->slot_cnt; i++) {
		const double *other = a->used[i] ? lab_profile_find(b, &a->keys[i]) : NULL;

		if (!other)
			continue;
		double p = a->weights[i * a->column_cnt + a_column] / a_total;
		double q = other[b_column] / b_total;

		sum += p < q ? p : q;
	}
	return sum;
}
