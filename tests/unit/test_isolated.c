// SPDX-License-Identifier: GPL-2.0-or-later
/* Which CPUs are set apart, by what the kernel's two files may say. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/clock/isolated.h"

static bool is_isolated[PP_ISOLATED_CPU_MAX];

static void write_file(const char *directory, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	unlink(path);
	if (!text)
		return;
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	fclose(file);
}

static bool read_both(const char *isolated, const char *nohz_full)
{
	char directory[] = "/tmp/pp_isolated.XXXXXX";
	bool any;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
	write_file(directory, "isolated", isolated);
	write_file(directory, "nohz_full", nohz_full);
	memset(is_isolated, 1, sizeof(is_isolated));
	any = pp_isolated_cpus(directory, is_isolated);
	write_file(directory, "isolated", NULL);
	write_file(directory, "nohz_full", NULL);
	rmdir(directory);
	return any;
}

static void test_none(void)
{
	CU_ASSERT_FALSE(read_both(NULL, NULL));
	CU_ASSERT_FALSE(is_isolated[0]);
	CU_ASSERT_FALSE(read_both("\n", "  (null)\n"));
	CU_ASSERT_FALSE(read_both("", "what is this"));
	CU_ASSERT_FALSE(is_isolated[0] || is_isolated[PP_ISOLATED_CPU_MAX - 1]);
}

static void test_both(void)
{
	CU_ASSERT_TRUE(read_both("2-3\n", "3,7\n"));
	for (int cpu = 0; cpu < 10; cpu++)
		CU_ASSERT_EQUAL(is_isolated[cpu], cpu == 2 || cpu == 3 || cpu == 7);
	CU_ASSERT_TRUE(read_both("1\n", NULL));
	CU_ASSERT_TRUE(is_isolated[1] && !is_isolated[2]);
	CU_ASSERT_TRUE(read_both("\n", "0\n"));
	CU_ASSERT_TRUE(is_isolated[0] && !is_isolated[1]);
}

static const struct unit_test tests[] = {
	{"none where the kernel names none", test_none},
	{"those of either file", test_both},
};

UNIT_SUITE(isolated, tests)
