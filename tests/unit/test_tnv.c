// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The TNV table against a list sorted at every execution, with both rules of convergence and both
 * back-offs; and that a hot newcomer does climb.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_tnv.h"
#include "oracle_stream.h"
#include "oracle_tnv.h"

#define EVENTS 40000 /* a setting and stream, of which there are 40 */

static struct pp_tnv_config core_config(const struct oracle_tnv_config *o)
{
	return (struct pp_tnv_config){.size = (uint32_t)o->size,
				      .clear = (uint32_t)o->clear,
				      .rule = (uint32_t)o->rule,
				      .converge = (uint32_t)o->converge,
				      .increase_ppm = (uint32_t)o->increase_ppm,
				      .decrease_ppm = (uint32_t)o->decrease_ppm,
				      .backoff = (uint32_t)o->backoff,
				      .backoff_max = (uint32_t)o->backoff_max,
				      .backoff_random = o->backoff_random};
}

static size_t state_differences(const struct pp_tnv *t, const struct oracle_tnv *o)
{
	size_t different = t->used != o->cnt || t->executed != o->executed ||
			   t->profiled != o->profiled || t->same != o->same;

	for (size_t i = 0; i < o->cnt && i < t->used; i++)
		different += t->entry[i].value != o->list[i].value ||
			     t->entry[i].count != o->list[i].count;
	for (uint32_t top = 0; top <= PP_TNV_MAX; top++)
		different += pp_tnv_invariance_ppm(t, top) != oracle_tnv_invariance(o, top);
	return different;
}

/* A fault planted in the table in the middle of the stream, where its values do not change. */
typedef void fault_fn(struct pp_tnv *t);

/* The stream changes what it is made of every 10,000 executions. */
static uint64_t draw_value(struct stream *s, size_t i)
{
	uint64_t mixer = stream_next(s) + i / 10000 * 7, value = stream_random(&mixer);

	return value % 5 ? value : value % 3;
}

static size_t differences(const struct oracle_tnv_config *core,
			  const struct oracle_tnv_config *oracle, struct stream *s, fault_fn *fault)
{
	struct pp_tnv_config config = core_config(core);
	struct pp_random random = {.state = 77};
	struct pp_tnv t = {.executed = 0};
	uint64_t oracle_random = 77;
	struct oracle_tnv o;
	size_t different = 0;

	oracle_tnv_init(&o, oracle, &oracle_random);
	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t value = draw_value(s, i);

		if (fault && i == EVENTS / 2 + 5)
			fault(&t);
		different += pp_tnv_step(&t, &config, value, &random) !=
			     (uint32_t)oracle_tnv_step(&o, value);
		if (i % 997 == 0)
			different += state_differences(&t, &o);
	}
	return different + state_differences(&t, &o);
}

static size_t differences_on(const struct oracle_tnv_config *core,
			     const struct oracle_tnv_config *oracle, enum stream_kind kind,
			     fault_fn *fault)
{
	struct stream s;

	stream_init(&s, kind, false, 40, core->size);
	return differences(core, oracle, &s, fault);
}

static const struct oracle_tnv_config configs[] = {
	{.size = 10, .clear = 2000},
	{.size = 2, .clear = 50},
	{.size = 16, .clear = 300},
	{.size = 6, .clear = 1},
	{.size = 10,
	 .clear = 2000,
	 .rule = ORACLE_INCREASING,
	 .converge = 2000,
	 .backoff = 1000,
	 .backoff_max = 5000},
	{.size = 4,
	 .clear = 100,
	 .rule = ORACLE_INCREASING,
	 .converge = 50,
	 .backoff = 3,
	 .backoff_max = 40,
	 .backoff_random = true},
	{.size = 10,
	 .clear = 500,
	 .rule = ORACLE_BOUNDED,
	 .converge = 200,
	 .increase_ppm = 20000,
	 .decrease_ppm = 40000,
	 .backoff = 100,
	 .backoff_max = 3000},
	{.size = 8,
	 .clear = 100,
	 .rule = ORACLE_BOUNDED,
	 .converge = 20,
	 .increase_ppm = 1000,
	 .decrease_ppm = 500,
	 .backoff = 64,
	 .backoff_max = 64,
	 .backoff_random = true},
};
#define CONFIG_CNT (sizeof(configs) / sizeof(configs[0]))

static void test_oracle(void)
{
	for (size_t i = 0; i < CONFIG_CNT; i++)
		for (unsigned int kind = 0; kind < STREAM_KIND_CNT; kind++)
			CU_ASSERT_EQUAL(differences_on(&configs[i], &configs[i], kind, NULL), 0);
}

static void bump(struct pp_tnv *t)
{
	t->entry[0].count++;
}

static void forget_last(struct pp_tnv *t)
{
	t->last ^= 1;
}

static void swap_top(struct pp_tnv *t)
{
	struct pp_tnv_entry kept = t->entry[0];

	t->entry[0] = t->entry[1];
	t->entry[1] = kept;
}

static void test_planted_state(void)
{
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[0], &configs[0], STREAM_SKEWED, bump), 0);
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[0], &configs[0], STREAM_SAME, forget_last), 0);
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[2], &configs[2], STREAM_SKEWED, swap_top), 0);
}

static void test_planted_rule(void)
{
	struct oracle_tnv_config wrong = configs[0];

	wrong.unstable_ties = true;
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[0], &wrong, STREAM_SKEWED, NULL), 0);
	wrong = configs[0];
	wrong.never_clears = true;
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[0], &wrong, STREAM_SKEWED, NULL), 0);
	wrong = configs[0];
	wrong.clear++;
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[0], &wrong, STREAM_UNIFORM, NULL), 0);
	wrong = configs[4];
	wrong.rule = ORACLE_BOUNDED;
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[4], &wrong, STREAM_SKEWED, NULL), 0);
	wrong = configs[4];
	wrong.backoff++;
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[4], &wrong, STREAM_SAME, NULL), 0);
	wrong = configs[5];
	wrong.backoff_random = false;
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[5], &wrong, STREAM_SAME, NULL), 0);
}

/* Old values fill the table with high counts; the newcomer still gets to the top. */
static void test_newcomer_climbs(void)
{
	struct pp_random random = {.state = 1};
	struct pp_tnv t = {.executed = 0};
	struct pp_tnv_config config;

	pp_tnv_config_default(&config);
	for (uint64_t i = 0; i < 1990; i++)
		pp_tnv_step(&t, &config, i % 10, &random);
	for (uint64_t i = 0; i < 4000; i++) /* two newcomers, each the other's rival */
		pp_tnv_step(&t, &config, 100 + i % 2, &random);
	CU_ASSERT(t.entry[0].value == 100 || t.entry[0].value == 101);
	CU_ASSERT(t.entry[1].value == 100 || t.entry[1].value == 101);
}

/* What settles is left alone for as long as the back-off says, twice as long the next time. */
static void test_exponential_backoff(void)
{
	struct pp_random random = {.state = 1};
	struct pp_tnv t = {.executed = 0};
	struct pp_tnv_config config;
	uint64_t paused[3] = {0};

	pp_tnv_config_default(&config);
	config.rule = PP_TNV_INCREASING;
	config.converge = 100;
	config.backoff = 1000;
	config.backoff_max = 1500;
	/* The first test finds an increase from nothing; each later one finds none. */
	for (unsigned int i = 0; i < 200; i++)
		CU_ASSERT_EQUAL(pp_tnv_step(&t, &config, 5, &random), 1);
	for (unsigned int k = 0; k < 3; k++) {
		while (!pp_tnv_step(&t, &config, 5, &random))
			paused[k]++;
		for (unsigned int i = 1; i < 100; i++)
			CU_ASSERT_EQUAL(pp_tnv_step(&t, &config, 5, &random), 1);
	}
	CU_ASSERT_EQUAL(paused[0], 1000);
	CU_ASSERT_EQUAL(paused[1], 1500);
	CU_ASSERT_EQUAL(paused[2], 1500);
}

/*
 * Whether profiling pauses after ten executions of which the first ones gave the same value, and
 * ten more; second_same above 10: after the first ten.
 */
static bool pauses(uint64_t first_same, uint64_t second_same, uint32_t increase_ppm,
		   uint32_t decrease_ppm)
{
	struct pp_tnv_config config = {.size = 2,
				       .clear = 1000,
				       .rule = PP_TNV_BOUNDED,
				       .converge = 10,
				       .increase_ppm = increase_ppm,
				       .decrease_ppm = decrease_ppm,
				       .backoff = 5,
				       .backoff_max = 5};
	struct pp_random random = {.state = 1};
	struct pp_tnv t = {.executed = 0};

	for (uint64_t i = 0; i < 10; i++)
		pp_tnv_step(&t, &config, i < first_same ? 0 : i, &random);
	if (second_same > 10)
		return !pp_tnv_step(&t, &config, 0, &random);
	for (uint64_t i = 0; i < 10; i++)
		pp_tnv_step(&t, &config, i < second_same ? 0 : 100 + i, &random);
	return !pp_tnv_step(&t, &config, 0, &random);
}

/* A change of just the bound has settled, one part per million more has not. */
static void test_bounds(void)
{
	static const uint64_t one_test = 11;

	CU_ASSERT_TRUE(pauses(5, one_test, 500000, 0));
	CU_ASSERT_FALSE(pauses(5, one_test, 499999, 0));
	CU_ASSERT_TRUE(pauses(10, 0, 999999, 500000));
	CU_ASSERT_FALSE(pauses(10, 0, 999999, 499999));
}

static void test_previous_value(void)
{
	static const uint64_t values[] = {0, 0, 7, 7, 7, 0};
	struct pp_random random = {.state = 1};
	struct pp_tnv t = {.executed = 0};
	struct pp_tnv_config config;

	pp_tnv_config_default(&config);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		pp_tnv_step(&t, &config, values[i], &random);
	CU_ASSERT_EQUAL(t.same, 3);
	CU_ASSERT_EQUAL(pp_tnv_invariance_ppm(&t, 1), 500000);
	CU_ASSERT_EQUAL(pp_tnv_invariance_ppm(&t, 2), 1000000);
}

/* Messages of many counts, the same to table and list. as_one: a fault, counts are not told. */
static size_t message_differences(const struct oracle_tnv_config *core, enum stream_kind kind,
				  bool as_one)
{
	struct pp_tnv_config config = core_config(core);
	struct pp_tnv t = {.executed = 0};
	uint64_t oracle_random = 77;
	struct oracle_tnv o;
	size_t different = 0;
	struct stream s;

	stream_init(&s, kind, false, 40, core->size);
	oracle_tnv_init(&o, core, &oracle_random);
	for (size_t i = 0; i < EVENTS / 4; i++) {
		uint64_t value = draw_value(&s, i), mixer = i, count;

		count = 1 + stream_random(&mixer) % 37;
		pp_tnv_add(&t, &config, value, as_one ? 1 : count);
		oracle_tnv_add(&o, value, count);
		if (i % 97 == 0)
			different += state_differences(&t, &o);
	}
	return different + state_differences(&t, &o);
}

static void test_messages(void)
{
	for (size_t i = 0; i < CONFIG_CNT; i++)
		for (unsigned int kind = 0; kind < STREAM_KIND_CNT; kind++)
			CU_ASSERT_EQUAL(message_differences(&configs[i], kind, false), 0);
	CU_ASSERT_NOT_EQUAL(message_differences(&configs[0], STREAM_SKEWED, true), 0);
}

/* Counts beyond 32 bits: the interval saturates, the sums do not. */
static void test_large_messages(void)
{
	struct pp_tnv t = {.executed = 0};
	struct pp_tnv_config config;

	pp_tnv_config_default(&config);
	for (uint64_t i = 0; i < 20; i++)
		pp_tnv_add(&t, &config, i % 2, UINT64_C(1) << 40);
	CU_ASSERT_EQUAL(t.profiled, UINT64_C(20) << 40);
	CU_ASSERT_EQUAL(t.entry[0].count, UINT64_C(10) << 40);
	CU_ASSERT_EQUAL(t.used, 2);
}

static const struct unit_test tests[] = {
	{"equals a sorted list under every rule and back-off", test_oracle},
	{"a changed count, order or last value is found", test_planted_state},
	{"a changed tie, interval, rule or back-off is found", test_planted_rule},
	{"newcomers climb past old values", test_newcomer_climbs},
	{"the back-off doubles up to its bound", test_exponential_backoff},
	{"a change of just the bound has settled", test_bounds},
	{"counts executions equal to the one before", test_previous_value},
	{"messages of many executions equal a sorted list, too", test_messages},
	{"counts may be larger than the interval can", test_large_messages},
};
UNIT_SUITE(tnv, tests)
