// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live screen: a title line, the table, a line of keys. Once a second the database is checked
 * for changes. After a change, and every ten seconds while the span ends now, the table is built
 * anew; the marked row stays with its subject. It is drawn when it or the terminal has changed. A
 * path, a function's graph or the help is shown as a page of text over it.
 */
#include "top_screen.h"

#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../ctl.h"
#include "../doctor/status.h"
#include "../function/cfg.h"
#include "../function/show.h"
#include "../function/target.h"
#include "../text/cleanup.h"
#include "../text/span.h"
#include "../text/text.h"
#include "base/clock.h"
#include "top_narrow.h"

#define REFRESH_MS  1000
#define REBUILD_MS  10000 /* so often, since windows leave the span */
#define WORD_MAX    63
#define NARROW      112 /* columns that all keys need */
#define KEY_ESCAPE  27
#define FIT_PATHS   32
#define FRAME_LINES 3 /* title, column titles, keys */

struct top {
	const struct top_config *config;
	const struct view *view;
	struct view_query query;
	struct table table;
	struct pathprof_error error; /* error of the last refresh, "" for none */
	char daemon[128];            /* the daemon's state */
	char nothing[256];           /* why there are no rows */
	char misfit[64];             /* a binary that is not laid out as it ran; "" */
	int64_t end_ns;              /* of the selected span, while it slides */
	bool is_past;                /* the span ends with the newest window, not now */
	int64_t sliding_ns;          /* its length; 0: it does not slide */
	int64_t newest_ns;           /* when the newest window ended */
	int64_t rebuilt_ms;
	struct timespec written[2]; /* the database and its log: when, as far as was seen */
	off_t written_bytes[2];
	size_t selected, first;  /* rows: the marked one, the topmost shown */
	char word[WORD_MAX + 1]; /* only rows with this word are shown; "": all */
	bool typing;             /* the word */
	struct top_narrowing narrowing;
	bool quit;
	char *page; /* text shown over the table, NULL: none */
	size_t page_first;
};

static volatile sig_atomic_t asked_to_quit;

static void on_signal(int signal_number)
{
	asked_to_quit = signal_number;
}

static const char help_text[] =
	"pathprofctl top\n"
	"\n"
	"  p   paths: which way the program went\n"
	"  f   functions: paths summed by the function they start in\n"
	"  e   edges: single branches\n"
	"  b   binaries\n"
	"  r   processes; c by container, u by unit, n by name\n"
	"\n"
	"  up, down, page up, page down, home, end    move\n"
	"  enter                                      show the marked path block by block, the\n"
	"                                             marked function's graph; functions of the\n"
	"                                             marked process, binary, container, unit, "
	"name\n"
	"  /                                          only rows with a word; escape: all\n"
	"  +, -                                       a longer, a shorter span\n"
	"  h, ?                                       this page\n"
	"  q                                          leave this page, then the program\n"
	"\n"
	"  s   order by TIME or by RUNS, which then stands first\n"
	"\n"
	"TIME is the part of the CPU time selected, RUNS that of all runs of paths, +/- half of\n"
	"the first one's 95% interval, SAMPLES how often it was seen whole. SHARE stands for both\n"
	"in old windows, and leans towards code with many branches. OUTCOMES: each branch on the\n"
	"path, T taken, N not taken.\n"
	"\n"
	"Where no counter tells rates of instructions, RUNS take all code to run at one: code of\n"
	"half the others' rate ran about half as often as shown.\n";

/* A database of an older schema is read as it was when it was opened: its daemon's later writes are
 * not seen. */
static bool stands_still(const struct pathprof_store *store)
{
	unsigned int known;

	return pathprof_store_schema(store, &known) < known;
}

static void read_daemon(struct top *top)
{
	struct daemon_status status;
	struct pathprof_error error;

	top->daemon[0] = 0;
	if (stands_still(top->config->store)) {
		snprintf(top->daemon, sizeof(top->daemon),
			 "an older version's, as it was at first");
		return;
	}
	if (daemon_status_read(&status, top->config->store, &error) < 0)
		return;
	if (!status.running)
		snprintf(top->daemon, sizeof(top->daemon), "daemon down");
	else
		snprintf(top->daemon, sizeof(top->daemon), "overhead %.2f%% of %.2f%%",
			 100 * daemon_status_number(status.members, "overhead_ratio", 0),
			 100 * daemon_status_number(status.members, "budget_ratio", 0));
	daemon_status_release(&status);
}

/* Returns the row about key, or the one at the same place. */
static size_t row_of_key(const struct table *table, int64_t key, size_t fallback)
{
	for (size_t i = 0; key && i < table->row_cnt; i++)
		if (table->keys[i] == key)
			return i;
	if (fallback < table->row_cnt)
		return fallback;
	return table->row_cnt ? table->row_cnt - 1 : 0;
}

static void slide(struct top *top)
{
	const int64_t length_ns = top->sliding_ns;

	if (!length_ns)
		return;
	top->end_ns = span_end_ns(top->query.store, length_ns, &top->is_past);
	top->query.filter.since_ns = top->end_ns - length_ns;
	top->query.filter.until_ns = top->end_ns;
}

static int take_newest(void *context, const struct pathprof_window_row *row)
{
	*(int64_t *)context = row->end_ns;
	return 1;
}

static int64_t now_ms(void)
{
	return (int64_t)(pp_monotonic_ns() / PP_NSEC_PER_MSEC);
}

/* Checks the first rows, which are the ones visible. */
static void look_for_misfits(struct top *top)
{
	const struct shares *shares = top->query.shares;
	struct fit fit = {.symbols = top->query.symbols};
	const char *name;

	for (size_t i = 0; shares && i < shares->path_cnt && i < FIT_PATHS; i++)
		fit_path(&fit, &shares->paths[i].row);
	name = fit_misfit(&fit);
	snprintf(top->misfit, sizeof(top->misfit), "%s", name ? text_base_name(name) : "");
	fit_release(&fit);
}

static void rebuild(struct top *top)
{
	const struct pathprof_filter all = {.limit = 1};
	int64_t key = top->selected < top->table.row_cnt ? top->table.keys[top->selected] : 0;
	struct table fresh;
	int r;

	table_init(&fresh, top->view->columns, top->view->column_cnt);
	slide(top);
	top->rebuilt_ms = now_ms();
	top->newest_ns = 0;
	pathprof_store_windows(top->query.store, &all, take_newest, &top->newest_ns, NULL);
	top->error.text[0] = 0;
	top->query.table = &fresh;
	top->query.context = top->view->context;
	top->query.limit_given = true;
	top->query.filter.kind = top->config->filter.kind;
	r = view_query_load(&top->query, top->view->figures, &top->error);
	if (r == 0)
		r = top->view->rows(&top->query, &top->error);
	if (r < 0 && !top->error.text[0])
		pathprof_fail(&top->error, r, "%s", strerror(-r));
	if (r < 0) {
		table_release(&fresh);
		return;
	}
	table_release(&top->table);
	if (top->word[0])
		table_keep(&fresh, top->word);
	top->table = fresh;
	look_for_misfits(top);
	top->selected = row_of_key(&top->table, key, top->selected);
	if (!top->table.row_cnt)
		(top->view->nothing ?: nothing_text)(top->nothing, sizeof(top->nothing),
						     top->query.store, &top->query.filter);
	read_daemon(top);
}

static void change_view(struct top *top, const struct view *view)
{
	top->view = view;
	top->selected = top->first = 0;
	table_release(&top->table);
	table_init(&top->table, view->columns, view->column_cnt);
	rebuild(top);
}

static unsigned int screen_rows(void)
{
	return LINES > FRAME_LINES ? (unsigned int)(LINES - FRAME_LINES) : 1;
}

static void draw_bar_line(int y, const char *text)
{
	_cleanup_free_ char *cut = text_shorten(text, COLS > 1 ? (unsigned int)COLS - 1 : 1);

	attron(A_REVERSE);
	mvhline(y, 0, ' ', COLS);
	mvaddstr(y, 0, cut);
	attroff(A_REVERSE);
}

/* The span shown: "last 5min", "5min to 2026-11-26 07:54:11", "as selected". */
static void tell_span(const struct top *top, char *text, size_t text_size)
{
	const int64_t length_ns = top->sliding_ns,
		      age_ns = (int64_t)pp_realtime_ns() - top->newest_ns;
	char length[32], end[32];

	if (!length_ns)
		snprintf(text, text_size, "as selected");
	else if (!top->newest_ns)
		snprintf(text, text_size, "last %s, no window yet",
			 text_duration(length, sizeof(length), length_ns));
	else if (top->is_past)
		snprintf(text, text_size, "%s to %s",
			 text_duration(length, sizeof(length), length_ns),
			 text_time(end, sizeof(end), top->end_ns));
	else
		snprintf(text, text_size, "last %s, newest %s old",
			 text_duration(length, sizeof(length), length_ns),
			 text_duration(end, sizeof(end),
				       age_ns > 0 ? age_ns / CTL_NS_PER_S * CTL_NS_PER_S : 0));
}

/* "29.1% of samples lost  "; "" if at most a hundredth is. */
static void tell_lost(const struct top *top, char *text, size_t text_size)
{
	const double share = lost_share(&top->query.measure.lost);

	text[0] = '\0';
	if (share > 0)
		snprintf(text, text_size, "%.1f%% of samples lost  ", 100 * share);
}

static void draw_title(const struct top *top)
{
	const bool of = top->narrowing.from;
	char span[80], lost[40];
	_cleanup_free_ char *safe = NULL;
	_cleanup_free_ char *text = NULL;

	tell_span(top, span, sizeof(span));
	tell_lost(top, lost, sizeof(lost));
	text = ctl_printf(" pathprof %s%s%s  %s  %" PRIu64 " samples  %s%s%s%s%s", top->view->name,
			  of ? " of " : "", of ? top->narrowing.text : "", span, top->query.samples,
			  lost, top->query.kinds.left_out ? "older kinds left out  " : "",
			  top->misfit, top->misfit[0] ? " ran with its code elsewhere  " : "",
			  top->error.text[0] ? top->error.text : top->daemon);
	safe = text_escape(text);
	draw_bar_line(0, safe);
}

static attr_t attribute_of(enum ctl_style style)
{
	switch (style) {
	case CTL_TITLE:
		return A_BOLD | A_UNDERLINE;
	case CTL_NAME:
		return A_BOLD;
	case CTL_DIM:
		return A_DIM;
	case CTL_HOT:
		return (attr_t)COLOR_PAIR(1) | A_BOLD;
	case CTL_WARM:
		return (attr_t)COLOR_PAIR(2);
	case CTL_GOOD:
		return (attr_t)COLOR_PAIR(3);
	default:
		return A_NORMAL;
	}
}

static void draw_cells(const struct top *top, int y, const struct table_cell *cells, bool marked)
{
	const struct table *table = &top->table;

	move(y, 0);
	for (size_t i = 0; i < table->column_cnt; i++) {
		_cleanup_free_ char *text = NULL;
		attr_t attribute = cells ? attribute_of(cells[i].style) : attribute_of(CTL_TITLE);

		if (!table_shown(table, i) || getcurx(stdscr) >= COLS - 1)
			continue;
		text = table_text(table, cells ? cells[i].text : table->columns[i].title, i);
		attrset(marked ? A_REVERSE : attribute);
		addnstr(text, -1);
		attrset(marked ? A_REVERSE : A_NORMAL);
		if (getcury(stdscr) == y)
			addstr("  ");
	}
	attrset(A_NORMAL);
}

static void draw_table(struct top *top)
{
	struct table *table = &top->table;
	size_t rows = screen_rows();

	table_layout(table, COLS > 2 ? (unsigned int)COLS - 2 : 1);
	if (top->selected < top->first)
		top->first = top->selected;
	if (top->selected >= top->first + rows)
		top->first = top->selected - rows + 1;
	draw_cells(top, 1, NULL, false);
	for (size_t i = 0; i < rows && top->first + i < table->row_cnt; i++) {
		size_t row = top->first + i;

		draw_cells(top, (int)i + 2, &table->cells[row * table->column_cnt],
			   row == top->selected);
	}
}

/* The reason may take several lines. */
static void draw_nothing(const struct top *top)
{
	mvaddstr(3, 0, "Nothing was seen in this time: ");
	addstr(top->nothing);
}

static size_t page_lines(const struct top *top)
{
	size_t cnt = 0;

	for (const char *c = top->page; *c; c++)
		cnt += *c == '\n';
	return cnt;
}

static void draw_page(const struct top *top)
{
	const char *at = top->page;
	int y = 1;

	for (size_t i = 0; i < top->page_first && strchr(at, '\n'); i++)
		at = strchr(at, '\n') + 1;
	for (; *at && y < LINES - 1; y++) {
		size_t len = strcspn(at, "\n");
		_cleanup_free_ char *text = ctl_printf("%.*s", (int)len, at);
		_cleanup_free_ char *cut =
			text_shorten(text, COLS > 1 ? (unsigned int)COLS - 1 : 1);

		mvaddstr(y, 0, cut);
		at += len + (at[len] == '\n');
	}
}

static char *keys_text(const struct top *top)
{
	if (top->page)
		return ctl_strdup(" q back  arrows scroll");
	if (top->typing || top->word[0])
		return ctl_printf(" /%s%s", top->word,
				  top->typing ? "_  enter keeps it, escape shows all"
					      : "  / and escape show all");
	if (top->narrowing.from)
		return ctl_printf(" only %s  escape shows all  h help", top->narrowing.text);
	if (COLS < NARROW)
		return ctl_strdup(" q quit  h help  / filter");
	return ctl_strdup(" q quit  p paths  f functions  e edges  b binaries  r processes  "
			  "s sort  / filter  + - span  enter show  h help");
}

static void draw(struct top *top)
{
	_cleanup_free_ char *keys = NULL;

	erase();
	draw_title(top);
	if (top->page)
		draw_page(top);
	else
		draw_table(top);
	if (!top->page && !top->table.row_cnt)
		draw_nothing(top);
	keys = keys_text(top);
	draw_bar_line(LINES - 1, keys);
	refresh();
}

static void open_page(struct top *top, char *text)
{
	free(top->page);
	top->page = text;
	top->page_first = 0;
}

static int show_graph(FILE *out, struct top *top, int64_t key, struct pathprof_error *error)
{
	const struct shares_function *function = view_function_of_key(&top->query, key);
	const struct shares_binary *binary;
	struct target target;
	struct cfg *cfg;
	int r;

	if (!function)
		return pathprof_fail(error, -ENOENT, "this row is no function of a file");
	binary = &top->query.shares->binaries[function->binary];
	r = target_open_at(&target, &top->query, top->config->options, &binary->id, binary->name,
			   function->symbol->start, error);
	if (r < 0)
		return r;
	cfg = cfg_new(&target);
	r = cfg_count(cfg, top->query.store, &top->query.filter, top->query.kinds.used, error);
	if (r == 0) {
		cfg_arrange(cfg, false, false);
		cfg_print_text(out, cfg);
	}
	cfg_free(cfg);
	target_release(&target);
	return r;
}

/* The user's selection, narrowed to a row's subject. The end of the span goes on sliding. */
static void select_again(struct top *top)
{
	const struct pathprof_filter *const shown = &top->query.filter;
	const int64_t since_ns = shown->since_ns, until_ns = shown->until_ns;

	top->query.filter = top->config->filter;
	top->query.filter.since_ns = since_ns;
	top->query.filter.until_ns = until_ns;
	top_narrow_filter(&top->narrowing, &top->query.filter);
}

/* Narrows to the functions of the marked row; show_all() leads back. */
static void narrow(struct top *top)
{
	struct pathprof_error error = {""};

	if (top_narrow(&top->narrowing, top->view, &top->table, top->selected, &error) < 0) {
		open_page(top, ctl_printf("%s\n", error.text));
		return;
	}
	top->word[0] = 0;
	select_again(top);
	change_view(top, &view_functions);
}

static void show_selected(struct top *top)
{
	struct pathprof_error error = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int r;

	if (top->selected >= top->table.row_cnt)
		return;
	if (top_can_narrow(top->view)) {
		narrow(top);
		return;
	}
	if (top->view != &view_paths && top->view != &view_functions)
		return;
	out = open_memstream(&text, &size);
	if (!out)
		return;
	if (top->view == &view_functions)
		r = show_graph(out, top, top->table.keys[top->selected], &error);
	else
		r = show_path(out, &top->query, NULL, top->table.keys[top->selected], false,
			      &error);
	if (r < 0)
		fprintf(out, "%s\n", error.text[0] ? error.text : strerror(-r));
	fclose(out);
	open_page(top, text);
}

/* Returns the position to which the key moves, within 0..cnt-1. */
static size_t moved(size_t position, size_t cnt, size_t page, int key)
{
	size_t last = cnt ? cnt - 1 : 0;

	switch (key) {
	case KEY_UP:
		return position ? position - 1 : 0;
	case KEY_DOWN:
		return position < last ? position + 1 : last;
	case KEY_PPAGE:
		return position > page ? position - page : 0;
	case KEY_NPAGE:
		return position + page < last ? position + page : last;
	case KEY_HOME:
		return 0;
	case KEY_END:
		return last;
	default:
		return position;
	}
}

static void change_order(struct top *top)
{
	top->query.sort = top->query.order == CTL_SORT_TIME ? CTL_SORT_RUNS : CTL_SORT_TIME;
	rebuild(top);
}

static bool is_enter(int key)
{
	return key == '\r' || key == '\n' || key == KEY_ENTER;
}

static void page_key(struct top *top, int key)
{
	if (key == 'q' || key == KEY_ESCAPE || is_enter(key))
		open_page(top, NULL);
	else
		top->page_first = moved(top->page_first, page_lines(top), screen_rows(), key);
}

/* The next longer or shorter span that slides. */
static void change_span(struct top *top, bool longer)
{
	static const int64_t spans_s[] = {60, 300, 900, 3600, 6 * 3600, 86400};
	const size_t cnt = sizeof(spans_s) / sizeof(spans_s[0]);
	size_t at = 0;

	if (!top->sliding_ns)
		return;
	while (at + 1 < cnt && spans_s[at] * CTL_NS_PER_S < top->sliding_ns)
		at++;
	if (longer && at + 1 < cnt)
		at++;
	else if (!longer && at)
		at--;
	top->sliding_ns = spans_s[at] * CTL_NS_PER_S;
	rebuild(top);
}

/* Escape first removes the word, then the narrowing by Enter. */
static void show_all(struct top *top)
{
	const struct view *from = top->narrowing.from;

	if (top->word[0] || !from) {
		top->word[0] = 0;
		rebuild(top);
		return;
	}
	top->narrowing.from = NULL;
	select_again(top);
	change_view(top, from);
}

/* Handles a key while a word is typed; each letter narrows the rows down. */
static void word_key(struct top *top, int key)
{
	size_t len = strlen(top->word);

	if (is_enter(key) || key == KEY_ESCAPE)
		top->typing = false;
	if (key == KEY_ESCAPE)
		top->word[0] = 0;
	else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && len)
		top->word[len - 1] = 0;
	else if (key >= ' ' && key < 127 && len < WORD_MAX)
		top->word[len] = (char)key, top->word[len + 1] = 0;
	if (!is_enter(key))
		rebuild(top);
}

static void table_key(struct top *top, int key)
{
	const struct view *view = view_of_key(key);

	if (view)
		change_view(top, view);
	else if (key == 't' || key == 's')
		change_order(top);
	else if (key == '/')
		top->typing = true;
	else if (key == KEY_ESCAPE)
		show_all(top);
	else if (key == '+' || key == '-')
		change_span(top, key == '+');
	else if (key == 'q')
		top->quit = true;
	else if (key == 'h' || key == '?')
		open_page(top, ctl_strdup(help_text));
	else if (is_enter(key))
		show_selected(top);
	else
		top->selected = moved(top->selected, top->table.row_cnt, screen_rows(), key);
}

/* Whether the database was written to since the last call. */
static bool was_written(struct top *top)
{
	static const char *const suffixes[] = {"", "-wal"};
	bool changed = false;

	for (size_t i = 0; i < 2; i++) {
		_cleanup_free_ char *path = ctl_printf("%s%s", top->config->db, suffixes[i]);
		struct stat status = {0};

		(void)stat(path, &status);
		changed |= status.st_mtim.tv_sec != top->written[i].tv_sec ||
			   status.st_mtim.tv_nsec != top->written[i].tv_nsec ||
			   status.st_size != top->written_bytes[i];
		top->written[i] = status.st_mtim;
		top->written_bytes[i] = status.st_size;
	}
	return changed;
}

static bool refresh_table(struct top *top)
{
	bool slides = top->sliding_ns && !top->is_past;

	if (!was_written(top) && !(slides && now_ms() >= top->rebuilt_ms + REBUILD_MS))
		return false;
	rebuild(top);
	return true;
}

static void take_key(struct top *top, int key)
{
	if (top->page)
		page_key(top, key);
	else if (top->typing)
		word_key(top, key);
	else
		table_key(top, key);
}

static void run(struct top *top)
{
	int64_t next_ms = 0;
	bool changed = true;

	while (!top->quit && !asked_to_quit) {
		int key;

		if (now_ms() >= next_ms) {
			changed |= refresh_table(top);
			next_ms = now_ms() + REFRESH_MS;
		}
		if (changed)
			draw(top);
		timeout(next_ms > now_ms() ? (int)(next_ms - now_ms()) : 0);
		key = getch();
		changed = key != ERR;
		if (changed && key != KEY_RESIZE)
			take_key(top, key);
	}
}

static void start_screen(bool color)
{
	struct sigaction action = {.sa_handler = on_signal};

	initscr();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	if (color && has_colors()) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_RED, -1);
		init_pair(2, COLOR_YELLOW, -1);
		init_pair(3, COLOR_GREEN, -1);
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static void leave_screen(void)
{
	if (!isendwin())
		endwin();
}

int top_screen(const struct top_config *config)
{
	const char *name = getenv("TERM");
	struct top top = {
		.config = config,
		.view = config->view,
		.sliding_ns = config->sliding_ns,
		.query = {.store = config->store, .filter = config->filter, .sort = config->sort},
	};

	if (!name || !*name || !strcmp(name, "dumb"))
		return ctl_fail("top: this terminal cannot be drawn on: set TERM, or pipe it "
				"through cat");
	start_screen(ctl_term.color);
	atexit(leave_screen);
	/* Text for a page is passed to curses, which has its own colours. */
	ctl_term.color = false;
	top.query.symbols = symbols_new(config->store);
	table_init(&top.table, top.view->columns, top.view->column_cnt);
	run(&top);
	leave_screen();
	table_release(&top.table);
	view_query_unload(&top.query);
	symbols_free(top.query.symbols);
	free(top.page);
	return CTL_OK;
}
