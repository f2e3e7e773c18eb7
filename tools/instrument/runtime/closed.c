// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * dlclose() leaves an object's file of counts mapped: the same destructor runs at the end of the
 * process, where other threads go on counting there. An object that is loaded again finds the
 * mapping by its name in /proc/self/maps and unmaps it: the old code is gone, so nobody counts
 * there any more. So a library that is loaded repeatedly leaves at most one such mapping, even if
 * its files are moved or removed, unless they are renamed.
 *
 * Workload: a walk over the mappings each time a library is loaded. Locking: the dynamic linker's,
 * which loads one object at a time.
 */
#include "counts.h"
#include "kernel.h"

#define LINE_BYTES 8192 /* longer than a path and the text before it */

static char line[LINE_BYTES];

static uint64_t take_hex(const char **at)
{
	uint64_t value = 0;

	for (;; (*at)++) {
		char c = **at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return value;
	}
}

static bool begins_with(const char *text, const char *wanted, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (text[i] != wanted[i])
			return false;
	return true;
}

/* The text is this name, or this name and a number. */
static bool has_name(const char *text, const char *name, size_t bytes)
{
	for (; *text; text++)
		if (*text == '/' && begins_with(text + 1, name, bytes) &&
		    (text[1 + bytes] == '.' || text[1 + bytes] == '-'))
			return true;
	return false;
}

/* Somebody may have truncated the file, so that reading it would raise SIGBUS. */
static bool is_closed(uint64_t place)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	const struct pathprof_counts_head *head = (const struct pathprof_counts_head *)place;

	return kernel_can_read(head) && head->magic == PATHPROF_COUNTS_MAGIC &&
	       head->pid == (uint64_t)kernel_pid() && head->state == PATHPROF_COUNTS_CLOSED;
}

/* "FROM-TO rw-s ... PATH" */
static void look_at(const char *at, const char *name, size_t bytes)
{
	uint64_t from = take_hex(&at), to;

	if (*at++ != '-')
		return;
	to = take_hex(&at);
	if (begins_with(at, " rw-s ", 6) && has_name(at, name, bytes) && is_closed(from))
		kernel_unmap(from, to - from);
}

void counts_unmap_closed(const char *name, size_t bytes)
{
	int fd = kernel_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t len = 0, from = 0;
	long n;

	while (fd >= 0 && (n = kernel_read(fd, line + len, sizeof(line) - len)) > 0) {
		len += (size_t)n;
		from = 0;
		for (size_t i = 0; i < len; i++) {
			if (line[i] != '\n')
				continue;
			line[i] = 0;
			look_at(line + from, name, bytes);
			from = i + 1;
		}
		/* Keeps the beginning of the next line; a line that is too long is dropped. */
		len -= from;
		for (size_t i = 0; i < len; i++)
			line[i] = line[from + i];
		if (len == sizeof(line))
			len = 0;
	}
	if (fd >= 0)
		kernel_close(fd);
}
