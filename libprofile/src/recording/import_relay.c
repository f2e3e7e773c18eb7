// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Blocks from the thread that reads to the one that counts: see pp_import_relay.h. Blocks are used
 * in turns: the reader fills number `filled_cnt`, the other empties number `emptied_cnt`; both
 * counts are the lock's.
 */
#include "pp_import_relay.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_CNT   4
#define BLOCK_BYTES (256u << 10) /* more than any record: 64 kB of perf.data, as it is decoded */

enum kind { KIND_MAPPING = 1, KIND_PROCESS, KIND_SAMPLE };

/* Stands before each record and says how many bytes there are with it: a multiple of 8. */
struct head {
	uint32_t kind, bytes;
};

struct block {
	uint64_t words[BLOCK_BYTES / 8];
	size_t used_bytes;
};

struct pp_import_relay {
	struct pathprof_recording_sink to;
	pthread_t thread;
	pthread_mutex_t reading; /* the recording's */
	pthread_mutex_t lock;    /* of what follows, but for the blocks' contents */
	pthread_cond_t was_filled, was_emptied;
	uint32_t filled_cnt, emptied_cnt;
	bool is_over; /* nothing more is filled */
	bool is_gone; /* the thread was waited for; the reader's */
	int result;   /* of the sink: the first failure */
	struct block blocks[BLOCK_CNT];
};

/* ---------------------------------------------------------------- out */

static int hand_on(const struct pathprof_recording_sink *to, const struct head *head)
{
	const char *text = (const char *)(head + 1);

	if (head->kind == KIND_SAMPLE) {
		struct pathprof_recorded_sample sample;

		memcpy(&sample, text, sizeof(sample));
		sample.branches = (const void *)(text + sizeof(sample));
		return to->sample(to->context, &sample);
	}
	if (head->kind == KIND_MAPPING) {
		struct pathprof_recorded_mapping mapping;

		memcpy(&mapping, text, sizeof(mapping));
		mapping.name = text + sizeof(mapping);
		return to->mapping(to->context, &mapping);
	}
	struct pathprof_recorded_process process;

	memcpy(&process, text, sizeof(process));
	if (process.comm)
		process.comm = text + sizeof(process);
	return to->process(to->context, &process);
}

static int empty(const struct pathprof_recording_sink *to, const struct block *block)
{
	int r = 0;

	for (size_t at = 0; at < block->used_bytes && r >= 0;) {
		const struct head *head = (const void *)&block->words[at / 8];

		r = hand_on(to, head);
		at += head->bytes;
	}
	return r;
}

/* After a failure blocks are taken as they come, so that the reader need not wait. */
static void *run(void *context)
{
	struct pp_import_relay *relay = context;
	int r = 0;

	pthread_mutex_lock(&relay->lock);
	for (;;) {
		while (!relay->is_over && relay->emptied_cnt == relay->filled_cnt)
			pthread_cond_wait(&relay->was_filled, &relay->lock);
		if (relay->emptied_cnt == relay->filled_cnt)
			break;
		pthread_mutex_unlock(&relay->lock);
		if (r >= 0)
			r = empty(&relay->to, &relay->blocks[relay->emptied_cnt % BLOCK_CNT]);
		pthread_mutex_lock(&relay->lock);
		relay->result = r < 0 ? r : 0;
		relay->emptied_cnt++;
		pthread_cond_signal(&relay->was_emptied);
	}
	pthread_mutex_unlock(&relay->lock);
	return NULL;
}

/* ---------------------------------------------------------------- in */

static struct block *filling(struct pp_import_relay *relay)
{
	return &relay->blocks[relay->filled_cnt % BLOCK_CNT];
}

/* The block goes over, and another is free. What the sink failed with meanwhile. */
static int hand_over(struct pp_import_relay *relay)
{
	int r;

	pthread_mutex_unlock(&relay->reading);
	pthread_mutex_lock(&relay->lock);
	relay->filled_cnt++;
	pthread_cond_signal(&relay->was_filled);
	while (relay->filled_cnt - relay->emptied_cnt == BLOCK_CNT)
		pthread_cond_wait(&relay->was_emptied, &relay->lock);
	r = relay->result;
	pthread_mutex_unlock(&relay->lock);
	pthread_mutex_lock(&relay->reading);
	filling(relay)->used_bytes = 0;
	return r;
}

/* Room for a record and what comes behind it. */
static int begin(struct pp_import_relay *relay, enum kind kind, const void *record,
		 size_t record_bytes, size_t more_bytes, void **ret_more)
{
	size_t bytes = (sizeof(struct head) + record_bytes + more_bytes + 7) & ~(size_t)7;
	struct head *head;
	int r = 0;

	if (more_bytes > BLOCK_BYTES || bytes > BLOCK_BYTES)
		return -EMSGSIZE;
	if (bytes > BLOCK_BYTES - filling(relay)->used_bytes)
		r = hand_over(relay);
	if (r < 0)
		return r;
	head = (void *)&filling(relay)->words[filling(relay)->used_bytes / 8];
	*head = (struct head){kind, (uint32_t)bytes};
	memcpy(head + 1, record, record_bytes);
	*ret_more = (char *)(head + 1) + record_bytes;
	filling(relay)->used_bytes += bytes;
	return 0;
}

static int on_mapping(void *context, const struct pathprof_recorded_mapping *mapping)
{
	size_t bytes = strlen(mapping->name) + 1;
	void *more;
	int r = begin(context, KIND_MAPPING, mapping, sizeof(*mapping), bytes, &more);

	if (r == 0)
		memcpy(more, mapping->name, bytes);
	return r;
}

static int on_process(void *context, const struct pathprof_recorded_process *process)
{
	size_t bytes = process->comm ? strlen(process->comm) + 1 : 0;
	void *more;
	int r = begin(context, KIND_PROCESS, process, sizeof(*process), bytes, &more);

	if (r == 0 && bytes)
		memcpy(more, process->comm, bytes);
	return r;
}

static int on_sample(void *context, const struct pathprof_recorded_sample *sample)
{
	size_t bytes = sample->branch_cnt * sizeof(*sample->branches);
	void *more;
	int r = begin(context, KIND_SAMPLE, sample, sizeof(*sample), bytes, &more);

	if (r == 0 && bytes)
		memcpy(more, sample->branches, bytes);
	return r;
}

struct pathprof_recording_sink pp_import_relay_sink(struct pp_import_relay *relay)
{
	return (struct pathprof_recording_sink){relay, on_mapping, on_process, on_sample, NULL};
}

/* ---------------------------------------------------------------- life */

/* Signals are for the thread that was there before. */
static int start(struct pp_import_relay *relay)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&relay->thread, NULL, run, relay);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

int pp_import_relay_new(struct pp_import_relay **ret_relay,
			const struct pathprof_recording_sink *sink)
{
	struct pp_import_relay *relay = calloc(1, sizeof(*relay));
	int r;

	if (!relay)
		return -ENOMEM;
	relay->to = *sink;
	pthread_mutex_init(&relay->reading, NULL);
	pthread_mutex_init(&relay->lock, NULL);
	pthread_cond_init(&relay->was_filled, NULL);
	pthread_cond_init(&relay->was_emptied, NULL);
	r = start(relay);
	if (r < 0) {
		free(relay);
		return r;
	}
	*ret_relay = relay;
	return 0;
}

pthread_mutex_t *pp_import_relay_lock(struct pp_import_relay *relay)
{
	return &relay->reading;
}

int pp_import_relay_finish(struct pp_import_relay *relay)
{
	if (relay->is_gone)
		return relay->result;
	pthread_mutex_lock(&relay->lock);
	relay->filled_cnt++;
	relay->is_over = true;
	pthread_cond_signal(&relay->was_filled);
	pthread_mutex_unlock(&relay->lock);
	pthread_join(relay->thread, NULL);
	relay->is_gone = true;
	return relay->result;
}

void pp_import_relay_free(struct pp_import_relay *relay)
{
	if (!relay)
		return;
	pp_import_relay_finish(relay);
	pthread_cond_destroy(&relay->was_emptied);
	pthread_cond_destroy(&relay->was_filled);
	pthread_mutex_destroy(&relay->lock);
	pthread_mutex_destroy(&relay->reading);
	free(relay);
}
