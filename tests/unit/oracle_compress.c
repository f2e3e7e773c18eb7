// SPDX-License-Identifier: GPL-2.0-or-later
#include "oracle_compress.h"

#include <stdlib.h>
#include <string.h>

void oracle_hash_table(uint8_t *ret_table)
{
	uint64_t s = 0x9E3779B97F4A7C15ULL;

	for (unsigned int i = 0; i <= 255; i++)
		ret_table[i] = (uint8_t)i;
	for (unsigned int i = 255; i >= 1; i--) {
		s = s ^ (s << 13);
		s = s ^ (s >> 7);
		s = s ^ (s << 17);
		uint64_t j = s % (i + 1);
		uint8_t kept = ret_table[j];
		ret_table[j] = ret_table[i];
		ret_table[i] = kept;
	}
}

uint64_t oracle_fold(uint64_t x, unsigned int n)
{
	unsigned char bit[64] = {0};
	uint64_t folded = 0;

	for (unsigned int i = 0; i < 64 && n > 0; i++)
		bit[i % n] ^= (unsigned char)(x >> i & 1);
	for (unsigned int i = 0; i < 64; i++)
		folded |= (uint64_t)bit[i] << i;
	return folded;
}

static void to_bytes(uint64_t x, uint8_t *ret_bytes)
{
	for (unsigned int i = 0; i < 8; i++)
		ret_bytes[i] = (uint8_t)(x / (1ULL << 8 * i) % 256);
}

uint64_t oracle_hash_index(const uint8_t *table, uint64_t pc, uint64_t word, unsigned int n)
{
	uint8_t pc_bytes[8], word_bytes[8], mixed[8];
	uint64_t x = 0;

	to_bytes(pc, pc_bytes);
	to_bytes(word, word_bytes);
	for (unsigned int i = 0; i < 8; i++)
		mixed[i] = table[pc_bytes[7 - i]] ^ table[word_bytes[i]];
	for (unsigned int i = 0; i < 8; i++)
		x += (uint64_t)mixed[i] << 8 * i;
	return oracle_fold(x, n);
}

uint64_t oracle_random_next(uint64_t *state)
{
	uint64_t x = *state;

	x = x ^ (x >> 12);
	x = x ^ (x << 25);
	x = x ^ (x >> 27);
	*state = x;
	return x * 0x2545F4914F6CDD1DULL;
}

void oracle_compress_init(struct oracle_compress *o, const struct oracle_compress_config *config)
{
	size_t sets = (size_t)1 << config->bits;

	*o = (struct oracle_compress){
		.config = *config,
		.random = config->seed ? config->seed : 1,
		.substreams = calloc(sets, sizeof(*o->substreams)),
		.entries = calloc(sets * (config->ways + 1), sizeof(*o->entries)),
		.second = calloc(config->second + 1, sizeof(*o->second)),
	};
	if (!o->substreams || !o->entries || !o->second)
		abort();
	oracle_hash_table(o->table);
}

void oracle_compress_release(struct oracle_compress *o)
{
	free(o->substreams);
	free(o->entries);
	free(o->second);
}

/* 1 in rate: the upper half of a draw, as a fraction of 2^32, is below 1 / rate. */
static bool pick(struct oracle_compress *o)
{
	uint64_t upper = oracle_random_next(&o->random) / 4294967296ULL;

	return upper * o->config.rate / 4294967296ULL == 0;
}

uint64_t oracle_sample(struct oracle_compress *o, uint64_t substream)
{
	struct oracle_substream *s = &o->substreams[substream];
	uint64_t count;

	s->seen++;
	if (o->config.sampler == 'R')
		return pick(o) ? o->config.rate : 0;
	if (o->config.sampler == 'P')
		return s->seen % o->config.rate == 0 ? o->config.rate : 0;
	if (!pick(o))
		return 0;
	count = s->seen - s->reported;
	s->reported = s->seen;
	return count;
}

static struct oracle_tag_entry *holder_of(struct oracle_tag_entry *set, unsigned int ways,
					  uint64_t tag)
{
	for (unsigned int i = 0; i < ways; i++)
		if (set[i].state != ORACLE_EMPTY && set[i].tag == tag)
			return &set[i];
	return NULL;
}

static struct oracle_tag_entry *empty_of(struct oracle_tag_entry *set, unsigned int ways)
{
	for (unsigned int i = 0; i < ways; i++)
		if (set[i].state == ORACLE_EMPTY)
			return &set[i];
	return NULL;
}

static struct oracle_tag_entry *fewest_hits(const struct oracle_compress *o,
					    struct oracle_tag_entry *set)
{
	struct oracle_tag_entry *fewest = &set[0];

	for (unsigned int i = 1; i < o->config.ways; i++)
		if (set[i].hits < fewest->hits ||
		    (o->config.fault == ORACLE_TIE_HIGHEST && set[i].hits == fewest->hits))
			fewest = &set[i];
	return fewest;
}

static uint64_t tagged_hit(const struct oracle_compress *o, struct oracle_tag_entry *e)
{
	uint64_t hits;

	e->hits++; /* E3, E6a */
	hits = e->hits;
	if (hits >= o->config.rate) { /* E2 */
		*e = (struct oracle_tag_entry){.state = ORACLE_EMPTY};
		return hits;
	}
	if (e->state == ORACLE_EVICT && hits >= o->config.evict) { /* E6 */
		*e = (struct oracle_tag_entry){.state = ORACLE_EMPTY, .retained = e->misses};
		if (o->config.fault == ORACLE_RETAINS_NONE)
			e->retained = 0;
		return hits;
	}
	return 0;
}

static void tagged_miss(const struct oracle_compress *o, struct oracle_tag_entry *e, uint64_t tag)
{
	if (e->state == ORACLE_VALID) { /* E4 */
		e->state = ORACLE_EVICT;
		e->misses = 1;
		return;
	}
	e->misses++;                          /* E5a */
	if (e->misses >= o->config.replace) { /* E5 */
		uint64_t hits = e->hits + e->misses;

		if (o->config.fault == ORACLE_DROPS_MISSES)
			hits = e->hits;
		*e = (struct oracle_tag_entry){.state = ORACLE_VALID, .tag = tag, .hits = hits};
	}
}

uint64_t oracle_tagged(struct oracle_compress *o, uint64_t set, uint64_t tag)
{
	struct oracle_tag_entry *ways = &o->entries[set * o->config.ways];
	struct oracle_tag_entry *e = holder_of(ways, o->config.ways, tag);

	if (e)
		return tagged_hit(o, e);
	e = empty_of(ways, o->config.ways);
	if (e) { /* E1 */
		*e = (struct oracle_tag_entry){
			.state = ORACLE_VALID, .tag = tag, .hits = e->retained + 1};
		return 0;
	}
	tagged_miss(o, fewest_hits(o, ways), tag);
	return 0;
}

static unsigned int slot_to_evict(const struct oracle_compress *o)
{
	unsigned int slot = 0;

	for (unsigned int i = 1; i < o->config.second; i++) {
		uint64_t count = o->second[i].count, least = o->second[slot].count;

		if (o->config.fault == ORACLE_EVICTS_GREATEST ? count > least : count < least)
			slot = i;
		if (o->config.fault == ORACLE_TIE_HIGHEST && count == least)
			slot = i;
	}
	return slot;
}

bool oracle_second(struct oracle_compress *o, const struct oracle_message *message,
		   struct oracle_message *ret_evicted)
{
	unsigned int slot;

	for (unsigned int i = 0; i < o->second_used; i++) {
		if (o->second[i].pc == message->pc && o->second[i].word == message->word) {
			o->second[i].count += message->count;
			return false;
		}
	}
	if (o->second_used < o->config.second) {
		o->second[o->second_used++] = *message;
		return false;
	}
	slot = slot_to_evict(o);
	*ret_evicted = o->second[slot];
	o->second[slot] = *message;
	return true;
}

bool oracle_compress_step(struct oracle_compress *o, uint64_t pc, uint64_t word,
			  struct oracle_message *ret_message)
{
	uint64_t index = oracle_hash_index(o->table, pc, word, o->config.bits), count;

	if (o->config.sampler == 'T')
		count = oracle_tagged(o, index, oracle_fold(pc ^ word, o->config.tag_bits));
	else
		count = oracle_sample(o, index);
	if (!count)
		return false;
	struct oracle_message message = {pc, word, count};
	if (o->config.second)
		return oracle_second(o, &message, ret_message);
	*ret_message = message;
	return true;
}
