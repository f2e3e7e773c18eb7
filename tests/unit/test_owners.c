// SPDX-License-Identifier: GPL-2.0-or-later
/* The owner of a build-id, and that no other user's file is counted under it. */
#include <string.h>

#include "../../daemon/window/owners.h"
#include "unit.h"

#define ROOT    0u
#define ALICE   1000u
#define MALLORY 1001u
#define NOBODY  PATHPROF_OWNER_UNKNOWN

static struct pathprof_build_id id_of(unsigned int number)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};

	memset(id.bytes, 0x5a, sizeof(id.bytes));
	memcpy(id.bytes, &number, sizeof(number));
	return id;
}

struct verdict {
	struct pathprof_build_id id;
	uint32_t owner;
	bool is_own, is_news;
};

static struct verdict judge_when(struct pp_owners *owners, unsigned int number, uint32_t owner,
				 bool may_tell)
{
	const struct pathprof_build_id id = id_of(number);
	const struct pathprof_file file = {.owner = owner, .device = 1, .inode = owner};
	struct verdict v;

	v.is_news = pp_owners_judge(owners, &id, &file, may_tell, &v.id, &v.owner);
	v.is_own = !pathprof_build_id_equal(&v.id, &id);
	return v;
}

static struct verdict judge(struct pp_owners *owners, unsigned int number, uint32_t owner)
{
	return judge_when(owners, number, owner, true);
}

static struct pp_owners *fresh(void)
{
	struct pp_owners *owners = NULL;

	CU_ASSERT_EQUAL_FATAL(pp_owners_new(&owners), 0);
	return owners;
}

static void test_first_comes_first(void)
{
	struct pp_owners *owners = fresh();
	struct verdict v;

	CU_ASSERT(!judge(owners, 1, ALICE).is_own);
	v = judge(owners, 1, MALLORY);
	CU_ASSERT(v.is_own && v.is_news && v.owner == ALICE);
	/* told once, and the other files of the build-id's owner are copies */
	v = judge(owners, 1, MALLORY);
	CU_ASSERT(v.is_own && !v.is_news);
	CU_ASSERT(!judge(owners, 1, ALICE).is_own);
	CU_ASSERT(!judge(owners, 2, MALLORY).is_own);
	pp_owners_free(owners);
}

/* News that had to wait stays news. */
static void test_told_later(void)
{
	struct pp_owners *owners = fresh();
	struct verdict v;

	judge(owners, 1, ALICE);
	v = judge_when(owners, 1, MALLORY, false);
	CU_ASSERT(v.is_own && !v.is_news && v.owner == ALICE);
	v = judge(owners, 1, MALLORY);
	CU_ASSERT(v.is_own && v.is_news && v.owner == ALICE);
	CU_ASSERT(!judge(owners, 1, MALLORY).is_news);
	pp_owners_free(owners);
}

/* Users who run copies of one program in turn are told of once each. */
static void test_told_once_each(void)
{
	struct pp_owners *owners = fresh();
	unsigned int told = 0;

	judge(owners, 1, ALICE);
	for (unsigned int round = 0; round < 5; round++)
		for (uint32_t user = 0; user < PP_OWNERS_TOLD; user++)
			CU_ASSERT_EQUAL(judge(owners, 1, MALLORY + user).is_news, round == 0);
	for (uint32_t user = PP_OWNERS_TOLD; user < 100; user++)
		told += judge(owners, 1, MALLORY + user).is_news;
	CU_ASSERT_EQUAL(told, 0);
	/* as news for the owner who took it */
	judge(owners, 1, ROOT);
	CU_ASSERT(judge(owners, 1, MALLORY).is_news);
	CU_ASSERT(!judge(owners, 1, MALLORY).is_news);
	pp_owners_free(owners);
}

static void test_root_takes_it(void)
{
	struct pp_owners *owners = fresh();

	CU_ASSERT(!judge(owners, 1, MALLORY).is_own);
	CU_ASSERT(!judge(owners, 1, ROOT).is_own);
	CU_ASSERT(judge(owners, 1, MALLORY).is_own);
	CU_ASSERT(judge(owners, 1, NOBODY).is_own);
	CU_ASSERT(!judge(owners, 1, ROOT).is_own);
	/* who is not known has it until somebody is */
	CU_ASSERT(!judge(owners, 2, NOBODY).is_own);
	CU_ASSERT(!judge(owners, 2, ALICE).is_own);
	CU_ASSERT(judge(owners, 2, NOBODY).is_own);
	pp_owners_free(owners);
}

static void test_identity_of_its_own(void)
{
	struct pp_owners *owners = fresh();
	struct pathprof_build_id id = id_of(1), short_id = {.len_bytes = 4, .kind = 1}, ret_id;
	const struct pathprof_file roots = {.owner = ROOT}, mine = {.owner = 0x01020304};
	struct verdict a, b;
	uint32_t owner;

	judge(owners, 1, ROOT);
	a = judge(owners, 1, 0x01020304);
	b = judge(owners, 1, 0x01020305);
	CU_ASSERT_EQUAL(a.id.kind, PATHPROF_ID_FILE);
	CU_ASSERT_EQUAL(memcmp(a.id.bytes, id.bytes, 16), 0);
	CU_ASSERT_EQUAL(memcmp(a.id.bytes + 16, "\1\2\3\4", 4), 0);
	CU_ASSERT(!pathprof_build_id_equal(&a.id, &b.id));
	pp_owners_judge(owners, &short_id, &roots, true, &ret_id, &owner);
	CU_ASSERT(pathprof_build_id_equal(&ret_id, &short_id));
	pp_owners_judge(owners, &short_id, &mine, true, &ret_id, &owner);
	CU_ASSERT_EQUAL(ret_id.len_bytes, 20);
	/* identities that nobody can choose are left alone */
	id.kind = PATHPROF_ID_FILE;
	pp_owners_judge(owners, &id, &roots, true, &ret_id, &owner);
	pp_owners_judge(owners, &id, &mine, true, &ret_id, &owner);
	CU_ASSERT(pathprof_build_id_equal(&ret_id, &id));
	pp_owners_free(owners);
}

/* A user who shows a million build-ids pushes out those of users, never root's. */
static void test_bounded(void)
{
	struct pp_owners *owners = fresh();

	judge(owners, 1, ROOT);
	for (unsigned int i = 2; i < 20 * PP_OWNERS_MAX; i++)
		CU_ASSERT(!judge(owners, i, MALLORY).is_own);
	CU_ASSERT(judge(owners, 1, MALLORY).is_own);
	pp_owners_free(owners);
}

static const struct unit_test tests[] = {
	{"a build-id is whose it was first", test_first_comes_first},
	{"what may not be told yet is told later", test_told_later},
	{"each user is told of once", test_told_once_each},
	{"root's file takes it from anybody, and anybody's from nobody's", test_root_takes_it},
	{"other files have an identity of their own", test_identity_of_its_own},
	{"of many, root's stay", test_bounded},
};
UNIT_SUITE(owners, tests)
