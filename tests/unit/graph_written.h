/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Graphs of a few bytes of code written by hand, as texts that a test expects. */
#ifndef GRAPH_WRITTEN_H
#define GRAPH_WRITTEN_H

#include <Zydis/Zydis.h>
#include <stdio.h>

#include "../../libprofile/src/graph/pp_builder.h"
#include "../../libprofile/src/graph/pp_graph_cache.h"
#include "elf_writer.h"
#include "failing_memory.h"
#include "pathprof/graph.h"
#include "test_code.h"
#include "unit.h"

#define GLOBAL ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
/* The file offset of the writer's text. */
#define TEXT WRITER_PAGE

static inline void put(struct elf_writer *w, unsigned int at, const char *bytes, size_t len)
{
	memcpy(w->text + at, bytes, len);
}
#define PUT(w, at, bytes) put(w, at, bytes, sizeof(bytes) - 1)

static inline void put_relative(struct elf_writer *w, unsigned int slot, unsigned int target)
{
	int32_t distance = (int32_t)(WRITER_TEXT + target) - WRITER_TABLE;

	memcpy(w->table + (size_t)4 * slot, &distance, sizeof(distance));
	if (w->table_len < (size_t)4 * (slot + 1))
		w->table_len = (size_t)4 * (slot + 1);
}

/* `call to` at from. */
static inline void put_call(struct elf_writer *w, unsigned int from, unsigned int to)
{
	elf_writer_jump(w, from, to);
	w->text[from] = 0xe8;
}

static inline struct pathprof_graph *build(struct pathprof_code *code)
{
	struct pathprof_graph *graph = NULL;
	struct pathprof_error error = {""};
	int rc = pathprof_graph_build(&graph, code, NULL, NULL, &error);

	if (rc)
		printf("  %s\n", error.text);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	return graph;
}

static inline struct pathprof_graph *build_written(const struct elf_writer *w)
{
	struct pathprof_code *code = elf_writer_open(w);
	struct pathprof_graph *graph = build(code);

	pathprof_code_free(code);
	return graph;
}

static const char edge_letters[PATHPROF_EDGE_KIND_CNT + 1] = "fntjsgcuCT";

static inline size_t describe_block(const struct pathprof_graph *g, uint32_t b, char *text,
				    size_t size)
{
	const struct pathprof_graph_block *block = &g->blocks[b];
	size_t at = (size_t)snprintf(text, size, " %x-%x", block->start - TEXT, block->end - TEXT);

	for (uint32_t e = block->first_edge; e < g->blocks[b + 1].first_edge && at < size; e++) {
		uint32_t to = g->edges[e].to;

		at += (size_t)snprintf(text + at, size - at, "%c%c",
				       e == block->first_edge ? ':' : ',',
				       edge_letters[g->edges[e].kind]);
		if (to != PATHPROF_GRAPH_NONE && at < size)
			at += (size_t)snprintf(text + at, size - at, "%x",
					       g->blocks[to].start - TEXT);
	}
	return at;
}

/* " start-end:EDGES.." of all blocks of a function, parts in order; edges as letter and target. */
static inline const char *describe(const struct pathprof_graph *g, const char *name)
{
	static char text[4096];
	uint32_t f = pathprof_graph_function_named(g, name);
	size_t at = 0;

	text[0] = '\0';
	if (f == PATHPROF_GRAPH_NONE)
		return "none";
	for (uint32_t p = 0; p < g->functions[f].part_cnt; p++) {
		const struct pathprof_graph_part *part = &g->parts[g->functions[f].first_part + p];

		for (uint32_t b = 0; b < part->block_cnt && at < sizeof(text); b++)
			at += describe_block(g, part->first_block + b, text + at,
					     sizeof(text) - at);
	}
	return text;
}

static inline void expect(const struct pathprof_graph *g, const char *name, const char *want)
{
	const char *have = describe(g, name);

	if (strcmp(have, want) != 0)
		printf("  %s:\n  have%s\n  want%s\n", name, have, want);
	CU_ASSERT_STRING_EQUAL(have, want);
}

static inline uint32_t flags_of(const struct pathprof_graph *g, const char *name)
{
	uint32_t f = pathprof_graph_function_named(g, name);

	return f == PATHPROF_GRAPH_NONE ? 0 : g->functions[f].flags;
}

/* lea rdx, [table]; movslq rax, [rdx + 4 rax]; add rax, rdx; jmp rax: 16 bytes at `at`. */
static inline void put_dispatch(struct elf_writer *w, unsigned int at)
{
	int32_t distance = WRITER_TABLE - (int32_t)(WRITER_TEXT + at + 7);

	PUT(w, at, "\x48\x8d\x15....\x48\x63\x04\x82\x48\x01\xd0\xff\xe0");
	memcpy(w->text + at + 3, &distance, sizeof(distance));
}

/* With the frame gone it is a tail call: mov rax, [rdi]; add rsp, 8; jmp [rax + 8]. */
static inline void put_tail_by_pointer(struct elf_writer *w)
{
	elf_writer_init(w);
	elf_writer_symbol(w, "f", 0x00, 0x10, GLOBAL);
	elf_writer_symbol(w, "g", 0x10, 0x10, GLOBAL);
	PUT(w, 0x00, "\x50\x48\x8b\x07\x48\x83\xc4\x08\xff\x60\x08");
	put_call(w, 0x10, 0x00);
	PUT(w, 0x15, "\xc3");
}

struct text {
	struct pathprof_code *code;
	uint8_t *bytes;
	size_t len;
	ZydisDecoder decoder;
};

#endif
