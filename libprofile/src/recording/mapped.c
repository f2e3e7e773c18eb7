// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Mappings by name: see pathprof/mapped.h. Source: Linux, mm/mmap.c, fs/proc/task_mmu.c,
 * kernel/events/core.c (perf_event_mmap_event). */
#include "pathprof/mapped.h"

#include <string.h>

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

size_t pathprof_mapped_name_len(const char *name)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(name), tail = sizeof(deleted) - 1;

	return len > tail && strcmp(name + len - tail, deleted) == 0 ? len - tail : len;
}

static bool is_same_base(const char *name, size_t len, const char *path)
{
	const char *name_slash = memrchr(name, '/', len), *path_slash = strrchr(path, '/');
	const char *base = path_slash ? path_slash + 1 : path;

	if (name_slash) {
		len -= (size_t)(name_slash + 1 - name);
		name = name_slash + 1;
	}
	return pathprof_mapped_name_len(base) == len && memcmp(name, base, len) == 0;
}

bool pathprof_mapped_is_named(const char *name, const char *path, const char *real_path)
{
	size_t len = pathprof_mapped_name_len(name);

	return is_same_base(name, len, path) || (real_path && is_same_base(name, len, real_path));
}

bool pathprof_mapped_is_memory(const char *name, const struct pathprof_build_id *id)
{
	static const char *const prefixes[] = {
		"//anon",    "[heap]", "[stack",         "[anon",   "anon_inode:",
		"/dev/zero", "/SYSV",  "/anon_hugepage", "/memfd:",
	};

	if (id && id->kind != PATHPROF_ID_NONE)
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (starts_with(name, prefixes[i]))
			return true;
	/* libhugetlbfs copies text to a file of its own */
	return !name[0] || strstr(name, "/libhugetlbfs.tmp.");
}

bool pathprof_mapped_is_copy(uint64_t start, uint64_t end, uint64_t text_start, uint64_t text_end,
			     bool is_program)
{
	if (is_program)
		return start < text_end && text_start < end;
	return text_start <= start && end <= text_end;
}

uint64_t pathprof_mapped_offset(const struct pathprof_code_segment *segments, uint32_t segment_cnt,
				uint64_t start, uint64_t end, uint64_t offset)
{
	for (uint32_t i = 0; i < segment_cnt; i++) {
		const struct pathprof_code_segment *s = &segments[i];

		if (!s->is_fixed || end <= s->vaddr || start >= s->vaddr + s->len_bytes)
			continue;
		/* A mapping begins with the page that a segment begins in. */
		if (start >= s->vaddr || s->vaddr - start <= s->offset)
			return s->offset + (start - s->vaddr);
	}
	return offset;
}
