// SPDX-License-Identifier: GPL-2.0-or-later
/* Taken branches as tuples: their short hash against the whole one, and what becomes of kinds. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_tuples.h"
#include "oracle_stream.h"

#define EVENTS 200000
#define MASK48 ((UINT64_C(1) << 48) - 1)

/* Indices that differ from pp_hash_index() of the tagged tuple. flip: of the plan's hash. */
static uint32_t differences(uint32_t bits, uint32_t profile, uint32_t flip)
{
	struct pp_hash *hash = calloc(1, sizeof(*hash));
	struct pp_tuple_plan plan;
	uint64_t random = bits + 1;
	uint32_t wrong = 0;

	pp_hash_init(hash, bits);
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint32_t context = (uint32_t)stream_random(&random) & 0xffff, own;
		/* Neighbours mostly, so that the region is kept and is left. */
		uint64_t far = stream_random(&random) % 8 ? UINT64_C(0x7f1234000000) : 0x400000;
		uint64_t from = (far + (stream_random(&random) & 0xfffff)) & MASK48;
		uint64_t to = (far + (stream_random(&random) & 0x1ffffff)) & MASK48;
		uint64_t word = to | (uint64_t)profile << PP_CONTEXT_SHIFT;

		pp_tuple_plan_init(&plan, hash, ~0u, PP_PROFILE_EDGES | PP_PROFILE_CALLS, context);
		own = profile == PP_PROFILE_CALLS ? plan.call_hash : plan.edge_hash;
		wrong += (pp_tuple_near(hash, from, to) ^ own ^ flip) !=
			 pp_hash_index(hash, from | plan.tag, word);
	}
	free(hash);
	return wrong;
}

static void test_index(void)
{
	CU_ASSERT_EQUAL(differences(11, PP_PROFILE_EDGES, 0), 0);
	CU_ASSERT_EQUAL(differences(11, PP_PROFILE_CALLS, 0), 0);
	CU_ASSERT_EQUAL(differences(4, PP_PROFILE_EDGES, 0), 0);
	CU_ASSERT_EQUAL(differences(16, PP_PROFILE_CALLS, 0), 0);
	CU_ASSERT_EQUAL(differences(11, PP_PROFILE_EDGES, 1), EVENTS);
}

static void test_kinds(void)
{
	const uint32_t calls = 1u << PP_KIND_CALL | 1u << PP_KIND_ICALL;
	const uint32_t some = 1u << PP_KIND_CALL | 1u << PP_KIND_RET;
	struct pp_hash *hash = calloc(1, sizeof(*hash));
	struct pp_tuple_plan plan;

	pp_hash_init(hash, 11);
	pp_tuple_plan_init(&plan, hash, ~0u, PP_PROFILE_EDGES, 5);
	CU_ASSERT(plan.edges == ~0u && plan.calls == 0);
	CU_ASSERT_EQUAL(plan.tag, UINT64_C(5) << 48);
	pp_tuple_plan_init(&plan, hash, ~0u, PP_PROFILE_CALLS, 5);
	CU_ASSERT(plan.edges == 0 && plan.calls == calls);
	pp_tuple_plan_init(&plan, hash, some, PP_PROFILE_EDGES | PP_PROFILE_CALLS, 5);
	CU_ASSERT(plan.edges == some && plan.calls == 1u << PP_KIND_CALL);
	free(hash);
}

static const struct unit_test tests[] = {
	{"the short hash is the whole one, of any process and profile", test_index},
	{"each profile has its kinds", test_kinds},
};
UNIT_SUITE(tuples, tests)
