// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Records out of compressed ones (perf record -z). All of a recording is one zstd stream, cut into
 * records anywhere: one may end in the next.
 *
 * Workload: some ten KB a call. A buffer holds the longest record's rest and some more; the window
 * of the stream is bounded to 8 MB (levels up to 19).
 *
 * Source: tools/lib/perf/include/perf/event.h, struct perf_record_compressed and _compressed2.
 */
#include "pp_perf.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd_errors.h>

#define WINDOW_LOG_MAX 23

void pp_perf_unpack_release(struct pp_perf_unpack *unpack)
{
	ZSTD_freeDCtx(unpack->context);
	free(unpack->bytes);
}

static int start(struct pp_perf_unpack *unpack)
{
	if (unpack->context)
		return 0;
	unpack->bytes = malloc(PP_PERF_UNPACK_BYTES);
	unpack->context = unpack->bytes ? ZSTD_createDCtx() : NULL;
	if (!unpack->context) {
		free(unpack->bytes);
		unpack->bytes = NULL;
		return -ENOMEM;
	}
	ZSTD_DCtx_setParameter(unpack->context, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	return 0;
}

/* What is whole of it goes on, the rest stays in front of what comes next. */
static int pass_on(struct pp_perf *perf, struct pathprof_error *error)
{
	struct pp_perf_unpack *unpack = &perf->unpack;
	size_t at = 0;
	int r = 0;

	while (r == 0 && unpack->cnt - at >= PP_PERF_HEADER_BYTES) {
		const uint8_t *record = unpack->bytes + at;
		uint16_t size = pp_perf_size(record);
		uint32_t type = pp_perf_type(record);

		if (size < PP_PERF_HEADER_BYTES || type == PP_PERF_COMPRESSED ||
		    type == PP_PERF_COMPRESSED2 || type == PP_PERF_AUXTRACE ||
		    type == PP_PERF_TRACING_DATA)
			return pp_recording_bad(perf->recording, error,
						"a compressed record of type %u and %u bytes", type,
						size);
		if (size > unpack->cnt - at)
			break;
		perf->recording->stats.records++;
		r = pp_perf_record(perf, record, error);
		at += size;
	}
	unpack->cnt -= at;
	memmove(unpack->bytes, unpack->bytes + at, unpack->cnt);
	return r;
}

static int refuse(struct pp_perf *perf, size_t code, struct pathprof_error *error)
{
	if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
		return pathprof_fail(error, -EPROTO,
				     "%s: compressed at a level beyond 19, which takes more memory "
				     "than is given here: import what perf script prints",
				     perf->recording->name);
	return pp_recording_bad(perf->recording, error, "its compressed records are damaged: %s",
				ZSTD_getErrorName(code));
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

int pp_perf_unpack_record(struct pp_perf *perf, const uint8_t *record, struct pathprof_error *error)
{
	struct pp_perf_unpack *unpack = &perf->unpack;
	ZSTD_inBuffer in;
	bool filled;

	perf->record_at = PP_PERF_NOT_IN_FILE;
	if (start(unpack) < 0)
		return pp_recording_no_memory(error);
	if (!payload(record, &in))
		return pp_recording_bad(perf->recording, error, "a compressed record too short");
	do {
		ZSTD_outBuffer out = {unpack->bytes, PP_PERF_UNPACK_BYTES, unpack->cnt};
		size_t code = ZSTD_decompressStream(unpack->context, &out, &in);
		int r;

		if (ZSTD_isError(code))
			return refuse(perf, code, error);
		filled = out.pos == out.size;
		unpack->cnt = out.pos;
		r = pass_on(perf, error);
		if (r < 0)
			return r;
	} while (in.pos < in.size || filled);
	return 0;
}
