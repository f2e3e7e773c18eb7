// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The library's compressors (RPS 3 and 4) as rivals, with their state counted as hardware would
 * pack it, and summaries that are read out as often as a sampler would speak.
 *
 * Workload: once for each event. One owner, one thread.
 */
#include "rivals.h"

#include <stdlib.h>
#include <string.h>

#include "../lab.h"
#include "cells.h"
#include "pathprof/compress.h"

#define USE_BITS     8 /* of an entry in front (pp_front.h) */
#define RANDOM_BITS  64
#define TAG_BITS     2 /* of a tagged entry, as its state; the default of the library */
#define STATE_BITS   2
#define MISS_BITS    3
#define RETAINED_MAX 7 /* misses that an entry's hits may take over */

/* ---------------------------------------------------------------- a sampler */

struct sampler {
	struct lab_rival rival;
	struct lab_rival_config config;
	struct pathprof_compressor *compressor;
	uint64_t state_bits;
};

static uint32_t bits_below(uint64_t limit)
{
	uint32_t bits = 0;

	while (limit > 1ULL << bits)
		bits++;
	return bits;
}

static uint32_t number_at(const char **at)
{
	char *end;
	unsigned long number = strtoul(*at, &end, 10);

	*at = end;
	return (uint32_t)number;
}

/* The number after the letter; 0 when that is not there. */
static uint32_t entries_at(const char **at, char letter)
{
	if (**at != letter)
		return 0;
	(*at)++;
	return number_at(at);
}

static uint64_t counters_bits(const char **at)
{
	bool tagged = **at == 'T', counting, random;
	uint64_t rate, cnt;

	*at += strspn(*at, "HT[");
	counting = **at == 'C';
	random = counting || **at == 'R';
	*at += strspn(*at, "CPR");
	rate = number_at(at);
	cnt = **at == ']' ? entries_at(at, ']') : 1;
	if (tagged)
		return cnt * (TAG_BITS + STATE_BITS + MISS_BITS + bits_below(rate + RETAINED_MAX));
	return random ? RANDOM_BITS + counting * cnt * LAB_COUNT_BITS : cnt * bits_below(rate);
}

/* The library has taken the notation, so it is one. */
static uint64_t bits_of(const char *notation, uint32_t key_bits)
{
	uint64_t front = entries_at(&notation, 'F');
	uint64_t counters = counters_bits(&notation);
	uint64_t behind = entries_at(&notation, 'A');

	return front * (key_bits + LAB_COUNT_BITS + USE_BITS) + counters +
	       behind * (key_bits + LAB_COUNT_BITS);
}

static void sampler_emit(const struct sampler *s, const struct pathprof_message *message)
{
	const struct lab_key key = {.a = message->pc, .b = message->word};

	s->config.emit(s->config.context, &key, (double)message->count);
}

static void sampler_add(struct lab_rival *rival, const struct lab_key *key, uint32_t count)
{
	struct sampler *s = (struct sampler *)rival;
	struct pathprof_message message;

	for (; count; count--)
		if (pathprof_compressor_step(s->compressor, key->a, key->b, &message))
			sampler_emit(s, &message);
}

static void sampler_drain(struct lab_rival *rival)
{
	struct sampler *s = (struct sampler *)rival;
	struct pathprof_message message;

	while (pathprof_compressor_flush(s->compressor, &message))
		sampler_emit(s, &message);
}

static uint64_t sampler_state_bits(const struct lab_rival *rival)
{
	return ((const struct sampler *)rival)->state_bits;
}

static void sampler_destroy(struct lab_rival *rival)
{
	pathprof_compressor_free(((struct sampler *)rival)->compressor);
	free(rival);
}

static const struct lab_rival_ops sampler_ops = {.name = "sampler",
						 .source = "Sastry 2001",
						 .add = sampler_add,
						 .drain = sampler_drain,
						 .state_bits = sampler_state_bits,
						 .destroy = sampler_destroy};

struct lab_rival *lab_rival_sampler(const char *notation, const struct lab_rival_config *config)
{
	const struct pathprof_compress_options options = {.seed = config->seed};
	struct sampler *s = lab_rival_alloc(1, sizeof(*s));
	struct pathprof_error error;

	if (pathprof_compressor_new(&s->compressor, notation, &options, &error) < 0)
		lab_fail("%s", error.text);
	s->rival.ops = &sampler_ops;
	s->config = *config;
	s->state_bits = bits_of(notation, config->key_bits);
	return &s->rival;
}

/* ---------------------------------------------------------------- read out on the way */

struct read_out {
	struct lab_rival rival;
	struct lab_rival_config config;
	struct lab_rival *inner;
	uint32_t rate;
	uint64_t message_cnt; /* of the last time */
	uint64_t left;        /* events until the next */
};

static void read_out_emit(void *context, const struct lab_key *key, double count)
{
	struct read_out *r = context;

	r->message_cnt++;
	r->config.emit(r->config.context, key, count);
}

static void read_out_drain(struct lab_rival *rival)
{
	struct read_out *r = (struct read_out *)rival;

	r->message_cnt = 0;
	r->inner->ops->drain(r->inner);
	r->left = r->rate * (r->message_cnt ? r->message_cnt : 1);
}

static void read_out_add(struct lab_rival *rival, const struct lab_key *key, uint32_t count)
{
	struct read_out *r = (struct read_out *)rival;

	r->inner->ops->add(r->inner, key, count);
	if (r->left > count)
		r->left -= count;
	else
		read_out_drain(rival);
}

static uint64_t read_out_state_bits(const struct lab_rival *rival)
{
	const struct read_out *r = (const struct read_out *)rival;

	return r->inner->ops->state_bits(r->inner);
}

static void read_out_destroy(struct lab_rival *rival)
{
	struct read_out *r = (struct read_out *)rival;

	r->inner->ops->destroy(r->inner);
	free(r);
}

static const struct lab_rival_ops read_out_ops = {.name = "read-out",
						  .source = "here",
						  .add = read_out_add,
						  .drain = read_out_drain,
						  .state_bits = read_out_state_bits,
						  .destroy = read_out_destroy};

struct lab_rival *lab_rival_read_out(const struct lab_rival_ops *ops,
				     const struct lab_rival_config *config, uint32_t rate)
{
	struct read_out *r = lab_rival_alloc(1, sizeof(*r));
	struct lab_rival_config inner = *config;

	r->rival.ops = &read_out_ops;
	r->config = *config;
	r->rate = rate;
	inner.emit = read_out_emit;
	inner.context = r;
	r->inner = ops->create(&inner);
	r->left = (uint64_t)rate * lab_cells_fit(config, 0);
	return &r->rival;
}
