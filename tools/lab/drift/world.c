// SPDX-License-Identifier: GPL-2.0-or-later
/* Worlds by formula, and drawing from them by Walker's alias method as Vose builds it. */
#include "world.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEW_EVENTS 10

static uint64_t next(uint64_t *random)
{
	uint64_t x = *random += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static int allocate(struct lab_world *world, size_t cnt)
{
	world->cnt = cnt;
	world->share = calloc(cnt, sizeof(*world->share));
	world->keep = calloc(cnt, sizeof(*world->keep));
	world->alias = calloc(cnt, sizeof(*world->alias));
	if (world->share && world->keep && world->alias)
		return 0;
	lab_world_release(world);
	return -ENOMEM;
}

void lab_world_release(struct lab_world *world)
{
	free(world->share);
	free(world->keep);
	free(world->alias);
	*world = (struct lab_world){0};
}

static void normalise(struct lab_world *world)
{
	double sum = 0;

	for (size_t i = 0; i < world->cnt; i++)
		sum += world->share[i];
	for (size_t i = 0; i < world->cnt; i++)
		world->share[i] /= sum;
}

/* Pairs each event that is too rare for its slot with one that is too frequent. */
static int build(struct lab_world *world)
{
	uint32_t *rare = calloc(2 * world->cnt, sizeof(*rare)), *rich;
	size_t rare_cnt = 0, rich_cnt = 0;

	if (!rare)
		return -ENOMEM;
	rich = rare + world->cnt;
	for (size_t i = 0; i < world->cnt; i++) {
		world->keep[i] = world->share[i] * (double)world->cnt;
		world->alias[i] = (uint32_t)i;
		if (world->keep[i] < 1)
			rare[rare_cnt++] = (uint32_t)i;
		else
			rich[rich_cnt++] = (uint32_t)i;
	}
	while (rare_cnt && rich_cnt) {
		uint32_t from = rare[--rare_cnt], to = rich[rich_cnt - 1];

		world->alias[from] = to;
		world->keep[to] -= 1 - world->keep[from];
		if (world->keep[to] < 1) {
			rich_cnt--;
			rare[rare_cnt++] = to;
		}
	}
	while (rare_cnt)
		world->keep[rare[--rare_cnt]] = 1;
	free(rare);
	return 0;
}

static double weight(enum lab_world_kind kind, size_t i, size_t cnt)
{
	switch (kind) {
	case LAB_WORLD_ZIPF:
		return 1 / (double)(i + 1);
	case LAB_WORLD_STEEP:
		return 1 / pow((double)(i + 1), 2);
	case LAB_WORLD_LOOP:
		return i ? 0.01 / (double)(cnt - 1) : 0.99;
	default:
		return 1;
	}
}

static int finish(struct lab_world *ret_world, struct lab_world *world)
{
	normalise(world);
	if (build(world) < 0) {
		lab_world_release(world);
		return -ENOMEM;
	}
	*ret_world = *world;
	return 0;
}

int lab_world_init(struct lab_world *ret_world, enum lab_world_kind kind, size_t cnt)
{
	struct lab_world world;

	if (cnt < 2 || cnt > UINT32_MAX)
		return -EINVAL;
	if (allocate(&world, cnt) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		world.share[i] = weight(kind, i, cnt);
	return finish(ret_world, &world);
}

/* Every second event loses in proportion, those between gain in proportion. */
static void spread(struct lab_world *world, double flow)
{
	double even = 0;

	for (size_t i = 0; i < world->cnt; i += 2)
		even += world->share[i];
	for (size_t i = 0; i < world->cnt; i++)
		world->share[i] *= i % 2 ? 1 + flow / (1 - even) : 1 - flow / even;
}

/* All lose in proportion but those from `first` on, which share what the others lose. */
static void give(struct lab_world *world, size_t first, size_t cnt, double flow)
{
	double had = 0;

	for (size_t i = first; i < first + cnt; i++)
		had += world->share[i];
	for (size_t i = 0; i < world->cnt; i++)
		if (i < first || i >= first + cnt)
			world->share[i] *= 1 - flow / (1 - had);
	for (size_t i = first; i < first + cnt; i++)
		world->share[i] += flow / (double)cnt;
}

static void move_flow(struct lab_world *world, size_t old_cnt, enum lab_move move, double flow)
{
	if (move == LAB_MOVE_SPREAD)
		spread(world, flow);
	else if (move == LAB_MOVE_OTHER)
		give(world, old_cnt / 2, 1, flow);
	else if (move == LAB_MOVE_NEW)
		give(world, old_cnt, NEW_EVENTS, flow);
}

int lab_world_init_moved(struct lab_world *ret_world, const struct lab_world *from,
			 enum lab_move move, double flow)
{
	struct lab_world world;

	if (allocate(&world, from->cnt + (move == LAB_MOVE_NEW ? NEW_EVENTS : 0)) < 0)
		return -ENOMEM;
	memcpy(world.share, from->share, from->cnt * sizeof(*world.share));
	move_flow(&world, from->cnt, move, flow);
	return finish(ret_world, &world);
}

/* In (0, 1). */
static double uniform(uint64_t *random)
{
	return ((double)(next(random) >> 11) + 0.5) * 0x1p-53;
}

int lab_world_init_varied(struct lab_world *ret_world, const struct lab_world *from, double sd,
			  uint64_t *random)
{
	struct lab_world world;

	if (allocate(&world, from->cnt) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < world.cnt; i++) {
		double radius = sqrt(-2 * log(uniform(random)));

		world.share[i] =
			from->share[i] * exp(sd * radius * cos(2 * M_PI * uniform(random)));
	}
	return finish(ret_world, &world);
}

static uint32_t draw(const struct lab_world *world, uint64_t *random)
{
	uint32_t slot = (uint32_t)((next(random) >> 32) * world->cnt >> 32);

	return (double)(uint32_t)next(random) * 0x1p-32 < world->keep[slot] ? slot
									    : world->alias[slot];
}

/* Draws an event of the loop to which this event belongs. */
static uint32_t draw_near(const struct lab_world *world, uint32_t event, uint32_t loop,
			  uint64_t *random)
{
	uint32_t first = event - event % loop;
	uint32_t cnt = world->cnt - first < loop ? (uint32_t)world->cnt - first : loop;

	return first + (uint32_t)((next(random) >> 32) * cnt >> 32);
}

/* Adds cnt samples of an event that came in one burst. */
static void take(struct pathprof_event *event, uint64_t cnt, bool known)
{
	event->weight += (double)cnt;
	if (known)
		event->squares += (double)(cnt * cnt);
}

static void draw_burst(const struct lab_world *world, uint64_t cnt, const struct lab_bursts *bursts,
		       uint64_t *random, struct pathprof_event *events)
{
	uint32_t seen[LAB_BURST_MAX] = {draw(world, random)};

	for (uint64_t i = 1; i < cnt; i++)
		seen[i] = bursts->stay >= 1 || uniform(random) < bursts->stay
				  ? seen[i - 1]
				  : draw_near(world, seen[i - 1], bursts->loop, random);
	/* each event once, with how often it is there */
	for (uint64_t i = 0, same; i < cnt; i++) {
		bool first = true;

		same = 0;
		for (uint64_t k = 0; k < cnt; k++) {
			same += seen[k] == seen[i];
			first = first && (k >= i || seen[k] != seen[i]);
		}
		if (first)
			take(&events[seen[i]], same, bursts->known);
	}
}

void lab_world_draw_bursts(const struct lab_world *world, uint64_t samples,
			   const struct lab_bursts *bursts, uint64_t *random,
			   struct pathprof_event *ret_events)
{
	for (size_t i = 0; i < world->cnt; i++)
		ret_events[i] = (struct pathprof_event){.key_lo = i};
	for (uint64_t drawn = 0; drawn < samples;) {
		uint64_t cnt =
			samples - drawn < bursts->samples ? samples - drawn : bursts->samples;

		draw_burst(world, cnt, bursts, random, ret_events);
		drawn += cnt;
	}
}

void lab_world_draw(const struct lab_world *world, uint64_t samples, uint32_t cluster,
		    uint64_t *random, struct pathprof_event *ret_events)
{
	for (size_t i = 0; i < world->cnt; i++)
		ret_events[i] = (struct pathprof_event){.key_lo = i};
	for (uint64_t drawn = 0; drawn < samples;) {
		uint64_t burst = samples - drawn < cluster ? samples - drawn : cluster;

		ret_events[draw(world, random)].weight += (double)burst;
		drawn += burst;
	}
}
