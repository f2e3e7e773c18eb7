// SPDX-License-Identifier: GPL-2.0-or-later
/* Pictures: see svg.h. */
#include "svg.h"

#include <unistd.h>

#include "cleanup.h"
#include "term.h"

static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*text, out);
		}
	}
}

int svg_begin(struct svg *svg, const char *file, double width, double height, const char *title)
{
	_cleanup_free_ char *safe = text_escape(title);
	struct pathprof_error error = {""};
	int r = output_begin(&svg->output, file, &error);

	if (r < 0)
		return ctl_fail_error(file, r, &error);
	svg->out = svg->output.file;
	fprintf(svg->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n<title>",
		width, height, width, height);
	put_escaped(svg->out, safe);
	fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", svg->out);
	return CTL_OK;
}

FILE *svg_listing(const struct ctl_options *options)
{
	if (!output_is_stdout(options->svg))
		return stdout;
	ctl_term_init(STDERR_FILENO, options->color);
	return stderr;
}

void svg_text(struct svg *svg, double x, double y, enum svg_anchor anchor, const char *style,
	      unsigned int width_chars, const char *text)
{
	static const char *const anchors[] = {"start", "middle", "end"};
	_cleanup_free_ char *safe = text_escape(text);
	_cleanup_free_ char *cut = width_chars ? text_shorten(safe, width_chars) : ctl_strdup(safe);

	fprintf(svg->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" style=\"%s\">", x, y,
		anchors[anchor], style);
	put_escaped(svg->out, cut);
	fputs("</text>\n", svg->out);
}

void svg_rect(struct svg *svg, double x, double y, double width, double height, const char *style)
{
	fprintf(svg->out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.2f\" style=\"%s\"/>\n", x, y,
		width, height, style);
}

void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *style)
{
	fprintf(svg->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" style=\"%s\"/>\n",
		x1, y1, x2, y2, style);
}

void svg_shape(struct svg *svg, const struct svg_point *points, size_t cnt, bool closed,
	       const char *style)
{
	fprintf(svg->out, "<%s points=\"", closed ? "polygon" : "polyline");
	for (size_t i = 0; i < cnt; i++)
		fprintf(svg->out, "%.1f,%.1f ", points[i].x, points[i].y);
	fprintf(svg->out, "\" style=\"%s\"/>\n", style);
}

int svg_end(struct svg *svg)
{
	struct pathprof_error error = {""};
	int r;

	fputs("</svg>\n", svg->out);
	r = output_end(&svg->output, 0, &error);
	return r < 0 ? ctl_fail_error(svg->output.path, r, &error) : CTL_OK;
}
