// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Records out of compressed ones (perf record -z). All of a file is one zstd stream, cut into
 * records anywhere: one may end in the next.
 *
 * Workload: some ten KB a call. What comes out goes through one buffer of the reader, in front of
 * it what the file's last compressed record left unfinished.
 *
 * Memory: the window of a stream may take 8 MB (levels up to 19), and all those of a directory 16.
 * Wider ones (levels 20 to 22: 32 to 128 MB) are read as long as what came out is no more than
 * WIDE_BYTES_MAX: a window takes no more memory than was written into it.
 *
 * Source: tools/lib/perf/include/perf/event.h, struct perf_record_compressed and _compressed2.
 */
#include "pp_perf.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd_errors.h>

#include "base/vector.h"

#define WINDOW_LOG      23 /* 8 MB */
#define WINDOW_LOG_ALL  24 /* of all files of a directory together */
#define WINDOW_LOG_WIDE 27
#define WIDE_BYTES_MAX  (16u << 20)
/* With a wide window, or several, records that wait for their order get 4 MB. */
#define BLOCKS_LEFT 64

void pp_perf_unpack_release(struct pp_perf_unpack *unpack)
{
	ZSTD_freeDCtx(unpack->context);
	free(unpack->rest);
}

/* ---------------------------------------------------------------- windows */

static int window_log(const struct pp_perf *perf)
{
	int log = WINDOW_LOG_ALL;

	for (uint32_t cnt = 1; cnt < perf->parts.cnt; cnt *= 2)
		log--;
	return log < WINDOW_LOG ? log : WINDOW_LOG;
}

static int start(struct pp_perf *perf, struct pp_perf_unpack *unpack, struct pathprof_error *error)
{
	if (unpack->context)
		return 0;
	if (perf->parts.cnt > PP_PERF_PACKED_PARTS_MAX)
		return pathprof_fail(error, -EPROTO,
				     "%s: more than %u compressed files in a directory take more "
				     "memory than is given here: import what perf script prints",
				     perf->recording->name, PP_PERF_PACKED_PARTS_MAX);
	if (!perf->unpacked)
		perf->unpacked = malloc(PP_PERF_UNPACK_BYTES);
	unpack->context = perf->unpacked ? ZSTD_createDCtx() : NULL;
	if (!unpack->context)
		return pp_recording_no_memory(error);
	ZSTD_DCtx_setParameter(unpack->context, ZSTD_d_windowLogMax, window_log(perf));
	if (perf->parts.cnt)
		perf->order.blocks_kept_back = PP_PERF_BLOCKS - BLOCKS_LEFT;
	return 0;
}

/* Begins the stream again with a wide window; false: there may be none. */
static bool widen(struct pp_perf *perf, struct pp_perf_unpack *unpack, ZSTD_inBuffer *in)
{
	if (unpack->wide || unpack->out_bytes || perf->parts.cnt)
		return false;
	unpack->wide = true;
	perf->order.blocks_kept_back = PP_PERF_BLOCKS - BLOCKS_LEFT;
	ZSTD_DCtx_reset(unpack->context, ZSTD_reset_session_only);
	ZSTD_DCtx_setParameter(unpack->context, ZSTD_d_windowLogMax, WINDOW_LOG_WIDE);
	in->pos = 0;
	return true;
}

static int refuse_window(struct pp_perf *perf, struct pathprof_error *error)
{
	return pathprof_fail(error, -EPROTO,
			     "%s: compressed at a level that takes more memory than is given here "
			     "(%s): import what perf script prints",
			     perf->recording->name,
			     perf->parts.cnt ? "less is left for each file of a directory"
					     : "beyond 19, and more than 16 MB of records");
}

static int refuse(struct pp_perf *perf, size_t code, struct pathprof_error *error)
{
	if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
		return refuse_window(perf, error);
	return pp_recording_bad(perf->recording, error, "its compressed records are damaged: %s",
				ZSTD_getErrorName(code));
}

/* ---------------------------------------------------------------- records */

static int keep_rest(struct pp_perf_unpack *unpack, const uint8_t *bytes, size_t cnt)
{
	if (cnt > unpack->rest_room) {
		if (pp_resize(&unpack->rest, cnt) < 0)
			return -ENOMEM;
		unpack->rest_room = cnt;
	}
	if (cnt)
		memcpy(unpack->rest, bytes, cnt);
	unpack->rest_cnt = cnt;
	return 0;
}

/* Hands on the complete records and keeps the rest. */
static int pass_on(struct pp_perf *perf, struct pp_perf_unpack *unpack, size_t cnt,
		   struct pathprof_error *error)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && cnt - at >= PP_PERF_HEADER_BYTES) {
		const uint8_t *record = perf->unpacked + at;
		uint16_t size = pp_perf_size(record);
		uint32_t type = pp_perf_type(record);

		if (size < PP_PERF_HEADER_BYTES || type == PP_PERF_COMPRESSED ||
		    type == PP_PERF_COMPRESSED2 || type == PP_PERF_AUXTRACE ||
		    type == PP_PERF_TRACING_DATA)
			return pp_recording_bad(perf->recording, error,
						"a compressed record of type %u and %u bytes", type,
						size);
		if (size > cnt - at)
			break;
		perf->recording->stats.records++;
		r = pp_perf_record(perf, record, error);
		at += size;
	}
	if (r == 0 && keep_rest(unpack, perf->unpacked + at, cnt - at) < 0)
		return pp_recording_no_memory(error);
	return r;
}

/* The payload; false: it does not fit the record. */
static bool payload(const uint8_t *record, ZSTD_inBuffer *ret_in)
{
	size_t size = pp_perf_size(record), at = PP_PERF_HEADER_BYTES;
	uint64_t told;

	if (pp_perf_type(record) == PP_PERF_COMPRESSED2) {
		if (size < at + 8)
			return false;
		told = pp_perf_u64(record + at);
		at += 8;
		if (told > size - at)
			return false;
		size = at + (size_t)told;
	}
	*ret_in = (ZSTD_inBuffer){.src = record + at, .size = size - at};
	return true;
}

/* A buffer full. */
static int unpack_some(struct pp_perf *perf, struct pp_perf_unpack *unpack, ZSTD_inBuffer *in,
		       bool *ret_filled, struct pathprof_error *error)
{
	ZSTD_outBuffer out = {perf->unpacked, PP_PERF_UNPACK_BYTES, unpack->rest_cnt};
	size_t code;

	if (unpack->rest_cnt)
		memcpy(perf->unpacked, unpack->rest, unpack->rest_cnt);
	code = ZSTD_decompressStream(unpack->context, &out, in);
	if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge &&
	    widen(perf, unpack, in))
		code = ZSTD_decompressStream(unpack->context, &out, in);
	if (ZSTD_isError(code))
		return refuse(perf, code, error);
	unpack->out_bytes += out.pos - unpack->rest_cnt;
	if (unpack->wide && unpack->out_bytes > WIDE_BYTES_MAX)
		return refuse_window(perf, error);
	*ret_filled = out.pos == out.size;
	return pass_on(perf, unpack, out.pos, error);
}

int pp_perf_unpack_record(struct pp_perf *perf, const uint8_t *record, struct pathprof_error *error)
{
	struct pp_perf_unpack *unpack = &perf->file->unpack;
	bool filled = false;
	ZSTD_inBuffer in;
	int r = start(perf, unpack, error);

	perf->record_at = PP_PERF_NOT_IN_FILE;
	if (r < 0)
		return r;
	if (!payload(record, &in))
		return pp_recording_bad(perf->recording, error, "a compressed record too short");
	do
		r = unpack_some(perf, unpack, &in, &filled, error);
	while (r == 0 && (in.pos < in.size || filled));
	return r;
}
