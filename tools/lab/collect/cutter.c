// SPDX-License-Identifier: GPL-2.0-or-later
/* Windows at random places of a stream. */
#include "cutter.h"

#include <stdlib.h>

#include "../lab.h"

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static int by_clock(const void *x, const void *y)
{
	const struct lab_place *a = x, *b = y;

	if (a->clock != b->clock)
		return a->clock < b->clock ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

void lab_cutter_init(struct lab_cutter *c, size_t cnt, uint64_t clock_end, uint32_t taken_wanted,
		     uint64_t seed, lab_window_fn *fn, void *context)
{
	*c = (struct lab_cutter){
		.cnt = cnt, .taken_wanted = taken_wanted, .fn = fn, .context = context};
	c->places = calloc(cnt + 1, sizeof(c->places[0]));
	if (!c->places)
		lab_fail("windows: out of memory");
	for (size_t i = 0; i < cnt; i++) {
		c->places[i].clock = (uint64_t)(((__uint128_t)draw(&seed) * clock_end) >> 64);
		c->places[i].rank = (uint32_t)i;
	}
	qsort(c->places, cnt, sizeof(c->places[0]), by_clock);
}

void lab_cutter_release(struct lab_cutter *c)
{
	free(c->places);
	c->places = NULL;
}

static void begin(struct lab_cutter *c)
{
	struct lab_place *place = &c->places[c->begun++];

	place->first = c->branch_cnt;
	place->last_taken = c->taken_cnt + c->taken_wanted;
}

static void hand_out(struct lab_cutter *c)
{
	const struct lab_place *place = &c->places[c->ended++];
	uint32_t cnt = (uint32_t)(c->branch_cnt - place->first);

	for (uint32_t i = 0; i < cnt; i++)
		c->window[i] = c->ring[(place->first + i) % PATHPROF_BURST_MAX];
	c->fn(c->context, place->rank, c->window, cnt);
}

static bool is_full(const struct lab_cutter *c)
{
	const struct lab_place *place = &c->places[c->ended];

	return c->taken_cnt == place->last_taken ||
	       c->branch_cnt - place->first == PATHPROF_BURST_MAX;
}

void lab_cutter_step(struct lab_cutter *c, const struct pathprof_branch *branch,
		     uint64_t clock_after)
{
	while (c->begun < c->cnt && c->places[c->begun].clock < clock_after)
		begin(c);
	c->ring[c->branch_cnt++ % PATHPROF_BURST_MAX] = *branch;
	c->taken_cnt += branch->taken;
	while (c->ended < c->begun && is_full(c))
		hand_out(c);
}

void lab_cutter_tear(struct lab_cutter *c)
{
	while (c->ended < c->begun)
		hand_out(c);
}
