// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The words for numbers of a profile: see pathprof/profile.h. */
#include "pathprof/profile.h"

#include <stddef.h>

static const char *const drop_names[PATHPROF_DROP_CNT] = {
	[PATHPROF_DROP_UNRESOLVED] = "unresolved",
	[PATHPROF_DROP_TABLE_FULL] = "table-full",
	[PATHPROF_DROP_QUEUE_FULL] = "queue-full",
	[PATHPROF_DROP_MALFORMED] = "malformed",
	[PATHPROF_DROP_TRACED] = "traced",
	[PATHPROF_DROP_32BIT] = "32bit",
	[PATHPROF_DROP_SECCOMP] = "seccomp",
	[PATHPROF_DROP_GONE] = "gone",
	[PATHPROF_DROP_DENIED] = "denied",
	[PATHPROF_DROP_STOPPED] = "stopped",
	[PATHPROF_DROP_BUDGET] = "budget",
	[PATHPROF_DROP_TRACKER_LOST] = "tracker-lost",
	[PATHPROF_DROP_BUSY] = "busy",
	[PATHPROF_DROP_REFUSED] = "refused",
	[PATHPROF_DROP_KERNEL] = "kernel",
	[PATHPROF_DROP_REALTIME] = "realtime",
	[PATHPROF_DROP_ISOLATED] = "isolated",
	[PATHPROF_DROP_OWN] = "own",
	[PATHPROF_DROP_INIT] = "init",
	[PATHPROF_DROP_SILENT] = "silent",
	[PATHPROF_DROP_STARTING] = "starting",
};

static const char *const end_names[PATHPROF_END_CNT] = {
	[PATHPROF_END_FULL] = "full",       [PATHPROF_END_SYSCALL] = "syscall",
	[PATHPROF_END_FLAGS] = "flags",     [PATHPROF_END_TRAP] = "trap",
	[PATHPROF_END_FAR] = "far",         [PATHPROF_END_SS] = "ss",
	[PATHPROF_END_TSX] = "tsx",         [PATHPROF_END_REP] = "rep",
	[PATHPROF_END_FETCH] = "fetch",     [PATHPROF_END_SIGNAL] = "signal",
	[PATHPROF_END_DISCONT] = "discont", [PATHPROF_END_STEPS] = "steps",
	[PATHPROF_END_TIME] = "time",       [PATHPROF_END_EXIT] = "exit",
	[PATHPROF_END_SWITCH] = "switch",
};

const char *pathprof_drop_name(enum pathprof_drop drop)
{
	return (unsigned int)drop < PATHPROF_DROP_CNT ? drop_names[drop] : NULL;
}

const char *pathprof_end_name(uint32_t end)
{
	return end < PATHPROF_END_CNT ? end_names[end] : NULL;
}

const char *pathprof_basis_name(enum pathprof_basis basis)
{
	switch (basis) {
	case PATHPROF_BASIS_TIME:
		return "time";
	case PATHPROF_BASIS_BRANCHES:
		return "branches";
	}
	return NULL;
}

const char *pathprof_source_name(uint32_t source)
{
	switch (source) {
	case PATHPROF_SOURCE_STEP:
		return "step";
	case PATHPROF_SOURCE_SWLBR:
		return "swlbr";
	case PATHPROF_SOURCE_LBR:
		return "lbr";
	case PATHPROF_SOURCE_IMPORT:
		return "import";
	case PATHPROF_SOURCE_TRACE:
		return "trace";
	}
	return NULL;
}
