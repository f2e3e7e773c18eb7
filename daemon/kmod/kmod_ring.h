/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading one ring of the kernel module (pathprof/kmod_abi.h). Its records are written by the
 * module and are still checked against the interface, one by one: a module of another making, or a
 * fault in it, must not take the daemon down.
 *
 * Workload: a ring of 1 MB, emptied some times a second; 10^2 to 10^5 records. One reader a ring.
 * The memory is the caller's (the device's mappings, or a test's).
 */
#ifndef PP_KMOD_RING_H
#define PP_KMOD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../chain/chain_records.h"
#include "pathprof/kmod_abi.h"

struct pp_kmod_ring {
	const struct pathprof_ring_producer *producer;
	struct pathprof_ring_consumer *consumer;
	const unsigned char *data;
	uint64_t tail;      /* bytes read; the shared one is written only */
	uint32_t len_bytes; /* of the data, a power of two */
	uint32_t cpu;
	uint32_t seq;                          /* of the record expected next */
	uint64_t received, missing, malformed; /* records; missing: by their numbers */
	uint64_t received_bytes;
};

/*
 * producer is followed by its data, map_bytes in all. -EPROTO: not what the interface says.
 */
int pp_kmod_ring_init(struct pp_kmod_ring *ret_ring, uint32_t cpu,
		      const struct pathprof_ring_producer *producer, size_t map_bytes,
		      struct pathprof_ring_consumer *consumer);

/*
 * Hands over what was written until now, in order, and gives the room back. Records that make no
 * sense are counted and passed over; -EPROTO when the ring cannot be followed: no record's end is
 * known then, and what was left is given up.
 */
int pp_kmod_ring_drain(struct pp_kmod_ring *ring, pp_chain_record_fn *fn, void *context);

#endif
