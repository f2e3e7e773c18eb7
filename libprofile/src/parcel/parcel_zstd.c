// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * One zstd frame of a known size with a checksum, and nothing behind it. The size is checked before
 * anything is unpacked.
 */
#include "pp_parcel.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

/* Higher levels do not make a parcel of 50 kB smaller; this one takes 5 ms more than level 3. */
#define LEVEL_COLUMNS 15
/* Rows are packed already. This level needs less memory, and makes names 0.2 kB larger. */
#define LEVEL_ROWS 5
/* A column repeats itself nearby. A window of all of a parcel of 2 MB saves nothing more, and zstd
 * would take 30 MB more memory on a host that has other work. */
#define WINDOW_LOG 18

static size_t compress(uint8_t *out, size_t out_bytes, const uint8_t *message, size_t bytes,
		       int level)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t len = SIZE_MAX; /* an error code of zstd's */

	if (!context)
		return len;
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, WINDOW_LOG);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	len = ZSTD_compress2(context, out, out_bytes, message, bytes);
	ZSTD_freeCCtx(context);
	return len;
}

int pp_parcel_pack(const uint8_t *message, size_t message_bytes, uint32_t version,
		   uint8_t **ret_bytes, size_t *ret_len_bytes, struct pathprof_error *error)
{
	size_t bound = ZSTD_compressBound(message_bytes), len;
	uint8_t *out = malloc(bound);

	if (!out)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	len = compress(out, bound, message, message_bytes,
		       version >= PP_PARCEL_ROWS ? LEVEL_ROWS : LEVEL_COLUMNS);
	if (ZSTD_isError(len)) {
		free(out);
		return pathprof_fail(error, -ENOMEM, "zstd: %s", ZSTD_getErrorName(len));
	}
	if (len > PATHPROF_PARCEL_PACKED_MAX) {
		free(out);
		return pathprof_fail(error, -E2BIG, "the parcel has %zu bytes packed, above %u",
				     len, PATHPROF_PARCEL_PACKED_MAX);
	}
	*ret_bytes = out;
	*ret_len_bytes = len;
	return 0;
}

/* The size that the frame's head tells, within the limit. */
static int message_size(const void *bytes, size_t len_bytes, size_t *ret_bytes,
			struct pathprof_error *error)
{
	unsigned long long size;

	if (len_bytes > PATHPROF_PARCEL_PACKED_MAX)
		return pathprof_fail(error, -E2BIG, "the parcel has %zu bytes packed, above %u",
				     len_bytes, PATHPROF_PARCEL_PACKED_MAX);
	size = ZSTD_getFrameContentSize(bytes, len_bytes);
	if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
		return pathprof_fail(error, -EBADMSG, "no parcel: not a zstd frame of known size");
	if (size > PATHPROF_PARCEL_UNPACKED_MAX)
		return pathprof_fail(error, -E2BIG, "the parcel has %llu bytes unpacked, above %u",
				     size, PATHPROF_PARCEL_UNPACKED_MAX);
	if (ZSTD_findFrameCompressedSize(bytes, len_bytes) != len_bytes)
		return pathprof_fail(error, -EBADMSG,
				     "the parcel is damaged: it is cut off, or more follows it");
	*ret_bytes = (size_t)size;
	return 0;
}

int pp_parcel_unpack(const void *bytes, size_t len_bytes, uint8_t **ret_message,
		     size_t *ret_message_bytes, struct pathprof_error *error)
{
	size_t size = 0, got;
	uint8_t *message;
	int r = message_size(bytes, len_bytes, &size, error);

	if (r < 0)
		return r;
	message = malloc(size + 1);
	if (!message)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	got = ZSTD_decompress(message, size, bytes, len_bytes);
	if (ZSTD_isError(got) || got != size) {
		free(message);
		return pathprof_fail(error, -EBADMSG, "the parcel is damaged: %s",
				     ZSTD_isError(got) ? ZSTD_getErrorName(got)
						       : "it has another size than it says");
	}
	*ret_message = message;
	*ret_message_bytes = size;
	return 0;
}
