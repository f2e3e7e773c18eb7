// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function's control flow in graphviz's language. Blocks are shaded by the square root of their
 * weight, so that a tenth of the heat is still seen; the hottest path is outlined and bold; edges
 * carry their weight and their part of their block's.
 *
 * Names and source come from files of others: everything passes html() or quoted().
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "base/plural.h"
#include "cfg.h"

/* ---------------------------------------------------------------- colours */

#define HEAT_SIZE 8

/* OKLab: lightness, and the two axes of chroma at the hue of orange. */
#define COLD_L 0.985
#define HOT_L  0.70
#define COLD_C 0.010
#define HOT_C  0.175
#define COLD_H 1.55 /* radians: a yellow white */
#define HOT_H  0.80 /* an orange red */

/* sRGB's transfer function, IEC 61966-2-1, to 0..255. */
static int to_byte(double linear)
{
	double value;

	linear = fmin(fmax(linear, 0), 1);
	value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
	return (int)lround(255 * value);
}

static double cube(double x)
{
	return x * x * x;
}

/*
 * Colours from cold to hot, in steps the eye takes for equal: lightness, chroma and hue move in a
 * straight line in OKLab (B. Ottosson, "A perceptual color space for image processing", 2020).
 * Black text stays legible on all of them. "#rrggbb" for heat 0..1. Returns out.
 */
static char *heat_color(char out[static HEAT_SIZE], double heat)
{
	double at = fmin(fmax(heat, 0), 1);
	double light = COLD_L + at * (HOT_L - COLD_L), chroma = COLD_C + at * (HOT_C - COLD_C);
	double hue = COLD_H + at * (HOT_H - COLD_H);
	double a = chroma * cos(hue), b = chroma * sin(hue);
	double l = cube(light + 0.3963377774 * a + 0.2158037573 * b);
	double m = cube(light - 0.1055613458 * a - 0.0638541728 * b);
	double s = cube(light - 0.0894841775 * a - 1.2914855480 * b);

	snprintf(out, HEAT_SIZE, "#%02x%02x%02x",
		 (unsigned int)to_byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) &
			 255,
		 (unsigned int)to_byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) &
			 255,
		 (unsigned int)to_byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s) &
			 255);
	return out;
}

/* ---------------------------------------------------------------- the graph */

#define FONT     "Helvetica,Arial,sans-serif"
#define MONO     "DejaVu Sans Mono,Menlo,monospace"
#define HOT_LINE "#0b4f9e"
#define NEW_LINE "#b3123c" /* untested */
#define NEW_FILL "#fbd3dc"
#define PALE     0.3 /* of its heat a tested block keeps where untested ones are shown */
#define COLD     "#8a8a8a"
#define STRAIGHT 40 /* how much straighter a hot edge is drawn than a cold one */
#define WIDTH    44 /* columns of source that a block shows */

/* ---------------------------------------------------------------- escaping */

/* Text between tags. Control characters have no place in XML. */
static void html(FILE *out, const char *text)
{
	_cleanup_free_ char *valid = text_valid_utf8(text);

	for (const char *c = valid; *c; c++) {
		if (*c == '&')
			fputs("&amp;", out);
		else if (*c == '<')
			fputs("&lt;", out);
		else if (*c == '>')
			fputs("&gt;", out);
		else if (*c == '"')
			fputs("&quot;", out);
		else
			fputc((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c, out);
	}
}

/* The same, no longer than a block is wide: the beginning of a source line says most. */
static void html_cut(FILE *out, const char *text)
{
	_cleanup_free_ char *valid = text_valid_utf8(text);
	unsigned int columns = 0;
	uint32_t code_point;

	for (char *c = valid; *c; c += text_decode(c, &code_point)) {
		if (columns++ == WIDTH) {
			*c = 0;
			html(out, valid);
			fputs("...", out);
			return;
		}
	}
	html(out, valid);
}

/* Within a quoted string. */
static void quoted(FILE *out, const char *text)
{
	_cleanup_free_ char *valid = text_valid_utf8(text);

	for (const char *c = valid; *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', out);
		fputc((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c, out);
	}
}

/* ---------------------------------------------------------------- blocks */

static void row_begin(FILE *out)
{
	fputs("<TR><TD ALIGN=\"LEFT\" COLSPAN=\"3\">", out);
}

static void row_end(FILE *out)
{
	fputs("</TD></TR>", out);
}

/* Uses table cells, since a viewer's bold face may be wider than the one measured. */
static void print_title(FILE *out, const struct cfg_words *words, double share)
{
	fprintf(out, "<TR><TD ALIGN=\"LEFT\"><B>%s</B> </TD><TD ALIGN=\"LEFT\">", words->place);
	if (words->file) {
		fputs(" ", out);
		html(out, text_base_name(words->file));
		fprintf(out, ":%d", words->low);
		if (words->high != words->low)
			fprintf(out, "-%d", words->high);
	}
	fputs("</TD><TD ALIGN=\"RIGHT\">", out);
	if (share > 0)
		fprintf(out, " <B>%.1f %%</B>", 100 * share);
	fputs("</TD></TR>", out);
}

static void print_words(FILE *out, const struct cfg_words *words)
{
	for (int i = 0; i < words->line_cnt; i++) {
		row_begin(out);
		fprintf(out, "<FONT FACE=\"%s\" POINT-SIZE=\"9\">", MONO);
		html_cut(out, words->texts[i]);
		fputs(" &#160;</FONT>", out); /* for viewers with a wider font */
		row_end(out);
	}
	for (int i = 0; i < words->call_cnt; i++) {
		row_begin(out);
		fputs("<I>calls ", out);
		html_cut(out, words->calls[i]);
		fputs("</I>", out);
		row_end(out);
	}
	if (!words->more_calls)
		return;
	row_begin(out);
	fprintf(out, "<I>and makes %" PRIu32 " %s more</I>", words->more_calls,
		pp_plural(words->more_calls, "call", "calls"));
	row_end(out);
}

/* Edges out of the function have no block to lead to, so they are listed in the block that they
 * leave. */
static void print_leaving(FILE *out, const struct cfg *cfg, uint32_t last)
{
	for (uint32_t e = cfg->blocks[last].first_edge; e < cfg->blocks[last + 1].first_edge; e++) {
		const struct cfg_edge *edge = &cfg->edges[e];
		_cleanup_free_ char *name = NULL;

		if (edge->to != PATHPROF_GRAPH_NONE)
			continue;
		name = cfg_outside(cfg, edge);
		row_begin(out);
		fprintf(out, "<I>%s to ", cfg_kind_name(edge->kind));
		html_cut(out, name);
		if (edge->weight > 0)
			fprintf(out, "  %.0f %%", 100 * cfg_edge_share(cfg, e));
		fputs("</I>", out);
		row_end(out);
	}
}

static void print_style(FILE *out, const struct cfg *cfg, uint32_t block, double share)
{
	char color[HEAT_SIZE];
	double heat = (cfg->has_tested ? PALE : 1) * sqrt(share / cfg->top_share);

	if (cfg_group_untested(cfg, block))
		fprintf(out, " fillcolor=\"%s\" color=\"%s\" penwidth=2", NEW_FILL, NEW_LINE);
	else if (share > 0)
		fprintf(out, " fillcolor=\"%s\"", heat_color(color, heat));
	else
		fprintf(out, " fillcolor=\"white\" color=\"%s\" fontcolor=\"%s\"", COLD, COLD);
	if (cfg_group_hot(cfg, block))
		fprintf(out, " color=\"%s\" penwidth=3", HOT_LINE);
}

static void print_block(FILE *out, const struct cfg *cfg, uint32_t block,
			struct source_text *source)
{
	double weight = cfg_group_weight(cfg, block), share = cfg_group_share(cfg, block);
	struct cfg_words words;

	cfg_words_of(&words, cfg, block, source);
	fprintf(out,
		"\tb%" PRIu32 " [label=<<TABLE BORDER=\"0\" CELLSPACING=\"0\" "
		"CELLPADDING=\"2\">",
		block);
	print_title(out, &words, share);
	print_words(out, &words);
	print_leaving(out, cfg, cfg_last_of(cfg, block));
	fputs("</TABLE>>", out);
	print_style(out, cfg, block, share);
	if (cfg->target->counted)
		fprintf(out, " tooltip=\"%s", words.place);
	else
		fprintf(out, " tooltip=\"0x%" PRIx32, cfg_code_of(cfg, block)->start);
	fprintf(out, ": %s %.1f, seen %" PRIu64 " %s\"];\n", cfg->by_taken ? "taken" : "weight",
		weight, cfg->blocks[block].samples,
		pp_plural(cfg->blocks[block].samples, "time", "times"));
	cfg_words_release(&words);
}

/* ---------------------------------------------------------------- edges */

/* The letter for the edge in a path's outcomes. */
static const char *letter_of(uint32_t kind)
{
	switch (kind) {
	case PATHPROF_EDGE_TAKEN:
		return "T ";
	case PATHPROF_EDGE_NOT_TAKEN:
		return "N ";
	default:
		return "";
	}
}

static void print_count(FILE *out, const struct cfg *cfg, uint32_t e)
{
	const struct cfg_edge *edge = &cfg->edges[e];
	double share = 100 * cfg_edge_share(cfg, e);

	fprintf(out, "  %s%.0f", letter_of(edge->kind), edge->weight);
	if (share < 99.95)
		fprintf(out, "  %.*f %%", share < 9.95 || share > 99 ? 1 : 0, share);
}

static void print_edge(FILE *out, const struct cfg *cfg, uint32_t e, uint32_t from)
{
	const struct cfg_edge *edge = &cfg->edges[e];
	double part = cfg->top_weight > 0 ? edge->weight / cfg->top_weight : 0;

	fprintf(out, "\tb%" PRIu32 " -> b%" PRIu32 " [", from, edge->to);
	if (edge->weight > 0) {
		fputs("label=\"", out);
		print_count(out, cfg, e);
		fprintf(out, "  \" penwidth=%.1f weight=%.0f", 0.8 + 2 * sqrt(part),
			1 + STRAIGHT * part);
	} else {
		fprintf(out, "color=\"%s\" style=dashed", COLD);
	}
	if (edge->hot)
		fprintf(out, " color=\"%s\" fontcolor=\"%s\" style=bold penwidth=4", HOT_LINE,
			HOT_LINE);
	if (edge->is_untested)
		fprintf(out, " color=\"%s\" fontcolor=\"%s\" penwidth=3", NEW_LINE, NEW_LINE);
	fprintf(out, " tooltip=\"%s%s", edge->is_untested ? "untested, " : "",
		cfg_kind_name(edge->kind));
	if (edge->taken)
		fprintf(out, ", taken %" PRIu64 " %s", edge->taken,
			pp_plural(edge->taken, "time", "times"));
	fputs("\"];\n", out);
}

/* Prints only edges between blocks that are shown. No edge leads to a joined block. */
static void print_edges(FILE *out, const struct cfg *cfg, uint32_t block)
{
	uint32_t last = cfg_last_of(cfg, block);

	for (uint32_t e = cfg->blocks[last].first_edge; e < cfg->blocks[last + 1].first_edge; e++)
		if (cfg->edges[e].to != PATHPROF_GRAPH_NONE && cfg->blocks[cfg->edges[e].to].shown)
			print_edge(out, cfg, e, block);
}

/* ---------------------------------------------------------------- the picture */

static void print_counted(FILE *out, const struct cfg *cfg)
{
	const struct pathprof_path_row *path = &cfg->hottest;
	uint64_t number;

	if (cfg->by_taken) {
		fputs("counts: taken branches, no path was seen whole<BR/>", out);
		return;
	}
	fprintf(out, "counts: weight of %" PRIu64 " %s seen %" PRIu64 " %s<BR/>", cfg->path_cnt,
		pp_plural(cfg->path_cnt, "path", "paths"), cfg->samples,
		pp_plural(cfg->samples, "time", "times"));
	if (path->id &&
	    target_number(cfg->target, path->start, path->length, path->outcomes, &number) == 0)
		fprintf(out,
			"<FONT COLOR=\"%s\"><B>blue: the hottest path, number "
			"%" PRIu64 " of %" PRIu64 ", %.1f %%</B></FONT><BR/>",
			HOT_LINE, number, cfg->target->path_cnt, 100 * path->weight / cfg->weight);
}

static void print_label(FILE *out, const struct cfg *cfg)
{
	_cleanup_free_ char *bursts = measure_bursts(&cfg->measure);

	fputs("\tlabel=<<FONT POINT-SIZE=\"18\"><B>", out);
	html(out, cfg->target->name);
	fputs("</B></FONT><BR/>in ", out);
	html(out, text_base_name(cfg->target->binary_name));
	fputs(" &#160;\xc2\xb7&#160; ", out);
	print_counted(out, cfg);
	if (!cfg->by_taken)
		fprintf(out, "weight: %s, %s<BR/>", cfg_figure(cfg), bursts);
	if (cfg->has_tested)
		fprintf(out,
			"<FONT COLOR=\"%s\"><B>red: ran, and no test ran it</B></FONT>; pale: of "
			"the "
			"%" PRIu64 " %s that tests ran<BR/>",
			NEW_LINE, cfg->tested_path_cnt,
			pp_plural(cfg->tested_path_cnt, "path", "paths"));
	if (cfg->by_time)
		fprintf(out, "blocks: TIME, %" PRIu64 " clock %s<BR/>", cfg->clock,
			pp_plural(cfg->clock, "sample", "samples"));
	fprintf(out, "shade: square root of the %s &#160;\xc2\xb7&#160; T taken, N not taken",
		cfg->by_time ? "time" : "weight");
	if (cfg->hidden_cnt)
		fprintf(out, " &#160;\xc2\xb7&#160; %" PRIu32 " of %" PRIu32 " blocks are left out",
			cfg->hidden_cnt, cfg->group_cnt);
	fputs("<BR/>>;\n", out);
}

void cfg_print_dot(FILE *out, const struct cfg *cfg)
{
	struct source_text *source = source_text_new();

	fputs("digraph \"", out);
	quoted(out, cfg->target->name);
	fputs("\" {\n", out);
	fprintf(out,
		"\tgraph [fontname=\"%s\" fontsize=11 labelloc=t bgcolor=white ranksep=0.35 "
		"nodesep=0.3];\n",
		FONT);
	fprintf(out,
		"\tnode [shape=box style=\"filled,rounded\" fontname=\"%s\" fontsize=10 "
		"color=\"#444444\" margin=\"0.06,0.04\"];\n",
		FONT);
	fprintf(out, "\tedge [fontname=\"%s\" fontsize=10 color=\"#444444\" arrowsize=0.7];\n",
		FONT);
	print_label(out, cfg);
	for (uint32_t n = 0; n < cfg->block_cnt; n++)
		if (cfg->blocks[n].shown)
			print_block(out, cfg, n, source);
	for (uint32_t n = 0; n < cfg->block_cnt; n++)
		if (cfg->blocks[n].shown)
			print_edges(out, cfg, n);
	fputs("}\n", out);
	source_text_free(source);
}
