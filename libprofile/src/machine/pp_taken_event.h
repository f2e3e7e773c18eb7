/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Taken branches as makers' manuals have them, for processors that no library knows. A pure
 * function; any thread. Source: Intel's perfmon event files, AMD's processor programming
 * references.
 */
#ifndef PP_TAKEN_EVENT_H
#define PP_TAKEN_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The raw event of a core; pmu_name is what the kernel calls its design ("crestmont"), "" when it
 * has no name for it. False: no event of that processor counts taken branches.
 */
bool pp_taken_event_raw(const char *vendor, uint32_t family, const char *pmu_name,
			uint64_t *ret_config);

#endif
