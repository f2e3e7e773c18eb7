// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hardware events by name, against a directory of made-up PMUs; a naive reader of format files says
 * which bits a term fills.
 */
#include "unit.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../daemon/chain/taken_event.h"

static char sysfs[512];
static struct pathprof_error why;

static void put(const char *name, const char *text)
{
	char path[640];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", sysfs, name);
	file = fopen(path, "we");
	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static void make_pmus(void)
{
	char path[640];

	snprintf(sysfs, sizeof(sysfs), "%s", unit_tmpdir());
	snprintf(path, sizeof(path), "%s/cpu", sysfs);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/cpu/format", sysfs);
	mkdir(path, 0755);
	put("cpu/type", "4\n");
	put("cpu/format/event", "config:0-7,32-35\n");
	put("cpu/format/umask", "config:8-15\n");
	put("cpu/format/edge", "config:18\n");
	put("cpu/format/offcore", "config1:0-63\n");
	put("cpu/format/odd", "config3:0-63\n");
	put("cpu/format/high", "config:60-64\n");
}

static int find(const char *text, struct pp_taken_event *ret_event)
{
	why.text[0] = '\0';
	return pp_taken_event_find(ret_event, text, sysfs, &why);
}

static void test_terms(void)
{
	struct pp_taken_event event;

	make_pmus();
	CU_ASSERT_EQUAL(find("cpu/config=0x20c4,config1=7,config2=010/", &event), 0);
	CU_ASSERT_EQUAL(event.type, 4);
	CU_ASSERT_EQUAL(event.config, 0x20c4);
	CU_ASSERT_EQUAL(event.config1, 7);
	CU_ASSERT_EQUAL(event.config2, 8);
	CU_ASSERT_STRING_EQUAL(event.name, "cpu/config=0x20c4,config1=7,config2=010/");
	CU_ASSERT_EQUAL(find("cpu/event=0xfc4,umask=0x20,edge,offcore=0xffffffffffffffff/", &event),
			0);
	CU_ASSERT_EQUAL(event.config, 0xf000420c4);
	CU_ASSERT_EQUAL(event.config1, UINT64_MAX);
	CU_ASSERT_EQUAL(find("cpu//", &event), 0);
	CU_ASSERT_EQUAL(event.config | event.config1 | event.config2, 0);
}

/* bit i of the value belongs to the i-th bit that the format names. */
static void test_bits_against_naive(void)
{
	static const int bits[] = {0, 1, 2, 3, 4, 5, 6, 7, 32, 33, 34, 35};

	make_pmus();
	for (uint64_t value = 0; value < 4096; value += 37) {
		struct pp_taken_event event;
		uint64_t naive = 0;
		char text[64];

		for (int i = 0; i < 12; i++)
			naive |= (value >> i & 1) << bits[i];
		snprintf(text, sizeof(text), "cpu/event=%llu/", (unsigned long long)value);
		CU_ASSERT_EQUAL(find(text, &event), 0);
		CU_ASSERT_EQUAL(event.config, naive);
		/* the planted fault: a bit more makes another event */
		CU_ASSERT_NOT_EQUAL(event.config, naive ^ UINT64_C(1) << bits[value % 12]);
	}
}

static void test_refusals(void)
{
	static const struct {
		const char *text;
		int code;
	} bad[] = {
		{"cpu/event=0x1000/", -EINVAL},
		{"cpu/event=x/", -EINVAL},
		{"cpu/event=-1/", -EINVAL},
		{"cpu/event=1 /", -EINVAL},
		{"cpu/speed=1/", -ENOENT},
		{"cpu/odd=1/", -ENOENT},
		{"cpu/high=1/", -EINVAL},
		{"cpu/config=1", -EINVAL},
		{"cpu/config=1/u", -EINVAL},
		{"gpu/config=1/", -ENOENT},
		{"../cpu/config=1/", -ENOENT},
		{"/config=1/", -ENOENT},
		{"cpu/../type=1/", -EINVAL},
		{"no:such:event", -ENOENT},
		{"cpu/config=99999999999999999999/", -EINVAL},
	};
	struct pp_taken_event event = {.type = 77};

	make_pmus();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int r = find(bad[i].text, &event);

		CU_ASSERT_EQUAL(r, bad[i].code);
		if (r != bad[i].code)
			printf("%s: %d, %s\n", bad[i].text, r, why.text);
		CU_ASSERT(why.text[0] != '\0');
		CU_ASSERT_EQUAL(event.type, 77);
	}
}

/* There is an event to ask the kernel for on any processor. */
static void test_default(void)
{
	struct pp_taken_event event;

	CU_ASSERT_EQUAL(find("", &event), 0);
	CU_ASSERT(event.name[0] != '\0');
	CU_ASSERT(event.type == PERF_TYPE_RAW || event.type == PERF_TYPE_HARDWARE ||
		  event.type > PERF_TYPE_BREAKPOINT);
	CU_ASSERT_EQUAL(find(NULL, &event), 0);
}

/* Each kind of core by its own PMU; what somebody named is not touched. */
static void test_hybrid(void)
{
	struct pp_taken_event event;
	char path[640];

	make_pmus();
	snprintf(path, sizeof(path), "%s/cpu_core", sysfs);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/cpu_atom", sysfs);
	mkdir(path, 0755);
	put("cpu_core/type", "4\n");
	put("cpu_core/cpus", "0-1\n");
	put("cpu_atom/type", "10\n");
	put("cpu_atom/cpus", "2\n");
	CU_ASSERT_EQUAL(find("", &event), 0);
	CU_ASSERT_EQUAL(event.type, 4);
	CU_ASSERT(event.branch_sample_type & PERF_SAMPLE_BRANCH_ANY);
	pp_taken_event_for_cpu(&event, sysfs, 2);
	CU_ASSERT_EQUAL(event.type, 10);
	CU_ASSERT_EQUAL(event.config, 0xc0c4);
	CU_ASSERT(event.branch_sample_type & PERF_SAMPLE_BRANCH_ANY);
	pp_taken_event_for_cpu(&event, sysfs, 1);
	CU_ASSERT_EQUAL(event.config, 0x20c4);
	CU_ASSERT_EQUAL(find("cpu/config=0x1234/", &event), 0);
	pp_taken_event_for_cpu(&event, sysfs, 2);
	CU_ASSERT_EQUAL(event.config, 0x1234);
}

static void test_period(void)
{
	CU_ASSERT_EQUAL(pp_taken_event_period(1000), 500001);
	CU_ASSERT_EQUAL(pp_taken_event_period(0), pp_taken_event_period(99));
	for (uint32_t hz = 1; hz <= 10000; hz++)
		if (pp_taken_event_period(hz) % 2 == 0 ||
		    pp_taken_event_period(hz) > 500000001 / hz + 1)
			CU_FAIL("an even period, or too long a one");
}

static const struct unit_test tests[] = {
	{"a period is odd, and its rate's", test_period},
	{"terms are read as perf writes them", test_terms},
	{"a term fills the bits its format names", test_bits_against_naive},
	{"bad text, unknown PMUs and terms are refused with a reason", test_refusals},
	{"without a wish there is an event", test_default},
	{"without a wish each core of a hybrid has its own", test_hybrid},
};
UNIT_SUITE(taken_event, tests)
