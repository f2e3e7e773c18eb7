// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The code of a file in memory, with one mark a byte, and the containers of the builder. See
 * pp_builder.h for workload and ownership.
 */
#include "pp_builder.h"

#include "../../core/pp_insn_len.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int by_vaddr(const void *a, const void *b)
{
	const struct pp_text_part *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static bool overlaps(uint64_t a, uint64_t a_len, uint64_t b, uint64_t b_len)
{
	return a < b ? b - a < a_len : a - b < b_len;
}

/* No compiler makes segments that overlap: of those, only the first counts. */
static bool is_clear(const struct pp_text *text, const struct pp_segment *s)
{
	for (uint32_t i = 0; i < text->cnt; i++) {
		const struct pp_text_part *p = &text->parts[i];

		if (overlaps(p->vaddr, p->len_bytes, s->vaddr, s->len_bytes) ||
		    overlaps(p->offset, p->len_bytes, s->offset, s->len_bytes))
			return false;
	}
	return true;
}

static int read_part(struct pp_text_part *part, int fd)
{
	uint64_t at = 0;

	part->bytes = malloc(part->len_bytes);
	part->marks = calloc(1, part->len_bytes);
	if (!part->bytes || !part->marks)
		return -ENOMEM;
	while (at < part->len_bytes) {
		ssize_t got = pread(fd, part->bytes + at, part->len_bytes - at,
				    (off_t)(part->offset + at));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break; /* cut off while we read: what is missing is no code */
		at += (uint64_t)got;
	}
	part->len_bytes = at;
	return 0;
}

int pp_text_read(struct pp_text *text, struct pathprof_code *code)
{
	int r;

	text->parts = calloc(code->segment_cnt ? code->segment_cnt : 1, sizeof(text->parts[0]));
	if (!text->parts)
		return -ENOMEM;
	ZydisDecoderInit(&text->operands, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	text->lengths = text->operands;
	ZydisDecoderEnableMode(&text->lengths, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	for (uint32_t i = 0; i < code->segment_cnt; i++) {
		const struct pp_segment *s = &code->segments[i];
		struct pp_text_part *part = &text->parts[text->cnt];

		if (!is_clear(text, s))
			continue;
		if (s->offset + s->len_bytes > UINT32_MAX)
			return -EFBIG;
		*part = (struct pp_text_part){
			.vaddr = s->vaddr, .offset = s->offset, .len_bytes = s->len_bytes};
		text->cnt++;
		r = read_part(part, code->fd);
		if (r)
			return r;
	}
	qsort(text->parts, text->cnt, sizeof(text->parts[0]), by_vaddr);
	return 0;
}

void pp_text_release(struct pp_text *text)
{
	for (uint32_t i = 0; i < text->cnt; i++) {
		free(text->parts[i].bytes);
		free(text->parts[i].marks);
	}
	free(text->parts);
}

static struct pp_text_part *part_of(struct pp_text *text, uint64_t vaddr)
{
	for (uint32_t i = 0, at = text->hit; i < text->cnt; i++, at++) {
		struct pp_text_part *p = &text->parts[at < text->cnt ? at : at - text->cnt];

		if (vaddr >= p->vaddr && vaddr - p->vaddr < p->len_bytes) {
			text->hit = (uint32_t)(p - text->parts);
			return p;
		}
	}
	return NULL;
}

uint8_t *pp_text_mark(struct pp_text *text, uint64_t vaddr)
{
	struct pp_text_part *p = part_of(text, vaddr);

	return p ? p->marks + (vaddr - p->vaddr) : NULL;
}

const uint8_t *pp_text_bytes(struct pp_text *text, uint64_t vaddr, uint32_t *ret_len)
{
	struct pp_text_part *p = part_of(text, vaddr);
	uint64_t left;

	if (!p)
		return NULL;
	left = p->len_bytes - (vaddr - p->vaddr);
	*ret_len = left < PP_INSN_MAX ? (uint32_t)left : PP_INSN_MAX;
	return p->bytes + (vaddr - p->vaddr);
}

uint32_t pp_text_decode(struct pp_text *text, uint64_t vaddr, struct pp_insn *ret_insn)
{
	ZydisDecodedInstruction insn;
	const uint8_t *bytes;
	uint32_t len;

	bytes = pp_text_bytes(text, vaddr, &len);
	if (!bytes)
		return 0;
	pp_decode(bytes, len, vaddr, ret_insn);
	if (ret_insn->hazard == PP_HAZARD_FETCH)
		return 0;
	if (ret_insn->kind != PP_KIND_NONE)
		return ret_insn->len;
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&text->lengths, NULL, bytes, len, &insn)))
		return pp_insn_len_by_form(bytes, len);
	return insn.length;
}

bool pp_text_is_inside(struct pp_text *text, uint64_t vaddr)
{
	for (uint32_t back = 1; back < PP_INSN_MAX && back <= vaddr; back++) {
		const uint8_t *mark = pp_text_mark(text, vaddr - back);

		if (!mark)
			return false;
		if ((*mark & PP_MARK_LEN) > back)
			return true;
	}
	return false;
}

/* Whether the bytes are a no-op that linkers and assemblers pad with. */
static bool is_filling(const uint8_t *bytes, uint32_t len)
{
	uint32_t i = 0;

	while (i < len && (bytes[i] == 0x66 || bytes[i] == 0x2e))
		i++;
	if (i < len && (bytes[i] == 0x90 || bytes[i] == 0xcc))
		return true;
	return i + 1 < len && bytes[i] == 0x0f && bytes[i + 1] == 0x1f;
}

bool pp_text_is_padding(struct pp_text *text, uint64_t start, uint64_t end)
{
	struct pp_insn insn;

	while (start < end) {
		uint32_t len, there;
		const uint8_t *bytes = pp_text_bytes(text, start, &there);

		if (!bytes || !is_filling(bytes, there))
			return false;
		len = pp_text_decode(text, start, &insn);
		if (!len)
			return false;
		start += len;
	}
	return true;
}
