// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Switches of every shape a compiler makes tables of, or does not: dense, sparse, nested, ranges,
 * of every width of index, in loops, as state machines, as tables of functions. Every case runs.
 * Prints a checksum that depends on nothing.
 */
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
#define ROUNDS   40

static volatile uint64_t sink;

static NOINLINE void put(uint64_t value)
{
	sink = sink * 31 + value;
}

static NOINLINE void dense(int n)
{
	switch (n) {
	case 0:
		put(3);
		break;
	case 1:
		put(5);
		put(6);
		break;
	case 2:
		put(7);
		/* fall through */
	case 3:
		put(9);
		break;
	case 4:
		put(sink & 1);
		break;
	case 5:
		put(11);
		return;
	case 6:
	case 7:
	case 8:
		put(13);
		break;
	case 9:
		put(17);
		break;
	default:
		put(19);
	}
	put(2);
}

/* From far below zero, with holes. */
static NOINLINE void holes(long n)
{
	switch (n) {
	case -20:
		put(21);
		break;
	case -18:
		put(22);
		break;
	case -17:
		put(sink >> 3);
		break;
	case -13:
		put(24);
		break;
	case -11:
		put(25);
		put(26);
		break;
	case -10:
		put(27);
		break;
	case -6:
		put(28);
		break;
	case -5:
		put(29);
		break;
	}
}

/* Searched for, not looked up. */
static NOINLINE void sparse(uint32_t n)
{
	switch (n) {
	case 3:
		put(31);
		break;
	case 1000:
		put(32);
		break;
	case 40000:
		put(33);
		break;
	case 900001:
		put(34);
		break;
	case 900002:
		put(35);
		break;
	case 7777777:
		put(36);
		break;
	default:
		put(37);
	}
}

/* Clusters far apart: a search, then tables. */
static NOINLINE void clusters(uint32_t n)
{
	switch (n) {
	case 1:
		put(41);
		break;
	case 2:
		put(42);
		put(42);
		break;
	case 3:
		put(sink ^ 43);
		break;
	case 4:
		put(44);
		break;
	case 5:
		put(45);
		put(1);
		break;
	case 6:
		put(46);
		break;
	case 100001:
		put(51);
		break;
	case 100002:
		put(sink ^ 52);
		break;
	case 100003:
		put(53);
		put(2);
		break;
	case 100004:
		put(54);
		break;
	case 100005:
		put(sink + 55);
		break;
	case 100006:
		put(56);
		break;
	}
}

/* The index is a byte: no comparison is needed for all of it, a mask is enough for a part. */
static NOINLINE void masked(uint8_t n)
{
	switch (n & 7) {
	case 0:
		put(61);
		break;
	case 1:
		put(sink ^ 62);
		break;
	case 2:
		put(63);
		put(1);
		break;
	case 3:
		put(64);
		break;
	case 4:
		put(sink + 65);
		break;
	case 5:
		put(66);
		break;
	case 6:
		put(sink - 67);
		break;
	case 7:
		put(68);
		break;
	}
}

static NOINLINE void letters(char c)
{
	switch (c) {
	case 'a' ... 'f':
		put(71);
		break;
	case 'g':
		put(sink ^ 72);
		break;
	case 'h':
	case 'j':
	case 'l':
		put(73);
		put(1);
		break;
	case 'm' ... 'p':
		put(74);
		break;
	case 'q':
		put(sink + 75);
		break;
	case 'r':
		put(76);
		break;
	case 'z':
		put(sink - 77);
		break;
	default:
		put(78);
	}
}

static NOINLINE void inner(uint64_t a, uint64_t b)
{
	switch (a) {
	case 10:
		switch (b) {
		case 0:
			put(81);
			break;
		case 1:
			put(sink ^ 82);
			break;
		case 2:
			put(83);
			put(83);
			break;
		case 3:
			put(84);
			break;
		case 4:
			put(sink + 85);
			break;
		}
		put(80);
		break;
	case 11:
		put(91);
		break;
	case 12:
		switch (b) {
		case 4:
			put(92);
			break;
		case 3:
			put(sink ^ 93);
			break;
		case 2:
			put(94);
			return;
		case 1:
			put(95);
			put(1);
			break;
		default:
			put(sink + 96);
		}
		/* fall through */
	case 13:
		put(97);
		break;
	case 14:
		put(sink ^ 98);
		break;
	}
}

/* A table of numbers, no jump: what is read from it must not be taken for code. */
static NOINLINE uint32_t values(unsigned int n)
{
	switch (n) {
	case 0:
		return 0x401000;
	case 1:
		return 17;
	case 2:
		return 0x1149;
	case 3:
		return 4;
	case 4:
		return 99;
	case 5:
		return 0x401180;
	default:
		return 1;
	}
}

/* The bound is known by the caller's promise alone. */
static NOINLINE void promised(unsigned int n)
{
	if (n > 5)
		__builtin_unreachable();
	switch (n) {
	case 0:
		put(101);
		break;
	case 1:
		put(sink ^ 102);
		break;
	case 2:
		put(103);
		put(1);
		break;
	case 3:
		put(104);
		break;
	case 4:
		put(sink + 105);
		break;
	case 5:
		put(106);
		break;
	}
}

/*
 * More cases than a signed byte can count: the comparison's constant is one that must not be
 * extended by its sign.
 */
#define CASE(n)                                                                                    \
	case (n):                                                                                  \
		if (sink & (n))                                                                    \
			put((n)*3);                                                                \
		else                                                                               \
			put((n) ^ 0x55);                                                           \
		break;
#define CASES(n) CASE(n) CASE((n) + 1) CASE((n) + 2) CASE((n) + 3) CASE((n) + 4)
#define MANY(n)  CASES(n) CASES((n) + 5) CASES((n) + 10) CASES((n) + 15) CASES((n) + 20)

static NOINLINE void wide(uint8_t n)
{
	switch (n) {
		MANY(19)
		MANY(44)
		MANY(69)
		MANY(94)
		MANY(119)
		MANY(144)
	}
}

/* The index has a greatest value by promise alone, and what is compared bounds it from below. */
static NOINLINE uint64_t from_below(uint8_t n, uint64_t features)
{
	if (n >= 4 && n < 40)
		return 1;
	switch (n) {
	case 0:
	case 40:
		return features >> 3 & 7;
	case 1:
	case 43:
		put(features);
		return 2;
	case 2:
	case 41:
		return features * 5;
	case 3:
	case 42:
		put(3);
		return features + 1;
	case 44:
		put(features ^ n);
		return 4;
	default:
		__builtin_unreachable();
	}
}

/* All 256 values but for a promise. */
static NOINLINE void turned(uint8_t n)
{
	switch ((uint8_t)(n + 0x80)) {
	case 0:
		put(111);
		break;
	case 1:
		put(sink ^ 112);
		break;
	case 2:
		put(113);
		put(1);
		break;
	case 3:
		put(sink + 114);
		break;
	case 4:
		put(115);
		return;
	default:
		__builtin_unreachable();
	}
	put(n);
}

enum state { START, WORD, NUMBER, STRING, ESCAPE, COMMENT, END };

static NOINLINE enum state state_after(enum state state, unsigned char c)
{
	switch (state) {
	case START:
		if (c == '"')
			return STRING;
		if (c >= '0' && c <= '9')
			return NUMBER;
		return c == '#' ? COMMENT : c >= 'a' ? WORD : START;
	case WORD:
		put(c);
		return c >= 'a' ? WORD : START;
	case NUMBER:
		put(c - '0');
		return c >= '0' && c <= '9' ? NUMBER : START;
	case STRING:
		return c == '"' ? START : c == '\\' ? ESCAPE : STRING;
	case ESCAPE:
		put(c ^ 0x80u);
		return STRING;
	case COMMENT:
		return c == '\n' ? START : COMMENT;
	default:
		return END;
	}
}

static NOINLINE void machine(const char *text)
{
	enum state state = START;
	uint64_t seen[END + 1] = {0};

	for (; *text; text++) {
		state = state_after(state, (unsigned char)*text);
		seen[state]++;
	}
	for (int i = 0; i <= END; i++)
		put(seen[i]);
}

/* An interpreter: the switch in the loop, its table held in a register over the loop. */
static NOINLINE uint64_t interpret(const uint8_t *code)
{
	uint64_t stack[16] = {0}, a = 0, loops = 0;
	unsigned int top = 0;

	for (;;) {
		switch (*code++) {
		case 0:
			return a;
		case 1:
			stack[top++ & 15] = *code++;
			break;
		case 2:
			a += stack[--top & 15];
			break;
		case 3:
			a ^= stack[--top & 15] << 3;
			break;
		case 4:
			code += *code;
			break;
		case 5:
			if (++loops < 20)
				code -= *code;
			else
				code++;
			break;
		case 6:
			a = a * 3 + 1;
			break;
		case 7:
			dense((int)(a % 11));
			break;
		case 8:
			put(a);
			break;
		case 9:
			a >>= 1;
			break;
		default:
			put(1);
		}
	}
}

static void add_one(uint64_t n)
{
	put(n + 1);
}

static void twice(uint64_t n)
{
	put(n * 2);
}

static void square(uint64_t n)
{
	put(n * n);
}

static void (*const table[])(uint64_t) = {add_one, twice, square, twice};

/* Both a call and a jump through a table of functions. */
static NOINLINE void by_table(unsigned int n)
{
	if (n < 4)
		table[n](n);
	put(3);
	table[n & 3](n + 1);
}

int main(void)
{
	static const uint8_t code[] = {1, 7,  1, 9, 2, 3, 6, 7, 4,  2, 99, 8,
				       9, 10, 1, 5, 2, 6, 7, 5, 11, 3, 0};

	for (int i = 0; i < ROUNDS; i++) {
		dense(i % 12 - 1);
		holes(i - 30);
		sparse((uint32_t[]){3, 1000, 40000, 900001, 900002, 7777777, 5}[i % 7]);
		clusters((uint32_t)(i % 8 + (i & 16 ? 100000 : 0)));
		masked((uint8_t)(i * 5));
		letters((char)('a' + i % 27));
		inner(9 + (uint64_t)i % 7, (uint64_t)i / 7);
		put(values((unsigned int)i % 8));
		promised((unsigned int)i % 6);
		by_table((unsigned int)i % 6);
		put(from_below((uint8_t)(i % 9 < 4 ? i % 9 : 36 + i % 9), (uint64_t)i));
		turned((uint8_t)(0x80 + i % 5));
	}
	for (int i = 0; i < 256; i++)
		wide((uint8_t)i);
	machine("let x 12 = \"a \\\" b\" # all of it\n34 go \n");
	put(interpret(code));
	printf("%llx\n", (unsigned long long)sink);
	return 0;
}
