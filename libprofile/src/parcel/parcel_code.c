// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Coding of numbers in few bits: see pp_parcel_code.h. */
#include "pp_parcel_code.h"

#include <stdlib.h>

#define TOP  (1u << 24)
#define HALF 0x8000u
/* Answers after which a probability learns no slower. */
#define SEEN_MAX 60
/* Sizes of numbers from which on a second tree has them. */
#define SIZE_LARGE 15

/* ---------------------------------------------------------------- bytes */

static void put(struct pp_coder *c, uint8_t byte)
{
	if (c->out_len == c->out_room) {
		size_t room = c->out_room ? 2 * c->out_room : 4096;
		uint8_t *out = realloc(c->out, room);

		if (!out) {
			c->failed = true;
			return;
		}
		c->out = out;
		c->out_room = room;
	}
	c->out[c->out_len++] = byte;
}

static uint8_t get(struct pp_coder *c)
{
	if (c->in_at < c->in_len)
		return c->in[c->in_at++];
	c->failed = true;
	return 0;
}

/* Bytes of 0xff wait, for a carry may still change them. */
static void shift_out(struct pp_coder *c)
{
	uint8_t carry = (uint8_t)(c->low >> 32);

	if (carry || c->low < 0xff000000u) {
		for (; c->pending; c->pending--) {
			put(c, (uint8_t)(c->cache + carry));
			c->cache = 0xff;
		}
		c->cache = (uint8_t)(c->low >> 24);
	}
	c->pending++;
	c->low = (c->low & 0x00ffffff) << 8;
}

static void normalize(struct pp_coder *c)
{
	while (c->range < TOP) {
		c->range <<= 8;
		if (c->is_reading)
			c->code = c->code << 8 | get(c);
		else
			shift_out(c);
	}
}

void pp_coder_write(struct pp_coder *coder)
{
	*coder = (struct pp_coder){.range = UINT32_MAX, .pending = 1};
}

void pp_coder_finish(struct pp_coder *coder)
{
	for (int i = 0; i < 5; i++)
		shift_out(coder);
}

void pp_coder_read(struct pp_coder *coder, const uint8_t *bytes, size_t len_bytes)
{
	*coder = (struct pp_coder){
		.is_reading = true, .range = UINT32_MAX, .in = bytes, .in_len = len_bytes};
	for (int i = 0; i < 5; i++)
		coder->code = coder->code << 8 | get(coder);
}

bool pp_coder_is_whole(const struct pp_coder *coder)
{
	return !coder->failed && coder->in_at == coder->in_len;
}

/* ---------------------------------------------------------------- bits */

/* The range's lower part, `zero` wide, stands for a 0. */
static bool split(struct pp_coder *c, uint32_t zero, bool bit)
{
	if (c->is_reading)
		bit = c->code >= zero;
	if (!bit) {
		c->range = zero;
	} else {
		c->range -= zero;
		c->low += c->is_reading ? 0 : zero;
		c->code -= c->is_reading ? zero : 0;
	}
	normalize(c);
	return bit;
}

/* The first answers move it far, later ones by a fortieth. It stays above 0 and below 1. */
static void learn(struct pp_code_bit *model, bool bit)
{
	uint32_t chance = model->chance ^ HALF, rate = 2 * 65536 / (2u * model->seen + 3);

	if (bit)
		chance -= chance * rate >> 16;
	else
		chance += (65536 - chance) * rate >> 16;
	model->chance = (uint16_t)(chance ^ HALF);
	model->seen += model->seen < SEEN_MAX;
}

bool pp_code_bit(struct pp_coder *coder, struct pp_code_bit *model, bool bit)
{
	bit = split(coder, (coder->range >> 16) * (model->chance ^ HALF), bit);
	learn(model, bit);
	return bit;
}

/* ---------------------------------------------------------------- numbers */

uint32_t pp_code_symbol(struct pp_coder *coder, struct pp_code_bit *model, int cnt, uint32_t value)
{
	uint32_t node = 1;

	for (int i = cnt - 1; i >= 0; i--)
		node = 2 * node + pp_code_bit(coder, &model[node], value >> i & 1);
	return node - (1u << cnt);
}

uint64_t pp_code_digits(struct pp_coder *coder, struct pp_code_bit model[8], int cnt,
			uint64_t value)
{
	uint64_t read = 0;
	unsigned int node = 1;

	for (int i = cnt - 1; i >= 0; i--) {
		bool bit = value >> i & 1;

		if (node < 8) {
			bit = pp_code_bit(coder, &model[node], bit);
			node = 2 * node + bit;
		} else {
			bit = split(coder, coder->range >> 1, bit);
		}
		read = read << 1 | bit;
	}
	return read;
}

static int code_size(struct pp_coder *coder, struct pp_code_number *model, uint64_t context,
		     int size)
{
	uint32_t small = (uint32_t)(size < SIZE_LARGE ? size : SIZE_LARGE), large;

	small = pp_code_symbol(coder, model->size[context], 4, small);
	if (small < SIZE_LARGE)
		return (int)small;
	large = pp_code_symbol(coder, model->large, 6, (uint32_t)size - SIZE_LARGE);
	/* Hostile bytes may claim more digits than there are. */
	coder->failed |= large > 64 - SIZE_LARGE;
	return coder->failed ? 0 : (int)large + SIZE_LARGE;
}

uint64_t pp_code_number(struct pp_coder *coder, struct pp_code_number *model, uint64_t context,
			uint64_t value)
{
	uint64_t at = context < PP_CODE_CONTEXTS ? context : PP_CODE_CONTEXTS - 1;
	int size = code_size(coder, model, at, pp_code_size(value));

	if (size < 2)
		return (uint64_t)size;
	return 1ull << (size - 1) | pp_code_digits(coder, model->lead[size], size - 1, value);
}
