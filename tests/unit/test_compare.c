// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles as lists of keys and counts: reading them, adding up keys that come again, and the
 * overlap of two against a search for every key.
 */
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_stream.h"
#include "pathprof/compare.h"

#define KEYS_MAX 700

/* Lines as they come, keys repeated. */
struct lines {
	uint64_t key[KEYS_MAX], count[KEYS_MAX];
	size_t cnt;
};

static void draw(struct lines *ret_lines, size_t cnt, enum stream_kind kind, uint64_t seed)
{
	struct stream s;

	stream_init(&s, kind, false, 1 + cnt, seed);
	ret_lines->cnt = cnt;
	for (size_t i = 0; i < cnt; i++) {
		ret_lines->key[i] = stream_next(&s);
		ret_lines->count[i] = stream_random(&s.random) % 1000;
	}
}

static const char *write_file(const void *bytes, size_t len)
{
	static char name[4096];
	FILE *f;

	snprintf(name, sizeof(name), "%s/profile", unit_tmpdir());
	f = fopen(name, "we");
	if (!f || fwrite(bytes, 1, len, f) != len || fclose(f) != 0)
		abort();
	return name;
}

static int read_text(struct pathprof_counts *ret_counts, const char *text,
		     struct pathprof_error *error)
{
	return pathprof_counts_read(ret_counts, write_file(text, strlen(text)), error);
}

static void read_lines(struct pathprof_counts *ret_counts, const struct lines *lines)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; i < lines->cnt; i++)
		fprintf(f, "key %" PRIu64 "\t%" PRIu64 "\n", lines->key[i], lines->count[i]);
	fclose(f);
	CU_ASSERT_EQUAL_FATAL(pathprof_counts_read(ret_counts, write_file(text, len), NULL), 0);
	free(text);
}

static double sum_of(const struct lines *lines, uint64_t key, bool all)
{
	double sum = 0;

	for (size_t i = 0; i < lines->cnt; i++)
		if (all || lines->key[i] == key)
			sum += (double)lines->count[i];
	return sum;
}

static bool came_before(const struct lines *lines, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (lines->key[i] == lines->key[at])
			return true;
	return false;
}

/* Searches everything for every key. */
static double oracle_overlap(const struct lines *a, const struct lines *b)
{
	double all_a = sum_of(a, 0, true), all_b = sum_of(b, 0, true), overlap = 0;

	if (all_a == 0 || all_b == 0)
		return all_a == all_b;
	for (size_t i = 0; i < a->cnt; i++) {
		double p = sum_of(a, a->key[i], false) / all_a;
		double q = sum_of(b, a->key[i], false) / all_b;

		if (!came_before(a, i))
			overlap += p < q ? p : q;
	}
	return overlap;
}

static bool overlap_differs(const struct lines *a, const struct lines *b,
			    const struct lines *oracle_b)
{
	struct pathprof_counts x = {0}, y = {0};
	double overlap, expected = oracle_overlap(a, oracle_b);

	read_lines(&x, a);
	read_lines(&y, b);
	overlap = pathprof_overlap(&x, &y);
	if (overlap != pathprof_overlap(&y, &x))
		overlap = NAN;
	pathprof_counts_release(&x);
	pathprof_counts_release(&y);
	return !(fabs(overlap - expected) < 1e-12);
}

static void test_overlap(void)
{
	static const size_t sizes[] = {0, 1, 2, 30, KEYS_MAX};
	static struct lines a, b;

	for (size_t i = 0; i < 25; i++) {
		draw(&a, sizes[i / 5], i % STREAM_KIND_CNT, i);
		draw(&b, sizes[i % 5], (i + i / 5) % STREAM_KIND_CNT, 100 + i);
		CU_ASSERT_FALSE(overlap_differs(&a, &b, &b));
	}
}

static void test_planted_count(void)
{
	static struct lines a, b, wrong;

	draw(&a, 300, STREAM_SKEWED, 1);
	draw(&b, 300, STREAM_SKEWED, 2);
	wrong = b;
	wrong.count[150]++;
	CU_ASSERT_TRUE(overlap_differs(&a, &b, &wrong));
	wrong = b;
	for (size_t i = 0; i < 10; i++)
		wrong.key[i] = ~0ULL;
	CU_ASSERT_TRUE(overlap_differs(&a, &b, &wrong));
}

static void test_identity(void)
{
	struct pathprof_counts empty = {0}, x = {0}, zeroes = {0};

	CU_ASSERT_EQUAL_FATAL(read_text(&x, "a\t3\nb\t18446744073709551615\n", NULL), 0);
	CU_ASSERT_EQUAL_FATAL(read_text(&zeroes, "a\t0\n", NULL), 0);
	CU_ASSERT_EQUAL(pathprof_overlap(&x, &x), 1);
	CU_ASSERT_EQUAL(pathprof_overlap(&empty, &empty), 1);
	CU_ASSERT_EQUAL(pathprof_overlap(&x, &empty), 0);
	CU_ASSERT_EQUAL(pathprof_overlap(&zeroes, &x), 0);
	pathprof_counts_release(&x);
	pathprof_counts_release(&zeroes);
}

static void test_adds_up(void)
{
	struct pathprof_counts x = {0};

	CU_ASSERT_EQUAL_FATAL(
		read_text(&x, "b\t1\na b\tc\t5\nb\t41\na\t7\nb\t0\n\xc3\xa4\t9", NULL), 0);
	CU_ASSERT_EQUAL_FATAL(x.cnt, 4);
	CU_ASSERT_STRING_EQUAL(x.entries[0].key, "a");
	CU_ASSERT_STRING_EQUAL(x.entries[1].key, "a b\tc");
	CU_ASSERT_STRING_EQUAL(x.entries[2].key, "b");
	CU_ASSERT_EQUAL(x.entries[2].count, 42);
	CU_ASSERT_EQUAL(x.entries[3].count, 9);
	pathprof_counts_release(&x);
	CU_ASSERT_EQUAL(x.cnt, 0);
}

static void refused(const void *bytes, size_t len, int expected, const char *where)
{
	struct pathprof_counts x = {.cnt = 77};
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pathprof_counts_read(&x, write_file(bytes, len), &error), expected);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, where));
	CU_ASSERT_PTR_NULL(strchr(error.text, '\n'));
	CU_ASSERT_EQUAL(x.cnt, 77);
}

static void test_refuses(void)
{
	static const char *const bad[] = {
		"a",
		"a 1",
		"a\t",
		"\t1",
		"a\t-1",
		"a\t+1",
		"a\t1x",
		"a\t 1",
		"a\t1 ",
		"a\t0x10",
		"a\t1.5",
		"",
		"a\t18446744073709551616",
		"a\t99999999999999999999999999999999999999",
	};
	static const char overflow[] = "a\t18446744073709551615\nb\t1\na\t1\nc\t1\na\t5\n";
	char text[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int len = snprintf(text, sizeof(text), "good\t1\nagain\t2\n%s\nlast\t3\n", bad[i]);

		refused(text, (size_t)len, -EINVAL, "profile:3: ");
	}
	refused("a\t1\nb\0c\t2\n", 10, -EINVAL, "profile:2: ");
	refused("a\t1\nb\t2\n\0\n", 10, -EINVAL, "profile:3: ");
	refused(overflow, strlen(overflow), -EOVERFLOW, "64 bits");
}

static void test_no_file(void)
{
	struct pathprof_error error = {""};
	struct pathprof_counts x = {.cnt = 77};

	CU_ASSERT_EQUAL(pathprof_counts_read(&x, "/nowhere/at/all", &error), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/nowhere/at/all"));
	error.text[0] = '\0';
	CU_ASSERT(pathprof_counts_read(&x, "/", &error) < 0);
	CU_ASSERT_NOT_EQUAL(error.text[0], '\0');
	CU_ASSERT_EQUAL(x.cnt, 77);
}

static void test_long_key(void)
{
	size_t len = 1 << 20;
	char *text = malloc(len + 8);
	struct pathprof_counts x = {0};

	memset(text, 'k', len);
	memcpy(text + len, "\t12\n", 5);
	CU_ASSERT_EQUAL_FATAL(read_text(&x, text, NULL), 0);
	CU_ASSERT_EQUAL(x.cnt, 1);
	CU_ASSERT_EQUAL(strlen(x.entries[0].key), len);
	CU_ASSERT_EQUAL(x.entries[0].count, 12);
	pathprof_counts_release(&x);
	free(text);
}

static const struct unit_test tests[] = {
	{"overlap equals a search for every key, both ways round", test_overlap},
	{"a changed count or key is found", test_planted_count},
	{"a profile overlaps itself wholly, an empty one nothing else", test_identity},
	{"adds up keys that come again, in bytewise order", test_adds_up},
	{"refuses malformed lines, naming file and line", test_refuses},
	{"refuses what is no file", test_no_file},
	{"takes keys of a megabyte", test_long_key},
};
UNIT_SUITE(compare, tests)
