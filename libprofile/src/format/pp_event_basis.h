/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Whether an event of perf counts branches. The numbers of its attribute say so; a name says
 * anything (`-e cpu/event=0xc4,umask=0x20,name=hot/`), and is asked only where it is all there is.
 *
 * Branches are counted by events of all taken branches, or of all branches. An event of some kinds
 * of branches, or of mispredicted ones, is as good as a clock: it does not tell how often code
 * runs. Pure functions; any thread.
 */
#ifndef PP_EVENT_BASIS_H
#define PP_EVENT_BASIS_H

#include <stdint.h>

#include "pathprof/profile.h"

/* By the name alone: "r20c4:u", "cpu_core/event=0xc4,umask=0x20/", "br_inst_retired.near_taken". */
enum pathprof_basis pp_event_basis_of_name(const char *name);
/*
 * By type and config of the attribute; arch is the machine's as uname has it, NULL when it is not
 * told. The name decides for numbers that differ between processors.
 */
enum pathprof_basis pp_event_basis(uint32_t type, uint64_t config, const char *arch,
				   const char *name);

#endif
