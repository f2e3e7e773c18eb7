// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file that claims to be a perf.data. It is read as it is. Since most damage would end at the
 * header, the same bytes are also read as records behind a sound one: the first byte says which
 * header, then come records of a type, two bytes of flags, a length and so many bytes. Each as a
 * file and as a pipe; or, if that byte says so, cut into three as a directory's files.
 *
 * Beyond "no crash": what is handed on is as the header promises and is counted, a failure says
 * why, a pipe hands on what a file does.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "fuzz.h"
#include "pathprof/recording.h"

#define FILE_MAX 60000 /* what a pipe holds */

struct seen {
	struct pathprof_recording *recording;
	uint64_t samples, branches, mappings, digest;
};

struct bytes {
	uint8_t bytes[FILE_MAX];
	size_t len;
};

static bool put(struct bytes *b, const void *bytes, size_t len)
{
	if (len > FILE_MAX - b->len)
		return false;
	memcpy(b->bytes + b->len, bytes, len);
	b->len += len;
	return true;
}

static void count(struct seen *seen, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < len; i++)
		seen->digest = (seen->digest ^ at[i]) * 0x100000001b3u;
}

static int on_sample(void *context, const struct pathprof_recorded_sample *s)
{
	struct seen *seen = context;
	struct pathprof_recording_info info;

	pathprof_recording_info(seen->recording, &info);
	REQUIRE(s->event < info.event_cnt);
	REQUIRE(pathprof_recording_event(seen->recording, s->event));
	REQUIRE(s->branch_cnt <= PATHPROF_RECORDED_BRANCHES_MAX);
	for (uint32_t i = 0; i < s->branch_cnt; i++) {
		const struct pathprof_recorded_branch *b = &s->branches[i];

		REQUIRE(b->kind <= 15 && b->new_kind <= 15 && b->spec <= 3 && b->priv <= 7);
		REQUIRE(b->flags < 0x20);
		count(seen, &b->from, 16);
	}
	count(seen, &s->time_ns, 16);
	seen->samples++;
	seen->branches += s->branch_cnt;
	return 0;
}

static int on_mapping(void *context, const struct pathprof_recorded_mapping *m)
{
	struct seen *seen = context;

	REQUIRE(m->start < m->end || m->start == UINT64_MAX);
	REQUIRE(m->id.len_bytes <= PATHPROF_BUILD_ID_MAX);
	count(seen, m->name, strlen(m->name));
	seen->mappings++;
	return 0;
}

static int on_process(void *context, const struct pathprof_recorded_process *p)
{
	bool named = p->change == PATHPROF_RECORDED_COMM || p->change == PATHPROF_RECORDED_EXEC;

	REQUIRE(p->change >= PATHPROF_RECORDED_COMM && p->change <= PATHPROF_RECORDED_EXIT);
	REQUIRE(named == (p->comm != NULL));
	count(context, &p->pid, 4);
	return 0;
}

static int read_all(int fd, struct seen *seen)
{
	struct pathprof_recording_sink sink = {seen, on_mapping, on_process, on_sample, NULL};
	struct pathprof_error error = {""};
	struct pathprof_recording_stats stats;
	struct pathprof_build_id id;
	int r = pathprof_recording_open(&seen->recording, PATHPROF_FORMAT_PERF_DATA, fd, "fuzz",
					&sink, &error);

	if (r < 0) {
		REQUIRE(error.text[0]);
		return r;
	}
	while ((r = pathprof_recording_read(seen->recording, &error)) > 0)
		;
	REQUIRE(r == 0 || error.text[0]);
	REQUIRE(pathprof_recording_read(seen->recording, &error) == r);
	pathprof_recording_stats(seen->recording, &stats);
	REQUIRE(stats.samples == seen->samples && stats.branches == seen->branches);
	REQUIRE(stats.mappings == seen->mappings);
	pathprof_recording_build_id(seen->recording, "[kernel.kallsyms]_text", &id);
	pathprof_recording_free(seen->recording);
	return r;
}

static void read_both(const struct bytes *b)
{
	struct seen file = {0}, pipe_seen = {0};
	int fd = memfd_create("perf", MFD_CLOEXEC), ends[2], r;

	REQUIRE(fd >= 0 && pipe(ends) == 0);
	REQUIRE(write(fd, b->bytes, b->len) == (ssize_t)b->len);
	REQUIRE(write(ends[1], b->bytes, b->len) == (ssize_t)b->len);
	close(ends[1]);
	r = read_all(fd, &file);
	/* A file may be refused for what a pipe has not come to yet, or cannot reach. */
	if (read_all(ends[0], &pipe_seen) == 0 && r == 0)
		REQUIRE(file.digest == pipe_seen.digest && file.samples == pipe_seen.samples);
	close(ends[0]);
	close(fd);
}

/* One or two events of a sample_type out of what the first bytes say. */
static size_t put_head(struct bytes *b, uint8_t kind, const uint8_t *data, size_t size)
{
	uint64_t head[13] = {0x32454c4946524550ull, 104, 80 + 16, 104, 80 + 16, 200, 1 << 20};
	uint64_t attr[10] = {(uint64_t)80 << 32}, ids[2] = {0};
	uint32_t pipe_attr[2] = {64, (8 + 80 + 8) << 16};

	if (size >= 8) {
		attr[3] = (uint64_t)data[0] | (uint64_t)(data[1] & 15) << 8 |
			  (uint64_t)(data[1] >> 4 & 1) << 16;
		attr[4] = data[2] & 31;
		attr[5] = (uint64_t)(data[3] & 3) << 18 | (uint64_t)(data[3] >> 2 & 1) << 34;
		attr[9] = (uint64_t)(data[4] & 15) << 16;
		head[9] = data[5] | (uint64_t)data[6] << 8 | (uint64_t)data[7] << 24;
	}
	if (kind & 2) {
		head[1] = 16;
		put(b, head, 16);
		for (uint64_t id = 1; id <= 1 + (kind >> 2 & 1); id++) {
			put(b, pipe_attr, 8);
			put(b, attr, 80);
			put(b, &id, 8);
		}
	} else {
		head[6] = kind & 4 ? size / 2 : 0;
		put(b, head, 104);
		put(b, attr, 80);
		put(b, ids, 16);
	}
	return size < 8 ? size : 8;
}

/* Records of kinds that are known, with lengths that fit; packed when asked for. */
static void put_records(struct bytes *b, bool packed, const uint8_t *data, size_t size)
{
	static const uint8_t types[] = {1,  2,  3,  4,  7,  9,  9,  9,  10, 13, 64, 65,
					66, 67, 68, 68, 69, 71, 78, 80, 81, 82, 83, 12};
	static struct bytes plain;
	uint8_t out[FILE_MAX];
	size_t len;

	plain.len = 0;
	while (size > 4) {
		uint32_t head[2] = {types[data[0] % sizeof(types)]};

		len = data[3] < size - 4 ? data[3] : size - 4;
		head[1] = data[1] | (uint32_t)(data[2] & 0xe0) << 8 | (uint32_t)(8 + len) << 16;
		if (!put(&plain, head, 8) || !put(&plain, data + 4, len))
			break;
		data += 4 + len;
		size -= 4 + len;
	}
	if (packed) {
		uint32_t head[2] = {81};

		len = ZSTD_compress(out, sizeof(out), plain.bytes, plain.len, 1);
		if (ZSTD_isError(len))
			return;
		head[1] = (uint32_t)(8 + len) << 16;
		put(b, head, 8);
		put(b, out, len);
	} else {
		put(b, plain.bytes, plain.len);
	}
}

/* ---------------------------------------------------------------- directories */

static void put_file(const char *dir, const char *name, const struct bytes *b)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0 && write(fd, b->bytes, b->len) == (ssize_t)b->len);
	close(fd);
}

static char directory[] = "/dev/shm/fuzz_perf_data.XXXXXX";

static void remove_directory(void)
{
	static const char *const names[] = {"data", "data.0", "data.1"};
	char path[PATH_MAX];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		unlink(path);
	}
	rmdir(directory);
}

static void make_directory(void)
{
	static bool made;

	if (made)
		return;
	REQUIRE(mkdtemp(directory));
	made = true;
	atexit(remove_directory);
}

/* b holds the head; the records of each file come from a third of the bytes. */
static void read_directory(struct bytes *b, bool packed, const uint8_t *data, size_t size)
{
	size_t third = size / 3;
	struct seen seen = {0};
	int fd;

	make_directory();
	put_records(b, packed, data, third);
	put_file(directory, "data", b);
	b->len = 0;
	put_records(b, packed, data + third, third);
	put_file(directory, "data.0", b);
	b->len = 0;
	put_records(b, packed, data + 2 * third, size - 2 * third);
	put_file(directory, "data.1", b);
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	REQUIRE(fd >= 0);
	read_all(fd, &seen);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bytes b;

	b.len = 0;
	if (!size)
		return 0;
	if (data[0] == 'P') {
		/* A file of its own, as the seeds are. */
		put(&b, data, size < FILE_MAX ? size : FILE_MAX);
	} else {
		size_t used = put_head(&b, data[0], data + 1, size - 1);

		if ((data[0] & 0x12) == 0x10) {
			read_directory(&b, data[0] & 8, data + 1 + used, size - 1 - used);
			return 0;
		}
		put_records(&b, data[0] & 8, data + 1 + used, size - 1 - used);
	}
	read_both(&b);
	return 0;
}
