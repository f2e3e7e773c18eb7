// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every kind of control transfer of x86-64, in a program without a C library: conditional ones
 * taken and not, to the next instruction, loop and jrcxz; jumps and calls, direct, through a
 * register and through memory; ret with and without operand and prefix; repeated string
 * instructions in the middle, with a count of zero, and as the target of a branch; instructions
 * and blocks that cross a page. Ends by itself after ROUNDS rounds, some 30 branches each.
 *
 *     gcc -nostdlib -static -no-pie branch_kinds.S
 */
#define ROUNDS 600

	.globl _start
	.text
_start:
	mov $ROUNDS, %r12d
	xor %r13d, %r13d
round:
	mov %r12d, %ecx
	and $7, %ecx
	jrcxz 1f /* not always taken */
	lea (%rcx, %r13), %r13
1:	mov $3, %ecx
2:	add $1, %r13
	loop 2b
	mov $4, %ecx
3:	cmp $2, %ecx
	loopne 3b
	mov $2, %ecx
	xor %eax, %eax
4:	loope 4b

	test $1, %r12d
	jz 5f /* to the next instruction either way */
5:	test $2, %r12d
	jnz far_away
	jmp back
	.skip 200, 0x90
far_away:
	test $4, %r12d
	.byte 0x2e /* a hint that is none any more */
	jz back
	inc %r13
back:
	call direct
	lea with_operand(%rip), %rax
	push $7
	push $8
	call *%rax
	call *table(%rip)
	mov %r12d, %edx
	and $3, %edx
	lea table(%rip), %rbx
	call *(%rbx, %rdx, 8)
	jmp *jumps(, %rdx, 8)
case_0:
	inc %r13
case_1:
	inc %r13
	jmp 6f
case_2:
	dec %r13
case_3:
6:
	lea from(%rip), %rsi
	lea to(%rip), %rdi
	mov $37, %ecx
	rep movsb
	xor %ecx, %ecx
	rep stosb
	mov %r12d, %ecx
	and $1, %ecx
7:	rep stosb /* a branch leads here, and it may turn not once */
	lea to(%rip), %rdi
	mov $40, %ecx
	mov $1, %al
	repne scasb
	jne 8f
	inc %r13
8:	test $8, %r12d
	jz 9f
	btr $3, %r12d
	mov $5, %ecx
	lea to(%rip), %rdi
	bts $3, %r12d
	test $3, %r12d
	jnz 9f
	inc %r13
	mov $2, %ecx
	cmp $600, %r13
	ja 9f
	jmp 7b
9:	call across
	call deep
	notrack jmp *past(%rip)
	ud2
target:
	mov $39, %eax /* getpid: a block ends at a system call */
	syscall
	dec %r12d
	jnz round
	xor %edi, %edi
	mov $60, %eax
	syscall
	hlt

direct:
	cmp $300, %r12d
	jb 1f
	ret
1:	rep ret
with_operand:
	inc %r13
	ret $16
/* Calls itself, and leaves by a tail call. */
deep:
	sub $8, %rsp
	mov $5, %ecx
	call recurse
	add $8, %rsp
	jmp direct
recurse:
	dec %ecx
	jz 1f
	call recurse
1:	ret

	/* The branch itself crosses a page, and so does an instruction in the middle of a block. */
	.balign 4096
	.skip 4096 - 17, 0x90
across:
	xor %eax, %eax
	movabs $0x123456789, %rcx
	test %ecx, %ecx
	.byte 0x0f, 0x85 /* jnz over the border */
	.long 1f - . - 4
	ud2
1:	jmp 2f
	.balign 4096
	.skip 4096 - 8, 0x90
2:	nop
	dec %eax
	movabs $0x123456789abcdef0, %rax
	ret

	.section .rodata
	.balign 8
table:	.quad direct, deep, across, direct
jumps:	.quad case_0, case_1, case_2, case_3
past:	.quad target
	.data
from:	.fill 64, 1, 5
to:	.fill 64, 1, 0
	.section .note.GNU-stack, "", @progbits
