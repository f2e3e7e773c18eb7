/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The best place in a function for a probe that reads a parameter's register. On an instruction
 * that the kernel emulates a probe costs a trap, 0.5 to 1.2 us; on any other the kernel steps a
 * copy of it, which takes ten times as long. So the first instructions are searched for one that
 * is emulated, as long as each is passed once a call and none has written the register.
 *
 * Pure: bytes in, an offset out. Any thread.
 */
#ifndef PP_PROBE_PLACE_H
#define PP_PROBE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_PROBE_BYTES_MAX    65536 /* of a function that are worth handing in */
#define PP_PROBE_ARGUMENT_MAX 6

/*
 * code: the function from its first byte on, as much as there is. Returns the offset of the
 * instruction to probe; 0, the first one, when none is better. *ret_emulated: whether kernels
 * emulate it.
 */
uint32_t pp_probe_place(const uint8_t *code, size_t len_bytes, uint32_t argument,
			bool *ret_emulated);

#endif
