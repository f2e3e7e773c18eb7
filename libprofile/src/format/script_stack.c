// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The branch stack at the end of a line of `perf script`:
 *
 *     0xFROM[(DSO)]/0xTO[(DSO)]/EVENTS/TX/ABORT[/CYCLES[/TYPE[/SPEC]]]
 *
 * EVENTS is P, M or -, with N behind it for a branch not taken (perf 6.14); cycles came with perf
 * 4.3, the type with 5.19, speculation after 6.1. A DSO is there with -F dso, and since perf 6.4
 * +0xOFFSET behind its name.
 *
 * Workload: nearly every byte of a text of gigabytes is read here.
 *
 * A stack is recognised from where it begins to the end of the line, so that a process may call
 * itself 0x1/0x2/P/-/-/0 and do no harm. Where that fails the next possible beginning lies behind
 * the failure; so a line is read but once.
 *
 * Source: perf_sample__fprintf_brstack() in tools/perf/builtin-script.c, tools/perf/util/branch.c
 * of Linux 3.3 to 6.14.
 */
#include "pp_script.h"

#include <linux/perf_event.h>
#include <string.h>

struct word {
	const char *text;
	uint8_t value;
};

static const struct word kinds[] = {
	{"COND", PERF_BR_COND},
	{"UNCOND", PERF_BR_UNCOND},
	{"IND", PERF_BR_IND},
	{"CALL", PERF_BR_CALL},
	{"IND_CALL", PERF_BR_IND_CALL},
	{"RET", PERF_BR_RET},
	{"SYSCALL", PERF_BR_SYSCALL},
	{"SYSRET", PERF_BR_SYSRET},
	{"COND_CALL", PERF_BR_COND_CALL},
	{"COND_RET", PERF_BR_COND_RET},
	{"ERET", PERF_BR_ERET},
	{"IRQ", PERF_BR_IRQ},
	{"SERROR", PERF_BR_SERROR},
	{"NO_TX", PERF_BR_NO_TX},
	{"N/A", PERF_BR_UNKNOWN},
	{NULL, 0},
};
static const struct word new_kinds[] = {
	{"FAULT_ALGN", PERF_BR_NEW_FAULT_ALGN},
	{"FAULT_DATA", PERF_BR_NEW_FAULT_DATA},
	{"FAULT_INST", PERF_BR_NEW_FAULT_INST},
	{"ARCH_1", PERF_BR_NEW_ARCH_1},
	{"ARCH_2", PERF_BR_NEW_ARCH_2},
	{"ARCH_3", PERF_BR_NEW_ARCH_3},
	{"ARCH_4", PERF_BR_NEW_ARCH_4},
	{"ARCH_5", PERF_BR_NEW_ARCH_5},
	/* The names that perf built for Arm gives them. */
	{"FIQ", PERF_BR_NEW_ARCH_1},
	{"DEBUG_HALT", PERF_BR_NEW_ARCH_2},
	{"DEBUG_EXIT", PERF_BR_NEW_ARCH_3},
	{"DEBUG_INST", PERF_BR_NEW_ARCH_4},
	{"DEBUG_DATA", PERF_BR_NEW_ARCH_5},
	{NULL, 0},
};
static const struct word specs[] = {
	{"SPEC_WRONG_PATH", PERF_BR_SPEC_WRONG_PATH},
	{"NON_SPEC_CORRECT_PATH", PERF_BR_NON_SPEC_CORRECT_PATH},
	{"SPEC_CORRECT_PATH", PERF_BR_SPEC_CORRECT_PATH},
	{"N/A", PERF_BR_SPEC_NA},
	{NULL, 0},
};

static bool ends_field(char c)
{
	return c == '\0' || c == ' ' || c == '/';
}

/* The word of the list that stands there whole. */
static bool scan_word(const char **at, const struct word *words, uint8_t *ret_value)
{
	for (; words->text; words++) {
		const char *p = *at;

		if (pp_scan_word(&p, words->text) && ends_field(*p)) {
			*at = p;
			*ret_value = words->value;
			return true;
		}
	}
	return false;
}

/* A hyphen, or nothing at all. */
static bool scan_not_told(const char **at)
{
	if (ends_field((*at)[0]))
		return true;
	if ((*at)[0] != '-' || !ends_field((*at)[1]))
		return false;
	++*at;
	return true;
}

/* "(NAME)": ends at a parenthesis and a slash; what begins another branch is no part of it. */
static bool skip_dso(const char **at)
{
	const char *p = *at;

	if (*p != '(')
		return true;
	for (; *p && !(p[0] == ')' && p[1] == '/'); p++)
		if (p[0] == ' ' && p[1] == '0' && p[2] == 'x')
			return false;
	if (!*p)
		return false;
	*at = p + 1;
	return true;
}

static bool scan_events(const char **at, uint8_t *flags)
{
	switch (**at) {
	case 'P':
		*flags |= PATHPROF_RECORDED_PREDICTED;
		break;
	case 'M':
		*flags |= PATHPROF_RECORDED_MISPREDICTED;
		break;
	case '-':
		break;
	default:
		return false;
	}
	++*at;
	if (pp_scan_char(at, 'N'))
		*flags |= PATHPROF_RECORDED_NOT_TAKEN;
	return true;
}

static bool scan_flag(const char **at, char set, uint8_t flag, uint8_t *flags)
{
	if (pp_scan_char(at, set))
		*flags |= flag;
	else if (!pp_scan_char(at, '-'))
		return false;
	return true;
}

static bool scan_kind(const char **at, struct pathprof_recorded_branch *branch)
{
	if (scan_not_told(at) || scan_word(at, kinds, &branch->kind))
		return true;
	if (!scan_word(at, new_kinds, &branch->new_kind))
		return false;
	branch->kind = PERF_BR_EXTEND_ABI;
	return true;
}

/* The fields behind the flags; older versions of perf write fewer of them. */
static bool scan_rest(const char **at, struct pathprof_recorded_branch *branch)
{
	uint64_t cycles;

	if (!pp_scan_char(at, '/'))
		return true;
	if (!pp_scan_number(at, UINT16_MAX, &cycles))
		return false;
	branch->cycles = (uint16_t)cycles;
	if (!pp_scan_char(at, '/'))
		return true;
	if (!scan_kind(at, branch))
		return false;
	if (!pp_scan_char(at, '/'))
		return true;
	return scan_not_told(at) || scan_word(at, specs, &branch->spec);
}

/* One branch; where it fails *at is left where. */
static bool scan_branch(const char **at, struct pathprof_recorded_branch *branch)
{
	*branch = (struct pathprof_recorded_branch){.kind = PERF_BR_UNKNOWN};
	return pp_scan_0x(at, &branch->from) && skip_dso(at) && pp_scan_char(at, '/') &&
	       pp_scan_0x(at, &branch->to) && skip_dso(at) && pp_scan_char(at, '/') &&
	       scan_events(at, &branch->flags) && pp_scan_char(at, '/') &&
	       scan_flag(at, 'X', PATHPROF_RECORDED_IN_TX, &branch->flags) &&
	       pp_scan_char(at, '/') &&
	       scan_flag(at, 'A', PATHPROF_RECORDED_ABORT, &branch->flags) &&
	       scan_rest(at, branch) && (**at == '\0' || pp_scan_is_space(**at));
}

/* Branches to the end of the line. 1; 0: *at is where there is none; -EBADMSG. */
static int scan_branches(struct pp_scan *text, const char **at, uint32_t *ret_cnt)
{
	struct pp_script *script = text->state;
	uint32_t cnt = 0;

	while (**at) {
		if (cnt == PATHPROF_RECORDED_BRANCHES_MAX)
			return pp_scan_refuse(text, -EBADMSG, "more than 1024 branches in a stack");
		if (!scan_branch(at, &script->branches[cnt]))
			return 0;
		cnt++;
		while (pp_scan_is_space(**at))
			++*at;
	}
	*ret_cnt = cnt;
	return 1;
}

/* The next word that begins with 0x, `at` being the beginning of one or within one. */
static const char *next_hex_word(const char *line, const char *at)
{
	if (at == line && at[0] == '0' && at[1] == 'x')
		return at;
	at = strstr(at == line ? at : at - 1, " 0x");
	return at ? at + 1 : NULL;
}

int pp_script_stack(struct pp_scan *text, const char *line, uint32_t *ret_branch_cnt,
		    const char **ret_at, const char **ret_bad)
{
	const char *bad = NULL, *at = line, *begin;

	while ((begin = next_hex_word(line, at))) {
		int r;

		at = begin;
		r = scan_branches(text, &at, ret_branch_cnt);
		if (r < 0)
			return r;
		if (r > 0)
			break;
		bad = at;
		if (at < begin + 2)
			at = begin + 2;
	}
	if (!begin)
		*ret_branch_cnt = 0;
	*ret_at = begin ? begin : text->line + text->line_len;
	*ret_bad = bad;
	return 0;
}
