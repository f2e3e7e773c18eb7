// SPDX-License-Identifier: GPL-2.0-or-later
/* Drift over time as a picture: see drifts.h. */
#include <math.h>
#include <stdlib.h>

#include "../text/cleanup.h"
#include "../text/svg.h"
#include "../text/text.h"
#include "drifts.h"

#define PANELS_MAX   12
#define WIDTH        900.0
#define LEFT         70.0
#define RIGHT        24.0
#define HEAD         44.0
#define PANEL_HEIGHT 170.0
#define PLOT_TOP     28.0
#define PLOT_HEIGHT  105.0

#define GREY      "fill:#57606a"
#define BOLD      "font-weight:bold"
#define AXIS      "stroke:#d0d7de;stroke-width:1"
#define THRESHOLD "stroke:#d1495b;stroke-width:1;stroke-dasharray:5 4"
#define BAND      "fill:#3d7ea6;fill-opacity:0.22;stroke:none"
#define CURVE     "fill:none;stroke:#1f4e6b;stroke-width:1.8"
#define DOT       "fill:#1f4e6b"
#define DOT_OVER  "fill:#d1495b"

/* The position of a panel's figures. */
struct panel {
	const struct drift_subject *subject;
	double top, most_bits;
	int64_t first_ns, last_ns;
};

static double x_of(const struct panel *panel, int64_t ns)
{
	double span = (double)(panel->last_ns - panel->first_ns);
	double at = span > 0 ? (double)(ns - panel->first_ns) / span : 0.5;

	return LEFT + at * (WIDTH - LEFT - RIGHT);
}

/* A figure below 0 means that nothing changed, and is drawn as 0. */
static double y_of(const struct panel *panel, double bits)
{
	double at = fmin(fmax(bits, 0) / panel->most_bits, 1);

	return panel->top + PLOT_TOP + PLOT_HEIGHT * (1 - at);
}

/* Rounds up to 1, 2 or 5 times a power of ten. */
static double round_up(double bits)
{
	double power = pow(10, floor(log10(bits)));
	double digit = bits / power;

	return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static struct panel panel_of(const struct drift_subject *subject, double threshold, double top)
{
	double most = 2 * threshold;

	for (size_t i = 0; i < subject->cnt; i++)
		most = fmax(most, subject->points[i].row.kl_high_bits);
	return (struct panel){
		.subject = subject,
		.top = top,
		.most_bits = round_up(most),
		.first_ns = subject->points[subject->cnt - 1].row.end_ns,
		.last_ns = subject->points[0].row.end_ns,
	};
}

static void draw_axes(struct svg *svg, const struct panel *panel, double threshold)
{
	char text[64];

	for (int i = 0; i <= 2; i++) {
		double bits = panel->most_bits * i / 2, y = y_of(panel, bits);

		svg_line(svg, LEFT, y, WIDTH - RIGHT, y, AXIS);
		snprintf(text, sizeof(text), "%.3g", bits);
		svg_text(svg, LEFT - 8, y + 4, SVG_END, GREY, 0, text);
	}
	svg_line(svg, LEFT, y_of(panel, threshold), WIDTH - RIGHT, y_of(panel, threshold),
		 THRESHOLD);
	svg_text(svg, LEFT, panel->top + PLOT_TOP + PLOT_HEIGHT + 16, SVG_START, GREY, 0,
		 text_time(text, sizeof(text), panel->first_ns));
	if (panel->last_ns > panel->first_ns)
		svg_text(svg, WIDTH - RIGHT, panel->top + PLOT_TOP + PLOT_HEIGHT + 16, SVG_END,
			 GREY, 0, text_time(text, sizeof(text), panel->last_ns));
}

/* The band is its upper edge, then its lower edge backwards. */
static void draw_band(struct svg *svg, const struct panel *panel)
{
	size_t cnt = panel->subject->cnt;
	struct svg_point *edge = ctl_alloc(2 * cnt * sizeof(*edge));

	for (size_t i = 0; i < cnt; i++) {
		const struct pathprof_drift_row *row = &panel->subject->points[i].row;
		double x = x_of(panel, row->end_ns);

		edge[i] = (struct svg_point){x, y_of(panel, row->kl_high_bits)};
		edge[2 * cnt - 1 - i] = (struct svg_point){x, y_of(panel, row->kl_low_bits)};
	}
	svg_shape(svg, edge, 2 * cnt, true, BAND);
	free(edge);
}

static void draw_curve(struct svg *svg, const struct panel *panel, double threshold)
{
	size_t cnt = panel->subject->cnt;
	struct svg_point *curve = ctl_alloc(cnt * sizeof(*curve));

	for (size_t i = 0; i < cnt; i++) {
		const struct drift_point *point = &panel->subject->points[i];

		curve[i].x = x_of(panel, point->row.end_ns);
		curve[i].y = y_of(panel, point->row.kl_corrected_bits);
	}
	svg_shape(svg, curve, cnt, false, CURVE);
	for (size_t i = 0; i < cnt; i++) {
		const struct drift_point *point = &panel->subject->points[i];

		svg_rect(svg, curve[i].x - 2.5, curve[i].y - 2.5, 5, 5,
			 drift_is_over(point, threshold) ? DOT_OVER : DOT);
	}
	free(curve);
}

static void draw_panel(struct svg *svg, const struct drift_subject *subject, double threshold,
		       double top)
{
	struct panel panel = panel_of(subject, threshold, top);
	const struct pathprof_drift_row *row = &subject->points[0].row;
	_cleanup_free_ char *name =
		ctl_printf("%s%s%s against %s", text_base_name(row->binary_name),
			   row->container[0] ? " in " : "", row->container, row->baseline);

	svg_text(svg, LEFT, top + 14, SVG_START, BOLD, 100, name);
	draw_axes(svg, &panel, threshold);
	draw_band(svg, &panel);
	draw_curve(svg, &panel, threshold);
}

static size_t count_subjects(const struct drifts *drifts)
{
	struct drift_subject subject;
	size_t at = 0, cnt = 0;

	while (drifts_next(drifts, &at, &subject))
		cnt++;
	return cnt;
}

int drifts_draw(const struct drifts *drifts, double threshold, const char *file)
{
	size_t all = count_subjects(drifts), panels = all < PANELS_MAX ? all : PANELS_MAX;
	struct drift_subject subject;
	struct svg svg;
	size_t at = 0;
	int r = svg_begin(&svg, file, WIDTH, HEAD + (double)panels * PANEL_HEIGHT, "drift");

	if (r)
		return r;
	svg_text(&svg, 16, 24, SVG_START, BOLD ";font-size:15px", 0,
		 "Drift: corrected relative entropy, bits");
	svg_text(&svg, WIDTH - 16, 24, SVG_END, GREY, 0,
		 "band: 99% interval; dashed: threshold; red: over it");
	for (size_t i = 0; i < panels && drifts_next(drifts, &at, &subject); i++)
		draw_panel(&svg, &subject, threshold, HEAD + (double)i * PANEL_HEIGHT);
	if (panels < all)
		ctl_note("%s: shows %zu of %zu binaries: --binary chooses one", file, panels, all);
	return svg_end(&svg);
}
