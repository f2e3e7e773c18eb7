// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Opening an exact trace, and what is known of it as a whole.
 *
 * Workload: a file of some hundred megabytes, opened once; all definitions are loaded (a hundred
 * thousand blocks or so), words stay in the file. It is read with pread, not mapped: a file that
 * shrinks under us is an error then, not a SIGBUS. Locking: none, read-only once open. Ownership:
 * all that is handed out belongs to the trace.
 */
#include "pathprof/trace.h"
#include "pp_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pathprof/foreign.h"

int pp_trace_no_memory(struct pathprof_error *error)
{
	return pathprof_fail(error, -ENOMEM, "trace: out of memory");
}

int pp_trace_read_at(const struct pathprof_trace *trace, void *bytes, size_t len_bytes,
		     uint64_t offset, struct pathprof_error *error)
{
	uint8_t *at = bytes;

	while (len_bytes) {
		ssize_t got = pread(trace->fd, at, len_bytes, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return pathprof_fail(error, -errno, "%s: cannot be read: %m", trace->path);
		if (got == 0)
			return pp_trace_bad(trace, error, "ends early, at byte %llu",
					    (unsigned long long)offset);
		at += got;
		offset += (uint64_t)got;
		len_bytes -= (size_t)got;
	}
	return 0;
}

static int read_header(struct pathprof_trace *t, struct pathprof_error *error)
{
	struct pathprof_trace_header header;
	int r;

	if (t->info.file_bytes < sizeof(header))
		return pp_trace_bad(t, error, "is no trace: too short");
	r = pp_trace_read_at(t, &header, sizeof(header), 0, error);
	if (r < 0)
		return r;
	if (header.magic != PATHPROF_TRACE_MAGIC)
		return pp_trace_bad(t, error, "is no trace");
	if (header.version != PATHPROF_TRACE_VERSION)
		return pp_trace_bad(t, error, "is a trace of version %u; this reads version %d",
				    header.version, PATHPROF_TRACE_VERSION);
	t->info.flags = header.flags;
	t->info.time_ns = (int64_t)header.time_ns;
	return 0;
}

static int load(struct pathprof_trace *t, struct pathprof_error *error)
{
	struct pp_trace_unpacker unpacker;
	int r = pp_trace_unpacker_init(&unpacker, error);

	if (r < 0)
		return r;
	r = pp_trace_find_chunks(t, &unpacker, error);
	if (!r)
		r = pp_trace_load_definitions(t, &unpacker, error);
	if (!r)
		r = pp_trace_sort_words(t, error);
	if (!r)
		r = pp_trace_build_ranges(t, error);
	pp_trace_unpacker_release(&unpacker);
	return r;
}

static int open_file(struct pathprof_trace *t, const char *path, struct pathprof_error *error)
{
	struct stat st;

	t->path = strdup(path);
	if (!t->path)
		return pp_trace_no_memory(error);
	t->fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, error);
	if (t->fd < 0)
		return t->fd;
	if (fstat(t->fd, &st) < 0)
		return pathprof_fail(error, -errno, "%s: cannot be examined: %m", path);
	t->info.file_bytes = (uint64_t)st.st_size;
	return read_header(t, error);
}

int pathprof_trace_open(struct pathprof_trace **ret_trace, const char *path,
			struct pathprof_error *error)
{
	struct pathprof_trace *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return pp_trace_no_memory(error);
	t->fd = -1;
	r = open_file(t, path, error);
	if (!r)
		r = load(t, error);
	if (r < 0) {
		pathprof_trace_free(t);
		return r;
	}
	t->info.stream_cnt = (uint32_t)t->stream_cnt;
	t->info.module_cnt = (uint32_t)t->module_cnt;
	t->info.process_cnt = (uint32_t)t->process_cnt;
	*ret_trace = t;
	return 0;
}

void pathprof_trace_free(struct pathprof_trace *trace)
{
	if (!trace)
		return;
	if (trace->fd >= 0)
		close(trace->fd);
	for (size_t i = 0; i < trace->module_cnt; i++)
		free((char *)trace->modules[i].info.name);
	free(trace->path);
	free(trace->command_text);
	free(trace->command);
	free(trace->places);
	free(trace->words);
	free(trace->processes);
	free(trace->streams);
	free(trace->modules);
	free(trace->ranges);
	free(trace->handlers);
	free(trace->blocks);
	free(trace);
}

bool pathprof_trace_is(const char *path)
{
	uint64_t magic = 0;
	int fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, NULL);

	if (fd < 0)
		return false;
	if (pread(fd, &magic, sizeof(magic), 0) != (ssize_t)sizeof(magic))
		magic = 0;
	close(fd);
	return magic == PATHPROF_TRACE_MAGIC;
}

const struct pathprof_trace_info *pathprof_trace_info(const struct pathprof_trace *trace)
{
	return &trace->info;
}

const struct pathprof_trace_module_info *pathprof_trace_module(const struct pathprof_trace *trace,
							       uint32_t index)
{
	return index < trace->module_cnt ? &trace->modules[index].info : NULL;
}

const struct pathprof_trace_stream_info *pathprof_trace_stream(const struct pathprof_trace *trace,
							       uint32_t index)
{
	return index < trace->stream_cnt ? &trace->streams[index].info : NULL;
}
