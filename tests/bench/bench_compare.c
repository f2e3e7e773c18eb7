// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of comparing two profiles of a million paths.
 *
 *     bench_compare [EVENTS]
 *
 * Workload: two profiles of that many events each, of which nine in ten are in both; counts as
 * heavy-tailed as paths are. Output, seconds of processor time, the best of three: "compare.all",
 * every figure of compare.h and the drift measurement (which at this size takes the normal
 * interval); "compare.kl", relative entropy alone; "combine.kl", the Chernoff point; "twin.kl",
 * relative entropy by a hash table filled from one profile and asked by the other, as one would
 * write it first. Exit 1 when compare.all takes more than a second at a million, or the twin finds
 * another figure.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pathprof/combine.h"
#include "pathprof/compare.h"
#include "pathprof/drift.h"

#define ROUNDS  3
#define BOUND_S 1.0

struct bench {
	struct pathprof_event *events[2];
	struct pathprof_distribution profiles[2];
	double bits, twin_bits; /* what the rounds found */
};

static void fail(const char *what)
{
	fprintf(stderr, "bench_compare: %s\n", what);
	exit(1);
}

static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* Keys that look like (file, start and outcomes); each profile leaves out every eleventh of its
 * own. */
static void make(struct bench *b, size_t cnt)
{
	uint64_t random = 1;

	for (size_t p = 0; p < 2; p++) {
		b->events[p] = calloc(cnt + cnt / 8, sizeof(*b->events[p]));
		if (!b->events[p])
			fail("out of memory");
	}
	for (size_t i = 0; i < cnt + cnt / 10; i++)
		for (size_t p = 0; p < 2; p++) {
			struct pathprof_event event = {i / 4096, i % 4096 << 40 | i, 0};

			event.weight = floor(1 / (1e-9 + (double)(draw(&random) >> 11) * 0x1p-53));
			if (i % 11 != 5 * p)
				b->events[p][b->profiles[p].cnt++] = event;
		}
	for (size_t p = 0; p < 2; p++)
		if (pathprof_distribution_init(&b->profiles[p], b->events[p], b->profiles[p].cnt))
			fail("the profiles are malformed");
}

/* ---------------------------------------------------------------- what is measured */

static void run_kl(struct bench *b)
{
	struct pathprof_relative_entropy kl;

	if (pathprof_relative_entropy(&b->profiles[0], &b->profiles[1], 0, &kl))
		fail("no relative entropy");
	b->bits = kl.bits;
}

static void run_all(struct bench *b)
{
	struct pathprof_drift_settings settings = pathprof_drift_defaults;
	const struct pathprof_distribution *p = &b->profiles[0], *q = &b->profiles[1];
	struct pathprof_distribution checked;
	struct pathprof_drift_term terms[20];
	struct pathprof_drift drift;
	double similarity;
	size_t cnt;

	settings.branches = true;
	if (pathprof_distribution_init(&checked, p->events, p->cnt) ||
	    pathprof_drift_measure(&drift, &checked, q, &settings) ||
	    pathprof_similarity(p, q, &similarity) ||
	    pathprof_drift_terms(terms, 20, &cnt, p, q, 0))
		fail("no comparison");
	b->bits = drift.kl_bits;
}

static void run_combine(struct bench *b)
{
	const struct pathprof_distribution *inputs[] = {&b->profiles[0], &b->profiles[1]};
	struct pathprof_combined combined;

	if (pathprof_combine(&combined, PATHPROF_COMBINE_KL, inputs, 2, false))
		fail("no combination");
	free(combined.events);
}

/* Open addressing, keys and weights in the slots, at most half full. */
struct twin {
	struct pathprof_event *slots;
	size_t mask;
};

static struct pathprof_event *slot_of(const struct twin *t, const struct pathprof_event *event)
{
	uint64_t state = event->key_hi * 31 + event->key_lo;

	for (size_t at = draw(&state);; at++) {
		struct pathprof_event *slot = &t->slots[at & t->mask];

		if (!(slot->weight > 0) ||
		    (slot->key_hi == event->key_hi && slot->key_lo == event->key_lo))
			return slot;
	}
}

static void run_twin(struct bench *b)
{
	const struct pathprof_distribution *p = &b->profiles[0], *q = &b->profiles[1];
	struct twin t = {.mask = 1};
	double bits = 0, z = 0, epsilon, total_p = (double)p->total, total_q = (double)q->total;

	while (t.mask < 2 * q->cnt)
		t.mask = 2 * t.mask + 1;
	t.slots = calloc(t.mask + 1, sizeof(*t.slots));
	if (!t.slots)
		fail("out of memory");
	for (size_t i = 0; i < q->cnt; i++)
		*slot_of(&t, &q->events[i]) = q->events[i];
	for (size_t i = 0; i < p->cnt; i++)
		z += !(slot_of(&t, &p->events[i])->weight > 0);
	epsilon = fmin(1 / (2 * (total_q + 1)), z > 0 ? 1 / (4 * z) : 1);
	for (size_t i = 0; i < p->cnt; i++) {
		double share = p->events[i].weight / total_p;
		double other = slot_of(&t, &p->events[i])->weight;

		other = other > 0 ? other / total_q * (1 - z * epsilon) : epsilon;
		bits += share * log2(share / other);
	}
	free(t.slots);
	b->twin_bits = bits;
}

/* ---------------------------------------------------------------- measuring */

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double measure(struct bench *b, const char *name, void (*run)(struct bench *b))
{
	double best = INFINITY;

	for (int i = 0; i < ROUNDS; i++) {
		double start = now_s();

		run(b);
		best = fmin(best, now_s() - start);
	}
	printf("%s %.4f s\n", name, best);
	return best;
}

int main(int argc, char **argv)
{
	size_t cnt = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	static struct bench b;
	double all;

	if (cnt < 100 || cnt > 100000000)
		fail("EVENTS: 100 to 100000000");
	make(&b, cnt);
	all = measure(&b, "compare.all", run_all);
	measure(&b, "compare.kl", run_kl);
	measure(&b, "combine.kl", run_combine);
	measure(&b, "twin.kl", run_twin);
	free(b.events[0]);
	free(b.events[1]);
	if (fabs(b.bits - b.twin_bits) > 1e-9 * b.bits)
		fail("the twin finds another figure");
	if (cnt <= 1000000 && all > BOUND_S)
		fail("a comparison takes more than a second");
	return 0;
}
