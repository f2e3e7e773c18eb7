// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads whose branches do not depend on how they are scheduled: each counts by itself, two waves
 * of them one after the other, and the main thread works while they do. Exit status 0 when the sum
 * is right.
 *
 * With an argument N: N threads in a row. Each ends when the next one has begun, so there are at
 * most three at a time.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>

#define WAVE_CNT   2
#define THREAD_CNT 4

struct job {
	uint64_t from, cnt, sum;
};

static uint64_t steps_to_one(uint64_t x)
{
	uint64_t steps = 0;

	for (; x > 1; steps++)
		x = x & 1 ? 3 * x + 1 : x / 2;
	return steps;
}

static void *run(void *argument)
{
	struct job *job = argument;

	for (uint64_t i = 0; i < job->cnt; i++)
		job->sum += steps_to_one(job->from + i);
	return NULL;
}

static uint64_t run_wave(uint64_t from)
{
	struct job jobs[THREAD_CNT + 1];
	pthread_t threads[THREAD_CNT];
	uint64_t sum = 0;

	for (unsigned int i = 0; i <= THREAD_CNT; i++) {
		jobs[i] = (struct job){.from = from + i * 30, .cnt = 20 + i};
		if (i < THREAD_CNT && pthread_create(&threads[i], NULL, run, &jobs[i]))
			exit(2);
	}
	run(&jobs[THREAD_CNT]);
	for (unsigned int i = 0; i < THREAD_CNT; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i <= THREAD_CNT; i++)
		sum += jobs[i].sum;
	return sum;
}

static void *wait_for_next(void *next)
{
	sem_wait(next);
	return NULL;
}

static int run_row(int cnt)
{
	pthread_t thread, last = 0;
	sem_t next[2];

	sem_init(&next[0], 0, 0);
	sem_init(&next[1], 0, 0);
	for (int i = 0; i < cnt; i++) {
		if (pthread_create(&thread, NULL, wait_for_next, &next[i & 1]))
			return 2;
		if (i) {
			sem_post(&next[~i & 1]);
			pthread_join(last, NULL);
		}
		last = thread;
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;
	uint64_t alone = 0;

	if (argc > 1)
		return run_row(atoi(argv[1]));
	for (uint64_t wave = 0; wave < WAVE_CNT; wave++)
		sum += run_wave(1 + wave * 1000);
	for (uint64_t wave = 0; wave < WAVE_CNT; wave++)
		for (uint64_t i = 0; i <= THREAD_CNT; i++)
			for (uint64_t k = 0; k < 20 + i; k++)
				alone += steps_to_one(1 + wave * 1000 + i * 30 + k);
	return sum != alone;
}
