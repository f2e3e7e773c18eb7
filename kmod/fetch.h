/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of an instruction of the current thread. Any context that interrupted user code; never
 * sleeps, never pages anything in.
 */
#ifndef PATHPROF_KMOD_FETCH_H
#define PATHPROF_KMOD_FETCH_H

#include <linux/types.h>

#define PP_FETCH_BYTES 16

/* How many bytes from `address` are there, up to PP_FETCH_BYTES; 0 when the first is not. */
u32 pp_fetch(u64 address, u8 *ret_code);

#endif
