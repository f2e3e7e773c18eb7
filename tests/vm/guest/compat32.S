/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program of 32 bits that looks for the trap flag for ever, and ends with status 1 when it has
 * seen it. Needs no library: gcc -m32 -nostdlib -static.
 */
	.section .note.GNU-stack, "", @progbits
	.text
	.globl _start
_start:
	movl $1000, %ecx
1:
	decl %ecx
	jnz 1b
	pushfl
	popl %eax
	testl $0x100, %eax
	jz _start
	movl $1, %ebx /* status */
	movl $1, %eax /* exit */
	int $0x80
