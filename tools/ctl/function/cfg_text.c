// SPDX-License-Identifier: GPL-2.0-or-later
/* A function's control flow as a listing: a block after the other, with the ways out of each. */
#include <inttypes.h>
#include <stdlib.h>

#include "../text/cleanup.h"
#include "../text/term.h"
#include "../text/text.h"
#include "base/plural.h"
#include "cfg.h"

#define BAR_WIDTH 10

static void print_hottest(FILE *out, const struct cfg *cfg)
{
	const struct pathprof_path_row *path = &cfg->hottest;
	uint64_t number;

	if (!path->id || !(cfg->weight > 0))
		return;
	fprintf(out, "  hottest   path %" PRId64, path->id);
	if (target_number(cfg->target, path->start, path->length, path->outcomes, &number) == 0)
		fprintf(out, ", number %" PRIu64, number);
	fprintf(out, "  (%.1f%% of the weight here)\n",
		cfg->weight > 0 ? 100 * path->weight / cfg->weight : 0);
}

static void print_untested(FILE *out, const struct cfg *cfg)
{
	uint32_t block_cnt = 0, edge_cnt = 0;

	if (!cfg->has_tested)
		return;
	for (uint32_t n = 0; n < cfg->block_cnt; n++)
		block_cnt += cfg->blocks[n].is_untested;
	for (uint32_t e = 0; e < cfg->edge_cnt; e++)
		edge_cnt += cfg->edges[e].is_untested;
	fprintf(out,
		"  tested    %" PRIu64 " %s; %" PRIu32 " %s and %" PRIu32
		" %s ran that no test ran\n",
		cfg->tested_path_cnt, pp_plural(cfg->tested_path_cnt, "path", "paths"), block_cnt,
		pp_plural(block_cnt, "block", "blocks"), edge_cnt,
		pp_plural(edge_cnt, "edge", "edges"));
}

/* Tells the unit of the percentages and weights. */
static void print_figure(FILE *out, const struct cfg *cfg)
{
	_cleanup_free_ char *bursts = measure_bursts(&cfg->measure);
	const char *caution = measure_caution(&cfg->measure);

	if (!(cfg->weight > 0) && !cfg->by_time)
		return;
	if (cfg->by_time)
		fprintf(out, "  figure    TIME: %" PRIu64 " clock %s; of ways out %s\n", cfg->clock,
			pp_plural(cfg->clock, "sample", "samples"), cfg_figure(cfg));
	fprintf(out, "  %-8s  %s%s%s\n", cfg->by_time ? "bursts" : "figure",
		cfg->by_time ? "" : cfg_figure(cfg), cfg->by_time ? "" : ": ", bursts);
	if (*caution)
		fprintf(out, "\n%s\n", caution);
}

static const char *why_nothing(const struct cfg *cfg)
{
	if (cfg->clock)
		return "only the clock found it";
	if (cfg->path_cnt)
		return "it ran only where more than 32 calls were open, of which no count is kept";
	return "it was not seen to run";
}

static void print_counted(FILE *out, const struct cfg *cfg)
{
	if (cfg->by_taken && !cfg->taken && !(cfg->weight > 0))
		fprintf(out, "  counted   nothing: %s\n", why_nothing(cfg));
	else if (cfg->by_taken)
		fputs("  counted   taken branches: no path of it was seen whole\n", out);
	else
		fprintf(out,
			"  counted   %" PRIu64 " different %s, seen %" PRIu64 " %s (weight %.1f)\n",
			cfg->path_cnt, pp_plural(cfg->path_cnt, "path", "paths"), cfg->samples,
			pp_plural(cfg->samples, "time", "times"), cfg->weight);
	if (cfg->unlisted)
		fprintf(out, "  unlisted  %" PRIu64 " of %" PRIu64 " taken %s where no edge does\n",
			cfg->unlisted, cfg->taken,
			pp_plural(cfg->unlisted, "branches leads", "branches lead"));
}

static void print_header(FILE *out, const struct cfg *cfg)
{
	const struct target *target = cfg->target;
	_cleanup_free_ char *name = text_escape(target->name);
	_cleanup_free_ char *binary = text_escape(target->binary_name);
	char hex[PATHPROF_BUILD_ID_TEXT_LEN];

	fprintf(out, "%s%s%s\n", ctl_style_on(CTL_NAME), name, ctl_style_off(CTL_NAME));
	fprintf(out, "  binary    %s\n", binary);
	fprintf(out, "  build-id  %s\n", pathprof_build_id_text(&target->id, hex));
	if (!target->counted)
		fprintf(out, "  start     0x%" PRIx64 "\n", target->start);
	fprintf(out, "  has       %" PRIu32 " %s, %" PRIu32 " %s, %" PRIu32 " %s, %" PRIu64 " %s\n",
		cfg->block_cnt, pp_plural(cfg->block_cnt, "block", "blocks"), cfg->edge_cnt,
		pp_plural(cfg->edge_cnt, "edge", "edges"), target->flow.loop_cnt,
		pp_plural(target->flow.loop_cnt, "loop", "loops"), target->path_cnt,
		pp_plural(target->path_cnt, "path", "paths"));
	print_counted(out, cfg);
	print_hottest(out, cfg);
	print_untested(out, cfg);
	print_figure(out, cfg);
}

static char *where_to(const struct cfg *cfg, const struct cfg_edge *edge)
{
	_cleanup_free_ char *name = NULL;

	if (edge->to != PATHPROF_GRAPH_NONE)
		return cfg_place(cfg, edge->to);
	name = cfg_outside(cfg, edge);
	return text_escape(name);
}

static void print_edge(FILE *out, const struct cfg *cfg, uint32_t e)
{
	const struct cfg_edge *edge = &cfg->edges[e];
	_cleanup_free_ char *to = where_to(cfg, edge);
	enum ctl_style style = edge->hot ? CTL_HOT : CTL_PLAIN;

	fprintf(out, "    %c %s%-13s -> %s%s", edge->hot ? '*' : ' ', ctl_style_on(style),
		cfg_kind_name(edge->kind), to, ctl_style_off(style));
	if (edge->weight > 0 && !cfg->by_taken)
		fprintf(out, "  %.1f%%  weight %.1f", 100 * cfg_edge_share(cfg, e), edge->weight);
	if (edge->taken)
		fprintf(out, "  taken %" PRIu64, edge->taken);
	if (edge->is_untested)
		fprintf(out, "  %suntested%s", ctl_style_on(CTL_HOT), ctl_style_off(CTL_HOT));
	fputc('\n', out);
}

static void print_words(FILE *out, const struct cfg_words *words)
{
	for (int i = 0; i < words->line_cnt; i++) {
		_cleanup_free_ char *safe = text_escape(words->texts[i]);

		fprintf(out, "      %s%d%s  %s\n", ctl_style_on(CTL_GOOD), words->lines[i],
			ctl_style_off(CTL_GOOD), safe);
	}
	for (int i = 0; i < words->call_cnt; i++) {
		_cleanup_free_ char *safe = text_escape(words->calls[i]);

		fprintf(out, "      calls %s\n", safe);
	}
	if (words->more_calls)
		fprintf(out, "      and makes %" PRIu32 " %s more\n", words->more_calls,
			pp_plural(words->more_calls, "call", "calls"));
}

static void print_file(FILE *out, const struct cfg_words *words)
{
	_cleanup_free_ char *file = text_escape(text_base_name(words->file ? words->file : ""));

	if (words->file && words->low == words->high)
		fprintf(out, "  %s:%d", file, words->low);
	else if (words->file)
		fprintf(out, "  %s:%d-%d", file, words->low, words->high);
	fputc('\n', out);
}

/* Only where bars are drawn at all, and then as wide as the longest. */
static void print_bar(FILE *out, double share)
{
	char bar[3 * BAR_WIDTH + 1];
	int pad;

	if (!ctl_term.bars)
		return;
	text_bar(bar, sizeof(bar), share, 1, BAR_WIDTH);
	pad = BAR_WIDTH - (int)text_width(bar);
	fprintf(out, "  %s%*s", bar, pad > 0 ? pad : 0, "");
}

static void print_place(FILE *out, const struct cfg *cfg, uint32_t block, const char *place)
{
	fprintf(out, "\n  %c %s%-10s%s", cfg_group_hot(cfg, block) ? '*' : ' ',
		ctl_style_on(CTL_NAME), place, ctl_style_off(CTL_NAME));
	if (!cfg->target->counted)
		fprintf(out, " 0x%" PRIx32 " - 0x%" PRIx32, cfg_code_of(cfg, block)->start,
			cfg_code_of(cfg, cfg_last_of(cfg, block))->end);
}

static void print_block(FILE *out, const struct cfg *cfg, uint32_t block,
			struct source_text *source)
{
	uint32_t last = cfg_last_of(cfg, block);
	double share = cfg_group_share(cfg, block);
	struct cfg_words words;

	cfg_words_of(&words, cfg, block, source);
	print_place(out, cfg, block, words.place);
	fprintf(out, "  %s%6.2f%%%s", ctl_style_on(ctl_share_style(share)), 100 * share,
		ctl_style_off(ctl_share_style(share)));
	print_bar(out, share);
	if (cfg_group_untested(cfg, block))
		fprintf(out, "  %suntested%s", ctl_style_on(CTL_HOT), ctl_style_off(CTL_HOT));
	print_file(out, &words);
	print_words(out, &words);
	for (uint32_t e = cfg->blocks[last].first_edge; e < cfg->blocks[last + 1].first_edge; e++)
		print_edge(out, cfg, e);
	cfg_words_release(&words);
}

void cfg_print_text(FILE *out, const struct cfg *cfg)
{
	struct source_text *source = source_text_new();

	print_header(out, cfg);
	for (uint32_t n = 0; n < cfg->block_cnt; n++)
		if (cfg->blocks[n].shown)
			print_block(out, cfg, n, source);
	source_text_free(source);
}
