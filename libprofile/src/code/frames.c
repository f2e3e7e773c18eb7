// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Function bounds from .eh_frame, which even stripped binaries keep.
 *
 * Workload: read once a handle, when the first offset without a symbol is asked for (cc1: 40,000
 * functions), then searched. The section comes from outside: a cursor that cannot leave it reads
 * everything, and a damaged record ends the reading with what was found before.
 *
 * Source: Linux Standard Base 5.0, chapter 10.6 (.eh_frame); System V ABI for x86-64, 4.2.4.
 */
#include "pp_code.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* Bytes still to read; `bad` sticks once something reached past the end. */
struct cursor {
	const uint8_t *base;
	size_t at, end;
	bool bad;
};

struct section {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
};

#define FORMAT_MASK   0x0f
#define RELATIVE_MASK 0x70

static uint64_t take(struct cursor *c, size_t bytes)
{
	uint64_t value = 0;

	if (c->bad || bytes > c->end - c->at) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->base + c->at, bytes);
	c->at += bytes;
	return value;
}

/* Signed and unsigned LEB128 are skipped alike; nothing here needs a signed one's value. */
static uint64_t take_leb(struct cursor *c)
{
	uint64_t value = 0, byte;
	unsigned int shift = 0;

	do {
		byte = take(c, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !c->bad);
	return value;
}

static uint64_t take_signed(struct cursor *c, size_t bytes)
{
	unsigned int unused = (unsigned int)(64 - 8 * bytes);

	return (uint64_t)((int64_t)(take(c, bytes) << unused) >> unused);
}

static uint64_t take_value(struct cursor *c, uint8_t encoding)
{
	switch (encoding & FORMAT_MASK) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return take(c, 8);
	case DW_EH_PE_udata4:
		return take(c, 4);
	case DW_EH_PE_sdata4:
		return take_signed(c, 4);
	case DW_EH_PE_udata2:
		return take(c, 2);
	case DW_EH_PE_sdata2:
		return take_signed(c, 2);
	case DW_EH_PE_uleb128:
	case DW_EH_PE_sleb128:
		return take_leb(c);
	default:
		c->bad = true;
		return 0;
	}
}

static uint64_t take_address(struct cursor *c, uint8_t encoding, const struct section *s)
{
	uint64_t here = s->vaddr + c->at;
	uint64_t value = take_value(c, encoding);

	switch (encoding & (RELATIVE_MASK | DW_EH_PE_indirect)) {
	case 0:
		return value;
	case DW_EH_PE_pcrel:
		return here + value;
	default:
		c->bad = true;
		return 0;
	}
}

/* From the augmentation "zPLR...": how addresses of this CIE's functions are written. */
static uint8_t address_encoding(struct cursor *c, const char *augmentation)
{
	uint8_t encoding = DW_EH_PE_absptr;

	if (*augmentation != 'z')
		return encoding;
	take_leb(c);
	while (*++augmentation && !c->bad) {
		if (*augmentation == 'R')
			return (uint8_t)take(c, 1);
		if (*augmentation == 'P')
			take_value(c, (uint8_t)take(c, 1));
		else if (*augmentation == 'L')
			take(c, 1);
		else if (*augmentation != 'S' && *augmentation != 'B')
			return encoding;
	}
	return encoding;
}

/* c stands behind the id field of a CIE. */
static uint8_t read_cie(struct cursor *c)
{
	uint8_t version = (uint8_t)take(c, 1);
	const char *augmentation = (const char *)c->base + c->at;

	while (take(c, 1) && !c->bad)
		;
	if (c->bad)
		return DW_EH_PE_omit;
	take_leb(c);
	take_leb(c);
	if (version == 1)
		take(c, 1);
	else
		take_leb(c);
	return address_encoding(c, augmentation);
}

/* A record's extent: c gets its contents, *ret_next the place of the one after it. */
static bool open_record(const struct section *s, size_t at, struct cursor *c, size_t *ret_next)
{
	uint64_t len;

	*c = (struct cursor){.base = s->bytes, .at = at, .end = s->size};
	len = take(c, 4);
	if (len == 0xffffffff)
		len = take(c, 8);
	if (c->bad || len > c->end - c->at)
		return false;
	c->end = c->at + len;
	*ret_next = c->end;
	return true;
}

static uint8_t encoding_of_cie(const struct section *s, size_t at)
{
	struct cursor c;
	size_t next;

	if (at >= s->size || !open_record(s, at, &c, &next) || take(&c, 4) != 0)
		return DW_EH_PE_omit;
	uint8_t encoding = read_cie(&c);
	return c.bad ? DW_EH_PE_omit : encoding;
}

/* Many functions share a CIE, mostly the one before them. */
struct cie_cache {
	size_t at;
	uint8_t encoding;
	bool valid;
};

static bool read_fde(const struct section *s, struct cursor *c, struct cie_cache *cache,
		     struct pp_frame *ret_frame)
{
	size_t here = c->at;
	uint64_t back = take(c, 4);

	if (c->bad || !back || back > here)
		return false;
	if (!cache->valid || cache->at != here - back)
		*cache = (struct cie_cache){here - back, encoding_of_cie(s, here - back), true};
	if (cache->encoding == DW_EH_PE_omit)
		return false;
	uint64_t start = take_address(c, cache->encoding, s);
	uint64_t len = take_value(c, cache->encoding & 0x07);
	if (c->bad || !len || len > UINT64_MAX - start)
		return false;
	*ret_frame = (struct pp_frame){start, start + len};
	return true;
}

static bool append(struct pathprof_code *code, size_t *room, const struct pp_frame *frame)
{
	if (code->frame_cnt == *room) {
		size_t more = *room ? 2 * *room : 256;
		struct pp_frame *frames = reallocarray(code->frames, more, sizeof(*frames));

		if (!frames)
			return false;
		code->frames = frames;
		*room = more;
	}
	code->frames[code->frame_cnt++] = *frame;
	return true;
}

static int by_start(const void *x, const void *y)
{
	const struct pp_frame *a = x, *b = y;

	return (a->start > b->start) - (a->start < b->start);
}

static void read_frames(struct pathprof_code *code, const struct section *s)
{
	struct cie_cache cache = {.valid = false};
	size_t at = 0, next, room = 0;
	struct pp_frame frame;
	struct cursor c;

	while (at < s->size && open_record(s, at, &c, &next)) {
		if (read_fde(s, &c, &cache, &frame) && !append(code, &room, &frame))
			break;
		at = next;
	}
	if (code->frame_cnt)
		qsort(code->frames, code->frame_cnt, sizeof(code->frames[0]), by_start);
}

static bool find_section(Elf *elf, struct section *ret_section)
{
	Elf_Scn *scn = NULL;
	const char *name;
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (!name || strcmp(name, ".eh_frame") != 0)
			continue;
		Elf_Data *data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf)
			return false;
		*ret_section = (struct section){data->d_buf, data->d_size, sh.sh_addr};
		return true;
	}
	return false;
}

const struct pp_frame *pp_frames_find(struct pathprof_code *code, uint64_t vaddr)
{
	struct section section;
	size_t low = 0, high;

	if (code->frames_state == PP_LAZY_NOT_YET) {
		code->frames_state = PP_LAZY_THERE;
		if (find_section(code->elf, &section))
			read_frames(code, &section);
	}
	high = code->frame_cnt;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (code->frames[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || vaddr >= code->frames[low - 1].end)
		return NULL;
	return &code->frames[low - 1];
}
