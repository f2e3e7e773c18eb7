// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Known control flow through the corners of the instruction set that a planner of ways may trip
 * over, the same in every iteration: branches to themselves, jumps into the middle of instructions,
 * branches to the next instruction, repeated string instructions, indirect transfers by registers,
 * memory and the thread's segment, jump tables, returns that pop, deep recursion, code across a
 * page. Prints a checksum that depends on nothing.
 *
 *     flow_corners ITERATIONS    (ten digits, see flow_loops.c)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t corner_self_loops(void);
uint64_t corner_overlap(uint64_t way, uint64_t flag);
uint64_t corner_next(uint64_t count);
uint64_t corner_strings(uint64_t count);
uint64_t corner_indirect(uint64_t number);
uint64_t corner_pops(uint64_t value);
uint64_t corner_deep(uint64_t depth);
uint64_t corner_page(uint64_t value);

extern char corner_by_thread[] __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"))) __thread void *corner_thread_target;
__attribute__((visibility("hidden"))) char corner_from[512], corner_to[4096];

/* Taken branches whose target, or one of whose successors, is the branch itself. */
__asm__(".text\n"
	".p2align 4\n"
	"corner_self_loops:\n"
	"	xor %eax, %eax\n"
	"	mov $9, %ecx\n"
	"1:	loop 1b\n"
	"	mov $7, %ecx\n"
	"2:	inc %eax\n"
	"	dec %ecx\n"
	"	jnz 2b\n"
	"	mov $5, %ecx\n"
	"	cmp %ecx, %ecx\n"
	"3:	loope 3b\n"
	"	mov $6, %ecx\n"
	"	test %esp, %esp\n"
	"4:	loopne 4b\n"
	"	test %esp, %esp\n"
	"5:	jz 5b\n"
	"	mov $3, %ecx\n"
	"6:	jrcxz 6b\n"
	"	mov $11, %ecx\n"
	"7:	jmp 8f\n"
	"8:	loop 7b\n"
	"	ret\n");

/* Immediates that are code, and two branches that lead into themselves. */
__asm__(".p2align 4\n"
	"corner_overlap:\n"
	"	xor %eax, %eax\n"
	"	test $1, %dil\n"
	"	jnz 1f + 1\n"
	"1:	.byte 0xb8, 0x90, 0x31, 0xc0, 0x90\n" /* mov; inside: nop, xor %eax, %eax, nop */
	"	add %rdi, %rax\n"
	"	test $1, %sil\n"
	"	mov $0, %ecx\n"
	"	jmp 2f + 1\n"
	"2:	.byte 0xb9, 0x74, 0x02, 0xff, 0xc1\n" /* mov; inside: jz over inc %ecx */
	"	add %rcx, %rax\n"
	"	test $2, %dil\n"
	"	jnz 8f\n"
	"	or $2, %edi\n"
	"	jmp 2b\n"
	"8:\n"
	"	.byte 0xeb, 0xff, 0xc0\n" /* jmp into itself: inc %eax */
	"	test $1, %sil\n"
	"	.byte 0x74, 0xff, 0xc0, 0xf8, 0x90\n" /* jz to inc %eax, clc, nop; or sar $16, %al
						       */
	"	test $4, %dil\n"
	"	jnz 3f\n"
	"	or $4, %edi\n"
	"	jmp 1b + 2\n"
	"3:	ret\n");

/* Branches whose two successors are one. */
__asm__(".p2align 4\n"
	"corner_next:\n"
	"	mov %rdi, %rcx\n"
	"	mov %rdi, %rax\n"
	"	jrcxz 1f\n"
	"1:	test %rcx, %rcx\n"
	"	jz 2f\n"
	"2:	jnz 3f\n"
	"3:	js 4f\n"
	"4:	inc %rcx\n"
	"	loop 5f\n"
	"5:	jmp 6f\n"
	"6:	jrcxz 7f\n"
	"	add $3, %rax\n"
	"7:	ret\n");

__asm__(".p2align 4\n"
	"corner_strings:\n"
	"	push %rdi\n"
	"	mov %rdi, %r8\n"
	"	mov %r8, %rcx\n"
	"	lea corner_from(%rip), %rsi\n"
	"	lea corner_to(%rip), %rdi\n"
	"	rep movsb\n"
	"	mov %r8, %rcx\n"
	"	jrcxz 1f\n"
	"1:	rep stosq\n" /* the target of a branch */
	"	mov %r8, %rcx\n"
	"	lea corner_to(%rip), %rdi\n"
	"	mov $1, %al\n"
	"	repne scasb\n"
	"	jne 2f\n"
	"	inc %r8\n"
	"2:	mov %r8, %rcx\n"
	"	lea corner_from(%rip), %rsi\n"
	"	lea corner_to(%rip), %rdi\n"
	"	repe cmpsb\n"
	"	mov %rcx, %rax\n"
	"	pop %rdi\n"
	"	ret\n");

__asm__(".p2align 4\n"
	"corner_indirect:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	push %r12\n"
	"	push %r13\n"
	"	mov %rdi, %rax\n"
	"	lea 1f(%rip), %r11\n"
	"	jmp *%r11\n"
	"	ud2\n"
	"1:	jmp *corner_slots(%rip)\n"
	"	ud2\n"
	"corner_by_memory:\n"
	"	inc %rax\n"
	"	mov %rdi, %rcx\n"
	"	and $3, %ecx\n"
	"	lea corner_slots(%rip), %rdx\n"
	"	jmp *8(%rdx, %rcx, 8)\n"
	"	ud2\n"
	"corner_case_0:\n"
	"	add $2, %rax\n"
	"corner_case_1:\n"
	"	add $4, %rax\n"
	"	jmp 2f\n"
	"corner_case_2:\n"
	"	sub $7, %rax\n"
	"corner_case_3:\n"
	"2:	jmp *%fs:corner_thread_target@tpoff\n"
	"	ud2\n"
	"corner_by_thread:\n"
	"	lea corner_leaf(%rip), %r12\n"
	"	push %r12\n"
	"	call *(%rsp)\n"
	"	pop %rbx\n"
	"	call *%rbx\n"
	"	lea corner_slots(%rip), %r13\n"
	"	mov $-5, %r9\n"
	"	call *80(%r13, %r9, 8)\n"
	"	mov $corner_thread_target@tpoff, %rbx\n"
	"	push %rbx\n"
	"	lea 3f(%rip), %rbp\n"
	"	mov %rbp, %fs:(%rbx)\n"
	"	jmp *%fs:(%rbx)\n"
	"	ud2\n"
	"3:	pop %rbx\n"
	"	lea corner_by_thread(%rip), %rbp\n"
	"	mov %rbp, %fs:(%rbx)\n"
	"	notrack jmp *corner_slots + 48(%rip)\n"
	"	ud2\n"
	"corner_last:\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	"corner_leaf:\n"
	"	add $5, %rax\n"
	"	test $1, %al\n"
	"	jz 4f\n"
	"	rep ret\n"
	"4:	ret\n"
	".section .data.rel.ro.corners, \"aw\"\n"
	".balign 8\n"
	"corner_slots:\n"
	"	.quad corner_by_memory, corner_case_0, corner_case_1, corner_case_2, "
	"corner_case_3\n"
	"	.quad corner_leaf, corner_last\n"
	".text\n");

/* Returns that pop their arguments, returns that were not called, and tail calls. */
__asm__(".p2align 4\n"
	"corner_pops:\n"
	"	push %rdi\n"
	"	push $3\n"
	"	call 1f\n"
	"	lea 2f(%rip), %rdx\n"
	"	push %rdx\n"
	"	ret\n"
	"1:	mov 8(%rsp), %rax\n"
	"	add 16(%rsp), %rax\n"
	"	ret $16\n"
	"2:	test $1, %dil\n"
	"	jnz 3f\n"
	"	mov %rax, %rdi\n"
	"	and $7, %edi\n"
	"	jmp corner_deep\n"
	"3:	jmp corner_next\n");

__asm__(".p2align 4\n"
	"corner_deep:\n"
	"	mov %rdi, %rax\n"
	"1:	test %rdi, %rdi\n"
	"	jz 2f\n"
	"	push %rdi\n"
	"	dec %rdi\n"
	"	call 1b\n"
	"	pop %rdi\n"
	"	add %rdi, %rax\n"
	"2:	ret\n");

/* A branch and other instructions that cross a page; a way ends at the first byte of one. */
__asm__(".balign 4096\n"
	".skip 4096 - 17, 0x90\n"
	"corner_page:\n"
	"	mov %rdi, %rax\n"
	"	movabs $0x123456789, %rcx\n"
	"	test $1, %al\n"
	"	.byte 0x0f, 0x85\n" /* jnz across */
	"	.long 1f - . - 4\n"
	"	add %rcx, %rax\n"
	"1:	jmp 2f\n"
	".balign 4096\n"
	".skip 4096 - 6, 0x90\n"
	"2:	test $2, %al\n"
	"	jz 3f\n"
	"	inc %rax\n"
	"3:	movabs $0x1000, %rdx\n"
	"	add %rdx, %rax\n"
	"	jmp 4f\n"
	".balign 4096\n"
	".skip 4096 - 4, 0x90\n"
	"4:	shl $1, %rax\n" /* to the last byte but one */
	"	nop\n"
	"	test $4, %al\n"
	"	jnz 5f\n"
	"	inc %rax\n"
	"5:	ret\n");

static uint64_t iterate(void)
{
	static const uint64_t counts[] = {0, 1, 5, 300};
	uint64_t sum = 0;

	corner_thread_target = corner_by_thread;
	for (uint64_t i = 0; i < 8; i++) {
		sum = sum * 31 + corner_self_loops();
		sum = sum * 31 + corner_overlap(i & 3, i >> 2);
		sum = sum * 31 + corner_next(i & 3);
		sum = sum * 31 + corner_indirect(i);
		sum = sum * 31 + corner_pops(i);
		sum = sum * 31 + corner_page(i);
	}
	for (uint64_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		for (uint64_t j = 0; j < sizeof(corner_to); j++)
			corner_to[j] = (char)(j < 40 ? 0 : j == 200);
		sum = sum * 31 + corner_strings(counts[i]);
	}
	return sum * 31 + corner_deep(150);
}

int main(int argc, char **argv)
{
	long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 2;
	uint64_t first = 0;

	for (long i = 0; i < iterations; i++) {
		uint64_t sum = iterate();

		if (i && sum != first) {
			printf("iteration %ld differs\n", i);
			return 1;
		}
		first = sum;
	}
	printf("flow_corners %016llx\n", (unsigned long long)first);
	return 0;
}
