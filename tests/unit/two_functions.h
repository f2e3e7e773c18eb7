/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two small functions, f with a loop and a call of g, for tests whose figures are worked out by
 * hand. */
#ifndef TWO_FUNCTIONS_H
#define TWO_FUNCTIONS_H

#include <stdint.h>

static const uint8_t two_functions[] = {
	0x31, 0xc0,                   /* 00 f: xor eax, eax */
	0x85, 0xff,                   /* 02    test edi, edi */
	0x74, 0x07,                   /* 04    je 0d */
	0xff, 0xc8,                   /* 06    dec eax */
	0xff, 0xcf,                   /* 08    dec edi */
	0x75, 0xf6,                   /* 0a    jne 02 */
	0xc3,                         /* 0c    ret */
	0xe8, 0x0e, 0x00, 0x00, 0x00, /* 0d    call g */
	0xeb, 0xf8,                   /* 12    jmp 0c */
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3, /* 20 g: nop; ret */
};

#endif
