// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Known control flow through the C library: sorting with a callback, formatting, string functions,
 * the allocator. The same in every iteration; prints a checksum that depends on nothing.
 *
 *     flow_libc ITERATIONS       (ten digits up to 5, see flow_loops.c)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_CNT 200

static uint64_t random_state;

static uint64_t next_random(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return random_state >> 33;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a;
	int y = *(const int *)b;

	return x < y ? -1 : x > y;
}

static uint64_t sort(void)
{
	int values[VALUE_CNT];
	uint64_t sum = 0;

	for (int i = 0; i < VALUE_CNT; i++)
		values[i] = (int)(next_random() % 1000);
	qsort(values, VALUE_CNT, sizeof(values[0]), compare);
	for (int i = 0; i < VALUE_CNT; i++)
		sum = sum * 31 + (uint64_t)values[i];
	return sum;
}

static uint64_t format(void)
{
	char text[128];
	char copy[128];
	uint64_t sum = 0;

	for (int i = 0; i < 12; i++) {
		snprintf(text, sizeof(text), "%d-%s-%x-%5.2f", (int)(next_random() % 1000),
			 "branch", (unsigned int)next_random(), (double)(next_random() % 997) / 7);
		memcpy(copy, text, sizeof(copy));
		sum += strlen(text) + (uint64_t)(strcmp(text, copy) == 0);
		sum = sum * 31 + (uint64_t)(strchr(copy, '-') - copy);
		sum += strtoul(text, NULL, 10);
	}
	return sum;
}

static uint64_t allocate(void)
{
	char *blocks[24];
	uint64_t sum = 0;

	for (int i = 0; i < 24; i++) {
		size_t len_bytes = 1 + next_random() % 700;

		blocks[i] = malloc(len_bytes);
		if (!blocks[i])
			abort();
		memset(blocks[i], i, len_bytes);
		sum += (uint64_t)blocks[i][len_bytes / 2];
	}
	for (int i = 0; i < 24; i++)
		free(blocks[(i * 7) % 24]);
	return sum;
}

int main(int argc, char **argv)
{
	long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 2;
	uint64_t first = 0;

	for (long i = 0; i < iterations; i++) {
		uint64_t sum;

		random_state = 1;
		sum = sort();
		sum = sum * 31 + format();
		sum = sum * 31 + allocate();
		if (i && sum != first) {
			printf("iteration %ld differs\n", i);
			return 1;
		}
		first = sum;
	}
	printf("flow_libc %016llx\n", (unsigned long long)first);
	return 0;
}
