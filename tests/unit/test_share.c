// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits by tenant, then by certificate: who is refused, and that nobody else is. */
#include "../../tools/hub/share.h"
#include "unit.h"

#include <string.h>

#define OWNERS_MAX 32

static const struct hub_share most = {.tenant = 8, .reader = 4};

struct places {
	struct hub_owner list[OWNERS_MAX];
	size_t cnt;
};

static const char *take(struct places *places, const char *tenant, const char *reader)
{
	const struct hub_owner owner = {tenant, reader};
	struct hub_share share = {0, 0};
	const char *why;

	for (size_t i = 0; i < places->cnt; i++)
		hub_share_add(&share, &owner, &places->list[i], 1);
	why = hub_share_judge(&share, 1, &most);
	if (!why && places->cnt < OWNERS_MAX)
		places->list[places->cnt++] = owner;
	return why;
}

static size_t take_all(struct places *places, const char *tenant, const char *reader)
{
	size_t cnt = 0;

	while (cnt < OWNERS_MAX && !take(places, tenant, reader))
		cnt++;
	return cnt;
}

static void test_limits(void)
{
	struct places places = {.cnt = 0};
	const char *why;

	CU_ASSERT_EQUAL(take_all(&places, "a", "one"), 4);
	why = take(&places, "a", "one");
	CU_ASSERT_PTR_NOT_NULL_FATAL(why);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "this certificate"));
	CU_ASSERT_EQUAL(take_all(&places, "a", "two"), 4);
	why = take(&places, "a", "three");
	CU_ASSERT_PTR_NOT_NULL_FATAL(why);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "this tenant"));
}

/* Another tenant's reader has its own name, even where it is the same word. */
static void test_others(void)
{
	struct places places = {.cnt = 0};

	CU_ASSERT_EQUAL(take_all(&places, "a", "one") + take_all(&places, "a", "two"), 8);
	CU_ASSERT_EQUAL(take_all(&places, "b", "one"), 4);
}

static void test_amounts(void)
{
	const struct hub_share none = {0, 0}, some = {6, 2}, beyond = {9, 0};

	CU_ASSERT_PTR_NULL(hub_share_judge(&none, 4, &most));
	CU_ASSERT_PTR_NOT_NULL(hub_share_judge(&none, 5, &most));
	CU_ASSERT_PTR_NULL(hub_share_judge(&some, 2, &most));
	CU_ASSERT_PTR_NOT_NULL(hub_share_judge(&some, 3, &most));
	CU_ASSERT_PTR_NOT_NULL(hub_share_judge(&none, (size_t)-1, &most));
	CU_ASSERT_PTR_NOT_NULL(hub_share_judge(&beyond, 0, &most));
}

static const struct unit_test tests[] = {
	{"a certificate fills its places, and its tenant's others stay", test_limits},
	{"a tenant that fills its places takes none of another's", test_others},
	{"amounts add up to the limit and not beyond", test_amounts},
};
UNIT_SUITE(share, tests)
