// SPDX-License-Identifier: GPL-2.0-or-later
/* The hub's status in the store: missing, whole, another's, damaged or not readable. */
#include "../../tools/hub/judged.h"
#include "test_store.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../tools/hub/judge.h"

/* A code; how many spans it has that were judged in *ret_cnt. */
static int spans_of(struct pathprof_store *store, size_t *ret_cnt, struct pathprof_error *error)
{
	json_t *status = NULL;
	int r = hub_judged_read(store, &status, error);

	*ret_cnt = json_object_size(json_object_get(status, HUB_JUDGE_SPANS));
	json_decref(status);
	return r;
}

static void test_none(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "none"), PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""};
	size_t cnt;

	CU_ASSERT_EQUAL(spans_of(store, &cnt, &error), 0);
	CU_ASSERT_EQUAL(cnt, 0);
	CU_ASSERT_EQUAL(pathprof_store_set_status(store, "{\"source\": \"step\"}", &error), 0);
	CU_ASSERT_EQUAL(spans_of(store, &cnt, &error), 0);
	CU_ASSERT_EQUAL(cnt, 0);
	CU_ASSERT_EQUAL(pathprof_store_set_status(store, "{\"spans\": {\"300\": {\"until\": 600}}}",
						  &error),
			0);
	CU_ASSERT_EQUAL(spans_of(store, &cnt, &error), 0);
	CU_ASSERT_EQUAL(cnt, 1);
	pathprof_store_free(store);
}

static void test_damaged(void)
{
	static const char *const texts[] = {"{\"spans\": {", "[]", "{\"spans\": 7}", "spans"};
	const char *file = world_file(unit_tmpdir(), "damaged");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	char change[100];
	size_t cnt;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct pathprof_error error = {""};

		snprintf(change, sizeof(change),
			 "INSERT OR REPLACE INTO daemon_status VALUES (1, 7, '%s')", texts[i]);
		world_sqlite(file, change);
		CU_ASSERT_EQUAL(spans_of(store, &cnt, &error), -EBADMSG);
		CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "daemon_status"));
	}
	pathprof_store_free(store);
}

static void test_unreadable(void)
{
	const char *file = world_file(unit_tmpdir(), "unreadable");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""};
	size_t cnt;

	world_sqlite(file, "DROP TABLE daemon_status");
	CU_ASSERT(spans_of(store, &cnt, &error) < 0);
	CU_ASSERT_NOT_EQUAL(strlen(error.text), 0);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"nothing was judged where there is no status, or another's", test_none},
	{"a damaged status is no empty one", test_damaged},
	{"a status that cannot be read is no empty one", test_unreadable},
};
UNIT_SUITE(hub_judged, tests)
