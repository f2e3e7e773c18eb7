// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The bytes of a perf.data, from front to end through one buffer of a MB. A pipe will do; of a file
 * sections elsewhere can be had as well, and payloads nobody wants are not even read.
 *
 * Ownership: the input owns its buffer, the descriptor is the caller's and its position is left
 * alone where it has one.
 */
#include "pp_perf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL_BYTES (1u << 17)

int pp_perf_input_init(struct pp_perf_input *input, int fd, size_t room)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	*input = (struct pp_perf_input){.fd = fd, .seekable = S_ISREG(status.st_mode)};
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	input->room = room;
	if (input->seekable) {
		input->end_bytes = (uint64_t)status.st_size;
		/* Small files need no more than the longest record, twice. */
		if (input->end_bytes < SMALL_BYTES && room > SMALL_BYTES)
			input->room = SMALL_BYTES;
	}
	input->bytes = malloc(input->room);
	return input->bytes ? 0 : -ENOMEM;
}

void pp_perf_input_release(struct pp_perf_input *input)
{
	free(input->bytes);
}

/* Reads once, up to len bytes. */
static ssize_t read_some(const struct pp_perf_input *input, uint8_t *bytes, size_t len,
			 uint64_t offset)
{
	ssize_t got;

	do
		got = input->seekable ? pread(input->fd, bytes, len, (off_t)offset)
				      : read(input->fd, bytes, len);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

int pp_perf_input_fill(struct pp_perf_input *input, size_t want, size_t *ret_cnt)
{
	size_t have = input->end - input->at;

	if (have < want && input->room - input->at < want) {
		memmove(input->bytes, input->bytes + input->at, have);
		input->at = 0;
		input->end = have;
	}
	while (have < want) {
		ssize_t got = read_some(input, input->bytes + input->end, input->room - input->end,
					input->offset + have);

		if (got < 0)
			return (int)got;
		if (!got)
			break;
		input->end += (size_t)got;
		have += (size_t)got;
	}
	*ret_cnt = have < want ? have : want;
	return 0;
}

/* Skips bytes of a seekable file by moving its offset. */
static void jump(struct pp_perf_input *input, uint64_t cnt, bool *ret_whole)
{
	uint64_t left = input->end_bytes > input->offset ? input->end_bytes - input->offset : 0;

	*ret_whole = cnt <= left;
	input->offset += cnt <= left ? cnt : left;
	input->at = input->end = 0;
}

int pp_perf_input_skip(struct pp_perf_input *input, uint64_t cnt, bool *ret_whole)
{
	while (cnt) {
		size_t have = input->end - input->at, got;
		int r;

		if (cnt > have && input->seekable) {
			jump(input, cnt, ret_whole);
			return 0;
		}
		r = pp_perf_input_fill(input, cnt < 4096 ? (size_t)cnt : 4096, &got);
		if (r < 0)
			return r;
		if (!got) {
			*ret_whole = false;
			return 0;
		}
		have = input->end - input->at;
		got = cnt < have ? (size_t)cnt : have;
		pp_perf_input_consume(input, got);
		cnt -= got;
	}
	*ret_whole = true;
	return 0;
}

int pp_perf_input_seek(struct pp_perf_input *input, uint64_t offset, bool *ret_whole)
{
	if (offset >= input->offset)
		return pp_perf_input_skip(input, offset - input->offset, ret_whole);
	if (!input->seekable)
		return -ESPIPE;
	input->at = input->end = 0;
	input->offset = offset;
	*ret_whole = true;
	return 0;
}

/* *ret_got: fewer than len at the end only. */
static int read_at(const struct pp_perf_input *input, uint8_t *bytes, size_t len, uint64_t offset,
		   size_t *ret_got)
{
	size_t have = 0;

	while (have < len) {
		ssize_t got = read_some(input, bytes + have, len - have, offset + have);

		if (got < 0)
			return (int)got;
		if (!got)
			break;
		have += (size_t)got;
	}
	*ret_got = have;
	return 0;
}

int pp_perf_input_copy(const struct pp_perf_input *input, uint8_t *bytes, size_t len_bytes,
		       size_t *ret_cnt)
{
	return read_at(input, bytes, len_bytes, input->offset, ret_cnt);
}

/* Copies from a pipe: out of the buffer if the bytes fit in it, else by skipping up to them. */
static int copy_ahead(struct pp_perf_input *input, uint8_t *bytes, size_t len, uint64_t offset,
		      size_t *ret_got)
{
	uint64_t ahead = offset - input->offset;
	size_t have = 0, got = 0;
	bool whole;
	int r;

	if (offset < input->offset)
		return -ESPIPE;
	if (ahead <= PP_PERF_INPUT_BYTES && len <= PP_PERF_INPUT_BYTES - ahead) {
		r = pp_perf_input_fill(input, (size_t)ahead + len, &got);
		if (r < 0)
			return r;
		*ret_got = got > ahead ? got - (size_t)ahead : 0;
		memcpy(bytes, pp_perf_input_bytes(input) + ahead, *ret_got);
		return 0;
	}
	r = pp_perf_input_skip(input, ahead, &whole);
	while (r == 0 && have < len) {
		size_t want = len - have < 65536 ? len - have : 65536;

		r = pp_perf_input_fill(input, want, &got);
		if (r < 0 || !got)
			break;
		memcpy(bytes + have, pp_perf_input_bytes(input), got);
		pp_perf_input_consume(input, got);
		have += got;
	}
	*ret_got = have;
	return r;
}

int pp_perf_input_section(struct pp_perf_input *input, uint64_t offset, uint64_t len_bytes,
			  size_t max_bytes, uint8_t **ret_bytes)
{
	size_t len = (size_t)len_bytes, got = 0;
	uint8_t *bytes;
	int r;

	if (len_bytes > max_bytes)
		return -EFBIG;
	if (offset > INT64_MAX - len_bytes)
		return -ENODATA;
	if (input->seekable && offset + len_bytes > input->end_bytes)
		return -ENODATA;
	bytes = malloc(len ? len : 1);
	if (!bytes)
		return -ENOMEM;
	r = input->seekable ? read_at(input, bytes, len, offset, &got)
			    : copy_ahead(input, bytes, len, offset, &got);
	if (r == 0 && got < len)
		r = -ENODATA;
	if (r < 0) {
		free(bytes);
		return r;
	}
	*ret_bytes = bytes;
	return 0;
}
