// SPDX-License-Identifier: GPL-2.0-or-later
/* Prometheus' text format 0.0.4, a line at a time: see metrics_text.h. */
#include "metrics_text.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/utf8.h"

/* One label that is not UTF-8 makes Prometheus refuse all of the answer. */
static void escape(FILE *to, const char *text, bool quotes)
{
	while (*text)
		if (*text == '\n' || *text == '\\' || (quotes && *text == '"')) {
			fprintf(to, "\\%c", *text == '\n' ? 'n' : *text);
			text++;
		} else {
			text += pp_utf8_put(text, to);
		}
}

void pp_metrics_head(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP %s ", name);
	escape(to, help, false);
	fprintf(to, "\n# TYPE %s %s\n", name, type);
}

/* Counts whole, as far as a double has them; the spelling of what is no number is the format's. */
static void write_value(FILE *to, double value)
{
	if (isnan(value))
		fputs(" NaN\n", to);
	else if (isinf(value))
		fputs(value > 0 ? " +Inf\n" : " -Inf\n", to);
	else
		fprintf(to, " %.17g\n", value);
}

void pp_metrics_sample(FILE *to, const char *name, const char *const *labels, double value)
{
	fputs(name, to);
	for (size_t i = 0; labels && labels[i]; i += 2) {
		fprintf(to, "%c%s=\"", i ? ',' : '{', labels[i]);
		escape(to, labels[i + 1] ? labels[i + 1] : "", true);
		fputc('"', to);
	}
	if (labels && labels[0])
		fputc('}', to);
	write_value(to, value);
}

void pp_metrics_one(FILE *to, const char *name, const char *type, const char *help, double value)
{
	pp_metrics_head(to, name, type, help);
	pp_metrics_sample(to, name, NULL, value);
}
