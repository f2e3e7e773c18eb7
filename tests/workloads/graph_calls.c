// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How functions end and begin: tail calls, direct and by pointer, functions that never return or
 * return sometimes, cold parts, setjmp, longjmp, cleanups, resolvers, recursion, a stack of
 * variable size, a function called by nobody that a table knows. Prints a checksum that depends on
 * nothing.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define COLD     __attribute__((cold, noinline))

static volatile uint64_t sink;
static jmp_buf escape;

static NOINLINE void put(uint64_t value)
{
	sink = sink * 31 + value;
}

/* ---------------------------------------------------------------- tail calls */

static NOINLINE uint64_t is_odd(unsigned int n);

static NOINLINE uint64_t is_even(unsigned int n)
{
	if (n == 0)
		return 1;
	put(n);
	return is_odd(n - 1);
}

static NOINLINE uint64_t is_odd(unsigned int n)
{
	return n ? is_even(n - 1) : 0;
}

static NOINLINE uint64_t first(uint64_t n)
{
	return n + 1;
}

static NOINLINE uint64_t second(uint64_t n)
{
	put(n);
	return n + 2;
}

static uint64_t (*volatile chosen)(uint64_t) = first;

static NOINLINE uint64_t tail_by_pointer(uint64_t n)
{
	if (n & 1)
		chosen = second;
	else
		chosen = first;
	return chosen(n);
}

/* A conditional branch may be the tail call. */
static NOINLINE void tail_if(uint64_t n)
{
	if (n > 3)
		put(n);
}

struct shape {
	uint64_t (*area)(const struct shape *);
	uint64_t side;
};

static NOINLINE uint64_t area_of(const struct shape *shape)
{
	return shape->area(shape);
}

static uint64_t square(const struct shape *shape)
{
	return shape->side * shape->side;
}

static uint64_t line(const struct shape *shape)
{
	return shape->side;
}

/* ---------------------------------------------------------------- who does not return */

static NOINLINE __attribute__((noreturn)) void leap(int value)
{
	put((uint64_t)value);
	longjmp(escape, value);
}

/* Not marked, never returns all the same. */
static NOINLINE void leap_quietly(int value)
{
	put(1);
	leap(value + 1);
}

static NOINLINE void leap_if(int value)
{
	if (value > 2)
		leap_quietly(value);
	put(2);
}

static NOINLINE __attribute__((noreturn)) COLD void die(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(3);
}

static NOINLINE uint64_t checked(uint64_t n)
{
	if (__builtin_expect(n > 1000000, 0))
		die("too large");
	return n / 2;
}

static NOINLINE uint64_t leaps(int value)
{
	volatile uint64_t before = 4;
	int came;

	came = setjmp(escape);
	if (came == 0) {
		before++;
		leap_if(value);
		return before;
	}
	put((uint64_t)came);
	return before + (uint64_t)came;
}

static NOINLINE uint64_t leaps_in_a_loop(void)
{
	volatile int i = 0;
	volatile uint64_t sum = 0;

	while (i < 4) {
		i++;
		if (setjmp(escape)) {
			put(9);
			continue;
		}
		sum += leaps((int)sum & 1);
		if (setjmp(escape) == 0)
			leap(i);
		put(10);
	}
	return sum;
}

/* ---------------------------------------------------------------- cold parts */

static COLD void complain(uint64_t n)
{
	put(n ^ 0xdead);
	put(n);
}

static NOINLINE uint64_t rarely(uint64_t n)
{
	uint64_t sum = n;

	for (uint64_t i = 0; i < 8; i++) {
		sum += i;
		if (__builtin_expect(sum % 37 == 5, 0)) {
			complain(sum);
			if (sum & 1)
				complain(sum + 1);
			else
				sum += 3;
		}
	}
	if (__builtin_expect(sum > 200, 0)) {
		complain(1);
		return 0;
	}
	return sum;
}

/* ---------------------------------------------------------------- the rest */

static void release(uint64_t **held)
{
	put(**held);
	free(*held);
}

static NOINLINE uint64_t cleaned(uint64_t n)
{
	__attribute__((cleanup(release))) uint64_t *held = malloc(sizeof(*held));

	if (!held)
		abort();
	*held = n;
	if (n % 3 == 0)
		return 1;
	put(n);
	return *held * 2;
}

static uint64_t add_seven(uint64_t n)
{
	return n + 7;
}

static __attribute__((used)) uint64_t (*resolve_added(void))(uint64_t)
{
	return add_seven;
}

uint64_t added(uint64_t n) __attribute__((ifunc("resolve_added")));

static NOINLINE uint64_t sum_of(int cnt, ...)
{
	uint64_t sum = 0;
	va_list list;

	va_start(list, cnt);
	for (int i = 0; i < cnt; i++)
		sum += va_arg(list, uint64_t);
	va_end(list);
	return sum;
}

static NOINLINE uint64_t on_the_stack(size_t n)
{
	uint64_t *room = __builtin_alloca(n * sizeof(*room));

	memset(room, 1, n * sizeof(*room));
	put(room[n - 1]);
	return room[0];
}

static NOINLINE uint64_t depth(uint64_t n)
{
	return n < 2 ? n : depth(n - 1) + depth(n - 2);
}

static void handle(int number)
{
	put((uint64_t)number);
}

static int by_size(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static NOINLINE void sorted(void)
{
	uint32_t numbers[40];

	for (uint32_t i = 0; i < 40; i++)
		numbers[i] = i * 2654435761u;
	qsort(numbers, 40, sizeof(numbers[0]), by_size);
	put(numbers[7]);
}

int main(void)
{
	static const struct shape shapes[] = {{square, 4}, {line, 7}};

	for (unsigned int i = 0; i < 12; i++) {
		put(is_even(i));
		put(tail_by_pointer(i));
		tail_if(i);
		put(area_of(&shapes[i & 1]));
		put(leaps((int)i % 5));
		put(checked(i * 100));
		put(rarely(i * 5));
		put(cleaned(i));
		put(added(i));
		put(sum_of(3, (uint64_t)i, (uint64_t)2, (uint64_t)3));
		put(on_the_stack(i + 1));
	}
	put(leaps_in_a_loop());
	put(depth(9));
	sorted();
	signal(SIGUSR1, handle);
	raise(SIGUSR1);
	printf("%llx\n", (unsigned long long)sink);
	if (sink == 1)
		checked(sink << 30);
	exit(0);
}
