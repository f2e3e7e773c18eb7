// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Computed gotos, which no comparison bounds: labels in a constant table, as differences, by way of
 * a map of bytes, and a jump copied behind every operation as an interpreter does. Every label
 * runs. Prints a checksum that depends on nothing.
 */
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

static NOINLINE void put(uint64_t value)
{
	sink = sink * 31 + value;
}

static NOINLINE uint64_t threaded(const uint8_t *code)
{
	static const void *const labels[] = {&&stop, &&push, &&add, &&loop, &&twice, &&show};
	uint64_t a = 0, left = 12;

#define NEXT goto *labels[*code++]
	NEXT;
push:
	a += *code++;
	NEXT;
add:
	a += 7;
	NEXT;
loop:
	if (--left)
		code -= *code;
	else
		code++;
	NEXT;
twice:
	a *= 2;
	NEXT;
show:
	put(a);
	NEXT;
stop:
	return a;
}

/* Needs no relocation. */
static NOINLINE uint64_t differences(unsigned int n)
{
	static const int32_t labels[] = {&&zero - &&zero, &&one - &&zero, &&two - &&zero,
					 &&three - &&zero};

	goto *(&&zero + labels[n & 3]);
zero:
	put(10);
	return 1;
one:
	put(20);
	put(21);
	return 2;
two:
	put(30);
	/* fall through */
three:
	put(40);
	return 4;
}

/* Like the C library's printf: a byte selects the label, and nothing bounds that byte. */
static NOINLINE uint64_t mapped(char c)
{
	static const uint8_t map[] = {0, 3, 1, 0, 2, 2, 4, 1, 0, 3};
	static const int32_t labels[] = {&&none - &&none, &&digit - &&none, &&letter - &&none,
					 &&sign - &&none, &&point - &&none};

	if (c < 'a' || c > 'j')
		return 0;
	goto *(&&none + labels[map[c - 'a']]);
none:
	put(50);
	return 1;
digit:
	put(51);
	return 2;
letter:
	put(52);
	put(53);
	/* fall through */
sign:
	put(54);
	return 3;
point:
	put(55);
	return 4;
}

int main(void)
{
	static const uint8_t code[] = {1, 3, 2, 4, 5, 3, 4, 5, 0};

	put(threaded(code));
	for (unsigned int i = 0; i < 12; i++) {
		put(differences(i));
		put(mapped((char)('a' + i)));
	}
	printf("%llx\n", (unsigned long long)sink);
	return 0;
}
