// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The process apart that reads one file: see pp_code_apart.h. */
#include "pp_code_apart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pathprof/foreign.h"
#include "pp_insn.h"

#define NAME_BYTES_MAX 16384

/* A process reads one file only, so no file can influence what is told of another. */
static struct pathprof_code *code;
static struct pathprof_inlines *inlines;
static struct pathprof_error error;

static void answer_error(struct pathprof_apart_message *m)
{
	m->bytes = 0;
	if (m->code < 0)
		pathprof_apart_add(m, error.text, (uint32_t)strlen(error.text));
}

/* ---------------------------------------------------------------- questions */

static int open_one(const struct pathprof_apart_message *m, int fd)
{
	struct pp_opening opening;
	struct pathprof_code_file file = {.fd = fd, .root_fd = PATHPROF_OWN_ROOT};

	if (code || fd < 0 || m->bytes < sizeof(opening))
		return -EINVAL;
	memcpy(&opening, m->text, sizeof(opening));
	file.path = m->text + sizeof(opening);
	return pathprof_code_open_fd(&code, &file, opening.has_id ? &opening.id : NULL, &error);
}

static void answer_open(struct pathprof_apart_message *m, int fd)
{
	struct pp_opened opened = {.zero = 0};

	m->code = open_one(m, fd);
	if (m->code == 0)
		m->code = pathprof_code_build_id(code, &opened.id, &error);
	answer_error(m);
	if (m->code < 0)
		return;
	opened.layout = code->layout;
	pathprof_apart_add(m, &opened, sizeof(opened));
	pathprof_apart_add(m, code->segments,
			   code->segment_cnt * (uint32_t)sizeof(code->segments[0]));
}

static void answer_build_id(struct pathprof_apart_message *m, int fd)
{
	struct pathprof_build_id id;

	m->code = fd < 0 ? -EINVAL : pathprof_build_id_read_fd(&id, fd, m->text, &error);
	answer_error(m);
	if (m->code == 0)
		pathprof_apart_add(m, &id, sizeof(id));
}

/* Whether there was room for it. */
static bool put_function(struct pathprof_apart_message *m, uint64_t offset)
{
	struct pp_function_apart f = {.start = 0};
	uint32_t before = m->bytes;
	const char *name = NULL;

	f.code = pathprof_code_function(code, offset, &name, &f.start);
	f.has_name = f.code == 0 && name && strlen(name) <= NAME_BYTES_MAX;
	if (!f.has_name)
		name = "";
	if (pathprof_apart_add(m, &f, sizeof(f)) &&
	    pathprof_apart_add(m, name, (uint32_t)strlen(name) + 1))
		return true;
	m->bytes = before;
	return false;
}

static void answer_functions(struct pathprof_apart_message *m)
{
	static uint64_t offsets[PP_OFFSETS_MAX];
	uint32_t cnt = m->bytes / sizeof(offsets[0]);

	if (cnt > PP_OFFSETS_MAX)
		cnt = PP_OFFSETS_MAX;
	memcpy(offsets, m->text, cnt * sizeof(offsets[0]));
	m->code = 0;
	m->bytes = 0;
	for (uint32_t i = 0; i < cnt; i++)
		if (!put_function(m, offsets[i]))
			return;
}

static void answer_find_function(struct pathprof_apart_message *m)
{
	m->code = pathprof_code_find_function(code, m->text, &m->numbers[0], &m->numbers[1]);
	m->bytes = 0;
}

static bool put_symbol(struct pathprof_apart_message *m, const struct pp_symbol *symbol)
{
	const struct pp_symbol_apart s = {
		.start = symbol->start,
		.end = symbol->end,
		.rank = symbol->rank,
		.sized = symbol->sized,
		.typed = symbol->typed,
		.resolver = symbol->resolver,
	};
	const char *name = strlen(symbol->name) <= NAME_BYTES_MAX ? symbol->name : "";
	uint32_t before = m->bytes;

	if (pathprof_apart_add(m, &s, sizeof(s)) &&
	    pathprof_apart_add(m, name, (uint32_t)strlen(name) + 1))
		return true;
	m->bytes = before;
	return false;
}

static void answer_symbols(struct pathprof_apart_message *m)
{
	const struct pp_symbol *symbols;
	size_t cnt = pp_symbols_all(code, &symbols);

	m->code = 0;
	m->bytes = 0;
	for (uint64_t i = m->numbers[0]; i < cnt && put_symbol(m, &symbols[i]); i++)
		;
}

typedef int insn_fn(uint64_t offset, const char **ret_text, uint32_t *ret_number);

static int line_of(uint64_t offset, const char **ret_text, uint32_t *ret_number)
{
	int line = 0, r = pathprof_code_line(code, offset, ret_text, &line);

	*ret_number = (uint32_t)line;
	return r;
}

static int text_of(uint64_t offset, const char **ret_text, uint32_t *ret_number)
{
	static char text[1024];
	unsigned int len_bytes = 0;
	int r = pathprof_code_instruction(code, offset, text, sizeof(text), &len_bytes);

	*ret_text = text;
	*ret_number = len_bytes;
	return r;
}

static bool put_insn(struct pathprof_apart_message *m, uint64_t offset, insn_fn *fn)
{
	struct pp_insn_apart insn = {.offset = offset};
	uint32_t before = m->bytes;
	const char *text = "";

	insn.code = fn(offset, &text, &insn.number);
	if (insn.code < 0 || strlen(text) > NAME_BYTES_MAX)
		text = "";
	if (pathprof_apart_add(m, &insn, sizeof(insn)) &&
	    pathprof_apart_add(m, text, (uint32_t)strlen(text) + 1))
		return true;
	m->bytes = before;
	return false;
}

static void answer_insns(struct pathprof_apart_message *m, insn_fn *fn)
{
	uint64_t offset = m->numbers[0], cnt = m->numbers[1];
	uint32_t len = 1;

	m->code = 0;
	m->bytes = 0;
	for (; cnt && len && put_insn(m, offset, fn); cnt--) {
		len = cnt > 1 ? pp_insn_length(code, offset) : 0;
		offset += len;
	}
}

static void answer_lengths(struct pathprof_apart_message *m)
{
	uint64_t start = m->numbers[0];

	m->code = 0;
	m->bytes = PP_LENGTHS_CNT;
	memset(m->text, 0, PP_LENGTHS_CNT);
	for (uint32_t at = 0, len; at < PP_LENGTHS_CNT; at += len ? len : 1) {
		len = pp_insn_length(code, start + at);
		m->text[at] = (char)len;
	}
}

static int put_block(void *context, const struct pathprof_block *block)
{
	return pathprof_apart_add(context, block, sizeof(*block)) ? 0 : -E2BIG;
}

typedef int walk_fn(struct pathprof_code *code, uint64_t start, uint32_t length, uint32_t outcomes,
		    pathprof_block_fn *fn, void *context, struct pathprof_error *error);

static void answer_walk(struct pathprof_apart_message *m, walk_fn *walk)
{
	m->bytes = 0;
	m->code = walk(code, m->numbers[0], (uint32_t)m->numbers[1], (uint32_t)m->numbers[2],
		       put_block, m, &error);
	if (m->code < 0)
		answer_error(m);
}

static void answer_graph_key(struct pathprof_apart_message *m)
{
	struct pp_graph_key key;

	m->code = pp_graph_key_of(&key, code, &error);
	answer_error(m);
	if (m->code == 0)
		pathprof_apart_add(m, &key, sizeof(key));
}

static void tell(void *context, uint64_t done, uint64_t total)
{
	pathprof_apart_tell(done, total);
}

static int write_graph(int fd)
{
	struct pathprof_graph *graph = NULL;
	struct pp_graph_key key;
	int r = pp_graph_key_of(&key, code, &error);

	if (!r)
		r = pathprof_graph_build(&graph, code, tell, NULL, &error);
	if (r)
		return r;
	r = pp_graph_write(graph, fd, &key, UINT64_MAX);
	pathprof_graph_free(graph);
	return r;
}

static void answer_graph(struct pathprof_apart_message *m, int fd)
{
	m->code = fd < 0 ? -EINVAL : write_graph(fd);
	answer_error(m);
}

/* ---------------------------------------------------------------- inlines */

static int open_inlines(void)
{
	return inlines ? 0 : pathprof_inlines_open(&inlines, code, &error);
}

static void answer_inlines(struct pathprof_apart_message *m)
{
	m->code = open_inlines();
	answer_error(m);
}

static bool put_frame(struct pathprof_apart_message *m, const struct pathprof_source_frame *frame)
{
	const struct pp_frame_apart numbers = {frame->line, frame->start_line, frame->discriminator,
					       frame->copies};
	const char *const texts[] = {frame->linkage_name, frame->name, frame->file, frame->dir};
	bool fits = pathprof_apart_add(m, &numbers, sizeof(numbers));

	for (size_t i = 0; fits && i < sizeof(texts) / sizeof(texts[0]); i++)
		fits = pathprof_apart_add(m, texts[i], (uint32_t)strlen(texts[i]) + 1);
	return fits;
}

static bool put_frames(struct pathprof_apart_message *m, uint64_t offset, uint32_t max)
{
	struct pathprof_source_frame frames[PP_FRAMES_APART_MAX];
	struct pp_frames_apart head = {.offset = offset};
	uint32_t before = m->bytes;
	bool fits;

	head.code = pathprof_inlines_at(inlines, offset, frames, max);
	fits = pathprof_apart_add(m, &head, sizeof(head));
	for (uint32_t i = 0; fits && i < max && (int)i < head.code; i++)
		fits = put_frame(m, &frames[i]);
	if (!fits)
		m->bytes = before;
	return fits;
}

static void answer_inlines_at(struct pathprof_apart_message *m)
{
	uint64_t offset = m->numbers[0], max = m->numbers[1], cnt = m->numbers[2];
	uint32_t len = 1;

	if (max > PP_FRAMES_APART_MAX)
		max = PP_FRAMES_APART_MAX;
	m->bytes = 0;
	m->code = open_inlines();
	for (; m->code == 0 && cnt && len && put_frames(m, offset, (uint32_t)max); cnt--) {
		len = cnt > 1 ? pp_insn_length(code, offset) : 0;
		offset += len;
	}
	if (m->code == 0 && !m->bytes)
		m->code = -E2BIG;
}

/* ---------------------------------------------------------------- */

static void answer_about_code(struct pathprof_apart_message *m, int fd)
{
	switch (m->kind) {
	case PP_ASK_FUNCTIONS:
		return answer_functions(m);
	case PP_ASK_FIND_FUNCTION:
		return answer_find_function(m);
	case PP_ASK_SYMBOLS:
		return answer_symbols(m);
	case PP_ASK_LINES:
		return answer_insns(m, line_of);
	case PP_ASK_INSTRUCTIONS:
		return answer_insns(m, text_of);
	case PP_ASK_LENGTHS:
		return answer_lengths(m);
	case PP_ASK_WALK:
		return answer_walk(m, pathprof_code_walk);
	case PP_ASK_WALK_PIECE:
		return answer_walk(m, pathprof_code_walk_piece);
	case PP_ASK_GRAPH_KEY:
		return answer_graph_key(m);
	case PP_ASK_GRAPH:
		return answer_graph(m, fd);
	case PP_ASK_INLINES:
		return answer_inlines(m);
	case PP_ASK_INLINES_AT:
		return answer_inlines_at(m);
	default:
		m->code = -ENOSYS;
		m->bytes = 0;
	}
}

static void answer(struct pathprof_apart_message *m, int fd)
{
	error.text[0] = '\0';
	if (m->kind == PP_ASK_BUILD_ID) {
		answer_build_id(m, fd);
	} else if (m->kind == PP_ASK_OPEN) {
		answer_open(m, fd);
	} else if (code) {
		answer_about_code(m, fd);
	} else {
		m->code = -EINVAL;
		m->bytes = 0;
	}
	if (fd >= 0)
		close(fd);
}

const struct pathprof_apart_service pp_code_reader = {.answer = answer};
