// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The linker's stubs, through which a file calls what others define: each jumps through a pointer
 * that the dynamic linker fills, and is named for what that will be.
 *
 * Workload: once a file, thousands of stubs of 8 or 16 bytes. Their code is not decoded: the jump
 * through memory relative to rip is searched for, and counts if the dynamic linker fills its
 * pointer. That holds for every linker.
 *
 * Ownership: entries and names are the handle's.
 *
 * Source: System V ABI for x86-64, 5.2 (procedure linkage table).
 */
#include "pp_ranges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define STUBS_MAX (1u << 20)

struct pp_plt {
	struct pp_plt_entry *entries;
	size_t cnt, room;
};

bool pp_plt_is_section(const struct pp_section *section)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(section->name, names[i]) == 0)
			return true;
	return false;
}

/* The name of what a stub jumps to by `jmp *d(%rip)`; NULL: none. */
static const char *find_callee(struct pathprof_code *code, const struct pp_cursor *bytes, size_t at,
			       size_t len)
{
	for (size_t i = at; i + 6 <= at + len; i++) {
		const char *name;
		int32_t distance;

		if (bytes->base[i] != 0xff || bytes->base[i + 1] != 0x25)
			continue;
		memcpy(&distance, bytes->base + i + 2, sizeof(distance));
		name = pp_data_import(code, bytes->vaddr + i + 6 + (uint64_t)(int64_t)distance);
		if (name)
			return name;
	}
	return NULL;
}

static int add(struct pp_plt *plt, uint64_t start, size_t len, const char *callee)
{
	char *name = NULL;

	if (pp_grow(&plt->entries, plt->cnt, &plt->room) < 0)
		return -ENOMEM;
	if (callee && asprintf(&name, "%s@plt", callee) < 0)
		return -ENOMEM;
	plt->entries[plt->cnt++] = (struct pp_plt_entry){start, start + len, name};
	return 0;
}

static int read_section(struct pp_plt *plt, struct pathprof_code *code, const struct pp_section *s)
{
	size_t step = s->entry_bytes == 8 ? 8 : 16;
	struct pp_cursor bytes;
	int r = 0;

	if (!pp_section_open(s, &bytes))
		return 0;
	for (size_t at = 0; !r && at + step <= bytes.end && plt->cnt < STUBS_MAX; at += step)
		r = add(plt, s->vaddr + at, step, find_callee(code, &bytes, at, step));
	return r;
}

static int read_sections(struct pp_plt *plt, struct pathprof_code *code)
{
	struct pp_section s = {0};
	int r = 0;

	while (!r && pp_section_next(code, &s))
		if (s.type == SHT_PROGBITS && pp_plt_is_section(&s))
			r = read_section(plt, code, &s);
	return r;
}

int pp_plt_all(struct pathprof_code *code, const struct pp_plt_entry **ret_entries, size_t *ret_cnt)
{
	int r;

	if (!code->plt) {
		struct pp_plt *plt = calloc(1, sizeof(*plt));

		r = plt ? read_sections(plt, code) : -ENOMEM;
		if (r) {
			pp_plt_free(plt);
			return r;
		}
		code->plt = plt;
	}
	*ret_entries = code->plt->entries;
	*ret_cnt = code->plt->cnt;
	return 0;
}

void pp_plt_free(struct pp_plt *plt)
{
	if (!plt)
		return;
	for (size_t i = 0; i < plt->cnt; i++)
		free((char *)plt->entries[i].name);
	free(plt->entries);
	free(plt);
}
