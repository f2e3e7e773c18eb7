// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One ring, read: see kmod_ring.h. Source: pathprof/kmod_abi.h, which says who writes what and in
 * which order.
 */
#include "kmod_ring.h"

#include <errno.h>

int pp_kmod_ring_init(struct pp_kmod_ring *ret_ring, uint32_t cpu,
		      const struct pathprof_ring_producer *producer, size_t map_bytes,
		      struct pathprof_ring_consumer *consumer)
{
	uint32_t len_bytes;

	if (map_bytes <= PATHPROF_RING_PAGE)
		return -EPROTO;
	len_bytes = producer->data_len_bytes;
	if (producer->version != PATHPROF_KMOD_VERSION || producer->cpu != cpu ||
	    producer->data_off_bytes != PATHPROF_RING_PAGE ||
	    len_bytes != map_bytes - PATHPROF_RING_PAGE || (len_bytes & (len_bytes - 1)))
		return -EPROTO;
	*ret_ring = (struct pp_kmod_ring){
		.producer = producer,
		.consumer = consumer,
		.data = (const unsigned char *)producer + PATHPROF_RING_PAGE,
		.len_bytes = len_bytes,
		.cpu = cpu,
	};
	return 0;
}

/* ---------------------------------------------------------------- reading */

/*
 * most_bytes were written and lie before the data's end, a multiple of 8. A PAD may have only 8
 * bytes: half a head, with its size and type.
 */
static bool has_end(const struct pathprof_record *record, uint64_t most_bytes)
{
	bool is_pad = record->type == PATHPROF_RECORD_PAD;

	return record->size_bytes >= (is_pad ? 8 : sizeof(*record)) &&
	       record->size_bytes % 8 == 0 && record->size_bytes <= most_bytes;
}

/* The number of written bytes that lie in one piece, up to the end of the data area. */
static uint64_t straight_bytes(const struct pp_kmod_ring *ring, uint64_t head)
{
	uint64_t left_bytes = head - ring->tail;
	uint64_t to_end_bytes = ring->len_bytes - (ring->tail & (ring->len_bytes - 1));

	return left_bytes < to_end_bytes ? left_bytes : to_end_bytes;
}

static void take(struct pp_kmod_ring *ring, const struct pathprof_record *record,
		 pp_chain_record_fn *fn, void *context)
{
	if (record->type == PATHPROF_RECORD_PAD)
		return;
	ring->missing += (uint32_t)(record->seq - ring->seq);
	ring->seq = record->seq + 1;
	ring->received++;
	ring->received_bytes += record->size_bytes;
	if (record->cpu == ring->cpu && pp_chain_record_is_sound(record))
		fn(context, record);
	else
		ring->malformed++;
}

int pp_kmod_ring_drain(struct pp_kmod_ring *ring, pp_chain_record_fn *fn, void *context)
{
	/* Pairs with the module's release: what lies before head is written. */
	uint64_t head = __atomic_load_n(&ring->producer->head, __ATOMIC_ACQUIRE);
	int r = 0;

	if (head - ring->tail > ring->len_bytes || (head - ring->tail) % 8)
		r = -EPROTO;
	while (!r && ring->tail != head) {
		uint64_t at = ring->tail & (ring->len_bytes - 1);
		const struct pathprof_record *record = (const void *)(ring->data + at);

		if (!has_end(record, straight_bytes(ring, head))) {
			r = -EPROTO;
			break;
		}
		take(ring, record, fn, context);
		ring->tail += record->size_bytes;
	}
	if (r) {
		ring->malformed++;
		ring->tail = head;
	}
	/* Pairs with the module's acquire: it writes there only when all was read. */
	__atomic_store_n(&ring->consumer->tail, ring->tail, __ATOMIC_RELEASE);
	return r;
}
