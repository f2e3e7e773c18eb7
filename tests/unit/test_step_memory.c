// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A target's memory, where its pages are and where they are not. The target is this process: it
 * can take its own pages away.
 */
#include "unit.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../daemon/step/step_memory.h"

#define PAGE 4096

static void test_present(void)
{
	struct pp_step_memory memory;
	char text[] = "what is there", copy[sizeof(text)] = "";

	pp_step_memory_open(&memory, getpid());
	if (memory.map_fd < 0)
		unit_skip("no page maps here");
	CU_ASSERT_EQUAL(pp_step_memory_read(&memory, (uint64_t)(uintptr_t)text, copy, sizeof(copy)),
			sizeof(copy));
	CU_ASSERT_STRING_EQUAL(copy, text);
	pp_step_memory_close(&memory);
	pp_step_memory_close(&memory);
}

/* Nobody may fetch a page for us: also one that could be had at once is not asked for. */
static void test_absent(void)
{
	char *pages =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t base = (uint64_t)(uintptr_t)pages;
	char copy[2 * PAGE];
	struct pp_step_memory memory;

	CU_ASSERT_FATAL(pages != MAP_FAILED);
	madvise(pages, 3 * PAGE, MADV_NOHUGEPAGE);
	memset(pages + PAGE, 'x', PAGE);
	pp_step_memory_open(&memory, getpid());
	if (memory.map_fd < 0) {
		unit_skip("no page maps here");
		munmap(pages, 3 * PAGE);
		return;
	}
	CU_ASSERT_EQUAL(pp_step_memory_read(&memory, base, copy, 8), 0);
	CU_ASSERT_EQUAL(pp_step_memory_read(&memory, base, copy, 2 * PAGE), 0);
	CU_ASSERT_EQUAL(pp_step_memory_read(&memory, base + PAGE, copy, PAGE), PAGE);
	/* A read across the end returns the bytes before it. */
	CU_ASSERT_EQUAL(pp_step_memory_read(&memory, base + 2 * PAGE - 5, copy, 8), 5);
	CU_ASSERT_NSTRING_EQUAL(copy, "xxxxx", 5);
	CU_ASSERT_EQUAL(pp_step_memory_read(&memory, base + 2 * PAGE, copy, 8), 0);
	/* Nothing was fetched by all that. */
	CU_ASSERT_EQUAL(pp_step_memory_read(&memory, base, copy, 8), 0);
	madvise(pages + PAGE, PAGE, MADV_DONTNEED);
	CU_ASSERT_EQUAL(pp_step_memory_read(&memory, base + PAGE, copy, 8), 0);
	pp_step_memory_close(&memory);
	munmap(pages, 3 * PAGE);
}

static void test_nobody(void)
{
	struct pp_step_memory memory;
	char copy[8];

	/* Beyond the largest process number. */
	pp_step_memory_open(&memory, 0x7fffffff);
	CU_ASSERT_EQUAL(pp_step_memory_read(&memory, (uint64_t)(uintptr_t)copy, copy, 8), 0);
	pp_step_memory_close(&memory);
}

/* Without a descriptor for the map nobody knows what is there. */
static void test_no_descriptor(void)
{
	struct pp_step_memory memory;
	struct rlimit limit, none;
	char copy[8];

	pp_step_memory_open(&memory, getpid());
	if (memory.map_fd < 0) {
		unit_skip("no page maps here");
		return;
	}
	pp_step_memory_close(&memory);
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){0, limit.rlim_max};
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &none), 0);
	pp_step_memory_open(&memory, getpid());
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CU_ASSERT_EQUAL(memory.map_fd, -1);
	CU_ASSERT_EQUAL(pp_step_memory_read(&memory, (uint64_t)(uintptr_t)copy, copy, 8), 0);
	pp_step_memory_close(&memory);
}

static const struct unit_test tests[] = {
	{"reads what is there", test_present},
	{"does not wait for what is not", test_absent},
	{"a target that has gone has no memory", test_nobody},
	{"reads nothing where no descriptor is left for the page map", test_no_descriptor},
};

UNIT_SUITE(step_memory, tests)
