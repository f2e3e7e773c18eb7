// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Protobuf in gzip: see pp_pprof.h. */
#include "pp_pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

static int deflate_into(FILE *file, uint8_t *bytes, size_t len)
{
	uint8_t out[1 << 14] = {0};
	z_stream z = {.next_in = bytes};
	int state;

	/* 16: gzip's header and not zlib's */
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do {
		size_t now = len > UINT32_MAX / 2 ? UINT32_MAX / 2 : len;

		if (!z.avail_in) {
			z.avail_in = (uInt)now;
			len -= now;
		}
		z.next_out = out;
		z.avail_out = sizeof(out);
		state = deflate(&z, len ? Z_NO_FLUSH : Z_FINISH);
		fwrite(out, 1, sizeof(out) - z.avail_out, file);
	} while (state == Z_OK);
	deflateEnd(&z);
	return state == Z_STREAM_END ? 0 : -ENOMEM;
}

int pp_pprof_write(const PpPprof__Profile *profile, FILE *file)
{
	size_t len = pp_pprof__profile__get_packed_size(profile);
	uint8_t *bytes = malloc(len + 1);
	int r;

	if (!bytes)
		return -ENOMEM;
	pp_pprof__profile__pack(profile, bytes);
	r = deflate_into(file, bytes, len);
	free(bytes);
	return r;
}
