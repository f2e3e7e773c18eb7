// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One program in two builds: with -DSECOND a function is added in front, so that everything lies
 * elsewhere, and one is changed. It does its work in a mix that a file tells, read each round:
 * "one" or "other". Usage: two_builds MODE-FILE; ends when the file is gone.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 512
#define KEEP  __attribute__((noinline, noclone))

static uint32_t words[WORDS], sorted[WORDS];
static uint32_t seed = 1;

#ifdef SECOND
KEEP static uint32_t in_front(uint32_t x)
{
	uint32_t sum = 0;

	while (x > 3) {
		sum += x * x;
		x = x & 1 ? x - 3 : x / 2;
	}
	return sum;
}
#endif

KEEP static uint32_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

KEEP static void fill(void)
{
	for (int i = 0; i < WORDS; i++)
		words[i] = draw() & 1 ? draw() >> 8 : draw() >> 20;
}

KEEP static void sift(uint32_t *heap, int at, int cnt)
{
	for (;;) {
		int child = 2 * at + 1;

		if (child >= cnt)
			return;
		if (child + 1 < cnt && heap[child + 1] > heap[child])
			child++;
		if (heap[at] >= heap[child])
			return;
		uint32_t kept = heap[at];
		heap[at] = heap[child];
		heap[child] = kept;
		at = child;
	}
}

KEEP static void sort(void)
{
	memcpy(sorted, words, sizeof(words));
	for (int i = WORDS / 2; i-- > 0;)
		sift(sorted, i, WORDS);
	for (int i = WORDS; i-- > 1;) {
		uint32_t most = sorted[0];

		sorted[0] = sorted[i];
		sorted[i] = most;
		sift(sorted, 0, i);
	}
}

KEEP static uint32_t search(void)
{
	uint32_t found = 0;

	for (int i = 0; i < WORDS; i++) {
		int low = 0, high = WORDS;

		while (low < high) {
			int middle = (low + high) / 2;

			if (sorted[middle] < words[i] / 3)
				low = middle + 1;
			else
				high = middle;
		}
		found += low;
	}
	return found;
}

/* The function that differs in the second build. */
KEEP static uint32_t check(void)
{
	uint32_t sum = 0;

	for (int i = 0; i < WORDS; i++) {
		for (uint32_t x = words[i]; x; x >>= 3)
			sum = x & 4 ? sum * 31 + x : sum ^ x;
#ifdef SECOND
		if (sum % 3 == 1)
			sum += in_front(sum & 255);
#endif
	}
	return sum;
}

KEEP static uint32_t divide(void)
{
	uint32_t steps = 0;

	for (int i = 1; i < WORDS; i++) {
		uint32_t a = words[i], b = words[i - 1] | 1;

		while (b) {
			uint32_t rest = a % b;

			a = b;
			b = rest;
			steps++;
		}
	}
	return steps;
}

static int read_mode(const char *file)
{
	char text[16] = "";
	FILE *in = fopen(file, "re");

	if (!in)
		return -1;
	if (!fgets(text, sizeof(text), in))
		text[0] = 0;
	fclose(in);
	return strncmp(text, "other", 5) == 0;
}

int main(int argc, char **argv)
{
	uint32_t sum = 0;
	int mode;

	if (argc != 2)
		return 2;
	while ((mode = read_mode(argv[1])) >= 0)
		for (int i = 0; i < 200; i++) {
			fill();
			sort();
			sum += search() + check();
			if (mode)
				for (int k = 0; k < 4; k++)
					sum += divide();
		}
	printf("%u\n", sum);
	return 0;
}
