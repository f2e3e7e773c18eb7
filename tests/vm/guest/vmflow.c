// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flow_loops, a tenth as long: single-stepping costs a fifth of a millisecond a step where the
 * machine is emulated, and every place of the program is visited all the same.
 *
 *     vmflow ITERATIONS          (seven digits and more, see flow_loops.c)
 */
#define main flow_loops_main
int flow_loops_main(int argc, char **argv);
#include "../../workloads/flow_loops.c"
#undef main

static uint64_t iterate_small(void)
{
	uint64_t sum = 0;

	random_state = 88172645463325252ull;
	sum = sum * 31 + nested(5);
	sum = sum * 31 + fibonacci(7);
	sum = sum * 31 + by_pointer(40);
	for (unsigned int i = 0; i < 30; i++)
		sum = sum * 31 + by_switch((unsigned int)(next_random() % 9));
	for (unsigned int i = 0; i < 3; i++) {
		sum = sum * 31 + jump_out();
		sum = sum * 31 + count_down();
		sum = sum * 31 + flags_on_stack();
		sum = sum * 31 + odd_transfers();
	}
	return sum * 31 + strings();
}

int main(int argc, char **argv)
{
	long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 2;
	uint64_t first = 0;

	for (long i = 0; i < iterations; i++) {
		uint64_t sum = iterate_small();

		if (i && sum != first) {
			printf("iteration %ld differs\n", i);
			return 1;
		}
		first = sum;
	}
	printf("vmflow %016llx\n", (unsigned long long)first);
	return 0;
}
