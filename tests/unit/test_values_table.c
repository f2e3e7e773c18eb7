// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables behind value profiling: each parameter has one of its own, as the model of the TNV
 * table has it, and windows begin anew.
 */
#include "../../daemon/bpf/values_table.h"
#include "oracle_stream.h"
#include "oracle_tnv.h"
#include "unit.h"

#define PLACES   5
#define RATE     16
#define MESSAGES 30000

static size_t differences(const struct pp_values_tables *tables, uint32_t place,
			  const struct oracle_tnv *o)
{
	struct pp_values_top tops[PP_VALUES_TOP_MAX];
	uint64_t profiled = 0;
	uint32_t cnt = pp_values_tables_read(tables, place, tops, &profiled);
	size_t different = cnt != o->cnt || profiled != o->profiled;

	for (uint32_t i = 0; i < cnt && i < o->cnt; i++)
		different += tops[i].value != o->list[i].value || tops[i].count != o->list[i].count;
	return different;
}

/* strayed: a fault, one message goes to the parameter beside it. */
static size_t window(struct pp_values_tables *tables, uint64_t seed, bool strayed)
{
	const struct oracle_tnv_config config = {.size = PP_VALUES_TOP_MAX, .clear = 2000};
	uint64_t random = seed;
	struct oracle_tnv o[PLACES];
	size_t different = 0;

	for (uint32_t i = 0; i < PLACES; i++)
		oracle_tnv_init(&o[i], &config);
	for (size_t i = 0; i < MESSAGES; i++) {
		uint32_t place = (uint32_t)(stream_random(&random) % PLACES);
		uint64_t draw = stream_random(&random), value = draw % 4 ? draw % 23 : draw;

		oracle_tnv_add(&o[place], value, RATE);
		if (strayed && i == MESSAGES - 1)
			place = (place + 1) % PLACES;
		pp_values_tables_add(tables, place, value, RATE);
	}
	for (uint32_t i = 0; i < PLACES; i++)
		different += differences(tables, i, &o[i]);
	return different;
}

static void test_oracle(void)
{
	struct pp_values_tables *tables = NULL;

	CU_ASSERT_EQUAL_FATAL(pp_values_tables_new(&tables, PLACES, RATE), 0);
	for (uint64_t seed = 1; seed <= 3; seed++) {
		CU_ASSERT_EQUAL(window(tables, seed, false), 0);
		pp_values_tables_clear(tables);
	}
	CU_ASSERT_NOT_EQUAL(window(tables, 4, true), 0);
	pp_values_tables_free(tables);
	pp_values_tables_free(NULL);
}

/*
 * Two values that take turns behind sixteen old ones, each replacing the other in the last slot,
 * are both there in the end, less what the first interval cost.
 */
static void test_rivals(void)
{
	struct pp_values_top tops[PP_VALUES_TOP_MAX];
	struct pp_values_tables *tables = NULL;
	uint64_t profiled = 0, least;

	CU_ASSERT_EQUAL_FATAL(pp_values_tables_new(&tables, 1, RATE), 0);
	for (uint64_t i = 0; i < PP_VALUES_TOP_MAX; i++)
		pp_values_tables_add(tables, 0, i, RATE);
	for (uint64_t i = 0; i < 1000; i++)
		pp_values_tables_add(tables, 0, 100 + i % 2, RATE);
	CU_ASSERT(pp_values_tables_read(tables, 0, tops, &profiled) >= 2);
	CU_ASSERT_EQUAL(tops[0].value + tops[1].value, 201);
	least = tops[0].count < tops[1].count ? tops[0].count : tops[1].count;
	CU_ASSERT(least >= 500 * RATE - 2000);
	pp_values_tables_free(tables);
}

/* The interval of a sampler with a rate of millions does not wrap to a short one. */
static void test_high_rate(void)
{
	struct pp_values_top tops[PP_VALUES_TOP_MAX];
	struct pp_values_tables *tables = NULL;
	uint64_t profiled = 0;

	CU_ASSERT_EQUAL_FATAL(pp_values_tables_new(&tables, 1, 1u << 30), 0);
	for (uint64_t i = 0; i < PP_VALUES_TOP_MAX; i++)
		pp_values_tables_add(tables, 0, i, 1000);
	CU_ASSERT_EQUAL(pp_values_tables_read(tables, 0, tops, &profiled), PP_VALUES_TOP_MAX);
	CU_ASSERT_EQUAL(profiled, 1000 * PP_VALUES_TOP_MAX);
	pp_values_tables_free(tables);
}

static const struct unit_test tests[] = {
	{"each parameter's table equals the model's, window by window", test_oracle},
	{"values that take turns are both kept", test_rivals},
	{"high rates keep their interval", test_high_rate},
};
UNIT_SUITE(values_table, tests)
