// SPDX-License-Identifier: GPL-2.0-or-later
/* Text profiles over one set of keys: what comes out is what was written, and what is refused. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_stream.h"
#include "pathprof/profile_text.h"

static void write_file(char *ret_name, size_t size, const void *bytes, size_t len)
{
	FILE *f;

	snprintf(ret_name, size, "%s/profile", unit_tmpdir());
	f = fopen(ret_name, "we");
	if (!f || fwrite(bytes, 1, len, f) != len || fclose(f) != 0)
		abort();
}

static struct pathprof_text_profiles *read_two(const char *a, const char *b,
					       enum pathprof_text_keys keys)
{
	char first[256], second[256];
	const char *const files[] = {first, second};
	struct pathprof_text_profiles *p = NULL;

	write_file(first, sizeof(first), a, strlen(a));
	write_file(second, sizeof(second), b, strlen(b));
	CU_ASSERT_EQUAL_FATAL(pathprof_text_profiles_read(&p, files, 2, keys, NULL), 0);
	return p;
}

/* The weight that profile i has of a key; -1: none. */
static double weight_of(const struct pathprof_text_profiles *p, size_t i, const char *key)
{
	const struct pathprof_distribution *d = pathprof_text_profile(p, i);

	for (size_t e = 0; e < d->cnt; e++) {
		size_t len = 0;
		const char *text = pathprof_text_key(p, &d->events[e], &len);

		if (text && len == strlen(key) && memcmp(text, key, len) == 0)
			return d->events[e].weight;
	}
	return -1;
}

static void test_reads(void)
{
	struct pathprof_text_profiles *p =
		read_two("b\t1\na b\tc\t5\r\nb\t41.5\na\t7e-1\n\xc3\xa4\t18446744073709551615",
			 "new\t2\na\t0\n", PATHPROF_TEXT_ANY);
	const struct pathprof_distribution *second = pathprof_text_profile(p, 1);

	CU_ASSERT_EQUAL(pathprof_text_profile(p, 0)->cnt, 4);
	CU_ASSERT_EQUAL(weight_of(p, 0, "b"), 42.5);
	CU_ASSERT_EQUAL(weight_of(p, 0, "a b\tc"), 5);
	CU_ASSERT_EQUAL(weight_of(p, 0, "a"), 0.7);
	CU_ASSERT_EQUAL(weight_of(p, 0, "\xc3\xa4"), 0x1p64);
	CU_ASSERT_EQUAL(weight_of(p, 1, "a"), 0);
	CU_ASSERT_EQUAL(weight_of(p, 1, "new"), 2);
	CU_ASSERT(second->cnt == 2 && second->touched_cnt == 1 && second->counted);
	CU_ASSERT_FALSE(pathprof_text_are_branches(p));
	CU_ASSERT_PTR_NULL(pathprof_text_profile(p, 2));
	pathprof_text_profiles_free(p);
	pathprof_text_profiles_free(NULL);
}

/* Directions of a branch are neighbours; a key that only looks like its stem is another. */
static void test_pairs(void)
{
	struct pathprof_text_profiles *p =
		read_two("x/0\t1\nx/1\t2\nx\t4\n/1\t8\n", "x/1\t16\n", PATHPROF_TEXT_ANY);
	const struct pathprof_distribution *d = pathprof_text_profile(p, 0);

	CU_ASSERT_EQUAL(d->cnt, 4);
	CU_ASSERT(weight_of(p, 0, "x/0") == 1 && weight_of(p, 0, "x/1") == 2);
	CU_ASSERT(weight_of(p, 0, "x") == 4 && weight_of(p, 0, "/1") == 8);
	CU_ASSERT_EQUAL(weight_of(p, 1, "x/1"), 16);
	CU_ASSERT_EQUAL(d->events[0].key_lo ^ 1, d->events[1].key_lo);
	CU_ASSERT_FALSE(pathprof_text_are_branches(p));
	pathprof_text_profiles_free(p);
	p = read_two("x/0\t1\n", "y/1\t1\n", PATHPROF_TEXT_ANY);
	CU_ASSERT(pathprof_text_are_branches(p));
	pathprof_text_profiles_free(p);
}

static void test_branches(void)
{
	struct pathprof_text_profiles *p =
		read_two("0x401136/1\t3\n401136/0\t4\nFFFFffffFFFFffff/1\t5\n",
			 "0X0000401136/1\t9\n", PATHPROF_TEXT_BRANCHES);
	const struct pathprof_distribution *a = pathprof_text_profile(p, 0);
	const struct pathprof_distribution *b = pathprof_text_profile(p, 1);

	CU_ASSERT_EQUAL_FATAL(a->cnt, 3);
	CU_ASSERT(a->events[0].key_lo == 2 * 0x401136 && a->events[0].weight == 4);
	CU_ASSERT(a->events[1].key_lo == 2 * 0x401136 + 1 && a->events[1].weight == 3);
	CU_ASSERT(a->events[2].key_hi == 1 && a->events[2].key_lo == UINT64_MAX);
	CU_ASSERT_EQUAL(pathprof_event_order(&a->events[1], &b->events[0]), 0);
	pathprof_text_profiles_free(p);
}

static void refused(enum pathprof_text_keys keys, const void *bytes, size_t len, int expected,
		    const char *where)
{
	struct pathprof_text_profiles *p = NULL;
	struct pathprof_error error = {""};
	char name[256];
	const char *const files[] = {name};

	write_file(name, sizeof(name), bytes, len);
	CU_ASSERT_EQUAL(pathprof_text_profiles_read(&p, files, 1, keys, &error), expected);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, where));
	CU_ASSERT_PTR_NULL(strchr(error.text, '\n'));
	CU_ASSERT_PTR_NULL(p);
}

static void test_refuses(void)
{
	static const char *const bad[] = {"",
					  "a",
					  "a 1",
					  "a\t",
					  "\t1",
					  "a\t-1",
					  "a\tnan",
					  "a\tinf",
					  "a\t1x",
					  "a\t 1",
					  "a\t1 ",
					  "a\t0x1",
					  "a\t1.",
					  "a\t.5",
					  "a\t1e",
					  "a\t1e+",
					  "a\t1e99",
					  "a\t+1",
					  "a\t18446744073709555712"};
	static const char *const no_branch[] = {
		"12", "12/2", "/1", "0x/1", "g/0", "1/01", "10000000000000000/1"};
	char text[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int len = snprintf(text, sizeof(text), "good\t1\nagain\t2\n%s\nlast\t3\n", bad[i]);

		refused(PATHPROF_TEXT_ANY, text, (size_t)len, -EINVAL, "profile:3: ");
	}
	for (size_t i = 0; i < sizeof(no_branch) / sizeof(no_branch[0]); i++) {
		int len = snprintf(text, sizeof(text), "1/0\t1\n%s\t2\n", no_branch[i]);

		refused(PATHPROF_TEXT_BRANCHES, text, (size_t)len, -EINVAL, "profile:2: ");
	}
	refused(PATHPROF_TEXT_ANY, "a\t1\nb\0c\t2\n", 10, -EINVAL, "profile:2: ");
	refused(PATHPROF_TEXT_ANY, "a\t1\nb\t2\0\n", 9, -EINVAL, "profile:2: ");
	refused(PATHPROF_TEXT_ANY, "a\t18446744073709551616\na\t18446744073709551616\n", 46,
		-ERANGE, "exceed 2^64");
}

static void test_no_file(void)
{
	static const char *const nowhere[] = {"/nowhere/at/all"}, *const folder[] = {"/"};
	struct pathprof_text_profiles *p = NULL;
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pathprof_text_profiles_read(&p, nowhere, 1, PATHPROF_TEXT_ANY, &error),
			-ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/nowhere/at/all"));
	CU_ASSERT(pathprof_text_profiles_read(&p, folder, 1, PATHPROF_TEXT_ANY, &error) < 0);
	CU_ASSERT_EQUAL(pathprof_text_profiles_read(&p, NULL, 0, PATHPROF_TEXT_ANY, &error), 0);
	pathprof_text_profiles_free(p);
}

/* Enough keys that the table grows often, against sums by number. */
static void test_many(void)
{
	static uint64_t sums[5000];
	struct pathprof_text_profiles *p = NULL;
	uint64_t random = 9;
	char name[256], *text = NULL;
	const char *const files[] = {name};
	size_t len, wrong = 0;
	FILE *f = open_memstream(&text, &len);

	memset(sums, 0, sizeof(sums));
	for (size_t i = 0; i < 20000; i++) {
		uint64_t key = stream_random(&random) % 5000, weight = stream_random(&random) % 100;

		fprintf(f, "key %llu\t%llu\n", (unsigned long long)key, (unsigned long long)weight);
		sums[key] += weight + 1000000; /* that it came at all */
	}
	fclose(f);
	write_file(name, sizeof(name), text, len);
	CU_ASSERT_EQUAL_FATAL(pathprof_text_profiles_read(&p, files, 1, PATHPROF_TEXT_ANY, NULL),
			      0);
	for (size_t e = 0; e < pathprof_text_profile(p, 0)->cnt; e++) {
		const struct pathprof_event *event = &pathprof_text_profile(p, 0)->events[e];
		const char *key = pathprof_text_key(p, event, &len);
		uint64_t number = key ? strtoull(key + 4, NULL, 10) : 0;

		wrong += event->weight != (double)(sums[number] % 1000000);
		sums[number] = 0;
	}
	for (size_t i = 0; i < 5000; i++)
		wrong += sums[i] != 0;
	CU_ASSERT_EQUAL(wrong, 0);
	pathprof_text_profiles_free(p);
	free(text);
}

static const struct unit_test tests[] = {
	{"reads what was written, over one set of keys", test_reads},
	{"directions of a branch differ in the lowest bit", test_pairs},
	{"branches by address, however it is spelt", test_branches},
	{"refuses malformed lines, naming file and line", test_refuses},
	{"refuses what is no file", test_no_file},
	{"thousands of keys that come again", test_many},
};
UNIT_SUITE(profile_text, tests)
