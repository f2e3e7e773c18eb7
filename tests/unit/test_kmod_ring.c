// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The module's ring as the daemon reads it, against a ring that the test writes: a naive list says
 * what was put in. And everything that a module must not write but might.
 */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/kmod/kmod_ring.h"

#define DATA_BYTES 4096u
#define LIST_MAX   20000
#define CPU        3

struct ring_page {
	_Alignas(8) unsigned char page[PATHPROF_RING_PAGE];
	unsigned char data[DATA_BYTES];
};

/* A record in a short form to compare. */
struct note {
	uint16_t type;
	uint32_t seq, digest;
};

struct notes {
	struct note list[LIST_MAX];
	uint32_t cnt;
};

struct scene {
	struct ring_page shared;
	struct pathprof_ring_consumer consumer;
	struct pp_kmod_ring ring;
	uint32_t seq;
	struct notes written, read;
};

static struct scene scene;

static struct pathprof_ring_producer *producer(void)
{
	return (void *)scene.shared.page;
}

static void scene_init(uint64_t position)
{
	memset(&scene, 0, sizeof(scene));
	*producer() = (struct pathprof_ring_producer){
		.head = position,
		.version = PATHPROF_KMOD_VERSION,
		.cpu = CPU,
		.data_off_bytes = PATHPROF_RING_PAGE,
		.data_len_bytes = DATA_BYTES,
	};
	CU_ASSERT_EQUAL_FATAL(pp_kmod_ring_init(&scene.ring, CPU, producer(), sizeof(scene.shared),
						&scene.consumer),
			      0);
	scene.ring.tail = position;
}

/* ---------------------------------------------------------------- the writer */

static uint32_t digest_of(const struct pathprof_record *record)
{
	const unsigned char *bytes = (const void *)(record + 1);
	uint32_t digest = 2166136261u;

	for (uint32_t i = 0; i < record->size_bytes - sizeof(*record); i++)
		digest = (digest ^ bytes[i]) * 16777619u;
	return digest;
}

static void note(struct notes *notes, const struct pathprof_record *record)
{
	if (notes->cnt == LIST_MAX)
		abort();
	notes->list[notes->cnt++] = (struct note){record->type, record->seq, digest_of(record)};
}

static struct pathprof_record *at_head(void)
{
	return (void *)(scene.shared.data + producer()->head % DATA_BYTES);
}

static uint32_t to_end(void)
{
	return DATA_BYTES - (uint32_t)(producer()->head % DATA_BYTES);
}

/* Pads the ring to its end; if only 8 bytes are left, the padding is half a record head. */
static void pad(void)
{
	const struct pathprof_record record = {.size_bytes = to_end()};

	memcpy(at_head(), &record, to_end() < sizeof(record) ? to_end() : sizeof(record));
	producer()->head += to_end();
}

/* A record as it is, right or wrong. The head moves by size_bytes. */
static void put_raw(const struct pathprof_record *record, const void *body, size_t body_bytes)
{
	*at_head() = *record;
	memcpy(at_head() + 1, body, body_bytes);
	producer()->head += record->size_bytes;
}

static bool has_room(size_t size_bytes)
{
	uint64_t need = size_bytes <= to_end() ? size_bytes : size_bytes + to_end();

	return producer()->head + need - scene.consumer.tail <= DATA_BYTES;
}

/* false: no room; the record is lost, with its number. */
static bool put(uint16_t type, const void *body, size_t body_bytes)
{
	struct pathprof_record record = {
		.size_bytes = (uint32_t)(sizeof(record) + body_bytes),
		.type = type,
		.cpu = CPU,
		.seq = scene.seq++,
	};
	const struct pathprof_record *at;

	if (!has_room(record.size_bytes)) {
		producer()->lost_full++;
		return false;
	}
	if (record.size_bytes > to_end())
		pad();
	at = at_head();
	put_raw(&record, body, body_bytes);
	note(&scene.written, at);
	return true;
}

/* ---------------------------------------------------------------- bodies */

union body {
	struct {
		struct pathprof_burst head;
		struct pathprof_branch branches[20];
	} burst;
	struct {
		struct pathprof_lbr head;
		struct pathprof_lbr_entry entries[32];
	} lbr;
	struct {
		struct pathprof_segment head;
		struct pathprof_lbr_entry entries[32];
	} segment;
	struct pathprof_context context;
	struct pathprof_path_record paths[8];
	struct pathprof_tuple_count tuples[8];
	uint64_t words[128];
};

static size_t make_burst(union body *body, uint32_t cnt)
{
	size_t bytes = sizeof(body->burst.head) + cnt * sizeof(body->burst.branches[0]);

	body->burst.head.version = PATHPROF_ABI_VERSION;
	body->burst.head.branch_cnt = cnt;
	body->burst.head.taken_cnt = cnt / 2;
	body->burst.head.end = cnt % PATHPROF_END_CNT;
	body->burst.head.size_bytes = (uint32_t)bytes;
	body->burst.head.horizon = cnt % 2 ? 5 * cnt + 7 : 0;
	body->burst.head.insn_cnt = 5 * cnt;
	for (uint32_t i = 0; i < cnt; i++)
		body->burst.branches[i].insns = 1 + i % 5;
	return bytes;
}

/* A sound body of that type, of few to many entries. */
static size_t make(union body *body, uint16_t type, unsigned int *seed)
{
	uint32_t cnt = (uint32_t)rand_r(seed) % 20;

	for (size_t i = 0; i < sizeof(body->words) / sizeof(body->words[0]); i++)
		body->words[i] = (uint64_t)rand_r(seed) << 20;
	switch (type) {
	case PATHPROF_RECORD_BURST:
		return make_burst(body, cnt);
	case PATHPROF_RECORD_LBR:
		body->lbr.head.branch_cnt = cnt;
		return sizeof(body->lbr.head) + cnt * sizeof(body->lbr.entries[0]);
	case PATHPROF_RECORD_CONTEXT:
		body->context.context = cnt + 1;
		return sizeof(body->context);
	case PATHPROF_RECORD_DEFINE:
		body->segment.head.branch_cnt = cnt + 1;
		return sizeof(body->segment.head) + (cnt + 1) * sizeof(body->segment.entries[0]);
	default:
		return (cnt % 8 + 1) * sizeof(body->paths[0]);
	}
}

static void put_some(unsigned int *seed, int cnt)
{
	union body body;

	for (int i = 0; i < cnt; i++) {
		uint16_t type = (uint16_t)(1 + rand_r(seed) % (PATHPROF_RECORD_CNT - 1));
		size_t bytes = make(&body, type, seed);

		put(type, &body, bytes);
	}
}

/* ---------------------------------------------------------------- the reader */

static void on_record(void *context, const struct pathprof_record *record)
{
	note(context, record);
}

static int drain(void)
{
	return pp_kmod_ring_drain(&scene.ring, on_record, &scene.read);
}

static bool same(void)
{
	return scene.read.cnt == scene.written.cnt &&
	       !memcmp(scene.read.list, scene.written.list,
		       scene.read.cnt * sizeof(scene.read.list[0]));
}

static void test_stream(void)
{
	unsigned int seed = 5;

	scene_init(0);
	for (int round = 0; round < 600; round++) {
		put_some(&seed, rand_r(&seed) % 30);
		CU_ASSERT_EQUAL(drain(), 0);
		CU_ASSERT_EQUAL(scene.consumer.tail, producer()->head);
	}
	CU_ASSERT(producer()->head > 100 * DATA_BYTES);
	CU_ASSERT(same());
	CU_ASSERT_EQUAL(scene.ring.malformed, 0);
	CU_ASSERT_EQUAL(scene.ring.received, scene.written.cnt);
	CU_ASSERT(producer()->lost_full > 0);
	/* Every number that was given out is here or missing, but for those lost at the end. */
	CU_ASSERT_EQUAL(scene.ring.received + scene.ring.missing, scene.ring.seq);
	CU_ASSERT(scene.ring.missing > 0 && scene.ring.missing <= producer()->lost_full);
}

static void test_planted_fault_is_found(void)
{
	unsigned int seed = 6;

	scene_init(0);
	put_some(&seed, 3);
	((unsigned char *)scene.shared.data)[sizeof(struct pathprof_record) + 9] ^= 1;
	CU_ASSERT_EQUAL(drain(), 0);
	CU_ASSERT_FALSE(same());
}

/* head and tail count on where 32 bits end, and the data's end falls anywhere in a record. */
static void test_positions_are_wide(void)
{
	unsigned int seed = 7;

	scene_init((UINT64_C(1) << 32) - 3 * 8);
	scene.consumer.tail = producer()->head;
	for (int round = 0; round < 100; round++) {
		put_some(&seed, 4);
		CU_ASSERT_EQUAL(drain(), 0);
	}
	CU_ASSERT(same());
}

/* ---------------------------------------------------------------- what must not be */

static void put_sized(uint32_t size_bytes)
{
	const struct pathprof_record record = {
		.size_bytes = size_bytes, .type = PATHPROF_RECORD_PATH, .cpu = CPU};
	uint64_t head = producer()->head;
	const uint64_t body[3] = {0};

	put_raw(&record, body, sizeof(body));
	producer()->head = head + 40;
}

static void test_torn_sizes_end_the_ring(void)
{
	static const uint32_t sizes[] = {0, 8, 15, 41, 48, DATA_BYTES, UINT32_MAX, UINT32_MAX - 7};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned int seed = 8;

		scene_init(0);
		put_some(&seed, 2);
		put_sized(sizes[i]);
		CU_ASSERT_EQUAL(drain(), -EPROTO);
		CU_ASSERT_EQUAL(scene.read.cnt, 2);
		CU_ASSERT_EQUAL(scene.ring.malformed, 1);
		/* The rest of the data is dropped, and the ring goes on. */
		CU_ASSERT_EQUAL(scene.consumer.tail, producer()->head);
		scene.seq = scene.ring.seq;
		put_some(&seed, 1);
		CU_ASSERT_EQUAL(drain(), 0);
		CU_ASSERT_EQUAL(scene.read.cnt, 3);
	}
}

/* A record that would cross the data's end, although as much was written. */
static void test_no_record_crosses_the_end(void)
{
	struct pathprof_record record = {
		.size_bytes = 64, .type = PATHPROF_RECORD_PATH, .cpu = CPU};
	uint64_t start = DATA_BYTES - 32;

	scene_init(start);
	memcpy(scene.shared.data + start, &record, sizeof(record));
	producer()->head = start + 64;
	CU_ASSERT_EQUAL(drain(), -EPROTO);
	CU_ASSERT_EQUAL(scene.read.cnt, 0);
	/* Not even room for a head: nothing but a PAD is so short. */
	record.size_bytes = 8;
	for (uint16_t type = 0; type < PATHPROF_RECORD_CNT; type++) {
		scene_init(DATA_BYTES - 8);
		record.type = type;
		memcpy(scene.shared.data + DATA_BYTES - 8, &record, 8);
		producer()->head += 8;
		CU_ASSERT_EQUAL(drain(), type == PATHPROF_RECORD_PAD ? 0 : -EPROTO);
	}
	CU_ASSERT_EQUAL(scene.read.cnt, 0);
}

static void test_heads_that_cannot_be(void)
{
	static const uint64_t leaps[] = {DATA_BYTES + 8, UINT64_MAX - 7, UINT64_C(1) << 63, 4};

	for (size_t i = 0; i < sizeof(leaps) / sizeof(leaps[0]); i++) {
		scene_init(4096);
		producer()->head += leaps[i];
		CU_ASSERT_EQUAL(drain(), -EPROTO);
		CU_ASSERT_EQUAL(scene.read.cnt, 0);
	}
}

/* The tail is shared for the module to read: whatever stands there, the reader has its own. */
static void test_tail_is_not_believed(void)
{
	unsigned int seed = 9;

	scene_init(0);
	put_some(&seed, 3);
	scene.consumer.tail = UINT64_C(0x123456789);
	CU_ASSERT_EQUAL(drain(), 0);
	CU_ASSERT(same());
	CU_ASSERT_EQUAL(scene.consumer.tail, producer()->head);
}

static void test_odd_records_are_passed_over(void)
{
	unsigned int seed = 10;
	union body body = {.words = {0}};
	struct pathprof_record record = {.size_bytes = 40, .cpu = CPU};

	scene_init(0);
	put_some(&seed, 1);
	record.seq = scene.seq++;
	record.type = PATHPROF_RECORD_CNT;
	put_raw(&record, &body, 24);
	record.seq = scene.seq++;
	record.type = PATHPROF_RECORD_PATH;
	record.flags = 1;
	put_raw(&record, &body, 24);
	record.seq = scene.seq++;
	record.flags = 0;
	record.cpu = CPU + 1;
	put_raw(&record, &body, 24);
	put_some(&seed, 1);
	CU_ASSERT_EQUAL(drain(), 0);
	CU_ASSERT_EQUAL(scene.ring.malformed, 3);
	CU_ASSERT_EQUAL(scene.ring.missing, 0);
	CU_ASSERT(same());
}

static void test_lost_numbers_are_counted(void)
{
	unsigned int seed = 11;

	scene_init(0);
	put_some(&seed, 2);
	scene.seq += 5;
	put_some(&seed, 1);
	CU_ASSERT_EQUAL(drain(), 0);
	CU_ASSERT_EQUAL(scene.ring.missing, 5);
	CU_ASSERT_EQUAL(scene.ring.received, 3);
}

static bool is_sound(uint16_t type, const union body *body, size_t body_bytes)
{
	static struct {
		struct pathprof_record record;
		union body body;
	} whole;

	whole.record = (struct pathprof_record){
		.size_bytes = (uint32_t)(sizeof(whole.record) + body_bytes), .type = type};
	whole.body = *body;
	return pp_chain_record_is_sound(&whole.record);
}

/* Each type, and each count that says more or less than there is. */
static void test_bodies_fit_their_counts(void)
{
	unsigned int seed = 12;

	for (uint16_t type = 1; type < PATHPROF_RECORD_CNT; type++)
		for (int i = 0; i < 200; i++) {
			union body body;
			size_t bytes = make(&body, type, &seed);

			CU_ASSERT(is_sound(type, &body, bytes));
			CU_ASSERT_FALSE(is_sound(type, &body, bytes + 8));
			CU_ASSERT_FALSE(is_sound(type, &body, bytes - 8));
			CU_ASSERT_FALSE(is_sound(type, &body, 0));
		}
}

static void test_counts_beyond_bounds(void)
{
	union body body = {.words = {0}};
	size_t bytes = make_burst(&body, 4);

	CU_ASSERT(is_sound(PATHPROF_RECORD_BURST, &body, bytes));
	body.burst.head.branch_cnt = UINT32_MAX;
	CU_ASSERT_FALSE(is_sound(PATHPROF_RECORD_BURST, &body, bytes));
	make_burst(&body, 4);
	body.burst.head.taken_cnt = 5;
	CU_ASSERT_FALSE(is_sound(PATHPROF_RECORD_BURST, &body, bytes));
	make_burst(&body, 4);
	body.burst.head.end = PATHPROF_END_CNT;
	CU_ASSERT_FALSE(is_sound(PATHPROF_RECORD_BURST, &body, bytes));
	body.context.context = 65536;
	CU_ASSERT_FALSE(is_sound(PATHPROF_RECORD_CONTEXT, &body, sizeof(body.context)));
	body.context.context = 0;
	CU_ASSERT_FALSE(is_sound(PATHPROF_RECORD_CONTEXT, &body, sizeof(body.context)));
	body.segment.head.branch_cnt = 0;
	CU_ASSERT_FALSE(is_sound(PATHPROF_RECORD_DEFINE, &body, sizeof(body.segment.head)));
	body.segment.head.branch_cnt = PP_CHAIN_SEGMENT_MAX + 1;
	CU_ASSERT_FALSE(is_sound(PATHPROF_RECORD_DEFINE, &body,
				 sizeof(body.segment.head) + (PP_CHAIN_SEGMENT_MAX + 1) * 16));
}

/* Weights are made of these: a branch of no instruction would wrap a span around. */
static void test_instructions_stay_within_the_horizon(void)
{
	union body body = {.words = {0}};
	size_t bytes = make_burst(&body, 5);

	CU_ASSERT(is_sound(PATHPROF_RECORD_BURST, &body, bytes));
	body.burst.branches[3].insns = 0;
	CU_ASSERT_FALSE(is_sound(PATHPROF_RECORD_BURST, &body, bytes));
	make_burst(&body, 5);
	body.burst.branches[4].insns = UINT32_MAX;
	CU_ASSERT_FALSE(is_sound(PATHPROF_RECORD_BURST, &body, bytes));
	make_burst(&body, 5);
	body.burst.head.insn_cnt = 14; /* one less than the branches have */
	CU_ASSERT_FALSE(is_sound(PATHPROF_RECORD_BURST, &body, bytes));
	body.burst.head.insn_cnt = body.burst.head.horizon + 1;
	CU_ASSERT_FALSE(is_sound(PATHPROF_RECORD_BURST, &body, bytes));
	body.burst.head.horizon = 0;
	body.burst.branches[3].insns = 0;
	CU_ASSERT(is_sound(PATHPROF_RECORD_BURST, &body, bytes));
}

static void test_rings_of_another_making(void)
{
	struct pp_kmod_ring ring;
	size_t bytes = sizeof(scene.shared);

	scene_init(0);
	producer()->version++;
	CU_ASSERT_EQUAL(pp_kmod_ring_init(&ring, CPU, producer(), bytes, &scene.consumer), -EPROTO);
	producer()->version--;
	CU_ASSERT_EQUAL(pp_kmod_ring_init(&ring, CPU + 1, producer(), bytes, &scene.consumer),
			-EPROTO);
	CU_ASSERT_EQUAL(pp_kmod_ring_init(&ring, CPU, producer(), bytes - 8, &scene.consumer),
			-EPROTO);
	CU_ASSERT_EQUAL(
		pp_kmod_ring_init(&ring, CPU, producer(), PATHPROF_RING_PAGE, &scene.consumer),
		-EPROTO);
	producer()->data_len_bytes = DATA_BYTES - 8;
	CU_ASSERT_EQUAL(pp_kmod_ring_init(&ring, CPU, producer(), bytes - 8, &scene.consumer),
			-EPROTO);
}

static const struct unit_test tests[] = {
	{"what a writer puts in comes out, over many rounds of the ring", test_stream},
	{"a bit changed in the ring is noticed by the comparison", test_planted_fault_is_found},
	{"positions go on beyond 32 bits", test_positions_are_wide},
	{"a record whose end cannot be known ends the ring", test_torn_sizes_end_the_ring},
	{"no record crosses the data's end", test_no_record_crosses_the_end},
	{"a head that cannot be is an error", test_heads_that_cannot_be},
	{"the shared tail is not read", test_tail_is_not_believed},
	{"records of unknown type, flags or CPU are counted and passed over",
	 test_odd_records_are_passed_over},
	{"missing numbers are counted", test_lost_numbers_are_counted},
	{"each type's body fits its counts to the byte", test_bodies_fit_their_counts},
	{"counts beyond their bounds are refused", test_counts_beyond_bounds},
	{"instructions of a window stay within its horizon",
	 test_instructions_stay_within_the_horizon},
	{"a ring of another version, CPU or size is refused", test_rings_of_another_making},
};
UNIT_SUITE(kmod_ring, tests)
