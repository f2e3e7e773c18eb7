// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads whose branches do not depend on how they are scheduled: each counts by itself, two waves
 * of them one after the other, and the main thread works while they do. Exit status 0 when the sum
 * is right.
 */
#include <pthread.h>
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

int main(void)
{
	uint64_t sum = 0;
	uint64_t alone = 0;

	for (uint64_t wave = 0; wave < WAVE_CNT; wave++)
		sum += run_wave(1 + wave * 1000);
	for (uint64_t wave = 0; wave < WAVE_CNT; wave++)
		for (uint64_t i = 0; i <= THREAD_CNT; i++)
			for (uint64_t k = 0; k < 20 + i; k++)
				alone += steps_to_one(1 + wave * 1000 + i * 30 + k);
	return sum != alone;
}
