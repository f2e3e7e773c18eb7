// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Headlines: our figures beside the papers'. Each experiment keeps its own in
 * OUT/headlines/NAME.{csv,md}, emptied when it starts, so running one again replaces what it said;
 * OUT/headlines.{csv,md} are all of them in the order of the report.
 */
#include "experiment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define CSV_HEAD "experiment,what,paper,ours,unit,aim,met,why\n"
#define MD_HEAD                                                                                    \
	"| experiment | what | paper | ours | aim | met | remark "                                 \
	"|\n|---|---|---|---:|---:|---|---|\n"

static FILE *append(const struct lab_run *run, const char *suffix, const char *mode)
{
	char *path = lab_run_path(run, "headlines/%s%s", run->experiment->name, suffix);
	FILE *file = fopen(path, mode);

	if (!file)
		lab_fail("%s: %s", path, strerror(errno));
	free(path);
	return file;
}

void lab_headlines_begin(const struct lab_run *run)
{
	lab_run_close(append(run, ".csv", "we"), "headlines");
	lab_run_close(append(run, ".md", "we"), "headlines");
}

static void put_csv(FILE *out, const char *text)
{
	fputs(",\"", out);
	for (; text && *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* "yes", "no", or "" where the paper sets no aim. A figure that is NaN meets no aim. */
static const char *met(const struct lab_headline *h)
{
	if (isnan(h->aim))
		return "";
	return (h->at_most ? h->ours <= h->aim : h->ours >= h->aim) ? "yes" : "no";
}

static void write_csv(const struct lab_run *run, const struct lab_headline *h)
{
	FILE *out = append(run, ".csv", "ae");

	fputs(run->experiment->name, out);
	put_csv(out, h->what);
	put_csv(out, h->paper);
	fprintf(out, ",%.9g", h->ours);
	put_csv(out, h->unit);
	if (isnan(h->aim))
		fputc(',', out);
	else
		fprintf(out, ",%.9g", h->aim);
	fprintf(out, ",%s", met(h));
	put_csv(out, h->why);
	fputc('\n', out);
	lab_run_close(out, "headlines");
}

static void write_markdown(const struct lab_run *run, const struct lab_headline *h)
{
	FILE *out = append(run, ".md", "ae");

	fprintf(out, "| %s | %s | %s | %.2f %s | ", run->experiment->name, h->what, h->paper,
		h->ours, h->unit);
	if (!isnan(h->aim))
		fprintf(out, "%s %g %s", h->at_most ? "≤" : "≥", h->aim, h->unit);
	fprintf(out, " | %s | %s |\n", met(h), h->why ? h->why : "");
	lab_run_close(out, "headlines");
}

void lab_headline(struct lab_run *run, const struct lab_headline *headline)
{
	write_csv(run, headline);
	write_markdown(run, headline);
	printf("%s: %.2f %s; paper: %s%s%s\n", headline->what, headline->ours, headline->unit,
	       headline->paper, *met(headline) ? "; aim met: " : "", met(headline));
}

static void copy_into(FILE *out, const struct lab_run *run, const char *name, const char *suffix)
{
	char *path = lab_run_path(run, "headlines/%s%s", name, suffix);
	FILE *in = fopen(path, "re");
	int c;

	if (in) {
		while ((c = fgetc(in)) != EOF)
			fputc(c, out);
		fclose(in);
	}
	free(path);
}

static void collect(const struct lab_run *run, const struct lab_experiment *const *all,
		    const char *suffix, const char *head)
{
	FILE *out = lab_run_create(run, "headlines", suffix);

	fputs(head, out);
	for (size_t i = 0; all[i]; i++)
		copy_into(out, run, all[i]->name, suffix);
	lab_run_close(out, "headlines");
}

void lab_headlines_collect(const struct lab_run *run, const struct lab_experiment *const *all)
{
	collect(run, all, ".csv", CSV_HEAD);
	collect(run, all, ".md", MD_HEAD);
}
