// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text in a block: its place, its source lines, the functions it calls. Lines of other files
 * (inlined code) are left out, as are lines of nothing but braces.
 */
#include <linux/perf_event.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "cfg.h"

#define TEXT_SIZE 256

/* Source as one line without indentation; "" when it says nothing. Caller frees. */
static char *tidy(char *line)
{
	char *from = line + strspn(line, " \t"), *to = line;
	bool word = false;

	for (; *from; from++) {
		bool blank = *from == ' ' || *from == '\t' || *from == '\r';

		if (blank && (!from[1] || strchr(" \t\r", from[1])))
			continue;
		word |= isalnum((unsigned char)*from) != 0;
		*to++ = blank ? ' ' : *from;
	}
	*to = 0;
	if (!word)
		*line = 0;
	return line;
}

/* Keeps the lowest CFG_LINES_MAX, in order. */
static void insert_line(struct cfg_words *words, int line, char *text)
{
	int at = words->line_cnt;

	while (at && words->lines[at - 1] > line)
		at--;
	if (at == CFG_LINES_MAX) {
		free(text);
		return;
	}
	if (words->line_cnt == CFG_LINES_MAX)
		free(words->texts[--words->line_cnt]);
	for (int i = words->line_cnt++; i > at; i--) {
		words->lines[i] = words->lines[i - 1];
		words->texts[i] = words->texts[i - 1];
	}
	words->lines[at] = line;
	words->texts[at] = text;
}

static void add_line(struct cfg_words *words, const struct pathprof_code *binary, const char *file,
		     int line, struct source_text *source)
{
	char *text;

	if (line < 1 || (words->file && strcmp(words->file, file) != 0))
		return;
	if (!words->file)
		words->low = words->high = line;
	words->file = file;
	words->low = line < words->low ? line : words->low;
	words->high = line > words->high ? line : words->high;
	for (int i = 0; i < words->line_cnt; i++)
		if (words->lines[i] == line)
			return;
	text = binary ? source_text_line(source, binary, file, line) : NULL;
	text = tidy(text ? text : ctl_strdup(""));
	if (*text)
		insert_line(words, line, text);
	else
		free(text);
}

static void add_lines(struct cfg_words *words, const struct cfg *cfg,
		      const struct pathprof_graph_block *code, struct source_text *source)
{
	struct pathprof_code *binary = cfg->target->code;
	uint64_t offset = code->start;

	while (offset < code->end) {
		unsigned int len_bytes = 0;
		const char *file;
		char text[TEXT_SIZE];
		int line;

		if (pathprof_code_line(binary, offset, &file, &line) == 0)
			add_line(words, binary, file, line, source);
		else if (offset == code->start && !words->file)
			return; /* no line information, so further lookups would not help */
		if (pathprof_code_instruction(binary, offset, text, sizeof(text), &len_bytes) < 0)
			return;
		offset += len_bytes;
	}
}

/* The called function's name if the graph has the target, else the operand of the call instruction.
 * Caller frees. */
static char *callee_of(const struct cfg *cfg, uint32_t block)
{
	const struct pathprof_graph *graph = cfg->target->graph;
	const struct pathprof_graph_block *code = cfg_code_of(cfg, block);
	uint32_t at = cfg->target->flow.nodes[block].block;
	char text[TEXT_SIZE];
	unsigned int len_bytes;

	for (uint32_t e = code->first_edge; e < graph->blocks[at + 1].first_edge; e++) {
		const struct cfg_edge edge = {.leads_to = graph->edges[e].to};

		if (graph->edges[e].kind == PATHPROF_EDGE_CALL &&
		    edge.leads_to != PATHPROF_GRAPH_NONE)
			return cfg_outside(cfg, &edge);
	}
	if (pathprof_code_instruction(cfg->target->code, code->last, text, sizeof(text),
				      &len_bytes) < 0)
		return ctl_strdup("?");
	return ctl_strdup(strncmp(text, "call ", 5) == 0 ? text + 5 : text);
}

static void keep_call(struct cfg_words *words, char *callee)
{
	if (words->call_cnt < CFG_CALLS_MAX) {
		words->calls[words->call_cnt++] = callee;
		return;
	}
	words->more_calls++;
	free(callee);
}

static void add_call(struct cfg_words *words, const struct cfg *cfg, uint32_t block)
{
	switch (cfg_code_of(cfg, block)->kind) {
	case PERF_BR_CALL:
	case PERF_BR_IND_CALL:
		break;
	default:
		return;
	}
	keep_call(words, callee_of(cfg, block));
}

/* Adds the line at which a compiler's block begins, and the call that was inlined there. */
static void add_counted(struct cfg_words *words, const struct cfg *cfg, uint32_t block,
			struct source_text *source)
{
	const struct target *target = cfg->target;
	uint32_t cnt;
	const struct pathprof_counted_line *line =
		&pathprof_counted_functions(target->counted, &cnt)[target->function].lines[block];

	if (line->crossing == PATHPROF_CROSSING_CALL)
		keep_call(words, ctl_strdup(line->function));
	add_line(words, target->code, line->file, (int)line->line, source);
}

void cfg_words_of(struct cfg_words *ret_words, const struct cfg *cfg, uint32_t block,
		  struct source_text *source)
{
	*ret_words = (struct cfg_words){.place = cfg_place(cfg, block)};
	for (; block != PATHPROF_GRAPH_NONE; block = cfg->blocks[block].next) {
		if (cfg->target->counted) {
			add_counted(ret_words, cfg, block, source);
			continue;
		}
		add_lines(ret_words, cfg, cfg_code_of(cfg, block), source);
		add_call(ret_words, cfg, block);
	}
}

void cfg_words_release(struct cfg_words *words)
{
	free(words->place);
	for (int i = 0; i < words->line_cnt; i++)
		free(words->texts[i]);
	for (int i = 0; i < words->call_cnt; i++)
		free(words->calls[i]);
}
