// SPDX-License-Identifier: GPL-2.0-or-later
/* See record.h. */
#include "record.h"

#include <errno.h>
#include <string.h>

#include "count.h"
#include "pathprof/trace_format.h"
#include "qemu_plugin.h"

/*
 * Words that a thread may write between two checks of limits and room; a record may exceed them. A
 * thread gets as many as it has written and a few more, so one that hardly runs takes hardly any of
 * the limit.
 */
#define GRANT_WORDS (1u << 16)
#define FIRST_WORDS (1u << 8)
#define RECORD_MAX  8u

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct recorder recorders[RECORD_CNT];

uint64_t record_arrivals;
bool record_threads;

static void append(struct recorder *r, uint32_t word)
{
	r->words[r->word_cnt & (TRACE_RING_WORDS - 1)] = word;
	r->word_cnt++;
}

/* Pairs with the reader's acquire load: the words counted are complete. */
static void publish(const struct recorder *r)
{
	__atomic_store_n(&r->slot->word_cnt, r->word_cnt, __ATOMIC_RELEASE);
}

static void mute(struct recorder *r)
{
	r->muted = true;
	r->pause_at = 0;
}

static void wait_for_room(const struct recorder *r)
{
	struct trace_slot *slot = r->slot;

	for (;;) {
		uint32_t seen = __atomic_load_n(&slot->taken_seq, __ATOMIC_ACQUIRE);
		uint64_t taken = __atomic_load_n(&slot->taken_cnt, __ATOMIC_ACQUIRE);

		if (r->word_cnt + GRANT_WORDS + 2 * RECORD_MAX - taken <= TRACE_RING_WORDS)
			return;
		process_wait(&slot->taken_seq, seen);
	}
}

static uint64_t wanted_words(const struct recorder *r)
{
	return r->word_cnt < GRANT_WORDS - FIRST_WORDS ? r->word_cnt + FIRST_WORDS : GRANT_WORDS;
}

static uint64_t take_budget(uint64_t wanted)
{
	uint64_t left = __atomic_load_n(&plugin_share->budget_words, __ATOMIC_RELAXED);
	uint64_t take;

	do {
		take = left < wanted ? left : wanted;
	} while (!__atomic_compare_exchange_n(&plugin_share->budget_words, &left, left - take, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return take;
}

static void give_back_budget(const struct recorder *r)
{
	if (!r->muted && r->pause_at > r->word_cnt)
		__atomic_fetch_add(&plugin_share->budget_words, r->pause_at - r->word_cnt,
				   __ATOMIC_RELAXED);
}

static bool still_skipping(void)
{
	uint64_t left = __atomic_load_n(&plugin_share->skip_cnt, __ATOMIC_RELAXED);

	while (left)
		if (__atomic_compare_exchange_n(&plugin_share->skip_cnt, &left, left - 1, true,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	return false;
}

static bool cut(struct recorder *r)
{
	append(r, PATHPROF_TRACE_MARK_CUT);
	publish(r);
	mute(r);
	__atomic_store_n(&plugin_share->cut, 1, __ATOMIC_RELEASE);
	process_ring_bell();
	return false;
}

/* Permits the words up to the next check. Returns false if no more may be written. */
static bool grant(struct recorder *r)
{
	uint64_t budget = take_budget(wanted_words(r));
	uint64_t before = r->word_cnt / TRACE_CHUNK_WORDS;

	wait_for_room(r);
	if (!budget)
		return cut(r);
	r->pause_at = r->word_cnt + budget;
	if (r->pause_at / TRACE_CHUNK_WORDS != before)
		process_ring_bell();
	return true;
}

static bool is_block(uint32_t word)
{
	return word && word < PATHPROF_TRACE_ACCESS;
}

/* The slow part of recording, entered at pause_at. Returns whether the record that begins with word
 * is written. */
static __attribute__((noinline)) bool pause(struct recorder *r, uint32_t word)
{
	if (!r->slot)
		return false;
	if (!r->muted)
		return grant(r);
	if (__atomic_load_n(&plugin_share->cut, __ATOMIC_RELAXED) || r->word_cnt)
		return false;
	/* Recording begins with a block. If that is not the program's first, a mark of a cut comes
	 * before it. */
	if (!is_block(word) || still_skipping())
		return false;
	r->muted = false;
	if (!grant(r))
		return false;
	append(r, PATHPROF_TRACE_MARK_CUT);
	return true;
}

static inline void put(struct recorder *r, uint32_t word)
{
	if (unlikely(r->word_cnt >= r->pause_at) && !pause(r, word))
		return;
	append(r, word);
	publish(r);
}

static inline void enter(struct recorder *r, const struct block *block, bool reached)
{
	const struct block *last = r->last;

	if (unlikely(!reached) && last)
		put(r, PATHPROF_TRACE_MARK_LEFT);
	else if (unlikely(block->turns) && record_is_turn(last, block))
		return;
	r->last = block;
	put(r, block->id);
}

void record_block(unsigned vcpu, void *data)
{
	struct recorder *r = record_of(vcpu);
	bool reached = record_arrivals != r->arrivals;

	r->arrivals = record_arrivals;
	enter(r, data, reached);
}

void record_block_threads(unsigned vcpu, void *data)
{
	struct recorder *r = record_of(vcpu);
	bool reached = r->reached;

	r->reached = false;
	enter(r, data, reached);
}

void record_reached(unsigned vcpu, void *data)
{
	record_of(vcpu)->reached = true;
}

void record_sigreturn(unsigned vcpu)
{
	struct recorder *r = record_of(vcpu);

	if (plugin_share->counts)
		count_sigreturn(r->counter);
	else
		put(r, PATHPROF_TRACE_MARK_SIGRETURN);
}

/* The value in memory after the access: for a load, the value read. */
static uint64_t value_at(uint64_t address, unsigned shift)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)(uintptr_t)(address + plugin_guest_base),
	       shift < 3 ? 1u << shift : 8);
	return value;
}

static uint32_t access_word(const struct recorder *r, uint64_t pc, uint32_t info)
{
	uint32_t offset = (uint32_t)(pc - r->last->as.start) & PATHPROF_TRACE_ACCESS_OFFSET;

	return PATHPROF_TRACE_ACCESS | offset | (qemu_plugin_mem_size_shift(info) & 7) << 13;
}

static void append_pair(struct recorder *r, uint64_t value)
{
	append(r, (uint32_t)value);
	append(r, (uint32_t)(value >> 32));
}

static void put_access(struct recorder *r, uint32_t word, uint64_t address)
{
	if (r->word_cnt >= r->pause_at && !pause(r, word))
		return;
	append(r, word);
	append_pair(r, address);
	publish(r);
}

/* A locked exchange, with several threads, comes as one access of both directions. */
void record_access(unsigned vcpu, uint32_t info, uint64_t address, void *pc)
{
	struct recorder *r = record_of(vcpu);
	bool is_store = qemu_plugin_mem_is_store(info);
	uint32_t word;

	if (!r->last)
		return;
	word = access_word(r, (uintptr_t)pc, info);
	if (!is_store || info & QEMU_PLUGIN_MEMINFO_LOAD)
		put_access(r, word, address);
	if (is_store)
		put_access(r, word | PATHPROF_TRACE_ACCESS_STORE, address);
}

/* A locked exchange's old value may be overwritten by now, so it is not recorded as a load. */
void record_load(unsigned vcpu, uint32_t info, uint64_t address, void *pc)
{
	struct recorder *r = record_of(vcpu);
	uint32_t word;

	if (!r->last || qemu_plugin_mem_is_store(info))
		return;
	word = access_word(r, (uintptr_t)pc, info) | PATHPROF_TRACE_ACCESS_VALUE;
	if (r->word_cnt >= r->pause_at && !pause(r, word))
		return;
	append(r, word);
	append_pair(r, address);
	append_pair(r, value_at(address, qemu_plugin_mem_size_shift(info)));
	publish(r);
}

static int take_slot(uint32_t *ret_index)
{
	for (uint32_t i = 0; i < TRACE_SLOT_CNT; i++) {
		uint32_t expected = TRACE_FREE;

		if (__atomic_compare_exchange_n(&plugin_share->slots[i].state, &expected,
						TRACE_CLAIMED, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			*ret_index = i;
			return 0;
		}
	}
	return -ENOSPC;
}

static void define_stream(uint32_t stream, uint32_t thread)
{
	struct pathprof_trace_stream record = {
		.stream = stream,
		.process = process_number(),
		.thread = thread,
	};

	process_define(PATHPROF_TRACE_STREAMS, &record, sizeof(record), NULL, 0);
}

static uint32_t next_stream(void)
{
	return __atomic_fetch_add(&plugin_share->next_stream, 1, __ATOMIC_RELAXED);
}

static void lose_stream(void)
{
	__atomic_add_fetch(&plugin_share->lost_streams, 1, __ATOMIC_RELAXED);
}

static void begin_counting(struct recorder *r, uint32_t thread)
{
	r->counter = process_known() ? count_begin() : NULL;
	if (r->counter)
		define_stream(next_stream(), thread);
	else
		lose_stream();
}

/* Under plugin_lock(). */
static void begin(struct recorder *r, uint32_t thread)
{
	uint32_t index;

	*r = (struct recorder){.reached = true, .arrivals = record_arrivals};
	if (plugin_share->counts) {
		begin_counting(r, thread);
		return;
	}
	if (!process_known() || take_slot(&index) < 0) {
		lose_stream();
		return;
	}
	r->slot = &plugin_share->slots[index];
	r->words = trace_share_words(plugin_share, index);
	r->muted = __atomic_load_n(&plugin_share->skip_cnt, __ATOMIC_RELAXED) != 0;
	r->slot->stream = next_stream();
	r->slot->process = process_slot();
	/* Pairs with the reader's acquire: the slot's stream and process are filled in. */
	__atomic_store_n(&r->slot->state, TRACE_LIVE, __ATOMIC_RELEASE);
	define_stream(r->slot->stream, thread);
}

static uint32_t thread_cnt;
static unsigned recorder_cnt; /* one more than the highest index in use so far */

/* Under plugin_lock(). */
static void begin_on(unsigned vcpu, uint32_t thread)
{
	if (vcpu >= RECORD_CNT - 1) {
		lose_stream();
		return;
	}
	if (recorder_cnt <= vcpu)
		recorder_cnt = vcpu + 1;
	begin(record_of(vcpu), thread);
}

void record_thread_begin(unsigned vcpu)
{
	plugin_lock();
	if (thread_cnt && !record_threads) {
		record_threads = true;
		for (unsigned i = 0; i < recorder_cnt; i++)
			recorders[i].reached = true;
	}
	begin_on(vcpu, thread_cnt);
	thread_cnt++;
	plugin_unlock();
}

void record_thread_end(unsigned vcpu)
{
	struct recorder *r = record_of(vcpu);

	plugin_lock();
	give_back_budget(r);
	if (r->slot)
		__atomic_store_n(&r->slot->state, TRACE_ENDED, __ATOMIC_RELEASE);
	count_end(r->counter);
	*r = (struct recorder){0};
	plugin_unlock();
	process_ring_bell();
}

/* In the child, whose only thread is that of vcpu; the parent's recorders are not ours. */
void record_forked(unsigned vcpu)
{
	memset(recorders, 0, recorder_cnt * sizeof(*recorders));
	thread_cnt = 1;
	begin_on(vcpu, 0);
}
