/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pictures as SVG 1.1 without scripts, fonts of the viewer's own or anything fetched. Text from
 * outside is made valid XML. Written as output.h says. One thread.
 */
#ifndef CTL_SVG_H
#define CTL_SVG_H

#include <stdbool.h>
#include <stdio.h>

#include "../ctl.h"
#include "output.h"
#include "text.h"

struct svg {
	struct output output;
	FILE *out;
};

struct svg_point {
	double x, y;
};

enum svg_anchor {
	SVG_START,
	SVG_MIDDLE,
	SVG_END,
};

/* CTL_OK, or said. The svg stays where it is until svg_end. */
int svg_begin(struct svg *svg, const char *file, double width, double height, const char *title);
/* Escaped, cut in the middle to width_chars (0: whole). style: CSS or "". */
void svg_text(struct svg *svg, double x, double y, enum svg_anchor anchor, const char *style,
	      unsigned int width_chars, const char *text);
void svg_rect(struct svg *svg, double x, double y, double width, double height, const char *style);
void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *style);
/* A line through the points, or the area they enclose. */
void svg_shape(struct svg *svg, const struct svg_point *points, size_t cnt, bool closed,
	       const char *style);
/* CTL_OK, or said. */
int svg_end(struct svg *svg);

/* The stream for the verb's listing: standard error if --svg writes to standard output. */
FILE *svg_listing(const struct ctl_options *options);

#endif
