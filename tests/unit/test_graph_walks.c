// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Graphs of code that nobody wrote by hand: on random bytes, where only the shape is known; and of
 * real files, against random walks by an interpreter of its own, which decodes with Zydis alone and
 * throws a coin at each conditional branch.
 */
#include "graph_written.h"

#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- shape */

static const char *wrong_edges(const struct pathprof_graph *g, uint32_t b)
{
	const struct pathprof_graph_block *block = &g->blocks[b];
	uint32_t end = g->blocks[b + 1].first_edge;

	if (block->first_edge > end || end > g->edge_cnt)
		return "edges out of order";
	for (uint32_t e = block->first_edge; e < end; e++) {
		const struct pathprof_edge *edge = &g->edges[e];

		if (edge->kind >= PATHPROF_EDGE_KIND_CNT ||
		    (edge->to != PATHPROF_GRAPH_NONE && edge->to >= g->block_cnt))
			return "edge to nowhere";
		if (e > block->first_edge &&
		    (edge[-1].kind > edge->kind ||
		     (edge[-1].kind == edge->kind && edge[-1].to >= edge->to)))
			return "edges of a block out of order";
	}
	return NULL;
}

static const char *wrong_part(const struct pathprof_graph *g, uint32_t f, uint32_t p)
{
	const struct pathprof_graph_part *part = &g->parts[p];

	if (part->start >= part->end || part->first_block > g->block_cnt ||
	    part->block_cnt > g->block_cnt - part->first_block)
		return "part out of range";
	for (uint32_t b = part->first_block; b < part->first_block + part->block_cnt; b++) {
		if (g->blocks[b].function != f || g->blocks[b].start < part->start ||
		    g->blocks[b].start >= part->end)
			return "block of another part";
	}
	return NULL;
}

/* The promise of graph.h that a graph breaks; NULL: none. */
static const char *wrong_shape(const struct pathprof_graph *g)
{
	const char *wrong = NULL;
	uint32_t part_cnt = 0, block_cnt = 0;

	if (g->blocks[g->block_cnt].first_edge != g->edge_cnt || g->names[0])
		return "ends";
	for (uint32_t b = 0; b < g->block_cnt && !wrong; b++) {
		const struct pathprof_graph_block *block = &g->blocks[b];

		if (block->start > block->last || block->last >= block->end ||
		    (b && block[-1].start >= block->start) || block->function >= g->function_cnt)
			return "block";
		wrong = wrong_edges(g, b);
	}
	for (uint32_t f = 0; f < g->function_cnt && !wrong; f++) {
		const struct pathprof_graph_function *function = &g->functions[f];

		if (function->first_part != part_cnt || !function->part_cnt ||
		    function->name >= g->names_bytes ||
		    (f && g->parts[function[-1].first_part].start >= g->parts[part_cnt].start))
			return "function";
		for (uint32_t p = 0; p < function->part_cnt && !wrong; p++, part_cnt++) {
			wrong = wrong_part(g, f, part_cnt);
			block_cnt += g->parts[part_cnt].block_cnt;
		}
	}
	if (!wrong && (part_cnt != g->part_cnt || block_cnt != g->block_cnt))
		wrong = "counts";
	return wrong;
}

static uint64_t random_state = 0x9E3779B97F4A7C15;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Likely opcodes, so that random code jumps about. */
static uint8_t random_byte(void)
{
	static const uint8_t usual[] = {0x74, 0x75, 0xeb, 0xe8, 0xe9, 0xff, 0xc3, 0x90, 0x0f, 0x84,
					0x00, 0x48, 0x8d, 0x05, 0xe0, 0x63, 0x01, 0x83, 0xf8};

	return next_random() & 1 ? (uint8_t)next_random() : usual[next_random() % sizeof(usual)];
}

static void randomize(struct elf_writer *w)
{
	unsigned int at = 0;

	elf_writer_init(w);
	for (size_t i = 0; i < sizeof(w->text); i++)
		w->text[i] = random_byte();
	for (unsigned int i = 0; i < 30; i++) {
		unsigned int start = at + (unsigned int)(next_random() % 20);
		unsigned int size = 1 + (unsigned int)(next_random() % 200);

		if (next_random() & 1)
			elf_writer_symbol(w, "f", start, size, GLOBAL);
		else
			elf_writer_frame(w, start, size, -1, "\x0e\x20", next_random() & 2);
		at = start + size;
	}
	for (unsigned int i = 0; i < 64; i++)
		put_relative(w, i, (unsigned int)(next_random() % WRITER_PAGE));
	for (unsigned int i = 0; i < 40; i++)
		put_dispatch(w, (unsigned int)(next_random() % (WRITER_PAGE - 32)));
}

static void test_random_code(void)
{
	for (unsigned int round = 0; round < 500; round++) {
		struct elf_writer w;
		struct pathprof_graph *g;
		const char *wrong;

		randomize(&w);
		g = build_written(&w);
		wrong = wrong_shape(g);
		if (wrong)
			printf("  round %u: %s\n", round, wrong);
		CU_ASSERT_PTR_NULL(wrong);
		pathprof_graph_free(g);
	}
}

/* ---------------------------------------------------------------- random walks */

static bool read_text(struct text *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return false;
	t->len = (size_t)st.st_size;
	t->bytes = malloc(t->len);
	CU_ASSERT_EQUAL_FATAL(read(fd, t->bytes, t->len), (ssize_t)t->len);
	close(fd);
	t->code = open_code(path);
	ZydisDecoderInit(&t->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return true;
}

static void release_text(struct text *t)
{
	pathprof_code_free(t->code);
	free(t->bytes);
}

/* The block whose last instruction is at offset. */
static uint32_t block_ending_with(const struct pathprof_graph *g, uint64_t offset)
{
	uint32_t b = pathprof_graph_block_at(g, offset);

	while (b != PATHPROF_GRAPH_NONE && b + 1 < g->block_cnt && g->blocks[b].last != offset &&
	       g->blocks[b + 1].start <= offset)
		b++;
	return b != PATHPROF_GRAPH_NONE && g->blocks[b].last == offset ? b : PATHPROF_GRAPH_NONE;
}

static bool has_edge(const struct pathprof_graph *g, uint32_t b, uint64_t to)
{
	for (uint32_t e = g->blocks[b].first_edge; e < g->blocks[b + 1].first_edge; e++) {
		uint32_t target = g->edges[e].to;

		if (target != PATHPROF_GRAPH_NONE && g->blocks[target].start == to)
			return true;
	}
	return false;
}

static uint64_t continuation(const struct pathprof_graph *g, uint32_t b)
{
	for (uint32_t e = g->blocks[b].first_edge; e < g->blocks[b + 1].first_edge; e++) {
		if (g->edges[e].kind == PATHPROF_EDGE_CONTINUE)
			return g->blocks[g->edges[e].to].start;
	}
	return 0;
}

struct tally {
	unsigned long transfers, missing;
};

/*
 * One transfer by the bytes alone: where it may lead (a coin decides), 0: the walk ends. Calls go
 * on where the graph says: whether they return cannot be read from the bytes here.
 */
static uint64_t next_of(const ZydisDecodedInstruction *in, uint64_t at, uint64_t missed_by)
{
	uint64_t target = at + in->length + (uint64_t)in->raw.imm[0].value.s;

	switch (in->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return next_random() & 1 ? target + missed_by : at + in->length;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return in->raw.imm[0].is_relative ? target + missed_by : 0;
	default:
		return 0;
	}
}

static bool is_end(const ZydisDecodedInstruction *in)
{
	return in->mnemonic == ZYDIS_MNEMONIC_HLT || in->mnemonic == ZYDIS_MNEMONIC_UD2 ||
	       in->mnemonic == ZYDIS_MNEMONIC_INT3 || in->mnemonic == ZYDIS_MNEMONIC_INT1 ||
	       in->mnemonic == ZYDIS_MNEMONIC_RET;
}

/* Offsets equal vaddrs up to a distance within the one code segment, so both read alike. */
static void walk(const struct text *t, const struct pathprof_graph *g, uint64_t at,
		 uint64_t missed_by, struct tally *tally)
{
	ZydisDecodedInstruction in;

	for (unsigned int steps = 0; steps < 2000; steps++) {
		uint64_t next;
		uint32_t b;

		if (at >= t->len || ZYAN_FAILED(ZydisDecoderDecodeInstruction(
					    &t->decoder, NULL, t->bytes + at, t->len - at, &in)))
			return;
		if (is_end(&in))
			return;
		if (in.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE ||
		    in.mnemonic == ZYDIS_MNEMONIC_XBEGIN || in.mnemonic == ZYDIS_MNEMONIC_XABORT) {
			at += in.length;
			continue;
		}
		tally->transfers++;
		b = block_ending_with(g, at);
		if (b == PATHPROF_GRAPH_NONE) {
			tally->missing++;
			return;
		}
		next = in.meta.category == ZYDIS_CATEGORY_CALL ? continuation(g, b)
							       : next_of(&in, at, missed_by);
		if (!next)
			return;
		if (!has_edge(g, b, next)) {
			tally->missing++;
			return;
		}
		at = next;
	}
}

static void walk_all(const struct text *t, const struct pathprof_graph *g, uint64_t missed_by,
		     struct tally *tally)
{
	for (uint32_t f = 0; f < g->function_cnt; f++) {
		if (g->functions[f].entry == PATHPROF_GRAPH_NONE ||
		    (g->functions[f].flags & PATHPROF_FUNCTION_BROKEN))
			continue;
		for (unsigned int i = 0; i < 4; i++)
			walk(t, g, g->blocks[g->functions[f].entry].start, missed_by, tally);
	}
}

static const char *const files[] = {"/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6",
				    "/bin/bash"};

static void test_walks(void)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct tally tally = {0, 0};
		struct pathprof_graph *g;
		struct text t;

		if (!read_text(&t, files[i]))
			continue;
		g = build(t.code);
		CU_ASSERT_PTR_NULL(wrong_shape(g));
		walk_all(&t, g, 0, &tally);
		if (tally.missing)
			printf("  %s: %lu of %lu missing\n", files[i], tally.missing,
			       tally.transfers);
		CU_ASSERT_EQUAL(tally.missing, 0);
		CU_ASSERT(tally.transfers > 5000);
		pathprof_graph_free(g);
		release_text(&t);
	}
}

/* Walks that miss their targets by a byte, and graphs with an edge or a block displaced. */
static void test_planted(void)
{
	struct tally tally = {0, 0};
	struct pathprof_graph *g;
	struct text t;
	uint32_t *to, *start, kept;

	if (!read_text(&t, files[0]))
		abort();
	g = build(t.code);
	walk_all(&t, g, 1, &tally);
	CU_ASSERT(tally.missing > 500);
	to = (uint32_t *)&g->edges[g->edge_cnt / 2].to;
	kept = *to;
	*to = g->block_cnt;
	CU_ASSERT_PTR_NOT_NULL(wrong_shape(g));
	*to = kept;
	CU_ASSERT_PTR_NULL(wrong_shape(g));
	start = (uint32_t *)&g->blocks[g->block_cnt / 2].start;
	*start += g->blocks[g->block_cnt / 2].end;
	CU_ASSERT_PTR_NOT_NULL(wrong_shape(g));
	pathprof_graph_free(g);
	release_text(&t);
}

static const struct unit_test tests[] = {
	{"random code gives graphs of the promised shape", test_random_code},
	{"random walks through files stay on edges", test_walks},
	{"planted faults are caught", test_planted},
};
UNIT_SUITE(graph_walks, tests)
