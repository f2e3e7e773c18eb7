// SPDX-License-Identifier: GPL-2.0-or-later
/* The whole chain for a branch against the oracles of its stages put one behind the other. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_chain.h"
#include "oracle_compress.h"
#include "oracle_path.h"

#define EVENTS 250000

struct oracle_chain {
	struct oracle_compress compress;
	struct oracle_path_stack stack;
	struct oracle_hot_paths hot;
};

static const struct oracle_compress_config oracle_compress_config = {
	.sampler = 'P', .rate = 8, .bits = 8, .ways = 1, .second = 8};
static const struct oracle_path_config oracle_path_config = {.max_length = 24, .depth = 32};

static void chain_config(struct pp_chain_config *ret_config)
{
	*ret_config = (struct pp_chain_config){
		.compress = {.sampler = PP_SAMPLER_PERIODIC, .rate = 8, .bits = 8, .assoc_size = 8},
		.hpt = {.bits = 5, .ways = 4}};
	pp_path_config_bl(&ret_config->path);
	ret_config->path.max_length = 24;
}

static void oracle_chain_init(struct oracle_chain *o, unsigned int hot_bits)
{
	oracle_compress_init(&o->compress, &oracle_compress_config);
	oracle_path_stack_init(&o->stack, &oracle_path_config);
	oracle_hot_paths_init(&o->hot, hot_bits, 4);
}

static void oracle_chain_release(struct oracle_chain *o)
{
	oracle_compress_release(&o->compress);
	oracle_path_stack_release(&o->stack);
	oracle_hot_paths_release(&o->hot);
}

static uint32_t oracle_chain_step(struct oracle_chain *o, const struct oracle_branch *b,
				  struct oracle_message *ret_message,
				  struct oracle_hot *ret_replaced)
{
	uint32_t out = 0;
	struct oracle_path path;

	if (oracle_compress_step(&o->compress, b->from, b->next, ret_message))
		out |= PP_CHAIN_MESSAGE;
	if (!oracle_path_stack_step(&o->stack, b, &path))
		return out;
	struct oracle_hot hot = {.start = path.start,
				 .count = 1,
				 .length = path.length,
				 .outcomes = oracle_path_outcomes(&path)};

	if (oracle_hot_paths_add(&o->hot, &hot, ret_replaced))
		out |= PP_CHAIN_REPLACED;
	return out;
}

static uint32_t kind_of(char letter)
{
	static const char letters[] = "?bjicCr"; /* in the order of enum pp_kind */

	return (uint32_t)(strchr(letters, letter) - letters);
}

static bool same_message(const struct pp_message *m, const struct oracle_message *o)
{
	return m->tuple.pc == o->pc && m->tuple.word == o->word && m->count == o->count;
}

static bool same_hot(const struct pp_hpt_entry *e, const struct oracle_hot *o)
{
	return e->start == o->start && e->count == o->count &&
	       PP_DESC_LENGTH(e->desc) == o->length && PP_DESC_OUTCOMES(e->desc) == o->outcomes;
}

static size_t differences(struct oracle_chain *o, struct pp_chain *c, enum branch_mix mix)
{
	struct oracle_message expected_message = {0};
	struct oracle_hot expected_replaced = {0};
	struct pp_hpt_entry replaced = {0};
	struct pp_message message = {0};
	struct pp_chain_config config;
	size_t different = 0;
	struct stream s;

	chain_config(&config);
	stream_init(&s, STREAM_UNIFORM, true, 0, mix);
	for (size_t i = 0; i < EVENTS; i++) {
		struct oracle_branch branch = oracle_branch_draw(&s, mix);
		struct pp_branch b = {branch.from, branch.target, branch.next,
				      PP_BRANCH_INFO(kind_of(branch.kind), branch.taken),
				      branch.events};
		uint32_t out = pp_chain_step(c, &config, &b, &message, &replaced);

		if (out != oracle_chain_step(o, &branch, &expected_message, &expected_replaced)) {
			different++;
			continue;
		}
		if (out & PP_CHAIN_MESSAGE)
			different += !same_message(&message, &expected_message);
		if (out & PP_CHAIN_REPLACED)
			different += !same_hot(&replaced, &expected_replaced);
	}
	return different;
}

static size_t differences_on(enum branch_mix mix, unsigned int hot_bits, uint32_t flipped_counter)
{
	struct pp_chain *c = calloc(1, sizeof(*c));
	struct pp_chain_config config;
	struct oracle_chain o;
	size_t different;

	chain_config(&config);
	pp_compress_init(&c->compress, &config.compress, 1);
	c->compress.split.counter[3] ^= flipped_counter;
	oracle_chain_init(&o, hot_bits);
	different = differences(&o, c, mix);
	oracle_chain_release(&o);
	free(c);
	return different;
}

static void test_oracle(void)
{
	for (unsigned int mix = 0; mix < BRANCH_MIX_CNT; mix++)
		CU_ASSERT_EQUAL(differences_on(mix, 5, 0), 0);
}

static void test_planted_fault(void)
{
	CU_ASSERT_NOT_EQUAL(differences_on(BRANCH_MIXED, 5, 1), 0);
	CU_ASSERT_NOT_EQUAL(differences_on(BRANCH_MIXED, 4, 0), 0);
}

static const struct unit_test tests[] = {
	{"equals its stages' oracles one behind the other", test_oracle},
	{"a changed counter or table size is found", test_planted_fault},
};
UNIT_SUITE(chain, tests)
