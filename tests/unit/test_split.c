// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The samplers R, P and CR, one stream and many substreams, against a record for each substream;
 * and what they promise: the rate, and for CR the exact length of the stream.
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_split.h"
#include "oracle_compress.h"
#include "oracle_stream.h"

#define EVENTS 200000

struct setting {
	char sampler;
	uint32_t rate;
	unsigned int bits;
	uint64_t seed;
};

static uint32_t sampler_of(char letter)
{
	switch (letter) {
	case 'R':
		return PP_SAMPLER_RANDOM;
	case 'P':
		return PP_SAMPLER_PERIODIC;
	default:
		return PP_SAMPLER_COUNTING_RANDOM;
	}
}

/* A fault planted in the core's state when half of the stream is over. */
typedef void fault_fn(struct pp_split *s);

/* Steps of the stream that report differently from the oracle. */
static size_t differences(const struct setting *core, const struct setting *oracle,
			  enum stream_kind kind, fault_fn *fault)
{
	struct oracle_compress_config config = {
		.sampler = oracle->sampler, .rate = oracle->rate, .bits = oracle->bits};
	struct pp_split *split = calloc(1, sizeof(*split));
	struct oracle_compress o;
	struct stream s;
	size_t different = 0;

	config.seed = oracle->seed;
	oracle_compress_init(&o, &config);
	pp_random_init(&split->random, core->seed);
	stream_init(&s, kind, false, (uint64_t)4 << core->bits, core->seed);
	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t substream = stream_next(&s) % ((uint64_t)1 << core->bits);

		if (fault && i == EVENTS / 2)
			fault(split);
		different += pp_split_step(split, (uint32_t)substream, sampler_of(core->sampler),
					   core->rate) != oracle_sample(&o, substream);
	}
	oracle_compress_release(&o);
	free(split);
	return different;
}

static void test_oracle(void)
{
	static const struct setting settings[] = {
		{'R', 1, 0, 1},     {'R', 16, 0, 2},   {'R', 256, 11, 3}, {'R', 1000, 16, 4},
		{'P', 1, 0, 5},     {'P', 2, 3, 6},    {'P', 256, 0, 7},  {'P', 256, 11, 8},
		{'P', 1000, 6, 9},  {'C', 1, 0, 10},   {'C', 7, 0, 11},   {'C', 256, 11, 12},
		{'C', 4096, 5, 13}, {'P', 3, 16, 14},  {'C', 64, 16, 0},  {'R', 64, 2, 0},
		{'R', ~0u, 0, 15},  {'C', ~0u, 4, 16}, {'P', ~0u, 4, 17},
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		CU_ASSERT_EQUAL(differences(&settings[i], &settings[i], i % STREAM_KIND_CNT, NULL),
				0);
}

static void flip_counter(struct pp_split *s)
{
	s->counter[0] ^= 1;
}

static void skip_draw(struct pp_split *s)
{
	pp_random_next(&s->random);
}

static void test_planted_fault(void)
{
	static const struct setting p = {'P', 16, 4, 1}, p17 = {'P', 17, 4, 1},
				    cr = {'C', 16, 4, 1}, cr_seed = {'C', 16, 4, 2},
				    r = {'R', 16, 0, 1}, r17 = {'R', 17, 0, 1};

	CU_ASSERT_NOT_EQUAL(differences(&p, &p, STREAM_UNIFORM, flip_counter), 0);
	CU_ASSERT_NOT_EQUAL(differences(&cr, &cr, STREAM_UNIFORM, flip_counter), 0);
	CU_ASSERT_NOT_EQUAL(differences(&cr, &cr, STREAM_UNIFORM, skip_draw), 0);
	CU_ASSERT_NOT_EQUAL(differences(&r, &r, STREAM_SAME, skip_draw), 0);
	CU_ASSERT_NOT_EQUAL(differences(&p, &p17, STREAM_SAME, NULL), 0);
	CU_ASSERT_NOT_EQUAL(differences(&r, &r17, STREAM_SAME, NULL), 0);
	CU_ASSERT_NOT_EQUAL(differences(&cr, &cr_seed, STREAM_SAME, NULL), 0);
}

/* Messages of `events` steps over all substreams; their counts in *ret_sum. */
static size_t run(struct pp_split *s, const struct setting *setting, size_t events,
		  uint64_t *ret_sum)
{
	size_t messages = 0;

	pp_random_init(&s->random, setting->seed);
	*ret_sum = 0;
	for (size_t i = 0; i < events; i++) {
		uint32_t count = pp_split_step(s, (uint32_t)(i % (1u << setting->bits)),
					       sampler_of(setting->sampler), setting->rate);

		messages += count != 0;
		*ret_sum += count;
	}
	return messages;
}

static void test_counts_are_lossless(void)
{
	static const struct setting settings[] = {{'C', 64, 6, 3}, {'P', 64, 6, 3}};

	for (size_t i = 0; i < 2; i++) {
		struct pp_split *s = calloc(1, sizeof(*s));
		uint64_t reported, retained = 0;

		run(s, &settings[i], EVENTS, &reported);
		for (unsigned int k = 0; k < 64; k++)
			retained += s->counter[k];
		CU_ASSERT_EQUAL(reported + retained, EVENTS);
		free(s);
	}
}

static void test_rate(void)
{
	static const struct setting settings[] = {{'R', 64, 0, 5}, {'C', 64, 8, 6}};
	double mean = EVENTS / 64.0, deviation = sqrt(mean);

	for (size_t i = 0; i < 2; i++) {
		struct pp_split *s = calloc(1, sizeof(*s));
		uint64_t sum;
		double messages = (double)run(s, &settings[i], EVENTS, &sum);

		CU_ASSERT(fabs(messages - mean) < 5 * deviation);
		CU_ASSERT(fabs((double)sum - EVENTS) < 64 * 5 * deviation);
		free(s);
	}
}

static void test_stays_inside(void)
{
	struct {
		struct pp_split split;
		uint64_t guard;
	} *s = calloc(1, sizeof(*s));

	CU_ASSERT_EQUAL(pp_split_step(&s->split, ~0u, PP_SAMPLER_PERIODIC, 2), 0);
	CU_ASSERT_EQUAL(s->guard, 0);
	CU_ASSERT_EQUAL(s->split.counter[PP_SPLIT_MAX - 1], 1);
	free(s);
}

static const struct unit_test tests[] = {
	{"every sampler equals its oracle on every kind of stream", test_oracle},
	{"a changed counter, draw, rate or seed is found", test_planted_fault},
	{"P and CR account for every tuple", test_counts_are_lossless},
	{"R and CR pick one in r", test_rate},
	{"an index out of range stays in the table", test_stays_inside},
};
UNIT_SUITE(split, tests)
