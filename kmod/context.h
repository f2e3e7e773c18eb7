/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of address spaces in compressed records (kmod_abi.h, struct pathprof_context). */
#ifndef PATHPROF_KMOD_CONTEXT_H
#define PATHPROF_KMOD_CONTEXT_H

#include "tables.h"

/*
 * The number of the current address space in this CPU's ring, where its CONTEXT record stands by
 * now; 0: that found no room, or there is no address space. Any context; the caller is busy with t.
 */
u32 pp_context_of_current(struct pp_tables *t);

#endif
