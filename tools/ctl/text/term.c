// SPDX-License-Identifier: GPL-2.0-or-later
/* The output's properties: see term.h. */
#include "term.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/units.h"

struct ctl_term ctl_term;

static const char *const sequences[CTL_STYLE_CNT] = {
	[CTL_PLAIN] = "",        [CTL_TITLE] = "\033[1;4m", [CTL_DIM] = "\033[2m",
	[CTL_NAME] = "\033[1m",  [CTL_HOT] = "\033[1;31m",  [CTL_WARM] = "\033[33m",
	[CTL_GOOD] = "\033[32m",
};

#define TERMINAL_WIDTH 80  /* for a terminal that does not know its own */
#define PIPE_WIDTH     120 /* a width that reads well in a file or a mail */

static unsigned int terminal_width(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return TERMINAL_WIDTH;
}

/* $COLUMNS, as for other programs whose output is no terminal. */
static unsigned int pipe_width(void)
{
	const char *columns = getenv("COLUMNS");
	uint64_t width;

	if (columns && pp_count_parse(columns, &width) == 0 && width > 0 && width <= UINT16_MAX)
		return (unsigned int)width;
	return PIPE_WIDTH;
}

static bool color_wanted(enum ctl_color color)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (color != CTL_COLOR_AUTO)
		return color == CTL_COLOR_ALWAYS;
	if (no_color && *no_color)
		return false;
	return ctl_term.terminal && term && strcmp(term, "dumb") != 0;
}

void ctl_term_init(int fd, enum ctl_color color)
{
	ctl_term.terminal = isatty(fd) == 1;
	ctl_term.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	ctl_term.color = color_wanted(color);
	ctl_term.bars = ctl_term.terminal || color == CTL_COLOR_ALWAYS;
	ctl_term.width = ctl_term.terminal ? terminal_width(fd) : pipe_width();
}

const char *ctl_style_on(enum ctl_style style)
{
	return ctl_term.color ? sequences[style] : "";
}

const char *ctl_style_off(enum ctl_style style)
{
	return ctl_term.color && style != CTL_PLAIN ? "\033[0m" : "";
}

enum ctl_style ctl_share_style(double share)
{
	if (share >= 0.1)
		return CTL_HOT;
	return share >= 0.01 ? CTL_WARM : CTL_PLAIN;
}
