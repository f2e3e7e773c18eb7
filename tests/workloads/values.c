// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parameters of known values: calls `pushed` and `stepped` ITERATIONS times each and prints what
 * their parameters were, in order of parameter, then count.
 *
 *     values ITERATIONS [fork|threads]
 *
 * A line `FUNCTION PARAMETER same COUNT`: executions with the value of the one before, as one
 * thread makes them; a line `FUNCTION PARAMETER VALUE COUNT` for each of the values that came most
 * often. fork: the calls are a child's, five seconds after it began; threads: two threads call
 * half as often each.
 *
 * pushed begins with a push, which a kernel emulates when it is probed; stepped with none.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE  __attribute__((noinline, noclone))
#define VALUE_CNT 6
#define SHOWN     4

static const uint64_t often[VALUE_CNT] = {0x1000, 42, 7, UINT64_MAX, 0xdeadbeefcafe, 1};
static const unsigned int percent[VALUE_CNT] = {50, 20, 10, 5, 4, 1}; /* the rest: anything */

struct seen {
	uint64_t count[VALUE_CNT], same, last, executions;
};
struct work {
	uint64_t iterations, random;
	struct seen first, second;
};

static volatile uint64_t sink;

static NOINLINE uint64_t pushed(uint64_t first, uint64_t second)
{
	__asm__ volatile("xor %%ebx, %%ebx" ::: "rbx");
	return first ^ second;
}

static NOINLINE uint64_t stepped(uint64_t first, uint64_t second)
{
	return first * 3 + second;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t draw(uint64_t *state)
{
	uint64_t random = next_random(state), at = random % 100;

	for (unsigned int i = 0; i < VALUE_CNT; i++) {
		if (at < percent[i])
			return often[i];
		at -= percent[i];
	}
	return random | UINT64_C(1) << 63;
}

static void see(struct seen *seen, uint64_t value)
{
	for (unsigned int i = 0; i < VALUE_CNT; i++)
		seen->count[i] += value == often[i];
	seen->same += seen->executions++ && value == seen->last;
	seen->last = value;
}

static void *run(void *context)
{
	struct work *w = context;

	for (uint64_t i = 0; i < w->iterations; i++) {
		uint64_t first = draw(&w->random), second = often[i / 100 % 2];

		sink = pushed(first, second);
		sink = stepped(first, second);
		see(&w->first, first);
		see(&w->second, second);
	}
	return NULL;
}

static void show(const char *function, int parameter, const struct seen *seen)
{
	printf("%s %d same %" PRIu64 "\n", function, parameter, seen->same);
	for (unsigned int i = 0; i < SHOWN; i++)
		if (seen->count[i])
			printf("%s %d 0x%" PRIx64 " %" PRIu64 "\n", function, parameter, often[i],
			       seen->count[i]);
}

static void add(struct seen *to, const struct seen *from)
{
	for (unsigned int i = 0; i < VALUE_CNT; i++)
		to->count[i] += from->count[i];
	to->same += from->same;
}

static void run_threads(struct work *w)
{
	struct work other = {.iterations = w->iterations / 2, .random = 99};
	pthread_t thread;

	w->iterations -= other.iterations;
	if (pthread_create(&thread, NULL, run, &other))
		exit(1);
	run(w);
	pthread_join(thread, NULL);
	add(&w->first, &other.first);
	add(&w->second, &other.second);
}

static void all(struct work *w, const char *how)
{
	if (!strcmp(how, "threads"))
		run_threads(w);
	else
		run(w);
	show("pushed", 1, &w->first);
	show("pushed", 2, &w->second);
	show("stepped", 1, &w->first);
	show("stepped", 2, &w->second);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct work w = {.random = 20251};
	const char *how = argc > 2 ? argv[2] : "";
	int status = 0;
	pid_t child;

	if (argc < 2)
		return 2;
	w.iterations = strtoull(argv[1], NULL, 10);
	if (strcmp(how, "fork") != 0) {
		all(&w, how);
		return 0;
	}
	child = fork();
	if (child == 0) {
		sleep(5);
		all(&w, "");
		_exit(0);
	}
	return child < 0 || waitpid(child, &status, 0) != child || status ? 1 : 0;
}
