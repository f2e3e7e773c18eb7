// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sources that a machine allows: refusals case by case and over every set of facts, facts out
 * of a made-up /proc and /sys, and the event of taken branches for every processor that libpfm4
 * knows. Expected events are those of the makers' manuals.
 */
#include "unit.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../libprofile/src/machine/pp_taken_event.h"
#include "pathprof/machine.h"

#define BIT(cap) (UINT64_C(1) << (cap))
#define BOTH     (BIT(CAP_BPF) | BIT(CAP_PERFMON))

/* ---------------------------------------------------------------- refusals */

/* Faults of a machine. */
enum bent {
	GUEST = 1 << 0,
	NO_COUNTERS = 1 << 1,
	OLD = 1 << 2, /* Linux 5.10 */
	ZEN2 = 1 << 3,
	ZEN3 = 1 << 4,
	BRS = 1 << 5,
	NO_BPF = 1 << 6,
	NO_PERFMON = 1 << 7,
	FILTERED = 1 << 8,
	USER_NS = 1 << 9,
	NO_BTF = 1 << 10,
	INTEGRITY = 1 << 11,
	CONFIDENTIAL = 1 << 12,
	BENT_ALL = (1 << 13) - 1,
};

static struct pathprof_machine machine_of(unsigned int bent)
{
	return (struct pathprof_machine){
		.capabilities = (bent & NO_BPF ? 0 : BIT(CAP_BPF)) |
				(bent & NO_PERFMON ? 0 : BIT(CAP_PERFMON)),
		.kernel = bent & OLD ? PATHPROF_KERNEL(5, 10) : PATHPROF_KERNEL(6, 12),
		.paranoid = 2,
		.unprivileged_bpf = 2,
		.lockdown = bent & CONFIDENTIAL ? PATHPROF_LOCKDOWN_CONFIDENTIALITY
			    : bent & INTEGRITY  ? PATHPROF_LOCKDOWN_INTEGRITY
						: PATHPROF_LOCKDOWN_NONE,
		.amd_family = bent & ZEN3   ? 0x19
			      : bent & ZEN2 ? 0x17
					    : 0,
		.has_brs = bent & BRS,
		.is_guest = bent & GUEST,
		.has_counters = !(bent & NO_COUNTERS),
		.has_btf = !(bent & NO_BTF),
		.is_filtered = bent & FILTERED,
		.is_user_ns = bent & USER_NS,
	};
}

static const struct refusal_case {
	enum pathprof_ask ask;
	int code;
	unsigned int bent;        /* enum bent */
	const char *why, *change; /* words of each */
} cases[] = {
	/* no hardware to ask */
	{PATHPROF_ASK_BRANCH_STACK, -ENOENT, NO_COUNTERS | GUEST, "hypervisor shows",
	 "given a PMU"},
	{PATHPROF_ASK_BRANCH_STACK, -ENOENT, NO_COUNTERS, "drives no hardware", "newer kernel"},
	{PATHPROF_ASK_BRANCH_STACK, -ENODEV, NO_COUNTERS, "drives no hardware", "newer kernel"},
	{PATHPROF_ASK_BRANCH_STACK, -ENOENT, 0, "do not have the event", "Event="},
	{PATHPROF_ASK_BRANCH_STACK, -ENOENT, GUEST, "do not have the event", "Event="},
	/* counters, and no stack */
	{PATHPROF_ASK_BRANCH_STACK, -EOPNOTSUPP, 0, "keeps no branch stack", "LBR"},
	{PATHPROF_ASK_BRANCH_STACK, -EOPNOTSUPP, GUEST,
	 "hypervisor shows this virtual machine counters and no branch stack", "lbr-fmt"},
	{PATHPROF_ASK_BRANCH_STACK, -EOPNOTSUPP, ZEN3 | OLD, "kernel does not know", "Linux 6.1"},
	{PATHPROF_ASK_BRANCH_STACK, -EOPNOTSUPP, ZEN3 | BRS, "built without Zen 3",
	 "CONFIG_PERF_EVENTS_AMD_BRS"},
	{PATHPROF_ASK_BRANCH_STACK, -EOPNOTSUPP, ZEN2 | OLD, "keeps no branch stack", "Zen 3"},
	{PATHPROF_ASK_BRANCH_STACK, -EOPNOTSUPP, NO_COUNTERS, "only hardware's events", "Event="},
	{PATHPROF_ASK_BRANCH_STACK, -EINVAL, ZEN3 | BRS, "Zen 3", "Event= empty"},
	{PATHPROF_ASK_BRANCH_STACK, -EINVAL, 0, "refuses a branch stack", "Event= empty"},
	/* not permitted */
	{PATHPROF_ASK_BRANCH_STACK, -EACCES, NO_BPF | NO_PERFMON, "perf_event_paranoid",
	 "CAP_PERFMON"},
	{PATHPROF_ASK_EVENT, -EACCES, NO_PERFMON, "perf_event_paranoid", "CAP_PERFMON"},
	{PATHPROF_ASK_EVENT, -EACCES, 0, "security module", "policy"},
	{PATHPROF_ASK_EVENT, -EACCES, USER_NS, "user namespace", "PrivateUsers"},
	{PATHPROF_ASK_EVENT, -EPERM, FILTERED, "seccomp", "SystemCallFilter=perf_event_open"},
	{PATHPROF_ASK_EVENT, -EPERM, NO_BPF | NO_PERFMON, "CAP_PERFMON is missing", "root"},
	{PATHPROF_ASK_EVENT, -EPERM, CONFIDENTIAL, "confidentiality", "lockdown=integrity"},
	{PATHPROF_ASK_EVENT, -EPERM, INTEGRITY, "security module", "policy"},
	{PATHPROF_ASK_EVENT, -EINVAL, 0, "form of event", "newer kernel"},
	{PATHPROF_ASK_EVENT, -EBUSY, 0, "another user", "nmi_watchdog"},
	{PATHPROF_ASK_EVENT, -ENOSYS, 0, "without perf events", "CONFIG_PERF_EVENTS"},
	{PATHPROF_ASK_EVENT, -ENOSYS, FILTERED, "seccomp", "SystemCallFilter"},
	{PATHPROF_ASK_EVENT, -EMFILE, 0, "open files", "LimitNOFILE"},
	{PATHPROF_ASK_EVENT, -ENOSPC, 0, "too many threads", "fewer threads"},
	/* BPF */
	{PATHPROF_ASK_BPF, -EPERM, NO_BPF | NO_PERFMON, "CAP_BPF and CAP_PERFMON are missing",
	 "root"},
	{PATHPROF_ASK_BPF, -EPERM, NO_BPF, "CAP_BPF is missing", "unit"},
	{PATHPROF_ASK_BPF, -EPERM, NO_PERFMON, "CAP_PERFMON is missing", "unit"},
	{PATHPROF_ASK_BPF, -EPERM, USER_NS, "user namespace", "PrivateUsers"},
	{PATHPROF_ASK_BPF, -EPERM, FILTERED, "seccomp", "SystemCallFilter=bpf"},
	{PATHPROF_ASK_BPF, -EPERM, CONFIDENTIAL, "confidentiality", "lockdown=integrity"},
	{PATHPROF_ASK_BPF, -EPERM, OLD, "locked memory", "LimitMEMLOCK"},
	{PATHPROF_ASK_BPF, -EPERM, 0, "security module", "policy"},
	{PATHPROF_ASK_BPF, -EACCES, 0, "verifier", "another kernel"},
	{PATHPROF_ASK_BPF, -EINVAL, 0, "lacks something", "5.10"},
	{PATHPROF_ASK_BPF, -EINVAL, CONFIDENTIAL, "confidentiality", "lockdown=integrity"},
	{PATHPROF_ASK_BPF, -EINVAL, INTEGRITY, "lacks something", "5.10"},
	{PATHPROF_ASK_BPF, -ESRCH, NO_BTF, "no BTF", "CONFIG_DEBUG_INFO_BTF"},
	{PATHPROF_ASK_BPF, -ENOENT, NO_BTF, "no BTF", "CONFIG_DEBUG_INFO_BTF"},
	{PATHPROF_ASK_BPF, -ESRCH, 0, "lack one", "another kernel"},
	{PATHPROF_ASK_BPF, -E2BIG, 0, "gives up", "another kernel"},
	{PATHPROF_ASK_BPF, -ENOMEM, 0, "maps", "MemoryMax="},
	{PATHPROF_ASK_BPF, -ENOSYS, 0, "without BPF", "CONFIG_BPF_SYSCALL"},
	{PATHPROF_ASK_BPF, -EOPNOTSUPP, 0, "attach", "CONFIG_BPF_EVENTS"},
};

static bool holds(const struct refusal_case *c, struct pathprof_refused refused)
{
	return strstr(refused.why, c->why) && refused.change && strstr(refused.change, c->change);
}

static void test_cases(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct refusal_case *c = &cases[i];
		struct pathprof_machine machine = machine_of(c->bent);
		struct pathprof_refused refused = pathprof_explain(c->ask, c->code, &machine);

		CU_ASSERT(holds(c, refused));
		if (!holds(c, refused))
			printf("case %zu, %s: %s -- %s\n", i, refused.code, refused.why,
			       refused.change ? refused.change : "-");
	}
}

/* Nothing is blamed that is not so. */
static bool is_true_of(const struct pathprof_refused *refused, const struct pathprof_machine *m)
{
	const struct {
		const char *word;
		bool may;
	} blames[] = {
		{"hypervisor", m->is_guest},
		{"seccomp", m->is_filtered},
		{"user namespace", m->is_user_ns},
		{"confidentiality", m->lockdown == PATHPROF_LOCKDOWN_CONFIDENTIALITY},
		{"no BTF", !m->has_btf},
		{"Zen 3", m->has_brs},
		{"CAP_BPF is missing", !(m->capabilities & BIT(CAP_BPF))},
		{"CAP_PERFMON is missing", !(m->capabilities & BIT(CAP_PERFMON))},
		{"CAP_BPF and CAP_PERFMON are missing", !(m->capabilities & BOTH)},
		{"paranoid", !(m->capabilities & BIT(CAP_PERFMON))},
		{"security module", (m->capabilities & BIT(CAP_PERFMON)) && !m->is_user_ns},
		{"before Linux 5.11", m->kernel < PATHPROF_KERNEL(5, 11)},
		{"drives no hardware counters", !m->has_counters},
	};

	for (size_t i = 0; i < sizeof(blames) / sizeof(blames[0]); i++)
		if (strstr(refused->why, blames[i].word) && !blames[i].may)
			return false;
	return true;
}

static void test_every_set_of_facts(void)
{
	static const int codes[] = {-ENOENT, -ENODEV, -EOPNOTSUPP, -EPERM,  -EACCES, -EINVAL,
				    -EBUSY,  -E2BIG,  -ESRCH,      -ENOMEM, -ENOSYS, -EMFILE};
	unsigned int wrong = 0, unexplained = 0;

	for (unsigned int bent = 0; bent <= BENT_ALL; bent++)
		for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
			for (int ask = 0; ask < PATHPROF_ASK_CNT; ask++) {
				struct pathprof_machine m = machine_of(bent);
				struct pathprof_refused refused =
					pathprof_explain((enum pathprof_ask)ask, codes[i], &m);

				wrong += !is_true_of(&refused, &m) || !refused.why[0] ||
					 strchr(refused.why, '\n') ||
					 strcmp(refused.code, strerrorname_np(-codes[i])) != 0;
				unexplained += !refused.change;
			}
	CU_ASSERT_EQUAL(wrong, 0);
	/* perf says neither E2BIG nor ESRCH of an event on a CPU, bpf neither EBUSY nor ENODEV */
	CU_ASSERT_EQUAL(unexplained % (BENT_ALL + 1), 0);
	CU_ASSERT(unexplained / (BENT_ALL + 1) <= 6);
}

/* A planted fault: a wrong blame is noticed. */
static void test_planted(void)
{
	struct pathprof_machine m = machine_of(0);
	struct pathprof_refused refused = {"EPERM", "a seccomp filter refuses it", "its profile"};

	CU_ASSERT(!is_true_of(&refused, &m));
	refused.why = "CAP_BPF is missing";
	CU_ASSERT(!is_true_of(&refused, &m));
}

static void test_unknown_code(void)
{
	struct pathprof_machine m = machine_of(0);
	struct pathprof_refused refused = pathprof_explain(PATHPROF_ASK_BPF, -99999, &m);

	CU_ASSERT(refused.why[0] != '\0');
	CU_ASSERT_PTR_NULL(refused.change);
}

static void test_line(void)
{
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pathprof_explain_perf(-EBUSY, "bpf: perf event", &error), -EBUSY);
	CU_ASSERT_EQUAL(strncmp(error.text, "bpf: perf event: EBUSY: another user holds", 42), 0);
	CU_ASSERT_PTR_NULL(strchr(error.text, '\n'));
	CU_ASSERT_EQUAL(pathprof_explain_bpf(-ENOMEM, "bpf: maps", &error), -ENOMEM);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "MemoryMax="));
}

/* ---------------------------------------------------------------- facts */

static char root[512];

static void put(const char *name, const char *text)
{
	char path[1024], command[1100];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\"", path);
	if (system(command) != 0) /* NOLINT(cert-env33-c): our own words */
		abort();
	file = fopen(path, "we");
	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static void test_facts(void)
{
	struct pathprof_machine m;

	snprintf(root, sizeof(root), "%s/a", unit_tmpdir());
	put("proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n"
			    "model\t\t: 1\nflags\t\t: fpu brs hypervisor sse\n\nprocessor\t: 1\n"
			    "cpu family\t: 99\n");
	put("proc/thread-self/status", "Name:\tx\nCapEff:\t0000008000000000\nSeccomp:\t2\n");
	put("proc/self/uid_map", "         0       1000          1\n");
	put("proc/sys/kernel/osrelease", "5.10.0-30-amd64\n");
	put("proc/sys/kernel/perf_event_paranoid", "3\n");
	put("proc/sys/kernel/unprivileged_bpf_disabled", "0\n");
	put("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	put("sys/kernel/btf/vmlinux", "x");
	put("sys/bus/event_source/devices/cpu_core/type", "4\n");
	pathprof_machine_read(&m, root);
	CU_ASSERT_EQUAL(m.capabilities, BIT(CAP_BPF));
	CU_ASSERT_EQUAL(m.kernel, PATHPROF_KERNEL(5, 10));
	CU_ASSERT_EQUAL(m.paranoid, 3);
	CU_ASSERT_EQUAL(m.unprivileged_bpf, 0);
	CU_ASSERT_EQUAL(m.lockdown, PATHPROF_LOCKDOWN_CONFIDENTIALITY);
	CU_ASSERT_EQUAL(m.amd_family, 25);
	CU_ASSERT(m.has_brs && m.is_guest && m.has_counters && m.has_btf && m.is_filtered &&
		  m.is_user_ns);
}

static void test_other_facts(void)
{
	struct pathprof_machine m;

	snprintf(root, sizeof(root), "%s/b", unit_tmpdir());
	put("proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\n"
			    "flags\t\t: fpu brsx xhypervisor\n");
	put("proc/self/uid_map", "         0          0 4294967295\n");
	put("proc/sys/kernel/osrelease", "6.12\n");
	put("proc/sys/kernel/perf_event_paranoid", "-1\n");
	put("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	put("sys/bus/event_source/devices/software/type", "1\n");
	pathprof_machine_read(&m, root);
	CU_ASSERT_EQUAL(m.kernel, PATHPROF_KERNEL(6, 12));
	CU_ASSERT_EQUAL(m.paranoid, -1);
	CU_ASSERT_EQUAL(m.unprivileged_bpf, PATHPROF_NO_SETTING);
	CU_ASSERT_EQUAL(m.lockdown, PATHPROF_LOCKDOWN_INTEGRITY);
	CU_ASSERT_EQUAL(m.amd_family, 0);
	CU_ASSERT(!m.has_brs && !m.is_guest && !m.has_counters && !m.has_btf && !m.is_filtered &&
		  !m.is_user_ns);
}

static void test_no_facts(void)
{
	struct pathprof_machine m;

	pathprof_machine_read(&m, "/nonexistent");
	CU_ASSERT_EQUAL(m.kernel, 0);
	CU_ASSERT_EQUAL(m.paranoid, PATHPROF_NO_SETTING);
	CU_ASSERT_EQUAL(m.capabilities, 0);
	/* what every kernel that runs this has */
	pathprof_machine_read(&m, "");
	CU_ASSERT(m.kernel >= PATHPROF_KERNEL(4, 0));
}

/* ---------------------------------------------------------------- events */

/* libpfm4 reads its environment once, so each processor has a process. */
static bool finds(const char *pmu, uint64_t config, bool is_taken)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		struct pathprof_hardware_event event;

		setenv("LIBPFM_FORCE_PMU", pmu, 1);
		pathprof_taken_event(&event, 0, "/nonexistent");
		_exit(event.config == config && event.counts_taken == is_taken &&
				      event.type == (is_taken ? PERF_TYPE_RAW : PERF_TYPE_HARDWARE)
			      ? 0
			      : 1);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

/* Whether this libpfm4 can take itself for that processor. */
static bool can_force(const char *pmu)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		pfm_pmu_info_t info = {.size = sizeof(info)};
		bool found = false;

		setenv("LIBPFM_FORCE_PMU", pmu, 1);
		if (pfm_initialize() == PFM_SUCCESS)
			for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX && !found; i++)
				found = pfm_get_pmu_info((pfm_pmu_t)i, &info) == PFM_SUCCESS &&
					info.is_present && !strcmp(info.name, pmu);
		_exit(found ? 0 : 1);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

#define ALL_BRANCHES PERF_COUNT_HW_BRANCH_INSTRUCTIONS

static void test_known_processors(void)
{
	static const struct {
		const char *pmu;
		uint64_t config;
		bool is_taken;
	} known[] = {
		{"core", 0xcc4, true},
		{"atom", 0xcc4, true},
		{"nhm", 0x4088, true},
		{"nhm_ex", 0x4088, true},
		{"wsm", 0x4088, true},
		{"wsm_dp", 0x4088, true},
		{"snb", 0x20c4, true},
		{"snb_ep", 0x20c4, true},
		{"ivb", 0x20c4, true},
		{"ivb_ep", 0x20c4, true},
		{"hsw", 0x20c4, true},
		{"hsw_ep", 0x20c4, true},
		{"bdw", 0x20c4, true},
		{"bdw_ep", 0x20c4, true},
		{"skl", 0x20c4, true},
		{"skx", 0x20c4, true},
		{"clx", 0x20c4, true},
		{"icl", 0x20c4, true},
		{"icx", 0x20c4, true},
		{"spr", 0x20c4, true},
		{"slm", 0x80c4, true},
		{"glm", 0x80c4, true},
		{"tmt", ALL_BRANCHES, false},
		{"knl", ALL_BRANCHES, false},
		{"knm", ALL_BRANCHES, false},
		{"amd64_fam10h_barcelona", 0xc4, true},
		{"amd64_fam15h_interlagos", 0xc4, true},
		{"amd64_fam16h", 0xc4, true},
		{"amd64_fam17h_zen1", 0xc4, true},
		{"amd64_fam17h_zen2", 0xc4, true},
		{"amd64_fam19h_zen3", 0xc4, true},
		{"amd64_fam19h_zen4", 0xc4, true},
	};
	unsigned int tried = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!can_force(known[i].pmu)) {
			printf("%s: not in this libpfm4\n", known[i].pmu);
			continue;
		}
		tried++;
		CU_ASSERT(finds(known[i].pmu, known[i].config, known[i].is_taken));
		if (!finds(known[i].pmu, known[i].config, known[i].is_taken))
			printf("%s: another event\n", known[i].pmu);
	}
	CU_ASSERT(tried >= 30);
	/* a planted fault: another number is noticed */
	CU_ASSERT(!finds("skl", 0x20c5, true));
}

static void test_newer_processors(void)
{
	static const struct {
		const char *vendor, *pmu_name;
		uint32_t family;
		uint64_t config; /* 0: none */
	} newer[] = {
		{"GenuineIntel", "granite_rapids", 6, 0x20c4},
		{"GenuineIntel", "", 6, 0x20c4},
		{"GenuineIntel", "gracemont", 6, 0xc0c4},
		{"GenuineIntel", "crestmont", 6, 0xc0c4},
		{"GenuineIntel", "tremont", 6, 0},
		{"GenuineIntel", "knights-landing", 6, 0},
		{"GenuineIntel", "", 5, 0},
		{"AuthenticAMD", "", 0x1a, 0xc4},
		{"HygonGenuine", "", 0x18, 0xc4},
		{"CentaurHauls", "", 7, 0},
		{"", "", 0, 0},
	};

	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
		uint64_t config = 0;
		bool found = pp_taken_event_raw(newer[i].vendor, newer[i].family, newer[i].pmu_name,
						&config);

		CU_ASSERT_EQUAL(found, newer[i].config != 0);
		CU_ASSERT_EQUAL(config, newer[i].config);
	}
}

static void test_hybrid(void)
{
	struct pathprof_hardware_event event;

	snprintf(root, sizeof(root), "%s/c", unit_tmpdir());
	put("cpu_core/cpus", "0-3,8\n");
	put("cpu_core/type", "4\n");
	put("cpu_atom/cpus", "4-7\n");
	put("cpu_atom/type", "10\n");
	for (uint32_t cpu = 0; cpu < 9; cpu++) {
		bool is_atom = cpu >= 4 && cpu <= 7;

		pathprof_taken_event(&event, cpu, root);
		CU_ASSERT_EQUAL(event.type, is_atom ? 10 : 4);
		CU_ASSERT_EQUAL(event.config, is_atom ? 0xc0c4 : 0x20c4);
		CU_ASSERT(event.counts_taken);
	}
	CU_ASSERT_STRING_EQUAL(event.name, "cpu_core/config=0x20c4/");
}

/* Zen 3's driver takes no wish but "any branch": with another one it says EINVAL. */
static void test_branch_sample_type(void)
{
	struct pathprof_machine m = machine_of(0);

	CU_ASSERT_EQUAL(pathprof_branch_sample_type(&m), PERF_SAMPLE_BRANCH_USER |
								 PERF_SAMPLE_BRANCH_ANY |
								 PERF_SAMPLE_BRANCH_TYPE_SAVE);
	m.has_brs = true;
	CU_ASSERT_EQUAL(pathprof_branch_sample_type(&m),
			PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY);
}

static const struct unit_test tests[] = {
	{"each refusal has its reason and what would change it", test_cases},
	{"no set of facts is blamed for what is not so", test_every_set_of_facts},
	{"a wrong blame is noticed", test_planted},
	{"an unknown code has a line too", test_unknown_code},
	{"a line says what was tried, why not, and what would help", test_line},
	{"facts are read", test_facts},
	{"facts that look alike are not taken for one another", test_other_facts},
	{"where there are no files there are no facts", test_no_facts},
	{"each processor of libpfm4 counts taken branches by its own event", test_known_processors},
	{"processors that libpfm4 does not know have their makers' event", test_newer_processors},
	{"each core of a hybrid has its own event", test_hybrid},
	{"Zen 3 is not asked for kinds", test_branch_sample_type},
};
UNIT_SUITE(machine, tests)
