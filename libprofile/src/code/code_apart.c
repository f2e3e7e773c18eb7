// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Asking the process that reads a file: see pp_code_apart.h. */
#include "pp_code_apart.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/table.h"
#include "base/vector.h"
#include "pathprof/foreign.h"

/* A function is not longer, and a longer block would keep whoever lists it for ever. */
#define BLOCK_BYTES_MAX (UINT64_C(64) << 20)
#define INSN_BYTES_MAX  15
#define SYMBOLS_MAX     (16u << 20)

/* The last answer about instructions in a row. */
struct row {
	uint64_t last;                         /* that was asked for */
	struct pathprof_apart_message *answer; /* no longer than its bytes; NULL: none */
	uint32_t at;                           /* in its text: behind what was taken last */
};
#define ROW_CNT 64

/* The answer about an offset. */
struct answered {
	uint64_t offset, start;
	const char *name; /* NULL: none */
	int code;
};

struct pp_code_apart {
	struct pathprof_apart *process;
	struct pathprof_build_id expect;
	bool has_expect;
	struct pp_texts texts;     /* that were handed out */
	struct pp_keyed functions; /* struct answered, by offset */
	struct row lines, insns, inlines;
	uint32_t inlines_max;
	uint64_t lengths_at;
	uint8_t lengths[PP_LENGTHS_CNT]; /* of the instructions from there on */
	bool has_lengths;
	struct pathprof_apart_message message;
};

/* ---------------------------------------------------------------- asking */

static int put_opening(const struct pathprof_code *code)
{
	struct pp_code_apart *apart = code->apart;
	struct pp_opening opening = {.has_id = apart->has_expect, .id = apart->expect};

	apart->message.kind = PP_ASK_OPEN;
	apart->message.bytes = 0;
	if (!pathprof_apart_add(&apart->message, &opening, sizeof(opening)) ||
	    !pathprof_apart_add(&apart->message, code->path, (uint32_t)strlen(code->path)))
		return -ENAMETOOLONG;
	return 0;
}

/* Starts the process, if need be, and gives it the file. 0 or what came of that. */
static int ready(const struct pathprof_code *code)
{
	struct pp_code_apart *apart = code->apart;
	int r = pathprof_apart_start(apart->process);

	if (r <= 0)
		return r;
	r = put_opening(code);
	if (r == 0)
		r = pathprof_apart_ask(apart->process, &apart->message, code->fd, NULL, NULL);
	return r < 0 ? r : apart->message.code > 0 ? -EBADMSG : apart->message.code;
}

static struct pathprof_apart_message *question(const struct pathprof_code *code, uint32_t kind,
					       uint64_t number)
{
	struct pathprof_apart_message *m = &code->apart->message;

	m->kind = kind;
	m->numbers[0] = number;
	m->bytes = 0;
	return m;
}

/* The answer's code, or why there is none. */
static int ask_with(const struct pathprof_code *code, int fd, pathprof_progress_fn *progress,
		    void *context)
{
	struct pp_code_apart *apart = code->apart;
	int r = pathprof_apart_ask(apart->process, &apart->message, fd, progress, context);

	return r < 0 ? r : apart->message.code;
}

static int ask(const struct pathprof_code *code)
{
	return ask_with(code, -1, NULL, NULL);
}

/* The words that came with a failure. */
static int fail(const struct pathprof_code *code, int r, struct pathprof_error *error)
{
	const struct pathprof_apart_message *m = &code->apart->message;
	const char *why = r == -EOWNERDEAD ? pathprof_apart_why(code->apart->process) : NULL;

	if (why)
		return pathprof_fail(error, r, "%s", why);
	return r == -EOWNERDEAD || !m->bytes ? r : pathprof_fail(error, r, "%s", m->text);
}

/* A text that stays as long as the handle; NULL without memory. */
static const char *keep(struct pp_code_apart *apart, const char *text)
{
	uint32_t number;

	return pp_texts_at(&apart->texts, text, &number) < 0 ? NULL : apart->texts.texts[number];
}

/* ---------------------------------------------------------------- the handle */

static bool is_segment(const struct pp_segment *s, uint64_t file_bytes)
{
	return s->len_bytes && s->offset < file_bytes && s->len_bytes <= file_bytes - s->offset &&
	       s->len_bytes <= UINT64_MAX - s->vaddr;
}

static int take_segments(struct pathprof_code *code, const char *bytes, size_t cnt)
{
	struct stat status;

	if (fstat(code->fd, &status) < 0)
		return -errno;
	code->segments = calloc(cnt + 1, sizeof(code->segments[0]));
	if (!code->segments)
		return -ENOMEM;
	memcpy(code->segments, bytes, cnt * sizeof(code->segments[0]));
	for (size_t i = 0; i < cnt; i++)
		if (!is_segment(&code->segments[i], (uint64_t)status.st_size))
			return -EBADMSG;
	code->segment_cnt = (uint32_t)cnt;
	return 0;
}

static int take_opened(struct pathprof_code *code)
{
	const struct pathprof_apart_message *m = &code->apart->message;
	size_t rest = m->bytes - sizeof(struct pp_opened);
	struct pp_opened opened;

	if (m->bytes < sizeof(opened) || rest % sizeof(struct pp_segment))
		return -EBADMSG;
	memcpy(&opened, m->text, sizeof(opened));
	code->layout = opened.layout;
	code->id = code->apart->has_expect ? code->apart->expect : opened.id;
	if (code->id.len_bytes > sizeof(code->id.bytes))
		return -EBADMSG;
	return take_segments(code, m->text + sizeof(opened), rest / sizeof(struct pp_segment));
}

int pp_apart_open(struct pathprof_code *code, const struct pathprof_build_id *expect,
		  pathprof_apart_died_fn *died, void *context, struct pathprof_error *error)
{
	struct pp_code_apart *apart = calloc(1, sizeof(*apart));
	int r = apart ? pathprof_apart_new(&apart->process, &pp_code_reader, code->path, died,
					   context)
		      : -ENOMEM;

	if (r < 0) {
		free(apart);
		return pathprof_fail(error, r, "%s: out of memory", code->path);
	}
	code->apart = apart;
	pp_keyed_init(&apart->functions, sizeof(struct answered), sizeof(uint64_t), PP_TABLE_MAX,
		      (uintptr_t)apart);
	apart->has_expect = expect != NULL;
	if (expect)
		apart->expect = *expect;
	r = ready(code);
	if (r < 0)
		return fail(code, r, error);
	r = take_opened(code);
	return r < 0 ? pathprof_fail(error, r, "%s: cannot be read apart: %s", code->path,
				     strerror(-r))
		     : 0;
}

void pp_apart_close(struct pathprof_code *code)
{
	if (!code->apart)
		return;
	pathprof_apart_free(code->apart->process);
	pp_texts_release(&code->apart->texts);
	pp_keyed_release(&code->apart->functions);
	free(code->apart->lines.answer);
	free(code->apart->insns.answer);
	free(code->apart->inlines.answer);
	free(code->apart);
}

int pp_apart_check(const struct pathprof_code *code, struct pathprof_error *error)
{
	const char *why = code->apart ? pathprof_apart_why(code->apart->process) : NULL;

	return why ? pathprof_fail(error, -EOWNERDEAD, "%s", why) : 0;
}

/* ---------------------------------------------------------------- identity alone */

static int take_build_id(struct pathprof_build_id *ret_id, const struct pathprof_apart_message *m)
{
	if (m->code < 0)
		return m->code;
	if (m->bytes != sizeof(*ret_id))
		return -EBADMSG;
	memcpy(ret_id, m->text, sizeof(*ret_id));
	return ret_id->len_bytes > sizeof(ret_id->bytes) ? -EBADMSG : 0;
}

static int ask_build_id(struct pathprof_build_id *ret_id, struct pathprof_apart *process, int fd,
			const char *path)
{
	struct pathprof_apart_message *m = calloc(1, sizeof(*m));
	int r = m ? 0 : -ENOMEM;

	if (!r) {
		m->kind = PP_ASK_BUILD_ID;
		r = pathprof_apart_add(m, path, (uint32_t)strlen(path)) ? 0 : -ENAMETOOLONG;
	}
	if (!r)
		r = pathprof_apart_ask(process, m, fd, NULL, NULL);
	if (!r)
		r = take_build_id(ret_id, m);
	free(m);
	return r;
}

int pathprof_build_id_read_apart(struct pathprof_build_id *ret_id, const char *path,
				 pathprof_apart_died_fn *died, void *context,
				 struct pathprof_error *error)
{
	struct pathprof_apart *process = NULL;
	int fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, error), r;

	if (fd < 0)
		return fd;
	r = pathprof_apart_new(&process, &pp_code_reader, path, died, context);
	if (!r)
		r = ask_build_id(ret_id, process, fd, path);
	pathprof_apart_free(process);
	close(fd);
	return r < 0 ? pathprof_fail(error, r, "%s: cannot be read: %s", path, strerror(-r)) : 0;
}

/* ---------------------------------------------------------------- names and lines */

static const struct answered *answered_at(const struct pp_code_apart *apart, uint64_t offset)
{
	uint32_t index;

	return pp_keyed_find(&apart->functions, &offset, &index) < 0
		       ? NULL
		       : pp_keyed_item(&apart->functions, index);
}

static int keep_answer(struct pp_code_apart *apart, const struct answered *answer)
{
	uint32_t index;

	if (answered_at(apart, answer->offset))
		return 0;
	if (pp_keyed_at(&apart->functions, &answer->offset, &index) < 0)
		return -ENOMEM;
	*(struct answered *)pp_keyed_item(&apart->functions, index) = *answer;
	return 0;
}

/* -EBADMSG when there is none. */
static int take_function(struct pp_code_apart *apart, uint32_t *at, uint64_t offset)
{
	const struct pathprof_apart_message *m = &apart->message;
	struct answered answer = {.offset = offset};
	struct pp_function_apart f;
	const char *name;

	if (*at > m->bytes || m->bytes - *at < sizeof(f))
		return -EBADMSG;
	memcpy(&f, m->text + *at, sizeof(f));
	*at += sizeof(f);
	name = pathprof_apart_take(m, at);
	if (!name)
		return -EBADMSG;
	answer.code = f.code > 0 ? -EBADMSG : f.code;
	answer.start = f.start;
	answer.name = f.has_name ? keep(apart, name) : NULL;
	if (f.has_name && !answer.name)
		return -ENOMEM;
	return keep_answer(apart, &answer);
}

/* Asks about as many as there is room for, and says how many were answered. */
static int ask_functions(struct pathprof_code *code, const uint64_t *offsets, size_t cnt)
{
	struct pathprof_apart_message *m;
	uint32_t at = 0;
	int r = ready(code);

	if (cnt > PP_OFFSETS_MAX)
		cnt = PP_OFFSETS_MAX;
	m = question(code, PP_ASK_FUNCTIONS, 0);
	pathprof_apart_add(m, offsets, (uint32_t)(cnt * sizeof(*offsets)));
	r = r < 0 ? r : ask(code);
	if (r < 0)
		return r;
	for (size_t i = 0; i < cnt; i++) {
		if (i && at >= m->bytes)
			return (int)i;
		r = take_function(code->apart, &at, offsets[i]);
		if (r < 0)
			return r;
	}
	return (int)cnt;
}

int pp_apart_functions_ahead(struct pathprof_code *code, const uint64_t *offsets, size_t cnt)
{
	while (cnt) {
		int r = ask_functions(code, offsets, cnt);

		if (r < 0)
			return r;
		offsets += r;
		cnt -= (size_t)r;
	}
	return 0;
}

int pp_apart_function(struct pathprof_code *code, uint64_t offset, const char **ret_name,
		      uint64_t *ret_start)
{
	const struct answered *answer = answered_at(code->apart, offset);
	int r;

	if (!answer) {
		r = ask_functions(code, &offset, 1);
		answer = r < 0 ? NULL : answered_at(code->apart, offset);
		if (!answer)
			return r < 0 ? r : -EBADMSG;
	}
	if (answer->code < 0)
		return answer->code;
	*ret_name = answer->name;
	*ret_start = answer->start;
	return 0;
}

int pp_apart_find_function(struct pathprof_code *code, const char *name, uint64_t *ret_start,
			   uint64_t *ret_end)
{
	struct pathprof_apart_message *m;
	int r = ready(code);

	m = question(code, PP_ASK_FIND_FUNCTION, 0);
	if (r == 0)
		r = pathprof_apart_add(m, name, (uint32_t)strlen(name)) ? ask(code) : -ENOENT;
	if (r < 0)
		return r;
	*ret_start = m->numbers[0];
	*ret_end = m->numbers[1];
	return 0;
}

/* ---------------------------------------------------------------- all symbols */

/* False: it is none, or there is no memory. */
static bool take_symbol(struct pathprof_code *code, uint32_t *at, size_t *room)
{
	const struct pathprof_apart_message *m = &code->apart->message;
	struct pp_symbol_apart s;
	const char *name;

	if (m->bytes - *at < sizeof(s))
		return false;
	memcpy(&s, m->text + *at, sizeof(s));
	*at += sizeof(s);
	name = pathprof_apart_take(m, at);
	name = name ? keep(code->apart, name) : NULL;
	if (!name || (code->symbol_cnt && code->symbols[code->symbol_cnt - 1].start > s.start))
		return false;
	if (pp_grow(&code->symbols, code->symbol_cnt, room) < 0)
		return false;
	code->symbols[code->symbol_cnt++] = (struct pp_symbol){
		.start = s.start,
		.end = s.end,
		.name = name,
		.rank = s.rank,
		.sized = s.sized,
		.typed = s.typed,
		.resolver = s.resolver,
	};
	return true;
}

/* How many came; none: those were all. */
static size_t ask_symbols(struct pathprof_code *code, size_t *room)
{
	size_t before = code->symbol_cnt;
	uint32_t at = 0;
	int r = ready(code);

	question(code, PP_ASK_SYMBOLS, before);
	r = r < 0 ? r : ask(code);
	while (r == 0 && at < code->apart->message.bytes && code->symbol_cnt < SYMBOLS_MAX &&
	       take_symbol(code, &at, room))
		;
	return code->symbol_cnt - before;
}

void pp_apart_symbols(struct pathprof_code *code)
{
	size_t room = 0;

	while (ask_symbols(code, &room))
		;
}

/* ---------------------------------------------------------------- instructions */

/* -EBADMSG: there is no such one. The text is the answer's. */
static int take_insn(const struct pathprof_apart_message *m, uint32_t *at,
		     struct pp_insn_apart *ret_insn, const char **ret_text)
{
	if (*at > m->bytes || m->bytes - *at < sizeof(*ret_insn))
		return -EBADMSG;
	memcpy(ret_insn, m->text + *at, sizeof(*ret_insn));
	*at += sizeof(*ret_insn);
	*ret_text = pathprof_apart_take(m, at);
	return *ret_text ? 0 : -EBADMSG;
}

static int find_insn(struct row *row, uint64_t offset, struct pp_insn_apart *ret_insn,
		     const char **ret_text)
{
	int r;

	do
		r = take_insn(row->answer, &row->at, ret_insn, ret_text);
	while (r == 0 && ret_insn->offset != offset);
	return r;
}

/* A caller that asks for one instruction after the other gets several in one question. */
static uint64_t row_cnt(const struct row *row, uint64_t offset)
{
	return offset > row->last && offset - row->last <= INSN_BYTES_MAX ? ROW_CNT : 1;
}

/* Keeps the answer to the question that stands in the message. */
static int ask_row(struct pathprof_code *code, struct row *row)
{
	const struct pathprof_apart_message *m = &code->apart->message;
	int r = ask(code);
	size_t bytes;

	if (r < 0)
		return r;
	bytes = offsetof(struct pathprof_apart_message, text) + m->bytes + 1;
	free(row->answer);
	row->answer = malloc(bytes);
	row->at = 0;
	if (!row->answer)
		return -ENOMEM;
	memcpy(row->answer, m, bytes);
	return 0;
}

static int ask_insns(struct pathprof_code *code, enum pp_code_question kind, struct row *row,
		     uint64_t offset)
{
	int r = ready(code);

	question(code, kind, offset)->numbers[1] = row_cnt(row, offset);
	return r < 0 ? r : ask_row(code, row);
}

static int insn_at(struct pathprof_code *code, enum pp_code_question kind, struct row *row,
		   uint64_t offset, struct pp_insn_apart *ret_insn, const char **ret_text)
{
	int r = row->answer ? find_insn(row, offset, ret_insn, ret_text) : -EBADMSG;

	if (r < 0) {
		r = ask_insns(code, kind, row, offset);
		r = r < 0 ? r : find_insn(row, offset, ret_insn, ret_text);
	}
	row->last = offset;
	return r < 0 ? r : ret_insn->code > 0 ? -EBADMSG : ret_insn->code;
}

int pp_apart_line(struct pathprof_code *code, uint64_t offset, const char **ret_file, int *ret_line)
{
	struct pp_insn_apart insn;
	const char *file;
	int r = insn_at(code, PP_ASK_LINES, &code->apart->lines, offset, &insn, &file);

	if (r < 0)
		return r;
	if (!insn.number || insn.number > INT_MAX)
		return -ENOENT;
	file = keep(code->apart, file);
	if (!file)
		return -ENOMEM;
	*ret_file = file;
	*ret_line = (int)insn.number;
	return 0;
}

int pp_apart_instruction(struct pathprof_code *code, uint64_t offset, char *text, size_t text_size,
			 unsigned int *ret_len_bytes)
{
	struct pp_insn_apart insn;
	const char *own;
	int r = insn_at(code, PP_ASK_INSTRUCTIONS, &code->apart->insns, offset, &insn, &own);

	if (r < 0)
		return r;
	if (!insn.number || insn.number > INSN_BYTES_MAX)
		return -ENOEXEC;
	snprintf(text, text_size, "%s", own);
	*ret_len_bytes = insn.number;
	return 0;
}

static bool has_length(const struct pp_code_apart *apart, uint64_t offset)
{
	return apart->has_lengths && offset - apart->lengths_at < PP_LENGTHS_CNT;
}

static bool fill_lengths(struct pathprof_code *code, uint64_t offset)
{
	struct pp_code_apart *apart = code->apart;
	int r = ready(code);

	question(code, PP_ASK_LENGTHS, offset);
	r = r < 0 ? r : ask(code);
	apart->has_lengths = r == 0 && apart->message.bytes == PP_LENGTHS_CNT;
	if (!apart->has_lengths)
		return false;
	memcpy(apart->lengths, apart->message.text, PP_LENGTHS_CNT);
	apart->lengths_at = offset;
	return true;
}

uint32_t pp_apart_length(struct pathprof_code *code, uint64_t offset)
{
	struct pp_code_apart *apart = code->apart;
	uint8_t len = has_length(apart, offset) ? apart->lengths[offset - apart->lengths_at] : 0;

	/* An offset beyond the lengths that are known takes another request. */
	if (!len && fill_lengths(code, offset))
		len = apart->lengths[0];
	return len <= INSN_BYTES_MAX ? len : 0;
}

static bool is_block(const struct pathprof_code *code, const struct pathprof_block *block)
{
	uint64_t vaddr;

	return block->end > block->start && block->end - block->start <= BLOCK_BYTES_MAX &&
	       !pathprof_code_offset_to_vaddr(code, block->start, &vaddr);
}

static int hand_out(const struct pathprof_code *code, const struct pathprof_block *blocks,
		    size_t cnt, pathprof_block_fn *fn, void *context)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < cnt; i++)
		r = is_block(code, &blocks[i]) ? fn(context, &blocks[i]) : -EBADMSG;
	return r;
}

int pp_apart_walk(struct pathprof_code *code, uint64_t start, uint32_t length, uint32_t outcomes,
		  bool is_piece, pathprof_block_fn *fn, void *context, struct pathprof_error *error)
{
	struct pathprof_apart_message *m;
	struct pathprof_block *blocks;
	int r = ready(code);

	m = question(code, is_piece ? PP_ASK_WALK_PIECE : PP_ASK_WALK, start);
	m->numbers[1] = length;
	m->numbers[2] = outcomes;
	r = r < 0 ? r : ask(code);
	if (r < 0)
		return fail(code, r, error);
	/* A copy: fn may ask something. */
	blocks = malloc(m->bytes + 1);
	if (!blocks)
		return -ENOMEM;
	memcpy(blocks, m->text, m->bytes);
	r = hand_out(code, blocks, m->bytes / sizeof(*blocks), fn, context);
	free(blocks);
	return r;
}

/* ---------------------------------------------------------------- graphs */

int pp_apart_graph_key(struct pp_graph_key *ret_key, struct pathprof_code *code,
		       struct pathprof_error *error)
{
	struct pathprof_apart_message *m;
	int r = ready(code);

	m = question(code, PP_ASK_GRAPH_KEY, 0);
	r = r < 0 ? r : ask(code);
	if (r < 0)
		return fail(code, r, error);
	if (m->bytes != sizeof(*ret_key))
		return -EBADMSG;
	memcpy(ret_key, m->text, sizeof(*ret_key));
	/* Prevents that one file's graph is stored under another's name. */
	ret_key->build_id = code->id;
	return 0;
}

/* Builds into memory that the process can write to; it is read back as a copy, and checked. */
static int build_in(int fd, struct pathprof_graph **ret_graph, struct pathprof_code *code,
		    pathprof_progress_fn *progress, void *context, struct pathprof_error *error)
{
	struct pp_graph_key key;
	int r = pp_apart_graph_key(&key, code, error);

	if (r < 0)
		return r;
	question(code, PP_ASK_GRAPH, 0);
	r = ask_with(code, fd, progress, context);
	if (r < 0)
		return fail(code, r, error);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	r = pp_graph_read(ret_graph, fd, &key, UINT64_MAX);
	return r < 0 ? pathprof_fail(error, r, "%s: its graph cannot be read", code->path) : 0;
}

int pp_apart_graph_build(struct pathprof_graph **ret_graph, struct pathprof_code *code,
			 pathprof_progress_fn *progress, void *context,
			 struct pathprof_error *error)
{
	int fd = memfd_create("graph", MFD_CLOEXEC), r;

	if (fd < 0)
		return pathprof_fail(error, -errno, "%s: no memory for its graph", code->path);
	r = build_in(fd, ret_graph, code, progress, context, error);
	close(fd);
	return r;
}

/* ---------------------------------------------------------------- inlines */

int pp_apart_inlines_open(struct pathprof_code *code, struct pathprof_error *error)
{
	int r = ready(code);

	question(code, PP_ASK_INLINES, 0);
	r = r < 0 ? r : ask(code);
	return r < 0 ? fail(code, r, error) : 0;
}

/* False: the answer is none, or there is no memory. */
static bool take_frame(struct pp_code_apart *apart, const struct pathprof_apart_message *m,
		       uint32_t *at, struct pathprof_source_frame *ret_frame)
{
	struct pp_frame_apart numbers;
	const char *texts[4];

	if (*at > m->bytes || m->bytes - *at < sizeof(numbers))
		return false;
	memcpy(&numbers, m->text + *at, sizeof(numbers));
	*at += sizeof(numbers);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = pathprof_apart_take(m, at);

		texts[i] = text ? keep(apart, text) : NULL;
		if (!texts[i])
			return false;
	}
	*ret_frame = (struct pathprof_source_frame){
		.linkage_name = texts[0],
		.name = texts[1],
		.file = texts[2],
		.dir = texts[3],
		.line = numbers.line,
		.start_line = numbers.start_line,
		.discriminator = numbers.discriminator,
		.copies = numbers.copies ? numbers.copies : 1,
	};
	return true;
}

/* How many frames the next instruction of the row has; -EBADMSG: the row is at its end. */
static int take_frames(struct pp_code_apart *apart, struct row *row, uint64_t offset,
		       struct pathprof_source_frame *frames, uint32_t max)
{
	struct pp_frames_apart head;

	if (row->at > row->answer->bytes || row->answer->bytes - row->at < sizeof(head))
		return -EBADMSG;
	memcpy(&head, row->answer->text + row->at, sizeof(head));
	if (head.offset != offset)
		return -EBADMSG;
	row->at += sizeof(head);
	for (uint32_t i = 0; i < max && (int)i < head.code; i++)
		if (!take_frame(apart, row->answer, &row->at, &frames[i]))
			return -EBADMSG;
	return head.code;
}

static int ask_inlines(struct pathprof_code *code, struct row *row, uint64_t offset, uint32_t max)
{
	struct pathprof_apart_message *m;
	int r = ready(code);

	m = question(code, PP_ASK_INLINES_AT, offset);
	m->numbers[1] = max;
	m->numbers[2] = row_cnt(row, offset);
	return r < 0 ? r : ask_row(code, row);
}

int pp_apart_inlines_at(struct pathprof_code *code, uint64_t offset,
			struct pathprof_source_frame *frames, uint32_t max)
{
	struct row *row = &code->apart->inlines;
	int r = -EBADMSG;

	if (max > PP_FRAMES_APART_MAX)
		return -E2BIG;
	/* A row serves only callers that ask for the same number of frames each time. */
	if (row->answer && code->apart->inlines_max == max)
		r = take_frames(code->apart, row, offset, frames, max);
	if (r == -EBADMSG) {
		code->apart->inlines_max = max;
		r = ask_inlines(code, row, offset, max);
		r = r < 0 ? r : take_frames(code->apart, row, offset, frames, max);
	}
	row->last = offset;
	return r;
}
