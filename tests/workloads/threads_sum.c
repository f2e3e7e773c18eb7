// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that share work through a mutex and a condition variable; the sum does not depend on
 * their order.
 *
 *     threads_sum [ITEMS [THREADS]]
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREAD_MAX 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t room = PTHREAD_COND_INITIALIZER;
static long next_item, item_cnt;
static uint64_t total; /* guarded by lock */

static uint64_t cost_of(long item)
{
	uint64_t x = (uint64_t)item + 1;
	uint64_t steps = 0;

	for (; x != 1; steps++)
		x = x & 1 ? 3 * x + 1 : x / 2;
	return steps;
}

static void *run(void *argument)
{
	for (;;) {
		uint64_t sum = 0;
		long from;

		pthread_mutex_lock(&lock);
		from = next_item;
		next_item += 100;
		pthread_cond_broadcast(&room);
		pthread_mutex_unlock(&lock);
		if (from >= item_cnt)
			return NULL;
		for (long i = from; i < from + 100 && i < item_cnt; i++)
			sum += cost_of(i);
		pthread_mutex_lock(&lock);
		total += sum;
		pthread_mutex_unlock(&lock);
	}
}

int main(int argc, char **argv)
{
	int thread_cnt = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 4;
	pthread_t threads[THREAD_MAX];

	item_cnt = argc > 1 ? strtol(argv[1], NULL, 10) : 400000;
	if (thread_cnt < 1 || thread_cnt > THREAD_MAX)
		return 2;
	for (int i = 0; i < thread_cnt; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 2;
	pthread_mutex_lock(&lock);
	while (next_item < item_cnt)
		pthread_cond_wait(&room, &lock);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < thread_cnt; i++)
		pthread_join(threads[i], NULL);
	printf("threads_sum %llu\n", (unsigned long long)total);
	return 0;
}
