// SPDX-License-Identifier: GPL-2.0-or-later
#include "oracle_stream.h"

#include <string.h>

/* A counter through a strong mixer: any seed will do, neighbouring ones included. */
uint64_t stream_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 31) * 0xd6e8feb86659fd93ULL;
	x = (x ^ x >> 29) * 0xa0761d6478bd642fULL;
	return x ^ x >> 32;
}

void stream_init(struct stream *s, enum stream_kind kind, bool high, uint64_t population,
		 uint64_t seed)
{
	*s = (struct stream){.random = seed, .kind = kind, .high = high, .population = population};
}

/* Uniform in a range of random order of magnitude: element i comes about as often as 1 / i. */
static uint64_t draw_skewed(struct stream *s)
{
	uint64_t draw = stream_random(&s->random), range = 1, element;

	if (draw % 4 == 0)
		return s->recent[(draw >> 8) % STREAM_RECENT];
	while (range < s->population && (draw >> 16) % 8 != 0) {
		range *= 2;
		draw = stream_random(&s->random);
	}
	element = stream_random(&s->random) % (range < s->population ? range : s->population);
	s->recent[s->drawn % STREAM_RECENT] = element;
	return element;
}

uint64_t stream_next(struct stream *s)
{
	s->drawn++;
	switch (s->kind) {
	case STREAM_SKEWED:
		return draw_skewed(s);
	case STREAM_UNIFORM:
		return stream_random(&s->random) % s->population;
	case STREAM_DISTINCT:
		return s->drawn;
	case STREAM_ALTERNATING:
		return s->drawn % 2;
	default:
		return 0;
	}
}

void stream_tuple(struct stream *s, uint64_t *ret_pc, uint64_t *ret_word)
{
	uint64_t element = stream_next(s), mixer = element, mixed = stream_random(&mixer);

	*ret_pc = 0x401000 + 4 * element;
	*ret_word = mixed % 3 == 0 ? mixed % 16 : mixed >> 20;
	if (!s->high)
		return;
	if (mixed & 0x100)
		*ret_pc += 0xffffffff80000000ULL;
	if (mixed & 0x200)
		*ret_word = mixed;
}
