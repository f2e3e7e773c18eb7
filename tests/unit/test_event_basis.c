// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether an event counts branches, by the numbers of its attribute and by its name. That each
 * number means what is said here, libpfm4's tables say: test_libpfm4 asks them for every event of
 * every processor they know.
 */
#include "unit.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <stdio.h>
#include <string.h>

#include "../../libprofile/src/format/pp_event_basis.h"

#define BRANCHES PATHPROF_BASIS_BRANCHES
#define TIME     PATHPROF_BASIS_TIME

static void test_numbers(void)
{
	static const struct {
		uint32_t type;
		uint64_t config;
		const char *arch;
		enum pathprof_basis basis;
	} events[] = {
		{PERF_TYPE_RAW, 0x20c4, "x86_64", BRANCHES},
		{PERF_TYPE_RAW, 0x5320c4, "x86_64", BRANCHES}, /* with usr, os, int, enable */
		{PERF_TYPE_RAW, 0x20c4, NULL, BRANCHES},
		{PERF_TYPE_RAW, 0x20c4, "i686", BRANCHES},
		{PERF_TYPE_RAW, 0xc4, "x86_64", BRANCHES},
		{PERF_TYPE_RAW, 0xc2, "x86_64", BRANCHES},
		{PERF_TYPE_RAW, 0x1c4, "x86_64", TIME},       /* conditional ones */
		{PERF_TYPE_RAW, 0xc5, "x86_64", TIME},        /* mispredicted ones */
		{PERF_TYPE_RAW, 0x18020c4, "x86_64", TIME},   /* cycles without one */
		{PERF_TYPE_RAW, 0x1000000c4, "x86_64", TIME}, /* AMD's 0x1c4 */
		{PERF_TYPE_RAW, 0x3c, "x86_64", TIME},
		{PERF_TYPE_RAW, 0x21, "x86_64", TIME},
		{PERF_TYPE_RAW, 0x21, "aarch64", BRANCHES},
		{PERF_TYPE_RAW, 0x10, "aarch64", TIME},
		{PERF_TYPE_RAW, 0x20c4, "aarch64", TIME},
		{4711, 0xc0c4, "x86_64", BRANCHES}, /* a hybrid's small cores */
		{4711, 0x21, "aarch64", BRANCHES},  /* armv8_pmuv3_0 */
		{4711, 0x11, "aarch64", TIME},
		{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "x86_64", BRANCHES},
		{PERF_TYPE_HARDWARE, UINT64_C(10) << 32 | PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		 "x86_64", BRANCHES}, /* cpu_atom's */
		{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "x86_64", TIME},
		{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "x86_64", TIME},
		{PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_BPU, "x86_64", BRANCHES},
		{PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_BPU | 1 << 16, "x86_64", TIME},
		{PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D, "x86_64", TIME},
		{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, "x86_64", TIME},
		{PERF_TYPE_TRACEPOINT, 0xc4, "x86_64", TIME},
		{PERF_TYPE_BREAKPOINT, 0, "x86_64", TIME},
	};
	static const char *const names[] = {"branches:u", "cycles", "br_inst_retired.near_taken",
					    "hot"};

	/* The event's name makes no difference. */
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			CU_ASSERT_EQUAL(pp_event_basis(events[i].type, events[i].config,
						       events[i].arch, names[k]),
					events[i].basis);
}

/* Numbers that differ between processors, and those of processors that nobody knows. */
static void test_numbers_that_do_not_tell(void)
{
	CU_ASSERT_EQUAL(pp_event_basis(PERF_TYPE_RAW, 0x80c4, "x86_64",
				       "BR_INST_RETIRED.ALL_TAKEN_BRANCHES"),
			BRANCHES);
	CU_ASSERT_EQUAL(pp_event_basis(PERF_TYPE_RAW, 0x80c4, "x86_64", "BR_INST_RETIRED.INDIRECT"),
			TIME);
	CU_ASSERT_EQUAL(pp_event_basis(PERF_TYPE_RAW, 0x4d05e, "ppc64le", "pm_br_cmpl"), BRANCHES);
	CU_ASSERT_EQUAL(pp_event_basis(PERF_TYPE_RAW, 0x20c4, "ppc64le", "cycles"), TIME);
}

static void hold_name(const char *name, enum pathprof_basis basis)
{
	if (pp_event_basis_of_name(name) == basis)
		return;
	fprintf(stderr, "the event \"%s\" is taken for the wrong kind\n", name);
	CU_FAIL("an event's name");
}

static void test_names(void)
{
	static const char *const branches[] = {
		"branches",
		"branches:u",
		"branch-instructions",
		"branch-loads",
		"r20c4",
		"r20c4:ppp",
		"r00c0c4:u",
		"rc4:u",
		"raw 0x20c4:u",
		"0x20c4",
		"cpu_core/event=0xc4,umask=0x20/",
		"cpu_atom/event=0xc4,umask=0xc0/ppu",
		"cpu/event=0xC4,umask=0x20,name=hot/u",
		"cpu/umask=32,event=196,period=10007/",
		"cpu/config=0x20c4/u",
		"cpu/branches/",
		"cpu_core/br_inst_retired.near_taken/u",
		"br_inst_retired.near_taken:u",
		"BR_INST_RETIRED:NEAR_TAKEN:u",
		"skl::BR_INST_RETIRED:NEAR_TAKEN",
		"ex_ret_brn",
		"ex_ret_brn_tkn:u",
		"RETIRED_TAKEN_BRANCH_INSTRUCTIONS",
		"BR_RETIRED",
		"armv8_pmuv3_0/br_retired/",
		"armv8_pmuv3/event=0x21/",
		"armv8_pmuv3_0/pc_write_retired/",
		"taken",
	};
	static const char *const others[] = {
		"cycles:ppp",
		"cpu-clock",
		"instructions",
		"branch-misses",
		"branch-load-misses",
		"br_misp_retired.all_branches",
		"r3c",
		"r1c4",
		"rabbit",
		"read",
		"0x",
		"r",
		"cpu/event=0x3c/",
		"cpu/event=0xc4,umask=0x20,inv,cmask=1/",
		"cpu/cycles,name=branches/",
		"br_inst_retired.not_taken",
		"br_inst_retired.cond_ntaken",
		"br_inst_retired.near_call",
		"br_inst_exec.all_direct_jmp",
		"ex_ret_brn_misp",
		"ex_ret_brn_resync",
		"ex_ret_msprd_brnch_instr_dir_msmtch",
		"RETIRED_BRANCH_RESYNCS",
		"br_immed_retired",
		"bridge:br_fdb_add",
		"sched:sched_switch",
		"",
		"/",
		"cpu//",
		"dummy:HG",
	};

	for (size_t i = 0; i < sizeof(branches) / sizeof(branches[0]); i++)
		hold_name(branches[i], BRANCHES);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		hold_name(others[i], TIME);
	CU_ASSERT_EQUAL(pp_event_basis_of_name(NULL), TIME);
}

/* ---------------------------------------------------------------- libpfm4 */

static bool is_one_of(const char *name, const char *const *names, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* EVENT:UMASK of branches, taken or all, as the library's tables have them. */
static bool is_of_branches(const char *name)
{
	static const char *const names[] = {
		"BR_INST_RETIRED:NEAR_TAKEN", "BR_INST_RETIRED:ALL_BRANCHES",
		"BR_INST_RETIRED:ANY",        "BR_INST_RETIRED:ANY1",
		"BR_INST_RETIRED:TAKEN",      "BR_INST_EXEC:TAKEN",
		"BR_INST_EXEC:ALL_BRANCHES",  "BR_INST_EXEC:ANY",
	};

	return is_one_of(name, names, sizeof(names) / sizeof(names[0]));
}

static uint32_t hold_umasks(int event, const char *event_name, uint64_t code, int umask_cnt)
{
	uint32_t held = 0;

	for (int i = 0; i < umask_cnt; i++) {
		pfm_event_attr_info_t umask = {.size = sizeof(umask)};
		char name[256];

		if (pfm_get_event_attr_info(event, i, PFM_OS_NONE, &umask) != PFM_SUCCESS ||
		    umask.type != PFM_ATTR_UMASK)
			continue;
		snprintf(name, sizeof(name), "%s:%s", event_name, umask.name);
		if (!is_of_branches(name))
			continue;
		held++;
		CU_ASSERT_EQUAL(
			pp_event_basis(PERF_TYPE_RAW, umask.code << 8 | code, "x86_64", "cycles"),
			BRANCHES);
	}
	return held;
}

static uint32_t hold_events(const pfm_pmu_info_t *pmu)
{
	uint32_t held = 0;

	for (int i = pmu->first_event; i != -1; i = pfm_get_event_next(i)) {
		pfm_event_info_t event = {.size = sizeof(event)};

		if (pfm_get_event_info(i, PFM_OS_NONE, &event) != PFM_SUCCESS)
			continue;
		held += hold_umasks(i, event.name, event.code, event.nattrs);
		if (strncmp(pmu->name, "amd64", 5) != 0 ||
		    (strcmp(event.name, "RETIRED_TAKEN_BRANCH_INSTRUCTIONS") != 0 &&
		     strcmp(event.name, "RETIRED_BRANCH_INSTRUCTIONS") != 0))
			continue;
		held++;
		CU_ASSERT_EQUAL(pp_event_basis(PERF_TYPE_RAW, event.code, "x86_64", "cycles"),
				BRANCHES);
	}
	return held;
}

static void test_libpfm4(void)
{
	uint32_t held = 0;

	CU_ASSERT_EQUAL_FATAL(pfm_initialize(), PFM_SUCCESS);
	for (int i = 0; i < PFM_PMU_MAX; i++) {
		pfm_pmu_info_t pmu = {.size = sizeof(pmu)};

		if (pfm_get_pmu_info((pfm_pmu_t)i, &pmu) == PFM_SUCCESS)
			held += hold_events(&pmu);
	}
	CU_ASSERT_TRUE(held > 50);
}

static const struct unit_test tests[] = {
	{"by type and config, whatever the name", test_numbers},
	{"numbers that do not tell", test_numbers_that_do_not_tell},
	{"by the name alone", test_names},
	{"the numbers are libpfm4's", test_libpfm4},
};
UNIT_SUITE(event_basis, tests)
