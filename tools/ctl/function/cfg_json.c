// SPDX-License-Identifier: GPL-2.0-or-later
/* A function's control flow as one JSON object: the same blocks and edges as the other forms. */
#include <inttypes.h>

#include "../text/cleanup.h"
#include "../view/json.h"
#include "cfg.h"

static json_t *edge_json(const struct cfg *cfg, uint32_t e)
{
	const struct cfg_edge *edge = &cfg->edges[e];
	json_t *object = json_object();

	json_add_text(object, "kind", cfg_kind_name(edge->kind));
	if (cfg->target->counted)
		json_add_count(object, "to", edge->to);
	else if (edge->leads_to != PATHPROF_GRAPH_NONE)
		json_add_hex(object, "to", cfg->target->graph->blocks[edge->leads_to].start);
	else
		json_add(object, "to", json_null());
	if (edge->to == PATHPROF_GRAPH_NONE) {
		_cleanup_free_ char *name = cfg_outside(cfg, edge);

		json_add_text(object, "function", name);
	}
	json_add_real(object, "weight", cfg->by_taken ? 0 : edge->weight);
	json_add_real(object, "share", cfg_edge_share(cfg, e));
	json_add_count(object, "taken", edge->taken);
	json_add_count(object, "mispredicted", edge->mispredicted);
	json_add(object, "hottest", json_boolean(edge->hot));
	if (cfg->has_tested)
		json_add(object, "untested", json_boolean(edge->is_untested));
	return object;
}

static void add_words(json_t *object, const struct cfg_words *words)
{
	json_t *calls = json_array(), *lines = json_array();

	if (words->file) {
		json_add_text(object, "file", words->file);
		json_add_count(object, "line", (uint64_t)words->low);
		json_add_count(object, "last_line", (uint64_t)words->high);
	}
	for (int i = 0; i < words->line_cnt; i++) {
		json_t *line = json_object();

		json_add_count(line, "line", (uint64_t)words->lines[i]);
		json_add_text(line, "text", words->texts[i]);
		json_array_append_new(lines, line);
	}
	for (int i = 0; i < words->call_cnt; i++) {
		json_t *name = json_object();

		json_add_text(name, "function", words->calls[i]);
		json_array_append_new(calls, name);
	}
	json_add(object, "source", lines);
	json_add(object, "calls", calls);
	json_add_count(object, "more_calls", words->more_calls);
}

/* A compiler's block has a number instead, and so have the others that were joined to it. */
static void add_place(json_t *object, const struct cfg *cfg, uint32_t block)
{
	uint32_t last = cfg_last_of(cfg, block);

	if (cfg->target->counted) {
		json_add_count(object, "block", block);
		json_add_count(object, "last_block", last);
		return;
	}
	json_add_hex(object, "start", cfg_code_of(cfg, block)->start);
	json_add_hex(object, "last", cfg_code_of(cfg, last)->last);
	json_add_hex(object, "end", cfg_code_of(cfg, last)->end);
}

static json_t *block_json(const struct cfg *cfg, uint32_t block, struct source_text *source)
{
	uint32_t last = cfg_last_of(cfg, block);
	double weight = cfg_group_weight(cfg, block);
	json_t *object = json_object(), *edges = json_array();
	struct cfg_words words;

	cfg_words_of(&words, cfg, block, source);
	add_place(object, cfg, block);
	json_add_real(object, "weight", cfg->by_taken ? 0 : weight);
	json_add_real(object, "share", cfg_group_share(cfg, block));
	json_add_count(object, "samples", cfg->blocks[block].samples);
	json_add_count(object, "clock_samples", cfg_group_clock(cfg, block));
	json_add_count(object, "entered", cfg->blocks[block].entered);
	json_add_count(object, "called", cfg->blocks[last].called);
	json_add_count(object, "returned", cfg->blocks[last].returned);
	json_add(object, "hottest", json_boolean(cfg_group_hot(cfg, block)));
	if (cfg->has_tested)
		json_add(object, "untested", json_boolean(cfg_group_untested(cfg, block)));
	add_words(object, &words);
	for (uint32_t e = cfg->blocks[last].first_edge; e < cfg->blocks[last + 1].first_edge; e++)
		json_array_append_new(edges, edge_json(cfg, e));
	json_add(object, "edges", edges);
	cfg_words_release(&words);
	return object;
}

static json_t *hottest_json(const struct cfg *cfg)
{
	const struct pathprof_path_row *path = &cfg->hottest;
	json_t *object;
	uint64_t number;

	if (!path->id)
		return json_null();
	object = json_object();
	json_add_ns(object, "id", path->id);
	if (!cfg->target->counted)
		json_add_hex(object, "start", path->start);
	json_add_real(object, "weight", path->weight);
	if (target_number(cfg->target, path->start, path->length, path->outcomes, &number) == 0)
		json_add_number(object, "number", number);
	else
		json_add(object, "number", json_null());
	return object;
}

void cfg_print_json(FILE *out, const struct cfg *cfg)
{
	const struct target *target = cfg->target;
	struct source_text *source = source_text_new();
	_cleanup_json_ json_t *object = json_object();
	json_t *blocks = json_array();

	json_add_text(object, "name", target->name);
	json_add_text(object, "function", target->linkage);
	json_add_binary(object, "binary", &target->id, target->binary_name);
	if (!target->counted)
		json_add_hex(object, "start", target->start);
	json_add_number(object, "paths", target->path_cnt);
	json_add_count(object, "paths_seen", cfg->path_cnt);
	measure_figure_member(object, cfg->by_time ? "TIME" : cfg_figure(cfg));
	json_add_count(object, "clock_samples", cfg->clock);
	measure_members(&cfg->measure, object);
	json_add_count(object, "samples", cfg->samples);
	json_add_real(object, "weight", cfg->by_taken ? 0 : cfg->weight);
	json_add_count(object, "taken", cfg->taken);
	json_add_count(object, "unlisted", cfg->unlisted);
	json_add_count(object, "hidden_blocks", cfg->hidden_cnt);
	json_add(object, "hottest_path", hottest_json(cfg));
	for (uint32_t n = 0; n < cfg->block_cnt; n++)
		if (cfg->blocks[n].shown)
			json_array_append_new(blocks, block_json(cfg, n, source));
	json_add(object, "blocks", blocks);
	json_dumpf(object, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	fputc('\n', out);
	source_text_free(source);
}
