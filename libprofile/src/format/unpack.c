// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Packed recordings: see pp_unpack.h. */
#include "pp_unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define PIECE_BYTES (256u << 10)
#define MORE_MS     10

/* An unpacking under way. */
struct unpacking {
	const char *name, *folder;
	int from, to;
	struct pathprof_error *error;
	uint8_t in[PIECE_BYTES], out[PIECE_BYTES];
};

/* ---------------------------------------------------------------- how it begins */

/* Waits for a writer's first bytes, and leaves them in the pipe. */
static ssize_t peek_pipe_once(int fd, void *bytes, size_t len)
{
	ssize_t got;
	int copy[2];

	if (pipe2(copy, O_CLOEXEC) < 0)
		return -1;
	do
		got = tee(fd, copy[1], len, 0);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		got = read(copy[0], bytes, (size_t)got);
	close(copy[0]);
	close(copy[1]);
	return got;
}

/* Waits a little for more behind what is in the pipe; false: its writers have gone. */
static bool may_have_more(int fd)
{
	struct pollfd pipe = {.fd = fd};

	return poll(&pipe, 1, MORE_MS) <= 0;
}

/* A writer may begin with fewer bytes than are asked for. */
static ssize_t peek_pipe(int fd, void *bytes, size_t len)
{
	bool is_last = false;
	ssize_t got;

	for (;;) {
		got = peek_pipe_once(fd, bytes, len);
		if (got <= 0 || (size_t)got == len || is_last)
			return got;
		is_last = !may_have_more(fd);
	}
}

ssize_t pp_recording_peek(int fd, void *ret_bytes, size_t len_bytes)
{
	ssize_t got = pread(fd, ret_bytes, len_bytes, 0);

	if (got < 0 && errno == ESPIPE)
		got = peek_pipe(fd, ret_bytes, len_bytes);
	return got < 0 ? 0 : got;
}

/* ---------------------------------------------------------------- the new file */

/* It has no name any more when this returns, and goes with its descriptor. */
static int open_nameless(struct unpacking *u)
{
	char path[PATH_MAX];
	int len;

	u->folder = getenv("TMPDIR");
	if (!u->folder || !u->folder[0])
		u->folder = "/var/tmp";
	len = snprintf(path, sizeof(path), "%s/pathprof-XXXXXX", u->folder);
	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	u->to = mkostemp(path, O_CLOEXEC);
	if (u->to < 0)
		return -errno;
	unlink(path);
	return 0;
}

static int cannot_write(const struct unpacking *u, int r)
{
	return pathprof_fail(u->error, r,
			     "%s: cannot be unpacked into %s: %s: TMPDIR names another folder",
			     u->name, u->folder, strerror(-r));
}

static int write_out(const struct unpacking *u, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t put = write(u->to, u->out + at, len - at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return cannot_write(u, -errno);
		at += (size_t)put;
	}
	return 0;
}

static int is_damaged(const struct unpacking *u, const char *why)
{
	return pathprof_fail(u->error, -EBADMSG, "%s: is packed, and damaged or cut off: %s",
			     u->name, why);
}

/* ---------------------------------------------------------------- gzip */

static int read_gzip(struct unpacking *u, gzFile file)
{
	int got, code, r = 0;

	while (r == 0 && (got = gzread(file, u->out, sizeof(u->out))) > 0)
		r = write_out(u, (size_t)got);
	if (r < 0)
		return r;
	/* If the file is cut off, the last read returns the bytes that there are. */
	gzerror(file, &code);
	return code == Z_OK ? 0 : is_damaged(u, gzerror(file, &code));
}

static int unpack_gzip(struct unpacking *u)
{
	int fd = dup(u->from), r;
	gzFile file = fd < 0 ? NULL : gzdopen(fd, "rb");

	if (!file) {
		if (fd >= 0)
			close(fd);
		return pathprof_fail(u->error, -ENOMEM, "not enough memory");
	}
	r = read_gzip(u, file);
	gzclose(file);
	return r;
}

/* ---------------------------------------------------------------- zstd */

static int is_not_unpacked(const struct unpacking *u, size_t code)
{
	if (ZSTD_getErrorCode(code) != ZSTD_error_frameParameter_windowTooLarge)
		return is_damaged(u, ZSTD_getErrorName(code));
	return pathprof_fail(u->error, -EFBIG,
			     "%s: is packed by zstd with a window of more than 128 MiB (--long): "
			     "unpack it first (zstd -d --long=31)",
			     u->name);
}

/* left: 0 at the end of a frame, of which zstd then holds nothing back. */
static int unpack_piece(struct unpacking *u, ZSTD_DStream *stream, size_t len, size_t *ret_left)
{
	ZSTD_inBuffer in = {u->in, len, 0};
	bool full = true;
	int r = 0;

	while (r == 0 && (in.pos < in.size || full)) {
		ZSTD_outBuffer out = {u->out, sizeof(u->out), 0};

		*ret_left = ZSTD_decompressStream(stream, &out, &in);
		if (ZSTD_isError(*ret_left))
			return is_not_unpacked(u, *ret_left);
		full = *ret_left && out.pos == out.size;
		r = write_out(u, out.pos);
	}
	return r;
}

static int read_zstd(struct unpacking *u, ZSTD_DStream *stream)
{
	size_t left = 1;
	ssize_t got = 1;
	int r = 0;

	while (r == 0 && got > 0) {
		do
			got = read(u->from, u->in, sizeof(u->in));
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return pathprof_fail(u->error, -errno, "%s: %s", u->name, strerror(errno));
		if (got)
			r = unpack_piece(u, stream, (size_t)got, &left);
	}
	return r == 0 && left ? is_damaged(u, "it ends within a frame") : r;
}

static int unpack_zstd(struct unpacking *u)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	int r;

	if (!stream)
		return pathprof_fail(u->error, -ENOMEM, "not enough memory");
	r = read_zstd(u, stream);
	ZSTD_freeDStream(stream);
	return r;
}

/* ---------------------------------------------------------------- all of it */

static int unpack(int fd, const char *name, int (*by)(struct unpacking *u), int *ret_fd,
		  struct pathprof_error *error)
{
	struct unpacking *u = malloc(sizeof(*u));
	int r;

	if (!u)
		return pathprof_fail(error, -ENOMEM, "not enough memory");
	u->name = name;
	u->from = fd;
	u->error = error;
	r = open_nameless(u);
	if (r < 0) {
		cannot_write(u, r);
	} else {
		r = by(u);
		if (r == 0 && lseek(u->to, 0, SEEK_SET) < 0)
			r = cannot_write(u, -errno);
		if (r == 0)
			*ret_fd = u->to;
		else
			close(u->to);
	}
	free(u);
	return r < 0 ? r : 1;
}

int pp_recording_unpack(int fd, const char *name, int *ret_fd, struct pathprof_error *error)
{
	uint8_t begin[4];

	if (pp_recording_peek(fd, begin, sizeof(begin)) != sizeof(begin))
		return 0;
	if (!memcmp(begin, "\x1f\x8b", 2))
		return unpack(fd, name, unpack_gzip, ret_fd, error);
	if (!memcmp(begin, "\x28\xb5\x2f\xfd", 4))
		return unpack(fd, name, unpack_zstd, ret_fd, error);
	return 0;
}
