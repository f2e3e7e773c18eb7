/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chance for tests of estimates: the same numbers in every run, from a state that the test owns and
 * starts with CHANCE_SEED. One thread.
 */
#ifndef TESTS_UNIT_CHANCE_H
#define TESTS_UNIT_CHANCE_H

#include <math.h>
#include <stdint.h>

#define CHANCE_SEED 88172645463325252u

/* Evenly between 0 and 1, both excluded (Marsaglia's xorshift). */
static inline double chance_uniform(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

/* A normal random number with mean 0 and deviation 1 (Box and Muller). */
static inline double chance_normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(chance_uniform(state)));

	return radius * cos(2 * M_PI * chance_uniform(state));
}

#endif
