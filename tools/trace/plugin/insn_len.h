/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long an x86-64 instruction is, to tell one that is whole from one that was cut off.
 *
 * Workload: the few instructions that end near a page's end, once a translation. Pure functions.
 *
 * Source: Intel SDM volume 2, appendix A: opcode maps, ModRM and immediate columns. EVEX and later
 * encodings are unknown here, as they are to the emulator.
 */
#ifndef TRACE_INSN_LEN_H
#define TRACE_INSN_LEN_H

#include <stddef.h>
#include <stdint.h>

/* code: len_bytes, 1 or more. Its length; 0 when more bytes are needed to be whole. */
size_t insn_len(const uint8_t *code, size_t len_bytes);

#endif
