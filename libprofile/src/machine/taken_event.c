// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Which event counts taken branches: see pathprof/machine.h for workload and ownership.
 *
 * Source: libpfm4; Intel's perfmon event files and AMD's processor programming references for what
 * is newer; arch/x86/events/amd of the kernel for what Zen 3 can be asked.
 */
#include "pathprof/machine.h"

#include <limits.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pp_taken_event.h"

#define CORE_TAKEN UINT64_C(0x20c4) /* Intel's cores from Sandy Bridge on */
#define ATOM_TAKEN UINT64_C(0xc0c4) /* Intel's small cores from Gracemont on */
#define ALL_OF_ARM "BR_RETIRED"
#define AMD_TAKEN  UINT64_C(0xc4) /* all of AMD's */

/* "A branch was taken" in the words of each maker; the first that this processor has is it. */
static const char *const names[] = {
	"BR_INST_RETIRED:NEAR_TAKEN",         /* Intel, Sandy Bridge and later */
	"BR_INST_RETIRED:ALL_TAKEN_BRANCHES", /* Silvermont, Goldmont */
	"BR_INST_EXEC:TAKEN",                 /* Nehalem, Westmere */
	"BR_INST_RETIRED:TAKEN",              /* Core 2, the first Atoms */
	"RETIRED_TAKEN_BRANCH_INSTRUCTIONS",  /* AMD */
	ALL_OF_ARM,                           /* those not taken, too */
};

/* ---------------------------------------------------------------- by name */

static bool encode(const char *name, struct pathprof_hardware_event *ret_event)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};

	if (pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT, &arg) != PFM_SUCCESS)
		return false;
	*ret_event = (struct pathprof_hardware_event){attr.type, attr.config,
						      strcmp(name, ALL_OF_ARM) != 0, ""};
	snprintf(ret_event->name, sizeof(ret_event->name), "%s", name);
	return true;
}

/* Whether libpfm4 has this processor's own events, not just those that all of them have. */
static bool is_known(void)
{
	for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; i++) {
		pfm_pmu_info_t info = {.size = sizeof(info)};

		if (pfm_get_pmu_info((pfm_pmu_t)i, &info) == PFM_SUCCESS && info.is_present &&
		    info.type == PFM_PMU_TYPE_CORE && i != PFM_PMU_INTEL_X86_ARCH)
			return true;
	}
	return false;
}

static bool find_by_name(struct pathprof_hardware_event *ret_event)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (encode(names[i], ret_event))
			return true;
	return false;
}

/* ---------------------------------------------------------------- by number */

bool pp_taken_event_raw(const char *vendor, uint32_t family, const char *pmu_name,
			uint64_t *ret_config)
{
	static const char *const atoms[] = {"gracemont", "crestmont", "skymont", "darkmont"};

	if (!strcmp(vendor, "AuthenticAMD") || !strcmp(vendor, "HygonGenuine")) {
		*ret_config = AMD_TAKEN;
		return true;
	}
	/* They count conditional branches by direction, and no sum. */
	if (strcmp(vendor, "GenuineIntel") != 0 || family < 6 || !strcmp(pmu_name, "tremont") ||
	    !strncmp(pmu_name, "knights", 7))
		return false;
	*ret_config = CORE_TAKEN;
	for (size_t i = 0; i < sizeof(atoms) / sizeof(atoms[0]); i++)
		if (!strcmp(pmu_name, atoms[i]))
			*ret_config = ATOM_TAKEN;
	return true;
}

static bool read_of_pmu(const char *pmus, const char *name, char *line, size_t size)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/%s", pmus, name);
	FILE *file = len > 0 && (size_t)len < sizeof(path) ? fopen(path, "re") : NULL;
	bool got = file && fgets(line, (int)size, file);

	if (file)
		fclose(file);
	if (got)
		line[strcspn(line, "\n")] = '\0';
	return got;
}

static void read_maker(char vendor[static 16], uint32_t *ret_family)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	vendor[0] = '\0';
	*ret_family = 0;
	while (file && fgets(line, sizeof(line), file) && line[0] != '\n')
		if (sscanf(line, "vendor_id : %15s", vendor) != 1)
			(void)sscanf(line, "cpu family : %u", ret_family);
	if (file)
		fclose(file);
}

static bool find_by_number(struct pathprof_hardware_event *ret_event, const char *pmus)
{
	char vendor[16], pmu_name[64] = "";
	uint32_t family;
	uint64_t config;

	read_maker(vendor, &family);
	(void)read_of_pmu(pmus, "cpu/caps/pmu_name", pmu_name, sizeof(pmu_name));
	if (!pp_taken_event_raw(vendor, family, pmu_name, &config))
		return false;
	*ret_event = (struct pathprof_hardware_event){PERF_TYPE_RAW, config, true, ""};
	snprintf(ret_event->name, sizeof(ret_event->name), "cpu/config=0x%llx/",
		 (unsigned long long)config);
	return true;
}

/* ---------------------------------------------------------------- hybrids */

/* "0-3,8": whether cpu is one of those. */
static bool lists(const char *list, uint32_t cpu)
{
	while (*list) {
		char *end;
		unsigned long low = strtoul(list, &end, 10), high = low;

		if (end == list)
			return false;
		if (*end == '-')
			high = strtoul(end + 1, &end, 10);
		if (cpu >= low && cpu <= high)
			return true;
		list = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			return false;
	}
	return false;
}

/* Each kind of core has a PMU of its own, and takes no other's events. */
static bool find_in(struct pathprof_hardware_event *ret_event, uint32_t cpu, const char *pmus,
		    const char *pmu, uint64_t config)
{
	char name[32], line[256];
	unsigned long type;

	snprintf(name, sizeof(name), "%s/cpus", pmu);
	if (!read_of_pmu(pmus, name, line, sizeof(line)) || !lists(line, cpu))
		return false;
	snprintf(name, sizeof(name), "%s/type", pmu);
	if (!read_of_pmu(pmus, name, line, sizeof(line)))
		return false;
	type = strtoul(line, NULL, 10);
	*ret_event = (struct pathprof_hardware_event){(uint32_t)type, config, true, ""};
	snprintf(ret_event->name, sizeof(ret_event->name), "%s/config=0x%llx/", pmu,
		 (unsigned long long)config);
	return true;
}

static bool find_hybrid(struct pathprof_hardware_event *ret_event, uint32_t cpu, const char *pmus)
{
	return find_in(ret_event, cpu, pmus, "cpu_core", CORE_TAKEN) ||
	       find_in(ret_event, cpu, pmus, "cpu_atom", ATOM_TAKEN) ||
	       find_in(ret_event, cpu, pmus, "cpu_lowpower", ATOM_TAKEN);
}

/* ---------------------------------------------------------------- */

void pathprof_taken_event(struct pathprof_hardware_event *ret_event, uint32_t cpu, const char *pmus)
{
	struct pathprof_hardware_event event;

	if (find_hybrid(&event, cpu, pmus) ||
	    (pfm_initialize() == PFM_SUCCESS && find_by_name(&event)) ||
	    (!is_known() && find_by_number(&event, pmus))) {
		*ret_event = event;
		return;
	}
	*ret_event = (struct pathprof_hardware_event){
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.name = "branches",
	};
}

/* Zen 3's stack has no kinds, and being asked for them it is refused. */
uint64_t pathprof_branch_sample_type(const struct pathprof_machine *machine)
{
	uint64_t type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;

	return machine->has_brs ? type : type | PERF_SAMPLE_BRANCH_TYPE_SAVE;
}
