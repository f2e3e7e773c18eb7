// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Value profiles of many instructions against one oracle for each of them; what does not fit is
 * dropped and counted, and hurts nobody else.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_value_table.h"
#include "oracle_compress.h"
#include "oracle_stream.h"
#include "oracle_tnv.h"

#define EVENTS 300000

/* Instruction i of the oracle lives at slot[i]; an instruction without a slot is dropped. */
struct oracle_values {
	struct oracle_tnv tnv[PP_VALUE_TABLE_MAX];
	uint64_t pc[PP_VALUE_TABLE_MAX]; /* owner of each slot, 0: nobody */
	uint64_t random, dropped;
	struct oracle_tnv_config config;
};

static bool oracle_step(struct oracle_values *o, uint64_t pc, uint64_t value)
{
	size_t home = oracle_fold(pc * 0x9E3779B97F4A7C15ULL, 10);

	for (size_t i = home; i < home + 8; i++) {
		size_t slot = i % PP_VALUE_TABLE_MAX;

		if (o->pc[slot] == pc)
			return oracle_tnv_step(&o->tnv[slot], value);
		if (o->pc[slot])
			continue;
		o->pc[slot] = pc;
		oracle_tnv_init(&o->tnv[slot], &o->config, &o->random);
		return oracle_tnv_step(&o->tnv[slot], value);
	}
	o->dropped++;
	return false;
}

static bool same_slot(const struct pp_value_slot *slot, uint64_t pc, const struct oracle_tnv *o)
{
	if (slot->pc != pc)
		return false;
	if (!pc)
		return true;
	if (slot->tnv.used != o->cnt || slot->tnv.profiled != o->profiled)
		return false;
	for (size_t i = 0; i < o->cnt; i++)
		if (slot->tnv.entry[i].value != o->list[i].value ||
		    slot->tnv.entry[i].count != o->list[i].count)
			return false;
	return true;
}

/* Steps and final slots that differ. clear_added: a fault of the oracle's interval. */
static size_t differences(enum stream_kind kind, uint64_t pcs, uint64_t clear_added,
			  uint64_t *ret_dropped)
{
	static const struct pp_tnv_config config = {.size = 6,
						    .clear = 100,
						    .rule = PP_TNV_BOUNDED,
						    .converge = 50,
						    .increase_ppm = 20000,
						    .decrease_ppm = 20000,
						    .backoff = 20,
						    .backoff_max = 100,
						    .backoff_random = 1};
	struct pp_value_table *t = calloc(1, sizeof(*t));
	struct oracle_values *o = calloc(1, sizeof(*o));
	size_t different = 0;
	struct stream s;

	o->config = (struct oracle_tnv_config){.size = 6,
					       .clear = 100 + clear_added,
					       .rule = ORACLE_BOUNDED,
					       .converge = 50,
					       .increase_ppm = 20000,
					       .decrease_ppm = 20000,
					       .backoff = 20,
					       .backoff_max = 100,
					       .backoff_random = true};
	pp_value_table_init(t, 3);
	o->random = 3;
	stream_init(&s, kind, false, pcs, pcs);
	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t pc = 0x401000 + 4 * stream_next(&s), value = stream_random(&s.random) % 9;

		value = value < 5 ? pc : value;
		different += pp_value_table_step(t, &config, pc, value) !=
			     (uint32_t)oracle_step(o, pc, value);
	}
	for (size_t i = 0; i < PP_VALUE_TABLE_MAX; i++)
		different += !same_slot(&t->slot[i], o->pc[i], &o->tnv[i]);
	different += t->dropped != o->dropped;
	*ret_dropped = t->dropped;
	free(t);
	free(o);
	return different;
}

static void test_oracle(void)
{
	uint64_t dropped;

	for (unsigned int kind = 0; kind < STREAM_KIND_CNT; kind++)
		CU_ASSERT_EQUAL(differences(kind, 2000, 0, &dropped), 0);
	CU_ASSERT_EQUAL(differences(STREAM_UNIFORM, 20, 0, &dropped), 0);
	CU_ASSERT_EQUAL(dropped, 0);
}

static void test_full(void)
{
	uint64_t dropped;

	CU_ASSERT_EQUAL(differences(STREAM_DISTINCT, 0, 0, &dropped), 0);
	CU_ASSERT(dropped >= EVENTS - PP_VALUE_TABLE_MAX);
}

static void test_planted_fault(void)
{
	uint64_t dropped;

	CU_ASSERT_NOT_EQUAL(differences(STREAM_SKEWED, 200, 1, &dropped), 0);
}

static const struct unit_test tests[] = {
	{"equals one oracle an instruction", test_oracle},
	{"drops and counts what has no slot", test_full},
	{"a changed interval is found", test_planted_fault},
};
UNIT_SUITE(value_table, tests)
