// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Untrusted output of programs that count their own paths: the description in an ELF file that is
 * sound otherwise, and a file of counts. Input: u16 bytes of the description, the description, the
 * file of counts; its head is made sound unless the first bit of the length is set.
 *
 * A description that was read is also sent on as a form, as by a process apart, and that is changed
 * by the file of counts: triples of a place in it, two bytes, and what it is changed by.
 *
 * Beyond "no crash": a failure says why; paths are those of their function, each once, and its
 * graph has a flow or is refused. A form that nobody changed is read, and of no other one anything
 * that is not sound.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../libprofile/src/counts/pp_counted_apart.h"
#include "../counted_program.h"
#include "pathprof/path_counts.h"
#include "sound_counted.h"

static int in_memory(const void *head, size_t head_bytes, const void *rest, size_t rest_bytes)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && write(fd, head, head_bytes) == (ssize_t)head_bytes);
	REQUIRE(write(fd, rest, rest_bytes) == (ssize_t)rest_bytes);
	return fd;
}

static int make_elf(const uint8_t *description, size_t bytes)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && counted_program_write(fd, description, bytes) == 0);
	return fd;
}

static int make_counts(const uint8_t *bytes, size_t size, int raw)
{
	static union {
		struct pathprof_counts_head head;
		uint8_t page[PATHPROF_COUNTS_PAGE];
	} u;

	if (raw)
		return in_memory(bytes, size, "", 0);
	u.head = (struct pathprof_counts_head){.magic = PATHPROF_COUNTS_MAGIC,
					       .version = PATHPROF_COUNTS_VERSION,
					       .used_bytes = PATHPROF_COUNTS_PAGE + size,
					       .image_bytes = COUNTED_PROGRAM_IMAGE_BYTES,
					       .build_id_bytes = COUNTED_PROGRAM_ID_BYTES,
					       .build_id = {COUNTED_PROGRAM_ID}};
	return in_memory(&u, sizeof(u), bytes, size);
}

/* ---------------------------------------------------------------- forms */

static void read_form(const char *form, size_t bytes, bool whole)
{
	struct pathprof_counted *counted = calloc(1, sizeof(*counted));
	int r;

	REQUIRE(counted);
	r = pp_form_read(counted, form, bytes);
	REQUIRE(r == 0 || (r == -EBADMSG && !whole));
	if (r == 0)
		require_sound_form(counted, sizeof(struct counted_program));
	pathprof_counted_free(counted);
}

/* Counters of clang's have a place each: a description of more is long, its form may be short. */
static bool is_whole(const struct pathprof_counted *counted, size_t bytes)
{
	bool whole = true;

	for (uint32_t f = 0; f < counted->function_cnt; f++)
		whole &= counted->functions[f].profile_counter_cnt <=
			 bytes / sizeof(struct pathprof_counted_place);
	return whole;
}

static void change_form(struct pathprof_counted *counted, const uint8_t *changes, size_t size)
{
	char *form = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&form, &bytes);

	REQUIRE(out && pp_form_write(counted, out) == 0 && fclose(out) == 0);
	read_form(form, bytes, is_whole(counted, bytes));
	for (; size >= 3; size -= 3, changes += 3)
		form[(changes[0] | changes[1] << 8) % bytes] ^= (char)changes[2];
	read_form(form, bytes, false);
	free(form);
}

/* ---------------------------------------------------------------- */

static void run(const char *elf, const char *counts, const uint8_t *changes, size_t size)
{
	struct pathprof_error error = {""};
	struct pathprof_counted *counted;

	if (pathprof_counted_open(&counted, elf, &error) < 0) {
		REQUIRE(error.text[0]);
		return;
	}
	if (pathprof_counted_add(counted, counts, NULL, &error) < 0)
		REQUIRE(error.text[0]);
	require_sound_counted(counted);
	change_form(counted, changes, size);
	pathprof_counted_free(counted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t length;
	char elf[64], counts[64];
	int elf_fd, counts_fd;
	size_t bytes;

	if (size < sizeof(length))
		return 0;
	memcpy(&length, data, sizeof(length));
	data += sizeof(length);
	size -= sizeof(length);
	bytes = length >> 1 < size ? length >> 1 : size;
	elf_fd = make_elf(data, bytes);
	counts_fd = make_counts(data + bytes, size - bytes, length & 1);
	snprintf(elf, sizeof(elf), "/proc/self/fd/%d", elf_fd);
	snprintf(counts, sizeof(counts), "/proc/self/fd/%d", counts_fd);
	run(elf, counts, data + bytes, size - bytes);
	close(elf_fd);
	close(counts_fd);
	return 0;
}
