// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as the ring of the kernel module: the input is where the reader stands, how far the
 * writer says it came, and the data.
 *
 * Beyond "no crash": every record handed over is sound and lies within the data; the tail moves to
 * the head, whatever was there; what was received and what was malformed adds up.
 */
#include <string.h>

#include "../../daemon/kmod/kmod_ring.h"
#include "fuzz.h"

#define DATA_BYTES 2048u

struct shared {
	_Alignas(8) unsigned char page[PATHPROF_RING_PAGE];
	unsigned char data[DATA_BYTES];
};

struct tally {
	const struct shared *shared;
	uint64_t cnt, sum;
};

/* Reads every byte of it, so that a sanitizer sees where they lie. */
static void on_record(void *context, const struct pathprof_record *record)
{
	struct tally *tally = context;
	const unsigned char *at = (const unsigned char *)record;

	REQUIRE(at >= tally->shared->data);
	REQUIRE(at + record->size_bytes <= tally->shared->data + DATA_BYTES);
	REQUIRE(record->type != PATHPROF_RECORD_PAD && record->type < PATHPROF_RECORD_CNT);
	REQUIRE(pp_chain_record_is_sound(record));
	for (uint32_t i = 0; i < record->size_bytes; i++)
		tally->sum += at[i];
	tally->cnt++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct shared shared;
	struct pathprof_ring_producer *producer = (void *)shared.page;
	struct pathprof_ring_consumer consumer = {0};
	struct tally tally = {.shared = &shared};
	struct pp_kmod_ring ring;
	uint16_t start, leap;

	if (size < 4)
		return 0;
	memcpy(&start, data, 2);
	memcpy(&leap, data + 2, 2);
	memset(&shared, 0, sizeof(shared));
	memcpy(shared.data, data + 4, size - 4 < DATA_BYTES ? size - 4 : DATA_BYTES);
	*producer = (struct pathprof_ring_producer){.version = PATHPROF_KMOD_VERSION,
						    .data_off_bytes = PATHPROF_RING_PAGE,
						    .data_len_bytes = DATA_BYTES};
	REQUIRE(!pp_kmod_ring_init(&ring, 0, producer, sizeof(shared), &consumer));
	ring.tail = start & ~7u;
	producer->head = ring.tail + leap;
	pp_kmod_ring_drain(&ring, on_record, &tally);
	REQUIRE(consumer.tail == producer->head);
	REQUIRE(tally.cnt <= ring.received && ring.received - tally.cnt <= ring.malformed);
	return 0;
}
