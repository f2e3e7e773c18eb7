/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The properties of the output: width, character set, colour. Set once per output by ctl_term_init.
 */
#ifndef CTL_TERM_H
#define CTL_TERM_H

#include <stdbool.h>

#include "../ctl.h"

struct ctl_term {
	bool terminal;
	bool utf8;
	bool color;
	bool bars;          /* a bar beside each share */
	unsigned int width; /* columns */
};
extern struct ctl_term ctl_term;

enum ctl_style {
	CTL_PLAIN,
	CTL_TITLE,
	CTL_DIM,
	CTL_NAME,
	CTL_HOT,
	CTL_WARM,
	CTL_GOOD,
	CTL_STYLE_CNT,
};

/* NO_COLOR and TERM=dumb switch colour off, as everywhere, unless it is `always`. */
void ctl_term_init(int fd, enum ctl_color color);
/* Escape sequences, "" when there is no colour. */
const char *ctl_style_on(enum ctl_style style);
const char *ctl_style_off(enum ctl_style style);
/* How a share is shown: hot from 10 %, warm from 1 %. */
enum ctl_style ctl_share_style(double share);

#endif
