/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made-up programs for judging drift detection: a world is the true share of each event, samples
 * are drawn from it, and a changed world has a known part of its flow moved. Same seed, same
 * samples.
 *
 * Workload: tens of thousands of windows of some thousand samples; a sample costs two look-ups
 * (Walker's alias table). Worlds own their memory; draws go into the caller's.
 */
#ifndef LAB_DRIFT_WORLD_H
#define LAB_DRIFT_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/distribution.h"

struct lab_world {
	size_t cnt;
	double *share; /* [cnt], sum 1 */
	double *keep;  /* [cnt]: the alias table */
	uint32_t *alias;
};

/* The shapes of a world's distribution of events. */
enum lab_world_kind {
	LAB_WORLD_ZIPF,    /* event i has a share in proportion to 1/i */
	LAB_WORLD_STEEP,   /* ... to 1/i^2 */
	LAB_WORLD_UNIFORM, /* all alike */
	LAB_WORLD_LOOP,    /* one has 99 %, the others share the rest alike */
};

/* The target of moved flow. It is taken from all others in proportion, except for SPREAD. */
enum lab_move {
	LAB_MOVE_NONE,
	LAB_MOVE_OTHER,  /* to one event that was there: the middle one by rank */
	LAB_MOVE_NEW,    /* to ten events that never were */
	LAB_MOVE_SPREAD, /* from every second event to those between: the least divergence there is
			  */
	LAB_MOVE_CNT,
};

/* -ENOMEM; -EINVAL for fewer than two events. */
int lab_world_init(struct lab_world *ret_world, enum lab_world_kind kind, size_t cnt);
/* flow: the share moved, 0..1. -ENOMEM. */
int lab_world_init_moved(struct lab_world *ret_world, const struct lab_world *from,
			 enum lab_move move, double flow);
void lab_world_release(struct lab_world *world);

/* The same with every share multiplied by exp(sd z), z standard normal: it varies by itself. */
int lab_world_init_varied(struct lab_world *ret_world, const struct lab_world *from, double sd,
			  uint64_t *random);

#define LAB_BURST_MAX 64
/* The order of samples: they come in bursts, each a few steps of one loop. */
struct lab_bursts {
	uint32_t samples; /* of one burst: 1..LAB_BURST_MAX */
	double stay;      /* chance that a sample is of the same event as the one before */
	uint32_t loop;    /* else it is of one of so many neighbours, all alike */
	bool known;       /* squares say which samples came together */
};
/* Draws so many samples into events[world->cnt], in order, zeroes included. */
void lab_world_draw_bursts(const struct lab_world *world, uint64_t samples,
			   const struct lab_bursts *bursts, uint64_t *random,
			   struct pathprof_event *ret_events);

/* Draws bursts of cluster equal samples (1: independent), without recording the bursts. */
void lab_world_draw(const struct lab_world *world, uint64_t samples, uint32_t cluster,
		    uint64_t *random, struct pathprof_event *ret_events);

#endif
