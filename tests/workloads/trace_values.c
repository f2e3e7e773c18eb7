// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every way in which instructions read memory that compilers rarely write: each width, with and
 * without sign, vectors, the x87's ten bytes, string instructions with all prefixes, bit strings,
 * the stack's own, reads that write back, locked ones, and two pages at once. With an argument a
 * thread has come and gone before. Exit status 0 when the sum is the one there is.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static _Alignas(4096) uint8_t bytes[3 * 4096];
static _Alignas(16) uint64_t words[64];
static _Thread_local uint64_t own;
static uint64_t sum;

static void *run(void *argument)
{
	for (uint64_t i = 0; i < 50; i++)
		own += bytes[i];
	sum += own;
	return argument;
}

static NOINLINE void widths(uint64_t i)
{
	uint64_t at = 4096 - 12 + i % 12;
	uint64_t wide, half;
	uint32_t word;

	memcpy(&wide, bytes + at, sizeof(wide));
	memcpy(&word, bytes + at + 3, sizeof(word));
	__asm__ volatile("movswq %1, %0" : "=r"(half) : "m"(bytes[at + 1]));
	sum += wide + word + half + bytes[i] + (uint64_t)(int8_t)bytes[i + 1];
	own += wide;
	__asm__ volatile("testb $7, %1\n"
			 "cmovne %1, %0"
			 : "+r"(sum)
			 : "m"(words[i % 8])
			 : "cc");
}

static NOINLINE void vectors(uint64_t i)
{
	uint64_t low;

	__asm__ volatile("movdqu %1, %%xmm0\n"
			 "paddq %2, %%xmm0\n"
			 "movhps %3, %%xmm0\n"
			 "movss %3, %%xmm1\n"
			 "cvtsi2sdl %3, %%xmm1\n"
			 "pxor %%xmm1, %%xmm0\n"
			 "movq %%xmm0, %0\n"
			 "fldt %1\n"
			 "fildl %3\n"
			 "fadds %4\n"
			 "fistpll %4\n"
			 "fstp %%st(0)"
			 : "=&r"(low)
			 : "m"(bytes[i % 64]), "m"(words[i % 8 * 2]), "m"(words[i % 8 + 1]),
			   "m"(words[40])
			 : "xmm0", "xmm1", "memory");
	sum += low;
}

static NOINLINE void strings(uint64_t i)
{
	const uint8_t *from = bytes + i;
	uint8_t *to = bytes + 8192 + i;
	uint64_t cnt = i % 20;
	uint64_t last = 0;

	__asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(cnt)::"memory");
	cnt = i % 5;
	__asm__ volatile("rep stosq" : "+D"(to), "+c"(cnt) : "a"(i) : "memory");
	from = bytes + i;
	to = bytes + 8192 + i;
	cnt = 30;
	__asm__ volatile("repe cmpsb" : "+S"(from), "+D"(to), "+c"(cnt)::"memory", "cc");
	sum += cnt;
	cnt = 30;
	__asm__ volatile("repne scasb" : "+D"(to), "+c"(cnt) : "a"(7) : "memory", "cc");
	sum += cnt;
	__asm__ volatile("lodsq\n"
			 "movsw"
			 : "+a"(last), "+S"(from), "+D"(to)::"memory");
	sum += last;
}

static NOINLINE void stack(uint64_t i)
{
	const uint64_t *place = &words[i % 8];
	uint8_t found = (uint8_t)i;

	__asm__ volatile("sub $128, %%rsp\n"
			 "pushq %2\n"
			 "popq 8(%%rsp)\n"
			 "mov 8(%%rsp), %%rcx\n"
			 "add %%rcx, %0\n"
			 "pushfq\n"
			 "popfq\n"
			 "push %%rbp\n"
			 "mov %%rsp, %%rbp\n"
			 "leave\n"
			 "add $128, %%rsp\n"
			 "xlatb"
			 : "+r"(sum), "+a"(found)
			 : "m"(*place), "b"(bytes)
			 : "rcx", "memory", "cc");
	sum += found;
}

static NOINLINE void in_place(uint64_t i)
{
	uint64_t bit = i * 7 % 500;
	uint64_t taken = i;
	uint64_t old = words[3], low = i, high = i;

	__asm__ volatile("addq %2, %0\n"
			 "btc %2, %1\n"
			 "bt %2, %1\n"
			 "adcq $0, %0\n"
			 "negb %0\n"
			 "cmpxchg %2, %0\n"
			 "xchg %2, %0\n"
			 : "+m"(words[3]), "+m"(*words), "+r"(bit), "+a"(old)::"cc", "memory");
	__asm__ volatile("lock xadd %1, %0\n"
			 "lock incl %0\n"
			 "lock cmpxchg16b %2"
			 : "+m"(words[5]), "+r"(taken), "+m"(words[6]), "+a"(low), "+d"(high)
			 : "b"(i), "c"(i)
			 : "cc", "memory");
	sum += taken + bit;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (uint64_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i >> 3);
	if (argc > 1 && (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL)))
		return 2;
	for (uint64_t i = 0; i < 40; i++) {
		widths(i);
		vectors(i);
		strings(i);
		stack(i);
		in_place(i);
	}
	return sum == 0;
}
