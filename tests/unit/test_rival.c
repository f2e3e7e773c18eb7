// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lab's stream summaries: the thesis' table against the library's, Space-Saving and the heap
 * under it against lists, what holds for every one of them, and that a sampled tail is unbiased.
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/lab/rival/heap.h"
#include "../../tools/lab/rival/rivals.h"
#include "oracle_stream.h"
#include "pathprof/compress.h"
#include "pathprof/hot_paths.h"

#define KEYS        3000
#define EVENTS      200000
#define STATE_BYTES 7168
#define KEY_BITS    80

/* The counts that came out, by the number of the key: its start. */
struct profile {
	double count[KEYS], total;
	size_t messages;
};

static void collect(void *context, const struct lab_key *key, double count)
{
	struct profile *p = context;

	CU_ASSERT_FATAL(key->a < KEYS);
	p->count[key->a] += count;
	p->total += count;
	p->messages++;
}

static struct lab_key key_of(uint64_t number)
{
	return (struct lab_key){.a = number, .b = 4ULL << 32 | number % 16};
}

static struct lab_rival *create(const struct lab_rival_ops *ops, struct profile *profile,
				uint64_t seed)
{
	static struct lab_rival_config config;

	config = (struct lab_rival_config){.state_bytes = STATE_BYTES,
					   .key_bits = KEY_BITS,
					   .emit = collect,
					   .context = profile,
					   .seed = seed};
	return ops->create(&config);
}

/* A skewed stream over `population` keys into the rival; what came is added to ret_came. */
static void feed(struct lab_rival *rival, size_t event_cnt, uint64_t population, double *ret_came)
{
	struct stream s;

	stream_init(&s, STREAM_SKEWED, false, population, 8);
	for (size_t i = 0; i < event_cnt; i++) {
		uint64_t number = stream_next(&s);
		struct lab_key key = key_of(number);

		rival->ops->add(rival, &key, 1);
		ret_came[number]++;
	}
}

static double overlap(const double *came, const struct profile *p, double total)
{
	double sum = 0;

	for (size_t i = 0; i < KEYS; i++)
		sum += fmin(came[i] / total, p->count[i] / p->total);
	return sum;
}

/* Feeds and drains a new one; returns the overlap with the truth. */
static double run(const struct lab_rival_ops *ops, uint64_t seed, uint64_t population,
		  struct profile *ret_profile, double *ret_came)
{
	struct lab_rival *rival = create(ops, ret_profile, seed);

	memset(ret_profile, 0, sizeof(*ret_profile));
	memset(ret_came, 0, KEYS * sizeof(*ret_came));
	feed(rival, EVENTS, population, ret_came);
	ops->drain(rival);
	ops->destroy(rival);
	return overlap(ret_came, ret_profile, EVENTS);
}

/* ---------------------------------------------------------------- all of them */

/* Keys whose counts differ at all: these structures owe exact ones. */
static size_t differences(const double *counted, const double *came)
{
	size_t cnt = 0;

	for (size_t k = 0; k < KEYS; k++)
		cnt += counted[k] != came[k];
	return cnt;
}

static void test_state(void)
{
	struct profile p = {.total = 0};

	for (size_t r = 0; lab_rivals[r]; r++) {
		struct lab_rival *rival = create(lab_rivals[r], &p, 1);
		uint64_t bits = lab_rivals[r]->state_bits(rival);

		CU_ASSERT(bits <= STATE_BYTES * 8);
		CU_ASSERT(bits > STATE_BYTES * 7);
		lab_rivals[r]->destroy(rival);
	}
}

static void test_few_keys(void)
{
	static struct profile p;
	static double came[KEYS];

	for (size_t r = 0; lab_rivals[r]; r++) {
		run(lab_rivals[r], 1, 4, &p, came);
		CU_ASSERT_EQUAL(differences(p.count, came), 0);
		CU_ASSERT_EQUAL(p.messages, 4);
	}
}

static void test_starts_anew(void)
{
	static struct profile p;
	static double came[KEYS];

	for (size_t r = 0; lab_rivals[r]; r++) {
		struct lab_rival *rival = create(lab_rivals[r], &p, 1);

		feed(rival, EVENTS / 10, KEYS, came);
		lab_rivals[r]->drain(rival);
		memset(&p, 0, sizeof(p));
		lab_rivals[r]->drain(rival);
		CU_ASSERT_EQUAL(p.messages, 0);
		memset(came, 0, sizeof(came));
		feed(rival, EVENTS / 10, 4, came);
		lab_rivals[r]->drain(rival);
		CU_ASSERT_EQUAL(differences(p.count, came), 0);
		lab_rivals[r]->destroy(rival);
	}
}

static void test_ranking(void)
{
	static struct profile p;
	static double came[KEYS];
	double lfu = run(&lab_rival_hpt_lfu, 1, KEYS, &p, came);

	CU_ASSERT(lfu < 0.9);
	CU_ASSERT(run(&lab_rival_space_saving, 1, KEYS, &p, came) > lfu);
	CU_ASSERT(run(&lab_rival_rap, 1, KEYS, &p, came) > lfu);
	CU_ASSERT(run(&lab_rival_hpt_tail, 1, KEYS, &p, came) > 0.9);
	CU_ASSERT(p.messages < EVENTS / 20);
	CU_ASSERT(run(&lab_rival_hpt_admit_tail, 1, KEYS, &p, came) > 0.9);
}

/* ---------------------------------------------------------------- the thesis' table */

static size_t differs_from_library(uint32_t entries)
{
	static struct pathprof_hot_path table[1024];
	static struct profile p;
	static double came[KEYS];
	struct pathprof_hot_paths *library;
	struct pathprof_hot_path replaced;
	size_t different = 0, cnt;
	struct stream s;

	run(&lab_rival_hpt_lfu, 1, KEYS, &p, came);
	CU_ASSERT_EQUAL_FATAL(pathprof_hot_paths_new(&library, entries, 4, NULL), 0);
	stream_init(&s, STREAM_SKEWED, false, KEYS, 8);
	for (size_t i = 0; i < EVENTS; i++) {
		struct lab_key key = key_of(stream_next(&s));
		struct pathprof_hot_path path = {.start = key.a,
						 .count = 1,
						 .length = (uint32_t)(key.b >> 32),
						 .outcomes = (uint32_t)key.b};

		pathprof_hot_paths_add(library, &path, &replaced);
	}
	cnt = pathprof_hot_paths_read(library, table);
	different += cnt != p.messages;
	for (size_t i = 0; i < cnt; i++)
		different += p.count[table[i].start] != (double)table[i].count;
	pathprof_hot_paths_free(library);
	return different;
}

static void test_library(void)
{
	CU_ASSERT_EQUAL(differs_from_library(512), 0);
	CU_ASSERT_NOT_EQUAL(differs_from_library(256), 0);
}

static void test_spill(void)
{
	static struct profile p;
	static double came[KEYS];

	run(&lab_rival_hpt_spill, 1, KEYS, &p, came);
	CU_ASSERT_EQUAL(differences(p.count, came), 0);
	CU_ASSERT(p.messages > 512);
}

/* ---------------------------------------------------------------- Space-Saving, heap */

struct list {
	struct lab_heap_entry entry[512];
	size_t cnt;
	bool forgets; /* a fault: a new key does not take over the count */
};

static size_t list_least(const struct list *l)
{
	size_t least = 0;

	for (size_t i = 1; i < l->cnt; i++)
		if (l->entry[i].count < l->entry[least].count)
			least = i;
	return least;
}

static void list_add(struct list *l, uint64_t number)
{
	for (size_t i = 0; i < l->cnt; i++)
		if (l->entry[i].key.a == number) {
			l->entry[i].count++;
			return;
		}
	if (l->cnt < 512) {
		l->entry[l->cnt++] = (struct lab_heap_entry){key_of(number), 1};
		return;
	}
	struct lab_heap_entry *least = &l->entry[list_least(l)];
	*least = (struct lab_heap_entry){key_of(number), l->forgets ? 1 : least->count + 1};
}

static int by_number(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* The counts, sorted: which of several least keys goes is open, hence not which keys stay. */
static size_t differs_from_list(bool forgets)
{
	static struct list l;
	static double counts[512], expected[512], came[KEYS];
	static struct profile p;
	size_t different = 0, cnt = 0;
	struct stream s;

	memset(&l, 0, sizeof(l));
	l.forgets = forgets;
	stream_init(&s, STREAM_SKEWED, false, KEYS, 8);
	for (size_t i = 0; i < EVENTS; i++)
		list_add(&l, stream_next(&s));
	run(&lab_rival_space_saving, 1, KEYS, &p, came);
	for (size_t i = 0; i < KEYS && cnt < 512; i++)
		if (p.count[i] > 0)
			counts[cnt++] = p.count[i];
	for (size_t i = 0; i < 512; i++)
		expected[i] = (double)l.entry[i].count;
	qsort(counts, 512, sizeof(counts[0]), by_number);
	qsort(expected, 512, sizeof(expected[0]), by_number);
	for (size_t i = 0; i < 512; i++)
		different += counts[i] != expected[i];
	return different;
}

static void test_space_saving(void)
{
	static struct profile p;
	static double came[KEYS];
	size_t below = 0;

	CU_ASSERT_EQUAL(differs_from_list(false), 0);
	CU_ASSERT_NOT_EQUAL(differs_from_list(true), 0);
	run(&lab_rival_space_saving_4, 1, KEYS, &p, came);
	CU_ASSERT_EQUAL(p.total, EVENTS);
	for (size_t i = 0; i < KEYS; i++)
		below += p.count[i] > 0 && p.count[i] < came[i];
	CU_ASSERT_EQUAL(below, 0);
}

/* Steps after which the least count is not that of the list. flip: of one count half way. */
static size_t heap_differences(bool flip)
{
	struct lab_heap *heap = lab_heap_new(512);
	size_t different = 0;
	struct list l = {.cnt = 0};
	struct stream s;

	stream_init(&s, STREAM_SKEWED, false, KEYS, 3);
	for (size_t i = 0; i < EVENTS / 10; i++) {
		uint64_t number = stream_next(&s);
		struct lab_key key = key_of(number);
		struct lab_heap_entry *entry = lab_heap_find(heap, &key);
		const struct lab_heap_entry *least = lab_heap_least(heap);

		different += least && least->count != l.entry[list_least(&l)].count;
		if (entry)
			lab_heap_raise(heap, entry, entry->count + 1);
		else
			lab_heap_put(heap, &key, (least ? least->count : 0) + 1);
		list_add(&l, number);
		if (flip && i == EVENTS / 20)
			l.entry[list_least(&l)].count = 0;
	}
	lab_heap_free(heap);
	return different;
}

static void test_heap(void)
{
	CU_ASSERT_EQUAL(heap_differences(false), 0);
	CU_ASSERT_NOT_EQUAL(heap_differences(true), 0);
}

/* ---------------------------------------------------------------- the sampled tail */

#define SEEDS 24

/* How far, in percent, the mean over seeds of the count of all cold keys is off. */
static double tail_bias(const struct lab_rival_ops *ops)
{
	static struct profile p;
	static double came[KEYS];
	double truth = 0, estimate = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		run(ops, seed * 7919, KEYS, &p, came);
		for (size_t i = 1000; i < KEYS; i++) {
			truth += came[i];
			estimate += p.count[i];
		}
	}
	return 100 * fabs(estimate - truth) / truth;
}

static void test_tail(void)
{
	static struct profile p;
	static double came[KEYS];

	CU_ASSERT(tail_bias(&lab_rival_hpt_tail) < 1);
	CU_ASSERT(tail_bias(&lab_rival_hpt_admit_tail) < 1);
	/* The check finds what a losing table does to cold keys. */
	CU_ASSERT(tail_bias(&lab_rival_hpt_lfu) > 20);
	run(&lab_rival_hpt_tail, 3, KEYS, &p, came);
	CU_ASSERT(fabs(p.total - EVENTS) <= 128 * 16);
}

/* ---------------------------------------------------------------- samplers, read-outs */

/* Keys whose sum of messages is not the library's, for a sampler of another notation as well. */
static size_t differs_from_compressor(const char *notation, const char *library)
{
	static struct profile p, expected;
	static double came[KEYS];
	const struct lab_rival_config config = {.key_bits = 112, .emit = collect, .context = &p};
	struct lab_rival *rival = lab_rival_sampler(notation, &config);
	struct pathprof_compressor *c;
	struct pathprof_message m;
	struct stream s;

	memset(&p, 0, sizeof(p));
	memset(&expected, 0, sizeof(expected));
	memset(came, 0, sizeof(came));
	feed(rival, EVENTS, KEYS, came);
	rival->ops->drain(rival);
	rival->ops->destroy(rival);
	CU_ASSERT_EQUAL_FATAL(pathprof_compressor_new(&c, library, NULL, NULL), 0);
	stream_init(&s, STREAM_SKEWED, false, KEYS, 8);
	for (size_t i = 0; i < EVENTS; i++) {
		struct lab_key key = key_of(stream_next(&s));

		if (pathprof_compressor_step(c, key.a, key.b, &m))
			expected.count[m.pc] += (double)m.count;
	}
	while (pathprof_compressor_flush(c, &m))
		expected.count[m.pc] += (double)m.count;
	pathprof_compressor_free(c);
	return differences(p.count, expected.count);
}

static void test_sampler(void)
{
	CU_ASSERT_EQUAL(differs_from_compressor("H[PR64]256", "H[PR64]256"), 0);
	CU_ASSERT_EQUAL(differs_from_compressor("F16H[P64]256", "F16H[P64]256"), 0);
	CU_ASSERT_NOT_EQUAL(differs_from_compressor("H[PR64]256", "H[PR60]256"), 0);
}

static uint64_t sampler_bits(const char *notation)
{
	const struct lab_rival_config config = {.key_bits = 112, .emit = collect};
	struct lab_rival *rival = lab_rival_sampler(notation, &config);
	uint64_t bits = rival->ops->state_bits(rival);

	rival->ops->destroy(rival);
	return bits;
}

static void test_sampler_bits(void)
{
	CU_ASSERT_EQUAL(sampler_bits("R256"), 64);
	CU_ASSERT_EQUAL(sampler_bits("P256"), 8);
	CU_ASSERT_EQUAL(sampler_bits("H[P256]2048"), 2048 * 8);
	CU_ASSERT_EQUAL(sampler_bits("H[PR257]2048"), 2048 * 9);
	CU_ASSERT_EQUAL(sampler_bits("H[R256]2048"), 64);
	CU_ASSERT_EQUAL(sampler_bits("H[P256]2048A16"), 2048 * 8 + 16 * 144);
	CU_ASSERT_EQUAL(sampler_bits("F64H[PR384]1024"), 64 * 152 + 1024 * 9);
	CU_ASSERT_EQUAL(sampler_bits("T[256]2048"), 2048 * 16);
}

/* Feeds a summary that is read out on the way; messages until the last drain in ret_messages. */
static void run_read_out(uint32_t rate, struct profile *ret_profile, double *ret_came,
			 size_t *ret_messages)
{
	const struct lab_rival_config config = {.state_bytes = STATE_BYTES,
						.key_bits = KEY_BITS,
						.emit = collect,
						.context = ret_profile};
	struct lab_rival *rival = lab_rival_read_out(&lab_rival_space_saving, &config, rate);

	memset(ret_profile, 0, sizeof(*ret_profile));
	memset(ret_came, 0, KEYS * sizeof(*ret_came));
	feed(rival, EVENTS, KEYS, ret_came);
	*ret_messages = ret_profile->messages;
	rival->ops->drain(rival);
	rival->ops->destroy(rival);
}

static void test_read_out(void)
{
	static struct profile p;
	static double came[KEYS];
	size_t messages;

	run_read_out(100, &p, came, &messages);
	CU_ASSERT_EQUAL(p.total, EVENTS);
	CU_ASSERT(messages > 0 && messages <= EVENTS / 100);
	/* The check finds one that speaks too often. */
	run_read_out(50, &p, came, &messages);
	CU_ASSERT(messages > EVENTS / 100);
}

static const struct unit_test tests[] = {
	{"each stays within its state", test_state},
	{"each is exact over a few keys", test_few_keys},
	{"each starts anew once drained", test_starts_anew},
	{"those that came after the thesis overlap more", test_ranking},
	{"the thesis' table equals the library's, and not one of another size", test_library},
	{"spilled and kept are exact", test_spill},
	{"Space-Saving equals a list, and not one that forgets", test_space_saving},
	{"the heap's least is a list's, and a changed count is found", test_heap},
	{"a sampled tail is unbiased, a lost one is seen", test_tail},
	{"a sampler is the library's, and not one of another rate", test_sampler},
	{"a sampler's state is counted as hardware packs it", test_sampler_bits},
	{"a summary read out on the way keeps its budget and the total", test_read_out},
};
UNIT_SUITE(rival, tests)
