// SPDX-License-Identifier: GPL-2.0-or-later
/* The TNV table against a list sorted at every message; and that a hot newcomer does climb. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_tnv.h"
#include "oracle_stream.h"
#include "oracle_tnv.h"

#define EVENTS 40000 /* a setting and stream, of which there are 20 */

static struct pp_tnv_config core_config(const struct oracle_tnv_config *o)
{
	return (struct pp_tnv_config){.size = (uint32_t)o->size, .clear = (uint32_t)o->clear};
}

static size_t state_differences(const struct pp_tnv *t, const struct oracle_tnv *o)
{
	size_t different = t->used != o->cnt || t->profiled != o->profiled;

	for (size_t i = 0; i < o->cnt && i < t->used; i++)
		different += t->entry[i].value != o->list[i].value ||
			     t->entry[i].count != o->list[i].count;
	return different;
}

/* A fault planted in the table in the middle of the stream, where its values do not change. */
typedef void fault_fn(struct pp_tnv *t);

/* The stream changes what it is made of every 10,000 messages. */
static uint64_t draw_value(struct stream *s, size_t i)
{
	uint64_t mixer = stream_next(s) + i / 10000 * 7, value = stream_random(&mixer);

	return value % 5 ? value : value % 3;
}

/* Messages of `most` executions at most, the same to table and list. */
struct messages {
	uint64_t most;
	bool as_one; /* a fault: the table is not told of counts */
	fault_fn *fault;
};

static size_t differences(const struct oracle_tnv_config *core,
			  const struct oracle_tnv_config *oracle, struct stream *s,
			  const struct messages *m)
{
	struct pp_tnv_config config = core_config(core);
	struct pp_tnv t = {.profiled = 0};
	struct oracle_tnv o;
	size_t different = 0;

	oracle_tnv_init(&o, oracle);
	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t value = draw_value(s, i), mixer = i;
		uint64_t count = 1 + stream_random(&mixer) % m->most;

		if (m->fault && i == EVENTS / 2 + 5)
			m->fault(&t);
		pp_tnv_add(&t, &config, value, m->as_one ? 1 : count);
		oracle_tnv_add(&o, value, count);
		if (i % 997 == 0)
			different += state_differences(&t, &o);
	}
	return different + state_differences(&t, &o);
}

static size_t differences_on(const struct oracle_tnv_config *core,
			     const struct oracle_tnv_config *oracle, enum stream_kind kind,
			     const struct messages *m)
{
	struct stream s;

	stream_init(&s, kind, false, 40, core->size);
	return differences(core, oracle, &s, m);
}

static const struct oracle_tnv_config configs[] = {
	{.size = 10, .clear = 2000},
	{.size = 2, .clear = 50},
	{.size = 16, .clear = 300},
	{.size = 6, .clear = 1},
};
#define CONFIG_CNT (sizeof(configs) / sizeof(configs[0]))

static const struct messages single = {.most = 1}, many = {.most = 37},
			     huge = {.most = UINT64_C(1) << 40};

static void test_oracle(void)
{
	for (size_t i = 0; i < CONFIG_CNT; i++)
		for (unsigned int kind = 0; kind < STREAM_KIND_CNT; kind++)
			CU_ASSERT_EQUAL(differences_on(&configs[i], &configs[i], kind, &single), 0);
}

static void test_messages(void)
{
	static const struct messages untold = {.most = 37, .as_one = true};

	for (size_t i = 0; i < CONFIG_CNT; i++)
		for (unsigned int kind = 0; kind < STREAM_KIND_CNT; kind++) {
			CU_ASSERT_EQUAL(differences_on(&configs[i], &configs[i], kind, &many), 0);
			CU_ASSERT_EQUAL(differences_on(&configs[i], &configs[i], kind, &huge), 0);
		}
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[0], &configs[0], STREAM_SKEWED, &untold), 0);
}

static void bump(struct pp_tnv *t)
{
	t->entry[0].count++;
}

static void swap_top(struct pp_tnv *t)
{
	struct pp_tnv_entry kept = t->entry[0];

	t->entry[0] = t->entry[1];
	t->entry[1] = kept;
}

static void test_planted_state(void)
{
	static const struct messages bumped = {.most = 1, .fault = bump},
				     swapped = {.most = 1, .fault = swap_top};

	CU_ASSERT_NOT_EQUAL(differences_on(&configs[0], &configs[0], STREAM_SKEWED, &bumped), 0);
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[2], &configs[2], STREAM_SKEWED, &swapped), 0);
}

static void test_planted_rule(void)
{
	struct oracle_tnv_config wrong = configs[0];

	wrong.unstable_ties = true;
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[0], &wrong, STREAM_SKEWED, &single), 0);
	wrong = configs[0];
	wrong.never_clears = true;
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[0], &wrong, STREAM_SKEWED, &single), 0);
	wrong = configs[0];
	wrong.clear++;
	CU_ASSERT_NOT_EQUAL(differences_on(&configs[0], &wrong, STREAM_UNIFORM, &single), 0);
}

/* Old values fill the table with high counts; the newcomer still gets to the top. */
static void test_newcomer_climbs(void)
{
	static const struct pp_tnv_config config = {.size = 10, .clear = 2000};
	struct pp_tnv t = {.profiled = 0};

	for (uint64_t i = 0; i < 1990; i++)
		pp_tnv_add(&t, &config, i % 10, 1);
	for (uint64_t i = 0; i < 4000; i++) /* two newcomers, each the other's rival */
		pp_tnv_add(&t, &config, 100 + i % 2, 1);
	CU_ASSERT(t.entry[0].value == 100 || t.entry[0].value == 101);
	CU_ASSERT(t.entry[1].value == 100 || t.entry[1].value == 101);
}

/* Counts beyond 32 bits, which a message may have. */
static void test_large_messages(void)
{
	static const struct pp_tnv_config config = {.size = 10, .clear = 2000};
	struct pp_tnv t = {.profiled = 0};

	for (uint64_t i = 0; i < 20; i++)
		pp_tnv_add(&t, &config, i % 2, UINT64_C(1) << 40);
	CU_ASSERT_EQUAL(t.profiled, UINT64_C(20) << 40);
	CU_ASSERT_EQUAL(t.entry[0].count, UINT64_C(10) << 40);
	CU_ASSERT_EQUAL(t.used, 2);
}

static const struct unit_test tests[] = {
	{"equals a sorted list for every size and interval", test_oracle},
	{"messages of many executions equal a sorted list, too", test_messages},
	{"a changed count or order is found", test_planted_state},
	{"a changed tie or interval is found", test_planted_rule},
	{"newcomers climb past old values", test_newcomer_climbs},
	{"counts may be larger than 32 bits", test_large_messages},
};
UNIT_SUITE(tnv, tests)
