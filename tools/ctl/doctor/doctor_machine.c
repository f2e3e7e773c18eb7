// SPDX-License-Identifier: GPL-2.0-or-later
/* Facts about the processor and the hypervisor. */
#include "doctor.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../text/cleanup.h"
#ifdef __x86_64__
#include <cpuid.h>
#endif

/* The value of the first line "key : value" of /proc/cpuinfo. Caller frees, NULL when none. */
static char *cpuinfo(const char *key)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/cpuinfo", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (!colon || strncmp(line, key, strlen(key)) != 0)
			continue;
		colon[strcspn(colon, "\n")] = 0;
		return ctl_strdup(colon + 1 + strspn(colon + 1, " "));
	}
	return NULL;
}

static void add_cpu(struct facts *facts)
{
	_cleanup_free_ char *model = cpuinfo("model name");
	struct utsname name;

	uname(&name);
#ifdef __x86_64__
	fact_value(facts_add(facts, FACT_OK, "processor", NULL, NULL), "%s, %ld CPUs",
		   model ? model : "x86-64", sysconf(_SC_NPROCESSORS_ONLN));
#else
	fact_value(facts_add(facts, FACT_NO, "processor", "instructions are read for x86-64 only",
			     NULL),
		   "%s, %ld CPUs", model ? model : name.machine, sysconf(_SC_NPROCESSORS_ONLN));
#endif
}

#ifdef __x86_64__
/* The hypervisor's signature (CPUID leaf 0x40000000), "" on bare metal. */
static void hypervisor(char signature[static 13])
{
	unsigned int a, b, c, d;

	signature[0] = 0;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31))
		return;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(signature, &b, 4);
	memcpy(signature + 4, &c, 4);
	memcpy(signature + 8, &d, 4);
	signature[12] = 0;
}
#endif

static void add_virtualisation(struct facts *facts)
{
#ifdef __x86_64__
	static const char *const known[][2] = {
		{"KVMKVMKVM", "KVM"},           {"Microsoft Hv", "Hyper-V"},
		{"VMwareVMware", "VMware"},     {"XenVMMXenVMM", "Xen"},
		{"TCGTCGTCGTCG", "QEMU"},       {"bhyve bhyve ", "bhyve"},
		{"VBoxVBoxVBox", "VirtualBox"},
	};
	char signature[13];
	const char *name = signature;

	hypervisor(signature);
	if (!signature[0]) {
		fact_value(facts_add(facts, FACT_OK, "virtualisation", NULL, NULL), "none");
		return;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i][0], signature))
			name = known[i][1];
	fact_value(facts_add(facts, FACT_WARN, "virtualisation",
			     "a single step costs ten times what it does on bare metal",
			     "the budget holds all the same; bare metal gives more samples for it"),
		   "%s guest", name);
#endif
}

void doctor_machine(struct facts *facts)
{
	add_cpu(facts);
	add_virtualisation(facts);
}
