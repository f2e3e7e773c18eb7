// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Known control flow through restartable sequences: a long one with branches inside, which a
 * stepper's stop aborts, and a short one, which it may pass. Every sequence that was aborted is
 * tried again, so the sums are right however often that was. Prints one that depends on nothing.
 *
 *     flow_rseq ITERATIONS       (ten digits up to 5, see flow_loops.c)
 *
 * A few iterations are for the truth: single steps would abort a sequence for ever, so the thread's
 * area is no longer registered then, and the program itself jumps to the abort handler now and
 * then. No branch depends on which of the two it is, so the bursts' start is in the truth as well.
 */
#include <linux/rseq.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/rseq.h>
#include <sys/syscall.h>

#define NOINLINE       __attribute__((noinline))
#define AREA_BYTES     32
#define FEW_ITERATIONS 100
#define CALL_CNT       8

/* The kernel jumps only to a place behind the signature that the area was registered with. */
#define ABORT_SIGNATURE ".byte 0x0f, 0xb9, 0x3d\n.long 0x53053053\n"
#define DESCRIPTOR                                                                                 \
	".pushsection .data.rel.ro.flow_rseq, \"aw\"\n"                                            \
	".balign 32\n"                                                                             \
	"3: .long 0, 0\n"                                                                          \
	".quad 1f, 2f - 1f, 4f\n"                                                                  \
	".popsection\n"

static struct rseq *area;
static volatile uint64_t aborts;
static volatile uint8_t pretend; /* an abort */

/* A loop and a choice before the commit. */
static NOINLINE void add_slowly(uint64_t *slot)
{
	__asm__ volatile(
		DESCRIPTOR "5: lea 3b(%%rip), %%rax\n"
			   "mov %%rax, %c[cs](%[area])\n"
			   "1: mov (%[slot]), %%rdx\n"
			   "mov $6, %%ecx\n"
			   "6: inc %%rdx\n"
			   "test $1, %%dl\n"
			   "jz 7f\n"
			   "add $2, %%rdx\n"
			   "7: dec %%ecx\n"
			   "jnz 6b\n"
			   "cmpb $0, %[pretend]\n"
			   "jne 4f\n"
			   "mov %%rdx, (%[slot])\n"
			   "2: movq $0, %c[cs](%[area])\n"
			   "jmp 9f\n" ABORT_SIGNATURE "4: incq %[aborts]\n"
			   "movb $0, %[pretend]\n"
			   "jmp 5b\n"
			   "9:\n"
		: [aborts] "+m"(aborts), [pretend] "+m"(pretend)
		: [area] "r"(area), [slot] "r"(slot), [cs] "i"(offsetof(struct rseq, rseq_cs))
		: "rax", "rcx", "rdx", "memory", "cc");
}

/* One choice; the descriptor is left named behind the commit, as the C library's users do. */
static NOINLINE void add_quickly(uint64_t *slot)
{
	__asm__ volatile(
		DESCRIPTOR "5: lea 3b(%%rip), %%rax\n"
			   "mov %%rax, %c[cs](%[area])\n"
			   "1: mov (%[slot]), %%rdx\n"
			   "test $1, %%dl\n"
			   "jz 6f\n"
			   "add $4, %%rdx\n"
			   "6: inc %%rdx\n"
			   "cmpb $0, %[pretend]\n"
			   "jne 4f\n"
			   "mov %%rdx, (%[slot])\n"
			   "2: jmp 9f\n" ABORT_SIGNATURE "4: incq %[aborts]\n"
			   "movb $0, %[pretend]\n"
			   "jmp 5b\n"
			   "9:\n"
		: [aborts] "+m"(aborts), [pretend] "+m"(pretend)
		: [area] "r"(area), [slot] "r"(slot), [cs] "i"(offsetof(struct rseq, rseq_cs))
		: "rax", "rdx", "memory", "cc");
}

static NOINLINE uint64_t mix(uint64_t x)
{
	for (int i = 0; i < 12; i++)
		x = x & 4 ? x * 5 + 1 : x + 3;
	return x;
}

/* Round by round another call is aborted. */
static NOINLINE uint64_t go_round(const uint8_t *pretends)
{
	uint64_t slow = 0, quick = 0, sum = 0;

	for (int i = 0; i < CALL_CNT; i++) {
		pretend = pretends[2 * i];
		add_slowly(&slow);
		sum = sum * 31 + mix(slow);
		pretend = pretends[2 * i + 1];
		add_quickly(&quick);
		sum = sum * 31 + mix(quick);
	}
	return sum;
}

static int run(long iterations, const uint8_t (*pretends)[2 * CALL_CNT])
{
	uint64_t first = 0;

	for (long i = 0; i < iterations; i++)
		for (int round = 0; round < 2 * CALL_CNT; round++) {
			uint64_t sum = go_round(pretends[round]);

			if ((i || round) && sum != first) {
				printf("iteration %ld differs\n", i);
				return 1;
			}
			first = sum;
		}
	printf("flow_rseq %016llx\n", (unsigned long long)first);
	return 0;
}

/* The C library's wrapper would branch on the result. */
static long call_rseq(int flags)
{
	register unsigned int signature __asm__("r10") = RSEQ_SIG;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_rseq), "D"(area), "S"(AREA_BYTES), "d"(flags), "r"(signature)
			 : "rcx", "r11", "memory");
	return result;
}

int main(int argc, char **argv)
{
	static uint8_t pretends[2 * CALL_CNT][2 * CALL_CNT];
	long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 2;
	int few;

	if (!__rseq_size) {
		printf("flow_rseq: the C library has registered no area\n");
		return 2;
	}
	area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	few = iterations < FEW_ITERATIONS;
	/* An area that is registered already is refused, and stays. */
	if ((call_rseq(few * RSEQ_FLAG_UNREGISTER) != 0) == few)
		return 2;
	for (int round = 0; round < 2 * CALL_CNT; round++)
		pretends[round][round] = (uint8_t)few;
	return run(iterations, pretends);
}
