// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Landing pads of exceptions: the call sites in the tables that .eh_frame's records point to.
 *
 * Workload: once a file; large C++ libraries have 10^6 call sites. Tables come from outside: a
 * call site counts only within the bounds of its record, a pad only in code; and no table is read
 * once those before it had more bytes than the section, since records of a sound file do not share
 * their tables.
 *
 * Source: Itanium C++ ABI: Exception Handling Tables; Linux Standard Base 5.0, chapter 10.5.
 */
#include "../code/pp_functions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vector.h"

struct pads {
	struct pp_landing_pad *list;
	size_t cnt, room;
};

/* The header of a table, as far as its call sites need it. */
struct head {
	uint64_t pad_base;
	size_t sites_end;
	uint8_t encoding;
};

static bool read_head(struct pp_cursor *c, const struct pp_frame *frame, struct head *ret_head)
{
	uint8_t encoding = (uint8_t)pp_cursor_take(c, 1);
	uint64_t base = frame->start, len;

	if (encoding != DW_EH_PE_omit)
		base = pp_cursor_take_address(c, encoding);
	encoding = (uint8_t)pp_cursor_take(c, 1);
	if (encoding != DW_EH_PE_omit)
		pp_cursor_take_leb(c, false);
	encoding = (uint8_t)pp_cursor_take(c, 1);
	len = pp_cursor_take_leb(c, false);
	if (c->bad || len > c->end - c->at)
		return false;
	*ret_head = (struct head){base, c->at + len, encoding};
	return true;
}

/* Returns false when the call site has no landing pad or is invalid. */
static bool read_site(struct pp_cursor *c, const struct pathprof_code *code,
		      const struct pp_frame *frame, const struct head *head,
		      struct pp_landing_pad *ret_pad)
{
	uint64_t start = pp_cursor_take_value(c, head->encoding);
	uint64_t len = pp_cursor_take_value(c, head->encoding);
	uint64_t pad = pp_cursor_take_value(c, head->encoding), offset;
	uint64_t frame_len = frame->end - frame->start;

	pp_cursor_take_leb(c, false); /* which types it catches */
	if (c->bad || !pad || !len || start > frame_len || len > frame_len - start)
		return false;
	pad += head->pad_base;
	if (pathprof_code_vaddr_to_offset(code, pad, &offset))
		return false;
	*ret_pad = (struct pp_landing_pad){frame->start + start, frame->start + start + len, pad};
	return true;
}

static int append(struct pads *pads, const struct pp_landing_pad *pad)
{
	if (pp_grow(&pads->list, pads->cnt, &pads->room) < 0)
		return -ENOMEM;
	pads->list[pads->cnt++] = *pad;
	return 0;
}

/* The cursor is at the start of the frame's table. */
static int read_table(struct pads *pads, struct pp_cursor *c, const struct pathprof_code *code,
		      const struct pp_frame *frame)
{
	struct pp_landing_pad pad;
	struct head head;
	int r = 0;

	if (!read_head(c, frame, &head))
		return 0;
	c->end = head.sites_end;
	while (!r && !c->bad && c->at < c->end)
		if (read_site(c, code, frame, &head, &pad))
			r = append(pads, &pad);
	return r;
}

static int read_tables(struct pads *pads, struct pathprof_code *code,
		       const struct pp_cursor *section)
{
	const struct pp_frame *frames;
	size_t cnt = pp_frames_all(code, &frames), bytes = 0;
	int r = 0;

	for (size_t i = 0; !r && i < cnt && bytes <= section->end; i++) {
		uint64_t at = frames[i].exceptions - section->vaddr;
		struct pp_cursor c = *section;

		if (!frames[i].exceptions || at >= section->end)
			continue;
		c.at = (size_t)at;
		r = read_table(pads, &c, code, &frames[i]);
		bytes += c.at - (size_t)at;
	}
	return r;
}

static int by_start(const void *x, const void *y)
{
	const struct pp_landing_pad *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->end > b->end) - (a->end < b->end);
}

int pp_landing_pads_read(struct pp_landing_pad **ret_pads, size_t *ret_cnt,
			 struct pathprof_code *code)
{
	struct pads pads = {0};
	struct pp_section section;
	struct pp_cursor bytes;
	int r = 0;

	if (pp_section_named(code, ".gcc_except_table", &section) &&
	    pp_section_open(&section, &bytes))
		r = read_tables(&pads, code, &bytes);
	if (r) {
		free(pads.list);
		return r;
	}
	if (pads.cnt)
		qsort(pads.list, pads.cnt, sizeof(pads.list[0]), by_start);
	*ret_pads = pads.list;
	*ret_cnt = pads.cnt;
	return 0;
}
