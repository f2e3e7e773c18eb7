// SPDX-License-Identifier: GPL-2.0-or-later
/* See collect.h. */
#include "collect.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/vector.h"
#include "pathprof/build_id.h"

#define BATCH_MAX_BYTES (4u << 20)

void trace_collector_init(struct trace_collector *collector, struct trace_share *share,
			  struct trace_writer *writer, struct trace_counts *counts,
			  const char *program)
{
	*collector = (struct trace_collector){
		.share = share, .writer = writer, .counts = counts, .program = program};
	for (size_t i = 0; i < TRACE_PROCESS_CNT; i++)
		collector->pidfds[i] = -1;
}

void trace_collector_release(struct trace_collector *collector)
{
	for (size_t i = 0; i < PATHPROF_TRACE_INDEX; i++)
		free(collector->batches[i].bytes);
	for (size_t i = 0; i < TRACE_PROCESS_CNT; i++)
		if (collector->pidfds[i] >= 0)
			close(collector->pidfds[i]);
	*collector = (struct trace_collector){0};
}

static void give_back(uint32_t *seq)
{
	__atomic_add_fetch(seq, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, seq, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* ---------------------------------------------------------------- definitions */

static int write_batch(struct trace_collector *collector, uint32_t type)
{
	struct trace_batch *batch = &collector->batches[type];
	struct pathprof_trace_chunk chunk = {.type = type, .raw_bytes = (uint32_t)batch->len_bytes};
	int r = trace_writer_chunk(collector->writer, chunk, batch->bytes);

	batch->len_bytes = 0;
	return r;
}

/* Writes them in the order of the types, so that a definition comes before those that refer to
 * it. */
static int write_definitions(struct trace_collector *collector)
{
	int r = 0;

	for (uint32_t type = PATHPROF_TRACE_COMMAND; type < PATHPROF_TRACE_WORDS && r == 0; type++)
		r = write_batch(collector, type);
	return r;
}

/* Adds len_bytes to the batch, for the caller to fill in. */
static int extend(struct trace_batch *batch, size_t len_bytes, uint8_t **ret_bytes)
{
	if (pp_reserve(&batch->bytes, batch->len_bytes + len_bytes, &batch->size) < 0)
		return -ENOMEM;
	*ret_bytes = batch->bytes + batch->len_bytes;
	batch->len_bytes += len_bytes;
	return 0;
}

static void copy_out(const uint8_t *ring, uint64_t at, void *to, uint32_t len_bytes)
{
	uint32_t offset = (uint32_t)at & (TRACE_RING_BYTES - 1);
	uint32_t first = TRACE_RING_BYTES - offset;

	if (first > len_bytes)
		first = len_bytes;
	memcpy(to, ring + offset, first);
	memcpy((uint8_t *)to + first, ring, len_bytes - first);
}

static void add_build_id(uint8_t *bytes, uint32_t len_bytes)
{
	struct pathprof_trace_module module;
	struct pathprof_build_id id;
	char path[TRACE_DEFINITION_MAX + 1];
	uint32_t name_len = len_bytes - (uint32_t)sizeof(module);

	memcpy(&module, bytes, sizeof(module));
	memcpy(path, bytes + sizeof(module), name_len);
	path[name_len] = '\0';
	if (path[0] != '/' || pathprof_build_id_read_file(&id, path, NULL) < 0 ||
	    id.kind != PATHPROF_ID_BUILD_ID)
		return;
	memcpy(module.build_id, id.bytes, id.len_bytes);
	module.build_id_len = id.len_bytes;
	memcpy(bytes, &module, sizeof(module));
}

static void count(struct trace_totals *totals, uint32_t type)
{
	totals->process_cnt += type == PATHPROF_TRACE_PROCESSES;
	totals->stream_cnt += type == PATHPROF_TRACE_STREAMS;
	totals->block_cnt += type == PATHPROF_TRACE_BLOCKS;
	totals->exec_cnt += type == PATHPROF_TRACE_EXECS;
}

/* For counting, only the modules of a process's records are needed. */
static int take_module(struct trace_counts *counts, const uint8_t *ring, uint64_t at,
		       const struct trace_definition *head)
{
	struct pathprof_trace_module module;
	char path[TRACE_DEFINITION_MAX + 1];
	uint32_t name_len = head->len_bytes - (uint32_t)sizeof(module);

	if (head->type != PATHPROF_TRACE_MODULES || head->len_bytes < sizeof(module))
		return 0;
	copy_out(ring, at + sizeof(*head), &module, sizeof(module));
	copy_out(ring, at + sizeof(*head) + sizeof(module), path, name_len);
	path[name_len] = '\0';
	return trace_counts_module(counts, &module, path);
}

static int take_definition(struct trace_collector *collector, const uint8_t *ring, uint64_t at,
			   const struct trace_definition *head)
{
	uint8_t *bytes;
	int r;

	count(&collector->totals, head->type);
	if (collector->counts)
		return take_module(collector->counts, ring, at, head);
	r = extend(&collector->batches[head->type], head->len_bytes, &bytes);
	if (r < 0)
		return r;
	copy_out(ring, at + sizeof(*head), bytes, head->len_bytes);
	if (head->type == PATHPROF_TRACE_MODULES &&
	    head->len_bytes >= sizeof(struct pathprof_trace_module))
		add_build_id(bytes, head->len_bytes);
	if (collector->batches[head->type].len_bytes > BATCH_MAX_BYTES)
		return write_definitions(collector);
	return 0;
}

/* The program may have written over its own rings. */
static bool plausible(const struct trace_definition *head, uint64_t left_bytes)
{
	return head->type >= PATHPROF_TRACE_PROCESSES && head->type < PATHPROF_TRACE_WORDS &&
	       head->len_bytes <= TRACE_DEFINITION_MAX &&
	       sizeof(*head) + ((head->len_bytes + 7u) & ~7u) <= left_bytes;
}

static int take_ring(struct trace_collector *collector, uint32_t index)
{
	struct trace_process_slot *slot = &collector->share->processes[index];
	const uint8_t *ring = trace_share_definitions(collector->share, index);
	/* Pairs with the writer's release: the records counted are complete. */
	uint64_t end = __atomic_load_n(&slot->written_bytes, __ATOMIC_ACQUIRE);
	uint64_t at = slot->taken_bytes;
	int r = 0;

	if (at == end)
		return 0;
	while (at < end && r == 0) {
		struct trace_definition head;

		copy_out(ring, at, &head, sizeof(head));
		if (!plausible(&head, end - at)) {
			collector->totals.lost_defs++;
			at = end;
			break;
		}
		r = take_definition(collector, ring, at, &head);
		at += sizeof(head) + ((head.len_bytes + 7u) & ~7u);
	}
	__atomic_store_n(&slot->taken_bytes, at, __ATOMIC_RELEASE);
	give_back(&slot->taken_seq);
	return r;
}

static bool process_used(const struct trace_process_slot *slot)
{
	/* Pairs with the writer's release: the members of the slot are complete. */
	return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == TRACE_LIVE;
}

static int take_definitions(struct trace_collector *collector)
{
	int r = 0;

	for (uint32_t i = 0; i < TRACE_PROCESS_CNT && r == 0; i++)
		if (process_used(&collector->share->processes[i]))
			r = take_ring(collector, i);
	return r;
}

/* ---------------------------------------------------------------- words */

static int take_words(struct trace_collector *collector, uint32_t index, uint64_t cnt)
{
	struct trace_slot *slot = &collector->share->slots[index];
	const uint32_t *words = trace_share_words(collector->share, index);
	uint32_t offset = (uint32_t)slot->taken_cnt & (TRACE_RING_WORDS - 1);
	struct pathprof_trace_chunk chunk = {
		.type = PATHPROF_TRACE_WORDS,
		.stream = slot->stream,
		.first_word = slot->taken_cnt,
		.raw_bytes = (uint32_t)(cnt * sizeof(*words)),
	};
	/* The words were counted first, so the rings have all definitions that the words need. */
	int r = take_definitions(collector);

	if (r == 0)
		r = write_definitions(collector);
	if (r == 0)
		r = trace_writer_chunk(collector->writer, chunk, words + offset);
	collector->totals.word_cnt += cnt;
	__atomic_store_n(&slot->taken_cnt, slot->taken_cnt + cnt, __ATOMIC_RELEASE);
	give_back(&slot->taken_seq);
	return r;
}

/* rest: takes less than a chunk as well. A chunk never wraps around the ring's end. */
static int take_slot(struct trace_collector *collector, uint32_t index, bool rest)
{
	struct trace_slot *slot = &collector->share->slots[index];
	int r = 0;

	while (r == 0) {
		/* Pairs with the writer's release: the words counted are complete. */
		uint64_t cnt = __atomic_load_n(&slot->word_cnt, __ATOMIC_ACQUIRE) - slot->taken_cnt;

		if (cnt == 0 || (cnt < TRACE_CHUNK_WORDS && !rest))
			return 0;
		r = take_words(collector, index, cnt < TRACE_CHUNK_WORDS ? cnt : TRACE_CHUNK_WORDS);
	}
	return r;
}

static void free_slot(struct trace_collector *collector, uint32_t index)
{
	struct trace_slot *slot = &collector->share->slots[index];

	madvise(trace_share_words(collector->share, index), TRACE_WORDS_SIZE, MADV_REMOVE);
	slot->word_cnt = 0;
	slot->taken_cnt = 0;
	/* Pairs with the claim by the next thread. */
	__atomic_store_n(&slot->state, TRACE_FREE, __ATOMIC_RELEASE);
}

static int take_slots(struct trace_collector *collector)
{
	int r = 0;

	for (uint32_t i = 0; i < TRACE_SLOT_CNT && r == 0; i++) {
		/* Pairs with the writer's release. */
		uint32_t state =
			__atomic_load_n(&collector->share->slots[i].state, __ATOMIC_ACQUIRE);

		if (state == TRACE_LIVE || state == TRACE_ENDED)
			r = take_slot(collector, i, state == TRACE_ENDED);
		if (state == TRACE_ENDED && r == 0)
			free_slot(collector, i);
	}
	return r;
}

/* ---------------------------------------------------------------- processes */

static bool pidfd_ended(int fd)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};

	return poll(&poller, 1, 0) > 0;
}

/* The threads of a dead process write no more. */
static void end_slots(struct trace_collector *collector, uint32_t process)
{
	for (uint32_t i = 0; i < TRACE_SLOT_CNT; i++) {
		struct trace_slot *slot = &collector->share->slots[i];

		if (slot->process == process &&
		    __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == TRACE_LIVE)
			__atomic_store_n(&slot->state, TRACE_ENDED, __ATOMIC_RELEASE);
	}
}

static int define_exec(struct trace_collector *collector, struct trace_process_slot *slot)
{
	size_t name_len = strnlen(slot->exec_name, sizeof(slot->exec_name));
	struct pathprof_trace_exec record = {
		.process = slot->process,
		.name_len = (uint32_t)name_len,
	};
	uint8_t *bytes;
	int r;

	collector->totals.exec_cnt++;
	if (collector->counts)
		return 0;
	r = extend(&collector->batches[PATHPROF_TRACE_EXECS], sizeof(record) + name_len, &bytes);
	if (r < 0)
		return r;
	memcpy(bytes, &record, sizeof(record));
	memcpy(bytes + sizeof(record), slot->exec_name, name_len);
	return 0;
}

static int take_counts(struct trace_collector *collector, uint32_t index)
{
	struct trace_arena *arena = trace_share_arena(collector->share, index);
	int r = trace_counts_take(collector->counts, arena, collector->share->processes[index].pid,
				  collector->program);

	madvise(arena, TRACE_ARENA_SIZE, MADV_REMOVE);
	return r;
}

static int end_process(struct trace_collector *collector, uint32_t index)
{
	struct trace_process_slot *slot = &collector->share->processes[index];
	int r = take_ring(collector, index);

	end_slots(collector, index);
	if (r == 0 && collector->counts)
		r = take_counts(collector, index);
	else if (r == 0)
		r = take_slots(collector);
	if (r == 0 && __atomic_load_n(&slot->executing, __ATOMIC_ACQUIRE))
		r = define_exec(collector, slot);
	if (collector->pidfds[index] >= 0)
		close(collector->pidfds[index]);
	collector->pidfds[index] = -1;
	slot->written_bytes = 0;
	slot->taken_bytes = 0;
	__atomic_store_n(&slot->state, TRACE_FREE, __ATOMIC_RELEASE);
	return r;
}

/* A process that has ended already has no pidfd. */
static bool process_ended(struct trace_collector *collector, uint32_t index)
{
	int *fd = &collector->pidfds[index];

	if (*fd < 0)
		*fd = (int)syscall(SYS_pidfd_open, collector->share->processes[index].pid, 0);
	return *fd < 0 ? errno == ESRCH : pidfd_ended(*fd);
}

static int end_processes(struct trace_collector *collector)
{
	int r = 0;

	for (uint32_t i = 0; i < TRACE_PROCESS_CNT && r == 0; i++)
		if (process_used(&collector->share->processes[i]) && process_ended(collector, i))
			r = end_process(collector, i);
	return r;
}

int trace_collect(struct trace_collector *collector)
{
	int r = take_definitions(collector);

	if (r == 0)
		r = take_slots(collector);
	return r < 0 ? r : end_processes(collector);
}

int trace_collect_rest(struct trace_collector *collector)
{
	int r = trace_collect(collector);

	for (uint32_t i = 0; i < TRACE_PROCESS_CNT && r == 0; i++)
		if (process_used(&collector->share->processes[i]))
			r = end_process(collector, i);
	return r < 0 ? r : write_definitions(collector);
}

bool trace_collect_alive(const struct trace_collector *collector)
{
	for (uint32_t i = 0; i < TRACE_PROCESS_CNT; i++) {
		const struct trace_process_slot *slot = &collector->share->processes[i];

		if (process_used(slot) && !__atomic_load_n(&slot->executing, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

void trace_collect_signal(const struct trace_collector *collector, int signal)
{
	for (uint32_t i = 0; i < TRACE_PROCESS_CNT; i++)
		if (process_used(&collector->share->processes[i]) && collector->pidfds[i] >= 0)
			syscall(SYS_pidfd_send_signal, collector->pidfds[i], signal, NULL, 0);
}
