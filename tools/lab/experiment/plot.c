// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Figures, drawn by gnuplot from the tables' CSV files, so that the figure shows the table and
 * anyone can draw it anew. NAME.gp, the script, is kept beside NAME.svg.
 */
#include "experiment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

#define TITLE_BYTES 512
#define MARKS       8 /* about so many points are marked along a line */

/*
 * Colours that also those tell apart who see fewer of them: Okabe and Ito's (2008) and what Tol's
 * palette has beside them, neighbours of different lightness. Lines differ in their points too, and
 * from each four to the next in their dashes.
 */
static const struct {
	const char *colour;
	int point;
} series[] = {{"#0072B2", 7},  {"#D55E00", 5}, {"#009E73", 9},  {"#E69F00", 13}, {"#332288", 11},
	      {"#56B4E9", 6},  {"#882255", 4}, {"#999933", 8},  {"#CC79A7", 12}, {"#000000", 10},
	      {"#117733", 15}, {"#8C564B", 2}, {"#777777", 14}, {"#AA4499", 1}};
#define SERIES_CNT (sizeof(series) / sizeof(series[0]))

/* First line of OUT/name.suffix. */
static void first_line(const struct lab_run *run, const char *name, const char *suffix,
		       char *ret_line)
{
	char *path = lab_run_path(run, "%s%s", name, suffix);
	FILE *file = fopen(path, "re");

	if (!file || !fgets(ret_line, TITLE_BYTES, file))
		lab_fail("%s: not written yet, so it cannot be drawn", path);
	ret_line[strcspn(ret_line, "\n")] = '\0';
	fclose(file);
	free(path);
}

/* No experiment names a column with a comma in it. */
static size_t count_columns(const char *line)
{
	size_t cnt = 0;

	for (; *line; line++)
		cnt += *line == ',';
	return cnt;
}

/* The rows of OUT/name.csv, without its head. */
static size_t count_rows(const struct lab_run *run, const char *name)
{
	char *path = lab_run_path(run, "%s.csv", name);
	FILE *file = fopen(path, "re");
	size_t cnt = 0;
	int c;

	if (!file)
		lab_fail("%s: not written yet, so it cannot be drawn", path);
	while ((c = fgetc(file)) != EOF)
		cnt += c == '\n';
	fclose(file);
	free(path);
	return cnt ? cnt - 1 : 0;
}

/* Within gnuplot's single quotes a quote is two. */
static void put_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', out);
		fputc(*text, out);
	}
	fputc('\'', out);
}

static void put_style(FILE *out, const struct lab_plot *plot, size_t i, size_t rows)
{
	const char *colour = series[i % SERIES_CNT].colour;

	if (plot->form == LAB_PLOT_LINES)
		fprintf(out, " with linespoints lw 1.5 lc rgb '%s' dt %zu pt %d ps 0.5 pi %zu",
			colour, 1 + i / 4 % 5, series[i % SERIES_CNT].point, 1 + rows / MARKS);
	else
		fprintf(out, " lc rgb '%s'", colour);
}

static void put_panel(FILE *out, const struct lab_run *run, const char *name,
		      const struct lab_plot *plot)
{
	size_t columns, rows = count_rows(run, name);
	char line[TITLE_BYTES];

	first_line(run, name, ".txt", line);
	fputs("set title ", out);
	put_quoted(out, line);
	first_line(run, name, ".csv", line);
	columns = count_columns(line);
	fputs(" noenhanced\nplot ", out);
	for (size_t i = 0; i < columns; i++) {
		fprintf(out, "%s'%s.csv' using ", i ? ", " : "", name);
		if (plot->form == LAB_PLOT_LINES)
			fprintf(out, "1:%zu", i + 2);
		else
			fprintf(out, "%zu:xtic(1)", i + 2);
		put_style(out, plot, i, rows);
		fprintf(out, " title columnheader(%zu)", i + 2);
	}
	fputc('\n', out);
}

static void put_axes(FILE *out, const struct lab_plot *plot)
{
	fputs("set datafile separator ','\nset key noenhanced outside right top\nset grid ytics\n"
	      "set xtics noenhanced\nset xlabel ",
	      out);
	put_quoted(out, plot->x ? plot->x : "");
	fputs(" noenhanced\nset ylabel ", out);
	put_quoted(out, plot->y ? plot->y : "");
	fputs(" noenhanced\n", out);
	if (plot->form == LAB_PLOT_BARS)
		fputs("set style data histograms\nset style histogram clustered gap 1\n"
		      "set style fill solid noborder\nset xtics rotate by -35\nset boxwidth 0.9\n",
		      out);
	if (plot->x_log)
		fputs("set logscale x\n", out);
	if (plot->y_log)
		fputs("set logscale y\nset ytics (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, "
		      "20, "
		      "50, 100)\n",
		      out);
	else
		fputs("set yrange [0:*]\n", out);
	if (plot->y_max > 0)
		fprintf(out, "set yrange [:%g]\n", plot->y_max);
}

/* How many panels go side by side. */
static size_t panels_across(size_t cnt)
{
	size_t across = 1;

	while (across * across < cnt)
		across++;
	return across;
}

/* One legend for all, above them. */
static void put_panels(FILE *out, const struct lab_run *run, const struct lab_plot *plot,
		       size_t cnt)
{
	size_t across = panels_across(cnt);

	fprintf(out,
		"set multiplot layout %zu,%zu margins 0.04,0.99,0.07,0.87 spacing 0.045,0.11\n"
		"set key at screen 0.5,0.99 center top maxrows 4 width 2\n",
		(cnt + across - 1) / across, across);
	for (size_t i = 0; i < cnt; i++) {
		put_panel(out, run, plot->panel[i], plot);
		fputs("unset key\n", out);
	}
	fputs("unset multiplot\n", out);
}

static size_t width_px(const struct lab_run *run, const char *name, const struct lab_plot *plot)
{
	char line[TITLE_BYTES];

	if (plot->form != LAB_PLOT_BARS)
		return 1000;
	first_line(run, name, ".csv", line);
	return count_columns(line) * count_rows(run, name) > 60 ? 1300 : 900;
}

static void put_script(FILE *out, const struct lab_run *run, const char *name,
		       const struct lab_plot *plot)
{
	size_t cnt = 0, across, down;

	while (plot->panel && plot->panel[cnt])
		cnt++;
	across = panels_across(cnt ? cnt : 1);
	down = cnt ? (cnt + across - 1) / across : 1;
	fprintf(out, "set terminal svg size %zu,%zu dynamic background rgb 'white'\n",
		cnt ? across * 460 : width_px(run, name, plot), cnt ? down * 330 + 100 : 420);
	fprintf(out, "set output '%s.svg'\n", name);
	put_axes(out, plot);
	if (cnt)
		put_panels(out, run, plot, cnt);
	else
		put_panel(out, run, name, plot);
}

static void draw(const struct lab_run *run, const char *name)
{
	char script[TITLE_BYTES];
	int status;
	pid_t pid;

	snprintf(script, sizeof(script), "%s.gp", name);
	pid = fork();
	if (pid < 0)
		lab_fail("fork: %s", strerror(errno));
	if (pid == 0) {
		if (chdir(run->out))
			_exit(126);
		execlp("gnuplot", "gnuplot", script, (char *)NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			lab_fail("waitpid: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		lab_fail("gnuplot is missing, figures need it: apt install gnuplot-nox");
	if (status)
		lab_fail("gnuplot did not draw %s/%s", run->out, script);
}

void lab_plot_write(struct lab_run *run, const struct lab_table *table, const struct lab_plot *plot)
{
	const char *name = lab_table_name(table);
	FILE *script = lab_run_create(run, name, ".gp");

	put_script(script, run, name, plot);
	lab_run_close(script, name);
	draw(run, name);
}
