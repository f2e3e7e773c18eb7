// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A trace's definitions beside its words: command, processes, streams, modules, blocks, handlers.
 *
 * Workload: once when the trace is opened; tens of thousands of blocks, looked up by id for every
 * word later, hence a plain array. Ids come from one counter, so a file whose ids are far apart is
 * refused rather than given memory.
 */
#include "pp_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

/* Ids that were taken but never defined (their process was killed) are few. */
#define IDS_PER_BLOCK_MAX 64
#define IDS_SPARE         (1u << 20)
#define BLOCK_ID_MAX      0x7fffffffu

/* The payload of a chunk being read. */
struct payload {
	const struct pathprof_trace *trace;
	const uint8_t *at;
	size_t left;
	struct pathprof_error *error;
};

static int bad(const struct payload *p, const char *what)
{
	pp_trace_bad(p->trace, p->error, "%s", what);
	return -EBADMSG;
}

static int take(struct payload *p, void *ret_record, size_t len_bytes)
{
	if (p->left < len_bytes)
		return bad(p, "a record is cut off by the end of its chunk");
	memcpy(ret_record, p->at, len_bytes);
	p->at += len_bytes;
	p->left -= len_bytes;
	return 0;
}

/* A name of len_bytes without a zero in it; the caller frees. */
static int take_name(struct payload *p, size_t len_bytes, char **ret_name)
{
	char *name;

	if (p->left < len_bytes || memchr(p->at, 0, len_bytes))
		return bad(p, "a name is cut off or holds a zero byte");
	name = strndup((const char *)p->at, len_bytes);
	if (!name)
		return pp_trace_no_memory(p->error);
	p->at += len_bytes;
	p->left -= len_bytes;
	*ret_name = name;
	return 0;
}

/* ---------------------------------------------------------------- a chunk each */

static int load_command(struct pathprof_trace *t, struct payload *p)
{
	size_t words = 0;
	char *at;

	if (t->command)
		return bad(p, "its command is there twice");
	if (!p->left || p->at[p->left - 1])
		return bad(p, "its command does not end with a zero byte");
	for (size_t i = 0; i < p->left; i++)
		words += !p->at[i];
	t->command_text = malloc(p->left);
	t->command = calloc(words + 1, sizeof(*t->command));
	if (!t->command_text || !t->command)
		return pp_trace_no_memory(p->error);
	memcpy(t->command_text, p->at, p->left);
	at = t->command_text;
	for (size_t i = 0; i < words; i++, at += strlen(at) + 1)
		t->command[i] = at;
	p->left = 0;
	return 0;
}

static int load_process(struct pathprof_trace *t, struct payload *p)
{
	struct pathprof_trace_process process;
	int r = take(p, &process, sizeof(process));

	if (r < 0)
		return r;
	if (pp_grow(&t->processes, t->process_cnt, &t->process_room) < 0)
		return pp_trace_no_memory(p->error);
	t->processes[t->process_cnt++] = process;
	return 0;
}

static int load_stream(struct pathprof_trace *t, struct payload *p)
{
	struct pathprof_trace_stream record;
	int r = take(p, &record, sizeof(record));

	if (r < 0)
		return r;
	if (pp_grow(&t->streams, t->stream_cnt, &t->stream_room) < 0)
		return pp_trace_no_memory(p->error);
	t->streams[t->stream_cnt++] = (struct pp_trace_stream){
		.id = record.stream,
		.info = {.process = record.process, .thread = record.thread},
	};
	return 0;
}

static int load_module(struct pathprof_trace *t, struct payload *p)
{
	struct pathprof_trace_module record;
	struct pp_trace_module *m;
	char *name = NULL;
	int r = take(p, &record, sizeof(record));

	if (r < 0)
		return r;
	if (record.start >= record.end || record.build_id_len > PATHPROF_BUILD_ID_MAX ||
	    record.module == PATHPROF_TRACE_NO_MODULE)
		return bad(p, "a module is impossible");
	r = take_name(p, record.name_len, &name);
	if (r < 0)
		return r;
	if (pp_grow(&t->modules, t->module_cnt, &t->module_room) < 0) {
		free(name);
		return pp_trace_no_memory(p->error);
	}
	m = &t->modules[t->module_cnt];
	*m = (struct pp_trace_module){
		.id = record.module,
		.order = (uint32_t)t->module_cnt++,
		.info = {.name = name,
			 .build_id = {.len_bytes = record.build_id_len,
				      .kind = record.build_id_len ? PATHPROF_ID_BUILD_ID
								  : PATHPROF_ID_NONE},
			 .start = record.start,
			 .end = record.end,
			 .offset = record.offset,
			 .process = record.process},
	};
	memcpy(m->info.build_id.bytes, record.build_id, record.build_id_len);
	return 0;
}

static bool is_kind(uint32_t kind)
{
	return kind <= 6 ||
	       (kind >= PATHPROF_TRACE_ENDS_SYSCALL && kind <= PATHPROF_TRACE_ENDS_OTHER);
}

static bool is_block(const struct pathprof_trace_block *b)
{
	return b->id >= 1 && b->id <= BLOCK_ID_MAX && b->len_bytes >= 1 &&
	       b->last_offset < b->len_bytes && b->insn_cnt >= 1 && is_kind(b->kind) &&
	       b->start <= UINT64_MAX - b->len_bytes;
}

static int room_for_block(struct pathprof_trace *t, uint32_t id)
{
	size_t room = t->block_room;

	if (id < room)
		return 0;
	if (id > IDS_SPARE + (uint64_t)IDS_PER_BLOCK_MAX * t->info.block_cnt)
		return -EBADMSG;
	if (pp_reserve(&t->blocks, (size_t)id + 1, &t->block_room) < 0)
		return -ENOMEM;
	memset(t->blocks + room, 0, (t->block_room - room) * sizeof(*t->blocks));
	return 0;
}

static int load_block(struct pathprof_trace *t, struct payload *p)
{
	struct pathprof_trace_block b;
	int r = take(p, &b, sizeof(b));

	if (r < 0)
		return r;
	if (!is_block(&b))
		return bad(p, "a block is impossible");
	r = room_for_block(t, b.id);
	if (r == -ENOMEM)
		return pp_trace_no_memory(p->error);
	if (r < 0 || t->blocks[b.id].is_defined)
		return bad(p, "a block's id is far off, or there twice");
	t->blocks[b.id] = (struct pp_trace_block){
		.start = b.start,
		.target = b.target,
		.len_bytes = b.len_bytes,
		.module = b.module,
		.last_offset = b.last_offset,
		.insn_cnt = b.insn_cnt,
		.kind = (uint8_t)b.kind,
		.is_defined = true,
	};
	t->info.block_cnt++;
	return 0;
}

static int load_handler(struct pathprof_trace *t, struct payload *p)
{
	struct pathprof_trace_handler handler;
	int r = take(p, &handler, sizeof(handler));

	if (r < 0)
		return r;
	if (pp_grow(&t->handlers, t->handler_cnt, &t->handler_room) < 0)
		return pp_trace_no_memory(p->error);
	t->handlers[t->handler_cnt++] = handler;
	return 0;
}

static int load_exec(struct pathprof_trace *t, struct payload *p)
{
	struct pathprof_trace_exec exec;
	char *name = NULL;
	int r = take(p, &exec, sizeof(exec));

	if (!r)
		r = take_name(p, exec.name_len, &name);
	if (r < 0)
		return r;
	free(name);
	t->info.exec_cnt++;
	return 0;
}

typedef int load_fn(struct pathprof_trace *t, struct payload *p);

static load_fn *const loaders[PATHPROF_TRACE_INDEX] = {
	[PATHPROF_TRACE_COMMAND] = load_command, [PATHPROF_TRACE_PROCESSES] = load_process,
	[PATHPROF_TRACE_STREAMS] = load_stream,  [PATHPROF_TRACE_MODULES] = load_module,
	[PATHPROF_TRACE_BLOCKS] = load_block,    [PATHPROF_TRACE_HANDLERS] = load_handler,
	[PATHPROF_TRACE_EXECS] = load_exec,
};

/* ---------------------------------------------------------------- what refers to what */

static int by_process_id(const void *x, const void *y)
{
	const struct pathprof_trace_process *a = x, *b = y;

	return (a->process > b->process) - (a->process < b->process);
}

static int by_stream_id(const void *x, const void *y)
{
	const struct pp_trace_stream *a = x, *b = y;

	return (a->id > b->id) - (a->id < b->id);
}

const struct pathprof_trace_process *pp_trace_process(const struct pathprof_trace *trace,
						      uint32_t id)
{
	const struct pathprof_trace_process key = {.process = id};

	if (!trace->process_cnt)
		return NULL;
	return bsearch(&key, trace->processes, trace->process_cnt, sizeof(key), by_process_id);
}

static int check_processes(struct pathprof_trace *t, struct pathprof_error *error)
{
	if (t->process_cnt)
		qsort(t->processes, t->process_cnt, sizeof(*t->processes), by_process_id);
	for (size_t i = 1; i < t->process_cnt; i++)
		if (t->processes[i].process == t->processes[i - 1].process)
			return pp_trace_bad(t, error, "process %u is there twice",
					    t->processes[i].process);
	for (size_t i = 0; i < t->process_cnt; i++)
		if (!pp_trace_process(t, t->processes[i].parent))
			return pp_trace_bad(t, error, "process %u has an unknown parent",
					    t->processes[i].process);
	return 0;
}

static int by_number(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return (a > b) - (a < b);
}

/* The ids of all modules, sorted, are ids[module_cnt]. */
static int check_module_ids(const struct pathprof_trace *t, const uint32_t *ids,
			    struct pathprof_error *error)
{
	for (size_t i = 1; i < t->module_cnt; i++)
		if (ids[i] == ids[i - 1])
			return pp_trace_bad(t, error, "module %u is there twice", ids[i]);
	for (size_t id = 0; id < t->block_room; id++) {
		const struct pp_trace_block *b = &t->blocks[id];

		if (b->is_defined && b->module != PATHPROF_TRACE_NO_MODULE &&
		    !bsearch(&b->module, ids, t->module_cnt, sizeof(*ids), by_number))
			return pp_trace_bad(t, error, "block %zu is of an unknown module", id);
	}
	return 0;
}

static int check_modules(const struct pathprof_trace *t, struct pathprof_error *error)
{
	uint32_t *ids = calloc(t->module_cnt + 1, sizeof(*ids));
	int r = 0;

	if (!ids)
		return pp_trace_no_memory(error);
	for (size_t i = 0; i < t->module_cnt; i++) {
		ids[i] = t->modules[i].id;
		if (!pp_trace_process(t, t->modules[i].info.process))
			r = pp_trace_bad(t, error, "module %u is of an unknown process", ids[i]);
	}
	qsort(ids, t->module_cnt, sizeof(*ids), by_number);
	if (!r)
		r = check_module_ids(t, ids, error);
	free(ids);
	return r;
}

static int check_streams(struct pathprof_trace *t, struct pathprof_error *error)
{
	if (t->stream_cnt)
		qsort(t->streams, t->stream_cnt, sizeof(*t->streams), by_stream_id);
	for (size_t i = 0; i < t->stream_cnt; i++) {
		struct pp_trace_stream *s = &t->streams[i];
		const struct pathprof_trace_process *process = pp_trace_process(t, s->info.process);

		if (!process)
			return pp_trace_bad(t, error, "stream %u is of an unknown process", s->id);
		if (i && t->streams[i - 1].id == s->id)
			return pp_trace_bad(t, error, "stream %u is there twice", s->id);
		s->info.pid = process->pid;
	}
	return 0;
}

static int by_address(const void *x, const void *y)
{
	const struct pathprof_trace_handler *a = x, *b = y;

	return (a->address > b->address) - (a->address < b->address);
}

/*
 * A forked process runs blocks and has handlers that its parent defined, so a handler counts in
 * every process.
 */
static void mark_handlers(struct pathprof_trace *t)
{
	struct pathprof_trace_handler key = {0};

	if (!t->handler_cnt)
		return;
	qsort(t->handlers, t->handler_cnt, sizeof(key), by_address);
	for (size_t id = 0; id < t->block_room; id++) {
		key.address = t->blocks[id].start;
		t->blocks[id].is_handler =
			t->blocks[id].is_defined &&
			bsearch(&key, t->handlers, t->handler_cnt, sizeof(key), by_address) != NULL;
	}
}

static int load_chunk(struct pathprof_trace *t, struct pp_trace_unpacker *unpacker,
		      const struct pathprof_trace_place *place, struct pathprof_error *error)
{
	struct payload p = {.trace = t, .left = place->chunk.raw_bytes, .error = error};
	uint8_t *bytes;
	int r = pp_trace_unpack(t, unpacker, place, &bytes, error);

	p.at = bytes;
	while (!r && p.left)
		r = loaders[place->chunk.type](t, &p);
	return r;
}

int pp_trace_load_definitions(struct pathprof_trace *trace, struct pp_trace_unpacker *unpacker,
			      struct pathprof_error *error)
{
	static const char *const nothing[] = {NULL};
	int r = 0;

	for (size_t i = 0; !r && i < trace->place_cnt; i++)
		if (trace->places[i].chunk.type != PATHPROF_TRACE_WORDS)
			r = load_chunk(trace, unpacker, &trace->places[i], error);
	if (!r)
		r = check_processes(trace, error);
	if (!r)
		r = check_streams(trace, error);
	if (!r)
		r = check_modules(trace, error);
	if (r < 0)
		return r;
	mark_handlers(trace);
	trace->info.command = trace->command ? trace->command : nothing;
	return 0;
}

/* ---------------------------------------------------------------- words by stream */

static int by_stream_and_place(const void *x, const void *y)
{
	const struct pathprof_trace_place *a = x, *b = y;

	if (a->chunk.stream != b->chunk.stream)
		return a->chunk.stream > b->chunk.stream ? 1 : -1;
	if (a->chunk.first_word != b->chunk.first_word)
		return a->chunk.first_word > b->chunk.first_word ? 1 : -1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static struct pp_trace_stream *find_stream(struct pathprof_trace *t, uint32_t id)
{
	const struct pp_trace_stream key = {.id = id};

	if (!t->stream_cnt)
		return NULL;
	return bsearch(&key, t->streams, t->stream_cnt, sizeof(key), by_stream_id);
}

static int give_to_stream(struct pathprof_trace *t, size_t index, struct pathprof_error *error)
{
	const struct pathprof_trace_chunk *c = &t->words[index].chunk;
	struct pp_trace_stream *s = find_stream(t, c->stream);

	if (!s)
		return pp_trace_bad(t, error, "words of stream %u, which is unknown", c->stream);
	if (c->first_word != s->info.word_cnt || c->raw_bytes % sizeof(uint32_t))
		return pp_trace_bad(t, error, "words of stream %u are missing or there twice",
				    c->stream);
	if (!s->place_cnt++)
		s->first_place = index;
	s->info.word_cnt += c->raw_bytes / sizeof(uint32_t);
	return 0;
}

int pp_trace_sort_words(struct pathprof_trace *trace, struct pathprof_error *error)
{
	trace->words = calloc(trace->place_cnt + 1, sizeof(*trace->words));
	if (!trace->words)
		return pp_trace_no_memory(error);
	for (size_t i = 0; i < trace->place_cnt; i++)
		if (trace->places[i].chunk.type == PATHPROF_TRACE_WORDS)
			trace->words[trace->words_cnt++] = trace->places[i];
	qsort(trace->words, trace->words_cnt, sizeof(*trace->words), by_stream_and_place);
	for (size_t i = 0; i < trace->words_cnt; i++) {
		int r = give_to_stream(trace, i, error);

		if (r < 0)
			return r;
	}
	return 0;
}
