// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Figures, drawn by gnuplot from the tables' CSV files, so that the figure is what the table says
 * and anyone can draw it anew. NAME.gp, the script, is kept beside NAME.svg.
 */
#include "experiment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

#define TITLE_BYTES 512

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

static void put_panel(FILE *out, const struct lab_run *run, const char *name,
		      const struct lab_plot *plot)
{
	char line[TITLE_BYTES];
	size_t columns;

	first_line(run, name, ".txt", line);
	fputs("set title ", out);
	put_quoted(out, line);
	first_line(run, name, ".csv", line);
	columns = count_columns(line);
	fputs(" noenhanced\nplot ", out);
	for (size_t i = 0; i < columns; i++) {
		fprintf(out, "%s'%s.csv' using ", i ? ", " : "", name);
		if (plot->form == LAB_PLOT_LINES)
			fprintf(out, "1:%zu with lines lw 1.5", i + 2);
		else
			fprintf(out, "%zu:xtic(1)", i + 2);
		fprintf(out, " title columnheader(%zu)", i + 2);
	}
	fputc('\n', out);
}

static void put_axes(FILE *out, const struct lab_plot *plot)
{
	fputs("set datafile separator ','\nset key noenhanced top right\nset grid ytics\n"
	      "set xtics noenhanced\nset xlabel ",
	      out);
	put_quoted(out, plot->x ? plot->x : "");
	fputs(" noenhanced\nset ylabel ", out);
	put_quoted(out, plot->y ? plot->y : "");
	fputs(" noenhanced\n", out);
	if (plot->form == LAB_PLOT_BARS)
		fputs("set key outside right top\nset style data histograms\nset style histogram "
		      "clustered gap 1\n"
		      "set style fill solid 0.8\nset xtics rotate by -35\nset boxwidth 0.9\n",
		      out);
	if (plot->x_log)
		fputs("set logscale x\n", out);
	if (plot->y_log)
		fputs("set logscale y\n", out);
	else
		fputs("set yrange [0:*]\n", out);
	if (plot->y_max > 0)
		fprintf(out, "set yrange [*:%g]\n", plot->y_max);
}

static void put_panels(FILE *out, const struct lab_run *run, const struct lab_plot *plot)
{
	size_t cnt = 0, across = 1;

	while (plot->panel[cnt])
		cnt++;
	while (across * across < cnt)
		across++;
	fprintf(out, "set multiplot layout %zu,%zu\n", (cnt + across - 1) / across, across);
	for (size_t i = 0; i < cnt; i++)
		put_panel(out, run, plot->panel[i], plot);
	fputs("unset multiplot\n", out);
}

static void put_script(FILE *out, const struct lab_run *run, const char *name,
		       const struct lab_plot *plot)
{
	size_t across = 1, cnt = 1;

	while (plot->panel && plot->panel[cnt - 1] && plot->panel[cnt])
		cnt++;
	while (across * across < cnt)
		across++;
	fprintf(out, "set terminal svg size %zu,%zu dynamic background rgb 'white'\n",
		across == 1 ? 900 : across * 520, ((cnt + across - 1) / across) * 420);
	fprintf(out, "set output '%s.svg'\n", name);
	put_axes(out, plot);
	if (plot->panel)
		put_panels(out, run, plot);
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
