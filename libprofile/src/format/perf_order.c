// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Records in the order of time. perf writes what each CPU's buffer holds one after the other, and
 * then says that a round has ended: whatever comes later is newer than all that had come when the
 * round before it ended. So a round sets free what the one before it had seen.
 *
 * Workload: some thousand records a round, made of one ascending run a CPU, which the merge sort
 * takes as they are. Records of one time stay in the order of the file.
 *
 * Memory is bounded. What does not fit is read again from the file when its turn comes, some 40
 * records at a time: what each CPU wrote lies together, and 4 MB of pieces do for 128 of them. Of a
 * pipe, or out of compressed records, that cannot be: then the older half goes before its time,
 * some of the order is lost and nothing else, and `late_cnt` says how much.
 *
 * Ownership: the order owns its copies; a delivered record is valid during the call only.
 * Source: the rounds are those of tools/perf/util/ordered-events.c.
 */
#include "pp_perf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vector.h"

#define OFFSET_BITS 47 /* of a file */
#define OFFSET_MASK ((1ull << OFFSET_BITS) - 1)

void pp_perf_order_release(struct pp_perf_order *order)
{
	for (size_t i = 0; i < PP_PERF_BLOCKS; i++)
		free(order->blocks[i].bytes);
	free(order->queue);
	free(order->scratch);
	free(order->pieces);
	free(order->again);
}

/* ---------------------------------------------------------------- in */

static bool has_room(const struct pp_perf_block *block, size_t len)
{
	return PP_PERF_BLOCK_BYTES - block->used_bytes >= len;
}

static uint32_t block_cnt(const struct pp_perf_order *order)
{
	return PP_PERF_BLOCKS - order->blocks_kept_back;
}

/* A block with so much room becomes the one that is filled. */
static int find_block(struct pp_perf_order *order, size_t len)
{
	struct pp_perf_block *block = &order->blocks[order->block];
	uint32_t i = 0;

	if (block->bytes && has_room(block, len))
		return 0;
	while (i < block_cnt(order) && order->blocks[i].live_cnt)
		i++;
	if (i >= block_cnt(order))
		return -ENOBUFS;
	block = &order->blocks[i];
	if (!block->bytes)
		block->bytes = malloc(PP_PERF_BLOCK_BYTES);
	if (!block->bytes)
		return -ENOMEM;
	block->used_bytes = 0;
	order->block = i;
	return 0;
}

static int grow_queue(struct pp_perf_order *order)
{
	size_t room = order->room ? 2 * order->room : 3072;

	if (order->cnt < order->room)
		return 0;
	if (order->room >= PP_PERF_QUEUE_MAX)
		return -ENOBUFS;
	if (pp_resize(&order->queue, room) < 0 || pp_resize(&order->scratch, room / 2 + 1) < 0)
		return -ENOMEM;
	order->room = room;
	return 0;
}

/* A copy in a block; *ret_place says where. */
static int keep(struct pp_perf_order *order, const uint8_t *record, uint64_t *ret_place)
{
	size_t len = (pp_perf_size(record) + 7u) & ~7u;
	struct pp_perf_block *block;
	int r = find_block(order, len);

	if (r < 0)
		return r;
	block = &order->blocks[order->block];
	memcpy(block->bytes + block->used_bytes, record, pp_perf_size(record));
	*ret_place = (uint64_t)order->block << 16 | block->used_bytes;
	block->used_bytes += (uint32_t)len;
	block->live_cnt++;
	return 0;
}

int pp_perf_order_put(struct pp_perf_order *order, uint64_t time_ns, const uint8_t *record,
		      uint64_t offset)
{
	uint64_t place = 0;
	int r = grow_queue(order);

	if (r == 0)
		r = keep(order, record, &place);
	if (r == -ENOBUFS && order->cnt < order->room && order->fd >= 0 && offset <= OFFSET_MASK) {
		place = PP_PERF_IN_FILE | (uint64_t)pp_perf_size(record) << OFFSET_BITS | offset;
		r = 0;
	}
	if (r < 0)
		return r;
	order->queue[order->cnt++] = (struct pp_perf_queued){.time_ns = time_ns, .place = place};
	if (time_ns > order->newest_ns)
		order->newest_ns = time_ns;
	return 0;
}

/* ---------------------------------------------------------------- sorting */

/* Merges [0, mid) and [mid, cnt); a place of the left half goes first among equals. */
static void merge(struct pp_perf_queued *queue, size_t mid, size_t cnt, struct pp_perf_queued *left)
{
	size_t i = 0, j = mid, out = 0;

	if (queue[mid - 1].time_ns <= queue[mid].time_ns)
		return;
	memcpy(left, queue, mid * sizeof(*queue));
	while (i < mid && j < cnt)
		queue[out++] = queue[j].time_ns < left[i].time_ns ? queue[j++] : left[i++];
	memcpy(queue + out, left + i, (mid - i) * sizeof(*queue));
}

static bool is_sorted(const struct pp_perf_queued *queue, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++)
		if (queue[i].time_ns < queue[i - 1].time_ns)
			return false;
	return true;
}

/* Merge sort; the depth of recursion is the logarithm of cnt. */
static void sort(struct pp_perf_queued *queue, size_t cnt, struct pp_perf_queued *scratch)
{
	size_t mid = cnt / 2;

	if (is_sorted(queue, cnt))
		return;
	sort(queue, mid, scratch);
	sort(queue + mid, cnt - mid, scratch);
	merge(queue, mid, cnt, scratch);
}

/* ---------------------------------------------------------------- out */

static ssize_t read_at(int fd, uint8_t *bytes, size_t len, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(fd, bytes, len, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* The piece of that number; the one unused longest goes where it has to be read. */
static int find_piece(struct pp_perf_order *order, uint64_t number, size_t *ret_piece)
{
	struct pp_perf_pieces *pieces = order->pieces;
	size_t oldest = 0;
	ssize_t got;

	for (size_t i = 0; i < PP_PERF_PIECES; i++) {
		if (pieces->numbers[i] == number) {
			*ret_piece = i;
			return 0;
		}
		if (pieces->used_at[i] < pieces->used_at[oldest])
			oldest = i;
	}
	pieces->numbers[oldest] = PP_PERF_NO_PIECE;
	got = read_at(order->fd, pieces->bytes[oldest], PP_PERF_PIECE_BYTES,
		      number * PP_PERF_PIECE_BYTES);
	if (got < 0)
		return (int)got;
	pieces->numbers[oldest] = number;
	pieces->len_bytes[oldest] = (uint32_t)got;
	*ret_piece = oldest;
	return 0;
}

static int start_pieces(struct pp_perf_order *order)
{
	if (order->pieces)
		return 0;
	order->again = malloc(PP_PERF_BLOCK_BYTES);
	order->pieces = order->again ? malloc(sizeof(*order->pieces)) : NULL;
	if (!order->pieces) {
		free(order->again);
		order->again = NULL;
		return -ENOMEM;
	}
	order->pieces->now = 0;
	for (size_t i = 0; i < PP_PERF_PIECES; i++) {
		order->pieces->numbers[i] = PP_PERF_NO_PIECE;
		order->pieces->used_at[i] = 0;
	}
	return 0;
}

/* The bytes that one piece has from an offset on; *ret_got 0: beyond the end of the file. */
static int read_piece(struct pp_perf_order *order, uint64_t offset, const uint8_t **ret_bytes,
		      size_t *ret_got)
{
	struct pp_perf_pieces *pieces = order->pieces;
	size_t at = offset % PP_PERF_PIECE_BYTES, piece = 0;
	int r = find_piece(order, offset / PP_PERF_PIECE_BYTES, &piece);

	if (r < 0)
		return r;
	pieces->used_at[piece] = ++pieces->now;
	*ret_bytes = pieces->bytes[piece] + at;
	*ret_got = pieces->len_bytes[piece] > at ? pieces->len_bytes[piece] - at : 0;
	return 0;
}

/* Gives size bytes, fewer at the end of the file: in a piece, or copied out of several. */
static int read_pieces(struct pp_perf_order *order, uint64_t offset, size_t size,
		       const uint8_t **ret_bytes, size_t *ret_got)
{
	const uint8_t *bytes;
	size_t have = 0, got;
	int r = read_piece(order, offset, &bytes, &got);

	if (r == 0 && got >= size) {
		*ret_bytes = bytes;
		*ret_got = size;
		return 0;
	}
	while (r == 0 && got && have < size) {
		got = got < size - have ? got : size - have;
		memcpy(order->again + have, bytes, got);
		have += got;
		if (have < size)
			r = read_piece(order, offset + have, &bytes, &got);
	}
	*ret_bytes = order->again;
	*ret_got = have;
	return r;
}

/* Reads a record again; fails when its size is another one, for then the file has changed. */
static int read_again(struct pp_perf_order *order, uint64_t place, const uint8_t **ret_record,
		      struct pathprof_error *error)
{
	size_t size = place >> OFFSET_BITS & 0xffff, got = 0;
	int r = start_pieces(order);

	if (r < 0)
		return pp_recording_no_memory(error);
	r = read_pieces(order, place & OFFSET_MASK, size, ret_record, &got);
	if (r < 0)
		return pathprof_fail(error, r, "reading a record again: %s", strerror(-r));
	if (got < size || pp_perf_size(*ret_record) != size)
		return pathprof_fail(error, -EBADMSG, "the file changed while it was read");
	return 0;
}

static int deliver_one(struct pp_perf_order *order, const struct pp_perf_queued *queued,
		       pp_perf_deliver deliver, void *context, struct pathprof_error *error)
{
	struct pp_perf_block *block = NULL;
	const uint8_t *record = NULL;
	int r = 0;

	if (queued->time_ns < order->last_ns)
		order->late_cnt++;
	else
		order->last_ns = queued->time_ns;
	if (queued->place & PP_PERF_IN_FILE) {
		r = read_again(order, queued->place, &record, error);
	} else {
		block = &order->blocks[queued->place >> 16];
		record = block->bytes + (queued->place & 0xffff);
	}
	if (r == 0)
		r = deliver(context, record, error);
	if (block)
		block->live_cnt--;
	return r;
}

/* The first `most` of those up to limit. */
static int deliver_until(struct pp_perf_order *order, uint64_t limit_ns, size_t most,
			 pp_perf_deliver deliver, void *context, struct pathprof_error *error)
{
	size_t i = 0;
	int r = 0;

	sort(order->queue, order->cnt, order->scratch);
	while (r == 0 && i < order->cnt && i < most && order->queue[i].time_ns <= limit_ns)
		r = deliver_one(order, &order->queue[i++], deliver, context, error);
	order->cnt -= i;
	if (order->cnt)
		memmove(order->queue, order->queue + i, order->cnt * sizeof(*order->queue));
	return r;
}

int pp_perf_order_round(struct pp_perf_order *order, pp_perf_deliver deliver, void *context,
			struct pathprof_error *error)
{
	int r = deliver_until(order, order->limit_ns, SIZE_MAX, deliver, context, error);

	order->limit_ns = order->newest_ns;
	return r;
}

static bool has_free_block(const struct pp_perf_order *order)
{
	for (size_t i = 0; i < block_cnt(order); i++)
		if (!order->blocks[i].live_cnt)
			return true;
	return false;
}

int pp_perf_order_half(struct pp_perf_order *order, pp_perf_deliver deliver, void *context,
		       struct pathprof_error *error)
{
	int r = deliver_until(order, UINT64_MAX, order->cnt / 2 + 1, deliver, context, error);

	if (r == 0 && !has_free_block(order))
		r = pp_perf_order_all(order, deliver, context, error);
	return r;
}

int pp_perf_order_until(struct pp_perf_order *order, uint64_t limit_ns, pp_perf_deliver deliver,
			void *context, struct pathprof_error *error)
{
	return deliver_until(order, limit_ns, SIZE_MAX, deliver, context, error);
}

int pp_perf_order_all(struct pp_perf_order *order, pp_perf_deliver deliver, void *context,
		      struct pathprof_error *error)
{
	return deliver_until(order, UINT64_MAX, SIZE_MAX, deliver, context, error);
}
