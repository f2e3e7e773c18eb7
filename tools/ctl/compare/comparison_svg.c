// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A comparison as a picture: a bar for each function, then for each event, as long as what it adds
 * to D, red where the share grew and blue where it shrank, with both shares beside it.
 */
#include "comparison.h"

#include <stdlib.h>

#include "../text/cleanup.h"
#include "../text/svg.h"

#define ROWS_MAX   16
#define PART_MIN   0.0005 /* of D; smaller parts get no bar */
#define ROW_HEIGHT 22.0
#define NAME_WIDTH 330.0
#define BAR_WIDTH  360.0
#define WIDTH      900.0
#define HEAD       64.0

#define GREY "fill:#57606a"
#define BOLD "font-weight:bold"
#define GREW "fill:#d1495b"
#define FELL "fill:#3d7ea6"

static size_t rows_of(const struct moved *list, size_t cnt, double smallest)
{
	size_t rows = 0;

	while (rows < cnt && rows < ROWS_MAX && list[rows].moved_bits > smallest)
		rows++;
	return rows;
}

static void draw_row(struct svg *svg, const struct comparison *c, const struct moved *moved,
		     double longest, double y, const char *name)
{
	_cleanup_free_ char *says = ctl_printf("%.1f%% of D: %.2f%% \u2192 %.2f%%",
					       100 * moved->moved_bits / c->kl.bits,
					       100 * moved->a_share, 100 * moved->b_share);
	double width = BAR_WIDTH * moved->moved_bits / longest;

	svg_text(svg, NAME_WIDTH - 8, y + 14, SVG_END, "", 44, name);
	svg_rect(svg, NAME_WIDTH, y + 3, width, ROW_HEIGHT - 6,
		 moved->b_share > moved->a_share ? GREW : FELL);
	svg_text(svg, NAME_WIDTH + width + 6, y + 14, SVG_START, GREY, 0, says);
}

static double draw_functions(struct svg *svg, const struct comparison *c, size_t cnt, double y)
{
	if (!cnt || c->functions[0].item->binary == SIDE_NO_BINARY)
		return y;
	svg_text(svg, 16, y + 14, SVG_START, BOLD, 0, "Functions");
	for (size_t i = 0; i < cnt; i++) {
		_cleanup_free_ char *name = moved_function_name(&c->functions[i]);

		y += ROW_HEIGHT;
		draw_row(svg, c, &c->functions[i], c->functions[0].moved_bits, y, name);
	}
	return y + 1.5 * ROW_HEIGHT;
}

static void draw_events(struct svg *svg, const struct comparison *c, size_t cnt, double y)
{
	if (!cnt)
		return;
	svg_text(svg, 16, y + 14, SVG_START, BOLD, 0, side_kind_name(c->a->kind));
	for (size_t i = 0; i < cnt; i++) {
		_cleanup_free_ char *label = side_label(c->events[i].side, c->events[i].item);

		y += ROW_HEIGHT;
		draw_row(svg, c, &c->events[i], c->events[0].moved_bits, y, label);
	}
}

int comparison_draw(const struct comparison *comparison, const char *file)
{
	const struct comparison *c = comparison;
	size_t functions = rows_of(c->functions, c->function_cnt, PART_MIN * c->kl.bits);
	size_t events = rows_of(c->events, c->event_cnt, PART_MIN * c->kl.bits);
	double height = HEAD + ((double)(functions + events) + 4) * ROW_HEIGHT;
	_cleanup_free_ char *title = ctl_printf("%s against %s", c->b->word, c->a->word);
	_cleanup_free_ char *figures = NULL;
	struct svg svg;
	int r = svg_begin(&svg, file, WIDTH, height, title);

	if (r)
		return r;
	if (c->counted)
		figures = ctl_printf("D(B||A) %.4f bits; corrected %.4f bits, 99%% interval %.4f "
				     "to %.4f; overlap %.1f%%",
				     c->kl.bits, c->drift.kl_corrected_bits, c->drift.kl_low_bits,
				     c->drift.kl_high_bits, 100 * c->overlap);
	else
		figures = ctl_printf("D(B||A) %.4f bits%s; overlap %.1f%%", c->kl.bits,
				     c->nearly  ? ", nearly exact"
				     : c->exact ? ", exact"
						: "",
				     100 * c->overlap);
	svg_text(&svg, 16, 24, SVG_START, BOLD ";font-size:15px", 100, title);
	svg_text(&svg, 16, 44, SVG_START, GREY, 0, figures);
	svg_text(&svg, WIDTH - 16, 24, SVG_END, GREY, 0,
		 "length: part of D; red grew, blue shrank");
	draw_events(&svg, c, events, draw_functions(&svg, c, functions, HEAD));
	return svg_end(&svg);
}
