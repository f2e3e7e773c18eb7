// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * See pp_event_basis.h.
 *
 * Source: include/uapi/linux/perf_event.h; libpfm4's tables of Intel's, AMD's and Arm's events;
 * tools/perf/Documentation/perf-list.txt for how events are written.
 */
#include "pp_event_basis.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- by number */

/* The upper half of a generic event's config is the PMU of a hybrid processor. */
#define GENERIC_CONFIG UINT64_C(0xffffffff)

#define CODE(event, umask) ((uint32_t)(umask) << 8 | (event))

/* Bits of a raw config that change whose events are counted, not which: usr, os, int, enable. */
#define X86_HARMLESS (UINT64_C(0x3) << 16 | UINT64_C(1) << 20 | UINT64_C(1) << 22)
/* Intel's small cores before Gracemont: taken branches; its large cores today: indirect ones. */
#define X86_AMBIGUOUS CODE(0xc4, 0x80)

static const uint32_t x86_codes[] = {
	CODE(0xc4, 0x00), /* Intel: all; AMD: taken */
	CODE(0xc4, 0x20), /* Intel's cores from Sandy Bridge on: taken */
	CODE(0xc4, 0xc0), /* Intel's small cores from Gracemont on: taken */
	CODE(0xc4, 0x04), /* Intel from Nehalem to Skylake: all, precisely */
	CODE(0xc4, 0x0c), /* Core 2, the first Atoms: taken */
	CODE(0xc4, 0x0f), /* the first Atoms: all */
	CODE(0xc2, 0x00), /* AMD: all */
	CODE(0x88, 0x40), /* Nehalem, Westmere: taken */
	CODE(0x88, 0x7f), /* the same: all */
	CODE(0x88, 0xff), /* Intel from Sandy Bridge to Broadwell: all */
};

/* Codes of the architecture's PMU, any version. */
static const uint32_t arm_codes[] = {
	0x0c, /* PC_WRITE_RETIRED: taken */
	0x21, /* BR_RETIRED: all */
};

static bool has_code(const uint32_t *codes, size_t cnt, uint64_t code)
{
	for (size_t i = 0; i < cnt; i++)
		if (codes[i] == code)
			return true;
	return false;
}

static bool x86_counts_branches(uint64_t config)
{
	return has_code(x86_codes, sizeof(x86_codes) / sizeof(x86_codes[0]),
			config & ~X86_HARMLESS);
}

static bool arm_counts_branches(uint64_t config)
{
	return has_code(arm_codes, sizeof(arm_codes) / sizeof(arm_codes[0]), config);
}

static bool is_x86(const char *arch)
{
	return !strcmp(arch, "x86_64") || (arch[0] == 'i' && arch[1] && !strcmp(arch + 2, "86"));
}

static bool is_arm(const char *arch)
{
	return !strncmp(arch, "aarch64", 7) || !strncmp(arch, "arm", 3);
}

static enum pathprof_basis basis_if(bool counts_branches)
{
	return counts_branches ? PATHPROF_BASIS_BRANCHES : PATHPROF_BASIS_TIME;
}

/* The numbers of a core's own events. Without a word on the machine it is an x86. */
static enum pathprof_basis raw_basis(uint64_t config, const char *arch, const char *name)
{
	if (arch && is_arm(arch))
		return basis_if(arm_counts_branches(config));
	if ((arch && !is_x86(arch)) || (config & ~X86_HARMLESS) == X86_AMBIGUOUS)
		return pp_event_basis_of_name(name);
	return basis_if(x86_counts_branches(config));
}

/*
 * Types that the kernel hands out as it finds PMUs (hybrid processors, all of Arm) are cores': no
 * other PMU's event has branches with its samples.
 */
enum pathprof_basis pp_event_basis(uint32_t type, uint64_t config, const char *arch,
				   const char *name)
{
	uint64_t generic = config & GENERIC_CONFIG;

	switch (type) {
	case PERF_TYPE_HARDWARE:
		return basis_if(generic == PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	case PERF_TYPE_HW_CACHE:
		return basis_if(generic == PERF_COUNT_HW_CACHE_BPU); /* read, access */
	case PERF_TYPE_SOFTWARE:
	case PERF_TYPE_TRACEPOINT:
	case PERF_TYPE_BREAKPOINT:
		return PATHPROF_BASIS_TIME;
	default:
		return raw_basis(config, arch, name);
	}
}

/* ---------------------------------------------------------------- by name */

/* Words in the names of branch events, and of events of some branches only (libpfm4, perf, makers).
 */
static const char *const branch_words[] = {"branch", "br_", "brn", "taken", "pc_write"};
static const char *const partial_words[] = {"mis",      "msprd", "resync", "not_taken", "ntaken",
					    "cond",     "jcc",   "jmp",    "call",      "return",
					    "ret_near", "far",   "immed",  "indirect",  "ind_"};

static bool has_word(const char *text, const char *const *words, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (strcasestr(text, words[i]))
			return true;
	return false;
}

/* "BR_INST_RETIRED:NEAR_TAKEN:u", "branches"; of "bridge:br_add", a tracepoint, the group decides.
 */
static bool symbol_counts_branches(const char *symbol)
{
	const char *pmu_end = strstr(symbol, "::");
	char event[256];

	if (pmu_end)
		symbol = pmu_end + 2;
	if (has_word(symbol, partial_words, sizeof(partial_words) / sizeof(partial_words[0])))
		return false;
	strncpy(event, symbol, sizeof(event) - 1);
	event[sizeof(event) - 1] = '\0';
	event[strcspn(event, ":")] = '\0';
	return has_word(event, branch_words, sizeof(branch_words) / sizeof(branch_words[0]));
}

/* "r20c4:u", "0x20c4", "raw 0x20c4:u". */
static bool scan_raw(const char *name, uint64_t *ret_config)
{
	char *end;

	if (!strncmp(name, "raw ", 4))
		name += 4;
	else if (*name == 'r')
		name++;
	else if (strncmp(name, "0x", 2) != 0)
		return false;
	if (!isxdigit((unsigned char)*name))
		return false;
	*ret_config = strtoull(name, &end, 16);
	return *end == '\0' || *end == ':';
}

/* One of "event=0xc4", "umask=0x20", "inv", ...; false: no term that has a place in a config. */
static bool add_term(const char *term, uint64_t *config)
{
	static const struct {
		const char *name;
		unsigned shift;
	} terms[] = {{"event", 0}, {"umask", 8},  {"edge", 18},
		     {"inv", 23},  {"cmask", 24}, {"config", 0}};
	size_t len = strcspn(term, "=");

	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		if (strlen(terms[i].name) == len && !strncmp(term, terms[i].name, len)) {
			*config |= (term[len] ? strtoull(term + len + 1, NULL, 0) : 1)
				   << terms[i].shift;
			return true;
		}
	return false;
}

/* Between the slashes of "cpu/TERM,TERM,.../u": numbers, or a symbol. */
static bool terms_count_branches(const char *terms)
{
	uint64_t config = 0;
	bool numbers = false, symbol = false;
	char copy[256], *rest = copy, *term;

	strncpy(copy, terms, sizeof(copy) - 1);
	copy[sizeof(copy) - 1] = '\0';
	copy[strcspn(copy, "/")] = '\0';
	while ((term = strsep(&rest, ",")))
		if (add_term(term, &config))
			numbers = true;
		else if (!strchr(term, '=') && symbol_counts_branches(term))
			symbol = true;
	/* Text does not say of which machine it is; no number means branches on one and else on
	 * another. */
	return numbers ? x86_counts_branches(config) || arm_counts_branches(config) : symbol;
}

enum pathprof_basis pp_event_basis_of_name(const char *name)
{
	const char *slash = name ? strchr(name, '/') : NULL;
	uint64_t config;

	if (!name)
		return PATHPROF_BASIS_TIME;
	if (slash)
		return basis_if(terms_count_branches(slash + 1));
	if (scan_raw(name, &config))
		return basis_if(x86_counts_branches(config) || arm_counts_branches(config));
	return basis_if(symbol_counts_branches(name));
}
